"""Any estimator with any parameters on any data: a clear error, or results that make sense."""

import pickle
import re
import warnings

import numpy as np
from sklearn.base import clone

from tensift import SparseTensorPCA, STPCASelector, TensorPCA
from tensift.rivals import list_selectors

from .values import pick, random_parameters, random_samples

DECOMPOSITIONS = (TensorPCA, SparseTensorPCA)
ESTIMATORS = (
    *(info.selector for info in list_selectors()),
    *(STPCASelector,) * 4,
    *DECOMPOSITIONS,
)
# Words for the samples in the errors of tensift and of scikit-learn.
_OF_SAMPLES = re.compile(
    r"\bX\b|\bsamples?\b|\bfeatures?\b|\barrays?\b|could not convert|\bdata\b|must be a string or"
)


def check_case(rng, folder):
    """Fit a random estimator, and check what comes out."""
    estimator_class = pick(rng, ESTIMATORS)
    X = random_samples(rng)
    shape = np.shape(X)[1:]
    estimator = estimator_class(**random_parameters(rng, estimator_class, shape))
    told = f"{estimator!r} on {_describe(X)}"
    before = pickle.dumps(X)
    try:
        fitted = fit(estimator, X)
    except (ValueError, TypeError) as error:
        check_error(error, estimator_class, told)
        return
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error} ({told})") from error
    assert pickle.dumps(X) == before, f"fit has changed X ({told})"
    check_results(fitted, X, told)
    again = pick(rng, (None, 1, 2))
    other = clone(estimator)
    if "n_jobs" in other.get_params(deep=False):
        other.set_params(n_jobs=again)
    if is_repeatable(estimator):
        assert_same(fitted, fit(other, X), f"n_jobs={again}: {told}")
    assert_same(fitted, pickle.loads(pickle.dumps(fitted)), f"after pickling: {told}")


def is_repeatable(estimator):
    """Whether every fit must give the same: it draws nothing at random, or has a seed."""
    return estimator.get_params(deep=False).get("random_state", 0) is not None


def fit(estimator, X):
    """Fit a copy; no warning may come from NumPy, nor be one that only programmers understand."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(estimator).fit(X)
    for warning in caught:
        text = str(warning.message)
        known = issubclass(warning.category, UserWarning)  # ConvergenceWarning is one as well
        assert known, f"{warning.category.__name__}: {text} ({estimator!r} on {_describe(X)})"
        assert "\n" not in text, f"a warning of several lines: {text!r}"
    return fitted


def check_error(error, estimator_class, told):
    """One line that names a parameter or the samples, and no accident of linear algebra."""
    text = str(error)
    accidents = np.linalg.LinAlgError, UnicodeError
    assert not isinstance(error, accidents), f"{type(error).__name__}: {text} ({told})"
    names = "|".join(map(re.escape, estimator_class._get_param_names()))
    first, *more = text.strip().split("\n")
    assert re.search(rf"\b({names}|tol|max_iter)\b", first) or _OF_SAMPLES.search(first), (
        f"no argument is named: {first!r} ({told})"
    )
    # scikit-learn shows the array or gives advice in further lines.
    theirs = ("Expected 2D array", "Complex data not supported", "Input X contains")
    assert not more or first.startswith(theirs), f"an error of several lines: {text!r} ({told})"


def check_results(fitted, X, told):
    scores, order = np.asarray(fitted.scores_), np.asarray(fitted.order_)
    assert np.isfinite(scores).all(), f"scores are not finite ({told})"
    assert sorted(order.tolist()) == list(range(scores.size)), f"order_ ({told})"
    if isinstance(fitted, DECOMPOSITIONS):
        _check_decomposition(fitted, X, told)
        return
    support = fitted.get_support()
    assert support.sum() == fitted.n_features_, f"support and n_features_ differ ({told})"
    assert set(np.flatnonzero(support)) == set(order[: fitted.n_features_].tolist()), told
    wanted = fitted.n_features_to_select
    if isinstance(wanted, int) and not isinstance(wanted, bool) and "All" not in repr(fitted):
        assert fitted.n_features_ == min(wanted, scores.size), told
    kept = fitted.transform(X)
    assert len(kept) == len(X), told
    assert np.prod(np.shape(kept)[1:]) <= np.prod(np.shape(X)[1:]), told


def _check_decomposition(fitted, X, told):
    ratio = fitted.explained_variance_ratio_
    assert np.isfinite(ratio).all(), f"explained variance ({told})"
    assert ratio.sum() <= 1 + 1e-6, f"{ratio.sum()} of the variance is explained ({told})"
    coordinates = fitted.transform(X)
    assert coordinates.shape == (len(X), fitted.n_components_), told
    assert np.isfinite(coordinates).all(), f"coordinates ({told})"
    back = fitted.inverse_transform(coordinates)
    assert back.shape == np.shape(X), told
    assert np.isfinite(back).all(), f"inverse_transform ({told})"


def assert_same(one, other, told):
    for name in ("scores_", "order_"):
        values = getattr(one, name), getattr(other, name)
        assert np.array_equal(*values), f"{name} differs: {told}"


def _describe(X):
    array = np.asarray(X) if not isinstance(X, list) else X
    kind = "a list" if isinstance(X, list) else array.dtype
    return f"{kind} of shape {np.shape(X)}"
