"""What was picked, and which units constraints allow next to it."""

from __future__ import annotations

import math
from copy import copy

import numpy as np
from numpy.typing import NDArray

from tensift.selection._limits import FeatureLimits, Group

__all__ = ["Tally", "exchangeable"]


class Tally:
    """What was picked, and what may be picked next as far as that alone tells.

    Attributes
    ----------
    count : int
        How many features were picked.
    taken, blocked : ndarray of bool
        Units that were picked, and units that can never be picked any more.
    """

    def __init__(self, limits: FeatureLimits) -> None:
        self.limits = limits
        units = len(limits.unit_size)
        self.count, self._cost = 0, 0.0
        self.taken = np.zeros(units, dtype=bool)
        self.blocked = np.zeros(units, dtype=bool)
        self.blocked[limits.unit_of[limits.banned]] = True
        if limits.distance:
            for unit in np.flatnonzero(limits.unit_size > 1).tolist():
                self.blocked[unit] |= limits.nearest_pair(limits.members(unit)) is not None
        self._in_groups = np.zeros(len(limits.groups), dtype=int)
        self._groups_of: dict[int, list[int]] = {}
        for place, group in enumerate(limits.groups):
            self.blocked[group.units[group.counts > group.at_most]] = True
            for unit in group.units.tolist():
                self._groups_of.setdefault(unit, []).append(place)

    def take(self, unit: int) -> None:
        """Pick a unit."""
        limits = self.limits
        self.count += int(limits.unit_size[unit])
        self._cost += float(limits.unit_cost[unit])
        self.taken[unit] = True
        self.blocked[limits.unit_of[limits.near(limits.members(unit))]] = True
        for place in self._groups_of.get(unit, []):
            group = limits.groups[place]
            self._in_groups[place] += group.counts[group.units == unit][0]
            full = group.counts + self._in_groups[place] > group.at_most
            self.blocked[group.units[full]] = True
        self.blocked[unit] = True

    def copy(self) -> Tally:
        """Return one that can be changed by itself."""
        other = copy(self)
        other.taken, other.blocked = self.taken.copy(), self.blocked.copy()
        other._in_groups = self._in_groups.copy()
        return other

    def after(self, unit: int) -> Tally:
        """Return what it would be after picking a unit."""
        other = self.copy()
        other.take(unit)
        return other

    def allowed(self, room: int) -> NDArray[np.bool_]:
        """Return the units that may be picked next, if `room` more features may be."""
        limits = self.limits
        fits = limits.fits(self._cost + limits.unit_cost)
        return ~self.blocked & fits & (limits.unit_size <= room)

    def short(self) -> list[tuple[Group, int]]:
        """Return the groups that have fewer than their `at_least`, and how many are missing."""
        groups = zip(self.limits.groups, self._in_groups.tolist(), strict=True)
        return [(g, g.at_least - n) for g, n in groups if n < g.at_least]

    def room_in_groups(self) -> list[tuple[Group, int]]:
        """Return how many features every group may still have."""
        groups = zip(self.limits.groups, self._in_groups.tolist(), strict=True)
        return [(g, g.at_most - n) for g, n in groups]

    @property
    def money_left(self) -> float:
        """What is left of the budget, without the allowance for rounding."""
        return math.inf if self.limits.budget is None else self.limits.budget - self._cost


def exchangeable(
    limits: FeatureLimits, features: NDArray[np.intp], place: int
) -> NDArray[np.bool_]:
    """Return the features that may replace one of some so that all constraints stay met.

    Parameters
    ----------
    limits : FeatureLimits
        The constraints.
    features : ndarray of int
        Features that meet them.
    place : int
        The place among these of the one to replace.

    Returns
    -------
    ndarray of bool
        A mask of all features.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import Constraints
    >>> from tensift.selection import exchangeable
    >>> limits = Constraints(min_distance=2).resolve((6,))
    >>> np.flatnonzero(exchangeable(limits, np.array([0, 3]), 0))
    array([0, 1, 5])
    """
    old = int(features[place])
    none = np.zeros(limits.size, dtype=bool)
    if old in limits.included or limits.unit_size[limits.unit_of[old]] > 1:
        return none
    tally = Tally(limits)
    for unit in np.unique(limits.unit_of[np.delete(features, place)]).tolist():
        tally.take(unit)
    allowed = tally.allowed(1)[limits.unit_of] & (limits.unit_size[limits.unit_of] == 1)
    for group, missing in tally.short():
        if missing > 1:
            return none
        inside = none.copy()
        inside[group.features] = True
        allowed &= inside
    return allowed
