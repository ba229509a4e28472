"""MATLAB's files up to version 7 (later ones are HDF5)."""

from __future__ import annotations

import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import scipy.io

from tensift.datasets._stored import Contents, StoredArray, damaged_file

__all__ = ["TENSOR_TYPES", "open_mat4", "open_mat5"]

# The two values of the paper's `tensor_type`.
TENSOR_TYPES = ("slice-wise", "tube-wise")

_MATRIX, _COMPRESSED = 14, 15
_OPAQUE = 17
_KINDS = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", _OPAQUE: "object"}
_DTYPES = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_COMPLEX_FLAG = 0x0800
_WORKSPACE = "__function_workspace__"


def open_mat5(path: Path) -> Contents:
    """List the arrays of a MATLAB 5 to 7 file.

    SciPy's own listing stops at objects it cannot name, which the paper's files hold.
    """
    arrays = {}
    tensor_type = None
    with damaged_file(path, "MATLAB"), open(path, "rb") as stream:
        for entry in _list_entries(stream):
            arrays[entry.name] = StoredArray(
                entry.shape, entry.dtype, _MatLoader(path, entry.name), entry.kind
            )
        # The workspace, where string objects live, is the one variable without a name.
        texts = [arrays[name] for name in ("tensor_type", "") if name in arrays]
        if "tensor_type" in arrays and max(text.n_bytes for text in texts) < 2**20:
            tensor_type = _read_tensor_type(path)
    arrays.pop("", None)
    return Contents("MATLAB", arrays, from_matlab=True, tensor_type=tensor_type)


def open_mat4(path: Path) -> Contents:
    """List the matrices of a MATLAB 4 file, which has no signature of its own."""
    arrays = {}
    with damaged_file(path, "MATLAB"):
        for name, shape, kind in scipy.io.whosmat(path):
            dtype = np.dtype("f8") if kind == "double" else None
            arrays[name] = StoredArray(tuple(shape), dtype, _MatLoader(path, name), kind)
    return Contents("MATLAB", arrays, from_matlab=True)


class _MatLoader:
    """Loads one variable, when called."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name

    def __call__(self) -> np.ndarray:
        with damaged_file(self.path, "MATLAB"):
            array: np.ndarray = scipy.io.loadmat(self.path, variable_names=[self.name])[self.name]
            return array


@dataclass(frozen=True)
class _Entry:
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype | None
    kind: str


def _list_entries(stream: IO[bytes]) -> list[_Entry]:
    """Walk the top-level elements, reading no more of each than its header."""
    header = stream.read(128)
    order = {b"IM": "<", b"MI": ">"}[header[126:128]]
    end = os.fstat(stream.fileno()).st_size
    entries = []
    position = 128
    while position < end:
        stream.seek(position)
        element, size = struct.unpack(order + "II", stream.read(8))
        position += 8 + size
        if position > end:
            raise ValueError("the file ends inside a variable")
        # Names have at most 63 characters: all that is wanted is near the front.
        front = stream.read(min(size, 4096))
        if element == _COMPRESSED:
            front = zlib.decompressobj().decompress(front, 4096)
            element = struct.unpack_from(order + "I", front)[0]
            front = front[8:]
        if element != _MATRIX:
            raise ValueError(f"unknown element type {element}")
        entries.append(_parse_matrix_header(front, order))
    return entries


def _parse_matrix_header(front: bytes, order: str) -> _Entry:
    flags = struct.unpack_from(order + "I", front, 8)[0]
    array_class = flags & 0xFF
    position = 16
    shape: tuple[int, ...] = ()
    if array_class != _OPAQUE:
        raw, position = _parse_element(front, position, order)
        shape = struct.unpack(f"{order}{len(raw) // 4}i", raw)
        if min(shape, default=0) < 0:
            raise ValueError(f"a variable with the impossible shape {shape}")
    name, _ = _parse_element(front, position, order)
    dtype = None
    if array_class in _DTYPES:
        dtype = np.dtype(_DTYPES[array_class])
        if flags & _COMPLEX_FLAG:
            dtype = np.result_type(dtype, np.complex64)
    return _Entry(name.decode("latin-1"), shape, dtype, _KINDS.get(array_class, "array"))


def _parse_element(front: bytes, position: int, order: str) -> tuple[bytes, int]:
    """One sub-element and where the next begins; short ones are packed into their own tag."""
    tag, size = struct.unpack_from(order + "II", front, position)
    if tag >> 16:
        return front[position + 4 : position + 4 + (tag >> 16)], position + 8
    start = position + 8
    return front[start : start + size], start + -(-size // 8) * 8


def _read_tensor_type(path: Path) -> str | None:
    """The paper's ``tensor_type``, also where it is a MATLAB string object.

    SciPy does not read such objects, but their text stands as UTF-16 in the file's workspace.
    """
    loaded = scipy.io.loadmat(path, variable_names=["tensor_type", _WORKSPACE])
    if loaded.get("tensor_type") is not None:
        return "".join(str(part) for part in np.ravel(loaded["tensor_type"])).strip()
    workspace = loaded.get(_WORKSPACE)
    if workspace is None:
        return None
    raw = np.asarray(workspace).tobytes()
    return next((text for text in TENSOR_TYPES if text.encode("utf-16-le") in raw), None)
