"""Selectors that pick one feature after another, against brute force and the original programs.

The programs are in the extra `bench`; comparisons with those that are not installed are skipped.
"""

import itertools
import warnings

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import squareform
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA

from tensift.datasets import load_digits
from tensift.rivals import (
    ColumnSubsetSelector,
    CURSelector,
    FacilityLocationSelector,
    FarthestPointSelector,
    FastCanSelector,
    FeatureClusterSelector,
    OPBSSelector,
    PivotedCholeskySelector,
    QRSensorSelector,
)
from tensift.selection import ColumnSubsetOrder

EVERY = [
    ColumnSubsetSelector,
    CURSelector,
    FacilityLocationSelector,
    FarthestPointSelector,
    FastCanSelector,
    FeatureClusterSelector,
    OPBSSelector,
    QRSensorSelector,
]
every = pytest.mark.parametrize("selector", EVERY)


def explained_share(X, features):
    """The share of the variance of all features that some explain by least squares."""
    F = X.reshape(len(X), -1) - X.reshape(len(X), -1).mean(axis=0)
    rest = F - F[:, features] @ np.linalg.lstsq(F[:, features], F)[0]
    return 1 - np.sum(np.abs(rest) ** 2) / np.sum(np.abs(F) ** 2)


def factors(n, d, seed=0, is_complex=False):
    """A few factors and noise, with features of different scale and mean."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, d)) + rng.normal(size=(n, d))
    if is_complex:
        X = X + 1j * (rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)))
    return X * rng.uniform(0.5, 2, d) + rng.normal(size=d)


def digits():
    rows = load_digits().data[:150].reshape(150, 64)
    return rows[:, rows.std(axis=0) > 0]


TALL, WIDE, DIGITS = factors(60, 20), factors(15, 40, seed=1), digits()
cases = pytest.mark.parametrize("X", [TALL, WIDE, DIGITS], ids=["tall", "wide", "digits"])
COMPLEX = factors(30, 12, seed=2, is_complex=True).reshape(30, 4, 3)
MODES = factors(40, 24, seed=3).reshape(40, 6, 4)
tensors = pytest.mark.parametrize(
    ("X", "mode"),
    [(MODES, 0), (MODES, 1), (MODES, None), (COMPLEX, 0), (COMPLEX, None)],
    ids=["channels", "times", "elements", "complex channels", "complex elements"],
)


def blocks_of(X, mode):
    """One centred matrix (n, t) for each feature."""
    X = X - X.mean(axis=0)
    if mode is None:
        return [column[:, None] for column in X.reshape(len(X), -1).T]
    return [np.take(X, j, axis=mode + 1).reshape(len(X), -1) for j in range(X.shape[mode + 1])]


def residuals(blocks, chosen):
    """What least squares on the chosen features leaves of all."""
    if not chosen:
        return blocks
    Q = scipy.linalg.orth(np.hstack([blocks[j] for j in chosen]), rcond=1e-10)
    return [block - Q @ (Q.conj().T @ block) for block in blocks]


def greedy(size, count, gain):
    """Pick `count` features with the largest ``gain(chosen, j)``, and check that none is a tie."""
    chosen, gains = [], []
    for _ in range(count):
        found = {j: gain(chosen, j) for j in range(size) if j not in chosen}
        first, second = sorted(found.values())[:-3:-1]
        assert first - second > 1e-9 * abs(first)
        chosen.append(max(found, key=found.get))
        gains.append(first)
    return chosen, np.array(gains)


def picked(selector, X, count):
    """The picks of a selector, and their scores."""
    fitted = selector.fit(X)
    return fitted.order_[:count].tolist(), fitted.scores_.ravel()[fitted.order_[:count]]


# QR sensors


@cases
@pytest.mark.parametrize("modes", [5, 10])
def test_sensors_are_the_pivots_of_scipy(X, modes):
    centred = X - X.mean(axis=0)
    right = np.linalg.svd(centred, full_matrices=False)[2][:modes]
    upper, pivots = scipy.linalg.qr(right, mode="r", pivoting=True)
    found, scores = picked(QRSensorSelector(modes, n_basis_modes=modes), X, modes)
    assert_array_equal(found, pivots[:modes])
    assert_allclose(scores, np.diag(upper) ** 2 / modes, rtol=1e-8)
    pivots = scipy.linalg.qr(centred, mode="r", pivoting=True)[1]
    assert_array_equal(picked(QRSensorSelector(10, basis="identity"), X, 10)[0], pivots[:10])
    assert_array_equal(picked(PivotedCholeskySelector(10), X, 10)[0], pivots[:10])


@cases
@pytest.mark.parametrize("modes", [5, 10])
def test_sensors_are_those_of_pysensors(X, modes):
    pysensors = pytest.importorskip("pysensors")
    centred = X - X.mean(axis=0)
    bases = {
        "svd": pysensors.basis.SVD(n_basis_modes=modes, algorithm="arpack"),
        "identity": pysensors.basis.Identity(),
    }
    for name, basis in bases.items():
        model = pysensors.SSPOR(basis=basis, n_sensors=modes).fit(centred, quiet=True)
        settings = {"n_basis_modes": modes} if name == "svd" else {}
        found = picked(QRSensorSelector(modes, basis=name, **settings), X, modes)[0]
        assert_array_equal(found, model.get_selected_sensors())


@tensors
def test_blocks_of_sensors_are_taken_out_whole(X, mode):
    blocks = blocks_of(X, mode)
    total = sum(np.linalg.norm(block) ** 2 for block in blocks)

    def gain(chosen, j):
        return np.linalg.norm(residuals(blocks, chosen)[j]) ** 2 / total

    expected, gains = greedy(len(blocks), 3, gain)
    found, scores = picked(QRSensorSelector(3, basis="identity", feature_mode=mode), X, 3)
    assert found == expected
    assert_allclose(scores, gains, rtol=1e-8)


def test_modes_default_to_the_number_of_selected_elements():
    default = QRSensorSelector(7).fit(TALL).order_
    assert_array_equal(default, QRSensorSelector(7, n_basis_modes=7).fit(TALL).order_)
    channels = QRSensorSelector(2, feature_mode=0).fit(MODES).order_
    expected = QRSensorSelector(2, feature_mode=0, n_basis_modes=8).fit(MODES).order_
    assert_array_equal(channels, expected)


def test_features_beyond_the_modes_come_by_deviation():
    selector = QRSensorSelector(10, n_basis_modes=3).fit(TALL)
    assert np.all(selector.scores_[selector.order_[3:]] == 0)
    assert np.all(np.diff(TALL.std(axis=0)[selector.order_[3:]]) <= 0)


# Column subsets


@tensors
def test_column_subsets_are_picked_by_their_order(X, mode):
    selector = ColumnSubsetSelector(3, feature_mode=mode).fit(X)
    order = ColumnSubsetOrder(X, mode)
    assert_array_equal(selector.order_[:3], order.extend(3))
    gains = np.minimum.accumulate(order.gains)
    assert_allclose(selector.scores_.ravel()[selector.order_[:3]], gains, rtol=1e-9)
    if mode is None:
        # The ridge takes about 1 % of what is explained.
        share = explained_share(X, selector.order_[:3])
        assert 0.95 * share < order.gains.sum() <= share


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mode", [None, 0])
def test_exchanges_end_where_no_exchange_helps(seed, mode):
    """And never explain less than the greedy picks, nor more than the best of all sets."""
    X = factors(20, 10, seed=seed).reshape(20, 5, 2)
    X = X.reshape(20, 10) if mode is None else X
    count = 3 if mode is None else 2
    blocks = blocks_of(X, mode)
    ridge = 1e-2 * sum(np.linalg.norm(block) ** 2 for block in blocks) / 10
    everything = np.hstack(blocks)

    def explained(chosen):
        A = np.hstack([blocks[j] for j in chosen])
        B = A.T @ everything
        return np.trace(B.T @ np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), B))

    plain, swapped = (
        ColumnSubsetSelector(count, swaps=swaps, feature_mode=mode).fit(X).order_[:count]
        for swaps in (0, 100)
    )
    reached = explained(swapped)
    assert reached >= explained(plain) * (1 - 1e-9)
    others = [j for j in range(len(blocks)) if j not in swapped]
    for place, new in itertools.product(range(count), others):
        changed = [*swapped[:place], *swapped[place + 1 :], new]
        assert explained(changed) <= reached * (1 + 1e-8)
    best = max(explained(chosen) for chosen in itertools.combinations(range(len(blocks)), count))
    assert reached <= best * (1 + 1e-9)


def test_the_number_of_exchanges_is_bounded():
    """Each of them explains more; with enough, at least one set of eight is better than greedy."""
    sets = [factors(30, 15, seed=seed) for seed in range(8)]
    improved = []
    for X in sets:
        shares = [
            explained_share(X, ColumnSubsetSelector(5, swaps=swaps).fit(X).order_[:5])
            for swaps in (0, 1, 2, 50)
        ]
        changed = [
            len(
                set(ColumnSubsetSelector(5, swaps=swaps).fit(X).order_[:5])
                - set(ColumnSubsetSelector(5).fit(X).order_[:5])
            )
            for swaps in (1, 2)
        ]
        assert changed[0] <= 1
        assert changed[1] <= 2
        improved.append(shares[-1] > shares[0] + 1e-6)
    assert any(improved)


# CUR


@tensors
@pytest.mark.parametrize("n_components", [1, 2])
def test_cur_picks_the_largest_leverage(X, mode, n_components):
    blocks = blocks_of(X, mode)

    def gain(chosen, j):
        left = residuals(blocks, chosen)
        right = np.linalg.svd(np.hstack(left), full_matrices=False)[2][:n_components]
        width = left[0].shape[1]
        return np.linalg.norm(right[:, j * width : (j + 1) * width]) ** 2

    expected, gains = greedy(len(blocks), 3, gain)
    selector = CURSelector(3, n_components=n_components, feature_mode=mode)
    found, scores = picked(selector, X, 3)
    assert found == expected
    assert_allclose(scores, np.minimum.accumulate(gains), rtol=1e-7)


@cases
@pytest.mark.parametrize("n_components", [1, 3])
def test_cur_is_that_of_scikit_matter(X, n_components):
    skmatter = pytest.importorskip("skmatter.feature_selection")
    original = skmatter.CUR(n_to_select=10, k=n_components).fit(X - X.mean(axis=0))
    found = picked(CURSelector(10, n_components=n_components), X, 10)[0]
    assert_array_equal(found, original.selected_idx_)


def test_cur_of_many_samples_takes_few_eigenvectors(monkeypatch):
    X = factors(80, 60, seed=6)
    expected = CURSelector(12, n_components=2).fit(X)
    monkeypatch.setattr("tensift.rivals._cur._DENSE", 10)
    found = CURSelector(12, n_components=2).fit(X)
    assert_array_equal(found.order_[:12], expected.order_[:12])
    assert_allclose(found.scores_, expected.scores_, atol=1e-8)


def test_cur_says_if_there_are_fewer_components():
    with pytest.warns(UserWarning, match="n_components=50 is more than the 15 singular vectors"):
        CURSelector(3, n_components=50).fit(WIDE)


# Farthest points


@tensors
@pytest.mark.parametrize("first", [None, 2])
def test_farthest_points_by_definition(X, mode, first):
    blocks = blocks_of(X, mode)
    squares = [np.linalg.norm(block) ** 2 for block in blocks]
    chosen, gains = [int(np.argmax(squares)) if first is None else first], []
    for _ in range(3):
        nearest = [min(np.linalg.norm(block - blocks[i]) ** 2 for i in chosen) for block in blocks]
        chosen.append(int(np.argmax(nearest)))
        gains.append(max(nearest) / sum(squares))
    found, scores = picked(FarthestPointSelector(4, first=first, feature_mode=mode), X, 4)
    assert found == chosen
    assert_allclose(scores, [gains[0], *gains], rtol=1e-9)


@cases
@pytest.mark.parametrize("first", [0, 7])
def test_farthest_points_are_those_of_scikit_matter(X, first):
    skmatter = pytest.importorskip("skmatter.feature_selection")
    original = skmatter.FPS(n_to_select=10, initialize=first).fit(X - X.mean(axis=0))
    found, scores = picked(FarthestPointSelector(10, first=first), X, 10)
    assert_array_equal(found, original.selected_idx_)
    expected = original.hausdorff_at_select_[found[1:]]
    assert_allclose(scores[1:], expected / np.sum((X - X.mean(axis=0)) ** 2), rtol=1e-9)


def test_a_first_feature_that_does_not_vary_is_refused():
    X = TALL.copy()
    X[:, 3] = 1.0
    for first in (3, 20):
        with pytest.raises(ValueError, match=rf"first={first} must be .* a feature that varies"):
            FarthestPointSelector(3, first=first).fit(X)


def test_copies_are_no_points_of_their_own():
    X = np.hstack([TALL[:, :3], TALL[:, :3]])
    selector = FarthestPointSelector(5).fit(X)
    assert {j % 3 for j in selector.order_[:3]} == {0, 1, 2}
    assert np.all(selector.scores_[selector.order_[3:]] == 0)


# Clusters of features


def distances_of(X, mode):
    blocks = [block.ravel() for block in blocks_of(X, mode)]
    size = len(blocks)
    D = np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        product = abs(np.vdot(blocks[i], blocks[j]))
        D[i, j] = D[j, i] = 1 - product / np.linalg.norm(blocks[i]) / np.linalg.norm(blocks[j])
    return D, np.array([np.linalg.norm(block) for block in blocks])


@tensors
def test_clusters_are_represented_by_their_largest_variance(X, mode):
    D, deviation = distances_of(X, mode)
    tree = ward(squareform(D))
    for count in range(1, len(D) + 1):
        labels = fcluster(tree, count, "maxclust")
        expected = [
            max(np.flatnonzero(labels == label), key=lambda j: deviation[j])
            for label in np.unique(labels)
        ]
        selector = FeatureClusterSelector(count, feature_mode=mode).fit(X)
        assert_array_equal(selector.get_support(indices=True), np.sort(expected))
    heights = selector.scores_.ravel()[selector.order_]
    assert_allclose(heights, [tree[-1, 2], *tree[::-1, 2]], rtol=1e-9)


def test_too_many_features_for_all_pairs_are_refused(monkeypatch):
    monkeypatch.setattr("tensift.rivals._feature_clusters._MOST", 10)
    with pytest.raises(ValueError, match=r"X has 20 features that vary.*at most of 10 features"):
        FeatureClusterSelector(3).fit(TALL)


# Facility location


def similarities(X, mode):
    return (1 - distances_of(X, mode)[0]) ** 2


@tensors
def test_facility_location_by_definition(X, mode):
    similar = similarities(X, mode)
    size = len(similar)

    def served(chosen):
        return similar[:, chosen].max(axis=1).sum() / size if chosen else 0.0

    # Two features that are served by each other alone tie, so gains are compared, not indices.
    fitted = FacilityLocationSelector(2, feature_mode=mode).fit(X)
    for count in range(3):
        chosen = fitted.order_[:count].tolist()
        others = [j for j in range(size) if j not in chosen]
        gains = [served([*chosen, j]) - served(chosen) for j in others]
        if count < 2:
            assert_allclose(fitted.scores_.ravel()[fitted.order_[count]], max(gains), atol=1e-9)
        else:
            assert_allclose(fitted.scores_.ravel()[others], gains, atol=1e-9)


@pytest.mark.parametrize("X", [WIDE, DIGITS], ids=["wide", "digits"])
def test_facility_location_is_that_of_apricot(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own syntax
        apricot = pytest.importorskip("apricot")
        original = apricot.FacilityLocationSelection(10, metric="corr").fit(X.T.copy())
    found, scores = picked(FacilityLocationSelector(10), X, 10)
    assert_array_equal(found, original.ranking)
    assert_allclose(scores, original.gains / X.shape[1], atol=1e-9)


def test_blocks_of_similarities_change_nothing(monkeypatch):
    expected = FacilityLocationSelector(8).fit(DIGITS)
    monkeypatch.setattr("tensift.rivals._facility_location._BLOCK", 100)
    assert_array_equal(FacilityLocationSelector(8).fit(DIGITS).order_, expected.order_)
    monkeypatch.setattr("tensift.rivals._facility_location._HELD", 100)
    assert_array_equal(FacilityLocationSelector(8).fit(DIGITS).order_, expected.order_)


# FastCan


@tensors
@pytest.mark.parametrize("n_components", [2, 5])
def test_fastcan_adds_most_to_the_canonical_correlations(X, mode, n_components):
    """The sum of their squares is that of the cosines between the two spans."""
    blocks = blocks_of(X, mode)
    target = np.linalg.svd(np.hstack(blocks), full_matrices=False)[0][:, :n_components]

    def correlated(chosen):
        if not chosen:
            return 0.0
        Q = scipy.linalg.orth(np.hstack([blocks[j] for j in chosen]), rcond=1e-10)
        return np.sum(np.linalg.svd(Q.conj().T @ target, compute_uv=False) ** 2)

    count = 2 if mode is not None else 4
    expected, gains = greedy(
        len(blocks), count, lambda chosen, j: correlated([*chosen, j]) - correlated(chosen)
    )
    selector = FastCanSelector(count, n_components=n_components, feature_mode=mode)
    found, scores = picked(selector, X, count)
    assert found == expected
    assert_allclose(scores, np.minimum.accumulate(gains), rtol=1e-7)


def test_squared_canonical_correlations_are_those_of_scikit_learn():
    scores = picked(FastCanSelector(3, n_components=3), TALL, 3)[1]
    chosen = picked(FastCanSelector(3, n_components=3), TALL, 3)[0]
    target = PCA(3).fit_transform(TALL)
    pairs = CCA(3, tol=1e-12, max_iter=20_000).fit(TALL[:, chosen], target)
    one, other = pairs.transform(TALL[:, chosen], target)
    squares = [np.corrcoef(one[:, k], other[:, k])[0, 1] ** 2 for k in range(3)]
    assert_allclose(scores.sum(), sum(squares), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_column_subsets_are_those_of_adelie(monkeypatch, seed):
    """Greedy picks, and exchanges until none helps; adelie has no ridge."""
    solver = pytest.importorskip("adelie.solver", reason="adelie is not installed")
    monkeypatch.setattr("tensift.selection._column_subsets._RIDGE", 1e-6)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 15)) + 0.3 * rng.normal(size=(60, 15))
    covariance = np.asfortranarray(np.cov(X.T))
    greedy = solver.css_cov(covariance, subset_size=6, method="greedy").subset
    assert_array_equal(ColumnSubsetSelector(6).fit(X).order_[:6], greedy)
    exchanged = solver.css_cov(covariance, subset_size=6, method="swapping").subset
    found = ColumnSubsetSelector(6, swaps=1000).fit(X).order_[:6]
    assert_array_equal(np.sort(found), np.sort(exchanged))


@cases
@pytest.mark.parametrize("n_components", [3, 10])
def test_fastcan_is_the_original(X, n_components):
    fastcan = pytest.importorskip("fastcan")
    original = fastcan.FastCan(10, verbose=0).fit(X, PCA(n_components).fit_transform(X))
    found, scores = picked(FastCanSelector(10, n_components=n_components), X, 10)
    assert_array_equal(found, original.indices_)
    assert_allclose(scores, np.minimum.accumulate(original.scores_), rtol=1e-6)


def test_fastcan_takes_as_many_components_as_features():
    default = FastCanSelector(6).fit(TALL).order_
    assert_array_equal(default, FastCanSelector(6, n_components=6).fit(TALL).order_)
    with pytest.warns(UserWarning, match="n_components=50 is more than the rank of X; 14 is used"):
        FastCanSelector(3, n_components=50).fit(WIDE)


def test_components_of_large_samples_come_from_gram_matrices(monkeypatch):
    for X in (factors(40, 30), factors(30, 40)):
        for selector in (FastCanSelector(6), QRSensorSelector(6)):
            expected = selector.fit(X).order_[:6]
            with monkeypatch.context() as patch:
                patch.setattr("tensift.rivals._fibres._DENSE", 5)
                assert_array_equal(selector.fit(X).order_[:6], expected)


# What all of them have in common


@every
def test_one_feature_of_each_group_is_found(selector):
    """Twelve sources, each in four features with a little noise: no source is picked twice."""
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(100, 12)), 4, axis=1) + 0.1 * rng.normal(size=(100, 48))
    found = selector(12).fit(X).order_[:12]
    assert set(found // 4) == set(range(12))


@every
def test_scores_and_order_agree_whatever_the_gains_do(selector):
    fitted = selector(15).fit(DIGITS)
    assert np.all(np.diff(fitted.scores_[fitted.order_]) <= 0)
    assert_array_equal(np.sort(fitted.order_), np.arange(DIGITS.shape[1]))


@every
@pytest.mark.parametrize("mode", [None, 0, 1])
def test_picks_that_explain_everything_leave_an_order(selector, mode):
    """Fewer directions than features are wanted, among them copies and constants."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))).reshape(30, 4, 3)
    X[:, 1] = X[:, 0]
    X[:, 3] = 5
    wanted = 3 if mode == 0 else 8 if mode is None else 3
    fitted = selector(wanted, feature_mode=mode).fit(X)
    size = 12 if mode is None else (4, 3)[mode]
    assert_array_equal(np.sort(fitted.order_), np.arange(size))
    assert np.isfinite(fitted.scores_).all()
    if mode is None:
        assert set(fitted.order_[-3:]) == {9, 10, 11}


@every
def test_tiny_and_huge_values(selector):
    expected = selector(5).fit(TALL).order_[:5]
    for factor in (1e-250, 1e-9, 1e90):
        assert_array_equal(selector(5).fit(factor * TALL).order_[:5], expected)
