"""Temporary files and folders that nobody else takes, and that a later run can clean up.

Results are written beside their place and moved there when they are complete. The name of such a
temporary file says which process of which machine is writing it. So processes that write to one
place never collide, and a later run knows what a killed process left behind.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

__all__ = ["is_alive", "remove_abandoned", "remove_leftovers", "temporary_path", "write_whole"]

_NAME = re.compile(r"\.tensift-([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]{12}")
# By this process; an earlier one may have had the same number.
_in_use: dict[str, Path] = {}


@contextmanager
def temporary_path(folder: Path) -> Iterator[Path]:
    """A path in `folder` for a new file or folder, removed in the end if it is still there."""
    process = os.getpid()
    name = f".tensift-{_machine()}-{process}-{secrets.token_hex(6)}"
    _in_use[name] = folder / name
    try:
        yield folder / name
    finally:
        if os.getpid() == process:  # a forked child has nothing to clean up
            _remove(folder / name)
        _in_use.pop(name, None)


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that appears whole or not at all, replacing the one that is there.

    `write` gets an open binary stream. Several processes may write the same `path` at once: each
    writes a file of its own, and the one that is moved last stays.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        with temporary_path(path.parent) as partial:
            with open(partial, "xb") as stream:
                write(stream)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(partial, path)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from None


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of processes that have ended.

    Those of other machines stay, since it is not known whether their processes live. On Windows,
    all of them stay.
    """
    try:
        names = os.listdir(folder)
    except OSError:
        return  # whoever writes there next says why it cannot be done
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None or name in _in_use or found[1] != _machine():
            continue
        if int(found[2]) == os.getpid() or not is_alive(int(found[2])):
            _remove(folder / name)


def remove_abandoned() -> None:
    """Remove what this process is writing. Call it when a signal has stopped the process.

    The signal may have come while something was being removed, which was then not finished.
    """
    for path in list(_in_use.values()):
        _remove(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


@cache
def _machine() -> str:
    """Where process numbers mean the same: this machine, and on Linux this container."""
    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def is_alive(process: int) -> bool:
    """Whether there is a process of this number; always, where it cannot be told."""
    if os.name != "posix":
        return True  # signal 0 would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # of another user
    return True
