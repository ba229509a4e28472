"""What a set of features is worth by a rule, without one of them, and with another.

Both measures are those that the greedy rules increase:

- **alignment** (`_geometry`): ``A / sqrt(B + kappa)``. Without ``j``, ``A`` loses ``w_j a_j`` and
  ``B`` loses ``2 r_j - b_jj``, where ``r`` are the sums of ``b_ij`` over the set. One product of
  all features with ``j`` gives the ``b_ij`` that ``r`` loses.
- **explained variance** (`_column_subsets`): the share of the energy of all features that ridge
  regression on the set explains. A feature is taken out of the regression by one update.

So a change costs as much as one pick of the rule, and nothing is fitted again. A set is never
changed: methods return new ones, so that errors of rounding do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import moved_to, namespace_of, precision_of, to_numpy
from tensift.selection._column_subsets import _RIDGE, _TIE, Regression, _weights
from tensift.selection._fibres import Fibres
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder

__all__ = ["AlignedSet", "ExplainingSet", "KeptSet", "best_additions", "best_feature"]


class KeptSet(Protocol):
    """A set of features and its measure."""

    size: int  # the number of all features
    tie: float  # measures that differ by a smaller share are equal
    tiers: NDArray[np.int64]  # features of a lower tier are picked before all of a higher one

    @property
    def value(self) -> float:
        """The measure of the set."""

    def values_with(self) -> NDArray[np.float64]:
        """Return the measure of the set with each of all features in addition."""

    def merits(self) -> NDArray[np.float64]:
        """Return by what the rule picks the next feature."""

    def without(self, feature: int) -> Self:
        """Return the set without one of its features."""

    def with_feature(self, feature: int) -> Self:
        """Return the set with one feature more."""


def best_feature(
    kept: KeptSet, features: Iterable[int], allowed: NDArray[np.bool_] | None = None
) -> int | None:
    """Return the feature that the rule would pick next; None if there is none.

    Parameters
    ----------
    kept : KeptSet
        The set to add to.
    features : iterable of int
        Features that cannot be picked, such as those in the set.
    allowed : ndarray of bool, optional
        A mask of the features that may be picked; all by default.
    """
    free = np.ones(kept.size, dtype=bool) if allowed is None else allowed.copy()
    free[list(features)] = False
    if not free.any():
        return None
    free &= kept.tiers == kept.tiers[free].min()
    merits = np.where(free, kept.merits(), -math.inf)
    # Rounding must not decide between equal features, so the first of all that are near wins.
    near = free & (merits >= (1 - kept.tie) * merits.max())
    return int(np.argmax(near))


def best_additions(
    kept: KeptSet,
    features: Iterable[int],
    count: int,
    allowed: NDArray[np.bool_] | None = None,
) -> list[int]:
    """Return up to `count` features in the order in which the rule would add them."""
    taken, found = list(features), list[int]()
    while len(found) < count:
        pick = best_feature(kept, taken, allowed)
        if pick is None:
            break
        found.append(pick)
        taken.append(pick)
        if len(found) < count:
            kept = kept.with_feature(pick)
    return found


class AlignedSet:
    """Features and how well they are aligned with what samples look like together.

    Parameters
    ----------
    geometry : Geometry
        What the samples look like.
    scores : array of one value per feature, or None
        The weights that the rule used.
    features : iterable of int
        The features in the set. Those that hardly vary count for nothing.
    """

    def __init__(self, geometry: Geometry, scores: Any, features: Iterable[int]) -> None:
        order = GeometryOrder(geometry, scores)
        self._geometry = geometry
        self._gains, self._kappa = order._gains, order._kappa
        self.size = geometry.n_features
        self.tie = _TIE[precision_of(geometry.values)]
        self._places = np.full(self.size, -1)
        self._places[geometry.kept] = np.arange(len(geometry.kept))
        structured = geometry.agreement > geometry.standard_error
        self.tiers = np.where(self._places < 0, 2, np.where(structured, 0, 1))
        self._squares = geometry.overlaps.squares
        xp = namespace_of(self._gains)
        self._total = self._square = xp.zeros_like(self._kappa)
        self._redundancy = xp.zeros_like(self._gains)
        for feature in features:
            self._change(feature, 1)

    @property
    def value(self) -> float:
        """The alignment of the set."""
        return float(self._total / namespace_of(self._gains).sqrt(self._square + self._kappa))

    def values_with(self) -> NDArray[np.float64]:
        """Return the alignment with each of all features in addition."""
        xp = namespace_of(self._gains)
        squares = self._square + 2 * self._redundancy + self._squares + self._kappa
        found = np.asarray(to_numpy((self._total + self._gains) / xp.sqrt(squares)), float)
        return np.where(self._places < 0, self.value, found[self._places])

    def merits(self) -> NDArray[np.float64]:
        """Return by what the rule picks the next feature: the same."""
        return self.values_with()

    def without(self, feature: int) -> Self:
        """Return the set without one of its features."""
        other = copy(self)
        other._change(feature, -1)
        return other

    def with_feature(self, feature: int) -> Self:
        """Return the set with one feature more."""
        other = copy(self)
        other._change(feature, 1)
        return other

    def _change(self, feature: int, sign: int) -> None:
        place = int(self._places[feature])
        if place < 0:
            return
        overlaps = self._geometry.overlaps.with_feature(_index(self._gains, place))
        own = sign * self._squares[place, ...]
        self._total = self._total + sign * self._gains[place, ...]
        self._square = self._square + 2 * sign * self._redundancy[place, ...] + sign * own
        self._redundancy = self._redundancy + sign * overlaps


class ExplainingSet:
    """Features and the share of the variance of all features that a regression on them explains.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples.
    feature_mode : int or None
        What a feature is.
    scores : array of one value per feature, or None
        The weights that the rule used for its picks.
    features : iterable of int
        The features in the set.
    """

    def __init__(
        self, rows: Any, feature_mode: int | None, scores: Any, features: Iterable[int]
    ) -> None:
        fibres = Fibres(rows, feature_mode)
        values = fibres.of(rows)
        self.size = int(values.shape[1])
        self.tie = _TIE[precision_of(values)]
        weights, scored = _weights(scores, fibres.deviation)
        self._weights = np.asarray(to_numpy(weights), float)
        varies = np.asarray(to_numpy(fibres.varies), bool)
        self.tiers = np.where(varies, np.where(to_numpy(scored), 0, 1), 2)
        self._energy = float(fibres.energy)
        self._regression = Regression(values, _RIDGE * fibres.mean_energy)
        self._value = 0.0
        for feature in features:
            self._take(feature)

    @property
    def value(self) -> float:
        """The share of the variance that the set explains."""
        return self._value

    def values_with(self) -> NDArray[np.float64]:
        """Return the share that is explained with each of all features in addition."""
        return self._value + self._next_gains()

    def merits(self) -> NDArray[np.float64]:
        """Return by what the rule picks the next feature: weighted gains."""
        return self._weights * self._next_gains()

    def without(self, feature: int) -> Self:
        """Return the set without one of its features."""
        other = copy(self)
        other._regression = self._regression.copied()
        other._regression.drop(self._pick(feature))
        other._value = self._value - float(other._next_gains()[feature])
        return other

    def with_feature(self, feature: int) -> Self:
        """Return the set with one feature more."""
        other = copy(self)
        other._regression = self._regression.copied()
        other._take(feature)
        return other

    def _take(self, feature: int) -> None:
        self._value += float(self._next_gains()[feature])
        self._regression.take(self._pick(feature))

    def _next_gains(self) -> NDArray[np.float64]:
        gains = np.asarray(to_numpy(self._regression.gains()), float)
        return np.clip(gains, 0.0, None) / (self._energy or 1.0)

    def _pick(self, feature: int) -> Any:
        return _index(self._regression.gram, feature)[None]


def _index(like: Any, feature: int) -> Any:
    """Return an index as an array without axes on the device of `like`."""
    index = np.asarray(feature)
    return index if isinstance(like, np.ndarray) else moved_to(like, index)
