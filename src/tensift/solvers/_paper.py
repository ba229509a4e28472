"""The authors' iteration: reweight, minimise without the cone, project onto it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tensift._utils.stacks import adjoint, diagonal_of, hermitian_part
from tensift.moments import GramTensor
from tensift.solvers._inverse import inverse_of_definite
from tensift.solvers._low_rank import LowRank
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._projection import low_rank_psd_part
from tensift.solvers._solution import Solution
from tensift.solvers._tracking import TrackedProjection
from tensift.solvers._wide import WideProjection, is_wide
from tensift.solvers._workers import map_slices

__all__ = ["solve_paper", "solve_paper_block"]

_Penalty: TypeAlias = float | NDArray[np.float64]  # one for all slices, or one for each

_THIN = 0.4  # factors are cheaper than matrices up to this share of the order


def solve_paper(
    problems: SliceProblems,
    *,
    ridge: float,
    smoothing: float = float(np.finfo(float).eps),
    tol: float = 1e-5,
    relative: bool = False,
    max_iter: int = 100,
    watch_conjugate: bool = False,
    start: Solution | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Run Algorithm 1 of the paper on every slice, as the authors' program does.

    Each step takes the unconstrained minimiser of the reweighted quadratic (equation `Update A for
    STPCA-MP`) and projects it onto the cone. This is fast and ranks features well. But the
    objective of the stated problem can rise, and the iteration stops somewhat above its optimum.

    Parameters
    ----------
    problems : SliceProblems
        The slices to solve.
    ridge : float
        Added to the diagonal of the matrix that is inverted, the paper's ``epsilon``.
    smoothing : float
        Added under the square root of the weights (equation `W`): machine epsilon in the program,
        1e-2 in the text.
    tol : float
        A slice stops when its objective changes by less than this in one step.
    relative : bool
        Whether `tol` is a share of the objective.
    max_iter : int
        Largest number of steps.
    watch_conjugate : bool
        Let the objective at the conjugate of the operators decide when to stop. The program does
        this by mistake; it matters for complex slices only. The returned objectives are those of
        the operators.
    start : Solution, optional
        A solution of the same slices. Its column norms give the first weights, in place of those
        of half the identity. The iteration may then end elsewhere, after fewer or more steps.
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
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import SliceProblems, solve_paper
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> solution = solve_paper(SliceProblems(gram, lam=2.0, eta=1.0), ridge=1e-3)
    >>> np.round(solution.operators[0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    """
    solve_block = partial(
        solve_paper_block,
        ridge=ridge,
        smoothing=smoothing,
        tol=tol,
        relative=relative,
        max_iter=max_iter,
        watch_conjugate=watch_conjugate,
    )
    return map_slices(solve_block, problems, n_jobs, callback, start)


def solve_paper_block(
    problems: SliceProblems,
    start: Solution | None = None,
    *,
    ridge: float,
    smoothing: float,
    tol: float,
    relative: bool,
    max_iter: int,
    watch_conjugate: bool,
) -> Solution:
    """Step a stack of slices together, in this thread; converged slices leave the stack."""
    gram = problems.gram
    n_slices, size = gram.n_slices, gram.size
    wide = WideProjection(n_slices) if is_wide(gram) else None
    # Operators of wide slices are kept as factors.
    factors: list[LowRank] = [None] * n_slices  # type: ignore[list-item]
    operators = np.empty((0 if wide else n_slices, size, size), gram.array.dtype)
    converged = np.zeros(n_slices, bool)
    path = []
    norms = np.full((n_slices, size), 0.5)  # of half the identity
    first_spectrum = None
    if start is not None:
        norms = start.norms
    elif not gram.thin:
        first_spectrum = gram.spectrum
    problems = replace(problems, gram=GramTensor(gram.array, gram.thin))  # without the spectrum

    tracked = TrackedProjection(len(operators), size, operators.dtype, steady=True)
    active = np.arange(n_slices)
    previous = np.full(n_slices, np.inf)
    for step in range(max_iter):
        weights = _column(problems.lam) / (2 * np.sqrt(norms**2 + smoothing)) + ridge
        current: NDArray | LowRank
        if step == 0 and first_spectrum is not None:
            current = _from_equal_weights(*first_spectrum, weights, problems.eta)
        elif wide is not None:
            current = wide.parts(problems.gram.array, weights, problems.eta)
        elif gram.thin:  # with fewer samples than features, few eigenvalues are positive
            current = low_rank_psd_part(_unconstrained(problems, weights))
        else:
            current = tracked.parts(_unconstrained(problems, weights))
        norms = _norms(current)
        value = _objective(problems, current, norms)
        path.append(np.full(n_slices, np.nan))
        path[-1][active] = value
        if watch_conjugate and np.iscomplexobj(operators):
            value = _objective(problems, current.conj(), norms)
        change = np.abs(value - previous)
        stopped = change < (tol * np.abs(value) if relative else tol)
        done = stopped if step + 1 < max_iter else np.ones_like(stopped)
        if done.any():
            finished, ended = active[done], current[done]
            if wide is None:
                operators[finished] = ended.dense() if isinstance(ended, LowRank) else ended
            elif isinstance(ended, LowRank):
                for j, index in enumerate(finished):
                    factors[index] = ended[j : j + 1]
            converged[finished] = stopped[done]
            if done.all():
                break
            going = ~done
            active, norms, value = active[going], norms[going], value[going]
            problems = problems[going]
            if wide is None:
                tracked.keep(going)
            else:
                wide.keep(going)
        previous = value
    found = operators if wide is None else LowRank.concatenate(factors)
    return Solution(found, np.stack(path, axis=1), converged)


