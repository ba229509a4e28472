"""All selectors of the family at once: one contract, so that any can take another's place."""

import copy
import dataclasses
import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from tensift import ExactSolver, GeometrySelector, PaperSolver, STPCASelector, rivals
from tensift.datasets import load_digits
from tensift.rivals import list_selectors
from tensift.selection import (
    ColumnSubsetOrder,
    TensorSelector,
    suggest_count,
    suggest_count_by_reconstruction,
)
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder

FAMILY = {info.name: info for info in list_selectors()}
family = pytest.mark.parametrize("info", FAMILY.values(), ids=FAMILY)
ITERATIVE = [info for info in FAMILY.values() if "max_iter" in info.parameters]

# Selectors that pick one feature after another, and score it by what it adds to those before.
PICKED = {
    "ColumnSubsetSelector",
    "QRSensorSelector",
    "CURSelector",
    "FarthestPointSelector",
    "FeatureClusterSelector",
    "FacilityLocationSelector",
    "FastCanSelector",
    "OPBSSelector",
    "EvenSelector",
    "PivotedCholeskySelector",
    "GeometrySelector",
}

# Warnings that selectors document, which data as in scikit-learn's checks set off.
DOCUMENTED = [
    "n_.*=.* is more than",
    "X has negative values, and CPUFS",
    "beta=.* leaves nothing",
]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
ARRAY_API = "check_array_api_input"  # runs with SCIPY_ARRAY_API set before SciPy is imported


# Settings under which small data are enough, and time too.
SMALL = {"n_clusters": 2, "n_neighbors": 3, "n_components": 2, "random_state": 0}
QUICK = {
    "STPCASelector": {"lam": 0.1, "eta": 0.1, "selection": "top"},
    "SPCAPSD": {"lam": 0.1, "eta": 0.1},
    "CPUFS": {"max_iter": 30},
    "CPUFSnn": {"max_iter": 30},
    "NDFS": {"tol": 0.1},
}


def make(info, n_features_to_select=3, **settings):
    """An estimator for small data, and always with a seed."""
    quick = {**SMALL, **QUICK.get(info.name, {}), **settings}
    return info.make(n_features_to_select, **quick)


@pytest.fixture
def X():
    """Non-negative samples of shape (4, 3) in two groups that two elements tell apart."""
    samples = np.random.default_rng(0).random((24, 4, 3))
    samples[:12, 1, 2] += 2
    samples[12:, 3, 0] += 3
    return samples


y = np.repeat([0, 1], 12)


def results(selector):
    """Everything that was fitted."""
    return {name: value for name, value in vars(selector).items() if name.endswith("_")}


def assert_same_results(one, other):
    found, expected = results(one), results(other)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, np.ndarray | float | int | tuple):
            assert_array_equal(found[name], value, err_msg=name)


# What the registry says


def test_every_selector_is_registered_and_exported():
    classes = [STPCASelector, GeometrySelector, *(getattr(rivals, name) for name in rivals.__all__)]
    family = {
        cls.__name__: cls
        for cls in classes
        if inspect.isclass(cls) and issubclass(cls, TensorSelector) and not inspect.isabstract(cls)
    }
    assert family == {name: info.selector for name, info in FAMILY.items()}
    assert len(list_selectors()) == len(FAMILY)


@family
def test_registry_agrees_with_the_class(info):
    assert info.name == info.selector.__name__
    assert sorted(info.parameters) == sorted(inspect.signature(info.selector).parameters)
    assert set(info.tuned) <= set(info.parameters)
    assert set(info.needs) <= set(info.parameters)
    assert info.complexity.startswith("O(")
    with pytest.raises(dataclasses.FrozenInstanceError):
        info.year = 1900
    assert hash(info) == hash(dataclasses.replace(info))


@family
def test_grid_is_the_papers_and_usable(info, X):
    grid = ParameterGrid(info.grid)
    assert len(grid) == 5 ** len(info.tuned)
    for values in info.grid.values():
        assert_allclose(np.log10(values), [-2, -1, 0, 1, 2])
    info.grid.clear()  # a fresh one every time
    assert len(ParameterGrid(info.grid)) == len(grid)
    for settings in (grid[0], grid[len(grid) - 1]):
        selector = make(info, **settings)
        assert {name: selector.get_params()[name] for name in settings} == settings


