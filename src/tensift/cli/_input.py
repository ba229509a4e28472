"""The arguments that name an input, and reading it."""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensift.cli._arguments import axes, mode_or_none, names, nodata_value
from tensift.cli._console import Console
from tensift.datasets import TensorDataset, file_of_values, files_of_input, read_tensor
from tensift.labels import Names, mode_number

__all__ = [
    "add_feature_mode",
    "add_input_arguments",
    "add_table_arguments",
    "dataset_text",
    "describe_file",
    "describe_weighing",
    "feature_mode_of",
    "feature_names_of",
    "in_chunks",
    "inputs_of",
    "names_of",
    "read_arguments",
    "read_input",
    "table_arguments",
    "weighing_of",
]

_FROM_FILE = object()
_READING = (
    "variable", "labels", "sample_axis", "mask", "nodata", "drop_label", "weights", "groups"
)  # fmt: skip
_CHUNK_BYTES = 2**25  # of samples in memory at once
_HASHED_UP_TO = 2**30  # bytes; this takes a second or two


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `read_tensor` wants to know."""
    group = parser.add_argument_group("input")
    group.add_argument(
        "input",
        metavar="INPUT",
        type=Path,
        help=".npy, .npz, MATLAB .mat, HDF5, NetCDF (.nc), Zarr, a folder of pictures, TIFF, an "
        "ENVI scene (.hdr), a recording of MNE-Python (.fif), or a table (.csv, .tsv) with one row "
        "per sample, or per value (--long)",
    )
    group.add_argument(
        "--variable", metavar="NAME", help="which array to read, if the file holds several"
    )
    group.add_argument(
        "--sample-axis",
        type=axes,
        metavar="AXIS[,AXIS]",
        help="the axis of the samples, by number or name; several are stacked: 0,1 makes every "
        "pixel of a scene (row, column, band) a sample (default: the first; in MATLAB files the "
        "last; the pixels of a TIFF or ENVI scene)",
    )
    group.add_argument(
        "--labels",
        metavar="NAME|FILE",
        help="the array, column or file with class labels, or FILE:NAME for an array of another "
        "file; they are never used to select",
    )
    group.add_argument(
        "--mask", metavar="NAME|FILE",
        help="the array or file that is 1 where a sample was measured; other samples are left out",
    )  # fmt: skip
    group.add_argument(
        "--nodata", type=nodata_value, metavar="NUMBER",
        help="leave out samples with this value, such as -9999 or nan (default: what a scene says)",
    )  # fmt: skip
    group.add_argument(
        "--drop-label", metavar="LABEL",
        help="leave out samples with this label, such as 0 for pixels without a class",
    )  # fmt: skip
    group.add_argument(
        "--weights", metavar="NAME|FILE",
        help="the array, column or file that says how much each sample counts: 3 like three copies "
        "of it, 0 like its absence",
    )  # fmt: skip
    group.add_argument(
        "--groups", metavar="NAME|FILE",
        help="the array, column or file with the group of each sample, such as its subject; groups "
        "count equally, and whole groups are held out",
    )  # fmt: skip
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
    group.add_argument(
        "--long", type=names, metavar="SAMPLE,MODE,...",
        help="tables with a line per value: the column of the sample, then one for each mode, such "
        "as trial,channel,time; other columns hold values, and several become the mode variable",
    )  # fmt: skip


def table_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of text files that were given."""
    options = {name: getattr(arguments, name) for name in ("header", "columns", "drop", "long")}
    return {name: value for name, value in options.items() if value is not None}


def add_feature_mode(group: Any) -> None:
    """Add the option that says what a feature is."""
    group.add_argument(
        "--feature-mode", type=mode_or_none, metavar="MODE", default=_FROM_FILE,
        help="the mode whose indices are the features (channels, bands), by number or by name, or "
        "none if every element is one (default: what the file says, else none)",
    )  # fmt: skip


def feature_mode_of(arguments: argparse.Namespace, dataset: TensorDataset) -> int | str | None:
    """The mode of the features: the one given, else the one in the file."""
    mode: int | str | None = arguments.feature_mode
    return dataset.feature_mode if mode is _FROM_FILE else mode


