"""Centred moments of oriented data, accumulated over blocks of samples and merged exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._pool import Pool
from tensift._stacks import adjoint, diagonal_of, squared_modulus
from tensift.gram._orientation import Orientation
from tensift.gram._tensor import GramTensor

__all__ = ["Moments", "UnusableSample", "checked_peak", "largest_modulus"]

# Of samples in double precision: those that are centred together stay in the cache of a core,
# those that are multiplied together (but at least 2 q) in the cache of all.
_PART_BYTES = 2**21
_BLOCK_BYTES = 2**23
_LARGEST_BLOCK = 2**26  # beyond this, a block has q samples and no more bytes than the Gram tensor
_FEWEST_ROWS = 8, 32  # of a part: the mean of every part is one more row of a block
_LARGEST_PART = 2**24
_TASKS = 8  # into which the slices of a block are divided at least
_LARGEST = 1e100  # a value whose squares can be summed
_TOO_LARGE = f"values above {_LARGEST:.0e}, too large for sums of squares; use larger units"


class UnusableSample(ValueError):
    """A sample holds values that no sums can be made of.

    Attributes
    ----------
    row : int
        Its number among the samples that were given.
    what : str
        What it holds.
    """

    def __init__(self, row: int, what: str) -> None:
        super().__init__(f"Input X contains {what}; mend such samples first, or leave them out")
        self.row, self.what = row, what

    def __reduce__(self) -> tuple[Any, ...]:
        return UnusableSample, (self.row, self.what)


class Moments:
    """Count, mean, spread and Gram tensor of samples seen so far, in double precision.

    Blocks are centred on their own mean and merged with a rank-one correction for the shift
    between means, so no large uncentred sums are ever subtracted. While there are fewer samples
    than features in a slice, the centred samples themselves are kept as thin factors; from then
    on they are folded into dense Gram matrices and memory no longer grows with the samples.

    Parameters
    ----------
    orientation : Orientation
        How samples are turned into slices.
    slices : slice or None, default=None
        Of which of the kept slices to hold the Gram matrices; None for all. Count, mean, spread
        and peak are those of all features in any case.

    Attributes
    ----------
    count : int
        Samples seen.
    mean : ndarray of shape feature_shape
        Mean of the samples.
    peak : float
        Largest absolute value seen.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.gram import Moments, Orientation
    >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
    >>> moments = Moments(Orientation((4, 3), 0, make_transforms("identity", [3])))
    >>> moments.update(X[:20]).update(X[20:]).count
    50
    >>> centred = X[:, :, 1] - X[:, :, 1].mean(axis=0)
    >>> bool(np.allclose(moments.gram().dense()[1], centred.T @ centred))
    True
    """

    def __init__(self, orientation: Orientation, slices: slice | None = None) -> None:
        self.orientation = orientation
        self.slices = slices
        self.count = 0
        self.peak = 0.0
        self.mean: NDArray = np.zeros(orientation.feature_shape)
        self._squares: NDArray[np.float64] = np.zeros(orientation.feature_shape)
        self._columns: list[NDArray] = []  # thin factors, while they are thin
        self._scatter: NDArray | None = None
        self._block: NDArray | None = None  # centred samples that are not multiplied yet
        self._filled = 0

    def update(
        self, samples: NDArray, pool: Pool | None = None, *, more_follows: bool = False
    ) -> Moments:
        """Take in samples ``(n, d_1, ..., d_m)``, a block at a time.

        If `more_follows`, products wait until there are enough samples, or for `settle`, before
        which the moments are of no use. The work is shared out to the workers of `pool`, whose
        number changes nothing. Samples that hold NaN, infinity or values beyond 1e100 are an
        `UnusableSample`, after which the moments are of no use either.
        """
        if self._scatter is None and self.count + len(samples) < self.orientation.size:
            if len(samples):
                self._add_thin(samples)
            return self
        rows = self._rows_of_block()
        for start in range(0, len(samples), rows):
            self._add_block(samples, start, min(start + rows, len(samples)), pool, more_follows)
        if not more_follows:
            self.settle(pool, last=True)
        return self

    def settle(self, pool: Pool | None = None, *, last: bool = False) -> None:
        """Make the products that wait for more samples, of which none will come after the last."""
        if self._filled:
            self._multiply(pool)
        if self._slices_are_features and self._scatter is not None:
            self._squares = self._laid_out(diagonal_of(self._scatter).real)
        if last:
            self._block = None

    def _add_thin(self, samples: NDArray) -> None:
        """Take in so few samples that they are kept."""
        peak = checked_peak(samples, 0)
        centred, mean = _centred(samples)
        columns = [self._to_slices(centred)] if len(samples) > 1 or not self.count else []
        self._join(len(samples), mean, _sums_of_squares(centred), peak, columns, None)

    def _add_block(
        self, samples: NDArray, start: int, stop: int, pool: Pool | None, more_follows: bool
    ) -> None:
        """Take in a block of samples.

        Parts of it are centred on their own means, as they fit into the cache. All the products
        are then made at once, of the centred samples and of what the parts' means, and that of
        all samples before, are away from the mean of them all.
        """
        scatter = self._opened()
        length = self._rows_of_part()
        starts = range(start, stop, length)
        needed = stop - start + len(starts) + 1
        if self._block is None or len(self._block) < needed:
            rows = self._rows_of_block() if more_follows else stop - start
            most = max(needed, rows + -(-rows // length) + 1)
            self._block = np.empty((most, *scatter.shape[:2]), scatter.dtype)
        if self._filled + needed > len(self._block):
            self._multiply(pool)
        buffer = self._block[self._filled :]
        run = _in_turn if pool is None else pool.map

        def take_in(first: int) -> tuple[float, NDArray, NDArray[np.float64] | None]:
            part = samples[first : min(first + length, stop)]
            peak = checked_peak(part, first)
            rows = buffer[first - start : first - start + len(part)]
            if self._slices_are_features:
                return peak, self._lay_out(part, rows), None
            centred, mean = _centred(part)
            rows[...] = np.moveaxis(self._to_slices(centred), 2, 0)
            return peak, mean, _sums_of_squares(centred)

        peaks, means, squares = zip(*run(take_in, starts), strict=True)
        counts = [min(length, stop - first) for first in starts]
        shifts = self._join_means(counts, means)
        self.peak = max(self.peak, *peaks)
        if not self._slices_are_features:
            self._squares = sum(squares, self._squares) + _sums_of_squares(shifts)
        filled = stop - start + len(shifts)
        buffer[stop - start : filled] = np.moveaxis(self._to_slices(shifts), 2, 0)
        self._filled += filled

    def _multiply(self, pool: Pool | None) -> None:
        """Add the products of all samples that wait for it."""
        assert self._block is not None
        scatter = self._opened()
        columns = np.moveaxis(self._block[: self._filled], 0, 2)

        def multiply(part: slice) -> None:
            scatter[part] += columns[part] @ adjoint(columns[part])

        (_in_turn if pool is None else pool.map)(multiply, self._tasks(scatter))
        self._filled = 0

    def _lay_out(self, part: NDArray, rows: NDArray) -> NDArray:
        """Centre samples as slices, which they are but for the order of axes; their mean."""
        orientation = self.orientation
        if rows.shape[1] == 1:
            rows[:, 0] = part.reshape(len(part), -1)
        else:
            laid_out = rows.reshape(len(part), *orientation.other_shape, orientation.size)
            laid_out[...] = np.moveaxis(part, orientation.mode + 1, -1)
        flat = rows.reshape(len(part), -1)
        mean = flat.mean(axis=0)
        flat -= mean
        return self._laid_out(mean)

    def _laid_out(self, values: NDArray) -> NDArray:
        """Values of slices ``(p, q)``, which are features, in the shape of a sample."""
        orientation = self.orientation
        if orientation.n_slices == 1:
            return values.reshape(orientation.feature_shape).copy()
        values = values.reshape(*orientation.other_shape, orientation.size)
        return np.ascontiguousarray(np.moveaxis(values, -1, orientation.mode))

    def _join_means(self, counts: list[int], means: Iterable[NDArray]) -> NDArray:
        """Add groups of samples to count and mean; the weighted shifts of all groups from it."""
        weights, centres = list(counts), list(means)
        if self.count:
            weights, centres = [self.count, *weights], [self.mean, *centres]
        count = sum(weights)
        # About the first: means that agree in most digits lose none of the others.
        away = np.stack([centre - centres[0] for centre in centres])
        share = np.asarray(weights) / count
        shift = np.tensordot(share, away, axes=1)
        self.mean, self.count = centres[0] + shift, count
        roots = np.sqrt(np.asarray(weights, float)).reshape(-1, *(1,) * shift.ndim)
        shifts: NDArray = roots * (away - shift)
        return shifts

    def merge(self, other: Moments) -> Moments:
        """Take in samples that have other moments of the same orientation, which stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> from tensift.algebra import make_transforms
        >>> from tensift.gram import Moments, Orientation
        >>> X = np.random.default_rng(0).normal(size=(50, 4, 3))
        >>> orientation = Orientation((4, 3), 0, make_transforms("identity", [3]))
        >>> one, other = Moments(orientation).update(X[:20]), Moments(orientation).update(X[20:])
        >>> bool(np.allclose(one.merge(other).mean, X.mean(axis=0)))
        True
        """
        if other.count:
            columns, scatter = list(other._columns), other._scatter
            self._join(other.count, other.mean, other._squares, other.peak, columns, scatter)
        return self

    def _join(
        self,
        count: int,
        mean: NDArray,
        squares: NDArray[np.float64],
        peak: float,
        columns: list[NDArray],
        scatter: NDArray | None,
    ) -> None:
        """Add centred moments of more samples, and what the shift between the means adds."""
        self.peak = max(self.peak, peak)
        self._squares = self._squares + squares
        if self.count:
            weight = self.count * count / (self.count + count)
            shift = mean - self.mean
            self._squares += weight * squared_modulus(shift)
            columns.append(np.sqrt(weight) * self._to_slices(shift[None]))
        self.mean = self.mean + (mean - self.mean) * (count / (self.count + count))
        self.count += count
        self._columns += columns
        if scatter is not None:
            self._scatter = scatter.copy() if self._scatter is None else self._scatter + scatter
        if self._scatter is not None or self.count >= self.orientation.size:
            self._dense()

    def _dense(self) -> NDArray:
        """The Gram matrices, with all that waits to be added."""
        if self._filled:
            self.settle()
        return self._opened()

    def _opened(self) -> NDArray:
        """The Gram matrices, to which thin factors are added before they are dropped."""
        if self._scatter is None:
            self._scatter = self.blank_scatter()
        while self._columns:
            columns = self._columns.pop()
            self._scatter += columns @ adjoint(columns)
        return self._scatter

    def blank_scatter(self) -> NDArray:
        """Gram matrices of no samples."""
        size = self.orientation.size
        n_slices = len(self.orientation.kept_slices[self.slices or slice(None)])
        transforms = self.orientation.transforms
        real = self.orientation.real_data and all(one.is_real for one in transforms)
        return np.zeros((n_slices, size, size), float if real else complex)

    def gram(self) -> GramTensor:
        """The Gram tensor of the kept slices; thin while there are fewer samples than features."""
        if self._scatter is not None:
            return GramTensor(self._dense(), thin=False)
        return GramTensor(np.concatenate(self._columns, axis=2), thin=True)

    def spread(self) -> NDArray[np.float64]:
        """Standard deviation of every feature."""
        return np.sqrt(self._squares / self.count)

    def _to_slices(self, samples: NDArray) -> NDArray:
        slices: NDArray = self.orientation.to_slices(samples)
        return slices if self.slices is None else slices[self.slices]

    @property
    def _slices_are_features(self) -> bool:
        """Whether slices are samples with their axes in another order."""
        return self.slices is None and all(
            transform.name == "identity" for transform in self.orientation.transforms
        )

    @staticmethod
    def _tasks(scatter: NDArray) -> list[slice]:
        """Slices whose products are made at once, and added while they are in cache."""
        most = max(1, _PART_BYTES // scatter[0].nbytes)
        step = min(-(-len(scatter) // _TASKS), most)
        return [slice(first, first + step) for first in range(0, len(scatter), step)]

    def _rows_of_part(self) -> int:
        row_bytes = 8 * math.prod(self.orientation.feature_shape)
        few = max(_FEWEST_ROWS[0], min(_FEWEST_ROWS[1], _LARGEST_PART // row_bytes))
        return max(few, _PART_BYTES // row_bytes)

    @property
    def rows_together(self) -> int:
        """How many samples should be multiplied together at least."""
        return min(self._rows_of_block(), 2 * self.orientation.size)

    def _rows_of_block(self) -> int:
        size = self.orientation.size
        row_bytes = 8 * math.prod(self.orientation.feature_shape)
        # At least 2 q rows, so that adding to the Gram tensor costs less than the products.
        rows = max(2 * size, _BLOCK_BYTES // row_bytes)
        if rows * row_bytes > _LARGEST_BLOCK:
            rows = max(size, _LARGEST_BLOCK // row_bytes)
        return rows


def _in_turn(work: Callable[[Any], Any], tasks: Iterable[Any]) -> list[Any]:
    return [work(task) for task in tasks]


def _centred(samples: NDArray) -> tuple[NDArray, NDArray]:
    """Samples in double precision about their mean, and that mean."""
    values = np.asarray(samples, dtype=complex if np.iscomplexobj(samples) else float)
    mean = values.mean(axis=0)
    return values - mean, mean


def _sums_of_squares(samples: NDArray) -> NDArray[np.float64]:
    sums: NDArray = np.einsum("n...,n...->...", samples.conj(), samples).real
    return sums


def checked_peak(samples: NDArray, first: int) -> float:
    """The largest absolute value, if sums can be made of all of them."""
    peak = largest_modulus(samples)
    if peak <= _LARGEST:
        return peak
    sizes = np.abs(samples.reshape(len(samples), -1)).max(axis=1)  # NaN where there is one
    row = int(np.argmax(~(sizes <= _LARGEST)))
    if np.isnan(samples[row]).any():
        what = "NaN"
    else:
        what = "infinity" if np.isinf(sizes[row]) else _TOO_LARGE
    raise UnusableSample(first + row, what)


def largest_modulus(values: NDArray) -> float:
    """The largest absolute value, in double precision whatever the values have."""
    if np.iscomplexobj(values):
        moduli = np.abs(values)
        peak = moduli.max()
        if values.dtype == np.complex64 and np.isfinite(peak):  # single precision rounds roots
            near = values[moduli >= peak * (1 - 1e-6)]
            peak = np.abs(near.astype(np.complex128)).max()
        return float(peak)
    return max(float(values.max()), -float(values.min()))
