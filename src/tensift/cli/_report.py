"""``tensift report``: a selection as one page for the browser."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from tensift import STPCASelector
from tensift.cli._console import Console, format_bytes, format_shape
from tensift.cli._input import add_input_arguments, read_input
from tensift.cli._method import add_method_arguments, fit_selector, selector_parameters
from tensift.cli._output import OutputFolder
from tensift.cli._pages import add_report_arguments, selection_page
from tensift.cli._stability import add_stability_argument, resampled, say_stability
from tensift.report import suggest_cut

__all__ = ["add_parser", "run"]

_DESCRIPTION = """\
Select features and write what was found as one HTML file, to look at, to try, and to send on.

The page needs a browser and nothing else: no network, no other file. It has the score map, the
kept features over samples (channels as traces), the score curve with a suggestion where to cut,
other orientations and transforms beside it, the certificates of the slices, and the features as
a table, as CSV and as Python; all for any number of features, by a slider.
"""

_EPILOG = """\
examples:
  tensift report images.npy -k 100
  tensift report faces.mat -k 400 --solver exact -o faces.html
  tensift report eeg.npz -k 8 --feature-mode 0 --title "Resting state, 8 channels"

"tensift select" and "tensift compare" write a report beside their other files with --report.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="a selection as one page for the browser",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_input_arguments(parser)
    add_method_arguments(parser.add_argument_group("method"))
    _add_output_arguments(parser.add_argument_group("output"))


def _add_output_arguments(group: Any) -> None:
    group.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="where to write (default: <name of the input>-report.html)",
    )  # fmt: skip
    group.add_argument("--title", help="the headline (default: the name of the data)")
    add_stability_argument(group)
    add_report_arguments(group)
    group.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    path: Path = arguments.output or Path(f"{arguments.input.stem}-report.html")
    dataset = read_input(arguments)
    parameters = selector_parameters(arguments, dataset)
    with OutputFolder(path.parent, [path.name], overwrite=arguments.overwrite) as output:
        selector = STPCASelector(**parameters, verbose=not console.quiet)
        fit_selector(selector, dataset, arguments.input, arguments.checkpoint)
        found = resampled(arguments, parameters, dataset, console)
        page = selection_page(arguments, selector, dataset, console, arguments.title, found)
        output.write_text(path.name, page)
    shape = format_shape(dataset.feature_shape)
    console.say(f"input     {arguments.input}: {dataset.n_samples} samples of {shape}")
    kept = int(selector.get_support().sum())
    console.say(f"kept      {kept} of {selector.scores_.size} features")
    cut = suggest_cut(selector.scores_)
    console.say(f"suggested {'no cut' if cut is None else cut.count}, by the bend of the scores")
    say_stability(console, found)
    console.say(f"written   {path}, {format_bytes(len(page.encode()))}; open it in a browser")
    console.say(f"time      {time.perf_counter() - started:.2f} s")
