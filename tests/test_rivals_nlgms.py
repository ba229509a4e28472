"""NLGMS against a plain transcription, values of the authors' program, and brute force."""

import runpy
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from tensift.datasets import load_digits
from tensift.rivals._nlgms import NLGMS
from tensift.rivals._nlgms_solver import (
    RowSparse,
    energy_bound,
    go_start,
    nuclear_norm,
    solve_nlgms,
)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def plain():
    path = ROOT / "benchmarks" / "_transcriptions_embedding.py"
    return SimpleNamespace(**runpy.run_path(str(path)))


def unit_range(X):
    return (X - X.min(axis=0)) / np.ptp(X, axis=0)


def planted(seed, n=60, d=40, informative=10):
    """Features of unit variance, some of which are the same for neighbours but for a tenth."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    where = rng.permutation(d)[:informative]
    centres = rng.normal(size=(3, informative))
    centres = (centres - centres.mean(axis=0)) / centres.std(axis=0)
    X[:, where] = centres[np.arange(n) % 3] + 0.1 * rng.normal(size=(n, informative))
    return X, where


def solve(X, W, k, **settings):
    settings = {
        "lambda1": 1.0,
        "lambda2": 1.0,
        "n_neighbors": 5,
        "released": False,
        "max_iter": 30,
        "tol": 1e-3,
        "report": lambda _: None,
        **settings,
    }
    return solve_nlgms(X, RowSparse(np.arange(len(W)), W), k, **settings)


# The published iteration


GOLDEN_SET = [18, 0, 13, 24, 7, 26, 14, 20, 10, 16]


@pytest.mark.parametrize(
    ("variant", "steps", "objective"),
    [("released", 14, 47.10617493), ("intended", 22, 26.65562892)],
)
def test_golden_values(published, variant, steps, objective):
    settings = {
        "n_components": 6,
        "lambda1": 1.0,
        "lambda2": 1.0,
        "init": published.row_major(published.matrix(30, 6, 700) - 0.5),
    }
    nlgms = NLGMS(10, variant=variant, **settings).fit(published.X)
    assert nlgms.n_iter_ == steps
    assert_allclose(nlgms.objective_, objective, atol=6e-9)
    i, j = np.unravel_index(nlgms.order_[:10], (6, 5))
    chosen = (i + 6 * j).tolist()
    if variant == "released":
        assert chosen == GOLDEN_SET
    assert set(chosen) == set(GOLDEN_SET)
    assert_array_equal(np.flatnonzero(nlgms.projection_.any(axis=1)), np.sort(nlgms.order_[:10]))


def test_golden_norms(published):
    X = unit_range(published.X.swapaxes(1, 2).reshape(60, 30))
    embedding = solve(X, np.linalg.qr(published.matrix(30, 6, 700) - 0.5)[0], 10, released=True)
    assert_allclose(np.linalg.norm(embedding.residual), 1.71126223, atol=6e-9)
    assert_allclose(np.linalg.norm(embedding.representation), 3.93659079, atol=6e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(25, 12), (15, 40)])
@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("lambdas", [(1.0, 1.0), (1e-8, 0.01)])
def test_solver_follows_the_transcription(plain, seed, shape, released, lambdas):
    """With the small lambda1 the nuclear norm takes part, otherwise it does not."""
    rng = np.random.default_rng(seed)
    X, W = rng.uniform(size=shape), np.linalg.qr(rng.normal(size=(shape[1], 4)))[0]
    settings = {"lambda1": lambdas[0], "lambda2": lambdas[1], "released": released, "max_iter": 10}
    truth = plain.fit_nlgms(X.T, W, 6, tol=0, **settings)
    ours = solve(X, W, 6, tol=0, **settings)
    assert np.any(truth.J) == (lambdas[0] < 1)
    assert_allclose(ours.path, truth.objective_path, rtol=1e-8)
    assert_allclose(ours.scores, truth.scores, atol=1e-7 * truth.scores.max())
    assert_allclose(ours.representation, truth.Z, atol=1e-8)
    assert_allclose(ours.residual, truth.E.T, atol=1e-7)
    assert_allclose(ours.graph.toarray(), truth.S, atol=1e-7)
    full = ours.weights.dense(shape[1])
    assert_allclose(full @ full.T, truth.W @ truth.W.T, atol=1e-7)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize(("k", "m"), [(16, 14), (30, 22), (40, 35)])
def test_more_features_than_samples_in_the_embedding(plain, released, k, m):
    """Directions without energy, of which all are in W, are never computed one by one."""
    rng = np.random.default_rng(4)
    X, W = rng.uniform(size=(12, 40)), np.linalg.qr(rng.normal(size=(40, m)))[0]
    settings = {"released": released, "max_iter": 4, "tol": 0}
    truth, ours = plain.fit_nlgms(X.T, W, k, **settings), solve(X, W, k, **settings)
    assert_allclose(ours.path, truth.objective_path, rtol=1e-8)
    assert_allclose(ours.scores, truth.scores, atol=1e-7 * truth.scores.max())
    assert_allclose(ours.residual, truth.E.T, atol=1e-7)
    full = ours.weights.dense(40)
    assert_allclose(full.T @ full, np.eye(m), atol=1e-12)
    assert_allclose(full @ full.T, truth.W @ truth.W.T, atol=1e-7)


def test_more_directions_without_energy_than_components():
    """Any of them are the best: W has no energy at all."""
    X = np.random.default_rng(5).uniform(size=(8, 40))
    embedding = solve(X, np.eye(40)[:, :10], 30, max_iter=1)
    assert_allclose(embedding.weights.values.T @ embedding.weights.values, np.eye(10), atol=1e-12)
    assert_allclose(embedding.weights.applied_to(X), 0, atol=1e-12)


def test_variants_differ_where_the_program_errs(published):
    start = {"n_components": 6, "init": published.row_major(published.matrix(30, 6, 700) - 0.5)}
    intended, released = (
        NLGMS(10, variant=v, **start).fit(published.X) for v in ("intended", "released")
    )
    first = NLGMS(10, variant="released", max_iter=1, **start).fit(published.X).graph_
    assert_array_equal(released.graph_.toarray(), first.toarray())
    assert abs(intended.graph_ - first).max() > 0.1
    assert intended.objective_ < released.objective_


def test_residual_is_the_minimum_of_its_step(plain):
    """The intended E leaves no gradient of the augmented Lagrangian, the released one does."""
    rng = np.random.default_rng(0)
    X, W = rng.uniform(size=(20, 9)), np.linalg.qr(rng.normal(size=(9, 3)))[0]
    mu, lambda2 = 1e-6, 0.5
    gradients = []
    for released in (False, True):
        done = solve(X, W, 5, lambda2=lambda2, released=released, max_iter=1)
        V, E, Z = done.weights.dense(9), done.residual.T, done.representation
        L = plain.laplacian_of(plain.adaptive_graph(plain.pairwise(X.T), 5)[0])
        gradients.append(-4 * V @ V.T @ (X.T - E) @ L + 2 * lambda2 * E - mu * (X.T - X.T @ Z - E))
    assert np.abs(gradients[0]).max() < 1e-13
    assert np.abs(gradients[1]).max() > 1e-8


def test_the_objective_may_rise(published):
    """The constraint X = X Z + E is met in the limit only, and E grows towards it."""
    start = {
        "n_components": 6,
        "lambda1": 1.0,
        "lambda2": 1.0,
        "init": published.row_major(published.matrix(30, 6, 700) - 0.5),
    }
    path = NLGMS(10, **start).fit(published.X).objective_path_
    assert (np.diff(path) > 1e-3 * path[1:]).any()


# Parts


def test_energy_bound_is_the_largest_eigenvalue(plain):
    for seed, shape in enumerate([(30, 10), (30, 50), (12, 200)]):
        X = np.random.default_rng(seed).normal(size=shape)
        L = plain.laplacian_of(plain.adaptive_graph(plain.pairwise(X.T), 4)[0])
        truth = np.linalg.eigvalsh(X.T @ L @ X)[-1]
        assert_allclose(energy_bound(X, csr_array(L)), truth, rtol=1e-12)
    assert energy_bound(np.ones((12, 200)), csr_array(L)) == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("smallest", [1e-2, 1e-5, 1e-9, 1e-20, 0.0])
def test_nuclear_norm_is_accurate(smallest):
    """Squared singular values hide small ones behind rounding; here half of them are small."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 20)))[0] for n in (50, 20))
    values = np.append(np.linspace(0.5, 1, 10), np.full(10, smallest))
    matrix = (left * values) @ right.T
    assert_allclose(nuclear_norm(matrix), values.sum(), rtol=1e-13)
    assert_allclose(nuclear_norm(1e-60 * matrix), 1e-60 * values.sum(), rtol=1e-13)
    assert nuclear_norm(np.zeros((5, 3))) == 0


