"""Positive semidefinite matrices of low rank, kept as factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint

__all__ = ["LowRank"]


@dataclass(frozen=True)
class LowRank:
    """A stack of Hermitian matrices ``A = R^H C R`` of order ``q`` and rank ``r`` at most.

    Parameters
    ----------
    rows : ndarray of shape (p, r, q)
        The rows ``R``.
    core : ndarray of shape (p, r, r)
        ``C``, Hermitian.
    square : ndarray of shape (p, r, r)
        ``C R R^H C``, the core of ``A A``.
    trace : ndarray of shape (p,)
        ``Tr(A)``.
    """

    rows: NDArray
    core: NDArray
    square: NDArray
    trace: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: NDArray) -> LowRank:
        """Some of the matrices."""
        return LowRank(self.rows[index], self.core[index], self.square[index], self.trace[index])

    def conj(self) -> LowRank:
        """The conjugate matrices."""
        return LowRank(self.rows.conj(), self.core.conj(), self.square.conj(), self.trace)

    def dense(self) -> NDArray:
        """The matrices."""
        return adjoint(self.rows) @ (self.core @ self.rows)

    def column_norms(self) -> NDArray[np.float64]:
        """Euclidean norms of the columns, ``(p, q)``."""
        squares = np.einsum("prq,prq->pq", self.rows.conj(), self.square @ self.rows).real
        return np.sqrt(np.maximum(squares, 0))

    def inner(self, matrices: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``Tr(A S)`` and ``Tr(A S A)`` with Hermitian matrices ``S``."""
        inner = (self.rows @ matrices) @ adjoint(self.rows)
        inner = inner.conj()
        return (
            np.einsum("pij,pij->p", self.core, inner).real,
            np.einsum("pij,pij->p", self.square, inner).real,
        )
