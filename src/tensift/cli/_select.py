"""``tensift select``: rank the features of a file and write down the best."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensift import STPCASelector
from tensift.algebra import is_data_driven
from tensift.cli._arguments import (
    count_or_share,
    non_negative,
    positive_int,
    transform_names,
)
from tensift.cli._console import Console, format_shape
from tensift.cli._figures import FORMATS, figure_for_file, require_figures, save_figure
from tensift.cli._input import (
    add_feature_mode,
    add_input_arguments,
    feature_mode_of,
    in_chunks,
    read_input,
)
from tensift.cli._output import OutputFolder
from tensift.cli._record import python_line, ranking_table, settings_of
from tensift.datasets import TensorDataset
from tensift.plotting import SelectionDisplay
from tensift.plotting._names import ModeNames

__all__ = ["add_parser", "run"]

_TABLES = ("scores.npy", "selected.npy", "ranking.csv", "settings.json")
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
  settings.json   every parameter, the versions and the input's checksum

examples:
  tensift select digits.npy -k 20
  tensift select faces.mat -k 0.1 --orientation 1 --transform dct -o faces
  tensift select eeg.npz -k 8 --feature-mode 0          channels instead of elements
  tensift select cube.h5 --variable cube -k 500 --transform haar,dct --jobs -1
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
    _add_method_arguments(parser.add_argument_group("method"))
    _add_output_arguments(parser.add_argument_group("output"))


def _add_method_arguments(group: Any) -> None:
    group.add_argument(
        "-k",
        type=count_or_share,
        required=True,
        metavar="K",
        dest="n_features_to_select",
        help="how many features to keep (100), or which share of them (0.1)",
    )
    group.add_argument(
        "--orientation", type=int, metavar="MODE", default=0,
        help="the mode that is reconstructed (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--transform", type=transform_names, metavar="NAME|FILE.npy", default=["identity"],
        help="identity, dft, dct, haar, eigen, random or a matrix in a .npy file; separated by "
        "commas, one for each other mode (default: identity)",
    )  # fmt: skip
    group.add_argument(
        "--lam", type=non_negative, default=10.0, help="weight of the column norms (default: 10)"
    )
    group.add_argument(
        "--eta", type=non_negative, default=10.0, help="weight of the trace (default: 10)"
    )
    group.add_argument(
        "--penalty", choices=("absolute", "relative"), default="absolute",
        help="take --lam and --eta as they stand, or as fractions of the values above which no "
        "feature is left (default: absolute)",
    )  # fmt: skip
    group.add_argument(
        "--solver", choices=("paper", "exact"), default="paper",
        help="the authors' iteration, or the certified optimum (default: paper)",
    )  # fmt: skip
    add_feature_mode(group)
    group.add_argument(
        "--score", choices=("operator", "energy"), default="operator",
        help="the weight in the reconstruction, or that times the feature's spread, which tells "
        "features apart under the dft (default: operator)",
    )  # fmt: skip
    group.add_argument(
        "--scale", choices=("max", "none"), default="max",
        help="divide the data by their largest absolute value, or leave them (default: max)",
    )  # fmt: skip
    group.add_argument(
        "--tol", type=non_negative,
        help="paper: stop when the objective changes by less (default: 1e-5); exact: the relative "
        "duality gap to reach (default: 1e-6)",
    )  # fmt: skip
    group.add_argument(
        "--max-iter",
        type=positive_int,
        metavar="N",
        help="steps at most (default: 100; exact 1000)",
    )
    group.add_argument(
        "--stopping", choices=("absolute", "relative"), default="absolute",
        help="whether --tol is a change of the objective or a share of it (default: absolute)",
    )  # fmt: skip
    group.add_argument(
        "--convention", choices=("program", "paper"), default="program",
        help="whom to follow where the paper and its authors' program differ (default: program)",
    )  # fmt: skip
    group.add_argument("--seed", type=int, metavar="N", help="seed of --transform random")
    group.add_argument(
        "--jobs", type=int, metavar="N", help="threads; -1 for all cores (default: 1)"
    )


def _add_output_arguments(group: Any) -> None:
    group.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help="where to write (default: <name of the input>-tensift)",
    )  # fmt: skip
    group.add_argument(
        "--format", choices=FORMATS, default="png", help="of the figure (default: png)"
    )
    group.add_argument("--no-figure", action="store_true", help="write no figure")
    group.add_argument("--overwrite", action="store_true", help="replace earlier results")
    group.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    started = time.perf_counter()
    if not arguments.no_figure:
        require_figures()
    folder = arguments.output or Path(f"{arguments.input.stem}-tensift")
    names = (*_TABLES, *(f"selection.{suffix}" for suffix in FORMATS))
    dataset = read_input(arguments)
    parameters = _parameters(arguments, dataset)
    with OutputFolder(folder, names, overwrite=arguments.overwrite) as output:
        selector = _fit(dataset, parameters, arguments, console)
        feature_names = _feature_names(selector, dataset)
        output.write("scores.npy", lambda stream: _save(stream, selector.scores_))
        output.write(
            "selected.npy", lambda stream: _save(stream, selector.get_support(indices=True))
        )
        output.write_text("ranking.csv", ranking_table(selector, feature_names))
        if not arguments.no_figure:
            _write_figure(output, selector, dataset, arguments.format)
        settings = settings_of(arguments, parameters, selector, dataset)
        output.write_text("settings.json", json.dumps(settings, indent=2) + "\n")
    _summarise(console, arguments, selector, dataset, feature_names)
    console.say(f"written   {folder}{os.sep}: {', '.join(output.written)}")
    console.say(f"time      {time.perf_counter() - started:.2f} s")
    console.say(f"in Python {_IMPORTS}")
    console.say(f"          {python_line(arguments, selector)}")


def _parameters(arguments: argparse.Namespace, dataset: TensorDataset) -> dict[str, Any]:
    """The parameters of the selector, checked against the shape of the data."""
    feature_mode = feature_mode_of(arguments, dataset)
    shape = dataset.feature_shape
    total = math.prod(shape)
    if feature_mode is not None and -len(shape) <= feature_mode < len(shape):
        total = shape[feature_mode]
    wanted = arguments.n_features_to_select
    if isinstance(wanted, int) and wanted > total:
        raise ValueError(
            f"-k {wanted} is more than the {total} features in {arguments.input}; give a number "
            f"from 1 to {total}, or a share such as 0.1"
        )
    specs = [_load_matrix(s) if isinstance(s, Path) else s for s in arguments.transform]
    return {
        "n_features_to_select": wanted,
        "orientation": arguments.orientation,
        "transform": specs[0] if len(specs) == 1 else specs,
        "lam": arguments.lam,
        "eta": arguments.eta,
        "penalty": arguments.penalty,
        "feature_mode": feature_mode,
        "score": arguments.score,
        "solver": arguments.solver,
        "scale": None if arguments.scale == "none" else arguments.scale,
        "tol": arguments.tol,
        "max_iter": arguments.max_iter,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "convention": arguments.convention,
        "stopping": arguments.stopping,
    }


def _load_matrix(path: Path) -> np.ndarray:
    try:
        matrix: np.ndarray = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"--transform {path}: not a matrix in a .npy file ({error})") from None
    except OSError as error:
        raise OSError(f"--transform {path}: {error.strerror or error}") from None
    return matrix


def _fit(
    dataset: TensorDataset,
    parameters: dict[str, Any],
    arguments: argparse.Namespace,
    console: Console,
) -> STPCASelector:
    """Fit the selector; data that are mapped from disk pass through memory in chunks."""
    selector = STPCASelector(**parameters, verbose=not console.quiet)
    try:
        if isinstance(dataset.data, np.memmap) and not is_data_driven(parameters["transform"]):
            for chunk in in_chunks(dataset.data, console):
                selector.partial_fit(chunk)
        else:
            selector.fit(dataset.data)
        selector.ranking_  # noqa: B018  (after chunks, reading a result solves)
    except ValueError as error:
        reason = str(error).splitlines()[0]
        if "NaN" in reason or "infinity" in reason:
            reason += " Fill or remove such values first; tensift info counts them"
        raise ValueError(f"{arguments.input}: {reason}") from None
    return selector


def _save(stream: IO[bytes], array: np.ndarray) -> None:
    np.save(stream, array, allow_pickle=False)


def _feature_names(selector: STPCASelector, dataset: TensorDataset) -> ModeNames:
    names = ModeNames(dataset.feature_shape, dataset.dims, dataset.coords)
    if selector.feature_mode is None:
        return names
    return names.only([selector.feature_mode % len(dataset.feature_shape)])


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


def _summarise(
    console: Console,
    arguments: argparse.Namespace,
    selector: STPCASelector,
    dataset: TensorDataset,
    names: ModeNames,
) -> None:
    shape = dataset.feature_shape
    all_names = ModeNames(shape, dataset.dims, dataset.coords)
    mode = selector.orientation % len(shape)
    p, q, _ = selector.operators_.shape
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
    kept = int(selector.get_support().sum())
    kind = "elements" if selector.feature_mode is None else names.title(0) + " indices"
    console.say(f"selected  {kept} of {selector.scores_.size} {kind}; the best:")
    for flat in selector.ranking_[: min(_TOP, kept)]:
        place = np.unravel_index(flat, selector.scores_.shape)
        described = names.describe([int(i) for i in place])
        console.say(f"            {described:<32} {selector.scores_.ravel()[flat]:.4g}")
