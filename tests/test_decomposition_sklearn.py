"""The scikit-learn contract of the decompositions, and results that are the same every time."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

from tensift import SelectFromDecomposition, SparseTensorPCA, TensorPCA

CONFIGURATIONS = [
    "TensorPCA()",
    "TensorPCA(2, whiten=True)",
    "TensorPCA(1, orientation=-1, basis='eigen')",
    "TensorPCA(0.9, truncation='global', basis='dct')",
    "TensorPCA(2, truncation='global', basis='random', random_state=0)",
    "SparseTensorPCA()",
    "SparseTensorPCA(1, sparsity='features', lam=0.2, ridge=0.01, n_init=2, n_jobs=2)",
    "SparseTensorPCA(2, sparsity='components', basis='dft')",
    "SparseTensorPCA(1, penalty_units='absolute', lam=0, orientation=-1)",
    "SelectFromDecomposition()",
    "SelectFromDecomposition(TensorPCA(2, basis='dct'), 0.5)",
    "SelectFromDecomposition(SparseTensorPCA(1, sparsity='features'), 1, feature_mode=0)",
]
TOO_MANY = "ignore:n_.*=.* is more than the:UserWarning"
ARRAY_API = "check_array_api_input"  # runs with SCIPY_ARRAY_API set before SciPy is imported
BOTH = [TensorPCA, SparseTensorPCA]


@pytest.fixture
def X():
    """Samples of shape (4, 3) in two groups that two features tell apart."""
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.normal(size=(40, 4, 3))
    samples[:, 1, 2] += 3 * np.repeat([0, 1], 20)
    samples[:, 3, 0] -= 2 * np.repeat([0, 1], 20)
    return samples


y = np.repeat([0, 1], 20)


def results(estimator):
    """All fitted arrays and numbers by name."""
    fitted = {name: value for name, value in vars(estimator).items() if name.endswith("_")}
    assert fitted.pop("names_") is None  # these samples have no names
    return {
        **fitted,
        "components_": estimator.components_,
        "weights_": estimator.weights_,
    }


def assert_same_bits(one, other):
    found, expected = results(one), results(other)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert_array_equal(found[name], value, err_msg=name)


# The checks


CHECKS = {
    f"{number}-{check.func.__name__}": (estimator, check)
    for number, configuration in enumerate(CONFIGURATIONS)
    for estimator, check in estimator_checks_generator(eval(configuration))
    if check.func.__name__ != ARRAY_API
}


@pytest.mark.filterwarnings(TOO_MANY)
@pytest.mark.parametrize("name", CHECKS)
def test_estimator_checks(name):
    estimator, check = CHECKS[name]
    check(estimator)


def test_all_estimator_checks_pass_and_none_is_skipped(assert_estimator_checks_pass):
    assert_estimator_checks_pass(CONFIGURATIONS, ["n_.*=.* is more than the"])


# In company with other estimators


@pytest.mark.parametrize(
    "decomposition",
    [
        TensorPCA(1),
        TensorPCA(2, truncation="global", basis="dft"),
        SparseTensorPCA(1, lam=0.3),
        SparseTensorPCA(2, sparsity="features", basis="dct"),
    ],
    ids=repr,
)
def test_coordinates_of_tensors_go_through_a_pipeline_into_a_classifier(X, decomposition):
    pipeline = make_pipeline(decomposition, StandardScaler(), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) == 1.0
    coordinates = pipeline[:-1].transform(X)
    assert coordinates.shape == (40, pipeline[0].n_components_)
    assert len(pipeline[:-1].get_feature_names_out()) == coordinates.shape[1]
    assert cross_val_score(pipeline, X, y, cv=KFold(4, shuffle=True, random_state=0)).min() == 1


def test_selected_features_of_tensors_go_through_a_pipeline(X):
    decomposition = SparseTensorPCA(1, sparsity="features", lam=0.2)
    pipeline = make_pipeline(SelectFromDecomposition(decomposition, 2), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) == 1.0
    assert_array_equal(pipeline[0].get_support(indices=True), [5, 9])
    assert list(pipeline[:-1].get_feature_names_out()) == ["x1_2", "x3_0"]


def test_a_pipeline_goes_back_to_tensors(X):
    pipeline = make_pipeline(TensorPCA(basis="dft"), StandardScaler())
    coordinates = pipeline.fit_transform(X)
    assert_allclose(pipeline.inverse_transform(coordinates), X, atol=1e-12)


def test_grid_search_over_bases_of_every_kind(X):
    grid = {
        "tensorpca__basis": ["identity", "dct", "dft", np.eye(3) + 0.1],
        "tensorpca__orientation": [0, -1],
        "tensorpca__n_components": [1, 0.5],
        "tensorpca__truncation": ["slice", "global"],
    }
    pipeline = make_pipeline(TensorPCA(), LogisticRegression())
    # Orientation -1 leaves a mode of length 4, for which the matrix has to be another one.
    with pytest.raises(ValueError, match=r"basis has shape \(3, 3\), but .* length 4"):
        pipeline.set_params(tensorpca__basis=np.eye(3), tensorpca__orientation=-1).fit(X, y)
    grids = [
        {**grid, "tensorpca__orientation": [0]},
        {**grid, "tensorpca__basis": ["identity", "dct", "dft", np.eye(4) + 0.1]},
    ]
    grids[1]["tensorpca__orientation"] = [-1]
    search = GridSearchCV(pipeline, grids, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 32
    assert search.best_score_ == 1.0
    best = search.best_params_["tensorpca__basis"]
    assert type(best) is type(search.best_estimator_[0].get_params()["basis"])


def by_hand(estimator, X):
    folds = KFold(3).split(X)
    return np.mean([clone(estimator).fit(X[train]).score(X[test]) for train, test in folds])


def test_grid_search_by_the_score_of_tensor_pca(X):
    """More components reconstruct more, so the search must take the most."""
    grid = {"n_components": [1, 3, 2], "basis": ["dct", "dft"], "orientation": [0, 1]}
    search = GridSearchCV(TensorPCA(), grid, cv=3, error_score="raise").fit(X)
    assert search.best_params_["n_components"] == 3
    assert search.best_score_ == pytest.approx(by_hand(TensorPCA(**search.best_params_), X))
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() > scores.min()


def test_grid_search_by_the_score_of_sparse_tensor_pca(X):
    """Less penalty reconstructs more, so the search must take the smallest."""
    grid = {
        "lam": [0.5, 0.01, 0.1],
        "sparsity": ["entries", "features", "components"],
        "basis": ["identity", "dct"],
    }
    search = GridSearchCV(SparseTensorPCA(1), grid, cv=3, error_score="raise").fit(X)
    assert search.best_params_["lam"] == 0.01
    assert search.best_score_ == pytest.approx(
        by_hand(SparseTensorPCA(1, **search.best_params_), X)
    )


def test_grid_search_over_the_decomposition_inside_a_selector(X):
    pipeline = make_pipeline(
        SelectFromDecomposition(SparseTensorPCA(1, sparsity="features"), 2), LogisticRegression()
    )
    grid = {
        "selectfromdecomposition__estimator__lam": [0.5, 0.1],
        "selectfromdecomposition__estimator__basis": ["identity", "dct"],
        "selectfromdecomposition__n_features_to_select": [1, 2],
    }
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ == 1.0
    params = search.best_params_
    inner = search.best_estimator_[0].estimator_
    assert inner.lam == params["selectfromdecomposition__estimator__lam"]
    assert inner.get_params()["basis"] == params["selectfromdecomposition__estimator__basis"]
    grid = {"selectfromdecomposition__estimator": [TensorPCA(1), SparseTensorPCA(1)]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ == 1.0


def test_grid_search_by_the_score_of_the_decomposition_inside_a_selector(X):
    selector = SelectFromDecomposition(SparseTensorPCA(1), 2)
    assert clone(selector).fit(X).score(X) == SparseTensorPCA(1).fit(X).score(X)
    grid = {"estimator__lam": [0.5, 0.01, 0.1], "estimator__orientation": [0, 1]}
    search = GridSearchCV(selector, grid, cv=3, error_score="raise").fit(X)
    assert search.best_params_["estimator__lam"] == 0.01
    best = selector.set_params(**search.best_params_).estimator
    assert search.best_score_ == pytest.approx(by_hand(best, X))


# Parameters


@pytest.mark.parametrize("kind", BOTH)
def test_params_are_stored_and_the_method_is_read(kind, X):
    matrix = np.eye(3)
    estimator = kind(2, basis=matrix)
    assert estimator.get_params()["basis"] is matrix
    assert callable(estimator.transform)
    estimator.set_params(basis="dct", n_components=1)
    assert estimator.get_params()["basis"] == "dct"
    assert estimator.get_params(deep=False)["n_components"] == 1
    assert callable(estimator.transform)
    assert kind.transform.__name__ == "transform"
    assert kind.transform.__doc__.startswith("Return the coordinates of samples")
    assert_same_bits(estimator.fit(X), kind(1, basis="dct").fit(X))
    with pytest.raises(ValueError, match="Invalid parameter 'component'"):
        estimator.set_params(component=1)


def test_params_of_the_decomposition_are_those_of_the_selector_too(X):
    selector = SelectFromDecomposition(SparseTensorPCA(1, basis="haar"), selection="top")
    params = selector.get_params()
    assert params["estimator__basis"] == "haar"
    assert params["estimator__lam"] == 0.1
    selector.set_params(estimator__basis="dct", estimator__lam=0.3, n_features_to_select=2).fit(X)
    direct = SparseTensorPCA(1, basis="dct", lam=0.3).fit(X)
    assert_array_equal(selector.scores_, direct.scores_)
    assert_array_equal(selector.order_, direct.order_)
    with pytest.raises(NotFittedError):
        check_is_fitted(selector.estimator)
    with pytest.raises(ValueError, match="Invalid parameter 'lamb'"):
        selector.set_params(estimator__lamb=1)


TWINS = [
    TensorPCA(),
    TensorPCA(0.9, truncation="global", basis="dft", whiten=True),
    TensorPCA(2, basis=np.diag([1.0, 2.0, 3.0])),
    TensorPCA(2, basis=[np.eye(3) + 0.2]),
    TensorPCA(2, basis=(np.fft.fft, np.fft.ifft)),
    TensorPCA(2, basis="random", random_state=7, feature_shape=(4, 3)),
    SparseTensorPCA(),
    SparseTensorPCA(2, sparsity="features", basis=np.diag([1.0, 2.0, 3.0]), lam=0.2),
    SparseTensorPCA(1, basis="dft", n_jobs=2),
    SparseTensorPCA(1, n_init=3, random_state=0, ridge=0.1),
]


@pytest.mark.parametrize("estimator", TWINS, ids=range(len(TWINS)))
def test_clones_copies_and_pickles(X, estimator):
    expected = clone(estimator).fit(X)
    for twin in (clone(estimator), copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))):
        with pytest.raises(NotFittedError):
            check_is_fitted(twin)
        assert list(twin.get_params()) == list(estimator.get_params())
        for name, value in estimator.get_params().items():
            if name != "basis":
                assert twin.get_params()[name] == value
        assert_same_bits(twin.fit(X), expected)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(expected))
    for twin in (copy.deepcopy(expected), pickle.loads(pickle.dumps(expected))):
        assert_same_bits(twin, expected)
        assert_array_equal(twin.transform(X), expected.transform(X))
        assert twin.score(X) == expected.score(X)


def test_a_selector_is_cloned_and_pickled_with_its_decomposition(X):
    selector = SelectFromDecomposition(SparseTensorPCA(1, basis="dct"), 3)
    fitted = clone(selector).fit(X)
    for twin in (clone(fitted), copy.deepcopy(selector)):
        assert twin.estimator is not selector.estimator
        assert not hasattr(twin, "estimator_")
        assert_array_equal(twin.fit(X).scores_, fitted.scores_)
    for twin in (copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert_array_equal(twin.transform(X), fitted.transform(X))
        assert_array_equal(twin.estimator_.transform(X), fitted.estimator_.transform(X))


@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize("kind", BOTH)
def test_pickles_between_chunks_and_goes_on(X, kind, read):
    whole = kind(2, basis="dft").fit(X)
    estimator = kind(2, basis="dft").partial_fit(X[:3])  # fewer than features in a slice
    if read:
        assert estimator.transform(X).shape[0] == 40
    for twin in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator)):
        twin.partial_fit(X[3:15]).partial_fit(X[15:])
        assert twin.n_samples_seen_ == 40
        assert_allclose(twin.transform(X), whole.transform(X), atol=1e-6)
    assert estimator.n_samples_seen_ == 3


# Samples of every kind


@pytest.mark.parametrize("kind", BOTH)
def test_rows_and_tensors_have_the_same_coordinates(X, kind):
    rows = X.reshape(40, 12)
    tensors = kind(2, basis="dct").fit(X)
    by_rows = kind(2, basis="dct", feature_shape=(4, 3)).fit(rows)
    mixed = kind(2, basis="dct", feature_shape=[4, 3]).fit(X)
    coordinates = tensors.transform(X)
    assert_array_equal(by_rows.transform(rows), coordinates)
    assert_array_equal(by_rows.transform(X), coordinates)
    assert_array_equal(mixed.transform(rows), coordinates)
    assert by_rows.score(rows) == tensors.score(X)
    # What comes back, and what components are, has the shape of the samples that were fitted.
    back = tensors.inverse_transform(coordinates)
    assert back.shape == (40, 4, 3)
    assert_array_equal(by_rows.inverse_transform(coordinates), back.reshape(40, 12))
    assert_array_equal(mixed.inverse_transform(coordinates), back)
    n_components = tensors.n_components_
    assert_array_equal(by_rows.components_, tensors.components_.reshape(n_components, 12))
    for estimator in (tensors, by_rows, mixed):
        assert estimator.mean_.shape == estimator.scores_.shape == (4, 3)
        assert estimator.n_features_in_ == 12


@pytest.mark.parametrize("kind", BOTH)
def test_lists_are_samples_and_coordinates_too(X, kind):
    direct, listed = kind(2).fit(X), kind(2).fit(X.tolist())
    assert_same_bits(listed, direct)
    coordinates = direct.transform(X)
    assert_array_equal(listed.transform(X.tolist()), coordinates)
    assert_array_equal(
        listed.inverse_transform(coordinates.tolist()), direct.inverse_transform(coordinates)
    )
    assert listed.score(X.tolist()) == direct.score(X)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i1", "u1", "i8", "?", "O"])
@pytest.mark.parametrize("kind", BOTH)
def test_numbers_of_any_type_are_computed_with_in_double_precision(kind, dtype):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 100, size=(30, 4, 3)).astype(dtype)
    plain = X.astype(float)
    fitted = kind(2, basis="dct").fit(X)
    assert_same_bits(fitted, kind(2, basis="dct").fit(plain))
    coordinates = fitted.transform(X)
    assert coordinates.dtype == float
    assert_array_equal(coordinates, fitted.transform(plain))
    # Without results of the first chunk, in which truth values are all equal.
    streamed = kind(2, basis="dct").partial_fit(X[:7], solve=False).partial_fit(X[7:])
    found = streamed.transform(X)
    if dtype == "?":  # of samples that are nearly all equal, rounding chooses components' signs
        found, coordinates = np.abs(found), np.abs(coordinates)
    assert_allclose(found, coordinates, atol=1e-6 * np.abs(plain).max())


@pytest.mark.parametrize("transform", ["identity", "dft", "dct"])
@pytest.mark.parametrize("kind", BOTH)
def test_complex_samples_have_complex_coordinates(kind, transform):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30, 4, 3)) + 1j * rng.normal(size=(30, 4, 3))
    estimator = kind(2, basis=transform).fit(X)
    coordinates = estimator.transform(X)
    assert np.iscomplexobj(coordinates)
    assert coordinates.shape == (30, estimator.n_components_)
    lost = np.sum(np.abs(X - estimator.inverse_transform(coordinates)) ** 2)
    energy = np.sum(np.abs(X - X.mean(axis=0)) ** 2)
    assert estimator.score(X) == pytest.approx(1 - lost / energy)
    assert estimator.explained_variance_ratio_.sum() == pytest.approx(1 - lost / energy)


@pytest.mark.parametrize("kind", BOTH)
def test_real_samples_under_a_complex_matrix_without_pairs_have_complex_coordinates(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4, 3))
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
    estimator = kind(2, basis=matrix).fit(X)
    coordinates = estimator.transform(X)
    assert np.iscomplexobj(coordinates)
    assert np.abs(coordinates.imag).max() > 0.1
    lost = np.sum(np.abs(X - estimator.inverse_transform(coordinates)) ** 2)
    assert estimator.score(X) == pytest.approx(1 - lost / np.sum((X - X.mean(axis=0)) ** 2))
    everything = TensorPCA(basis=matrix).fit(X)
    assert_allclose(everything.inverse_transform(everything.transform(X)), X, atol=1e-12)


@pytest.mark.parametrize("kind", [*BOTH, SelectFromDecomposition])
def test_targets_are_ignored(kind, X):
    size = {"n_features_to_select": 2} if kind is SelectFromDecomposition else {}
    alone = kind(**size).fit(X)
    for target in (y, ["a", "b"], "nothing", np.nan):
        together = kind(**size)
        assert_array_equal(together.fit_transform(X, target), alone.transform(X))
        assert_array_equal(together.scores_, alone.scores_)
    if kind in BOTH:
        assert alone.score(X, y) == alone.score(X)
        assert_array_equal(kind().partial_fit(X, y).scores_, kind().partial_fit(X).scores_)


@pytest.mark.parametrize("kind", BOTH)
def test_samples_are_left_as_they_were(X, kind):
    before = X.copy()
    X.flags.writeable = False
    estimator = kind(2, basis="dft").fit(X)
    coordinates = estimator.transform(X)
    kept = coordinates.copy()
    coordinates.flags.writeable = False
    estimator.inverse_transform(coordinates)
    kind(2).partial_fit(X).score(X)
    assert_array_equal(X, before)
    assert_array_equal(coordinates, kept)


# Names and containers


@pytest.mark.parametrize("kind", BOTH)
def test_names_of_coordinates(X, kind):
    prefix = {TensorPCA: "tensorpca", SparseTensorPCA: "sparsetensorpca"}[kind]
    estimator = kind(2).fit(X)
    names = estimator.get_feature_names_out()
    assert names.dtype == object
    assert list(names) == [f"{prefix}{i}" for i in range(estimator.n_components_)]
    given_names = [f"c{i}" for i in range(12)]
    assert list(estimator.get_feature_names_out(given_names)) == list(names)
    with pytest.raises(ValueError, match=r"input_features should have length .* \(12\), got 5"):
        estimator.get_feature_names_out(given_names[:5])
    frame = pd.DataFrame(X.reshape(40, 12), columns=given_names)
    framed = kind(2, feature_shape=(4, 3)).fit(frame)
    assert_array_equal(framed.feature_names_in_, given_names)
    assert list(framed.get_feature_names_out()) == list(names)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        framed.get_feature_names_out(given_names[::-1])
    with pytest.raises(ValueError, match="feature names should match"):
        framed.transform(frame[given_names[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        framed.transform(frame.to_numpy())


@pytest.mark.parametrize("kind", BOTH)
def test_coordinates_as_a_data_frame(X, kind):
    rows = X.reshape(40, 12)
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(12)], index=np.arange(100, 140))
    plain = kind(2, feature_shape=(4, 3)).fit(rows)
    estimator = kind(2, feature_shape=(4, 3)).set_output(transform="pandas")
    out = estimator.fit_transform(frame)
    assert list(out.columns) == list(plain.get_feature_names_out())
    assert_array_equal(out.index, frame.index)
    coordinates = plain.transform(rows)
    assert_allclose(out.to_numpy(), coordinates, atol=1e-12)
    back = plain.inverse_transform(coordinates)
    assert_allclose(estimator.inverse_transform(out), back, atol=1e-12)
    with config_context(transform_output="pandas"):
        out = kind(2).fit_transform(X)  # tensors in, a frame of coordinates out
    assert isinstance(out, pd.DataFrame)
    assert_allclose(out.to_numpy(), coordinates, atol=1e-12)
    assert isinstance(estimator.set_output(transform="default").transform(frame), np.ndarray)


def test_selected_features_as_a_data_frame(X):
    frame = pd.DataFrame(X.reshape(40, 12), columns=[f"c{i}" for i in range(12)])
    selector = SelectFromDecomposition(SparseTensorPCA(1), 2, feature_shape=(4, 3))
    out = selector.set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["c5", "c9"]
    assert_array_equal(out.to_numpy(), X[:, [1, 3], [2, 0]])


@pytest.mark.parametrize("rows", [False, True], ids=["tensors", "rows"])
def test_a_selector_hands_its_decomposition_tensors(X, rows):
    samples = X.reshape(40, 12) if rows else X
    selector = SelectFromDecomposition(TensorPCA(1), 2, feature_shape=(4, 3)).fit(samples)
    assert selector.estimator_.feature_shape_ == selector.feature_shape_ == (4, 3)
    assert selector.scores_.shape == (4, 3)
    assert selector.transform(samples).shape == (40, 2)
    assert_array_equal(selector.scores_, TensorPCA(1).fit(X).scores_)
    by_mode = SelectFromDecomposition(TensorPCA(1), 2, feature_mode=-1).fit(X)
    assert_allclose(by_mode.scores_, selector.scores_.sum(axis=0))


# Faces


def test_repr_shows_what_was_changed():
    assert repr(TensorPCA()) == "TensorPCA()"
    assert repr(TensorPCA(5, basis="dct")) == "TensorPCA(basis='dct', n_components=5)"
    assert "array" in repr(SparseTensorPCA(basis=np.eye(2)))
    shown = repr(SelectFromDecomposition(TensorPCA(3), 5))
    assert shown.split() == [
        "SelectFromDecomposition(estimator=TensorPCA(n_components=3),",
        "n_features_to_select=5)",
    ]


@pytest.mark.parametrize("kind", [*BOTH, SelectFromDecomposition])
def test_html_repr_before_and_after_fit(X, kind):
    estimator = kind(n_features_to_select=2) if kind is SelectFromDecomposition else kind()
    assert "Not fitted" in estimator._repr_html_()
    html = estimator.fit(X)._repr_html_()
    assert kind.__name__ in html
    assert "Not fitted" not in html
    assert kind.__name__ in make_pipeline(estimator, StandardScaler())._repr_html_()


@pytest.mark.parametrize("kind", BOTH)
def test_html_repr_of_a_stream_after_its_first_sample(X, kind):
    """A notebook shows what `partial_fit` returns, when there are no results yet."""
    estimator = kind().partial_fit(X[:1])
    assert kind.__name__ in estimator._repr_html_()
    assert estimator.partial_fit(X[1:]).n_samples_seen_ == 40
    assert kind.__name__ in estimator._repr_html_()


def test_tags():
    for estimator in (TensorPCA(), SparseTensorPCA(), SelectFromDecomposition()):
        tags = estimator.__sklearn_tags__()
        assert tags.input_tags.three_d_array
        assert tags.input_tags.two_d_array
        assert not tags.input_tags.sparse
        assert not tags.target_tags.required


# The same every time


def correlated(n, shape, seed, *, mode=0, complex_data=False):
    """Samples whose components are well apart in energy."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, *shape))
    if complex_data:
        X = X + 1j * rng.normal(size=X.shape)
    scales = 1.7 ** -np.arange(shape[mode])
    scales = scales.reshape([-1 if axis == mode else 1 for axis in range(len(shape))])
    return 0.5 + X * scales * rng.uniform(0.8, 1, size=shape)


