"""Projection of Hermitian matrices onto the positive semidefinite cone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tensift._utils.stacks import adjoint, diagonal_of, eigh, take

__all__ = ["is_positive_definite", "low_rank_psd_part", "psd_part"]


def psd_part(matrices: NDArray) -> NDArray:
    """The nearest positive semidefinite matrix to each Hermitian matrix in a stack.

    A matrix with a Cholesky factorisation is positive definite and is returned as it is. The
    negative eigenvalues of the others are set to zero.

    Parameters
    ----------
    matrices : ndarray of shape (p, q, q)
        Hermitian matrices.

    Returns
    -------
    ndarray of shape (p, q, q)

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.solvers import psd_part
    >>> psd_part(np.array([[[2.0, 0.0], [0.0, -1.0]]]))[0] + 0.0
    array([[2., 0.],
           [0., 0.]])
    """
    result = matrices.copy()
    indefinite = ~is_positive_definite(matrices)
    if indefinite.any():
        values, vectors = eigh(matrices[indefinite])
        result[indefinite] = (vectors * np.maximum(values, 0)[:, None, :]) @ adjoint(vectors)
    return result


def low_rank_psd_part(matrices: NDArray) -> NDArray:
    """The same for matrices with few positive eigenvalues: LAPACK computes only those."""
    result = np.empty_like(matrices)
    for matrix, part in zip(matrices, result, strict=True):
        values, vectors = linalg.eigh(
            matrix, subset_by_value=(0, np.inf), driver="evr", check_finite=False
        )
        np.matmul(vectors * values, adjoint(vectors), out=part)
    return result


def is_positive_definite(matrices: NDArray) -> NDArray[np.bool_]:
    """Which Hermitian matrices of a stack have a Cholesky factorisation."""
    # The diagonal must be positive. This rules out most indefinite matrices without LAPACK.
    definite = np.all(diagonal_of(matrices).real > 0, axis=1)
    _clear_failures(matrices, np.flatnonzero(definite), definite)
    return definite


def _clear_failures(matrices: NDArray, index: NDArray, definite: NDArray[np.bool_]) -> None:
    """Set `definite` to False where the factorisation fails; a stack with a failure is halved."""
    if not len(index):
        return
    try:
        np.linalg.cholesky(take(matrices, index))
    except np.linalg.LinAlgError:
        if len(index) == 1:
            definite[index] = False
        else:
            half = len(index) // 2
            _clear_failures(matrices, index[:half], definite)
            _clear_failures(matrices, index[half:], definite)
