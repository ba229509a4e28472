"""What constraints did to a fitted selection, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from tensift._utils.namespace import to_numpy
from tensift.selection._limits import FeatureLimits

if TYPE_CHECKING:
    from tensift.selection._base import TensorSelector

__all__ = ["HeldConstraints", "constraints_in_words", "held_constraints"]

_MOST_NAMES = 4
_MOST_GROUPS = 4


@dataclass(frozen=True, eq=False)
class HeldConstraints:
    """What constraints did to a selection.

    Attributes
    ----------
    included, excluded : ndarray of int
        Features, as flat indices, or indices along ``feature_mode``.
    costs : ndarray or None
        The cost of every feature, if costs were given.
    groups : list of str or None
        The labels of the groups that every feature is in, if groups were given.
    stops : tuple of int
        The counts at which the beginning of the order meets all constraints; empty if any does.
    words : tuple of str
        What held, a few words for each constraint.

    Examples
    --------
    >>> from tensift import Constraints
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import VarianceSelector
    >>> from tensift.selection import held_constraints
    >>> constraints = Constraints(include=[20], costs={20: 3}, budget=6)
    >>> selector = VarianceSelector(9, constraints=constraints).fit(load_digits().data)
    >>> held = held_constraints(selector)
    >>> held.words, held.stops
    (('included x2_4', 'cost 6 of 6'), (1, 2, 3, 4))
    """

    included: NDArray[np.intp]
    excluded: NDArray[np.intp]
    costs: NDArray[np.float64] | None
    groups: list[str] | None
    stops: tuple[int, ...]
    words: tuple[str, ...]


def held_constraints(selector: TensorSelector) -> HeldConstraints | None:
    """Return what the constraints of a fitted selector did; None if it had none.

    Parameters
    ----------
    selector : TensorSelector
        A fitted selector.

    Returns
    -------
    HeldConstraints or None

    Examples
    --------
    >>> from tensift import Constraints, GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.selection import held_constraints
    >>> constraints = Constraints(include=[(4, 4)], exclude=range(8), min_distance=2)
    >>> selector = GeometrySelector(10, constraints=constraints).fit(load_digits().data)
    >>> held_constraints(selector).words[:2]
    ('included x4_4', 'excluded 8 features')
    """
    limits = selector._fitted_look_up()
    if limits is None:
        return None
    kept = np.asarray(to_numpy(selector.get_support(indices=True)))
    limited = vars(selector).get("_limited")
    stops = () if limited is None else tuple(n for n in limited.stops if n <= limited.kept)
    return HeldConstraints(
        included=limits.included,
        excluded=limits.excluded,
        costs=None if limits.constraints.costs is None else limits.costs,
        groups=_labels(limits),
        stops=stops,
        words=tuple(constraints_in_words(limits, kept)),
    )


def constraints_in_words(limits: FeatureLimits, kept: NDArray[np.intp] | None = None) -> list[str]:
    """Return a few words for each constraint; with kept features also how far they use it up.

    Parameters
    ----------
    limits : FeatureLimits
        The constraints.
    kept : ndarray of int, optional
        Features that meet them.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import Constraints
    >>> from tensift.selection import constraints_in_words
    >>> limits = Constraints(include=[3], budget=4).look_up((8,))
    >>> constraints_in_words(limits)
    ['included x3', 'a budget of 4']
    >>> constraints_in_words(limits, np.array([3, 5]))
    ['included x3', 'cost 2 of 4']
    """
    given, words = limits.constraints, list[str]()
    for word, features in (("included", limits.included), ("excluded", limits.excluded)):
        if features.size:
            words.append(f"{word} {_named(limits, features)}")
    spent = None if kept is None else f"cost {_number(limits.costs[kept].sum())}"
    if limits.budget is not None:
        budget = _number(limits.budget)
        words.append(f"a budget of {budget}" if spent is None else f"{spent} of {budget}")
    elif given.costs is not None and spent is not None:
        words.append(spent)
    if limits.distance:
        words.append(f"at least {_number(given.min_distance)} apart{_nearest(limits, kept)}")
    words += _groups_in_words(limits, kept)
    units = np.flatnonzero(limits.unit_size > 1)
    if units.size:
        whole = f"{units.size} list{'s' * (units.size > 1)} kept or dropped as one"
        if kept is not None:
            held = np.isin(units, limits.unit_of[kept]).sum()
            whole = f"{held} of {units.size} list{'s' * (units.size > 1)} that belong together kept"
        words.append(whole)
    return words


def _groups_in_words(limits: FeatureLimits, kept: NDArray[np.intp] | None) -> list[str]:
    words = []
    for group in limits.groups:
        bounds = []
        if group.at_least > 0:
            bounds.append(f"at least {group.at_least}")
        if group.at_most < limits.size:
            bounds.append(f"at most {group.at_most}")
        if not bounds:
            continue
        if kept is None:
            words.append(f"{' and '.join(bounds)} of {group.label}")
        else:
            number = int(np.isin(group.features, kept).sum())
            words.append(f"{number} of {group.label} ({', '.join(bounds)})")
    more = len(words) - _MOST_GROUPS
    return words if more <= 1 else [*words[:_MOST_GROUPS], f"bounds for {more} more groups"]


def _nearest(limits: FeatureLimits, kept: NDArray[np.intp] | None) -> str:
    if kept is None or len(kept) < 2:
        return ""
    places = limits.positions[kept]
    nearest = float(cKDTree(places).query(places, k=2)[0][:, 1].min())
    return f" (the nearest two are {_number(nearest)})"


def _named(limits: FeatureLimits, features: NDArray[np.intp]) -> str:
    if features.size > _MOST_NAMES:
        return f"{features.size} features"
    return ", ".join(limits.finder.names[feature] for feature in features.tolist())


def _labels(limits: FeatureLimits) -> list[str] | None:
    if limits.labelled is None:
        return None
    labels: list[list[str]] = [[] for _ in range(limits.size)]
    for label, features in limits.labelled.items():
        for feature in features.tolist():
            labels[feature].append(str(label))
    return ["; ".join(own) for own in labels]


def _number(value: Any) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.6g}"
