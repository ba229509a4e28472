"""How much is solved at once, so that it fits into the memory of a device."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["block_elements", "memory_of"]

Array = Any  # of any namespace of the array API

# About sixty stacks in double precision are in memory while one is solved. They may take a quarter
# of the memory of the device, and half of what is free.
_STACKS, _SHARE, _SHARE_OF_FREE = 60, 0.25, 0.5
_SMALLEST, _LARGEST = 2**20, 2**25


def memory_of(array: Array) -> tuple[int, int] | None:
    """The free memory and all memory of the device of an array, in bytes; None if unknown."""
    for name in ("torch", "cupy"):
        library = sys.modules.get(name)
        if name == "torch" and library and isinstance(array, library.Tensor) and array.is_cuda:
            free, total = library.cuda.mem_get_info(array.device)
            reserved = library.cuda.memory_reserved(array.device)  # also what is not in use
            return free + reserved - library.cuda.memory_allocated(array.device), total
        if name == "cupy" and library and isinstance(array, library.ndarray):
            free, total = array.device.mem_info
            return free + library.get_default_memory_pool().free_bytes(), total
    return None


def block_elements(like: Array) -> int:
    """How many elements of Gram matrices are solved at once on the device of an array."""
    memory = memory_of(like)
    if memory is None:
        return 2**22
    free, total = memory
    fit = int(min(_SHARE * total, _SHARE_OF_FREE * free) / (_STACKS * 8))
    return min(max(_SMALLEST, fit), _LARGEST)
