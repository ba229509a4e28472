"""Greedy choices under constraints: `_constraints` has the definition.

Merits are looked at on the host. The plain loop only passes over features that constraints forbid
next to the picks so far. If it ends with a set that meets all constraints, this set is a witness
that every pick could be completed, so it is what the definition asks for. Only if it runs into a
dead end, the loop runs again and looks ahead (`_completions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, moved_to, to_numpy
from tensift.selection._collisions import Infeasible, check_directly, explain
from tensift.selection._completions import LookAhead, Undecided, completion
from tensift.selection._greedy import Rule, pick_greedily
from tensift.selection._limits import FeatureLimits
from tensift.selection._tally import Tally

__all__ = ["Chosen", "LimitedChoice", "choose"]

_POWERS = (0.25, 0.5, 0.75, 1.0)  # of costs that gains are divided by; beside no division
_LEAST_COST = 1e-6  # of the smallest positive cost: what a cost of zero counts as
_BETTER = 1e-9  # share by which an objective must be larger to count as larger

R = TypeVar("R", bound=Rule)


@dataclass(frozen=True)
class Chosen(Generic[R]):
    """Features that were chosen under constraints.

    Attributes
    ----------
    order : ndarray of int
        All features: those chosen, in order, then the others by merit; those that constraints
        forbid are last.
    count : int
        How many were chosen.
    stops : tuple of int
        The counts, increasing, for which the beginning of the order meets all constraints.
    rule : Rule
        The rule after it took the features.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import Constraints
    >>> from tensift.selection import FixedMerits, choose
    >>> constraints = Constraints(exclude=[1], groups={"last": [3]}, at_least=1)
    >>> limits = constraints.resolve((4,))
    >>> found = choose(lambda: FixedMerits(np.array([1.0, 3.0, 2.0, 0.0])), limits, 3)
    >>> found.features, found.stops
    (array([3, 2, 0]), (1, 2, 3))
    """

    order: NDArray[np.intp]
    count: int
    stops: tuple[int, ...]
    rule: R

    @property
    def features(self) -> NDArray[np.intp]:
        """The chosen features, in order."""
        return self.order[: self.count]


def choose(
    make_rule: Callable[[], R],
    limits: FeatureLimits,
    count: int,
    *,
    exact: bool = True,
    enough: int | None = None,
    features: NDArray[np.intp] | None = None,
    ranks: NDArray[np.intp] | None = None,
) -> Chosen[R]:
    """Choose features under constraints.

    Parameters
    ----------
    make_rule : callable
        Returns a fresh rule.
    limits : FeatureLimits
        The constraints.
    count : int
        How many features are wanted.
    exact : bool, default=True
        Whether exactly so many are wanted, or at most. With a budget it is always at most.
    enough : int, optional
        Stop as soon as there are so many and all constraints are met, if `exact` is false.
    features : ndarray of int, optional
        The features that the rule looks at. All others come after them and add nothing.
    ranks : ndarray of int, optional
        Places of all features: of equal merits, the smaller one wins. The default is the index.

    Returns
    -------
    Chosen

    Raises
    ------
    Infeasible
        A ValueError, if no set of features meets all constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import Constraints
    >>> from tensift.selection import FixedMerits, choose
    >>> limits = Constraints(include=[3], min_distance=2).resolve((5,))
    >>> choose(lambda: FixedMerits(np.arange(5.0)), limits, 2).order
    array([3, 1, 4, 2, 0])
    """
    exact = exact and limits.budget is None
    check_directly(limits, count, exact=exact)
    features = np.arange(limits.size) if features is None else features
    ranks = np.arange(limits.size) if ranks is None else ranks
    runs = []
    for costs in _prices(limits):

        def run(ahead: LookAhead | None, costs: Any = costs) -> tuple[LimitedChoice, R]:
            rule = make_rule()
            choice = LimitedChoice(
                limits, rule, count, features, ranks, costs=costs, look_ahead=ahead,
                enough=count if exact or enough is None else enough,
            )  # fmt: skip
            pick_greedily(rule, choice, count)
            return choice, rule

        found = run(None)
        if not found[0].is_complete(exact=exact):  # a dead end
            witness = _witness(limits, count, exact=exact)
            found = run(LookAhead(count, witness, exact=exact))
        if not found[0].is_complete(exact=exact):
            raise Infeasible("constraints were met by no order of picks; please report this")
        runs.append(found)
    (choice, rule), *others = runs
    for other in others:
        best, new = float(rule.objective), float(other[1].objective)
        if new > best + _BETTER * abs(best):
            choice, rule = other
    picked = np.array(choice.picked, dtype=np.intp)
    return Chosen(choice.order(rule), picked.size, tuple(choice.stops), rule)


def _witness(limits: FeatureLimits, count: int, *, exact: bool) -> NDArray[np.bool_]:
    """Return units that meet all constraints together."""
    try:
        witness = completion(Tally(limits), count, exact=exact)
    except Undecided:
        raise Infeasible(
            f"constraints are too tight: no set of {count} features was found that meets them all, "
            "and a search for one takes too long; select fewer features, or relax a constraint"
        ) from None
    if witness is None:
        raise explain(limits, count, exact=exact)
    return witness


def _prices(limits: FeatureLimits) -> Iterator[NDArray[np.float64] | None]:
    """Yield what gains are divided by, in turn: nothing, and with a budget powers of the costs.

    These are the mean costs of the members of units, with small numbers in place of zeros.
    """
    yield None
    if limits.budget is None:
        return
    costs = limits.unit_cost / limits.unit_size
    positive = costs[costs > 0]
    least = float(positive.min()) * _LEAST_COST if positive.size else 1.0
    for power in _POWERS:
        yield np.where(costs > 0, costs, least) ** power


class LimitedChoice:
    """Picks the best unit that constraints allow.

    Attributes
    ----------
    picked : list of int
        Features, in order.
    stops : list of int
        The numbers of picks at which all constraints were met.
    """

    def __init__(
        self,
        limits: FeatureLimits,
        rule: Rule,
        count: int,
        features: NDArray[np.intp],
        ranks: NDArray[np.intp],
        *,
        costs: NDArray[np.float64] | None,
        look_ahead: LookAhead | None,
        enough: int,
    ) -> None:
        self._limits, self._count, self._enough = limits, count, enough
        self._costs, self._look_ahead = costs, look_ahead
        self._features = features
        self._place = np.full(limits.size, -1)
        self._place[features] = np.arange(features.size)
        self._ranks, self._tie = ranks, rule.tie
        self._unit_ranks = np.full(limits.unit_size.size, limits.size)
        np.minimum.at(self._unit_ranks, limits.unit_of, ranks)
        tiers = np.full(limits.size, np.iinfo(int).max)
        if features.size:
            tiers[features] = to_numpy(rule.tiers)
        self._tiers = tiers
        self._unit_tiers = np.full(limits.unit_size.size, np.iinfo(int).max)
        np.minimum.at(self._unit_tiers, limits.unit_of, tiers)
        self._tally = Tally(limits)
        self._like: Any = None  # merits of the rule, for their device
        self.picked: list[int] = []
        self.stops: list[int] = []
        self._started = False

    @property
    def n_picked(self) -> int:
        """How many features were picked."""
        return len(self.picked)

    def is_complete(self, *, exact: bool) -> bool:
        """Whether the picks meet all constraints."""
        full = self.n_picked == self._count if exact else self.n_picked > 0
        return full and not self._tally.short()

    def next(self, rule: Rule) -> list[Any] | None:
        """Return the members of the best unit that may be picked, the best one first."""
        if not self._started:
            self._started = True
            return self._included(rule)
        short = self._tally.short()
        if not short and self.n_picked >= self._enough:
            return None
        merits = self._merits(rule)
        unit = self._best(self._gains(merits, rule), short)
        if unit is None:
            return None
        self._tally.take(unit)
        members = self._limits.members(unit)
        best_first = np.lexsort((self._ranks[members], -merits[members], self._tiers[members]))
        return self._taken(members[best_first])

    def order(self, rule: Rule) -> NDArray[np.intp]:
        """Return all features: the picks, the others by merit, and those that are forbidden."""
        merits = self._merits(rule)
        allowed = self._tally.allowed(self._limits.size)[self._limits.unit_of]
        order = np.lexsort((self._ranks, -merits, self._tiers, ~allowed))
        is_picked = np.zeros(self._limits.size, dtype=bool)
        is_picked[self.picked] = True
        picked = np.array(self.picked, dtype=np.intp)
        return np.concatenate([picked, order[~is_picked[order]]])

    def _included(self, rule: Rule) -> list[Any]:
        limits = self._limits
        units = np.unique(limits.unit_of[limits.included])
        for unit in units.tolist():
            self._tally.take(unit)
        whole = np.flatnonzero(np.isin(limits.unit_of, units))
        self._merits(rule)  # tells the device
        return self._taken(np.concatenate([limits.included, np.setdiff1d(whole, limits.included)]))

    def _taken(self, features: NDArray[np.intp]) -> list[Any]:
        """Note picks, and return those that the rule looks at, as it wants them."""
        self.picked += features.tolist()
        if self.picked and not self._tally.short():
            self.stops.append(self.n_picked)
        places = self._place[features]
        picks = [np.array([place]) for place in places[places >= 0]]
        if is_device_array(self._like):
            return [moved_to(self._like, pick) for pick in picks]
        return picks

    def _merits(self, rule: Rule) -> NDArray[np.float64]:
        """Return the merits of all features; those that the rule does not look at add nothing."""
        merits = np.full(self._limits.size, float(rule.baseline))
        if self._features.size:
            self._like = rule.merits()
            merits[self._features] = np.asarray(to_numpy(self._like), dtype=float)
        return merits

    def _gains(self, merits: NDArray[np.float64], rule: Rule) -> NDArray[np.float64]:
        """Return the merits of units, or what they add per cost."""
        limits = self._limits
        if limits.unit_size.size < limits.size:
            merits = np.bincount(limits.unit_of, weights=merits) / limits.unit_size
        if self._costs is None:
            return merits
        gains = merits - float(rule.baseline)
        return np.where(gains > 0, gains / self._costs, gains * self._costs)

    def _best(self, gains: NDArray[np.float64], short: list[Any]) -> int | None:
        """Return the best unit that may be picked."""
        allowed = self._tally.allowed(self._count - self.n_picked)
        if short:
            needed = np.zeros_like(allowed)
            for group, _ in short:
                needed[group.units] = True
            allowed &= needed
        while True:
            candidates = np.flatnonzero(allowed)
            if not candidates.size:
                return None
            tiers = self._unit_tiers[candidates]
            candidates = candidates[tiers == tiers.min()]
            values = gains[candidates]
            largest = values.max()
            slack = self._tie * abs(largest) if np.isfinite(largest) else 0.0
            near = candidates[values >= largest - slack]
            unit = int(near[np.argmin(self._unit_ranks[near])])
            if self._look_ahead is None or self._look_ahead.allows(self._tally, unit):
                return unit
            # What cannot be completed now cannot be completed after more picks either.
            allowed[unit], self._tally.blocked[unit] = False, True
