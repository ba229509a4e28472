"""Row sparsity by reweighted least squares: ``||W||_{2,p}^p`` and a quadratic upper bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["mean_row_weights", "row_norms_sum", "row_weights"]


def row_weights(W: NDArray, p: float = 1.0, eps: float = 2.2e-16) -> NDArray[np.float64]:
    """Return weights ``q`` with which ``sum_i q_i |w_i|^2`` is tangent to ``sum_i |w_i|^p`` at `W`.

    `eps` is added to the squared norms, so that a row of zeros gets a finite weight.
    """
    squared = np.einsum("ij,ij->i", W, W)
    return p / 2 * (squared + eps) ** ((p - 2) / 2)


def row_norms_sum(W: NDArray, p: float = 1.0) -> float:
    """Return ``||W||_{2,p}^p``: the sum of the row norms to the power `p`."""
    return float(np.sum(np.einsum("ij,ij->i", W, W) ** (p / 2)))


def mean_row_weights(inside: NDArray[np.float64], dimension: int, width: int) -> NDArray:
    """Return first weights that favour no projection onto `width` columns within a subspace.

    Every projection into a null space is equally good. With ones as first weights, rounding errors
    would choose one. We use the weights of an average projection instead: the rows of a random
    projection into the subspace have mean squared norms ``width / dimension * inside``, where
    `inside` is the share of each axis that lies in the subspace.
    """
    return row_weights(np.sqrt(width / dimension * inside)[:, None])
