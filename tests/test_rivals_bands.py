"""Band selection of remote sensing, against plain transcriptions of what was published."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.rivals import (
    EvenSelector,
    MVPCASelector,
    OPBSSelector,
    PivotedCholeskySelector,
    QRSensorSelector,
    VarianceSelector,
)


def scene(seed, rows=9, columns=8, bands=25):
    """Mixed spectra with noise, and bands of different mean: pixels (rows * columns, bands)."""
    rng = np.random.default_rng(seed)
    waves = np.linspace(0, 1, bands)
    spectra = np.exp(-((waves - rng.random((4, 1))) ** 2) / 0.02)
    pixels = rng.dirichlet([0.5] * 4, size=rows * columns) @ spectra
    return pixels + 0.05 * rng.normal(size=pixels.shape) * rng.random(bands) + 5 * rng.random(bands)


SCENES = [scene(seed) for seed in range(5)] + [scene(7, rows=3, columns=3, bands=40)]
scenes = pytest.mark.parametrize("X", SCENES, ids=lambda X: "x".join(map(str, X.shape)))


def opbs(X, count):
    """Algorithm 2 of the paper: residuals, each updated by the direction that was picked last."""
    residuals = X - X.mean(axis=0)
    lengths = (residuals**2).sum(axis=0)
    chosen = [int(np.argmax(lengths))]
    while len(chosen) < count:
        last = residuals[:, chosen[-1]].copy()
        for band in range(X.shape[1]):
            if band not in chosen:
                residuals[:, band] -= last * (last @ residuals[:, band]) / (last @ last)
        lengths = (residuals**2).sum(axis=0)
        lengths[chosen] = -1
        chosen.append(int(np.argmax(lengths)))
    return chosen


@scenes
def test_opbs_is_the_algorithm_of_the_paper(X):
    assert OPBSSelector(6).fit(X).order_[:6].tolist() == opbs(X, 6)


@scenes
def test_opbs_makes_the_volume_larger_than_any_other_next_band_would(X):
    """By determinants of covariance matrices, which the method never computes."""
    covariance = np.cov(X, rowvar=False)

    def volume(bands):
        return np.linalg.slogdet(covariance[np.ix_(bands, bands)])[1]

    order = OPBSSelector(5).fit(X).order_[:5].tolist()
    for count in range(1, 5):
        before = order[:count]
        others = [band for band in range(X.shape[1]) if band not in before]
        assert order[count] == max(others, key=lambda band: volume([*before, band]))


@scenes
def test_opbs_under_other_names(X):
    found = OPBSSelector(6).fit(X)
    sensors = QRSensorSelector(6, basis="identity").fit(X)
    assert_array_equal(found.order_, sensors.order_)
    assert_array_equal(found.scores_, sensors.scores_)
    pivots = PivotedCholeskySelector(6).fit(X)
    assert_array_equal(found.order_[:6], pivots.order_[:6])
    share = pivots.scores_ / X.var(axis=0).sum()
    assert_allclose(found.scores_[found.order_[:6]], share[found.order_[:6]], rtol=1e-8)


def test_opbs_centres_bands():
    """The mean of a band is no variance."""
    X = np.column_stack([SCENES[0], np.full(72, 1e3) + 1e-3 * SCENES[1][:, 0]])
    assert 25 not in OPBSSelector(6).fit(X).order_[:6]


def loadings(X, count=None):
    """Squared entries of eigenvectors times eigenvalues, as the paper defines band priorities."""
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False, ddof=0))
    first = 0 if count is None else X.shape[1] - count
    return sum(values[k] * vectors[:, k] ** 2 for k in range(first, X.shape[1]))


@scenes
@pytest.mark.parametrize("count", [None, 1, 3, 8])
def test_mvpca_ranks_by_loadings(X, count):
    selector = MVPCASelector(5, n_components=count).fit(X)
    assert_allclose(selector.scores_, loadings(X, count), rtol=1e-9, atol=1e-12)
    assert_array_equal(selector.order_[:5], np.argsort(-loadings(X, count), kind="stable")[:5])


@scenes
def test_mvpca_of_all_components_is_variance(X):
    found, expected = MVPCASelector(5).fit(X), VarianceSelector(5).fit(X)
    assert_array_equal(found.order_, expected.order_)
    assert_array_equal(found.scores_, expected.scores_)
    every = MVPCASelector(5, n_components=X.shape[1]).fit(X)
    assert_allclose(every.scores_, expected.scores_, rtol=1e-9)
    assert_allclose(MVPCASelector(5, n_components=1000).fit(X).scores_, every.scores_, rtol=1e-12)


def test_mvpca_of_large_scenes_comes_from_gram_matrices(monkeypatch):
    expected = MVPCASelector(5, n_components=3).fit(SCENES[0]).scores_
    monkeypatch.setattr("tensift.rivals._fibres._DENSE", 5)
    found = MVPCASelector(5, n_components=3).fit(SCENES[0]).scores_
    assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize(
    ("bands", "count", "expected"),
    [
        (30, 3, [5, 15, 25]),
        (10, 1, [5]),
        (10, 10, list(range(10))),
        (7, 3, [1, 3, 5]),
        (10, 4, [1, 3, 6, 8]),
    ],
)
def test_even_bands(bands, count, expected):
    X = np.random.default_rng(0).normal(size=(20, bands))
    selector = EvenSelector(count).fit(X)
    assert selector.get_support(indices=True).tolist() == expected
    assert selector.order_[:count].tolist() == expected
    assert_array_equal(selector.scores_, np.isin(np.arange(bands), expected))
    # Each feature is the middle one of its block, so no two are next to each other by chance.
    gaps = np.diff(expected)
    assert gaps.size == 0 or gaps.max() - gaps.min() <= 1


def test_even_bands_of_patches_and_without_constant_ones():
    X = np.random.default_rng(0).normal(size=(20, 3, 3, 12))
    assert EvenSelector(4, feature_mode=2).fit(X).get_support(indices=True).tolist() == [
        1,
        4,
        7,
        10,
    ]
    X[..., :6] = 1
    found = EvenSelector(3, feature_mode=2).fit(X)
    assert found.get_support(indices=True).tolist() == [7, 9, 11]
    assert sorted(found.order_[6:]) == list(range(6))
