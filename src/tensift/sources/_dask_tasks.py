"""Run Dask tasks under the scheduler that is active; this module never starts one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

__all__ = ["active_cluster", "gather_results", "in_processes", "keep_on_workers"]

# Tasks are `Delayed` objects. They are typed `Any`, because Dask has no types and is an optional
# dependency that is imported only inside functions.


def active_cluster() -> Any:
    """Return the ``dask.distributed`` client if its scheduler is the active one, else None."""
    import dask

    client = getattr(dask.base.get_scheduler(), "__self__", None)
    return client if hasattr(client, "persist") else None


def in_processes() -> bool:
    """Whether tasks run in processes that keep no results, so every task is sent all its input."""
    import dask
    import dask.multiprocessing

    return dask.base.get_scheduler() is dask.multiprocessing.get


def keep_on_workers(tasks: Sequence[Any]) -> list[Any]:
    """Compute tasks and leave their results on the workers of a cluster."""
    import dask

    return list(dask.persist(*tasks))


def gather_results(
    tasks: Sequence[Any],
    on_result: Callable[[int, Any], None] | None = None,
    on_task: Callable[[Any], None] | None = None,
) -> list[Any]:
    """Compute tasks and return their results, in order.

    ``on_result(number, result)`` is called as each of `tasks` is done. ``on_task(key)`` is called
    for every task of the graph that is done, but only by schedulers that run in this process.
    """
    client = active_cluster()
    if client is None:
        return _gather_here(tasks, on_result, on_task)
    from distributed import as_completed

    futures = client.compute(list(tasks))
    numbers = {future.key: number for number, future in enumerate(futures)}
    results: list[Any] = [None] * len(futures)
    for future, result in as_completed(futures, with_results=True):
        number = numbers[future.key]
        results[number] = result
        if on_result is not None:
            on_result(number, result)
    return results


def _gather_here(
    tasks: Sequence[Any],
    on_result: Callable[[int, Any], None] | None,
    on_task: Callable[[Any], None] | None,
) -> list[Any]:
    import dask
    from dask.callbacks import Callback
    from dask.multiprocessing import RemoteException

    numbers = {task.key: number for number, task in enumerate(tasks)}

    def after(key: Any, result: Any, *_: Any) -> None:
        if on_task is not None:
            on_task(key)
        if on_result is not None and key in numbers:
            on_result(numbers.pop(key), result)

    try:
        silent = on_result is None and on_task is None
        with nullcontext() if silent else Callback(posttask=after):
            results = list(dask.compute(*tasks))
    except RemoteException as error:  # the process scheduler wraps errors of its workers
        raise error.exception from error
    if on_result is not None:
        for number in numbers.values():  # results that Dask did not have to compute
            on_result(number, results[number])
    return results
