"""HDF5 files, among them those of MATLAB 7.3 and NetCDF 4.

A file may come from anyone, so two things are never left to the HDF5 library. It would follow a
file's references to other files, and copy their bytes into our results. And it can hang or crash
on damaged values of variable length; `tensift.datasets._hdf5_text` reads these.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._hdf5_text import TextAddress, locate_text, read_text
from tensift.datasets._stored import Contents, RefusedFile, StoredArray, damaged_file

__all__ = ["open_hdf5"]

_NUMBERS_IN_MATLAB = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LONGEST_TENSOR_TYPE = 100
_NOT_READ = (
    "has values of variable length or references, which are not read; save text with a fixed "
    "length (dtype 'S20') and without compression"
)
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
    return Contents("HDF5", arrays, from_matlab=from_matlab, tensor_type=tensor_type)


def _describe(path: Path, name: str, item: Any, from_matlab: bool) -> StoredArray:
    shape = tuple(int(size) for size in item.shape or ())
    kind = "array"
    try:
        dtype = item.dtype
    except TypeError:  # a type that NumPy does not have
        return StoredArray(shape, None, _load_nothing, "value of a type unknown to NumPy")
    text, refusal = None, _storage_refusal(item) or _packing_refusal(item)
    if dtype.kind == "O":
        text = locate_text(item)
        refusal = refusal or ("" if text else _NOT_READ)
        dtype, kind = np.dtype(str), "array of text"
    elif dtype.names == ("real", "imag"):
        dtype = np.result_type(dtype["real"], np.complex64)
    if from_matlab:
        shape = shape[::-1]
        kind = _matlab_class(item)
        if kind not in _NUMBERS_IN_MATLAB:
            dtype = None
    return StoredArray(
        shape,
        dtype,
        _Hdf5Loader(path, name, from_matlab, text),
        kind,
        refusal=refusal,
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


def _packing_refusal(item: Any) -> str:
    """Why stored numbers are not the values: NetCDF writes both side by side."""
    scale, offset = (_number_attribute(item, name) for name in ("scale_factor", "add_offset"))
    if scale in (None, 1) and offset in (None, 0):
        return ""
    return (
        "is packed: its values are scale_factor * stored + add_offset; open the file with xarray "
        "and pass the array itself"
    )


class _Hdf5Loader:
    """Loads one dataset, when called."""

    def __init__(self, path: Path, name: str, from_matlab: bool, text: TextAddress | None) -> None:
        self.path, self.name, self.from_matlab, self.text = path, name, from_matlab, text

    def __call__(self) -> np.ndarray:
        h5py = _require_h5py(self.path)
        if self.text is not None:
            with damaged_file(self.path, "HDF5"):
                return read_text(self.path, self.text)
        with damaged_file(self.path, "HDF5"), h5py.File(self.path, "r") as file:
            item = file[self.name]
            if item.dtype.hasobject:
                raise RefusedFile(f"{self.path}: {self.name!r} is neither numbers nor text")
            # Here the memory for it has been checked, as it has not been when files are listed.
            if item.is_virtual and not _covers_everything(item):
                raise RefusedFile(f"{self.path}: {self.name!r} {_INCOMPLETE}")
            array = np.asarray(item[()])
            if array.dtype.names == ("real", "imag"):
                array = array["real"] + 1j * array["imag"]
            self._refuse_missing(item, array)
            return array.T if self.from_matlab else array

    def _refuse_missing(self, item: Any, array: np.ndarray) -> None:
        """Refuse values that NetCDF marks as missing, as masked arrays are refused."""
        for name in ("_FillValue", "missing_value"):
            mark = _number_attribute(item, name)
            if mark is None or array.dtype.kind not in "iufc":
                continue
            count = int(np.count_nonzero(array == mark))
            if count:
                raise RefusedFile(
                    f"{self.path}: array {self.name!r} has {count} missing values ({name} = "
                    f"{mark:g}); fill them first"
                )


def _load_nothing() -> np.ndarray:
    raise ValueError("an array that cannot be read")


def _number_attribute(item: Any, name: str) -> float | None:
    """Return an attribute that is one number; None for any other, which is not read."""
    if name not in item.attrs:
        return None
    stored = item.attrs.get_id(name)
    if stored.dtype.kind not in "iuf" or math.prod(stored.shape) != 1:
        return None
    return float(np.asarray(item.attrs[name]).ravel()[0])


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