@pytest.mark.parametrize("transform", ["identity", "dct", "dft", "random"])
@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
def test_threads_and_repetition_give_the_same_bits(sparsity, transform):
    X = correlated(30, (6, 5), 0)
    params = {"lam": 0.2, "sparsity": sparsity, "basis": transform, "random_state": 3}
    once = SparseTensorPCA(2, n_init=3, **params).fit(X)
    for n_jobs in (None, 1, 2):
        assert_same_bits(SparseTensorPCA(2, n_init=3, n_jobs=n_jobs, **params).fit(X), once)
    assert_same_bits(once.fit(X), clone(once).fit(X))


@pytest.mark.parametrize("transform", ["identity", "dft", "eigen", "random"])
def test_repeated_fits_of_tensor_pca_give_the_same_bits(transform):
    X = correlated(30, (6, 5), 0)
    pca = TensorPCA(3, basis=transform, random_state=3).fit(X)
    assert_same_bits(TensorPCA(3, basis=transform, random_state=3).fit(X), pca)
    assert_same_bits(clone(pca).fit(X), pca)
    coordinates = pca.transform(X)
    assert_array_equal(pca.fit(X).transform(X), coordinates)


def test_another_seed_is_another_transform():
    X = correlated(30, (6, 5), 0)
    one, other = (TensorPCA(2, basis="random", random_state=seed).fit(X) for seed in (0, 1))
    assert np.abs(one.scores_ - other.scores_).max() > 1e-3


