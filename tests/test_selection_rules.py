"""The rules by which selectors select, and the selector that has nothing but a rule."""

import tracemalloc

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tensift import GeometrySelector, STPCASelector, collect_moments
from tensift.rivals import VarianceSelector
from tensift.selection import suggest_count, suggest_count_by_reconstruction
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder


def groups(n=90, shape=(6, 5), seed=0):
    """Samples of five groups with noise; every other column of features is a noisy copy."""
    rng = np.random.default_rng(seed)
    X = 2 * rng.normal(size=(5, *shape))[rng.integers(0, 5, n)] + rng.normal(size=(n, *shape))
    X[..., 1::2] = X[..., : 2 * (shape[-1] // 2) : 2] + 0.1 * rng.normal(size=X[..., 1::2].shape)
    return X


@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
def test_copies_are_avoided(rule):
    half = groups(120, (6, 4), seed=1) * np.linspace(1, 2, 4)
    for mode in (0, 1):
        X = np.concatenate([half, half], axis=mode + 1)
        place = np.arange(X[0].size).reshape(X.shape[1:])
        original = np.concatenate([np.split(place, 2, axis=mode)[0]] * 2, axis=mode).ravel()
        kept = {}
        for selection in (rule, "top"):
            selector = STPCASelector(10, selection=selection, lam=0.1, eta=0.1).fit(X)
            kept[selection] = len(set(original[selector.order_[:10]]))
        assert kept[rule] > kept["top"]


@pytest.mark.parametrize("rule", ["geometry", "reconstruct", "top"])
def test_auto_is_one_number_for_every_purpose(rule):
    X = groups(100, (12, 4))
    selector = VarianceSelector("auto", selection=rule).fit(X)
    by = suggest_count_by_reconstruction if rule == "reconstruct" else suggest_count
    assert selector.n_features_ == by(X).count == selector.suggested_count_.count
    assert hasattr(selector, "selection_curve_") == (rule != "top")
    if rule != "top":
        assert len(selector.selection_curve_) == selector.n_features_


def test_scores_of_zero_or_below_count_little():
    X = groups()
    geometry = Geometry(X, None)
    scores = np.random.default_rng(0).uniform(0.5, 1, 30)
    scores[:15] = 0
    negative = np.where(scores > 0, scores, -1.0)
    order = GeometryOrder(geometry, scores)
    assert np.count_nonzero(order.extend(8) >= 15) >= 6
    assert_array_equal(GeometryOrder(geometry, negative).extend(8), order.extend(8))
    without = GeometryOrder(geometry).extend(8)
    assert_array_equal(GeometryOrder(geometry, np.zeros(30)).extend(8), without)
    assert_array_equal(GeometryOrder(geometry, 7 * np.ones(30)).extend(8), without)


def test_labels_are_not_looked_at():
    X = groups()
    y = np.random.default_rng(0).integers(0, 3, len(X))
    for selector in (GeometrySelector(7), STPCASelector(7)):
        assert_array_equal(clone(selector).fit(X, y).order_, clone(selector).fit(X).order_)


def test_merged_moments_have_no_samples_to_look_at():
    X = groups()
    merged = collect_moments(X[:40]).merge(collect_moments(X[40:]))
    with pytest.raises(ValueError, match=r"looks at samples.*selection='top' and a number"):
        STPCASelector(5).fit(merged)
    assert STPCASelector(5, selection="top").fit(merged).n_features_ == 5
    with pytest.raises(ValueError, match=r"Moments without samples.*collect_moments"):
        GeometrySelector(5).fit(merged)


def test_no_matrix_of_all_pairs_of_features():
    """Such a matrix would take 800 MB; the samples take 3.2."""
    X = np.random.default_rng(0).normal(size=(40, 100, 100))
    tracemalloc.start()
    GeometrySelector(30).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * X.nbytes


# The selector without scores


@pytest.mark.parametrize("mode", [None, 0, 1])
def test_geometry_selector_is_the_rule(mode):
    X = groups()
    geometry = Geometry(X, mode)
    order = GeometryOrder(geometry)
    selector = GeometrySelector(4, feature_mode=mode).fit(X)
    assert_array_equal(selector.order_[:4], order.extend(4))
    assert_allclose(selector.selection_curve_, order.curve)
    assert_allclose(selector.scores_.ravel(), np.clip(geometry.agreement, 0, 1))
    assert selector.scores_.shape == (X.shape[1:] if mode is None else (X.shape[mode + 1],))
    auto = GeometrySelector(feature_mode=mode).fit(X)
    assert auto.n_features_ == suggest_count(X, mode).count


def test_geometry_selector_reads_all_kinds_of_input(tmp_path):
    X = groups(2100, (3, 4))  # more than are looked at
    expected = GeometrySelector(5).fit(X)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    chunked = da.from_array(X, chunks=(700, 3, 4))
    unknown = chunked[da.ones(2100, chunks=700) > 0]
    inputs = {
        "memory map": mapped,
        "iterator": iter(np.array_split(X, 7)),
        "Dask": chunked,
        "Dask of unknown lengths": unknown,
        "moments": collect_moments(X),
        "moments of a file": collect_moments(mapped),
        "moments on Dask": collect_moments(chunked),
    }
    for name, samples in inputs.items():
        found = GeometrySelector(5).fit(samples)
        assert_array_equal(found.order_, expected.order_, err_msg=name)
        assert_array_equal(found.scores_, expected.scores_, err_msg=name)
    assert_array_equal(GeometrySelector(5).fit(mapped).transform(mapped), expected.transform(X))


def test_geometry_selector_refuses_what_it_cannot_use(tmp_path):
    X = groups()
    with pytest.raises(ValueError, match="X is constant"):
        GeometrySelector(2).fit(np.full((9, 4), 0.1))
    with pytest.raises(ValueError, match="NaN"):
        GeometrySelector(2).fit(np.where(X > 4, np.nan, X))
    np.save(tmp_path / "x.npy", np.where(X > 4, np.nan, X))
    with pytest.raises(ValueError, match="NaN"):
        GeometrySelector(2).fit(np.load(tmp_path / "x.npy", mmap_mode="r"))
    with pytest.raises(ValueError, match="at least 2 are needed"):
        GeometrySelector(2).fit(iter([X[:1]]))
    with pytest.raises(ValueError, match="feature_mode"):
        GeometrySelector(2, feature_mode=2).fit(X)
    with pytest.warns(UserWarning, match="31 is more than the 30 features"):
        assert GeometrySelector(31).fit(X).n_features_ == 30


def test_geometry_selector_in_every_library(library):
    X = groups(60, (5, 4))
    samples = library.asarray(X)
    for mode in (None, 1):
        expected = GeometrySelector(4, feature_mode=mode).fit(X)
        found = GeometrySelector(4, feature_mode=mode).fit(samples)
        assert type(found.order_) is type(found.scores_) is type(samples)
        assert_array_equal(library.numpy(found.order_)[:4], expected.order_[:4])
        assert_allclose(library.numpy(found.scores_), expected.scores_, atol=1e-6)
        assert_allclose(library.numpy(found.selection_curve_), expected.selection_curve_, atol=1e-6)
        assert_array_equal(found.to_numpy().transform(X), expected.transform(X))
        auto = GeometrySelector(feature_mode=mode).fit(samples)
        assert auto.n_features_ == GeometrySelector(feature_mode=mode).fit(X).n_features_


@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
def test_the_same_selection_from_samples_and_moments_in_every_library(library, rule):
    X = groups(40, (4, 6)).cumsum(axis=2)
    settings = {"basis": "dft", "lam": 0.1, "eta": 0.1, "score_by": "energy", "selection": rule}
    expected = STPCASelector(5, **settings).fit(X)
    samples = library.asarray(X)
    for data in (samples, collect_moments(samples, basis="dft")):
        found = STPCASelector(5, **settings).fit(data)
        assert_array_equal(library.numpy(found.order_)[:5], expected.order_[:5])
        assert_allclose(library.numpy(found.selection_curve_), expected.selection_curve_, atol=1e-6)
