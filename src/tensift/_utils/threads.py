"""The one place that limits the threads of numerical libraries.

The number of BLAS threads belongs to the process. If two callers each saved the number, set it
to one and put back what they saved, then two that overlap would leave it at one for good, or lift
the limit under each other. So nothing else in tensift calls threadpoolctl: callers hold the limit
here, and it is lifted when nobody holds it any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import RLock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for", "linear_algebra", "one_blas_thread", "one_library_thread"]


@dataclass(eq=False)
class _Holder:
    """One who holds the limit: in which thread, and what that thread had before."""

    thread: int = field(default_factory=get_ident)
    before: list[tuple[Any, int]] = field(default_factory=list)


class _Limit:
    """Holds libraries at one thread while anybody holds it.

    Holders may come and go in any order and in any thread. For libraries with one number for the
    whole process, the first holder sets the limit, and the last puts back what the first found.
    OpenMP keeps a number for every thread that calls it, so every holder sets its own.
    """

    def __init__(self) -> None:
        # Re-entrant: the garbage collector may close a context while this thread has the lock.
        self._lock = RLock()
        self._holders: set[_Holder] = set()
        self._before: dict[str, tuple[Any, int]] = {}
        self._libraries: ThreadpoolController | None = None
        self._n_modules = -1

    def libraries(self) -> ThreadpoolController:
        """The libraries that are loaded."""
        with self._lock:
            # Looking for them takes milliseconds, so look again only after further imports.
            if self._libraries is None or len(sys.modules) != self._n_modules:
                self._libraries, self._n_modules = ThreadpoolController(), len(sys.modules)
            return self._libraries

    def hold(self, *, openmp: bool) -> _Holder:
        """Set the limit for BLAS, and if `openmp` for OpenMP; return what `release` wants."""
        holder = _Holder()
        with self._lock:
            self._holders.add(holder)
            try:
                for library in self.libraries().lib_controllers:
                    self._limit(library, holder, openmp=openmp)
            except BaseException:
                self.release(holder)
                raise
        return holder

    def _limit(self, library: Any, holder: _Holder, *, openmp: bool) -> None:
        if library.user_api != "blas" and not openmp:
            return
        number = library.get_num_threads()
        if number is None:
            return
        if _counts_by_thread(library):
            holder.before.append((library, number))
            _set_threads(library, 1)
        # One that was loaded since the first holder came has no limit yet.
        elif library.filepath not in self._before:
            self._before[library.filepath] = (library, number)
            _set_threads(library, 1)

    def release(self, holder: _Holder) -> None:
        """Put back what the thread had, and what the process had if this was the last holder."""
        with self._lock:
            if holder.thread == get_ident():
                for library, number in holder.before:
                    _set_threads(library, number)
            self._holders.discard(holder)
            if not self._holders:
                self._lift()

    def forget_other_threads(self) -> None:
        """Keep only the holders of this thread, the only one in a child after a fork."""
        self._lock = RLock()
        self._holders = {one for one in self._holders if one.thread == get_ident()}
        if not self._holders:
            self._lift()

    def _lift(self) -> None:
        for library, number in self._before.values():
            _set_threads(library, number)
        self._before = {}


def _counts_by_thread(library: Any) -> bool:
    return "openmp" in (library.user_api, getattr(library, "threading_layer", None))


def _set_threads(library: Any, number: int) -> None:
    # Recent versions of threadpoolctl let one thread change OpenBLAS and ignore all others.
    # The last holder is often in another thread than the first, so set the number directly.
    set_threads = getattr(library, "_real_set_num_threads", library.set_num_threads)
    set_threads(number)


_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.forget_other_threads)


def linear_algebra() -> ThreadpoolController:
    """The numerical libraries that are loaded."""
    return _limit.libraries()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS at one thread, for as long as any thread of this process is in here.

    Contexts may be nested, and may overlap in several threads in any order.
    """
    holder = _limit.hold(openmp=False)
    try:
        yield
    finally:
        _limit.release(holder)


def blas_threads_for(n_slices: int) -> AbstractContextManager[None]:
    """The limit under which slices are worked on: one BLAS thread, except for a single slice.

    Under the limit, results are the same to the bit whatever else the process does. A single slice
    has nothing to share out to workers, so BLAS keeps its threads. The last digits of its results
    may then depend on how many threads BLAS has, and on whether another fit holds the limit.
    """
    return nullcontext() if n_slices == 1 else one_blas_thread()


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Hold BLAS at one thread, as `one_blas_thread` does, and OpenMP in the calling thread."""
    holder = _limit.hold(openmp=True)
    try:
        yield
    finally:
        _limit.release(holder)
