"""Threads over blocks of slices, with the linear algebra library held to one thread each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution

__all__ = ["map_slices"]

_BLOCK_ELEMENTS = 100_000  # of a stack solved together: enough to batch, few enough to cache


@cache
def _linear_algebra() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


def map_slices(
    solve: Callable[[SliceProblems], Solution],
    problems: SliceProblems,
    n_jobs: int | None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    """Solve slices in blocks, and put the solutions together in order, whoever finishes first.

    With several slices each worker has one BLAS thread, so workers times threads never exceed
    the cores and the result is the same for every number of workers. A single slice has nothing
    to share out and keeps the BLAS threads instead.
    """
    blocks = _blocks(problems)
    workers = min(joblib.effective_n_jobs(n_jobs), len(blocks))
    if problems.gram.n_slices == 1:
        return solve(problems)
    solutions = []
    finished = 0
    with (
        _linear_algebra().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(workers) as pool,
    ):
        for solution in pool.map(solve, blocks) if workers > 1 else map(solve, blocks):
            solutions.append(solution)
            finished += len(solution.converged)
            if callback is not None:
                callback(finished)
    return Solution.concatenate(solutions)


def _blocks(problems: SliceProblems) -> list[SliceProblems]:
    """Blocks of slices whose number is a power of two: those share out evenly to workers."""
    n_slices, size = problems.gram.n_slices, problems.gram.size
    n_blocks = 1
    while n_blocks < n_slices and n_blocks * _BLOCK_ELEMENTS < n_slices * size**2:
        n_blocks *= 2
    ends = np.linspace(0, n_slices, min(n_blocks, n_slices) + 1).astype(int)
    return [problems[start:end] for start, end in pairwise(ends)]
