"""Where the exact solver starts, for arrays of any library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import best_multiple, best_sizes, gradient_of_norms

__all__ = ["Start"]

Array = Any  # of any namespace of the array API

_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Start:
    """Operators to start from, and what the solver needs to know about them.

    Attributes
    ----------
    operators, rotated : array of shape (p, q, q)
        In the original basis and in the eigenbasis of ``S``.
    norms : array of shape (p, q)
        Column norms of the operators.
    gradient : array of shape (p, q, q)
        Columns of norm at most lam, close to the multiplier of the column norms at the optimum.
    nonzero : array of bool, shape (p,)
        Whether the best operator with the eigenvectors of ``S`` is not zero.
    """

    operators: Array
    rotated: Array
    norms: Array
    gradient: Array
    nonzero: Array

    @classmethod
    def of(cls, problems: DiagonalProblems) -> Start:
        """The best operator that has the eigenvectors of ``S``."""
        algebra, vectors, lam = problems.algebra, problems.vectors, problems.lam
        xp = algebra.xp
        pull = algebra.at_least(problems.pull, 0.0)
        sizes, norms, multiple, _ = best_sizes(
            algebra,
            algebra.squared_modulus(vectors),
            pull[:, :, None],
            2 * (problems.values + problems.ridge)[:, :, None],
            lam[:, :, None],
        )
        sizes, norms, multiple = sizes[:, :, 0], norms[:, :, 0], multiple[:, 0]

        operators = algebra.from_spectrum(vectors, sizes)
        gradient = gradient_of_norms(algebra, operators, norms, lam)
        zero = multiple == 0
        if algebra.may_hold(zero):
            # If A = 0 is the optimum, these columns, cut to lam, often prove it at once.
            free = algebra.from_spectrum(vectors, pull)
            length = algebra.at_least(algebra.larger(algebra.column_norms(free), lam), _TINY)
            cut = free * (lam / length)[:, None, :]
            gradient = xp.where(zero[:, None, None], cut, gradient)
        return cls(operators, algebra.diagonal_matrices(sizes), norms, gradient, multiple > 0)

    def or_better(self, problems: DiagonalProblems, operators: Array) -> Start:
        """Take the best multiple of other `operators` where the objective is lower there."""
        algebra = problems.algebra
        rotated, norms = problems.rotate(operators), algebra.column_norms(operators)
        multiple, value = best_multiple(algebra, *problems.parts_of_value(rotated, norms))
        _, own = best_multiple(algebra, *problems.parts_of_value(self.rotated, self.norms))
        better = value < own
        if not algebra.may_hold(better):
            return self
        operators, norms = operators * multiple[:, None, None], norms * multiple[:, None]
        gradient = gradient_of_norms(algebra, operators, norms, problems.lam)
        where, better = algebra.xp.where, better[:, None, None]
        return Start(
            where(better, operators, self.operators),
            where(better, rotated * multiple[:, None, None], self.rotated),
            where(better[:, :, 0], norms, self.norms),
            where(better, gradient, self.gradient),
            self.nonzero,
        )