def test_make_gives_each_what_it_has():
    settings = {"n_clusters": 7, "n_neighbors": 4, "random_state": 1, "lam": 0.3, "gamma": 0.2}
    for info in FAMILY.values():
        params = info.make(9, **settings).get_params()
        assert params["n_features_to_select"] == 9
        for name, value in settings.items():
            assert params.get(name, value) == value
            assert (name in params) == (name in info.parameters)
    with pytest.raises(TypeError, match=r"no selector has a parameter 'n_cluster'.*n_clusters"):
        FAMILY["VarianceSelector"].make(3, n_cluster=2)


@family
def test_docstring_has_an_example_and_the_paper(info):
    text = inspect.getdoc(info.selector)
    flat = " ".join(text.split()).lower()
    assert ">>>" in text.split("Examples\n--------")[1]
    assert info.name in text
    reference = " ".join(text.split("References\n----------")[1].split("Examples\n---")[0].split())
    title = re.search(r": (.*?)\. ", info.paper + " ")
    if info.year is not None:
        assert title.group(1).lower() in reference.lower()
        assert str(info.year) in info.paper + reference
    assert "parameters ----" in flat or "with its parameters and attributes" in flat


@family
def test_docstring_describes_all_parameters_and_results(info, X):
    text = inspect.getdoc(info.selector)
    if "Parameters\n----------" not in text:  # of a class that differs from its base in one point
        text = inspect.getdoc(info.selector.__mro__[1])
    section = text.split("Parameters\n----------")[1].split("\nAttributes\n---")[0]
    described = {
        name
        for line in re.findall(r"^(\w+(?:, \w+)*) : ", section, re.M)
        for name in line.split(", ")
    }
    assert described == set(info.parameters)
    attributes = text.split("Attributes\n----------")[1]
    for name in results(make(info).fit(X)):
        assert re.search(rf"\b{name}\b", attributes), f"{name} is not described"


# One constructor


SHARED_DEFAULTS = {
    "n_neighbors": 5,
    "n_components": None,
    "scale": "max",
    "feature_mode": None,
    "feature_shape": None,
    "random_state": None,
    "variant": "intended",
    "verbose": False,
}
OWN_DEFAULTS = {
    ("NLGMS", "scale"): "features",  # its paper scales every feature by itself
    # These rules solve nothing, so only the ratios of features matter to them.
    ("GeometrySelector", "scale"): None,
    ("ColumnSubsetSelector", "scale"): None,
}


@family
def test_constructors_are_alike(info):
    first, *others = inspect.signature(info.selector).parameters.values()
    assert first.name == "n_features_to_select"
    assert first.kind == first.POSITIONAL_OR_KEYWORD
    expected = {"AllFeatures": None, "STPCASelector": "auto", "GeometrySelector": "auto"}
    assert first.default == expected.get(info.name, 100)
    assert all(parameter.kind == parameter.KEYWORD_ONLY for parameter in others)
    assert {"feature_mode", "feature_shape"} <= set(info.parameters)
    for parameter in others:
        if parameter.name in SHARED_DEFAULTS:
            expected = OWN_DEFAULTS.get(
                (info.name, parameter.name), SHARED_DEFAULTS[parameter.name]
            )
            assert parameter.default == expected, parameter.name
    for spelling in (
        "k",
        "c",
        "m",
        "n_iter",
        "n_iters",
        "seed",
        "lambda_",
        "clusters",
        "normalize",
    ):
        assert spelling not in info.parameters


# scikit-learn's checks


def test_all_estimator_checks_pass_and_none_is_skipped(assert_estimator_checks_pass):
    assert_estimator_checks_pass([f"{name}()" for name in FAMILY], DOCUMENTED)


# What fit leaves


