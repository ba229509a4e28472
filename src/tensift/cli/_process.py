"""What the command line does with its process: signals, and streams that are closed or full."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType
from typing import Any

__all__ = [
    "Stopped",
    "explained_output_errors",
    "flush_output",
    "forget_broken_streams",
    "standard_streams",
    "stoppable",
]


class Stopped(BaseException):
    """A signal asks the process to end. Like KeyboardInterrupt, it is no Exception."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise `Stopped` where SIGTERM or SIGHUP would end the process without cleaning up.

    A second signal ends the process at once. Signals that somebody else handles or ignores, such
    as SIGHUP under ``nohup``, are left alone.
    """
    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # Python allows handlers only there
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        for one in taken:
            signal.signal(one, signal.SIG_DFL)
        raise Stopped(number)

    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def standard_streams() -> Iterator[None]:
    """Give the process streams that lead nowhere in place of those that are closed.

    Python has None for them. Besides, the next file that is opened would get the number of the
    closed stream, and with it whatever some library writes there.
    """
    with ExitStack() as stack:
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                setattr(sys, name, stack.enter_context(open(os.devnull, mode, encoding="utf-8")))
                stack.callback(setattr, sys, name, None)
        yield


@contextmanager
def explained_output_errors() -> Iterator[None]:
    """Say that it was the output which could not be written, except to a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"cannot write the output: {error.strerror or error}") from None


def flush_output() -> None:
    """Write what waits for standard output; raise what stands in the way."""
    with explained_output_errors():
        sys.stdout.flush()


def forget_broken_streams() -> None:
    """Lead streams that cannot be written nowhere: Python would complain of them at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _lead_nowhere(stream)


def _lead_nowhere(stream: Any) -> None:
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
