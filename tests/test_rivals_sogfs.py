import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tensift.datasets import load_digits
from tensift.rivals import _extreme_eigenvectors as eigenvectors
from tensift.rivals import _sogfs_projections as sogfs_projections
from tensift.rivals._sogfs import SOGFS
from tensift.rivals._sogfs_projections import SmoothProjections

EPS = np.finfo(float).eps
SETTINGS = {"gamma": 0.1, "n_components": 4, "n_clusters": 3}


@pytest.fixture(scope="module")
def transcription():
    """The published updates, dense, one eigendecomposition a step."""
    path = Path(__file__).parents[1] / "benchmarks" / "_transcriptions_spectral.py"
    spec = importlib.util.spec_from_file_location("_transcriptions_spectral", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def clusters(seed, n=90, d=30, informative=8, separation=2.0):
    """Three clusters that differ in some features, which are returned, too."""
    rng = np.random.default_rng(seed)
    features = rng.choice(d, informative, replace=False)
    X = rng.normal(size=(n, d))
    X[:, features] += separation * rng.normal(size=(3, informative))[np.arange(n) % 3]
    return X, features


@pytest.mark.parametrize("variant", ["released", "intended"])
def test_published_values(published, variant):
    selector = SOGFS(6, variant=variant, **SETTINGS).fit(published.X)
    assert selector.n_iter_ == 6
    np.testing.assert_allclose(selector.lam_path_, 0.2391552294 * 2.0 ** np.arange(6), rtol=1e-9)
    row, column = np.unravel_index(selector.order_[:6], (6, 5))
    np.testing.assert_array_equal(row + 6 * column, [18, 13, 1, 19, 0, 6])
    expected = [0.97313748, 0.95847990, 0.90092357, 0.86225694, 0.16744355, 0.04730005]
    np.testing.assert_allclose(np.sort(selector.scores_.ravel())[:-7:-1], expected, atol=1e-7)
    # It stopped because the graph has its components.
    assert connected_components(selector.graph_, directed=False)[0] == 3
    np.testing.assert_allclose(selector.graph_.sum(axis=1), 1)


@pytest.mark.parametrize("gamma", [0.02, 0.3, 5.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_follows_the_published_updates(transcription, gamma, seed):
    X, _ = clusters(seed)
    selector = SOGFS(5, gamma=gamma, n_components=4, n_clusters=3, max_iter=12).fit(X)
    scores, steps, lambdas, W = transcription.sogfs(X, gamma, 4, 3, 5, max_iter=12)
    assert selector.n_iter_ == steps
    np.testing.assert_allclose(selector.lam_path_, lambdas, rtol=1e-8)
    np.testing.assert_allclose(selector.scores_, scores, atol=1e-6)
    # The last objective, pair by pair.
    normed = X - X.mean(axis=0)
    projected = normed / np.linalg.norm(normed, axis=0) @ W
    graph, r = selector.graph_.toarray(), lambdas[0]
    pairs = sum(
        np.sum((projected[i] - projected[j]) ** 2) * graph[i, j] + r * graph[i, j] ** 2
        for i in range(len(X))
        for j in range(len(X))
    )
    expected = pairs + 2 * gamma * np.linalg.norm(W, axis=1).sum()
    assert selector.objective_ == pytest.approx(expected, abs=1e-5)


def plain_projection(rows, L, width, gamma, steps):
    """Reweighting by dense eigenvectors, from the mean of all projections into the null space."""
    M = rows.T @ L @ rows
    values, vectors = np.linalg.eigh(M)
    null = vectors[:, values < 1e-12 * values[-1]]
    q = np.ones(len(M))
    if null.shape[1] > width:
        q = 1 / (2 * np.sqrt(width / null.shape[1] * (null**2).sum(axis=1) + EPS))
    path = []
    for _ in range(steps):
        order = np.argsort(-q)  # graded downwards, where a plain eigensolver is accurate
        graded = (M + gamma * np.diag(q))[np.ix_(order, order)]
        W = np.linalg.eigh(graded)[1][np.argsort(order), :width]
        norms = np.linalg.norm(W, axis=1)
        q = 1 / (2 * np.sqrt(norms**2 + EPS))
        path.append(np.trace(W.T @ M @ W) + gamma * np.sqrt(norms**2 + EPS).sum())
    return W, path


@pytest.mark.parametrize("dense_size", [0, 1000])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_projection_with_more_features_than_samples(monkeypatch, dense_size, gamma):
    monkeypatch.setattr(eigenvectors, "_DENSE_SIZE", dense_size)
    monkeypatch.setattr(sogfs_projections, "_MAX_REWEIGHTINGS", 15)
    rng = np.random.default_rng(4)
    n, d, width = 25, 150, 3
    rows = rng.normal(size=(n, d))
    rows = (rows - rows.mean(axis=0)) / np.linalg.norm(rows - rows.mean(axis=0), axis=0)
    weights = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.2), 1)
    L = np.diag((weights + weights.T).sum(axis=1)) - weights - weights.T
    projections = SmoothProjections(rows, width, gamma, tol=0, mean_start=True)
    W = projections.minimise(csr_array(L))
    expected, path = plain_projection(rows, L, width, gamma, 15)
    np.testing.assert_allclose(W @ W.T, expected @ expected.T, atol=1e-8)
    projections.warn_if_not_unique()  # warnings are errors
    # The smoothed objective of a projection never rises.
    assert np.diff(path).max() < 1e-9


def test_objective_may_rise(published):
    path = SOGFS(6, **SETTINGS).fit(published.X).objective_path_
    assert np.diff(path).max() > 0.01
    assert path[-1] < path[0]


def overlaps(variant, X, top=20):
    """How many of the first features stay if the data change in their thirteenth digit."""
    settings = {"n_clusters": 3, "gamma": 0.1, "variant": variant, "max_iter": 3}
    first = set(SOGFS(top, **settings).fit(X).order_[:top])
    for seed in range(2):
        noise = 1e-13 * np.random.default_rng(seed).normal(size=X.shape)
        changed = SOGFS(top, **settings).fit(X * (1 + noise)).order_[:top]
        yield len(first & set(changed))


def test_rounding_decides_in_the_released_variant_only():
    X, _ = clusters(0, n=40, d=100)
    assert list(overlaps("intended", X)) == [20, 20]
    with pytest.warns(UserWarning, match="rounding errors decide which features"):
        assert max(overlaps("released", X)) < 12


@pytest.mark.usefixtures("recwarn")
def test_rounding_decides_without_dense_matrices_too(monkeypatch):
    monkeypatch.setattr(eigenvectors, "_DENSE_SIZE", 0)
    X, _ = clusters(1, n=24, d=120)
    settings = {"n_clusters": 3, "gamma": 0.5, "max_iter": 3}
    with pytest.warns(UserWarning, match="rounding errors decide"):
        SOGFS(5, variant="released", **settings).fit(X)
    first = SOGFS(5, **settings).fit(X)
    monkeypatch.setattr(eigenvectors, "_DENSE_SIZE", 1000)
    np.testing.assert_allclose(first.scores_, SOGFS(5, **settings).fit(X).scores_, atol=1e-6)


def test_finds_the_features_of_clusters():
    hits = []
    for seed in range(5):
        X, informative = clusters(seed, separation=3.0)
        top = SOGFS(8, n_clusters=3, n_components=2, gamma=0.01).fit(X).order_[:8]
        hits.append(len(set(top) & set(informative)))
    assert np.mean(hits) > 4.5  # chance is 2.1


def test_digits_have_a_border_that_never_varies():
    X = load_digits().data[:150]
    selector = SOGFS(10, n_clusters=10, gamma=0.1, max_iter=4).fit(X)
    constant = np.flatnonzero(np.ptp(X.reshape(150, -1), axis=0) == 0)
    assert len(constant) > 0
    assert set(selector.order_[-len(constant) :]) == set(constant)
    assert np.all(selector.weights_[constant] == 0)


def test_tensors_are_flattened_and_modes_are_sums():
    X = np.random.default_rng(0).normal(size=(40, 3, 4, 2))
    settings = {"n_clusters": 3, "gamma": 0.2, "max_iter": 3}
    whole = SOGFS(5, **settings).fit(X)
    rows = SOGFS(5, **settings).fit(X.reshape(40, -1))
    np.testing.assert_array_equal(whole.scores_, rows.scores_.reshape(3, 4, 2))
    mode = SOGFS(2, feature_mode=1, **settings).fit(X)
    np.testing.assert_allclose(mode.scores_, whole.scores_.sum(axis=(0, 2)))


def test_large_penalty_leaves_a_row_for_each_component():
    selector = SOGFS(5, n_clusters=3, n_components=4, gamma=1e3, max_iter=3).fit(clusters(0)[0])
    assert np.count_nonzero(selector.scores_ > 1e-6) == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 30}, "n_clusters=30 .*; 9 is used"),
        ({"n_neighbors": 10}, "n_neighbors=10 .*; 9 is used"),
        ({"n_components": 5}, "n_components=5 is more than the 4 features that vary; 4 is used"),
    ],
)
def test_what_the_data_do_not_allow_is_reduced(parameters, message):
    X = np.random.default_rng(0).normal(size=(10, 4))
    settings = {"n_clusters": 3, "n_components": 2, **parameters}
    with pytest.warns(UserWarning, match=message):
        SOGFS(2, max_iter=3, **settings).fit(X)


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
        SOGFS(2).fit(X)


