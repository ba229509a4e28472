"""The minimum of the stated problem, with a proof for every slice of how close it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tensift.solvers._diagonal import DiagonalProblems
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution
from tensift.solvers._span import fits_span, may_be_dense, solve_in_span
from tensift.solvers._splitting import Splitting
from tensift.solvers._start import Start
from tensift.solvers._workers import map_slices

__all__ = ["solve_exact", "solve_exact_block"]


def solve_exact(
    problems: SliceProblems,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: Solution | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Minimise every slice problem to a certified relative duality gap.

    The method is Douglas-Rachford splitting into three parts: the quadratic, the column norms and
    the cone. The quadratic step is explicit in the eigenbasis of ``S``. The metric makes it fast:

    - A column of norm ``a`` has the weight ``lam / a``, the curvature of its norm.
    - Operators are projected onto the cone after scaling both sides by the fourth root of the
      quadratic's curvature. Such a congruence maps the cone to itself.

    After every step the multipliers are feasible for the dual problem, so the certificate needs no
    extra problem: no operator has an objective below `Solution.dual`.

    Slices with at least four times as many features as samples are solved in the span of their
    samples, which grows until the certificate holds for all operators. No matrix of the order of
    the features is formed, unless that takes too many steps and there are at most 4096 features.

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve. Their ridge is part of the objective.
    tol : float
        A slice is done when its gap, ``objective - bound``, is at most this share of the
        objective.
    max_iter : int
        Largest number of steps; the start counts as one.
    start : Solution, optional
        The solution of the same slices under other penalties. A slice starts from it if its
        objective is lower there than at the best operator with the eigenvectors of ``S``. Slices
        that are solved in a span do not need it.
    n_jobs : int or None
        Threads over slices; None means 1, -1 means all cores. The result does not depend on it.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution
        It has a `dual`. Its `objective_path` is that of the best operator so far.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import SliceProblems, solve_exact
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_exact(SliceProblems(gram, lam=2.0, eta=1.0))
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    >>> bool(solution.dual_gap[0] <= 1e-6)
    True
    """
    solve_block = partial(solve_exact_block, tol=tol, max_iter=max_iter)
    return map_slices(solve_block, problems, n_jobs, callback, start)


def solve_exact_block(
    problems: SliceProblems, start: Solution | None = None, *, tol: float, max_iter: int
) -> Solution:
    """Solve a stack of slices together, in this thread."""
    if fits_span(problems.gram):
        parts = [
            _solve_wide(problems[j : j + 1], tol, max_iter) for j in range(problems.gram.n_slices)
        ]
        return Solution.concatenate(parts)
    diagonal = DiagonalProblems.of(problems)
    begin = Start.of(diagonal)
    if start is not None:
        begin = begin.or_better(diagonal, start.operators)
    return Splitting(diagonal, begin).run(tol, max_iter)


def _solve_wide(problem: SliceProblems, tol: float, max_iter: int) -> Solution:
    """Solve one slice in a span; if that is not certified, with matrices if they are not large."""
    wide = solve_in_span(problem, tol, max_iter)
    if wide.converged[0] or not may_be_dense(problem.gram) or wide.n_iter[0] >= max_iter:
        return wide
    diagonal = DiagonalProblems.of(problem)
    return Splitting(diagonal, Start.of(diagonal)).run(tol, max_iter)
