"""How well each feature separates the classes, and how many such features were selected."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._checks import ClassMeans, encode_labels
from tensift.metrics._features import check_features, check_samples

__all__ = ["between_class_variance", "proportion_correct"]


def between_class_variance(
    X: ArrayLike, labels: ArrayLike, *, feature_mode: int | str | None = None
) -> np.ndarray:
    """Variance of the class means around the overall mean, for every feature (BCV).

    Every class counts the same, whatever its size. This is the paper's eq. ``BCV_formulation``,
    except that it divides by K - 1, as the authors' program does, where the paper writes K. The
    order of the features is the same.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples. Centring them does not change the result.
    labels : array-like of shape (n,)
        The classes, at least two; any values.
    feature_mode : int or str, optional
        The mode whose indices are the features. The result is summed over all other modes (eq.
        ``BCV_feature``).

    Returns
    -------
    ndarray of shape (d_1, ..., d_m), or (d_k,) with feature_mode=k
        One value per feature.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import between_class_variance
    >>> X = np.array([[[0.0, 1.0]], [[0.0, 3.0]], [[4.0, 1.0]], [[4.0, 3.0]]])
    >>> between_class_variance(X, [0, 0, 1, 1])
    array([[8., 0.]])
    >>> between_class_variance(X, [0, 0, 1, 1], feature_mode=0)
    array([8.])
    """
    data, feature_mode = check_samples(X, feature_mode)
    codes, n_classes = encode_labels(labels, len(data))
    if n_classes < 2:
        raise ValueError("labels must have at least two classes; got one")
    offsets = ClassMeans(data, codes, n_classes).offsets
    squares = np.sum(offsets**2, axis=0) / (n_classes - 1)
    # A complex feature has two rows, its real and its imaginary part.
    variance = squares.reshape(-1, *data.shape[1:]).sum(axis=0)
    if feature_mode is None:
        return variance
    others = tuple(mode for mode in range(variance.ndim) if mode != feature_mode)
    return np.asarray(variance.sum(axis=others))


def proportion_correct(
    selected: ArrayLike, X: ArrayLike, labels: ArrayLike, *, feature_mode: int | str | None = None
) -> float:
    """Share of h selected features that are among the h with the largest BCV (POC).

    This is the paper's eq. ``POC``; BCV is `between_class_variance`. A feature that ties with
    the h-th largest counts as correct, so the result does not depend on the order of the
    features.

    Parameters
    ----------
    selected : array-like
        Feature indices without duplicates (flat C-order, or along ``feature_mode``), or a
        boolean mask of all features.
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features.
    labels : array-like of shape (n,)
        The classes; any values.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import proportion_correct
    >>> X = np.array([[0.0, 0.0, 5.0], [0.0, 1.0, 5.0], [9.0, 0.0, 7.0], [9.0, 1.0, 7.0]])
    >>> proportion_correct([0, 1], X, [0, 0, 1, 1])
    0.5
    """
    variance = between_class_variance(X, labels, feature_mode=feature_mode).ravel()
    indices = check_features("selected", selected, variance.size)
    threshold = np.partition(variance, -len(indices))[-len(indices)]
    return float(np.mean(variance[indices] >= threshold))
