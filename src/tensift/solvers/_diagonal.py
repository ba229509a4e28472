"""Slice problems in the eigenbases of their Gram matrices, for arrays of any library."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from tensift._utils.computed_once import computed_once
from tensift.solvers import _formulas as formulas
from tensift.solvers._algebra import HOST, Algebra, HostAlgebra
from tensift.solvers._problem import SliceProblems

__all__ = ["DiagonalProblems"]

Array = Any  # of any namespace of the array API


@dataclass(frozen=True)
class DiagonalProblems:
    """The problems of a stack of slices, rotated so that ``S`` is diagonal and scaled to size one.

    Rotation changes neither the trace nor the cone and makes the quadratic part diagonal. Only the
    column norms have to be taken in the original basis. Dividing ``S``, ``lam``, ``eta`` and the
    ridge by the largest eigenvalue does not change the solution.

    Parameters
    ----------
    algebra : Algebra or HostAlgebra
        Operations on the arrays.
    values, vectors : array of shape (p, q) and (p, q, q)
        Eigenvalues of ``S / unit``, and the eigenvectors.
    lam, eta, ridge : array of shape (p, 1)
        Weights, divided by `unit`.
    unit : array of shape (p, 1)
        The size of each problem.
    """

    algebra: Algebra | HostAlgebra
    values: Array
    vectors: Array
    lam: Array
    eta: Array
    ridge: Array
    unit: Array

    @classmethod
    def of(
        cls,
        problems: SliceProblems,
        algebra: Algebra | HostAlgebra = HOST,
        spectrum: tuple[Array, Array] | None = None,
    ) -> DiagonalProblems:
        """Diagonalise the Gram matrices of a stack of problems; pass their `spectrum` if known."""
        values, vectors = problems.gram.spectrum if spectrum is None else spectrum
        xp = algebra.xp
        largest = xp.max(values, axis=1, keepdims=True)
        lam, eta = (_per_slice(algebra, w, largest) for w in (problems.lam, problems.eta))
        unit = largest + float(problems.ridge)
        # Slices of constant samples have no size of their own.
        instead = algebra.larger(lam, eta)
        instead = xp.where(instead > 0, instead, xp.ones_like(instead))
        unit = xp.where(unit > 0, unit, instead)
        ridge = xp.full_like(unit, float(problems.ridge))
        return cls(algebra, values / unit, vectors, lam / unit, eta / unit, ridge / unit, unit)

    @property
    def arrays(self) -> list[Array]:
        """All fields but the algebra, in order."""
        return [getattr(self, field.name) for field in fields(self)[1:]]

    def __getitem__(self, index: Array) -> DiagonalProblems:
        """Some of the problems."""
        return DiagonalProblems(
            self.algebra, *(self.algebra.take(array, index) for array in self.arrays)
        )

    def rotate(self, operators: Array) -> Array:
        """Operators into the eigenbases."""
        return self.algebra.adjoint(self.vectors) @ operators @ self.vectors

    @computed_once
    def curvature(self) -> Array:
        """The quadratic part: ``(S + ridge I) A + A (S + ridge I)`` is ``curvature * A``."""
        return formulas.curvature_of(self.algebra, self.values, self.ridge)

    @computed_once
    def pull(self) -> Array:
        """The linear part, ``2 S - eta I``, which is diagonal."""
        return 2 * self.values - self.eta

    @property
    def trace(self) -> Array:
        """``Tr(S)``, the objective at zero."""
        return self.algebra.xp.sum(self.values, axis=1)

    def gradient(self, rotated: Array) -> Array:
        """The gradient of all but the column norms, at operators in the eigenbasis."""
        return self.algebra.less_diagonal(self.curvature * rotated, self.pull)

    def parts_of_value(self, rotated: Array, norms: Array) -> tuple[Array, Array]:
        """``a, b`` such that the objective at ``t A`` is ``a t^2 - b t + Tr(S)`` for ``t >= 0``."""
        algebra = self.algebra
        fit = algebra.xp.sum(self.pull * algebra.diagonal(rotated), axis=1)
        spectrum = self.values + self.ridge
        return formulas.parts_of_value(algebra, rotated, norms, spectrum, fit, self.lam)

    def lower_bound(self, multipliers: Array) -> Array:
        """A value that no feasible operator can go below, from rotated ``herm(G) - Z``."""
        return formulas.lower_bound(
            self.algebra, self.values, self.pull, self.curvature, multipliers
        )


def _per_slice(algebra: Algebra | HostAlgebra, weight: Any, like: Array) -> Array:
    """A penalty as an array ``(p, 1)``."""
    xp = algebra.xp
    if getattr(weight, "ndim", 0):
        return xp.reshape(xp.asarray(weight, dtype=like.dtype), like.shape)
    return xp.full_like(like, float(weight))
