"""A few evenly spaced samples of any number of them, the same ones however they come."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np

from tensift._namespace import (
    in_precision,
    is_complex,
    is_device_array,
    namespace_of,
    precision_of,
    to_numpy,
)

__all__ = ["ThinnedSamples", "most_rows", "stride_of", "thinned"]

_BYTES = 2**25  # of all rows together, in double precision
_FEWEST, _MOST = 32, 2048


def most_rows(n_features: int) -> int:
    """How many samples of so many features are kept at most."""
    return min(max(_BYTES // (8 * n_features), _FEWEST), _MOST)


def stride_of(n_samples: int, n_features: int) -> int:
    """The smallest power of two, every how many-th sample are no more than `most_rows`."""
    groups = -(-n_samples // most_rows(n_features))
    return 1 << max(0, groups - 1).bit_length()


def thinned(samples: Any) -> Any:
    """Evenly spaced samples of an array in memory, from the first on.

    Those whose index is a multiple of the smallest power of two that leaves few enough: at most
    32 MiB of them, but from 32 to 2048. They are in double precision, or where `samples` are and
    in their precision. They may share memory with `samples`, and are not to be written into.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.base import thinned
    >>> rows = thinned(np.arange(10_000).reshape(5000, 2))
    >>> len(rows), rows[:3, 0]
    (1250, array([ 0.,  8., 16.]))
    """
    stride = stride_of(samples.shape[0], math.prod(samples.shape[1:]))
    return _floating(samples if stride == 1 else samples[::stride, ...])


class ThinnedSamples:
    """Takes in samples in any chunks, and keeps those that `thinned` gives of all together.

    Parameters
    ----------
    feature_shape : tuple of int
        The shape of one sample.

    Attributes
    ----------
    count : int
        Samples taken in.

    Notes
    -----
    What it holds is never written into: a shallow copy can go on by itself.
    """

    def __init__(self, feature_shape: tuple[int, ...]) -> None:
        self.feature_shape = feature_shape
        self.count = 0
        self._parts: list[Any] = []

    def add(self, samples: Any) -> None:
        """Take in samples, as tensors or as rows, of which copies are kept."""
        count = samples.shape[0]
        first, stride = self.next_rows(count)
        self.add_rows(_copied(_every(samples, first, stride)), count)

    def next_rows(self, n_samples: int) -> tuple[int, int]:
        """The first of the next samples that is kept, and every how many-th after it."""
        stride = self._stride(self.count + n_samples)
        return -self.count % stride, stride

    def add_rows(self, rows: Any, n_samples: int) -> None:
        """Take in samples of which those to keep, by `next_rows`, are here; they are kept."""
        step = self._stride(self.count + n_samples) // self._stride(self.count)
        if step > 1:
            held, parts = 0, []
            for part in self._parts:
                parts.append(_copied(_every(part, -held % step, step)))
                held += part.shape[0]
            self._parts = parts
        if rows.shape[0]:
            shape = (rows.shape[0], *self.feature_shape)
            self._parts = [*self._parts, _reshaped(rows, shape)]
        self.count += n_samples

    def rows(self) -> Any:
        """The samples that were kept, in double precision or that of their device."""
        self._parts = [_floating(self._joined())]
        return self._parts[0]

    def to_numpy(self) -> ThinnedSamples:
        """The same on the host."""
        on_host = copy(self)
        on_host._parts = [to_numpy(part) for part in self._parts]
        return on_host

    def _stride(self, n_samples: int) -> int:
        return stride_of(n_samples, math.prod(self.feature_shape))

    def _joined(self) -> Any:
        """All parts in one, of the type that holds the values of each."""
        parts = self._parts
        if len(parts) == 1:
            return parts[0]
        if not is_device_array(parts[0]):
            same = len({part.dtype for part in parts}) == 1
            return np.concatenate(
                parts, dtype=None if same else _double(any(map(is_complex, parts)))
            )
        xp = namespace_of(parts[0])
        parts = [_floating(part) for part in parts]
        dtype = xp.result_type(*{part.dtype for part in parts})
        return xp.concat([xp.astype(part, dtype, copy=False) for part in parts])


def _double(complex_values: bool) -> Any:
    return np.complex128 if complex_values else np.float64


def _floating(rows: Any) -> Any:
    if is_device_array(rows):
        return in_precision(rows, precision_of(rows))
    return np.asarray(rows).astype(_double(is_complex(rows)), copy=False)


def _every(rows: Any, first: int, stride: int) -> Any:
    # Slices that start behind the end are not in the array API standard.
    return rows[min(first, rows.shape[0]) :: stride, ...]


def _copied(rows: Any) -> Any:
    """An array of its own, which keeps no larger one alive."""
    if is_device_array(rows):
        return namespace_of(rows).asarray(rows, copy=True)
    return np.array(rows)


def _reshaped(rows: Any, shape: tuple[int, ...]) -> Any:
    return namespace_of(rows).reshape(rows, shape) if is_device_array(rows) else rows.reshape(shape)