@family
def test_fitted_attributes_are_alike(info, X):
    selector = make(info).fit(X)
    assert selector.scores_.shape == selector.feature_shape_ == (4, 3)
    assert selector.scores_.dtype == np.float64
    assert np.isfinite(selector.scores_).all()
    assert selector.n_features_in_ == 12
    assert_array_equal(np.sort(selector.order_), np.arange(12))
    if info.name != "GeometrySelector":  # scores are agreements, which are part of what it goes by
        assert np.all(np.diff(selector.scores_.ravel()[selector.order_]) <= 0)
    kept = selector.get_support(indices=True)
    expected = selector.order_ if info.name == "AllFeatures" else selector.order_[:3]
    assert_array_equal(kept, np.sort(expected))
    assert_array_equal(selector.transform(X), X.reshape(24, 12)[:, kept])
    back = selector.inverse_transform(selector.transform(X))
    assert back.shape == X.shape
    assert_array_equal(back.reshape(24, 12)[:, kept], X.reshape(24, 12)[:, kept])
    assert_array_equal(
        selector.get_feature_names_out(), [f"x{index // 3}_{index % 3}" for index in kept]
    )


@family
def test_iterations_are_told_by_the_same_names(info, X):
    selector = make(info).fit(X)
    told = {"objective_", "objective_path_", "n_iter_"} & set(results(selector))
    iterates = {"max_iter", "solver"} & set(info.parameters)
    assert len(told) == (3 if iterates else 0)
    if not told or info.name == "STPCASelector":  # which has an array of each, one value a slice
        return
    assert isinstance(selector.objective_, float)
    assert isinstance(selector.n_iter_, int)
    assert selector.objective_path_.ndim == 1
    if info.name != "MSPCA":  # has an objective for every mode
        assert len(selector.objective_path_) == selector.n_iter_
        assert selector.objective_path_[-1] == selector.objective_
    assert np.isfinite(selector.objective_path_).all()


@pytest.mark.parametrize("info", ITERATIVE, ids=lambda info: info.name)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_bounds_the_iterations(info, X):
    selector = make(info, max_iter=2).fit(X)
    assert np.max(selector.n_iter_) <= 2