@pytest.mark.parametrize("shape", [(30, 12), (10, 25)])
def test_go_start_truncates_the_matrix(plain, shape):
    """With d > n all eigenvectors of the repeated eigenvalue are kept: the limit of a ridge."""
    X = np.random.default_rng(3).uniform(size=shape)
    d, k, m = shape[1], 6, 4
    L = plain.laplacian_of(plain.adaptive_graph(plain.pairwise(X.T), 5)[0])
    energies, vectors = np.linalg.eigh(X.T @ L @ X)
    kept = energies <= energies[m - 1] + 1e-10
    assert kept.sum() == (m if d < len(X) else d - len(X) + 1)
    truncated = (vectors[:, kept] * (energies[-1] - energies[kept])) @ vectors[:, kept].T
    expected = np.sort(np.argsort(-np.diag(truncated))[:k])
    start = go_start(X, k, m, 5)
    assert_array_equal(start.rows, expected)
    assert_allclose(start.values.T @ start.values, np.eye(m), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_chosen_features_are_near_the_best_of_all_subsets(plain, seed):
    """One iteration with E = 0: the trace that the W step maximises, against all subsets."""
    X = unit_range(planted(seed, n=30, d=9, informative=4)[0])
    k, m = 4, 3
    L = plain.laplacian_of(plain.adaptive_graph(plain.pairwise(X.T), 5)[0])
    energy = X.T @ L @ X
    least = sorted(
        np.linalg.eigvalsh(energy[np.ix_(subset, subset)])[:m].sum()
        for subset in combinations(range(9), k)
    )
    nlgms = NLGMS(k, n_components=m, max_iter=1).fit(X)
    reached = np.trace(nlgms.projection_.T @ energy @ nlgms.projection_)
    assert reached <= least[len(least) // 20] + 1e-12  # among the best twentieth


# What is selected


def test_planted_features_are_found():
    """Of 10 features 2.5 are right by chance."""
    for seed in range(3):
        X, where = planted(seed)
        assert set(NLGMS(10).fit(X).order_[:10]) == set(where)


def test_go_ends_below_random_starts_and_needs_no_seed():
    X = planted(0)[0]
    go = NLGMS(10).fit(X)
    assert_array_equal(go.scores_, NLGMS(10, random_state=5).fit(X).scores_)
    one, same, other = (NLGMS(10, start="random", random_state=s).fit(X) for s in (0, 0, 1))
    assert_array_equal(one.scores_, same.scores_)
    assert set(one.order_[:10]) != set(other.order_[:10])
    assert go.objective_ < min(one.objective_, other.objective_)


def test_the_number_of_features_is_part_of_the_problem():
    X = planted(0)[0]
    few, many, share = NLGMS(6).fit(X), NLGMS(12).fit(X), NLGMS(0.3).fit(X)
    assert few.projection_.shape == (40, 5)
    assert many.projection_.shape == (40, 10)
    assert_array_equal(share.scores_, many.scores_)
    for nlgms, k in ((few, 6), (many, 12)):
        assert np.count_nonzero(nlgms.projection_.any(axis=1)) == k
        assert_array_equal(np.sort(nlgms.order_), np.arange(40))
        width = nlgms.projection_.shape[1]
        assert_allclose(nlgms.projection_.T @ nlgms.projection_, np.eye(width), atol=1e-12)


def test_tensors_equal_rows_and_mode_features_are_sums():
    X = planted(1)[0]
    rows = NLGMS(10).fit(X)
    tensors = NLGMS(10).fit(X.reshape(60, 5, 2, 4))
    assert_array_equal(tensors.scores_.ravel(), rows.scores_)
    modes = NLGMS(1, feature_mode=1).fit(X.reshape(60, 5, 2, 4))
    alike = NLGMS(20).fit(X)
    assert_allclose(modes.scores_, alike.scores_.reshape(5, 2, 4).sum(axis=(0, 2)))


def test_constant_features_come_last():
    X = load_digits().data[:80].reshape(80, -1)
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    nlgms = NLGMS(20).fit(X)
    assert len(constant) > 0
    assert_array_equal(np.sort(nlgms.order_[-len(constant) :]), constant)


def test_duplicate_samples_are_no_obstacle():
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 8)), 8, axis=0)
    assert np.isfinite(NLGMS(3).fit(X).scores_).all()


