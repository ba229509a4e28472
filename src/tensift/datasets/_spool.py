"""Arrays that are larger than memory, and packed: unpacked into a temporary file."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from tensift.datasets._stored import StoredArray, available_memory, left_of_process_limit

__all__ = ["spooled"]

_CHUNK_BYTES = 2**26  # of rows that are unpacked together


def spooled(path: Path, name: str, stored: StoredArray) -> np.ndarray | None:
    """Return a memory map of an array that does not fit into memory; None if it does.

    Its values are unpacked piece by piece into a temporary file, which is removed when the array
    is no longer in use. Also None if the array can only be read as a whole, or if maps count as
    memory of the process, under ``ulimit -v``.
    """
    available, limit = available_memory(), left_of_process_limit()
    fits = available is None or stored.n_bytes <= available
    if (
        stored.mapped
        or stored.rows is None
        or fits
        or (limit is not None and stored.n_bytes > limit)
    ):
        return None
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if stored.n_bytes > free:
        raise ValueError(
            f"{path}: array {name!r} needs {stored.n_bytes / 2**30:.3g} GiB, more than the memory "
            f"and more than {folder} has ({free / 2**30:.3g} GiB); set TMPDIR to a larger folder"
        )
    handle, file = tempfile.mkstemp(prefix="tensift-", suffix=".raw")
    os.close(handle)
    try:
        assert stored.dtype is not None
        values: np.memmap = np.memmap(file, stored.dtype, "w+", shape=stored.shape)
        weakref.finalize(values, _remove, file)
    except BaseException:
        _remove(file)
        raise
    row_bytes = max(1, stored.n_bytes // max(1, stored.shape[0]))
    step = max(1, _CHUNK_BYTES // row_bytes)
    for start in range(0, stored.shape[0], step):
        stop = min(start + step, stored.shape[0])
        values[start:stop] = stored.rows(start, stop)
    values.flush()
    return values


def _remove(file: str) -> None:
    with suppress(OSError):  # Windows removes no file that is mapped
        os.remove(file)