def feature_names_of(arguments: argparse.Namespace, dataset: TensorDataset) -> Names:
    """The names of the features: elements, or the indices of a mode."""
    names, mode = names_of(dataset), feature_mode_of(arguments, dataset)
    if mode is None:
        return names
    number = mode_number("feature_mode", mode, len(names.shape), dataset.names)
    return names.only([number])


def names_of(dataset: TensorDataset) -> Names:
    """The names of the modes, or numbers of modes."""
    return dataset.names or Names(dataset.feature_shape)


def read_arguments(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `read_tensor` that were given."""
    options = {name: getattr(arguments, name) for name in _READING}
    given = {name: value for name, value in options.items() if value is not None}
    return given | table_arguments(arguments)


def dataset_text(arguments: argparse.Namespace) -> str:
    """The Python expression that reads the dataset."""
    reading = [repr(str(arguments.input))]
    reading += [f"{name}={value!r}" for name, value in read_arguments(arguments).items()]
    return f"read_tensor({', '.join(reading)})"


def read_input(arguments: argparse.Namespace) -> TensorDataset:
    """Read the input."""
    return read_tensor(arguments.input, **read_arguments(arguments))


def inputs_of(arguments: argparse.Namespace) -> list[Path]:
    """The files that a command reads: samples, labels, masks, matrices, constraints."""
    files = [arguments.input, *files_of_input(arguments.input)]
    for beside in (arguments.labels, arguments.mask, arguments.weights, arguments.groups):
        file = file_of_values(beside)
        if file is not None:
            files.append(file)
    files += [spec for spec in getattr(arguments, "basis", []) if isinstance(spec, Path)]
    constraints = getattr(arguments, "constraints", None)
    files += [] if constraints is None else [constraints]
    return files


def weighing_of(dataset: TensorDataset) -> dict[str, Any]:
    """The weights and groups of samples, as arguments of fits and comparisons."""
    given = {"sample_weight": dataset.weights, "groups": dataset.groups}
    return {name: values for name, values in given.items() if values is not None}


def describe_weighing(dataset: TensorDataset) -> dict[str, str]:
    """What weights and groups were given, in words."""
    found = {}
    if dataset.weights is not None:
        weights = np.asarray(dataset.weights)
        if weights.dtype.kind not in "biuf":
            found["weights"] = f"text such as {str(weights[0])!r}, which cannot be used"
        else:
            found["weights"] = (
                f"{weights.min():.4g} to {weights.max():.4g}, sum {weights.sum():.6g}; "
                f"{np.count_nonzero(weights == 0)} samples have 0"
            )
    if dataset.groups is not None:
        names, counts = np.unique(dataset.groups, return_counts=True)
        shown = ", ".join(f"{g} ({n})" for g, n in zip(names[:8], counts[:8], strict=True))
        more = ", ..." if len(names) > 8 else ""
        sizes = f"{counts.min()} to {counts.max()}" if np.ptp(counts) else f"{counts[0]}"
        found["groups"] = f"{len(names)} groups of {sizes}: {shown}{more}"
    return found


def in_chunks(data: np.ndarray, console: Console) -> Iterator[np.ndarray]:
    """Yield the samples in chunks that fit into memory, and show progress."""
    rows = max(1, _CHUNK_BYTES // (8 * math.prod(data.shape[1:])))
    report = console.progress("reading samples", len(data))
    for start in range(0, len(data), rows):
        yield data[start : start + rows]
        report(min(start + rows, len(data)))


def describe_file(path: Path) -> dict[str, Any]:
    """What identifies an input: its size, and its checksum unless it is very large.

    The checksum of several files is that of their checksums and names, in order.
    """
    files = files_of_input(path)
    size = sum(file.stat().st_size for file in files)
    checksums = [_checksum(file) for file in files] if size <= _HASHED_UP_TO else []
    if files == [path]:
        return {"path": str(path), "bytes": size, "sha256": next(iter(checksums), None)}
    root = path if path.is_dir() else path.parent
    lines = [
        f"{checksum}  {file.relative_to(root).as_posix()}\n"
        for checksum, file in zip(checksums, files, strict=False)
    ]
    together = hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()
    return {
        "path": str(path),
        "files": len(files),
        "bytes": size,
        "sha256": together if checksums else None,
    }


def _checksum(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
