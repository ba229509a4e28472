"""Neighbours weighted by the rule of clustering with adaptive neighbours (CAN)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift.graphs._heat_kernel import neighbor_graph
from tensift.graphs._neighbors import nearest_neighbors

__all__ = ["adaptive_graph", "adaptive_weights"]


def adaptive_graph(X: NDArray, k: int) -> tuple[csr_array, float]:
    """The probability that rows are neighbours, spread over the `k` nearest rows of each row.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    k : int
        The number of neighbours, from 1 to ``n - 1``.

    Returns
    -------
    S : csr_array of shape (n, n)
        Rows sum to 1. Not symmetric.
    r : float
        The regularisation for which a row has exactly `k` neighbours, averaged over rows.

    Notes
    -----
    The weights need the distance to one more row than `k`. With ``k = n - 1`` there is none, and
    the farthest neighbour is used in its place.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import adaptive_graph
    >>> S, r = adaptive_graph(np.array([[0.0], [1.0], [3.0]]), k=1)
    >>> S.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    >>> round(r, 3)
    2.667
    """
    n = len(X)
    indices, squared = nearest_neighbors(X, min(k + 1, n - 1))
    if k == n - 1:
        squared = np.concatenate([squared, squared[:, -1:]], axis=1)
    weights, regularisation = adaptive_weights(squared, k)
    return neighbor_graph(indices[:, :k], weights), float(regularisation.mean())


def adaptive_weights(
    squared_distances: NDArray, k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights of the `k` nearest candidates, by how much nearer they are than the next one.

    A row of weights minimises ``sum_j e_j s_j + r s_j^2`` on the simplex, with the ``r`` for which
    exactly `k` weights are not zero. If all candidates are equally near, all weights are equal.

    Parameters
    ----------
    squared_distances : ndarray of shape (n, m), m > k
        Squared distances from every row to its candidates, ascending.
    k : int
        The number of weights.

    Returns
    -------
    weights : ndarray of shape (n, k)
        Rows sum to 1.
    r : ndarray of shape (n,)
        The regularisation of every row.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import adaptive_weights
    >>> adaptive_weights(np.array([[1.0, 3.0, 5.0], [2.0, 2.0, 2.0]]), k=2)
    (array([[0.66666667, 0.33333333],
           [0.5       , 0.5       ]]), array([3., 0.]))
    """
    if not 1 <= k < squared_distances.shape[1]:
        raise ValueError(
            f"k={k} weights need k >= 1 and at least {max(k, 1) + 1} candidates, got "
            f"{squared_distances.shape[1]} candidates"
        )
    nearer = squared_distances[:, k, None] - squared_distances[:, :k]
    total = nearer.sum(axis=1)
    # Differences below the rounding of the distances carry no information.
    told_apart = total > k * np.finfo(float).eps * squared_distances[:, k]
    safe = np.where(told_apart, total, 1.0)[:, None]
    return np.where(told_apart[:, None], nearer / safe, 1 / k), total / 2
