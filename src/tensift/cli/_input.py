"""The arguments that name an input, and reading it."""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensift.cli._arguments import mode_or_none
from tensift.cli._console import Console
from tensift.datasets import TensorDataset, read_tensor

__all__ = [
    "add_feature_mode",
    "add_input_arguments",
    "describe_file",
    "feature_mode_of",
    "in_chunks",
    "read_arguments",
    "read_input",
]

_FROM_FILE = object()
_CHUNK_BYTES = 2**25  # of samples in memory at once
_HASHED_UP_TO = 2**30  # bytes: a second or two of work


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `read_tensor` wants to know."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help=".npy, .npz, MATLAB .mat, HDF5, or a table (.csv, .tsv) with a row a sample",
    )
    group.add_argument(
        "--variable", metavar="NAME", help="which array to take, where the file holds several"
    )
    group.add_argument(
        "--sample-axis",
        type=int,
        metavar="AXIS",
        help="the axis that counts the samples (default: the first; in MATLAB files the last)",
    )
    group.add_argument(
        "--labels",
        metavar="NAME|FILE",
        help="the array, column or file that holds class labels: set aside, never used to select",
    )


def add_feature_mode(group: Any) -> None:
    """Add the option that says what a feature is."""
    group.add_argument(
        "--feature-mode", type=mode_or_none, metavar="MODE", default=_FROM_FILE,
        help="the mode whose indices are the features, or none for elements (default: what the "
        "file says, else none)",
    )  # fmt: skip


def feature_mode_of(arguments: argparse.Namespace, dataset: TensorDataset) -> int | None:
    """The mode of features: what was asked for, else what the file says."""
    mode: int | None = arguments.feature_mode
    return dataset.feature_mode if mode is _FROM_FILE else mode


def read_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `read_tensor` that were given."""
    options = {name: getattr(arguments, name) for name in ("variable", "labels", "sample_axis")}
    return {name: value for name, value in options.items() if value is not None}


def read_input(arguments: argparse.Namespace) -> TensorDataset:
    """Read the input."""
    return read_tensor(arguments.input, **read_arguments(arguments))


def in_chunks(data: np.ndarray, console: Console) -> Iterator[np.ndarray]:
    """The samples in pieces that fit into memory, with progress."""
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
