"""Check HDF5 arrays whose values are in other files: virtual datasets and external storage.

If one of those files is missing, HDF5 silently reads zeros.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

__all__ = ["refuse_missing_files"]


def refuse_missing_files(array: Any) -> None:
    """Raise an error if a file that an h5py dataset takes values from is missing or too short."""
    if type(array).__module__.split(".")[0] == "h5py":
        _refuse_missing(array, seen=set())


def _refuse_missing(array: Any, seen: set[tuple[str, str]]) -> None:
    """Check one dataset and those that it takes values from; `seen` are the ones checked."""
    for name, needed, item in _other_files(array):
        found = _find(array, name)
        if found is None:
            raise ValueError(
                f"X takes values from {name!r}, which is missing; HDF5 would read zeros instead"
            )
        if os.path.getsize(found) < needed:
            raise ValueError(
                f"X takes {needed} bytes from {name!r}, which has only {os.path.getsize(found)}; "
                "HDF5 would read zeros for the rest"
            )
        if item is not None and (found, item) not in seen:
            seen.add((found, item))
            _refuse_missing_item(array, name, found, item, seen)


def _other_files(array: Any) -> Iterator[tuple[str, int, str | None]]:
    """Yield each file with values: its name, its least size, and the dataset in it (or None)."""
    if array.is_virtual:
        for source in array.virtual_sources():
            # A name with "%" is a pattern for any number of files; some may be written later.
            if "%" not in source.file_name + source.dset_name:
                name = array.file.filename if source.file_name == "." else source.file_name
                yield name, 0, source.dset_name
        return
    left = math.prod(array.shape) * np.dtype(array.dtype).itemsize
    for name, offset, size in array.external or ():
        size = min(size, left)
        left -= size
        yield os.fsdecode(name), offset + size, None


def _find(array: Any, name: str) -> str | None:
    """Return the path of a file, searched where HDF5 would search; None if it is missing."""
    folders = [os.path.dirname(os.path.abspath(array.file.filename)), os.getcwd()]
    folders += [
        os.environ[n] for n in ("HDF5_VDS_PREFIX", "HDF5_EXTFILE_PREFIX") if n in os.environ
    ]
    paths = [os.path.join(folder, name) for folder in folders]
    return next((path for path in paths if os.path.isfile(path)), None)


def _refuse_missing_item(
    array: Any, name: str, path: str, item: str, seen: set[tuple[str, str]]
) -> None:
    import h5py

    problem = f"X takes values from {item!r} in {name!r}, which is missing"
    if os.path.samefile(path, array.file.filename):
        opened: Any = nullcontext(array.file)
    else:
        try:
            opened = h5py.File(path, "r")
        except OSError:  # not an HDF5 file, or another process writes to it
            if h5py.is_hdf5(path):
                return
            raise ValueError(f"{problem}; HDF5 would read zeros instead") from None
    with opened as file:
        if item not in file:
            raise ValueError(f"{problem}; HDF5 would read zeros instead")
        if isinstance(file[item], h5py.Dataset):
            _refuse_missing(file[item], seen)
