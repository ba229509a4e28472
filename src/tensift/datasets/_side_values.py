"""Values that stand beside a tensor, one for each sample: labels, masks, weights, groups."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._open import open_tensor_file
from tensift.datasets._stored import Contents, StoredArray, require_memory
from tensift.datasets._text_files import read_label_list

__all__ = ["file_of_values", "find_values", "load_side_array"]


def find_values(
    path: Path,
    contents: Contents | None,
    given: Any,
    what: str,
    dims: tuple[str, ...] = (),
) -> np.ndarray | None:
    """Return values that are given as an array, the name of one, a file, or ``FILE:NAME``.

    `dims` are the dimensions of the tensor; an array of the same file is put into their order.
    """
    if given is None:
        return None
    if contents is not None and isinstance(given, str) and given in contents.arrays:
        stored = contents.arrays[given]
        values = load_side_array(path, given, stored)
        if not stored.axes or not set(stored.axes) <= set(dims):
            return values
        return values.transpose([stored.axes.index(dim) for dim in dims if dim in stored.axes])
    if file_of_values(given) is not None:
        return _read_values_file(given, what)
    if isinstance(given, str | os.PathLike):
        raise ValueError(
            f"{path}: {what}={str(given)!r} is neither an array in the file nor a file of {what}"
        )
    return np.asarray(given)


def file_of_values(given: Any) -> Path | None:
    """Return the file that an argument names, as ``FILE`` or ``FILE:NAME``; else None."""
    if not isinstance(given, str | os.PathLike):
        return None
    if Path(given).is_file():
        return Path(given)
    file, colon, name = str(given).rpartition(":")
    return Path(file) if colon and name and file and Path(file).is_file() else None


def _read_values_file(given: str | os.PathLike[str], what: str) -> np.ndarray:
    """Read the one array of a file, or the array ``NAME`` of ``FILE:NAME``; text line by line."""
    path = file_of_values(given)
    assert path is not None
    name = None if Path(given).is_file() else str(given).rpartition(":")[2]
    contents = open_tensor_file(path)
    if contents is None:
        if name is not None:
            raise ValueError(f"{path}: a text file of {what} has no arrays; leave out ':{name}'")
        return read_label_list(path)
    arrays = contents.arrays
    if name is None and len(arrays) > 1 and contents.mask in arrays:
        arrays = {key: array for key, array in arrays.items() if key != contents.mask}
    if name is None and len(arrays) != 1:
        held = ", ".join(arrays)
        raise ValueError(
            f"{path}: a file of {what} must contain one array; this one has {len(arrays)} "
            f"({held}); name one as FILE:NAME"
        )
    name = next(iter(arrays)) if name is None else name
    if name not in arrays:
        raise ValueError(
            f"{path}: no array {name!r} for {what}; the file holds {', '.join(arrays)}"
        )
    return load_side_array(path, name, arrays[name])


def load_side_array(path: Path, name: str, stored: StoredArray) -> np.ndarray:
    """Load an array other than the tensor: numbers or text, never objects."""
    if stored.refusal:
        raise ValueError(f"{path}: {name!r} {stored.refusal}")
    if stored.dtype is None or stored.dtype.hasobject:
        raise ValueError(
            f"{path}: {name!r} is neither numbers nor text; pass the labels as labels="
        )
    require_memory(path, name, stored)
    return stored.load()
