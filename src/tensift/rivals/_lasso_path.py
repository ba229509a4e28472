"""Follow the lasso paths of many targets together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, dtrsv
from scipy.linalg.lapack import dpotrf

__all__ = ["lasso_weights_at_count"]

# Enough targets for fast matrix products, few enough for the processor's cache.
_PATHS_AT_ONCE = 16
# A column is dependent if projecting out the active ones leaves less than this share of it.
_DEPENDENT_SHARE = 1e-7
_LAST_PENALTY = float(np.finfo(np.float32).eps)  # per sample; a path ends there


def lasso_weights_at_count(
    X: NDArray[np.float64], Y: NDArray[np.float64], wanted: int
) -> NDArray[np.float64]:
    """Return the weights ``(d, m)`` at which each lasso path first has `wanted` non-zero weights.

    The lasso path of a target ``y`` consists of the ``a`` that minimise
    ``|y - X a|^2 / 2 + penalty |a|_1`` as the penalty falls. The path is linear between
    breakpoints, at which a column of `X` enters or leaves. If a path never has `wanted` weights, it
    is followed to its end. A column that depends linearly on the active ones stays out.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred samples.
    Y : ndarray of shape (n, m)
        Centred targets.
    wanted : int
        The number of non-zero weights, at most the rank of `X`.
    """
    design = _Design(X)
    parts = np.array_split(Y, max(1, -(-Y.shape[1] // _PATHS_AT_ONCE)), axis=1)
    return np.hstack([_Paths(design, part, wanted).follow() for part in parts])


class _Design:
    """The columns of ``X (n, d)``, and their Gram matrix if it is smaller than ``X``."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        self.n, self.d = X.shape
        self.X = X
        self.columns = np.ascontiguousarray(X.T)
        self.squares = np.einsum("ij,ij->i", self.columns, self.columns)
        self.gram = X.T @ X if self.d <= self.n else None


class _ActiveSet:
    """The active columns of one path, the Cholesky factor of their Gram matrix, and their weights.

    Unused rows of the factor are rows of the identity, so that all systems have the same size.
    """

    def __init__(self, design: _Design, room: int) -> None:
        self.design = design
        self.size = 0
        self.features = np.zeros(room, dtype=np.intp)
        self.signs, self.weights = np.zeros(room), np.zeros(room)
        self.factor = np.asfortranarray(np.eye(room))
        self.solved = np.zeros(room)  # solves factor @ solved = signs
        self.columns = None if design.gram is not None else np.zeros((room, design.n))

    def add(self, feature: int, sign: float) -> None:
        """Add a column, unless it depends linearly on the active ones."""
        design, size = self.design, self.size
        products = np.zeros(len(self.signs))
        if design.gram is not None:
            products[:size] = design.gram[feature, self.features[:size]]
        elif self.columns is not None:
            products[:size] = self.columns[:size] @ design.columns[feature]
        row = dtrsv(self.factor, products, lower=1, overwrite_x=1)
        square = design.squares[feature]
        left = square - row @ row
        if left <= _DEPENDENT_SHARE**2 * square:
            return
        self.factor[size, :size] = row[:size]
        self.factor[size, size] = np.sqrt(left)
        self.solved[size] = (sign - row @ self.solved) / self.factor[size, size]
        self.features[size], self.signs[size] = feature, sign
        if self.columns is not None:
            self.columns[size] = design.columns[feature]
        self.size += 1

    def remove(self, place: int) -> None:
        """Remove a column. Only the rows of the factor below it change."""
        last = self.size = self.size - 1
        for values in (self.features, self.signs, self.weights, self.columns):
            if values is not None:
                values[place:last] = values[place + 1 : last + 1]
                values[last] = 0
        factor = self.factor
        if place < last:
            below = factor[place + 1 : last + 1, place : last + 1]
            tail, failed = dpotrf(dsyrk(1.0, below, lower=1), lower=1, clean=1, overwrite_a=1)
            if failed:  # cannot happen: `add` refuses dependent columns
                raise FloatingPointError("the active columns of a lasso path are dependent")
            factor[place:last, :place] = factor[place + 1 : last + 1, :place]
            factor[place:last, place:last] = tail
        factor[last, :last], factor[last, last] = 0, 1
        self.solved = dtrsv(factor, self.signs, lower=1)

    def direction(self) -> NDArray[np.float64]:
        """Return by how much the weights grow when the penalty falls by one."""
        return dtrsv(self.factor, self.solved, lower=1, trans=1)[: self.size]

    def leaving(self, direction: NDArray[np.float64]) -> tuple[float, int]:
        """Return how far the penalty falls until a weight first returns to zero, and which one."""
        weights = self.weights[: self.size]
        falling = np.flatnonzero(weights * direction < 0)
        if not len(falling):
            return np.inf, -1
        steps = -weights[falling] / direction[falling]
        return float(steps.min()), int(falling[steps.argmin()])


