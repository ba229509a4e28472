"""How much of all features the kept ones miss."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._checks import as_real_rows, check_data
from tensift.metrics._features import check_features, count_features, kept_elements

__all__ = ["Reconstruction", "reconstruction_error"]

_RIDGES = 10.0 ** np.arange(-6, 4)  # shares of the mean squared singular value


def reconstruction_error(
    X: ArrayLike,
    features: ArrayLike,
    *,
    feature_mode: int | None = None,
    n_folds: int = 5,
    random_state: int = 0,
) -> float:
    """Share of the variance of all features that the kept ones miss on samples not seen before.

    All other features are predicted from the kept ones by linear regression, learned on some of
    the samples and judged on the rest, in turn. No labels are involved.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features. A complex number counts as two.
    features : array-like
        The kept features: different indices (flat C-order, or along ``feature_mode``), or a
        boolean mask of all features.
    feature_mode : int, optional
        The mode whose indices are the features; by default every element is one.
    n_folds : int, default=5
        Into how many parts the samples are shuffled; each is predicted once.
    random_state : int, default=0
        The seed of the shuffle.

    Returns
    -------
    float
        0 if nothing is missed, as when all features are kept. 1 if the kept features are worth
        no more than the mean; predictions that are worse than the mean exceed it.

    Notes
    -----
    The regression is ridge regression. Its weight is one of ``1e-6, 1e-5, ..., 1e3`` times the
    mean squared singular value of the kept features, whichever has the least generalised
    cross-validation error on the learning samples; so units do not matter, and more kept
    features than samples do no harm. Features count by their variance: what varies little is
    little to miss. For n samples and k kept elements, ``O(n k min(n, k) + n d min(n, k))``; no
    matrix is larger than the data.

    References
    ----------
    G. H. Golub, M. Heath, G. Wahba: Generalized cross-validation as a method for choosing a good
    ridge parameter. Technometrics 21(2), 1979.

    Examples
    --------
    The third column is the sum of the others, the fourth is noise.

    >>> import numpy as np
    >>> from tensift.metrics import reconstruction_error
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> X[:, 3] /= 10
    >>> round(reconstruction_error(X, [0, 1]), 3)
    0.003
    >>> round(reconstruction_error(X, [3]), 3)
    1.004
    """
    data = check_data(X)
    n_features, feature_mode = count_features(data.shape[1:], feature_mode)
    kept = check_features("features", features, n_features)
    if not isinstance(n_folds, (int, np.integer)) or not 2 <= n_folds <= len(data):
        raise ValueError(
            f"n_folds must be an integer from 2 to the {len(data)} samples; got {n_folds!r}"
        )
    samples = Reconstruction(data, kept, feature_mode)
    order = np.random.default_rng(random_state).permutation(len(data))
    missed = total = 0.0
    for test in np.array_split(order, n_folds):
        learning = np.setdiff1d(order, test)
        parts = samples.missed(learning, test)
        missed, total = missed + parts[0], total + parts[1]
    if total == 0:
        raise ValueError("X is constant: there is no variance to miss")
    return missed / total


class Reconstruction:
    """Samples, and which of their elements are known."""

    def __init__(self, data: np.ndarray, features: np.ndarray, feature_mode: int | None) -> None:
        kept = kept_elements(data.shape[1:], features, feature_mode)
        self._kept = np.concatenate([kept, kept]) if np.iscomplexobj(data) else kept
        rows = as_real_rows(data)
        # Squares of huge or tiny values would not be numbers.
        self._rows = rows / (float(np.abs(rows).max()) or 1.0)

    def missed(self, learning: np.ndarray, test: np.ndarray) -> tuple[float, float]:
        """Squared errors of predictions for test samples, and their squared distance to the mean.

        The mean is that of the learning samples, the prediction of those who know nothing else.
        """
        kept = self._kept
        mean = self._rows[learning].mean(axis=0)
        known, new = self._rows[learning] - mean, self._rows[test] - mean
        errors = new[:, ~kept] - _predict(known[:, kept], known[:, ~kept], new[:, kept])
        return float(np.sum(errors**2)), float(np.sum(new**2))


def _predict(known: np.ndarray, wanted: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Ridge regression of centred columns on centred columns, at new rows."""
    left, values, right = np.linalg.svd(known, full_matrices=False)
    significant = values > values[0] * max(known.shape) * np.finfo(float).eps
    if not significant.any() or not wanted.size:
        return np.zeros((len(new), wanted.shape[1]))
    left, values, right = left[:, significant], values[significant], right[significant]
    targets = left.T @ wanted
    ridge = _choose_ridge(values**2, targets, wanted)
    return np.asarray((new @ right.T * (values / (values**2 + ridge))) @ targets)


def _choose_ridge(values: np.ndarray, targets: np.ndarray, wanted: np.ndarray) -> float:
    """The weight of least generalised cross-validation error, by its formula in the eigenbasis."""
    energy = np.sum(targets**2, axis=1)
    beyond = max(0.0, float(np.sum(wanted**2) - energy.sum()))  # what no weight can reach
    candidates = _RIDGES * values.mean()
    lost = candidates[:, None] / (values + candidates[:, None])
    residual = beyond + lost**2 @ energy
    freedom = len(wanted) - 1 - (1 - lost).sum(axis=1)  # one is the mean's
    return float(candidates[np.argmin(residual / freedom**2)])
