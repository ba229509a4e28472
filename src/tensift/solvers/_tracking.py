"""Projections onto the cone of matrices that change little from one step to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, diagonal_of, frobenius_norm, take
from tensift.solvers._projection import is_positive_definite

__all__ = ["TrackedProjection"]

_ACCURACY = 1e-10  # of the subspace: residual over the norm of the matrix
_MAX_PASSES = 10
_HOPELESS = 0.2  # a residual from which a new decomposition is the shorter way


class TrackedProjection:
    """Project a stack of Hermitian matrices again and again while they converge.

    The projection needs the invariant subspace of the positive or of the negative eigenvalues,
    whichever is smaller, not single eigenvectors. In the eigenbasis of the last decomposition
    that subspace is spanned by ``[I; X]`` with a small ``X``, which solves a Riccati equation
    and is followed from step to step by products alone. Reflecting what lies in the subspace
    gives the modulus ``|H|``, and ``(H + |H|) / 2`` is the projection. Each result is certified:
    a small residual shows that the subspace is invariant, a Cholesky factorisation of ``|H|``
    that all eigenvalues are on their right sides. What fails is decomposed afresh by ``eigh``.

    Parameters
    ----------
    n_slices, size : int
        Shape of the stacks, ``(n_slices, size, size)``.
    dtype : dtype
        Of the matrices.
    positive : ndarray of int, shape (n_slices,), optional
        Says that the matrices to come are nearly diagonal, and that the last so many entries of
        each diagonal are the positive ones: the unit vectors serve as the first eigenbasis.
    """

    def __init__(
        self,
        n_slices: int,
        size: int,
        dtype: np.dtype,
        positive: NDArray[np.intp] | None = None,
    ) -> None:
        self._ready = np.zeros(n_slices, bool)
        self._basis = np.empty((n_slices, size, size), dtype)  # the subspace's columns first
        self._sign = np.ones(n_slices)  # of the eigenvalues that belong to the subspace
        self._width = np.zeros(n_slices, int)  # its dimension
        self._slope = np.zeros((n_slices, size, max(1, size // 2)), dtype)  # X, padded with zeros
        if positive is not None:
            self._set_basis(np.arange(n_slices), positive, np.eye(size, dtype=dtype)[None])

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the slices."""
        for name, value in vars(self).items():
            setattr(self, name, value[mask])

    def __call__(self, matrices: NDArray) -> NDArray:
        """Project each matrix; the stack must be the one of the call before, a step later."""
        result = np.empty_like(matrices)
        todo = np.ones(len(matrices), bool)
        untracked = np.flatnonzero(~self._ready)
        definite = untracked[is_positive_definite(matrices[untracked])]
        result[definite] = matrices[definite]
        todo[definite] = False
        tracked = np.flatnonzero(self._ready)
        if len(tracked):
            parts, fine = self._follow(take(matrices, tracked), tracked)
            if fine.all() and len(fine) == len(matrices):
                return parts
            result[tracked] = parts
            todo[tracked] = ~fine
        rest = np.flatnonzero(todo)
        if len(rest):
            result[rest] = self._decompose(matrices[rest], rest)
        return result

    def _decompose(self, matrices: NDArray, index: NDArray) -> NDArray:
        values, basis = np.linalg.eigh(matrices)
        self._set_basis(index, np.count_nonzero(values > 0, axis=1), basis)
        return (basis * np.maximum(values, 0)[:, None, :]) @ adjoint(basis)

    def _set_basis(self, index: NDArray, positive: NDArray[np.intp], basis: NDArray) -> None:
        """Follow subspaces from here: eigenvectors by ascending eigenvalues."""
        size = basis.shape[1]
        few = positive <= size // 2
        self._ready[index] = positive < size  # definite matrices need no more than Cholesky
        self._sign[index] = np.where(few, 1.0, -1.0)
        self._width[index] = np.where(few, positive, size - positive)
        # Read backwards, the positive ones come first.
        self._basis[index] = np.where(few[:, None, None], basis[:, :, ::-1], basis)
        self._slope[index] = 0

    def _follow(self, matrices: NDArray, index: NDArray) -> tuple[NDArray, NDArray[np.bool_]]:
        """The semidefinite parts by the tracked subspaces, and which of them are certified."""
        basis, dimension = take(self._basis, index), self._width[index][:, None]
        width = max(1, int(dimension.max()))
        inside = np.arange(width) < dimension
        outside = np.arange(matrices.shape[1]) >= dimension
        scale = frobenius_norm(matrices) + np.finfo(float).tiny
        slope = self._slope[index, :, :width]

        rotated = adjoint(basis) @ (matrices @ basis)
        diagonal = np.diagonal(rotated, axis1=1, axis2=2).real
        gap = diagonal[:, None, :width] - diagonal[:, :, None]
        gap[~(outside[:, :, None] & inside[:, None, :])] = np.inf
        gap[gap == 0] = np.inf
        step = 1 / gap
        # Padding needs no care below: columns of zeros stay columns of zeros.
        span = slope + np.eye(matrices.shape[1], width) * inside[:, None, :]
        for _ in range(_MAX_PASSES):
            image = rotated @ span
            residual = image - span @ image[:, :width]
            error = frobenius_norm(residual) / scale
            good = error < _ACCURACY
            hopeless = error > _HOPELESS
            if (good | hopeless).all():
                break
            if hopeless.any():
                step[hopeless] = 0
            residual *= step
            span += residual
        self._slope[index, :, :width] = span * (outside & good[:, None])[:, :, None]
        if not good.any():
            return matrices, good
        metric = np.linalg.inv(adjoint(span) @ span + np.eye(width) * ~inside[:, None, :])
        core = metric @ (adjoint(span) @ image) @ metric
        span = basis @ span
        modulus = span @ (core + adjoint(core)) @ adjoint(span)
        modulus -= matrices
        modulus *= self._sign[index][:, None, None]
        parts = (matrices + modulus) / 2
        diagonal_of(modulus)[...] += 1e-13 * scale[:, None]  # eigenvalues that vanish pass
        return parts, good & is_positive_definite(modulus)
