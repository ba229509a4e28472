"""Finished parts of a long computation, kept in a file from which it can go on."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tensift._npz import read_npz, write_npz

__all__ = ["Checkpoint", "fingerprint"]

_SECONDS = 3.0  # between writes, at least
_SHARE = 0.05  # of the time spent on writing, at most


class Checkpoint:
    """Arrays that are filled in over time, and their copy in a file.

    Parameters
    ----------
    path : path-like
        The file, replaced as a whole at every write.
    fingerprint : str
        Of everything that the arrays depend on; a file with another one is refused.
    arrays : mapping of str to ndarray
        The arrays. Those in the file, if there is one, are copied into them. If there is none it
        is written now, at its full size, so that a folder or a disk that cannot hold it is known
        before any work.
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: str, arrays: Mapping[str, NDArray]
    ) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.arrays = arrays
        self._changed = True
        if self.path.exists():
            self._load()
        self.write()

    def _load(self) -> None:
        held = read_npz(self.path, ["fingerprint", *self.arrays])
        found = held["fingerprint"]
        if found.shape != () or found.dtype.kind != "U" or str(found) != self.fingerprint:
            raise ValueError(
                f"checkpoint {self.path} is of other data, other parameters or "
                "another version of tensift; remove it, or give another file"
            )
        for name, array in self.arrays.items():
            if held[name].shape != array.shape or held[name].dtype != array.dtype:
                raise ValueError(f"checkpoint {self.path} is damaged: array {name!r} does not fit")
        for name, array in self.arrays.items():
            array[...] = held[name]
        self._changed = False

    def update(self) -> None:
        """Say that the arrays have changed; they are written if the last time is long ago."""
        self._changed = True
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write the arrays if they have changed."""
        begun = time.monotonic()
        if self._changed:
            write_npz(self.path, {"fingerprint": np.array(self.fingerprint), **self.arrays})
            self._changed = False
        ended = time.monotonic()
        self._due = ended + max(_SECONDS, (ended - begun) / _SHARE)


def fingerprint(*parts: object) -> str:
    """A digest of arrays, to the bit, and of anything whose ``repr`` says what it is."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.shape} {part.dtype.str} ".encode())
            digest.update(np.ascontiguousarray(part).data if part.size else b"")
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
