"""One greedy loop: a rule says what features are worth, a choice says which one is next.

`FreeChoice` takes the best one, and leaves everything on the device of the merits. Under
constraints, `LimitedChoice` takes its place (`_limited_choice`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import device_of, namespace_of

__all__ = ["FixedMerits", "FreeChoice", "Rule", "pick_greedily"]


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

    @property
    def n_left_in_tier(self) -> int:
        """How many more features are picked before those of the next tier."""
        return next((end - self.n_picked for end in self._ends if self.n_picked < end), 0)

    def next(self, rule: Rule) -> list[Any] | None:
        """Return the best feature of the first tier that has one left."""
        merits = self._of_free(rule.merits())
        xp = namespace_of(merits)
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

    def _of_free(self, merits: Any) -> Any:
        """Return merits of the features that may be picked now, and less for all others."""
        xp = namespace_of(merits)
        tier = next(i for i, end in enumerate(self._ends) if self.n_picked < end)
        return xp.where(self.is_left & self._tiers[tier], merits, xp.full_like(merits, -math.inf))


class BoundedChoice(FreeChoice):
    """The same picks, for rules on the host that know bounds of merits: few merits are computed.

    Beside the methods of `Rule`, the rule has `bounds` (no merit is larger than its bound),
    `is_bound` (for which features that is not the merit itself) and `merits_of` some features.
    """

    def next(self, rule: Any) -> list[Any] | None:
        """Return the best feature of the first tier that has one left."""
        merits, is_bound = self._of_free(rule.bounds()), rule.is_bound.copy()
        rivals = np.array([np.argmax(merits)])
        reached = -math.inf
        while rivals.size:
            merits[rivals], is_bound[rivals] = rule.merits_of(rivals), False
            reached = merits.max(where=~is_bound, initial=-math.inf)
            rivals = np.flatnonzero((merits >= (1 - self._tie) * reached) & is_bound)
        pick = np.array([np.argmax(merits >= (1 - self._tie) * reached)])
        self.is_left[pick] = False
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
