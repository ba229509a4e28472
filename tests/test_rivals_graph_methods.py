"""Laplacian score, MCFS, UDFS and NDFS against plain transcriptions of the published updates."""

import warnings

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.linear_model import lars_path

from tensift.datasets import load_digits
from tensift.rivals._laplacian_score import LaplacianScore
from tensift.rivals._lasso_path import lasso_weights_at_count
from tensift.rivals._local_scatter import LocalScatter
from tensift.rivals._mcfs import MCFS
from tensift.rivals._ndfs import NDFS
from tensift.rivals._udfs import UDFS

ALL = [LaplacianScore, MCFS, UDFS, NDFS]
SEEDED = [(NDFS, {"random_state": 0}), (UDFS, {}), (MCFS, {}), (LaplacianScore, {})]


def noise(seed, n=30, d=8):
    return np.random.RandomState(seed).randn(n, d)


def planted(seed=0, n=120, informative=8, others=32):
    """Standardised features, the first few of which have four clusters in common."""
    rng = np.random.RandomState(seed)
    centres = rng.randn(4, informative) * 3
    X = np.hstack([centres[np.arange(n) % 4] + rng.randn(n, informative), rng.randn(n, others)])
    return (X - X.mean(axis=0)) / X.std(axis=0)


# Plain versions: dense, loops, nothing shared with the library


def plain_neighbors(X, k):
    n = len(X)
    distances = [
        sorted((np.sum((X[i] - X[j]) ** 2), j) for j in range(n) if j != i)[:k] for i in range(n)
    ]
    return [[j for _, j in row] for row in distances], [[e for e, _ in row] for row in distances]


def plain_graph(X, k, width=None):
    neighbors, squared = plain_neighbors(X, k)
    variance = np.mean(squared) if width is None else width**2
    S = np.zeros((len(X), len(X)))
    for i, (row, distances) in enumerate(zip(neighbors, squared, strict=True)):
        for j, e in zip(row, distances, strict=True):
            S[i, j] = np.exp(-e / (2 * variance))
    return np.maximum(S, S.T)


def plain_normalised_laplacian(S):
    D = np.diag(1e-9 + S.sum(axis=1))
    root = np.linalg.inv(np.sqrt(D))
    return np.eye(len(S)) - root @ S @ root


def plain_scatter(X, k, lam):
    """M of UDFS with its selection matrices written out."""
    n = len(X)
    neighbors, _ = plain_neighbors(X, k)
    H = np.eye(k + 1) - np.ones((k + 1, k + 1)) / (k + 1)
    A = np.zeros((n, n))
    for i in range(n):
        members = [i, *neighbors[i]]
        S = np.zeros((n, k + 1))
        for q, j in enumerate(members):
            S[j, q] = 1
        local = X.T @ S @ H
        A += S @ H @ np.linalg.inv(local.T @ local + lam * np.eye(k + 1)) @ H @ S.T
    return X.T @ A @ X


def plain_udfs(X, k, c, gamma, lam, steps):
    M = plain_scatter(X, k, lam)
    d = len(M)
    values, vectors = np.linalg.eigh(M)
    null = vectors[:, values < 1e-10 * values[-1]]
    q = np.ones(d)
    if null.shape[1] > c:  # the mean over projections into the null space
        norms = np.diagonal(null @ null.T) * c / null.shape[1]
        q = 1 / (2 * np.sqrt(norms + 2.2e-16))
    path = []
    for _ in range(steps):
        W = np.linalg.eigh(M + gamma * np.diag(q))[1][:, :c]
        norms = np.array([np.linalg.norm(row) for row in W])
        q = 1 / (2 * np.sqrt(norms**2 + 2.2e-16))
        path.append(np.trace(W.T @ M @ W) + gamma * norms.sum())
    return W, np.array(path)


