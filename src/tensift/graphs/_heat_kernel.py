"""Neighbours weighted by the heat kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift.graphs._neighbors import nearest_neighbors

__all__ = ["heat_kernel_graph", "neighbor_graph"]

# Squares of widths beyond these overflow or vanish. Within them, weights are one or zero anyway.
_WIDTHS = (1e-150, 1e150)


def heat_kernel_graph(X: NDArray, k: int, *, width: float | None = 1.0) -> csr_array:
    """Weights ``exp(-|x_i - x_j|^2 / (2 width^2))`` between nearest neighbours.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    k : int
        The number of neighbours of a row, before the graph is made symmetric.
    width : float or None, default=1.0
        The distance at which a weight is ``exp(-1/2)``. None: the root mean square of the
        distances between neighbours, so that the weights do not depend on units.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, with a zero diagonal: rows are connected if one is a neighbour of the other.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import heat_kernel_graph
    >>> heat_kernel_graph(np.array([[0.0], [1.0], [3.0]]), k=1).toarray().round(3)
    array([[0.   , 0.607, 0.   ],
           [0.607, 0.   , 0.135],
           [0.   , 0.135, 0.   ]])
    """
    indices, squared = nearest_neighbors(X, k)
    variance = squared.mean() if width is None else float(np.clip(width, *_WIDTHS)) ** 2
    with np.errstate(over="ignore"):  # weights of neighbours at infinity are zero
        exponents = squared / (2 * variance) if variance > 0 else np.zeros_like(squared)
    graph = neighbor_graph(indices, np.exp(-exponents))
    return csr_array(graph.maximum(graph.T))


def neighbor_graph(indices: NDArray[np.intp], weights: NDArray[np.float64]) -> csr_array:
    """The sparse ``(n, n)`` matrix that holds weights ``(n, k)`` at the neighbours of every row."""
    n, k = indices.shape
    parts = (weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k))
    # A copy, because sorting would reorder the caller's arrays.
    graph = csr_array(parts, shape=(n, n), copy=True)
    graph.sort_indices()
    return graph
