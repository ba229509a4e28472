"""Progress of long work, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["progress_bar"]

_REDRAW_SECONDS = 0.1


def progress_bar(
    title: str, total: int, stream: TextIO | None = None, delay: float = 0.5
) -> Callable[..., None]:
    """Return a function that is told how much is done and draws it.

    It is called with the amount, and the seconds left where the caller knows better than by rule of
    three.

    Nothing is drawn for work that ends within `delay` seconds. On a terminal the line is redrawn
    in place; elsewhere a line is written at every tenth.
    """
    out = sys.stderr if stream is None else stream
    in_place = out.isatty()
    started = time.monotonic()
    drawn_at, tenth, width = 0.0, 0, 0

    def report(done: int, seconds_left: float | None = None) -> None:
        nonlocal drawn_at, tenth, width
        now = time.monotonic()
        ends = done >= total
        if now - started < delay or total < 1:
            return
        if in_place:
            due = ends or now - drawn_at >= _REDRAW_SECONDS
        else:
            due = 10 * done // total > tenth
        if not due:
            return
        drawn_at, tenth = now, 10 * done // total
        left = (now - started) * (total - done) / done if done else 0.0
        left = left if seconds_left is None else seconds_left
        line = f"{title} [{'#' * (30 * done // total):<30}] {done}/{total}, {_time(left)} left"
        if in_place:
            # A line shorter than the last would leave the last one's end on the screen.
            out.write(f"\r{line:<{width}}" + ("\n" if ends else ""))
            width = len(line)
        else:
            out.write(line + "\n")
        out.flush()

    return report


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
