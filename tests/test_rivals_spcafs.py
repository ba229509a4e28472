import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tensift.datasets import load_digits
from tensift.rivals import _extreme_eigenvectors as eigenvectors
from tensift.rivals._extreme_eigenvectors import DiagonalAndGram
from tensift.rivals._schur_eigenpairs import lowest_by_schur_complement
from tensift.rivals._spcafs import SPCAFS

EPS = np.finfo(float).eps


@pytest.fixture(scope="module")
def transcription():
    """The published updates, dense, one eigendecomposition a step."""
    path = Path(__file__).parents[1] / "benchmarks" / "_transcriptions_spectral.py"
    spec = importlib.util.spec_from_file_location("_transcriptions_spectral", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_dense(monkeypatch):
    """Small problems solved as large ones are."""
    monkeypatch.setattr(eigenvectors, "_DENSE_SIZE", 0)


def correlated(seed, n=40, d=300, factors=8, noise=0.2):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(factors, d)) * (rng.random(d) < 0.3)
    return rng.normal(size=(n, factors)) @ loadings + noise * rng.normal(size=(n, d))


def test_published_values(published):
    selector = SPCAFS(6, gamma=0.5, n_components=4).fit(published.X)
    assert selector.n_iter_ == 39
    assert selector.objective_ == pytest.approx(-20.10536105, abs=1e-8)
    row, column = np.unravel_index(selector.order_[:6], (6, 5))
    np.testing.assert_array_equal(row + 6 * column, [19, 24, 7, 17, 13, 18])


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0])
# Weights of up to 5e11 leave a plain eigensolver few digits, so p = 1/2 is followed for a while.
@pytest.mark.parametrize(("p", "steps"), [(1.0, 50), (0.5, 4)])
def test_follows_the_published_updates(transcription, gamma, p, steps):
    X = correlated(3, n=60, d=20)
    selector = SPCAFS(5, gamma=gamma, p=p, n_components=3, scale=None, max_iter=steps).fit(X)
    scores, objectives, _ = transcription.spcafs(X, gamma, 3, p, max_iter=steps)
    np.testing.assert_allclose(selector.scores_, scores, atol=1e-8)
    np.testing.assert_allclose(selector.objective_path_, objectives, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("gamma", [0.1, 10.0, 300.0])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.usefixtures("no_dense")
def test_follows_them_without_dense_matrices(transcription, gamma, seed):
    X = correlated(seed)
    selector = SPCAFS(5, gamma=gamma, n_components=4, scale=None).fit(X)
    scores, objectives, _ = transcription.spcafs(X, gamma, 4)
    assert selector.n_iter_ == len(objectives)
    np.testing.assert_allclose(selector.scores_, scores, atol=1e-8)


@pytest.mark.parametrize("gamma", [1.0, 100.0])
def test_follows_them_on_images(transcription, paper_dataset, gamma):
    X = paper_dataset("BreastMNIST").data
    X = X / np.abs(X).max()
    selector = SPCAFS(50, gamma=gamma, n_components=5, max_iter=4).fit(X)
    scores, _, _ = transcription.spcafs(X.reshape(len(X), -1), gamma, 5, max_iter=4)
    np.testing.assert_allclose(selector.scores_.ravel(), scores, atol=1e-8)


@pytest.mark.parametrize("p", [1.0, 0.5])
@pytest.mark.parametrize("gamma", [1.0, 30.0])
def test_smoothed_objective_never_rises(p, gamma):
    for X in (correlated(5, n=50, d=30), load_digits().data[:300].reshape(300, -1) / 16):
        centred = X - X.mean(axis=0)
        path = []
        for steps in range(1, 12):
            W = SPCAFS(5, gamma=gamma, p=p, scale=None, max_iter=steps, tol=0).fit(X).weights_
            norms = ((W**2).sum(axis=1) + EPS) ** (p / 2)
            path.append(gamma * norms.sum() - np.sum((centred @ W) ** 2))
        assert np.diff(path).max() <= 1e-10 * np.abs(path).max()
        assert path[-1] < path[0]


def test_without_penalty_it_is_pca():
    X = correlated(1, n=30, d=12)
    selector = SPCAFS(5, gamma=0, n_components=3).fit(X)
    expected = (PCA(3, svd_solver="full").fit(X).components_ ** 2).sum(axis=0)
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-12)


