"""What NetCDF files and Zarr stores say about their arrays: dimensions, coordinates, packed values.

The conventions of NetCDF (CF): an array with the name of a dimension names the indices along it;
``scale_factor``, ``add_offset`` and ``_FillValue`` say how numbers were packed; dates are numbers
with units such as "days since 2000-01-01". xarray decodes the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._sample_axes import SAMPLE_NAMES
from tensift.datasets._stored import RefusedFile, StoredArray, damaged_file, require_memory

__all__ = ["NUMBER_ATTRIBUTES", "TEXT_ATTRIBUTES", "name_variables"]

# The attributes that are read.
NUMBER_ATTRIBUTES = ("scale_factor", "add_offset", "_FillValue", "missing_value")
TEXT_ATTRIBUTES = ("units", "calendar", "coordinates", "bounds", "grid_mapping", "_Unsigned")
_LISTS_OF_NAMES = ("coordinates", "bounds", "grid_mapping")
_MARKS = ("_FillValue", "missing_value")
_INSTALL = 'to read them, install xarray: pip install "tensift[xarray]"'

Attributes = Mapping[str, Any]


def name_variables(
    path: Path,
    arrays: Mapping[str, StoredArray],
    dims: Mapping[str, tuple[str, ...]],
    attributes: Mapping[str, Attributes],
) -> tuple[dict[str, StoredArray], frozenset[str]]:
    """Add names, units and decoding to arrays; also return which of them are coordinates.

    Parameters
    ----------
    path : Path
        For errors.
    arrays : mapping of str to StoredArray
        The arrays as stored; names have slashes where there are groups.
    dims : mapping of str to tuple of str
        The dimensions of arrays, if they are known.
    attributes : mapping of str to mapping
        Numbers and text that were written beside arrays.
    """
    found = {
        name: _decoded(path, name, stored, attributes.get(name, {}))
        for name, stored in arrays.items()
    }
    for name, stored in found.items():
        axes = dims.get(name, ())[: len(stored.shape)]  # text lost the axis of its letters
        if not axes or len(axes) < len(stored.shape) or len(set(axes)) < len(axes):
            continue
        along = {
            dim: coordinate
            for dim, size in zip(axes, stored.shape, strict=True)
            if (coordinate := _coordinate(found, name, dim, size)) is not None
        }
        units = {dim: attributes.get(one, {}).get("units") for dim, one in along.items()}
        found[name] = replace(
            stored,
            axes=axes,
            sample_axes=(next((axes.index(dim) for dim in axes if dim in SAMPLE_NAMES), 0),),
            coords=_Coordinates(path, {dim: (one, found[one]) for dim, one in along.items()}),
            units={
                dim: unit
                for dim, unit in units.items()
                if isinstance(unit, str) and not _are_dates(unit)
            },
        )
    return found, frozenset(_coordinate_names(found, attributes))


def _coordinate(arrays: Mapping[str, StoredArray], name: str, dim: str, size: int) -> str | None:
    """Return the array that names the indices of a dimension: in its group, or in one above."""
    group = name
    while group:
        group = group.rpartition("/")[0]
        one = f"{group}/{dim}" if group else dim
        if one in arrays:
            return one if arrays[one].shape == (size,) else None
    return None


def _coordinate_names(
    arrays: Mapping[str, StoredArray], attributes: Mapping[str, Attributes]
) -> Iterator[str]:
    for name, stored in arrays.items():
        group = name.rpartition("/")[0]
        listed = [
            word.rstrip(":")
            for kind in _LISTS_OF_NAMES
            if isinstance(text := attributes.get(name, {}).get(kind), str)
            for word in text.split()
        ]
        for one in [*stored.axes, *listed]:
            yield f"{group}/{one}" if group else one
        yield from (one for one, _ in getattr(stored.coords, "named", {}).values())


class _Coordinates(Mapping[str, np.ndarray]):
    """The names along dimensions, loaded when they are asked for."""

    def __init__(self, path: Path, named: dict[str, tuple[str, StoredArray]]) -> None:
        self._path, self.named = path, named

    def __getitem__(self, dim: str) -> np.ndarray:
        name, stored = self.named[dim]
        if stored.refusal:
            raise RefusedFile(f"{self._path}: {name!r} {stored.refusal}")
        require_memory(self._path, name, stored)
        return stored.load()

    def __iter__(self) -> Iterator[str]:
        return iter(self.named)

    def __len__(self) -> int:
        return len(self.named)


def _are_dates(unit: Any) -> bool:
    return isinstance(unit, str) and " since " in unit


def _decoded(path: Path, name: str, stored: StoredArray, attrs: Attributes) -> StoredArray:
    """Return the array that loads its values decoded."""
    if stored.dtype is None or stored.refusal:
        return stored
    if stored.dtype.kind == "S":
        return _as_text(stored)
    if not stored.is_numeric or not _is_coded(stored.dtype, attrs):
        return stored
    decoder = _Decoder(path, name, stored, attrs)
    if _are_dates(attrs.get("units")):
        return replace(stored, dtype=np.dtype("M8[ns]"), load=decoder.load, rows=None, mapped=False)
    if not _has_xarray():
        if _is_packed(attrs):
            return replace(stored, refusal=f"has values that are packed as in NetCDF; {_INSTALL}")
        return replace(stored, load=decoder.load_without_marks, rows=None, mapped=False)
    rows = None if stored.rows is None else decoder.rows
    return replace(stored, dtype=decoder.dtype(), load=decoder.load, rows=rows, mapped=False)


def _is_packed(attrs: Attributes) -> bool:
    """Whether stored numbers are others than the values, even where none is missing."""
    identity = attrs.get("scale_factor", 1) == 1 and attrs.get("add_offset", 0) == 0
    return not identity or attrs.get("_Unsigned") in ("true", "false")


def _is_coded(dtype: np.dtype, attrs: Attributes) -> bool:
    """Whether stored numbers are not all of them the values."""
    if _are_dates(attrs.get("units")) or _is_packed(attrs):
        return True
    marks = [mark for name in _MARKS for mark in np.ravel(attrs.get(name, ()))]
    if dtype.kind in "fc":
        marks = [mark for mark in marks if not np.isnan(mark)]  # NaN stays NaN
    return bool(marks)


class _Decoder:
    """Decodes the values of one array by xarray."""

    def __init__(self, path: Path, name: str, stored: StoredArray, attrs: Attributes) -> None:
        self.path, self.name, self.stored, self.attrs = path, name, stored, dict(attrs)

    def dtype(self) -> np.dtype:
        """Return the type of decoded values."""
        assert self.stored.dtype is not None
        with damaged_file(self.path, "data"):
            return self._decode(np.zeros((1,) * len(self.stored.shape), self.stored.dtype)).dtype

    def load(self) -> np.ndarray:
        """Load all values."""
        if not _has_xarray():
            raise ImportError(f"{self.path}: {self.name!r} holds dates; {_INSTALL}")
        raw = self.stored.load()
        with damaged_file(self.path, "data"):
            return self._decode(raw)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Load some rows."""
        assert self.stored.rows is not None
        raw = self.stored.rows(start, stop)
        with damaged_file(self.path, "data"):
            return self._decode(raw)

    def load_without_marks(self) -> np.ndarray:
        """Load all values as they are stored; an error if some mark what is missing."""
        raw = self.stored.load()
        for name in _MARKS:
            for mark in np.ravel(self.attrs.get(name, ())):
                count = int(np.count_nonzero(raw == mark))
                if count:
                    raise RefusedFile(
                        f"{self.path}: array {self.name!r} has {count} missing values "
                        f"({name} = {mark:g}); {_INSTALL}"
                    )
        return raw

    def _decode(self, raw: np.ndarray) -> np.ndarray:
        import xarray

        dims = [f"axis{place}" for place in range(raw.ndim)]
        stored = xarray.Dataset({"values": (dims, raw, self.attrs)})
        try:
            decoded = xarray.decode_cf(stored, decode_coords=False, decode_timedelta=False)
            values = np.asarray(decoded["values"].values)
        except Exception as error:
            if _are_dates(self.attrs.get("units")) and "cftime" in str(error):
                raise RefusedFile(
                    f"{self.path}: {self.name!r} holds dates of the calendar "
                    f"{self.attrs.get('calendar')!r}, which need cftime: pip install cftime"
                ) from None
            raise
        if values.dtype == object:  # dates of other calendars
            return np.array([one.isoformat() for one in values.ravel()]).reshape(values.shape)
        return values


def _has_xarray() -> bool:
    try:
        import xarray  # noqa: F401
    except ImportError:
        return False
    return True


def _as_text(stored: StoredArray) -> StoredArray:
    """Return bytes as text; NetCDF 3 stores single letters along a further axis."""
    assert stored.dtype is not None
    width, shape = stored.dtype.itemsize, stored.shape
    letters = width == 1 and len(shape) > 1
    if letters:
        width, shape = max(1, shape[-1]), shape[:-1]

    def load() -> np.ndarray:
        raw = np.ascontiguousarray(stored.load())
        if letters:
            raw = raw.view(f"S{width}").reshape(shape) if raw.size else np.zeros(shape, "S1")
        return np.char.decode(raw, "utf-8", "replace")

    dtype = np.dtype(f"U{width}")
    if math.prod(shape) == 0:
        dtype = np.dtype("U1")
    return replace(
        stored, shape=shape, dtype=dtype, load=load, kind="array of text", mapped=False, rows=None
    )
