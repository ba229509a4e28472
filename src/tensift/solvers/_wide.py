"""The authors' update for slices with far more features than samples, kept as factors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tensift._utils.stacks import adjoint, diagonal_of, hermitian_part
from tensift.moments import GramTensor
from tensift.solvers._low_rank import LowRank

__all__ = ["WideProjection", "WideUpdate", "is_wide", "orthonormal", "positive_eigenpairs"]

_ACCURACY = 1e-10  # of the subspace: residual divided by the largest eigenvalue
_ROUNDING = 1e-14  # a share of the largest diagonal entry that counts as zero
_MAX_PASSES = 60
_NOT_SINGULAR = 1e3  # times the goal: smaller shifts are not inverted
_NEAR = 10.0  # eigenvalues up to this multiple of the shift are corrected by the shifted inverse
# Factors are cheaper than matrices from this number of features per sample and of features.
_MANY, _LARGE = 10, 400
_TINY = 1e-200  # smaller than any residual; its inverse does not overflow


def is_wide(gram: GramTensor) -> bool:
    """Whether `WideProjection` projects updates faster than LAPACK."""
    return gram.thin and gram.size >= max(_LARGE, _MANY * gram.array.shape[2])


class WideProjection:
    """Project the updates of a stack of wide slices again and again while they converge.

    Every slice keeps the eigenvectors of its last projection, where the next one starts.
    """

    def __init__(self, n_slices: int) -> None:
        self._vectors: list[NDArray | None] = [None] * n_slices

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Keep some of the slices."""
        self._vectors = [self._vectors[j] for j in np.flatnonzero(mask)]

    def parts(
        self, factors: NDArray, weights: NDArray[np.float64], eta: float | NDArray[np.float64]
    ) -> LowRank:
        """Positive parts of the updates, from the `factors` of slices and the column `weights`."""
        etas = np.broadcast_to(eta, len(factors))
        pairs = []
        for j, (factor, weight) in enumerate(zip(factors, weights, strict=True)):
            values, vectors = positive_eigenpairs(
                WideUpdate(factor, weight, float(etas[j])), self._vectors[j]
            )
            if len(values):
                self._vectors[j] = vectors
            pairs.append((values, vectors))
        return LowRank.of_eigenpairs(pairs)


class WideUpdate:
    """Hermitian part ``H`` of ``(S - eta/2 I) (S + D)^-1``, by factors (`Derivative of A`).

    With ``S = F F^H``, ``G = D^-1 F`` and ``C = I + F^H G``, Woodbury's formula gives

        H = (F C^-1 G^H + G C^-1 F^H) / 2 + eta/2 G C^-1 G^H - eta/2 D^-1.

    So ``H`` has at most as many positive eigenvalues as there are samples.

    Parameters
    ----------
    factor : ndarray of shape (q, n)
        ``F``.
    weights : ndarray of shape (q,)
        The diagonal of ``D``.
    eta : float
        Weight of the trace.
    """

    def __init__(self, factor: NDArray, weights: NDArray[np.float64], eta: float) -> None:
        self.factor = factor
        self.eta = eta
        self.inverse = 1 / weights
        self.diagonal = eta / 2 * self.inverse
        self._sides = np.concatenate([factor, factor * self.inverse[:, None]], axis=1)  # F, G
        self._core = _weighted_square(factor, self.inverse)
        diagonal_of(self._core)[...] += 1
        self._triangle = linalg.cho_factor(self._core, check_finite=False)

    def __matmul__(self, vectors: NDArray) -> NDArray:
        """``H`` times the columns of `vectors`."""
        n_samples = self.factor.shape[1]
        inner = adjoint(self._sides) @ vectors
        solved = [
            linalg.cho_solve(self._triangle, half, check_finite=False) / 2
            for half in (inner[:n_samples], inner[n_samples:])
        ]
        product = self._sides @ np.concatenate([solved[1], solved[0] + self.eta * solved[1]])
        product -= self.diagonal[:, None] * vectors
        return product

    def dense(self) -> NDArray:
        """``H``, in full."""
        return self @ np.eye(len(self.factor), dtype=self.factor.dtype)

    def count_above(self, shift: float) -> int:
        """The number of eigenvalues above a positive `shift`, by Sylvester's law of inertia.

        ``H = U J U^H - E``, where half of the eigenvalues of ``J`` are negative. Count the
        negative eigenvalues of ``J^-1 - U^H (E + shift)^-1 U`` and subtract that half: this is the
        number of positive eigenvalues of ``H - shift``.
        """
        values = np.linalg.eigvalsh(self._shifted(shift)[0])
        n_samples = self.factor.shape[1]
        return min(max(0, int(np.count_nonzero(values < 0)) - n_samples), n_samples)

    def shifted_inverse(self, shift: float) -> _ShiftedInverse:
        """``(shift - H)^-1``."""
        small, scaling = self._shifted(shift)
        inverse = np.linalg.inv(small) * scaling[:, None] * scaling
        return _ShiftedInverse(1 / (self.diagonal + shift), self._sides, inverse)

    def _shifted(self, shift: float) -> tuple[NDArray, NDArray[np.float64]]:
        """``J^-1 - U^H (E + shift)^-1 U``, scaled on both sides to entries near one."""
        n_samples = self.factor.shape[1]
        gain = 1 / (self.diagonal + shift)
        small = np.empty((2 * n_samples, 2 * n_samples), self.factor.dtype)
        first, cross, second = (
            _weighted_square(self.factor, gain * self.inverse**power) for power in range(3)
        )
        small[:n_samples, :n_samples] = -2 * self.eta * self._core - first
        small[:n_samples, n_samples:] = small[n_samples:, :n_samples] = 2 * self._core - cross
        small[n_samples:, n_samples:] = -second
        scaling = 1 / np.sqrt(np.abs(small).max(axis=1))
        return small * scaling[:, None] * scaling, scaling