def test_large_penalty_leaves_a_row_for_each_component():
    selector = SPCAFS(5, gamma=1e4, n_components=4).fit(correlated(2))
    assert np.count_nonzero(selector.scores_ > 1e-6) == 4
    assert np.all(np.sort(selector.scores_)[:-4] < 1e-14)


def test_finds_the_features_of_common_factors():
    hits = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        informative = rng.choice(100, 10, replace=False)
        X = rng.normal(size=(60, 100))
        X[:, informative] += 2 * rng.normal(size=(60, 2)) @ rng.normal(size=(2, 10))
        top = SPCAFS(10, gamma=1.0, n_components=2).fit(X).order_[:10]
        hits.append(len(set(top) & set(informative)))
    assert np.mean(hits) > 7  # chance is 1


def test_tensors_are_flattened_and_modes_are_sums():
    X = np.random.default_rng(0).normal(size=(20, 3, 4, 2))
    whole = SPCAFS(5, gamma=2.0, n_components=3).fit(X)
    rows = SPCAFS(5, gamma=2.0, n_components=3).fit(X.reshape(20, -1))
    np.testing.assert_array_equal(whole.scores_, rows.scores_.reshape(3, 4, 2))
    mode = SPCAFS(2, gamma=2.0, n_components=3, feature_mode=1).fit(X)
    np.testing.assert_allclose(mode.scores_, whole.scores_.sum(axis=(0, 2)))


def test_constant_features_come_last():
    X = correlated(0, n=20, d=15)
    X[:, [2, 9]] = 7.0
    selector = SPCAFS(5, gamma=1e3, n_components=3).fit(X)
    assert set(selector.order_[-2:]) == {2, 9}


def test_width_is_limited_by_the_rank():
    X = np.random.default_rng(0).normal(size=(6, 20))
    with pytest.warns(UserWarning, match=r"n_components=8 .* rank 5 .*; 5 is used"):
        selector = SPCAFS(5, n_components=8).fit(X)
    assert selector.weights_.shape == (20, 5)
    assert SPCAFS(5).fit(X).weights_.shape == (20, 5)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((5, 4)), "X is constant"),
        (np.ones((5, 2, 2)) * 1j, "X is complex"),
        (np.ones((1, 4)), "minimum of 2"),
    ],
)
def test_bad_samples(X, message):
    with pytest.raises(ValueError, match=message):
        SPCAFS(2).fit(X)


@pytest.mark.usefixtures("no_dense")
def test_equal_eigenvalues_are_told():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(200, 6)))[0].T
    X = np.vstack([X, -X])  # all six directions vary alike
    with pytest.warns(UserWarning, match="cannot be told apart"):
        SPCAFS(5, n_components=3, max_iter=1).fit(X)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("orders", [0.5, 4, 8])
@pytest.mark.usefixtures("no_dense")
def test_lowest_eigenvectors_against_dense_ones(sign, orders):
    rng = np.random.default_rng(7)
    d, count = 200, 6
    problem = DiagonalAndGram(rng.normal(size=(d, 30)), sign)
    diagonal = np.sort(10 ** rng.uniform(0, orders, d))[::-1]  # graded: dense ones are accurate
    values, vectors = np.linalg.eigh(problem.matrix(diagonal))
    lowest = problem.lowest(diagonal, count)
    assert lowest.certified
    np.testing.assert_allclose(lowest.values, values[:count], rtol=1e-7)
    projector = vectors[:, :count] @ vectors[:, :count].T
    np.testing.assert_allclose(lowest.vectors @ lowest.vectors.T, projector, atol=1e-8)
    for bound in (values[0] - 1, (values[2] + values[3]) / 2, (values[50] + values[51]) / 2):
        assert problem.count_below(diagonal, bound) == np.count_nonzero(values < bound)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_missed_eigenvector_is_noticed(sign):
    rng = np.random.default_rng(8)
    problem = DiagonalAndGram(rng.normal(size=(100, 10)), sign)
    diagonal = rng.uniform(1, 2, 100)
    values = np.linalg.eigvalsh(problem.matrix(diagonal))
    assert problem._complete(diagonal, values[:4], values[4])
    assert not problem._complete(diagonal, values[[0, 1, 3, 4]], values[5])
    assert not problem._complete(diagonal, values[1:5], values[5])


