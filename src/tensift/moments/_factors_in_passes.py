"""Thin factors of samples in memory: those of a block of slices are cut out of the samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import Pool
from tensift._utils.stacks import squared_modulus
from tensift.moments._in_memory import SamplesInMemory
from tensift.moments._in_passes import MomentsInPasses, not_kept_message
from tensift.moments._moments import Moments
from tensift.moments._orientation import Orientation
from tensift.moments._peaks import checked_peak
from tensift.moments._tensor import GramTensor

__all__ = ["FactorsInPasses"]

_VALUES = 2**20  # that a thread looks at together


class FactorsInPasses(MomentsInPasses):
    """Moments of fewer samples in memory than a slice has features.

    The factors of all slices take as much memory as the samples, and more to be worked with. Those
    of a block are the centred samples in another order, which takes no sums.

    Parameters
    ----------
    samples : SamplesInMemory
        NumPy arrays without gaps.
    orientation : Orientation
        How samples become slices.
    blocks : list of slice
        Blocks of slices whose factors fit into memory.
    n_jobs : int or None
        The number of threads.
    """

    def __init__(
        self,
        samples: SamplesInMemory,
        orientation: Orientation,
        blocks: list[slice],
        *,
        n_jobs: int | None = None,
    ) -> None:
        Moments.__init__(self, orientation)
        self.blocks, self._n_jobs = blocks, n_jobs
        self._samples: SamplesInMemory | None = samples
        self.source = None
        self._known = self._cached = None
        self._widest = orientation.size
        self.count = len(samples.rows)
        weights = None if samples.weights is None else samples.weights.values
        self.total = self.count if weights is None else float(weights.sum())
        self._sum_up(samples.rows, weights)

    def _sum_up(self, rows: NDArray, weights: NDArray[np.float64] | None) -> None:
        """Find the peak, the mean and the sums of squares of all features."""
        dtype = complex if np.iscomplexobj(rows) else float
        flat = rows.reshape(self.count, -1)
        mean = np.empty(flat.shape[1], dtype)
        squares = np.empty(flat.shape[1])
        step = max(1, _VALUES // self.count)

        def look_at(start: int) -> float:
            part = flat[:, start : start + step].astype(dtype, copy=False)
            peak = checked_peak(part, 0)
            centre = part.mean(axis=0)
            if weights is not None:  # about the mean: sums of large equal parts would lose digits
                centre = centre + np.tensordot(weights / self.total, part - centre, axes=1)
            energies = squared_modulus(part - centre)
            if weights is not None:
                energies *= weights[:, None]
            mean[start : start + step] = centre
            squares[start : start + step] = energies.sum(axis=0)
            return peak

        with Pool(self._n_jobs) as pool:
            self.peak = max(pool.map(look_at, range(0, flat.shape[1], step)))
        self.mean = mean.reshape(self.orientation.feature_shape)
        self._squares = squares.reshape(self.orientation.feature_shape)

    def _gram(self, block: slice) -> GramTensor:
        if self._samples is None:
            raise ValueError(not_kept_message("the samples"))
        rows, orientation = self._samples.rows, self.orientation
        roots = None
        if self._samples.weights is not None:
            roots = np.sqrt(self._samples.weights.values)
        first = orientation.to_slices(rows[:1] - self.mean, block)
        # Features last in memory, as `to_slices` leaves them.
        factors = np.empty((len(first), self.count, orientation.size), first.dtype)
        step = max(1, _VALUES * self.count // rows.size)

        def cut(start: int) -> None:
            part = rows[start : start + step]
            if orientation.keeps_values:  # cut first, so that no more is centred than needed
                found = orientation.to_slices(part, block) - own_mean
            else:
                found = orientation.to_slices(part - self.mean, block)
            if roots is not None:
                found = found * roots[start : start + step]
            factors[:, start : start + step] = np.swapaxes(found, 1, 2)

        own_mean = orientation.to_slices(self.mean[None], block)
        with Pool(self._n_jobs) as pool:
            pool.map(cut, range(0, self.count, step))
        return GramTensor(np.swapaxes(factors, 1, 2), thin=True)

    def forget_samples(self) -> None:
        """Drop the samples and the cached factors."""
        super().forget_samples()
        self._samples = None
