"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from tensift._utils.progress import progress_bar
from tensift._utils.terminal import printable
from tensift.cli._process import explained_output_errors

__all__ = ["Console", "add_console_arguments", "format_shape", "show"]


def add_console_arguments(group: Any, quiet: str = "print only errors") -> None:
    """Add the options that say how much a command prints; `quiet` is the help of ``--quiet``."""
    group.add_argument("--quiet", action="store_true", help=quiet)
    group.add_argument(
        "--progress", action="store_true",
        help="write progress lines to a log too (default: only to a terminal)",
    )  # fmt: skip


def show(text: str = "", stream: TextIO | None = None) -> None:
    """Print one line, to standard output by default; all that commands print goes through here.

    Control characters are escaped, since names of files and labels may hold any.
    """
    out = sys.stdout if stream is None else stream
    with explained_output_errors():
        print(printable(text, getattr(out, "encoding", None)), file=out)


class Console:
    """Prints what a command has to say.

    Parameters
    ----------
    quiet : bool
        Print only errors.
    progress : bool, default=False
        Show progress even if standard error is not a terminal.
    """

    def __init__(self, quiet: bool, progress: bool = False) -> None:
        self.quiet = quiet
        # Bars depend on the time a command takes. Scripts that read standard error must not.
        self.shows_progress = not quiet and (progress or sys.stderr.isatty())

    def say(self, text: str = "") -> None:
        """Print a result."""
        if not self.quiet:
            show(text)

    def error(self, text: str) -> None:
        """Print an error, also if quiet."""
        with suppress(OSError):  # there is nobody left to tell
            show(f"tensift: error: {text}", sys.stderr)

    def progress(self, title: str, total: int) -> Callable[..., None]:
        """Return a function that draws how much is done (see `progress_bar`)."""
        return progress_bar(title, total) if self.shows_progress else _ignore

    @contextmanager
    def warnings_as_lines(self) -> Iterator[None]:
        """Show each warning to the user as one line, without file names and code."""

        def show_as_line(message: Warning | str, *_: Any, **__: Any) -> None:
            if not self.quiet:
                first = str(message).strip().splitlines()[0]
                show(f"tensift: warning: {first}", sys.stderr)

        with warnings.catch_warnings():
            # Deprecations concern programmers, so they are left to Python's own filters.
            for category in (UserWarning, RuntimeWarning):
                warnings.simplefilter("default", category)
            warnings.showwarning = show_as_line
            yield


def _ignore(*_: object) -> None:
    pass


def format_shape(shape: tuple[int, ...]) -> str:
    """A shape for people, such as ``8 x 8``."""
    return " x ".join(map(str, shape))
