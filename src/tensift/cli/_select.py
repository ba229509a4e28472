"""``tensift select``: rank the features of a file, and write the best to files."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensift import StabilitySelection, STPCASelector
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments, format_shape
from tensift.cli._constraints import CONSTRAINTS_EPILOG, add_constraint_arguments
from tensift.cli._figures import FORMATS, require_figures, warn_not_made, write_figure
from tensift.cli._input import (
    add_input_arguments,
    describe_weighing,
    feature_names_of,
    inputs_of,
    names_of,
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
from tensift.cli._record import python_imports, python_line, ranking_table, settings_of
from tensift.cli._stability import add_stability_argument, resampled, say_stability, stability_table
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.plotting import SelectionDisplay
from tensift.selection import TensorSelector

__all__ = ["add_parser", "run"]

_TABLES = ("scores.npy", "selected.npy", "ranking.csv", "settings.json")
_REPORT = "report.html"
_STABILITY = "stability.csv"
_TOP = 5

_DESCRIPTION = """\
Select features of a data tensor, by STPCA-MP or by another method, and write them to files.

Methods: geometry keeps samples recognisable and is the fastest; stpca, the default, does the same
with scores of a sparse, certified model of which features reconstruct which; columnsubset predicts
the features that are left out. See tensift compare for how they do on your data.

Data have the shape (n, d_1, ..., d_m): samples first, then the feature modes, counted from 0. If
the file names them, options take the names too, and all results have them.
  orientation    the mode along which features predict each other: for images, with 0 each pixel
                 is predicted from the others in its column, with 1 from those in its row
  basis          the transform along the other modes: none (identity), or a change of basis
                 (dft, dct, haar, eigen, random, a matrix) that mixes them
  feature mode   by default every element (pixel) is a feature; with a feature mode, every index
                 along that mode (channel, band) is one
  lam, eta       the penalties: larger values concentrate the scores on fewer features
"""

_EPILOG = """\
written to the output folder:
  ranking.csv     all features in the order of selection, with indices, names and scores
  selected.npy    flat (row-major) indices of the selected features, in increasing order
  scores.npy      the score map
  selection.png   the score map, the selected features on a sample, the score curve, convergence
  stability.csv   with --stability: how often half-samples keep each feature; also a picture
  report.html     with --report: an interactive page for the browser
  settings.json   every parameter, the versions and the input's checksum

In CSV files, names that a spreadsheet would run, such as =A1, begin with an apostrophe.

examples:
  tensift select digits.npy                             choose the number of features too
  tensift select digits.npy -k 20
  tensift select digits.npy -k 20 --method geometry     without a model, in no time
  tensift select faces.mat -k 0.1 --orientation 1 --basis dct -o faces
  tensift select eeg.npz -k 8 --feature-mode 0          select channels, not elements
  tensift select eeg.npz -k 8 --feature-mode channel    the same, if the file names its modes
  tensift select cube.h5 --variable cube -k 500 --basis haar,dct --jobs -1
  tensift select images.npy -k 100 --stability 50       say which features stay selected
  tensift select table.csv -k 10 --labels species       do not take the labels for a feature
  tensift select eeg.npz -k 8 --feature-mode 0 --groups subject   all subjects count equally
  tensift select eeg.npz -k 8 --feature-mode 0 --include Cz --constraints sensors.csv --budget 12
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "select",
        help=COMMANDS["select"],
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
        "-o", "--output", type=Path, metavar="FOLDER",
        help="where to write (default: <file name of the input>-tensift)",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=FORMATS, default="png", help="the format of the figure (default: png)"
    )
    group.add_argument("--no-figure", action="store_true", help="write no figure")
    add_stability_argument(group)
    group.add_argument(
        "--report", action="store_true", help="also write a page for the browser: report.html"
    )
    add_report_arguments(group)
    group.add_argument("--overwrite", action="store_true", help="replace earlier results")
    add_console_arguments(group)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    if not arguments.no_figure:
        require_figures()
    folder = arguments.output or default_output(arguments.input, "tensift")
    pictures = (f"{name}.{suffix}" for name in ("selection", "stability") for suffix in FORMATS)
    names = (*_TABLES, _REPORT, _STABILITY, *pictures)
    inputs = inputs_of(arguments)
    if arguments.checkpoint is not None:
        refuse_inputs([arguments.checkpoint], inputs)
        inputs.append(arguments.checkpoint)
    dataset = read_input(arguments)
    selector = make_selector(arguments, dataset, console.shows_progress)
    with OutputFolder(folder, names, overwrite=arguments.overwrite, inputs=inputs) as output:
        fit_selector(selector, dataset, arguments.input, arguments.checkpoint)
        feature_names = feature_names_of(arguments, dataset)
        output.write("scores.npy", lambda stream: _save(stream, selector.scores_))
        output.write(
            "selected.npy", lambda stream: _save(stream, selector.get_support(indices=True))
        )
        output.write_text("ranking.csv", ranking_table(selector, feature_names))
        settings = settings_of(arguments, selector, dataset)
        output.write_text("settings.json", json.dumps(settings, indent=2) + "\n")
        stability = resampled(arguments, selector, dataset, console, arguments.stability)
        if stability is not None:
            output.write_text(_STABILITY, stability_table(stability, feature_names))
        if not arguments.no_figure:
            _write_figure(output, selector, dataset, arguments.format)
            if stability is not None:
                _write_stability(output, stability, arguments.format)
        if arguments.report:
            _write_page(output, arguments, selector, dataset, console, stability)
    _summarise(console, arguments, selector, dataset, feature_names)
    say_stability(console, stability)
    console.say(f"written   {folder}{os.sep}: {', '.join(output.written)}")
    console.say(f"time      {time.perf_counter() - started:.2f} s")
    console.say(f"in Python {python_imports(arguments, selector)}")
    console.say(f"          {python_line(arguments, selector, dataset)}")


