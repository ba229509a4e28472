"""The smallest eigenvalues of a symmetric matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import eigsh

from tensift._utils.stacks import peak_phases

__all__ = ["smallest_eigenvectors"]

_DENSE = 1000  # up to this size, a full decomposition is as fast as a partial one


def smallest_eigenvectors(L: Any, c: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The `c` smallest eigenvalues of a symmetric matrix and their eigenvectors.

    Parameters
    ----------
    L : sparse or dense array of shape (n, n)
        Symmetric. If it is large and sparse, the Lanczos method is used on its inverse, shifted
        to be positive definite.
    c : int
        How many eigenvalues, from 1 to ``n``.

    Returns
    -------
    values : ndarray of shape (c,)
        Ascending.
    vectors : ndarray of shape (n, c)
        Orthonormal columns. The entry of largest modulus in each is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import smallest_eigenvectors
    >>> values, vectors = smallest_eigenvectors(np.array([[1.0, -1.0], [-1.0, 1.0]]), 1)
    >>> abs(values).round(8), vectors.ravel().round(3)
    (array([0.]), array([0.707, 0.707]))
    """
    n = L.shape[0]
    if not 1 <= c <= n:
        raise ValueError(f"c={c} is not possible for a matrix of size {n}; choose c from 1 to {n}")
    if issparse(L) and n > _DENSE and 4 * c < n:
        values, vectors = _partial(csr_array(L), c)
    else:
        dense = L.toarray() if issparse(L) else np.asarray(L, dtype=float)
        values, vectors = eigh((dense + dense.T) / 2, subset_by_index=(0, c - 1))
    return values, vectors * peak_phases(vectors)


def _partial(L: csr_array, c: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shift and invert; Gershgorin's bound gives a shift below all eigenvalues."""
    diagonal = L.diagonal()
    absolute = np.asarray(abs(L).sum(axis=1)).ravel()
    radius = absolute - np.abs(diagonal)
    scale = max(float(absolute.max()), np.finfo(float).tiny)
    shift = float((diagonal - radius).min()) - 1e-3 * scale
    start = np.random.RandomState(0).uniform(0.5, 1.5, L.shape[0])  # the same at every call
    values, vectors = eigsh(L.tocsc(), k=c, sigma=shift, which="LM", v0=start)
    order = np.argsort(values)
    return values[order], vectors[:, order]
