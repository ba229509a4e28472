"""Limit the processor time of a computation."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["OverLimit", "can_limit", "time_limit"]


class OverLimit(BaseException):
    """The time limit is reached. Not an Exception, so that no ``except Exception`` catches it."""


def can_limit() -> bool:
    """Whether the system and the current thread support the signal that this needs."""
    return hasattr(signal, "SIGPROF") and threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OverLimit` after this many seconds of processor time; None for no limit."""
    if seconds is None:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OverLimit

    earlier = signal.signal(signal.SIGPROF, stop)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, earlier)
