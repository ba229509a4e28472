"""HDF5 files, among them those of MATLAB 7.3 and NetCDF 4.

Dimensions and attributes are read by `tensift.datasets._hdf5_names`.

A file may come from anyone, so two things are never left to the HDF5 library. It would follow a
file's references to other files, and copy their bytes into our results. And it can hang or crash
on damaged values of variable length; `tensift.datasets._hdf5_text` reads these.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._cf_names import name_variables
from tensift.datasets._hdf5_names import attributes_of, dimensions_of
from tensift.datasets._hdf5_text import TextAddress, check_heaps, locate_text, read_text
from tensift.datasets._stored import (
    MAP_FROM_BYTES,
    Contents,
    RefusedFile,
    StoredArray,
    damaged_file,
)

__all__ = ["open_hdf5"]

_NUMBERS_IN_MATLAB = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LONGEST_TENSOR_TYPE = 100
_NOT_READ = "has values of variable length or references, which are not read, unless they are text"
_INCOMPLETE = "is a virtual dataset whose sources do not give all of its values"
_ELSEWHERE = "tensift reads no file but the one it is given; copy the values into one file"


def open_hdf5(path: Path, *, from_matlab: bool) -> Contents:
    """List the datasets of an HDF5 file.

    MATLAB writes its column-major arrays with the axes reversed; they are turned back here.
    """
    h5py = _require_h5py(path)
    arrays: dict[str, StoredArray] = {}
    virtual: list[str] = []

    def visit(name: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        if item.is_virtual:
            virtual.append(name)
        else:
            arrays[name] = _describe(path, name, item, from_matlab)

    def visit_link(name: str, link: Any) -> None:
        if isinstance(link, h5py.ExternalLink):
            reason = f"is a link into another file, {link.filename!r}; {_ELSEWHERE}"
            arrays[name] = StoredArray((), None, _load_nothing, "link", refusal=reason)

    tensor_type = None
    dims: dict[str, tuple[str, ...]] = {}
    attributes: dict[str, dict[str, Any]] = {}
    with damaged_file(path, "HDF5"), h5py.File(path, "r") as file:
        # Neither of these follows links into other files.
        file.visititems(visit)
        file.visititems_links(visit_link)
        own = {name for name, stored in arrays.items() if not stored.refusal}
        for name in virtual:
            # The shape of a virtual dataset may depend on its sources, so they are checked first.
            reason = _virtual_refusal(file[name], own)
            arrays[name] = (
                StoredArray((), None, _load_nothing, "virtual dataset", refusal=reason)
                if reason
                else _describe(path, name, file[name], from_matlab)
            )
        if from_matlab:
            tensor_type = _read_tensor_type(file, arrays.get("tensor_type"))
        else:
            dims, lengths = dimensions_of(file, arrays)
            arrays = {name: one for name, one in arrays.items() if name not in lengths}
            attributes = attributes_of(path, file, arrays)
    if from_matlab:
        return Contents("HDF5", arrays, from_matlab=True, tensor_type=tensor_type)
    arrays, coordinates = name_variables(path, arrays, dims, attributes)
    return Contents("HDF5", arrays, coordinates=coordinates)


def _describe(path: Path, name: str, item: Any, from_matlab: bool) -> StoredArray:
    shape = tuple(int(size) for size in item.shape or ())
    kind = "array"
    try:
        dtype = item.dtype
    except TypeError:  # a type that NumPy does not have
        return StoredArray(shape, None, _load_nothing, "value of a type unknown to NumPy")
    text, refusal = None, _storage_refusal(item)
    if dtype.kind == "O":
        text = locate_text(item)
        refusal = refusal or ("" if _is_text(dtype) else _NOT_READ)
        dtype, kind = np.dtype(str), "array of text"
    elif dtype.names == ("real", "imag"):
        dtype = np.result_type(dtype["real"], np.complex64)
    if from_matlab:
        shape = shape[::-1]
        kind = _matlab_class(item)
        if kind not in _NUMBERS_IN_MATLAB:
            dtype = None
    loader = _Hdf5Loader(path, name, from_matlab, text)
    rows = loader.rows if shape and not from_matlab else None
    if dtype is not None and not from_matlab and not refusal and _can_be_mapped(item):
        mapped = _Hdf5Map(path, item.id.get_offset(), shape, item.dtype)
        return StoredArray(shape, dtype, mapped, kind, mapped=True, rows=rows)
    return StoredArray(shape, dtype, loader, kind, refusal=refusal, rows=rows)


def _is_text(dtype: np.dtype) -> bool:
    import h5py

    kind = h5py.check_string_dtype(dtype)
    return kind is not None and kind.length is None


def _can_be_mapped(item: Any) -> bool:
    """Whether the values of a dataset are large and lie in the file as they are in memory."""
    return (
        item.dtype.kind in "iuf"
        and item.nbytes >= MAP_FROM_BYTES
        and not item.is_virtual
        and item.chunks is None
        and item.id.get_offset() is not None
    )


def _storage_refusal(item: Any) -> str:
    """Why the values of a dataset must not be read: they are bytes of other files."""
    if not item.id.get_create_plist().get_external_count():
        return ""
    return f"keeps its values in another file, {item.external[0][0]!r}; {_ELSEWHERE}"


def _virtual_refusal(item: Any, own: set[str]) -> str:
    """Why a virtual dataset must not be read: sources that are outside, missing or incomplete.

    HDF5 would read zeros where a source is missing.
    """
    covered = 0
    for source in item.virtual_sources():
        if source.file_name != ".":
            return f"takes its values from another file, {source.file_name!r}; {_ELSEWHERE}"
        if source.dset_name.strip("/") not in own:
            return f"takes its values from {source.dset_name!r}, which the file does not hold"
        block = _block_of(source)
        if block is None:
            return "is a virtual dataset whose sources are not blocks; copy its values instead"
        covered += math.prod(part.stop - part.start for part in block)
    return _INCOMPLETE if covered < math.prod(item.shape) else ""


def _block_of(source: Any) -> tuple[slice, ...] | None:
    """Return the block of a virtual dataset that a source gives, None if it is not one block."""
    try:
        count = source.vspace.get_select_npoints()
        low, high = source.vspace.get_select_bounds()
    except (RuntimeError, ValueError):  # it grows with its source
        return None
    block = tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))
    return block if count == math.prod(part.stop - part.start for part in block) else None


def _covers_everything(item: Any) -> bool:
    """Whether the sources of a virtual dataset give every value; blocks may overlap."""
    given = np.zeros(item.shape, dtype=bool)
    for source in item.virtual_sources():
        block = _block_of(source)
        if block is not None:
            given[block] = True
    return bool(given.all())


class _Hdf5Map:
    """Maps one dataset that lies in the file in one piece, when called."""

    def __init__(self, path: Path, offset: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.path, self.offset, self.shape, self.dtype = path, offset, shape, dtype

    def __call__(self) -> np.ndarray:
        with damaged_file(self.path, "HDF5"):
            return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)


class _Hdf5Loader:
    """Loads one dataset, when called."""

    def __init__(self, path: Path, name: str, from_matlab: bool, text: TextAddress | None) -> None:
        self.path, self.name, self.from_matlab, self.text = path, name, from_matlab, text

    def __call__(self) -> np.ndarray:
        if self.text is not None:
            with damaged_file(self.path, "HDF5"):
                return read_text(self.path, self.text)
        return self._read(())

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Load some rows."""
        return self._read(slice(start, stop))

    def _read(self, index: Any) -> np.ndarray:
        h5py = _require_h5py(self.path)
        with damaged_file(self.path, "HDF5"), h5py.File(self.path, "r") as file:
            item = file[self.name]
            if item.dtype.hasobject:
                if not _is_text(item.dtype):
                    raise RefusedFile(f"{self.path}: {self.name!r} is neither numbers nor text")
                check_heaps(self.path)
                return np.asarray(item.asstr()[index]).astype(str)
            # Here the memory for it has been checked, as it has not been when files are listed.
            if item.is_virtual and not _covers_everything(item):
                raise RefusedFile(f"{self.path}: {self.name!r} {_INCOMPLETE}")
            array = np.asarray(item[index])
            if array.dtype.names == ("real", "imag"):
                array = array["real"] + 1j * array["imag"]
            return array.T if self.from_matlab else array


def _load_nothing() -> np.ndarray:
    raise ValueError("an array that cannot be read")


def _matlab_class(item: Any) -> str:
    if "MATLAB_class" not in item.attrs:
        return "double"
    stored = item.attrs.get_id("MATLAB_class")
    if stored.dtype.kind != "S" or stored.shape != ():
        return "unknown"
    return bytes(item.attrs["MATLAB_class"]).decode("ascii", "replace")


def _read_tensor_type(file: Any, stored: StoredArray | None) -> str | None:
    if stored is None or stored.kind != "char" or stored.refusal:
        return None
    item = file["tensor_type"]
    if item.dtype.kind != "u" or math.prod(item.shape or ()) > _LONGEST_TENSOR_TYPE:
        return None
    return "".join(map(chr, np.asarray(item[()]).ravel().tolist()))


def _require_h5py(path: Path) -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f'{path}: HDF5 (and MATLAB 7.3) files need h5py: pip install "tensift[hdf5]"'
        ) from None
    return h5py
