"""Check feature indices, and restrict samples to the selected features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.arrays import as_array
from tensift.labels import mode_number, unlabelled
from tensift.metrics._checks import check_data

__all__ = [
    "check_features",
    "check_samples",
    "count_features",
    "kept_elements",
    "restrict",
]


def check_samples(
    X: ArrayLike, feature_mode: int | str | None, *, missing: str | None = None
) -> tuple[np.ndarray, int | None]:
    """Return the data as an array of finite numbers, and the feature mode as an index from 0.

    With `missing`, the caller has this parameter; "allow" allows NaN.
    """
    found = unlabelled(X)
    data = check_data(found, allow_nan=missing == "allow", can_allow=missing is not None)
    if feature_mode is None:
        return data, None
    return data, mode_number("feature_mode", feature_mode, data.ndim - 1, found.names)


def count_features(shape: tuple[int, ...], feature_mode: int | None) -> int:
    """Return the number of features of a sample."""
    return math.prod(shape) if feature_mode is None else shape[feature_mode]


def check_features(name: str, features: ArrayLike, n_features: int) -> np.ndarray:
    """Return feature indices, given indices or a mask of all features."""
    values = np.asarray(as_array(features, name))
    if values.dtype.kind == "b":
        if values.size != n_features:
            raise ValueError(f"{name} is a mask of {values.size} features, but X has {n_features}")
        values = np.flatnonzero(values)
    if values.size == 0:
        raise ValueError(f"{name} must contain at least one feature")
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a list of feature indices or a boolean mask")
    if values.min() < 0 or values.max() >= n_features:
        raise ValueError(f"{name} must contain indices from 0 to {n_features - 1}")
    if len(np.unique(values)) != len(values):
        raise ValueError(f"{name} contains a feature twice; give each index once")
    return values


def restrict(data: np.ndarray, features: np.ndarray, feature_mode: int | None) -> np.ndarray:
    """Return the selected features as one real row per sample."""
    if feature_mode is None:
        # Index axis by axis, so that a memory-mapped tensor is not loaded as a whole.
        places: tuple[Any, ...] = np.unravel_index(features, data.shape[1:])
        rows = data[(slice(None), *places)]
    else:
        rows = np.take(data, features, axis=feature_mode + 1).reshape(len(data), -1)
    if rows.dtype.kind == "c":
        rows = np.concatenate([rows.real, rows.imag], axis=1)
    return np.ascontiguousarray(rows, dtype=float)


def kept_elements(
    shape: tuple[int, ...], features: np.ndarray, feature_mode: int | None
) -> np.ndarray:
    """Return a flat mask of the elements of a sample that belong to the features."""
    if feature_mode is None:
        mask = np.zeros(math.prod(shape), dtype=bool)
        mask[features] = True
        return mask
    along = np.zeros(shape[feature_mode], dtype=bool)
    along[features] = True
    others = [mode for mode in range(len(shape)) if mode != feature_mode]
    return np.broadcast_to(np.expand_dims(along, others), shape).ravel()
