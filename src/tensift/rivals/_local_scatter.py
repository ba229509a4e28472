"""The sum of inverted scatter matrices of neighbourhoods, which UDFS needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse import csr_array

from tensift.graphs import lowest_from_guess

__all__ = ["LocalScatter"]

Matrix = NDArray[np.float64]

_BLOCK = 2**20  # numbers in a block of neighbourhoods
_DENSE_SIZE = 200  # up to this size, a dense decomposition is fastest


class LocalScatter:
    """``M = sum_i X_i' (X_i X_i' + lam I)^-1 X_i``, with one term per neighbourhood of samples.

    Row-sparse projections are found from the lowest eigenvectors of ``M`` plus a diagonal. If there
    are less than half as many samples as features, ``M`` is stored as a factor ``C`` with
    ``M = C C'``.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Samples. They need not be centred.
    indices : ndarray of int, shape (n, k)
        The neighbours of every sample.
    lam : float
        Positive.
    """

    def __init__(self, rows: Matrix, indices: NDArray[np.intp], lam: float) -> None:
        n, self.size = rows.shape
        alignment = _alignment(rows, indices, lam)
        self._factor: Matrix | None = None
        if 2 * n < self.size:
            values, vectors = np.linalg.eigh(alignment.toarray())
            self._factor = rows.T @ (vectors * np.sqrt(np.maximum(values, 0)))
        else:
            matrix = rows.T @ (alignment @ rows)
            self._matrix = (matrix + matrix.T) / 2

    def energy(self, W: Matrix) -> float:
        """Return ``tr(W' M W)``."""
        return float(np.trace(self._compressed(np.zeros(self.size), W)))

    def lowest(self, diagonal: Matrix, count: int, guess: Matrix | None) -> tuple[Matrix, Matrix]:
        """Return the `count` lowest eigenvectors of ``M + diag``, and a guess for the next call."""
        width = min(count + 3, self.size)
        if self._factor is not None and guess is None:
            # A fixed seed, so that results repeat.
            noise = np.random.RandomState(0).standard_normal((self.size, width))
            guess = np.linalg.qr(noise)[0]
        if guess is not None and self.size > max(_DENSE_SIZE, 8 * width):
            energies = eigh(self._compressed(diagonal, guess), eigvals_only=True)
            block = lowest_from_guess(
                lambda shift: self._inverse(diagonal - shift), guess, energies, count
            )
            if block is not None:
                return block[:, :count], block
        block = eigh(self._plus(diagonal), subset_by_index=(0, width - 1), overwrite_a=True)[1]
        return block[:, :count], block

    def null_energies(self) -> tuple[int, Matrix]:
        """Return the dimension of the null space of ``M``, and its squared row norms ``(d,)``."""
        limit = self.size * np.finfo(float).eps
        if self._factor is not None:
            values, vectors = np.linalg.eigh(self._factor.T @ self._factor)
            kept = values > limit * values[-1]
            span = self._factor @ (vectors[:, kept] / np.sqrt(values[kept]))
        else:
            shift = np.full(self.size, limit * np.trace(self._matrix))
            try:
                cho_factor(self._plus(-shift), overwrite_a=True, check_finite=False)
            except LinAlgError:
                values, vectors = np.linalg.eigh(self._matrix)
                span = vectors[:, values > limit * values[-1]]
            else:
                return 0, np.zeros(self.size)
        outside = np.einsum("ij,ij->i", span, span)
        return self.size - span.shape[1], np.maximum(1 - outside, 0)

    def _plus(self, diagonal: Matrix) -> Matrix:
        """Return ``M + diag`` in Fortran order, which LAPACK needs no copy of."""
        matrix = self._matrix.copy() if self._factor is None else self._factor @ self._factor.T
        matrix.flat[:: self.size + 1] += diagonal
        return matrix.T

    def _compressed(self, diagonal: Matrix, W: Matrix) -> Matrix:
        """Return ``W' (M + diag) W``."""
        if self._factor is None:
            inner = W.T @ (self._matrix @ W)
        else:
            half = self._factor.T @ W
            inner = half.T @ half
        return inner + W.T @ (diagonal[:, None] * W)

    def _inverse(self, diagonal: Matrix) -> Callable[[Matrix], Matrix]:
        """Return a function that multiplies by the inverse of ``M + diag``."""
        if self._factor is None:
            cholesky = cho_factor(self._plus(diagonal), overwrite_a=True, check_finite=False)
            return lambda vectors: cho_solve(cholesky, vectors, check_finite=False)
        if diagonal.min() <= 0:
            raise LinAlgError("the low-rank inverse needs a positive diagonal")
        root = np.sqrt(diagonal)[:, None]
        scaled = self._factor / root
        inner = scaled.T @ scaled
        inner.flat[:: len(inner) + 1] += 1
        cholesky = cho_factor(inner, overwrite_a=True, check_finite=False)

        def solve(vectors: Matrix) -> Matrix:
            vectors = vectors / root
            return (vectors - scaled @ cho_solve(cholesky, scaled.T @ vectors)) / root

        return solve


def _alignment(rows: Matrix, indices: NDArray[np.intp], lam: float) -> csr_array:
    """Return the sparse ``A`` with ``M = X' A X``: the sum of all inverted local scatters."""
    n, k = indices.shape
    members = np.concatenate([np.arange(n)[:, None], indices], axis=1)
    local = np.empty((n, k + 1, k + 1))
    step = max(1, _BLOCK // ((k + 1) * rows.shape[1]))
    for start in range(0, n, step):
        block = slice(start, start + step)
        samples = rows[members[block]]
        samples -= samples.mean(axis=1, keepdims=True)
        local[block] = samples @ np.swapaxes(samples, 1, 2)
    inverse = np.linalg.inv(local + lam * np.eye(k + 1))
    inverse -= inverse.mean(axis=1, keepdims=True)
    inverse -= inverse.mean(axis=2, keepdims=True)
    row = np.repeat(members, k + 1, axis=1).ravel()
    column = np.tile(members, (1, k + 1)).ravel()
    return csr_array((inverse.ravel(), (row, column)), shape=(n, n))