@pytest.mark.parametrize("name", ["STPCASelector", "SPCAPSD"])
@pytest.mark.parametrize("solver", [PaperSolver(max_iter=2), ExactSolver(max_iter=2)], ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_of_the_solver_bounds_the_iterations(name, solver, X):
    selector = make(FAMILY[name], solver=solver).fit(X)
    assert np.max(selector.n_iter_) <= 2


@family
def test_tensors_count_only_where_the_registry_says_so(info, X):
    """Vectorising methods see the same in flattened samples; tensor methods do not."""
    rows = X.reshape(24, 12)
    scores = make(info).fit(X).scores_.ravel()
    flat = make(info).fit(rows)
    assert flat.scores_.shape == (12,)
    if info.tensor:
        assert np.abs(scores / scores.sum() - flat.scores_ / flat.scores_.sum()).max() > 1e-3
    else:
        assert_array_equal(flat.scores_, scores)
        assert flat.transform(rows).shape == make(info).fit_transform(X).shape
    shaped = make(info, feature_shape=(4, 3)).fit(rows)
    assert_array_equal(shaped.scores_.ravel(), scores)


@family
@pytest.mark.parametrize("shape", [(12,), (2, 6), (3, 2, 2), (2, 1, 3, 2), (1, 12, 1)])
@pytest.mark.filterwarnings("ignore:n_components=.* is more than")
def test_samples_of_any_order(info, X, shape):
    samples = X.reshape(24, *shape)
    selector = make(info).fit(samples)
    assert selector.scores_.shape == shape
    assert_array_equal(np.sort(selector.order_), np.arange(12))
    for mode in range(len(shape)):
        channels = make(info, 1, feature_mode=mode).fit(samples)
        assert channels.scores_.shape == (shape[mode],)
        kept = shape[mode] if info.name == "AllFeatures" else 1
        assert channels.transform(samples).shape == (24, *shape[:mode], kept, *shape[mode + 1 :])


@pytest.mark.parametrize("name", sorted(FAMILY.keys() - {"RandomSelector"} - PICKED))
def test_mode_features_sum_their_elements(name, X):
    """But where scores are drawn, or elements explain one another.

    Sums of many draws would nearly always beat sums of few.
    """
    info = FAMILY[name]
    for mode, elements in ((0, 6), (1, 8)):  # as many as two mode features have
        scores = make(info, elements).fit(X).scores_.sum(axis=1 - mode)
        found = make(info, 2, feature_mode=mode).fit(X)
        assert_allclose(found.scores_, scores, rtol=1e-12)
        last = make(info, 2, feature_mode=mode - 2).fit(X)
        assert_array_equal(last.scores_, found.scores_)


@family
def test_whether_the_count_matters_is_registered(info, X):
    # A number of components of one's own can take the place of the count.
    width = info.selector().get_params().get("n_components")
    two, eight = (make(info, count, n_components=width).fit(X).scores_ for count in (2, 8))
    assert np.array_equal(two, eight) == (not info.counted)


@family
def test_share_of_the_features(info, X):
    assert_array_equal(make(info, 0.25).fit(X).order_, make(info, 3).fit(X).order_)
    assert make(info, 0.25).fit_transform(X).shape[1] == (12 if info.name == "AllFeatures" else 3)


# Features that do not repeat one another, and how many of them

WITHOUT_SELECTION = {"RandomSelector", "AllFeatures"} | PICKED
COUNT_IN_PROBLEM = {"NLGMS", "RNE", "MCFS"}


@family
def test_selection_is_a_parameter_of_all_that_score(info):
    expected = None if info.name in WITHOUT_SELECTION else "top"
    if info.name == "STPCASelector":
        expected = "geometry"
    assert info.selector().get_params().get("selection") == expected


@pytest.mark.parametrize("name", sorted(FAMILY.keys() - WITHOUT_SELECTION))
@pytest.mark.parametrize("mode", [None, 0])
@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
def test_rules_weigh_features_by_their_scores(name, X, mode, rule):
    selector = make(FAMILY[name], 3, selection=rule, feature_mode=mode).fit(X)
    if rule == "geometry":
        order = GeometryOrder(Geometry(X, mode), selector.scores_)
    else:
        order = ColumnSubsetOrder(X, mode, selector.scores_)
    first = order.extend(3)
    assert_array_equal(selector.order_, order.ranking())
    assert_array_equal(selector.get_support(indices=True), np.sort(first))
    assert_allclose(selector.selection_curve_, order.curve, rtol=1e-12)
    assert selector.n_features_ == 3


@family
def test_auto_keeps_the_suggested_number(info, X):
    selector = make(info, "auto")
    if info.name in COUNT_IN_PROBLEM:
        settings = {"n_components": None} if info.name == "RNE" else {}
        with pytest.raises(ValueError, match=r"n_features_to_select='auto'.*must be a number"):
            selector.set_params(**settings).fit(X)
        return
    selector.fit(X)
    if info.name == "AllFeatures":
        assert selector.n_features_ == 12
        return
    by = suggest_count_by_reconstruction if info.name == "ColumnSubsetSelector" else suggest_count
    suggested = by(X)
    assert selector.suggested_count_.count == selector.n_features_ == suggested.count
    assert selector.transform(X).shape == (24, suggested.count)
    assert selector.suggested_count_.reason == suggested.reason
    with pytest.raises(ValueError, match=r"'auto' was set after fit.*fit again"):
        make(info).fit(X).set_params(n_features_to_select="auto").transform(X)


# The same result every time


@family
def test_results_are_the_same_every_time(info, X):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    X.flags.writeable = False
    selector = make(info)
    first = clone(selector).fit(X)
    assert_same_results(clone(selector).fit(X), first)
    assert_same_results(selector.fit(X[:20]).fit(X), first)
    assert_same_results(clone(selector).fit(X.tolist()), first)
    fortran = clone(selector).fit(np.asfortranarray(X))  # may be added up in another order
    assert_allclose(fortran.scores_, first.scores_, rtol=1e-9)
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@family
def test_whether_the_seed_matters_is_registered(info, X):
    one, other = (make(info, random_state=seed).fit(X).scores_ for seed in (0, 1))
    assert np.array_equal(one, other) == (not info.random)
    if info.random:
        assert "random_state" in info.parameters
        state = np.random.RandomState(0)
        assert_array_equal(make(info, random_state=state).fit(X).scores_, one)


@family
@pytest.mark.parametrize("factor", [2.0**-30, 2.0**40])
def test_units_do_not_matter(info, X, factor):
    """Powers of two, by which floating point numbers can be multiplied without rounding."""
    one, other = make(info).fit(X), make(info).fit(factor * X)
    assert_array_equal(one.order_, other.order_)
    if info.name not in {"VarianceSelector", "MVPCASelector", "PivotedCholeskySelector"}:
        assert_array_equal(one.scores_, other.scores_)


# What EvenSelector keeps is the order of the features and nothing else.
WITHOUT_ORDER = [
    name for name, info in FAMILY.items() if not info.random and name != "EvenSelector"
]


@pytest.mark.parametrize("n", [24, 9])
@pytest.mark.parametrize("name", WITHOUT_ORDER)
def test_order_does_not_matter(name, X, n):
    """Of samples or of features, with more samples than features and with fewer."""
    rows = X[(24 - n) // 2 :][:n].reshape(n, 12)
    rng = np.random.default_rng(0)
    samples, features = rng.permutation(n), rng.permutation(12)
    scores = make(FAMILY[name]).fit(rows).scores_
    small = 1e-7 * scores.max()
    assert_allclose(make(FAMILY[name]).fit(rows[samples]).scores_, scores, atol=small)
    assert_allclose(make(FAMILY[name]).fit(rows[:, features]).scores_, scores[features], atol=small)


# CP factors, and the regressions of NDFS without an intercept, begin at zero.
FROM_ZERO = {"CPUFS", "CPUFSnn", "NDFS"}


@pytest.mark.parametrize("name", sorted(FAMILY.keys() - FROM_ZERO))
def test_origin_does_not_matter(name, X):
    info = FAMILY[name]
    raw = {} if name == "NLGMS" else {"scale": None}  # which moves features to [0, 1] anyway
    scores = make(info, **raw).fit(X).scores_
    moved = make(info, **raw).fit(X + np.arange(12.0).reshape(4, 3)).scores_
    assert_allclose(moved, scores, atol=1e-7 * scores.max())


@family
def test_clones_copies_and_pickles(info, X):
    selector = make(info, 2, feature_mode=1)
    for twin in (clone(selector), copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))):
        with pytest.raises(NotFittedError):
            check_is_fitted(twin)
        with pytest.raises(NotFittedError):
            twin.transform(X)
        assert twin.get_params() == selector.get_params()
        assert repr(twin) == repr(selector)
    selector.fit(X)
    for twin in (copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))):
        assert_same_results(twin, selector)
        assert_array_equal(twin.transform(X), selector.transform(X))


