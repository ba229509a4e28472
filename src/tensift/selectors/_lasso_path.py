"""Weights on the lasso paths of many targets, followed side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, dtrsv
from scipy.linalg.lapack import dpotrf

__all__ = ["first_with_weights"]

_TOGETHER = 16  # targets: enough for products of matrices, few enough for the processor's cache
_DEPENDENT = 1e-7  # of a column's length, that is left of it beside those in the path
_END = float(np.finfo(np.float32).eps)  # penalty by sample at which a path ends


def first_with_weights(
    X: NDArray[np.float64], Y: NDArray[np.float64], wanted: int
) -> NDArray[np.float64]:
    """The weights ``(d, m)`` where each path first turns with `wanted` weights that are not zero.

    The lasso path of a target ``y`` is, for a falling penalty, ``a`` that minimises
    ``|y - X a|^2 / 2 + penalty |a|_1``. It is linear between turns, at which a column of `X` enters
    or leaves. A path with fewer weights than wanted is followed to its end. A column that depends
    on those in the path stays out of it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred samples.
    Y : ndarray of shape (n, m)
        Centred targets.
    wanted : int
        How many weights, at most the rank of `X`.
    """
    design = _Design(X)
    parts = np.array_split(Y, max(1, -(-Y.shape[1] // _TOGETHER)), axis=1)
    return np.hstack([_Paths(design, part, wanted).followed() for part in parts])


class _Design:
    """Products of the columns of ``X (n, d)``: from their Gram matrix where that is smaller."""

    def __init__(self, X: NDArray[np.float64]) -> None:
        self.n, self.d = X.shape
        self.X = X
        self.columns = np.ascontiguousarray(X.T)
        self.squares = np.einsum("ij,ij->i", self.columns, self.columns)
        self.gram = X.T @ X if self.d <= self.n else None


class _Active:
    """The columns in one path, the Cholesky factor of their products, and their weights.

    Unused rows of the factor are those of the identity, so that it is always solved as a whole.
    """

    def __init__(self, design: _Design, room: int) -> None:
        self.design = design
        self.size = 0
        self.features = np.zeros(room, dtype=np.intp)
        self.signs, self.weights = np.zeros(room), np.zeros(room)
        self.factor = np.asfortranarray(np.eye(room))
        self.solved = np.zeros(room)  # the factor's solution for the signs
        self.columns = None if design.gram is not None else np.zeros((room, design.n))

    def add(self, feature: int, sign: float) -> None:
        """Let a column enter, unless it depends on the others."""
        design, size = self.design, self.size
        products = np.zeros(len(self.signs))
        if design.gram is not None:
            products[:size] = design.gram[feature, self.features[:size]]
        elif self.columns is not None:
            products[:size] = self.columns[:size] @ design.columns[feature]
        row = dtrsv(self.factor, products, lower=1, overwrite_x=1)
        square = design.squares[feature]
        left = square - row @ row
        if left <= _DEPENDENT**2 * square:
            return
        self.factor[size, :size] = row[:size]
        self.factor[size, size] = np.sqrt(left)
        self.solved[size] = (sign - row @ self.solved) / self.factor[size, size]
        self.features[size], self.signs[size] = feature, sign
        if self.columns is not None:
            self.columns[size] = design.columns[feature]
        self.size += 1

    def remove(self, place: int) -> None:
        """Let a column leave: only the factor's rows below its own change."""
        last = self.size = self.size - 1
        for values in (self.features, self.signs, self.weights, self.columns):
            if values is not None:
                values[place:last] = values[place + 1 : last + 1]
                values[last] = 0
        factor = self.factor
        if place < last:
            below = factor[place + 1 : last + 1, place : last + 1]
            tail, failed = dpotrf(dsyrk(1.0, below, lower=1), lower=1, clean=1, overwrite_a=1)
            if failed:  # cannot be: rows of the factor are independent, by the rule for entering
                raise FloatingPointError("columns in the path depend on one another")
            factor[place:last, :place] = factor[place + 1 : last + 1, :place]
            factor[place:last, place:last] = tail
        factor[last, :last], factor[last, last] = 0, 1
        self.solved = dtrsv(factor, self.signs, lower=1)

    def direction(self) -> NDArray[np.float64]:
        """By how much the weights grow for one unit of penalty less."""
        return dtrsv(self.factor, self.solved, lower=1, trans=1)[: self.size]

    def leaving(self, direction: NDArray[np.float64]) -> tuple[float, int]:
        """After how much less penalty a weight first returns to zero, and which."""
        weights = self.weights[: self.size]
        falling = np.flatnonzero(weights * direction < 0)
        if not len(falling):
            return np.inf, -1
        steps = -weights[falling] / direction[falling]
        return float(steps.min()), int(falling[steps.argmin()])


class _Paths:
    """The state of several targets' paths; those that have come far enough leave it."""

    def __init__(self, design: _Design, Y: NDArray[np.float64], wanted: int) -> None:
        self.design, self.wanted = design, wanted
        self.result = np.zeros((design.d, Y.shape[1]))
        self.targets = np.arange(Y.shape[1])
        self.correlations = np.ascontiguousarray(Y.T @ design.X)
        self.penalties = np.abs(self.correlations).max(axis=1)
        self.closed = np.zeros(self.correlations.shape)  # infinite for columns that cannot enter
        self.closed[:, design.squares == 0] = np.inf
        self.actives = [_Active(design, wanted + 1) for _ in self.targets]
        # Just left, and with which sign: meets its bound no second time before the next turn.
        self.left: list[tuple[int, int, float]] = []
        self._keep(self.penalties > 0)
        for path, feature in enumerate(np.abs(self.correlations).argmax(axis=1)):
            self._enter(path, int(feature))

    def followed(self) -> NDArray[np.float64]:
        """The weights of all targets."""
        while len(self.targets):
            self._turn()
        return self.result

    def _turn(self) -> None:
        """Follow every path to its next turn."""
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
        open_ = self.penalties > self.design.n * _END
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
            self._keep(open_)

    def _slopes(self, directions: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """By how much the correlations of all columns fall for one unit of penalty less."""
        gram = self.design.gram
        moves = np.zeros((len(directions), self.design.n if gram is None else self.design.d))
        for move, active, direction in zip(moves, self.actives, directions, strict=True):
            if active.columns is None:
                move[active.features[: active.size]] = direction
            else:
                move[:] = direction @ active.columns[: active.size]
        return moves @ (self.design.X if gram is None else gram)

    def _entering(self, slopes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray]:
        """After how much less penalty a column's correlation first meets it, and which."""
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

    def _keep(self, wanted: NDArray[np.bool_]) -> None:
        """Go on with some of the paths."""
        for name in ("targets", "correlations", "penalties", "closed"):
            setattr(self, name, getattr(self, name)[wanted])
        self.actives = [active for active, keep in zip(self.actives, wanted, strict=True) if keep]
        places = np.cumsum(wanted) - 1  # of the paths among those that go on
        self.left = [(int(places[p]), f, s) for p, f, s in self.left if wanted[p]]
