"""Finished parts of a long computation, saved in a file from which it can continue."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tensift._utils.npz import read_npz, write_npz
from tensift._utils.temporary import remove_leftovers

__all__ = ["Checkpoint", "fingerprint"]

_SECONDS = 3.0  # the shortest time between two writes
_SHARE = 0.05  # the largest share of the time that writing may take


class Checkpoint:
    """Arrays that are filled over time, with a copy in a file.

    Several processes can use one file without damage: every write replaces the whole file, and the
    one that writes last wins. But they do not share work. Each reads the file only once, when it
    starts, and then keeps what it computes itself. So give every running computation a file of its
    own. What a killed process left beside the file is removed by the next one that starts.

    Parameters
    ----------
    path : path-like
        The file. Every write replaces it as a whole.
    fingerprint : str
        Identifies everything that the arrays depend on. A file with another fingerprint is refused.
    arrays : mapping of str to ndarray
        The arrays. If the file exists, its arrays are copied into them. Otherwise the file is
        written now, at its full size, so that an unwritable folder or a full disk is found before
        any work.
    """

    def __init__(
        self, path: str | os.PathLike[str], fingerprint: str, arrays: Mapping[str, NDArray]
    ) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.arrays = arrays
        self._changed = True
        remove_leftovers(self.path.parent)
        if self.path.exists():
            self._load()
        self.write()

    def _load(self) -> None:
        held = read_npz(self.path, ["fingerprint", *self.arrays])
        found = held["fingerprint"]
        if found.shape != () or found.dtype.kind != "U" or str(found) != self.fingerprint:
            raise ValueError(
                f"checkpoint {self.path} was made with other data, other parameters or "
                "another version of tensift; remove it, or give another file"
            )
        for name, array in self.arrays.items():
            if held[name].shape != array.shape or held[name].dtype != array.dtype:
                raise ValueError(f"checkpoint {self.path} is damaged: array {name!r} does not fit")
        for name, array in self.arrays.items():
            array[...] = held[name]
        self._changed = False

    def update(self) -> None:
        """Note that the arrays have changed; write the file if the interval has passed."""
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
    """A digest of the bits of arrays, and of the ``repr`` of anything else."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.shape} {part.dtype.str} ".encode())
            digest.update(np.ascontiguousarray(part).data if part.size else b"")
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