# In company with other estimators


@family
def test_tensors_go_through_a_pipeline(info, X):
    pipeline = make_pipeline(make(info), KMeans(2, n_init=1, random_state=0))
    assert set(pipeline.fit_predict(X)) == {0, 1}
    classifier = make_pipeline(make(info), LogisticRegression()).fit(X, y)
    assert classifier.predict(X).shape == (24,)
    assert len(classifier[0].get_feature_names_out()) == classifier[1].n_features_in_


@family
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:beta=.* leaves nothing")
def test_grid_search_over_the_registered_parameters(info, X):
    grid = {f"selector__{name}": values[1::2] for name, values in list(info.grid.items())[:1]}
    grid["selector__n_features_to_select"] = [2, 4]
    pipeline = sklearn.pipeline.Pipeline(
        [("selector", make(info, max_iter=10)), ("classifier", LogisticRegression())]
    )
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 2 * 2 ** min(1, len(info.tuned))
    assert search.best_estimator_.predict(X).shape == (24,)


@family
def test_data_frames_in_and_out(info, X):
    frame = pd.DataFrame(X.reshape(24, 12), columns=[f"c{i}" for i in range(12)])
    selector = make(info, 2).set_output(transform="pandas")
    out = selector.fit_transform(frame)
    kept = selector.get_support(indices=True)
    assert list(out.columns) == [f"c{i}" for i in kept]
    assert_array_equal(out.to_numpy(), frame.to_numpy()[:, kept])
    by_mode = make(info, 1, feature_shape=(4, 3), feature_mode=0).set_output(transform="pandas")
    rows = len(by_mode.fit_transform(frame).columns)
    assert rows == (12 if info.name == "AllFeatures" else 3)


