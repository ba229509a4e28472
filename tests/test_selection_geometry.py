"""Agreement, alignment and the suggested count, against whole n x n matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.selection import suggest_count
from tensift.selection._geometry import (
    Geometry,
    _agreement,
    _components,
    _cross_fitted_agreement,
    _graph,
    _target,
    standard_error,
)


def faces(n=60, shape=(6, 5), seed=0, is_complex=False):
    """Samples of four groups, with light of their own and noise."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, n)
    X = 2 * rng.normal(size=(4, *shape))[groups]
    X = X + 3 * rng.normal(size=(n,) + (1,) * len(shape)) + rng.normal(size=(n, *shape))
    if is_complex:
        X = X + 1j * rng.normal(size=X.shape)
    return X * rng.uniform(0.3, 3, size=shape)


def columns_of(X, mode):
    """One matrix (n, t) for each feature, real."""
    if mode is None:
        flat = X.reshape(len(X), -1)
        columns = [flat[:, [j]] for j in range(flat.shape[1])]
    else:
        columns = [
            np.take(X, j, axis=mode + 1).reshape(len(X), -1) for j in range(X.shape[mode + 1])
        ]
    return [np.hstack([c.real, c.imag]) if np.iscomplexobj(c) else c for c in columns]


def picks_by_definition(X, mode, geometry, count, scores=None):
    """The argmax of the formula with whole K_j and T, one feature after another."""
    columns = [c - c.mean(axis=0) for c in columns_of(X, mode)]
    deviation = np.array([np.sqrt(np.mean(np.sum(c**2, axis=1))) for c in columns])
    K = [c @ c.T / d for c, d in zip(columns, deviation, strict=True)]
    T = geometry.target @ geometry.target.T
    weights = np.maximum(geometry.agreement, 0.02 * geometry.agreement.max()) ** 2
    if scores is not None:
        weights = weights * np.sqrt(scores.ravel())
    kappa = np.mean([np.sum(k**2) for k in K])
    picks = []
    for _ in range(count):

        def ratio(j):
            chosen = [*picks, j]
            above = sum(weights[i] * np.sum(K[i] * T) for i in chosen)
            return above / np.sqrt(np.sum(sum(K[i] for i in chosen) ** 2) + kappa)

        left = [j for j in range(len(K)) if j not in picks]
        picks.append(max(left, key=ratio))
    return picks, K, T


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("scored", [False, True])
def test_picks_maximise_the_alignment(kind, mode, scored):
    X = faces(is_complex=kind == "complex")
    geometry = Geometry(X, mode)
    size = geometry.n_features
    scores = np.random.default_rng(1).uniform(0.1, 1, size) if scored else None
    count = min(8, size)
    order, curve = geometry.order(count, scores)
    picks, K, T = picks_by_definition(X, mode, geometry, count, scores)
    assert_array_equal(order[:count], picks)
    assert_array_equal(np.sort(order), np.arange(size))
    for t in range(1, count + 1):
        total = sum(K[j] for j in picks[:t])
        cosine = np.sum(total * T) / (np.linalg.norm(total) * np.linalg.norm(T))
        assert_allclose(curve[t - 1], cosine, rtol=1e-9)
    fewer = geometry.order(3, scores)[0]
    assert_array_equal(fewer[:3], order[:3])  # nested


def test_agreement_is_the_share_of_variation_that_neighbours_have_in_common():
    X = faces()
    values = X.reshape(60, 30, 1) - X.reshape(60, 30, 1).mean(axis=0)
    graph = _graph(_components(values))
    W = graph.toarray()
    assert_array_equal(W, W.T)
    assert np.all(np.diag(W) == 0)
    D = np.diag(W.sum(axis=1))
    for j, found in enumerate(_agreement(values, graph)):
        x = values[:, j, 0] - np.diag(D) @ values[:, j, 0] / np.trace(D)
        assert_allclose(found, x @ W @ x / (x @ D @ x), rtol=1e-9)


def test_neighbours_are_nearest_in_whitened_components():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 25, 1))
    values -= values.mean(axis=0)
    U = np.linalg.svd(values[:, :, 0], full_matrices=False)[0][:, :10]  # at most n / 4
    found = _components(values)
    assert_allclose(np.abs(np.sum(U * found, axis=0)), 1, atol=1e-9)
    unit = U / np.linalg.norm(U, axis=1, keepdims=True)
    similar = unit @ unit.T - 2 * np.eye(40)
    expected = np.zeros((40, 40))
    for k in (3, 5, 8):
        near = np.zeros((40, 40))
        for i in range(40):
            near[i, np.argsort(-similar[i])[:k]] = 1
        expected += 3 * np.maximum(near, near.T) / 9  # 20, 50 and 100 components are all 10 here
    assert_allclose(_graph(found).toarray(), expected, atol=1e-12)


