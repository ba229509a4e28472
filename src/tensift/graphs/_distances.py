"""Squared Euclidean distances between all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["expanded_distances", "squared_distances"]


def squared_distances(X: NDArray, Y: NDArray | None = None) -> NDArray[np.float64]:
    """Squared Euclidean distances between rows, through inner products.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    Y : ndarray of shape (m, d), optional
        Other rows. By default `X` itself; the distance of a row to itself is then exactly zero.

    Returns
    -------
    ndarray of shape (n, m)
        Never negative. Errors are a few rounding units of the squared norms of centred rows.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import squared_distances
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    # Centring does not change distances, but makes the rounding of inner products smaller.
    centre = X.mean(axis=0)
    left = X - centre
    right = left if Y is None else Y - centre
    distances = expanded_distances(left, right)
    np.maximum(distances, 0, out=distances)
    if Y is None:
        np.fill_diagonal(distances, 0)
    return distances


def expanded_distances(X: NDArray, Y: NDArray) -> NDArray[np.float64]:
    """``|x|^2 - 2 x'y + |y|^2``; rounding can make it slightly negative."""
    distances = -2 * (X @ Y.T)
    distances += np.einsum("ij,ij->i", X, X)[:, None]
    distances += np.einsum("ij,ij->i", Y, Y)
    return distances
