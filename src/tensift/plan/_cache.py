"""Keep the measured rates of this machine in a file."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensift._utils.temporary import remove_leftovers, write_whole
from tensift._version import __version__
from tensift.plan._calibration import _n_cores, calibrate
from tensift.plan._machine import Machine

__all__ = ["cache_file", "this_machine"]

_VERSION = 2  # raise it when what is measured, or the file format, changes


def cache_file() -> Path:
    """Return the path of the file with the rates of this machine, in the user's cache folder.

    Examples
    --------
    >>> from tensift.plan import cache_file
    >>> cache_file().name
    'machine.json'
    """
    if sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / "Library" / "Caches"
    else:
        folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "tensift" / "machine.json"


def this_machine(
    *,
    renew: bool = False,
    measure: Callable[[], Machine] | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Machine:
    """Return the rates of this machine: from the cache file, or measured now and stored there.

    If the file is damaged, or is from another machine or version, rates are measured again.

    Parameters
    ----------
    renew : bool, default=False
        Always measure again.
    measure : callable, optional
        Measures the rates; `calibrate` by default.
    say : callable
        Called with messages: that it measures now, or why a file cannot be read or written.

    Returns
    -------
    Machine

    Examples
    --------
    >>> from tensift.plan import example_machine, this_machine
    >>> machine = this_machine(renew=True, measure=example_machine)     # doctest: +SKIP
    """
    path = cache_file()
    if not renew:
        kept = _read(path)
        if isinstance(kept, Machine):
            return kept
        if kept is not None:
            say(f"{path}: {kept}")
    say("measuring this machine, about ten seconds (once)")
    machine = (measure or calibrate)()
    try:
        _write(path, {"version": _VERSION, "of": _identity(), "rates": machine.to_dict()})
    except OSError as error:
        say(f"cannot store the measured rates: {error}")
    return machine


def _identity() -> dict[str, Any]:
    """Return what the rates depend on; they are only used if it has not changed."""
    return {
        "tensift": __version__,
        "numpy": np.__version__,
        "node": platform.node(),
        "processor": platform.machine(),
        "cores": _n_cores(),
    }


def _read(path: Path) -> Machine | str | None:
    """Return the stored rates, or why they cannot be used, or None if there are none."""
    try:
        with open(path, encoding="utf-8") as stream:
            kept = json.load(stream)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        return "damaged, measuring again"
    if not isinstance(kept, dict) or kept.get("version") != _VERSION:
        return "from another version, measuring again"
    if kept.get("of") != _identity():
        return "from another machine or version, measuring again"
    try:
        return Machine.from_dict(kept.get("rates"))
    except ValueError:
        return "damaged, measuring again"


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent)
    text = json.dumps(content, indent=1)
    write_whole(path, lambda stream: stream.write(text.encode()))