def assert_same_fit(parts, whole, X):
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == len(X)
    assert parts.n_components_ == whole.n_components_
    size = np.abs(X).max()
    assert_allclose(parts.mean_, whole.mean_, atol=1e-12)
    assert_allclose(parts.explained_variance_, whole.explained_variance_, atol=1e-7 * size**2)
    assert_allclose(parts.scores_, whole.scores_, atol=1e-6)
    assert_allclose(parts.transform(X), whole.transform(X), atol=1e-6 * size)


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 25),
    shape=st.sampled_from([(4,), (9,), (4, 3), (9, 2), (3, 2, 2)]),
    spec=st.sampled_from(["identity", "dct", "dft", "haar"]),
    orientation=st.integers(0, 2),
    is_complex=st.booleans(),
    cuts=st.lists(st.integers(1, 24), max_size=25),
    n_components=st.sampled_from([1, 2, 0.7]),
    truncation=st.sampled_from(["slice", "global"]),
    seed=st.integers(0, 50),
)
def test_any_chunking_of_tensor_pca_equals_fit(
    n, shape, spec, orientation, is_complex, cuts, n_components, truncation, seed
):
    mode = orientation % len(shape)
    X = correlated(n, shape, seed, mode=mode, complex_data=is_complex and len(shape) > 1)
    pca = TensorPCA(
        min(n_components, shape[mode]), truncation=truncation, orientation=mode, basis=spec
    )
    whole = clone(pca).fit(X)
    for chunk in np.split(X, sorted({cut for cut in cuts if cut < n})):
        pca.partial_fit(chunk)
    assert_same_fit(pca, whole, X)


