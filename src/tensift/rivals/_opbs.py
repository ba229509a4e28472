"""Band selection by orthogonal projections (OPBS)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.rivals._column_pivots import ColumnPivots
from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints

__all__ = ["OPBSSelector"]


class OPBSSelector(GreedySelector):
    """Pick the band that sticks out most of the span of the bands before it.

    Bands are centred. The first has the largest variance. Each further one has the largest
    residual after projecting it onto the span of those that are picked. So the bands make an
    ellipsoid of large volume: the product of the residuals is the determinant of their covariance
    matrix.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature, such as the bands of a scene whose pixels are samples. An
        int: every index along that mode is a feature. The one with the largest sum of squares is
        picked, and all its elements are taken out.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The squared residual of a feature when it was picked, or at the end if it was not picked,
        as a share of the variance of all features.
    order_ : ndarray of int
        Flat row-major feature indices: the picked features in order, then the others.
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

    See Also
    --------
    QRSensorSelector : The same selection with ``basis="identity"``; they share their code.
    PivotedCholeskySelector : The same order of elements, from columns of the covariance matrix.

    Notes
    -----
    Remote sensing knows the method by this name; it is a QR factorisation of the centred bands
    with column pivoting. Programs that skip the centring find other bands, since the mean of a
    band then counts as if it were variance.

    A fit takes ``O(s n d)`` for ``s`` picks. Tensors may be complex.

    References
    ----------
    W. Zhang, X. Li, Y. Dou, L. Zhao: A Geometry-Based Band Selection Approach for Hyperspectral
    Image Analysis. IEEE Transactions on Geoscience and Remote Sensing 56(8), 2018, Algorithm 2.

    Examples
    --------
    The second band is a copy of the first:

    >>> import numpy as np
    >>> from tensift.rivals import OPBSSelector
    >>> pixels = np.array([[2.0, 2, 1], [2, 2, -1], [-2, -2, 1], [-2, -2, -1]])
    >>> OPBSSelector(2).fit(pixels).order_
    array([0, 2, 1])
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
        return ColumnPivots(values, values)