# Bad input


def spoiled(X, value):
    X = X.copy()
    X[3, 2, 1] = value
    return X


BAD_SAMPLES = {
    "NaN": (lambda X: spoiled(X, np.nan), ValueError, "X contains NaN"),
    "infinity": (lambda X: spoiled(X, np.inf), ValueError, "X contains infinity"),
    "NaN in rows": (lambda X: spoiled(X, np.nan).reshape(24, 12), ValueError, "X contains NaN"),
    "one sample": (lambda X: X[:1], ValueError, r"X has 1 sample.*minimum of 2"),
    "one row": (lambda X: X.reshape(24, 12)[:1], ValueError, r"1 sample.*minimum of 2"),
    "no samples": (lambda X: X[:0], ValueError, r"X has 0 sample.*minimum of 2"),
    "constant": (lambda X: np.full((6, 4, 3), 0.1), ValueError, "X is constant.*no feature varies"),
    "zeros": (lambda X: np.zeros((6, 12)), ValueError, "X is constant.*no feature varies"),
    "equal samples": (lambda X: np.repeat(X[:1], 7, axis=0), ValueError, "X is constant"),
    "one axis": (lambda X: X[:, 0, 0], ValueError, "Expected 2D array"),
    "empty mode": (lambda X: X[:, :0], ValueError, "X has a mode of length zero"),
    "strings": (lambda X: X.astype(str), ValueError, "[Cc]onvert your data to numeric"),
    "sparse": (lambda X: scipy.sparse.csr_array(X.reshape(24, 12)), TypeError, "Sparse data"),
    "complex rows": (lambda X: X.reshape(24, 12) + 1j, ValueError, "Complex data not supported"),
    "masked": (lambda X: np.ma.masked_less(X, 0.5), ValueError, "X has masked values.*fill"),
    "too large": (lambda X: 1e200 * X, ValueError, "X has values above 1e.100, too large"),
}


@family
@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_bad_samples_are_refused(info, X, case):
    spoil, kind, message = BAD_SAMPLES[case]
    with pytest.raises(kind, match=message):
        make(info).fit(spoil(X))


TAKE_COMPLEX = {
    "STPCASelector", "SPCAPSD", "VarianceSelector", "MVPCASelector", "RandomSelector",
} | PICKED  # fmt: skip


@family
def test_complex_samples_are_taken_or_refused_by_name(info, X):
    samples = X * np.exp(1j * X)
    if info.name in TAKE_COMPLEX:
        assert make(info).fit(samples).transform(samples).shape == (24, 3)
    elif info.name == "AllFeatures":
        assert_array_equal(make(info).fit_transform(samples), samples.reshape(24, 12))
    else:
        with pytest.raises(ValueError, match=rf"X is complex, and {info.name} is defined for real"):
            make(info).fit(samples)


@family
def test_samples_of_another_shape_are_refused_after_fit(info, X):
    selector = make(info).fit(X)
    with pytest.raises(ValueError, match=r"X has samples of shape \(3, 4\).*\(4, 3\)"):
        selector.transform(X.swapaxes(1, 2))
    with pytest.raises(ValueError, match=r"X has samples of shape \(12,\).*\(4, 3\)"):
        selector.transform(X.reshape(24, 12))
    with pytest.raises(ValueError, match="X contains NaN"):
        selector.transform(spoiled(X, np.nan))
    with pytest.raises(ValueError, match=r"feature_shape=\(5, 3\) has 15 elements.*\(4, 3\)"):
        make(info, feature_shape=(5, 3)).fit(X)
    with pytest.raises(ValueError, match="feature_mode"):
        make(info, feature_mode=2).fit(X)


