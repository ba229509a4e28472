"""Features without a score: ordered by where they enter as penalties go down."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tensift
from tensift import STPCASelector
from tensift.datasets import load_digits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5, 6)) * RNG.uniform(0.2, 1, (5, 6)) + RNG.normal(size=(30, 1, 6))


def entry_by_brute_force(X, lam, eta, steps):
    """For every feature, the first of many small steps down at which it is non-zero."""
    factors = 10.0 ** -np.linspace(0, 6, steps)
    first = np.full(X.shape[1:], np.inf)
    for step, factor in enumerate(factors):
        scores = STPCASelector(1, solver="exact", lam=lam * factor, eta=eta * factor).fit(X).scores_
        first[(scores > 0) & np.isinf(first)] = step
    return first


def test_fits_order_zero_scores_by_entry_and_constant_features_come_last():
    X = load_digits().data
    selector = STPCASelector(64, selection="top", solver="exact", lam=100, eta=100).fit(X)
    zero = selector.scores_.ravel() == 0
    assert 15 <= zero.sum() < 64
    ranking = selector.order_
    assert not zero[ranking[: 64 - zero.sum()]].any()
    spread = X.std(axis=0).ravel()
    constant = np.flatnonzero(spread == 0)
    assert len(constant) == 3
    assert_array_equal(ranking[-3:], constant)

    first = entry_by_brute_force(X, 100, 100, 37).ravel()
    waiting = ranking[64 - zero.sum() : -3]
    assert np.isfinite(first[waiting]).all()
    apart = [
        (one, other)
        for one, other in itertools.combinations(waiting, 2)
        if abs(first[one] - first[other]) >= 2  # a third of a decade: clearly separated
    ]
    assert len(apart) > 20
    assert all(first[one] < first[other] for one, other in apart)


def test_no_two_features_that_vary_tie_by_accident(monkeypatch):
    """Under penalties that no step undoes, the limit without penalties decides."""
    X = load_digits().data
    selector = STPCASelector(20, selection="top", solver="exact", lam=1e12, eta=1e12).fit(X)
    assert (selector.scores_ == 0).all()
    scaled = (X - X.mean(axis=0)) / np.abs(X).max()
    expected = np.zeros((8, 8))
    for column in range(8):
        S = scaled[:, :, column].T @ scaled[:, :, column]
        operator = S @ np.linalg.inv(S + 1e-3 * np.eye(8))
        expected[:, column] = np.linalg.norm(operator, axis=0)
    order = sorted(range(64), key=lambda flat: (-expected.ravel()[flat], flat))
    assert_array_equal(selector.order_, order)


def test_features_far_below_the_others_enter_too():
    rng = np.random.default_rng(3)
    sizes = np.array([1.0, 1e-15, 3e-15, 0.0, 2e-15, 1e-150])
    X = rng.normal(size=(50, 6, 1)) * sizes[:, None]
    selector = STPCASelector(1, selection="top", solver="exact", lam=1.0, eta=1.0).fit(X)
    assert np.count_nonzero(selector.scores_) == 1
    scaled = (X[:, :, 0] - X[:, :, 0].mean(axis=0)) / np.abs(X).max()
    S = scaled.T @ scaled
    limit = np.linalg.norm(S @ np.linalg.inv(S + 1e-3 * np.eye(6)), axis=0)
    assert_array_equal(selector.order_, np.argsort(-limit))
    assert selector.order_[-1] == 3  # constant


@pytest.mark.parametrize("params", [{"feature_mode": 0}, {"basis": "random"}], ids=str)
def test_entry_is_that_of_the_features_whatever_they_are(params):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6, 4)) * np.geomspace(1, 0.05, 6)[:, None]
    everything = 6 if "feature_mode" in params else 24

    def fit(penalty):
        settings = {"solver": "exact", "lam": penalty, "eta": penalty, "random_state": 0}
        selector = STPCASelector(everything, selection="top", **settings, **params)
        return selector.fit(X)

    selector = fit(100.0)
    keys = [selector.scores_, *(fit(100.0 * 10 ** (-step / 10)).scores_ for step in range(1, 40))]
    flat = np.array([key.ravel() for key in keys])
    entry = np.argmax(flat > 0, axis=0)
    value = flat[entry, np.arange(flat.shape[1])]
    order = sorted(range(len(entry)), key=lambda f: (entry[f], -value[f]))
    assert entry.max() > 0
    assert_array_equal(selector.order_, order)


@pytest.mark.parametrize("jobs", [2, -1])
def test_entry_does_not_depend_on_workers(monkeypatch, jobs):
    monkeypatch.setattr(tensift.moments._slice_blocks, "BLOCK_ELEMENTS", 100)
    X = np.random.default_rng(2).normal(size=(60, 8, 12))
    one, many = (
        STPCASelector(1, selection="top", lam=30, eta=30, n_jobs=n).fit(X) for n in (1, jobs)
    )
    assert (one.scores_ == 0).any()
    assert_array_equal(one.order_, many.order_)


def test_a_fit_without_ties_solves_nothing_twice(monkeypatch):
    solved = []
    original = tensift.solvers._settings.solve_exact

    def watched(problems, **options):
        solved.append(problems.gram.n_slices)
        return original(problems, **options)

    monkeypatch.setattr(tensift.solvers._settings, "solve_exact", watched)
    STPCASelector(1, selection="top", lam=0.01, eta=0.01).fit(X)
    assert solved == [6]
    Y = X.copy()
    Y[:, :, 2] *= 0.01  # one slice of small features
    solved.clear()
    selector = STPCASelector(1, selection="top", lam=1.0, eta=0.01).fit(Y)
    assert_array_equal((selector.scores_ == 0).any(axis=0), np.arange(6) == 2)
    assert solved[0] == 6
    assert len(solved) > 1
    assert set(solved[1:]) == {1}
    solved.clear()
    STPCASelector(1, lam=1.0, eta=0.01).fit(Y)  # other rules do not need an order of zeros
    assert solved == [6]
