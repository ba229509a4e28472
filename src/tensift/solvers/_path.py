"""All slices over a grid of penalties: warm starts, threads, and a file to go on from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.gram import GramTensor
from tensift.solvers._checkpoint import Checkpoint, fingerprint
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution
from tensift.solvers._workers import blocks_of, run_tasks

__all__ = ["PathSolution", "solve_path"]


@dataclass(frozen=True)
class PathSolution:
    """What is kept of the solutions of ``p`` slices at every cell of a grid: no operators.

    Attributes
    ----------
    norms : ndarray of shape (n_lams, n_etas, p, q)
        Column norms of the operators.
    objective, dual, dual_gap : ndarray of shape (n_lams, n_etas, p)
        The objective of every slice, its proven lower bound, and how far above it the objective
        can be at most, as a share of it. NaN for solvers that prove none.
    n_iter : ndarray of int, shape (n_lams, n_etas, p)
        Steps.
    converged : ndarray of bool, shape (n_lams, n_etas, p)
        Whether the stopping rule was met before the steps ran out.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import PathSolution
    >>> blank = PathSolution.blank(5, 3, GramTensor(np.eye(4)[None], thin=False))
    >>> blank.norms.shape
    (5, 3, 1, 4)
    """

    norms: NDArray[np.float64]
    objective: NDArray[np.float64]
    dual: NDArray[np.float64]
    dual_gap: NDArray[np.float64]
    n_iter: NDArray[np.int64]
    converged: NDArray[np.bool_]

    @classmethod
    def blank(cls, n_lams: int, n_etas: int, gram: GramTensor) -> PathSolution:
        """One that is still to be filled in."""
        shape = (n_lams, n_etas, gram.n_slices)
        return cls(
            norms=np.zeros((*shape, gram.size)),
            objective=np.full(shape, np.nan),
            dual=np.full(shape, np.nan),
            dual_gap=np.full(shape, np.nan),
            n_iter=np.zeros(shape, np.int64),
            converged=np.zeros(shape, bool),
        )


def solve_path(
    gram: GramTensor,
    lams: ArrayLike,
    etas: ArrayLike,
    solve: Callable[[SliceProblems, Solution | None], Solution],
    *,
    ridge: float = 0.0,
    n_jobs: int | None = None,
    callback: Callable[[int], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    settings: object = None,
) -> PathSolution:
    """Solve every slice at every pair of penalties.

    A block of slices under one ``eta`` is a row: it is solved for every ``lam``, the smallest
    first, each time from the solution before. Rows know nothing of one another, so they can be
    solved by any thread in any order, today or after an interruption, with the same result.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices.
    lams, etas : array-like of float
        The grid, in any order.
    solve : callable
        ``solve(problems, start)`` solves a block of slices in the thread that calls it. `start`
        is the solution at the last ``lam``, None at the first.
    ridge : float, default=0.0
        The ridge of every problem.
    n_jobs : int or None
        Threads over rows; None means 1, -1 means all cores. The result does not depend on it.
    callback : callable, optional
        Called with the number of slices solved so far, summed over cells.
    checkpoint : path-like, optional
        A file for finished rows. If it is there already, its rows are not solved again. It is
        written every few seconds, at the end, and when anything raises.
    settings : object, optional
        Whatever else `solve` depends on, with a ``repr`` that says so: a checkpoint of other
        settings is refused, as one of another Gram tensor or grid is.

    Returns
    -------
    PathSolution

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.gram import GramTensor
    >>> from tensift.solvers import solve_exact, solve_path
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> path = solve_path(
    ...     gram, [2.0, 20.0], [1.0], lambda problems, start: solve_exact(problems, start=start))
    >>> np.round(path.norms[:, 0, 0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    """
    lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)
    ascending = np.argsort(lams)
    blocks = blocks_of(gram)
    path = PathSolution.blank(len(lams), len(etas), gram)
    finished = np.zeros((len(blocks), len(etas)), bool)
    kept = None
    if checkpoint is not None:
        key = fingerprint(gram.array, gram.thin, lams, etas, ridge, settings)
        kept = Checkpoint(checkpoint, key, {"finished": finished, **vars(path)})

    # A block keeps what is computed from its Gram matrices until its last row is done.
    grams: dict[int, GramTensor] = {}
    lock, stop = Lock(), Event()
    done = int(finished.sum(axis=1) @ [b.stop - b.start for b in blocks]) * len(lams)
    if callback is not None and done:
        callback(done)

    def solve_row(row: tuple[int, int]) -> list[dict[str, NDArray]]:
        nonlocal done
        block, eta = row
        with lock:
            block_gram = grams.setdefault(block, gram[blocks[block]])
        cells, solution = [], None
        for lam in lams[ascending]:
            if stop.is_set():
                break
            problems = SliceProblems(block_gram, float(lam), float(etas[eta]), ridge)
            solution = solve(problems, solution)
            cells.append(_what_is_kept(solution))
            with lock:
                done += block_gram.n_slices
                if callback is not None:
                    callback(done)
        return cells

    rows = [(int(block), int(eta)) for block, eta in np.argwhere(~finished)]

    def store(number: int, cells: list[dict[str, NDArray]]) -> None:
        block, eta = rows[number]
        for lam, cell in zip(ascending, cells, strict=True):
            for name, values in cell.items():
                getattr(path, name)[lam, eta, blocks[block]] = values
        finished[block, eta] = True
        if finished[block].all():
            del grams[block]
        if kept is not None:
            kept.update()

    try:
        run_tasks(solve_row, rows, n_jobs, store, single_slice=gram.n_slices == 1, stop=stop)
    except BaseException as error:
        if kept is not None:
            try:
                kept.write()
            except OSError as failure:
                error.add_note(f"the last finished rows are lost: {failure}")
        raise
    if kept is not None:
        kept.write()
    return path


def _what_is_kept(solution: Solution) -> dict[str, NDArray]:
    kept = {
        "norms": solution.norms,
        "objective": solution.objective,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
    }
    if solution.dual is not None and solution.dual_gap is not None:
        kept |= {"dual": solution.dual, "dual_gap": solution.dual_gap}
    return kept
