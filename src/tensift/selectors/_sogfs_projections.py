"""Row-sparse projections in which graphs are smooth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift._warnings import warn_user
from tensift.selectors._extreme_eigenvectors import DiagonalAndGram
from tensift.selectors._reweighting import mean_row_weights, row_norms_sum, row_weights

__all__ = ["SmoothProjections"]

Matrix = NDArray[np.float64]

_EPS = np.finfo(float).eps
_MAX_REWEIGHTINGS = 100


class SmoothProjections:
    """Projections of `rows` with few rows, smooth on one graph or another.

    Where ones as first weights leave a choice of projections, it is settled by the mean of all
    if `settle`, and by rounding otherwise.
    """

    def __init__(self, rows: Matrix, width: int, gamma: float, tol: float, settle: bool) -> None:
        self._rows = rows
        self._width = width
        self._gamma = gamma
        self._tol = tol
        self._settle = settle
        self._unique = True

    def under(self, L: csr_array) -> Matrix:
        """Minimise ``tr(W' X' L X W) + gamma ||W||_{2,1}`` by reweighting."""
        factor = self._factor(L)
        problem = DiagonalAndGram(factor, sign=1)
        weights = self._first_weights(factor)
        block, previous = None, np.inf
        for _ in range(_MAX_REWEIGHTINGS):
            lowest = problem.lowest(self._gamma * weights, self._width, block)
            W, block = lowest.vectors, lowest.block
            self._unique &= lowest.certified
            weights = row_weights(W)
            objective = float(np.sum((factor.T @ W) ** 2)) + self._gamma * row_norms_sum(W)
            if abs(objective - previous) < self._tol:
                break
            previous = objective
        return W

    def objective(self, W: Matrix, L: csr_array) -> float:
        """The terms of the objective that have ``W`` in them."""
        projected = self._rows @ W
        return 2 * float(np.sum(projected * (L @ projected))) + 2 * self._gamma * row_norms_sum(W)

    def warn_if_not_unique(self) -> None:
        """Say so if rounding had a part in any projection."""
        if not self._unique:
            advice = "other n_components" if self._settle else "variant='intended'"
            warn_user(
                f"there is no unique projection onto {self._width} components under some graph, "
                f"and rounding decides which features are selected; use {advice}, or more samples"
            )

    def _factor(self, L: csr_array) -> Matrix:
        """Columns whose squares add up to ``M = X' L X``, orthogonal if that has a null space."""
        n, d = self._rows.shape
        rounding, degree = max(n, d) * _EPS, L.diagonal().max()
        if d <= n:
            M = self._rows.T @ (L @ self._rows)
            M = (M + M.T) / 2
            if _all_above(M, rounding * max(np.trace(M), degree)):
                return np.linalg.cholesky(M)
            values, vectors = np.linalg.eigh(M)
        else:
            values, vectors = np.linalg.eigh(L.toarray())
            tall = self._rows.T @ (vectors * np.sqrt(np.maximum(values, 0)))
            values, vectors = np.linalg.eigh(tall.T @ tall)
            vectors = tall @ (vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny)))
        scale = max(values[-1], degree)  # the graph may join equal samples only
        kept = values > rounding * scale
        return vectors[:, kept] * np.sqrt(values[kept])

    def _first_weights(self, factor: Matrix) -> Matrix:
        """Ones, which leave a choice if the null space has room for many projections."""
        d, rank = factor.shape
        if d - rank <= self._width:
            return np.ones(d)
        if not self._settle:
            self._unique = False
            return np.ones(d)
        directions = factor / np.linalg.norm(factor, axis=0)
        inside = np.maximum(1 - np.einsum("ij,ij->i", directions, directions), 0)
        return mean_row_weights(inside, d - rank, self._width)


def _all_above(M: Matrix, bound: float) -> bool:
    """Whether all eigenvalues are above a bound."""
    try:
        np.linalg.cholesky(M - bound * np.eye(len(M)))
    except np.linalg.LinAlgError:
        return False
    return True
