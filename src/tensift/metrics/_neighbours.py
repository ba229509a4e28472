"""Do samples that look alike stay neighbours on the selected features?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.nearest import nearest
from tensift.metrics._whitened import Likeness

__all__ = ["NEIGHBOURS", "Neighbourhoods", "neighbours_kept"]

NEIGHBOURS = 10


def neighbours_kept(
    X: ArrayLike,
    features: ArrayLike,
    *,
    feature_mode: int | str | None = None,
    n_neighbors: int = NEIGHBOURS,
) -> float:
    """Share of a sample's nearest neighbours that the selected features keep.

    The true neighbours are found in whitened principal components of all features. Whitening keeps
    strong nuisance, such as light or gain, from deciding who is a neighbour. It needs no labels.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features. A complex number counts as two. At most 2048 evenly spaced
        samples are used (`tensift.sources.even_subsample`).
    features : array-like
        The selected features: indices without duplicates (flat C-order, or along
        ``feature_mode``), or a boolean mask of all features.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.
    n_neighbors : int, default=10
        The number of neighbours of each sample.

    Returns
    -------
    float
        Between 0 and 1. Features that say nothing about which samples look alike give about
        ``n_neighbors / (n - 1)``.

    Notes
    -----
    On the selected features, neighbours are nearest by Euclidean distance. The true neighbours have
    the largest cosine between rows of ``U``: the 50 leading left singular vectors of the centred
    samples, but at most n/4. If several samples are equally far, the result is the mean over all
    ways of choosing among them, so it does not depend on the order of the samples.

    Examples
    --------
    Twenty-one pixels of the digits, spread over the image or from its upper rows:

    >>> import numpy as np
    >>> from tensift.datasets import load_digits
    >>> from tensift.metrics import neighbours_kept
    >>> X = load_digits().data[:400]
    >>> round(neighbours_kept(X, np.arange(1, 64, 3)), 2)
    0.45
    >>> round(neighbours_kept(X, np.arange(21)), 2)
    0.34
    """
    likeness = Likeness(X, feature_mode)
    kept = likeness.check("features", features)
    most = likeness.n_samples - 1
    if not isinstance(n_neighbors, (int, np.integer)) or not 1 <= n_neighbors <= most:
        raise ValueError(
            f"n_neighbors must be an integer from 1 to {most}, the number of other samples; "
            f"got {n_neighbors!r}"
        )
    return Neighbourhoods(likeness, int(n_neighbors)).kept(kept)


class Neighbourhoods:
    """Who is a neighbour of whom, in the whitened components of all features."""

    def __init__(self, likeness: Likeness, n_neighbors: int) -> None:
        self._likeness = likeness
        self._count = n_neighbors
        cosines = likeness.directions @ likeness.directions.T
        self._true = nearest(-cosines, np.ones(len(cosines)), n_neighbors)

    def kept(self, features: np.ndarray) -> float:
        """Return the share of neighbours on the selected features that are true neighbours."""
        rows = self._likeness.columns(features)
        squares = np.sum(rows**2, axis=1)
        distances = squares[:, None] + squares - 2 * (rows @ rows.T)
        found = nearest(distances, squares, self._count)
        # einsum sums the products without a further n x n matrix.
        return self._likeness.mean(np.einsum("ij,ij->i", found, self._true)) / self._count
