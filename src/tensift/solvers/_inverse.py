"""Inverses of stacks of positive definite matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of

__all__ = ["inverse_of_definite"]

_SMALL = 8  # order of the triangles that are inverted row by row
_FEW_ELEMENTS = 10_000  # in all matrices: for so few, the overhead of calls is the larger cost


def inverse_of_definite(matrices: NDArray) -> NDArray:
    """Invert Hermitian positive definite matrices ``(p, q, q)`` by their Cholesky factors.

    The triangles are inverted by halves, because products of stacks are fast and factorisations
    of small matrices are slow. This is as accurate as a linear solve; Schur complements of the
    matrices themselves would not be.
    """
    if matrices.shape[-1] <= _SMALL or matrices.size <= _FEW_ELEMENTS:
        return np.linalg.inv(matrices)
    triangle = _inverse_of_triangle(np.linalg.cholesky(matrices))
    half = triangle.shape[-1] // 2
    if half <= 2 * _SMALL:
        # The copy hides from NumPy that this is an array times its own transpose. NumPy would use
        # a rank-k update, which is slower for small matrices.
        return np.ascontiguousarray(adjoint(triangle)) @ triangle
    upper, corner, lower = (
        triangle[:, :half, :half],
        triangle[:, half:, :half],
        triangle[:, half:, half:],
    )
    result = np.empty_like(triangle)
    across = np.ascontiguousarray(adjoint(corner))
    result[:, :half, :half] = np.ascontiguousarray(adjoint(upper)) @ upper + across @ corner
    result[:, half:, half:] = np.ascontiguousarray(adjoint(lower)) @ lower
    side = across @ lower
    result[:, :half, half:] = side
    result[:, half:, :half] = adjoint(side)
    return result


def _inverse_of_triangle(lower: NDArray) -> NDArray:
    """Invert lower triangles: small ones on the diagonal first, then pairs of them at a time."""
    size = lower.shape[-1]
    levels = 0
    while size > _SMALL << levels:
        levels += 1
    count = 1 << levels
    order = -(-size // count)
    if count * order > size:
        lower = _with_unit_diagonal(lower, count * order)
    result = np.zeros_like(lower)
    small = _diagonal_blocks(lower, count)
    inverted = _invert_small(small.reshape(-1, order, order))
    _diagonal_blocks(result, count)[...] = inverted.reshape(small.shape)
    while count > 1:
        count //= 2
        old, new = _diagonal_blocks(lower, count), _diagonal_blocks(result, count)
        corner = new[..., order:, order:] @ old[..., order:, :order]
        new[..., order:, :order] = corner @ -new[..., :order, :order]
        order *= 2
    return result[:, :size, :size]


def _with_unit_diagonal(matrices: NDArray, size: int) -> NDArray:
    """Matrices padded to a larger order, with ones on the new part of the diagonal."""
    filled = np.zeros((len(matrices), size, size), matrices.dtype)
    old = matrices.shape[-1]
    filled[:, :old, :old] = matrices
    diagonal_of(filled)[:, old:] = 1
    return filled


def _diagonal_blocks(matrices: NDArray, count: int) -> NDArray:
    """The `count` blocks on the diagonal of every matrix, as a view."""
    n_slices, size, _ = matrices.shape
    order = size // count
    return np.einsum("pkikj->pkij", matrices.reshape(n_slices, count, order, count, order))


def _invert_small(lower: NDArray) -> NDArray:
    """Invert lower triangles by substitution, row by row, for the whole stack at once."""
    lower = np.ascontiguousarray(np.moveaxis(lower, 0, -1))
    result = np.zeros_like(lower)
    scale = 1 / np.einsum("iip->ip", lower)
    for row in range(len(lower)):
        result[row, row] = scale[row]
        if row:
            factors = lower[row, :row] * -scale[row]
            np.einsum("kp,kip->ip", factors, result[:row, :row], out=result[row, :row])
    return np.moveaxis(result, -1, 0)
