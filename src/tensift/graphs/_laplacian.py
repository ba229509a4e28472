"""Laplacians of graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

__all__ = ["laplacian"]

_NO_DIVISION_BY_ZERO = 1e-9


def laplacian(S: Any, *, normed: bool = False) -> csr_array:
    """The Laplacian of a graph: ``sum_ij s_ij |y_i - y_j|^2 = 2 tr(Y' L Y)``.

    Parameters
    ----------
    S : sparse or dense array of shape (n, n)
        Weights. Only their symmetric part ``A`` is used.
    normed : bool, default=False
        Return ``I - D^-1/2 A D^-1/2``, with 1e-9 added to the degrees ``D``, in place of
        ``D - A``.

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import laplacian
    >>> laplacian(np.array([[0.0, 2.0], [0.0, 0.0]])).toarray()
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    S = csr_array(S)
    weights = csr_array((S + S.T) / 2)
    degrees = np.asarray(weights.sum(axis=1)).ravel()
    if not normed:
        return csr_array(diags_array(degrees) - weights)
    root = diags_array(1 / np.sqrt(_NO_DIVISION_BY_ZERO + degrees))
    return csr_array(diags_array(np.ones(len(degrees))) - root @ weights @ root)
