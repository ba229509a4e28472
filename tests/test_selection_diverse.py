"""Features that do not repeat one another, against factorisations of whole covariance matrices."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector, collect_moments
from tensift.algebra import make_transforms
from tensift.moments import Moments, Orientation
from tensift.rivals import PivotedCholeskySelector, VarianceSelector
from tensift.selection import explained_energy, rank_diverse, rank_features, suggest_count
from tensift.selection._covariances import covariances_of_slices
from tensift.selection._diverse import DiverseOrder


def columns_of(X, mode=None):
    """Centred samples, a column a feature."""
    F = X - X.mean(axis=0)
    if mode is None:
        return F.reshape(len(F), -1)
    return np.moveaxis(F, mode + 1, -1).reshape(-1, X.shape[mode + 1])


def picks_by_definition(F, weights, count, damping=None, power=0.75):
    """Pivots of the whole matrix of covariances, from which every step is subtracted."""
    deviations = np.sqrt(np.mean(np.abs(F) ** 2, axis=0))
    varies = deviations > 1e-12
    F = np.where(varies, F / np.where(varies, deviations, 1) ** power, 0)
    left = F.conj().T @ F
    if damping is None:
        damping = np.diag(left).real[varies].mean()
    picks, pivots = [], []
    for _ in range(count):
        gains = weights * np.diag(left).real
        gains[picks] = -1
        pick = int(np.argmax(gains))
        picks.append(pick)
        pivots.append(left[pick, pick].real)
        left = left - np.outer(left[:, pick], left[pick]) / (pivots[-1] + damping)
    gains = weights * np.diag(left).real
    gains[picks] = -1
    return picks, pivots, gains


@pytest.fixture(params=["real", "complex"])
def X(request):
    """Samples of unlike features, among them a copy along each of the modes."""
    rng = np.random.default_rng(3)
    samples = rng.normal(size=(15, 5, 6)) @ rng.normal(size=(6, 6))
    if request.param == "complex":
        samples = samples + 1j * rng.normal(size=samples.shape)
    samples *= rng.uniform(0.1, 3, size=(5, 6))
    samples[:, :, 4] = samples[:, :, 1]
    samples[:, 3] = samples[:, 0]
    return samples


def positive_scores(shape, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 1, size=shape)


@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("share", [0.3, 1])
def test_picks_are_pivots_of_the_damped_factorisation(X, mode, share):
    shape = X.shape[1:] if mode is None else X.shape[1 + mode : 2 + mode]
    scores = positive_scores(shape)
    count = max(1, round(share * scores.size))
    ranking = rank_diverse(X, scores, count, feature_mode=mode)
    picks, _, gains = picks_by_definition(columns_of(X, mode), scores.ravel() ** 2, count)
    assert_array_equal(ranking[:count], picks)
    assert_array_equal(np.sort(ranking), np.arange(scores.size))
    assert np.all(np.diff(gains[ranking[count:]]) <= 1e-9)


@pytest.mark.parametrize("mode", [None, 0, 1])
def test_curve_is_that_of_least_squares(X, mode):
    """Exactly, with features that depend on those before, and more of them than dimensions."""
    F = columns_of(X, mode)
    order = np.random.default_rng(1).permutation(F.shape[1])
    curve = explained_energy(X, order, feature_mode=mode)
    for t in range(1, len(order) + 1):
        chosen = F[:, order[:t]]
        rest = F - chosen @ np.linalg.lstsq(chosen, F, rcond=1e-10)[0]
        share = 1 - np.sum(np.abs(rest) ** 2) / np.sum(np.abs(F) ** 2)
        assert_allclose(curve[t - 1], share, atol=1e-12)
    assert_allclose(curve[-1], 1)


@pytest.mark.parametrize("mode", [0, 1])
def test_a_feature_and_its_copy_are_not_both_among_the_first(mode):
    """Copies along either mode; the best scores come in pairs, which "top" keeps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4, 4))
    X = np.concatenate([X, X], axis=mode + 1)
    half = 0.5 + 0.4 * rng.random((4, 4))
    scores = np.concatenate([half, half], axis=mode)
    original = np.arange(32).reshape(scores.shape)
    original = np.concatenate([np.split(original, 2, axis=mode)[0]] * 2, axis=mode).ravel()
    first = original[rank_diverse(X, scores, 8)[:8]]
    assert len(set(first)) == 8
    assert len(set(original[rank_features(scores)[:8]])) == 4


