"""How constraints are given and refused, and that they hold wherever selectors are used."""

import copy
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tensift import (
    ColumnSubsetSelector,
    Constraints,
    GeometrySelector,
    SelectFromDecomposition,
    STPCASelector,
    collect_moments,
)
from tensift.rivals import AllFeatures, RandomSelector, VarianceSelector, list_selectors
from tensift.selection import _completions, suggest_count, suggest_count_by_reconstruction

SHAPE = (4, 5)


def samples(n=60, shape=SHAPE, seed=0):
    rng = np.random.default_rng(seed)
    groups = 2 * rng.normal(size=(5, *shape))[rng.integers(0, 5, n)]
    return groups + rng.normal(size=(n, *shape)) * rng.uniform(0.5, 2, size=shape)


X = samples()
PIXELS = np.arange(20).reshape(SHAPE)


def kept(selector, data=X):
    return selector.fit(data).get_support(indices=True)


# How features are given


@pytest.mark.parametrize(
    "given",
    [
        [7, 13],
        [-13, -7],
        np.array([7, 13]),
        (PIXELS == 7) | (PIXELS == 13),
        np.isin(np.arange(20), [7, 13]),
        np.isin(np.arange(20), [7, 13]).tolist(),
        [(1, 2), (2, 3)],
        ((1, 2), (-2, -2)),
        np.array([[1, 2], [2, 3]]),
        ["x1_2", "x2_3"],
        np.array(["x1_2", "x2_3"]),
        [7, "x2_3"],
        [(1, 2), PIXELS == 13, 7],
        {13, 7},
        pd.Index([7, 13]),
        range(7, 14, 6),
    ],
    ids=str,
)
def test_features_are_given_in_many_ways(given):
    selector = VarianceSelector(5, constraints=Constraints(include=given)).fit(X)
    assert_array_equal(selector.order_[:2], [7, 13])
    others = VarianceSelector(5, constraints=Constraints(exclude=given)).fit(X)
    assert not np.isin([7, 13], others.get_support(indices=True)).any()
    assert set(others.order_[-2:].tolist()) == {7, 13}
    unit = VarianceSelector(1, constraints=Constraints(together=[given])).fit(X)
    assert unit.constraints.resolve(SHAPE).unit_size.max() == 2


def test_one_feature_needs_no_list():
    for given in (7, (1, 2), "x1_2", np.int64(7)):
        assert VarianceSelector(1, constraints=Constraints(include=given)).fit(X).order_[0] == 7


def test_names_come_from_the_user_or_the_data():
    rows = X.reshape(60, -1)
    frame = pd.DataFrame(rows, columns=[f"pixel {j}" for j in range(20)])
    by_frame = VarianceSelector(3, constraints=Constraints(include=["pixel 7"])).fit(frame)
    assert by_frame.order_[0] == 7
    assert "pixel 7" in by_frame.get_feature_names_out()
    own = [f"sensor {j}" for j in range(20)]
    given = Constraints(include=["sensor 7"], names=own)
    assert VarianceSelector(3, constraints=given).fit(X).order_[0] == 7
    assert VarianceSelector(3, constraints=Constraints(include="x7")).fit(rows).order_[0] == 7
    shaped = VarianceSelector(3, feature_shape=SHAPE, constraints=Constraints(include=["x7"]))
    assert shaped.fit(rows).order_[0] == 7
    along = VarianceSelector(2, feature_mode=1, constraints=Constraints(include=["x3"])).fit(X)
    assert along.order_[0] == 3


def test_groups_costs_and_positions_are_given_in_many_ways():
    labels = np.where(PIXELS % 5 < 2, "left", "right")
    nested = [[("row", i) for _ in range(5)] for i in range(4)]
    few = [None if j % 2 else float("nan") if j % 3 else "third" for j in range(20)]
    for groups, most, count in [
        (labels, {"left": 1}, 8),
        (labels.ravel().tolist(), {"left": 1}, 8),
        ({"left": labels == "left"}, 1, 8),
        (nested, {("row", 0): 0, ("row", 1): 1}, 6),
        (few, 1, 8),
    ]:
        found = kept(VarianceSelector(count, constraints=Constraints(groups=groups, at_most=most)))
        assert len(found) == count
        if most == {"left": 1} or isinstance(groups, dict):
            assert np.sum(labels.ravel()[found] == "left") <= 1
    costs = np.ones(SHAPE)
    costs[1, 2] = 9
    for given in (costs, costs.ravel().tolist(), {7: 9}, {(1, 2): 9}, {"x1_2": 9}):
        assert 7 not in kept(VarianceSelector(20, constraints=Constraints(costs=given, budget=8)))
    positions = np.stack(np.indices(SHAPE), axis=-1)
    for given in (None, positions, positions.reshape(-1, 2)):
        apart = Constraints(min_distance=2, positions=given)
        found = positions.reshape(-1, 2)[kept(VarianceSelector(6, constraints=apart))]
        gaps = np.linalg.norm(found[:, None] - found[None], axis=2) + 9 * np.eye(6)
        assert gaps.min() >= 2
    line = Constraints(min_distance=3, positions=np.arange(20))
    assert np.diff(kept(VarianceSelector(6, constraints=line))).min() >= 3


