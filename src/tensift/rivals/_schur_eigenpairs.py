"""Lowest eigenpairs of a matrix with a huge diagonal in most rows, from a Schur complement.

Reweighting drives most rows of a projection to zero: their diagonal entries grow to a million times
the wanted eigenvalues. Let ``H`` be these heavy rows and ``L`` the other, light rows of a matrix
``A``. For an eigenvalue ``e``, the heavy rows of the eigenvector follow from the light ones,

    w_H = -(A_HH - e)^-1 A_HL w_L,

and hardly depend on ``e``. Let ``c`` be the centre of the wanted eigenvalues and
``Y = (A_HH - c)^-1 A_HL``. Eliminating the heavy rows leaves a small problem with the Schur
complement of ``A_HH - c``,

    (A_LL - c - A_LH Y) w_L = (e - c) (I + Y'Y) w_L.

It is exact except for terms of the size ``(e - c)^2`` over the heavy diagonal. We compute the heavy
rows with these terms afterwards. The terms also bound which other eigenvalues could be as low: by
Haynsworth's inertia formula, no eigenvalue can come from the heavy rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular
from scipy.linalg.blas import dsyrk

if TYPE_CHECKING:
    from tensift.rivals._extreme_eigenvectors import DiagonalAndGram

__all__ = ["lowest_by_schur_complement"]

Vectors = NDArray[np.float64]

_HEAVY_RATIO = 100.0  # heavy diagonal entries exceed the range of wanted eigenvalues by this factor
_MAX_LIGHT_ROWS = 400  # with more light rows, the small problem is not small
_EIGENVALUE_ERROR = 1e-10  # allowed error, as a share of the gap to the eigenvalues not wanted
_MAX_TERMS = 8  # of the series in (e - c) / (A_HH - c)


@dataclass(frozen=True)
class _SchurComplement:
    """The Schur complement of the heavy rows of ``diag(a) + sign C C' - centre``.

    `complement` is ``A_LL - c - A_LH Y``, `coupling` is ``Y``. The other fields are a factorisation
    of the heavy rows.
    """

    factored: tuple[Vectors, bool]
    roots: Vectors | None  # of the heavy diagonal, if the factorisation has the size of the rank
    scaled: Vectors
    sign: int
    coupling: Vectors
    complement: Vectors

    @classmethod
    def eliminate(
        cls,
        problem: DiagonalAndGram,
        diagonal: Vectors,
        heavy: NDArray[np.intp],
        light: NDArray[np.intp],
    ) -> _SchurComplement:
        """Eliminate the heavy rows. The centre is already subtracted from `diagonal`."""
        factor, sign = problem.factor, problem.sign
        C_heavy, C_light = factor[heavy], factor[light]
        if 2 * factor.shape[1] > len(heavy):
            matrix = problem.gram[np.ix_(heavy, heavy)].T  # in Fortran order, for LAPACK
            matrix[np.diag_indices(len(heavy))] += diagonal[heavy]
            factored = cho_factor(matrix, lower=False, overwrite_a=True, check_finite=False)
            across = sign * (C_heavy @ C_light.T)
            Y = cho_solve(factored, across, check_finite=False)
            complement = sign * (C_light @ C_light.T) - across.T @ Y
            complement.flat[:: len(complement) + 1] += diagonal[light]
            return cls(factored, None, C_heavy, sign, Y, (complement + complement.T) / 2)
        roots = np.sqrt(diagonal[heavy])[:, None]
        scaled = C_heavy / roots
        inner = sign * _upper_gram(scaled)
        inner.flat[:: len(inner) + 1] += 1
        factored = cho_factor(inner, lower=False, overwrite_a=True, check_finite=False)
        solved = cho_solve(factored, C_light.T, check_finite=False)
        complement = sign * (C_light @ solved)
        complement.flat[:: len(complement) + 1] += diagonal[light]
        Y = sign * (scaled @ solved) / roots
        return cls(factored, roots, scaled, sign, Y, (complement + complement.T) / 2)

    def solve(self, vectors: Vectors) -> Vectors:
        """Multiply by the inverse of the heavy block."""
        if self.roots is None:
            return cho_solve(self.factored, vectors, check_finite=False)
        vectors = vectors / self.roots
        inner = cho_solve(self.factored, self.scaled.T @ vectors, check_finite=False)
        return (vectors - self.sign * (self.scaled @ inner)) / self.roots


def lowest_by_schur_complement(
    problem: DiagonalAndGram, diagonal: Vectors, count: int, guess: Vectors
) -> tuple[Vectors, Vectors] | None:
    """Return the `count` lowest eigenpairs of ``diag + sign C C'`` and some more, or None.

    Parameters
    ----------
    problem : DiagonalAndGram
        Holds ``C`` and the sign.
    diagonal : ndarray of shape (d,)
    count : int
        How many eigenpairs are wanted.
    guess : ndarray of shape (d, m), m > count
        Orthonormal columns that nearly span the wanted eigenvectors, and some others.

    Returns
    -------
    (values, vectors) or None
        The first `count` pairs are accurate, and no other eigenvalue is as low. None if this could
        not be proved, for example because too few rows are heavy.
    """
    ritz = np.linalg.eigvalsh(problem.compressed(diagonal, guess))
    centre = float(ritz[:count].mean())
    width = max(float(ritz[count - 1] - ritz[0]), 0.01 * abs(centre))
    energy = 0.0 if problem.sign > 0 else problem.energy
    light = _light_rows(diagonal - centre - energy, width, ritz[count] - ritz[count - 1], guess)
    if len(light) > min(_MAX_LIGHT_ROWS, len(diagonal) // 3):
        return None
    heavy = np.delete(np.arange(len(diagonal)), light)
    try:
        rows = _SchurComplement.eliminate(problem, diagonal - centre, heavy, light)
        metric = rows.coupling.T @ rows.coupling
        squared_coupling = float(np.trace(metric))
        metric.flat[:: len(light) + 1] += 1
        shifts, w_light = _generalised_eigh(rows.complement, metric, guess.shape[1])
    except LinAlgError:
        return None
    term = -(rows.coupling @ w_light)
    w_heavy, gap = term.copy(), shifts[count] - shifts[count - 1]
    for number in range(_MAX_TERMS):
        solved = rows.solve(term)
        if number == 0:
            left_out = shifts**2 * np.einsum("ij,ij->j", term, solved)
            if not np.max(left_out[:count]) <= _EIGENVALUE_ERROR * gap:
                return None
        term = shifts * solved
        w_heavy += term
        if np.abs(term[:, :count]).max() < np.finfo(float).eps:
            break
    # Prove that no other eigenvalue is as low: bound what the heavy rows can contribute at a number
    # between the wanted and the other eigenvalues.
    between = shifts[count - 1] + min(gap / 2, width)
    lightest = diagonal[heavy].min() - centre - max(between, 0) - energy
    if not between**2 * squared_coupling < 0.9 * (shifts[count] - between) * lightest:
        return None
    vectors = np.empty_like(guess)
    vectors[light], vectors[heavy] = w_light, w_heavy
    # The vectors are orthonormal to second order. Make them so to rounding.
    root = np.linalg.cholesky(vectors.T @ vectors)
    return centre + shifts, solve_triangular(root, vectors.T, lower=True).T


def _light_rows(shifted: Vectors, width: float, gap: float, guess: Vectors) -> NDArray[np.intp]:
    """Return the rows that the small problem must keep to be accurate enough."""
    order = np.argsort(shifted, kind="stable")
    ascending = shifted[order]
    squares = np.einsum("ij,ij->i", guess, guess)[order]
    lost = (
        width**2 * squares / np.maximum(ascending, max(_HEAVY_RATIO * width, np.finfo(float).tiny))
    )
    lost_beyond = np.cumsum(lost[::-1])[::-1]
    needed = (lost_beyond > 0.3 * _EIGENVALUE_ERROR * gap) | (ascending <= _HEAVY_RATIO * width)
    last = np.flatnonzero(needed)
    count = max(int(last[-1]) + 1 if len(last) else 0, 2 * guess.shape[1] + 8)
    return np.sort(order[:count])


def _generalised_eigh(A: Vectors, B: Vectors, count: int) -> tuple[Vectors, Vectors]:
    """Return the `count` lowest eigenpairs of ``A w = e B w``."""
    root = np.linalg.cholesky(B)
    half = solve_triangular(root, A, lower=True, check_finite=False)
    inner = solve_triangular(root, half.T, lower=True, check_finite=False)
    values, vectors = eigh(inner, subset_by_index=(0, count - 1), check_finite=False)
    return values, solve_triangular(root, vectors, lower=True, trans=1, check_finite=False)


def _upper_gram(rows: Vectors) -> Vectors:
    """Return ``rows' rows``. Only the upper triangle is filled."""
    return dsyrk(1.0, rows.T)  # the transpose is in Fortran order, so BLAS makes no copy
