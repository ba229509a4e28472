"""RNE against a plain transcription, values of the authors' program, and its own objective."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.datasets import load_digits
from tensift.rivals._rne import RNE, local_weights

ROOT = Path(__file__).resolve().parents[1]
ALL_KEPT = "ignore:n_features_to_select=.* is more than:UserWarning"


@pytest.fixture(scope="module")
def plain():
    path = ROOT / "benchmarks" / "_transcriptions_embedding.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def planted(seed, n=60, d=40, informative=10):
    """Features of unit variance, some of which are the same for neighbours but for a tenth."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    where = rng.permutation(d)[:informative]
    centres = rng.normal(size=(3, informative))
    centres = (centres - centres.mean(axis=0)) / centres.std(axis=0)
    X[:, where] = centres[np.arange(n) % 3] + 0.1 * rng.normal(size=(n, informative))
    return X, where


# The published iteration


@pytest.mark.parametrize(
    ("variant", "first", "last", "best"),
    [
        ("released", 223.44945515, 26.19620267, [26, 16, 17, 5, 10, 4]),
        ("intended", 20.21101703, 15.41716286, [17, 21, 10, 26, 20, 16]),
    ],
)
def test_golden_values(published, variant, first, last, best):
    start = published.row_major(published.matrix(30, 8, 500))
    rne = RNE(8, variant=variant, solver="paper", scale="samples", init=start).fit(published.X)
    assert rne.n_iter_ == 50
    assert_allclose(rne.objective_path_[[0, -1]], [first, last], atol=6e-9)
    assert rne.objective_ == rne.objective_path_[-1]
    i, j = np.unravel_index(rne.order_[:6], (6, 5))
    assert (i + 6 * j).tolist() == best


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(30, 12), (10, 20), (8, 3)])
@pytest.mark.parametrize("variant", ["intended", "released"])
def test_paper_solver_follows_the_transcription(plain, seed, shape, variant):
    rng = np.random.default_rng(seed)
    X, start = rng.normal(size=shape), rng.uniform(0.1, 1, size=(shape[1], 3))
    truth = plain.fit_rne(X, start, alpha=20.0, transposed=variant == "released", max_iter=8)
    rne = RNE(
        3, alpha=20.0, variant=variant, solver="paper", scale=None, init=start, max_iter=8
    ).fit(X)
    assert_allclose(rne.objective_path_, truth.objective_path, rtol=1e-9)
    assert_allclose(rne.embedding_, truth.H, atol=1e-8)
    assert_allclose(rne.scores_, truth.scores, atol=1e-8)


@pytest.mark.parametrize("n_neighbors", [1, 3, 6])
def test_weights_reconstruct_samples(plain, n_neighbors):
    X = np.random.default_rng(n_neighbors).normal(size=(15, 4))
    weights = local_weights(X, n_neighbors).toarray()
    assert_allclose(weights, plain.local_weights(X, n_neighbors), rtol=1e-6, atol=1e-9)
    assert_allclose(weights.sum(axis=1), 1)


def test_released_variant_takes_the_solver_of_the_paper_and_is_another_problem(published):
    start = published.row_major(published.matrix(30, 8, 500))
    released, paper, intended = (
        RNE(8, init=start, **more).fit(published.X)
        for more in [{"variant": "released"}, {"variant": "released", "solver": "paper"}, {}]
    )
    assert_array_equal(released.scores_, paper.scores_)
    assert released.objective_ > 1.5 * intended.objective_


# The fast solver


def residual_of(plain, X):
    X = X / np.abs(X).max()
    return X - plain.local_weights(X, 5) @ X


