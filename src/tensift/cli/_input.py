"""The arguments that name an input, and reading it."""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensift.cli._arguments import mode_or_none, names
from tensift.cli._console import Console
from tensift.datasets import TensorDataset, read_tensor

__all__ = [
    "add_feature_mode",
    "add_input_arguments",
    "add_table_arguments",
    "describe_file",
    "feature_mode_of",
    "in_chunks",
    "inputs_of",
    "read_arguments",
    "read_input",
    "table_arguments",
]

_FROM_FILE = object()
_CHUNK_BYTES = 2**25  # of samples in memory at once
_HASHED_UP_TO = 2**30  # bytes; this takes a second or two


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `read_tensor` wants to know."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help=".npy, .npz, MATLAB .mat, HDF5, or a table (.csv, .tsv) with one row per sample",
    )
    group.add_argument(
        "--variable", metavar="NAME", help="which array to read, if the file holds several"
    )
    group.add_argument(
        "--sample-axis",
        type=int,
        metavar="AXIS",
        help="the axis of the samples (default: the first; in MATLAB files the last)",
    )
    group.add_argument(
        "--labels",
        metavar="NAME|FILE",
        help="the array, column or file with class labels; they are never used to select",
    )
    add_table_arguments(group)


def add_table_arguments(group: Any) -> None:
    """Add the options of text files."""
    group.add_argument(
        "--header", action=argparse.BooleanOptionalAction, default=None,
        help="tables: whether the first line names the columns (default: the file decides)",
    )  # fmt: skip
    group.add_argument(
        "--columns", type=names, metavar="A,B,...",
        help="tables: the columns to read, by name or counted from 0 (default: all)",
    )  # fmt: skip
    group.add_argument(
        "--drop", type=names, metavar="A,B,...", help="tables: the columns to leave out"
    )


def table_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of text files that were given."""
    options = {name: getattr(arguments, name) for name in ("header", "columns", "drop")}
    return {name: value for name, value in options.items() if value is not None}


def add_feature_mode(group: Any) -> None:
    """Add the option that says what a feature is."""
    group.add_argument(
        "--feature-mode", type=mode_or_none, metavar="MODE", default=_FROM_FILE,
        help="the mode whose indices are the features (channels, bands), or none if every element "
        "is one (default: what the file says, else none)",
    )  # fmt: skip


def feature_mode_of(arguments: argparse.Namespace, dataset: TensorDataset) -> int | None:
    """The mode of the features: the one given, else the one in the file."""
    mode: int | None = arguments.feature_mode
    return dataset.feature_mode if mode is _FROM_FILE else mode


def read_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `read_tensor` that were given."""
    options = {name: getattr(arguments, name) for name in ("variable", "labels", "sample_axis")}
    given = {name: value for name, value in options.items() if value is not None}
    return given | table_arguments(arguments)


def read_input(arguments: argparse.Namespace) -> TensorDataset:
    """Read the input."""
    return read_tensor(arguments.input, **read_arguments(arguments))


def inputs_of(arguments: argparse.Namespace) -> list[Path]:
    """The files that a command reads: samples, labels, matrices, constraints."""
    files = [arguments.input]
    if arguments.labels is not None and Path(arguments.labels).is_file():
        files.append(Path(arguments.labels))
    files += [spec for spec in getattr(arguments, "basis", []) if isinstance(spec, Path)]
    constraints = getattr(arguments, "constraints", None)
    files += [] if constraints is None else [constraints]
    return files


def in_chunks(data: np.ndarray, console: Console) -> Iterator[np.ndarray]:
    """Yield the samples in chunks that fit into memory, and show progress."""
    rows = max(1, _CHUNK_BYTES // (8 * math.prod(data.shape[1:])))
    report = console.progress("reading samples", len(data))
    for start in range(0, len(data), rows):
        yield data[start : start + rows]
        report(min(start + rows, len(data)))


def describe_file(path: Path) -> dict[str, Any]:
    """What identifies a file: its size, and its checksum unless it is very large."""
    size = path.stat().st_size
    checksum = None
    if size <= _HASHED_UP_TO:
        with open(path, "rb") as stream:
            checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"path": str(path), "bytes": size, "sha256": checksum}
