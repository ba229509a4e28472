"""A whole-number weight is so many copies of a sample, on every estimator and from every source."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    SelectFromDecomposition,
    SparseTensorPCA,
    STPCASelector,
    TensorPCA,
    collect_moments,
    stpca_path,
)
from tensift._utils import checkpoint as _checkpoint
from tensift._utils.namespace import to_numpy
from tensift.datasets import load_digits
from tensift.metrics import judge_selections
from tensift.rivals import list_selectors
from tensift.selection import (
    feature_agreement,
    suggest_count,
    suggest_count_by_reconstruction,
)
from tensift.sources import Chunks

X = load_digits().data[:120, :, :6]
RNG = np.random.default_rng(0)
W = RNG.integers(0, 4, len(X))
REPEATED = np.repeat(X, W, axis=0)
GROUPS = np.repeat(["anna", "bert", "carl", "dora"], [60, 30, 20, 10])

OURS = [
    STPCASelector(8),
    STPCASelector("auto", basis="dct", selection="reconstruct"),
    STPCASelector(8, basis="eigen", selection="top", orientation=1),
    STPCASelector(8, orientation="auto", basis="auto", lam=1.0, eta=1.0),
    STPCASelector(3, feature_mode=0, score_by="energy", solver="paper"),
    STPCASelector(8, scale="feature", basis="dct"),
    STPCASelector(3, scale="feature", basis="eigen", feature_mode=0, selection="reconstruct"),
    GeometrySelector(),
    GeometrySelector(3, feature_mode=1),
    GeometrySelector(8, scale="feature"),
    ColumnSubsetSelector(8, swaps=5),
    ColumnSubsetSelector(8, scale="feature"),
    SelectFromDecomposition(n_features_to_select=8),
    TensorPCA(3, whiten=True),
    TensorPCA(0.9, truncation="global", basis="haar"),
    SparseTensorPCA(2, lam=0.1),
]
RIVALS = [
    info.make(count, random_state=0, feature_mode=mode)
    for info in list_selectors()
    if info.takes_weights
    for count, mode in ((6, None), ("auto", 0))
]


def assert_same(one, other, rtol=1e-9):
    """Results agree to rounding; features whose scores rounding may order may change places."""
    scale = np.abs(other.scores_).max()
    assert_allclose(one.scores_, other.scores_, rtol=rtol, atol=rtol * scale)
    if not hasattr(other, "n_features_"):
        assert_allclose(one.transform(X), other.transform(X), rtol=rtol, atol=1e-8)
        assert_allclose(one.explained_variance_, other.explained_variance_, rtol=rtol)
        return
    assert one.n_features_ == other.n_features_
    assert_array_equal(one.get_support(), other.get_support())
    if hasattr(other, "selection_curve_"):
        assert_allclose(one.selection_curve_, other.selection_curve_, rtol=rtol, atol=1e-12)
    if hasattr(other, "suggested_count_"):
        assert_allclose(one.suggested_count_.curve, other.suggested_count_.curve, atol=1e-9)


@pytest.mark.parametrize("estimator", [*OURS, *RIVALS], ids=repr)
@pytest.mark.filterwarnings("ignore:n_components:UserWarning")
def test_whole_numbers_are_copies(estimator):
    weighted = clone(estimator).fit(X, sample_weight=W)
    repeated = clone(estimator).fit(REPEATED)
    assert_same(weighted, repeated, rtol=1e-7)
    assert_same(clone(estimator).fit(X[W > 0], sample_weight=W[W > 0]), weighted)  # 0 is absence


@pytest.mark.parametrize("estimator", [*OURS[:12], *RIVALS[::2]], ids=repr)
def test_what_is_restored_and_replaced(estimator):
    one, other = clone(estimator).fit(X, sample_weight=W), clone(estimator).fit(REPEATED)
    if isinstance(one.n_features_to_select, int):
        Z, new = one.transform(X), other.transform(X)
        for noise in (None, 0.5):
            for found, expected in zip(
                one.reconstruct(Z, return_std=True, noise=noise),
                other.reconstruct(new, return_std=True, noise=noise),
                strict=True,
            ):
                assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    if one.n_features_ < one.order_.size:
        assert_allclose(one.replacements().lost, other.replacements().lost, rtol=1e-6, atol=1e-9)


def test_more_values_of_samples_than_weights_add_up_to():
    """Thin factors of few samples, dense matrices of their copies."""
    X = RNG.normal(size=(12, 30, 2))
    w = RNG.integers(0, 2, 12) * 3 + 1
    for estimator in (STPCASelector(5, lam=1.0, eta=1.0), TensorPCA(3)):
        one, other = clone(estimator).fit(X, sample_weight=w), clone(estimator).fit(X.repeat(w, 0))
        assert_allclose(one.scores_, other.scores_, rtol=1e-4, atol=1e-6)
    solver = STPCASelector(5, lam=1.0, eta=1.0, solver="paper")
    one, other = clone(solver).fit(X, sample_weight=w), clone(solver).fit(X.repeat(w, 0))
    assert_allclose(one.scores_, other.scores_, rtol=1e-6, atol=1e-12)


def test_functions():
    path, other = (
        stpca_path(X, [0.1, 1], [1.0], sample_weight=W),
        stpca_path(REPEATED, [0.1, 1], [1.0]),
    )
    assert_allclose(path.scores, other.scores, rtol=1e-9)
    assert_allclose(path.spread, other.spread, rtol=1e-9)
    assert_allclose(feature_agreement(X, None, W), feature_agreement(REPEATED), atol=1e-12)
    for suggest in (suggest_count, suggest_count_by_reconstruction):
        found, expected = suggest(X, sample_weight=W), suggest(REPEATED)
        assert found.count == expected.count
        assert_allclose(found.curve, expected.curve, atol=1e-9)


def test_judged_selections_weigh_samples():
    """With weights of zero, the others alone are judged; equal weights change nothing."""
    chosen = [np.arange(10), np.arange(20, 40)]
    part = judge_selections(X, chosen, sample_weight=np.arange(120) < 80)
    alone = judge_selections(X[:80], chosen)
    equal = judge_selections(X[:80], chosen, sample_weight=np.full(80, 7.0))
    for found in (part, equal):
        assert_allclose(found.neighbours_kept, alone.neighbours_kept, atol=1e-12)
        assert_allclose(found.neighbour_agreement, alone.neighbour_agreement, atol=1e-12)


@pytest.mark.parametrize("selector", [GeometrySelector(8), ColumnSubsetSelector(8)], ids=repr)
def test_only_ratios_matter_to_rules(selector):
    weights = RNG.uniform(0.1, 3, len(X))
    one, other = (clone(selector).fit(X, sample_weight=c * weights) for c in (1, 1 / 128))
    assert_array_equal(one.order_, other.order_)
    Z = one.transform(X)
    for found, expected in zip(one.reconstruct(Z, True), other.reconstruct(Z, True), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_weights_that_add_up_to_one():
    share = RNG.uniform(0.5, 1, len(X))
    one = TensorPCA(2).fit(X, sample_weight=share / share.sum())
    other = TensorPCA(2).fit(X, sample_weight=share)
    for found in (one, other):
        assert np.isfinite(found.explained_variance_).all()
    assert_allclose(one.explained_variance_, other.explained_variance_, rtol=1e-12)


# From every source


def written(tmp_path, values, name="x.npy"):
    np.save(tmp_path / name, values)
    return np.load(tmp_path / name, mmap_mode="r")


def in_chunks(array, size=17):
    return [array[start : start + size] for start in range(0, len(array), size)]


def dask_array(values, chunks=25):
    da = pytest.importorskip("dask.array")
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def of_unknown_lengths():
    da = pytest.importorskip("dask.array")
    whole = dask_array(np.concatenate([X, X[:1]]))
    return whole[da.from_array(np.arange(121) < 120, chunks=25)]


SOURCES = {
    "memory map": lambda path: written(path, X),
    "iterator": lambda path: iter(in_chunks(X)),
    "chunks": lambda path: Chunks(lambda: in_chunks(X)),
    "Dask": lambda path: dask_array(X),
    "Dask of unknown lengths": lambda path: of_unknown_lengths(),
}
WEIGHTS = {
    "list": lambda path: W.tolist(),
    "memory map": lambda path: written(path, W, "w.npy"),
    "Dask": lambda path: dask_array(W, 40),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("source", SOURCES)
def test_from_every_source(source, weights, tmp_path):
    expected = STPCASelector(8, lam=1, eta=1).fit(X, sample_weight=W)
    with sklearn.config_context(working_memory=32 * 20 * 48 * 8 / 2**20):  # chunks of 20 samples
        given = SOURCES[source](tmp_path)
        found = STPCASelector(8, lam=1, eta=1).fit(given, sample_weight=WEIGHTS[weights](tmp_path))
        assert_same(found, expected)
        assert_array_equal(found._moments.subsample.rows(), X[W > 0])
        assert_array_equal(found._moments.subsample.kept().weights, W[W > 0])
        looked = GeometrySelector(8).fit(
            SOURCES[source](tmp_path), sample_weight=WEIGHTS[weights](tmp_path)
        )
    assert_array_equal(looked.order_, GeometrySelector(8).fit(REPEATED).order_)


@pytest.mark.parametrize("basis", ["eigen", "identity"])
def test_in_several_passes(basis, tmp_path):
    expected = STPCASelector(8, basis=basis, lam=1, eta=1).fit(REPEATED)
    for given in (written(tmp_path, X), dask_array(X), Chunks(lambda: in_chunks(X))):
        selector = STPCASelector(8, basis=basis, lam=1, eta=1)
        assert_same(selector.fit(given, sample_weight=W), expected)
    with (
        sklearn.config_context(working_memory=0.002),
        pytest.warns(UserWarning, match="blocks, with one pass"),
    ):
        found = STPCASelector(8, basis=basis, lam=1, eta=1).fit(
            written(tmp_path, X), sample_weight=W
        )
    assert_same(found, expected)


def test_partial_fit():
    expected = STPCASelector(8).fit(REPEATED)
    stream, mixed = STPCASelector(8), STPCASelector(8)
    for start in range(0, 120, 24):
        part = slice(start, start + 24)
        stream.partial_fit(X[part], sample_weight=W[part], solve=False)
        if start < 48:  # without weights, repeated as they are
            mixed.partial_fit(X[part].repeat(W[part], axis=0), solve=False)
        else:
            mixed.partial_fit(iter([X[part]]), sample_weight=W[part], solve=False)
    stream.partial_fit(X[:5], sample_weight=np.zeros(5), solve=False)
    assert_same(stream.solve(), expected)
    assert_same(mixed.solve(), expected)
    assert stream.n_samples_seen_ == np.count_nonzero(W)


def test_a_stream_may_begin_with_samples_that_do_not_count():
    stream = STPCASelector(8).partial_fit(X[:5], sample_weight=np.zeros(5))
    assert_same(stream.partial_fit(X, sample_weight=W), STPCASelector(8).fit(REPEATED))


@pytest.mark.parametrize("kind", ["memory map", "iterator"])
def test_checkpoints(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0)
    monkeypatch.setattr(_checkpoint, "_SHARE", np.inf)
    with sklearn.config_context(working_memory=32 * 20 * 48 * 8 / 2**20):

        def fail_at(number):
            for place, chunk in enumerate(in_chunks(X, 20)):
                if place == number:
                    raise KeyboardInterrupt
                yield chunk

        def again():
            return fail_at(99) if kind == "iterator" else SOURCES[kind](tmp_path)

        file = tmp_path / "pass.npz"
        expected = collect_moments(SOURCES[kind](tmp_path), sample_weight=W, groups=GROUPS)
        if kind == "iterator":
            expected = collect_moments(fail_at(99), sample_weight=W, groups=GROUPS)
            with pytest.raises(KeyboardInterrupt):
                collect_moments(fail_at(4), sample_weight=W, groups=GROUPS, checkpoint=file)
            given = fail_at(99)
        else:
            given = SOURCES[kind](tmp_path)
        for _ in range(2):
            found = collect_moments(given, sample_weight=W, groups=GROUPS, checkpoint=file)
            assert (found.count, found.total) == (expected.count, expected.total)
            assert_array_equal(found.gram().array, expected.gram().array)
            kept = found.subsample.kept()
            assert_array_equal(kept.weights, expected.subsample.kept().weights)
            assert_array_equal(kept.groups, expected.subsample.kept().groups)
            given = again()
        for other in ({"sample_weight": W + 1}, {"sample_weight": W}, {}):
            with pytest.raises(ValueError, match="checkpoint"):
                collect_moments(again(), checkpoint=file, **other)


def test_on_devices(library):
    expected = STPCASelector(8, lam=1, eta=1).fit(REPEATED)
    for weights in (W, library.asarray(W.astype(float))):
        found = STPCASelector(8, lam=1, eta=1).fit(library.asarray(X), sample_weight=weights)
        assert_allclose(to_numpy(found.scores_), expected.scores_, rtol=1e-6, atol=1e-9)
        assert_array_equal(to_numpy(found.get_support()), expected.get_support())
    Z = found.transform(library.asarray(X))
    restored, deviation = found.reconstruct(Z, return_std=True)
    good, spread = expected.reconstruct(expected.transform(X), return_std=True)
    assert_allclose(to_numpy(restored), good, atol=1e-6)
    assert_allclose(to_numpy(deviation), spread, atol=1e-6)
    chosen = GeometrySelector(8).fit(library.asarray(X), sample_weight=W, groups=GROUPS)
    host = GeometrySelector(8).fit(X, sample_weight=W, groups=GROUPS)
    assert_array_equal(to_numpy(chosen.order_), host.order_)
    part = STPCASelector(8, lam=1, eta=1).partial_fit(library.asarray(X), sample_weight=W)
    assert_allclose(to_numpy(part.scores_), expected.scores_, rtol=1e-6, atol=1e-9)


def test_complex_samples():
    Z = X[:, :, :3] + 1j * X[:, :, 3:]
    for estimator in (
        STPCASelector(5, lam=1, eta=1, basis="dft", score_by="energy"),
        STPCASelector(5, selection="reconstruct"),
        GeometrySelector(5),
        TensorPCA(2),
    ):
        one, other = clone(estimator).fit(Z, sample_weight=W), clone(estimator).fit(Z.repeat(W, 0))
        assert_allclose(one.scores_, other.scores_, rtol=1e-7, atol=1e-9)
        if hasattr(one, "get_support"):
            assert_array_equal(one.get_support(), other.get_support())


# Groups


FIXED = [one for one in [*OURS, *RIVALS] if getattr(one, "n_features_to_select", 1) != "auto"]


@pytest.mark.parametrize("estimator", FIXED, ids=repr)
@pytest.mark.filterwarnings("ignore:n_components:UserWarning")
def test_groups_are_weights_of_the_same_sum(estimator):
    size = {name: np.count_nonzero(name == GROUPS) for name in np.unique(GROUPS)}
    explicit = [len(X) / (len(size) * size[name]) for name in GROUPS]
    found = clone(estimator).fit(X, groups=GROUPS)
    assert_same(found, clone(estimator).fit(X, sample_weight=explicit), rtol=1e-7)
    own = RNG.uniform(1, 2, len(X))
    both = clone(estimator).fit(X, sample_weight=own, groups=GROUPS)
    scaled = own.copy()
    for name in size:
        scaled[name == GROUPS] *= own.sum() / (4 * own[name == GROUPS].sum())
    assert_same(both, clone(estimator).fit(X, sample_weight=scaled), rtol=1e-7)


# What users pass


@pytest.mark.parametrize("estimator", [STPCASelector(3), GeometrySelector(3), TensorPCA(2)])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[-1.0, np.ones(119)], "negative weight at sample 0"),
        (np.r_[1, 1, np.nan, np.ones(117)], "NaN at sample 2"),
        (np.r_[np.ones(119), np.inf], "infinity at sample 119"),
        (np.full(120, 1e308), "sum overflows"),
        (np.ones(119), "sample_weight has 119 values, but X has 120 samples"),
        (np.ones(121), "sample_weight has 121 values, but X has 120 samples"),
        (np.zeros(120), "only zero weights"),
        (np.eye(120)[3], "positive weight for only 1 sample"),
        (np.ones((120, 1)), "1D array"),
        (2.0, "1D array"),
        ([], "is empty"),
        (["a"] * 120, "real numbers"),
        (np.ones(120, complex), "real numbers"),
        (np.ma.masked_less(np.arange(120), 3), "masked"),
    ],
)
@pytest.mark.parametrize("kind", ["array", "memory map", "iterator", "Dask"])
def test_unusable_weights(estimator, weights, message, kind, tmp_path):
    given = X if kind == "array" else SOURCES[kind](tmp_path)
    with pytest.raises(ValueError, match=message) as caught:
        clone(estimator).fit(given, sample_weight=weights)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 119, "groups has 119 values, but X has 120 samples"),
        (np.ones((120, 2)), "1D array"),
        (np.r_[np.nan, np.ones(119)], "NaN"),
        ([None, *["a"] * 119], "cannot be compared|None"),
        ([1, *["a"] * 119], None),
        (np.array([1, *["a"] * 119], object), "of one kind"),
    ],
)
def test_unusable_groups(groups, message):
    if message is None:  # NumPy makes text of both
        GeometrySelector(3).fit(X, groups=groups)
        return
    with pytest.raises(ValueError, match=message):
        GeometrySelector(3).fit(X, groups=groups)


def test_weights_and_groups_of_different_lengths():
    with pytest.raises(ValueError, match="groups has 120 values, but sample_weight has 119"):
        STPCASelector(3).fit(X, sample_weight=np.ones(119), groups=GROUPS)


def test_moments_have_their_weights():
    moments = collect_moments(X, sample_weight=W)
    assert_same(STPCASelector(8).fit(moments), STPCASelector(8).fit(REPEATED))
    for fit in (
        STPCASelector(8).fit,
        GeometrySelector(8).fit,
        TensorPCA(2).fit,
        lambda X, **more: stpca_path(X, [1], [1], **more),
    ):
        for more in ({"sample_weight": W}, {"groups": GROUPS}):
            with pytest.raises(ValueError, match="weights already"):
                fit(moments, **more)


def test_the_weights_are_not_changed():
    weights = W.astype(float)
    STPCASelector(8).fit(X, sample_weight=weights, groups=GROUPS)
    assert_array_equal(weights, W)


# scikit-learn

WITH_WEIGHTS = [
    STPCASelector(0.3),
    STPCASelector(0.3, selection="reconstruct", basis="dct"),
    GeometrySelector(0.3),
    ColumnSubsetSelector(0.3),
    TensorPCA(2),
    SparseTensorPCA(1),
    *(info.make(0.3, random_state=0) for info in list_selectors()[2:] if info.takes_weights),
]
CHECKS = {
    f"{number}-{estimator.__class__.__name__}-{check.func.__name__}": (estimator, check)
    for number, estimator in enumerate(WITH_WEIGHTS)
    for _, check in estimator_checks_generator(estimator)
    if "sample_weight" in check.func.__name__ and "sparse" not in check.func.__name__
}


def test_there_are_checks_of_weights():
    names = {name.split("-")[-1] for name in CHECKS}
    assert {"check_sample_weights_pandas_series", "check_sample_weights_shape"} <= names
    assert "check_sample_weight_equivalence_on_dense_data" in names


@pytest.mark.parametrize("name", CHECKS)
def test_estimator_checks(name):
    estimator, check = CHECKS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the data of the checks are random
        check(clone(estimator))


def test_who_takes_weights():
    """Those that see samples through their scatter, and no others."""
    without = {info.name for info in list_selectors() if not info.takes_weights}
    assert without == {
        "CPUFS", "CPUFSnn", "NLGMS", "RNE", "SOGFS", "NDFS", "UDFS", "MCFS", "LaplacianScore",
    }  # fmt: skip
    for info in list_selectors():
        assert has_fit_parameter(info.selector, "groups") == info.takes_weights


def test_pipelines_and_routing():
    expected = STPCASelector(8).fit(REPEATED).get_support()
    rows = X.reshape(120, -1)
    pipeline = make_pipeline(STPCASelector(8, feature_shape=(8, 6)), GeometrySelector(4))
    pipeline.fit(rows, stpcaselector__sample_weight=W)
    assert_array_equal(pipeline[0].get_support(), expected)
    with config_context(enable_metadata_routing=True):
        first = STPCASelector(8, feature_shape=(8, 6)).set_fit_request(
            sample_weight=True, groups=False
        )
        second = GeometrySelector(4).set_fit_request(sample_weight=False, groups=True)
        routed = make_pipeline(first, second).fit(rows, sample_weight=W, groups=GROUPS)
        assert_array_equal(routed[0].get_support(), expected)
        kept = routed[0].transform(rows)
        chosen = GeometrySelector(4).fit(kept, groups=GROUPS).get_support()
    assert_array_equal(routed[1].get_support(), chosen)


def test_pickles_keep_weights():
    selector = GeometrySelector(8).fit(X, sample_weight=W)
    Z = selector.transform(X)
    again = pickle.loads(pickle.dumps(selector))
    assert_array_equal(again.reconstruct(Z), selector.reconstruct(Z))


def test_moments_want_a_positive_weight_for_each_sample(library):
    moments = collect_moments(library.asarray(X))
    for weights, message in (
        (np.ones(119), "120 samples"),
        (np.zeros(120), "positive and finite"),
        (np.full(120, np.nan), "positive and finite"),
    ):
        with pytest.raises(ValueError, match=message):
            moments.update(library.asarray(X), weights=weights)
    more = moments.update(library.asarray(X), weights=np.full(120, 2.0))
    assert (more.count, more.total) == (240, 360)
    assert_allclose(to_numpy(more.spread()), X.std(axis=0), atol=1e-12)