# What is refused


C = Constraints  # short, for tables

COLLISIONS = [
    (C(include=[3], exclude=[3]), 5, r"include and exclude leave no set of 5 features; "
     r"feature 3 \('x0_3'\) is included and excluded"),
    (C(include=[3], exclude=[4], together=[[3, 4]]), 5, r"feature 3 .* is included and feature 4"
     r" .* is excluded, but they are kept or dropped as one"),
    (C(include=[3, 4], min_distance=2), 5, r"include and min_distance leave.*feature 3 \('x0_3'"
     r"\) and feature 4 \('x0_4'\) are included, but 1 apart, nearer than min_distance=2"),
    (C(include=[3, 4], budget=1.5), 5, r"include and budget leave no set of at most 5.*"
     r"cost 2, more than the budget of 1.5"),
    (C(include=[1, 2, 3]), 2, r"include leaves no set of 2 features; 3 features are included"),
    (C(groups={"left": [0, 1, 2]}, at_least=4), 6, r"at_least leaves no set of 6 features; group"
     r" 'left' needs at least 4 features, but has 3"),
    (C(groups={"left": [0, 1, 2]}, at_least=2, at_most=1), 6, "needs at least 2 features, but "
     "allows at most 1"),
    (C(groups=PIXELS // 5, at_least=2), 6, r"at_least leaves no set of 6 features; groups need "
     r"at least 8 features together, but n_features_to_select allows 6"),
    (C(groups={"left": [0, 1]}, at_most=1, include=[0, 1]), 5, r"include and at_most leave"
     r" no set of 5 features; group 'left' allows at most 1, but 2 of its features are included"),
    (C(groups={"left": [0, 1]}, at_least=1, exclude=[0, 1]), 5, "exclude and at_least leave"
     ".*at least 1 feature, but 0 of its 2 are not excluded"),
    (C(exclude=range(18)), 5, r"exclude leaves no set of 5 features; 2 of 20 features are not"),
    (C(min_distance=9), 5, r"min_distance leaves no set of 5 features; at most 1 feature"),
    (C(min_distance=2, exclude=range(10)), 6, r"exclude and min_distance leave no set of 6"
     r" features; at most 3 features can be selected with them"),
    (C(groups=PIXELS // 5, at_most=1), 5, r"at_most leaves no set of 5 features"),
    (C(together=[[2 * j, 2 * j + 1] for j in range(10)]), 5, r"together leaves no set of 5 feat"),
    (C(budget=0.5), 5, r"budget leaves no set of at most 5 features"),
    (C(groups=PIXELS // 5, at_least=1, costs=PIXELS // 5, budget=5), 9, r"budget and "
     "at_least leave no set of at most 9 features"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "count", "message"), COLLISIONS)
def test_constraints_that_collide_are_named(given, count, message):
    for selector in (VarianceSelector, GeometrySelector, ColumnSubsetSelector):
        with pytest.raises(ValueError, match="constraints cannot be met: .*" + message):
            selector(count, constraints=given).fit(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (C(include=[20]), "include has the feature 20, but there are 20 features"),
        (C(exclude=[-21]), "exclude has the feature -21"),
        (C(include=[(1, 2, 3)]), "coordinates .*has 2 whole numbers"),
        (C(include=[(1, 7)]), "outside the shape"),
        (C(include=["x1_22"]), "no feature has; did you mean.*'x1_2'"),
        (C(include=["alpha"]), "no feature has; names are, for instance, 'x0_0'"),
        (C(include=[0.5]), "0.5, which is no feature"),
        (C(include=[True, 3]), "True, which is no feature"),
        (C(include=np.ones(3, bool)), r"mask of shape \(3,\).*\(4, 5\) or \(20,\)"),
        (C(include=np.ones((2, 2))), "array of float64"),
        (C(include=iter([1])), "a list of indices"),
        (C(include={1: 2}), "must be features"),
        (C(include=None, together=[1, 2]), "list of lists"),
        (C(together="x1"), "list of lists"),
        (C(include=["a"], names=["a"] * 20), "20 features have"),
        (C(include=["a"], names=["a", "b"]), "names has 2 names"),
        (C(costs=[1, 2], budget=3), r"costs has shape \(2,\)"),
        (C(costs=-np.ones(20), budget=3), "costs has -1.0 for the feature 'x0_0'; a cost must be"),
        (C(costs={3: -1}, budget=3), "costs has -1 for the feature 'x0_3'; a cost must be"),
        (C(costs=["a"] * 20, budget=3), "costs must be numbers"),
        (C(budget=-1), "budget must be a finite number, zero or more, got -1"),
        (C(budget="3"), "budget must be a finite"),
        (C(min_distance=np.nan), "min_distance must be a finite"),
        (C(min_distance=1, positions=[1, 2]), r"positions has shape \(2,\)"),
        (
            C(min_distance=1, positions=np.full(20, np.inf)),
            "positions has infinity for the feature 'x0_0'",
        ),
        (C(min_distance=1, positions=["a"] * 20), "positions must be real numbers"),
        (C(at_least=1), "at_least counts features of groups; give groups too"),
        (C(groups=[1, 2], at_most=1), r"groups has shape \(2,\)"),
        (C(groups=["left"] * 20, at_least={"lift": 1}), "group 'lift'.*did you mean left"),
        (C(groups=["left"] * 20, at_most={"z": 1}), "group 'z'.*groups are"),
        (C(groups=["left"] * 20, at_most=-1), "at_most must be a whole number"),
        (C(groups=["left"] * 20, at_least={"left": 0.5}), "at_least must be a whole number"),
        (C(groups=[{}] * 20, at_least=1), "not hashable"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",  # an iterator has an address
)
def test_bad_arguments_are_refused_by_name(given, message):
    with pytest.raises(ValueError, match=message):
        VarianceSelector(5, constraints=given).fit(X)


def test_coordinates_need_several_axes():
    with pytest.raises(ValueError, match="one axis here"):
        VarianceSelector(2, constraints=Constraints(include=[(1, 2)])).fit(X.reshape(60, -1))
    with pytest.raises(ValueError, match="constraints"):
        VarianceSelector(2, constraints={"include": [1]}).fit(X)


# After a fit


def test_counts_that_were_not_fitted():
    groups = {"left": PIXELS % 5 == 0, "right": PIXELS % 5 == 4}
    constraints = Constraints(groups=groups, at_least=2, together=[[1, 2], [6, 7]])
    selector = GeometrySelector(9, constraints=constraints).fit(X)
    limits = constraints.resolve(SHAPE)
    for count in range(1, 9):
        selector.set_params(n_features_to_select=count)
        if limits.is_feasible(selector.order_[:count], count, exact=True):
            assert selector.transform(X).shape == (60, count)
        else:
            with pytest.raises(ValueError, match="do not meet them; fit again"):
                selector.get_support()
    with pytest.raises(ValueError, match="n_features_to_select=10 was set after a fit of 9"):
        selector.set_params(n_features_to_select=10).transform(X)
    budget = VarianceSelector(9, constraints=Constraints(budget=4)).fit(X)
    assert budget.n_features_ == 4
    assert budget.set_params(n_features_to_select=6).get_support().sum() == 4
    assert budget.set_params(n_features_to_select=3).get_support().sum() == 3


def test_forbidden_features_are_last():
    constraints = Constraints(exclude=[0, 1], groups=PIXELS // 5, at_most=1)
    order = VarianceSelector(3, constraints=constraints).fit(X).order_
    rows = order // 5
    free = np.setdiff1d(np.arange(4), rows[:3])
    others = order[3:]
    allowed = np.isin(others // 5, free) & ~np.isin(others, [0, 1])
    assert_array_equal(allowed, np.sort(allowed)[::-1])
    assert np.all(np.diff(X.var(axis=0).ravel()[others[allowed]]) <= 0)


def test_objects_are_copied_compared_and_printed():
    given = Constraints(include=[(1, 2)], costs=np.arange(20), groups=["a", float("nan")] * 10)
    for twin in (copy.deepcopy(given), pickle.loads(pickle.dumps(given)), given.without()):
        assert twin == given
    assert given != Constraints(include=[(1, 2)])
    assert given != Constraints(include=[(1, 3)], costs=np.arange(20), groups=given.groups)
    assert given != "constraints"
    assert repr(Constraints(exclude=[1, 2], budget=3)) == "Constraints(exclude=[1, 2], budget=3)"
    assert "costs=<array of shape (20,)>" in repr(given)
    assert "[0, 1, 2, ... 20 in all]" in repr(Constraints(include=list(range(20))))
    selector = GeometrySelector(5, constraints=given)
    assert clone(selector).constraints == given
    fitted = GeometrySelector(5, constraints=Constraints(include=[3])).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.get_support(), fitted.get_support())
    assert "include=[3]" in repr(fitted)


def test_searches_that_would_take_too_long_end(monkeypatch):
    """Features of the smallest variance lie so that the plain order runs into a dead end."""
    grid = samples(shape=(9, 9))
    tight = Constraints(min_distance=2.2)
    free = kept(VarianceSelector(16, constraints=tight), grid)
    monkeypatch.setattr(_completions, "_LARGEST_PACKING", 0)
    monkeypatch.setattr(_completions, "_TOTAL_EFFORT", -1)
    with pytest.warns(UserWarning, match="constraints are so tight"):
        found = kept(VarianceSelector(16, constraints=tight), grid)
    limits = tight.resolve((9, 9))
    for one in (free, found):
        assert limits.is_feasible(one, 16, exact=True)
    variance = grid.var(axis=0).ravel()
    assert variance[found].sum() <= variance[free].sum()
    with pytest.raises(ValueError, match="constraints are too tight: no set of 18 features"):
        VarianceSelector(18, constraints=tight).fit(grid)


def test_nothing_asked_for_changes_nothing():
    for make in (GeometrySelector, ColumnSubsetSelector, VarianceSelector):
        free = make(6).fit(X)
        for nothing in (Constraints(), Constraints(costs=np.ones(20)), Constraints(include=[])):
            other = make(6, constraints=nothing).fit(X)
            assert_array_equal(other.order_[:6], free.order_[:6])


# Wherever selectors are used


GIVEN = {
    "include": [8],
    "exclude": [9, 17],
    "min_distance": 1.2,
    "groups": PIXELS // 10,
    "at_most": 4,
}


@pytest.mark.parametrize("info", list_selectors(), ids=lambda info: info.name)
def test_every_selector_takes_constraints(info):
    given = dict(GIVEN)
    if info.name == "AllFeatures":
        found = AllFeatures(constraints=Constraints(include=[8], exclude=[9, 17])).fit(X)
        assert_array_equal(found.get_support(indices=True), np.setdiff1d(np.arange(20), [9, 17]))
        assert found.order_[0] == 8
        with pytest.raises(ValueError, match=r"AllFeatures keeps all.*cannot have min_distance"):
            AllFeatures(constraints=Constraints(**given)).fit(X)
        return
    settings = {"n_clusters": 3, "random_state": 0, "max_iter": 3, "swaps": 5}
    own = {name: value for name, value in settings.items() if name in info.parameters}
    rules = ["geometry", "reconstruct", "top"] if "selection" in info.parameters else [None]
    for rule in rules:
        own |= {} if rule is None else {"selection": rule}
        selector = info.selector(6, constraints=Constraints(**given), **own)
        found = kept(selector, X - X.min())  # some are meant for non-negative data
        assert Constraints(**given).resolve(SHAPE).is_feasible(found, 6, exact=True)
        assert selector.order_[0] == 8 or "swaps" in own
        assert_array_equal(np.sort(selector.order_), np.arange(20))


@pytest.mark.parametrize("rule", ["geometry", "reconstruct", "top"])
def test_devices_pick_what_numpy_picks(library, rule):
    constraints = Constraints(**GIVEN)
    for mode, given in ((None, constraints), (1, Constraints(include=[2], min_distance=2))):
        count = 6 if mode is None else 3
        selector = STPCASelector(count, selection=rule, feature_mode=mode, constraints=given)
        expected = kept(selector.set_params(lam=0.1, eta=0.1))
        found = clone(selector).fit(library.asarray(X))
        assert type(found.order_) is type(library.asarray(X))
        assert_array_equal(library.numpy(found.get_support(indices=True)), expected)
    by_geometry = GeometrySelector(constraints=constraints).fit(library.asarray(X))
    assert_array_equal(
        library.numpy(by_geometry.get_support(indices=True)),
        kept(GeometrySelector(constraints=constraints)),
    )


def test_sources_of_all_kinds_give_the_same():
    many = samples(300)
    constraints = Constraints(
        include=["x1_3"], **{k: v for k, v in GIVEN.items() if k != "include"}
    )
    for selector in (
        GeometrySelector(6, constraints=constraints),
        STPCASelector(6, constraints=constraints),
    ):
        expected = kept(selector, many)
        for source in (
            iter(np.array_split(many, 4)),
            da.from_array(many, chunks=(70, 4, 5)),
            collect_moments(many),
        ):
            assert_array_equal(kept(clone(selector), source), expected)
    shuffled = np.random.default_rng(1).permutation(300)
    by_geometry = GeometrySelector(6, constraints=constraints)
    assert_array_equal(kept(by_geometry, many[shuffled]), kept(by_geometry, many))


def test_more_features_than_samples_and_modes():
    wide = samples(12, (10, 9))
    apart = Constraints(min_distance=2, exclude=[(0, 0)])
    for make in (GeometrySelector, ColumnSubsetSelector):
        found = kept(make(15, constraints=apart), wide)
        assert apart.resolve((10, 9)).is_feasible(found, 15, exact=True)
    along = Constraints(include=[-1], min_distance=2, groups=["a", "b"] * 5, at_most={"a": 1})
    found = kept(GeometrySelector(4, feature_mode=0, constraints=along), wide)
    assert 9 in found
    assert along.resolve((10,)).is_feasible(found, 4, exact=True)


def test_grid_search_over_constraints():
    y = np.random.default_rng(0).integers(0, 5, 60)
    grid = {
        "geometryselector__constraints": [None, Constraints(include=[3]), Constraints(budget=2)]
    }
    pipe = make_pipeline(GeometrySelector(4), KNeighborsClassifier(3))
    search = GridSearchCV(pipe, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["mean_test_score"]) == 3
    assert (
        SelectFromDecomposition(n_features_to_select=4, constraints=Constraints(include=[3]))
        .fit(X)
        .get_support()[3]
    )


# How many


@pytest.mark.parametrize("suggest", [suggest_count, suggest_count_by_reconstruction])
@pytest.mark.parametrize("n", [60, 12])
def test_automatic_counts_respect_constraints(suggest, n):
    data = X[:n]
    free = suggest(data).count
    assert suggest(data, constraints=Constraints()).count == free
    rows = PIXELS // 5
    forced = Constraints(groups=rows, at_least=5)
    found = suggest(data, constraints=forced)
    assert found.count == 20
    assert ("no smaller number" in found.reason) == (free < 20)
    few = suggest(data, constraints=Constraints(groups=rows, at_most=1))
    assert few.count <= 4
    units = Constraints(together=PIXELS.tolist())
    assert suggest(data, constraints=units).count % 5 == 0
    included = suggest(data, constraints=Constraints(include=range(18)))
    assert included.count >= 18
    noise = np.random.default_rng(0).normal(size=(200, 20))
    assert suggest(noise, constraints=Constraints(include=range(7))).count >= 7


def test_automatic_count_goes_as_far_as_the_budget():
    free = GeometrySelector().fit(X)
    assert free.n_features_ > 3
    selector = GeometrySelector(constraints=Constraints(budget=3)).fit(X)
    curve = selector.suggested_count_.curve
    assert len(curve) == 3
    assert selector.n_features_ == np.argmax(curve >= 0.94 * curve.max()) + 1
    assert "constraints allow 3 features at most" in selector.suggested_count_.reason
    rival = RandomSelector("auto", constraints=Constraints(include=[3], budget=3)).fit(X)
    assert rival.n_features_ <= 3
    assert rival.get_support()[3]


def test_samples_that_do_not_vary_in_some_features():
    flat = X.copy()
    flat[:, 1] = 3
    constraints = Constraints(include=[7], groups=PIXELS // 5, at_least=1)
    for make in (GeometrySelector, ColumnSubsetSelector, VarianceSelector):
        selector = make(6, constraints=constraints).fit(flat)
        assert selector.order_[0] == 7
        assert np.bincount(selector.get_support(indices=True) // 5, minlength=4).min() >= 1