def test_copies_along_either_mode_are_avoided_by_the_selector():
    rng = np.random.default_rng(1)
    half = rng.normal(size=(120, 6, 4)) * np.linspace(1, 2, 4)
    for mode in (0, 1):
        X = np.concatenate([half, half], axis=mode + 1)
        place = np.arange(X[0].size).reshape(X.shape[1:])
        original = np.concatenate([np.split(place, 2, axis=mode)[0]] * 2, axis=mode).ravel()
        for orientation in (0, 1):
            kept = {}
            for selection in ("diverse", "top"):
                selector = STPCASelector(
                    10, orientation=orientation, selection=selection, lam=0.1, eta=0.1
                ).fit(X)
                kept[selection] = len(set(original[selector.order_[:10]]))
            assert kept["diverse"] == 10 > kept["top"]


def test_orders_are_nested(X):
    scores = positive_scores((5, 6))
    longest = rank_diverse(X, scores, 30)
    for count in (1, 2, 7, 29):
        assert_array_equal(rank_diverse(X, scores, count)[:count], longest[:count])
    assert_array_equal(rank_diverse(X, scores, 1000), longest)


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**300])
def test_units_do_not_matter(X, factor):
    scores = positive_scores((5, 6))
    order = rank_diverse(X, scores, 20)
    assert_array_equal(rank_diverse(factor * X, scores, 20), order)
    assert_array_equal(rank_diverse(X, scores * 2.0**-500, 20), order)
    assert_array_equal(explained_energy(factor * X, order), explained_energy(X, order))


def test_constant_features_come_last_whatever_their_scores(X):
    X[:, 2, 3] = 7
    X[:, 4, 0] = 1e6
    X[::2, 4, 0] += 1e-9  # by rounding
    scores = positive_scores((5, 6))
    scores[2, 3], scores[4, 0] = 9, 8
    ranking = rank_diverse(X, scores, 30)
    assert_array_equal(ranking[-2:], [15, 24])
    assert_array_equal(
        ranking[:28], rank_diverse(X, scores, 5)[:28][:5].tolist() + list(ranking[5:28])
    )
    curve = explained_energy(X, [15, *ranking[:3]])
    assert curve[0] == 0
    assert_allclose(curve[1:], explained_energy(X, ranking[:3]))


