"""The splitting method of the exact solver, for a stack of slices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of, eigh, frobenius_norm, hermitian_part
from tensift.solvers._algebra import HOST
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._formulas import (
    best_multiple,
    column_weights,
    cut_to_support,
    is_closed,
    kept_shares,
    parts_of_value,
    scaling_of,
)
from tensift.solvers._problem import column_norms
from tensift.solvers._solution import Solution
from tensift.solvers._start import Start
from tensift.solvers._tracking import TrackedProjection

__all__ = ["Splitting", "is_checked"]

_RELAXATION = 1.5
_SOFTER = 0.7  # once columns have different weights: this times lam / norm
_NEW_METRICS = {6, *(24 * 2**k for k in range(20))}  # steps after which the metric is renewed
_CHECK_ALL_BEFORE = 7  # check the gap at every step before this one, then at every other
_BALANCE_EVERY, _BALANCE, _BALANCE_BY, _BALANCE_UNTIL = 3, float(np.log(3.0)), 1.6, 200
_TINY = np.finfo(float).tiny


class Splitting:
    """The state of the method for a stack of slices; finished slices leave it.

    `sparse_in` and `conic_in` are the variables of the iteration. Shrinking the columns of the
    first, and projecting the second onto the cone, gives two copies of the operator. What these
    two operations take away are the multipliers. `sparse_in` is in the original basis. `conic_in`
    is in `basis`, the eigenbasis of ``S + ridge I + diag(weights) / 2``, and scaled by `scaling`.
    """

    def __init__(self, problems: DiagonalProblems, start: Start) -> None:
        n_slices, size = problems.values.shape
        dtype = problems.vectors.dtype
        self.problems = problems
        self.balance = np.full(n_slices, 2.0)
        weights = column_weights(HOST, problems.lam, start.norms).mean(axis=1)[:, None]
        values = problems.values + problems.ridge + weights / 2
        self._set_metric(np.repeat(weights, size, axis=1), values, problems.vectors)
        self.turn: NDArray | None = None  # from `basis` to the eigenbasis of S, if they differ
        self.pull = np.zeros(problems.vectors.shape, dtype)
        diagonal_of(self.pull)[...] = problems.pull

        slope = problems.rotate(hermitian_part(start.gradient)) + problems.gradient(start.rotated)
        self.sparse_in = start.operators + start.gradient / weights[:, :, None]
        self.conic_in = self.scaling * start.rotated - slope / self.lift
        # The start is diagonal: its positive eigenvalues are where the pull is positive.
        positive = np.where(start.nonzero, np.count_nonzero(problems.pull > 0, axis=1), 0)
        self.project = TrackedProjection(n_slices, size, dtype, positive)
        self._shrink()
        self.conic = self.project(self.conic_in)
        self.best = np.zeros_like(self.pull)
        # A = 0 is feasible, and no part of the objective can be negative.
        self.objective = problems.trace
        self.bound = np.zeros(n_slices)
        self.multiple = np.ones(n_slices)

    def run(self, tol: float, max_iter: int) -> Solution:
        """Step until every slice is certified, or the steps run out."""
        n_slices = len(self.bound)
        operators = np.empty_like(self.best)
        dual, converged, path = np.empty(n_slices), np.zeros(n_slices, bool), []
        active = np.arange(n_slices)
        for step in range(1, max_iter + 1):
            if step > 1:
                self._step()
            if is_checked(step, max_iter):
                self._certify()
                closed = is_closed(self.objective, self.bound, tol)
            done = closed if step < max_iter else np.ones_like(closed)
            path.append(np.full(n_slices, np.nan))
            path[-1][active] = self.objective * self.problems.unit[:, 0]
            if done.any():
                finished = active[done]
                operators[finished] = self.best[done]
                dual[finished] = (self.bound * self.problems.unit[:, 0])[done]
                converged[finished] = closed[done]
                if done.all():
                    break
                active, closed = active[~done], closed[~done]
                self._keep(~done)
            self._adapt(step)
        return Solution(hermitian_part(operators), np.stack(path, axis=1), converged, dual)

    def _step(self) -> None:
        """One step of all slices."""
        reflected = self.sparse_in * (self.weights * (self.kept - 0.5))[:, None, :]
        right = self._collected(reflected)
        right += self.pull
        reflected = 2 * self.conic
        reflected -= self.conic_in
        reflected *= self.lift
        right += reflected
        right *= self.damping
        self.sparse_step = self._spread(right)
        self.sparse_step -= self._sparse()
        self.sparse_in = self.sparse_in + _RELAXATION * self.sparse_step
        self._shrink()
        right *= self.scaling
        right -= self.conic
        self.conic_step, self.conic_before = right, self.conic
        self.conic_in = self.conic_in + _RELAXATION * right
        self.conic = self.project(self.conic_in)

    def _collected(self, columns: NDArray) -> NDArray:
        """Twice the Hermitian part of the operators with these columns, in `basis`."""
        return adjoint(self.basis) @ (columns + adjoint(columns)) @ self.basis

    def _spread(self, rotated: NDArray) -> NDArray:
        """The columns of operators in `basis`."""
        return self.basis @ rotated @ adjoint(self.basis)

    def _shrink(self) -> None:
        self.kept = kept_shares(HOST, self.sparse_in, self.weights, self.problems.lam)

    def _sparse(self) -> NDArray:
        return self.sparse_in * self.kept[:, None, :]

    def _gradient(self) -> NDArray:
        """The multiplier of the column norms; its columns have norms of at most lam."""
        return self.sparse_in * (self.weights * (1 - self.kept))[:, None, :]

    def _certify(self) -> None:
        """Update the best operator and the best bound with the results of the last step."""
        problems = self.problems
        multipliers = adjoint(self.basis) @ hermitian_part(self._gradient()) @ self.basis
        multipliers -= self.lift * (self.conic - self.conic_in)
        if self.turn is not None:
            multipliers = self.turn @ multipliers @ adjoint(self.turn)
        self.bound = np.maximum(self.bound, problems.lower_bound(multipliers))

        rotated = self.conic / self.scaling
        operators = self.basis @ rotated @ adjoint(self.basis)
        support = self.kept > 0
        some = np.flatnonzero(~support.all(axis=1))
        if len(some) == len(support):
            operators, rotated = cut_to_support(HOST, operators, self.basis, support)
        elif len(some):  # nothing is cut from the other slices
            operators[some], rotated[some] = cut_to_support(
                HOST, operators[some], self.basis[some], support[some]
            )
        norms = column_norms(operators)
        fit = HOST.inner(self.pull, rotated)
        parts = parts_of_value(HOST, rotated, norms, self.spectrum, fit, problems.lam, self.weights)
        self.multiple, value = best_multiple(HOST, *parts)
        value += problems.trace
        better = value <= self.objective
        self.objective = np.where(better, value, self.objective)
        self.best[better] = operators[better] * self.multiple[better, None, None]

    def _adapt(self, step: int) -> None:
        """Renew the metric or the weight of the cone, after some of the steps."""
        if step in _NEW_METRICS:
            self._renew_metric()
        elif step % _BALANCE_EVERY == 0 and step < _BALANCE_UNTIL:
            self._balance()

    def _balance(self) -> None:
        """Change the weight of the cone where the copies are far apart or hardly move."""
        ratio = _log_ratio(self.conic_step, self.conic)
        ratio -= _log_ratio(self.conic - self.conic_before, self.conic_in - self.conic)
        factor = np.where(ratio > _BALANCE, _BALANCE_BY, 1.0)
        factor[ratio < -_BALANCE] = 1 / _BALANCE_BY
        self.balance = self.balance * factor
        self._set_balance()
        self.conic_in = self.conic + (self.conic_in - self.conic) / factor[:, None, None]

    def _renew_metric(self) -> None:
        """Weight every column by its present norm, and take the best multiple of both copies."""
        problems, old = self.problems, self.basis
        factor = np.where(self.multiple > 0, np.clip(self.multiple, 0.2, 5), 1.0)[:, None, None]
        sparse, gradient = factor * self._sparse(), self._gradient()
        conic = old @ (factor * self.conic / self.scaling) @ adjoint(old)
        dual = old @ (self.lift * (self.conic - self.conic_in)) @ adjoint(old)

        weights = _SOFTER * column_weights(HOST, problems.lam, column_norms(sparse))
        sizes = problems.values + problems.ridge
        metric = (problems.vectors * sizes[:, None, :]) @ adjoint(problems.vectors)
        diagonal_of(metric)[...] += weights / 2
        values, basis = eigh(metric)
        self._set_metric(weights, np.maximum(values, _TINY), basis)
        self.turn = adjoint(problems.vectors) @ basis
        self.pull = adjoint(self.turn) @ (problems.pull[:, :, None] * self.turn)

        self.sparse_in = sparse + gradient / weights[:, None, :]
        self._shrink()
        conic_in = self.scaling * (adjoint(basis) @ conic @ basis)
        conic_in -= (adjoint(basis) @ dual @ basis) / self.lift
        self.conic_in = hermitian_part(conic_in)
        self.project = TrackedProjection(len(basis), basis.shape[1], basis.dtype)
        self.conic = self.project(self.conic_in)

    def _set_metric(self, weights: NDArray, values: NDArray, basis: NDArray) -> None:
        self.weights, self.spectrum, self.basis = weights, values, basis
        self.scaling = scaling_of(HOST, values)
        self._set_balance()

    def _set_balance(self) -> None:
        self.lift = self.scaling * self.balance[:, None, None]
        self.damping = self.lift * self.scaling
        self.damping += self.spectrum[:, :, None]
        self.damping += self.spectrum[:, None, :]
        np.reciprocal(self.damping, out=self.damping)

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        for name, value in vars(self).items():
            if isinstance(value, TrackedProjection):
                value.keep(mask)
            elif value is not None:
                setattr(self, name, value[mask])


def is_checked(step: int, max_iter: int) -> bool:
    """Whether the gap is computed after a step.

    This depends on the step only, because a slice must not depend on others in its stack.
    """
    return step < _CHECK_ALL_BEFORE or step % 2 == 0 or step == max_iter


def _log_ratio(one: NDArray, other: NDArray) -> NDArray[np.float64]:
    return np.log(np.maximum(frobenius_norm(one), _TINY) / np.maximum(frobenius_norm(other), _TINY))
