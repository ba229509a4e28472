"""``tensift info``: show what is in a file, and how much memory a selection would take."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensift._utils.units import format_bytes
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments, format_shape, show
from tensift.cli._guess import Guess, guess_meanings
from tensift.cli._input import (
    add_input_arguments,
    describe_weighing,
    in_chunks,
    inputs_of,
    names_of,
    read_arguments,
    read_input,
)
from tensift.cli._missing import MissingCounts, check_figure_name, write_missing_figure
from tensift.datasets import (
    TensorDataset,
    choose_tensor,
    files_of_input,
    header_line,
    open_tensor_file,
)
from tensift.labels import Names

__all__ = ["add_parser", "run"]


_EPILOG = """\
An orientation splits every sample into p slices of q features. The method works on p Gram
matrices of q x q values, for any number of samples. With fewer samples than q, it keeps thin
factors of these matrices instead.

At the end it says what samples and features seem to be, and which command to try. Where the file
does not name its axes, this is a guess from the shape.

names in .npz and HDF5 files, all optional besides the data:
  data, X, x_train or images the array, samples first
  labels, y or target        one label for each sample (y_train with x_train)
  dims                       the names of the feature modes, or of all axes
  coords_<dim>               the names along the mode <dim>
  units_<dim>                the unit of these, such as s or nm
  channels or ch_names       the names along the mode of that length: channels
  wavelengths or bands       the same for bands
  times, or sfreq or fs      the times along the mode called time, or the samples per second
  feature_mode               the mode whose indices are the features

examples:
  tensift info digits.npy
  tensift info pictures/                    a folder of pictures
  tensift info scene.hdr                    an ENVI scene: every pixel is a sample
  tensift info cube.mat --sample-axis 0,1 --labels cube_gt.mat --drop-label 0
  tensift info recording.mat --sample-axis 0
  tensift info motion.csv --long trial,channel,time     a table with a line per value
  tensift info subject-epo.fif              epochs of MNE-Python, with their events as labels
  tensift info archive.npz --variable eeg --groups subject
  tensift info sst.nc --sample-axis time    NetCDF and Zarr name their axes
  tensift info scene.zarr --variable reflectance --sample-axis y,x
  tensift info sea.npy --figure missing.png     draw where values are missing
