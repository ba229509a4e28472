"""A folder of results that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from types import TracebackType
from typing import IO, Self

__all__ = ["OutputFolder"]


class OutputFolder:
    """Files are written to a hidden folder beside their places and moved there at the end.

    As a context manager it leaves nothing behind if anything goes wrong: no partial file, no
    folder that was not there before. What cannot be written is known on entry, before any work.

    Parameters
    ----------
    path : Path
        The folder, made if it is not there.
    names : collection of str
        The names of all files that may ever be written there. Of these, the ones of an earlier
        run that this run does not write are removed, so that results never mix.
    overwrite : bool
        Whether files of these names may be replaced.
    """

    def __init__(self, path: Path, names: Collection[str], *, overwrite: bool) -> None:
        self.path = path
        self.names = names
        self.overwrite = overwrite
        self.written: list[str] = []

    def check(self) -> None:
        """Raise what stands in the way of writing, as far as that is known without trying."""
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"cannot write to {self.path}: it is not a folder")
        present = [name for name in self.names if (self.path / name).exists()]
        if present and not self.overwrite:
            raise FileExistsError(
                f"{self.path / present[0]} exists already; pass --overwrite, or another place "
                "with --output"
            )
        if in_the_way := [name for name in present if (self.path / name).is_dir()]:
            raise IsADirectoryError(f"cannot write {self.path / in_the_way[0]}: it is a folder")

    def __enter__(self) -> Self:
        self.check()
        self._made = [f for f in (self.path, *self.path.parents) if not f.exists()]
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._staging = Path(tempfile.mkdtemp(prefix=".tensift-", dir=self.path))
        except OSError as error:
            self._remove_made_folders()
            raise _cannot_write(self.path, error) from None
        return self

    def write(self, name: str, write: Callable[[IO[bytes]], object]) -> None:
        """Write one file: `write` is given an open binary stream."""
        try:
            with open(self._staging / name, "wb") as stream:
                write(stream)
        except OSError as error:
            raise _cannot_write(self.path / name, error) from None
        self.written.append(name)

    def write_text(self, name: str, text: str) -> None:
        """Write one file of text."""
        self.write(name, lambda stream: stream.write(text.encode()))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._move_into_place()
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._remove_made_folders()

    def _move_into_place(self) -> None:
        for name in self.written:
            try:
                os.replace(self._staging / name, self.path / name)
            except OSError as error:
                raise _cannot_write(self.path / name, error) from None
        for name in set(self.names) - set(self.written):
            (self.path / name).unlink(missing_ok=True)

    def _remove_made_folders(self) -> None:
        """Remove the folders made on entry that have stayed empty."""
        for folder in self._made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _cannot_write(path: Path, error: OSError) -> OSError:
    return OSError(f"cannot write {path}: {error.strerror or error}")
