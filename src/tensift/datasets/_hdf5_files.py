"""HDF5 files, MATLAB 7.3's among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._stored import Contents, StoredArray, damaged_file

__all__ = ["open_hdf5"]

_NUMBERS_IN_MATLAB = {"double", "single", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def open_hdf5(path: Path, *, from_matlab: bool) -> Contents:
    """List the datasets of an HDF5 file.

    MATLAB writes its column-major arrays with the axes reversed; they are turned back here.
    """
    h5py = _require_h5py(path)
    arrays: dict[str, StoredArray] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("#"):
            arrays[name] = _describe(path, name, item, from_matlab)

    tensor_type = None
    with damaged_file(path, "HDF5"), h5py.File(path, "r") as file:
        file.visititems(visit)
        if from_matlab and "tensor_type" in arrays and arrays["tensor_type"].kind == "char":
            codes = np.asarray(file["tensor_type"][()]).ravel()
            tensor_type = "".join(map(chr, codes))
    return Contents("HDF5", arrays, from_matlab=from_matlab, tensor_type=tensor_type)


def _describe(path: Path, name: str, item: Any, from_matlab: bool) -> StoredArray:
    shape = tuple(int(size) for size in item.shape or ())
    dtype, kind = item.dtype, "array"
    if dtype.names == ("real", "imag"):
        dtype = np.result_type(dtype["real"], np.complex64)
    if from_matlab:
        shape = shape[::-1]
        kind = _text(item.attrs.get("MATLAB_class", b"double"))
        if kind not in _NUMBERS_IN_MATLAB:
            dtype = None
    return StoredArray(shape, dtype, _Hdf5Loader(path, name, from_matlab), kind)


class _Hdf5Loader:
    """Loads one dataset, when called."""

    def __init__(self, path: Path, name: str, from_matlab: bool) -> None:
        self.path, self.name, self.from_matlab = path, name, from_matlab

    def __call__(self) -> np.ndarray:
        h5py = _require_h5py(self.path)
        with damaged_file(self.path, "HDF5"), h5py.File(self.path, "r") as file:
            item = file[self.name]
            values = item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()]
            array = np.asarray(values)
            if array.dtype.names == ("real", "imag"):
                array = array["real"] + 1j * array["imag"]
            if array.dtype.kind == "O":
                array = array.astype(str)
            return array.T if self.from_matlab else array


def _text(value: Any) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def _require_h5py(path: Path) -> Any:
    try:
        import h5py
    except ImportError:
        raise ImportError(
            f'{path}: HDF5 (and MATLAB 7.3) files need h5py: pip install "tensift[hdf5]"'
        ) from None
    return h5py
