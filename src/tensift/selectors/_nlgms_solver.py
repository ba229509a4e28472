"""The variables of NLGMS in turn, no matrix larger than the data.

Columns of Z, of its copy J and of their multiplier Y2 stay in the span of the samples: they start
there, and no step leaves it. With the singular vectors ``U`` of the data they are ``U Q'``, and
their steps are those of ``Q``, which has as many columns as the data have rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr, svd, svdvals
from scipy.linalg.lapack import dormqr
from scipy.sparse import csc_array, csr_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from tensift._stacks import peak_phases
from tensift.graphs import adaptive_graph, laplacian

__all__ = ["Embedding", "RowSparse", "energy_bound", "go_start", "random_start", "solve_nlgms"]

_FIRST_WEIGHT, _GROWTH, _LARGEST_WEIGHT = 1e-6, 1.1, 1e10
_INNER_STEPS, _INNER_TOL = 10, 1e-3
_RANDOM_STARTS = 10
_DENSE = 32  # features up to which a dense eigenvalue routine is simpler than Lanczos
_ACCURACY = 1e-11  # of a sum of singular values


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

    def squared_distance(self, other: RowSparse) -> float:
        """``||W - other||^2``, with nothing but the rows of either."""
        rows = np.union1d(self.rows, other.rows)
        difference = np.zeros((len(rows), self.values.shape[1]))
        difference[np.searchsorted(rows, self.rows)] = self.values
        difference[np.searchsorted(rows, other.rows)] -= other.values
        return float(np.sum(difference**2))


@dataclass(frozen=True)
class Embedding:
    """What NLGMS ends with: W, the diagonal that chose its rows, Z, E, S, and the objectives."""

    weights: RowSparse
    scores: NDArray[np.float64]
    factors: tuple[NDArray[np.float64], NDArray[np.float64]]
    residual: NDArray[np.float64]
    graph: csr_array
    path: list[float]

    @property
    def representation(self) -> NDArray[np.float64]:
        """``Z``, of samples by samples."""
        return self.factors[0] @ self.factors[1].T


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
    U, values, Vt = svd(X, full_matrices=False)
    # Singular values of (I + X X')^-1 X and of (I + X X')^-1: right in any units.
    pull, damping = values / (1 + values**2), 1 / (1 + values**2)
    Q, R = np.zeros_like(U), np.zeros_like(U)  # Z = U Q', Y2 = U R'
    E, Y1 = np.zeros_like(X), np.zeros_like(X)
    S, r = adaptive_graph(X, n_neighbors)
    L = laplacian(S)
    bound = energy_bound(X, L)
    mu, path = _FIRST_WEIGHT, [np.inf]
    while len(path) <= max_iter:
        J = _shrunk(Q + R / mu, lambda1 / mu)  # also without U
        Q = ((X - E + Y1 / mu) @ Vt.T) * pull + (J - R / mu) * damping
        if not released and len(path) > 1:  # the program keeps the bound of X itself
            bound = energy_bound(X - E, L)
        W, scores = _row_sparse_step(X - E, L, bound, W, k)
        unexplained = X - (Q * values) @ Vt
        E = _residual(X, L, mu * unexplained + Y1, W, 2 * lambda2 + mu, only_inside=released)
        projected = W.applied_to(X - E)
        if not released:  # the program computes these distances and then uses the first ones
            S, r = adaptive_graph(projected, n_neighbors)
            L = laplacian(S)
        Y1 = Y1 + mu * (unexplained - E)
        R = R + mu * (Q - J)
        mu = min(_GROWTH * mu, _LARGEST_WEIGHT)
        smoothness = 2 * np.sum(projected * (L @ projected)) + r * np.sum(S.data**2)
        low_rank = lambda1 * nuclear_norm(Q)
        path.append(float(smoothness + low_rank + lambda2 * np.sum(E**2)))
        report(len(path) - 1)
        if abs(path[-1] - path[-2]) < tol:
            break
    return Embedding(W, scores, (U, Q), E, S, path[1:])


def nuclear_norm(matrix: NDArray) -> float:
    """The sum of the singular values, for up to as many columns as rows.

    They are roots of eigenvalues of ``M'M``, much faster, unless so many are so small that
    rounding, which those eigenvalues have at the size of the largest, would show in the sum.
    """
    squares = np.maximum(np.linalg.eigvalsh(matrix.T @ matrix), 0)
    rounding = 8 * np.finfo(float).eps * squares[-1]
    values = np.sqrt(squares)
    total = float(values.sum())
    if np.sum(rounding / np.maximum(values, np.sqrt(rounding or 1.0))) <= _ACCURACY * total:
        return total
    return float(svdvals(matrix).sum())


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
    U, values, Vt = svd(matrix, full_matrices=False)
    return (U * np.maximum(values - threshold, 0)) @ Vt


def _row_sparse_step(
    X: NDArray, L: csr_array, bound: float, W: RowSparse, k: int
) -> tuple[RowSparse, NDArray[np.float64]]:
    """A better `W` with `k` rows for ``A = bound I - X' L X``, and the diagonal that chose them.

    The diagonal is that of ``A W (W' A W)^+ W' A``, which lies below ``A`` and touches it at `W`.
    """
    for _ in range(_INNER_STEPS):
        diagonal = _surrogate_diagonal(X, L, bound, W)
        before, W = W, _best_on(X, L, _largest(diagonal, k), W.values.shape[1])
        if W.squared_distance(before) < _INNER_TOL:
            break
    return W, diagonal


def _surrogate_diagonal(
    X: NDArray, L: csr_array, bound: float, W: RowSparse
) -> NDArray[np.float64]:
    """The diagonal of ``A W (W' A W)^+ W' A``.

    In eigenvectors of ``W' X' L X W`` the pseudoinverse is diagonal. At most n of them have energy,
    ``X' L X`` takes the others to zero and ``A`` multiplies them by `bound`.
    """
    projected = W.applied_to(X)
    energies, mixing = _some_energies(projected, L)
    main = W.values @ mixing
    images = X.T @ (L @ (projected @ -mixing))
    images[W.rows] += bound * main
    gaps = bound - energies
    some = np.abs(gaps) > 1e-15 * max(np.abs(gaps).max(), bound)  # those a pseudoinverse inverts
    diagonal = images[:, some] ** 2 @ (1 / gaps[some])
    if len(energies) < mixing.shape[0]:
        diagonal[W.rows] += bound * np.sum(W.values**2, axis=1)
        diagonal[W.rows] -= bound * np.sum(main**2, axis=1)
    return diagonal


def _some_energies(rows: NDArray, L: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ascending eigenvalues and eigenvectors of ``Y' L Y``, all that can differ from zero."""
    if rows.shape[1] <= len(rows):
        return eigh(_symmetric(rows.T @ (L @ rows)))
    basis, triangle = qr(rows.T, mode="economic")
    energies, vectors = eigh(_symmetric(triangle @ (L @ triangle.T)))
    return energies, basis @ vectors


def _best_on(X: NDArray, L: csr_array, rows: NDArray[np.intp], m: int) -> RowSparse:
    """The `m` directions of least energy among those in the given features."""
    part = X[:, rows]
    n, k = part.shape
    if k <= n:
        vectors = eigh(_symmetric(part.T @ (L @ part)), subset_by_index=[0, m - 1])[1]
    else:  # k - n directions are orthogonal to all samples, and the others span n dimensions
        (reflectors, scales), triangle = qr(part.T, mode="raw")
        free = min(k - n, m)
        mixing = np.zeros((k, m), order="F")
        mixing[n : n + free, :free] = np.eye(free)
        if free < m:
            energy = _symmetric(triangle[:n] @ (L @ triangle[:n].T))
            mixing[:n, free:] = eigh(energy, subset_by_index=[0, m - free - 1])[1]
        vectors = dormqr("L", "N", reflectors, scales, mixing, 64 * m)[0]
    return RowSparse(rows, vectors * peak_phases(vectors))


def _symmetric(matrix: NDArray) -> NDArray:
    """`matrix` without the rounding by which it differs from its transpose."""
    return (matrix + matrix.T) / 2


def _largest(values: NDArray, k: int) -> NDArray[np.intp]:
    """Ascending indices of the `k` largest values, the first of equal ones."""
    return np.sort(np.argsort(-values, kind="stable")[:k])


def _residual(
    X: NDArray, L: csr_array, pull: NDArray, W: RowSparse, weight: float, *, only_inside: bool
) -> NDArray:
    """E, which solves ``W W' E (4 L) + weight E = W W' (4 X L) + pull`` with samples in columns.

    With `only_inside` its part outside of the span of `W` is left out, as the program does.
    """
    system = csc_array(4 * L + weight * eye_array(len(X)))
    # Positive definite: no row needs to be exchanged, and a symmetric order keeps factors sparse.
    factors = splu(
        system,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    inside = factors.solve(4 * (L @ W.applied_to(X)) + W.applied_to(pull))
    if only_inside:
        E = np.zeros_like(X)
    else:
        E = pull / weight
        inside = inside - W.applied_to(E)
    E[:, W.rows] += inside @ W.values.T
    return E
