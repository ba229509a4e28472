"""``tensift select``: rank the features of a file and write down the best."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensift import StabilitySelection, STPCASelector
from tensift.cli._console import Console, format_shape
from tensift.cli._figures import FORMATS, figure_for_file, require_figures, save_figure
from tensift.cli._input import add_input_arguments, read_input
from tensift.cli._method import (
    add_method_arguments,
    feature_names_of,
    fit_selector,
    selector_parameters,
)
from tensift.cli._output import OutputFolder
from tensift.cli._pages import add_report_arguments, selection_page
from tensift.cli._record import python_line, ranking_table, settings_of
from tensift.cli._stability import (
    add_stability_argument,
    resampled,
    say_stability,
    stability_table,
)
from tensift.datasets import TensorDataset
from tensift.plotting import SelectionDisplay
from tensift.plotting._names import ModeNames

__all__ = ["add_parser", "run"]

_TABLES = ("scores.npy", "selected.npy", "ranking.csv", "settings.json")
_REPORT = "report.html"
_STABILITY = "stability.csv"
_TOP = 5
_IMPORTS = "from tensift import STPCASelector; from tensift.datasets import read_tensor"

_DESCRIPTION = """\
Rank the features of a data tensor by STPCA-MP and write down the best.

Data have the shape (n, d_1, ..., d_m): samples first, then the feature modes, counted from 0.
  orientation    the feature mode whose indices reconstruct one another: for images, 0 makes
                 the pixels of a column stand for each other, 1 those of a row
  transform      what is done along the other modes first: nothing (identity), or a change of
                 basis (dft, dct, haar, eigen, random, a matrix) that mixes them
  feature mode   by default every element (pixel) is a feature; with a mode, every index along
                 it (channel, band) is one
  lam, eta       larger values concentrate the scores on fewer features
"""

_EPILOG = """\
written to the output folder:
  ranking.csv     all features, best first, with their indices, names and scores
  selected.npy    flat (row-major) indices of the selected features, in increasing order
  scores.npy      the score map
  selection.png   the score map, the selected features on a sample, the cut, the convergence
  stability.csv   with --stability: how often half-samples keep each feature; a picture too
  report.html     with --report: a page to look at, to try out, and to send on
  settings.json   every parameter, the versions and the input's checksum

examples:
  tensift select digits.npy -k 20
  tensift select digits.npy -k auto                     as many as explain their share
  tensift select faces.mat -k 0.1 --orientation 1 --transform dct -o faces
  tensift select eeg.npz -k 8 --feature-mode 0          channels instead of elements
  tensift select cube.h5 --variable cube -k 500 --transform haar,dct --jobs -1
  tensift select images.npy -k 100 --stability 50       which of them stay, whatever the samples
  tensift select table.csv -k 10 --labels species       labels are set aside
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "select",
        help="rank the features of a file and write down the best",
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
        "-o", "--output", type=Path, metavar="FOLDER",
        help="where to write (default: <name of the input>-tensift)",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=FORMATS, default="png", help="of the figure (default: png)"
    )
    group.add_argument("--no-figure", action="store_true", help="write no figure")
    add_stability_argument(group)
    group.add_argument(
        "--report", action="store_true", help="write a page for the browser too: report.html"
    )
    add_report_arguments(group)
    group.add_argument("--overwrite", action="store_true", help="replace earlier results")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    if not arguments.no_figure:
        require_figures()
    folder = arguments.output or Path(f"{arguments.input.stem}-tensift")
    pictures = (f"{name}.{suffix}" for name in ("selection", "stability") for suffix in FORMATS)
    names = (*_TABLES, _REPORT, _STABILITY, *pictures)
    dataset = read_input(arguments)
    parameters = selector_parameters(arguments, dataset)
    with OutputFolder(folder, names, overwrite=arguments.overwrite) as output:
        selector = STPCASelector(**parameters, verbose=not console.quiet)
        fit_selector(selector, dataset, arguments.input, arguments.checkpoint)
        feature_names = feature_names_of(selector, dataset)
        output.write("scores.npy", lambda stream: _save(stream, selector.scores_))
        output.write(
            "selected.npy", lambda stream: _save(stream, selector.get_support(indices=True))
        )
        output.write_text("ranking.csv", ranking_table(selector, feature_names))
        if not arguments.no_figure:
            _write_figure(output, selector, dataset, arguments.format)
        stability = resampled(arguments, parameters, dataset, console)
        if stability is not None:
            output.write_text(_STABILITY, stability_table(stability, feature_names))
            if not arguments.no_figure:
                _write_stability(output, stability, feature_names, arguments.format)
        if arguments.report:
            page = selection_page(arguments, selector, dataset, console, stability=stability)
            output.write_text(_REPORT, page)
        settings = settings_of(arguments, parameters, selector, dataset)
        output.write_text("settings.json", json.dumps(settings, indent=2) + "\n")
    _summarise(console, arguments, selector, dataset, feature_names)
    say_stability(console, stability)
    console.say(f"written   {folder}{os.sep}: {', '.join(output.written)}")
    console.say(f"time      {time.perf_counter() - started:.2f} s")
    console.say(f"in Python {_IMPORTS}")
    console.say(f"          {python_line(arguments, selector)}")