def plain_ndfs(X, F, L, alpha, beta, gamma, steps, variant):
    n, d = X.shape
    D, path = np.eye(d), []
    for _ in range(steps):
        inverse = np.linalg.inv(X.T @ X + beta * D)
        W = inverse @ X.T @ F
        D = np.diag([1 / (2 * np.sqrt(w @ w + 2.2e-16)) for w in W])
        if variant == "released":
            M = L + alpha * (np.eye(n) - X @ inverse @ X.T)
            F = F * (gamma * F) / (M @ F + gamma * F @ F.T @ F)
            F = F @ np.diag(1 / np.sqrt(np.diagonal(F.T @ F)))
        else:
            P, N = np.maximum(L, 0), np.maximum(-L, 0)
            Y = X @ W
            up = N @ F + alpha * np.maximum(Y, 0) + gamma * F
            down = P @ F + alpha * (F + np.maximum(-Y, 0)) + gamma * F @ F.T @ F
            F = F * (up / down) ** 0.25
        path.append(
            np.trace(F.T @ L @ F)
            + alpha * (np.linalg.norm(X @ W - F) ** 2 + beta * sum(map(np.linalg.norm, W)))
            + gamma / 2 * np.linalg.norm(F.T @ F - np.eye(F.shape[1])) ** 2
        )
    return W, F, np.array(path)


# Laplacian score


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [None, 0.5])
def test_laplacian_score_is_that_of_a_loop(seed, width):
    X = noise(seed)
    selector = LaplacianScore(3, n_neighbors=4, width=width).fit(X)
    X = X / np.abs(X).max()
    S = plain_graph(X, 4, width)
    D = np.diag(S.sum(axis=1))
    ones = np.ones(len(X))
    for r, f in enumerate(X.T):
        f = f - (f @ D @ ones) / (ones @ D @ ones)
        expected = (f @ (D - S) @ f) / (f @ D @ f)
        assert selector.laplacian_scores_[r] == pytest.approx(expected, rel=1e-9)
        assert selector.scores_[r] == pytest.approx(2 - expected)


def test_laplacian_score_ranks_the_smallest_first():
    selector = LaplacianScore(3).fit(noise(0))
    assert selector.order_.tolist() == np.argsort(selector.laplacian_scores_).tolist()


def test_laplacian_score_of_a_feature_that_varies_only_beyond_the_graph():
    # The weights of the far sample vanish, and so does the variance of what only it has.
    X = np.concatenate([noise(0, d=3), np.full((1, 3), 1e6)])
    X = np.hstack([X, np.eye(31)[:, -1:]])
    with np.errstate(all="raise", under="ignore"):
        selector = LaplacianScore(2, width=1.0, scale=None).fit(X)
    assert selector.laplacian_scores_[3] == 2
    assert selector.order_[-1] == 3


def test_laplacian_score_never_leaves_its_range():
    rng = np.random.RandomState(0)
    alternating = np.tile([[1.0], [-1.0]], (20, 1)) * np.ones((1, 3))
    X = np.hstack([np.repeat(np.arange(20.0), 2)[:, None], 1e-3 * alternating, rng.randn(40, 2)])
    scores = LaplacianScore(1, n_neighbors=1).fit(X).laplacian_scores_
    assert (scores >= 0).all()
    assert (scores <= 2).all()


# MCFS


@pytest.mark.parametrize("seed", range(3))
def test_mcfs_embedding_solves_the_generalised_problem(seed):
    X = noise(seed, n=25)
    selector = MCFS(3, n_clusters=3, n_neighbors=4).fit(X)
    S = plain_graph(X / np.abs(X).max(), 4)
    D = np.diag(S.sum(axis=1))
    values, vectors = eigh(D - S, D)
    assert values[1] > 1e-6  # connected: only the constant embedding is left out
    expected = vectors[:, 1:4]
    signs = np.sign(np.sum(expected * selector.embedding_, axis=0))
    np.testing.assert_allclose(selector.embedding_, expected * signs, atol=1e-6)


