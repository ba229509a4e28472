"""One greedy loop: a rule says what features are worth, a choice says which one is next.

`FreeChoice` takes the best one, and leaves everything on the device of the merits. With
constraints, `LimitedChoice` looks at merits on the host, and passes over features that constraints
forbid (`_constraints` has the definition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import device_of, is_device_array, moved_to, namespace_of, to_numpy
from tensift.selection._collisions import Infeasible, check_directly, explain
from tensift.selection._completions import LookAhead, Undecided, completion
from tensift.selection._limits import FeatureLimits, Tally

__all__ = ["Chosen", "FixedMerits", "FreeChoice", "Rule", "choose", "pick_greedily"]

_LEAST_COST = 1e-6  # of the smallest positive cost: what a cost of zero counts as
_BETTER = 1e-9  # share by which an objective must be larger to count as larger


class Rule(Protocol):
    """What features are worth, given those taken so far."""

    @property
    def tie(self) -> float:
        """Merits that differ by a smaller share are equal: the feature that comes first wins."""

    @property
    def tiers(self) -> Any:
        """Numbers of features: those with smaller ones are picked first, whatever their merit."""

    @property
    def objective(self) -> Any:
        """What the features taken so far are worth together."""

    @property
    def baseline(self) -> Any:
        """What merits are on top of: a gain is a merit less this."""

    def merits(self) -> Any:
        """Return the merit of every feature, if it is taken next."""

    def take(self, pick: Any) -> Any:
        """Take a feature; `pick` is an array of its index."""


class Choice(Protocol):
    """Picks features by their merits."""

    @property
    def n_picked(self) -> int:
        """How many features were picked."""

    def next(self, rule: Any) -> Sequence[Any] | None:
        """Return what to take next, as arrays of one index each; None to stop."""


def pick_greedily(rule: Rule, choice: Choice, count: int) -> None:
    """Pick features until there are `count` of them, or no more can be picked.

    Parameters
    ----------
    rule : Rule
        Says what features are worth, and takes those that are picked.
    choice : FreeChoice or LimitedChoice
        Says which one is next.
    count : int
        How many features to pick.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import FixedMerits, FreeChoice, pick_greedily
    >>> rule = FixedMerits(np.array([1.0, 3.0, 2.0]))
    >>> pick_greedily(rule, FreeChoice([np.ones(3, dtype=bool)], [3], rule.tie), 2)
    >>> rule.objective
    5.0
    """
    while choice.n_picked < count:
        picks = choice.next(rule)
        if picks is None:
            return
        for pick in picks:
            rule.take(pick)


class FreeChoice:
    """Picks the best feature, without constraints. Nothing is moved to the host.

    Parameters
    ----------
    tiers : list of array of bool
        The features that may be picked, tier after tier; a tier may contain those before it.
    ends : list of int
        How many features are in each tier and those before it.
    tie : float
        Merits that differ by a smaller share are equal.
    least : float, optional
        Stop when no merit is larger (on the host).

    Examples
    --------
    Features of the first tier come before all others:

    >>> import numpy as np
    >>> from tensift.selection import FixedMerits, FreeChoice
    >>> first, everything = np.array([True, False, False]), np.ones(3, dtype=bool)
    >>> choice = FreeChoice([first, everything], [1, 3], tie=0.0)
    >>> rule = FixedMerits(np.array([1.0, 3.0, 2.0]))
    >>> [int(choice.next(rule)[0][0]) for _ in range(3)]
    [0, 1, 2]
    """

    def __init__(
        self, tiers: list[Any], ends: list[int], tie: float, least: float | None = None
    ) -> None:
        self._tiers, self._ends, self._tie, self._least = tiers, ends, tie, least
        self.n_picked = 0
        xp = namespace_of(tiers[0])
        self.is_left = xp.ones_like(tiers[0])
        self._numbers = xp.arange(tiers[0].shape[0], device=device_of(tiers[0]))

    def next(self, rule: Rule) -> list[Any] | None:
        """Return the best feature of the first tier that has one left."""
        merits = rule.merits()
        xp = namespace_of(merits)
        tier = next(i for i, end in enumerate(self._ends) if self.n_picked < end)
        merits = xp.where(self.is_left & self._tiers[tier], merits, -math.inf)
        largest = xp.max(merits)
        if self._least is not None and not largest > self._least:
            return None
        # Rounding must not decide between equal features: the first of those that are near the
        # maximum wins. The pick stays on the device, since transfers would be slow.
        near = merits >= (1 - self._tie) * largest
        pick = xp.reshape(xp.argmax(xp.astype(near, xp.int32)), (1,))
        self.is_left = self.is_left & (self._numbers != pick)
        self.n_picked += 1
        return [pick]


class FixedMerits:
    """A rule whose merits do not change: the largest scores, in a given order.

    Parameters
    ----------
    scores : array of one score per feature
        On the host.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import FixedMerits
    >>> FixedMerits(np.array([[1.0, 3.0], [2.0, 0.0]])).merits()
    array([1., 3., 2., 0.])
    """

    tie, baseline = 0.0, 0.0

    def __init__(self, scores: NDArray[Any]) -> None:
        self._scores = np.asarray(scores, dtype=float).ravel()
        self.tiers = np.zeros(self._scores.size, dtype=int)
        self.objective = 0.0

    def merits(self) -> NDArray[np.float64]:
        """Return the scores."""
        return self._scores

    def take(self, pick: NDArray[np.intp]) -> None:
        """Add a score to the objective."""
        self.objective += float(self._scores[pick[0]])


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
    for costs in [None] if limits.budget is None else [None, _divisors(limits)]:

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


def _divisors(limits: FeatureLimits) -> NDArray[np.float64]:
    """Return the mean cost of every unit's members, with small numbers in place of zeros."""
    costs = limits.unit_cost / limits.unit_size
    positive = costs[costs > 0]
    least = float(positive.min()) * _LEAST_COST if positive.size else 1.0
    return np.where(costs > 0, costs, least)


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
