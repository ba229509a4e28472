"""Centred moments of samples, summed up block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import Pool
from tensift._utils.stacks import adjoint, diagonal_of, squared_modulus
from tensift.labels import Names
from tensift.moments._orientation import Orientation
from tensift.moments._peaks import checked_peak
from tensift.moments._tensor import GramTensor
from tensift.sources import EvenSubsample

__all__ = ["Moments", "along_samples", "check_weights"]

# Samples (in double precision) are centred in parts that fit into the cache of one core, and
# multiplied in blocks that fit into the shared cache but have at least 2 q samples.
_PART_BYTES = 2**21
_BLOCK_BYTES = 2**23
_LARGEST_BLOCK = 2**26  # above this, a block has q samples: no more bytes than the Gram tensor
_FEWEST_ROWS = 8, 32  # least samples in a part, because each part's mean adds a row to the block
_LARGEST_PART = 2**24
_TASKS = 8  # divide the slices of a block into at least this many tasks


class Moments:
    """Count, mean, spread and Gram tensor of samples seen so far, in double precision.

    Each block is centred on its own mean and merged with a rank-one correction for the shift
    between means. Large uncentred sums are never subtracted from each other, which would lose
    digits. While there are fewer samples than features in a slice, the centred samples are kept
    as thin factors. After that they are added to dense Gram matrices, and memory no longer grows
    with the number of samples.

    Parameters
    ----------
    orientation : Orientation
        How samples become slices.
    slices : slice or None, default=None
        Which of the kept slices have Gram matrices; None for all. Count, mean, spread and peak
        always refer to all features.

    Attributes
    ----------
    count : int
        Samples seen.
    total : float
        The sum of their weights; `count` if none had one.
    mean : ndarray of shape feature_shape
        Mean of the samples.
    peak : float
        Largest absolute value seen.
    subsample : EvenSubsample or None
        A few evenly spaced samples, for methods that need samples; see
        `tensift.sources.even_subsample`. None after `merge` and `update`.
    names : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.moments import Moments, Orientation
    >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
    >>> moments = Moments(Orientation((4, 3), 0, make_transforms("identity", [3])))
    >>> moments.update(X[:20]).update(X[20:]).count
    50
    >>> centred = X[:, :, 1] - X[:, :, 1].mean(axis=0)
    >>> bool(np.allclose(moments.gram().dense()[1], centred.T @ centred))
    True
    """

    names: Names | None = None
    before_filling: Any = None  # what was missing, if samples were filled first

    def __init__(self, orientation: Orientation, slices: slice | None = None) -> None:
        self.orientation = orientation
        self.slices = slices
        self.count = 0
        self.total: float = 0
        self.peak = 0.0
        self.subsample: EvenSubsample | None = None
        self.mean: NDArray = np.zeros(orientation.feature_shape)
        self._squares: NDArray[np.float64] = np.zeros(orientation.feature_shape)
        self._columns: list[NDArray] = []  # thin factors, until there are q samples
        self._scatter: NDArray | None = None
        self._buffer: NDArray | None = None  # centred samples, not yet in the Gram matrices
        self._filled = 0

    def update(
        self,
        samples: NDArray,
        pool: Pool | None = None,
        *,
        weights: NDArray[np.float64] | None = None,
        more_follows: bool = False,
    ) -> Moments:
        """Add samples ``(n, d_1, ..., d_m)``, one block at a time.

        With `more_follows`, samples are buffered until there are enough of them. Call `flush`
        before the moments are used. The threads of `pool` share the work; their number does not
        change the result. Samples with NaN, infinity or values above 1e100 raise
        `UnusableSample`; the moments must not be used after that.

        `weights` are positive, one for each sample. A whole number counts like so many copies.
        """
        self.subsample = None
        check_weights(weights, len(samples))
        total = len(samples) if weights is None else float(weights.sum())
        size = max(self.count + len(samples), self.total + total)
        if self._scatter is None and size < self.orientation.size:
            if len(samples):
                self._add_thin(samples, weights, total)
            return self
        rows = self._rows_of_block()
        for start in range(0, len(samples), rows):
            stop = min(start + rows, len(samples))
            self._add_block(samples, weights, start, stop, pool, more_follows)
        if not more_follows:
            self.flush(pool, last=True)
        return self

    def flush(self, pool: Pool | None = None, *, last: bool = False) -> None:
        """Add the buffered samples to the Gram matrices; with `last`, free the buffer."""
        if self._filled:
            self._multiply(pool)
        if self._slices_are_features and self._scatter is not None:
            self._squares = self._as_features(diagonal_of(self._scatter).real)
        if last:
            self._buffer = None

    def _add_thin(
        self, samples: NDArray, weights: NDArray[np.float64] | None, total: float
    ) -> None:
        """Add samples while there are fewer than q in total, so that they are kept."""
        peak = checked_peak(samples, 0)
        centred, mean = _centred(samples, weights)
        columns = [self._to_slices(centred)] if len(samples) > 1 or not self.count else []
        squares = _sums_of_squares(centred)
        self._join(len(samples), total, mean, squares, peak, columns, None)

    def _add_block(
        self,
        samples: NDArray,
        weights: NDArray[np.float64] | None,
        start: int,
        stop: int,
        pool: Pool | None,
        more_follows: bool,
    ) -> None:
        """Write a block of samples to the buffer, for `_multiply`.

        The block is centred in parts that fit into the cache, each on its own mean. One further
        row per part, and one for all earlier samples, holds the weighted distance of that mean
        from the new joint mean. The scatter about the joint mean is then a single product.
        """
        scatter = self._dense_without_buffer()
        length = self._rows_of_part()
        starts = range(start, stop, length)
        needed = stop - start + len(starts) + 1
        if self._buffer is None or len(self._buffer) < needed:
            rows = self._rows_of_block() if more_follows else stop - start
            most = max(needed, rows + -(-rows // length) + 1)
            self._buffer = np.empty((most, *scatter.shape[:2]), scatter.dtype)
        if self._filled + needed > len(self._buffer):
            self._multiply(pool)
        buffer = self._buffer[self._filled :]
        run = _run_serially if pool is None else pool.map

        def take_in(first: int) -> tuple[float, NDArray, NDArray[np.float64] | None]:
            part = samples[first : min(first + length, stop)]
            own = None if weights is None else weights[first : min(first + length, stop)]
            peak = checked_peak(part, first)
            rows = buffer[first - start : first - start + len(part)]
            if self._slices_are_features:
                return peak, self._center_as_slices(part, own, rows), None
            centred, mean = _centred(part, own)
            rows[...] = np.moveaxis(self._to_slices(centred), 2, 0)
            return peak, mean, _sums_of_squares(centred)

        peaks, means, squares = zip(*run(take_in, starts), strict=True)
        self.count += stop - start
        totals: list[Any] = [min(length, stop - first) for first in starts]
        if weights is not None:
            totals = [float(weights[first : min(first + length, stop)].sum()) for first in starts]
        shifts = self._join_means(totals, means)
        self.peak = max(self.peak, *peaks)
        if not self._slices_are_features:
            self._squares = sum(squares, self._squares) + _sums_of_squares(shifts)
        filled = stop - start + len(shifts)
        buffer[stop - start : filled] = np.moveaxis(self._to_slices(shifts), 2, 0)
        self._filled += filled

    def _multiply(self, pool: Pool | None) -> None:
        """Add the products of all buffered samples to the Gram matrices."""
        assert self._buffer is not None
        scatter = self._dense_without_buffer()
        columns = np.moveaxis(self._buffer[: self._filled], 0, 2)

        def multiply(part: slice) -> None:
            scatter[part] += columns[part] @ adjoint(columns[part])

        (_run_serially if pool is None else pool.map)(multiply, self._tasks(scatter))
        self._filled = 0

    def _center_as_slices(
        self, part: NDArray, weights: NDArray[np.float64] | None, rows: NDArray
    ) -> NDArray:
        """Write samples to `rows` in the order of slices, centre them, and return their mean.

        Rows with weights are multiplied by the roots of these.

        With identity transforms, slices are the samples themselves with their axes permuted.
        """
        orientation = self.orientation
        if rows.shape[1] == 1:
            rows[:, 0] = part.reshape(len(part), -1)
        else:
            laid_out = rows.reshape(len(part), *orientation.other_shape, orientation.size)
            laid_out[...] = np.moveaxis(part, orientation.mode + 1, -1)
        flat = rows.reshape(len(part), -1)
        mean = _mean(flat, weights)
        flat -= mean
        if weights is not None:
            flat *= np.sqrt(weights)[:, None]
        return self._as_features(mean)

    def _as_features(self, values: NDArray) -> NDArray:
        """Return values ``(p, q)`` of slices in the shape of a sample; for identity transforms."""
        orientation = self.orientation
        if orientation.n_slices == 1:
            return values.reshape(orientation.feature_shape).copy()
        values = values.reshape(*orientation.other_shape, orientation.size)
        return np.ascontiguousarray(np.moveaxis(values, -1, orientation.mode))

    def _join_means(self, totals: list[Any], means: Iterable[NDArray]) -> NDArray:
        """Add groups of samples to total and mean; return ``sqrt(n_i) (m_i - m)`` of all groups.

        The earlier samples are a group too. The products of these shifts are the scatter between
        the groups.
        """
        weights, centres = list(totals), list(means)
        if self.total:
            weights, centres = [self.total, *weights], [self.mean, *centres]
        total = sum(weights)
        # Subtract the first mean: means may agree in most digits, and sums would lose the rest.
        away = np.stack([centre - centres[0] for centre in centres])
        share = np.asarray(weights) / total
        shift = np.tensordot(share, away, axes=1)
        self.mean, self.total = centres[0] + shift, total
        roots = np.sqrt(np.asarray(weights, float)).reshape(-1, *(1,) * shift.ndim)
        shifts: NDArray = roots * (away - shift)
        return shifts

    def merge(self, other: Moments) -> Moments:
        """Add the samples of other moments of the same orientation, which are not changed.

        Examples
        --------
        >>> import numpy as np
        >>> from tensift.algebra import make_transforms
        >>> from tensift.moments import Moments, Orientation
        >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
        >>> orientation = Orientation((4, 3), 0, make_transforms("identity", [3]))
        >>> one, other = Moments(orientation).update(X[:20]), Moments(orientation).update(X[20:])
        >>> bool(np.allclose(one.merge(other).mean, X.mean(axis=0)))
        True
        """
        if other.missing is not None:
            raise ValueError(
                "other was collected with missing='allow', and these moments were not; add these "
                "to the other ones: other.merge(moments)"
            )
        if other.count:
            self.subsample = None  # the joined subsamples would not be evenly spaced
            columns, scatter = list(other._columns), other._scatter
            self._join(
                other.count, other.total, other.mean, other._squares, other.peak, columns, scatter
            )
        return self

    def _join(
        self,
        count: int,
        total: float,
        mean: NDArray,
        squares: NDArray[np.float64],
        peak: float,
        columns: list[NDArray],
        scatter: NDArray | None,
    ) -> None:
        """Add centred moments of more samples, with the correction for the shift of the mean.

        Two groups of samples with totals n1 and n2 and means m1 and m2 have the joint scatter
        ``S1 + S2 + n1 n2 / (n1 + n2) (m1 - m2) (m1 - m2)^H``.
        """
        self.peak = max(self.peak, peak)
        self._squares = self._squares + squares
        if self.count:
            weight = self.total * total / (self.total + total)
            shift = mean - self.mean
            self._squares += weight * squared_modulus(shift)
            columns.append(np.sqrt(weight) * self._to_slices(shift[None]))
        self.mean = self.mean + (mean - self.mean) * (total / (self.total + total))
        self.count += count
        self.total += total
        self._columns += columns
        if scatter is not None:
            self._scatter = scatter.copy() if self._scatter is None else self._scatter + scatter
        if self._scatter is not None or self.sample_size >= self.orientation.size:
            self._dense()

    def _dense(self) -> NDArray:
        """Return the Gram matrices, after adding the buffered samples."""
        if self._filled:
            self.flush()
        return self._dense_without_buffer()

    def _dense_without_buffer(self) -> NDArray:
        """Return the Gram matrices without buffered samples; thin factors are added and dropped."""
        if self._scatter is None:
            self._scatter = self.blank_scatter()
        while self._columns:
            columns = self._columns.pop()
            self._scatter += columns @ adjoint(columns)
        return self._scatter

    def blank_scatter(self) -> NDArray:
        """Return Gram matrices of no samples: zeros."""
        size = self.orientation.size
        n_slices = len(self.orientation.kept_slices[self.slices or slice(None)])
        transforms = self.orientation.transforms
        real = self.orientation.real_data and all(one.is_real for one in transforms)
        return np.zeros((n_slices, size, size), float if real else complex)

    def gram(self) -> GramTensor:
        """Return the Gram tensor of the kept slices; thin if there are fewer than q samples."""
        if self._scatter is not None:
            return GramTensor(self._dense(), thin=False)
        return GramTensor(np.concatenate(self._columns, axis=2), thin=True)

    @property
    def missing(self) -> Any:
        """What is missing (`MissingValues`); None if nothing may be."""
        return None

    @property
    def widest(self) -> int:
        """The largest number of features of a slice that are known."""
        return self.orientation.size

    @property
    def sample_size(self) -> float:
        """How many samples these count for: the sum of their weights, and at least their number.

        Weights that sum up to less than the number of samples are shares, not copies.
        """
        return max(self.count, self.total)

    @property
    def degrees_of_freedom(self) -> float:
        """What squares are divided by for a variance: one less than the total, if that is a count.

        It scales with weights that are shares.
        """
        return self.total - self.total / self.sample_size

    def spread(self) -> NDArray[np.float64]:
        """Return the standard deviation of every feature."""
        return np.sqrt(self._squares / self.total)

    def standardised(self, deviations: NDArray[np.float64]) -> Moments:
        """Return moments whose slices are divided by numbers that the transforms do not mix.

        Count, mean, spread and peak stay those of the samples, like the subsample.
        """
        scaled = copy(self)
        scaled.orientation = replace(self.orientation, deviations=deviations)
        gram = self.gram().divided(scaled.orientation.in_slices(deviations))
        scaled._columns = [gram.array] if gram.thin else []
        scaled._scatter = None if gram.thin else gram.array
        return scaled

    def _to_slices(self, samples: NDArray) -> NDArray:
        slices: NDArray = self.orientation.to_slices(samples, self.slices)
        return slices

    @property
    def _slices_are_features(self) -> bool:
        """Whether slices are the samples with permuted axes: all slices, no transform."""
        return self.slices is None and self.orientation.keeps_values

    @staticmethod
    def _tasks(scatter: NDArray) -> list[slice]:
        """Divide slices into tasks whose products fit into the cache of one core."""
        most = max(1, _PART_BYTES // scatter[0].nbytes)
        step = min(-(-len(scatter) // _TASKS), most)
        return [slice(first, first + step) for first in range(0, len(scatter), step)]

    def _rows_of_part(self) -> int:
        row_bytes = 8 * math.prod(self.orientation.feature_shape)
        few = max(_FEWEST_ROWS[0], min(_FEWEST_ROWS[1], _LARGEST_PART // row_bytes))
        return max(few, _PART_BYTES // row_bytes)

    @property
    def rows_per_flush(self) -> int:
        """The least number of samples between two calls of `flush`."""
        return min(self._rows_of_block(), 2 * self.orientation.size)

    def _rows_of_block(self) -> int:
        size = self.orientation.size
        row_bytes = 8 * math.prod(self.orientation.feature_shape)
        # With at least 2 q rows, adding to the Gram tensor costs less than the products.
        rows = max(2 * size, _BLOCK_BYTES // row_bytes)
        if rows * row_bytes > _LARGEST_BLOCK:
            rows = max(size, _LARGEST_BLOCK // row_bytes)
        return rows


def _run_serially(work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
    return [work(task) for task in tasks]


def _centred(
    samples: NDArray, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray, NDArray]:
    """Return samples minus their mean, in double precision, and the mean.

    Samples with weights are multiplied by the roots of these.
    """
    values = np.asarray(samples, dtype=complex if np.iscomplexobj(samples) else float)
    mean = _mean(values, weights)
    centred = values - mean
    if weights is not None:
        centred *= along_samples(np.sqrt(weights), centred)
    return centred, mean


def _mean(values: NDArray, weights: NDArray[np.float64] | None) -> NDArray:
    """Return the mean of samples."""
    if weights is None:
        mean: NDArray = values.mean(axis=0)
        return mean
    # About the first sample: sums of large equal parts would lose digits.
    away = np.tensordot(weights / weights.sum(), values - values[0], axes=1)
    return np.asarray(values[0] + away)


def check_weights(weights: NDArray[np.float64] | None, n_samples: int) -> None:
    """Raise an error if there is not one positive weight for each sample."""
    if weights is None:
        return
    if np.shape(weights) != (n_samples,):
        raise ValueError(
            f"weights has shape {np.shape(weights)}, but there are {n_samples} samples; pass one "
            "for each"
        )
    if not (np.all(weights > 0) and np.all(np.isfinite(weights))):
        raise ValueError("weights must be positive and finite; leave out samples of weight 0")


def along_samples(numbers: NDArray, samples: NDArray) -> NDArray:
    """Return one number for each sample in a shape that multiplies samples."""
    return numbers.reshape(-1, *(1,) * (samples.ndim - 1))


def _sums_of_squares(samples: NDArray) -> NDArray[np.float64]:
    sums: NDArray = np.einsum("n...,n...->...", samples.conj(), samples).real
    return sums
