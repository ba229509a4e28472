"""The scikit-learn contract: checks, pipelines, searches, cloning, pickling, names, output."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted

from tensift import ExactSolver, PaperSolver, STPCASelector
from tensift.selection import TensorSelector

CONFIGURATIONS = [
    "STPCASelector()",
    "STPCASelector(0.5, basis='dct', lam=0.1, eta=0.1)",
    "STPCASelector(1, score_by='energy', solver=PaperSolver(stopping='relative'))",
    "STPCASelector(0.3, orientation=-1, solver=PaperSolver(convention='paper'), scale=None, "
    "feature_mode=0)",
    "STPCASelector(2, basis='haar', lam=0, eta=0, solver=PaperSolver(max_iter=3), n_jobs=2)",
    "STPCASelector(0.5, basis='eigen')",
    "STPCASelector(0.5, solver='exact')",
]
TOO_MANY = "ignore:n_features_to_select=.* is more than:UserWarning"
ARRAY_API = "check_array_api_input"  # runs with SCIPY_ARRAY_API set before SciPy is imported


@pytest.fixture
def X():
    """Samples of shape (4, 3) in two groups that two features tell apart."""
    rng = np.random.default_rng(0)
    samples = 0.1 * rng.normal(size=(40, 4, 3))
    samples[:, 1, 2] += 3 * np.repeat([0, 1], 20)
    samples[:, 3, 0] -= 2 * np.repeat([0, 1], 20)
    return samples


y = np.repeat([0, 1], 20)


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
    assert_estimator_checks_pass(CONFIGURATIONS, ["n_features_to_select=.* is more than"])


# In company with other estimators


def test_tensors_go_through_a_pipeline_into_a_classifier(X):
    pipeline = make_pipeline(STPCASelector(2, lam=1, eta=1), StandardScaler(), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) == 1.0
    assert pipeline[:-1].transform(X).shape == (40, 2)
    assert_array_equal(pipeline[0].get_support(indices=True), [5, 9])
    assert list(pipeline[:-1].get_feature_names_out()) == ["x1_2", "x3_0"]
    assert cross_val_score(pipeline, X, y, cv=KFold(4, shuffle=True, random_state=0)).min() == 1


def test_tensors_go_through_a_pipeline_into_k_means(X):
    pipeline = make_pipeline(STPCASelector(2, lam=1, eta=1), KMeans(2, n_init=1, random_state=0))
    found = pipeline.fit_predict(X)
    assert_array_equal(found == found[0], y == 0)
    fitted = pipeline.fit(X)
    assert_array_equal(fitted.predict(X) == fitted.predict(X)[0], y == 0)


@pytest.mark.filterwarnings("ignore:with basis='dft':UserWarning")
def test_grid_search_over_bases_scores_and_settings_of_the_solver(X):
    grid = {
        "stpcaselector__basis": ["identity", "dct", "dft", np.eye(3) + 0.1],
        "stpcaselector__score_by": ["operator", "energy"],
        "stpcaselector__solver__tol": [1e-6, 1e-4],
        "stpcaselector__orientation": [0, -2],
    }
    pipeline = make_pipeline(STPCASelector(2, solver=ExactSolver()), LogisticRegression())
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 32
    assert search.best_score_ == 1.0
    assert search.best_estimator_.predict(X).shape == (40,)
    best = search.best_params_["stpcaselector__basis"]
    assert search.best_estimator_[0].get_params()["basis"] is not None
    assert type(best) is type(search.best_estimator_[0].get_params()["basis"])


def test_grid_search_by_the_selectors_own_score(X):
    """Less penalty reconstructs more, so the search must take the smallest."""
    search = GridSearchCV(
        STPCASelector(2), {"lam": [100.0, 0.01], "orientation": [0, 1]}, cv=3, error_score="raise"
    ).fit(X)
    assert search.best_params_["lam"] == 0.01
    by_hand = []
    for train, test in KFold(3).split(X):
        selector = STPCASelector(2, lam=0.01, orientation=search.best_params_["orientation"])
        by_hand.append(selector.fit(X[train]).score(X[test]))
    assert search.best_score_ == pytest.approx(np.mean(by_hand))


def test_params_are_stored_and_methods_are_read():
    matrix = np.eye(3)
    selector = STPCASelector(2, basis=matrix, score_by="energy")
    params = selector.get_params()
    assert params["basis"] is matrix
    assert params["score_by"] == "energy"
    assert callable(selector.transform)
    assert callable(selector.score)
    selector.set_params(basis="dct", score_by="operator", lam=3)
    assert selector.get_params()["basis"] == "dct"
    assert selector.get_params()["score_by"] == "operator"
    assert (selector.lam, selector.get_params(deep=False)["lam"]) == (3, 3)
    assert callable(selector.transform)
    assert STPCASelector.transform.__name__ == "transform"
    assert STPCASelector.score.__doc__.startswith("Return the share of the energy")
    with pytest.raises(ValueError, match="Invalid parameter 'lamb'"):
        selector.set_params(lamb=1)


class Doubled(STPCASelector):
    """Overrides what users override: both methods whose names were parameters once."""

    def transform(self, X):
        return 2 * super().transform(X)

    def score(self, X, y=None):
        return -super().score(X)


def test_a_subclass_may_override_transform_and_score(X):
    plain, own = STPCASelector(2, lam=0.1, eta=0.1).fit(X), Doubled(2, lam=0.1, eta=0.1).fit(X)
    assert_array_equal(own.transform(X), 2 * plain.transform(X))
    assert_array_equal(own.fit_transform(X), 2 * plain.transform(X))
    assert own.score(X) == -plain.score(X)
    frame = clone(own).set_output(transform="pandas").fit(X).transform(X)
    assert_array_equal(frame.to_numpy(), 2 * plain.transform(X))
    assert make_pipeline(clone(own), LogisticRegression()).fit(X, y).predict(X).shape == (40,)


def test_settings_of_the_solver_are_parameters():
    selector = STPCASelector(solver=PaperSolver(max_iter=7))
    assert selector.get_params()["solver__max_iter"] == 7
    selector.set_params(solver__convention="paper")
    twin = clone(selector)
    assert twin.solver is not selector.solver
    assert twin.solver.get_params() == selector.solver.get_params()
    assert len(selector.get_params(deep=False)) <= 18


def test_set_params_changes_what_fit_does(X):
    selector = STPCASelector(2, basis="dct", lam=0.1, eta=0.1).fit(X)
    direct = STPCASelector(2, basis="haar", lam=0.2, eta=0.1, score_by="energy").fit(X)
    assert np.abs(selector.scores_ - direct.scores_).max() > 1e-3
    selector.set_params(basis="haar", lam=0.2, score_by="energy").fit(X)
    assert_array_equal(selector.scores_, direct.scores_)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"basis": "dct", "score_by": "energy", "feature_mode": 1},
        {"basis": np.diag([1.0, 2.0, 3.0])},
        {"basis": [np.eye(3) + 0.2]},
        {"basis": (np.fft.fft, np.fft.ifft), "score_by": "energy"},
        {"n_features_to_select": 0.25, "feature_shape": (4, 3), "n_jobs": 2},
        {"basis": "random", "random_state": 7},
    ],
)
def test_clones_copies_and_pickles(X, params):
    selector = STPCASelector(**{"n_features_to_select": 3, "lam": 1, "eta": 0.5, **params})
    for twin in (clone(selector), copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))):
        with pytest.raises(NotFittedError):
            check_is_fitted(twin)
        assert list(twin.get_params()) == list(selector.get_params())
        for name, value in selector.get_params().items():
            same = twin.get_params()[name]
            if isinstance(value, np.ndarray):
                assert_array_equal(same, value)
            elif name != "basis" or isinstance(value, str):
                assert same == value
        assert_array_equal(twin.fit(X).scores_, clone(selector).fit(X).scores_)

    selector.fit(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(selector))
    for twin in (copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))):
        assert_array_equal(twin.scores_, selector.scores_)
        assert_array_equal(twin.order_, selector.order_)
        assert_array_equal(twin.transform(X), selector.transform(X))
        assert twin.score(X) == selector.score(X)


def test_pickles_between_chunks_and_goes_on(X):
    whole = STPCASelector(3, lam=1, eta=1).fit(X)
    selector = STPCASelector(3, lam=1, eta=1).partial_fit(X[:15])
    twins = [pickle.loads(pickle.dumps(selector)), copy.deepcopy(selector)]
    for twin in twins:
        twin.partial_fit(X[15:])
        assert twin.n_samples_seen_ == 40
        assert_allclose(twin.scores_, whole.scores_, atol=1e-10)
    assert selector.n_samples_seen_ == 15


# Names and containers


def names(*indices):
    return [f"c{index}" for index in indices]


def test_default_names_in_every_combination(X):
    rows = X.reshape(40, 12)
    base = {"lam": 1, "eta": 1}

    def out(samples, **params):
        selector = STPCASelector(2, **base, **params).fit(samples)
        labels = selector.get_feature_names_out()
        assert labels.dtype == object
        return list(labels)

    assert out(X) == ["x1_2", "x3_0"]
    assert out(rows) == ["x5", "x9"]
    assert out(rows, feature_shape=(4, 3)) == ["x5", "x9"]
    assert out(X, feature_shape=(4, 3)) == ["x1_2", "x3_0"]
    assert out(X, feature_mode=0) == ["x1", "x3"]
    assert out(X, feature_mode=-1) == ["x0", "x2"]
    assert out(rows, feature_shape=(4, 3), feature_mode=0) == ["x3", "x4", "x5", "x9", "x10", "x11"]
    assert out(rows, feature_mode=0) == ["x5", "x9"]
    assert out(X[..., None]) == ["x1_2_0", "x3_0_0"]
    assert out(X[:, None], orientation=1) == ["x0_1_2", "x0_3_0"]


def test_given_names_in_every_combination(X):
    rows = X.reshape(40, 12)
    frame = pd.DataFrame(rows, columns=names(*range(12)))
    base = {"lam": 1, "eta": 1}
    tensor = STPCASelector(2, **base).fit(X)
    assert list(tensor.get_feature_names_out(names(*range(12)))) == ["c5", "c9"]
    grid = np.array(names(*range(12))).reshape(4, 3)
    assert list(tensor.get_feature_names_out(grid)) == ["c5", "c9"]
    channels = STPCASelector(2, **base, feature_mode=0).fit(X)
    assert list(channels.get_feature_names_out(list("abcd"))) == ["b", "d"]
    plain = STPCASelector(2, **base).fit(rows)
    assert not hasattr(plain, "feature_names_in_")
    assert list(plain.get_feature_names_out(names(*range(12)))) == ["c5", "c9"]

    framed = STPCASelector(2, **base, feature_shape=(4, 3)).fit(frame)
    assert_array_equal(framed.feature_names_in_, names(*range(12)))
    assert list(framed.get_feature_names_out()) == ["c5", "c9"]
    assert list(framed.get_feature_names_out(names(*range(12)))) == ["c5", "c9"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        framed.get_feature_names_out(names(*range(1, 13)))
    by_mode = STPCASelector(2, **base, feature_shape=(4, 3), feature_mode=0).fit(frame)
    assert list(by_mode.get_feature_names_out()) == names(3, 4, 5, 9, 10, 11)


def test_data_frames_in_and_out(X):
    rows = X.reshape(40, 12)
    frame = pd.DataFrame(rows, columns=names(*range(12)), index=np.arange(100, 140))
    for mode, kept in ((None, [5, 9]), (0, [3, 4, 5, 9, 10, 11])):
        selector = STPCASelector(2, lam=1, eta=1, feature_shape=(4, 3), feature_mode=mode)
        selector.set_output(transform="pandas")
        out = selector.fit_transform(frame)
        assert isinstance(out, pd.DataFrame)
        assert list(out.columns) == names(*kept)
        assert_array_equal(out.index, frame.index)
        assert_array_equal(out.to_numpy(), rows[:, kept])
        back = selector.inverse_transform(out)
        assert_array_equal(np.asarray(back)[:, kept], rows[:, kept])
    with config_context(transform_output="pandas"):
        out = STPCASelector(2, lam=1, eta=1).fit(X).transform(X)
    assert list(out.columns) == ["x1_2", "x3_0"]
    assert_array_equal(out.to_numpy(), X[:, [1, 3], [2, 0]])
    selector = STPCASelector(2, lam=1, eta=1, feature_shape=(4, 3)).set_output(transform="pandas")
    assert list(selector.fit_transform(rows).columns) == ["x5", "x9"]
    assert isinstance(selector.set_output(transform="default").transform(rows), np.ndarray)


def test_a_frame_cannot_hold_features_that_are_whole_slices(X):
    selector = STPCASelector(2, lam=1, eta=1, feature_mode=0).set_output(transform="pandas")
    with pytest.raises(ValueError, match=r"set_output|feature_mode"):
        selector.fit_transform(X)


def test_columns_of_another_name_or_order_are_refused(X):
    frame = pd.DataFrame(X.reshape(40, 12), columns=names(*range(12)))
    selector = STPCASelector(2, feature_shape=(4, 3)).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        selector.transform(frame.to_numpy())


def test_lists_are_samples_too(X):
    direct = STPCASelector(3, lam=1, eta=1).fit(X)
    listed = STPCASelector(3, lam=1, eta=1).fit(X.tolist())
    assert_array_equal(listed.scores_, direct.scores_)
    assert_array_equal(listed.transform(X.tolist()), direct.transform(X))
    rows = STPCASelector(3, lam=1, eta=1, feature_shape=[4, 3]).fit(X.reshape(40, 12).tolist())
    assert_array_equal(rows.scores_, direct.scores_)


# Faces


def test_repr_shows_what_was_changed():
    assert repr(STPCASelector()) == "STPCASelector()"
    shown = repr(STPCASelector(5, basis="dct", score_by="energy"))
    assert shown == "STPCASelector(basis='dct', n_features_to_select=5, score_by='energy')"
    assert "array" in repr(STPCASelector(basis=np.eye(2)))


@pytest.mark.parametrize("params", [{}, {"basis": np.eye(3)}, {"basis": "dct"}])
def test_html_repr_before_and_after_fit(X, params):
    selector = STPCASelector(2, lam=1, eta=1, **params)
    assert "Not fitted" in selector._repr_html_()
    html = selector.fit(X)._repr_html_()
    assert "STPCASelector" in html
    assert "Not fitted" not in html
    assert "STPCASelector" in make_pipeline(selector, KMeans(2))._repr_html_()


def test_tags_and_base_class():
    tags = STPCASelector().__sklearn_tags__()
    assert tags.input_tags.three_d_array
    assert tags.input_tags.two_d_array
    assert not tags.input_tags.sparse
    assert not tags.target_tags.required
    with pytest.raises(TypeError, match="abstract"):
        TensorSelector()
