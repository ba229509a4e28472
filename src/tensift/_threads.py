"""The threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["linear_algebra", "one_blas_thread"]

_lock = Lock()
_inside = 0
_limiter: Any = None


@cache
def linear_algebra() -> ThreadpoolController:
    """The libraries that are loaded."""
    # Looking for them takes milliseconds, so it is done once.
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the linear algebra library to one thread, for as long as any thread is in here.

    The limit is the process's, so the first to come sets it and the last to go lifts it.
    """
    global _inside, _limiter
    with _lock:
        if _inside == 0:
            _limiter = linear_algebra().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limiter.restore_original_limits()
