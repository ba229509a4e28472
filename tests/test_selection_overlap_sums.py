"""Overlaps that are counted late: the same sums, bounds and picks as counting at every pick."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import Constraints, GeometrySelector, STPCASelector
from tensift.selection import _feature_blocks, _overlap_sums, _overlaps, suggest_count
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._greedy import BoundedChoice, pick_greedily
from tensift.selection._overlap_sums import OverlapSums
from tensift.selection._overlaps import FibreOverlaps


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("most_behind", [1, 3, 100])
def test_sums_are_those_of_all_picks_and_never_too_large(depth, most_behind, monkeypatch):
    monkeypatch.setattr(_overlap_sums, "_MOST_BEHIND", most_behind)
    monkeypatch.setattr(_overlap_sums, "_MANY", 3)
    monkeypatch.setattr(_feature_blocks, "_VALUES", 40)
    rng = np.random.default_rng(depth)
    values = rng.normal(size=(6, 11, depth))
    K = [values[:, j] @ values[:, j].T for j in range(11)]
    sums = OverlapSums(FibreOverlaps(values))
    picks = []
    for pick in rng.permutation(11)[:9]:
        picks.append(pick)
        sums.add(pick)
        expected = np.array([sum(np.sum(K[i] * one) for i in picks) for one in K])
        assert np.all(sums.values <= expected * (1 + 1e-12))
        some = rng.choice(11, rng.integers(1, 4), replace=False)
        sums.count(some, None)
        assert_allclose(sums.values[some], expected[some], rtol=1e-12)
        assert not sums.is_behind[some].any()
        exact = ~sums.is_behind
        assert_allclose(sums.values[exact], expected[exact], rtol=1e-12)
    sums.count_all(None)
    assert_allclose(sums.values, expected, rtol=1e-12)
    assert not sums.is_behind.any()


def faces(n=40, n_features=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, n_features))
    X += rng.uniform(0.1, 2, n_features) * rng.normal(size=(n, n_features))
    X[:, 7] = X[:, 20]  # a tie
    return X


def orders(X, mode=None, count=25, n_jobs=None):
    order = GeometryOrder(Geometry(X, mode, n_jobs))
    first = order.extend(count // 2)
    assert_array_equal(order.extend(count)[: len(first)], first)
    return order.ranking(), order.curve


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mode", [None, 0])
def test_picks_are_those_of_exact_merits(seed, mode, monkeypatch):
    X = faces(seed=seed)
    X = X if mode is None else X.reshape(40, 20, 3)
    monkeypatch.setattr(_overlaps, "_MOST_PRODUCTS", 0)
    monkeypatch.setattr(_overlaps, "_MOST_VALUES", 0)
    expected = orders(X, mode, 18)
    monkeypatch.setattr(_overlaps, "_MUCH", 0)
    monkeypatch.setattr(_overlap_sums, "_MOST_BEHIND", 4)
    order = GeometryOrder(Geometry(X, mode))
    order.extend(3)
    assert isinstance(order._choice, BoundedChoice)
    found = orders(X, mode, 18)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1], rtol=1e-10)


class Watched:
    """A rule with fixed merits and loose bounds, which counts how many merits are computed.

    If at least `most` are wanted, it computes all.
    """

    tie = 0.0

    def __init__(self, merits, looseness, most):
        self._merits, self._bounds, self._most = merits, merits + looseness, most
        self.is_bound = np.ones(len(merits), dtype=bool)
        self.n_computed, self.taken = 0, []

    def bounds(self):
        return np.where(self.is_bound, self._bounds, self._merits)

    def merits_of(self, features):
        self.n_computed += np.count_nonzero(self.is_bound[features])
        self.is_bound[features if len(features) < self._most else ...] = False
        return self._merits[features]

    def take(self, pick):
        self.taken.append(int(pick[0]))


@pytest.mark.parametrize("most", [1, 3, 1000])
def test_bounds_save_merits_and_change_no_pick(most):
    rng = np.random.default_rng(0)
    rule = Watched(rng.normal(size=300), rng.uniform(0, 0.2, size=300), most)
    everything = np.ones(300, dtype=bool)
    pick_greedily(rule, BoundedChoice([everything], [300], 0.0), 20)
    assert_array_equal(rule.taken, np.argsort(-rule._merits)[:20])
    assert most < 1000 or rule.n_computed < 60


@pytest.mark.parametrize("options", [{}, {"constraints": Constraints(min_distance=2)}], ids=str)
@pytest.mark.parametrize("selector", [GeometrySelector, STPCASelector])
def test_results_do_not_depend_on_workers(selector, options, monkeypatch):
    monkeypatch.setattr(_overlaps, "_MUCH", 0)
    monkeypatch.setattr(_overlaps, "_MOST_PRODUCTS", 0)
    monkeypatch.setattr(_feature_blocks, "_VALUES", 500)
    X = faces().reshape(40, 6, 10)
    expected = selector(n_jobs=1, **options).fit(X)
    for n_jobs in (2, 5):
        found = selector(n_jobs=n_jobs, **options).fit(X)
        assert_array_equal(found.scores_, expected.scores_)
        assert_array_equal(found.order_, expected.order_)
        assert_array_equal(found.selection_curve_, expected.selection_curve_)
        assert_array_equal(found.suggested_count_.curve, expected.suggested_count_.curve)


def test_the_suggested_count_does_not_depend_on_workers():
    one, two = (suggest_count(faces(), n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.curve, two.curve)
    assert one.reason == two.reason
