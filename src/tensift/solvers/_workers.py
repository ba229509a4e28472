"""Threads over blocks of slices, with the linear algebra library held to one thread each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import joblib
from threadpoolctl import ThreadpoolController

from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution

__all__ = ["map_blocks"]


@cache
def _linear_algebra() -> ThreadpoolController:
    # Looking for the loaded libraries takes milliseconds, so it is done once.
    return ThreadpoolController()


def map_blocks(
    solve: Callable[[SliceProblems], Solution],
    blocks: Sequence[SliceProblems],
    n_jobs: int | None,
    n_slices: int,
    callback: Callable[[int], None] | None = None,
) -> list[Solution]:
    """Solve blocks of slices in order of their index, whoever finishes first.

    With several slices each worker has one BLAS thread, so workers times threads never exceed
    the cores and the result is the same for every number of workers. A single slice has nothing
    to share out and keeps the BLAS threads instead.
    """
    workers = min(joblib.effective_n_jobs(n_jobs), len(blocks))
    if n_slices == 1:
        return [solve(blocks[0])]
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
    return solutions
