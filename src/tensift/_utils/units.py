"""Numbers with units, for people."""

from __future__ import annotations

__all__ = ["format_bytes"]


def format_bytes(count: float) -> str:
    """A size for people, such as ``3.2 MB``."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"
