"""Row-sparsity by reweighted least squares: ``||W||_{2,p}^p`` and its quadratic majorant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_row_weights", "row_norms_sum", "row_weights"]


def row_weights(W: NDArray, p: float = 1.0, eps: float = 2.2e-16) -> NDArray[np.float64]:
    """Weights ``q`` for which ``sum_i q_i |w_i|^2`` touches ``sum_i |w_i|^p`` at the rows of `W`.

    `eps` is added to squared norms: a row of zeros gets a large weight, not an infinite one.
    """
    squared = np.einsum("ij,ij->i", W, W)
    return p / 2 * (squared + eps) ** ((p - 2) / 2)


def row_norms_sum(W: NDArray, p: float = 1.0) -> float:
    """``||W||_{2,p}^p``, the sum over rows of their norm to the power `p`."""
    return float(np.sum(np.einsum("ij,ij->i", W, W) ** (p / 2)))


def mean_row_weights(inside: NDArray[np.float64], dimension: int, width: int) -> NDArray:
    """First weights that favour no projection onto `width` columns within a subspace.

    Where every projection into a null space is as good as any, ones as first weights would let
    rounding choose. The rows of a random projection into the subspace have squared norms of
    ``width / dimension * inside`` in the mean, `inside` being the share of every axis that lies in
    the subspace.
    """
    return row_weights(np.sqrt(width / dimension * inside)[:, None])
