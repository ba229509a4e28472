"""Overlaps of features with all picks so far, counted when they are needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import Pool
from tensift.selection._feature_blocks import feature_blocks
from tensift.selection._overlaps import FibreOverlaps

__all__ = ["OverlapSums"]

_MOST_BEHIND = 24  # picks that some sums have not counted
_MANY = 16  # of all features one in so many: then all sums are brought up to date


class OverlapSums:
    """``r_j = sum_{i in S} b_ij`` for all features ``j`` and the picks ``S``.

    No overlap is negative. So a sum that has not counted the latest picks is a lower bound, and a
    merit that is computed from it an upper bound: features whose bound is not the largest need no
    exact sum. Several picks are counted at once, by one product of matrices. This reads all samples
    once where products with single picks would read them every time.

    Parameters
    ----------
    overlaps : FibreOverlaps
        Overlaps of features with each other, of samples on the host.

    Attributes
    ----------
    values : ndarray of shape (features,)
        The sums, or lower bounds of them.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection._overlap_sums import OverlapSums
    >>> from tensift.selection._overlaps import FibreOverlaps
    >>> overlaps = FibreOverlaps(np.array([[1.0, 2.0], [0.0, 3.0]])[:, :, None])
    >>> sums = OverlapSums(overlaps)
    >>> sums.add(0)
    >>> sums.values, sums.is_behind
    (array([0., 0.]), array([ True,  True]))
    >>> sums.count_all(None)
    >>> sums.values
    array([1., 4.])
    """

    def __init__(self, overlaps: FibreOverlaps) -> None:
        self._overlaps = overlaps
        self.values = np.zeros(len(overlaps.squares))
        self._counted = np.zeros(len(self.values), dtype=np.intp)  # picks, by every sum
        self._by_all = 0  # picks that all sums have counted
        self._picks: list[int] = []

    @property
    def is_behind(self) -> NDArray[np.bool_]:
        """Which sums have not counted all picks."""
        return self._counted < len(self._picks)

    def add(self, pick: int) -> None:
        """Add a pick, which sums count later."""
        self._picks.append(pick)

    def count(self, features: NDArray[np.intp], pool: Pool | None) -> None:
        """Bring the sums of some features up to date; of all, if that is not much more work."""
        behind = len(self._picks) - self._by_all
        if behind >= _MOST_BEHIND or _MANY * len(features) > len(self.values):
            self.count_all(pool)
            return
        before = self._counted[features]
        oldest = int(before.min(initial=len(self._picks)))
        picks = np.array(self._picks[oldest:], dtype=np.intp)
        if picks.size:
            overlaps = self._overlaps.between(features, picks)
            is_new = np.arange(oldest, len(self._picks)) >= before[:, None]
            self.values[features] += np.sum(overlaps, axis=1, where=is_new)
            self._counted[features] = len(self._picks)

    def count_all(self, pool: Pool | None) -> None:
        """Bring all sums up to date; the threads of `pool` share the features."""
        picks = np.array(self._picks[self._by_all :], dtype=np.intp)
        if not picks.size:
            return
        with_block = self._overlaps.with_features(picks)

        def count_block(block: slice) -> None:
            is_new = np.arange(self._by_all, len(self._picks)) >= self._counted[block, None]
            self.values[block] += np.sum(with_block(block), axis=1, where=is_new)

        blocks = feature_blocks(self._overlaps.values)
        for _ in (map if pool is None else pool.map)(count_block, blocks):
            pass
        self._by_all = len(self._picks)
        self._counted[...] = self._by_all