@pytest.mark.parametrize("units", [1e-60, 1e9, 1e60])
def test_units_are_no_obstacle(units):
    X = planted(0)[0]
    assert np.isfinite(NLGMS(5, scale=None).fit(units * X).objective_path_).all()
    expected = NLGMS(5).fit(X).order_[:5]
    assert set(NLGMS(5).fit(units * X).order_[:5]) == set(expected)


@pytest.mark.slow
def test_graph_is_learned_on_faces(paper_dataset):
    X = paper_dataset("Imm40").data
    intended, released = NLGMS(50).fit(X), NLGMS(50, variant="released").fit(X)
    assert intended.objective_ < released.objective_
    assert set(released.order_[:50]) == set(np.flatnonzero(released.projection_.any(axis=1)))


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 2, "init": np.ones((4, 2))}, "init has shape"),
        ({"n_components": 2, "init": np.ones((6, 2))}, "init has linearly dependent columns"),
        ({"n_components": 2, "init": np.full((6, 2), np.nan)}, "init must hold finite"),
        ({"lambda1": -1}, "lambda1"),
        ({"scale": "rows"}, "scale"),
        ({"start": "best"}, "start"),
    ],
)
def test_bad_settings(settings, message):
    X = np.random.default_rng(0).normal(size=(10, 6))
    with pytest.raises(ValueError, match=message):
        NLGMS(3, **settings).fit(X)


def test_bad_samples():
    X = np.random.default_rng(0).normal(size=(10, 3, 2))
    with pytest.raises(ValueError, match="X is complex"):
        NLGMS(2).fit(X + 1j)
    with pytest.raises(ValueError, match="X is constant"):
        NLGMS(2).fit(np.ones((10, 3, 2)))
    with pytest.warns(UserWarning, match="n_neighbors=5 is more than the 3 other samples; 3"):
        NLGMS(2).fit(X[:4])
    with pytest.warns(UserWarning, match="n_components=5 is more than the 2 features of W; 2"):
        NLGMS(2, n_components=5).fit(X)
