"""Text of variable length in HDF5 files, read without the HDF5 library.

The library keeps such text in heaps: blocks of numbered objects. On a heap that is damaged it may
loop forever or crash. Here every step moves forward in the file, so the work is bounded. Text in
attributes is read by the library, after all heaps of the file have been checked.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

__all__ = ["TextAddress", "check_heaps", "locate_text", "read_text"]

_REFERENCE = struct.Struct("<IQI")  # length of the text, address of its heap, number in the heap
_HEAP_START = b"GCOL\x01\x00\x00\x00"  # signature, version, three reserved bytes
_HEAP_HEADER = struct.Struct("<4sB3xQ")  # signature, version, size
_OBJECT_HEADER = struct.Struct("<HH4xQ")  # number, count of references, size


@dataclass(frozen=True)
class TextAddress:
    """Where in a file the references to text are, and how many."""

    offset: int
    shape: tuple[int, ...]
    base: int  # addresses of heaps count from here


def locate_text(item: Any) -> TextAddress | None:
    """Find the text of a dataset, None for other objects and for text in packed chunks."""
    import h5py

    kind = h5py.check_string_dtype(item.dtype)
    if kind is None or kind.length is not None:
        return None
    created = item.file.id.get_create_plist()
    offset = item.id.get_offset()
    if offset is None or tuple(created.get_sizes()) != (8, 8):
        return None
    shape = tuple(int(size) for size in item.shape or ())
    return TextAddress(int(offset), shape, int(created.get_userblock()))


def read_text(path: Path, text: TextAddress) -> np.ndarray:
    """Read text, or raise a ValueError if the file is damaged."""
    count = math.prod(text.shape)
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if text.offset + count * _REFERENCE.size > size:
            raise ValueError("text outside of the file")
        stream.seek(text.offset)
        references = list(_REFERENCE.iter_unpack(stream.read(count * _REFERENCE.size)))
        heaps: dict[int, dict[int, bytes]] = {}
        budget = 4 * size  # heaps do not overlap, so more than the file has is damage
        words = []
        for length, address, number in references:
            if length == 0:
                words.append("")
                continue
            if address not in heaps:
                heaps[address], used = _read_heap(stream, text.base + address, size)
                budget -= used
                if budget < 0:
                    raise ValueError("heaps that overlap")
            stored = heaps[address].get(number)
            if stored is None or len(stored) < length:
                raise ValueError("text that its heap does not hold")
            words.append(stored[:length].rstrip(b"\x00").decode("utf-8"))
    return np.array(words, dtype=str).reshape(text.shape)


def check_heaps(path: Path) -> None:
    """Raise a ValueError if a heap anywhere in the file is damaged.

    The whole file is looked through, a gigabyte in about a second: heaps have no list.
    """
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            start = content.find(_HEAP_START)
            while start >= 0:
                _read_heap(stream, start, size)
                start = content.find(_HEAP_START, start + len(_HEAP_START))


def _read_heap(stream: IO[bytes], start: int, file_size: int) -> tuple[dict[int, bytes], int]:
    """Return the objects of a heap by their numbers, and how many bytes were read."""
    if start + _HEAP_HEADER.size > file_size:
        raise ValueError("a heap outside of the file")
    stream.seek(start)
    signature, version, size = _HEAP_HEADER.unpack(stream.read(_HEAP_HEADER.size))
    if signature != b"GCOL" or version != 1 or size < _HEAP_HEADER.size:
        raise ValueError("no heap where text should be")
    if start + size > file_size:
        raise ValueError("a heap longer than the file")
    heap = stream.read(size - _HEAP_HEADER.size)
    objects = {}
    place = 0
    while place + _OBJECT_HEADER.size <= len(heap):
        number, _, length = _OBJECT_HEADER.unpack_from(heap, place)
        if number == 0:  # the free space, which is last; its length counts its header
            if length != len(heap) - place:
                raise ValueError("free space that is not the rest of its heap")
            break
        place += _OBJECT_HEADER.size
        if place + length > len(heap):
            raise ValueError("an object longer than its heap")
        objects[number] = heap[place : place + length]
        place += -(-length // 8) * 8
    return objects, size
