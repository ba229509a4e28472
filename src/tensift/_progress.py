"""Progress of long work, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["progress_bar"]


def progress_bar(
    title: str, total: int, stream: TextIO | None = None, delay: float = 0.5
) -> Callable[[int], None]:
    """Return a function that is told how much is done and draws it.

    Nothing is drawn for work that ends within `delay` seconds. On a terminal the line is redrawn
    in place; elsewhere a line is written at every tenth.
    """
    out = sys.stderr if stream is None else stream
    in_place = out.isatty()
    started = time.monotonic()
    state = {"drawn": 0.0, "tenth": 0}

    def report(done: int) -> None:
        now = time.monotonic()
        if now - started < delay:
            return
        ends = done >= total
        if in_place and not ends and now - state["drawn"] < 0.1:
            return
        if not in_place and (tenth := 10 * done // total) == state["tenth"]:
            return
        elif not in_place:
            state["tenth"] = tenth
        state["drawn"] = now
        left = (now - started) * (total - done) / done if done else 0.0
        bar = "#" * (30 * done // total)
        line = f"{title} [{bar:<30}] {done}/{total}, {left:.0f} s left"
        out.write(f"\r{line}" + ("\n" if ends else "") if in_place else line + "\n")
        out.flush()

    return report
