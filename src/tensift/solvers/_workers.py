"""Threads over blocks of slices, with one BLAS thread each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import fields, replace
from threading import Event, Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import count_workers
from tensift._utils.threads import one_blas_thread
from tensift.moments import blocks_of
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution

__all__ = ["map_slices", "run_tasks"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_slices(
    solve: Callable[..., Solution],
    problems: SliceProblems,
    n_jobs: int | None,
    callback: Callable[[int], None] | None = None,
    start: Solution | None = None,
) -> Solution:
    """Solve slices in blocks, and join the solutions in order, whichever block finishes first.

    ``solve(block)`` is called, or ``solve(block, start_of_block)`` if there is a `start`.
    """
    blocks = blocks_of(problems.gram)
    solutions: list[Solution] = [None] * len(blocks)  # type: ignore[list-item]
    operators = _JoinedOperators(problems.gram.n_slices)
    finished = 0

    def solve_block(block: slice) -> Solution:
        if len(blocks) == 1:
            return solve(problems) if start is None else solve(problems, start)
        part = problems[block]
        solution = solve(part) if start is None else solve(part, _part_of(start, block))
        return operators.moved(solution, block)

    def store(number: int, solution: Solution) -> None:
        nonlocal finished
        solutions[number] = solution
        finished += len(solution.converged)
        if callback is not None:
            callback(finished)

    run_tasks(solve_block, blocks, n_jobs, store, single_slice=problems.gram.n_slices == 1)
    return solutions[0] if len(blocks) == 1 else operators.concatenated(solutions)


def run_tasks(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    n_jobs: int | None,
    store: Callable[[int, Result], None],
    *,
    single_slice: bool = False,
    stop: Event | None = None,
) -> None:
    """Run all tasks, and call ``store(number, result)`` in this thread after each of them.

    Each worker has one BLAS thread. So there are never more threads than cores, and results do not
    depend on the number of workers. With `single_slice`, tasks run one after the other and use all
    BLAS threads.

    After an error, no further task starts, and `stop` is set: running tasks may check it and end
    early.
    """
    workers = min(count_workers(n_jobs), len(tasks))
    workers = 1 if single_slice else workers
    with nullcontext() if single_slice else one_blas_thread():
        if workers <= 1:
            for number, task in enumerate(tasks):
                store(number, work(task))
            return
        limited = one_blas_thread()(work)  # some BLAS libraries count threads for each caller
        with ThreadPoolExecutor(workers) as pool:
            futures = {pool.submit(limited, task): number for number, task in enumerate(tasks)}
            try:
                for future in as_completed(futures):
                    store(futures.pop(future), future.result())
            except BaseException:
                if stop is not None:
                    stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class _JoinedOperators:
    """One array for the operators of all slices. Workers write to it what they have found.

    If they were joined at the end, one thread would copy all of them while the others wait.
    """

    def __init__(self, n_slices: int) -> None:
        self._n_slices = n_slices
        self._array: NDArray | None = None
        self._lock = Lock()

    def moved(self, solution: Solution, block: slice) -> Solution:
        """Move the operators of a block to the array; factors stay where they are."""
        found = solution.found
        if not isinstance(found, np.ndarray):
            return solution
        with self._lock:
            if self._array is None:
                self._array = np.empty((self._n_slices, *found.shape[1:]), found.dtype)
        self._array[block] = found
        return replace(solution, found=self._array[block])

    def concatenated(self, solutions: Sequence[Solution]) -> Solution:
        """Return the solutions of all blocks as one."""
        whole = all(isinstance(one.found, np.ndarray) for one in solutions)
        return Solution.concatenate(solutions, self._array if whole else None)


def _part_of(solution: Solution, block: slice) -> Solution:
    """The solution of some of the slices."""
    values = {field.name: getattr(solution, field.name) for field in fields(solution)}
    kept = {name: value[block] for name, value in values.items() if value is not None}
    return replace(solution, **kept)
