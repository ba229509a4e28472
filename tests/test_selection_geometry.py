"""Agreement, alignment and the suggested count, against whole n x n matrices."""

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from tensift._utils.pool import Pool
from tensift.metrics import neighbours_kept
from tensift.selection import _overlaps, suggest_count, whitened_components
from tensift.selection._agreement import agreement_of, cross_fitted_agreement, standard_error
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._neighbours import neighbour_graph, target_of
from tensift.selection._overlaps import FibreOverlaps, GramOverlaps


def picked(geometry, count, scores=None):
    """All features, the first `count` picked one after another, and the curve."""
    order = GeometryOrder(geometry, scores)
    order.extend(count)
    return order.ranking(), order.curve


def flat(values):
    return values.reshape(len(values), -1)


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
        weights = weights * np.sqrt(np.maximum(scores.ravel(), 0.02 * scores.max()))
    kappa = np.mean([np.sum(k**2) for k in K])
    noise = geometry.agreement <= standard_error(len(X))
    picks = []
    for _ in range(count):

        def ratio(j):
            chosen = [*picks, j]
            above = sum(weights[i] * np.sum(K[i] * T) for i in chosen)
            return above / np.sqrt(np.sum(sum(K[i] for i in chosen) ** 2) + kappa)

        left = [j for j in range(len(K)) if j not in picks]
        left = [j for j in left if not noise[j]] or left
        picks.append(max(left, key=ratio))
    return picks, K, T


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("scored", [False, True])
def test_picks_maximise_the_alignment(kind, mode, scored):
    X = faces(is_complex=kind == "complex")
    geometry = Geometry(X, mode)
    size = geometry.n_features
    scores = np.random.default_rng(1).uniform(0, 1, size) ** 4 if scored else None
    count = min(8, size)
    order, curve = picked(geometry, count, scores)
    picks, K, T = picks_by_definition(X, mode, geometry, count, scores)
    assert_array_equal(order[:count], picks)
    assert_array_equal(np.sort(order), np.arange(size))
    for t in range(1, count + 1):
        total = sum(K[j] for j in picks[:t])
        cosine = np.sum(total * T) / (np.linalg.norm(total) * np.linalg.norm(T))
        assert_allclose(curve[t - 1], cosine, rtol=1e-9)
    fewer = picked(geometry, 3, scores)[0]
    assert_array_equal(fewer[:3], order[:3])  # nested


def test_agreement_is_the_share_of_variation_that_neighbours_have_in_common():
    X = faces()
    values = X.reshape(60, 30, 1) - X.reshape(60, 30, 1).mean(axis=0)
    graph = neighbour_graph(whitened_components(flat(values)))
    W = graph.toarray()
    assert_array_equal(W, W.T)
    assert np.all(np.diag(W) == 0)
    D = np.diag(W.sum(axis=1))
    for j, found in enumerate(agreement_of(flat(values), 1, graph)):
        x = values[:, j, 0] - np.diag(D) @ values[:, j, 0] / np.trace(D)
        assert_allclose(found, x @ W @ x / (x @ D @ x), rtol=1e-9)


def test_neighbours_are_nearest_in_whitened_components():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 25, 1))
    values -= values.mean(axis=0)
    U = np.linalg.svd(values[:, :, 0], full_matrices=False)[0][:, :10]  # at most n / 4
    found = whitened_components(flat(values))
    assert_allclose(np.abs(np.sum(U * found, axis=0)), 1, atol=1e-9)
    unit = U / np.linalg.norm(U, axis=1, keepdims=True)
    similar = unit @ unit.T - 2 * np.eye(40)
    expected = np.zeros((40, 40))
    for k in (3, 5, 8):
        near = np.zeros((40, 40))
        for i in range(40):
            near[i, np.argsort(-similar[i])[:k]] = 1
        expected += 3 * np.maximum(near, near.T) / 9  # 20, 50 and 100 components are all 10 here
    assert_allclose(neighbour_graph(found).toarray(), expected, atol=1e-12)


def test_the_target_has_leading_components_and_eigenvectors_of_the_graph():
    values = faces(n=200).reshape(200, 30, 1)
    values = values - values.mean(axis=0)
    components = whitened_components(flat(values))
    graph = neighbour_graph(components)
    Y = target_of(components, graph)
    U = np.linalg.svd(values[:, :, 0], full_matrices=False)[0]
    W = graph.toarray()
    root = np.diag(1 / np.sqrt(W.sum(axis=1)))
    vectors = np.linalg.eigh(root @ W @ root)[1][:, ::-1][:, 1:]
    expected = sum(U[:, :r] @ U[:, :r].T for r in (5, 10, 20, 30))
    expected = expected + sum(vectors[:, :r] @ vectors[:, :r].T for r in (10, 20, 40))
    assert_allclose(Y @ Y.T, expected, atol=1e-8)