def test_mcfs_leaves_the_constant_embedding_out_of_separate_parts():
    rng = np.random.RandomState(0)
    labels = np.repeat([0, 1, 2], 12)
    X = rng.randn(36, 5) * 0.1 + 10 * np.eye(3, 5)[labels]
    selector = MCFS(3, n_clusters=2, n_neighbors=3, n_nonzero=3).fit(X)
    D = np.diag(plain_graph(X / np.abs(X).max(), 3).sum(axis=1))
    Y = selector.embedding_
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(2), atol=1e-8)
    np.testing.assert_allclose(np.ones(36) @ D @ Y, 0, atol=1e-6)
    for part in range(3):
        np.testing.assert_allclose(
            Y[labels == part], Y[labels == part][:1].repeat(12, 0), atol=1e-6
        )
    # Three features tell the parts apart; chance would find a given set of 3 in 1 of 10 cases.
    assert set(selector.order_[:3]) == {0, 1, 2}


@pytest.mark.parametrize(("n", "d", "count"), [(40, 10, 4), (15, 40, 6), (40, 10, 10)])
def test_mcfs_weights_are_lasso_optima_of_the_wanted_size(n, d, count):
    X = noise(1, n, d)
    selector = MCFS(count, n_clusters=3).fit(X)
    X = X / np.abs(X).max()
    X = X - X.mean(axis=0)
    for a, y in zip(selector.weights_.T, selector.embedding_.T, strict=True):
        assert np.count_nonzero(a) == count
        correlation = X.T @ (y - y.mean() - X @ a)
        penalty = np.abs(correlation).max()
        active = a != 0
        scale = np.abs(X.T @ (y - y.mean())).max()
        np.testing.assert_allclose(
            correlation[active], penalty * np.sign(a[active]), atol=1e-9 * scale
        )
    np.testing.assert_allclose(selector.scores_, np.abs(selector.weights_).max(axis=1))


@pytest.mark.parametrize(
    ("n", "d", "wanted"), [(60, 20, 8), (20, 60, 12), (30, 40, 29), (25, 9, 9)]
)
def test_mcfs_follows_the_plain_path(n, d, wanted):
    """More targets than are followed together; correlated columns, so that many leave again."""
    rng = np.random.RandomState(n + d)
    X = rng.randn(n, d) @ (np.eye(d) + 0.5 * rng.randn(d, d))
    Y = rng.randn(n, 20)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    found = lasso_weights_at_count(X, Y, wanted)
    returns = 0
    for weights, y in zip(found.T, Y.T, strict=True):
        path = lars_path(X, y, method="lasso")[2]
        path[np.abs(path) < 1e-12 * np.abs(path).max()] = 0  # columns that have left
        counts = np.count_nonzero(path, axis=0)
        reached = np.flatnonzero(counts >= wanted)
        turn = reached[0] if len(reached) else -1
        returns += np.any(np.diff(counts[:turn]) < 0)
        np.testing.assert_allclose(weights, path[:, turn], atol=1e-8 * np.abs(path).max())
    assert returns or wanted == 8


def test_mcfs_with_duplicated_features():
    X = noise(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doubled = MCFS(3).fit(np.hstack([X, X]))
    single = MCFS(3).fit(X)
    assert doubled.scores_[:8] + doubled.scores_[8:] == pytest.approx(single.scores_, rel=1e-6)


# UDFS


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d"), [(30, 8), (12, 20), (8, 20)])
def test_udfs_is_the_published_iteration(seed, n, d):
    X = noise(seed, n, d)
    selector = UDFS(3, n_clusters=3, n_neighbors=4, gamma=0.3, lam=0.2, tol=0, max_iter=10).fit(X)
    W, path = plain_udfs(X / np.abs(X).max(), 4, 3, 0.3, 0.2, selector.n_iter_)
    np.testing.assert_allclose(selector.objective_path_, path, rtol=1e-8)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(W, axis=1), atol=1e-6)
    np.testing.assert_allclose(selector.weights_.T @ selector.weights_, np.eye(3), atol=1e-10)
    assert selector.objective_ == selector.objective_path_[-1]


@pytest.mark.parametrize(("n", "d"), [(320, 260), (60, 260)])
def test_udfs_follows_eigenvectors_as_a_dense_decomposition_finds_them(n, d):
    # Large enough for Krylov spaces, with a matrix and with a factor.
    X = noise(0, n, d) * np.linspace(0.2, 1, d)
    selector = UDFS(3, n_clusters=4, gamma=2.0, lam=0.2, tol=0, max_iter=8).fit(X)
    W, path = plain_udfs(X / np.abs(X).max(), 5, 4, 2.0, 0.2, selector.n_iter_)
    assert selector.n_iter_ > 3
    np.testing.assert_allclose(selector.objective_path_, path, rtol=1e-7)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(W, axis=1), atol=1e-4)


