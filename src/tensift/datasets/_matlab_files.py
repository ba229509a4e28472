"""Read MATLAB files of versions 5 to 7 (later ones are HDF5).

We do not use SciPy's reader. It can crash the interpreter on a damaged file, and it does not list
files with string objects, such as the paper's.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from tensift.datasets._stored import Contents, StoredArray, damaged_file

__all__ = ["open_mat5"]

_MATRIX, _COMPRESSED = 14, 15
_CHAR, _OPAQUE = 4, 17
_KINDS = {1: "cell", 2: "struct", 3: "object", _CHAR: "char", 5: "sparse", _OPAQUE: "object"}
# The classes of arrays, and the types in which values may be stored to save space.
_CLASS_TYPES = {
    6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8",
}  # fmt: skip
_STORED_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
    16: "u1", 17: "u2",
}  # fmt: skip
_COMPLEX_FLAG = 0x0800
# A variable's header is shorter than this: names have at most 63 characters, arrays few axes.
_HEADER_SIZE = 4096


@dataclass(frozen=True)
class _Variable:
    """One variable: its header, and where its values are in the file."""

    name: str
    array_class: int
    shape: tuple[int, ...]
    is_complex: bool
    values_at: int
    order: str
    compressed: bool
    position: int
    size: int

    @property
    def dtype(self) -> np.dtype | None:
        if self.array_class not in _CLASS_TYPES:
            return None
        dtype = np.dtype(_CLASS_TYPES[self.array_class])
        return np.result_type(dtype, np.complex64) if self.is_complex else dtype


def open_mat5(path: Path) -> Contents:
    """List the variables of a MATLAB 5 to 7 file."""
    with damaged_file(path, "MATLAB"), open(path, "rb") as stream:
        variables = {variable.name: variable for variable in _list_variables(stream)}
        tensor_type = _read_tensor_type(path, variables)
    # The variable without a name is the workspace, which contains the string objects.
    variables.pop("", None)
    arrays = {
        name: StoredArray(
            variable.shape,
            variable.dtype,
            _MatLoader(path, variable),
            _KINDS.get(variable.array_class, "array"),
        )
        for name, variable in variables.items()
    }
    return Contents("MATLAB", arrays, from_matlab=True, tensor_type=tensor_type)


class _MatLoader:
    """Loads one variable, when called."""

    def __init__(self, path: Path, variable: _Variable) -> None:
        self.path, self.variable = path, variable

    def __call__(self) -> np.ndarray:
        with damaged_file(self.path, "MATLAB"):
            return _load_values(self.path, self.variable)


def _list_variables(stream: IO[bytes]) -> list[_Variable]:
    """List the variables of the file, reading only the header of each."""
    marker = stream.read(128)[126:]
    if marker not in (b"IM", b"MI"):
        raise ValueError("no byte order in the header")
    order = "<" if marker == b"IM" else ">"
    end = os.fstat(stream.fileno()).st_size
    variables = []
    position = 128
    while position < end:
        stream.seek(position)
        element, size = struct.unpack(order + "II", stream.read(8))
        position += 8
        if position + size > end:
            raise ValueError("the file ends inside a variable")
        front = stream.read(min(size, _HEADER_SIZE))
        compressed = element == _COMPRESSED
        if compressed:
            front = zlib.decompressobj().decompress(front, _HEADER_SIZE)
            element = struct.unpack_from(order + "I", front)[0]
        else:
            # Compressed variables begin with the tag of the matrix: add one for the same layout.
            front = bytes(8) + front
        if element != _MATRIX:
            raise ValueError(f"unknown element type {element}")
        variables.append(_parse_header(front, order, compressed, position, size))
        position += size
    return variables


def _parse_header(
    front: bytes, order: str, compressed: bool, position: int, size: int
) -> _Variable:
    flags = struct.unpack_from(order + "I", front, 16)[0]
    array_class = flags & 0xFF
    values_at = 24
    shape: tuple[int, ...] = ()
    if array_class != _OPAQUE:
        _, raw, values_at = _parse_element(front, values_at, order)
        shape = struct.unpack(f"{order}{len(raw) // 4}i", raw)
        if min(shape, default=-1) < 0:
            raise ValueError(f"a variable has the impossible shape {shape}")
    _, name, values_at = _parse_element(front, values_at, order)
    return _Variable(
        name.decode("latin-1"),
        array_class,
        shape,
        bool(flags & _COMPLEX_FLAG),
        values_at,
        order,
        compressed,
        position,
        size,
    )


def _parse_element(data: bytes, position: int, order: str) -> tuple[int, bytes, int]:
    """Return the type and the bytes of a sub-element, and where the next one begins.

    Up to four bytes can be stored in the tag itself, with their number in its upper half.
    """
    kind, size = struct.unpack_from(order + "II", data, position)
    if kind >> 16:
        start = position + 4
        kind, size = kind & 0xFFFF, kind >> 16
        following = position + 8
    else:
        start = position + 8
        following = start + -(-size // 8) * 8
    if start + size > len(data):
        raise ValueError("a variable ends early")
    return kind, data[start : start + size], following


def _load_values(path: Path, variable: _Variable) -> np.ndarray:
    count = math.prod(variable.shape)
    n_parts = 2 if variable.is_complex else 1
    # Values may be stored in a smaller type than their class, but never in a larger one.
    width = np.dtype(_CLASS_TYPES.get(variable.array_class, "u2")).itemsize
    body = _read_body(path, variable, at_most=_HEADER_SIZE + n_parts * (width * count + 16))
    parts = []
    position = variable.values_at
    for _ in range(n_parts):
        kind, raw, position = _parse_element(body, position, variable.order)
        values = np.frombuffer(raw, dtype=variable.order + _STORED_TYPES[kind])
        if len(values) != count:
            raise ValueError(f"{len(values)} values do not fit the shape {variable.shape}")
        parts.append(values)
    values = parts[0] + 1j * parts[1] if variable.is_complex else parts[0]
    if variable.dtype is not None:
        values = values.astype(variable.dtype, copy=False)
    return values.reshape(variable.shape, order="F")


def _read_body(path: Path, variable: _Variable, at_most: int) -> bytes:
    """Return the bytes of a variable, beginning with its tag.

    Decompression stops at `at_most` bytes, so a small file cannot fill the memory.
    """
    with open(path, "rb") as stream:
        stream.seek(variable.position)
        body = stream.read(variable.size)
    if not variable.compressed:
        return bytes(8) + body
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(body, at_most)
    if not unpacker.eof:
        raise ValueError("a compressed variable is longer or shorter than its header says")
    return body


def _read_tensor_type(path: Path, variables: dict[str, _Variable]) -> str | None:
    """Return the paper's ``tensor_type``, also if it is a MATLAB string object.

    The text of such objects is stored as UTF-16 in the file's workspace.
    """
    variable = variables.get("tensor_type")
    texts = [variables[name] for name in ("tensor_type", "") if name in variables]
    if variable is None or max(math.prod(text.shape) for text in texts) > 2**20:
        return None
    if variable.array_class == _CHAR:
        return "".join(map(chr, _load_values(path, variable).ravel(order="F").tolist()))
    if "" not in variables:
        return None
    workspace = _load_values(path, variables[""]).tobytes(order="F")
    known = ("slice-wise", "tube-wise")
    return next((text for text in known if text.encode("utf-16-le") in workspace), None)
