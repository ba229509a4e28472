"""The lowest eigenvectors of a positive definite matrix, from a good guess and its inverse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, qr

__all__ = ["lowest_from_guess"]

Matrix = NDArray[np.float64]
Solve = Callable[[Matrix], Matrix]

_ROUNDING = 1e-11  # accuracy of eigenvectors if there is no gap to the eigenvalues not wanted
_MAX_ROUNDS = 6
_MAX_BLOCKS = 8  # blocks of a Krylov space before it restarts from its best vectors


def lowest_from_guess(
    inverse_below: Callable[[float], Solve],
    block: Matrix,
    energies: NDArray[np.float64],
    count: int,
    accuracy: float = 1e-7,
) -> Matrix | None:
    """Compute the lowest eigenvectors in block Krylov spaces of shifted inverses.

    Parameters
    ----------
    inverse_below : callable
        ``inverse_below(shift)`` returns a function that solves systems with the matrix minus
        ``shift`` times the identity. It raises LinAlgError if it finds that this matrix is not
        positive definite.
    block : ndarray of shape (d, m), count < m <= d / 8
        Orthonormal columns that nearly span the wanted vectors, and some more.
    energies : ndarray of shape (m,)
        Ascending Ritz values of the matrix in the span of `block`.
    count : int
        How many vectors must be accurate.
    accuracy : float, default=1e-7
        Largest sine of the angle between the space that they span and the true one. If several
        eigenvalues are equal, the vectors are accurate, but they may be any of those that belong
        to these eigenvalues.

    Returns
    -------
    ndarray of shape (d, m) or None
        Orthonormal columns, the lowest first; the first `count` are accurate. None if a dense
        decomposition would be faster than going on.
    """
    width = block.shape[1]
    for _ in range(_MAX_ROUNDS):
        shift, solve = _nearest_inverse(inverse_below, energies, count)
        basis, images = block, solve(block)
        for blocks in range(1, _MAX_BLOCKS + 1):
            compressed = basis.T @ images
            values, mixing = np.linalg.eigh((compressed + compressed.T) / 2)
            values, mixing = values[: -width - 1 : -1], mixing[:, : -width - 1 : -1]
            block = basis @ mixing
            residual = np.linalg.norm((images @ mixing - block * values)[:, :count])
            gap = values[count - 1] - values[count]
            if residual <= max(accuracy * gap, _ROUNDING * values[0]):
                return block
            if blocks < _MAX_BLOCKS:
                new = images[:, -width:]
                for _ in range(2):  # twice: once is not orthogonal to full precision
                    new = qr(new - basis @ (basis.T @ new), mode="economic", check_finite=False)[0]
                basis, images = np.hstack([basis, new]), np.hstack([images, solve(new)])
        energies = shift + 1 / values
    return None


def _nearest_inverse(
    inverse_below: Callable[[float], Solve], energies: NDArray[np.float64], count: int
) -> tuple[float, Solve]:
    """The inverse for a shift just below the eigenvalues, where it separates them best."""
    margin = max(0.1 * (energies[count] - energies[0]), 1e-6 * energies[0])
    # Ritz values are above the eigenvalues, so the first shift may be too large.
    while energies[0] > margin:
        try:
            return energies[0] - margin, inverse_below(energies[0] - margin)
        except LinAlgError:
            margin *= 8
    return 0.0, inverse_below(0.0)
