"""Get the next item of an iterator in a thread while the current one is in use."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["prefetch"]

Thing = TypeVar("Thing")

_END = object()
_JOIN_TIMEOUT = 10.0  # seconds to wait for the last read when the consumer stops early


def prefetch(things: Iterator[Thing]) -> Generator[Thing, None, None]:
    """Iterate in a separate thread, one item ahead of the consumer.

    Errors of the iterator are raised in the consumer. If this generator is closed, the thread
    ends after the item it is getting.
    """
    queue: Queue[tuple[Any, BaseException | None]] = Queue(maxsize=1)
    stop = Event()

    def run() -> None:
        try:
            for thing in things:
                queue.put((thing, None))
                if stop.is_set():
                    return
            queue.put((_END, None))
        except BaseException as error:  # any error belongs to the consumer
            queue.put((_END, error))

    thread = Thread(target=run, name="tensift-read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            thing, error = queue.get()
            if error is not None:
                raise error
            if thing is _END:
                return
            yield thing
            del thing
    finally:
        stop.set()
        with suppress(Empty):
            while True:  # make room, in case the thread waits to put an item
                queue.get_nowait()
        thread.join(_JOIN_TIMEOUT)
