"""``tensift compare``: several methods on the user's own data, beside chance."""

from __future__ import annotations

import argparse
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tensift._tables import to_csv
from tensift.cli._arguments import (
    count_or_share,
    jobs,
    names,
    non_negative,
    positive_int,
)
from tensift.cli._console import Console, format_shape
from tensift.cli._figures import figure_for_file, require_figures, save_figure
from tensift.cli._input import (
    add_feature_mode,
    add_input_arguments,
    feature_mode_of,
    read_input,
)
from tensift.cli._output import OutputFolder
from tensift.cli._pages import comparison_page
from tensift.cli._record import describe_input, versions
from tensift.comparison import SelectorComparison, compare_selectors
from tensift.datasets import TensorDataset
from tensift.plotting import ComparisonDisplay
from tensift.plotting._names import ModeNames

__all__ = ["add_parser", "run"]

_CELLS = "cells.jsonl"
_SETTINGS = "settings.json"
_FIGURES = ("png", "svg")
_REPORT = "report.html"
_FILES = ("comparison.csv", "comparison.md", "agreement.csv", "selected.csv", _SETTINGS, _REPORT)

_DESCRIPTION = """\
Select features by several methods and see, on your own data, what each is worth.

No labels are needed. Features are selected on one half of the samples and judged on the other:
  missed         the share of the variance of all features that a linear prediction from the
                 kept ones misses; 0 is nothing, 1 as much as knowing only the mean
  beats random   in how many of the half-samples less is missed than by random selection
  redundancy     mean absolute correlation between kept features
  stability      whether the half-samples agree on what to keep: 1 fully, 0 as chance would
Random selection and variance are always compared too. With --labels, what was selected is
judged by the labels as well; no method sees them, and nothing above depends on them.
"""

_EPILOG = """\
written to the output folder:
  comparison.png, .svg   kept features, measures with spreads, agreement, time
  comparison.md, .csv    the table, to read and to compute with
  agreement.csv          how much the methods' selections overlap, corrected for chance
  selected.csv           what each method keeps, best first, and the share of the half-samples
                         on which it keeps each feature
  report.html            with --report: a page to look at, to try out, and to send on
  settings.json          every setting, the versions, seeds and the input's checksum
  cells.jsonl            every fit that is done: a stopped run goes on where it was, and a second
                         run takes no time

examples:
  tensift compare images.npy -k 100
  tensift compare images.npy -k 0.1 --methods stpca,udfs,ndfs --clusters 7 --jobs -1
  tensift compare eeg.npz -k 8 --feature-mode 0 --methods all --fit-limit 60
  tensift compare table.csv -k 10 --labels species     accuracies beside all the rest
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compare",
        help="several methods on your data, beside chance",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_input_arguments(parser)
    _add_method_arguments(parser.add_argument_group("comparison"))
    _add_output_arguments(parser.add_argument_group("output"))


def _add_method_arguments(group: Any) -> None:
    group.add_argument(
        "-k", type=count_or_share, required=True, metavar="K", dest="n_features_to_select",
        help="how many features to keep (100), or which share of them (0.1)",
    )  # fmt: skip
    group.add_argument(
        "--methods", type=names, metavar="A,B|all", dest="selectors",
        help="names of selectors in any case, or all (default: stpca,spcafs,mcfs,laplacianscore)",
    )  # fmt: skip
    add_feature_mode(group)
    group.add_argument(
        "--clusters", type=positive_int, metavar="N", dest="n_clusters",
        help="for the methods that want a number of clusters (default: their own)",
    )  # fmt: skip
    group.add_argument(
        "--neighbors", type=positive_int, metavar="N", dest="n_neighbors", default=5,
        help="for the methods that make a graph of samples (default: 5)",
    )  # fmt: skip
    group.add_argument(
        "--resamples", type=positive_int, metavar="N", dest="n_resamples", default=10,
        help="half-samples (default: 10)",
    )  # fmt: skip
    group.add_argument(
        "--seeds", type=positive_int, metavar="N", dest="n_seeds", default=5,
        help="seeds of methods with random starts (default: 5)",
    )  # fmt: skip
    group.add_argument(
        "--repeats", type=positive_int, metavar="N", dest="n_repeats", default=10,
        help="runs of k-means, with --labels (default: 10)",
    )  # fmt: skip
    group.add_argument(
        "--seed", type=int, metavar="N", dest="random_state", default=0,
        help="the first seed (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--fit-limit", type=non_negative, metavar="SECONDS",
        help="give up fits that take more processor time (default: never)",
    )  # fmt: skip
    group.add_argument(
        "--jobs", type=jobs, metavar="N", default=1,
        help="processes; -1 for all cores (default: 1)",
    )  # fmt: skip


def _add_output_arguments(group: Any) -> None:
    group.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help="where to write (default: <name of the input>-compare)",
    )  # fmt: skip
    group.add_argument("--no-figure", action="store_true", help="write no figure")
    group.add_argument(
        "--report", action="store_true", help="write a page for the browser too: report.html"
    )
    group.add_argument(
        "--overwrite", action="store_true",
        help="replace tables and figures of other settings; fits in cells.jsonl stay",
    )  # fmt: skip
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    if not arguments.no_figure:
        require_figures()
    folder = arguments.output or Path(f"{arguments.input.stem}-compare")
    dataset = read_input(arguments)
    settings = _settings(arguments, dataset)
    output = OutputFolder(
        folder,
        (*_FILES, *(f"comparison.{suffix}" for suffix in _FIGURES)),
        overwrite=arguments.overwrite or _same(folder / _SETTINGS, settings),
    )
    output.check()
    found = _compare(arguments, dataset, settings["parameters"], folder, console)
    with output:
        output.write_text("comparison.csv", to_csv(found.to_rows()))
        output.write_text("comparison.md", found.to_markdown())
        output.write_text("agreement.csv", to_csv(found.agreement_rows()))
        output.write_text("selected.csv", to_csv(_selected(found, dataset)))
        output.write_text(_SETTINGS, json.dumps(settings, indent=2) + "\n")
        if not arguments.no_figure:
            _write_figures(output, found, dataset)
        if arguments.report:
            used = _arguments_of_comparison(settings["parameters"])
            page = comparison_page(arguments, found, dataset, used)
            output.write_text(_REPORT, page)
    _say(console, arguments, found, dataset)
    console.say(f"written   {folder}{os.sep}: {', '.join(output.written)}")
    console.say(f"time      {time.perf_counter() - started:.1f} s")


def _settings(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """What it takes to do this again, and to know whether it is the same."""
    wanted = (
        "selectors", "n_features_to_select", "n_clusters", "n_neighbors", "n_resamples", "n_seeds",
        "n_repeats", "random_state", "fit_limit",
    )  # fmt: skip
    parameters = {name: getattr(arguments, name) for name in wanted}
    parameters["feature_mode"] = feature_mode_of(arguments, dataset)
    return {
        "input": describe_input(arguments, dataset),
        "labelled": _labels(arguments, dataset) is not None,
        "parameters": parameters,
        "versions": versions(),
    }


def _labels(arguments: argparse.Namespace, dataset: TensorDataset) -> np.ndarray | None:
    """What the file has, unless nobody asked for it and it is of no use."""
    usable = dataset.n_classes is not None and dataset.n_classes > 1
    return dataset.labels if usable or arguments.labels is not None else None


def _same(path: Path, settings: dict[str, Any]) -> bool:
    """Whether a folder has results of the same settings, which may be replaced by themselves."""
    try:
        return bool(
            json.loads(path.read_text(encoding="utf-8")) == json.loads(json.dumps(settings))
        )
    except (OSError, ValueError, RecursionError):
        return False


def _compare(
    arguments: argparse.Namespace,
    dataset: TensorDataset,
    parameters: dict[str, Any],
    folder: Path,
    console: Console,
) -> SelectorComparison:
    try:
        return compare_selectors(
            dataset.data,
            **_arguments_of_comparison(parameters),
            labels=_labels(arguments, dataset),
            n_jobs=arguments.jobs,
            store=folder / _CELLS,
            verbose=not console.quiet,
        )
    except ValueError as error:
        raise ValueError(f"{arguments.input}: {str(error).splitlines()[0]}") from None


def _arguments_of_comparison(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters as `compare_selectors` takes them, to which all methods are one word."""
    chosen = parameters["selectors"]
    if chosen is not None and [name.casefold() for name in chosen] == ["all"]:
        chosen = "all"
    return {**parameters, "selectors": chosen}