"""


@dataclass(frozen=True)
class _Values:
    """What one pass over the data finds."""

    smallest: float
    largest: float
    n_infinite: int
    missing: MissingCounts


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "info",
        help=COMMANDS["info"],
        description="Show what a file holds, and how much memory each orientation would take.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add_input_arguments(parser)
    parser.add_argument(
        "--figure", type=Path, metavar="FILE",
        help="draw where values are missing: .png, .svg or .pdf",
    )  # fmt: skip
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier picture")
    add_console_arguments(parser, quiet="show no progress and no warnings")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    check_figure_name(arguments.figure)
    dataset = read_input(arguments)
    values = _look_at_values(dataset.data, console)
    names = names_of(dataset)
    files = files_of_input(arguments.input)
    held = format_bytes(sum(file.stat().st_size for file in files))
    held = held if len(files) == 1 else f"{len(files)} files, {held}"
    show(f"file      {arguments.input} ({held})")
    show(
        f"data      {dataset.n_samples} samples of {format_shape(dataset.feature_shape)}, "
        f"{dataset.data.dtype}, {format_bytes(dataset.data.nbytes)}"
    )
    if dataset.sample_shape is not None:
        show(f"samples   {_describe_samples(dataset, dataset.sample_shape)}")
    of = "moduli" if np.iscomplexobj(dataset.data) else "values"
    show(f"{of:<9} {values.smallest:.6g} to {values.largest:.6g}")
    n_nan = values.missing.total
    share = f" ({100 * n_nan / dataset.data.size:.3g} % NaN)" if n_nan else ""
    show(f"missing   {n_nan} NaN, {values.n_infinite} infinite{share}")
    values.missing.say(names)
    show(f"labels    {_describe_labels(dataset)}")
    for word, described in describe_weighing(dataset).items():
        show(f"{word:<9} {described}")
    contents = open_tensor_file(arguments.input)
    stored_shape = None
    if contents is not None:
        if contents.note:
            show(f"units     {contents.note}")
        data = choose_tensor(arguments.input, contents, arguments.variable, _besides(arguments))
        stored_shape = contents.arrays[data].shape
    else:
        line = header_line(arguments.input, arguments.header)
        show(f"header    {'none: every line is a sample' if line is None else f'line {line}'}")
    for mode, size in enumerate(dataset.feature_shape):
        word = f"mode {mode}" if names.name(mode) == f"mode {mode}" else "mode"
        show(f"{word:<9} {_describe_mode(dataset, names, mode, size)}")
    if dataset.feature_mode is not None:
        title = names.name(dataset.feature_mode)
        show(f"features  the indices of {title} (from the file)")
    show()
    _print_orientations(dataset, names)
    show()
    if values.n_infinite:
        show("Fill or remove the infinite values first: select refuses them.")
    if n_nan:
        show("select refuses NaN; --missing allow takes it for values that were not observed.")
    open_axes = stored_shape if arguments.sample_axis is None else None
    for guess in guess_meanings(dataset, open_axes):
        show(f"{'meaning' if guess.known else 'guess':<9} {guess.meaning}")
        show(f"try       {suggest_command(arguments, guess)}{' --missing allow' * (n_nan > 0)}")
    if arguments.figure is not None:
        write_missing_figure(
            arguments.figure,
            values.missing,
            names,
            inputs_of(arguments),
            overwrite=arguments.overwrite,
        )


def _besides(arguments: argparse.Namespace) -> set[str]:
    """The arrays of the file that are something else than the data."""
    given = (arguments.labels, arguments.mask, arguments.weights, arguments.groups)
    return {name for name in given if name is not None}


def _describe_samples(dataset: TensorDataset, shape: tuple[int, ...]) -> str:
    stacked = f"stacked from {format_shape(shape)}" if len(shape) > 1 else f"{shape[0]} in the file"
    if dataset.kept is None:
        return stacked
    return f"{stacked}; {math.prod(shape) - dataset.n_samples} left out"


def _look_at_values(data: np.ndarray, console: Console) -> _Values:
    """Read the data once, in chunks, so that a file may be larger than memory."""
    smallest, largest, n_infinite = math.inf, -math.inf, 0
    missing = MissingCounts(data.shape[1:])
    for part in in_chunks(data, console):
        chunk = np.abs(part) if np.iscomplexobj(part) else np.asarray(part)
        missing.add(np.isnan(chunk))
        n_infinite += int(np.count_nonzero(np.isinf(chunk)))
        finite = chunk[np.isfinite(chunk)]
        if finite.size:
            smallest = min(smallest, float(finite.min()))
            largest = max(largest, float(finite.max()))
    if smallest > largest:
        smallest = largest = math.nan
    return _Values(smallest, largest, n_infinite, missing)


def _describe_labels(dataset: TensorDataset) -> str:
    if dataset.labels is None:
        return "none"
    classes, counts = np.unique(dataset.labels, return_counts=True)
    shown = ", ".join(f"{c} ({n})" for c, n in zip(classes[:8], counts[:8], strict=True))
    more = ", ..." if len(classes) > 8 else ""
    return f"{len(classes)} classes: {shown}{more}"


def _describe_mode(dataset: TensorDataset, names: Names, mode: int, size: int) -> str:
    name = f"{names.title(mode)}, " if dataset.dims is not None else ""
    if not names.is_named(mode):
        return f"{name}length {size}"
    shown = ", ".join(names.label(mode, i) for i in range(min(size, 6)))
    return f"{name}length {size}: {shown}{', ...' if size > 6 else ''}"


def _print_orientations(dataset: TensorDataset, names: Names) -> None:
    total = math.prod(dataset.feature_shape)
    show("orientation          q features  p slices  Gram tensor  kept as")
    for mode, q in enumerate(dataset.feature_shape):
        p = total // q
        kept = "dense" if dataset.n_samples >= q else "thin factors"
        title = f"{mode} ({names.name(mode)})" if dataset.dims is not None else str(mode)
        show(f"{title:<19}  {q:>10}  {p:>8}  {format_bytes(8 * p * q * q):>11}  {kept}")


def suggest_command(arguments: argparse.Namespace, guess: Guess) -> str:
    """A first command to try: it keeps a tenth of the features, at most 100."""
    count = max(1, min(100, guess.n_features // 10))
    words = ["tensift", "select", str(arguments.input), "-k", str(count)]
    if guess.feature_mode is not None:
        words += ["--feature-mode", str(guess.feature_mode)]
    given: Mapping[str, Any] = read_arguments(arguments)
    if guess.sample_axis is not None:
        given = {**given, "sample_axis": guess.sample_axis}
    if guess.long:
        given = {**given, "long": guess.long}
    for name, value in given.items():
        option = name.replace("_", "-")
        if name == "header":
            words.append("--header" if value else "--no-header")
            continue
        text = ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
        # A value that begins with a dash would be taken for an option.
        words += [f"--{option}={text}"] if text.startswith("-") else [f"--{option}", text]
    return shlex.join(words)