def test_features_without_a_score_come_in_tiers():
    """After all with a score, by the first tie that is not zero, and each tier by its gains."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    scores = np.array([3, 2, 1, 1, *[0] * 8], float)
    first = np.array([0, 0, 0, 0, 1, 2, 3, *[0] * 5], float)
    last = np.ones(12)
    ranking = rank_diverse(X, scores, 9, ties=[first, last])
    assert set(ranking[:4]) == {0, 1, 2, 3}
    assert set(ranking[4:7]) == {4, 5, 6}
    assert set(ranking[7:]) == {7, 8, 9, 10, 11}
    weights = [scores, first, last]
    picks = []
    F = columns_of(X)
    for tier, stop in zip(weights, (4, 7, 9), strict=True):
        # Of the same matrix, with the steps of the tiers before.
        free = tier > 0 if tier is not last else ~np.isin(np.arange(12), picks)
        picks = continued(F, np.where(free, tier**2, 0), picks, stop)
    assert_array_equal(ranking[:9], picks)


def continued(F, weights, picks, stop):
    F = F / np.sqrt(F.std(axis=0))
    left = F.T @ F
    damping = np.diag(left).mean()
    picks = list(picks)
    for pick in picks:
        left = left - np.outer(left[:, pick], left[pick]) / (left[pick, pick] + damping)
    while len(picks) < stop:
        gains = weights * np.diag(left)
        gains[picks] = -1
        picks.append(int(np.argmax(gains)))
        pick = picks[-1]
        left = left - np.outer(left[:, pick], left[pick]) / (left[pick, pick] + damping)
    return picks


def test_negative_scores_are_shifted_and_equal_gains_follow_the_scores():
    X = np.kron(np.eye(4), [[1.0], [-1.0]])  # four features alike, without covariances
    assert_array_equal(rank_diverse(X, [1.0, 1, 1, 1], 2, ties=[1.0, 3, 2, 0]), [1, 2, 0, 3])
    assert_array_equal(rank_diverse(X, [-1.0, -3, -2, -4], 3), [0, 2, 1, 3])
    assert_array_equal(rank_diverse(X, [0.0, 0, 0, 0], 3), [0, 1, 2, 3])


def test_memory_stays_far_below_a_matrix_of_covariances():
    """A matrix of covariances would take 800 MB, the samples take 1.6."""
    d = 10_000
    X = np.random.default_rng(0).normal(size=(20, 100, 100))
    scores = positive_scores((100, 100))
    tracemalloc.start()
    order = rank_diverse(X, scores, 30)
    explained_energy(X, order[:30])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * X.nbytes < 8 * d * d / 20


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: rank_diverse(X, np.ones((2, 2)), 2), r"scores has shape \(2, 2\).*\(5, 6\)"),
        (lambda X: rank_diverse(X, np.ones((5, 6)), 0), "n_features_to_select must be a positive"),
        (lambda X: rank_diverse(X, np.ones((5, 6)), 2.5), "n_features_to_select must be a positiv"),
        (lambda X: rank_diverse(X, np.ones((5, 6)), 2, ties=[1.0, 2]), "ties has shape"),
        (lambda X: rank_diverse(X * np.nan, np.ones((5, 6)), 2), "X contains NaN"),
        (lambda X: rank_diverse(X[:1], np.ones((5, 6)), 2), "two samples or more"),
        (lambda X: rank_diverse(X, np.ones(5), 2, feature_mode=2), "feature_mode"),
        (lambda X: rank_diverse(X, np.full((5, 6), np.nan), 2), "NaN, which cannot be ordered"),
        (lambda X: explained_energy(X, [0, 0]), "none of them twice"),
        (lambda X: explained_energy(X, [30]), "indices from 0 to 29"),
        (lambda X: explained_energy(X, []), "at least one"),
        (lambda X: explained_energy(0 * X, [1]), "X is constant"),
    ],
)
def test_bad_input_is_refused(X, call, message):
    with pytest.raises(ValueError, match=message):
        call(X)


# Where only moments are known


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("transform", ["identity", "dct", "dft", "random"])
@pytest.mark.parametrize("mode", [None, 0, 1, 2])
@pytest.mark.parametrize("orientation", [0, 1])
def test_covariances_of_slices_are_those_of_samples_without_what_slices_share(
    thin, transform, mode, orientation
):
    """Brute force: every slice alone makes samples, whose covariances are added up."""
    rng = np.random.default_rng(0)
    shape = (4, 3, 2)
    X = rng.normal(size=(3 if thin else 9, *shape)) * rng.uniform(0.5, 2, size=shape)
    others = [shape[k] for k in range(3) if k != orientation]
    transforms = make_transforms(transform, others, random_state=0)
    oriented = Orientation(shape, orientation, transforms)
    moments = Moments(oriented).update(X)
    assert moments.gram().thin == (thin and shape[orientation] > 3)
    slices = oriented.expand(oriented.to_slices(X - X.mean(axis=0)))
    covariances = 0
    for j in range(len(slices)):
        alone = np.zeros_like(slices, dtype=complex)
        alone[j] = slices[j]
        rows = np.moveaxis(alone, 1, -1).reshape(*others, len(X), shape[orientation])
        for axis, one in enumerate(transforms):
            rows = one.inverse(rows, axis=axis)
        F = columns_of(np.moveaxis(rows, (-2, -1), (0, orientation + 1)), mode)
        covariances = covariances + (F.conj().T @ F).real
    known = np.sum(np.abs(columns_of(X, mode)) ** 2, axis=0)
    rescaled = np.sqrt(known / np.diag(covariances))
    covariances = covariances * np.outer(rescaled, rescaled)
    vectors = np.linalg.cholesky(covariances + 1e-13 * np.trace(covariances) * np.eye(len(known))).T
    scores = positive_scores(len(known))
    picks, _, _ = picks_by_definition(vectors, scores**2, 2)
    found = covariances_of_slices(oriented, moments.gram(), moments.spread(), mode)
    assert_array_equal(DiverseOrder(found, scores, []).extend(2), picks)
    variances = found.variances
    assert_allclose(variances / variances.sum(), known / known.sum(), rtol=1e-9)
    share = covariances[picks[0]] @ covariances[picks[0]] / covariances[picks[0], picks[0]]
    gained = found.span().add(np.array(picks[:1]))
    assert_allclose(gained / variances.sum(), share / np.trace(covariances), rtol=1e-9)


def test_moments_select_as_samples_do_where_slices_share_nothing():
    """Slices of independent noise, within which features are alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6, 5))
    X[:, 3:] = X[:, :3] + 0.1 * rng.normal(size=(4000, 3, 5))
    settings = {"lam": 0.1, "eta": 0.1}
    from_samples = STPCASelector(15, **settings).fit(X)
    from_moments = STPCASelector(15, **settings).fit(collect_moments(X))
    for selector in (from_samples, from_moments):
        chosen = selector.get_support().reshape(6, 5)
        assert np.all(chosen[:3] != chosen[3:])  # of every pair one
    assert_allclose(from_moments.selection_curve_, from_samples.selection_curve_, atol=0.02)


