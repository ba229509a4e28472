"""The parser of the command line, and what every command does on the way out."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import tensift
from tensift.cli import _compare, _demo, _info, _paper, _plan, _report, _select
from tensift.cli._console import Console

__all__ = ["main"]

_EPILOG = """\
examples:
  tensift demo                              see it work, on data that need no download
  tensift info recording.npz                what is in a file, and how to go on
  tensift select images.npy -k 100          the 100 best pixels, with a picture
  tensift select eeg.mat -k 8 --feature-mode 0   the 8 best channels
  tensift report images.npy -k 100          the same as a page for the browser
  tensift compare images.npy -k 100         which method to choose, on your own data
  tensift plan --shape 64,64 --samples 1e6  memory and time of a job before it is run

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
        usage, 130 interrupted.

    Examples
    --------
    >>> from tensift.cli import main
    >>> main(["--version"])
    tensift ...
    0
    """
    try:
        arguments = _make_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed help, the version or what was wrong
        return int(stop.code or 0)
    console = Console(quiet=arguments.quiet)
    try:
        with console.warnings_as_lines():
            arguments.run(arguments, console)
            sys.stdout.flush()
    except KeyboardInterrupt:
        console.error("interrupted")
        return 130
    except BrokenPipeError:
        # Whoever read our output has stopped; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MemoryError:
        console.error("not enough memory; tensift info shows what each orientation needs")
        return 1
    except (ValueError, OSError, ImportError) as error:
        console.error(_first_line(error))
        return 1
    return 0


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tensift",
        description="Choose the few features that matter in tensor data, without labels.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tensift {tensift.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (_select, _report, _compare, _info, _plan, _paper, _demo):
        command.add_parser(commands)
    return parser


def _first_line(error: Exception) -> str:
    """What went wrong, without the advice that libraries add in further lines."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