def test_duplicates_and_two_samples():
    X = np.random.default_rng(0).normal(size=(8, 5))
    with pytest.warns(UserWarning, match="no unique projection onto 2 .* use other n_components"):
        # Every graph that joins equal samples only is as smooth as can be.
        selector = SOGFS(2, n_clusters=8, n_components=2, gamma=1.0).fit(np.repeat(X, 6, axis=0))
    np.testing.assert_allclose(selector.scores_.sum(), 2)
    # Normalised, all features of two samples are one and the same.
    reduced = pytest.warns(UserWarning, match="n_neighbors=5 .* 1 is used")
    with reduced, pytest.warns(UserWarning, match="no unique projection"):
        selector = SOGFS(2, n_clusters=1, n_components=1, gamma=1.0).fit(X[:2])
    assert np.isfinite(selector.scores_).all()


@pytest.mark.parametrize("variant", ["intended", "released"])
def test_neighbours_that_are_all_copies(variant):
    # All distances to neighbours are zero, and the regularisation of the graph with them.
    X = np.random.default_rng(0).normal(size=(5, 12))
    copies = np.repeat(X, 8, axis=0)
    with pytest.warns(UserWarning, match=r"no unique projection.*neighbours .* copies of it\)"):
        selector = SOGFS(3, variant=variant).fit(copies)
    np.testing.assert_allclose(selector.scores_.sum(), 5)
    assert selector.n_iter_ < 50


@pytest.mark.parametrize("factor", [1e90, 1e8, 1e-8, 1e-90])
def test_the_unit_of_a_feature_does_not_matter(factor):
    X = np.random.default_rng(0).normal(size=(60, 12))
    X[:30] += 1
    expected = SOGFS(3).fit(X).scores_
    X[:, 4] *= factor
    np.testing.assert_allclose(SOGFS(3).fit(X).scores_, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_features_that_are_all_the_same_are_reported(seed):
    X = np.random.default_rng(seed).normal(size=(2, 5))  # normalised, they differ in sign only
    reduced = pytest.warns(UserWarning, match="n_neighbors=5 .* 1 is used")
    with reduced, pytest.warns(UserWarning, match="no unique projection"):
        SOGFS(2, n_clusters=1, n_components=1, gamma=1.0).fit(X)
