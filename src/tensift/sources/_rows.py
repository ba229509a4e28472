"""Read rows of arrays on disk, by explicit reads and not through memory maps."""

from __future__ import annotations

import math
import mmap
import os
import weakref
from abc import ABC, abstractmethod
from contextlib import suppress
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from tensift._utils.arrays import refuse_masked
from tensift.sources._hdf5_links import refuse_missing_files

__all__ = ["FileReader", "RowReader", "SlicingReader", "is_lazy", "memmap_reader"]

_READ_AHEAD = 1  # how many further reads of the same size the system is told to expect


class RowReader(ABC):
    """Reads rows of an array along its first axis, in any order.

    Attributes
    ----------
    shape : tuple of int
        The shape of the whole array.
    dtype : dtype
        The type of its values.
    stored_together : int
        How many rows are stored in one piece (such as an HDF5 chunk), which is best read at once.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    stored_together: int = 1

    @abstractmethod
    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Return rows ``start:stop``, in the array `out` if it is given and fits."""


class FileReader(RowReader):
    """Reads rows that are contiguous in a file.

    It does not use a memory map, for two reasons: mapped pages count as memory of the process, and
    if the file becomes shorter, access to the map kills the process.

    Parameters
    ----------
    path : path-like
        The file.
    offset : int
        The byte at which the first row begins.
    shape : tuple of int
        The shape of the array.
    dtype : dtype
        The type of its values.
    """

    def __init__(
        self, path: str | os.PathLike[str], offset: int, shape: tuple[int, ...], dtype: np.dtype
    ) -> None:
        self.path, self.offset, self.shape, self.dtype = os.fspath(path), offset, shape, dtype
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Return rows ``start:stop``; if the file is too short, the error says where it ends."""
        shape = (stop - start, *self.shape[1:])
        if out is None or out.dtype != self.dtype or len(out) < stop - start:
            out = np.empty(shape, self.dtype)
        rows = out[: stop - start]
        into = rows.reshape(-1).view(np.uint8).data
        row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        place = self.offset + start * row_bytes
        if hasattr(os, "posix_fadvise"):
            # Let the disk read the next rows while these are in use.
            end = place + len(into)
            os.posix_fadvise(self._file, end, _READ_AHEAD * len(into), os.POSIX_FADV_WILLNEED)
        done = 0
        while done < len(into):
            count = self._read_at(place + done, into[done:])
            if not count:
                raise ValueError(
                    f"{self.path} ends in sample {start + done // row_bytes} of {self.shape[0]}: "
                    "it is truncated, or became shorter while it was read"
                )
            done += count
        return rows

    def _read_at(self, place: int, into: memoryview) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file, [into], place)
        os.lseek(self._file, place, os.SEEK_SET)
        found = os.read(self._file, len(into))
        into[: len(found)] = found
        return len(found)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], state["offset"], state["shape"], state["dtype"])  # type: ignore[misc]


class SlicingReader(RowReader):
    """Reads rows of any object that can be sliced: HDF5, Zarr and similar arrays.

    Parameters
    ----------
    array : object
        Has ``shape`` and ``dtype``; NumPy can convert ``array[start:stop]`` to an ndarray.
    """

    def __init__(self, array: Any) -> None:
        refuse_missing_files(array)
        self.array = array
        self.shape = tuple(int(length) for length in array.shape)
        self.dtype = np.dtype(array.dtype)
        chunks = getattr(array, "chunks", None)
        if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int):
            self.stored_together = max(1, chunks[0])

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Return rows ``start:stop`` as an array that nobody else writes to."""
        part = self.array[start:stop]
        refuse_masked(part, f"X[{start}:{stop}]")  # NetCDF variables return masked arrays
        rows = np.asarray(part)
        if rows.shape != (stop - start, *self.shape[1:]):
            raise ValueError(
                f"X[{start}:{stop}] has shape {rows.shape}, but X has shape {self.shape}; it is "
                "truncated, or changed while it was read"
            )
        # A view may belong to a buffer that the library fills with other rows next time.
        return rows if rows.flags.owndata else rows.copy()


class _MemmapReader(SlicingReader):
    """Reads rows of a memory map that are not contiguous in the file."""

    def __init__(self, array: NDArray, root: np.memmap) -> None:
        super().__init__(array)
        self._root = root

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        _refuse_short(self._root)
        rows = np.array(self.array[start:stop])
        if self._root.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            # Release the mapped pages, since the rows are copied. Not in mode "c": there it would
            # discard the changes made to the map.
            with suppress(OSError, ValueError):
                self._root._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
        return rows


# Attributes of arrays in memory, of any library, that arrays on disk do not have.
_IN_MEMORY = (
    "__array_function__",
    "__array_ufunc__",
    "__array_interface__",
    "__array_struct__",
    "__array_namespace__",
    "__dlpack__",
    "__dataframe__",
)


def is_lazy(X: Any) -> bool:
    """Whether `X` is an array on disk whose rows can be read by slicing."""
    if issparse(X) or not hasattr(X, "__getitem__"):
        return False
    if type(X).__module__.split(".")[0] == "xarray":
        # If it was opened from a file and not loaded, xarray reads the file when it is sliced.
        return getattr(getattr(X, "variable", X), "_in_memory", True) is False
    if any(hasattr(X, name) for name in _IN_MEMORY):
        return False
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple) or not all(isinstance(length, Integral) for length in shape):
        return False
    try:
        np.dtype(X.dtype)
    except (AttributeError, TypeError):
        return False
    return True


def memmap_reader(array: NDArray) -> RowReader | None:
    """Return a reader for a memory map or a view of one; None for other arrays."""
    root: Any = array
    while isinstance(root, np.ndarray) and not _is_whole_map(root):
        root = root.base
    if not isinstance(root, np.memmap):
        return None
    _refuse_short(root)
    if array.flags.c_contiguous and root.mode != "c" and root.filename is not None and array.size:
        offset = _address(array) - _address(root) + root.offset
        with suppress(OSError, TypeError):
            rows = FileReader(root.filename, offset, array.shape, array.dtype)
            if _same_ends(rows, array):
                return rows
    return _MemmapReader(array, root)


def _is_whole_map(array: NDArray) -> bool:
    return isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap)


def _address(array: NDArray) -> int:
    return int(array.__array_interface__["data"][0])


def _refuse_short(root: Any) -> None:
    """Raise an error if the file became shorter than its map: access would kill the process."""
    needed = root.offset % mmap.ALLOCATIONGRANULARITY + root.nbytes
    held = len(root._mmap)
    with suppress(OSError, ValueError):
        held = root._mmap.size() - (root.offset - root.offset % mmap.ALLOCATIONGRANULARITY)
    if held < needed:
        raise ValueError(
            f"{root.filename or 'the file of X'} is truncated: X of shape {root.shape} needs "
            f"{needed - held} bytes more than the file has"
        )


def _same_ends(rows: FileReader, array: NDArray) -> bool:
    """Whether the file still is the one that was mapped: compare the first, middle, last row."""
    last = len(array) - 1
    try:
        return all(
            rows.read(k, k + 1).tobytes() == array[k : k + 1].tobytes()
            for k in {0, last // 2, last}
        )
    except ValueError:
        return False
