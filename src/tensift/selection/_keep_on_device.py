"""Select features of samples on a device, and put them back in their places."""

from __future__ import annotations

import math
from typing import Any

from tensift._utils.namespace import device_of, namespace_of

__all__ = ["keep_on_device", "put_back_on_device", "selected_on_device"]


def selected_on_device(ranking: Any, count: int) -> Any:
    """Return the first `count` features of a ranking, as increasing indices."""
    return namespace_of(ranking).sort(ranking[:count])


def keep_on_device(samples: Any, selected: Any, mode: int | None, *, rows: bool) -> Any:
    """Return the selected elements of samples ``(n, d_1, ..., d_m)``, or indices of one mode."""
    xp = namespace_of(samples)
    count = samples.shape[0]
    if mode is None:
        return xp.take(xp.reshape(samples, (count, -1)), selected, axis=1)
    kept = xp.take(samples, selected, axis=mode + 1)
    return xp.reshape(kept, (count, -1)) if rows else kept


def put_back_on_device(
    kept: Any, selected: Any, shape: tuple[int, ...], mode: int | None, *, rows: bool
) -> Any:
    """Invert `keep_on_device`, with zeros in all other places.

    It gathers and masks, because the array API standard has no assignment by index arrays.
    """
    xp = namespace_of(kept)
    axis = 1 if mode is None else mode + 1
    size = math.prod(shape) if mode is None else shape[mode]
    all_indices = xp.arange(size, device=device_of(kept))
    place = xp.clip(xp.searchsorted(selected, all_indices), max=selected.shape[0] - 1)
    is_kept = xp.take(selected, place) == all_indices
    is_kept = xp.reshape(is_kept, (size, *(1,) * (kept.ndim - axis - 1)))
    full = xp.take(kept, place, axis=axis)
    full = xp.where(is_kept, full, xp.zeros_like(full))
    return xp.reshape(full, (kept.shape[0], -1) if rows else (kept.shape[0], *shape))
