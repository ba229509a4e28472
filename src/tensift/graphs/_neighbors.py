"""The nearest rows of every row, exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift.graphs._distances import expanded_distances

__all__ = ["nearest_neighbors"]

_BLOCK = 2**20  # numbers in a block of distances


def nearest_neighbors(X: NDArray, k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The `k` nearest rows of every row, the nearest first.

    A row is never its own neighbour, even if there are duplicates. Of rows at the same distance,
    the one with the smaller index comes first.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    k : int
        The number of neighbours, from 1 to ``n - 1``.

    Returns
    -------
    indices : ndarray of int, shape (n, k)
        The neighbours of every row.
    squared_distances : ndarray of shape (n, k)
        Their squared distances, ascending.

    Notes
    -----
    Inner products, ``O(n^2 d)`` in blocks, find the rows that may be among the nearest. Their
    distances are then computed from differences, so that rounding does not change the order.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import nearest_neighbors
    >>> indices, squared = nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), k=1)
    >>> indices.ravel(), squared.ravel()
    (array([1, 0, 1]), array([1., 1., 4.]))
    """
    n = len(X)
    if not 1 <= k < n:
        raise ValueError(f"k={k} is not possible for {n} rows; choose k from 1 to {n - 1}")
    refuse_masked(X)
    X = np.asarray(X, dtype=float)
    centred = X - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    # By how much rounding of inner products of d terms can change two distances.
    slack = 4 * (X.shape[1] + 4) * np.finfo(float).eps
    indices = np.empty((n, k), dtype=np.intp)
    distances = np.empty((n, k))
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        rough = expanded_distances(centred[block], centred)
        np.fill_diagonal(rough[:, block], np.inf)
        farthest = np.partition(rough, k - 1, axis=1)[:, k - 1]
        reach = farthest + slack * (norms[block] + norms.max())
        row, column = np.nonzero(rough <= reach[:, None])
        squared = _squared_differences(X, row + start, column)
        order = np.lexsort((column, squared, row))
        first = np.searchsorted(row, np.arange(len(rough)))
        nearest = order[first[:, None] + np.arange(k)]
        indices[block], distances[block] = column[nearest], squared[nearest]
    return indices, distances


def _squared_differences(X: NDArray, row: NDArray, column: NDArray) -> NDArray[np.float64]:
    """Squared distances between pairs of rows, from their differences."""
    squared = np.empty(len(row))
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        difference = X[row[part]] - X[column[part]]
        np.einsum("ij,ij->i", difference, difference, out=squared[part])
    return squared
