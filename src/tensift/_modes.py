"""Feature modes as users count them."""

from __future__ import annotations

__all__ = ["resolve_mode"]


def resolve_mode(name: str, mode: int, n_modes: int) -> int:
    """A mode counted from either end as one counted from the front; `name` is the parameter's."""
    if mode not in range(-n_modes, n_modes):
        raise ValueError(
            f"{name}={mode} is not a mode of samples with {n_modes} mode(s); "
            f"give a number from 0 to {n_modes - 1}"
        )
    return int(mode) % n_modes
