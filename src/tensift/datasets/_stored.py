"""Describe the arrays of a file before any is loaded."""

from __future__ import annotations

import logging
import math
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = [
    "MAP_FROM_BYTES",
    "Contents",
    "RefusedFile",
    "StoredArray",
    "available_memory",
    "collected_log",
    "damaged_file",
    "left_of_process_limit",
    "require_memory",
]


# Numbers of at least this size are memory-mapped, not read.
MAP_FROM_BYTES = 64 * 2**20
# The memory of this control group: its folder, and the files of its limit and of what is used.
_CONTROL_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


class RefusedFile(ValueError):
    """A file is whole, but must not be read; the message says why."""


@dataclass(frozen=True)
class StoredArray:
    """One array of a file: its shape, its type, and how to load it.

    ``dtype`` is None if the entry is not a plain array; ``kind`` then says what it is. ``mapped``
    means that it is loaded as a memory map, so its size does not matter. ``refusal`` says why the
    array must not be loaded, if so.

    Some formats say more: the names of all axes, the axes that count the samples, the names along
    an axis by its name, the units of these, and the value of what was not measured. ``rows`` reads
    some rows alone, so that an array can be larger than memory.
    """

    shape: tuple[int, ...]
    dtype: np.dtype | None
    load: Callable[[], np.ndarray]
    kind: str = "array"
    mapped: bool = False
    refusal: str = ""
    axes: tuple[str, ...] = ()
    sample_axes: tuple[int, ...] | None = None
    coords: Mapping[str, np.ndarray] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    nodata: float | None = None
    rows: Callable[[int, int], np.ndarray] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the entry is an array of numbers."""
        return self.dtype is not None and self.dtype.kind in "biufc"

    @property
    def n_bytes(self) -> int:
        """The size of the loaded array in bytes (a Python integer, so it cannot overflow)."""
        return math.prod(self.shape) * (self.dtype.itemsize if self.dtype is not None else 0)


@dataclass(frozen=True)
class Contents:
    """The arrays of one file, and the conventions of its format.

    ``from_matlab`` means that samples are last, labels are a column (MATLAB has no vectors), and
    features are counted from 1 down the columns. ``tensor_type`` is the paper's variable of that
    name, if it can be read. ``mask`` is the array that says which pixels were measured.
    ``coordinates`` are arrays that name the indices of others, so they are never the data.
    ``note`` says what was done to the values, if something was.
    """

    format: str
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    from_matlab: bool = False
    tensor_type: str | None = None
    mask: str | None = None
    coordinates: frozenset[str] = frozenset()
    note: str = ""


@contextmanager
def damaged_file(path: Path, format: str) -> Iterator[None]:
    """Turn any error of a parser into one line that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except RefusedFile:
        raise
    except MemoryError:
        raise RefusedFile(
            f"{path}: not enough memory to read it; use a computer with more, or part of the data"
        ) from None
    # Catch everything: on damaged files each library raises its own, undocumented errors.
    except Exception as error:
        lines = str(error).splitlines()
        reason = lines[0] if lines and lines[0] else type(error).__name__
        raise ValueError(f"{path}: damaged or truncated {format} file ({reason})") from error


@contextmanager
def collected_log(name: str) -> Iterator[list[str]]:
    """Collect what a library logs in this thread as wrong, instead of letting it be printed."""
    problems: list[str] = []
    thread = threading.get_ident()

    def keep(record: logging.LogRecord) -> bool:
        if record.thread != thread:
            return True
        if record.levelno >= logging.WARNING:
            problems.append(record.getMessage())
        return False

    logger = logging.getLogger(name)
    logger.addFilter(keep)
    try:
        yield problems
    finally:
        logger.removeFilter(keep)


def require_memory(path: Path, name: str, stored: StoredArray) -> None:
    """Raise ValueError if an array does not fit into memory; a header can claim any size."""
    available = available_memory()
    if not stored.mapped and available is not None and stored.n_bytes > available:
        raise ValueError(
            f"{path}: array {name!r} of shape {stored.shape} needs "
            f"{stored.n_bytes / 2**30:.3g} GiB, but only {available / 2**30:.3g} GiB are free"
        )


def available_memory() -> int | None:
    """Return the free memory in bytes, within limits; None if the system does not report it."""
    known = [_free_memory(), left_of_process_limit(), _left_of_container_limit()]
    return min((max(0, left) for left in known if left is not None), default=None)


def left_of_process_limit() -> int | None:
    """Return what ``ulimit -v`` leaves, for memory maps too; None without such a limit."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        with open("/proc/self/statm", encoding="ascii") as stream:
            return limit - int(stream.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None


def _left_of_container_limit() -> int | None:
    """Return what the control group of a container or job leaves; None without a limit."""
    for folder, limit, used in _CONTROL_GROUPS:
        try:
            most = int((folder / limit).read_text(encoding="ascii"))
            taken = int((folder / used).read_text(encoding="ascii"))
            stat = (folder / "memory.stat").read_text(encoding="ascii")
        except (OSError, ValueError):  # no such file, or "max"
            continue
        # Cached files count as used, but the system takes their memory back when it needs it.
        cached = re.search(r"^(?:total_)?inactive_file (\d+)$", stat, re.MULTILINE)
        return most - taken + (int(cached[1]) if cached else 0)
    return None


def _free_memory() -> int | None:
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
