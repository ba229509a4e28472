"""The lowest eigenvectors of a positive definite matrix that can be inverted, from a good guess."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, qr

__all__ = ["lowest_from_guess"]

Matrix = NDArray[np.float64]
Solve = Callable[[Matrix], Matrix]

_ROUNDING = 1e-11  # of an eigenvector, where no gap tells which of several are the lowest
_MAX_ROUNDS = 6
_MAX_BLOCKS = 8  # in a space, before it starts again from its best vectors


def lowest_from_guess(
    inverse_below: Callable[[float], Solve],
    block: Matrix,
    energies: NDArray[np.float64],
    count: int,
    accuracy: float = 1e-7,
) -> Matrix | None:
    """The lowest eigenvectors, by block Krylov spaces of inverses.

    Parameters
    ----------
    inverse_below : callable
        Takes a shift to a function that solves systems with the matrix less the shift. It raises
        LinAlgError if that is not positive definite, as far as it can tell.
    block : ndarray of shape (d, m), count < m <= d / 8
        Orthonormal columns that nearly span the wanted vectors, and some others to spare.
    energies : ndarray of shape (m,)
        Ascending Ritz values of the matrix in the span of `block`.
    count : int
        How many vectors must be accurate.
    accuracy : float, default=1e-7
        Of the space that they span: the sine of its largest angle to the true one, at most. If
        others are just as low, the vectors are accurate, but which ones is not determined.

    Returns
    -------
    ndarray of shape (d, m) or None
        Orthonormal columns, the lowest first, `count` of them accurate; None if that takes so
        long that a dense decomposition is the shorter way.
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
                for _ in range(2):  # once more, for what rounding left of the others
                    new = qr(new - basis @ (basis.T @ new), mode="economic", check_finite=False)[0]
                basis, images = np.hstack([basis, new]), np.hstack([images, solve(new)])
        energies = shift + 1 / values
    return None


def _nearest_inverse(
    inverse_below: Callable[[float], Solve], energies: NDArray[np.float64], count: int
) -> tuple[float, Solve]:
    """The inverse about a shift just below the eigenvalues, where it tells them best apart."""
    margin = max(0.1 * (energies[count] - energies[0]), 1e-6 * energies[0])
    # Ritz values are above the eigenvalues, so that the first shift may be too high.
    while energies[0] > margin:
        try:
            return energies[0] - margin, inverse_below(energies[0] - margin)
        except LinAlgError:
            margin *= 8
    return 0.0, inverse_below(0.0)
