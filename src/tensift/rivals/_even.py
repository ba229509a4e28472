"""Evenly spaced features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints

__all__ = ["EvenSelector"]


class EvenSelector(GreedySelector):
    """Keep evenly spaced features, such as every tenth band.

    The features are divided into as many blocks of neighbours as are kept, and the one in the
    middle of each block is kept; under constraints, the allowed one nearest to it. The values of
    the samples play no part.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature, in row-major order. An int: every index along that mode is
        a feature.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        1 for features that are kept, 0 for the others. Under constraints less than 1 for those
        that are not in the middle of a block.
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
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

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
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        return _Middles(values, count)


class _Middles(PickRule):
    """A feature is worth more the nearer it is to the middle of a block that has none yet."""

    def __init__(self, values: NDArray, count: int) -> None:
        super().__init__(values)
        blocks = np.arange(count)
        self._middles = (2 * blocks + 1) * self.size // (2 * count)

    def _worth(self) -> NDArray[np.float64]:
        if not self._middles.size:
            return np.zeros(self.size)
        return 1.0 / (1 + self._distances().min(axis=1))

    def _take(self, feature: int) -> None:
        if self._middles.size:
            nearest = np.argmin(self._distances()[feature])
            self._middles = np.delete(self._middles, nearest)

    def _distances(self) -> NDArray[np.intp]:
        distances: NDArray[np.intp] = np.abs(np.arange(self.size)[:, None] - self._middles)
        return distances
