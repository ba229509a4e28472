"""``tensift report``: write a selection as one page for the browser."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from tensift import StabilitySelection
from tensift._utils.units import format_bytes
from tensift._utils.warnings import warn_user
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments, format_shape
from tensift.cli._constraints import CONSTRAINTS_EPILOG, add_constraint_arguments
from tensift.cli._input import (
    add_input_arguments,
    describe_weighing,
    feature_names_of,
    inputs_of,
    read_input,
)
from tensift.cli._method import (
    add_method_arguments,
    fit_selector,
    make_selector,
    say_constraints,
    say_missing,
)
from tensift.cli._output import OutputFolder, default_output, refuse_inputs
from tensift.cli._pages import add_report_arguments, selection_page
from tensift.cli._stability import (
    add_stability_argument,
    choose_resamples,
    resampled,
    say_stability,
)
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.selection import TensorSelector

__all__ = ["add_parser", "run"]

_TOP = 5  # features that are named

_DESCRIPTION = """\
Select features and write the result as one interactive HTML file that you can share.

The page needs only a browser: no network and no other file. A slider sets the number of
features. The page shows the score map, the kept features on samples (channels as traces), how
many features are worth keeping, how sure each of them is, what the kept features miss and which
of them are redundant, the features as a table, as CSV and as Python, the selections of other
orientations and bases, and certificates if the solver gives some. Small data are also fitted on
20 half-samples.
"""

_EPILOG = """\
examples:
  tensift report images.npy -k 100
  tensift report faces.mat -k 400 --solver exact -o faces.html
  tensift report eeg.npz -k 8 --feature-mode 0 --title "Resting state, 8 channels"

"tensift select" and "tensift compare" write a report too, with --report.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help=COMMANDS["report"],
        description=_DESCRIPTION,
        epilog=f"{_EPILOG}\n{CONSTRAINTS_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_input_arguments(parser)
    add_method_arguments(parser.add_argument_group("method"))
    add_constraint_arguments(parser)
    _add_output_arguments(parser.add_argument_group("output"))


def _add_output_arguments(group: Any) -> None:
    group.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="where to write (default: <file name of the input>-report.html)",
    )  # fmt: skip
    group.add_argument("--title", help="the headline (default: the name of the data)")
    add_stability_argument(group, default=True)
    add_report_arguments(group)
    group.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    add_console_arguments(group)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    path: Path = arguments.output or default_output(arguments.input, "report.html")
    inputs = inputs_of(arguments)
    if arguments.checkpoint is not None:
        refuse_inputs([arguments.checkpoint], inputs)
        inputs.append(arguments.checkpoint)
    dataset = read_input(arguments)
    selector = make_selector(arguments, dataset, console.shows_progress)
    output = OutputFolder(path.parent, [path.name], overwrite=arguments.overwrite, inputs=inputs)
    with output:
        fit_selector(selector, dataset, arguments.input, arguments.checkpoint)
        found = _how_sure(arguments, selector, dataset, console)
        page = selection_page(arguments, selector, dataset, console, arguments.title, found)
        output.write_text(path.name, page)
    shape = format_shape(dataset.feature_shape)
    console.say(f"input     {arguments.input}: {dataset.n_samples} samples of {shape}")
    for word, described in describe_weighing(dataset).items():
        console.say(f"{word:<9} {described}")
    if selector.n_features_to_select == "auto":
        console.say(f"chosen    {selector.suggested_count_.reason}")
    say_missing(console, selector)
    say_constraints(console, selector)
    kept = int(selector.get_support().sum())
    console.say(f"kept      {kept} of {selector._n_observed(selector.scores_.size)} features")
    console.say(f"first     {_first_in_words(selector, feature_names_of(arguments, dataset))}")
    say_stability(console, found)
    console.say(f"written   {path}, {format_bytes(len(page.encode()))}; open it in a browser")
    console.say(f"time      {time.perf_counter() - started:.2f} s")


def _how_sure(
    arguments: argparse.Namespace,
    selector: TensorSelector,
    dataset: TensorDataset,
    console: Console,
) -> StabilitySelection | None:
    """Fit half-samples; if nobody asked for them, a failure only leaves them out."""
    count = choose_resamples(arguments, selector, dataset)
    try:
        return resampled(arguments, selector, dataset, console, count)
    except ValueError as error:
        if arguments.stability is not None:
            raise
        warn_user(f"left out of the report: how sure each feature is; {error}")
        return None


def _first_in_words(selector: TensorSelector, names: Names) -> str:
    """Name the features that were selected first."""
    kept = int(selector.get_support().sum())
    first = selector.order_[: min(_TOP, kept)]
    places = np.transpose(np.unravel_index(first, selector.scores_.shape)).tolist()
    return "; ".join(names.describe(place) for place in places)