def _selected(found: SelectorComparison, dataset: TensorDataset) -> list[dict[str, Any]]:
    """What each method keeps, best first, a row a feature."""
    feature_names = ModeNames(dataset.feature_shape, dataset.dims, dataset.coords)
    if found.feature_mode is not None:
        feature_names = feature_names.only([found.feature_mode])
    rows = []
    for method, features in found.features.items():
        scores = found.scores[method].ravel()
        shares = found.probabilities.get(method)
        places = np.column_stack(np.unravel_index(features, feature_names.shape))
        for rank, (flat, place) in enumerate(zip(features.tolist(), places, strict=True), start=1):
            rows.append(
                {
                    "method": method,
                    "rank": rank,
                    "index": flat,
                    "feature": feature_names.describe(place.tolist()),
                    "score": float(scores[flat]),
                    "half_samples": None if shares is None else float(shares.flat[flat]),
                }
            )
    return rows


def _write_figures(output: OutputFolder, found: SelectorComparison, dataset: TensorDataset) -> None:
    title = (
        f"{dataset.name}: {found.n_features_to_select} of {found.n_features} features kept by "
        f"{len(found.features)} methods"
    )
    with figure_for_file() as figure:
        ComparisonDisplay(found, title=title, dims=dataset.dims, coords=dataset.coords).plot(figure)
        for suffix in _FIGURES:
            output.write(f"comparison.{suffix}", partial(save_figure, figure, format=suffix))


def _say(
    console: Console,
    arguments: argparse.Namespace,
    found: SelectorComparison,
    dataset: TensorDataset,
) -> None:
    shape = format_shape(dataset.feature_shape)
    console.say(f"input     {arguments.input}: {dataset.n_samples} samples of {shape}")
    if dataset.labels is not None:
        use = "not used" if _labels(arguments, dataset) is None else "used to judge only"
        console.say(f"labels    {dataset.n_classes} classes in the file, {use}")
    console.say(f"kept      {found.n_features_to_select} of {found.n_features} features")
    console.say()
    for line in _aligned(found.to_table()):
        console.say(line)
    console.say()
    for line in (*found.conclusions(), *found.notes):
        console.say(line)
    console.say()


def _aligned(rows: list[dict[str, str]]) -> list[str]:
    """A table whose columns stand below one another."""
    titles = list(rows[0])
    table = [titles, *([row[title] for title in titles] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
