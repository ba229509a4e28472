"""Which axes of a stored array count the samples, and which samples are kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tensift.datasets._stored import available_memory

__all__ = [
    "SAMPLE_NAMES",
    "SampleAxis",
    "along_samples",
    "as_mask",
    "measured_samples",
    "resolve_sample_axes",
    "stack_samples",
    "take_samples",
]

SAMPLE_NAMES = ("sample", "samples", "trial", "trials", "epoch", "epochs")  # of axes

SampleAxis = int | str | Sequence[int | str]

# What the axes of a scene are called elsewhere.
_ALIASES = {
    "y": "row", "rows": "row", "line": "row", "lines": "row",
    "x": "column", "columns": "column", "col": "column", "cols": "column",
    "bands": "band", "wavelength": "band",
}  # fmt: skip
_CHUNK_BYTES = 2**25  # of samples that are looked at together


def resolve_sample_axes(
    path: Path, shape: tuple[int, ...], sample_axis: SampleAxis, names: Sequence[str] = ()
) -> tuple[int, ...]:
    """Return the axes of the samples, counted from 0; `names` are those of all axes, if known."""
    if isinstance(sample_axis, str):
        wanted: list[int | str] = [part.strip() for part in sample_axis.split(",")]
    elif isinstance(sample_axis, Sequence):
        wanted = list(sample_axis)
    else:
        wanted = [sample_axis]
    axes = [_axis(path, shape, one, names) for one in wanted]
    if not axes or len(set(axes)) < len(axes):
        raise ValueError(f"{path}: sample_axis={sample_axis!r} must name each axis once")
    if len(axes) == len(shape):
        raise ValueError(
            f"{path}: sample_axis={sample_axis!r} takes all axes of an array of shape {shape}; "
            "leave at least one for the features"
        )
    return tuple(axes)


def _axis(path: Path, shape: tuple[int, ...], one: int | str, names: Sequence[str]) -> int:
    if isinstance(one, str) and one in names:
        return list(names).index(one)
    if isinstance(one, str) and _ALIASES.get(one.lower()) in names:
        return list(names).index(_ALIASES[one.lower()])
    try:
        axis = int(one)
    except ValueError:
        known = f"the axes are {', '.join(names)}" if names else "the file does not name its axes"
        raise ValueError(
            f"{path}: no axis {one!r} for sample_axis ({known}); give a name, or a number from 0 "
            f"to {len(shape) - 1}"
        ) from None
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"{path}: sample_axis={one} is out of range for an array of shape {shape}")
    return axis % len(shape)


def stack_samples(path: Path, tensor: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Move the axes of the samples to the front, and stack them into one.

    A memory map stays one, if its values need not change their order for that.
    """
    if tensor.size == 0:
        raise ValueError(f"{path}: no samples (shape {tensor.shape})")
    others = [axis for axis in range(tensor.ndim) if axis not in axes]
    moved = tensor.transpose([*axes, *others])
    shape = (-1, *(tensor.shape[axis] for axis in others))
    mapped = isinstance(tensor, np.memmap)
    try:
        first = np.reshape(moved, shape, copy=False)
    except ValueError:  # the values must be put into another order
        if mapped:
            _require_memory_for_copy(path, tensor.nbytes)
        return np.ascontiguousarray(np.reshape(np.asarray(moved), shape))
    return first if mapped else np.ascontiguousarray(first)


def along_samples(
    path: Path, what: str, values: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]
) -> np.ndarray:
    """Return one value per sample; a map of several axes is stacked as the samples are."""
    sizes = tuple(shape[axis] for axis in axes)
    n_samples = math.prod(sizes)
    if values.ndim == len(axes) + 1 and values.shape[-1] == 1:
        values = values[..., 0]  # a map that was stored as a scene of one band
    if len(axes) == 1 or values.squeeze().ndim < 2:
        if values.size == n_samples:
            return values.ravel()
    else:
        # In the file, the axes of a map come in the order of those of the array.
        stored = sorted(axes)
        if values.shape == tuple(shape[axis] for axis in stored):
            return values.transpose([stored.index(axis) for axis in axes]).ravel()
    raise ValueError(
        f"{path}: {values.size} {what} for {n_samples} samples (stored shape {shape})"
        f"{_hint(values.shape, shape, axes)}"
    )


def _hint(map_shape: tuple[int, ...], shape: tuple[int, ...], axes: tuple[int, ...]) -> str:
    """Say which other sample axes would fit values of a shape."""
    size = math.prod(map_shape)
    if len(map_shape) == 2 and 1 not in map_shape and map_shape == shape[:2] and axes != (0, 1):
        return "; pass sample_axis=(0, 1) (--sample-axis 0,1) if every pixel is a sample"
    if len(axes) > 1:
        sizes = tuple(shape[axis] for axis in axes)
        return f"; their shape is {map_shape}, and the samples are stacked from {sizes}"
    fitting = [axis for axis, length in enumerate(shape) if length == size]
    return f"; pass sample_axis={fitting[0]} if that is the axis of the samples" if fitting else ""


def as_mask(path: Path, values: np.ndarray) -> np.ndarray:
    """Return True where a sample is measured."""
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"{path}: mask must be True (1) where a sample is measured and False (0) elsewhere"
        )
    return values.astype(bool)


def measured_samples(data: np.ndarray, nodata: float) -> np.ndarray:
    """Return True for samples without the value of what was not measured."""
    whole = np.ones(len(data), dtype=bool)
    rows = max(1, _CHUNK_BYTES // (data.dtype.itemsize * math.prod(data.shape[1:])))
    for start in range(0, len(data), rows):
        part = np.asarray(data[start : start + rows])
        with np.errstate(over="ignore"):
            missing = np.isnan(part) if math.isnan(nodata) else part == nodata
        whole[start : start + rows] = ~missing.any(axis=tuple(range(1, data.ndim)))
    return whole


def take_samples(path: Path, data: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the samples at the places `kept`."""
    if isinstance(data, np.memmap):
        _require_memory_for_copy(path, len(kept) * data[:1].nbytes)
    return np.asarray(data)[kept]


def _require_memory_for_copy(path: Path, n_bytes: int) -> None:
    available = available_memory()
    if available is not None and n_bytes > available:
        raise ValueError(
            f"{path}: these samples are not next to each other in the file, and a copy needs "
            f"{n_bytes / 2**30:.3g} GiB, but only {available / 2**30:.3g} GiB are free"
        )
