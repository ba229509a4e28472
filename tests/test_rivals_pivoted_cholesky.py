"""Pivoted Cholesky factorisation, against the whole covariance matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.rivals import PivotedCholeskySelector
from tensift.selection import suggest_count


def columns_of(X, mode=None):
    """Centred samples, one column per feature."""
    F = X - X.mean(axis=0)
    if mode is None:
        return F.reshape(len(F), -1)
    return np.moveaxis(F, mode + 1, -1).reshape(-1, X.shape[mode + 1])


def picks_by_definition(F, count):
    """Pivots of the whole matrix of covariances, from which every step is subtracted."""
    left = F.conj().T @ F
    picks, pivots = [], []
    for _ in range(count):
        variances = np.diag(left).real.copy()
        variances[picks] = -1
        pick = int(np.argmax(variances))
        picks.append(pick)
        pivots.append(left[pick, pick].real)
        left = left - np.outer(left[:, pick], left[pick]) / pivots[-1]
    return picks, pivots, np.diag(left).real


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


@pytest.mark.parametrize("mode", [None, 0, 1])
def test_pivoted_cholesky_is_that_of_the_whole_matrix(X, mode):
    F = columns_of(X, mode)
    count = min(4, np.linalg.matrix_rank(F))
    picks, pivots, left = picks_by_definition(F, count)
    selector = PivotedCholeskySelector(count, feature_mode=mode).fit(X)
    # Rounding decides between a feature and its copy, so compare the features they are copies of.
    first_copy = [np.flatnonzero((F[:, [j]] == F).all(axis=0))[0] for j in range(F.shape[1])]
    found = selector.order_[:count]
    assert_array_equal(np.take(first_copy, found), np.take(first_copy, picks))
    picks = found
    scores = selector.scores_.ravel()
    assert_allclose(scores[picks] * len(X), pivots, rtol=1e-9)
    others = np.setdiff1d(np.arange(F.shape[1]), picks)
    expected = np.maximum(left[others], 0)
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
