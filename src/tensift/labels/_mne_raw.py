"""Continuous recordings as rows: one sample per time, read from disk when it is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RawRows", "good_times", "moments_of"]

_ROWS_AT_ONCE = 2**15


def good_times(raw: Any) -> NDArray[np.intp] | None:
    """Return the times outside of segments marked as bad; None if these are all times."""
    marks = raw.annotations
    bad = np.array([str(one).upper().startswith("BAD") for one in marks.description], dtype=bool)
    if not bad.any():
        return None
    onsets = marks.onset[bad] - raw.first_time
    starts = raw.time_as_index(onsets, use_rounding=True)
    stops = raw.time_as_index(onsets + marks.duration[bad], use_rounding=True)
    good = np.ones(raw.n_times, dtype=bool)
    for start, stop in zip(starts, stops, strict=True):
        good[max(start, 0) : max(stop, 0)] = False
    return None if good.all() else np.flatnonzero(good)


class RawRows:
    """Some channels of a recording as an array ``(times, channels)`` that can be sliced.

    Parameters
    ----------
    raw : mne.io.BaseRaw
        The recording. If it is not loaded, only what is asked for is read.
    channels : ndarray of int
        The places of the channels.
    times : ndarray of int, optional
        The places of the times, increasing; by default all.
    """

    def __init__(self, raw: Any, channels: NDArray[np.intp], times: Any = None) -> None:
        self.raw, self.channels, self.times = raw, channels, times
        self.shape = (raw.n_times if times is None else len(times), len(channels))
        self.dtype = np.dtype(float)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[np.float64]:
        """Return some rows, given by a slice or an integer."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            return self._read(start, max(start, stop))[::step]
        row = range(len(self))[rows]
        return self._read(row, row + 1)[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return np.asarray(self._read(0, len(self)), dtype=dtype)

    def _read(self, start: int, stop: int) -> NDArray[np.float64]:
        if start == stop:
            return np.empty((0, len(self.channels)))
        if self.times is None:
            return self._at(start, stop)
        wanted = self.times[start:stop]
        # Bad segments are read only where they are short; long ones are jumped over.
        cuts = np.flatnonzero(np.diff(wanted) > _ROWS_AT_ONCE) + 1
        parts = [self._at(p[0], p[-1] + 1)[p - p[0]] for p in np.split(wanted, cuts)]
        return np.concatenate(parts)

    def _at(self, start: int, stop: int) -> NDArray[np.float64]:
        data = self.raw.get_data(picks=self.channels, start=int(start), stop=int(stop))
        return np.ascontiguousarray(data.T)

    def blocks(self) -> Iterator[NDArray[np.float64]]:
        """Yield all rows, some at a time."""
        for start in range(0, len(self), _ROWS_AT_ONCE):
            yield self._read(start, min(start + _ROWS_AT_ONCE, len(self)))


def moments_of(
    blocks: Iterator[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the variance of every column, from blocks of rows that are read once."""
    count, mean, squares = 0, np.zeros(1), np.zeros(1)
    for block in blocks:
        with np.errstate(invalid="ignore", over="ignore"):
            middle = block.mean(axis=0)
            apart, total = middle - mean, count + len(block)
            squares = squares + ((block - middle) ** 2).sum(axis=0)
            squares += apart**2 * (count * len(block) / total)
            mean = mean + apart * (len(block) / total)
        count = total
    return mean, squares / max(count, 1)
