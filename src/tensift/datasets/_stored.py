"""What a file holds, known before any of it is loaded."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Contents", "StoredArray", "damaged_file", "require_memory"]


@dataclass(frozen=True)
class StoredArray:
    """One array of a file: its shape, its type, and how to load it.

    ``dtype`` is None where the entry is not a plain array; ``kind`` then says what it is.
    ``mapped`` marks an array that loads as a memory map, whatever its size.
    """

    shape: tuple[int, ...]
    dtype: np.dtype | None
    load: Callable[[], np.ndarray]
    kind: str = "array"
    mapped: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether the entry is an array of numbers."""
        return self.dtype is not None and self.dtype.kind in "biufc"

    @property
    def n_bytes(self) -> int:
        """The memory the loaded array takes (a Python integer: no overflow)."""
        return math.prod(self.shape) * (self.dtype.itemsize if self.dtype is not None else 0)


@dataclass(frozen=True)
class Contents:
    """The arrays of one file, and the habits of its format.

    ``from_matlab`` means: samples last, no vectors (labels are a column), features counted
    from 1 down the columns. ``tensor_type`` is the paper's ``tensor_type``, where readable.
    """

    format: str
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    from_matlab: bool = False
    tensor_type: str | None = None


@contextmanager
def damaged_file(path: Path, format: str) -> Iterator[None]:
    """Turn whatever a parser raises on a damaged file into one line that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    # Parsers meet hostile bytes here: each library raises its own kinds, none of them promised.
    except Exception as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines and lines[0] else type(error).__name__
        raise ValueError(f"{path}: damaged or truncated {format} file ({reason})") from error


def require_memory(path: Path, name: str, stored: StoredArray) -> None:
    """Refuse an array that cannot fit: a few bytes of header can promise any size."""
    available = _available_memory()
    if not stored.mapped and available is not None and stored.n_bytes > available:
        raise ValueError(
            f"{path}: array {name!r} of shape {stored.shape} would take "
            f"{stored.n_bytes / 2**30:.3g} GiB, and {available / 2**30:.3g} GiB of memory are free"
        )


def _available_memory() -> int | None:
    """Free memory in bytes, None on a system that does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
