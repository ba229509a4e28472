"""Farthest point sampling of features."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift.rivals._fibres import energies
from tensift.rivals._greedy import GreedySelector, PickRule, Picks
from tensift.selection import Constraints, TensorSelector

__all__ = ["FarthestPointSelector"]

_COPY = 1e-13  # a squared distance below this share of a squared length is a rounding error


class FarthestPointSelector(GreedySelector):
    """Select the feature that is farthest from all selected ones, and repeat.

    A feature is the vector of its centred values in all samples, and distances are Euclidean. The
    selected features cover all features: none is far from all of them.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    first : int or None, default=None
        The flat row-major index of the feature to begin with. None: the feature with the largest
        variance, which does not depend on how features are numbered. It must vary.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, with
        the values of all its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The squared distance of a feature to the nearest selected one when it was selected, or at
        the end, as a share of the sum of squares of all features. The first feature has the
        score of the second.
    order_ : ndarray of int
        Flat row-major feature indices: the selected features in order, then the others.
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
    The picks are those of ``skmatter.feature_selection.FPS`` in scikit-matter with
    ``initialize=first``, on centred samples. There are three differences. Samples are centred here;
    scikit-matter takes them as they are. Its default is to begin with feature 0. Constant features
    take no part here.

    A fit takes ``O(s n d)`` for ``s`` picks. Tensors may be complex.

    References
    ----------
    Y. Eldar, M. Lindenbaum, M. Porat, Y. Y. Zeevi: The farthest point strategy for progressive
    image sampling. IEEE Transactions on Image Processing 6(9), 1997.

    G. Imbalzano, A. Anelli, D. Giofré, S. Klees, J. Behler, M. Ceriotti: Automatic selection of
    atomic fingerprints and reference configurations for machine-learning potentials. Journal of
    Chemical Physics 148(24), 2018.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import FarthestPointSelector
    >>> X = load_digits().data[:200]
    >>> FarthestPointSelector(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        "first": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        first: int | None = None,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.first = first
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        return _Distances(values, None if self.first is None else self._place(kept))

    def _finished(self, picks: Picks) -> Picks:
        gains = list(picks.gains)
        if gains:  # the first feature has no distance
            gains[0] = gains[1] if len(gains) > 1 else float(picks.left.max())
        return picks._replace(gains=gains)

    def _place(self, kept: NDArray[np.intp]) -> int:
        """Return where the feature `first` is among those that vary."""
        place = np.flatnonzero(kept == self.first)
        if not place.size:
            raise ValueError(
                f"first={self.first} must be the flat index of a feature that varies; pass another "
                "index, or None to begin with the largest variance"
            )
        return int(place[0])


class _Distances(PickRule):
    """The squared distance of every feature to the nearest that was picked."""

    def __init__(self, values: NDArray, first: int | None) -> None:
        super().__init__(values)
        self._flat = values.transpose(0, 2, 1).reshape(-1, self.size)
        self._squares = energies(values)
        self._nearest, self._first = self._squares, first

    def _worth(self) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = self._nearest / self._squares.sum()
        if not self.picked and self._first is not None:
            shares[self._first] += 1  # more than all others
        return shares

    def _take(self, feature: int) -> None:
        squares = self._squares
        products = (self._flat[:, feature].conj() @ self._flat).real
        distances = squares + squares[feature] - 2 * products
        distances[distances < _COPY * squares[feature]] = 0
        nearest = np.minimum(self._nearest, distances) if len(self.picked) > 1 else distances
        nearest[self.picked] = 0
        self._nearest = nearest
