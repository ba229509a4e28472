"""Constraints as arrays over features and units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cached_property
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from tensift._utils.namespace import to_numpy
from tensift.selection._feature_references import FeatureFinder
from tensift.selection._group_labels import features_by_label, numbers_by_label

if TYPE_CHECKING:
    from tensift.selection._constraints import Constraints

__all__ = ["FeatureLimits", "Group", "TooManyPairs"]

_MOST_PAIRS = 5_000_000  # of features that are too near each other
_ROUNDING = 1e-9  # share of a budget or a distance that is a rounding error


class TooManyPairs(ValueError):
    """So many features are too near each other that no search can begin."""


class Group(NamedTuple):
    """Features of which so many must be, and may be, selected."""

    label: Any
    features: NDArray[np.intp]
    units: NDArray[np.intp]
    counts: NDArray[np.intp]  # how many features of the group each of these units has
    at_least: int
    at_most: int


class FeatureLimits:
    """Constraints that were resolved against features.

    Attributes
    ----------
    constraints : Constraints
        What the user asked for.
    finder : FeatureFinder
        The features and their names.
    size : int
        The number of features.
    included, excluded : ndarray of int
        Features, as they were given.
    never : ndarray of bool, or None
        The features that were never observed. They are left out as if they were not there.
    banned : ndarray of int
        Features that cannot be selected: those that are excluded or were never observed.
    unit_of : ndarray of int
        The unit of every feature. Units are numbered by their first features.
    unit_size, unit_cost : ndarray
        How many features a unit has, and what they cost together.
    costs : ndarray
        The cost of every feature.
    budget : float or None
        The largest sum of costs.
    groups : list of Group
        Those that have bounds.
    labelled : dict of ndarray of int, or None
        The features of all groups, by label; None if no groups were given.
    distance : float
        Two features that are this near are refused. 0 refuses none.

    Examples
    --------
    >>> from tensift import Constraints
    >>> limits = Constraints(include=[(0, 1)], together=[[2, 3], [3, 5]]).resolve((2, 3))
    >>> limits.included, limits.unit_of
    (array([1]), array([0, 1, 2, 2, 3, 2]))
    >>> limits.is_feasible([1, 4], 2, exact=True), limits.is_feasible([1, 2], 2, exact=True)
    (True, False)
    """

    def __init__(
        self,
        constraints: Constraints,
        finder: FeatureFinder,
        never: NDArray[np.bool_] | None = None,
    ) -> None:
        self.constraints, self.finder, self.never = constraints, finder, never
        self.size = finder.size
        self.included = np.array(finder.some(constraints.include, "include"), dtype=np.intp)
        self.excluded = np.array(finder.some(constraints.exclude, "exclude"), dtype=np.intp)
        self._refuse_unobserved()
        self.unit_of = _units(constraints.together, finder, never)
        self.unit_size = np.bincount(self.unit_of)
        self.costs = _costs(constraints.costs, finder, never)
        self.unit_cost = np.bincount(self.unit_of, weights=self.costs)
        self.budget = _number(constraints.budget, "budget")
        self.distance = (_number(constraints.min_distance, "min_distance") or 0.0) * (1 - _ROUNDING)
        self.positions = _positions(constraints.positions, finder, never, self.distance)
        self.labelled: dict[Any, NDArray[np.intp]] | None = None
        self.groups = self._groups()
        self._in_units = np.argsort(self.unit_of, kind="stable")
        self._ends = np.cumsum(self.unit_size)

    def without(self, *arguments: str) -> FeatureLimits:
        """Return the limits without some arguments of the constraints."""
        return FeatureLimits(self.constraints.without(*arguments), self.finder, self.never)

    def with_included(self, features: Any) -> FeatureLimits:
        """Return the same limits with other included features."""
        other = copy(self)
        other.included = np.array(features, dtype=np.intp)
        return other

    @property
    def banned(self) -> NDArray[np.intp]:
        """Features that cannot be selected."""
        if self.never is None:
            return self.excluded
        return np.union1d(self.excluded, np.flatnonzero(self.never))

    def as_constraints(self) -> Constraints:
        """Return constraints with the same limits for samples in which nothing is missing.

        Features that were never observed are excluded, and features are given by their indices.
        """
        given, whole = self.constraints, self.unit_size > 1
        units = [self.members(int(unit)).tolist() for unit in np.flatnonzero(whole)]
        labelled = self.labelled
        if labelled is not None and self.never is not None:
            labelled = {label: own[~self.never[own]] for label, own in labelled.items()}
        return type(given)(
            include=None if given.include is None else self.included.tolist(),
            exclude=self.banned.tolist(),
            costs=None if given.costs is None else self.costs,
            budget=given.budget,
            min_distance=given.min_distance,
            positions=self.positions if self.distance else None,
            groups=labelled,
            at_least=given.at_least,
            at_most=given.at_most,
            together=units or None,
            names=given.names,
        )

    @property
    def n_observed(self) -> int:
        """How many features were ever observed."""
        return self.size if self.never is None else self.size - int(np.count_nonzero(self.never))

    def members(self, unit: int) -> NDArray[np.intp]:
        """Return the features of a unit, by index."""
        return self._in_units[self._ends[unit] - self.unit_size[unit] : self._ends[unit]]

    def fits(self, cost: Any) -> Any:
        """Whether a sum of costs is within the budget."""
        if self.budget is None:
            return np.ones(np.shape(cost), dtype=bool)
        return cost <= self.budget * (1 + _ROUNDING)

    @cached_property
    def tree(self) -> cKDTree:
        """The positions of all features, for finding neighbours."""
        return cKDTree(self.positions)

    def near(self, features: Any) -> NDArray[np.intp]:
        """Return the features that are nearer to one of some features than allowed."""
        if not self.distance:
            return np.zeros(0, np.intp)
        found = self.tree.query_ball_point(self.positions[features], self.distance)
        return np.unique(np.concatenate([np.asarray(one, np.intp) for one in found]))

    def nearest_pair(self, features: Any) -> tuple[int, int, float] | None:
        """Return two of some features that are too near, if there are such, and how near."""
        features = np.asarray(features)
        if not self.distance or len(features) < 2:
            return None
        distances, places = cKDTree(self.positions[features]).query(self.positions[features], k=2)
        first = int(np.argmin(distances[:, 1]))
        if distances[first, 1] > self.distance:
            return None
        other = places[first][places[first] != first][0]
        pair = sorted([int(features[first]), int(features[other])])
        return pair[0], pair[1], float(distances[first, 1])

    @cached_property
    def conflicts(self) -> csr_array:
        """Which pairs of units are too near each other, as a symmetric matrix of ones."""
        number = (self.tree.count_neighbors(self.tree, self.distance) - self.size) // 2
        if number > _MOST_PAIRS:
            raise TooManyPairs(
                f"min_distance={self.constraints.min_distance} keeps {number} pairs of features "
                "apart, too many to find out whether the other constraints can be met with it; "
                "select fewer features, or relax a constraint"
            )
        pairs = self.unit_of[self.tree.query_pairs(self.distance, output_type="ndarray")]
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        both = np.concatenate([pairs, pairs[:, ::-1]])
        units = len(self.unit_size)
        ones = np.ones(len(both), dtype=np.int32)
        matrix = coo_array((ones, (both[:, 0], both[:, 1])), shape=(units, units)).tocsr()
        matrix.data[:] = 1
        return csr_array(matrix)

    @cached_property
    def cliques(self) -> csr_array:
        """Sets of units of which any two are too near each other; every such pair is in one."""
        starts, columns = self.conflicts.indptr, self.conflicts.indices.tolist()
        near = [set(columns[a:b]) for a, b in itertools.pairwise(starts.tolist())]
        covered: list[set[int]] = [set() for _ in near]
        rows: list[int] = []
        members: list[int] = []
        number = 0
        for unit, others in enumerate(near):
            for other in sorted(others):
                if other < unit or other in covered[unit]:
                    continue
                clique, common = [unit, other], others & near[other]
                while common:
                    clique.append(min(common))
                    common &= near[clique[-1]]
                for one in clique:
                    covered[one].update(clique)
                members += clique
                rows += [number] * len(clique)
                number += 1
        shape = (number, len(near))
        return csr_array(coo_array((np.ones(len(rows)), (rows, members)), shape=shape))

    def is_feasible(self, features: Any, count: int, *, exact: bool) -> bool:
        """Whether a set of features meets all constraints, by the definition alone."""
        mask = np.zeros(self.size, dtype=bool)
        mask[features] = True
        number = int(np.count_nonzero(mask))
        in_units = np.bincount(self.unit_of, weights=mask)
        return bool(
            (number == count if exact else 0 < number <= count)
            and mask[self.included].all()
            and not mask[self.banned].any()
            and np.all((in_units == 0) | (in_units == self.unit_size))
            and self.fits(self.costs[mask].sum())
            and all(g.at_least <= mask[g.features].sum() <= g.at_most for g in self.groups)
            and self.nearest_pair(np.flatnonzero(mask)) is None
        )

    def _refuse_unobserved(self) -> None:
        lost = self.included if self.never is None else self.included[self.never[self.included]]
        if self.never is not None and lost.size:
            raise ValueError(
                f"include has the feature {self.finder.names[lost[0]]!r}, which was never observed "
                "(all its values are NaN); leave it out"
            )

    def _groups(self) -> list[Group]:
        given = self.constraints
        if given.groups is None:
            for name in ("at_least", "at_most"):
                if getattr(given, name) is not None:
                    raise ValueError(f"{name} counts features of groups; give groups too")
            return []
        features = self.labelled = features_by_label(given.groups, self.finder)
        least = numbers_by_label(given.at_least, "at_least", features)
        most = numbers_by_label(given.at_most, "at_most", features)
        groups = []
        for label in features:
            if label in least or label in most:
                own = features[label]
                own = own if self.never is None else own[~self.never[own]]
                units, counts = np.unique(self.unit_of[own], return_counts=True)
                bounds = least.get(label, 0), most.get(label, self.size)
                groups.append(Group(label, own, units, counts, *bounds))
        return groups


def _units(
    together: Any, finder: FeatureFinder, never: NDArray[np.bool_] | None
) -> NDArray[np.intp]:
    """Return the unit of every feature; lists that share a feature are one unit."""
    alone = np.arange(finder.size)
    if together is None:
        return alone
    if isinstance(together, str | Mapping) or not isinstance(together, Iterable):
        raise ValueError(f"together must be a list of lists of features, got {together!r}")
    ends: list[tuple[int, int]] = []
    for one in together:
        if isinstance(one, str | Integral) or finder.is_one(one):
            raise ValueError(
                f"together must be a list of lists of features, but one of its items is {one!r}; "
                "put the features of a unit into a list"
            )
        features = finder.some(one, "together")
        if never is not None:
            features = [feature for feature in features if not never[feature]]
        ends += [(features[0], other) for other in features[1:]]
    if not ends:
        return alone
    rows, columns = np.array(ends).T
    shape = (finder.size, finder.size)
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    _, component = connected_components(links, directed=False)
    first = np.full(component.max() + 1, finder.size)
    np.minimum.at(first, component, alone)
    return np.argsort(np.argsort(first))[component]


def _costs(
    given: Any, finder: FeatureFinder, never: NDArray[np.bool_] | None
) -> NDArray[np.float64]:
    if given is None:
        return np.ones(finder.size)
    if isinstance(given, Mapping):
        pairs = list(finder.pairs(given, "costs"))
        costs = np.ones(finder.size)
        for feature, cost in pairs:
            is_cost = isinstance(cost, Real) and not isinstance(cost, bool | np.bool_)
            costs[feature] = float(cost) if is_cost else math.nan
        shown = dict(pairs)
    else:
        values = finder.values(given, "costs")
        if values.dtype.kind not in "biuf":
            raise ValueError(f"costs must be numbers, got an array of {values.dtype}")
        costs = values.astype(float)
        shown = dict(enumerate(values.tolist()))
    if never is not None:
        costs[never & np.isnan(costs)] = 1.0  # they are never bought
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs >= 0)))
    if wrong.size:
        feature = int(wrong[0])
        raise ValueError(
            f"costs has {shown[feature]!r} for the feature {finder.names[feature]!r}; a cost must "
            "be a finite number, zero or more"
        )
    return costs


def _positions(
    given: Any, finder: FeatureFinder, never: NDArray[np.bool_] | None, distance: float
) -> NDArray[np.float64]:
    """Return a row of coordinates for each feature; NaN where there is none and none is needed."""
    if given is None:
        return np.indices(finder.shape, dtype=float).reshape(len(finder.shape), -1).T
    if isinstance(given, Mapping):
        array = _positions_by_feature(given, finder)
    else:
        array = _rows_of_positions(given, finder)
    if not distance:
        return array
    lacks = np.asarray(np.isnan(array).any(axis=1))
    if never is not None and (aside := np.flatnonzero(lacks & never)).size:
        # Features that were never observed are put where they are near no other feature.
        edge = np.nanmax(np.where(np.isnan(array), 0.0, array), axis=0)
        array[aside] = edge + 2 * distance * np.arange(1, aside.size + 1)[:, None]
        lacks[aside] = False
    missing = np.flatnonzero(lacks)
    if missing.size:
        raise ValueError(
            f"positions has none for the feature {finder.names[missing[0]]!r}"
            f"{f' and {missing.size - 1} others' if missing.size > 1 else ''}, but min_distance "
            "needs one for every feature"
        )
    return array


def _rows_of_positions(given: Any, finder: FeatureFinder) -> NDArray[np.float64]:
    array = _real_numbers(given)
    if array is None:
        raise ValueError("positions must be real numbers, one row of coordinates per feature")
    if array.shape[: len(finder.shape)] == finder.shape and array.ndim == len(finder.shape) + 1:
        array = array.reshape(finder.size, -1)
    if array.shape == (finder.size,):
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] != finder.size or array.shape[1] == 0:
        raise ValueError(
            f"positions has shape {array.shape}, but must have one row of coordinates for each of "
            f"the {finder.size} features"
        )
    if np.isinf(array).any():
        feature = int(np.flatnonzero(np.isinf(array).any(axis=1))[0])
        raise ValueError(
            f"positions has infinity for the feature {finder.names[feature]!r}; give finite "
            "coordinates"
        )
    return array


def _positions_by_feature(given: Mapping[Any, Any], finder: FeatureFinder) -> NDArray[np.float64]:
    rows: dict[int, list[float]] = {}
    for feature, place in finder.pairs(given, "positions"):
        name, row = finder.names[feature], _real_numbers(place)
        row = None if row is None else np.atleast_1d(row)
        if row is None or row.ndim != 1 or row.size == 0 or not np.isfinite(row).all():
            raise ValueError(
                f"positions has {place!r} for the feature {name!r}; give a list of finite "
                "coordinates"
            )
        if rows and len(row) != len(first := next(iter(rows.values()))):
            raise ValueError(
                f"positions has {len(row)} coordinates for the feature {name!r}, but {len(first)} "
                "for another one; give each equally many"
            )
        rows[feature] = row.tolist()
    array = np.full((finder.size, len(next(iter(rows.values()), [0.0]))), math.nan)
    for feature, place in rows.items():
        array[feature] = place
    return array


def _real_numbers(given: Any) -> NDArray[np.float64] | None:
    """Return numbers as a new array of floats; None if these are no real numbers."""
    try:
        array = np.asarray(to_numpy(given))
        if array.dtype.kind == "O" and all(isinstance(one, Real) for one in array.ravel()):
            array = array.astype(float)
    except (TypeError, ValueError):
        return None
    return array.astype(float) if array.dtype.kind in "biuf" else None


def _number(given: Any, name: str) -> float | None:
    if given is None:
        return None
    is_number = isinstance(given, Real) and not isinstance(given, bool)
    if not is_number or not 0 <= float(given) < math.inf:
        raise ValueError(f"{name} must be a finite number, zero or more, got {given!r}")
    return float(given)
