"""Figures for files: never shown, never registered, the same bytes every time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from tensift.plotting._matplotlib import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "figure_for_file", "require_figures", "save_figure"]

FORMATS = ("png", "svg", "pdf")
# Files would otherwise carry the time of day.
_NO_DATES: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def require_figures() -> None:
    """Say that matplotlib is missing, and how to go on without it."""
    try:
        require_matplotlib()
    except ImportError as error:
        raise ImportError(f"{error}, or pass --no-figure") from None


@contextlib.contextmanager
def figure_for_file() -> Iterator[Figure]:
    """An empty figure in matplotlib's own style, whatever the user's settings are."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.style import context

    with context("default"), matplotlib.rc_context({"svg.hashsalt": "tensift"}):
        yield Figure()


def save_figure(figure: Figure, stream: IO[bytes], format: str) -> None:
    """Write a figure to an open file."""
    figure.savefig(stream, format=format, dpi=150, metadata=_NO_DATES.get(format))
