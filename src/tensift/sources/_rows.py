"""Reading rows of arrays that are stored somewhere: by explicit reads, never by mapping."""

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

__all__ = ["FileRows", "Rows", "SlicedRows", "is_lazy", "rows_of_map"]

_AHEAD = 1  # as many times what is read at once is asked for beforehand


class Rows(ABC):
    """Rows of an array along its first axis, which can be read in any order.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    dtype : dtype
        Of its values.
    stored_together : int
        How many rows are stored in one piece, such as a chunk of HDF5, and best read at once.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    stored_together: int = 1

    @abstractmethod
    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Rows as an array, which is `out` if that has been given and can be used."""


class FileRows(Rows):
    """Rows that lie one after the other in a file.

    They are read, not mapped: pages of a map count as memory of the process, and a map of a file
    that has become shorter ends the process.

    Parameters
    ----------
    path : path-like
        The file.
    offset : int
        Where the first row begins.
    shape : tuple of int
        Of the array.
    dtype : dtype
        Of its values.
    """

    def __init__(
        self, path: str | os.PathLike[str], offset: int, shape: tuple[int, ...], dtype: np.dtype
    ) -> None:
        self.path, self.offset, self.shape, self.dtype = os.fspath(path), offset, shape, dtype
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._file)

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Rows as an array, or an error that says where the file ends."""
        shape = (stop - start, *self.shape[1:])
        if out is None or out.dtype != self.dtype or len(out) < stop - start:
            out = np.empty(shape, self.dtype)
        rows = out[: stop - start]
        into = rows.reshape(-1).view(np.uint8).data
        row_bytes = self.dtype.itemsize * math.prod(self.shape[1:])
        place = self.offset + start * row_bytes
        if hasattr(os, "posix_fadvise"):
            # The disk goes on with what comes next while this is being worked on.
            end = place + len(into)
            os.posix_fadvise(self._file, end, _AHEAD * len(into), os.POSIX_FADV_WILLNEED)
        done = 0
        while done < len(into):
            count = self._read_at(place + done, into[done:])
            if not count:
                raise ValueError(
                    f"{self.path} ends in sample {start + done // row_bytes} of {self.shape[0]}: "
                    "it is truncated, or has become shorter while it was read"
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


class SlicedRows(Rows):
    """Rows of anything that gives them when it is sliced: HDF5, Zarr, and others like them.

    Parameters
    ----------
    array : object
        It has ``shape`` and ``dtype``, and ``array[start:stop]`` is or becomes an ndarray.
    """

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = tuple(int(length) for length in array.shape)
        self.dtype = np.dtype(array.dtype)
        chunks = getattr(array, "chunks", None)
        if isinstance(chunks, tuple) and chunks and isinstance(chunks[0], int):
            self.stored_together = max(1, chunks[0])

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Rows as an array of their own."""
        rows = np.asarray(self.array[start:stop])
        if rows.shape != (stop - start, *self.shape[1:]):
            raise ValueError(
                f"X[{start}:{stop}] has shape {rows.shape}, but X has shape {self.shape}; it is "
                "truncated, or has changed while it was read"
            )
        # Whoever gives parts of an array of its own may fill it with others next time.
        return rows if rows.flags.owndata else rows.copy()


class _MappedRows(SlicedRows):
    """Rows of a memory map that do not lie one after the other in its file."""

    def __init__(self, array: NDArray, root: np.memmap) -> None:
        super().__init__(array)
        self._root = root

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        _refuse_short(self._root)
        rows = np.array(self.array[start:stop])
        if self._root.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            # They have been copied; a map of changes of one's own would lose these.
            with suppress(OSError, ValueError):
                self._root._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
        return rows


# What arrays in memory have, of whatever library, and no stored array has.
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
    """Whether `X` is an array that is stored somewhere, whose rows can be had by slicing."""
    if issparse(X) or not hasattr(X, "__getitem__"):
        return False
    if type(X).__module__.split(".")[0] == "xarray":
        # Opened from a file and not loaded: xarray keeps it as an array that reads when sliced.
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


def rows_of_map(array: NDArray) -> Rows | None:
    """Rows of a memory map or of a view of one; None for any other array."""
    root: Any = array
    while isinstance(root, np.ndarray) and not _is_whole_map(root):
        root = root.base
    if not isinstance(root, np.memmap):
        return None
    _refuse_short(root)
    if array.flags.c_contiguous and root.mode != "c" and root.filename is not None and array.size:
        offset = _place(array) - _place(root) + root.offset
        with suppress(OSError, TypeError):
            rows = FileRows(root.filename, offset, array.shape, array.dtype)
            if _same_ends(rows, array):
                return rows
    return _MappedRows(array, root)


def _is_whole_map(array: NDArray) -> bool:
    return isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap)


def _place(array: NDArray) -> int:
    return int(array.__array_interface__["data"][0])


def _refuse_short(root: Any) -> None:
    """Refuse a map whose file has become shorter: to touch what is missing ends the process."""
    needed = root.offset % mmap.ALLOCATIONGRANULARITY + root.nbytes
    held = len(root._mmap)
    with suppress(OSError, ValueError):
        held = root._mmap.size() - (root.offset - root.offset % mmap.ALLOCATIONGRANULARITY)
    if held < needed:
        raise ValueError(
            f"{root.filename or 'the file of X'} is truncated: X of shape {root.shape} needs "
            f"{needed - held} bytes more than are there"
        )


def _same_ends(rows: FileRows, array: NDArray) -> bool:
    """Whether the file that now has the map's name is still the one that was mapped."""
    last = len(array) - 1
    try:
        return all(
            rows.read(k, k + 1).tobytes() == array[k : k + 1].tobytes()
            for k in {0, last // 2, last}
        )
    except ValueError:
        return False
