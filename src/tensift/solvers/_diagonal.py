"""Slice problems in the eigenbases of their Gram matrices, with their certificate of optimality."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, diagonal_of, squared_modulus
from tensift.solvers._problem import SliceProblems

__all__ = ["DiagonalProblems", "best_multiple"]

_ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class DiagonalProblems:
    """The problems of a stack of slices, rotated so that ``S`` is diagonal and scaled to size one.

    Trace and cone do not change under rotation, the quadratic part becomes diagonal, and only the
    column norms have to be taken in the original basis. Dividing ``S``, ``lam``, ``eta`` and the
    ridge by the largest eigenvalue leaves the solution as it is.

    Parameters
    ----------
    values, vectors : ndarray of shape (p, q) and (p, q, q)
        Eigenvalues of ``S / unit``, and the eigenvectors.
    lam, eta, ridge : ndarray of shape (p,)
        Weights, divided by `unit`.
    unit : ndarray of shape (p,)
        The size of each problem.
    """

    values: NDArray[np.float64]
    vectors: NDArray
    lam: NDArray[np.float64]
    eta: NDArray[np.float64]
    ridge: NDArray[np.float64]
    unit: NDArray[np.float64]

    @classmethod
    def of(cls, problems: SliceProblems) -> DiagonalProblems:
        """Diagonalise the Gram matrices of a stack of problems."""
        values, vectors = problems.gram.spectrum
        unit = values[:, -1] + problems.ridge
        penalty = np.broadcast_to(np.maximum(problems.lam, problems.eta), unit.shape)
        unit = np.where(unit > 0, unit, np.where(penalty > 0, penalty, 1.0))
        return cls(
            values / unit[:, None],
            vectors,
            problems.lam / unit,
            problems.eta / unit,
            problems.ridge / unit,
            unit,
        )

    def __getitem__(self, index: NDArray) -> DiagonalProblems:
        """Some of the problems."""
        return DiagonalProblems(*(getattr(self, field.name)[index] for field in fields(self)))

    def rotate(self, operators: NDArray) -> NDArray:
        """Operators into the eigenbases."""
        return adjoint(self.vectors) @ operators @ self.vectors

    @cached_property
    def curvature(self) -> NDArray[np.float64]:
        """The quadratic part: ``(S + ridge I) A + A (S + ridge I)`` is ``curvature * A``."""
        return self.values[:, :, None] + self.values[:, None, :] + 2 * self.ridge[:, None, None]

    @cached_property
    def pull(self) -> NDArray[np.float64]:
        """The linear part, ``2 S - eta I``, which is diagonal."""
        return 2 * self.values - self.eta[:, None]

    def gradient(self, rotated: NDArray) -> NDArray:
        """The gradient of all but the column norms, at operators in the eigenbasis."""
        result = self.curvature * rotated
        diagonal_of(result)[...] -= self.pull
        return result

    def parts_of_value(
        self, rotated: NDArray, norms: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``a, b`` such that the objective at ``t A`` is ``a t^2 - b t + Tr(S)`` for ``t >= 0``."""
        sizes = self.values + self.ridge[:, None]
        quadratic = np.einsum("pij,pij,pi->p", rotated.conj(), rotated, sizes).real
        linear = np.sum(self.pull * diagonal_of(rotated).real, axis=1)
        return quadratic, linear - self.lam * norms.sum(axis=1)

    def lower_bound(self, multipliers: NDArray) -> NDArray[np.float64]:
        """A value that no feasible operator can go below.

        For a matrix ``G`` with columns of norm at most ``lam`` and a positive semidefinite ``Z``,
        the objective is at least ``Tr(A T A) - <2 S - eta I - herm(G) + Z, A> + Tr(S)``, whose
        minimum over all Hermitian ``A`` is explicit in the eigenbasis.

        Parameters
        ----------
        multipliers : ndarray of shape (p, q, q)
            ``herm(G) - Z``, rotated.
        """
        residual = -multipliers
        diagonal_of(residual)[...] += self.pull
        if self.curvature.all():
            terms = squared_modulus(residual)
            terms /= self.curvature
        else:
            terms = np.divide(
                squared_modulus(residual),
                self.curvature,
                out=np.where(residual == 0, 0, np.inf),
                where=self.curvature > 0,
            )
        # Both sums are of the size of the trace: what rounding can add is taken off.
        trace = self.values.sum(axis=1)
        return trace * (1 - _ROUNDING) - np.sum(terms, axis=(1, 2)) / 2


def best_multiple(
    quadratic: NDArray[np.float64], linear: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where ``quadratic t^2 - linear t`` is least for ``t >= 0``, and how low it is."""
    multiple = np.maximum(linear, 0) / np.maximum(2 * quadratic, np.finfo(float).tiny)
    return multiple, multiple * (multiple * quadratic - linear)
