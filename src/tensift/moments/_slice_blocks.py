"""Divide slices into blocks that are solved together."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

__all__ = ["BLOCK_ELEMENTS", "Stack", "blocks_of"]

# The most matrix elements in a block: enough to batch operations, few enough for the cache.
BLOCK_ELEMENTS = 100_000


class Stack(Protocol):
    """Anything with `n_slices` square slices of order `size`."""

    @property
    def n_slices(self) -> int: ...

    @property
    def size(self) -> int: ...


def blocks_of(gram: Stack) -> list[slice]:
    """Return blocks of slices; their number is a power of two, which divides well among workers."""
    n_blocks = 1
    while n_blocks < gram.n_slices and n_blocks * BLOCK_ELEMENTS < gram.n_slices * gram.size**2:
        n_blocks *= 2
    ends = np.linspace(0, gram.n_slices, min(n_blocks, gram.n_slices) + 1).astype(int)
    return [slice(int(start), int(end)) for start, end in pairwise(ends)]
