"""The authors' iteration: reweight, minimise without the cone, project onto it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import adjoint, diagonal_of, hermitian_part
from tensift.gram._tensor import GramTensor
from tensift.solvers._inverse import inverse_of_definite
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._projection import low_rank_psd_part
from tensift.solvers._solution import Solution
from tensift.solvers._tracking import TrackedProjection
from tensift.solvers._workers import map_slices

__all__ = ["solve_paper"]


def solve_paper(
    problems: SliceProblems,
    *,
    ridge: float,
    smoothing: float = float(np.finfo(float).eps),
    tol: float = 1e-5,
    relative: bool = False,
    max_iter: int = 100,
    watch_conjugate: bool = False,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Run Algorithm 1 of the paper on every slice, as the authors' program does.

    Each step takes the unconstrained minimiser of the reweighted quadratic (equation `Update A for
    STPCA-MP`) and projects it onto the cone. This is fast and ranks features well, but it is not
    a descent method for the stated problem and stops somewhat above its optimum.

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve.
    ridge : float
        Added to the diagonal of the matrix that is inverted, the paper's ``epsilon``.
    smoothing : float
        Under the root of the weights (equation `W`): machine epsilon in the program, 1e-2 in the
        text.
    tol : float
        A slice stops when its objective changes by less than this between steps,
    relative : bool
        or, if true, by less than this share of the objective.
    max_iter : int
        Steps at most.
    watch_conjugate : bool
        Stop by the objective at the conjugate of the operators, a slip of the program that
        matters for complex slices only. The objectives returned are those of the operators.
    n_jobs : int or None
        Threads over slices; None means 1, -1 means all cores. The result does not depend on it.
    callback : callable, optional
        Called with the number of slices finished so far.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import SliceProblems, solve_paper
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_paper(SliceProblems(gram, lam=2.0, eta=1.0), ridge=1e-3)
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    """

    def solve_block(block: SliceProblems) -> Solution:
        return _solve_block(block, ridge, smoothing, tol, relative, max_iter, watch_conjugate)

    return map_slices(solve_block, problems, n_jobs, callback)


def _solve_block(
    problems: SliceProblems,
    ridge: float,
    smoothing: float,
    tol: float,
    relative: bool,
    max_iter: int,
    watch_conjugate: bool,
) -> Solution:
    """Step a stack of slices together; a slice leaves the stack when it has converged."""
    n_slices, size = problems.gram.n_slices, problems.gram.size
    operators = np.empty((n_slices, size, size), problems.gram.array.dtype)
    path = []
    converged = np.zeros(n_slices, bool)

    project = TrackedProjection(n_slices, size, operators.dtype)
    active = np.arange(n_slices)
    norms = np.full((n_slices, size), 0.5)  # of the start A = I / 2
    previous = np.full(n_slices, np.inf)
    for step in range(max_iter):
        weights = problems.lam / (2 * np.sqrt(norms**2 + smoothing)) + ridge
        update = _unconstrained(problems.gram, weights, problems.eta)
        # Fewer samples than features leave few positive eigenvalues.
        current = low_rank_psd_part(update) if problems.gram.thin else project(update)
        norms = column_norms(current)
        value = problems.value(current, norms)
        path.append(np.full(n_slices, np.nan))
        path[-1][active] = value
        if watch_conjugate and np.iscomplexobj(current):
            value = problems.value(current.conj(), norms)
        change = np.abs(value - previous)
        stopped = change < (tol * np.abs(value) if relative else tol)
        done = stopped if step + 1 < max_iter else np.ones_like(stopped)
        if done.any():
            finished = active[done]
            operators[finished] = current[done]
            converged[finished] = stopped[done]
            if done.all():
                break
            going = ~done
            active, norms, value = active[going], norms[going], value[going]
            problems = problems[going]
            project.keep(going)
        previous = value
    return Solution(operators, np.stack(path, axis=1), converged)


def _unconstrained(gram: GramTensor, weights: NDArray[np.float64], eta: float) -> NDArray:
    """Hermitian part of ``(S - eta/2 I) (S + D)^-1``, ``D = diag(weights)`` (`Derivative of A`)."""
    if gram.thin:
        # Woodbury: S (S + D)^-1 = F C^-1 F^H D^-1 with C = I + F^H D^-1 F of the order of the
        # samples, and (S + D)^-1 = D^-1 - D^-1 F C^-1 F^H D^-1.
        factor, inverse = gram.array, 1 / weights
        weighted = factor * inverse[:, :, None]
        core = adjoint(weighted) @ factor
        diagonal_of(core)[...] += 1
        update = weighted @ np.linalg.solve(core, adjoint(factor + eta / 2 * weighted))
        result = hermitian_part(update)
        diagonal_of(result)[...] -= eta / 2 * inverse
        return result
    shifted = gram.array.copy()
    diagonal_of(shifted)[...] += weights
    inverse = inverse_of_definite(shifted)
    # S (S + D)^-1 = I - D (S + D)^-1: off the diagonal the Hermitian part is a scaling of the
    # inverse. On it the left side is taken, which does not cancel where columns have collapsed.
    fitted = np.einsum("pij,pji->pi", gram.array, inverse).real
    diagonal = fitted - eta / 2 * diagonal_of(inverse).real
    half = -(weights + eta / 2) / 2
    inverse *= half[:, :, None] + half[:, None, :]
    diagonal_of(inverse)[...] = diagonal
    return inverse