def test_the_target_has_leading_components_and_eigenvectors_of_the_graph():
    values = faces(n=200).reshape(200, 30, 1)
    values = values - values.mean(axis=0)
    Y = _target(values)
    U = np.linalg.svd(values[:, :, 0], full_matrices=False)[0]
    W = _graph(_components(values)).toarray()
    root = np.diag(1 / np.sqrt(W.sum(axis=1)))
    vectors = np.linalg.eigh(root @ W @ root)[1][:, ::-1][:, 1:]
    expected = sum(U[:, :r] @ U[:, :r].T for r in (5, 10, 20, 30))
    expected = expected + sum(vectors[:, :r] @ vectors[:, :r].T for r in (10, 20, 40))
    assert_allclose(Y @ Y.T, expected, atol=1e-8)


def test_what_does_not_matter():
    X = faces()
    expected, curve = Geometry(X, None).order(10)
    rng = np.random.default_rng(2)
    shuffled = rng.permutation(len(X))
    for other in (X[shuffled], 1000 * X, X + rng.normal(size=X.shape[1:])):
        order, same = Geometry(other, None).order(10)
        assert_array_equal(order[:10], expected[:10])
        assert_allclose(same, curve, rtol=1e-6)
    flat = X.reshape(len(X), -1)
    permuted = rng.permutation(flat.shape[1])
    order = Geometry(flat[:, permuted], None).order(10)[0]
    assert_array_equal(permuted[order[:10]], expected[:10])


def test_a_copy_never_comes_before_an_independent_feature_of_equal_alignment():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 6)))[0]
    X[:, 4] = X[:, 1]
    geometry = Geometry(X, None)
    geometry.agreement[:], geometry.aligned[:] = 1, 1
    order = geometry.order(6)[0].tolist()
    assert order[-1] in (1, 4)
    assert set(order[:5]) >= {0, 2, 3, 5}


def test_noise_structure_and_one_factor_are_told_apart():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(100, 256))
    found = Geometry(noise, None).agreement
    assert abs(found.mean()) < 0.02
    assert 0.5 < found.std() / standard_error(100) < 1.5
    groups = rng.integers(0, 3, 200)
    planted = rng.normal(size=(200, 100))
    planted[:, :12] += 4 * rng.normal(size=(3, 12))[groups]
    agreement = Geometry(planted, None).agreement
    assert set(np.flatnonzero(agreement > 0.15)) <= set(range(12))
    assert np.count_nonzero(agreement[:12] > 0.15) >= 10
    factor = rng.normal(size=(100, 1)) @ rng.normal(size=(1, 50)) + 0.5 * rng.normal(size=(100, 50))
    assert Geometry(factor, None).agreement.mean() > 0.1


def test_cross_fitting_never_uses_the_feature_itself():
    """A feature that is like nothing else has no agreement, however much it varies."""
    X = faces(n=100, shape=(20,))
    X[:, 7] = 50 * np.random.default_rng(3).normal(size=100)
    assert abs(Geometry(X, None).agreement[7]) < 3 * standard_error(100)
    values = X[:, :, None] - X.mean(axis=0)[:, None]
    own = _agreement(values, _graph(_components(values)))
    assert own.shape == _cross_fitted_agreement(values, X.std(axis=0)).shape


# How many


def test_noise_has_no_structure():
    found = suggest_count(np.random.default_rng(0).normal(size=(100, 256)))
    assert found.count == 1
    assert found.n_structured <= 12  # two standard errors leave one in forty
    several = [
        suggest_count(np.random.default_rng(seed).normal(size=(60, 40))) for seed in range(10)
    ]
    assert np.mean([one.n_structured for one in several]) < 4


def test_no_more_features_are_suggested_than_have_structure():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 100))
    X[:, :12] += 4 * rng.normal(size=(3, 12))[rng.integers(0, 3, 300)]
    found = suggest_count(X)
    assert 2 <= found.count <= found.n_structured < 20
    assert found.alignment.shape == found.spread.shape == (found.n_structured,)
    reached = found.alignment >= 0.98 * found.alignment.max()
    assert found.count == np.flatnonzero(reached)[0] + 1


def test_the_number_of_samples_is_not_the_answer():
    """Where features outnumber samples, the count does not follow the samples."""
    X = faces(n=120, shape=(20, 20))
    counts = [suggest_count(X[:n]).count for n in (30, 60, 120)]
    assert all(count != n - 1 for count, n in zip(counts, (30, 60, 120), strict=True))
    assert max(counts) < 60


@pytest.mark.parametrize("n", [2, 3, 5, 9, 17])
@pytest.mark.parametrize("mode", [None, 0])
def test_few_samples_give_a_number_too(n, mode):
    X = np.random.default_rng(0).normal(size=(n, 4, 3)).cumsum(axis=1)
    found = suggest_count(X, mode)
    assert 1 <= found.count <= found.n_features == (12 if mode is None else 4)
    assert suggest_count(X, mode).reason == found.reason
    assert suggest_count(X[:, :1, :1]).count == 1


def test_the_curve_is_judged_on_samples_that_were_not_chosen_on():
    X = faces(n=81)
    one, other = Geometry(X[::2], None), Geometry(X[1::2], None)
    found = suggest_count(X)
    most = found.n_structured
    curves = [
        judge.alignment(chooser.order(most)[0][:most])
        for chooser, judge in ((one, other), (other, one))
    ]
    assert_allclose(found.alignment, np.mean(curves, axis=0))
    assert_allclose(found.spread, np.abs(curves[0] - curves[1]) / 2)
