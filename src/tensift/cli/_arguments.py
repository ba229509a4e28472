"""Types of arguments: turn text into a checked value, or raise a usage error."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensift.datasets import parse_feature

__all__ = [
    "axes",
    "basis_names",
    "count_or_share",
    "features",
    "jobs",
    "mode",
    "mode_or_none",
    "names",
    "nodata_value",
    "non_negative",
    "or_auto",
    "positive_int",
    "whole_number",
]


def count_or_share(text: str) -> int | float:
    """A number of features, or a share of them between 0 and 1."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if value.is_integer() and value >= 1:
        return int(value)
    if 0 < value < 1:
        return value
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither a number of features (100) nor a share of them (0.1)"
    )


def non_negative(text: str) -> float:
    """A finite number, zero or more."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of zero or more")
    return value


def or_auto(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Accept what `kind` accepts, or "auto"."""

    def parsed(text: str) -> Any:
        if text == "auto":
            return text
        try:
            return kind(text)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"{error}, nor 'auto'") from None
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number, nor 'auto'") from None

    return parsed


def positive_int(text: str) -> int:
    """A whole number, one or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of one or more")
    return int(text)


def whole_number(text: str) -> int:
    """A whole number, zero or more."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of zero or more")
    return int(text)


def jobs(text: str) -> int:
    """A number of processes or threads, or -1 for all cores."""
    try:
        return -1 if text == "-1" else positive_int(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor -1 for all cores") from None


def names(text: str) -> list[str]:
    """Names separated by commas."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no names; give some, separated by commas")
    return found


def features(text: str) -> list[Any]:
    """Features separated by commas: names, indices, or coordinates with spaces between them."""
    try:
        return [parse_feature(name) for name in names(text)]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def axes(text: str) -> int | str | tuple[int | str, ...]:
    """One axis or several, by number or by name."""
    found = tuple(_number_or_name(part) for part in names(text))
    return found[0] if len(found) == 1 else found


def _number_or_name(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def nodata_value(text: str) -> float | str:
    """A number; NaN and infinity stay text, because JSON does not have them."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, nor nan") from None
    return value if math.isfinite(value) else str(value)


def mode(text: str) -> int | str:
    """A mode, by number or by name."""
    return _number_or_name(text)


def mode_or_none(text: str) -> int | str | None:
    """A feature mode, by number or by name, or the word none."""
    return None if text.lower() == "none" else mode(text)


def basis_names(text: str) -> list[str | Path]:
    """One basis for all other modes, or one for each: names, or paths of .npy files."""
    parts = [part.strip() for part in text.split(",")]
    return [Path(part) if part.lower().endswith(".npy") else part for part in parts]
