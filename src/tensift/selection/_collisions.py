"""Which constraints collide, in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tensift.selection._completions import Undecided, completion, largest_count
from tensift.selection._limits import FeatureLimits, Group, TooManyPairs
from tensift.selection._tally import Tally

__all__ = ["Infeasible", "check_directly", "explain"]

_KINDS = ("include", "exclude", "budget", "min_distance", "at_least", "at_most", "together")


class Infeasible(ValueError):
    """No set of features meets all constraints."""


def check_directly(limits: FeatureLimits, count: int, *, exact: bool) -> None:
    """Raise an error for constraints that visibly collide, without a search."""
    found = next(_collisions(limits, count, exact=exact), None)
    if found is not None:
        raise _error(limits, list(found[0]), count, exact=exact)


def explain(limits: FeatureLimits, count: int, *, exact: bool) -> Infeasible:
    """Return an error that names a smallest set of constraints that collide."""
    return _error(limits, _given(limits), count, exact=exact)


def _error(limits: FeatureLimits, colliding: list[str], count: int, *, exact: bool) -> Infeasible:
    """Return the error for constraints that are known to collide: a smallest set, and why."""
    kinds = colliding
    for kind in colliding:
        fewer = [other for other in kinds if other != kind]
        if _fail(limits, fewer, count, exact=exact):
            kinds = fewer
    for size in range(1, len(kinds)):
        sets = map(list, itertools.combinations(_given(limits), size))
        smaller = next((some for some in sets if _fail(limits, some, count, exact=exact)), None)
        if smaller is not None:
            kinds = smaller
            break
    alone = _only(limits, kinds)
    reason = next((why for _, why in _collisions(alone, count, exact=exact)), "")
    if not reason and exact:
        most = _largest(alone)
        if most is not None and most < count:
            what = "with them" if len(kinds) > 1 else "with it"
            reason = f"at most {most} feature{'s' * (most != 1)} can be selected {what}"
    return Infeasible(_sentence(kinds, count, exact=exact) + (f"; {reason}" if reason else ""))


def _given(limits: FeatureLimits) -> list[str]:
    return [kind for kind in _KINDS if getattr(limits.constraints, kind) is not None]


def _only(limits: FeatureLimits, kinds: list[str]) -> FeatureLimits:
    """Return the limits with some kinds of constraints alone."""
    return limits.without(*(kind for kind in _KINDS if kind not in kinds))


def _fail(limits: FeatureLimits, kinds: list[str], count: int, *, exact: bool) -> bool:
    """Whether it is known that some kinds of constraints cannot be met together."""
    if not kinds:
        return False
    alone = _only(limits, kinds)
    if next(_collisions(alone, count, exact=exact), None) is not None:
        return True
    try:
        return completion(Tally(alone), count, exact=exact) is None
    except (Undecided, TooManyPairs):
        return False


def _largest(limits: FeatureLimits) -> int | None:
    try:
        return largest_count(limits)
    except TooManyPairs:
        return None


def _sentence(kinds: list[str], count: int, *, exact: bool) -> str:
    size = f"{count} feature{'s' * (count != 1)}"
    size = size if exact else f"at most {size}"
    if len(kinds) == 1:
        return f"constraints cannot be met: {kinds[0]} leaves no set of {size}"
    names = f"{', '.join(kinds[:-1])} and {kinds[-1]}"
    return f"constraints cannot be met: {names} leave no set of {size}"


def _collisions(
    limits: FeatureLimits, count: int, *, exact: bool
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Find constraints that collide: names of some that do, and why."""
    whole = np.flatnonzero(np.isin(limits.unit_of, limits.unit_of[limits.included]))
    banned = np.isin(limits.unit_of, limits.unit_of[limits.banned])
    include = ("include", "together") if whole.size > limits.included.size else ("include",)
    if banned[whole].any():
        yield _wanted_and_banned(limits)
    near = limits.nearest_pair(whole)
    if near is not None:
        yield (
            (*include, "min_distance"),
            f"{_named(limits, near[0])} and {_named(limits, near[1])} are included, but "
            f"{near[2]:.4g} apart, nearer than min_distance={limits.constraints.min_distance:g}",
        )
    if not limits.fits(limits.costs[whole].sum()):
        yield (
            (*include, "budget"),
            f"the included features cost {limits.costs[whole].sum():g}, more than the budget of "
            f"{limits.budget:g}",
        )
    if whole.size > count:
        yield (
            include,
            f"{whole.size} features are included, but n_features_to_select allows {count}",
        )
    for group in limits.groups:
        yield from _within(group, whole, banned, include)
    needed = sum(group.at_least for group in limits.groups)
    if needed > count and _disjoint(limits.groups):
        yield (
            ("at_least",),
            f"groups need at least {needed} features together, but n_features_to_select allows "
            f"{count}",
        )
    exclude = ("exclude", "together") if limits.unit_size.max() > 1 else ("exclude",)
    left = limits.size - int(np.count_nonzero(banned))
    if left < (count if exact else 1):
        yield exclude, f"{left} of {limits.n_observed} features are not excluded"
    cheapest = float(limits.costs[~banned].min()) if left else 0.0
    if not whole.size and not limits.fits(cheapest):
        yield (
            (*exclude, "budget"),
            f"the cheapest feature costs {cheapest:g}, more than the budget of {limits.budget:g}",
        )


def _within(
    group: Group, whole: NDArray[np.intp], banned: NDArray[np.bool_], include: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Find what collides within a group."""
    needs = f"group {group.label!r} needs at least {group.at_least} feature"
    needs += "s" * (group.at_least != 1)
    if group.at_least > group.at_most:
        yield ("at_least", "at_most"), f"{needs}, but allows at most {group.at_most}"
    if group.at_least > group.features.size:
        yield ("at_least",), f"{needs}, but has {group.features.size}"
    left = group.features.size - int(np.count_nonzero(banned[group.features]))
    if group.at_least > left:
        yield (
            ("exclude", "at_least", "together"),
            f"{needs}, but {left} of its {group.features.size} are not excluded",
        )
    inside = int(np.isin(group.features, whole).sum())
    if inside > group.at_most:
        yield (
            (*include, "at_most"),
            f"group {group.label!r} allows at most {group.at_most}, but {inside} of its features "
            "are included",
        )


def _wanted_and_banned(limits: FeatureLimits) -> tuple[tuple[str, ...], str]:
    """Say which feature is included and excluded, itself or by features it is kept with."""
    both = np.intersect1d(limits.included, limits.excluded)
    if both.size:
        return ("include", "exclude"), f"{_named(limits, both[0])} is included and excluded"
    units = limits.unit_of[limits.included]
    place = int(np.flatnonzero(np.isin(units, limits.unit_of[limits.excluded]))[0])
    other = limits.excluded[limits.unit_of[limits.excluded] == units[place]][0]
    return (
        ("include", "exclude", "together"),
        f"{_named(limits, limits.included[place])} is included and {_named(limits, other)} is "
        "excluded, but they are kept or dropped as one",
    )


def _disjoint(groups: list[Group]) -> bool:
    members = np.concatenate([np.zeros(0, int), *(group.features for group in groups)])
    return members.size == np.unique(members).size


def _named(limits: FeatureLimits, feature: int) -> str:
    return f"feature {int(feature)} ({limits.finder.names[int(feature)]!r})"
