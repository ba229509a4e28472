"""Update the variables of NLGMS in turn, with no matrix larger than the data.

The columns of Z, of its copy J and of their multiplier Y2 stay in the span of the samples: they
start there, and no step leaves it. With the singular vectors ``U`` of the data they are ``U Q'``,
so it is enough to update ``Q``, which has as many columns as the rank of the data.
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

from tensift._utils.stacks import peak_phases
from tensift.graphs import adaptive_graph, laplacian

__all__ = ["Embedding", "RowSparse", "energy_bound", "go_start", "random_start", "solve_nlgms"]

_FIRST_WEIGHT, _GROWTH, _LARGEST_WEIGHT = 1e-6, 1.1, 1e10
_INNER_STEPS, _INNER_TOL = 10, 1e-3
_RANDOM_STARTS = 10
_DENSE_SIZE = 32  # up to this many features, a dense eigenvalue routine is simpler than Lanczos
_SUM_ACCURACY = 1e-11  # relative accuracy of a sum of singular values


@dataclass(frozen=True)
class RowSparse:
    """A matrix ``(d, m)`` with orthonormal columns: ``values`` in the rows ``rows``, else zero."""

    rows: NDArray[np.intp]
    values: NDArray[np.float64]

    def dense(self, d: int) -> NDArray[np.float64]:
        full = np.zeros((d, self.values.shape[1]))
        full[self.rows] = self.values
        return full

    def applied_to(self, X: NDArray) -> NDArray[np.float64]:
        """Return ``X W``, the projected rows of `X`."""
        return X[:, self.rows] @ self.values

    def squared_distance(self, other: RowSparse) -> float:
        """Return ``||W - other||^2``, using only rows that are not zero in both."""
        rows = np.union1d(self.rows, other.rows)
        difference = np.zeros((len(rows), self.values.shape[1]))
        difference[np.searchsorted(rows, self.rows)] = self.values
        difference[np.searchsorted(rows, other.rows)] -= other.values
        return float(np.sum(difference**2))


@dataclass(frozen=True)
class Embedding:
    """The result of NLGMS: W, the diagonal that chose its rows, Z, E, S, and all objectives."""

    weights: RowSparse
    scores: NDArray[np.float64]
    factors: tuple[NDArray[np.float64], NDArray[np.float64]]
    residual: NDArray[np.float64]
    graph: csr_array
    path: list[float]

    @property
    def representation(self) -> NDArray[np.float64]:
        """The matrix ``Z``, samples by samples."""
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
    """Solve NLGMS by an augmented Lagrangian method. Samples are the rows of `X` ``(n, d)``."""
    U, values, Vt = svd(X, full_matrices=False)
    # Singular values of (I + X X')^-1 X and of (I + X X')^-1, which the update of Z needs.
    pull, damping = values / (1 + values**2), 1 / (1 + values**2)
    Q, R = np.zeros_like(U), np.zeros_like(U)  # Z = U Q', Y2 = U R'
    E, Y1 = np.zeros_like(X), np.zeros_like(X)
    S, r = adaptive_graph(X, n_neighbors)
    L = laplacian(S)
    bound = energy_bound(X, L)
    mu, path = _FIRST_WEIGHT, [np.inf]
    while len(path) <= max_iter:
        J = _shrink_singular_values(Q + R / mu, lambda1 / mu)  # U is left out here too
        Q = ((X - E + Y1 / mu) @ Vt.T) * pull + (J - R / mu) * damping
        if not released and len(path) > 1:  # the program keeps the bound of X
            bound = energy_bound(X - E, L)
        W, scores = _row_sparse_step(X - E, L, bound, W, k)
        unexplained = X - (Q * values) @ Vt
        E = _residual(X, L, mu * unexplained + Y1, W, 2 * lambda2 + mu, only_inside=released)
        projected = W.applied_to(X - E)
        if not released:  # the program computes this graph, then uses the first one
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
    """Return the sum of the singular values of a matrix with at most as many columns as rows.

    We take the roots of the eigenvalues of ``M'M``, which is much faster than an SVD. These
    eigenvalues have rounding errors of the size of the largest one. If so many are so small that
    the errors would show in the sum, we use the SVD.
    """
    squares = np.maximum(np.linalg.eigvalsh(matrix.T @ matrix), 0)
    rounding = 8 * np.finfo(float).eps * squares[-1]
    values = np.sqrt(squares)
    total = float(values.sum())
    if np.sum(rounding / np.maximum(values, np.sqrt(rounding or 1.0))) <= _SUM_ACCURACY * total:
        return total
    return float(svdvals(matrix).sum())


def energy_bound(X: NDArray, L: csr_array) -> float:
    """Return the largest eigenvalue of ``X' L X``."""
    d = X.shape[1]
    if d <= _DENSE_SIZE:
        return float(np.linalg.eigvalsh(X.T @ (L @ X))[-1])
    if not np.any(L @ X):
        return 0.0
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (L @ (X @ v)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(d)
    return float(eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def go_start(X: NDArray, k: int, m: int, n_neighbors: int) -> RowSparse:
    """Choose the rows with the largest diagonal in the best rank-`m` approximation to ``A``.

    If ``d > n``, ``A = bound I - X' L X`` has a repeated eigenvalue. We use all of its
    eigenvectors, since none is better than another, which makes the approximation unique.
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
    return _best_within(X, L, _largest(diagonal, k), m)


def random_start(X: NDArray, m: int, n_neighbors: int, random: np.random.RandomState) -> RowSparse:
    """Return the best of several random orthonormal matrices."""
    d = X.shape[1]
    L = laplacian(adaptive_graph(X, n_neighbors)[0])
    starts = [
        RowSparse(np.arange(d), np.linalg.qr(random.standard_normal((d, m)))[0])
        for _ in range(_RANDOM_STARTS)
    ]
    projections = [W.applied_to(X) for W in starts]
    return starts[int(np.argmin([np.sum(P * (L @ P)) for P in projections]))]


def _shrink_singular_values(matrix: NDArray, threshold: float) -> NDArray:
    """Return `matrix` with soft-thresholded singular values."""
    if np.linalg.norm(matrix) <= threshold:  # no singular value is larger
        return np.zeros_like(matrix)
    U, values, Vt = svd(matrix, full_matrices=False)
    return (U * np.maximum(values - threshold, 0)) @ Vt


def _row_sparse_step(
    X: NDArray, L: csr_array, bound: float, W: RowSparse, k: int
) -> tuple[RowSparse, NDArray[np.float64]]:
    """Improve `W` with `k` rows for ``A = bound I - X' L X``; also return the diagonal used.

    The diagonal is that of ``A W (W' A W)^+ W' A``, a lower bound of ``A`` that is tight at `W`.
    """
    for _ in range(_INNER_STEPS):
        diagonal = _surrogate_diagonal(X, L, bound, W)
        before, W = W, _best_within(X, L, _largest(diagonal, k), W.values.shape[1])
        if W.squared_distance(before) < _INNER_TOL:
            break
    return W, diagonal


def _surrogate_diagonal(
    X: NDArray, L: csr_array, bound: float, W: RowSparse
) -> NDArray[np.float64]:
    """Return the diagonal of ``A W (W' A W)^+ W' A``.

    In the eigenvectors of ``W' X' L X W`` the pseudoinverse is diagonal. At most n of them have
    energy. ``X' L X`` maps the others to zero, so ``A`` multiplies them by `bound`.
    """
    projected = W.applied_to(X)
    energies, mixing = _nonzero_energies(projected, L)
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


def _nonzero_energies(
    rows: NDArray, L: csr_array
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all eigenpairs of ``Y' L Y`` that can be non-zero, eigenvalues ascending."""
    if rows.shape[1] <= len(rows):
        return eigh(_symmetric(rows.T @ (L @ rows)))
    basis, triangle = qr(rows.T, mode="economic")
    energies, vectors = eigh(_symmetric(triangle @ (L @ triangle.T)))
    return energies, basis @ vectors


def _best_within(X: NDArray, L: csr_array, rows: NDArray[np.intp], m: int) -> RowSparse:
    """Return the `m` directions of least energy in the given features."""
    part = X[:, rows]
    n, k = part.shape
    if k <= n:
        vectors = eigh(_symmetric(part.T @ (L @ part)), subset_by_index=[0, m - 1])[1]
    else:  # k - n directions are orthogonal to all samples; the others span n dimensions
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
    """Return the symmetric part, to remove rounding errors."""
    return (matrix + matrix.T) / 2


def _largest(values: NDArray, k: int) -> NDArray[np.intp]:
    """Return the sorted indices of the `k` largest values; of equal ones, the first."""
    return np.sort(np.argsort(-values, kind="stable")[:k])


def _residual(
    X: NDArray, L: csr_array, pull: NDArray, W: RowSparse, weight: float, *, only_inside: bool
) -> NDArray:
    """Solve ``W W' E (4 L) + weight E = W W' (4 X L) + pull`` for E, with samples in columns.

    With `only_inside`, the part outside the span of `W` is left out, as in the program.
    """
    system = csc_array(4 * L + weight * eye_array(len(X)))
    # The system is positive definite: it needs no pivoting, and a symmetric order keeps the factors
    # sparse.
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