class _Paths:
    """The state of the paths of several targets. Finished paths are removed."""

    def __init__(self, design: _Design, Y: NDArray[np.float64], wanted: int) -> None:
        self.design, self.wanted = design, wanted
        self.result = np.zeros((design.d, Y.shape[1]))
        self.targets = np.arange(Y.shape[1])
        self.correlations = np.ascontiguousarray(Y.T @ design.X)
        self.penalties = np.abs(self.correlations).max(axis=1)
        self.closed = np.zeros(self.correlations.shape)  # infinity marks columns that cannot enter
        self.closed[:, design.squares == 0] = np.inf
        self.actives = [_ActiveSet(design, wanted + 1) for _ in self.targets]
        # Columns that have just left, with their signs. Rounding must not let them enter again at
        # the same breakpoint.
        self.left: list[tuple[int, int, float]] = []
        self._keep_paths(self.penalties > 0)
        for path, feature in enumerate(np.abs(self.correlations).argmax(axis=1)):
            self._enter(path, int(feature))

    def follow(self) -> NDArray[np.float64]:
        """Follow all paths to their ends; return the weights of all targets."""
        while len(self.targets):
            self._advance()
        return self.result

    def _advance(self) -> None:
        """Follow every path to its next breakpoint."""
        directions = [active.direction() for active in self.actives]
        slopes = self._slopes(directions)
        steps, entering = self._entering(slopes)
        leaving = [-1] * len(self.actives)
        for path, (active, direction) in enumerate(zip(self.actives, directions, strict=True)):
            step, place = active.leaving(direction)
            if step < steps[path]:
                steps[path], leaving[path] = step, place
            if steps[path] >= self.penalties[path]:
                steps[path], leaving[path] = self.penalties[path], -1
            active.weights[: active.size] += steps[path] * direction
        slopes *= steps[:, None]
        self.correlations -= slopes
        self.penalties -= steps
        self.left = []
        open_ = self.penalties > self.design.n * _LAST_PENALTY
        for path, active in enumerate(self.actives):
            if leaving[path] >= 0:
                self._leave(path, leaving[path])
            size = active.size
            open_[path] &= np.count_nonzero(active.weights[:size]) < self.wanted
            if not open_[path]:
                self.result[active.features[:size], self.targets[path]] = active.weights[:size]
            elif leaving[path] < 0:
                self._enter(path, int(entering[path]))
        if not open_.all():
            self._keep_paths(open_)

    def _slopes(self, directions: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return by how much the correlations of all columns fall when the penalty falls by one."""
        gram = self.design.gram
        moves = np.zeros((len(directions), self.design.n if gram is None else self.design.d))
        for move, active, direction in zip(moves, self.actives, directions, strict=True):
            if active.columns is None:
                move[active.features[: active.size]] = direction
            else:
                move[:] = direction @ active.columns[: active.size]
        return moves @ (self.design.X if gram is None else gram)

    def _entering(self, slopes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray]:
        """Return how far the penalty falls until a correlation reaches it, and which one."""
        penalties = self.penalties[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            above = (penalties - self.correlations) / np.maximum(1 - slopes, 0)
            below = (penalties + self.correlations) / np.maximum(1 + slopes, 0)
        for path, feature, sign in self.left:
            (above if sign > 0 else below)[path, feature] = np.inf
        np.fmin(above, below, out=above)
        np.fmax(above, self.closed, out=above)
        entering = above.argmin(axis=1)
        return above[np.arange(len(entering)), entering], entering

    def _enter(self, path: int, feature: int) -> None:
        self.closed[path, feature] = np.inf
        self.actives[path].add(feature, np.sign(self.correlations[path, feature]))

    def _leave(self, path: int, place: int) -> None:
        active = self.actives[path]
        feature, sign = int(active.features[place]), active.signs[place]
        active.remove(place)
        self.correlations[path, feature] = sign * self.penalties[path]
        self.closed[path, feature] = 0
        self.left.append((path, feature, sign))

    def _keep_paths(self, wanted: NDArray[np.bool_]) -> None:
        """Keep only some of the paths."""
        for name in ("targets", "correlations", "penalties", "closed"):
            setattr(self, name, getattr(self, name)[wanted])
        self.actives = [active for active, keep in zip(self.actives, wanted, strict=True) if keep]
        places = np.cumsum(wanted) - 1  # new indices of the paths that are kept
        self.left = [(int(places[p]), f, s) for p, f, s in self.left if wanted[p]]
