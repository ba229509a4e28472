"""All slices over a grid of penalties, with warm starts, threads and a file to resume from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.checkpoint import Checkpoint, fingerprint
from tensift.moments import GramTensor, Stack, blocks_of
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution
from tensift.solvers._workers import run_tasks

__all__ = ["PathRows", "PathSolution", "solve_path", "solve_row"]


@dataclass(frozen=True)
class PathSolution:
    """Norms and certificates of ``p`` slices at every cell of a grid; operators are not kept.

    Attributes
    ----------
    norms : ndarray of shape (n_lams, n_etas, p, q)
        Column norms of the operators.
    objective, dual, dual_gap : ndarray of shape (n_lams, n_etas, p)
        The objective of every slice, its proven lower bound, and the gap between them as a share
        of the objective. Bound and gap are NaN if the solver proves none.
    n_iter : ndarray of int, shape (n_lams, n_etas, p)
        Number of steps.
    converged : ndarray of bool, shape (n_lams, n_etas, p)
        Whether the stopping rule was met before the steps ran out.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
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
    def blank(cls, n_lams: int, n_etas: int, gram: Stack) -> PathSolution:
        """A path to fill in later."""
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

    A block of slices under one ``eta`` is a row. It is solved for every ``lam``, the smallest
    first, each time starting from the previous solution. Rows do not depend on each other, so the
    result is the same for any thread and any order, also after an interruption.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices.
    lams, etas : array-like of float
        The grid, in any order.
    solve : callable
        ``solve(problems, start)`` solves a block of slices in the calling thread. `start` is the
        solution at the previous ``lam``, None at the first.
    ridge : float, default=0.0
        The ridge of every problem.
    n_jobs : int or None
        Threads over rows; None means 1, -1 means all cores. The result does not depend on it.
    callback : callable, optional
        Called with the number of slices solved so far, summed over cells.
    checkpoint : path-like, optional
        A file for finished rows. If it exists, its rows are not solved again. It is written every
        few seconds, at the end, and after an error.
    settings : object, optional
        Everything else that `solve` depends on. Its ``repr`` must show all of it: a checkpoint
        with other settings, another Gram tensor or another grid is refused.

    Returns
    -------
    PathSolution

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import GramTensor
    >>> from tensift.solvers import solve_exact, solve_path
    >>> gram = GramTensor(np.diag([9.0, 1.0])[None], thin=False)
    >>> path = solve_path(
    ...     gram, [2.0, 20.0], [1.0], lambda problems, start: solve_exact(problems, start=start))
    >>> np.round(path.norms[:, 0, 0], 3) + 0.0
    array([[0.833, 0.   ],
           [0.   , 0.   ]])
    """
    lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)
    blocks = blocks_of(gram)
    rows = PathRows(
        PathSolution.blank(len(lams), len(etas), gram),
        blocks,
        lams,
        checkpoint,
        lambda: fingerprint(gram.array, gram.thin, lams, etas, ridge, settings),
    )
    # Rows of a block share one object, which keeps the eigenvectors until its last row is done.
    grams: dict[int, GramTensor] = {}
    lock, stop = Lock(), Event()
    done = rows.n_solved
    if callback is not None and done:
        callback(done)

    def count(n_slices: int) -> bool:
        nonlocal done
        with lock:
            done += n_slices
            if callback is not None:
                callback(done)
        return not stop.is_set()

    def work(row: tuple[int, int]) -> list[dict[str, NDArray]]:
        block, eta = row
        with lock:
            block_gram = grams.setdefault(block, gram[blocks[block]])
        return solve_row(block_gram, rows.lams, float(etas[eta]), solve, ridge, count)

    missing = rows.missing

    def store(number: int, cells: list[dict[str, NDArray]]) -> None:
        block, _ = missing[number]
        if rows.store(missing[number], cells):
            del grams[block]

    with rows.written_in_the_end():
        run_tasks(work, missing, n_jobs, store, single_slice=gram.n_slices == 1, stop=stop)
    return rows.path


def solve_row(
    gram: GramTensor,
    lams: NDArray[np.float64],
    eta: float,
    solve: Callable[[SliceProblems, Solution | None], Solution],
    ridge: float,
    go_on: Callable[[int], bool] = bool,
) -> list[dict[str, NDArray]]:
    """Solve a block of slices under one ``eta`` for every ``lam``, each from the solution before.

    Returns what a path keeps of each solution. After every ``lam``, `go_on` is called with the
    number of slices; the row ends if it returns False.
    """
    cells: list[dict[str, NDArray]] = []
    solution = None
    for lam in lams:
        solution = solve(SliceProblems(gram, float(lam), eta, ridge), solution)
        cells.append(_what_is_kept(solution))
        if not go_on(gram.n_slices):
            break
    return cells


class PathRows:
    """The rows of a path: which ones are missing, where they belong, and the checkpoint file.

    Parameters
    ----------
    path : PathSolution
        The arrays to fill in.
    blocks : list of slice
        The blocks of slices.
    lams : ndarray
        The grid in the given order. A row uses ascending order, as in the attribute `lams`.
    checkpoint : path-like or None
        The file.
    key : callable
        Returns the fingerprint of everything that the path depends on. Called if there is a file.
    """

    def __init__(
        self,
        path: PathSolution,
        blocks: list[slice],
        lams: NDArray[np.float64],
        checkpoint: str | os.PathLike[str] | None,
        key: Callable[[], str],
    ) -> None:
        self.path = path
        self._blocks = blocks
        self._ascending = np.argsort(lams)
        self.lams = lams[self._ascending]
        self._finished = np.zeros((len(blocks), path.norms.shape[1]), bool)
        self._kept = None
        if checkpoint is not None:
            arrays = {"finished": self._finished, **vars(path)}
            self._kept = Checkpoint(checkpoint, key(), arrays)

    @property
    def missing(self) -> list[tuple[int, int]]:
        """Block and eta of every row that is not solved yet."""
        return [(int(block), int(eta)) for block, eta in np.argwhere(~self._finished)]

    @property
    def n_solved(self) -> int:
        """The number of solved slices, summed over cells."""
        lengths = [block.stop - block.start for block in self._blocks]
        return int(self._finished.sum(axis=1) @ lengths) * len(self.lams)

    def store(self, row: tuple[int, int], cells: list[dict[str, NDArray]]) -> bool:
        """Fill in a row; return whether it was the last one of its block."""
        block, eta = row
        for lam, cell in zip(self._ascending, cells, strict=True):
            for name, values in cell.items():
                getattr(self.path, name)[lam, eta, self._blocks[block]] = values
        self._finished[block, eta] = True
        if self._kept is not None:
            self._kept.update()
        return bool(self._finished[block].all())

    @contextmanager
    def written_in_the_end(self) -> Iterator[None]:
        """Write the file at the end, also after an error."""
        try:
            yield
        except BaseException as error:
            if self._kept is not None:
                try:
                    self._kept.write()
                except OSError as failure:
                    error.add_note(f"the last finished rows could not be saved: {failure}")
            raise
        if self._kept is not None:
            self._kept.write()


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