def _save(stream: IO[bytes], array: np.ndarray) -> None:
    np.save(stream, array, allow_pickle=False)


def _write_figure(
    output: OutputFolder, selector: STPCASelector, dataset: TensorDataset, format: str
) -> None:
    kept, total = int(selector.get_support().sum()), selector.scores_.size
    with figure_for_file() as figure:
        SelectionDisplay.from_estimator(
            selector,
            dataset.data,
            title=f"{dataset.name}: {kept} of {total} features kept",
            dims=dataset.dims,
            coords=dataset.coords,
            figure=figure,
        )
        output.write(f"selection.{format}", lambda stream: save_figure(figure, stream, format))


def _write_stability(
    output: OutputFolder, found: StabilitySelection, names: ModeNames, format: str
) -> None:
    with figure_for_file() as figure:
        found.plot(dims=names.dims, coords=names.coords, figure=figure)
        output.write(f"stability.{format}", lambda stream: save_figure(figure, stream, format))


def _summarise(
    console: Console,
    arguments: argparse.Namespace,
    selector: STPCASelector,
    dataset: TensorDataset,
    names: ModeNames,
) -> None:
    shape = dataset.feature_shape
    all_names = ModeNames(shape, dataset.dims, dataset.coords)
    mode = selector.orientation_
    p, q = len(selector.n_iter_), shape[mode]
    console.say(
        f"input     {arguments.input}: {dataset.n_samples} samples of {format_shape(shape)}"
    )
    if dataset.labels is not None:
        console.say(f"labels    {dataset.n_classes} classes in the file, not used")
    console.say(
        f"method    orientation {mode} ({all_names.title(mode)}): {p} slices of {q} features, "
        f"{selector.n_samples_seen_} samples; {selector.n_iter_.min()} to "
        f"{selector.n_iter_.max()} steps"
    )
    for reason in selector.choice_.reasons:
        console.say(f"chosen    {reason}")
    if selector.n_features_to_select == "auto":
        console.say(f"chosen    {selector.suggested_count_.reason}")
    kept = int(selector.get_support().sum())
    kind = "elements" if selector.feature_mode is None else names.title(0) + " indices"
    console.say(f"selected  {kept} of {selector.scores_.size} {kind}; the best:")
    for flat in selector.ranking_[: min(_TOP, kept)]:
        place = np.unravel_index(flat, selector.scores_.shape)
        described = names.describe([int(i) for i in place])
        console.say(f"            {described:<32} {selector.scores_.ravel()[flat]:.4g}")
