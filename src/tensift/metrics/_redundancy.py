"""How much the selected features repeat each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._features import check_features, check_samples, count_features, restrict
from tensift.sources import SampleWeights

__all__ = ["redundancy"]


def redundancy(
    X: ArrayLike,
    features: ArrayLike,
    *,
    feature_mode: int | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean absolute correlation between the selected features.

    With ``feature_mode`` a feature has several columns. The result is then the mean square root
    of the RV coefficient, which equals the absolute correlation for single columns.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features.
    features : array-like
        The selected features: indices without duplicates (flat C-order, or along
        ``feature_mode``), or a boolean mask of all features.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Returns
    -------
    float
        Between 0 and 1. Constant features are left out. NaN if fewer than two features remain.

    Notes
    -----
    With ``A`` and ``B`` the centred columns of two features, RV is ``||A' B||^2 / (||A A'||
    ||B B'||)`` in Frobenius norms. A complex number counts as two columns. Features are
    compared one by one with those after them, so k features need no k x k matrix.

    References
    ----------
    P. Robert, Y. Escoufier: A unifying tool for linear multivariate statistical methods: the
    RV-coefficient. Applied Statistics 25(3), 1976.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import redundancy
    >>> X = np.array([[0.0, 0.0, 1.0], [1.0, -2.0, -1.0], [2.0, -4.0, -1.0], [3.0, -6.0, 1.0]])
    >>> redundancy(X, [0, 1])
    1.0
    >>> round(redundancy(X, [0, 2]), 6)
    0.0
    """
    data, feature_mode = check_samples(X, feature_mode)
    weights = SampleWeights.of(sample_weight)
    if weights is not None:
        data, weights = data[weights.check_length(len(data)).positive], weights.used
    n_features = count_features(data.shape[1:], feature_mode)
    kept = check_features("features", features, n_features)
    columns = _centred_columns(data, kept, feature_mode, weights)
    if len(columns) < 2:
        return math.nan
    # Both give the same values; choose the one with the smaller products.
    squares = _by_columns(columns) if columns.shape[2] <= len(data) else _by_samples(columns)
    total = sum(float(np.sqrt(np.clip(found, 0, 1)).sum()) for found in squares)
    return total / math.comb(len(columns), 2)


def _centred_columns(
    data: np.ndarray,
    features: np.ndarray,
    feature_mode: int | None,
    weights: SampleWeights | None,
) -> np.ndarray:
    """Return the features that vary, centred and scaled to at most 1: (feature, n, column).

    Samples with weights are multiplied by the roots of these.
    """
    rows = restrict(data, features, feature_mode)
    if feature_mode is None:
        columns = rows.reshape(len(data), -1, len(features)).transpose(2, 0, 1)
    else:
        before = math.prod(data.shape[1 : feature_mode + 1])
        apart = rows.reshape(len(data), -1, before, len(features), _after(data, feature_mode))
        columns = apart.transpose(3, 0, 1, 2, 4).reshape(len(features), len(data), -1)
    columns = columns - columns[:, :1]  # constant columns become exactly zero
    peaks = np.abs(columns).max(axis=(1, 2))
    columns = columns[peaks > 0] / peaks[peaks > 0, None, None]
    if weights is None:
        return np.asarray(columns - columns.mean(axis=1, keepdims=True))
    means = np.average(columns, axis=1, weights=weights.values)
    return np.asarray((columns - means[:, None]) * np.sqrt(weights.values)[:, None])


def _after(data: np.ndarray, feature_mode: int) -> int:
    return math.prod(data.shape[feature_mode + 2 :])


def _by_columns(columns: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the RV of each feature with those after it, from products of columns."""
    n_features, n_samples, width = columns.shape
    norms = np.linalg.norm(columns.swapaxes(1, 2) @ columns, axis=(1, 2))
    flat = (columns / np.sqrt(norms)[:, None, None]).swapaxes(0, 1).reshape(n_samples, -1)
    for place in range(1, n_features):
        own, others = flat[:, (place - 1) * width : place * width], flat[:, place * width :]
        products = (own.T @ others).reshape(width, -1, width)
        yield np.sum(products**2, axis=(0, 2))


def _by_samples(columns: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the RV of each feature with those after it, from products of samples."""
    grams = (columns @ columns.swapaxes(1, 2)).reshape(len(columns), -1)
    grams /= np.linalg.norm(grams, axis=1, keepdims=True)
    for place in range(1, len(grams)):
        yield grams[place:] @ grams[place - 1]
