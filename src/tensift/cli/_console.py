"""What a command says: results on standard output, all else on standard error."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tensift._progress import format_bytes, progress_bar

__all__ = ["Console", "format_bytes", "format_shape"]


class Console:
    """Speaks to the user, or is quiet."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def say(self, text: str = "") -> None:
        """Print a result."""
        if not self.quiet:
            print(text)

    def error(self, text: str) -> None:
        """Print an error, quiet or not."""
        print(f"tensift: error: {text}", file=sys.stderr)

    def progress(self, title: str, total: int) -> Callable[..., None]:
        """Return a function that is told how much is done, as `progress_bar` does."""
        return _ignore if self.quiet else progress_bar(title, total)

    @contextmanager
    def warnings_as_lines(self) -> Iterator[None]:
        """Show each warning to the user as one line, without file names and code."""

        def show(message: Warning | str, *_: Any, **__: Any) -> None:
            if not self.quiet:
                first = str(message).strip().splitlines()[0]
                print(f"tensift: warning: {first}", file=sys.stderr)

        with warnings.catch_warnings():
            # What speaks to programmers (deprecations) is left to Python's own filters.
            for category in (UserWarning, RuntimeWarning):
                warnings.simplefilter("default", category)
            warnings.showwarning = show
            yield


def _ignore(*_: object) -> None:
    pass


def format_shape(shape: tuple[int, ...]) -> str:
    """A shape for people, such as ``8 x 8``."""
    return " x ".join(map(str, shape))