@pytest.mark.parametrize("alpha", [1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_fast_solver_ends_below_the_published_one(plain, seed, alpha):
    X = np.random.default_rng(seed).normal(size=(25, 40))
    fast, paper = (
        RNE(10, alpha=alpha, solver=solver, random_state=seed).fit(X)
        for solver in ("fast", "paper")
    )
    A = residual_of(plain, X)
    for rne in (fast, paper):
        assert_allclose(rne.objective_, plain.rne_objective(A, rne.embedding_, alpha))
        assert rne.embedding_.min() >= 0
    assert fast.objective_ < paper.objective_
    assert_allclose(np.linalg.norm(fast.embedding_, axis=0), 1)


def test_fast_solver_ends_below_the_published_one_on_digits(plain):
    X = load_digits().data[:150].reshape(150, -1)
    X = X[:, X.std(axis=0) > 0]
    fast, paper = (RNE(20, solver=solver, random_state=0).fit(X) for solver in ("fast", "paper"))
    assert fast.objective_ < 0.95 * paper.objective_
    assert (np.diff(fast.objective_path_) < 0).all()


def test_the_published_objective_may_rise(plain, published):
    """Multipliers with a growing weight promise nothing about the objective itself."""
    X = published.X.reshape(60, -1)
    path = RNE(8, alpha=1.0, solver="paper", random_state=0).fit(X).objective_path_
    assert (np.diff(path) > 1e-6 * path[1:]).any()


# What is selected


@pytest.mark.parametrize(("solver", "enough"), [("fast", 6.5), ("paper", 5.5)])
def test_planted_features_are_found(solver, enough):
    """Of 10 features 2.5 are right by chance, and 5 or more with probability 0.06."""
    found = []
    for seed in range(6):
        X, where = planted(seed)
        rne = RNE(10, solver=solver, random_state=seed).fit(X)
        found.append(len(np.intersect1d(rne.order_[:10], where)))
    assert np.mean(found) >= enough


def test_the_number_of_features_is_part_of_the_problem():
    X = planted(0)[0]
    few, many = RNE(3, random_state=0).fit(X), RNE(12, random_state=0).fit(X)
    assert few.embedding_.shape == (40, 3)
    assert many.embedding_.shape == (40, 12)
    share = RNE(0.3, random_state=0).fit(X)
    assert_array_equal(share.scores_, many.scores_)
    for rne in (few, many):
        assert_array_equal(np.sort(rne.order_), np.arange(40))


@pytest.mark.filterwarnings(ALL_KEPT)
def test_more_features_than_there_are():
    X = np.random.default_rng(0).normal(size=(12, 4))
    assert RNE(100, random_state=0).fit(X).embedding_.shape == (4, 4)


def test_tensors_equal_rows_and_mode_features_are_sums():
    X = planted(1)[0]
    rows = RNE(10, random_state=0).fit(X)
    tensors = RNE(10, random_state=0).fit(X.reshape(60, 5, 2, 4))
    assert_array_equal(tensors.scores_.ravel(), rows.scores_)
    modes = RNE(1, feature_mode=1, random_state=0).fit(X.reshape(60, 5, 2, 4))
    assert modes.embedding_.shape == (40, 20)
    alike = RNE(20, random_state=0).fit(X)
    assert_allclose(modes.scores_, alike.scores_.reshape(5, 2, 4).sum(axis=(0, 2)))


def test_columns_can_be_fewer_than_elements():
    """A column a channel, instead of one for each of a channel's elements."""
    X = np.random.default_rng(0).random((60, 5, 2, 4))
    modes = RNE(3, n_components=3, feature_mode=2, random_state=0).fit(X)
    assert modes.embedding_.shape == (40, 3)
    alike = RNE(3, random_state=0).fit(X)
    assert_allclose(modes.scores_, alike.scores_.sum(axis=(0, 1)))
    with pytest.warns(UserWarning, match="n_components=50 is more than the 40 elements that vary"):
        RNE(3, n_components=50, random_state=0, max_iter=1).fit(X)


def test_constant_features_come_last():
    X = planted(2)[0]
    X[:, [0, 7]] = 3.0
    rne = RNE(38, random_state=0).fit(X)
    assert set(rne.order_[-2:]) == {0, 7}
    assert not rne.embedding_[[0, 7]].any()


def test_same_seed_same_result():
    X = planted(3)[0]
    one, same, other = (RNE(5, random_state=seed).fit(X) for seed in (0, 0, 1))
    assert_array_equal(one.scores_, same.scores_)
    assert not np.allclose(one.scores_, other.scores_)


def test_duplicate_samples_are_no_obstacle():
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 8)), 8, axis=0)
    rne = RNE(3, random_state=0).fit(X)
    assert np.isfinite(rne.scores_).all()
    half = np.concatenate([X[:20], np.random.default_rng(1).normal(size=(20, 8))])
    assert np.isfinite(RNE(3, random_state=0).fit(half).scores_).all()


@pytest.mark.parametrize("units", [1e-60, 1e9, 1e60])
@pytest.mark.parametrize("solver", ["fast", "paper"])
def test_units_are_no_obstacle(units, solver):
    X = planted(0)[0]
    settings = {"solver": solver, "random_state": 0}
    assert np.isfinite(RNE(5, scale=None, **settings).fit(units * X).objective_path_).all()
    expected = RNE(5, max_iter=5, **settings).fit(X)
    assert_allclose(RNE(5, max_iter=5, **settings).fit(units * X).scores_, expected.scores_)


@pytest.mark.slow
def test_objective_falls_on_faces(paper_dataset):
    """It need not; what it rises by is nothing beside what it falls by."""
    X = paper_dataset("Imm40").data
    path = RNE(50, random_state=0).fit(X).objective_path_
    assert (np.diff(path) < 1e-3 * path[:-1]).all()
    assert path[-1] < path[0] / 4


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"init": np.ones((4, 3))}, "init has shape"),
        ({"init": np.zeros((6, 2))}, "init must be positive"),
        ({"init": np.full((6, 2), np.nan)}, "init must hold finite"),
        ({"alpha": 0}, "alpha"),
        ({"scale": "rows"}, "scale"),
        ({"solver": "quick"}, "solver"),
    ],
)
def test_bad_settings(settings, message):
    X = np.random.default_rng(0).normal(size=(10, 6))
    with pytest.raises(ValueError, match=message):
        RNE(2, **settings).fit(X)


def test_bad_samples():
    X = np.random.default_rng(0).normal(size=(10, 3, 2))
    with pytest.raises(ValueError, match="X is complex"):
        RNE(2).fit(X + 1j)
    with pytest.raises(ValueError, match="X is constant"):
        RNE(2).fit(np.ones((10, 3, 2)))
    with pytest.raises(ValueError, match="makes all samples equal"):
        RNE(1, scale="samples").fit(np.arange(1.0, 9).reshape(8, 1))
    with pytest.warns(UserWarning, match="n_neighbors=5 is more than the 3 other samples; 3"):
        RNE(2).fit(X[:4])
