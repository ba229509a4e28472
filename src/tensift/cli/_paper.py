"""``tensift paper``: make the tables and figures of the paper's experiments."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tensift._utils.cells import CellStore
from tensift.cli._arguments import jobs, names, positive_int
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments
from tensift.cli._figures import write_figure
from tensift.cli._output import OutputFolder
from tensift.cli._record import versions
from tensift.paper import Experiment, Report, Study, list_experiments, list_sets, run_experiment
from tensift.plotting import require_matplotlib
from tensift.rivals import list_selectors

__all__ = ["add_parser", "run"]

_CELLS = "cells.jsonl"
_FIGURES = ("png", "svg")
_SUFFIXES = ("csv", "md", "json", *_FIGURES)

_DESCRIPTION = """\
Make the tables and figures of the paper's experiments, and compare them with the printed numbers.

Each experiment writes NAME.md and NAME.csv (numbers), NAME.png and NAME.svg (figure) and NAME.json
(settings, versions, seeds). Every finished fit is saved in cells.jsonl in the output folder: a
stopped run continues where it stopped, and a second run takes no time.
"""

_EPILOG = """\
The paper's data are not distributed with tensift. Set TENSIFT_DATA to the folder that has them;
the output names the datasets that are missing. With --fast, bundled and generated data are used
instead. This checks in under two minutes that everything works, but its numbers say nothing about
the paper.

The whole grid of every method takes many hours. --cells 25 runs a fixed part of the grids that
have more cells or seeds.

examples:
  tensift paper --list                          name the experiments
  tensift paper --fast                          everything, on small data
  tensift paper metrics --sets JAFFE,PIE        one table, two sets
  tensift paper metrics curves --cells 9 --jobs -1
  tensift paper orientation sensitivity --methods STPCASelector
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "paper",
        help=COMMANDS["paper"],
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "experiments", metavar="NAME", nargs="*",
        help="an experiment; see --list (default: all)",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="name the experiments, and stop")
    extent = parser.add_argument_group("extent")
    extent.add_argument(
        "--fast", action="store_true", help="use small data that need no download, and few cells"
    )
    extent.add_argument(
        "--sets",
        type=names,
        metavar="A,B",
        help="only these datasets (default: all that exist)",
    )
    extent.add_argument(
        "--methods", type=names, metavar="A,B",
        help="only these selectors, by the names of their classes (default: all)",
    )  # fmt: skip
    extent.add_argument(
        "--cells", type=_cells, metavar="N", default=(None, {}),
        help="run at most N cells of each grid, always the same ones; for methods with seeds, N "
        "pairs of cell and seed. 25,NLGMS=3,SOGFS@USPS=1 makes exceptions (default: all)",
    )  # fmt: skip
    extent.add_argument(
        "--seeds", type=positive_int, metavar="N",
        help="the number of seeds of methods with random starts (default: 3)",
    )  # fmt: skip
    extent.add_argument(
        "--repeats", type=positive_int, metavar="N", help="runs of k-means (default: 30)"
    )
    extent.add_argument(
        "--variants", action="store_true",
        help="in metrics, also run the authors' programs where they differ from their papers",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=jobs, metavar="N", default=1,
        help="processes; -1 for all cores (default: 1)",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path("tensift-paper"),
        help="where to write results and finished fits (default: tensift-paper)",
    )  # fmt: skip
    add_console_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    if arguments.list:
        for experiment in list_experiments():
            console.say(f"{experiment.name:<12} {experiment.title}")
        return
    require_matplotlib()
    chosen = _choose(arguments.experiments)
    study = _study(arguments)
    started = time.perf_counter()
    folder = arguments.output
    for name, reason in study.missing.items():
        console.say(f"missing   {name} ({reason})")
    if not study.sets:
        raise ValueError(
            "no dataset was found; set TENSIFT_DATA to the folder that has them, or pass --fast"
        )
    store = _open_store(folder, chosen)
    for experiment in chosen:
        report = run_experiment(
            experiment, study, store, n_jobs=arguments.jobs, progress=console.progress
        )
        written = _write(folder, experiment, report, study)
        console.say(f"{experiment.name:<12} {report.title}: {', '.join(written) or 'no data'}")
    console.say(f"written   {folder}{os.sep}")
    console.say(f"time      {time.perf_counter() - started:.1f} s")


