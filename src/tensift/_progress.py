"""Progress of long work, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["byte_progress", "format_bytes", "progress_bar"]

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


def byte_progress(
    title: str,
    total: int | None,
    stream: TextIO | None = None,
    *,
    done: int = 0,
    delay: float = 0.5,
) -> Callable[[int, str], None]:
    """Return a function that is told how many bytes are read, and what these are, and draws it.

    With a `total` it shows how much of it is done and the time left, else how much there was so
    far. Bytes that were `done` before do not count in the rate. It is drawn as by `progress_bar`,
    and where there is no terminal and no total, a line for every doubling.
    """
    out = sys.stderr if stream is None else stream
    in_place = out.isatty()
    begun, started = done, time.monotonic()
    drawn_at, tenth, doubled, width = 0.0, 0, 2 * max(done, 1), 0

    def report(now_done: int, what: str) -> None:
        nonlocal drawn_at, tenth, doubled, width
        now = time.monotonic()
        ends = total is not None and now_done >= total
        if now - started < delay:
            return
        if in_place:
            due = ends or now - drawn_at >= _REDRAW_SECONDS
        elif total is None:
            due = now_done >= doubled
        else:
            due = 10 * now_done // total > tenth
        if not due:
            return
        rate = (now_done - begun) / (now - started)
        drawn_at, doubled = now, 2 * now_done
        line = f"{title}: {format_bytes(now_done)} ({what}), {format_bytes(rate)}/s"
        if total is not None:
            tenth = 10 * now_done // total
            left = _time((total - now_done) / rate)
            line = (
                f"{title} [{'#' * (30 * now_done // total):<30}] {format_bytes(now_done)} of "
                f"{format_bytes(total)} ({what}), {format_bytes(rate)}/s, {left} left"
            )
        if in_place:
            out.write(f"\r{line:<{width}}" + ("\n" if ends else ""))
            width = len(line)
        else:
            out.write(line + "\n")
        out.flush()

    return report


def format_bytes(count: float) -> str:
    """A size in bytes for people, such as ``3.2 MB``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