@family
def test_bad_parameters_are_refused_by_name(info, X):
    bad = {
        "n_features_to_select": [0, -1, 1.5, "many"],
        "selection": ["best", None],
        "n_clusters": [0, 1.5],
        "n_neighbors": [0, 2.5],
        "n_components": [0, "many"],
        "max_iter": [0, 1.5],
        "tol": [-1.0, "small"],
        "scale": ["minmax", 3],
        "variant": ["mine"],
        "random_state": ["seed", -1],
        "feature_mode": [0.5, "rows"],
        "feature_shape": [5, "12"],
        "verbose": ["loud"],
        **{name: [-1.0, "strong"] for name in info.tuned},
    }
    for name in set(bad) & set(info.parameters):
        for value in bad[name]:
            with pytest.raises(ValueError, match=f"(?s){name}.* must be"):
                make(info).set_params(**{name: value}).fit(X)


# Odd but good input


@family
def test_constant_features_come_last(info, X):
    X[:, 0, 1] = X[:, 2, 2] = 0.3
    X[:, 3, 1] = 0
    ranking = make(info).fit(X).order_
    assert set(ranking[-3:]) == {1, 8, 10}


@family
@pytest.mark.filterwarnings("ignore:n_.*=.* is more than")
@pytest.mark.filterwarnings("ignore:beta=.* leaves nothing")
@pytest.mark.filterwarnings("ignore:there is no unique projection")  # or there is, by rounding
@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_samples(info, X, n):
    selector = info.make(3, random_state=0).fit(X[6 : 6 + n])
    assert np.isfinite(selector.scores_).all()
    assert_array_equal(np.sort(selector.order_), np.arange(12))


@family
@pytest.mark.filterwarnings("ignore:n_.*=.* is more than")
def test_one_feature(info, X):
    rows = X[:, 3, :1]
    selector = info.make(1, random_state=0).fit(rows)
    assert_array_equal(selector.transform(rows), rows)


@family
@pytest.mark.filterwarnings("ignore:n_.*=.* is more than")
def test_numbers_that_the_data_do_not_allow_are_reduced_with_a_warning(info, X):
    for name in ("n_clusters", "n_neighbors"):
        if name in info.parameters:
            with pytest.warns(UserWarning, match=rf"{name}=50 is more than .*\d.* is used"):
                make(info, **{name: 50}).fit(X)


