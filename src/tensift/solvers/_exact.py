"""The minimum of the stated problem, with a proof of optimality for every slice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import diagonal_of, frobenius_norm, hermitian_part
from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._solution import Solution
from tensift.solvers._tracking import TrackedProjection
from tensift.solvers._workers import map_slices

__all__ = ["solve_exact"]

_RELAXATION = 1.7
_CHECK_EVERY = 5
_BALANCE, _BALANCE_BY, _BALANCE_UNTIL = np.log(5.0), 1.6, 200


def solve_exact(
    problems: SliceProblems,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Minimise every slice problem to a certified relative duality gap.

    The alternating direction method of multipliers on ``A = Z1`` (column norms) and ``A = Z2``
    (the cone). The step in ``A`` is over Hermitian matrices and diagonal in the eigenbasis of
    ``S``. The multipliers are feasible for the dual after every step, so the certificate costs
    no extra problem: `Solution.dual` is a bound that no operator can go below.

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve. Their ridge is part of the objective.
    tol : float
        A slice is done when its gap, ``objective - bound``, is at most this share of the
        objective.
    max_iter : int
        Steps at most.
    n_jobs : int or None
        Threads over slices; None means 1, -1 means all cores. The result does not depend on it.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution
        With `dual`; the objective's path is that of the best operator so far.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import SliceProblems, solve_exact
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_exact(SliceProblems(gram, lam=2.0, eta=1.0))
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    >>> bool(solution.dual_gap[0] <= 1e-6)
    True
    """

    def solve_block(block: SliceProblems) -> Solution:
        return _Splitting(DiagonalProblems.of(block)).run(tol, max_iter)

    return map_slices(solve_block, problems, n_jobs, callback)


class _Splitting:
    """The state of the method for a stack of slices; those that are done leave it."""

    def __init__(self, problems: DiagonalProblems) -> None:
        shape, dtype = problems.vectors.shape, problems.vectors.dtype
        self.problems = problems
        # In the original basis: the copy with few columns and its scaled multiplier.
        self.sparse, self.sparse_dual = np.zeros(shape, dtype), np.zeros(shape, dtype)
        # In the eigenbasis: the copy in the cone and its scaled multiplier.
        self.conic, self.conic_dual = np.zeros(shape, dtype), np.zeros(shape, dtype)
        sizes = problems.values + problems.ridge[:, None]
        self.rho = 0.2 * np.sqrt(np.median(sizes, axis=1) * sizes[:, -1]) + problems.lam / 2
        self.rho[self.rho == 0] = 1.0
        self.project = TrackedProjection(shape[0], shape[1], dtype)
        self.best = np.zeros(shape, dtype)
        # A = 0 is feasible, and no part of the objective can be negative.
        self.objective = problems.values.sum(axis=1)
        self.bound = np.zeros(shape[0])

    def run(self, tol: float, max_iter: int) -> Solution:
        """Step until every slice is certified, or the steps run out."""
        problems = self.problems
        n_slices = len(problems.unit)
        operators = np.empty_like(self.best)
        dual, converged, path = np.empty(n_slices), np.zeros(n_slices, bool), []
        active = np.arange(n_slices)
        for step in range(1, max_iter + 1):
            checked = step == 1 or step % _CHECK_EVERY == 0 or step == max_iter
            imbalance = self._step(measure=checked)
            if checked:
                self._certify()
                gap = self.objective - self.bound
                closed = gap <= tol * np.abs(self.objective)
            done = closed if step < max_iter else np.ones_like(closed)
            path.append(np.full(n_slices, np.nan))
            path[-1][active] = self.objective * self.problems.unit
            if done.any():
                finished = active[done]
                operators[finished] = self.best[done]
                dual[finished] = (self.bound * self.problems.unit)[done]
                converged[finished] = closed[done]
                if done.all():
                    break
                going = ~done
                active, closed, imbalance = active[going], closed[going], imbalance[going]
                self._keep(going)
            if checked and 1 < step <= _BALANCE_UNTIL:
                self._balance(imbalance)
        return Solution(operators, np.stack(path, axis=1), converged, dual)

    def _step(self, *, measure: bool) -> NDArray[np.float64]:
        """One step of all slices; if asked, how much larger primal residuals are than dual ones."""
        problems, rho = self.problems, self.rho[:, None, None]
        right = problems.rotate(hermitian_part(self.sparse - self.sparse_dual))
        right += self.conic - self.conic_dual
        right *= rho
        diagonal_of(right)[...] += problems.pull
        right /= problems.curvature + 2 * rho
        rotated, operators = right, problems.rotate_back(right)

        relaxed = _RELAXATION * operators + (1 - _RELAXATION) * self.sparse + self.sparse_dual
        norms = np.maximum(column_norms(relaxed), np.finfo(float).tiny)
        self.kept = np.maximum(0, 1 - (problems.lam / self.rho)[:, None] / norms)
        sparse = relaxed * self.kept[:, None, :]
        self.sparse_dual = relaxed - sparse

        relaxed = _RELAXATION * rotated + (1 - _RELAXATION) * self.conic + self.conic_dual
        relaxed = hermitian_part(relaxed)
        conic = self.project(relaxed)
        self.conic_dual = relaxed - conic

        imbalance = np.zeros(len(self.rho))
        if measure:
            apart = _log_norm(operators - sparse, rotated - conic) - _log_norm(sparse, conic)
            moved = _log_norm(sparse - self.sparse, conic - self.conic)
            imbalance = apart - moved + _log_norm(self.sparse_dual, self.conic_dual)
        self.sparse, self.conic = sparse, conic
        return imbalance

    def _certify(self) -> None:
        """Improve the best operator and the best bound by what the last step gave."""
        problems, rho = self.problems, self.rho[:, None, None]
        gradient = problems.rotate(hermitian_part(self.sparse_dual))
        multipliers = rho * (gradient + self.conic_dual)
        self.bound = np.maximum(self.bound, problems.lower_bound(multipliers))

        # Two candidates: the copy in the cone, and the same on the columns that are not zero.
        whole = problems.rotate_back(self.conic)
        support = self.kept > 0
        part = whole * (support[:, :, None] & support[:, None, :])
        for operators, rotated in ((whole, self.conic), (part, problems.rotate(part))):
            value = problems.value(operators, rotated)
            better = value <= self.objective
            self.objective = np.where(better, value, self.objective)
            self.best[better] = operators[better]

    def _balance(self, imbalance: NDArray[np.float64]) -> None:
        """Change the step size where one residual is much larger than the other."""
        factor = np.where(imbalance > _BALANCE, _BALANCE_BY, 1.0)
        factor[imbalance < -_BALANCE] = 1 / _BALANCE_BY
        self.rho = self.rho * factor
        self.sparse_dual /= factor[:, None, None]
        self.conic_dual /= factor[:, None, None]

    def _keep(self, mask: NDArray[np.bool_]) -> None:
        for name, value in vars(self).items():
            if isinstance(value, TrackedProjection):
                value.keep(mask)
            else:
                setattr(self, name, value[mask])


def _log_norm(one: NDArray, other: NDArray) -> NDArray[np.float64]:
    norm = np.hypot(frobenius_norm(one), frobenius_norm(other))
    return np.log(np.maximum(norm, np.finfo(float).tiny))
