"""The rates of this machine, kept between runs."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensift._version import __version__
from tensift.plan._calibration import _n_cores, calibrate
from tensift.plan._machine import Machine

__all__ = ["cache_file", "this_machine"]

_VERSION = 2  # of what is measured and how it is written


def cache_file() -> Path:
    """Where the rates of this machine are kept: in the user's folder for such files.

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
    """The rates of this machine: as they were kept, or measured now and kept.

    Rates of another machine, another version or a damaged file are measured anew.

    Parameters
    ----------
    renew : bool, default=False
        Measure anew in any case.
    measure : callable, optional
        Measures; `calibrate` by default.
    say : callable
        Is told what is done, where it takes time, and what stands in the way.

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
        say(f"cannot keep what was measured in {path}: {error.strerror or error}")
    return machine


def _identity() -> dict[str, Any]:
    """What rates depend on; those of another are not used."""
    return {
        "tensift": __version__,
        "numpy": np.__version__,
        "node": platform.node(),
        "processor": platform.machine(),
        "cores": _n_cores(),
    }


def _read(path: Path) -> Machine | str | None:
    """The kept rates; or why they cannot be used; None if there are none."""
    try:
        with open(path, encoding="utf-8") as stream:
            kept = json.load(stream)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError):
        return "damaged, measured anew"
    if not isinstance(kept, dict) or kept.get("version") != _VERSION:
        return "of another version, measured anew"
    if kept.get("of") != _identity():
        return "of another machine or version, measured anew"
    try:
        return Machine.from_dict(kept.get("rates"))
    except ValueError:
        return "damaged, measured anew"


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=".machine-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise
