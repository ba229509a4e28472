"""Projection onto the cone of matrices that change little from one step to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of, eigh, frobenius_norm, hermitian_part, take
from tensift.solvers._low_rank import LowRank
from tensift.solvers._projection import is_positive_definite

__all__ = ["TrackedProjection"]

_ACCURACY = 1e-10  # of the subspace: residual divided by the norm of the matrix
_MAX_PASSES = 10
_HOPELESS = 0.2  # with a larger residual, a new decomposition is faster
_THIN = 0.4  # factors are cheaper than matrices up to this share of the order
_TINY = np.finfo(float).tiny


class TrackedProjection:
    """Project a stack of Hermitian matrices ``H`` again and again while they converge.

    The projection needs no single eigenvectors. It needs the invariant subspace of the positive or
    of the negative eigenvalues, whichever is smaller. In the eigenbasis of the last decomposition,
    the rows ``[I, X]`` with a small ``X`` span this subspace. ``X`` solves a Riccati equation and
    is updated from step to step by products alone.

    Each result is checked. A small residual shows that the subspace is invariant. Reflecting it
    gives the modulus ``|H|``; if that has a Cholesky factor, all eigenvalues have the right sign.
    Matrices that fail are decomposed again by ``eigh``.

    Parameters
    ----------
    n_slices, size : int
        Shape of the stacks, ``(n_slices, size, size)``.
    dtype : dtype
        Type of the matrices.
    positive : ndarray of int, shape (n_slices,), optional
        Pass this if the first matrices are nearly diagonal: the number of positive entries of
        each diagonal, which must be its last entries. Unit vectors are then the first eigenbasis.
    steady : bool, default=False
        Pass True if changes get smaller from step to step and keep their direction. Then the next
        change is predicted, and the factorisation is skipped while ``H`` is closer to a checked
        matrix than the eigenvalues of that matrix are to zero.
    """

    def __init__(
        self,
        n_slices: int,
        size: int,
        dtype: np.dtype,
        positive: NDArray[np.intp] | None = None,
        *,
        steady: bool = False,
    ) -> None:
        self._ready = np.zeros(n_slices, bool)
        self._basis = np.empty((n_slices, size, size), dtype)  # the subspace's columns first
        self._sign = np.ones(n_slices)  # of the eigenvalues that belong to the subspace
        self._width = np.zeros(n_slices, int)  # its dimension
        width = max(1, size // 2)
        self._slope = np.zeros((n_slices, width, size), dtype)  # X, padded with zeros
        self._steady = steady
        if steady:
            # The last change of X, and the share of it that is expected in the next step.
            self._change = np.zeros_like(self._slope)
            self._trend = np.zeros(n_slices)
            self._passed = np.zeros_like(self._basis)  # a matrix that was checked
            self._margin = np.zeros(n_slices)  # all its eigenvalues are farther from zero
        if positive is not None:
            self._set_basis(np.arange(n_slices), positive, np.eye(size, dtype=dtype)[None])

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Keep some of the slices."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[mask])

    def __call__(self, matrices: NDArray) -> NDArray:
        """Project each matrix; the slices must be those of the previous call, one step later."""
        parts = self.parts(matrices)
        return parts.dense() if isinstance(parts, LowRank) else parts

    def parts(self, matrices: NDArray) -> NDArray | LowRank:
        """The same, as factors if the projections were found as factors of low rank."""
        if self._ready.all():
            everything = np.arange(len(matrices))
            found, fine = self._follow(matrices, everything)
            if fine.all():
                few = found.rows.shape[1] <= _THIN * matrices.shape[1]
                if few and (self._sign > 0).all():
                    return found
                return _positive_parts(matrices, found, self._sign)
            tracked = everything
        else:
            tracked = np.flatnonzero(self._ready)
            if len(tracked):
                found, fine = self._follow(matrices[tracked], tracked)
        result = np.empty_like(matrices)
        todo = np.ones(len(matrices), bool)
        if len(tracked):
            index = tracked[fine]
            result[index] = _positive_parts(matrices[index], found[fine], self._sign[index])
            todo[index] = False
        definite = np.flatnonzero(~self._ready)
        definite = definite[is_positive_definite(matrices[definite])]
        result[definite] = matrices[definite]
        todo[definite] = False
        rest = np.flatnonzero(todo)
        if len(rest):
            result[rest] = self._decompose(matrices[rest], rest)
        return result

    def _decompose(self, matrices: NDArray, index: NDArray) -> NDArray:
        values, basis = eigh(matrices)
        self._set_basis(index, np.count_nonzero(values > 0, axis=1), basis)
        if self._steady:
            self._passed[index] = matrices
            self._margin[index] = 0.9 * np.abs(values).min(axis=1)
        return (basis * np.maximum(values, 0)[:, None, :]) @ adjoint(basis)

    def _set_basis(self, index: NDArray, positive: NDArray[np.intp], basis: NDArray) -> None:
        """Start tracking from these eigenvectors, sorted by ascending eigenvalues."""
        size = basis.shape[1]
        few = positive <= size // 2
        self._ready[index] = positive < size  # for definite matrices, Cholesky is enough
        self._sign[index] = np.where(few, 1.0, -1.0)
        self._width[index] = np.where(few, positive, size - positive)
        # In reverse order the positive ones come first.
        self._basis[index] = np.where(few[:, None, None], basis[:, :, ::-1], basis)
        self._slope[index] = 0
        if self._steady:
            self._change[index] = 0
            self._trend[index] = 0
            self._margin[index] = 0

    def _follow(self, matrices: NDArray, index: NDArray) -> tuple[LowRank, NDArray[np.bool_]]:
        """The matrices restricted to the tracked subspaces, and which of them pass the checks."""
        basis, dimension = take(self._basis, index), take(self._width, index)
        width = max(1, int(dimension.max()))
        inside = np.arange(width) < dimension[:, None]
        outside = np.arange(matrices.shape[1]) >= dimension[:, None]
        slope = take(self._slope, index)[:, :width]
        span = self._expected(index, slope)
        diagonal_of(span[:, :, :width])[...] += inside

        rotated = adjoint(basis) @ (matrices @ basis)
        span, core, good = _find_invariant(rotated, span, inside, outside)
        found = span * (outside & good[:, None])[:, None, :]
        self._remember(index, found, slope)
        core = core * inside[:, None, :]
        # The copy hides from NumPy that this is an array times its own transpose. NumPy would use
        # a rank-k update, which is slower for small matrices.
        metric = span @ np.ascontiguousarray(adjoint(span))
        diagonal_of(metric)[...] += ~inside
        metric[~good] = np.eye(width)
        # If the subspace is invariant, G C = core, where G is the Gram matrix of its rows.
        solved = hermitian_part(np.linalg.solve(metric, core))
        trace = diagonal_of(core).real.sum(axis=1)
        parts = LowRank(span @ adjoint(basis), solved, adjoint(core) @ solved, trace)
        edge = np.abs(diagonal_of(rotated).real).min(axis=1)
        return parts, self._certify(matrices, index, parts, good, inside, edge)

    def _expected(self, index: NDArray, slope: NDArray) -> NDArray:
        """The slopes from which the search starts."""
        if not self._steady:
            return slope.copy()
        change = take(self._change, index)[:, : slope.shape[1]]
        return slope + change * take(self._trend, index)[:, None, None]

    def _remember(self, index: NDArray, slope: NDArray, before: NDArray) -> None:
        """Store the slopes, and how much of the previous change they repeated."""
        width = slope.shape[1]
        if self._steady:
            change, last = slope - before, take(self._change, index)[:, :width]
            again = np.einsum("pij,pij->p", last.conj(), change).real
            size = np.einsum("pij,pij->p", last.conj(), last).real
            self._trend[index] = np.clip(again / np.maximum(size, _TINY), -0.95, 0.95)
            self._change[index, :width] = change
        self._slope[index, :width] = slope

    def _certify(
        self,
        matrices: NDArray,
        index: NDArray,
        parts: LowRank,
        good: NDArray[np.bool_],
        inside: NDArray[np.bool_],
        edge: NDArray[np.float64],
    ) -> NDArray[np.bool_]:
        """Which subspaces hold all eigenvalues of their sign and no others."""
        sign = take(self._sign, index)[:, None, None]
        certain = np.zeros(len(index), bool)
        if self._steady:
            moved = frobenius_norm(matrices - take(self._passed, index))
            near = np.flatnonzero(good & (moved < take(self._margin, index)))
            # By Weyl's inequality no eigenvalue has changed its sign. So their numbers are the
            # same as before, and checking those in the subspace is enough.
            core = parts.core[near] * sign[near]
            diagonal_of(core)[...] += ~inside[near]
            certain[near] = is_positive_definite(core)
        far = np.flatnonzero(good & ~certain)
        if not len(far):
            return certain
        given = take(matrices, far)
        modulus = 2 * (parts if len(far) == len(index) else parts[far]).dense()
        modulus -= given
        modulus *= take(sign, far)
        # Zero eigenvalues pass. If the next steps may skip this check, ask for some distance.
        room = np.zeros(len(far))
        if self._steady:
            room = np.where(moved[far] < edge[far], edge[far] / 4, 0)
        scale = frobenius_norm(given) + _TINY
        diagonal_of(modulus)[...] += (1e-13 * scale - room)[:, None]
        passed = is_positive_definite(modulus)
        narrow = np.flatnonzero(~passed & (room > 0))
        if len(narrow):
            diagonal_of(modulus)[narrow] += room[narrow, None]
            passed[narrow] = is_positive_definite(modulus[narrow])
            room[narrow] = 0
        if self._steady:
            self._passed[index[far]] = given
            self._margin[index[far]] = 0.9 * room
        certain[far] = passed
        return certain


def _positive_parts(matrices: NDArray, found: LowRank, sign: NDArray[np.float64]) -> NDArray:
    """Projections of matrices, from their parts in the subspaces of one sign."""
    parts = found.dense()
    negative = sign < 0
    if negative.all():
        return np.subtract(matrices, parts, out=parts)
    if negative.any():
        parts[negative] = matrices[negative] - parts[negative]
    return parts


def _find_invariant(
    matrices: NDArray, span: NDArray, inside: NDArray[np.bool_], outside: NDArray[np.bool_]
) -> tuple[NDArray, NDArray, NDArray[np.bool_]]:
    """Rows ``[I, X]`` that span invariant subspaces of nearly diagonal matrices.

    Start from the rows `span` and correct them by their residuals divided by the gaps of the
    diagonal. Return the rows, the ``core`` with ``[I, X] H = core [I, X]``, and which slices
    converged. Converged slices are dropped from the work once they are many.
    """
    width = span.shape[1]
    diagonal = diagonal_of(matrices).real
    # Infinite gaps restrict corrections to X and exclude the padding.
    gap = np.where(inside, diagonal[:, :width], np.inf)[:, :, None]
    gap = gap - np.where(outside, diagonal, -np.inf)[:, None, :]
    gap[gap == 0] = np.inf
    step = np.reciprocal(gap, out=gap)
    goal = _ACCURACY * (frobenius_norm(matrices) + _TINY)
    result, core = span, np.empty((*span.shape[:2], width), span.dtype)
    good = np.zeros(len(span), bool)
    live = np.arange(len(span))
    buffer = np.empty_like(span)
    for number in range(_MAX_PASSES + 1):
        residual = np.matmul(span, matrices, out=buffer)
        image = residual[:, :, :width].copy()
        residual -= image @ span
        error = frobenius_norm(residual)
        fine = error < goal
        hopeless = ~(error <= _HOPELESS / _ACCURACY * goal)
        residual *= step
        span += residual
        ended = fine | hopeless
        count = np.count_nonzero(ended)
        if number == _MAX_PASSES or count == len(live):
            ended[...] = True
        elif 2 * count < len(live):
            if hopeless.any():
                step[hopeless] = 0
            continue
        gone = live[ended]
        # Include the last correction; its part of the core needs only a thin product.
        core[gone] = (image + residual @ matrices[:, :, :width])[ended]
        good[gone] = fine[ended]
        if span is not result:
            result[gone] = span[ended]
        if ended.all():
            break
        going = ~ended
        live, goal = live[going], goal[going]
        matrices, span, step = matrices[going], span[going], step[going]
        buffer = buffer[: len(live)]
    return result, core, good
