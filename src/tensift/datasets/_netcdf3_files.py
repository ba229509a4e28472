"""NetCDF 3 files, read by SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import netcdf_file

from tensift.datasets._cf_names import NUMBER_ATTRIBUTES, TEXT_ATTRIBUTES, name_variables
from tensift.datasets._stored import Contents, StoredArray, damaged_file

__all__ = ["is_netcdf3", "open_netcdf3"]


def is_netcdf3(head: bytes) -> bool:
    """Whether a file begins as those that SciPy reads."""
    return head.startswith((b"CDF\x01", b"CDF\x02"))


def open_netcdf3(path: Path) -> Contents:
    """List the variables of a NetCDF 3 file."""
    arrays: dict[str, StoredArray] = {}
    dims: dict[str, tuple[str, ...]] = {}
    attributes: dict[str, dict[str, Any]] = {}
    with _opened(path) as file:
        for name in file.variables:
            arrays[name] = _describe(path, name, file)
            dims[name] = tuple(file.variables[name].dimensions)
            attributes[name] = {
                key: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
                for key in (*TEXT_ATTRIBUTES, *NUMBER_ATTRIBUTES)
                if (value := getattr(file.variables[name], key, None)) is not None
                and (np.ndim(value) == 0 or key == "missing_value")
            }
    named, coordinates = name_variables(path, arrays, dims, attributes)
    return Contents("NetCDF 3", named, coordinates=coordinates)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file that is closed in the end, also if it is damaged: SciPy would leave it open."""
    with damaged_file(path, "NetCDF 3"), open(path, "rb") as stream:
        yield netcdf_file(stream, "r", mmap=True)


def _describe(path: Path, name: str, file: Any) -> StoredArray:
    values = file.variables[name].data
    shape = tuple(int(size) for size in values.shape)
    loader = _Loader(path, name)
    dtype = values.dtype.newbyteorder("=")
    return StoredArray(shape, dtype, loader, rows=loader.rows if shape else None)


class _Loader:
    """Loads one variable, when called."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def __call__(self) -> np.ndarray:
        return self._read(...)

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Load some rows."""
        return self._read(slice(start, stop))

    def _read(self, index: Any) -> np.ndarray:
        with _opened(self.path) as file:
            values = file.variables[self.name].data[index]
            # NetCDF 3 stores the first byte of numbers first.
            return np.array(values, dtype=values.dtype.newbyteorder("="))
