"""How many features are worth keeping under constraints: what the two count rules share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.selection._greedy import Rule
from tensift.selection._limited_choice import choose
from tensift.selection._limits import FeatureLimits

__all__ = ["LimitedOrders", "limited_orders"]


@dataclass(frozen=True)
class LimitedOrders:
    """Orders under constraints, one for each half of the samples.

    Attributes
    ----------
    orders : list of ndarray of int
        As many features as were asked for, or as constraints force or allow; equally many in all.
    counts : ndarray of int
        The counts at which the beginning of one of them meets all constraints.
    wanted : int
        How many were asked for.
    """

    orders: list[NDArray[np.intp]]
    counts: NDArray[np.intp]
    wanted: int

    def count(self, curve: NDArray[np.float64], share: float) -> tuple[int, str]:
        """Return the smallest allowed count with a share of the largest value, and a remark."""
        counts = self.counts[self.counts <= len(curve)]
        values = curve[counts - 1]
        count = int(counts[np.argmax(values >= share * values.max())])
        free = int(np.argmax(curve >= share * curve.max())) + 1
        if count > free:
            return count, f"; constraints leave no smaller number, and without them {free} would do"
        if len(curve) < self.wanted and len(curve) == len(self.orders[0]):
            return count, f"; constraints allow {len(curve)} features at most"
        return count, ""


def limited_orders(
    rules: Sequence[tuple[Callable[[], Rule], NDArray[np.intp] | None]],
    limits: FeatureLimits,
    wanted: int,
) -> LimitedOrders:
    """Choose features by several rules, each for itself.

    `rules` are functions that make a rule, and the features that it looks at. At most `wanted`
    features are chosen by each, or more if constraints force more.
    """
    chosen = [
        choose(make, limits, limits.size, exact=False, enough=max(1, wanted), features=features)
        for make, features in rules
    ]
    length = min(one.count for one in chosen)
    counts: list[Any] = [one.stops for one in chosen]
    stops = np.unique(np.concatenate(counts).astype(int))
    return LimitedOrders([one.features[:length] for one in chosen], stops[stops <= length], wanted)
