"""Evenly spaced features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.rivals._greedy import GreedySelector, Picks

__all__ = ["EvenSelector"]


class EvenSelector(GreedySelector):
    """Keep evenly spaced features, such as every tenth band.

    The features are divided into as many blocks of neighbours as are kept, and the one in the
    middle of each block is kept. The values of the samples play no part.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    feature_mode : int or None, default=None
        None: every element is a feature, in row-major order. An int: every index along that mode is
        a feature.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        1 for features that are kept, 0 for the others.
    order_ : ndarray of int
        Flat row-major feature indices: those that are kept from the first to the last, then the
        others by standard deviation.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        With "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    Neighbouring bands, times and pixels are alike, so this baseline is hard to beat where features
    have such an order. Constant features are left out before the others are divided.

    A fit takes ``O(n d)``, to find constant features. Tensors may be complex.

    References
    ----------
    Q. Du, H. Yang: Similarity-Based Unsupervised Band Selection for Hyperspectral Image Analysis.
    IEEE Geoscience and Remote Sensing Letters 5(4), 2008, which compares with uniform band
    selection.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.rivals import EvenSelector
    >>> pixels = np.random.default_rng(0).normal(size=(20, 30))
    >>> EvenSelector(3).fit(pixels).get_support(indices=True)
    array([ 5, 15, 25])
    """

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _pick(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Picks:
        size = len(kept)
        middles = [(2 * block + 1) * size // (2 * count) for block in range(count)]
        return Picks(middles, [1.0] * count, np.zeros(size))
