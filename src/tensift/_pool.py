"""Threads that share the blocks of one computation, with one thread of linear algebra each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import chain, pairwise
from typing import Any, Self, TypeVar

import joblib

from tensift._threads import one_blas_thread

__all__ = ["Pool"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class Pool:
    """A context in which tasks are shared out to threads.

    Workers times threads of the linear algebra library never exceed the cores: inside, the
    library has one thread, which also makes results the same for every number of workers. With
    `single`, tasks are too large to be shared out: they take turns, and the library has its own
    threads.

    Parameters
    ----------
    n_jobs : int or None
        Workers, as joblib counts them: None is 1, -1 all cores.
    single : bool, default=False
        Whether there is nothing to share out.
    """

    def __init__(self, n_jobs: int | None, *, single: bool = False) -> None:
        self.workers = 1 if single else joblib.effective_n_jobs(n_jobs)
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
        """Do all tasks; their results in order, or the error of the first that failed."""
        tasks = list(tasks)
        if self._threads is None or len(tasks) < 2:
            return [work(task) for task in tasks]
        # Neighbouring tasks go to one worker together: they are small, and handing over is dear.
        ends = [len(tasks) * k // self.workers for k in range(self.workers + 1)]
        groups = [tasks[start:stop] for start, stop in pairwise(ends) if start < stop]
        done = self._threads.map(lambda group: [work(task) for task in group], groups)
        return list(chain.from_iterable(done))
