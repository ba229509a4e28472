"""Zarr stores: folders of arrays in chunks.

Chunks may be packed by any codec that is installed, and one of them unpickles. So only codecs that
decode numbers and text are read.
"""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._cf_names import NUMBER_ATTRIBUTES, TEXT_ATTRIBUTES, name_variables
from tensift.datasets._stored import Contents, RefusedFile, StoredArray, damaged_file

__all__ = ["files_of_zarr", "is_zarr_store", "open_zarr"]

_MARKS = ("zarr.json", ".zarray", ".zgroup")
_ARRAY_FILES = ("zarr.json", ".zarray")
_CODECS = {
    "adler32", "astype", "bitround", "blosc", "bytes", "bz2", "crc32", "crc32c", "delta",
    "fixedscaleoffset", "fletcher32", "gzip", "lz4", "lzma", "packbits", "quantize", "shuffle",
    "sharding_indexed", "transpose", "vlen-bytes", "vlen-utf8", "zlib", "zstd",
}  # fmt: skip
_LARGEST = 2**26  # bytes of the description of an array


def is_zarr_store(folder: Path) -> bool:
    """Whether a folder is a Zarr store."""
    return any((folder / name).exists() for name in _MARKS)


def files_of_zarr(folder: Path) -> list[Path]:
    """Return all files of a store, in order; links that lead out of it are refused."""
    root = folder.resolve()
    found = []
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                raise ValueError(
                    f"{path}: a link out of the store; tensift reads nothing outside of the "
                    "folder that it is given: copy the files into it"
                )
        found += [Path(parent, name) for name in files]
    return sorted(found)


def open_zarr(folder: Path) -> Contents:
    """List the arrays of a Zarr store."""
    zarr = _require_zarr(folder)
    described = [path for path in files_of_zarr(folder) if path.name in _ARRAY_FILES]
    arrays, dims, attributes = {}, {}, {}
    with damaged_file(folder, "Zarr"):
        for path in described:
            about = _read_json(path)
            if path.name == "zarr.json" and about.get("node_type") != "array":
                continue
            place = path.parent.relative_to(folder).as_posix()
            name = "data" if place == "." else place
            codec = next((one for one in _codecs(about) if one not in _CODECS), None)
            if codec is not None:
                refusal = f"is packed by the codec {codec!r}, which is not read"
                arrays[name] = StoredArray((), None, _load_nothing, "array", refusal=refusal)
                continue
            loader = _Loader(zarr, folder, path.parent)
            stored = loader.open()
            text = stored.dtype.kind not in "biufcSU"
            arrays[name] = StoredArray(
                tuple(int(size) for size in stored.shape),
                np.dtype(str) if text else np.dtype(stored.dtype),
                loader,
                "array of text" if text else "array",
                rows=loader.rows if stored.shape and not text else None,
            )
            dims[name], attributes[name] = _names(about, dict(stored.attrs), stored)
    named, coordinates = name_variables(folder, arrays, dims, attributes)
    return Contents("Zarr", named, coordinates=coordinates)


class _Loader:
    """Loads one array, when called."""

    def __init__(self, zarr: Any, folder: Path, place: Path) -> None:
        self.zarr, self.folder, self.place = zarr, folder, place

    def __call__(self) -> np.ndarray:
        return self._read(...)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Load some rows."""
        return self._read(slice(start, stop))

    def open(self) -> Any:
        """Return the array as zarr opens it."""
        return self.zarr.open_array(self.place, mode="r")

    def _read(self, index: Any) -> np.ndarray:
        with damaged_file(self.folder, "Zarr"):
            values = np.asarray(self.open()[index])
            if values.dtype.kind in "OT":
                if not all(isinstance(value, str) for value in values.ravel().tolist()):
                    raise RefusedFile(f"{self.place}: is neither numbers nor text")
                return values.astype(str)
            return values


def _load_nothing() -> np.ndarray:
    raise ValueError("an array that cannot be read")


def _read_json(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.name} has more than {_LARGEST} bytes")
    about = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(about, dict):
        raise ValueError(f"{path.name} does not describe an array")
    return about


def _codecs(about: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all codecs of an array, also of those inside of others."""
    parts = [about.get("compressor"), about.get("filters"), about.get("codecs")]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts += part
        elif isinstance(part, dict):
            yield str(part.get("name", part.get("id"))).removeprefix("numcodecs.")
            inner = part.get("configuration")
            if isinstance(inner, dict):
                parts += [value for key, value in inner.items() if key.endswith("codecs")]
        elif isinstance(part, str):
            yield part


def _names(
    about: dict[str, Any], written: dict[str, Any], stored: Any
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the dimensions of an array and what it says of its values, as xarray writes both."""
    dims = about.get("dimension_names") or written.get("_ARRAY_DIMENSIONS") or ()
    if not isinstance(dims, list | tuple) or not all(isinstance(dim, str) for dim in dims):
        dims = ()
    found: dict[str, Any] = {
        name: written[name] for name in TEXT_ATTRIBUTES if isinstance(written.get(name), str)
    }
    for name in NUMBER_ATTRIBUTES:
        if name != "_FillValue" and isinstance(written.get(name), int | float):
            found[name] = written[name]
    mark = written.get("_FillValue")
    # In version 2, xarray keeps the mark of missing values where Zarr keeps that of empty chunks.
    if mark is None and "_ARRAY_DIMENSIONS" in written:
        mark = stored.fill_value
    if isinstance(mark, str) and stored.dtype.kind == "f":
        mark = struct.unpack("<d", base64.b64decode(mark))[0]
    if isinstance(mark, int | float | np.number) and stored.dtype.kind in "iuf":
        found["_FillValue"] = np.asarray(mark).astype(stored.dtype)[()]
    return tuple(dims), found


def _require_zarr(folder: Path) -> Any:
    try:
        import zarr
    except ImportError:
        raise ImportError(f'{folder}: Zarr stores need zarr: pip install "tensift[zarr]"') from None
    return zarr
