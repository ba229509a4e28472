"""Bad input: every case is refused with the right exception, which names what is wrong."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tensift import ExactSolver, PaperSolver, STPCASelector
from tensift.selection import rank_features

X = np.random.default_rng(0).normal(size=(12, 4, 3))
ROWS = X.reshape(12, 12)


def spoiled(array, value):
    array = array.copy()
    array.flat[5] = value
    return array


def fit(samples=X, **params):
    """Return a call that fits a selector."""
    return lambda: STPCASelector(**{"n_features_to_select": 2, **params}).fit(samples)


def fitted(method, argument, samples=X, **params):
    """Return a call of a method of a fitted selector."""
    return lambda: getattr(STPCASelector(2, **params).fit(samples), method)(argument)


def stream(*chunks, **params):
    """Return a call that takes in chunks and reads the scores."""

    def run():
        selector = STPCASelector(2, **params)
        for chunk in chunks:
            selector.partial_fit(chunk)
        return selector.scores_

    return run


def unfitted(method, *arguments):
    return lambda: getattr(STPCASelector(), method)(*arguments)


def nested(value):
    return [[[value] * 2] * 3] * 4


NOT_2D = r"Expected 2D array, got {} array instead"
NUMBERS = r"arrays of bytes/strings.*[Cc]onvert your data to numeric"
NOT_FITTED = "STPCASelector instance is not fitted yet"

CASES = {
    # Samples
    "NaN": (fit(spoiled(X, np.nan)), ValueError, "X contains NaN"),
    "NaN in rows": (fit(spoiled(ROWS, np.nan)), ValueError, "X contains NaN"),
    "NaN in an imaginary part": (fit(spoiled(X + 0j, 1j * np.nan)), ValueError, "X contains NaN"),
    "infinity": (fit(spoiled(X, np.inf)), ValueError, "X contains infinity"),
    "minus infinity": (fit(spoiled(X, -np.inf)), ValueError, "X contains infinity"),
    "complex infinity": (fit(spoiled(X + 0j, np.inf)), ValueError, "X contains infinity"),
    "one sample": (fit(X[:1]), ValueError, r"X has 1 sample.*minimum of 2"),
    "one row": (fit(ROWS[:1]), ValueError, r"1 sample.*minimum of 2"),
    "no samples": (fit(X[:0]), ValueError, r"X has 0 sample.*minimum of 2"),
    "no rows": (fit(ROWS[:0]), ValueError, r"0 sample.*minimum of 2"),
    "constant": (fit(np.full((5, 3, 2), 0.1)), ValueError, "X is constant.*no feature varies"),
    "constant rows": (fit(np.full((5, 6), 7)), ValueError, "X is constant.*no feature varies"),
    "zeros": (fit(np.zeros((5, 3, 2))), ValueError, "X is constant.*no feature varies"),
    "equal samples": (fit(np.repeat(X[:1], 5, axis=0)), ValueError, "X is constant"),
    "equal complex samples": (fit(np.full((5, 3, 2), 1j)), ValueError, "X is constant"),
    "masked values": (fit(np.ma.masked_less(X, 0)), ValueError, "X has masked values.*fill"),
    "copies of features in large units": (
        fit(1e9 * np.concatenate([X, X], axis=1), scale=None, lam=10, eta=10, solver="paper"),
        ValueError,
        "features of X depend on one another.*use scale='max'",
    ),
    "one axis": (fit(np.arange(5.0)), ValueError, NOT_2D.format("1D")),
    "no axes": (fit(np.float64(3)), ValueError, NOT_2D.format("scalar")),
    "number": (fit(3.0), ValueError, NOT_2D.format("scalar")),
    "None": (fit(None), ValueError, NOT_2D.format("scalar")),
    "dict": (fit({"a": 1}), ValueError, NOT_2D.format("scalar")),
    "empty list": (fit([]), ValueError, NOT_2D.format("1D")),
    "strings": (fit(np.full((5, 3, 2), "a")), ValueError, NUMBERS),
    "strings that are numbers": (fit(np.full((5, 3, 2), "1")), ValueError, NUMBERS),
    "strings in rows": (fit([["a", "b"], ["c", "d"]]), ValueError, NUMBERS),
    "objects": (
        fit(np.array(nested(object()))),
        TypeError,
        "argument must be a string or a real number, not 'object'",
    ),
    "dates": (fit(np.zeros((5, 3, 2), "M8[s]")), (TypeError, ValueError), r"X .*(number|numeric)"),
    "ragged rows": (fit([[1, 2], [3]]), ValueError, "X is ragged"),
    "ragged tensors": (fit([[[1, 2], [3]], [[1, 2], [3, 4]]]), ValueError, "X is ragged"),
    "sparse matrix": (fit(scipy.sparse.csr_matrix(ROWS)), TypeError, "Sparse data .* for X"),
    "sparse array": (fit(scipy.sparse.csr_array(ROWS)), TypeError, "Sparse data .* for X"),
    "empty mode": (fit(np.ones((5, 0, 3))), ValueError, r"X has a mode of length zero"),
    "rows without features": (fit(np.ones((5, 0))), ValueError, r"0 feature\(s\).*minimum of 1"),
    "complex rows": (fit(ROWS + 1j), ValueError, "Complex data not supported"),
    "column of words": (
        fit(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})),
        ValueError,
        "^X has columns that are not numbers: 'a'",
    ),
    "names of two kinds": (
        fit(pd.DataFrame(ROWS, columns=["a", *range(11)])),
        TypeError,
        "Feature names are only supported if all input features have string names",
    ),
    # Samples after fit
    "transform of other shape": (
        fitted("transform", X[:, :3]),
        ValueError,
        r"X has samples of shape \(3, 3\).*fitted on samples of shape \(4, 3\)",
    ),
    "transform of transposed": (
        fitted("transform", X.swapaxes(1, 2)),
        ValueError,
        r"X has samples of shape \(3, 4\).*\(4, 3\)",
    ),
    "transform of another order": (
        fitted("transform", X[..., None]),
        ValueError,
        r"X has samples of shape \(4, 3, 1\).*\(4, 3\)",
    ),
    "transform of rows after tensors": (
        fitted("transform", ROWS),
        ValueError,
        r"X has samples of shape \(12,\).*\(4, 3\)",
    ),
    "transform of tensors after rows": (
        fitted("transform", X, ROWS),
        ValueError,
        r"X has samples of shape \(4, 3\).*\(12,\)",
    ),
    "transform of short rows": (
        fitted("transform", ROWS[:, :5], ROWS),
        ValueError,
        "X has 5 features, but STPCASelector is expecting 12",
    ),
    "transform of one sample without its axis": (
        fitted("transform", X[0, 0]),
        ValueError,
        NOT_2D.format("1D"),
    ),
    "transform of NaN": (fitted("transform", spoiled(X, np.nan)), ValueError, "X contains NaN"),
    "transform of nothing": (fitted("transform", X[:0]), ValueError, "X has 0 sample"),
    "score of other shape": (fitted("score", X[:, :3]), ValueError, r"shape \(3, 3\).*\(4, 3\)"),
    "score of the mean": (
        fitted("score", np.repeat(X.mean(axis=0)[None], 3, axis=0)),
        ValueError,
        "X .*(mean|constant|energy|varies)",
    ),
    "inverse of other width": (
        fitted("inverse_transform", np.ones((3, 5))),
        ValueError,
        r"X has samples of shape \(5,\), but transform returns \(2,\)",
    ),
    "inverse of other slices": (
        fitted("inverse_transform", np.ones((3, 5, 7)), feature_mode=0),
        ValueError,
        r"X has samples of shape \(5, 7\), but transform returns \(2, 3\)",
    ),
    "inverse of one axis": (
        fitted("inverse_transform", np.ones(2)),
        ValueError,
        NOT_2D.format("1D"),
    ),
    "inverse of NaN": (
        fitted("inverse_transform", np.full((3, 2), np.nan)),
        ValueError,
        "X contains NaN",
    ),
    "wrong number of names": (
        fitted("get_feature_names_out", ["a"] * 5),
        ValueError,
        "input_features has 5 names, but there are 12 features",
    ),
    "wrong number of names of a mode": (
        fitted("get_feature_names_out", ["a"] * 12, feature_mode=0),
        ValueError,
        "input_features has 12 names, but there are 4 features",
    ),
    "wrong number of names of rows": (
        fitted("get_feature_names_out", ["a"] * 5, ROWS),
        ValueError,
        r"input_features should have length equal to number of features \(12\), got 5",
    ),
    "transform before fit": (unfitted("transform", X), NotFittedError, NOT_FITTED),
    "inverse before fit": (unfitted("inverse_transform", X), NotFittedError, NOT_FITTED),
    "support before fit": (unfitted("get_support"), NotFittedError, NOT_FITTED),
    "score before fit": (unfitted("score", X), NotFittedError, NOT_FITTED),
    "names before fit": (unfitted("get_feature_names_out"), NotFittedError, NOT_FITTED),
    "scores before fit": (lambda: STPCASelector().scores_, AttributeError, "'scores_'"),
    # Chunks
    "one sample so far": (
        lambda: STPCASelector(2).partial_fit(X[:1]).solve(),
        ValueError,
        "1 sample seen so far; at least 2",
    ),
    "solve without samples": (lambda: STPCASelector(2).solve(), ValueError, "partial_fit first"),
    "empty chunk": (stream(X[:0]), ValueError, "X has 0 sample.*minimum of 1"),
    "empty later chunk": (stream(X, X[:0]), ValueError, "X has 0 sample.*minimum of 1"),
    "chunk of NaN": (stream(X, spoiled(X, np.nan)), ValueError, "X contains NaN"),
    "constant chunks": (stream(*np.ones((2, 5, 3, 2))), ValueError, "X is constant"),
    "chunk of other shape": (stream(X, X[:, :3]), ValueError, r"shape \(3, 3\).*\(4, 3\)"),
    "chunk of rows": (stream(X, ROWS), ValueError, r"shape \(12,\).*\(4, 3\)"),
    "complex after real": (
        stream(X, X + 1j),
        ValueError,
        "X is complex, but earlier samples are real",
    ),
    "eigen in chunks": (
        stream(X, basis="eigen"),
        ValueError,
        "basis='eigen' is computed from all samples.*use fit",
    ),
    "eigen among others in chunks": (
        stream(X[..., None], basis=["dct", "eigen"]),
        ValueError,
        "basis='eigen' is computed from all samples.*use fit",
    ),
    # feature_shape
    "feature_shape of other size": (
        fit(ROWS, feature_shape=(5, 5)),
        ValueError,
        r"feature_shape=\(5, 5\) has 25 elements, but .* X have shape \(12,\)",
    ),
    "feature_shape of tensors": (
        fit(X, feature_shape=(3, 4)),
        ValueError,
        r"feature_shape=\(3, 4\) .* X have shape \(4, 3\)",
    ),
    **{
        f"feature_shape={shape}": (
            fit(ROWS, feature_shape=shape),
            ValueError,
            "feature_shape must be a tuple of positive integers, got",
        )
        for shape in [(-4, -3), (4, -1), (0, 3), (4.0, 3), (), ("4", 3), (None, 12)]
    },
    "feature_shape a number": (fit(ROWS, feature_shape=12), ValueError, "'feature_shape' .* 12"),
    "feature_shape a word": (fit(ROWS, feature_shape="43"), ValueError, "'feature_shape' .* '43'"),
    # Modes
    **{
        f"{name}={mode}": (
            fit(**{name: mode}),
            ValueError,
            rf"{name}={mode} is not a mode of samples with 2 mode.*from 0 to 1",
        )
        for name in ("orientation", "feature_mode")
        for mode in (2, -3)
    },
    "orientation of rows": (fit(ROWS, orientation=1), ValueError, "orientation=1 .* 1 mode"),
    "orientation a float": (fit(orientation=1.0), ValueError, "'orientation' .* Got 1.0"),
    "orientation None": (fit(orientation=None), ValueError, "'orientation' .* Got None"),
    "orientation a word": (
        fit(orientation="row"),
        ValueError,
        "orientation='row' must be a number",
    ),
    "feature_mode a float": (fit(feature_mode=0.5), ValueError, "'feature_mode' .* Got 0.5"),
    "feature_mode a word": (fit(feature_mode="0"), ValueError, "feature_mode='0' must be a number"),
    # Numbers
    **{
        f"{name}={value!r}": (
            fit(**{name: value}),
            ValueError,
            rf"'{name}' parameter .* range \[0\.0, inf\)",
        )
        for name in ("lam", "eta")
        for value in (-1, -1e-9, np.nan, np.inf, "1", None, [1.0], 1j)
    },
    **{
        f"tol={value!r}": (
            fit(solver=ExactSolver(tol=value)),
            ValueError,
            r"'tol' parameter .* \[0\.0, inf\)",
        )
        for value in (-1e-9, np.nan, np.inf, "small")
    },
    **{
        f"max_iter={value!r}": (
            fit(solver=PaperSolver(max_iter=value)),
            ValueError,
            r"'max_iter' parameter .* int in the range \[1, inf\)",
        )
        for value in (0, -1, 2.5, np.inf, "many")
    },
    **{
        f"n_features_to_select={value!r}": (
            fit(n_features_to_select=value),
            ValueError,
            r"'n_features_to_select' parameter .* int in the range \[1, inf\), a float in the",
        )
        for value in (0, -1, 1.5, 1.0, 0.0, -0.5, np.nan, np.inf, "all", None)
    },
    "n_jobs=0": (fit(n_jobs=0), ValueError, "n_jobs"),
    "n_jobs=0 for one slice": (fit(ROWS, n_jobs=0), ValueError, "n_jobs"),
    "n_jobs a float": (fit(n_jobs=1.5), ValueError, "'n_jobs' .* Got 1.5"),
    "n_jobs a word": (fit(n_jobs="2"), ValueError, "'n_jobs' .* Got '2'"),
    "random_state a word": (fit(random_state="x"), ValueError, "'random_state' .* Got 'x'"),
    "random_state negative": (fit(random_state=-1), ValueError, "'random_state' .* Got -1"),
    "verbose a word": (fit(verbose="loud"), ValueError, "'verbose' .* Got 'loud'"),
    # Choices
    **{
        f"{name} unknown": (
            fit(**{name: "magic"}),
            ValueError,
            rf"'{name}' parameter .* must be a str among .* Got 'magic'",
        )
        for name in ("score_by", "solver", "scale", "penalty_units")
    },
    **{
        f"{name} unknown": (
            fit(solver=PaperSolver(**{name: "magic"})),
            ValueError,
            rf"'{name}' parameter .* must be a str among .* Got 'magic'",
        )
        for name in ("convention", "stopping")
    },
    "score_by None": (fit(score_by=None), ValueError, "'score_by' parameter .* Got None"),
    "scale a number": (fit(scale=2.0), ValueError, "'scale' parameter .* Got 2.0"),
    # Transforms
    "basis unknown": (fit(basis="magic"), ValueError, "basis='magic' is not a known"),
    "basis unknown for rows": (fit(ROWS, basis="magic"), ValueError, "basis='magic'"),
    "basis None": (fit(basis=None), ValueError, "basis is a NoneType"),
    "basis a number": (fit(basis=3), ValueError, "basis is a int, not a transform"),
    "basis one callable": (fit(basis=np.fft.fft), ValueError, "forward, inverse"),
    "matrix singular": (fit(basis=np.ones((3, 3))), ValueError, "basis is singular"),
    "matrix nearly singular": (
        fit(basis=np.diag([1, 1, 1e-12])),
        ValueError,
        "basis is singular or close to it",
    ),
    "matrix of other size": (
        fit(basis=np.eye(4)),
        ValueError,
        r"basis has shape \(4, 4\), but the mode has length 3",
    ),
    "matrix not square": (fit(basis=np.ones((3, 2))), ValueError, r"basis has shape"),
    "matrix with three axes": (
        fit(basis=np.ones((3, 3, 3))),
        ValueError,
        "basis has shape",
    ),
    "matrix with NaN": (
        fit(basis=np.full((3, 3), np.nan)),
        ValueError,
        "basis contains NaN",
    ),
    "matrix of words": (
        fit(basis=np.full((3, 3), "a")),
        ValueError,
        "basis must hold numbers",
    ),
    "map not linear": (
        fit(basis=(np.square, np.sqrt)),
        ValueError,
        r"basis\[0\] \(forward\) is not linear",
    ),
    "map with offset": (
        fit(basis=(lambda x: x + 1, lambda x: x - 1)),
        ValueError,
        r"basis\[0\] \(forward\) is not linear",
    ),
    "map that raises": (
        fit(basis=(lambda x: x @ np.ones((7, 7)), lambda x: x)),
        ValueError,
        r"basis\[0\] \(forward\) failed on an array of shape \(3, 3\)",
    ),
    "map of other length": (
        fit(basis=(lambda x: x[..., :2], lambda x: x)),
        ValueError,
        r"basis\[0\] \(forward\) turned shape \(3, 3\) into \(3, 2\)",
    ),
    "inverse that does not undo": (
        fit(basis=(np.fft.fft, np.fft.fft)),
        ValueError,
        r"basis\[1\] \(inverse\) does not undo basis\[0\]",
    ),
    "too many transforms": (
        fit(basis=["dct", "dct"]),
        ValueError,
        "basis lists 2 specifications, but 1 modes",
    ),
    "too few transforms": (
        fit(X[..., None], basis=["dct"]),
        ValueError,
        "basis lists 1 specifications, but 2 modes",
    ),
    "no transforms": (fit(basis=[]), ValueError, "basis lists 0 specifications"),
    "transforms of rows": (fit(ROWS, basis=["dct"]), ValueError, "no mode to transform"),
    "matrix for rows": (fit(ROWS, basis=np.eye(12)), ValueError, "no mode to transform"),
    "unknown in a list": (fit(basis=["magic"]), ValueError, r"basis\[0\]='magic'"),
    # Ranking
    "ties of other shape": (
        lambda: rank_features([1, 2], ties=[1]),
        ValueError,
        r"ties has shape \(1,\), but scores has \(2,\)",
    ),
    "unknown order": (lambda: rank_features([1, 2], order="X"), ValueError, "order must be"),
    "order of numpy's that means nothing here": (
        lambda: rank_features([1, 2], order="K"),
        ValueError,
        "order",
    ),
    "scores with NaN": (lambda: rank_features([1, np.nan]), ValueError, "scores .*NaN"),
    "ties with NaN": (lambda: rank_features([1, 1], ties=[1, np.nan]), ValueError, "ties .*NaN"),
    "scores of words": (lambda: rank_features(["a", "b"]), (TypeError, ValueError), "scores"),
    "complex scores": (lambda: rank_features([1j, 2]), (TypeError, ValueError), "scores"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_by_name(case):
    call, exception, message = CASES[case]
    with pytest.raises(exception, match=f"(?s){message}"):
        call()


def test_there_are_many_cases():
    assert len(CASES) >= 45


@pytest.mark.parametrize(
    "chunk",
    [spoiled(X, np.nan), X[:, :3], X + 1j, X[:0], np.full((5, 4, 3), "a"), None],
    ids=["NaN", "shape", "complex", "empty", "strings", "None"],
)
def test_a_refused_chunk_leaves_the_sums_as_they_were(chunk):
    selector = STPCASelector(2, lam=1, eta=1).partial_fit(X)
    scores = selector.scores_.copy()
    with pytest.raises(ValueError, match=r"X|array"):
        selector.partial_fit(chunk)
    assert selector.n_samples_seen_ == 12
    assert_array_equal(selector.scores_, scores)
    assert_allclose(selector.partial_fit(X).scores_, selector.fit(np.r_[X, X]).scores_, atol=1e-9)


@pytest.mark.parametrize("params", [{"orientation": 1}, {"basis": "dct"}, {"basis": 2 * np.eye(3)}])
def test_what_the_first_chunk_fixed_cannot_change(params):
    selector = STPCASelector(2, lam=1, eta=1, basis=np.eye(3)).partial_fit(X)
    selector.set_params(basis=np.eye(3)).partial_fit(X)
    with pytest.raises(ValueError, match="orientation or basis changed since the first chunk"):
        selector.set_params(**params).partial_fit(X)
    assert selector.n_samples_seen_ == 24


def test_a_first_chunk_of_impossible_size_fits_nothing():
    selector = STPCASelector(2)
    with pytest.raises(ValueError, match=r"X has values above 1e\+100"):
        selector.partial_fit(1e200 * X)
    with pytest.raises(NotFittedError):
        selector.get_support()


@pytest.mark.parametrize("shape", [(12, 4, 3), (12, 12)])
def test_a_refused_first_chunk_can_be_followed_by_any_other(shape):
    selector = STPCASelector(2)
    with pytest.raises(ValueError, match="NaN"):
        selector.partial_fit(np.full((3, 5, 5), np.nan))
    with pytest.raises(NotFittedError):
        selector.get_support()
    selector.partial_fit(X.reshape(shape))
    assert selector.feature_shape_ == shape[1:]


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("scale", ["max", None])
@pytest.mark.parametrize(
    ("factor", "message"),
    [(1e300, "too large"), (1e200, "too large"), (1e-200, "too small"), (1e-300, "too small")],
)
def test_data_whose_squares_cannot_be_held_are_refused(method, scale, factor, message):
    """No overflow warning, no LinAlgError, and tiny is not the same as constant."""
    selector = STPCASelector(2, scale=scale)
    with pytest.raises(ValueError, match=rf"X has .*{message} for sums of squares"):
        getattr(selector, method)(factor * X).get_support()


@pytest.mark.parametrize("factor", [1e80, 1e-80])
def test_data_of_any_usual_size_have_the_same_scores(factor):
    scores = STPCASelector(2, lam=0.1, eta=0.1).fit(X).scores_
    assert_allclose(STPCASelector(2, lam=0.1, eta=0.1).fit(factor * X).scores_, scores, atol=1e-9)


def test_true_steps_are_one_step():
    selector = STPCASelector(2, lam=1, eta=1, solver=PaperSolver(max_iter=True))
    with pytest.warns(ConvergenceWarning, match="3 of 3 slices did not reach tol: slice 0, slice"):
        selector.fit(X)
    assert_array_equal(selector.n_iter_, [1, 1, 1])
