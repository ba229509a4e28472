"""Worker processes that end when the process that started them ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable

from tensift._utils.temporary import is_alive

__all__ = ["end_with_parent"]

_SECONDS = 1.0  # between looks at the parent


def end_with_parent(parent: int) -> None:
    """End this process soon after the process with the number `parent` has ended.

    Call it in a worker. Workers of joblib wait for minutes for more work from a parent that was
    killed, and finish the work that they have, which may take hours. Does nothing in the parent
    itself, and in processes that another process has started, such as those of a cluster.
    """
    if os.name != "posix" or os.getpid() == parent:
        return
    maker = multiprocessing.parent_process()
    if os.getppid() == parent:
        _watch(lambda: os.getppid() == parent)  # an orphan gets another parent
    elif maker is not None and maker.pid == parent:
        # An orphan already, or the child of a server that forks on behalf of the parent.
        _watch(lambda: is_alive(parent))


_watched = threading.Event()


def _watch(lives: Callable[[], bool]) -> None:
    if not _watched.is_set():
        _watched.set()
        threading.Thread(target=_wait, args=(lives,), name="tensift-parent", daemon=True).start()


def _wait(lives: Callable[[], bool]) -> None:
    while lives():
        time.sleep(_SECONDS)
    os._exit(1)
