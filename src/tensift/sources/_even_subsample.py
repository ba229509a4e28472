"""A few evenly spaced samples: the same ones however the samples are split into chunks."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    in_precision,
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)
from tensift._utils.pool import Pool
from tensift.sources._kept_samples import KeptSamples
from tensift.sources._sample_weights import SampleWeights
from tensift.sources._stretches import Stretches

__all__ = ["EvenSubsample", "even_subsample", "kept_samples", "most_rows", "stride_of"]

# Selection by geometry needs 512 samples, and gains little from more than 2048. Memory sets limits:
_MOST, _ENOUGH, _FEWEST = 2048, 512, 64  # numbers of samples
_USUAL_BYTES = 2**27  # what more than 512 samples may take together, in single precision
_MOST_BYTES = 2**28  # what 512 samples may take; of larger samples there are fewer
_WORTH_SHARING = 2**24  # bytes of a copy from which on threads make it together


def most_rows(n_features: int) -> int:
    """Return the largest number of samples to keep if each has `n_features` features."""
    usual = min(_USUAL_BYTES // (4 * n_features), _MOST)
    return max(usual, min(_MOST_BYTES // (4 * n_features), _ENOUGH), _FEWEST)


def stride_of(n_samples: int, n_features: int) -> int:
    """Return the smallest power-of-two stride that leaves at most `most_rows` samples.

    Powers of two allow streaming: whenever the stride doubles, every other kept sample is dropped.

    Examples
    --------
    >>> from tensift.sources import stride_of
    >>> stride_of(2048, 64), stride_of(2049, 64), stride_of(10**6, 64)
    (1, 2, 512)
    """
    groups = -(-n_samples // most_rows(n_features))
    return 1 << max(0, groups - 1).bit_length()


def even_subsample(samples: Any) -> Any:
    """Return evenly spaced samples of an array in memory, beginning with the first.

    The stride is the smallest power of two that leaves at most 2048 samples, and at most 128 MiB of
    them in single precision. If these are fewer than 512, it leaves at most 512 samples, and at
    most 256 MiB of them, but never fewer than 33. NumPy arrays are converted to double precision;
    other arrays stay on their device and keep their precision. The result may share memory with
    `samples`, so do not write to it.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.sources import even_subsample
    >>> rows = even_subsample(np.arange(10_000).reshape(5000, 2))
    >>> len(rows), rows[:3, 0]
    (1250, array([ 0.,  8., 16.]))
    """
    stride = stride_of(samples.shape[0], math.prod(samples.shape[1:]))
    return _floating(samples if stride == 1 else samples[::stride, ...])


def kept_samples(samples: Any, weights: SampleWeights | None = None) -> KeptSamples:
    """Return what `EvenSubsample` keeps of an array in memory; it may share memory with it.

    Parameters
    ----------
    samples : array of shape (n, ...)
        Samples, of any array library.
    weights : SampleWeights, optional
        Their weights, all of them positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.sources import SampleWeights, kept_samples
    >>> kept_samples(np.zeros((3, 2)), SampleWeights.of([1, 2, 4])).weights
    array([1., 2., 4.])
    """
    if weights is None:
        return KeptSamples(even_subsample(samples))
    most = most_rows(math.prod(samples.shape[1:]))
    _, index, stretches = Stretches().after(weights, most)
    rows = samples if len(index) == samples.shape[0] else _taken(samples, index)
    return KeptSamples(_floating(rows), stretches.weights, stretches.groups)


class EvenSubsample:
    """Reads samples in chunks and keeps those that `even_subsample` returns for all of them.

    Samples with weights lie on a line, one after another, and each is as long as its weight. Those
    are kept in which a multiple of the spacing lies, the smallest power of two that leaves no more
    samples than may be kept. Their weights are what they stand for: their own, but at least the
    spacing. So all samples keep their weights as long as there are few, and equal weights give
    evenly spaced samples.

    Parameters
    ----------
    feature_shape : tuple of int
        The shape of one sample.

    Attributes
    ----------
    count : int
        The number of samples read so far.

    Notes
    -----
    The arrays it holds are never written to, so a shallow copy can be continued on its own.
    """

    def __init__(self, feature_shape: tuple[int, ...]) -> None:
        self.feature_shape = feature_shape
        self.count = 0
        self._parts: list[Any] = []
        self._stretches: Stretches | None = None  # None until a sample has a weight

    @classmethod
    def of(cls, kept: KeptSamples) -> EvenSubsample:
        """Return a subsample that has kept these samples, without a copy."""
        held = cls(tuple(kept.rows.shape[1:]))
        held._parts, held.count = ([kept.rows] if len(kept) else []), len(kept)
        if kept.weights is not None:
            weights = SampleWeights(kept.weights, kept.groups)
            held._stretches = Stretches().after(weights, len(kept))[2]
        return held

    def add(
        self, samples: Any, weights: SampleWeights | None = None, pool: Pool | None = None
    ) -> None:
        """Read more samples, as tensors or as rows, and keep copies of some.

        Weights must be positive: leave out samples whose weight is zero. The threads of `pool`
        share the copying.
        """
        count = samples.shape[0]
        index = self.next_rows(count, weights)
        if isinstance(index, slice):
            rows = _copied(_every(samples, index.start, index.step), pool)
        else:
            rows = _taken(samples, index)
        self.add_rows(rows, count, weights)

    def next_rows(
        self, n_samples: int, weights: SampleWeights | None = None
    ) -> slice | NDArray[np.intp]:
        """Return which of the next samples to keep."""
        if weights is None and self._stretches is None:
            stride = self._stride(self.count + n_samples)
            return slice(-self.count % stride, None, stride)
        return self._next(n_samples, weights)[1]

    def add_rows(self, rows: Any, n_samples: int, weights: SampleWeights | None = None) -> None:
        """Read `n_samples` samples, of which `rows` are those to keep according to `next_rows`."""
        if weights is None and self._stretches is None:
            step = self._stride(self.count + n_samples) // self._stride(self.count)
            if step > 1:
                held, parts = 0, []
                for part in self._parts:
                    parts.append(_copied(_every(part, -held % step, step)))
                    held += part.shape[0]
                self._parts = parts
        else:
            kept, _, self._stretches = self._next(n_samples, weights)
            if self._parts and len(kept) < sum(part.shape[0] for part in self._parts):
                self._parts = [_taken(self._joined(), kept)]
        if rows.shape[0]:
            shape = (rows.shape[0], *self.feature_shape)
            self._parts = [*self._parts, _reshaped(rows, shape)]
        self.count += n_samples

    def _next(
        self, n_samples: int, weights: SampleWeights | None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Stretches]:
        """Return the places of held and of new samples to keep, and the stretches after that."""
        known = self._stretches
        if known is None:
            known = Stretches.of_equal(self.count, self._stride(self.count))
        if weights is None:
            weights = SampleWeights(np.ones(n_samples))
        return known.after(weights, most_rows(math.prod(self.feature_shape)))

    def kept(self) -> KeptSamples:
        """Return the kept samples with their weights, in double precision or (on a device) own."""
        self._parts = [_floating(self._joined())]
        known = self._stretches
        if known is None:
            return KeptSamples(self._parts[0])
        return KeptSamples(self._parts[0], known.weights, known.groups)

    def rows(self) -> Any:
        """Return the kept samples, in double precision or (on a device) in their own."""
        return self.kept().rows

    def held(self) -> Any:
        """Return the kept samples in their original dtype."""
        self._parts = [self._joined()] if self._parts else []
        return self._parts[0] if self._parts else np.empty((0, *self.feature_shape))

    def state(self) -> dict[str, Any]:
        """Return arrays from which `restore` continues."""
        held = {"subsample": self.held()}
        if self._stretches is not None:
            held["stretches"] = self._stretches.to_array()
        return held

    def restore(self, state: dict[str, Any], n_samples: int) -> None:
        """Continue from what `state` returned after `n_samples` samples."""
        rows = state["subsample"]
        self._parts, self.count = ([rows] if len(rows) else []), n_samples
        if "stretches" in state:
            self._stretches = Stretches.from_array(state["stretches"])

    def to_numpy(self) -> EvenSubsample:
        """Return a copy with NumPy arrays."""
        on_host = copy(self)
        on_host._parts = [to_numpy(part) for part in self._parts]
        return on_host

    def _stride(self, n_samples: int) -> int:
        return stride_of(n_samples, math.prod(self.feature_shape))

    def _joined(self) -> Any:
        """Concatenate all parts, in a dtype that can hold the values of each."""
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
    # The array API standard does not define slices that start beyond the end.
    return rows[min(first, rows.shape[0]) :: stride, ...]


def _taken(rows: Any, index: Any) -> Any:
    if is_device_array(rows):
        return namespace_of(rows).take(rows, moved_to(rows, index), axis=0)
    return rows[index]


def _copied(rows: Any, pool: Pool | None = None) -> Any:
    """Copy an array, so that it does not keep a larger one in memory."""
    if is_device_array(rows):
        return namespace_of(rows).asarray(rows, copy=True)
    if pool is None or rows.nbytes < _WORTH_SHARING:
        return np.array(rows)
    copied = np.empty_like(rows)

    def copy_row(number: int) -> None:
        copied[number] = rows[number]

    pool.map(copy_row, range(len(rows)))
    return copied


def _reshaped(rows: Any, shape: tuple[int, ...]) -> Any:
    return namespace_of(rows).reshape(rows, shape) if is_device_array(rows) else rows.reshape(shape)
