"""Bad input to the decompositions: refused with the right exception, which names what is wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tensift import SelectFromDecomposition, SparseTensorPCA, STPCASelector, TensorPCA

X = np.random.default_rng(0).normal(size=(12, 4, 3))
ROWS = X.reshape(12, 12)
FORMS = ["entries", "features", "components"]
BOTH = [TensorPCA, SparseTensorPCA]
ALL = [*BOTH, SelectFromDecomposition]

NOT_2D = r"Expected 2D array, got {} array instead"
NUMBERS = r"arrays of bytes/strings.*[Cc]onvert your data to numeric"
TOO_LARGE = r"X has values above 1e\+100, too large for sums of squares; use larger units"
MASKED = "X has masked values.*fill them"
CLASH = "X is complex, but .* real.*; (pass real ones|convert all to one)"
NOT_UNITARY = "sparsity='entries' needs a basis that is unitary.*use sparsity='features'"


def make(kind, **params):
    size = "n_features_to_select" if kind is SelectFromDecomposition else "n_components"
    return kind(**{size: 2, **params})


def spoiled(array, value):
    array = array.copy()
    array.flat[5] = value
    return array


def refused(message, exception=ValueError):
    return pytest.raises(exception, match=f"(?s){message}")


def named(table):
    """Parametrize by a table of cases with their names."""
    return pytest.mark.parametrize("case", table.values(), ids=table)


# Samples

SAMPLES = {
    "NaN": (spoiled(X, np.nan), "X contains NaN"),
    "NaN in rows": (spoiled(ROWS, np.nan), "X contains NaN"),
    "NaN in an imaginary part": (spoiled(X + 0j, 1j * np.nan), "X contains NaN"),
    "infinity": (spoiled(X, np.inf), "X contains infinity"),
    "minus infinity": (spoiled(X, -np.inf), "X contains infinity"),
    "complex infinity": (spoiled(X + 0j, np.inf), "X contains infinity"),
    "masked values": (np.ma.masked_less(X, 0), MASKED),
    "masked rows": (np.ma.masked_less(ROWS, 0), MASKED),
    "one sample": (X[:1], "X has 1 sample.*minimum of 2.*first axis"),
    "one row": (ROWS[:1], "1 sample.*minimum of 2"),
    "no samples": (X[:0], "X has 0 sample.*minimum of 2"),
    "no rows": (ROWS[:0], "0 sample.*minimum of 2"),
    "constant": (np.full((5, 3, 2), 0.1), "X is constant.*no feature varies"),
    "constant rows": (np.full((5, 6), 7), "X is constant.*no feature varies"),
    "equal complex samples": (np.full((5, 3, 2), 1j), "X is constant.*no feature varies"),
    "too large": (1e120 * X, TOO_LARGE),
    "far too large": (1e300 * X, TOO_LARGE),
    "too small": (1e-120 * X, "X has no value above .* too small.*smaller units"),
    "one axis": (np.arange(5.0), NOT_2D.format("1D")),
    "number": (3.0, NOT_2D.format("scalar")),
    "None": (None, NOT_2D.format("scalar")),
    "dict": ({"a": 1}, NOT_2D.format("scalar")),
    "empty list": ([], NOT_2D.format("1D")),
    "strings": (np.full((5, 3, 2), "a"), NUMBERS),
    "strings in rows": ([["a", "b"], ["c", "d"]], NUMBERS),
    "objects": (np.full((5, 3, 2), object()), "real number, not 'object'", TypeError),
    "dates": (np.zeros((5, 3, 2), "M8[s]"), "X has dtype .* not numeric; pass numbers"),
    "ragged": ([[[1, 2], [3]], [[1, 2], [3, 4]]], "X is ragged.*give all samples the same shape"),
    "sparse matrix": (scipy.sparse.csr_matrix(ROWS), "Sparse data .* for X", TypeError),
    "sparse array": (scipy.sparse.csr_array(ROWS), "Sparse data .* for X", TypeError),
    "empty mode": (np.ones((5, 0, 3)), "X has a mode of length zero"),
    "rows without features": (np.ones((5, 0)), r"0 feature\(s\).*minimum of 1"),
    "complex rows": (ROWS + 1j, "Complex data not supported"),
    "column of words": (
        pd.DataFrame({"a": ["x", "y"]}),
        "^X has columns that are not numbers: 'a'",
    ),
}


@named(SAMPLES)
@pytest.mark.parametrize("kind", ALL)
def test_samples_are_refused(kind, case):
    samples, *expected = case
    estimator = make(kind)
    with refused(*expected):
        estimator.fit(samples)


LATER = {
    "other shape": (X[:, :3], r"X has samples of shape \(3, 3\), but {} .*\(4, 3\)"),
    "transposed": (X.swapaxes(1, 2), r"X has samples of shape \(3, 4\), but {} .*\(4, 3\)"),
    "another order": (X[..., None], r"X has samples of shape \(4, 3, 1\), but {} .*\(4, 3\)"),
    "rows": (ROWS, r"X has samples of shape \(12,\), but {} .*\(4, 3\)"),
    "one sample without its axis": (X[0], r"X has .*{} .*(12 features|\(4, 3\))"),
    "one axis": (X[0, 0], NOT_2D.format("1D")),
    "NaN": (spoiled(X, np.nan), "X contains NaN"),
    "infinity": (spoiled(X, np.inf), "X contains infinity"),
    "nothing": (X[:0], "X has 0 sample.*minimum of 1"),
    "masked": (np.ma.masked_less(X, 0), MASKED),
    "words": (np.full((2, 4, 3), "a"), NUMBERS),
}


@named(LATER)
@pytest.mark.parametrize("method", ["transform", "score"])
@pytest.mark.parametrize("kind", ALL)
def test_samples_are_refused_after_fit(kind, method, case):
    samples, message = case
    estimator = make(kind).fit(X)
    with refused(message.format(kind.__name__)):
        getattr(estimator, method)(samples)


@pytest.mark.parametrize("kind", ALL)
def test_samples_are_refused_after_rows(kind):
    estimator = make(kind).fit(ROWS)
    with refused(f"X has 5 features, but {kind.__name__} is expecting 12"):
        estimator.transform(ROWS[:, :5])
    with refused(r"X has samples of shape \(4, 3\).*\(12,\)"):
        estimator.transform(X)
    with refused("Sparse data .* for X", TypeError):
        estimator.transform(scipy.sparse.csr_matrix(ROWS))


@pytest.mark.parametrize("transform", ["identity", "dft"])
@pytest.mark.parametrize("kind", BOTH)
def test_complex_samples_are_refused_after_real_ones(kind, transform):
    estimator = make(kind, basis=transform).fit(X)
    for method in (estimator.transform, estimator.score, estimator.partial_fit):
        with refused(CLASH):
            method(X + 1j)


@pytest.mark.parametrize("kind", BOTH)
def test_samples_that_cannot_be_scored(kind):
    estimator = make(kind).fit(X)
    with refused("X equals the fitted mean everywhere"):
        estimator.score(np.repeat(X.mean(axis=0)[None], 3, axis=0))
    with refused(TOO_LARGE):
        estimator.score(1e200 * X)


@pytest.mark.parametrize("kind", ALL)
def test_nothing_works_before_fit(kind):
    estimator = kind()
    for method in (estimator.transform, estimator.inverse_transform, estimator.score):
        with refused(f"{kind.__name__} instance is not fitted yet", NotFittedError):
            method(X)
    with refused(f"{kind.__name__} instance is not fitted yet", NotFittedError):
        estimator.get_feature_names_out()
    for name in ("scores_", "order_", *(("components_", "mean_") if kind in BOTH else ())):
        with refused(f"'{kind.__name__}' object has no attribute '{name}'", AttributeError):
            getattr(estimator, name)


# Coordinates

COORDINATES = {
    "too many": (
        lambda Z: np.ones((3, 7)),
        r"X has shape \(3, 7\), but coordinates .* \(n, 6\); pass",
    ),
    "samples": (lambda Z: X, r"X has shape \(12, 4, 3\), but coordinates .* \(n, 6\); pass"),
    "another axis": (
        lambda Z: Z[..., None],
        r"X has shape \(12, 6, 1\), but coordinates .* \(n, 6\); pass",
    ),
    "one axis": (lambda Z: Z[0], NOT_2D.format("1D")),
    "no columns": (lambda Z: Z[:, :0], r"0 feature\(s\)"),
    "None": (lambda Z: None, NOT_2D.format("scalar")),
    "empty list": (lambda Z: [], NOT_2D.format("1D")),
    "NaN": (lambda Z: spoiled(Z, np.nan), "X contains NaN"),
    "infinity": (lambda Z: spoiled(Z, np.inf), "X contains infinity"),
    "words": (lambda Z: Z.astype(str), NUMBERS),
    "objects": (lambda Z: np.full(Z.shape, object()), "real number, not 'object'", TypeError),
    "dates": (lambda Z: np.zeros(Z.shape, "M8[s]"), "X has dtype .* not numeric; pass numbers"),
    "sparse matrix": (scipy.sparse.csr_matrix, "Sparse data .* for X", TypeError),
    "masked": (lambda Z: np.ma.masked_less(Z, 0), MASKED),
    "complex": (lambda Z: Z + 1j, CLASH),
}


@named(COORDINATES)
@pytest.mark.parametrize("transform", ["identity", "dft"])
@pytest.mark.parametrize("kind", BOTH)
def test_coordinates_are_refused(kind, transform, case):
    change, *expected = case
    estimator = make(kind, basis=transform).fit(X)
    coordinates = estimator.transform(X)
    assert coordinates.shape == (12, 6)
    with refused(*expected):
        estimator.inverse_transform(change(coordinates))


def test_coordinates_of_no_samples_are_no_samples():
    for kind in BOTH:
        for transform in ("identity", "dft"):
            estimator = make(kind, basis=transform).fit(X)
            empty = np.empty((0, estimator.n_components_))
            assert estimator.inverse_transform(empty).shape == (0, 4, 3)


@pytest.mark.parametrize("kind", BOTH)
def test_a_wrong_number_of_names_is_refused(kind):
    with refused(r"input_features should have length equal to number of features \(12\), got 5"):
        make(kind).fit(X).get_feature_names_out(["a"] * 5)


# Parameters

SHAPES = {
    "other size": (ROWS, (5, 5), r"feature_shape=\(5, 5\) has 25 elements, but .* \(12,\); give"),
    "of tensors": (X, (3, 4), r"feature_shape=\(3, 4\) .* X have shape \(4, 3\)"),
    "negative": (ROWS, (-4, -3), "feature_shape must be a tuple of positive integers, got"),
    "a number": (ROWS, 12, "'feature_shape' .* Got 12"),
}


@named(SHAPES)
@pytest.mark.parametrize("kind", ALL)
def test_feature_shapes_are_refused(kind, case):
    samples, shape, message = case
    with refused(message):
        make(kind, feature_shape=shape).fit(samples)


TRANSFORMS = {
    "singular": (np.ones((3, 3)), "basis is singular.*give an invertible"),
    "nearly singular": (np.diag([1, 1, 1e-12]), "basis is singular or close to it"),
    "of other size": (np.eye(4), r"basis has shape \(4, 4\), but .* length 3; give"),
    "NaN": (np.full((3, 3), np.nan), "basis contains NaN"),
    "objects": (np.eye(3).astype(object), "basis must hold numbers"),
    "unknown": ("magic", "basis='magic' is not a known transform; use"),
    "None": (None, "basis is a NoneType"),
    "too many": (["dct", "dct"], "basis lists 2 specifications, but 1 modes.*give one for"),
    "not linear": ((np.square, np.sqrt), r"basis\[0\] \(forward\) is not linear"),
    "not an inverse": ((np.fft.fft, np.fft.fft), r"basis\[1\] \(inverse\) does not undo"),
}


@named(TRANSFORMS)
@pytest.mark.parametrize("kind", BOTH)
def test_transforms_are_refused(kind, case):
    transform, message = case
    with refused(message):
        make(kind, basis=transform).fit(X)
    with refused(message):
        SelectFromDecomposition(make(kind, basis=transform), 2).fit(X)


NOT_UNITARY_MATRICES = {
    "skew": (X, np.eye(3) + np.eye(3, k=1)),
    "diagonal": (X, np.diag([1.0, 2.0, 3.0])),
    "one of two": (X[..., None, :], ["dct", np.diag([1.0, 2.0, 3.0])]),
}


@named(NOT_UNITARY_MATRICES)
def test_sparse_entries_need_unitary_transforms(case):
    samples, transform = case
    with refused(NOT_UNITARY):
        SparseTensorPCA(2, basis=transform).fit(samples)
    for sparsity in ("features", "components"):
        pca = SparseTensorPCA(2, basis=transform, sparsity=sparsity).fit(samples)
        assert np.isfinite(pca.transform(samples)).all()


def values(name, message, *wrong):
    """Cases of one parameter with several wrong values."""
    return {f"{name}={value!r}": ({name: value}, message) for value in wrong}


PARAMETERS = {
    **values(
        "n_components",
        r"'n_components' parameter .* int in the range \[1, inf\).* Got",
        *(0, -1, 1.5, 1.0, 2.0, 0.0, -0.5, np.nan, np.inf, "all", [2]),
    ),
    **values("orientation", "orientation=.* is not a mode of .* with 2 mode.*from 0 to 1", 2, -3),
    **values("orientation", "'orientation' .* Got", 1.0, None),
    **values("orientation", "orientation='row' must be a number from 0", "row"),
    **values("random_state", "'random_state' .* Got", "x", -1),
}
OF_TENSOR_PCA = {
    **values("truncation", "'truncation' .* must be a str among .* Got", "globl", "Slice", None),
    **values("whiten", "'whiten' .* Got", "yes", 2, None),
}
OF_SPARSE_TENSOR_PCA = {
    **values("n_components", r"'n_components' .* int in the range \[1, inf\)\. Got", 0.5, None),
    **{
        case: expected
        for name in ("lam", "ridge", "tol")
        for case, expected in values(
            name,
            rf"'{name}' parameter .* range \[0\.0, inf\)",
            *(-1, -1e-9, np.nan, np.inf, "1", None, [1.0], 1j),
        ).items()
    },
    **values(
        "lam", "lam must be at most 1 with penalty_units='relative'.*; try 0.1, or use", 1.5, 99
    ),
    **values("max_iter", r"'max_iter' .* int in the range \[1, inf\)", 0, -1, 2.5, "many", None),
    **values("n_init", r"'n_init' .* int in the range \[1, inf\)", 0, -1, 2.5, "many", None),
    **values("sparsity", "'sparsity' .* must be a str among .* Got", "magic", "entry", None),
    **values("penalty_units", "'penalty_units' .* must be a str among .* Got", "magic", None),
    **values("n_jobs", "'n_jobs' .* Got", 1.5, "2"),
    **values("verbose", "'verbose' .* Got 'loud'", "loud"),
    "n_jobs=0": ({"n_jobs": 0}, "n_jobs"),
    "n_jobs=0 without penalty": ({"n_jobs": 0, "lam": 0}, "n_jobs"),
    "n_jobs=0 of components": ({"n_jobs": 0, "sparsity": "components"}, "n_jobs"),
    "n_jobs=0 of one problem": ({"n_jobs": 0, "basis": "dct"}, "n_jobs"),
}
OF_SELECTION = {
    **values(
        "estimator",
        "estimator must be a SparseTensorPCA, a TensorPCA or None, got ",
        *(PCA(2), "pca", 3, TensorPCA, STPCASelector()),
    ),
    **values(
        "n_features_to_select",
        r"'n_features_to_select' parameter .* int in the range \[1, inf\), a float in the",
        *(0, -1, 1.5, 1.0, np.nan, "all", None),
    ),
    **values("feature_mode", "feature_mode=.* is not a mode of .* 2 mode.*from 0 to 1", 2, -3),
    **values("feature_mode", "feature_mode='0' must be a number from 0", "0"),
    "inside": ({"estimator": TensorPCA(0)}, "'n_components' parameter of TensorPCA .* Got 0"),
}
WRONG = {
    f"{kind.__name__}: {name}": (kind, *case)
    for kinds, table in (
        (BOTH, PARAMETERS),
        ([TensorPCA], OF_TENSOR_PCA),
        ([SparseTensorPCA], OF_SPARSE_TENSOR_PCA),
        ([SelectFromDecomposition], OF_SELECTION),
    )
    for kind in kinds
    for name, case in table.items()
}


@named(WRONG)
def test_parameters_are_refused(case):
    kind, params, message = case
    with refused(message):
        make(kind, **params).fit(X)


def test_parameters_that_do_not_suit_the_samples_are_refused():
    for kind in BOTH:
        with refused("orientation=1 .* 1 mode"):
            make(kind, orientation=1).fit(ROWS)
        with refused(
            "basis has no mode to transform.*give the shape of one sample as feature_shape"
        ):
            make(kind, basis=np.eye(12)).fit(ROWS)
    without_mean = X - X.mean(axis=2, keepdims=True)  # the first slice under the DFT
    with refused("n_components=1 is too small: only conjugate pairs .* use at least 2"):
        TensorPCA(1, truncation="global", basis="dft").fit(without_mean)


def test_the_shape_of_samples_is_the_selectors_to_know():
    inside = TensorPCA(2, feature_shape=(4, 3))
    with refused(r"feature_shape=\(4, 3\) .* shape \(3, 4\)"):
        SelectFromDecomposition(inside, 2, feature_shape=(3, 4)).fit(ROWS)
    with refused("feature_shape"):
        SelectFromDecomposition(inside, 2, feature_mode=0).fit(ROWS)


def test_selected_features_of_another_number_are_refused():
    with refused(r"X has samples of shape \(5,\), but transform returns \(2,\)"):
        make(SelectFromDecomposition).fit(X).inverse_transform(np.ones((3, 5)))


# Penalties that leave nothing


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
@pytest.mark.parametrize("sparsity", FORMS)
def test_a_penalty_that_leaves_nothing_is_said(sparsity, transform):
    pca = SparseTensorPCA(2, sparsity=sparsity, basis=transform)
    critical = pca.set_params(lam=0.5).fit(X).lam_ / 0.5
    pca.set_params(penalty_units="absolute", lam=1.01 * critical)
    with pytest.raises(
        ValueError, match=r"lam=.* leaves nothing: every encoder is zero; lower lam"
    ):
        pca.fit(X)
    with pytest.raises(ValueError, match="leaves nothing"):
        SelectFromDecomposition(pca, 2).fit(X)
    assert pca.set_params(lam=0.95 * critical).fit(X).n_components_ >= 1


@pytest.mark.parametrize("sparsity", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_the_whole_critical_value_leaves_nothing(sparsity, seed):
    samples = np.random.default_rng(seed).normal(size=(12, 4, 3))
    with pytest.raises(ValueError, match=r"lam=1.0 leaves nothing.*lower lam") as caught:
        SparseTensorPCA(2, lam=1.0, sparsity=sparsity).fit(samples)
    assert "set penalty_units='relative'" not in str(caught.value)  # it is


@pytest.mark.parametrize("ridge", [1.0, 1e6])
@pytest.mark.parametrize("sparsity", FORMS)
def test_a_large_ridge_shrinks_but_leaves_something(sparsity, ridge):
    pca = SparseTensorPCA(2, ridge=ridge, lam=0.01, sparsity=sparsity).fit(X)
    plain = SparseTensorPCA(2, lam=0.01, sparsity=sparsity).fit(X)
    assert 0 < np.abs(pca.encoder_).max() < np.abs(plain.encoder_).max()
    assert np.isfinite(pca.transform(X)).all()


def test_iterations_that_run_out_are_said_at_the_callers_line():
    with pytest.warns(ConvergenceWarning, match="3 of 3 problems .* increase max_iter or") as seen:
        SparseTensorPCA(2, max_iter=1).fit(X)
    assert seen[0].filename == __file__


# More than there is


@pytest.mark.parametrize("kind", BOTH)
def test_too_many_components_are_said_and_all_are_kept(kind):
    with pytest.warns(UserWarning, match="n_components=99 is more than the 4 components") as seen:
        estimator = make(kind, n_components=99).fit(X)
    assert seen[0].filename == __file__
    assert estimator.n_components_ <= 12
    assert estimator.encoder_.shape == (3, 4, 4)


def test_any_number_of_components_is_too_many():
    with pytest.warns(UserWarning, match="n_components=1000+ is more than the 12 components"):
        assert TensorPCA(10**30, truncation="global").fit(X).n_components_ == 12


def test_true_components_are_one_component():
    for kind in BOTH:
        assert make(kind, n_components=True).fit(X).n_components_ == 3


# Streams

STREAMS = {
    "one sample so far": ([X[:1]], "1 sample seen so far; at least 2"),
    "empty": ([X[:0]], "X has 0 sample.*minimum of 1"),
    "empty later": ([X, X[:0]], "X has 0 sample.*minimum of 1"),
    "NaN": ([X, spoiled(X, np.nan)], "X contains NaN"),
    "masked": ([X, np.ma.masked_less(X, 0)], MASKED),
    "constant": ([np.ones((5, 3, 2))] * 2, "X is constant"),
    "other shape": ([X, X[:, :3]], r"X has samples of shape \(3, 3\).*\(4, 3\)"),
    "rows": ([X, ROWS], r"X has samples of shape \(12,\).*\(4, 3\)"),
    "complex after real": ([X, X + 1j], CLASH),
    "too large": ([X, 1e200 * X], TOO_LARGE),
}


@named(STREAMS)
@pytest.mark.parametrize("kind", BOTH)
def test_streams_are_refused(kind, case):
    chunks, message = case
    estimator = make(kind)
    with refused(message):
        for chunk in chunks:
            estimator.partial_fit(chunk)
        estimator.transform(chunks[0])


@pytest.mark.parametrize("kind", BOTH)
def test_a_transform_of_all_samples_cannot_be_streamed(kind):
    with refused("basis='eigen' is computed from all samples.*use fit, or pass the matrix"):
        make(kind, basis="eigen").partial_fit(X)


CHUNKS = {
    "NaN": spoiled(X, np.nan),
    "shape": X[:, :3],
    "complex": X + 1j,
    "empty": X[:0],
    "strings": np.full((5, 4, 3), "a"),
    "size": 1e200 * X,
    "None": None,
}


@pytest.mark.parametrize("chunk", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("kind", BOTH)
def test_a_refused_chunk_leaves_the_sums_as_they_were(kind, chunk):
    estimator = make(kind).partial_fit(X)
    coordinates = estimator.transform(X)
    with pytest.raises(ValueError, match=r"X|array"):
        estimator.partial_fit(chunk)
    assert estimator.n_samples_seen_ == 12
    assert_array_equal(estimator.transform(X), coordinates)
    whole = make(kind).fit(np.r_[X, X])
    assert_allclose(estimator.partial_fit(X).transform(X), whole.transform(X), atol=1e-6)


@pytest.mark.parametrize("params", [{"orientation": 1}, {"basis": "dct"}, {"basis": 2 * np.eye(3)}])
@pytest.mark.parametrize("kind", BOTH)
def test_what_the_first_chunk_fixed_cannot_change(kind, params):
    estimator = make(kind, basis=np.eye(3)).partial_fit(X)
    estimator.set_params(basis=np.eye(3)).partial_fit(X)
    with pytest.raises(ValueError, match=r"orientation or basis changed .*use fit, or start again"):
        estimator.set_params(**params).partial_fit(X)
    assert estimator.n_samples_seen_ == 24


@pytest.mark.parametrize("kind", BOTH)
def test_what_the_first_chunk_did_not_fix_can_change(kind):
    estimator = make(kind, n_components=1).partial_fit(X[:5])
    assert estimator.transform(X).shape[1] <= 3
    estimator.set_params(n_components=2).partial_fit(X[5:])
    assert_allclose(estimator.transform(X), make(kind).fit(X).transform(X), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        (TensorPCA, {"n_components": 0}, "'n_components' .* Got 0"),
        (TensorPCA, {"n_components": -1}, "'n_components' .* Got -1"),
        (TensorPCA, {"n_components": "all"}, "'n_components' .* Got 'all'"),
        (TensorPCA, {"truncation": "globl"}, "'truncation' .* Got 'globl'"),
        (SparseTensorPCA, {"n_components": 0}, r"n_components.*0"),
        (SparseTensorPCA, {"lam": -1}, "'lam' .* Got -1"),
        (SparseTensorPCA, {"lam": 2.0}, "lam must be at most 1 with penalty_units='relative'"),
        (SparseTensorPCA, {"sparsity": "entry"}, "sparsity.*'entry'"),
    ],
)
def test_parameters_set_after_the_last_chunk_are_checked(kind, params, message):
    """They are first used by `solve`."""
    estimator = make(kind).partial_fit(X, solve=False)
    with pytest.raises(ValueError, match=message):
        estimator.set_params(**params).solve()
    estimator.set_params(**make(kind).get_params()).solve()
    assert_allclose(estimator.transform(X), make(kind).fit(X).transform(X), atol=1e-6)


@pytest.mark.parametrize("kind", BOTH)
def test_one_sample_can_be_followed_by_others(kind):
    estimator = make(kind).partial_fit(X[:1])
    for compute in (
        lambda: estimator.transform(X),
        lambda: estimator.score(X),
        lambda: estimator.inverse_transform(np.zeros((1, 2))),
        estimator.solve,
    ):
        with pytest.raises(ValueError, match="1 sample seen so far; at least 2 are needed"):
            compute()
    for name in ("components_", "explained_variance_"):
        with pytest.raises(AttributeError, match=name):
            getattr(estimator, name)
    with pytest.raises(NotFittedError):
        estimator.get_feature_names_out()
    estimator.partial_fit(X[1:])
    assert_allclose(estimator.transform(X), make(kind).fit(X).transform(X), atol=1e-6)


@pytest.mark.parametrize("shape", [(12, 4, 3), (12, 12)])
@pytest.mark.parametrize("kind", BOTH)
def test_a_refused_first_chunk_can_be_followed_by_any_other(kind, shape):
    estimator = make(kind)
    with pytest.raises(ValueError, match="NaN"):
        estimator.partial_fit(np.full((3, 5, 5), np.nan))
    with pytest.raises(NotFittedError):
        estimator.transform(X)
    estimator.partial_fit(X.reshape(shape))
    assert estimator.feature_shape_ == shape[1:]
    assert len(estimator.transform(X.reshape(shape))) == 12


@pytest.mark.parametrize("samples", [spoiled(X, np.nan), X[:1], np.full((5, 4, 3), "a")])
@pytest.mark.parametrize("kind", BOTH)
def test_a_refused_fit_leaves_the_one_before(kind, samples):
    estimator = make(kind).fit(X)
    coordinates = estimator.transform(X)
    with pytest.raises(ValueError, match=r"X|array"):
        estimator.fit(samples)
    assert_array_equal(estimator.transform(X), coordinates)


# Data that are hard


HARD = {
    "a constant slice": np.where(np.arange(3) == 1, 7.0, X),
    "a slice that is constant but for rounding": np.where(np.arange(3) == 1, 0.1, X),
    "a constant feature": np.where(np.arange(4)[:, None] == 2, 3.0, X),
    "duplicated features": np.concatenate([X, X], axis=1),
    "duplicated slices": np.concatenate([X, X], axis=2),
    "duplicated samples": np.r_[X, X],
    "two samples": X[:2],
    "rank one": np.einsum("n,i,j->nij", X[:, 0, 0], X[0, :, 0], X[0, 0]),
    "a large offset": X + 1e6,
    "an outlier": np.r_[X, 1e6 * X[:1]],
    "features of all sizes": X * 10.0 ** np.linspace(-8, 8, 4)[:, None],
    "one feature": X[:, :1, :1],
    "slices of one feature": X[:, :1],
    "one slice": X[:, :, :1],
    "fewer samples than features": np.random.default_rng(1).normal(size=(3, 9, 2)),
    "complex": X + 1j * X[::-1],
}


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
@pytest.mark.parametrize("samples", HARD.values(), ids=HARD)
@pytest.mark.parametrize(
    "estimator",
    [
        TensorPCA(1),
        TensorPCA(whiten=True),
        TensorPCA(0.9, truncation="global"),
        SparseTensorPCA(1, lam=0),
        *(SparseTensorPCA(1, sparsity=form) for form in FORMS),
    ],
    ids=lambda estimator: repr(estimator).replace("\n", ""),
)
def test_hard_data_are_reconstructed_as_well_as_is_said(estimator, samples, transform):
    estimator.set_params(basis=transform).fit(samples)
    coordinates = estimator.transform(samples)
    assert coordinates.shape == (len(samples), estimator.n_components_)
    assert estimator.n_components_ >= 1
    back = estimator.inverse_transform(coordinates)
    centred = samples - samples.mean(axis=0)
    lost = np.sum(np.abs(samples - back) ** 2)
    share = 1 - lost / np.sum(np.abs(centred) ** 2)
    assert estimator.score(samples) == pytest.approx(share, abs=1e-8)
    assert estimator.explained_variance_ratio_.sum() == pytest.approx(share, abs=1e-8)
    variance = estimator.explained_variance_
    assert (variance > 0).all()
    assert (np.diff(variance) <= 0).all()
    for name in ("mean_", "encoder_", "decoder_", "scores_", "components_"):
        assert np.isfinite(getattr(estimator, name)).all(), name
    if isinstance(estimator, SparseTensorPCA):
        assert np.isfinite(estimator.objective_).all()
        assert (estimator.dual_gap_ >= 0).all()
        assert ((estimator.sparsity_ >= 0) & (estimator.sparsity_ <= 1)).all()
    assert_array_equal(np.sort(estimator.order_), np.arange(estimator.n_features_in_))


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
@pytest.mark.parametrize(
    "name", ["a constant slice", "a slice that is constant but for rounding", "two samples"]
)
@pytest.mark.parametrize("sparsity", FORMS)
def test_without_penalty_as_many_components_are_kept_as_by_tensor_pca(sparsity, name, transform):
    """No component is made of rounding errors."""
    dense = TensorPCA(2, basis=transform).fit(HARD[name])
    sparse = SparseTensorPCA(2, lam=0, sparsity=sparsity, basis=transform).fit(HARD[name])
    assert sparse.n_components_ == dense.n_components_
    assert_allclose(sparse.scores_, dense.scores_, atol=1e-8)


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
@pytest.mark.parametrize("factor", [1e-90, 1e-40, 1e40, 1e90])
def test_any_usual_size_has_the_same_tensor_pca(factor, transform):
    plain = TensorPCA(2, basis=transform).fit(X)
    scaled = TensorPCA(2, basis=transform).fit(factor * X)
    assert_allclose(scaled.scores_, plain.scores_, atol=1e-12)
    assert_allclose(scaled.transform(factor * X) / factor, plain.transform(X), atol=1e-12)
    assert_allclose(scaled.explained_variance_ratio_, plain.explained_variance_ratio_)
    assert scaled.score(factor * X) == pytest.approx(plain.score(X))
    white = TensorPCA(2, basis=transform, whiten=True).fit(factor * X)
    assert white.transform(factor * X).var(axis=0, ddof=1).sum() == pytest.approx(6)


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
@pytest.mark.parametrize("factor", [1e-90, 1e-40, 1e40, 1e90])
@pytest.mark.parametrize("sparsity", FORMS)
def test_any_usual_size_has_the_same_sparse_tensor_pca(sparsity, factor, transform):
    plain = SparseTensorPCA(2, sparsity=sparsity, basis=transform).fit(X)
    scaled = SparseTensorPCA(2, sparsity=sparsity, basis=transform).fit(factor * X)
    assert_allclose(scaled.scores_, plain.scores_, atol=1e-6)
    assert_allclose(scaled.transform(factor * X) / factor, plain.transform(X), atol=1e-6)
    assert_allclose(scaled.lam_ / factor / factor, plain.lam_)
    assert_allclose(scaled.objective_ / factor / factor, plain.objective_, rtol=1e-6)
    assert scaled.score(factor * X) == pytest.approx(plain.score(X), abs=1e-6)


def test_a_nearly_constant_feature_is_not_noise():
    """Variation of one part in 1e10 about a large mean is still there."""
    samples = X.copy()
    samples[:, 1, 1] = 1 + 1e-10 * X[:, 1, 1]
    pca = TensorPCA(basis="identity").fit(samples)
    back = pca.inverse_transform(pca.transform(samples))
    assert_allclose(back[:, 1, 1] - 1, samples[:, 1, 1] - 1, atol=1e-14)
