"""Read NumPy's files, ``.npy`` and ``.npz``. Nothing is ever unpickled."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from tensift.datasets._foreign_files import refuse_foreign
from tensift.datasets._stored import MAP_FROM_BYTES, Contents, StoredArray, damaged_file

__all__ = ["open_npy", "open_npz"]

_MAP_FROM_BYTES = MAP_FROM_BYTES


def open_npy(path: Path) -> Contents:
    """List the one array of a ``.npy`` file."""
    with damaged_file(path, "npy"), open(path, "rb") as stream:
        shape, dtype = _read_header(stream)
        held = path.stat().st_size - stream.tell()
    mapped = held >= _MAP_FROM_BYTES

    def load() -> np.ndarray:
        with damaged_file(path, "npy"):
            array: np.ndarray = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
            return array

    stored = StoredArray(shape, dtype, load, mapped=mapped)
    if not dtype.hasobject and stored.n_bytes > held:
        raise ValueError(
            f"{path}: truncated npy file (shape {shape} of {dtype} needs {stored.n_bytes} bytes, "
            f"the file has {held})"
        )
    return Contents("npy", {"data": stored})


def open_npz(path: Path) -> Contents:
    """List the arrays of a ``.npz`` file."""
    arrays = {}
    with damaged_file(path, "npz"), zipfile.ZipFile(path) as archive:
        names = tuple(archive.namelist())
        for member in names:
            if member.endswith(".npy"):
                with archive.open(member) as stream:
                    shape, dtype = _read_header(stream)
                arrays[member.removesuffix(".npy")] = StoredArray(
                    shape, dtype, _NpzLoader(path, member)
                )
    if not arrays:
        refuse_foreign(path, b"", names)
    return Contents("npz", arrays)


class _NpzLoader:
    """Loads one member of an archive, when called."""

    def __init__(self, path: Path, member: str) -> None:
        self.path, self.member = path, member

    def __call__(self) -> np.ndarray:
        with (
            damaged_file(self.path, "npz"),
            zipfile.ZipFile(self.path) as archive,
            archive.open(self.member) as stream,
        ):
            array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
            # zipfile checks the checksum when the end is reached. A small archive can unpack to
            # any size, so nothing that may follow the array is read.
            if stream.read(1):
                raise ValueError(f"{self.member} is longer than its array")
            return array


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"npy format version {version} is for records, not for plain arrays")
    return shape, dtype