@pytest.mark.parametrize("complex_data", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("transform", ["identity", "dft", "dct", "haar"])
@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
@pytest.mark.parametrize("chunks", [[1] * 24, [3, 21], [20, 1, 3]], ids=["ones", "few", "many"])
def test_any_chunking_of_sparse_tensor_pca_equals_fit(sparsity, transform, complex_data, chunks):
    """The first chunks have fewer samples than a slice has features, the last ones more."""
    X = correlated(24, (5, 4), 1, complex_data=complex_data)
    params = {"sparsity": sparsity, "basis": transform, "tol": 1e-9}
    parts = SparseTensorPCA(2, **params)
    for chunk in np.split(X, np.cumsum(chunks)[:-1]):
        parts.partial_fit(chunk, solve=False)
    assert_same_fit(parts.solve(), SparseTensorPCA(2, **params).fit(X), X)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("transform", ["identity", "dft"])
def test_a_stream_read_while_it_is_short_goes_on(kind, transform):
    X = correlated(30, (6, 4), 2)
    parts = kind(1, basis=transform).partial_fit(X[:3])
    assert_same_fit(parts, kind(1, basis=transform).fit(X[:3]), X[:3])
    for sample in X[3:]:
        parts.partial_fit(sample[None])
    assert_same_fit(parts, kind(1, basis=transform).fit(X), X)


@pytest.mark.parametrize("kind", BOTH)
def test_a_stream_is_solved_after_every_chunk_unless_told_otherwise(kind, monkeypatch):
    solved = []
    original = kind._solve

    def watched(self, samples):
        solved.append(self)
        return original(self, samples)

    monkeypatch.setattr(kind, "_solve", watched)
    X = correlated(20, (4, 3), 3)
    estimator = kind(2)
    for chunk in np.split(X, 4):
        estimator.partial_fit(chunk, solve=False)
    assert solved == []
    estimator.solve()
    assert len(solved) == 1
    estimator.transform(X)
    estimator.score(X)
    results(estimator)
    estimator.get_feature_names_out()
    assert len(solved) == 1
    for chunk in np.split(X, 4):
        estimator.partial_fit(chunk)
    assert len(solved) == 5


@pytest.mark.parametrize("kind", BOTH)
def test_results_of_an_earlier_chunk_are_gone_until_solve_is_called(kind):
    X = correlated(20, (4, 3), 3)
    estimator = kind(2).partial_fit(X[:10]).partial_fit(X[10:], solve=False)
    assert estimator.n_samples_seen_ == 20
    for name in ("components_", "weights_", "explained_variance_", "scores_", "mean_"):
        with pytest.raises(AttributeError, match=rf"{name}.*call solve\(\)"):
            getattr(estimator, name)
    coordinates = np.zeros((1, 2))
    for method, argument in (("transform", X), ("score", X), ("inverse_transform", coordinates)):
        with pytest.raises(NotFittedError, match=r"has no results yet.*call solve\(\)"):
            getattr(estimator, method)(argument)
    assert_same_fit(estimator.solve(), kind(2).fit(X), X)


@pytest.mark.parametrize("kind", BOTH)
def test_all_results_of_a_stream_are_those_of_fit(kind):
    X = correlated(20, (4, 3), 4)
    parts = results(kind(2).partial_fit(X[:7]).partial_fit(X[7:]))
    whole = results(kind(2).fit(X))
    assert parts.keys() == whole.keys()
    for name, value in whole.items():
        assert_allclose(parts[name], value, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("transform", ["identity", "dct", "dft"])
def test_features_of_equal_score_are_ordered_by_their_spread(transform):
    """All components together give all features the same weight, but for rounding."""
    X = correlated(30, (5, 4), 10)
    whole = TensorPCA(basis=transform).fit(X)
    parts = TensorPCA(basis=transform).partial_fit(X[:11]).partial_fit(X[11:])
    for pca in (whole, parts):
        assert_allclose(pca.scores_, pca.scores_[0, 0])
        assert_array_equal(pca.order_, np.argsort(-X.std(axis=0), axis=None, kind="stable"))
    selector = SelectFromDecomposition(TensorPCA(basis=transform), 3, selection="top").fit(X)
    assert_array_equal(selector.order_, whole.order_)


@pytest.mark.parametrize("kind", BOTH)
def test_fit_starts_anew_and_partial_fit_goes_on_from_fit(kind):
    X = correlated(30, (4, 3), 5)
    estimator = kind(2).partial_fit(100 * X)
    estimator.fit(X[:20])
    assert_same_bits(estimator, kind(2).fit(X[:20]))
    assert_same_fit(estimator.partial_fit(X[20:]), kind(2).fit(X), X)
    estimator.fit(X[:, :, :2])
    assert estimator.feature_shape_ == (4, 2)
    assert estimator.transform(X[:, :, :2]).shape == (30, estimator.n_components_)


@pytest.mark.parametrize("kind", BOTH)
def test_rows_and_tensors_may_be_mixed_in_a_stream(kind):
    X = correlated(30, (4, 3), 6)
    parts = kind(2, feature_shape=(4, 3)).partial_fit(X[:10].reshape(10, 12)).partial_fit(X[10:])
    assert_same_fit(parts, kind(2).fit(X), X)


@pytest.mark.parametrize("kind", BOTH)
def test_real_chunks_after_complex_ones_are_complex_numbers(kind):
    X = correlated(20, (4, 3), 7, complex_data=True)
    X[10:] = X[10:].real
    parts = kind(2, basis="dft").partial_fit(X[:10]).partial_fit(X[10:].real)
    assert_same_fit(parts, kind(2, basis="dft").fit(X), X)


@pytest.mark.parametrize("kind", BOTH)
def test_the_random_transform_stays_the_same_between_chunks(kind):
    X = correlated(20, (4, 3), 8)
    params = {"basis": "random", "random_state": 5}
    parts = kind(2, **params).partial_fit(X[:10]).partial_fit(X[10:])
    assert_same_fit(parts, kind(2, **params).fit(X), X)


def test_rows_are_ordinary_pca_in_chunks():
    X = correlated(40, (7,), 9)
    pca = TensorPCA(3)
    for chunk in np.split(X, 8):
        pca.partial_fit(chunk)
    theirs = PCA(3, svd_solver="full").fit(X)
    assert_allclose(pca.explained_variance_, theirs.explained_variance_)
    assert_allclose(np.abs(pca.transform(X)), np.abs(theirs.transform(X)), atol=1e-10)
