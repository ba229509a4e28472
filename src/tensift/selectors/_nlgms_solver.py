"""The variables of NLGMS in turn, without a matrix of the size features by features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh, qr, svd, svdvals
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, eigsh

from tensift._stacks import diagonal_of, peak_phases
from tensift.graphs import adaptive_graph, laplacian

__all__ = ["Embedding", "RowSparse", "energy_bound", "go_start", "random_start", "solve_nlgms"]

_FIRST_WEIGHT, _GROWTH, _LARGEST_WEIGHT = 1e-6, 1.1, 1e10
_INNER_STEPS, _INNER_TOL = 10, 1e-3
_RANDOM_STARTS = 10
_DENSE = 32  # features up to which a dense eigenvalue routine is simpler than Lanczos


@dataclass(frozen=True)
class RowSparse:
    """A matrix ``(d, m)`` with orthonormal columns that is ``values`` in some rows, else zero."""

    rows: NDArray[np.intp]
    values: NDArray[np.float64]

    def dense(self, d: int) -> NDArray[np.float64]:
        full = np.zeros((d, self.values.shape[1]))
        full[self.rows] = self.values
        return full

    def applied_to(self, X: NDArray) -> NDArray[np.float64]:
        """Rows of `X` projected, ``X W``."""
        return X[:, self.rows] @ self.values


@dataclass(frozen=True)
class Embedding:
    """What NLGMS ends with: W, the diagonal that chose its rows, Z, E, S, and the objectives."""

    weights: RowSparse
    scores: NDArray[np.float64]
    representation: NDArray[np.float64]
    residual: NDArray[np.float64]
    graph: csr_array
    path: list[float]


def solve_nlgms(
    X: NDArray,
    W: RowSparse,
    k: int,
    *,
    lambda1: float,
    lambda2: float,
    n_neighbors: int,
    released: bool,
    max_iter: int,
    tol: float,
    report: Callable[[int], None],
) -> Embedding:
    """NLGMS by multipliers, from a start `W`; samples are rows of `X` ``(n, d)``, and so of E."""
    n = len(X)
    # The inverse of I + X X', and with X on its right, from singular values: right in any units.
    U, values, Vt = svd(X, full_matrices=False)
    inverse = np.eye(n) - (U * (values**2 / (1 + values**2))) @ U.T
    inverse_X = (U * (values / (1 + values**2))) @ Vt
    Z, Y2 = np.zeros((n, n)), np.zeros((n, n))
    E, Y1 = np.zeros_like(X), np.zeros_like(X)
    S, r = adaptive_graph(X, n_neighbors)
    L = laplacian(S)
    bound = energy_bound(X, L)
    mu, path = _FIRST_WEIGHT, [np.inf]
    while len(path) <= max_iter:
        J = _shrunk(Z + Y2 / mu, lambda1 / mu)
        Z = inverse_X @ (X + Y1 / mu - E).T + inverse @ (J - Y2 / mu)
        if not released and len(path) > 1:  # the program keeps the bound of X itself
            bound = energy_bound(X - E, L)
        W, scores = _row_sparse_step(X - E, L, bound, W, k)
        unexplained = X - Z.T @ X
        E = _residual(X, L, mu * unexplained + Y1, W, 2 * lambda2 + mu, only_inside=released)
        projected = W.applied_to(X - E)
        if not released:  # the program computes these distances and then uses the first ones
            S, r = adaptive_graph(projected, n_neighbors)
            L = laplacian(S)
        Y1 = Y1 + mu * (unexplained - E)
        Y2 = Y2 + mu * (Z - J)
        mu = min(_GROWTH * mu, _LARGEST_WEIGHT)
        smoothness = 2 * np.sum(projected * (L @ projected)) + r * np.sum(S.data**2)
        low_rank = lambda1 * svdvals(Z).sum()
        path.append(float(smoothness + low_rank + lambda2 * np.sum(E**2)))
        report(len(path) - 1)
        if abs(path[-1] - path[-2]) < tol:
            break
    return Embedding(W, scores, Z, E, S, path[1:])


def energy_bound(X: NDArray, L: csr_array) -> float:
    """The largest eigenvalue of ``X' L X``."""
    d = X.shape[1]
    if d <= _DENSE:
        return float(np.linalg.eigvalsh(X.T @ (L @ X))[-1])
    if not np.any(L @ X):
        return 0.0
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (L @ (X @ v)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(d)
    return float(eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def go_start(X: NDArray, k: int, m: int, n_neighbors: int) -> RowSparse:
    """The rows with the largest diagonal in the best approximation of rank `m` to ``A``.

    ``A = bound I - X' L X`` has an eigenvalue that is repeated if ``d > n``: with all of its
    eigenvectors, as none of them is better than another, the approximation is unique.
    """
    d = X.shape[1]
    L = laplacian(adaptive_graph(X, n_neighbors)[0])
    basis, triangle = qr(X.T, mode="economic")
    energies, vectors = eigh(triangle @ (L @ triangle.T))
    bound = max(energies[-1], 0.0)
    some = energies > d * np.finfo(float).eps * bound
    energies, vectors = energies[some], (basis @ vectors[:, some]) ** 2
    diagonal = bound * (1 - vectors.sum(axis=1))
    kept = max(m - (d - len(energies)), 0)
    diagonal += vectors[:, :kept] @ (bound - energies[:kept])
    return _best_on(X, L, _largest(diagonal, k), m)


def random_start(X: NDArray, m: int, n_neighbors: int, random: np.random.RandomState) -> RowSparse:
    """The best of some random orthonormal matrices."""
    d = X.shape[1]
    L = laplacian(adaptive_graph(X, n_neighbors)[0])
    starts = [
        RowSparse(np.arange(d), np.linalg.qr(random.standard_normal((d, m)))[0])
        for _ in range(_RANDOM_STARTS)
    ]
    projections = [W.applied_to(X) for W in starts]
    return starts[int(np.argmin([np.sum(P * (L @ P)) for P in projections]))]


def _shrunk(matrix: NDArray, threshold: float) -> NDArray:
    """`matrix` with its singular values soft-thresholded."""
    if np.linalg.norm(matrix) <= threshold:  # no singular value is larger
        return np.zeros_like(matrix)
    U, values, Vt = svd(matrix)
    return (U * np.maximum(values - threshold, 0)) @ Vt


def _row_sparse_step(
    X: NDArray, L: csr_array, bound: float, W: RowSparse, k: int
) -> tuple[RowSparse, NDArray[np.float64]]:
    """A better `W` with `k` rows for ``A = bound I - X' L X``, and the diagonal that chose them.

    The diagonal is that of ``A W (W' A W)^+ W' A``, which lies below ``A`` and touches it at `W`.
    """
    d, m = X.shape[1], W.values.shape[1]
    for _ in range(_INNER_STEPS):
        AW = -X.T @ (L @ W.applied_to(X))
        AW[W.rows] += bound * W.values
        inner = W.values.T @ AW[W.rows]
        inverse = np.linalg.pinv((inner + inner.T) / 2, hermitian=True)
        diagonal = np.einsum("ij,ij->i", AW @ inverse, AW)
        before, W = W, _best_on(X, L, _largest(diagonal, k), m)
        if np.sum((W.dense(d) - before.dense(d)) ** 2) < _INNER_TOL:
            break
    return W, diagonal


def _best_on(X: NDArray, L: csr_array, rows: NDArray[np.intp], m: int) -> RowSparse:
    """The `m` directions of least energy among those in the given features."""
    part = X[:, rows]
    energy = part.T @ (L @ part)
    vectors = eigh((energy + energy.T) / 2, subset_by_index=[0, m - 1])[1]
    return RowSparse(rows, vectors * peak_phases(vectors))


def _largest(values: NDArray, k: int) -> NDArray[np.intp]:
    """Ascending indices of the `k` largest values, the first of equal ones."""
    return np.sort(np.argsort(-values, kind="stable")[:k])


def _residual(
    X: NDArray, L: csr_array, pull: NDArray, W: RowSparse, weight: float, *, only_inside: bool
) -> NDArray:
    """E, which solves ``W W' E (4 L) + weight E = W W' (4 X L) + pull`` with samples in columns.

    With `only_inside` its part outside of the span of `W` is left out, as the program does.
    """
    system = 4 * L.toarray()
    diagonal_of(system)[:] += weight
    inside = cho_solve(cho_factor(system), 4 * (L @ W.applied_to(X)) + W.applied_to(pull))
    if only_inside:
        E = np.zeros_like(X)
    else:
        E = pull / weight
        inside = inside - W.applied_to(E)
    E[:, W.rows] += inside @ W.values.T
    return E
