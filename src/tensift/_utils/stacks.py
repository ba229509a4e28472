"""Linear algebra on stacks of matrices, ``(p, rows, columns)``, that NumPy does not have.

Functions whose argument is annotated as `Any` also take device arrays.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_complex, is_device_array, namespace_of

__all__ = [
    "adjoint",
    "conjugate",
    "diagonal_of",
    "eigh",
    "first_peak",
    "frobenius_norm",
    "hermitian_part",
    "outer",
    "peak_phases",
    "real_part",
    "squared_modulus",
    "take",
]


def adjoint(matrices: Any) -> Any:
    """Conjugate transpose of every matrix; a view if they are real."""
    if is_device_array(matrices):
        xp = namespace_of(matrices)
        transposed = xp.matrix_transpose(matrices)
        return xp.conj(transposed) if is_complex(matrices) else transposed
    swapped = np.swapaxes(matrices, -1, -2)
    return np.conj(swapped) if np.iscomplexobj(swapped) else swapped


def diagonal_of(matrices: Any) -> Any:
    """The diagonal of every square matrix; for NumPy arrays, a view that can be written to."""
    if is_device_array(matrices):
        return namespace_of(matrices).linalg.diagonal(matrices)
    if matrices.flags.c_contiguous:
        *shape, size, _ = matrices.shape
        return matrices.reshape(*shape, size * size)[..., :: size + 1]
    return np.einsum("...ii->...i", matrices)


def frobenius_norm(matrices: Any) -> Any:
    """Frobenius norm of every matrix."""
    if is_device_array(matrices):
        xp = namespace_of(matrices)
        return xp.sqrt(xp.sum(squared_modulus(matrices), axis=(1, 2)))
    rows = np.ascontiguousarray(matrices).reshape(len(matrices), 1, math.prod(matrices.shape[1:]))
    if np.iscomplexobj(rows):
        rows = rows.view(rows.real.dtype)
    # One inner product per matrix in the linear algebra library is three times as fast as a sum.
    return np.sqrt((rows @ np.swapaxes(rows, 1, 2))[:, 0, 0])


def hermitian_part(matrices: Any) -> Any:
    """The Hermitian matrix that is nearest to every matrix."""
    return (matrices + adjoint(matrices)) / 2


def first_peak(sizes: NDArray[np.float64], axis: int | None = None) -> Any:
    """Index of the largest non-negative value; the first, if several are equal up to rounding."""
    return np.argmax(sizes >= sizes.max(axis=axis, keepdims=True) * (1 - 1e-8), axis=axis)


def peak_phases(matrices: NDArray) -> NDArray:
    """Factors of modulus one that make the peak of every column real and positive.

    The peak is the entry with the largest modulus. With these factors, results do not depend on the
    phases that a decomposition happens to return.
    """
    peak = first_peak(np.abs(matrices), axis=-2)
    leading = np.take_along_axis(matrices, peak[..., None, :], axis=-2)[..., 0, :]
    leading = np.where(leading == 0, 1.0, leading)
    return leading.conj() / np.abs(leading)


def squared_modulus(values: Any) -> Any:
    """``|z|**2``, without the square root that ``abs`` takes."""
    if is_device_array(values):
        if not is_complex(values):
            return values * values
        xp = namespace_of(values)
        return xp.real(values) ** 2 + xp.imag(values) ** 2
    if np.iscomplexobj(values):
        return values.real**2 + values.imag**2
    return values * values


def take(matrices: NDArray, index: NDArray) -> NDArray:
    """The matrices at increasing indices; the stack itself, not a copy, if these are all."""
    return matrices if len(index) == len(matrices) else matrices[index]


def eigh(matrices: NDArray) -> tuple[NDArray[np.float64], NDArray]:
    """Ascending eigenvalues and eigenvectors of every Hermitian matrix.

    LAPACK's divide-and-conquer method sometimes fails on a valid matrix. Such a matrix is
    decomposed again with its rows and columns in reverse order.
    """
    try:
        return np.linalg.eigh(matrices)
    except np.linalg.LinAlgError:
        if len(matrices) > 1:
            parts = [eigh(matrix[None]) for matrix in matrices]
            values, vectors = zip(*parts, strict=True)
            return np.concatenate(values), np.concatenate(vectors)
        values, vectors = np.linalg.eigh(matrices[:, ::-1, ::-1])
        return values, vectors[:, ::-1]


def conjugate(values: Any) -> Any:
    """The complex conjugate; the same array if it is real."""
    xp = namespace_of(values)
    return xp.conj(values) if xp.isdtype(values.dtype, "complex floating") else values


def outer(left: Any, right: Any) -> Any:
    """Return ``left right^H`` of matrices ``(n, t)`` and ``(m, t)``."""
    if left.shape[1] == 1:  # faster than a product of matrices
        return left * adjoint(right)
    return namespace_of(left).matmul(left, adjoint(right))


def real_part(values: Any) -> Any:
    """The real part; the same array if it is real."""
    xp = namespace_of(values)
    return xp.real(values) if xp.isdtype(values.dtype, "complex floating") else values
