"""Read sizes, rates and counts as people write them, and format them."""

from __future__ import annotations

import math
import re

__all__ = [
    "as_bytes",
    "as_count",
    "as_rate",
    "as_shape",
    "format_amount",
    "format_seconds",
]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)\s*")
_MOST = 10**18  # samples, features or bytes; more must be a mistake


def as_count(value: object, name: str, *, least: int = 1) -> int:
    """Read a whole number, written as 1000000 or 1e6."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number.is_integer()):
        raise ValueError(f"{name} must be a whole number, such as 1000 or 1e6; got {value!r}")
    if not least <= number <= _MOST:
        raise ValueError(f"{name} must be from {least} to {_MOST:.0e}; got {value!r}")
    return int(number)


def as_shape(value: object, name: str = "shape") -> tuple[int, ...]:
    """Read the shape of a sample, written as 64,64 or 64x64, or as a tuple."""
    parts = re.split(r"[,x×]", value) if isinstance(value, str) else value
    try:
        sizes = [part.strip() if isinstance(part, str) else part for part in parts]  # type: ignore[attr-defined]
    except TypeError:
        sizes = [parts]
    if not sizes or sizes == [""]:
        raise ValueError(f"{name} must have a length for every feature mode, such as 64,64")
    shape = tuple(as_count(size, f"every length in {name}") for size in sizes)
    if math.prod(shape) > _MOST:
        raise ValueError(f"{name} has {math.prod(shape):.0e} features; the limit is {_MOST:.0e}")
    return shape


def as_bytes(value: object, name: str) -> int:
    """Read a size, written as 4GB, 512 MiB or a number of bytes."""
    found = _NUMBER.fullmatch(str(value))
    number, unit = found.groups() if found else ("nan", "")
    power, kind = (unit[:1].upper(), unit[1:]) if unit.upper() != "B" else ("", "B")
    try:
        amount = float(number)
    except ValueError:
        amount = math.nan
    factor = (_BINARY if kind == "iB" else _UNITS).get(power) if kind in ("", "B", "iB") else None
    if factor is None or not math.isfinite(amount):
        raise ValueError(f"{name} must be a size such as 4GB, 512MiB or 4e9; got {value!r}")
    size = amount * factor
    if not 1 <= size <= _MOST:
        raise ValueError(f"{name} must be from 1 byte to {_MOST:.0e} bytes; got {value!r}")
    return int(size)


def as_rate(value: object, name: str) -> float:
    """Read bytes per second, written as 2GB/s; a number without a unit is in MB/s."""
    text = str(value).strip()
    text = text[:-2] if text.lower().endswith("/s") else text
    try:
        return float(as_bytes(text if text[-1:].isalpha() else f"{text}MB", name))
    except ValueError:
        raise ValueError(
            f"{name} must be a rate above zero, such as 500 (MB/s) or 2GB/s; got {value!r}"
        ) from None


def format_seconds(seconds: float) -> str:
    """Format a time, such as ``3.2 ms`` or ``4.1 days``."""
    for unit, length, up_to in (
        ("us", 1e-6, 1e-3),
        ("ms", 1e-3, 1.0),
        ("s", 1.0, 120.0),
        ("min", 60.0, 7200.0),
        ("h", 3600.0, 172800.0),
        ("days", 86400.0, 3.2e8),
    ):
        if seconds < up_to:
            return f"{seconds / length:.3g} {unit}" if seconds else "0 s"
    return f"{seconds / 31557600:.3g} years"


def format_amount(count: float) -> str:
    """Format a number: as a whole number if it is short, else with a power of ten."""
    return f"{count:,.0f}".replace(",", " ") if count < 1e6 else f"{count:.3g}"
