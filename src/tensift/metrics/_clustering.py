"""How well clusters match classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import normalized_mutual_info_score

from tensift.metrics._checks import encode_labels

__all__ = ["clustering_accuracy", "normalized_mutual_information"]


def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Share of samples whose cluster matches their class, under the best matching (ACC).

    Every cluster is matched to at most one class, so that as many samples as possible agree
    (the Kuhn-Munkres assignment). Clusters without a class count as wrong. This is the paper's
    eq. ``ACC``.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters; any values, in any number.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from tensift.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b", "c"], [2, 2, 0, 0, 0])
    0.8
    """
    classes, n_classes = encode_labels(labels_true)
    clusters, n_clusters = encode_labels(labels_pred, len(classes))
    pairs = np.bincount(classes * n_clusters + clusters, minlength=n_classes * n_clusters)
    table = pairs.reshape(n_classes, n_clusters)
    matched = linear_sum_assignment(table, maximize=True)
    return float(table[matched].sum() / len(classes))


def normalized_mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Mutual information of two labellings, normalised to lie between 0 and 1 (NMI).

    It is divided by the geometric mean of the two entropies, as in the paper. scikit-learn's
    default is the arithmetic mean.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        Classes and clusters; any values, in any number.

    Returns
    -------
    float
        Between 0 and 1. It is 0 if exactly one of the labellings has a single value.

    Examples
    --------
    >>> from tensift.metrics import normalized_mutual_information
    >>> round(normalized_mutual_information(["a", "a", "b", "b"], [1, 1, 1, 0]), 6)
    0.345592
    """
    classes, _ = encode_labels(labels_true)
    clusters, _ = encode_labels(labels_pred, len(classes))
    return float(normalized_mutual_info_score(classes, clusters, average_method="geometric"))
