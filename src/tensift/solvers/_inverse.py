"""Inverses of stacks of positive definite matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.solvers._projection import adjoint

__all__ = ["inverse_of_definite"]

_SMALL = 16  # below this order LAPACK is as fast as products


def inverse_of_definite(matrices: NDArray) -> NDArray:
    """Invert Hermitian positive definite matrices ``(p, q, q)`` by halves.

    The Schur complement turns one inverse into two of half the order and six products. Products
    of a stack run near the speed of the machine, small factorisations far from it.
    """
    size = matrices.shape[-1]
    if size <= _SMALL:
        return np.linalg.inv(matrices)
    half = size // 2
    corner = matrices[:, :half, half:]
    first = inverse_of_definite(matrices[:, :half, :half])
    bridge = first @ corner
    second = inverse_of_definite(matrices[:, half:, half:] - adjoint(corner) @ bridge)
    off = bridge @ second
    result = np.empty_like(matrices)
    result[:, half:, half:] = second
    result[:, :half, half:] = -off
    result[:, half:, :half] = -adjoint(off)
    result[:, :half, :half] = first + off @ adjoint(bridge)
    return result
