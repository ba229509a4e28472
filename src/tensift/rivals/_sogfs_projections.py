"""Row-sparse projections that are smooth on a graph, which SOGFS needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift._utils.warnings import warn_user
from tensift.rivals._extreme_eigenvectors import DiagonalAndGram
from tensift.rivals._reweighting import mean_row_weights, row_norms_sum, row_weights

__all__ = ["SmoothProjections"]

Matrix = NDArray[np.float64]

_EPS = np.finfo(float).eps
_MAX_REWEIGHTINGS = 100


class SmoothProjections:
    """Row-sparse projections of `rows` that are smooth on a graph, for a sequence of graphs.

    With ones as first weights, several projections can be equally good. With `mean_start` we start
    from the mean of all of them; without it, rounding errors choose.
    """

    def __init__(
        self, rows: Matrix, width: int, gamma: float, tol: float, mean_start: bool
    ) -> None:
        self._rows = rows
        self._width = width
        self._gamma = gamma
        self._tol = tol
        self._mean_start = mean_start
        self._unique = True

    def minimise(self, L: csr_array) -> Matrix:
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
        """Return the terms of the objective that depend on ``W``."""
        projected = self._rows @ W
        return 2 * float(np.sum(projected * (L @ projected))) + 2 * self._gamma * row_norms_sum(W)

    def warn_if_not_unique(self, copies: bool = False) -> None:
        """Warn if rounding errors chose a projection; `copies`: all neighbours are duplicates."""
        if not self._unique:
            advice = "other n_components" if self._mean_start else "variant='intended'"
            warn_user(
                f"there is no unique projection onto {self._width} components for some graph, so "
                f"rounding errors decide which features are selected; use {advice}, or more samples"
                + (" (all neighbours of every sample are copies of it)" if copies else "")
            )

    def _factor(self, L: csr_array) -> Matrix:
        """Return ``C`` with ``C C' = X' L X``; columns are orthogonal if there is a null space."""
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
        # All values can be zero, if the graph joins only equal samples.
        scale = max(values[-1], degree)
        kept = values > rounding * scale
        return vectors[:, kept] * np.sqrt(values[kept])

    def _first_weights(self, factor: Matrix) -> Matrix:
        """Return the first weights: ones, if these determine the projection."""
        d, rank = factor.shape
        if d - rank <= self._width:
            return np.ones(d)
        if not self._mean_start:
            self._unique = False
            return np.ones(d)
        directions = factor / np.linalg.norm(factor, axis=0)
        inside = np.maximum(1 - np.einsum("ij,ij->i", directions, directions), 0)
        return mean_row_weights(inside, d - rank, self._width)


def _all_above(M: Matrix, bound: float) -> bool:
    """Whether all eigenvalues are above `bound`."""
    try:
        np.linalg.cholesky(M - bound * np.eye(len(M)))
    except np.linalg.LinAlgError:
        return False
    return True