def test_what_does_not_matter():
    X = faces()
    expected, curve = picked(Geometry(X, None), 10)
    rng = np.random.default_rng(2)
    shuffled = rng.permutation(len(X))
    for other in (X[shuffled], 1000 * X, X + rng.normal(size=X.shape[1:])):
        order, same = picked(Geometry(other, None), 10)
        assert_array_equal(order[:10], expected[:10])
        assert_allclose(same, curve, rtol=1e-6)
    rows = flat(X)
    permuted = rng.permutation(rows.shape[1])
    order = picked(Geometry(rows[:, permuted], None), 10)[0]
    assert_array_equal(permuted[order[:10]], expected[:10])


def test_rounding_decides_nothing_where_deviations_are_equal():
    rng = np.random.default_rng(3)
    X = flat(faces(n=120))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = Geometry(X, None).agreement
    for _ in range(5):
        samples, features = rng.permutation(120), rng.permutation(30)
        found = Geometry(X[samples][:, features] + 1, None).agreement
        assert_allclose(found, expected[features], atol=1e-9)


def test_rounding_decides_nothing_where_samples_are_equally_near(library):
    """Rare values: some samples are equal, and some features have equal deviations and moments."""
    rng = np.random.default_rng(3)
    X = np.where(rng.uniform(size=(120, 24)) < 0.05, 1.0, 0.0)
    X[:, :8] += rng.integers(0, 5, size=(120, 8))
    expected = Geometry(X, None).agreement
    assert_allclose(Geometry(library.asarray(X), None).agreement, expected, atol=1e-9)


def test_a_copy_never_comes_before_an_independent_feature_of_equal_alignment():
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(50, 6)))[0]
    X[:, 4] = X[:, 1]
    geometry = Geometry(X, None)
    geometry.agreement[:], geometry.aligned[:] = 1, 1
    order = picked(geometry, 6)[0].tolist()
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
    own = agreement_of(flat(values), 1, neighbour_graph(whitened_components(flat(values))))
    assert own[7] > 0.1 > cross_fitted_agreement(values, X.std(axis=0), None, Pool(None))[1][7]