@pytest.mark.parametrize(("n", "d"), [(30, 8), (9, 20)])
def test_local_scatter_is_the_matrix_it_stands_for(n, d):
    X = noise(3, n, d)
    neighbors, _ = plain_neighbors(X, 4)
    scatter = LocalScatter(X, np.array(neighbors), 0.2)
    M = plain_scatter(X, 4, 0.2)
    for i in range(d):
        for j in range(i):
            pair = np.eye(d)[:, [i]] + np.eye(d)[:, [j]]
            assert scatter.energy(pair) == pytest.approx(pair[:, 0] @ M @ pair[:, 0])
    dimension, energies = scatter.null_energies()
    assert dimension == d - np.linalg.matrix_rank(M, tol=1e-9)
    assert energies.sum() == pytest.approx(dimension, abs=1e-6)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_udfs_objective_never_rises(gamma):
    for X in (noise(4), noise(4, 10, 40), load_digits().data[:300]):
        path = UDFS(3, gamma=gamma, tol=0, max_iter=40).fit(X).objective_path_
        assert (np.diff(path) <= 1e-7 * path[:-1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Imm40", "COIL20", "JAFFE"])
def test_udfs_objective_never_rises_on_images(name, paper_dataset):
    path = UDFS(50, n_clusters=10).fit(paper_dataset(name).data).objective_path_
    assert len(path) > 2
    assert (np.diff(path) <= 1e-7 * path[:-1]).all()


# NDFS


@pytest.mark.parametrize("variant", ["intended", "released"])
@pytest.mark.parametrize(("n", "d"), [(30, 8), (14, 20)])
@pytest.mark.parametrize("seed", range(2))
def test_ndfs_is_the_published_iteration(variant, n, d, seed):
    X = noise(seed, n, d)
    settings = {"alpha": 0.7, "beta": 0.5, "gamma": 1e6}
    selector = NDFS(
        3, n_clusters=3, **settings, tol=0, max_iter=25, random_state=0, variant=variant
    ).fit(X)
    X = X / np.abs(X).max()
    F = NDFS(3, n_clusters=3, random_state=0)._first_indicators(X)
    L = plain_normalised_laplacian(plain_graph(X, 5))
    W, F, path = plain_ndfs(X, F, L, **settings, steps=selector.n_iter_, variant=variant)
    np.testing.assert_allclose(selector.weights_, W, atol=1e-8)
    np.testing.assert_allclose(selector.indicators_, F, atol=1e-8)
    np.testing.assert_allclose(selector.objective_path_, path, rtol=1e-8)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(W, axis=1), atol=1e-8)


def test_ndfs_starts_from_clusters():
    X = planted()
    F = NDFS(3, n_clusters=4, random_state=0)._first_indicators(X) - 0.02
    np.testing.assert_allclose(F.T @ F, np.eye(4), atol=1e-12)
    members = F > 0.01
    assert (members.sum(axis=1) == 1).all()
    for cluster in range(4):  # the planted clusters are far enough apart for k-means to find
        assert len(set(np.arange(120)[members[:, cluster]] % 4)) == 1


@pytest.mark.parametrize("gamma", [1.0, 100.0, 1e8])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 10.0])
def test_ndfs_objective_never_rises(gamma, alpha):
    for X in (noise(4), noise(4, 10, 40), load_digits().data[:300]):
        selector = NDFS(3, gamma=gamma, alpha=alpha, tol=0, max_iter=60, random_state=0).fit(X)
        path = selector.objective_path_
        assert (np.diff(path) <= 1e-9 * path[:-1] + 1e-7).all()
        assert (selector.indicators_ > 0).all()