class _ShiftedInverse:
    """``(shift - H)^-1`` by Woodbury's formula, as an operator on columns."""

    def __init__(self, gain: NDArray[np.float64], sides: NDArray, inner: NDArray) -> None:
        self._gain, self._sides, self._inner = gain[:, None], sides, inner

    def __matmul__(self, vectors: NDArray) -> NDArray:
        first = self._gain * vectors
        second = self._sides @ (self._inner @ (adjoint(self._sides) @ first))
        second *= self._gain
        second += first
        return second


def positive_eigenpairs(
    update: WideUpdate, start: NDArray | None = None
) -> tuple[NDArray[np.float64], NDArray]:
    """The positive eigenvalues ``(r,)`` of an update, and their eigenvectors ``(q, r)``.

    They are counted first, so none is missed. The projection onto the cone never increases
    distances. So the error of the projection is at most that of the residuals, even if eigenvalues
    are close to zero or to each other.

    Parameters
    ----------
    update : WideUpdate
        The matrix.
    start : ndarray of shape (q, k), optional
        Approximate eigenvectors, orthonormal.
    """
    vectors = np.linalg.qr(update.factor)[0] if start is None else start
    values, vectors, images = _ritz(vectors, update @ vectors)
    floor = _ROUNDING * max(update.diagonal.max(), np.abs(values).max()) + _TINY
    wanted = update.count_above(max(floor, _ACCURACY * values[0]))
    if not wanted:
        return values[:0], vectors[:, :0]
    if len(values) < wanted:
        vectors = np.linalg.qr(np.concatenate([vectors, update.factor], axis=1))[0]
        values, vectors, images = _ritz(vectors, update @ vectors)
    search = _Search(update, values[:wanted], vectors[:, :wanted], images[:, :wanted], floor)
    for _ in range(_MAX_PASSES):
        if search.is_over():
            return search.result()
        search.step()
    # We have never seen this happen, but nothing rules it out.
    return linalg.eigh(update.dense(), subset_by_value=(0, np.inf), driver="evr")