def _from_equal_weights(
    values: NDArray[np.float64], vectors: NDArray, weights: NDArray[np.float64], eta: _Penalty
) -> NDArray | LowRank:
    """The first step: under equal weights all matrices have the eigenvectors of ``S``."""
    sizes = np.maximum((values - _column(eta) / 2) / (values + weights), 0)
    width = max(1, int(np.count_nonzero(sizes, axis=1).max()))
    if width > _THIN * sizes.shape[1]:
        return (vectors * sizes[:, None, :]) @ adjoint(vectors)
    rows, sizes = adjoint(vectors[:, :, -width:]), sizes[:, -width:, None]
    trace = sizes[:, :, 0].sum(axis=1)
    return LowRank(rows, np.eye(width) * sizes, np.eye(width) * sizes**2, trace)


def _norms(operators: NDArray | LowRank) -> NDArray[np.float64]:
    return operators.column_norms() if isinstance(operators, LowRank) else column_norms(operators)


def _objective(
    problems: SliceProblems, operators: NDArray | LowRank, norms: NDArray[np.float64]
) -> NDArray[np.float64]:
    if not isinstance(operators, LowRank):
        return problems.value(operators, norms)
    fit, energy = operators.inner(problems.gram.array, thin=problems.gram.thin)
    loss = problems.gram.trace() - 2 * fit + energy + problems.ridge * np.sum(norms**2, axis=1)
    return loss + problems.lam * norms.sum(axis=1) + problems.eta * operators.trace


def _column(penalty: _Penalty) -> _Penalty:
    """A penalty in a shape that broadcasts with ``(p, q)``."""
    return penalty[:, None] if isinstance(penalty, np.ndarray) else penalty


def _unconstrained(problems: SliceProblems, weights: NDArray[np.float64]) -> NDArray:
    """Hermitian part of ``(S - eta/2 I) (S + D)^-1``, ``D = diag(weights)`` (`Derivative of A`)."""
    gram, half_eta = problems.gram, _column(problems.eta) / 2
    if gram.thin:
        # Woodbury: S (S + D)^-1 = F C^-1 F^H D^-1 with C = I + F^H D^-1 F of the order of the
        # samples, and (S + D)^-1 = D^-1 - D^-1 F C^-1 F^H D^-1.
        factor, inverse = gram.array, 1 / weights
        weighted = factor * inverse[:, :, None]
        core = adjoint(weighted) @ factor
        diagonal_of(core)[...] += 1
        shrunk = (half_eta * inverse)[:, :, None]
        update = weighted @ np.linalg.solve(core, adjoint(factor + factor * shrunk))
        result = hermitian_part(update)
        diagonal_of(result)[...] -= half_eta * inverse
        return result
    shifted = gram.array.copy()
    diagonal_of(shifted)[...] += weights
    inverse = inverse_of_definite(shifted)
    # S (S + D)^-1 = I - D (S + D)^-1. Off the diagonal, the Hermitian part is the inverse with
    # scaled entries. On the diagonal, the left side is used: it has no cancellation where columns
    # have collapsed.
    fitted = np.einsum("pij,pij->pi", gram.array, inverse.conj()).real
    diagonal = fitted - half_eta * diagonal_of(inverse).real
    half = -(weights + half_eta) / 2
    inverse *= half[:, :, None] + half[:, None, :]
    diagonal_of(inverse)[...] = diagonal
    return inverse
