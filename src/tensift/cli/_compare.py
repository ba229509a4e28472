"""``tensift compare``: compare several methods, and random selection, on the user's own data."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from tensift import Constraints
from tensift._utils.tables import to_csv
from tensift.cli._arguments import count_or_share, jobs, names, non_negative, positive_int
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments, format_shape
from tensift.cli._constraints import (
    CONSTRAINTS_EPILOG,
    add_constraint_arguments,
    constraints_of,
    describe_constraints,
)
from tensift.cli._figures import require_figures, warn_not_made, write_figure
from tensift.cli._input import (
    add_feature_mode,
    add_input_arguments,
    describe_weighing,
    feature_mode_of,
    feature_names_of,
    inputs_of,
    read_input,
    weighing_of,
)
from tensift.cli._options import add_option
from tensift.cli._output import OutputFolder, default_output, refuse_inputs
from tensift.cli._pages import comparison_page
from tensift.cli._record import describe_input, versions
from tensift.comparison import DEFAULT_SELECTORS, SelectorComparison, compare_selectors
from tensift.datasets import TensorDataset
from tensift.plotting import ComparisonDisplay

__all__ = ["add_parser", "run"]

_CELLS = "cells.jsonl"
_SETTINGS = "settings.json"
_FIGURES = ("png", "svg")
_REPORT = "report.html"
_FILES = ("comparison.csv", "comparison.md", "agreement.csv", "selected.csv", _SETTINGS, _REPORT)

_DESCRIPTION = """\
Select features of your data by several methods, and see how good each selection is.

No labels are needed. Features are selected on one half of the samples and judged on the other:
  neighbours kept  the share of each sample's ten nearest neighbours that are neighbours by all
                   features too, with strong effects such as light evened out: 1 is best
  neighbours agree how far samples agree on the kept features that look alike in other features,
                   as a share of what varies: 1 is best, noise has 0
  rank             the mean rank by these two; it decides who is first
  beats random     how often, by these two on half-samples, random selection does worse
  missed           the share of the variance of all features that a linear prediction from the
                   kept features does not explain: 0 is best, 1 is as bad as predicting the mean
  redundancy       the mean absolute correlation between kept features
  stability        how well the half-samples agree on what to keep: 1 is fully, 0 is by chance
We always compare with random selection and variance. With --labels, selections are also judged
by the labels. No method sees the labels, and the numbers above do not depend on them.
"""

_EPILOG = """\
written to the output folder:
  comparison.png, .svg   kept features, measures with spreads, agreement, time
  comparison.md, .csv    the table, to read and to compute with
  agreement.csv          how much the methods' selections overlap, corrected for chance
  selected.csv           what each method keeps, in its order, and the share of the half-samples
                         on which it keeps each feature
  report.html            with --report: an interactive page for the browser
  settings.json          every setting, the versions, the seeds and the input's checksum
  cells.jsonl            every finished fit: a stopped run continues where it stopped, and a
                         second run takes no time

In CSV files, names that a spreadsheet would run, such as =A1, begin with an apostrophe.

examples:
  tensift compare images.npy -k 100
  tensift compare images.npy -k 0.1 --methods stpca,udfs,ndfs --clusters 7 --jobs -1
  tensift compare eeg.npz -k 8 --feature-mode 0 --methods all --fit-limit 60
  tensift compare table.csv -k 10 --labels species     show accuracies too
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compare",
        help=COMMANDS["compare"],
        description=_DESCRIPTION,
        epilog=f"{_EPILOG}\n{CONSTRAINTS_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_input_arguments(parser)
    _add_method_arguments(parser.add_argument_group("comparison"))
    add_constraint_arguments(parser)
    _add_output_arguments(parser.add_argument_group("output"))


def _add_method_arguments(group: Any) -> None:
    group.add_argument(
        "-k", type=count_or_share, required=True, metavar="K", dest="n_features_to_select",
        help="how many features to keep (100), or which share of them (0.1)",
    )  # fmt: skip
    group.add_argument(
        "--methods", type=names, metavar="A,B|all", dest="selectors",
        help=f"names of methods in upper or lower case, or all (default: {_default_methods()})",
    )  # fmt: skip
    add_feature_mode(group)
    for name in ("clusters", "neighbors", "resamples", "seeds", "repeats"):
        add_option(
            group, compare_selectors, f"n_{name}", f"--{name}", type=positive_int, metavar="N"
        )
    add_option(group, compare_selectors, "random_state", "--seed", type=int, metavar="N")
    add_option(group, compare_selectors, "fit_limit", type=non_negative, metavar="SECONDS")
    add_option(
        group, compare_selectors, "missing", choices=("raise", "allow"),
        help="what NaN means: raise refuses it; allow takes it for a value that was not observed, "
        "and gives all methods estimates in its place (default: raise)",
    )  # fmt: skip
    add_option(group, compare_selectors, "n_jobs", "--jobs", type=jobs, metavar="N")


def _default_methods() -> str:
    return ", ".join(name.removesuffix("Selector").casefold() for name in DEFAULT_SELECTORS)


