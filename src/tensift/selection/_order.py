"""Order features by their scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import device_of, is_device_array, kind_of, namespace_of

__all__ = ["rank_features"]


def rank_features(
    scores: ArrayLike,
    ties: ArrayLike | Sequence[ArrayLike] | None = None,
    order: Literal["C", "F"] = "C",
) -> Any:
    """Order features by score, the largest first.

    Parameters
    ----------
    scores : array-like of any shape
        One score for every feature. Arrays of other libraries are ranked on their device.
    ties : array-like of the same shape, or a sequence of these, optional
        If scores are equal, the feature with the larger value here comes first. Of several arrays,
        each decides if all before it are equal.
    order : {"C", "F"}, default="C"
        Features that are still equal keep their index order: row-major ("C"), or column-major
        ("F") as in the authors' program.

    Returns
    -------
    ndarray of int
        Flat row-major indices of all features, whatever `order` is.

    Examples
    --------
    >>> from tensift.selection import rank_features
    >>> rank_features([[0.0, 2.0], [0.0, 1.0]])
    array([1, 3, 0, 2])
    >>> rank_features([[0.0, 2.0], [0.0, 1.0]], ties=[[1.0, 0.0], [5.0, 0.0]])
    array([1, 3, 2, 0])
    >>> rank_features([0, 0, 0], ties=[[1, 2, 2], [0, 0, 5]])
    array([2, 1, 0])
    """
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}")
    if is_device_array(scores):
        return _rank_on_device(scores, ties, order)
    scores = _real_numbers(scores, "scores")
    position = np.arange(scores.size).reshape(scores.shape).ravel(order=order)
    keys = [-scores.ravel(order=order)]
    for key in _sequence_of_ties(ties, scores.shape):
        keys.insert(0, -key.ravel(order=order))  # the last key of lexsort is the primary one
    return position[np.lexsort(keys)]


def _rank_on_device(scores: Any, ties: Any, order: str) -> Any:
    """Return the same order by one stable sort per key, the least important key first."""
    xp = namespace_of(scores)
    keys = [scores, *(ties if isinstance(ties, list | tuple) else [ties] * (ties is not None))]
    for name, key in zip(["scores", *["ties"] * len(keys)], keys, strict=False):
        if kind_of(key) != kind_of(scores):
            raise ValueError(f"{name} must be a {kind_of(scores)}, like scores")
        if tuple(key.shape) != tuple(scores.shape):
            raise ValueError(f"{name} has shape {tuple(key.shape)}, but scores has {scores.shape}")
        if not xp.isdtype(key.dtype, ("bool", "integral", "real floating")):
            raise ValueError(f"{name} must be real numbers, got an array of dtype {key.dtype}")
        if xp.isdtype(key.dtype, "real floating") and xp.any(xp.isnan(key)):
            raise ValueError(f"{name} has NaN, which cannot be ordered; drop those features")
    position = xp.arange(math.prod(scores.shape), device=device_of(scores))
    position = _flat(xp.reshape(position, scores.shape), order)
    ranking = xp.arange(position.shape[0], device=device_of(scores))
    for key in reversed(keys):
        flat = _flat(key, order)
        if xp.isdtype(flat.dtype, ("bool", "unsigned integer")):
            flat = xp.astype(flat, xp.float32 if flat.dtype == xp.bool else xp.int64)
        # Avoid -0.0, which some libraries sort before 0.0.
        flat = xp.where(flat == 0, xp.zeros_like(flat), -flat)
        ranking = xp.take(ranking, xp.argsort(xp.take(flat, ranking), stable=True))
    return xp.take(position, ranking)


def _flat(values: Any, order: str) -> Any:
    xp = namespace_of(values)
    if order == "F":
        values = xp.permute_dims(values, tuple(reversed(range(values.ndim))))
    return xp.reshape(values, (-1,))


def _sequence_of_ties(ties: Any, shape: tuple[int, ...]) -> list[NDArray]:
    """Return one or several tie keys as a list of checked arrays."""
    if ties is None:
        return []
    several = isinstance(ties, list | tuple) and all(np.shape(key) == shape for key in ties)
    arrays = [_real_numbers(key, "ties") for key in (ties if several else [ties])]
    for array in arrays:
        if array.shape != shape:
            raise ValueError(f"ties has shape {array.shape}, but scores has {shape}")
    return arrays


def _real_numbers(values: ArrayLike, name: str) -> NDArray:
    refuse_masked(values, name)
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be real numbers, got an array of dtype {array.dtype}")
    if np.isnan(array).any():
        raise ValueError(f"{name} has NaN, which cannot be ordered; replace or drop those features")
    # The keys are negated, which fails for booleans and wraps around for unsigned numbers.
    return array.astype(float) if array.dtype.kind in "bu" else array
