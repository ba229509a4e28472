"""Where the exact solver starts."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, diagonal_of, squared_modulus
from tensift.solvers._diagonal import DiagonalProblems, best_multiple
from tensift.solvers._problem import column_norms

__all__ = ["Start"]

_ROUNDS = 5
_DEAD = 1e-8  # a share of the largest column
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Start:
    """Operators to start from, and what the solver needs to know about them.

    Attributes
    ----------
    operators, rotated : ndarray of shape (p, q, q)
        In the original basis and in the eigenbasis of ``S``.
    norms : ndarray of shape (p, q)
        Column norms of the operators.
    gradient : ndarray of shape (p, q, q)
        Columns of norm at most lam, near those of the multiplier at the optimum.
    positive : ndarray of int, shape (p,)
        The number of eigenvalues of ``S`` whose eigenvectors the operators use.
    """

    operators: NDArray
    rotated: NDArray
    norms: NDArray[np.float64]
    gradient: NDArray
    positive: NDArray[np.intp]

    @classmethod
    def of(cls, problems: DiagonalProblems) -> Start:
        """The best operator that has the eigenvectors of ``S``.

        Its eigenvalues ``a`` minimise ``sum t a^2 - (2 s - eta) a + lam sum_c n_c`` over
        ``a >= 0``, with ``n_c^2 = sum_a |V_ca|^2 a^2``: a problem in q unknowns, on which a few
        rounds of reweighting are spent.
        """
        vectors, lam = problems.vectors, problems.lam[:, None]
        curvature = 2 * (problems.values + problems.ridge[:, None])
        squares = squared_modulus(vectors)
        pull = np.maximum(problems.pull, 0)
        sizes = pull / np.maximum(curvature, _TINY)
        for _ in range(_ROUNDS):
            norms = _diagonal_norms(squares, sizes)
            weights = np.einsum("pca,pc->pa", squares, 1 / np.maximum(norms, _DEAD))
            sizes = pull / np.maximum(curvature + lam * weights, _TINY)
        norms = _diagonal_norms(squares, sizes)
        quadratic = np.sum(curvature * sizes**2, axis=1) / 2
        linear = np.sum(pull * sizes, axis=1) - problems.lam * norms.sum(axis=1)
        multiple, _ = best_multiple(quadratic, linear)
        sizes, norms = sizes * multiple[:, None], norms * multiple[:, None]

        operators = (vectors * sizes[:, None, :]) @ adjoint(vectors)
        rotated = np.zeros_like(operators)
        diagonal_of(rotated)[...] = sizes
        gradient = _gradient_of_norms(operators, norms, lam)
        zero = np.flatnonzero(multiple == 0)
        if len(zero):
            # If A = 0 is the optimum, these columns, cut to lam, often prove it at once.
            free = (vectors[zero] * pull[zero, None, :]) @ adjoint(vectors[zero])
            length = np.maximum(np.maximum(column_norms(free), lam[zero]), _TINY)
            gradient[zero] = free * (lam[zero] / length)[:, None, :]
        positive = np.where(multiple > 0, np.count_nonzero(pull, axis=1), 0)
        return cls(operators, rotated, norms, gradient, positive)

    def or_better(self, problems: DiagonalProblems, operators: NDArray) -> Start:
        """Take the best multiple of other `operators` where the objective is lower there."""
        rotated, norms = problems.rotate(operators), column_norms(operators)
        multiple, value = best_multiple(*problems.parts_of_value(rotated, norms))
        _, own = best_multiple(*problems.parts_of_value(self.rotated, self.norms))
        better = value < own
        if not better.any():
            return self
        operators = operators[better] * multiple[better, None, None]
        norms = norms[better] * multiple[better, None]
        result = Start(*(getattr(self, field.name).copy() for field in fields(self)))
        result.operators[better], result.norms[better] = operators, norms
        result.rotated[better] = rotated[better] * multiple[better, None, None]
        result.gradient[better] = _gradient_of_norms(operators, norms, problems.lam[better, None])
        return result


def _gradient_of_norms(operators: NDArray, norms: NDArray, lam: NDArray) -> NDArray:
    """``lam`` times the unit vectors along the columns, zero for columns that have vanished."""
    alive = norms > _DEAD * norms.max(axis=1, keepdims=True)
    return operators * np.divide(lam, norms, out=np.zeros_like(norms), where=alive)[:, None, :]


def _diagonal_norms(squares: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray:
    """Column norms of ``V diag(sizes) V^H``."""
    return np.sqrt(np.einsum("pca,pa->pc", squares, sizes**2))