@family
def test_more_features_than_there_are(info, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        selector = make(info, 40).fit(X)
    assert selector.transform(X).shape == (24, 12)
    said = [str(warning.message) for warning in caught]
    expected = "n_features_to_select=40 is more than the 12 features there are; all are kept"
    assert said == ([] if info.name == "AllFeatures" else [expected])


@family
@pytest.mark.filterwarnings("ignore:there is no unique projection")
def test_repeated_samples_and_features(info, X):
    twice = np.concatenate([X, X])
    selector = make(info).fit(twice)
    assert np.isfinite(selector.scores_).all()
    copies = np.concatenate([X, X], axis=2)
    assert np.isfinite(make(info).fit(copies).scores_).all()


@family
def test_kinds_of_numbers(info, X):
    whole = np.round(20 * X)
    expected = make(info).fit(whole)
    small = 1e-9 * expected.scores_.max()
    for kind in (np.int64, np.uint8, np.float32, np.float16, object):
        found = make(info).fit(whole.astype(kind))
        assert_allclose(found.scores_, expected.scores_, rtol=1e-6, atol=small)
    make(info).fit(whole > 10)


# Features that are known


def block_of_classes(seed):
    """Three classes differ in a block of 3 rows and 4 columns; all other elements hardly vary."""
    rng = np.random.default_rng(seed)
    X = 0.1 * rng.random((60, 6, 8))
    rows, columns = (np.sort(rng.choice(d, k, replace=False)) for d, k in ((6, 3), (8, 4)))
    levels = rng.permuted(np.tile([0, 0.5, 1], (3, 4, 1)), axis=2)
    X[np.ix_(range(60), rows, columns)] += np.moveaxis(levels, 2, 0)[np.arange(60) % 3]
    return X, (8 * rows[:, None] + columns).ravel()


def equal_variances(seed):
    """Three classes differ in 12 elements anywhere; all 48 elements have the same variance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 48))
    informative = rng.choice(48, 12, replace=False)
    X[:, informative] += 3 * rng.permuted(np.tile([-1, 0, 1], (12, 1)), axis=1).T[np.arange(90) % 3]
    X /= X.std(axis=0)
    return (X - X.min()).reshape(90, 6, 8), informative


# Methods for what varies, in tensors or not; and methods for neighbours and clusters, some of
# which prefer what varies little, so that they avoid what is informative in the other problem.
PLANTED = {
    "STPCASelector": block_of_classes,
    "CPUFS": block_of_classes,
    "CPUFSnn": block_of_classes,
    "MSPCA": block_of_classes,
    "NLGMS": block_of_classes,
    "SPCAPSD": equal_variances,
    "SPCAFS": equal_variances,
    "RNE": equal_variances,
    "SOGFS": equal_variances,
    "NDFS": equal_variances,
    "UDFS": equal_variances,
    "MCFS": equal_variances,
    "LaplacianScore": equal_variances,
    "PivotedCholeskySelector": block_of_classes,
    "ColumnSubsetSelector": block_of_classes,
    "QRSensorSelector": block_of_classes,
    "CURSelector": block_of_classes,
    "FarthestPointSelector": block_of_classes,
    "FastCanSelector": block_of_classes,
    "OPBSSelector": block_of_classes,
    "MVPCASelector": block_of_classes,
    "GeometrySelector": block_of_classes,
    "VarianceSelector": block_of_classes,
}
SEEDS = range(8)
CHANCE = 12 / 48
DEVIATION = np.sqrt(CHANCE * (1 - CHANCE) / 12 * 36 / 47 / len(SEEDS))  # hypergeometric, of means


def share_found(info, problem):
    """The share of informative features among as many selected, mean over the seeds."""
    found = []
    for seed in SEEDS:
        X, informative = problem(seed)
        selector = info.make(12, n_clusters=3, n_components=2, random_state=seed).fit(X)
        found.append(np.isin(selector.order_[:12], informative).mean())
    return np.mean(found)


@pytest.mark.parametrize("name", [name for name in FAMILY if name in PLANTED])
def test_informative_features_are_found(name):
    """At default penalties, far better than by chance, by four deviations."""
    assert share_found(FAMILY[name], PLANTED[name]) > CHANCE + 4 * DEVIATION


@pytest.mark.parametrize("problem", [block_of_classes, equal_variances])
def test_chance_finds_what_chance_finds(problem):
    assert abs(share_found(FAMILY["RandomSelector"], problem) - CHANCE) < 3 * DEVIATION


def test_variance_says_nothing_where_all_vary_alike():
    found = share_found(FAMILY["VarianceSelector"], equal_variances)
    assert abs(found - CHANCE) < 3 * DEVIATION


def test_all_methods_that_rank_have_a_planted_problem():
    """But those that represent all features: what classes share, one feature stands for."""
    represent = {"FeatureClusterSelector", "FacilityLocationSelector"}
    assert (
        set(FAMILY) - set(PLANTED) == {"RandomSelector", "EvenSelector", "AllFeatures"} | represent
    )


# Real data


def check_on(info, dataset):
    """What must hold of any fit, on samples as they come."""
    X, n = dataset.data, len(dataset.data)
    n_clusters = len(np.unique(dataset.labels))
    selector = info.make(20, n_clusters=n_clusters, random_state=0).fit(X)
    assert selector.scores_.shape == X.shape[1:]
    assert np.isfinite(selector.scores_).all()
    assert np.ptp(selector.scores_) > 0 or info.name == "AllFeatures"
    constant = np.flatnonzero(np.ptp(X.reshape(n, -1), axis=0) == 0)
    assert_array_equal(np.sort(selector.order_[X[0].size - len(constant) :]), constant)
    return constant


@family
def test_digits(info):
    digits = load_digits()
    few = dataclasses.replace(digits, data=digits.data[:150], labels=digits.labels[:150])
    assert len(check_on(info, few)) > 5


@pytest.mark.slow
@family
@pytest.mark.parametrize("name", ["Imm40", "BreastMNIST"])
@pytest.mark.filterwarnings("ignore:X has negative values, and CPUFS")
def test_images_of_the_paper(info, paper_dataset, name):
    """More features than samples, with which some methods are at their limits."""
    check_on(info, paper_dataset(name))