# How many features


@pytest.mark.parametrize("selection", ["top", "diverse"])
def test_auto_is_one_number_for_every_rule(selection):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)) @ rng.normal(size=(20, 150)) + rng.normal(size=(300, 150))
    X[:, 70:] = rng.normal(size=(300, 80))
    selector = VarianceSelector("auto", selection=selection).fit(X)
    assert selector.n_features_ == suggest_count(X).count == selector.suggested_count_.count
    assert len(selector.selection_curve_) == selector.n_features_


# The plain factorisation


@pytest.mark.parametrize("mode", [None, 0, 1])
def test_pivoted_cholesky_is_that_of_the_whole_matrix(X, mode):
    F = columns_of(X, mode)
    count = min(4, np.linalg.matrix_rank(F))
    picks, pivots, left = picks_by_definition(F, np.ones(F.shape[1]), count, damping=0, power=0)
    selector = PivotedCholeskySelector(count, feature_mode=mode).fit(X)
    # Rounding decides between a feature and its copy, so compare the features they are copies of.
    first_copy = [np.flatnonzero((F == F[:, [j]]).all(axis=0))[0] for j in range(F.shape[1])]
    found = selector.order_[:count]
    assert_array_equal(np.take(first_copy, found), np.take(first_copy, picks))
    picks = found
    scores = selector.scores_.ravel()
    assert_allclose(scores[picks] * len(X), pivots, rtol=1e-9)
    others = np.setdiff1d(np.arange(F.shape[1]), picks)
    expected = np.maximum(left[others], 0)  # the reference marks its picks by -1
    assert_allclose(scores[others] * len(X), expected, atol=1e-9 * pivots[0])


def test_pivoted_cholesky_beyond_the_rank_orders_by_deviation():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 12))
    selector = PivotedCholeskySelector(10).fit(X)
    assert np.count_nonzero(selector.scores_) == 3
    rest = selector.order_[3:]
    assert np.all(np.diff(X.std(axis=0)[rest]) <= 0)
    auto = PivotedCholeskySelector("auto").fit(X)
    assert auto.n_features_ == suggest_count(X).count


# Other libraries


def test_the_same_order_in_every_library(library):
    rng = np.random.default_rng(0)
    X, mode = rng.normal(size=(15, 4, 6)) + 1j * rng.normal(size=(15, 4, 6)), 1
    scores = positive_scores(X.shape[1:] if mode is None else X.shape[2])
    ties = 1 + np.arange(scores.size, dtype=float).reshape(scores.shape)
    scores[..., :2] = 0
    expected = rank_diverse(X, scores, 5, ties=ties, feature_mode=mode)
    samples = library.asarray(X)
    found = rank_diverse(
        samples, library.asarray(scores), 5, ties=library.asarray(ties), feature_mode=mode
    )
    assert type(found) is type(samples)
    assert_array_equal(library.numpy(found), expected)
    curve = explained_energy(samples, found, feature_mode=mode)
    assert type(curve) is type(samples)
    assert_allclose(
        library.numpy(curve), explained_energy(X, expected, feature_mode=mode), rtol=1e-9
    )


def test_the_same_selection_from_samples_and_moments_in_every_library(library):
    transform = "dft"
    X = np.random.default_rng(0).normal(size=(12, 4, 6)).cumsum(axis=2)
    for data in (X, collect_moments(X, basis=transform)):
        settings = {"basis": transform, "lam": 0.1, "eta": 0.1, "score_by": "energy"}
        expected = STPCASelector(5, **settings).fit(data)
        other = library.asarray(X)
        if data is not X:
            other = collect_moments(other, basis=transform)
        found = STPCASelector(5, **settings).fit(other)
        assert_array_equal(library.numpy(found.order_), expected.order_)
        assert_allclose(library.numpy(found.selection_curve_), expected.selection_curve_, rtol=1e-8)
        auto = STPCASelector("auto", **settings).fit(other)
        assert auto.n_features_ == STPCASelector("auto", **settings).fit(data).n_features_
        assert_array_equal(auto.to_numpy().get_support(), library.numpy(auto.get_support()))
