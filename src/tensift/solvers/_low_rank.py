"""Positive semidefinite matrices of low rank, kept as factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of

__all__ = ["LowRank"]


@dataclass(frozen=True)
class LowRank:
    """A stack of Hermitian matrices ``A = R^H C R`` of order ``q`` and rank at most ``r``.

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

    @classmethod
    def of_eigenpairs(cls, pairs: Sequence[tuple[NDArray[np.float64], NDArray]]) -> LowRank:
        """Matrices with these nonzero eigenvalues ``(r_j,)`` and eigenvectors ``(q, r_j)``."""
        rank = max(1, *(len(values) for values, _ in pairs))
        size = len(pairs[0][1])
        rows = np.zeros((len(pairs), rank, size), pairs[0][1].dtype)
        core = np.zeros((len(pairs), rank, rank))
        for j, (values, vectors) in enumerate(pairs):
            rows[j, : len(values)] = adjoint(vectors)
            diagonal_of(core[j])[: len(values)] = values
        return cls(rows, core, core**2, diagonal_of(core).sum(axis=1))

    @classmethod
    def concatenate(cls, parts: Sequence[LowRank]) -> LowRank:
        """The matrices of all parts."""
        rank = max(part.core.shape[1] for part in parts)

        def join(name: str, padded_axes: int) -> NDArray:
            arrays = [getattr(part, name) for part in parts]
            missing = [(0, rank - array.shape[1]) for array in arrays]
            rest = ((0, 0),) * (2 - padded_axes)
            return np.concatenate(
                [
                    np.pad(array, ((0, 0), *(more,) * padded_axes, *rest))
                    for array, more in zip(arrays, missing, strict=True)
                ]
            )

        trace = np.concatenate([part.trace for part in parts])
        return cls(join("rows", 1), join("core", 2), join("square", 2), trace)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: slice | NDArray) -> LowRank:
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

    def inner(
        self, matrices: NDArray, *, thin: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``Tr(A S)`` and ``Tr(A S A)`` for Hermitian matrices ``S``, or for their thin factors."""
        images = self.rows @ matrices
        inner = images @ adjoint(images if thin else self.rows)
        inner = inner.conj()
        return (
            np.einsum("pij,pij->p", self.core, inner).real,
            np.einsum("pij,pij->p", self.square, inner).real,
        )
