"""Threads over blocks of slices, with the linear algebra library held to one thread each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import fields, replace
from itertools import pairwise
from threading import Event
from typing import Protocol, TypeVar

import joblib
import numpy as np

from tensift._threads import linear_algebra
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution

__all__ = ["Stack", "blocks_of", "map_slices", "run_tasks"]

_BLOCK_ELEMENTS = 100_000  # of a stack solved together: enough to batch, few enough to cache

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_slices(
    solve: Callable[..., Solution],
    problems: SliceProblems,
    n_jobs: int | None,
    callback: Callable[[int], None] | None = None,
    start: Solution | None = None,
) -> Solution:
    """Solve slices in blocks, and put the solutions together in order, whoever finishes first.

    Calls ``solve(block)``, or ``solve(block, start_of_block)`` if there is a `start`.
    """
    blocks = blocks_of(problems.gram)
    solutions: list[Solution] = [None] * len(blocks)  # type: ignore[list-item]
    finished = 0

    def solve_block(block: slice) -> Solution:
        part = problems if len(blocks) == 1 else problems[block]
        return solve(part) if start is None else solve(part, _part_of(start, block))

    def store(number: int, solution: Solution) -> None:
        nonlocal finished
        solutions[number] = solution
        finished += len(solution.converged)
        if callback is not None:
            callback(finished)

    run_tasks(solve_block, blocks, n_jobs, store, single_slice=problems.gram.n_slices == 1)
    return Solution.concatenate(solutions)


def run_tasks(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    n_jobs: int | None,
    store: Callable[[int, Result], None],
    *,
    single_slice: bool = False,
    stop: Event | None = None,
) -> None:
    """Do every task, and `store` its number and result, in this thread, when it is done.

    Each worker has one BLAS thread, so workers times threads never exceed the cores, and results
    are the same for every number of workers. Tasks on a single slice keep the BLAS threads
    instead, and take turns.

    If anything raises, tasks that have not begun never will, and `stop` is set for those that
    have: they may look at it and end early.
    """
    workers = min(joblib.effective_n_jobs(n_jobs), len(tasks))
    workers = 1 if single_slice else workers
    with nullcontext() if single_slice else linear_algebra().limit(limits=1, user_api="blas"):
        if workers <= 1:
            for number, task in enumerate(tasks):
                store(number, work(task))
            return
        with ThreadPoolExecutor(workers) as pool:
            futures = {pool.submit(work, task): number for number, task in enumerate(tasks)}
            try:
                for future in as_completed(futures):
                    store(futures.pop(future), future.result())
            except BaseException:
                if stop is not None:
                    stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class Stack(Protocol):
    """Anything that has slices of equal size."""

    @property
    def n_slices(self) -> int: ...

    @property
    def size(self) -> int: ...


def blocks_of(gram: Stack) -> list[slice]:
    """Blocks of slices whose number is a power of two: those share out evenly to workers."""
    n_blocks = 1
    while n_blocks < gram.n_slices and n_blocks * _BLOCK_ELEMENTS < gram.n_slices * gram.size**2:
        n_blocks *= 2
    ends = np.linspace(0, gram.n_slices, min(n_blocks, gram.n_slices) + 1).astype(int)
    return [slice(int(start), int(end)) for start, end in pairwise(ends)]


def _part_of(solution: Solution, block: slice) -> Solution:
    """The solution of some of the slices."""
    values = {field.name: getattr(solution, field.name) for field in fields(solution)}
    kept = {name: value[block] for name, value in values.items() if value is not None}
    return replace(solution, **kept)
