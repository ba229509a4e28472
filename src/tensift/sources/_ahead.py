"""An iterator that is asked for the next thing while the last is being used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, TypeVar

__all__ = ["ahead"]

Thing = TypeVar("Thing")

_END = object()
_PATIENCE = 10.0  # seconds for a read to end after nobody wants it any more


def ahead(things: Iterator[Thing]) -> Generator[Thing, None, None]:
    """Iterate in a thread of its own, by one thing ahead of who takes them.

    What the iterator raises is raised here. When this one is closed, the thread ends after the
    thing that it is at.
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
        except BaseException as error:  # whatever it is, it belongs to who takes the things
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
            while True:  # whoever waits for a place in the queue gets one
                queue.get_nowait()
        thread.join(_PATIENCE)
