"""Inverses of stacks of positive definite matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint

__all__ = ["inverse_of_definite"]

_SMALL = 12  # up to this order LAPACK is as fast as products


def inverse_of_definite(matrices: NDArray) -> NDArray:
    """Invert Hermitian positive definite matrices ``(p, q, q)`` by their Cholesky factors.

    Products of a stack run near the speed of the machine, factorisations of small matrices far
    from it, so the triangles are inverted by halves. Unlike Schur complements of the matrices
    themselves, that is as accurate as a linear solve.
    """
    if matrices.shape[-1] <= _SMALL:
        return np.linalg.inv(matrices)
    triangle = _inverse_of_triangle(np.linalg.cholesky(matrices))
    return adjoint(triangle) @ triangle


def _inverse_of_triangle(lower: NDArray) -> NDArray:
    size = lower.shape[-1]
    if size <= _SMALL:
        return np.linalg.inv(lower)
    half = size // 2
    result = np.zeros_like(lower)
    result[:, :half, :half] = _inverse_of_triangle(lower[:, :half, :half])
    result[:, half:, half:] = _inverse_of_triangle(lower[:, half:, half:])
    corner = result[:, half:, half:] @ lower[:, half:, :half]
    result[:, half:, :half] = corner @ -result[:, :half, :half]
    return result
