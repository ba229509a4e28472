"""Sensor placement by QR factorisation with column pivoting."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.rivals._column_pivots import ColumnPivots
from tensift.rivals._fibres import leading_components
from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints, TensorSelector

__all__ = ["QRSensorSelector"]


class QRSensorSelector(GreedySelector):
    """Place sensors where a pivoted QR factorisation of the leading modes has its pivots.

    The leading right singular vectors of the centred samples (the modes) have one column per
    feature. The feature with the longest column is picked, and its direction is taken out of all
    columns. So the picked features tell the modes apart, which makes it possible to find the
    coefficients of the modes from these features alone.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    basis : {"svd", "identity"}, default="svd"
        "svd" factorises the leading modes. "identity" factorises the centred samples themselves.
    n_basis_modes : int or None, default=None
        The number of modes, for "svd". None: as many as elements are selected. More than the rank
        of the samples count as the rank.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature. The
        one with the largest sum of squares is picked, and all its columns are taken out.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The squared length of the column of a feature when it was picked, or at the end if it was
        not picked, as a share of the sum over all features at first.
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
    PivotedCholeskySelector : The same order of elements as with ``basis="identity"``.
    OPBSSelector : The same selection as with ``basis="identity"``, known from remote sensing.

    Notes
    -----
    The picks are those of ``SSPOR`` in PySensors (``python-sensors``) with its QR optimiser and its
    bases ``SVD`` and ``Identity``, on centred samples. There are three differences. Samples are
    centred here; PySensors expects users to do it. Modes are exact, where PySensors uses a
    randomised decomposition. Once no mode is left, PySensors puts the other features in a random
    order, and we order them by their deviation.

    A fit takes ``O(s r d)`` for ``s`` picks and ``r`` modes (samples, with "identity"), after the
    decomposition. Tensors may be complex.

    References
    ----------
    K. Manohar, B. W. Brunton, J. N. Kutz, S. L. Brunton: Data-Driven Sparse Sensor Placement for
    Reconstruction: Demonstrating the Benefits of Exploiting Known Patterns. IEEE Control Systems
    Magazine 38(3), 2018.

    B. M. de Silva, K. Manohar, E. Clark, B. W. Brunton, J. N. Kutz, S. L. Brunton: PySensors: A
    Python package for sparse sensor placement. Journal of Open Source Software 6(58), 2021.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import QRSensorSelector
    >>> X = load_digits().data[:200]
    >>> QRSensorSelector(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "basis": [StrOptions({"svd", "identity"})],
        "n_basis_modes": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        basis: str = "svd",
        n_basis_modes: int | None = None,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.basis = basis
        self.n_basis_modes = n_basis_modes
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        n, size, width = values.shape
        columns = values.reshape(n, -1)
        if self.basis == "svd":
            columns = leading_components(columns, self.n_basis_modes or count * width)[1]
        return ColumnPivots(values, columns.reshape(len(columns), size, width))
