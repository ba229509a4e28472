"""From scores to an order of features."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["rank_features"]


def rank_features(
    scores: ArrayLike, ties: ArrayLike | None = None, order: Literal["C", "F"] = "C"
) -> NDArray[np.intp]:
    """Order features by score, the largest first.

    Parameters
    ----------
    scores : array-like of any shape
        One score for every feature.
    ties : array-like of the same shape, optional
        Where scores are equal, the feature with the larger value here goes first.
    order : {"C", "F"}, default="C"
        Features that are still equal keep their index order, row-major ("C") or, as the authors'
        program has it, column-major ("F").

    Returns
    -------
    ndarray of int
        Flat row-major indices of all features, whatever `order` is.

    Examples
    --------
    >>> from tensift.selectors import rank_features
    >>> rank_features([[0.0, 2.0], [0.0, 1.0]])
    array([1, 3, 0, 2])
    >>> rank_features([[0.0, 2.0], [0.0, 1.0]], ties=[[1.0, 0.0], [5.0, 0.0]])
    array([1, 3, 2, 0])
    """
    scores = _real_numbers(scores, "scores")
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', got {order!r}")
    position = np.arange(scores.size).reshape(scores.shape).ravel(order=order)
    keys = [-scores.ravel(order=order)]
    if ties is not None:
        ties = _real_numbers(ties, "ties")
        if ties.shape != scores.shape:
            raise ValueError(f"ties has shape {ties.shape}, but scores has {scores.shape}")
        keys.insert(0, -ties.ravel(order=order))
    return position[np.lexsort(keys)]


def _real_numbers(values: ArrayLike, name: str) -> NDArray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be real numbers, got an array of dtype {array.dtype}")
    if np.isnan(array).any():
        raise ValueError(f"{name} has NaN, which cannot be ordered; replace or drop those features")
    return array