class _Search:
    """The Rayleigh-Ritz method in a span of three blocks, as in LOBPCG.

    The blocks are the current vectors, their last moves, and their residuals times an approximate
    inverse. This is the inverse of the diagonal part. It is poor for eigenvalues near zero, so for
    those it is the inverse of the shifted update itself. Vectors with a small residual are
    finished and dropped from the work.

    Parameters
    ----------
    update : WideUpdate
        The matrix.
    values, vectors, images : ndarray of shape (k,), (q, k) and (q, k)
        Ritz values and vectors to improve, and the matrix times the vectors.
    floor : float
        Residuals below this are rounding.
    """

    def __init__(
        self,
        update: WideUpdate,
        values: NDArray[np.float64],
        vectors: NDArray,
        images: NDArray,
        floor: float,
    ) -> None:
        self.update = update
        self.wanted = len(values)
        self.values, self.vectors, self.images = values, vectors, images
        self.moves = self.move_images = vectors[:, :0]
        self.among_moves = np.zeros((0, 0))  # the matrix restricted to the moves
        self.done_values, self.done = values[:0], vectors[:, :0]
        self._inverse: _ShiftedInverse | None = None
        self._shift = 0.0
        self._floor = floor
        self._set_residuals()

    def is_over(self) -> bool:
        """Whether every residual is small."""
        return not self._open.any()

    def result(self) -> tuple[NDArray[np.float64], NDArray]:
        """All values and vectors."""
        values = np.concatenate([self.done_values, self.values])
        return values, np.concatenate([self.done, self.vectors], axis=1)

    def step(self) -> None:
        """Improve the vectors whose residuals are not small."""
        self._put_aside(~self._open)
        found = np.concatenate([self.done, self.vectors, self.moves], axis=1)
        new = orthonormal(self._corrections(), found)
        new_images = self.update @ new
        basis = np.concatenate([self.vectors, self.moves, new], axis=1)
        images = np.concatenate([self.images, self.move_images, new_images], axis=1)

        inner = linalg.block_diag(np.diag(self.values), self.among_moves)
        cross = adjoint(basis) @ new_images
        known = len(inner)
        inner = np.block([[inner, cross[:known]], [adjoint(cross[:known]), cross[known:]]])
        ritz, turn = np.linalg.eigh(hermitian_part(inner))
        # Ritz values never exceed the eigenvalues. So if more of them are positive than were
        # counted, rounding has spoiled the count.
        count = self.wanted - len(self.done_values)
        count = max(count, int(np.count_nonzero(ritz > 2 * self._goal)))
        turn = turn[:, : -count - 1 : -1]
        moved = turn.copy()
        moved[: len(self.values)] = 0
        moved = orthonormal(moved, turn)
        turn = np.concatenate([turn, moved], axis=1)
        basis, images = basis @ turn, images @ turn
        self.values, self.among_moves = ritz[: -count - 1 : -1], adjoint(moved) @ inner @ moved
        self.vectors, self.moves = basis[:, :count], basis[:, count:]
        self.images, self.move_images = images[:, :count], images[:, count:]
        self._set_residuals()

    def _set_residuals(self) -> None:
        self._goal = max(self._floor, _ACCURACY * self.values.max())
        if len(self.done_values):
            self._goal = max(self._goal, _ACCURACY * self.done_values.max())
        self._residuals = self.images - self.vectors * self.values
        self._open = _column_norms(self._residuals) > self._goal / np.sqrt(self.wanted)

    def _put_aside(self, ready: NDArray[np.bool_]) -> None:
        if not ready.any():
            return
        self.done_values = np.concatenate([self.done_values, self.values[ready]])
        self.done = np.concatenate([self.done, self.vectors[:, ready]], axis=1)
        self.values = self.values[~ready]
        self.vectors, self.images = self.vectors[:, ~ready], self.images[:, ~ready]
        self._residuals = self._residuals[:, ~ready]

    def _corrections(self) -> NDArray:
        """Residuals times approximate inverses: the new directions of the search."""
        smallest = max(self.values.min(), _NOT_SINGULAR * self._goal)
        gain = 1 / (self.update.diagonal[:, None] + np.maximum(self.values, smallest))
        if not self.moves.shape[1]:
            return gain * self._residuals  # far from the goal the diagonal is good enough
        if self._inverse is None or not self._shift <= smallest <= 3 * self._shift:
            self._shift = 0.9 * smallest
            self._inverse = self.update.shifted_inverse(self._shift)
        near = self.values <= _NEAR * smallest
        result = gain * self._residuals
        result[:, near] = self._inverse @ self._residuals[:, near]
        return result


def _ritz(basis: NDArray, images: NDArray) -> tuple[NDArray[np.float64], NDArray, NDArray]:
    """Eigenvalues in an orthonormal basis, descending, with their vectors and images."""
    inner = adjoint(basis) @ images
    values, turn = np.linalg.eigh(hermitian_part(inner))
    turn = turn[:, ::-1]
    return values[::-1], basis @ turn, images @ turn


def orthonormal(columns: NDArray, others: NDArray) -> NDArray:
    """An orthonormal basis of the columns without their part in the span of orthonormal others."""
    for _ in range(2):
        columns = columns - others @ (adjoint(others) @ columns)
        sizes = _column_norms(columns)
        columns = columns[:, sizes > 0] / sizes[sizes > 0]
        values, turn = np.linalg.eigh(adjoint(columns) @ columns)
        some = values > 1e-12 * values.max(initial=0)
        columns = columns @ (turn[:, some] / np.sqrt(values[some]))
    return columns


def _column_norms(columns: NDArray) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("ij,ij->j", columns.conj(), columns).real)


def _weighted_square(factor: NDArray, weights: NDArray[np.float64]) -> NDArray:
    """``F^H diag(weights) F``."""
    half = factor * np.sqrt(weights)[:, None]
    return adjoint(half) @ half
