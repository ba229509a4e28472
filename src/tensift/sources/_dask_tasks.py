"""Running Dask tasks under whichever scheduler is in charge; none is ever started here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

__all__ = ["cluster", "gather", "in_processes", "keep"]

# Dask has no types, and is imported only where there is an array of it: `Any` is a `Delayed`.


def cluster() -> Any:
    """The client of ``dask.distributed`` whose scheduler is in charge, None if another one is."""
    import dask

    client = getattr(dask.base.get_scheduler(), "__self__", None)
    return client if hasattr(client, "persist") else None


def in_processes() -> bool:
    """Whether tasks go to processes that keep nothing, and take all their input with them."""
    import dask
    import dask.multiprocessing

    return dask.base.get_scheduler() is dask.multiprocessing.get


def keep(tasks: Sequence[Any]) -> list[Any]:
    """Compute tasks and leave their results where they are: on the workers of a cluster."""
    import dask

    return list(dask.persist(*tasks))


def gather(
    tasks: Sequence[Any],
    store: Callable[[int, Any], None] | None = None,
    watch: Callable[[Any], None] | None = None,
) -> list[Any]:
    """Results of tasks, in their order.

    `store` is told the number and the result of each as it is done. `watch` is told the keys of
    all that is computed on the way, by the schedulers that run in this process.
    """
    client = cluster()
    if client is None:
        return _gather_here(tasks, store, watch)
    from distributed import as_completed

    futures = client.compute(list(tasks))
    numbers = {future.key: number for number, future in enumerate(futures)}
    results: list[Any] = [None] * len(futures)
    for future, result in as_completed(futures, with_results=True):
        number = numbers[future.key]
        results[number] = result
        if store is not None:
            store(number, result)
    return results


def _gather_here(
    tasks: Sequence[Any],
    store: Callable[[int, Any], None] | None,
    watch: Callable[[Any], None] | None,
) -> list[Any]:
    import dask
    from dask.callbacks import Callback
    from dask.multiprocessing import RemoteException

    numbers = {task.key: number for number, task in enumerate(tasks)}

    def after(key: Any, result: Any, *_: Any) -> None:
        if watch is not None:
            watch(key)
        if store is not None and key in numbers:
            store(numbers.pop(key), result)

    try:
        with nullcontext() if store is watch is None else Callback(posttask=after):
            results = list(dask.compute(*tasks))
    except RemoteException as error:  # of another process, which has wrapped it
        raise error.exception from error
    if store is not None:
        for number in numbers.values():  # those that were known already
            store(number, results[number])
    return results
