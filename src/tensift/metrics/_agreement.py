"""How much two selections overlap, beyond chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._features import check_features

__all__ = ["selection_agreement"]


def selection_agreement(a: ArrayLike, b: ArrayLike, n_features: int) -> float:
    """Overlap of two selections, corrected for chance (Kuncheva's index).

    Parameters
    ----------
    a, b : array-like
        Feature indices without duplicates, or boolean masks of all features.
    n_features : int
        How many features there are to choose from.

    Returns
    -------
    float
        1 for equal selections, about 0 for selections drawn at random, and less than 0 if they
        overlap less than at random. NaN if either selection holds all features, because the
        overlap is then fixed.

    Notes
    -----
    Selections of k and l features of d have ``k l / d`` in common by chance. With r in common,
    the index is ``(r - k l / d) / (min(k, l) - k l / d)``. For ``k = l`` this is Kuncheva's
    index. It is 1 if one selection contains the other.

    References
    ----------
    L. I. Kuncheva: A stability index for feature selection. IASTED International Conference on
    Artificial Intelligence and Applications, 2007.

    Examples
    --------
    >>> from tensift.metrics import selection_agreement
    >>> selection_agreement([0, 1], [1, 0], n_features=100)
    1.0
    >>> selection_agreement([0, 1], [1, 2], n_features=4)
    0.0
    """
    if not isinstance(n_features, (int, np.integer)) or n_features < 1:
        raise ValueError(f"n_features must be an integer of at least 1; got {n_features!r}")
    first = check_features("a", a, n_features)
    second = check_features("b", b, n_features)
    by_chance = len(first) * len(second) / n_features
    most = min(len(first), len(second))
    if by_chance == most:
        return math.nan
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return (shared - by_chance) / (most - by_chance)
