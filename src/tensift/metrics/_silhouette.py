"""How well the labels separate the samples, without clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tensift.metrics._checks import ClassMeans, check_data, encode_labels

__all__ = ["silhouette_of_labels"]


def silhouette_of_labels(X: ArrayLike, labels: ArrayLike) -> float:
    """Mean silhouette of given labels under the squared Euclidean distance.

    With the true labels this is the paper's silhouette score. It uses no k-means and nothing
    random. The distance is squared, as in MATLAB's ``silhouette``, which made the published
    figures. scikit-learn's ``silhouette_score`` uses the plain distance by default.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, restricted to the selected features.
    labels : array-like of shape (n,)
        At least two classes; any values.

    Returns
    -------
    float
        Between -1 and 1.

    Notes
    -----
    The mean squared distance from x to a class is ``||x - mean||^2`` plus the class's own mean
    squared distance from its mean. So n samples in K classes take O(n K d) work, and no matrix
    of pairs is formed.

    A sample that is alone in its class has the value 1, as in MATLAB (0 in scikit-learn and in
    Rousseeuw's paper). A sample at distance zero from both its own class and another class has
    the value 0, as in scikit-learn (NaN in MATLAB).

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.metrics import silhouette_of_labels
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> round(silhouette_of_labels(X, ["low", "low", "high", "high"]), 3)
    0.99
    """
    data = check_data(X)
    codes, n_classes = encode_labels(labels, len(data))
    if n_classes < 2:
        raise ValueError("labels must have at least two classes for a silhouette; got one")
    means = ClassMeans(data, codes, n_classes)
    distances = np.concatenate(
        [cdist(block, means.offsets, "sqeuclidean") for _, block in means.centred_blocks()]
    )

    samples = np.arange(len(data))
    own = distances[samples, codes]
    counts = means.counts
    distances += np.bincount(codes, weights=own) / counts
    # The mean is over the other samples of the class, without the distance to itself.
    within = distances[samples, codes] * counts[codes] / np.maximum(counts[codes] - 1, 1)
    # Exactly zero for a sample that is alone in its class, despite rounding.
    within[counts[codes] == 1] = 0
    distances[samples, codes] = np.inf
    between = distances.min(axis=1)
    larger = np.maximum(within, between)
    values = np.divide(between - within, larger, out=np.zeros_like(larger), where=larger > 0)
    return float(values.mean())