def _choose(wanted: list[str]) -> list[Experiment]:
    known = {experiment.name: experiment for experiment in list_experiments()}
    unknown = [name for name in wanted if name not in known and name != "all"]
    if unknown:
        raise ValueError(f"unknown experiment {unknown[0]!r}; known: {', '.join(known)}, all")
    if not wanted or "all" in wanted:
        return list(known.values())
    return [known[name] for name in known if name in wanted]


def _study(arguments: argparse.Namespace) -> Study:
    extent: dict[str, Any] = {
        name: getattr(arguments, name)
        for name in ("seeds", "repeats")
        if getattr(arguments, name) is not None
    }
    cells, exceptions = arguments.cells
    if cells is not None:
        extent["cells"] = cells
    extent["cells_of"] = {}
    for name, number in exceptions.items():
        method, at, data = name.partition("@")
        if at and data not in list_sets():
            raise ValueError(f"unknown dataset {data!r}; known: {', '.join(list_sets())}")
        extent["cells_of"][_known_methods([method])[0] + at + data] = number
    extent["variants"] = arguments.variants
    if arguments.methods:
        extent["methods"] = tuple(_known_methods(arguments.methods))
    if arguments.fast:
        if arguments.sets:
            raise ValueError("--fast uses its own data; leave out --sets or --fast")
        return Study.quick(**extent)
    return Study.of_the_paper(arguments.sets, **extent)


def _cells(text: str) -> tuple[int | None, dict[str, int]]:
    """A number of cells, exceptions for single methods, or both."""
    number, exceptions = None, {}
    for part in names(text):
        name, equals, value = part.rpartition("=")
        if equals:
            exceptions[name] = positive_int(value)
        else:
            number = positive_int(part)
    return number, exceptions


def _known_methods(given: Iterable[str]) -> list[str]:
    """Names of selectors, spelled as in the registry."""
    known = {info.name.casefold(): info.name for info in list_selectors()}
    for name in given:
        if name.casefold() not in known:
            raise ValueError(f"unknown method {name!r}; known: {', '.join(known.values())}")
    return [known[name.casefold()] for name in given]


def _open_store(folder: Path, chosen: list[Experiment]) -> CellStore:
    """The finished fits. A folder without them is not ours, so nothing in it is replaced."""
    cells = folder / _CELLS
    if not cells.exists():
        names = [f"{one.name}.{suffix}" for one in chosen for suffix in _SUFFIXES]
        if present := [name for name in names if (folder / name).exists()]:
            raise FileExistsError(
                f"{folder / present[0]} exists, but this command did not write it; choose another "
                "folder with --output"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            cells.touch()
        except OSError as error:
            raise OSError(f"cannot write {cells}: {error.strerror or error}") from None
    return CellStore(cells)


def _write(folder: Path, experiment: Experiment, report: Report, study: Study) -> list[str]:
    """Write the results of an experiment; its earlier files are replaced all at once."""
    stem = experiment.name
    tables = report.csv(stem)
    pictures = [f"{stem}.{suffix}" for suffix in _FIGURES]
    own = {*tables, *pictures, f"{stem}.md", f"{stem}.json"}
    with OutputFolder(folder, own, overwrite=True) as output:
        for name, text in tables.items():
            output.write_text(name, text)
        record = {"experiment": stem, "extent": study.describe(), "versions": versions()}
        output.write_text(f"{stem}.json", json.dumps(record, indent=2) + "\n")
        drawn = report.draw is not None and write_figure(output, stem, _FIGURES, report.draw)
        output.write_text(f"{stem}.md", report.markdown(pictures[0] if drawn else None))
    return output.written