@pytest.mark.usefixtures("no_dense")
def test_a_start_without_the_lowest_eigenvector_does_no_harm():
    rng = np.random.default_rng(9)
    problem = DiagonalAndGram(rng.normal(size=(120, 10)), -1)
    diagonal = rng.uniform(1, 2, 120)
    values, vectors = np.linalg.eigh(problem.matrix(diagonal))
    lowest = problem.lowest(diagonal, 4, start=vectors[:, 1:8])
    assert lowest.certified
    np.testing.assert_allclose(lowest.values, values[:4], rtol=1e-8)


def few_light_rows(seed, sign, rank, d=240, light=20):
    """A problem, and a diagonal that is huge but for some rows, in descending order."""
    rng = np.random.default_rng(seed)
    problem = DiagonalAndGram(rng.normal(size=(d, rank)) / np.sqrt(rank), sign)
    diagonal = np.concatenate([10 ** rng.uniform(6, 8, d - light), rng.uniform(0.5, 2, light)])
    diagonal[-light - 10 : -light] = 10 ** rng.uniform(3, 6, 10)  # and some in between
    return problem, np.sort(diagonal)[::-1]


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("rank", [30, 200])  # both ways to factor the heavy rows
@pytest.mark.parametrize("seed", range(4))
def test_heavy_rows_can_be_eliminated(seed, sign, rank):
    count = 5
    problem, diagonal = few_light_rows(seed, sign, rank)
    values, vectors = np.linalg.eigh(problem.matrix(diagonal))
    noise = 1e-3 * np.random.default_rng(seed).normal(size=(240, 8))
    noise *= np.minimum(1, 10 / diagonal)[:, None]  # heavy rows are small in a guess, too
    found, W = lowest_by_schur_complement(
        problem, diagonal, count, np.linalg.qr(vectors[:, :8] + noise)[0]
    )
    np.testing.assert_allclose(found[:count], values[:count], rtol=1e-7)
    expected = vectors[:, :count] @ vectors[:, :count].T
    np.testing.assert_allclose(W[:, :count] @ W[:, :count].T, expected, atol=1e-8)
    np.testing.assert_allclose(W.T @ W, np.eye(8), atol=1e-12)
    # Heavy rows, too, to their own size: they become the weights of the next problem.
    residual = problem.matrix(diagonal) @ W[:, :count] - W[:, :count] * found[:count]
    assert np.abs(residual).max() < 1e-7


def test_elimination_gives_up_where_it_would_be_wrong():
    problem, diagonal = few_light_rows(0, 1, 30)
    vectors = np.linalg.eigh(problem.matrix(diagonal))[1]
    assert lowest_by_schur_complement(problem, diagonal, 5, vectors[:, :8]) is not None
    # Nothing is heavy.
    assert lowest_by_schur_complement(problem, np.linspace(2, 1, 240), 5, vectors[:, :8]) is None
    # The wanted eigenvalues are not told apart from the next.
    tied = DiagonalAndGram(1e-9 * problem.factor, 1)
    flat = np.where(diagonal < 5, 1.0, diagonal)
    assert lowest_by_schur_complement(tied, flat, 5, np.eye(240)[:, -8:]) is None
