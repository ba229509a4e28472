"""The parser of the command line, and how every command ends."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import tensift
from tensift._utils.temporary import remove_abandoned
from tensift._utils.terminal import printable
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console
from tensift.cli._process import (
    Stopped,
    flush_output,
    forget_broken_streams,
    standard_streams,
    stoppable,
)

__all__ = ["main"]

_EPILOG = """\
examples:
  tensift demo                              try it on data that need no download
  tensift info recording.npz                what is in a file, and what to do next
  tensift select images.npy -k 100          the 100 best pixels, with a picture
  tensift select eeg.mat -k 8 --feature-mode 0   the 8 best channels
  tensift report images.npy -k 100          the same as a page for the browser
  tensift compare images.npy -k 100         which method is best on your own data
  tensift plan --shape 64,64 --samples 1e6  the memory and time of a job before you run it

"tensift COMMAND --help" explains a command. Data are tensors, samples first:
(n, d_1, ..., d_m). Feature modes are counted from 0.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        The exit status: 0 done, 1 bad data or a file that cannot be read or written, 2 wrong
        usage, 130 interrupted, 143 terminated (128 and the number of the signal).

    Examples
    --------
    >>> from tensift.cli import main
    >>> main(["--version"])
    tensift ...
    0
    """
    with standard_streams():
        try:
            with stoppable():
                return _run(argv)
        finally:
            forget_broken_streams()


def _run(argv: Sequence[str] | None) -> int:
    console = Console(quiet=False)
    try:
        return _run_command(argv)
    except KeyboardInterrupt:
        remove_abandoned()
        console.error("interrupted")
        return 130
    except Stopped as stop:
        remove_abandoned()
        console.error("terminated")
        return 128 + stop.number
    except BrokenPipeError:
        return 1  # whoever read our output has stopped
    except MemoryError:
        console.error("not enough memory; tensift info shows how much each orientation needs")
        return 1
    except (ValueError, OSError, ImportError) as error:
        console.error(_first_line(error))
        return 1


def _run_command(argv: Sequence[str] | None) -> int:
    try:
        given = sys.argv[1:] if argv is None else argv
        arguments = _make_parser(given).parse_args(given)
    except SystemExit as stop:  # argparse has printed help, the version or what was wrong
        flush_output()
        return int(stop.code or 0)
    console = Console(arguments.quiet, getattr(arguments, "progress", False))
    with console.warnings_as_lines():
        arguments.run(arguments, console)
    flush_output()
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are safe to print."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _make_parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Make the parser; of all commands, only the one that is called is loaded."""
    parser = _Parser(
        prog="tensift",
        description="Choose the few features that matter in tensor data, without labels.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tensift {tensift.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    called = next((word for word in given if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name == called:
            import_module(f"tensift.cli._{name}").add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser


def _first_line(error: Exception) -> str:
    """The first line of an error; libraries add advice for programmers in further lines."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
