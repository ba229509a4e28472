"""How well given labels separate the samples, without any clustering."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tensift.metrics._checks import ClassMeans, check_data, encode_labels

__all__ = ["silhouette_of_labels"]


def silhouette_of_labels(X: ArrayLike, labels: ArrayLike) -> float:
    """Mean silhouette of given labels under the squared Euclidean distance.

    With the true labels this is the paper's silhouette score: it involves no k-means and has
    no randomness. The distance is squared, as in MATLAB's ``silhouette``, which the published
    figures come from; scikit-learn's ``silhouette_score`` takes the plain distance unless told.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, restricted to the selected features.
    labels : array-like of shape (n,)
        Two or more classes; any values.

    Returns
    -------
    float
        Between -1 and 1.

    Notes
    -----
    The mean squared distance from x to a class is ``||x - mean||^2`` plus the class's own mean
    squared distance from its mean. So n samples in K classes take O(n K d) work and no matrix
    of pairs.

    A class of one sample gives that sample the value 1, as MATLAB does (in scikit-learn and
    in Rousseeuw's paper it is 0). A sample at distance zero from its own class and from
    another has the value 0, as in scikit-learn (in MATLAB it is NaN).

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
    # The mean over the others of one's own class: one's distance to oneself is no part of it.
    within = distances[samples, codes] * counts[codes] / np.maximum(counts[codes] - 1, 1)
    # Rounding must not give a lone sample a distance to itself.
    within[counts[codes] == 1] = 0
    distances[samples, codes] = np.inf
    between = distances.min(axis=1)
    larger = np.maximum(within, between)
    values = np.divide(between - within, larger, out=np.zeros_like(larger), where=larger > 0)
    return float(values.mean())