def test_agreement_is_cross_fitted_over_two_splits_of_the_features():
    X = faces(n=50, shape=(30,))
    values = X - X.mean(axis=0)
    rank = np.argsort(np.argsort(-values.std(axis=0)))
    expected = np.zeros(30)
    for side in (rank % 2, (rank // 2 + rank) % 2):
        for half in (0, 1):
            W = neighbour_graph(whitened_components(values[:, side == half]))
            expected[side != half] += agreement_of(values[:, side != half], 1, W) / 2
    assert_allclose(Geometry(X, None).agreement, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(1000, 1500), (1500, 1000)])
def test_many_samples_and_features_are_whitened_by_iterations(n, d):
    """Where there is a gap, these find the leading singular vectors; elsewhere most energy."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, 40)) * 0.8 ** np.arange(40)) @ rng.normal(size=(40, d))
    X += 1e-3 * rng.normal(size=X.shape)
    X -= X.mean(axis=0)
    U, singular, _ = np.linalg.svd(X, full_matrices=False)
    found = whitened_components(X)
    assert_allclose(found.T @ found, np.eye(100), atol=1e-8)
    assert_allclose(np.linalg.svd(U[:, :40].T @ found[:, :40])[1], 1, atol=1e-6)
    captured = np.sum((found.T @ X) ** 2)
    assert captured > (1 - 1e-4) * np.sum(singular[:100] ** 2)
    shuffled = rng.permutation(n)
    again = whitened_components(X[shuffled])[:, :40]
    assert_allclose(np.linalg.svd(again.T @ found[shuffled, :40])[1], 1, atol=1e-6)


@pytest.mark.parametrize(("n", "d"), [(1000, 1500), (1500, 1000), (100, 60), (60, 100)])
@pytest.mark.parametrize("rank", [1, 12, 200])
def test_components_are_orthonormal_and_no_more_than_the_rank(n, d, rank):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    X -= X.mean(axis=0)
    found = whitened_components(X)
    count = min(rank, 100, n // 4, d)
    assert found.shape == (n, count)
    assert_allclose(found.T @ found, np.eye(count), atol=1e-10)
    U, singular, _ = np.linalg.svd(X, full_matrices=False)
    inside = np.linalg.norm(U[:, singular > 1e-10 * singular[0]].T @ found, axis=0)
    assert_allclose(inside, 1, atol=1e-10)


@pytest.mark.parametrize("lowest", [1e-1, 1e-4])
@pytest.mark.parametrize(("n", "d"), [(600, 700), (700, 600)])
@pytest.mark.parametrize("scale", [1e-30, 1, 1e30])
def test_components_of_little_energy_are_found_too(n, d, lowest, scale):
    """Directions with a share of 1e-8 of the energy are beyond single precision."""
    rng = np.random.default_rng(0)
    left = np.linalg.qr(rng.normal(size=(n, 120)))[0]
    right = np.linalg.qr(rng.normal(size=(d, 120)))[0]
    found = whitened_components(left * np.geomspace(scale, lowest * scale, 120) @ right.T)
    assert_allclose(np.linalg.svd(left[:, :80].T @ found)[1], 1, atol=1e-5)
    assert_allclose(found.T @ found, np.eye(100), atol=1e-8)


def test_groups_that_have_nothing_in_common_are_all_found():
    X = np.zeros((1000, 800))
    for group in range(40):
        X[25 * group : 25 * (group + 1), 20 * group : 20 * (group + 1)] = 1 + group / 40
    found = whitened_components(X)
    assert_allclose(found @ found.T @ X, X, atol=1e-8)


@pytest.mark.parametrize("n", [90, 600])
def test_pieces_of_the_graph_do_not_depend_on_the_order_of_samples(n):
    """Its largest eigenvalue is then a multiple one, with any basis of eigenvectors."""
    rng = np.random.default_rng(0)
    groups = np.arange(n) % 3
    X = 8 * rng.normal(size=(3, 40))[groups] + rng.normal(size=(n, 40))
    components = whitened_components(X - X.mean(axis=0), 2)
    graph = neighbour_graph(components)
    pieces = scipy.sparse.csgraph.connected_components(graph)[0]
    assert pieces >= 2
    Y = target_of(components, graph)
    trivial = np.sqrt(graph.sum(axis=1))
    assert_allclose(Y[:, components.shape[1] :].T @ trivial, 0, atol=1e-6 * np.linalg.norm(trivial))
    expected, curve = picked(Geometry(X, None), 10)
    for _ in range(3):
        order, same = picked(Geometry(X[rng.permutation(n)], None), 10)
        assert_array_equal(order[:10], expected[:10])
        assert_allclose(same, curve, rtol=1e-5)


@pytest.mark.parametrize("depth", [1, 3, 20])
def test_all_ways_to_compute_overlaps(depth, monkeypatch):
    monkeypatch.setattr(_overlaps, "_BLOCK_VALUES", 4 * depth**2)
    values = np.random.default_rng(0).normal(size=(12, 5, depth))
    K = [values[:, j] @ values[:, j].T for j in range(5)]
    expected = np.array([[np.sum(one * other) for one in K] for other in K])
    flat = values.reshape(12, -1)
    prepared = FibreOverlaps(values)
    prepared.prepare(10**6)
    known = FibreOverlaps(values, flat.T @ flat)
    for overlaps in (FibreOverlaps(values), prepared, known, GramOverlaps(values)):
        found = [overlaps.with_feature(np.asarray(j)) for j in range(5)]
        assert_allclose(found, expected, rtol=1e-9)
        assert_allclose(overlaps.squares, np.diag(expected), rtol=1e-9)
        some, others = np.array([3, 1]), np.array([0, 4, 1])
        assert_allclose(overlaps.between(some, others), expected[np.ix_(some, others)], rtol=1e-9)
        order, counts = np.array([4, 0, 2, 1]), np.array([1.0, 1, 0, 1])
        sums = np.cumsum([c * K[j] for j, c in zip(order, counts, strict=True)], axis=0)
        found = overlaps.squares_of_sums(order, counts)
        assert_allclose(found, np.sum(sums**2, axis=(1, 2)), rtol=1e-9)


@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_picks_are_the_same_with_and_without_all_products(shape, monkeypatch):
    X = faces(n=shape[0], shape=shape[1:])
    expected = picked(Geometry(X, None), 30)[0]
    monkeypatch.setattr(_overlaps, "_MOST_PRODUCTS", 0)
    one_by_one = Geometry(X, None)
    one_by_one._products = None
    assert_array_equal(picked(one_by_one, 30)[0], expected)


def test_noise_comes_after_all_features_with_structure():
    X = faces(n=200, shape=(20,))
    rng = np.random.default_rng(0)
    X[:, 12:] = 0.01 * rng.normal(size=(200, 8))
    X[:, 6:12] = X[:, :6] + 0.1 * rng.normal(size=(200, 6))  # they repeat each other
    geometry = Geometry(X, None)
    assert geometry.agreement[:12].min() > standard_error(200) > geometry.agreement[12:].max()
    for count in (1, 5, 12, 15):
        assert set(picked(geometry, count)[0][:12]) == set(range(12))


def test_features_that_hardly_vary_come_last():
    X = faces(n=40, shape=(8,))
    X[:, 3] = 1e-9 * np.random.default_rng(0).normal(size=40)
    order, curve = picked(Geometry(X, None), 8)
    assert order[-1] == 3
    assert len(curve) == 7


def test_constant_samples_look_like_nothing():
    geometry = Geometry(np.full((10, 4), 0.1), None)
    assert geometry.is_constant
    assert_array_equal(geometry.agreement, 0)
    assert_array_equal(np.sort(picked(geometry, 2)[0]), np.arange(4))


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
    assert found.curve.shape == found.spread.shape == (found.n_structured,)
    reached = found.curve >= 0.94 * found.curve.max()
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


def kept_by_hand(rows, features, count):
    """Return the share of neighbours in whitened components that are neighbours by features."""
    centred = rows - rows.mean(axis=0)
    left = np.linalg.svd(centred, full_matrices=False)[0][:, : min(50, len(rows) // 4)]
    kept = 0
    for sample in range(len(rows)):
        others = [other for other in range(len(rows)) if other != sample]
        cosines = left @ left[sample] / np.linalg.norm(left, axis=1)
        distances = np.sum((rows[:, features] - rows[sample, features]) ** 2, axis=1)
        alike = sorted(others, key=lambda other: -cosines[other])[:count]
        near = sorted(others, key=lambda other: distances[other])[:count]
        kept += len(set(alike) & set(near))
    return kept / (count * len(rows))


def test_the_curve_is_judged_on_samples_that_were_not_chosen_on():
    X = faces(n=81).reshape(81, -1)
    place = np.arange(81)
    curves = []
    for halves in (place % 2 == 0, np.isin(place % 4, [0, 3])):
        for chosen_on, judged_on in ((halves, ~halves), (~halves, halves)):
            order = GeometryOrder(Geometry(X[chosen_on], None)).extend(12)
            curves.append([kept_by_hand(X[judged_on], order[:k], 10) for k in range(1, 13)])
    found = suggest_count(X)
    assert_allclose(found.curve[:12], np.mean(curves, axis=0))
    assert_allclose(found.spread[:12], np.ptp(curves, axis=0) / 2)


def test_between_large_counts_the_curve_is_linear():
    X = faces(n=81)
    found = suggest_count(X)
    assert found.n_structured > 24
    # Neighbours are looked for with 15, 16, 18, 20, 22 and 24 features.
    for below, above in ((16, 18), (20, 22), (22, 24)):
        middle = (found.curve[below - 1] + found.curve[above - 1]) / 2
        assert_allclose(found.curve[(below + above) // 2 - 1], middle)


@pytest.mark.parametrize("mode", [None, 0])
def test_the_share_of_neighbours_is_that_of_the_measure(mode):
    """With fewer than 16 samples there are no halves, so the public measure gives the curve."""
    X = faces(n=15, shape=(4, 3))
    found = suggest_count(X, mode)
    order = GeometryOrder(Geometry(X, mode)).extend(found.n_structured)
    # The measure compares ten neighbours unless told otherwise; here there are n/4.
    measured = [
        neighbours_kept(X, order[:k], feature_mode=mode, n_neighbors=3)
        for k in range(1, found.n_structured + 1)
    ]
    assert_allclose(found.curve, measured)


def test_features_that_do_not_vary_on_the_other_half_keep_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 8))
    only = np.zeros((60, 1))
    only[::2, 0] = X[::2, 0]  # constant on the second half of the first split
    found = suggest_count(np.concatenate([only, X], axis=1))
    assert np.isfinite(found.curve).all()
    assert 1 <= found.count <= found.n_structured
