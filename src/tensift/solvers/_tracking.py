"""Projections onto the cone of matrices that change little from one step to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, diagonal_of, eigh, frobenius_norm, hermitian_part, take
from tensift.solvers._low_rank import LowRank
from tensift.solvers._projection import is_positive_definite

__all__ = ["TrackedProjection"]

_ACCURACY = 1e-10  # of the subspace: residual over the norm of the matrix
_MAX_PASSES = 10
_HOPELESS = 0.2  # a residual from which a new decomposition is the shorter way
_THIN = 0.4  # a share of the order up to which factors are cheaper than matrices
_TINY = np.finfo(float).tiny


class TrackedProjection:
    """Project a stack of Hermitian matrices again and again while they converge.

    The projection needs the invariant subspace of the positive or of the negative eigenvalues,
    whichever is smaller, not single eigenvectors. In the eigenbasis of the last decomposition
    that subspace is spanned by the rows ``[I, X]`` with a small ``X``, which solves a Riccati
    equation and is followed from step to step by products alone. Each result is certified: a
    small residual shows that the subspace is invariant, and all eigenvalues are on their right
    sides if the modulus ``|H|``, made by reflecting the subspace, has a Cholesky factor. What
    fails is decomposed afresh by ``eigh``.

    Parameters
    ----------
    n_slices, size : int
        Shape of the stacks, ``(n_slices, size, size)``.
    dtype : dtype
        Of the matrices.
    positive : ndarray of int, shape (n_slices,), optional
        Says that the matrices to come are nearly diagonal, and that the last so many entries of
        each diagonal are the positive ones: the unit vectors serve as the first eigenbasis.
    steady : bool, default=False
        Says that changes get smaller from step to step and go on as they began. They are then
        expected in advance, and the factorisation is spared while ``H`` is nearer to a matrix
        that passed than any eigenvalue of that matrix is to zero.
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
            # How X came to differ from the one before, and how much of that to expect again.
            self._change = np.zeros_like(self._slope)
            self._trend = np.zeros(n_slices)
            self._passed = np.zeros_like(self._basis)  # a matrix with certified eigenvalues,
            self._margin = np.zeros(n_slices)  # none of which is nearer to zero than this
        if positive is not None:
            self._set_basis(np.arange(n_slices), positive, np.eye(size, dtype=dtype)[None])

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the slices."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(self, name, value[mask])

    def __call__(self, matrices: NDArray) -> NDArray:
        """Project each matrix; the stack must be the one of the call before, a step later."""
        parts = self.parts(matrices)
        return parts.dense() if isinstance(parts, LowRank) else parts

    def parts(self, matrices: NDArray) -> NDArray | LowRank:
        """The same, as factors if that is how the projections were found and they are thin."""
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
        """Follow subspaces from here: eigenvectors by ascending eigenvalues."""
        size = basis.shape[1]
        few = positive <= size // 2
        self._ready[index] = positive < size  # definite matrices need no more than Cholesky
        self._sign[index] = np.where(few, 1.0, -1.0)
        self._width[index] = np.where(few, positive, size - positive)
        # Read backwards, the positive ones come first.
        self._basis[index] = np.where(few[:, None, None], basis[:, :, ::-1], basis)
        self._slope[index] = 0
        if self._steady:
            self._change[index] = 0
            self._trend[index] = 0
            self._margin[index] = 0

    def _follow(self, matrices: NDArray, index: NDArray) -> tuple[LowRank, NDArray[np.bool_]]:
        """What the matrices are in the tracked subspaces, and which of them are certified."""
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
        # A copy: NumPy takes the product of an array with its own transpose for a rank-k update,
        # which is slower for small matrices.
        metric = span @ np.ascontiguousarray(adjoint(span))
        diagonal_of(metric)[...] += ~inside
        metric[~good] = np.eye(width)
        # Where the subspace is invariant, G C = core with the metric G of its rows.
        solved = hermitian_part(np.linalg.solve(metric, core))
        trace = diagonal_of(core).real.sum(axis=1)
        parts = LowRank(span @ adjoint(basis), solved, adjoint(core) @ solved, trace)
        edge = np.abs(diagonal_of(rotated).real).min(axis=1)
        return parts, self._certify(matrices, index, parts, good, inside, edge)

    def _expected(self, index: NDArray, slope: NDArray) -> NDArray:
        """Where the next slopes are looked for."""
        if not self._steady:
            return slope.copy()
        change = take(self._change, index)[:, : slope.shape[1]]
        return slope + change * take(self._trend, index)[:, None, None]

    def _remember(self, index: NDArray, slope: NDArray, before: NDArray) -> None:
        """Keep the slopes, and how their last changes relate to those before."""
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
        """Which matrices have all eigenvalues of one sign in the subspace, and no others there."""
        sign = take(self._sign, index)[:, None, None]
        certain = np.zeros(len(index), bool)
        if self._steady:
            moved = frobenius_norm(matrices - take(self._passed, index))
            near = np.flatnonzero(good & (moved < take(self._margin, index)))
            # By Weyl's inequality no eigenvalue has changed its sign, so there are as many of
            # each sign as before, and it is enough to look at those in the subspace.
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
        # Eigenvalues that vanish pass. Where the next steps may profit there must be room.
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
    """Projections of matrices from what they are in the subspaces of that sign."""
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

    Starts from the rows `span` and corrects them by their residuals over the gaps of the
    diagonal. Returns the rows, what the matrices do to them, ``core`` with ``[I, X] H = core [I,
    X]``, and which slices got there. Those that have are taken out of the work, if many.
    """
    width = span.shape[1]
    diagonal = diagonal_of(matrices).real
    # Infinite gaps keep corrections to where X is; padding needs no further care.
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
        # The last correction is taken too, and its share of the core needs but a thin product.
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
