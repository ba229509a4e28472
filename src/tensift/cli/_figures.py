"""Figures for files: never shown in a window, and with the same bytes every time."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING

from tensift._utils.warnings import warn_user
from tensift.cli._output import OutputFolder
from tensift.plotting import require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS",
    "figure_for_file",
    "require_figures",
    "save_figure",
    "warn_not_made",
    "write_figure",
]

FORMATS = ("png", "svg", "pdf")
# Without these, files would hold the time of day.
_NO_DATES: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}


def require_figures() -> None:
    """Raise an error that says how to go on without matplotlib, if it is missing."""
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
    """Write a figure to an open file; `format` may be in capitals, as in ``PLAN.PNG``."""
    format = format.lower()
    figure.savefig(stream, format=format, dpi=150, metadata=_NO_DATES.get(format))


def write_figure(
    output: OutputFolder, stem: str, formats: Sequence[str], draw: Callable[[Figure], object]
) -> bool:
    """Draw a figure and write it in some formats; return whether that was possible.

    If drawing fails, there is a warning and no picture, but all other results are written.
    """
    drawn: dict[str, bytes] = {}
    try:
        with figure_for_file() as figure:
            draw(figure)
            for suffix in formats:
                stream = io.BytesIO()
                save_figure(figure, stream, suffix)
                drawn[f"{stem}.{suffix}"] = stream.getvalue()
    except Exception as error:
        warn_not_made(f"{stem}.{formats[0]}", error)
        return False
    for name, content in drawn.items():
        output.write_bytes(name, content)
    return True


def warn_not_made(name: str, error: Exception) -> None:
    """Warn that a picture or page is missing, and why, in one line."""
    lines = str(error).strip().splitlines()
    reason = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    warn_user(f"{name} could not be drawn ({reason}); the other results are not affected")
