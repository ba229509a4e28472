"""Facility location: features that represent all features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tensift.rivals._fibres import correlations, unit_columns
from tensift.rivals._greedy import GreedySelector, PickRule
from tensift.selection import Constraints

__all__ = ["FacilityLocationSelector"]

_HELD = 2**26  # similarities that are held, 512 MiB; if there are more, they are computed again
_BLOCK = 2**22  # similarities that are looked at together


class FacilityLocationSelector(GreedySelector):
    """Select features so that every feature is similar to a selected one.

    The similarity of two features is their squared correlation. The selected features maximise the
    sum, over all features, of the similarity to the most similar selected one. They are picked one
    after another, always the one that adds most.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        features are compared element by element.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        What a feature added to the sum when it was picked, or would add at the end, as a share of
        the number of features that vary.
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

    Notes
    -----
    The picks are those of ``FacilityLocationSelection(metric="corr")`` in apricot, given features
    instead of samples. Constant features take no part here; they have no correlation, and apricot
    does not end on them. Equal gains go to the smaller index here.

    What a feature adds can only shrink as others are picked. So gains are computed again only for
    features that may be the best (lazy greedy), which does not change the result. A fit takes
    ``O(n d^2)``. The similarities of all pairs are held up to 8192 features; beyond, they are
    computed when they are needed, which is slower. Tensors may be complex.

    References
    ----------
    J. Schreiber, J. Bilmes, W. S. Noble: apricot: Submodular selection for data summarization in
    Python. Journal of Machine Learning Research 21(161), 2020.

    G. L. Nemhauser, L. A. Wolsey, M. L. Fisher: An analysis of approximations for maximizing
    submodular set functions. Mathematical Programming 14, 1978.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import FacilityLocationSelector
    >>> X = load_digits().data[:200]
    >>> FacilityLocationSelector(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
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
        return _Gains(values, lazy=self.constraints is None)


class _Gains(PickRule):
    """How much nearer all features come to the picked ones.

    If `lazy`, only the largest gain is exact, and the others are upper bounds: gains of earlier
    picks. Constraints may pass over the largest one, so they need all.
    """

    tie, least = 0.0, None  # gains are rounded

    def __init__(self, values: NDArray, *, lazy: bool) -> None:
        super().__init__(values)
        self._lazy = lazy
        self._similarities = _Similarities(unit_columns(values))
        self._served = np.zeros(self.size)  # similarities to the nearest picked feature
        self._bounds = self._similarities.gains(self._served)
        self._known_at = np.zeros(self.size, dtype=int)

    def left(self) -> NDArray[np.float64]:
        """Return what every feature would add next."""
        return self._similarities.gains(self._served) / self.size

    def merits(self) -> NDArray[np.float64]:
        """Return gains, of which the largest is exact."""
        if not self._lazy:
            return super().merits()
        while True:
            best = int(np.argmax(self._bounds))
            if self._known_at[best] == len(self.picked):
                return self._bounds / self.size
            column = self._column(best)
            self._bounds[best] = _rounded(np.maximum(column - self._served, 0).sum())
            self._known_at[best] = len(self.picked)

    def _worth(self) -> NDArray[np.float64]:
        return self.left()

    def _take(self, feature: int) -> None:
        self._served = np.maximum(self._served, self._column(feature))
        self._bounds[feature] = -np.inf

    def _column(self, feature: int) -> NDArray[np.float64]:
        return self._similarities.some(slice(feature, feature + 1))[:, 0]


class _Similarities:
    """Squared correlations of features: a matrix if it is small, or computed when needed."""

    def __init__(self, columns: NDArray) -> None:
        self._columns = columns
        self._size = columns.shape[1]
        self._whole: NDArray[np.float64] | None = None
        if self._size**2 <= _HELD:
            # Fortran order, because columns are read.
            self._whole = np.asfortranarray(self.some(slice(None)))

    def some(self, features: slice) -> NDArray[np.float64]:
        """Return the similarities of all features to some."""
        if self._whole is not None:
            return self._whole[:, features]
        return correlations(self._columns, features) ** 2

    def gains(self, served: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what every feature would add, a block of features at a time."""
        step = max(1, _BLOCK // self._size)
        parts = []
        for start in range(0, self._size, step):
            similar = self.some(slice(start, start + step))
            parts.append(np.maximum(similar - served[:, None], 0).sum(axis=0))
        return _rounded(np.concatenate(parts))


def _rounded(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round sums, so that rounding errors do not decide between equal features."""
    rounded: NDArray[np.float64] = np.round(gains, 10)
    return rounded
