"""Progress of long work, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from tensift._utils.terminal import printable
from tensift._utils.units import format_bytes

__all__ = ["byte_progress", "progress_bar"]

_DELAY_SECONDS = 0.5  # shorter work shows no progress
_REDRAW_SECONDS = 0.1


def progress_bar(
    title: str, total: int, stream: TextIO | None = None, delay: float | None = None
) -> Callable[..., None]:
    """Return ``report(done, seconds_left=None)``, which draws how much of `total` is done.

    `report` estimates the remaining time from the time so far, unless the caller passes a better
    estimate. It draws nothing in the first `delay` seconds. On a terminal it redraws one line. In
    a log it writes a line at every tenth.
    """
    out = sys.stderr if stream is None else stream
    delay = _DELAY_SECONDS if delay is None else delay
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
            # Pad with spaces, because a shorter line would leave the end of the last one visible.
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
    delay: float | None = None,
) -> Callable[[int, str], None]:
    """Return ``report(bytes_done, what)``, which draws how many bytes were read.

    With a `total`, `report` also draws the remaining time. Bytes that were `done` before the start
    do not count in the rate. It draws when `progress_bar` would; in a log and without a total, it
    writes a line whenever the number of bytes has doubled.
    """
    out = sys.stderr if stream is None else stream
    delay = _DELAY_SECONDS if delay is None else delay
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
        what = printable(what)
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


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