def test_published_update_of_ndfs_can_raise_its_objective():
    X = load_digits().data
    settings = {"n_clusters": 10, "gamma": 1.0, "width": 1.0, "random_state": 0}
    released = NDFS(3, variant="released", **settings).fit(X).objective_path_
    assert (np.diff(released) > 1e-3 * released[:-1]).any()
    intended = NDFS(3, max_iter=60, **settings).fit(X).objective_path_
    assert (np.diff(intended) <= 1e-9 * intended[:-1]).all()


def test_ndfs_indicators_become_orthogonal_and_variants_then_agree():
    X = planted()
    fitted = {
        variant: NDFS(8, n_clusters=4, random_state=0, variant=variant).fit(X)
        for variant in ("intended", "released")
    }
    for selector in fitted.values():
        F = selector.indicators_
        np.testing.assert_allclose(F.T @ F, np.eye(4), atol=1e-5)
    one, other = fitted.values()
    # They stop at different times, but where they go is the same.
    np.testing.assert_allclose(one.scores_, other.scores_, atol=0.02 * one.scores_.max())
    assert not np.array_equal(one.objective_path_, other.objective_path_)


def test_ndfs_is_deterministic():
    one, other = (NDFS(3, random_state=1).fit(noise(0)) for _ in range(2))
    np.testing.assert_array_equal(one.scores_, other.scores_)


# The family


@pytest.mark.parametrize(("Selector", "parameters"), SEEDED)
@pytest.mark.parametrize("seed", range(3))
def test_planted_features_are_found(Selector, parameters, seed):
    clusters = {UDFS: {"n_clusters": 4}, NDFS: {"n_clusters": 4}, MCFS: {"n_clusters": 3}}
    selector = Selector(8, **parameters, **clusters.get(Selector, {})).fit(planted(seed))
    # 8 of 40 features: chance finds 1.6 of them, and 5 or more in 4 of 1000 cases. MCFS leaves
    # features out that others stand for.
    found = np.count_nonzero(selector.order_[:8] < 8)
    assert found >= (6 if Selector is MCFS else 7)


@pytest.mark.parametrize(("Selector", "parameters"), SEEDED)
def test_tensors_are_flattened(Selector, parameters):
    X = noise(5, 30, 24)
    flat = Selector(3, **parameters).fit(X)
    cube = Selector(3, **parameters).fit(X.reshape(30, 2, 3, 4))
    np.testing.assert_array_equal(cube.scores_, flat.scores_.reshape(2, 3, 4))
    np.testing.assert_array_equal(cube.order_, flat.order_)
    for mode in range(3):
        others = tuple(axis for axis in range(3) if axis != mode)
        of_mode = Selector(1, feature_mode=mode, **parameters).fit(X.reshape(30, 2, 3, 4))
        # MCFS gives as many weights as there are features to select.
        if Selector is not MCFS:
            np.testing.assert_allclose(of_mode.scores_, cube.scores_.sum(axis=others))
        assert of_mode.transform(X.reshape(30, 2, 3, 4)).shape[mode + 1] == 1


@pytest.mark.parametrize(("Selector", "parameters"), SEEDED)
def test_constant_features_come_last(Selector, parameters):
    X = np.insert(noise(6), [0, 4], [[3.0, 0.0]], axis=1)
    selector = Selector(3, **parameters).fit(X)
    assert set(selector.order_[-2:]) == {0, 5}
    assert selector.scores_[[0, 5]].tolist() == [0, 0]


@pytest.mark.parametrize(("Selector", "parameters"), SEEDED)
def test_scale_makes_units_irrelevant(Selector, parameters):
    X = noise(7)
    one = Selector(3, **parameters).fit(X)
    other = Selector(3, **parameters).fit(X * 1024)  # a power of 2: the same bits but the exponent
    np.testing.assert_array_equal(one.scores_, other.scores_)
    unscaled = Selector(3, scale=None, **parameters).fit(X / np.abs(X).max())
    np.testing.assert_array_equal(one.scores_, unscaled.scores_)


