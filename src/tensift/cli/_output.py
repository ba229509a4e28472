"""A folder of results: either all files appear, or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tensift._utils.temporary import remove_leftovers, temporary_path

__all__ = ["OutputFolder", "default_output", "refuse_inputs"]


def default_output(path: Path, ending: str) -> Path:
    """Where results go by default: the full name of the input and an ending.

    Without the suffix, ``a.npy`` and ``a.csv`` would write to the same place.
    """
    # A folder may be given as "." or "..".
    name = path.resolve().name if path.name in ("", "..") else path.name
    return Path(f"{name}-{ending}")


def refuse_inputs(targets: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Raise an error if a file to be written is one of the files that are read.

    Links count as the file that they lead to.
    """
    known: dict[object, Path] = {}
    for source in inputs:
        for identity in _identities(source):
            known.setdefault(identity, source)
    for target in targets:
        found = next((known[one] for one in _identities(target) if one in known), None)
        if found is not None:
            raise ValueError(
                f"cannot write {target}: this is the input {found}, which would be lost; "
                "choose another place"
            )


def _identities(path: Path) -> Iterator[object]:
    """What a file is known by: its place without links, and its number on its disk."""
    yield os.path.realpath(path)
    with suppress(OSError, ValueError):  # it does not exist yet
        found = os.stat(path)
        yield (found.st_dev, found.st_ino)


class OutputFolder:
    """Write files to a hidden folder first, and move them to their places at the end.

    If anything goes wrong inside the context, nothing is left behind: no partial file, and no
    folder that was not there before. A folder that cannot be written is an error on entry, before
    any work.
    What a killed process left in the folder is removed on entry.

    Parameters
    ----------
    path : Path
        The folder; it is created if it does not exist.
    names : collection of str
        The names of all files that a run may write. Files of an earlier run that this run does not
        write are removed, so that results of two runs never mix.
    overwrite : bool
        Whether files of these names may be replaced.
    inputs : iterable of Path, optional
        The files that are read. They are never replaced or removed.
    """

    def __init__(
        self,
        path: Path,
        names: Collection[str],
        *,
        overwrite: bool,
        inputs: Iterable[Path] = (),
    ) -> None:
        self.path = path
        self.names = names
        self.overwrite = overwrite
        self.inputs = list(inputs)
        self.written: list[str] = []
        self._cleanup = ExitStack()

    def check(self) -> None:
        """Raise an error if files cannot be written, as far as that is known without trying."""
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"cannot write to {self.path}: it is not a folder")
        refuse_inputs([self.path / name for name in self.names], self.inputs)
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
            remove_leftovers(self.path)
            self._staging = self._cleanup.enter_context(temporary_path(self.path))
            self._staging.mkdir()
        except OSError as error:
            self._cleanup.close()
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
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write one file of bytes."""
        self.write(name, lambda stream: stream.write(content))

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
            self._cleanup.close()
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