def _add_output_arguments(group: Any) -> None:
    group.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help="where to write (default: <file name of the input>-compare)",
    )  # fmt: skip
    group.add_argument("--no-figure", action="store_true", help="write no figure")
    group.add_argument(
        "--report", action="store_true", help="also write a page for the browser: report.html"
    )
    group.add_argument(
        "--overwrite", action="store_true",
        help="replace tables and figures that other settings made; cells.jsonl is kept",
    )  # fmt: skip
    add_console_arguments(group)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    if not arguments.no_figure:
        require_figures()
    folder = arguments.output or default_output(arguments.input, "compare")
    inputs = inputs_of(arguments)
    refuse_inputs([folder / _CELLS], inputs)
    dataset = read_input(arguments)
    constraints = constraints_of(arguments, dataset)
    settings = _settings(arguments, dataset, constraints)
    output = OutputFolder(
        folder,
        (*_FILES, *(f"comparison.{suffix}" for suffix in _FIGURES)),
        overwrite=arguments.overwrite or _same(folder / _SETTINGS, settings),
        inputs=inputs,
    )
    output.check()
    used = {**_arguments_of_comparison(settings["parameters"]), "constraints": constraints}
    found = _compare(arguments, dataset, used, folder, console)
    with output:
        output.write_text("comparison.csv", to_csv(found.to_rows()))
        output.write_text("comparison.md", found.to_markdown())
        output.write_text("agreement.csv", to_csv(found.agreement_rows()))
        output.write_text("selected.csv", to_csv(_selected(arguments, found, dataset)))
        output.write_text(_SETTINGS, json.dumps(settings, indent=2) + "\n")
        if not arguments.no_figure:
            _write_figures(output, found, dataset)
        if arguments.report:
            _write_page(output, arguments, found, dataset, used)
    _say(console, arguments, found, dataset)
    console.say(f"written   {folder}{os.sep}: {', '.join(output.written)}")
    console.say(f"time      {time.perf_counter() - started:.1f} s")


def _settings(
    arguments: argparse.Namespace, dataset: TensorDataset, constraints: Constraints | None
) -> dict[str, Any]:
    """Everything needed to repeat the comparison, and to check that it is the same."""
    wanted = (
        "selectors", "n_features_to_select", "n_clusters", "n_neighbors", "n_resamples", "n_seeds",
        "n_repeats", "random_state", "fit_limit", "missing",
    )  # fmt: skip
    parameters = {name: getattr(arguments, name) for name in wanted}
    parameters["feature_mode"] = feature_mode_of(arguments, dataset)
    if constraints is not None:
        parameters["constraints"] = describe_constraints(arguments, constraints)
    return {
        "input": describe_input(arguments, dataset),
        "labelled": _labels(arguments, dataset) is not None,
        "parameters": parameters,
        "versions": versions(),
    }


def _labels(arguments: argparse.Namespace, dataset: TensorDataset) -> np.ndarray | None:
    """The labels of the file; None if there is one class only and --labels was not given."""
    usable = dataset.n_classes is not None and dataset.n_classes > 1
    return dataset.labels if usable or arguments.labels is not None else None


def _same(path: Path, settings: dict[str, Any]) -> bool:
    """Whether a folder has results of the same settings, which may be written again."""
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
            dataset,
            **parameters,
            labels=_labels(arguments, dataset),
            **weighing_of(dataset),
            n_jobs=arguments.n_jobs,
            store=folder / _CELLS,
            verbose=console.shows_progress,
        )
    except ValueError as error:
        raise ValueError(f"{arguments.input}: {str(error).splitlines()[0]}") from None


def _arguments_of_comparison(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters for `compare_selectors`, which takes "all" as a string, not a list."""
    chosen = parameters["selectors"]
    if chosen is not None and [name.casefold() for name in chosen] == ["all"]:
        chosen = "all"
    return {**parameters, "selectors": chosen}


def _selected(
    arguments: argparse.Namespace, found: SelectorComparison, dataset: TensorDataset
) -> list[dict[str, Any]]:
    """What each method keeps, in its order, one row per feature."""
    feature_names = feature_names_of(arguments, dataset)
    others = ("method", "rank", "index", "feature", "score", "half_samples")
    rows = []
    for method, features in found.features.items():
        scores = found.scores[method].ravel()
        shares = found.probabilities.get(method)
        places = np.column_stack(np.unravel_index(features, feature_names.shape))
        table = feature_names.table(features, others)
        for rank, (flat, place) in enumerate(zip(features.tolist(), places, strict=True), start=1):
            rows.append(
                {
                    "method": method,
                    "rank": rank,
                    "index": flat,
                    **{title: column[rank - 1] for title, column in table.items()},
                    "feature": feature_names.describe(place.tolist()),
                    "score": float(scores[flat]),
                    "half_samples": None if shares is None else float(shares.flat[flat]),
                }
            )
    return rows


def _write_figures(output: OutputFolder, found: SelectorComparison, dataset: TensorDataset) -> None:
    title = (
        f"{dataset.name}: {found.n_features_to_select} of {found.n_observed or found.n_features} "
        f"features kept by {len(found.features)} methods"
    )
    display = ComparisonDisplay(found, title=title)
    write_figure(output, "comparison", _FIGURES, display.plot)


def _write_page(
    output: OutputFolder,
    arguments: argparse.Namespace,
    found: SelectorComparison,
    dataset: TensorDataset,
    used: dict[str, Any],
) -> None:
    try:
        page = comparison_page(arguments, found, dataset, used)
    except Exception as error:
        warn_not_made(_REPORT, error)
    else:
        output.write_text(_REPORT, page)


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
    for word, described in describe_weighing(dataset).items():
        console.say(f"{word:<9} {described}")
    budget = found.constraints is not None and found.constraints.budget is not None
    most = "at most " if budget else ""
    total = found.n_observed or found.n_features
    console.say(f"kept      {most}{found.n_features_to_select} of {total} features")
    console.say()
    for line in _aligned(found.to_table()):
        console.say(line)
    console.say()
    for line in (*found.conclusions(), *found.notes):
        console.say(line)
    console.say()


def _aligned(rows: list[dict[str, str]]) -> list[str]:
    """The lines of a table, with aligned columns."""
    titles = list(rows[0])
    table = [titles, *([row[title] for title in titles] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
