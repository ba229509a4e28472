"""Moments of samples of which some values were not observed."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift._utils.pool import Pool
from tensift.moments._device_moments import DeviceMoments
from tensift.moments._missing import MissingValues, is_missing, refuse_mixed
from tensift.moments._moments import Moments, check_weights
from tensift.moments._orientation import Orientation
from tensift.moments._pair_sums import FeatureSums, PairSums, nearest_semidefinite, rarest
from tensift.moments._peaks import checked_peak
from tensift.moments._tensor import GramTensor

__all__ = ["ObservedMoments", "empty_moments", "moments_like"]

_BLOCK_BYTES = 2**25  # of samples with gaps that are added at once


class ObservedMoments(Moments):
    """Moments where NaN stands for a value that was not observed.

    Means and deviations are over the observed values. The covariance of two features of a slice is
    their correlation over the samples that have both, times their deviations. Such matrices need
    not be positive semidefinite, so their negative eigenvalues are set to zero (`missing` says how
    much that was). The Gram tensor is ``total`` times these covariances. With weights, all of these
    are weighted, while `missing` counts samples.

    All this is right if what is missing does not depend on the values (missing at random).

    Samples that lack the same features as all others, such as the land in a map of the sea, are
    summed up as `Moments` does, without these features, whose rows and columns are zero. Samples
    without any value are left out.

    Parameters
    ----------
    orientation : Orientation
        How samples become slices. Samples with gaps need a basis of "identity", since all others
        mix elements.
    slices : slice or None, default=None
        Which of the kept slices have Gram matrices; None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.moments import ObservedMoments, Orientation
    >>> X = np.array([[[1.0], [2.0]], [[3.0], [np.nan]], [[5.0], [4.0]]])
    >>> moments = ObservedMoments(Orientation((2, 1), 0, make_transforms("identity", [1])))
    >>> moments.update(X).mean
    array([[3.],
           [3.]])
    """

    def __init__(self, orientation: Orientation, slices: slice | None = None) -> None:
        super().__init__(orientation, slices)
        self._whole = Moments(orientation, slices)  # of samples that lack only what is absent
        self._absent: NDArray[np.bool_] | None = None
        self._gappy: tuple[FeatureSums, PairSums] | None = None  # of all other samples
        self._found: tuple[GramTensor, MissingValues] | None = None

    def update(
        self,
        samples: NDArray,
        pool: Pool | None = None,
        *,
        weights: NDArray[np.float64] | None = None,
        more_follows: bool = False,
    ) -> Moments:
        """Add samples ``(n, d_1, ..., d_m)``; NaN stands for a value that was not observed."""
        self.subsample = None
        check_weights(weights, len(samples))
        peak = checked_peak(samples, 0, missing=True) if len(samples) else 0.0
        gaps = is_missing(samples).reshape(len(samples), -1)
        some = ~gaps.all(axis=1)
        if some.any():
            if self._absent is None:
                self._absent = np.asarray(gaps.all(axis=0))
            whole = (gaps == self._absent).all(axis=1)
            self._add_whole(samples, weights, whole, pool, more_follows)
            gappy = some & ~whole
            self._add_gappy(samples[gappy], None if weights is None else weights[gappy])
        self._summarise(peak)
        return self

    def _add_whole(
        self,
        samples: NDArray,
        weights: NDArray[np.float64] | None,
        whole: NDArray[np.bool_],
        pool: Pool | None,
        more_follows: bool,
    ) -> None:
        """Add the samples that lack only what all others lack, with zeros there."""
        if not whole.any():
            return
        assert self._absent is not None
        if not whole.all():
            samples = samples[whole]
            weights = None if weights is None else weights[whole]
        if not self._absent.any():
            self._whole.update(samples, pool, weights=weights, more_follows=more_follows)
            return
        rows = max(self._whole.rows_per_flush, _BLOCK_BYTES // (8 * samples[0].size))
        zero = samples.dtype.type(0)
        for start in range(0, len(samples), rows):
            part = slice(start, start + rows)
            block = np.where(self._present(), samples[part], zero)
            own = None if weights is None else weights[part]
            self._whole.update(block, pool, weights=own, more_follows=more_follows)

    def _add_gappy(self, samples: NDArray, weights: NDArray[np.float64] | None) -> None:
        if not len(samples):
            return
        if not self._basis_keeps_elements:
            mixing = (t.name for t in self.orientation.transforms if t.name != "identity")
            refuse_mixed(next(mixing))
        features, pairs = self._begun()
        rows = max(1, _BLOCK_BYTES // (16 * samples[0].size))
        for start in range(0, len(samples), rows):
            part = slice(start, start + rows)
            own = None if weights is None else weights[part]
            features.add(samples[part], own)
            pairs.add(self._to_slices(samples[part]), own)

    def _begun(self) -> tuple[FeatureSums, PairSums]:
        """Return the sums of samples with gaps; empty ones if there were none."""
        if self._gappy is None:
            blank = self.blank_scatter()
            n_slices, size, _ = blank.shape
            pairs = PairSums(n_slices, size, complex_values=np.iscomplexobj(blank))
            self._gappy = FeatureSums(self.orientation.feature_shape), pairs
        return self._gappy

    @property
    def _basis_keeps_elements(self) -> bool:
        return all(transform.name == "identity" for transform in self.orientation.transforms)

    def flush(self, pool: Pool | None = None, *, last: bool = False) -> None:
        """Add the buffered samples to the Gram matrices; with `last`, free the buffer."""
        self._whole.flush(pool, last=last)
        self._summarise()

    def merge(self, other: Moments) -> Moments:
        """Add the samples of other moments of the same orientation, which are not changed."""
        if not other.count:
            return self
        self.subsample = None
        if not isinstance(other, ObservedMoments):
            held, other = other, ObservedMoments(self.orientation, self.slices)
            other._whole, other.peak = held, held.peak
            other._absent = np.zeros(self.mean.size, dtype=bool)
        if self._absent is None:
            self._absent = other._absent
        if np.array_equal(self._present(), other._present()):
            self._whole.merge(other._whole)
        elif other._whole.count:
            features, pairs = self._begun()
            features.merge(other._whole_as_features())
            pairs.merge(other._whole_as_pairs())
        if other._gappy is not None:
            features, pairs = self._begun()
            features.merge(other._gappy[0])
            pairs.merge(other._gappy[1])
        self._summarise(other.peak)
        return self

    # What follows from the sums

    def _summarise(self, peak: float = 0.0) -> None:
        """Set count, total, mean, squares and peak, for all that reads them."""
        self._found = None
        self.peak = max(self.peak, peak)
        whole = self._whole
        if self._gappy is None:
            self.count, self.total = whole.count, whole.total
            self.mean, self._squares = whole.mean, whole._squares
            return
        sums = FeatureSums(self.orientation.feature_shape)
        sums.merge(self._whole_as_features())
        sums.merge(self._gappy[0])
        self.count, self.total = sums.samples, sums.total
        self.mean = sums.mean
        self._squares = sums.variance * self.total

    @property
    def observed(self) -> NDArray[np.intp]:
        """How often every element was observed, in the shape of a sample."""
        times = self._whole_as_features().times
        return times if self._gappy is None else times + self._gappy[0].times

    @property
    def missing(self) -> MissingValues:
        """What is missing; with gaps, this computes the Gram tensor."""
        if self.before_filling is not None:
            return self.before_filling
        if self._gappy is None:
            return MissingValues(self.count, self.observed)
        return self._covariances()[1]

    @property
    def widest(self) -> int:
        """The largest number of features of a slice that were ever observed."""
        seen = np.moveaxis(self.observed > 0, self.orientation.mode, -1)
        if not self._basis_keeps_elements:
            seen = np.asarray(seen.any(axis=tuple(range(seen.ndim - 1)), keepdims=True))
        return int(np.count_nonzero(seen, axis=-1).max())

    def standardised(self, deviations: NDArray[np.float64]) -> Moments:
        """Return moments whose slices are divided by numbers that the transforms do not mix."""
        scaled = copy(self)
        scaled.orientation = replace(self.orientation, deviations=deviations)
        divided_by = self.orientation.in_slices(deviations)
        if self._gappy is None:
            scaled._found = self.gram().divided(divided_by), self.missing
        else:  # what is clipped depends on the units
            scaled._found = self._computed(divided_by)
        return scaled

    def gram(self) -> GramTensor:
        """Return ``total`` times the covariances of the slices."""
        if self._found is None and self._gappy is None:
            return self._whole.gram()
        return self._covariances()[0]

    def _covariances(self) -> tuple[GramTensor, MissingValues]:
        if self._found is None:
            self._found = self._computed(None)
        return self._found

    def _computed(self, divided_by: NDArray | None) -> tuple[GramTensor, MissingValues]:
        pairs = self._whole_as_pairs()
        pairs.merge(self._begun()[1])
        mean = self._to_slices(self.mean[None])[:, :, 0]
        covariances, is_whole = pairs.covariances(mean)
        if divided_by is not None:
            covariances = covariances / (divided_by[:, :, None] * divided_by[:, None, :])
        # Slices in which no sample has gaps are positive semidefinite as they are.
        gram, clipped = nearest_semidefinite(self.total * covariances, is_whole)
        seen = np.diagonal(pairs.times, axis1=1, axis2=2) > 0
        rarity = rarest(pairs.times, seen)
        fewest, pair = None, None
        if rarity is not None:
            fewest, (slot, one, other) = rarity
            pair = self._element(slot, one), self._element(slot, other)
        report = MissingValues(self.count, self.observed, fewest, pair, clipped)
        return GramTensor(gram, thin=False), report

    def _element(self, slot: int, place: int) -> tuple[int, ...]:
        """Return the element that is a feature of a slice; for identity transforms."""
        number = int(self.orientation.kept_slices[self.slices or slice(None)][slot])
        others = [int(at) for at in np.unravel_index(number, self.orientation.other_shape)]
        mode = self.orientation.mode
        return (*others[:mode], place, *others[mode:])

    def _present(self) -> NDArray[np.bool_]:
        if self._absent is None:
            return np.ones(self.orientation.feature_shape, dtype=bool)
        return ~self._absent.reshape(self.orientation.feature_shape)

    def _whole_as_features(self) -> FeatureSums:
        whole, present = self._whole, self._present()
        found = FeatureSums(self.orientation.feature_shape)
        found.samples, found.total = whole.count, whole.total
        found.times = whole.count * present.astype(np.intp)
        found.number = whole.total * present.astype(float)
        found.reference, found.square = whole.mean, whole._squares
        found.sum = np.zeros_like(whole.mean)
        return found

    def _whole_as_pairs(self) -> PairSums:
        whole = self._whole
        scatter = whole.gram().dense() if whole.count else self.blank_scatter()
        mean = self._to_slices(whole.mean[None])[:, :, 0]
        present = self._to_slices(self._present()[None].astype(float))[:, :, 0] != 0
        return PairSums.of_complete(whole.count, whole.total, mean, scatter, present)


def empty_moments(orientation: Orientation, samples: Any, *, missing: bool) -> Moments:
    """Return moments of no samples, of the class that fits the kind of `samples`."""
    if is_device_array(samples):
        return DeviceMoments(orientation)
    return ObservedMoments(orientation) if missing else Moments(orientation)


def moments_like(moments: Moments) -> Moments:
    """Return moments of no samples that can take in those of `moments`."""
    kind = ObservedMoments if isinstance(moments, ObservedMoments) else Moments
    return kind(moments.orientation, moments.slices)
