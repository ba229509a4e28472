"""Constraints on selections, against lists of all sets of features."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tensift import ColumnSubsetSelector, Constraints, GeometrySelector
from tensift.rivals import (
    CURSelector,
    FacilityLocationSelector,
    FarthestPointSelector,
    PivotedCholeskySelector,
    QRSensorSelector,
    VarianceSelector,
)
from tensift.selection._agreement import standard_error
from tensift.selection._geometry import Geometry


class Problem:
    """Constraints on few features, and all sets that meet them."""

    def __init__(
        self,
        size,
        include=(),
        exclude=(),
        costs=None,
        budget=None,
        min_distance=0,
        positions=None,
        groups=None,
        at_least=None,
        at_most=None,
        together=(),
    ):
        self.size, self.include, self.exclude = size, list(dict.fromkeys(include)), set(exclude)
        self.costs = np.ones(size) if costs is None else np.asarray(costs, float)
        self.budget = budget
        self.min_distance = min_distance
        self.positions = np.arange(size)[:, None] if positions is None else np.asarray(positions)
        self.groups = [None] * size if groups is None else list(groups)
        self.at_least, self.at_most = at_least or {}, at_most or {}
        units = [{j} for j in range(size)]
        for one in together:
            touched = [u for u in units if u & set(one)]
            units = [u for u in units if not u & set(one)] + [set().union(*touched)]
        self.units = sorted((sorted(u) for u in units), key=min)

    def unit(self, feature):
        return next(u for u in self.units if feature in u)

    def in_group(self, features, label):
        return sum(self.groups[j] == label for j in features)

    def is_feasible(self, features):
        """All constraints but that on the count."""
        s = set(features)
        near = any(
            np.linalg.norm(np.subtract(self.positions[i], self.positions[j])) < self.min_distance
            for i, j in itertools.combinations(s, 2)
        )
        return (
            bool(s)
            and s >= set(self.include)
            and not s & self.exclude
            and all(set(u) <= s or not set(u) & s for u in self.units)
            and (self.budget is None or sum(self.costs[j] for j in s) <= self.budget + 1e-9)
            and all(self.in_group(s, g) >= n for g, n in self.at_least.items())
            and all(self.in_group(s, g) <= n for g, n in self.at_most.items())
            and not near
        )

    def feasible_sets(self, count, *, at_most=False):
        sizes = range(1, count + 1) if at_most or self.budget is not None else [count]
        return [
            frozenset(s)
            for k in sizes
            for s in itertools.combinations(range(self.size), k)
            if self.is_feasible(s)
        ]

    def choose(self, count, merit_of, objective_of, tiers=None):
        """The order of the definition; None if no set is feasible.

        `merit_of(picks)` has the merit of every feature after some picks, `objective_of(picks)`
        what they are worth; a merit is an objective, or a gain if `objective_of` is None.
        """
        sets = self.feasible_sets(count)
        if not sets:
            return None
        tiers = np.zeros(self.size) if tiers is None else np.asarray(tiers)
        best = self._run(sets, count, merit_of, objective_of, tiers, power=0)
        for power in (0.25, 0.5, 0.75, 1) if self.budget is not None else ():
            other = self._run(sets, count, merit_of, objective_of, tiers, power=power)
            if other[1] > best[1] + 1e-9 * abs(best[1]):
                best = other
        return best[0]

    def _run(self, sets, count, merit_of, objective_of, tiers, *, power):
        picks = list(self.include)
        whole = set().union(*(self.unit(j) for j in picks)) if picks else set()
        picks += sorted(whole - set(picks))
        total = 0.0
        for place, j in enumerate(picks):
            total += 0 if objective_of else merit_of(picks[:place])[j]
        while True:
            short = [g for g, n in self.at_least.items() if self.in_group(picks, g) < n]
            candidates = [
                unit
                for unit in self.units
                if not set(unit) & set(picks)
                and (not short or any(self.groups[j] in short for j in unit))
                and any(set(picks) | set(unit) <= s for s in sets)
            ]
            if not candidates:
                return picks, objective_of(picks) if objective_of else total
            merits = np.asarray(merit_of(picks), float)
            now = objective_of(picks) if objective_of else 0.0
            first = min(tiers[unit].min() for unit in candidates)
            candidates = [unit for unit in candidates if tiers[unit].min() == first]
            values = [self._value(unit, merits, now, power) for unit in candidates]
            best = max(values)
            near = [
                u for u, v in zip(candidates, values, strict=True) if v >= best - 1e-9 * abs(best)
            ]
            unit = min(near, key=min)
            for j in sorted(unit, key=lambda j: (tiers[j], -merits[j], j)):
                total += 0 if objective_of else merit_of(picks)[j]
                picks.append(j)

    def _value(self, unit, merits, now, power):
        value = np.mean(merits[unit])
        if power == 0:
            return value
        positive = [np.mean(self.costs[u]) for u in self.units if np.mean(self.costs[u]) > 0]
        least = 1e-6 * min(positive) if positive else 1.0
        cost = (np.mean(self.costs[unit]) or least) ** power
        gain = value - now
        return gain / cost if gain > 0 else gain * cost


SIZE = 7


def samples(n=40, shape=(SIZE,), seed=0):
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    groups = 2 * rng.normal(size=(4, size))[rng.integers(0, 4, n)]
    X = groups + rng.normal(size=(n, 2)) @ rng.normal(size=(2, size)) + rng.normal(size=(n, size))
    return (X * rng.uniform(0.5, 2, size)).reshape(n, *shape)


X = samples()
CENTRED = X - X.mean(axis=0)
GEOMETRY = Geometry(X, None)


# What features are worth, by the formulas


def alignment(picks):
    deviation = np.sqrt(np.mean(CENTRED**2, axis=0))
    K = [np.outer(c, c) / d for c, d in zip(CENTRED.T, deviation, strict=True)]
    T = GEOMETRY.target @ GEOMETRY.target.T
    agreement = GEOMETRY.agreement
    weights = np.maximum(agreement, 0.02 * agreement.max()) ** 2
    kappa = np.mean([np.sum(k**2) for k in K])
    above = sum((weights[j] * np.sum(K[j] * T) for j in picks), 0.0)
    return above / np.sqrt(np.sum(sum((K[j] for j in picks), np.zeros_like(T)) ** 2) + kappa)


def explained(picks):
    ridge = 1e-2 * np.mean(np.sum(CENTRED**2, axis=0))
    known = CENTRED[:, list(picks)]
    cross = known.T @ CENTRED
    solved = np.linalg.solve(known.T @ known + ridge * np.eye(len(picks)), cross)
    return np.trace(cross.T @ solved) / np.sum(CENTRED**2)


def unexplained(picks):
    known = CENTRED[:, list(picks)]
    left = CENTRED - known @ np.linalg.lstsq(known, CENTRED, rcond=None)[0]
    return np.sum(left**2, axis=0) / np.sum(CENTRED**2)


def leverage(picks):
    known = CENTRED[:, list(picks)]
    left = CENTRED - known @ np.linalg.lstsq(known, CENTRED, rcond=None)[0]
    return np.linalg.svd(left)[2][0] ** 2


def distance(picks):
    squares = np.sum(CENTRED**2, axis=0)
    own = [np.sum((CENTRED - CENTRED[:, [j]]) ** 2, axis=0) for j in picks]
    return (np.min(own, axis=0) if own else squares) / squares.sum()


def served(picks):
    similar = np.corrcoef(X.T) ** 2
    before = similar[list(picks)].max(axis=0, initial=0)
    return np.maximum(similar - before, 0).sum(axis=1) / SIZE


def after(objective):
    """Merits that are objectives after adding a feature."""
    return lambda picks: [objective([*picks, j]) for j in range(SIZE)]


def gain(objective):
    def merits(picks):
        before = objective(picks)
        return [objective([*picks, j]) - before for j in range(SIZE)]

    return merits


METHODS = {
    "geometry": (GeometrySelector, after(alignment), alignment),
    "reconstruct": (ColumnSubsetSelector, gain(explained), None),
    "top": (VarianceSelector, lambda _: np.var(X, axis=0), None),
    "pivots": (PivotedCholeskySelector, unexplained, None),
    "QR": (lambda k, **o: QRSensorSelector(k, basis="identity", **o), unexplained, None),
    "CUR": (CURSelector, leverage, None),
    "farthest": (FarthestPointSelector, distance, None),
    "facility": (FacilityLocationSelector, served, None),
}
TIERS = {"geometry": GEOMETRY.agreement <= standard_error(len(X))}


@st.composite
def constraints(draw, size=SIZE):
    """Random constraints, of which some cannot be met."""
    given = {}
    features = st.lists(st.integers(0, size - 1), max_size=2, unique=True)
    if draw(st.booleans()):
        given["include"] = draw(features)
    if draw(st.booleans()):
        given["exclude"] = draw(features)
    if draw(st.booleans()):
        given["min_distance"] = draw(st.sampled_from([1.0, 1.5, 2.0, 2.5]))
        grid = st.tuples(st.integers(0, 3), st.integers(0, 3))
        given["positions"] = draw(st.lists(grid, min_size=size, max_size=size))
    if draw(st.booleans()):
        labels = st.sampled_from(["a", "b", None])
        groups = given["groups"] = draw(st.lists(labels, min_size=size, max_size=size))
        present = sorted({g for g in groups if g})
        least = draw(st.lists(st.integers(0, 2), min_size=2, max_size=2))
        most = draw(st.lists(st.integers(0, 3), min_size=2, max_size=2))
        if draw(st.booleans()):
            given["at_least"] = dict(zip(present, least, strict=False))
        if draw(st.booleans()) or "at_least" not in given:
            given["at_most"] = dict(zip(present, most, strict=False))
    if draw(st.booleans()):
        given["together"] = draw(
            st.lists(st.lists(st.integers(0, size - 1), min_size=2, max_size=3), max_size=2)
        )
    if draw(st.booleans()):
        costs = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
        given["costs"] = draw(st.lists(costs, min_size=size, max_size=size))
        given["budget"] = draw(st.sampled_from([0.0, 1.0, 2.5, 4.0, 6.0]))
    return given


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=60, deadline=None)
@given(given=constraints(), count=st.integers(1, 5))
def test_picks_are_those_of_the_definition(name, given, count):
    make, merits, objective = METHODS[name]
    problem = Problem(SIZE, **given)
    expected = problem.choose(count, merits, objective, TIERS.get(name))
    selector = make(count, constraints=Constraints(**given))
    if expected is None:
        with pytest.raises(ValueError, match="constraints cannot be met: "):
            selector.fit(X)
        return
    selector.fit(X)
    assert_array_equal(selector.order_[: selector.n_features_], expected)
    assert_array_equal(selector.get_support(indices=True), np.sort(expected))
    assert_array_equal(np.sort(selector.order_), np.arange(SIZE))
    assert frozenset(expected) in problem.feasible_sets(count)


KINDS = ("include", "exclude", "budget", "min_distance", "at_least", "at_most", "together")


def collide(given, kinds, count):
    """Whether some constraints, without the others, leave no set."""
    some = {name: one for name, one in given.items() if name not in KINDS or name in kinds}
    return not Problem(SIZE, **some).feasible_sets(count, at_most="budget" in given)


@settings(max_examples=300, deadline=None)
@given(given=constraints(), count=st.integers(1, SIZE))
def test_errors_name_a_smallest_set_of_constraints_that_collide(given, count):
    try:
        VarianceSelector(count, constraints=Constraints(**given)).fit(X)
    except ValueError as error:
        names = re.match(r"constraints cannot be met: (.*?) leaves? no set of", str(error))[1]
    else:
        return
    named = re.split(", | and ", names)
    present = [kind for kind in KINDS if kind in given]
    assert set(named) <= set(present)
    assert collide(given, named, count)
    for size in range(1, len(named)):
        assert not any(collide(given, s, count) for s in itertools.combinations(present, size))
