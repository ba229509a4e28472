"""Where the samples of a pilot run come from: the user's data, or random numbers."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.plan._job import Job
from tensift.sources import source_of

__all__ = ["DrawnSamples", "PilotSamples", "StoredSamples"]

Clock = Callable[[], float]

_MOST_VALUES = 2**25  # values of the user's samples that a run looks at
_BLOCK_VALUES = 2**22  # values that are in memory at a time while slices are picked
_TIMED_BYTES = 2**26  # bytes that are read for timing
_FACTORS, _NOISE = 8, 0.3  # of random samples: common factors, and noise beside them


class StoredSamples:
    """The user's own samples: evenly spaced ones, as many as are needed.

    Parameters
    ----------
    array : ndarray, or an array on disk
        Has ``shape`` and ``dtype``, and can be sliced.
    loaded_in : float or None, default=None
        The seconds that it took to load the array from a file, if a fit loads it whole too.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.plan import StoredSamples
    >>> StoredSamples(np.zeros((10, 4, 3))).rows(5).shape
    (5, 4, 3)
    """

    def __init__(self, array: Any, loaded_in: float | None = None) -> None:
        self.array, self.loaded_in = array, loaded_in
        self.count = int(array.shape[0])
        self.shape = tuple(int(length) for length in array.shape[1:])
        self.dtype = np.dtype(array.dtype)
        self.note = "your own samples"

    @property
    def in_memory(self) -> bool:
        """Whether the samples are an array in memory."""
        return isinstance(self.array, np.ndarray) and source_of(self.array) is None

    def most(self, job: Job) -> int:
        """Return the largest number of samples that a run may use."""
        return min(self.count, max(2, _MOST_VALUES // math.prod(self.shape)))

    def rows(self, count: int, start: int = 0, stop: int | None = None) -> NDArray:
        """Return samples `start` to `stop` of up to `count` evenly spaced ones."""
        step = max(1, self.count // count)
        stop = min(count, self.count // step) if stop is None else stop
        return np.array(self.array[start * step : stop * step : step])

    def slices(self, job: Job, count: int, size: int, slices: int) -> NDArray:
        """Return samples ``(count, size, slices)``: parts of some slices of the job."""
        features = _evenly(job.q, size)
        picked = _evenly(job.kept, slices)
        orientation = None
        if not job.is_identity:
            few = self.rows(min(count, max(2, _BLOCK_VALUES // job.elements)))
            orientation = job.make_orientation(few)
        block = max(1, _BLOCK_VALUES // job.elements)
        found = []
        for start in range(0, count, block):
            rows = self.rows(count, start, min(start + block, count))
            if orientation is None:
                rows = np.moveaxis(rows, job.orientation + 1, 1).reshape(len(rows), job.q, -1)
                found.append(rows[:, features[:, None], picked])
            else:
                rows = orientation.to_slices(rows.astype(float if job.real_data else complex))
                found.append(np.moveaxis(rows[picked[:, None], features], 2, 0).swapaxes(1, 2))
        return np.concatenate(found)

    def table(self, count: int, features: int) -> NDArray:
        """Return samples ``(count, features, 1)``: some of their features."""
        picked = _evenly(math.prod(self.shape), features)
        block = max(1, _BLOCK_VALUES // math.prod(self.shape))
        found = []
        for start in range(0, count, block):
            rows = self.rows(count, start, min(start + block, count))
            found.append(rows.reshape(len(rows), -1)[:, picked, None])
        return np.concatenate(found)

    def seconds_per_byte(self, clock: Clock) -> float:
        """Return the time to read a byte, from the disk and not from the memory of the system."""
        if self.loaded_in is not None:
            return self.loaded_in / self.array.nbytes
        if self.in_memory:
            return 0.0
        row_bytes = self.dtype.itemsize * math.prod(self.shape)
        first = self.array[: max(1, min(self.count, _TIMED_BYTES // row_bytes))]
        source = source_of(first)
        before = clock()  # an HDF5 or Zarr array has been read by slicing it
        if source is not None:
            _drop_from_cache(self.array)
            before = clock()
            for _ in source.chunks():  # type: ignore[attr-defined]
                pass
        else:
            self.array[: len(first)]
        return (clock() - before) / (len(first) * row_bytes)


class DrawnSamples:
    """Random samples of a shape and a type: a few smooth common factors, and noise."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.note = "random samples of this shape; times depend on the data, so yours may differ"

    def most(self, job: Job) -> int:
        """Return the largest number of samples that a run may use."""
        return job.samples

    def rows(self, count: int) -> NDArray:
        """Return `count` samples."""
        return self._draw(count, *self.shape).astype(self.dtype)

    def slices(self, job: Job, count: int, size: int, slices: int) -> NDArray:
        """Return samples ``(count, size, slices)``."""
        real = self._draw(count, size, slices)
        return real if not job.complex_slices else real + 1j * self._draw(count, size, slices)

    def table(self, count: int, features: int) -> NDArray:
        """Return samples ``(count, features, 1)``."""
        return self._draw(count, features, 1)

    def seconds_per_byte(self, clock: Clock) -> float:
        """Return the time to read a byte from the disk of temporary files."""
        row_bytes = self.dtype.itemsize * math.prod(self.shape)
        n_rows = max(1, _TIMED_BYTES // 4 // row_bytes)
        with suppress(OSError), tempfile.TemporaryDirectory(prefix="tensift-") as folder:
            path = os.path.join(folder, "samples.npy")
            written = np.lib.format.open_memmap(path, "w+", self.dtype, (n_rows, *self.shape))
            written.reshape(-1)[:] = np.arange(written.size, dtype=np.uint8)
            written.flush()
            del written
            with open(path, "rb") as stream:
                os.fsync(stream.fileno())
            return StoredSamples(np.load(path, mmap_mode="r")).seconds_per_byte(clock)
        return 0.0

    def _draw(self, count: int, *shape: int) -> NDArray[np.float64]:
        rng = np.random.default_rng(0)
        factors = rng.standard_normal((_FACTORS, *shape))
        for axis, length in enumerate(shape, start=1):
            for _ in range(3 if length > 1 else 0):
                factors = 0.5 * (factors + np.roll(factors, 1, axis=axis))
        weights = rng.standard_normal((count, _FACTORS)) * 0.8 ** np.arange(_FACTORS)
        samples: NDArray = np.tensordot(weights, factors / factors.std(), axes=1)
        samples += _NOISE * rng.standard_normal(samples.shape)
        return samples


PilotSamples = StoredSamples | DrawnSamples


def _evenly(length: int, count: int) -> NDArray[np.intp]:
    """Return `count` indices below `length`, each in the middle of its part."""
    return (2 * np.arange(count) + 1) * length // (2 * count)


def _drop_from_cache(array: Any) -> None:
    """Ask the system to forget what it has in memory of the file of a memory map."""
    name = getattr(array, "filename", None)
    if name is None or not hasattr(os, "posix_fadvise"):
        return
    with suppress(OSError), open(name, "rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
