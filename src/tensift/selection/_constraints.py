"""What a selection must respect.

A set of features is *feasible* for a count ``k`` if it has ``k`` features (with a budget: at most
``k``), contains all of `include` and none of `exclude`, costs no more than `budget`, has no two
features nearer than `min_distance`, has at least `at_least` and at most `at_most` features of every
group, and holds each list of `together` whole or not at all.

A *unit* is a feature, or a list of `together` (lists that share a feature are one). Features are
chosen as follows:

1. Included features come first, in the order in which they are given, then the other members of
   their units. They are known while the others are chosen.
2. While a group has fewer than its `at_least`, only units with a feature of such a group are
   candidates.
3. The next pick is the candidate with the largest merit by the rule, among those after which the
   set can still be completed to a feasible one. The merit of a unit is the mean of its members'
   merits. All members are taken, the best one first.
   Where features must be packed almost as densely as `min_distance` allows, finding this out can
   take very long. The search has a limit that does not depend on time; beyond it, a pick counts as
   one that cannot be completed, and a warning says so. The result still meets all constraints.
4. The order is nested: a prefix that ends with a whole unit, and meets every `at_least`, respects
   all constraints.

Features that a rule prefers to all others whatever their merit (for geometry those with structure,
for column subsets those that vary) are still preferred; a unit counts as its best member.

With a budget this is done five times: by merit, and by gain divided by the cost to the powers 1/4,
1/2, 3/4 and 1. The gain is what a pick adds to the objective of the rule; it is divided by that
power if it is positive, and multiplied by it otherwise. For a unit gain and cost are means over its
members. A cost of zero counts as a millionth of the smallest other cost. The run whose final
objective is larger wins, the first one if they are equal.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tensift.selection._feature_references import FeatureFinder
from tensift.selection._limits import FeatureLimits

__all__ = ["Constraints"]

_ARGUMENTS = (
    "include",
    "exclude",
    "costs",
    "budget",
    "min_distance",
    "positions",
    "groups",
    "at_least",
    "at_most",
    "together",
    "names",
)
_RESTRICTING = ("include", "exclude", "budget", "min_distance", "at_least", "at_most", "together")
_LONGEST = 10  # values that are printed of an argument


class Constraints:
    """What a selection must respect: features to keep or leave out, costs, distances, groups.

    Every selector takes such an object as ``constraints=``. A feature may be given as a flat
    row-major index (with ``feature_mode`` the index along the mode), as a tuple of coordinates if
    a sample has several axes, or by its name. Several features are a list of these, or a boolean
    mask of all features.

    Parameters
    ----------
    include : features, optional
        Features that must be kept. They come first, and the others are chosen to go with them.
    exclude : features, optional
        Features that must not be kept.
    costs : array-like or mapping, optional
        One cost per feature, zero or more; or a mapping from features to costs, where all other
        features cost 1. The default is 1 for each.
    budget : float, optional
        The largest sum of costs. The number of features to select is then an upper bound.
    min_distance : float, optional
        The smallest Euclidean distance between any two selected features.
    positions : array-like of shape (n_features, n_coordinates) or mapping, optional
        Where features are; or a mapping from features to lists of coordinates, which must have all
        features if there is a `min_distance`. The default is their indices on the grid of features.
    groups : array-like or mapping, optional
        One label per feature, None or NaN for no group; or a mapping from labels to features.
    at_least, at_most : int or mapping, optional
        How many features of each group must be, and may be, selected. An int holds for all groups,
        a mapping from labels to ints for those in it.
    together : list of features, optional
        Lists of features that are kept or dropped as one.
    names : array-like of str, optional
        The name of every feature. The default is the names that the selector saw in ``fit``, else
        those of ``get_feature_names_out``, such as "x3" or "x0_12".

    Notes
    -----
    Features are picked one after another, always the best one that constraints allow. A pick that
    would make it impossible to meet all constraints in the end is passed over; mixed-integer
    programming (HiGHS) decides this, only if the plain order runs into a dead end. If the search
    takes too long, a warning says that some picks may have been passed over without need.
    Constraints that no set can meet raise an error that says which ones collide. On a device every
    pick waits for the host once.

    With a budget, features are picked by what they add, by what they add per cost, and by three
    mixtures of both; the best of the five selections is kept.

    Examples
    --------
    Ten pixels, of which no two touch, with the centre and without the first row:

    >>> from tensift import Constraints, GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> constraints = Constraints(include=[(4, 4)], exclude=range(8), min_distance=1.5)
    >>> constraints
    Constraints(include=[(4, 4)], exclude=range(0, 8), min_distance=1.5)
    >>> selector = GeometrySelector(10, constraints=constraints).fit(X)
    >>> int(selector.order_[0]), int(selector.get_support(indices=True).min()) >= 8
    (36, True)
    """

    def __init__(
        self,
        *,
        include: Any = None,
        exclude: Any = None,
        costs: Any = None,
        budget: float | None = None,
        min_distance: float | None = None,
        positions: Any = None,
        groups: Any = None,
        at_least: Any = None,
        at_most: Any = None,
        together: Any = None,
        names: Any = None,
    ) -> None:
        self.include = include
        self.exclude = exclude
        self.costs = costs
        self.budget = budget
        self.min_distance = min_distance
        self.positions = positions
        self.groups = groups
        self.at_least = at_least
        self.at_most = at_most
        self.together = together
        self.names = names

    def without(self, *arguments: str) -> Self:
        """Return the same constraints without some.

        Parameters
        ----------
        *arguments : str
            Names of arguments.

        Returns
        -------
        Constraints

        Examples
        --------
        >>> from tensift import Constraints
        >>> Constraints(include=[3], budget=2.5).without("budget")
        Constraints(include=[3])
        """
        kept = {name: value for name, value in vars(self).items() if name not in arguments}
        return type(self)(**kept)

    def resolve(
        self, shape: tuple[int, ...], names: Any = None, never: Any = None
    ) -> FeatureLimits | None:
        """Return the constraints as arrays over features; None if they restrict nothing.

        Parameters
        ----------
        shape : tuple of int
            The grid of features: the shape of a sample, or the length of the mode.
        names : array-like of str, optional
            The names of features that the data have. The default is "x0_0", "x0_1", ...
        never : ndarray of bool, optional
            A flat mask of the features that were never observed. They are left out as if they were
            not there, and need no cost and no position.

        Returns
        -------
        FeatureLimits or None
        """
        limits = self.look_up(shape, names, never)
        return limits if any(getattr(self, name) is not None for name in _RESTRICTING) else None

    def look_up(
        self, shape: tuple[int, ...], names: Any = None, never: Any = None
    ) -> FeatureLimits:
        """Return the constraints as arrays over features, even if they restrict nothing.

        Parameters
        ----------
        shape, names, never
            As in `resolve`.

        Returns
        -------
        FeatureLimits
        """
        size = int(np.prod(shape))
        if self.names is not None:
            names = np.asarray(self.names, dtype=object).ravel()
            if len(names) != size:
                raise ValueError(
                    f"names has {len(names)} names, but there are {size} features; give one for "
                    "each"
                )
        elif names is None:
            names = ("x" + "_".join(map(str, index)) for index in np.ndindex(*shape))
        return FeatureLimits(self, FeatureFinder(shape, names), never)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constraints):
            return NotImplemented
        return all(_same(getattr(self, name), getattr(other, name)) for name in _ARGUMENTS)

    __hash__ = None  # type: ignore[assignment]  # arguments may be arrays

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in _ARGUMENTS}
        texts = [f"{name}={_shown(value)}" for name, value in given.items() if value is not None]
        return f"Constraints({', '.join(texts)})"


def _same(one: Any, other: Any) -> bool:
    """Whether two arguments are equal, with arrays anywhere in them."""
    if one is other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and type(one) is type(other):
        return len(one) == len(other) and all(map(_same, one, other))
    if hasattr(one, "__array__") or hasattr(other, "__array__"):
        first, second = np.asarray(one), np.asarray(other)
        if first.shape != second.shape or type(one) is not type(other):
            return False
        return all(map(_same, first.ravel().tolist(), second.ravel().tolist()))
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return type(one) is type(other) and bool(one == other)


def _shown(value: Any) -> str:
    """An argument as text, shortened if it is long."""
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.size > _LONGEST:
            return f"<array of shape {array.shape}>"
        return repr(array.tolist())
    if isinstance(value, list | tuple) and len(value) > _LONGEST:
        head = ", ".join(_shown(item) for item in value[:3])
        return f"[{head}, ... {len(value)} in all]"
    if isinstance(value, dict):
        items = [f"{key!r}: {_shown(item)}" for key, item in list(value.items())[:_LONGEST]]
        more = [f"... {len(value)} in all"] if len(value) > _LONGEST else []
        return "{" + ", ".join([*items, *more]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return repr(value)
