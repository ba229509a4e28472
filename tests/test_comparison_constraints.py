"""Comparisons under constraints: every selector, every half-sample, every stored result."""

import numpy as np
import pytest

from tensift import ColumnSubsetSelector, Constraints, GeometrySelector, compare_selectors
from tensift.rivals import AllFeatures, VarianceSelector
from tensift.selection import TensorSelector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4, 6)) * RNG.uniform(0.3, 2, (4, 6))
COSTS = np.linspace(1, 3, 24)
LIMITS = Constraints(include=[(1, 1)], exclude=range(6), costs=COSTS, budget=14, min_distance=1.5)
FAST = {"n_resamples": 3, "n_seeds": 2}


def test_all_selections_meet_them():
    found = compare_selectors(
        X, ["geometry", "column subset", "qr sensor"], 8, constraints=LIMITS, **FAST
    )
    limits = LIMITS.resolve((4, 6))
    assert not found.failures
    for method, features in found.features.items():
        assert limits.is_feasible(features, 8, exact=False)
        assert found.costs[method] == pytest.approx(COSTS[features].sum())
        shares = found.probabilities[method].ravel()
        assert shares[7] == 1  # half-samples select under the same constraints
        assert (shares[:6] == 0).all()
        assert found.held[method].stops[-1] == len(features)
        assert found.held[method].words[:2] == ("included x1_1", "excluded 6 features")
    alone = GeometrySelector(8, constraints=LIMITS).fit(X)
    np.testing.assert_array_equal(
        found.features["GeometrySelector"], alone.order_[: alone.n_features_]
    )


def test_the_result_and_its_tables_say_so():
    found = compare_selectors(X, "geometry", 8, constraints=LIMITS, **FAST)
    assert found.constraints is LIMITS
    sentence = (
        "Every method selects under these constraints: included x1_1; excluded 6 features; a "
    )
    assert found.notes[-1].startswith(f"{sentence}budget of 14; at least 1.5 apart")
    assert found.notes[-1] in found.to_markdown()
    for row, line in zip(found.to_rows(), found.to_table(), strict=True):
        assert row["cost"] == found.costs[row["method"]] <= 14
        assert line["cost"] == f"{row['cost']:.4g}"
        assert line["features"] == str(row["n_features"])


def test_without_constraints_there_is_no_such_column():
    found = compare_selectors(X, "geometry", 8, **FAST)
    assert found.constraints is None
    assert found.held == found.costs == {}
    assert "cost" not in found.to_rows()[0]


def test_estimators_keep_their_own():
    own = Constraints(include=[3])
    given = {
        "own": VarianceSelector(5, constraints=own),
        "none": VarianceSelector(5),
        "baseline": "VarianceSelector",
    }
    found = compare_selectors(X, given, 8, constraints=LIMITS, **FAST)
    assert found.features["own"][0] == 3
    assert found.features["none"][0] == 7
    np.testing.assert_array_equal(found.features["none"], found.features["baseline"])
    assert found.notes[-1] == "These methods have constraints of their own: own."
    assert given["none"].constraints is None


def test_all_features_respects_what_it_can_and_says_the_rest():
    found = compare_selectors(
        X, [AllFeatures()], 8, constraints=Constraints(exclude=[2, 5]), **FAST
    )
    assert set(range(24)) - set(found.features["AllFeatures"].tolist()) == {2, 5}
    found = compare_selectors(X, ["AllFeatures", "geometry"], 8, constraints=LIMITS, **FAST)
    assert "AllFeatures keeps all features that are not excluded" in found.failures["AllFeatures"]
    assert "GeometrySelector" in found.features


def test_constraints_are_part_of_the_keys_of_a_store(tmp_path):
    store = tmp_path / "cells.jsonl"

    def run(constraints):
        found = compare_selectors(X, "geometry", 6, constraints=constraints, store=store, **FAST)
        return found, store.read_text().count("\n")

    free, lines = run(None)
    first, more = run(Constraints(exclude=[1], groups={"a": [2, 3]}, at_most=1))
    assert more > lines
    again, same = run(Constraints(groups={"a": [2, 3]}, at_most=1, exclude=[1]))
    assert same == more
    other, most = run(Constraints(exclude=[1], groups={"a": [2, 3]}, at_most=2))
    assert most > more
    kept = "GeometrySelector"
    np.testing.assert_array_equal(first.features[kept], again.features[kept])
    assert first.held[kept].words == again.held[kept].words
    assert free.held == {}
    assert other.held[kept].words != first.held[kept].words


def test_mode_features():
    found = compare_selectors(
        X, "geometry", 2, feature_mode=0, constraints=Constraints(include=[3]), **FAST
    )
    assert all(3 in features for features in found.features.values())


class Bare(TensorSelector):
    """A selector without the parameter."""

    def __init__(self, n_features_to_select=1, feature_mode=None, feature_shape=None):
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def fit(self, X, y=None):
        X = self._validate_samples(X, reset=True)
        self._set_scores(X.mean(axis=0), ties=X.std(axis=0))
        return self


def test_mistakes_come_first():
    with pytest.raises(ValueError, match="Bare has no parameter constraints, so it cannot be"):
        compare_selectors(X, [Bare()], 3, constraints=LIMITS)
    with pytest.raises(TypeError, match=r"constraints must be tensift.Constraints; got \{"):
        compare_selectors(X, "geometry", 3, constraints={"include": [1]})
    with pytest.raises(ValueError, match="constraints cannot be met: include and exclude"):
        compare_selectors(X, "geometry", 3, constraints=Constraints(include=[1], exclude=[1]))
    assert Bare(2).fit(X).n_features_ == 2
    assert ColumnSubsetSelector(2).fit(X).constraints is None
