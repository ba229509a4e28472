"""Threads that share the blocks of one computation; each has one thread of linear algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain, pairwise
from numbers import Integral
from typing import Any, Self, TypeVar

import joblib

from tensift._utils.threads import one_blas_thread

__all__ = ["Pool", "count_workers"]

Task = TypeVar("Task")
Result = TypeVar("Result")


def count_workers(n_jobs: int | None) -> int:
    """The number of workers that `n_jobs` asks for, as joblib counts: None is 1, -1 all cores."""
    whole = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise ValueError(
            f"n_jobs must be a number of workers, such as 2, or -1 for all cores; got {n_jobs!r}"
        )
    return int(joblib.effective_n_jobs(n_jobs))


class Pool:
    """A context in which threads share tasks.

    Inside, the linear algebra library has one thread per worker. So the threads never exceed the
    cores, and results do not depend on the number of workers. With `single`, there is one worker:
    tasks run one after the other, and the library uses its own threads.

    Parameters
    ----------
    n_jobs : int or None
        The number of workers, as in joblib: None is 1, -1 is all cores.
    single : bool, default=False
        Use one worker, because tasks are too large or too few to share.
    """

    def __init__(self, n_jobs: int | None, *, single: bool = False) -> None:
        workers = count_workers(n_jobs)
        self.workers = 1 if single else workers
        self._limit: Any = nullcontext() if single else one_blas_thread()
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        self._limit.__enter__()
        if self.workers > 1:
            self._threads = ThreadPoolExecutor(self.workers, "tensift")
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self._threads is not None:
                self._threads.shutdown(wait=True, cancel_futures=True)
        finally:
            self._limit.__exit__(*error)

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
        """Run all tasks. Return their results in order, or raise the error of the first to fail."""
        tasks = list(tasks)
        if self._threads is None or len(tasks) < 2:
            return [work(task) for task in tasks]
        # Give each worker one run of neighbouring tasks: passing single tasks to threads costs more
        # than the work.
        n_groups = min(self.workers, len(tasks))
        ends = [len(tasks) * k // n_groups for k in range(n_groups + 1)]
        groups = [tasks[start:stop] for start, stop in pairwise(ends)]

        @one_blas_thread()  # some BLAS libraries count threads for each caller
        def work_on(group: list[Task]) -> list[Result]:
            return [work(task) for task in group]

        return list(chain.from_iterable(self._threads.map(work_on, groups)))