def _save(stream: IO[bytes], array: np.ndarray) -> None:
    np.save(stream, array, allow_pickle=False)


def _write_figure(
    output: OutputFolder, selector: TensorSelector, dataset: TensorDataset, format: str
) -> None:
    kept, total = int(selector.get_support().sum()), selector._n_observed(selector.scores_.size)
    display = SelectionDisplay(
        selector,
        dataset,
        title=f"{dataset.name}: {kept} of {total} features kept",
    )
    write_figure(output, "selection", [format], display.plot)


def _write_stability(output: OutputFolder, found: StabilitySelection, format: str) -> None:
    write_figure(output, "stability", [format], lambda figure: found.plot(figure=figure))


def _write_page(
    output: OutputFolder,
    arguments: argparse.Namespace,
    selector: TensorSelector,
    dataset: TensorDataset,
    console: Console,
    stability: StabilitySelection | None,
) -> None:
    try:
        page = selection_page(arguments, selector, dataset, console, stability=stability)
    except Exception as error:
        warn_not_made(_REPORT, error)
    else:
        output.write_text(_REPORT, page)


def _summarise(
    console: Console,
    arguments: argparse.Namespace,
    selector: TensorSelector,
    dataset: TensorDataset,
    names: Names,
) -> None:
    shape = dataset.feature_shape
    console.say(
        f"input     {arguments.input}: {dataset.n_samples} samples of {format_shape(shape)}"
    )
    if dataset.labels is not None:
        console.say(f"labels    {dataset.n_classes} classes in the file, not used")
    for word, described in describe_weighing(dataset).items():
        console.say(f"{word:<9} {described}")
    console.say(f"method    {_method_in_words(selector, dataset)}")
    if isinstance(selector, STPCASelector):
        for reason in selector.choice_.reasons:
            console.say(f"chosen    {reason}")
    if selector.n_features_to_select == "auto":
        console.say(f"chosen    {selector.suggested_count_.reason}")
    say_missing(console, selector)
    say_constraints(console, selector)
    kept = int(selector.get_support().sum())
    kind = "elements" if selector.feature_mode is None else names.name(0) + " indices"
    total = selector._n_observed(selector.scores_.size)
    console.say(f"selected  {kept} of {total} {kind}; the first:")
    for flat in selector.order_[: min(_TOP, kept)]:
        place = np.unravel_index(flat, selector.scores_.shape)
        described = names.describe([int(i) for i in place])
        console.say(f"            {described:<32} {selector.scores_.ravel()[flat]:.4g}")


def _method_in_words(selector: TensorSelector, dataset: TensorDataset) -> str:
    if not isinstance(selector, STPCASelector):
        return type(selector).__name__
    shape, mode = dataset.feature_shape, selector.orientation_
    title = names_of(dataset).name(mode)
    return (
        f"orientation {mode} ({title}): {len(selector.n_iter_)} slices of {shape[mode]} features, "
        f"{selector.n_samples_seen_} samples; {selector.n_iter_.min()} to "
        f"{selector.n_iter_.max()} steps"
    )
