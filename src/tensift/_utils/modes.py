"""Feature modes as users count them."""

from __future__ import annotations

from typing import Any

from tensift._utils.namespace import is_device_array, namespace_of

__all__ = ["pool_elements", "resolve_mode"]


def resolve_mode(name: str, mode: Any, n_modes: int) -> int:
    """Turn a mode that may be negative into a non-negative one; `name` is for the error."""
    if isinstance(mode, str):
        raise ValueError(
            f"{name}={mode!r} must be a number from 0 to {n_modes - 1}, because the samples have "
            "no names; to use names, pass an xarray.DataArray, or a dataset or file with dims"
        )
    if mode not in range(-n_modes, n_modes):
        raise ValueError(
            f"{name}={mode} is not a mode of samples with {n_modes} mode(s); "
            f"give a number from 0 to {n_modes - 1}"
        )
    return int(mode) % n_modes


def pool_elements(values: Any, feature_mode: int | None) -> Any:
    """Values of elements as values of features: for mode features, their sums."""
    if feature_mode is None:
        return values
    others = tuple(axis for axis in range(values.ndim) if axis != feature_mode)
    if is_device_array(values):
        # The sum over no axes is that over all in one library, and that over none in another.
        return namespace_of(values).sum(values, axis=others) if others else values
    return values.sum(axis=others)
