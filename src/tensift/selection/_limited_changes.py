"""Changes of kept features under constraints: what may replace one, and what may be added."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tensift.selection._completions import LookAhead, Undecided, completion, largest_count
from tensift.selection._greedy import pick_greedily
from tensift.selection._kept_sets import KeptSet
from tensift.selection._limited_choice import LimitedChoice
from tensift.selection._limits import FeatureLimits
from tensift.selection._tally import Tally, exchangeable

__all__ = ["limited_additions", "room_for", "substitutes"]


def substitutes(limits: FeatureLimits, features: Sequence[int], failed: int) -> NDArray[np.bool_]:
    """Return the features that may take the place of a kept one, as a mask.

    An included feature that fails no longer counts as included.
    """
    kept = np.asarray(features, dtype=np.intp)
    others = limits.with_included(limits.included[limits.included != failed])
    return exchangeable(others, kept, int(np.flatnonzero(kept == failed)[0]))


def room_for(limits: FeatureLimits, features: Sequence[int], count: int) -> NDArray[np.bool_]:
    """Return units with the kept features and so many more; an error if there are none."""
    grown, total = limits.with_included(features), len(features) + count
    try:
        found = completion(Tally(grown), total, exact=True)
    except Undecided:
        raise ValueError(
            f"k={count}: constraints are so tight that a search for {count} more features takes "
            "too long; ask for fewer"
        ) from None
    if found is not None:
        return found
    most = largest_count(grown)
    if most is None:
        left = "ask for fewer"
    elif most > total:  # units of several features may not fill every number
        left = "only other numbers are possible, since some features are kept together"
    elif most == len(features):
        left = "none can be added"
    else:
        left = f"at most {most - len(features)} can be added"
    raise ValueError(
        f"k={count}: constraints do not allow {count} more feature{'s' * (count != 1)}; {left}"
    )


def limited_additions(
    kept: KeptSet,
    limits: FeatureLimits,
    features: Sequence[int],
    count: int,
    witness: NDArray[np.bool_],
) -> list[int]:
    """Return `count` features in the order in which the rule would add them under constraints.

    `witness` is what `room_for` has found.
    """
    grown, total = limits.with_included(features), len(features) + count
    every = np.arange(limits.size)
    for ahead in (None, LookAhead(total, witness, exact=True)):
        rule = _Growing(kept, features)
        choice = LimitedChoice(
            grown, rule, total, every, every, costs=None, look_ahead=ahead, enough=total
        )
        pick_greedily(rule, choice, total)
        if choice.is_complete(exact=True):
            break
    return choice.picked[len(features) :]


class _Growing:
    """A set of features that grows, as a rule for `LimitedChoice`."""

    baseline = 0.0

    def __init__(self, kept: KeptSet, features: Sequence[int]) -> None:
        self._kept, self._there = kept, set(features)
        self.tie, self.tiers = kept.tie, kept.tiers

    @property
    def objective(self) -> float:
        """The measure of the set."""
        return self._kept.value

    def merits(self) -> NDArray[np.float64]:
        """Return by what the rule picks the next feature."""
        return self._kept.merits()

    def take(self, pick: NDArray[np.intp]) -> None:
        """Add a feature; those of the beginning are in the set already."""
        if int(pick[0]) not in self._there:
            self._kept = self._kept.with_feature(int(pick[0]))
