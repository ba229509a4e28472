"""Lowest eigenvectors of a matrix with a huge diagonal in most rows, from the other rows.

Reweighting drives rows of a projection to zero by entries of the diagonal that grow to a million
times the eigenvalues that are sought. Let ``H`` be those heavy rows and ``L`` the light ones. For
an eigenvalue ``e`` the heavy rows of the eigenvector follow from the light ones,

    w_H = -(A_HH - e)^-1 A_HL w_L,

and they hardly depend on ``e``. With ``Y = (A_HH - c)^-1 A_HL`` about a centre ``c`` of the
eigenvalues, what is left is a small problem in the light rows,

    (A_LL - A_LH Y - c) w_L = (e - c) (I + Y'Y) w_L,

exact but for terms of ``(e - c)^2`` over the heavy diagonal, which are computed afterwards. They
also bound what else could be as low: by Haynsworth's law no eigenvalue can come from the heavy
rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, solve_triangular
from scipy.linalg.blas import dsyrk

if TYPE_CHECKING:
    from tensift.selectors._extreme_eigenvectors import DiagonalAndGram

__all__ = ["condensed_lowest"]

Vectors = NDArray[np.float64]

_HEAVY = 100.0  # times the range of the wanted eigenvalues, at least
_MOST_LIGHT = 400  # rows, beyond which the small problem is not small
_ERROR = 1e-10  # of an eigenvalue, as a share of the gap to those that are not wanted
_MAX_TERMS = 8  # of the series in (e - c) / (A_HH - c)


@dataclass(frozen=True)
class _HeavyRows:
    """The heavy rows of ``diag(a) + sign C C' - centre``, factored.

    `coupling` is ``Y`` and `reduced` what remains of the light rows.
    """

    factored: tuple[Vectors, bool]
    roots: Vectors | None  # of the diagonal, if what is factored is of the rank's size
    scaled: Vectors
    sign: int
    coupling: Vectors
    reduced: Vectors

    @classmethod
    def eliminate(
        cls,
        problem: DiagonalAndGram,
        diagonal: Vectors,
        heavy: NDArray[np.intp],
        light: NDArray[np.intp],
    ) -> _HeavyRows:
        """Of the matrix with this `diagonal`, from which the centre is subtracted already."""
        factor, sign = problem.factor, problem.sign
        C_heavy, C_light = factor[heavy], factor[light]
        if 2 * factor.shape[1] > len(heavy):
            matrix = problem.gram[np.ix_(heavy, heavy)].T  # in the order of Fortran
            matrix[np.diag_indices(len(heavy))] += diagonal[heavy]
            factored = cho_factor(matrix, lower=False, overwrite_a=True, check_finite=False)
            across = sign * (C_heavy @ C_light.T)
            Y = cho_solve(factored, across, check_finite=False)
            reduced = sign * (C_light @ C_light.T) - across.T @ Y
            reduced.flat[:: len(reduced) + 1] += diagonal[light]
            return cls(factored, None, C_heavy, sign, Y, (reduced + reduced.T) / 2)
        roots = np.sqrt(diagonal[heavy])[:, None]
        scaled = C_heavy / roots
        inner = sign * _gram(scaled)
        inner.flat[:: len(inner) + 1] += 1
        factored = cho_factor(inner, lower=False, overwrite_a=True, check_finite=False)
        solved = cho_solve(factored, C_light.T, check_finite=False)
        reduced = sign * (C_light @ solved)
        reduced.flat[:: len(reduced) + 1] += diagonal[light]
        Y = sign * (scaled @ solved) / roots
        return cls(factored, roots, scaled, sign, Y, (reduced + reduced.T) / 2)

    def solve(self, vectors: Vectors) -> Vectors:
        """Products with the inverse."""
        if self.roots is None:
            return cho_solve(self.factored, vectors, check_finite=False)
        vectors = vectors / self.roots
        inner = cho_solve(self.factored, self.scaled.T @ vectors, check_finite=False)
        return (vectors - self.sign * (self.scaled @ inner)) / self.roots


def condensed_lowest(
    problem: DiagonalAndGram, diagonal: Vectors, count: int, guess: Vectors
) -> tuple[Vectors, Vectors] | None:
    """The `count` lowest eigenpairs of ``diag + sign C C'`` and some more, or None.

    Parameters
    ----------
    problem : DiagonalAndGram
        Has ``C`` and the sign.
    diagonal : ndarray of shape (d,)
    count : int
        How many eigenpairs are wanted.
    guess : ndarray of shape (d, m), m > count
        Orthonormal columns that nearly span the wanted eigenvectors, and some others.

    Returns
    -------
    (values, vectors) or None
        The first `count` are accurate and there are no others as low. None if that could not be
        shown, as when too few rows are heavy.
    """
    ritz = np.linalg.eigvalsh(problem.compressed(diagonal, guess))
    centre = float(ritz[:count].mean())
    width = max(float(ritz[count - 1] - ritz[0]), 0.01 * abs(centre))
    energy = 0.0 if problem.sign > 0 else problem.energy
    light = _light_rows(diagonal - centre - energy, width, ritz[count] - ritz[count - 1], guess)
    if len(light) > min(_MOST_LIGHT, len(diagonal) // 3):
        return None
    heavy = np.delete(np.arange(len(diagonal)), light)
    try:
        rows = _HeavyRows.eliminate(problem, diagonal - centre, heavy, light)
        metric = rows.coupling.T @ rows.coupling
        squared_coupling = float(np.trace(metric))
        metric.flat[:: len(light) + 1] += 1
        shifts, w_light = _generalised_eigh(rows.reduced, metric, guess.shape[1])
    except LinAlgError:
        return None
    term = -(rows.coupling @ w_light)
    w_heavy, gap = term.copy(), shifts[count] - shifts[count - 1]
    for number in range(_MAX_TERMS):
        solved = rows.solve(term)
        if number == 0:
            left_out = shifts**2 * np.einsum("ij,ij->j", term, solved)
            if not np.max(left_out[:count]) <= _ERROR * gap:
                return None
        term = shifts * solved
        w_heavy += term
        if np.abs(term[:, :count]).max() < np.finfo(float).eps:
            break
    # All that a number between the wanted and the other eigenvalues can gain from heavy rows.
    between = shifts[count - 1] + min(gap / 2, width)
    lightest = diagonal[heavy].min() - centre - max(between, 0) - energy
    if not between**2 * squared_coupling < 0.9 * (shifts[count] - between) * lightest:
        return None
    vectors = np.empty_like(guess)
    vectors[light], vectors[heavy] = w_light, w_heavy
    # Orthonormal to rounding: they are so to the second order already.
    root = np.linalg.cholesky(vectors.T @ vectors)
    return centre + shifts, solve_triangular(root, vectors.T, lower=True).T


def _light_rows(shifted: Vectors, width: float, gap: float, guess: Vectors) -> NDArray[np.intp]:
    """Rows that the small problem needs, so that what it leaves out is small enough."""
    order = np.argsort(shifted, kind="stable")
    ascending = shifted[order]
    squares = np.einsum("ij,ij->i", guess, guess)[order]
    lost = width**2 * squares / np.maximum(ascending, max(_HEAVY * width, np.finfo(float).tiny))
    lost_beyond = np.cumsum(lost[::-1])[::-1]
    needed = (lost_beyond > 0.3 * _ERROR * gap) | (ascending <= _HEAVY * width)
    last = np.flatnonzero(needed)
    count = max(int(last[-1]) + 1 if len(last) else 0, 2 * guess.shape[1] + 8)
    return np.sort(order[:count])


def _generalised_eigh(A: Vectors, B: Vectors, count: int) -> tuple[Vectors, Vectors]:
    """The `count` lowest eigenpairs of ``A w = e B w``."""
    root = np.linalg.cholesky(B)
    half = solve_triangular(root, A, lower=True, check_finite=False)
    inner = solve_triangular(root, half.T, lower=True, check_finite=False)
    values, vectors = eigh(inner, subset_by_index=(0, count - 1), check_finite=False)
    return values, solve_triangular(root, vectors, lower=True, trans=1, check_finite=False)


def _gram(rows: Vectors) -> Vectors:
    """``rows' rows``, of which only the upper half is right."""
    return dsyrk(1.0, rows.T)  # of an array in the order of Fortran, as BLAS has them
