"""Neighbours weighted by the adaptive rule of clustering with adaptive neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift.graphs._heat_kernel import neighbor_graph
from tensift.graphs._neighbors import nearest_neighbors

__all__ = ["adaptive_graph", "adaptive_weights"]


def adaptive_graph(X: NDArray, k: int) -> tuple[csr_array, float]:
    """Probabilities of being neighbours, those of every row over its `k` nearest rows.

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
        The mean over the rows of the regularisation under which they have `k` neighbours.

    Notes
    -----
    With ``k = n - 1`` there is no further row that the weights could be measured by; the farthest
    neighbour takes its part.

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
    """Weights of the `k` nearest candidates: how much nearer they are than the next one.

    A row of weights minimises ``sum_j e_j s_j + r s_j^2`` on the simplex, with the ``r`` for which
    exactly `k` weights are not zero. If all candidates are equally near, so are the weights.

    Parameters
    ----------
    squared_distances : ndarray of shape (n, m), m > k
        Of every row to its candidates, ascending.
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
            f"k={k} weights need at least {max(k, 1) + 1} candidates and k >= 1, got "
            f"{squared_distances.shape[1]}"
        )
    nearer = squared_distances[:, k, None] - squared_distances[:, :k]
    total = nearer.sum(axis=1)
    # Below rounding of the distances themselves, differences say nothing.
    told_apart = total > k * np.finfo(float).eps * squared_distances[:, k]
    safe = np.where(told_apart, total, 1.0)[:, None]
    return np.where(told_apart[:, None], nearer / safe, 1 / k), total / 2
