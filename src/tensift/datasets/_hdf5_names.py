"""Names in HDF5 files: the dimensions of datasets, and their attributes.

NetCDF 4 files and h5py name dimensions by datasets, the dimension scales. What a dataset says of
its scales has a variable length, which HDF5 can hang on; what a scale says of its datasets has not.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._cf_names import NUMBER_ATTRIBUTES, TEXT_ATTRIBUTES
from tensift.datasets._hdf5_text import check_heaps

__all__ = ["attributes_of", "dimensions_of"]

_LENGTH_ALONE = b"This is a netCDF dimension but not a netCDF variable"
_LONGEST = 2**16  # bytes of an attribute that is read


def dimensions_of(
    file: Any, names: Collection[str]
) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """Return the dimensions of datasets, and the scales that are nothing but a length."""
    named: dict[str, dict[int, str]] = {}
    lengths = set()
    for name in names:
        item = _dataset(file, name)
        if item is None or _bytes_attribute(item, "CLASS") != b"DIMENSION_SCALE":
            continue
        title = name.rpartition("/")[2]
        if len(item.shape) == 1:
            named.setdefault(name, {})[0] = title
        if _bytes_attribute(item, "NAME").startswith(_LENGTH_ALONE):
            lengths.add(name)
        for reference, axis in _references(item):
            dataset = file[reference].name
            if dataset is not None:
                named.setdefault(dataset.strip("/"), {}).setdefault(axis, title)
    dims = {
        name: tuple(axes[axis] for axis in range(len(axes)))
        for name, axes in named.items()
        if name in names and sorted(axes) == list(range(len(axes)))
    }
    return dims, frozenset(lengths)


def attributes_of(path: Path, file: Any, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the attributes of datasets that say what their values are."""
    found: dict[str, dict[str, Any]] = {}
    checked = False
    for name in names:
        item = _dataset(file, name)
        if item is None:
            continue
        own = found.setdefault(name, {})
        for attribute in NUMBER_ATTRIBUTES:
            values = _numbers(item, attribute)
            if values is not None and (values.size == 1 or attribute == "missing_value"):
                own[attribute] = values if attribute == "missing_value" else values[0]
        for attribute in TEXT_ATTRIBUTES:
            if attribute not in item.attrs:
                continue
            stored = item.attrs.get_id(attribute)
            if stored.dtype.kind not in "SO" or math.prod(stored.shape or (1,)) != 1:
                continue
            if stored.dtype.kind == "O":
                if not _is_text(stored.dtype):
                    continue
                if not checked:
                    check_heaps(path)
                    checked = True
            own[attribute] = _decoded(np.ravel(item.attrs[attribute])[0])
    return found


def _dataset(file: Any, name: str) -> Any:
    """Return a dataset of this file, None for a link into another."""
    import h5py

    if isinstance(file.get(name, getlink=True), h5py.ExternalLink):
        return None
    return file[name]


def _references(scale: Any) -> list[tuple[Any, int]]:
    if "REFERENCE_LIST" not in scale.attrs:
        return []
    stored = scale.attrs.get_id("REFERENCE_LIST")
    if stored.dtype.names != ("dataset", "dimension"):
        return []
    return [(one["dataset"], int(one["dimension"])) for one in scale.attrs["REFERENCE_LIST"]]


def _bytes_attribute(item: Any, name: str) -> bytes:
    """Return text of a fixed length, b"" if there is none."""
    if name not in item.attrs or item.attrs.get_id(name).dtype.kind != "S":
        return b""
    if math.prod(item.attrs.get_id(name).shape or (1,)) != 1:
        return b""
    return bytes(np.ravel(item.attrs[name])[0])


def _numbers(item: Any, name: str) -> np.ndarray | None:
    if name not in item.attrs:
        return None
    stored = item.attrs.get_id(name)
    size = math.prod(stored.shape or (1,))
    if stored.dtype.kind not in "iuf" or not 0 < size * stored.dtype.itemsize <= _LONGEST:
        return None
    return np.asarray(item.attrs[name]).ravel()


def _is_text(dtype: np.dtype) -> bool:
    import h5py

    return h5py.check_string_dtype(dtype) is not None


def _decoded(text: Any) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
