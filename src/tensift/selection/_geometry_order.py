"""The order of features by greedy alignment; `_geometry` has the objective."""

from __future__ import annotations

import math
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    indices_like,
    is_device_array,
    moved_or_same,
    namespace_of,
    precision_of,
)
from tensift._utils.pool import Pool
from tensift.selection._geometry import Geometry
from tensift.selection._greedy import BoundedChoice, FreeChoice, pick_greedily
from tensift.selection._overlap_sums import OverlapSums
from tensift.selection._overlaps import FibreOverlaps
from tensift.solvers import Replayed

__all__ = ["GeometryOrder"]

_LEAST_WEIGHT = 0.02  # of the largest agreement, and of the largest score
_TIE = {"float64": 1e-9, "float32": 1e-5}  # merits that differ by a smaller share are equal
_AT_ONCE = 8  # picks at one request


class GeometryOrder:
    """The order of features by greedy alignment, found as far as it is asked for.

    Parameters
    ----------
    geometry : Geometry
        What the samples look like.
    scores : array of n_features scores, optional
        Weights from another source. Negative ones count as zero.

    Notes
    -----
    It is a `Rule` of the greedy loop, for the features that take part (``geometry.kept``).
    """

    def __init__(self, geometry: Geometry, scores: Any = None) -> None:
        self.geometry = geometry
        self._picks: list[Any] = []
        self._sums: OverlapSums | None = None  # if overlaps are not counted at every pick
        self._pool: Pool | None = None  # while features are picked
        self.tiers, self.tie = np.zeros(0, dtype=int), 0.0
        if not geometry.kept.size:
            return
        values = geometry.values
        xp = namespace_of(values)
        agreement = geometry.agreement[geometry.kept]
        weights = np.maximum(agreement, _LEAST_WEIGHT * max(agreement.max(), 0.0)) ** 2
        gains = moved_or_same(values, weights) * geometry.aligned
        if scores is not None:
            gains = gains * _score_weights(scores, geometry)
        self._gains = gains
        self._kappa = xp.mean(geometry.overlaps.squares)
        # b_jj + 2 r_j + kappa; without r_j if there are `_sums`
        self._growth = geometry.overlaps.squares + self._kappa
        self._total = self._square = xp.zeros_like(self._kappa)
        # Features with structure are free first, all others after them.
        structured = geometry.is_structured
        self.tiers = np.where(structured, 0, 1)
        self._free = [indices_like(values, tier) for tier in (structured, np.ones_like(structured))]
        self._ends = [int(np.count_nonzero(structured)), len(structured)]
        self.tie = _TIE[precision_of(gains)]
        self._choice = FreeChoice(self._free, self._ends, self.tie)

    def extend(self, count: int) -> Any:
        """Return the first `count` features."""
        missing = min(count, len(self.geometry.kept)) - len(self._picks)
        if missing > 0:
            self.geometry.overlaps.prepare(missing)
            wanted = len(self._picks) + missing
            if is_device_array(self._gains):
                self._pick_several_at_once(wanted)
            else:
                self._pick_on_host(wanted)
        if 0 < count <= len(self._picks):
            return self._picked()[:count]
        return self.ranking()[:count]

    def _pick_on_host(self, wanted: int) -> None:
        overlaps = self.geometry.overlaps
        if not self._picks and isinstance(overlaps, FibreOverlaps) and overlaps.reads_much:
            self._sums = OverlapSums(overlaps)
            self._choice = BoundedChoice(self._free, self._ends, self.tie)
        with Pool(self.geometry.n_jobs) as self._pool:
            pick_greedily(self, self._choice, wanted)
        self._pool = None

    def _pick_several_at_once(self, wanted: int) -> None:
        """Pick features until there are as many as wanted, at one request for several.

        A pick is a dozen small operations, which a device finishes before Python can ask for more.
        """
        choice = self._choice
        while choice.n_picked < wanted:
            ahead = min(wanted - choice.n_picked, choice.n_left_in_tier)
            several = Replayed(self._several_picks, None, lasting=True)  # in one tier
            for _ in range(ahead // _AT_ONCE):
                picks, choice.is_left, self._total, self._square, self._growth = several(
                    choice.is_left, self._total, self._square, self._growth
                )
                choice.n_picked += _AT_ONCE
                self._picks += [picks[number] for number in range(_AT_ONCE)]
            pick_greedily(self, choice, choice.n_picked + ahead % _AT_ONCE)

    def _several_picks(self, is_left: Any, *state: Any) -> tuple[Any, ...]:
        """Return some picks, and what they leave; nothing of this object is changed."""
        order, choice = copy(self), copy(self._choice)
        order._picks, choice.is_left = [], is_left
        order._total, order._square, order._growth = state
        pick_greedily(order, choice, choice.n_picked + _AT_ONCE)
        picks = namespace_of(is_left).stack(order._picks)
        return picks, choice.is_left, order._total, order._square, order._growth

    def merits(self) -> Any:
        """Return the objective after each of the features that take part."""
        if self._sums is not None:
            self._sums.count_all(self._pool)
        return self.bounds()

    def bounds(self) -> Any:
        """Return merits, or more where overlaps with the latest picks are not counted yet."""
        xp = namespace_of(self._gains)
        return (self._total + self._gains) / xp.sqrt(self._square + self._grown())

    def merits_of(self, features: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the merits of some of the features that take part, on the host."""
        if self._sums is not None:
            self._sums.count(features, self._pool)
        found: NDArray[np.float64] = self._total + self._gains[features]
        return found / np.sqrt(self._square + self._grown(features))

    @property
    def is_bound(self) -> NDArray[np.bool_]:
        """For which features `bounds` may be more than the merit."""
        assert self._sums is not None
        return self._sums.is_behind

    def _grown(self, features: Any = ...) -> Any:
        """Return what the square of the denominator grows by with each of some features."""
        if self._sums is None:
            return self._growth[features]
        return self._growth[features] + 2 * self._sums.values[features]

    def take(self, pick: Any) -> None:
        """Take a feature in; `pick` is an array of its place among those that take part."""
        xp = namespace_of(self._gains)
        feature = pick[0, ...]
        self._picks.append(feature)
        self._total = self._total + xp.take(self._gains, pick)[0, ...]
        grown = xp.take(self._growth, pick)[0, ...]
        if self._sums is None:
            self._growth = self._growth + 2 * self.geometry.overlaps.with_feature(feature)
        else:
            self._sums.count(pick, self._pool)
            grown = grown + 2 * self._sums.values[pick[0]]
            self._sums.add(int(feature))
        self._square = self._square + grown - self._kappa

    @property
    def objective(self) -> Any:
        """The weighted alignment of the picks."""
        if not self.geometry.kept.size:
            return 0.0
        return self._total / namespace_of(self._total).sqrt(self._square + self._kappa)

    @property
    def baseline(self) -> Any:
        """Merits are objectives, so a gain is a merit less the objective now."""
        return self.objective

    def _picked(self) -> Any:
        """Return the features picked so far; at least one."""
        kept = indices_like(self._gains, self.geometry.kept)
        xp = namespace_of(kept)
        return xp.take(kept, xp.stack(self._picks))

    def ranking(self) -> Any:
        """Return all features: those picked, then the others by what they would add next."""
        geometry = self.geometry
        values = geometry.values
        xp = namespace_of(values)
        rest = np.delete(np.arange(geometry.n_features), geometry.kept)
        parts = [indices_like(values, rest)]
        if geometry.kept.size:
            kept = indices_like(values, geometry.kept)
            others = self._waiting()[: kept.shape[0] - len(self._picks)]
            parts = [xp.take(kept, others), *parts]
            if self._picks:
                parts = [self._picked(), *parts]
        return xp.concat(parts)

    def _waiting(self) -> Any:
        """Return the features that are not picked by what they would add next, then the others."""
        xp = namespace_of(self._gains)
        is_left = self._choice.is_left
        keys = [xp.where(is_left & tier, -self.merits(), math.inf) for tier in self._free]
        order = xp.argsort(keys[1], stable=True)
        first = xp.take(keys[0], order) < math.inf
        return xp.take(order, xp.argsort(xp.astype(~first, xp.int32), stable=True))

    @property
    def curve(self) -> Any:
        """The alignment, without weights, of the first 1, 2, ... picked features."""
        picked = self._picked() if self._picks else self.ranking()[:0]
        return self.geometry.alignment(picked)

    def curve_of(self, features: NDArray[np.intp]) -> Any:
        """The alignment, without weights, of the first 1, 2, ... of some features."""
        return self.geometry.alignment(indices_like(self.geometry.values, features))


def _score_weights(scores: Any, geometry: Geometry) -> Any:
    """Return the square roots of the scores of the features that take part."""
    xp = namespace_of(scores)
    scores = xp.take(xp.reshape(scores, (-1,)), indices_like(scores, geometry.kept))
    scores = xp.astype(scores, geometry.values.dtype, copy=False)
    largest = xp.max(scores)
    scores = xp.where(scores > _LEAST_WEIGHT * largest, scores, _LEAST_WEIGHT * largest)
    return xp.where(largest > 0, xp.sqrt(xp.abs(scores)), xp.ones_like(scores))