@pytest.mark.parametrize("Selector", ALL)
@pytest.mark.parametrize(
    ("X", "message"),
    [
        (noise(0) + 1j, "X is complex, and .* is defined for real data"),
        (np.ones((5, 3)), "X is constant"),
        (np.ones((5, 3)) + 1e-15 * noise(0, 5, 3), "X is constant"),
        (noise(0) * 1e101, "too large for sums of squares"),
        (noise(0) * 1e-120, "too small for sums of squares"),
        (noise(0)[:1], "minimum of 2 is required"),
        (np.where(noise(0) > 2, np.nan, noise(0)), "contains NaN"),
    ],
)
def test_unusable_data(Selector, X, message):
    shape = X.shape[1:]
    with pytest.raises(ValueError, match=message):
        Selector(1, feature_shape=shape).fit(X)


@pytest.mark.parametrize("Selector", ALL)
def test_more_neighbors_than_samples(Selector):
    parameters = {} if Selector is LaplacianScore else {"n_clusters": 2}
    with pytest.warns(UserWarning, match="n_neighbors=9 is more than the 5 other samples; 5 is"):
        many = Selector(1, n_neighbors=9, **parameters, **_seed(Selector)).fit(noise(0, 6, 4))
    all_others = Selector(1, n_neighbors=5, **parameters, **_seed(Selector)).fit(noise(0, 6, 4))
    np.testing.assert_array_equal(many.scores_, all_others.scores_)


def _seed(Selector):
    return {"random_state": 0} if Selector is NDFS else {}


@pytest.mark.parametrize(
    ("Selector", "message"),
    [
        (MCFS, "n_clusters=9 is more than the 5 embeddings of 6 samples; 5 is used"),
        (UDFS, "n_clusters=9 is more than the 4 features that vary; 4 is used"),
        (NDFS, "n_clusters=9 is more than the 6 different samples; 6 is used"),
    ],
)
def test_more_clusters_than_the_data_have(Selector, message):
    with pytest.warns(UserWarning, match=message):
        Selector(1, n_clusters=9, n_neighbors=2, **_seed(Selector)).fit(noise(0, 6, 4))


@pytest.mark.parametrize("Selector", [LaplacianScore, MCFS, NDFS])
def test_too_narrow_a_kernel(Selector):
    with pytest.raises(ValueError, match=r"width=0\.001 is so small that the weights of all"):
        Selector(1, width=1e-3).fit(noise(0))


@pytest.mark.parametrize("Selector", ALL)
def test_two_samples(Selector):
    parameters = {} if Selector is LaplacianScore else {"n_clusters": 1}
    selector = Selector(1, n_neighbors=1, **parameters).fit(noise(0, 2, 3))
    assert np.isfinite(selector.scores_).all()


# Another program


def test_same_weights_as_another_program(capsys):
    """scikit-feature's NDFS, given a matrix from which its formula makes the right Laplacian."""
    ndfs = pytest.importorskip("skfeature.function.sparse_learning_based.NDFS").ndfs
    from scipy.sparse import csr_matrix

    X = load_digits().data[:150].reshape(150, -1) / 16

    class MinusLaplacian(csr_matrix):
        def sum(self, axis=None, **kwargs):
            return np.zeros((150, 1))

    L = plain_normalised_laplacian(plain_graph(X, 5, 1.0))
    np.random.seed(0)  # noqa: NPY002  it draws from the global state
    theirs = ndfs(X, W=MinusLaplacian(-L), n_clusters=5, gamma=1e8, mode="raw", verbose=True)
    steps = capsys.readouterr().out.count("obj at iter")
    ours = NDFS(3, width=1.0, variant="released", max_iter=steps, tol=0, random_state=0).fit(X)
    # Theirs has a ridge of 1e-6 beside the penalties.
    np.testing.assert_allclose(ours.weights_, theirs, atol=1e-5 * np.abs(theirs).max())


def test_same_ranking_as_another_program():
    """scikit-feature's Laplacian score, on our graph."""
    module = pytest.importorskip("skfeature.function.similarity_based.lap_score")
    from scipy.sparse import csr_matrix

    X = load_digits().data[:150].reshape(150, -1) / 16
    X = X[:, X.std(axis=0) > 0.1]
    theirs = module.lap_score(X.copy(), mode="index", W=csr_matrix(plain_graph(X, 5, 1.0)))
    ours = LaplacianScore(3, width=1.0, scale=None).fit(X)
    assert ours.order_.tolist() == theirs.tolist()
