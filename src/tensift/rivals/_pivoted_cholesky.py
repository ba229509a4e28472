"""Selection by pivoted Cholesky factorisation, the simplest way to avoid repeated features."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.modes import pool_elements
from tensift._utils.stacks import squared_modulus
from tensift.rivals._by_element import ElementSelector
from tensift.rivals._spread import with_roots
from tensift.selection import (
    Constraints,
    FreeChoice,
    Selection,
    TensorSelector,
    choose,
    limited_selection,
    pick_greedily,
    rank_features,
    suggest_count,
)
from tensift.sources import SampleWeights, kept_samples

__all__ = ["PivotedCholeskySelector"]


class PivotedCholeskySelector(ElementSelector):
    """Select features one after another: always the one with the most unexplained variance.

    The unexplained variance of a feature is what least squares on the features selected before it
    leaves. These values are the pivots of the Cholesky factorisation of the covariance matrix with
    diagonal pivoting. Only the columns of selected features are computed.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, which
        explains others element by element.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed. Estimates
        from the other values take their place.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The unexplained variance of a feature when it was selected, or at the end if it was not
        selected. With `feature_mode` the sum over its elements.
    order_ : ndarray of int
        Flat row-major feature indices: the selected features in the order of selection, then the
        others by unexplained variance.
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
    A fit takes ``O(s n d)`` for ``s`` selected features, and memory for the samples. Once the
    selected features explain everything, the others are ordered by their standard deviations.
    Tensors may be complex.

    References
    ----------
    N. J. Higham: Analysis of the Cholesky Decomposition of a Semi-definite Matrix. In Reliable
    Numerical Computation, 1990.

    H. Harbrecht, M. Peters, R. Schneider: On the low-rank approximation by the pivoted Cholesky
    decomposition. Applied Numerical Mathematics 62(4), 2012.

    Examples
    --------
    The second feature is a copy of the first:

    >>> import numpy as np
    >>> from tensift.rivals import PivotedCholeskySelector
    >>> X = np.array([[2.0, 2.0, 1.0], [2.0, 2.0, -1.0], [-2.0, -2.0, 1.0], [-2.0, -2.0, -1.0]])
    >>> selector = PivotedCholeskySelector(2).fit(X)
    >>> selector.order_
    array([0, 2, 1])
    >>> selector.scores_
    array([4., 0., 1.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        **TensorSelector._may_be_missing,
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        missing: str = "raise",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.missing = missing

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        mode = self._mode_of_features()
        pivots = _Pivots(samples, mode, pool_elements(spread, mode), weights)
        rows, limits = kept_samples(samples, weights), self._limits()
        suggested = None
        if self.n_features_to_select == "auto":
            suggested = suggest_count(rows, mode, limits)
        count, ties = self._checked_count(pivots.size, suggested), pool_elements(spread, mode)
        if limits is None:
            pivots.extend(count)
            order = rank_features(pivots.scores(), ties.ravel())
            selection = Selection(order, suggested=suggested)
        else:
            ranks = np.argsort(rank_features(ties))
            chosen = choose(lambda: copy(pivots), limits, count, ranks=ranks)
            pivots = chosen.rule
            selection = limited_selection(chosen, count, suggested, None, like=spread)
        self.scores_, self._scored_mode = pivots.scores().reshape(ties.shape), mode
        self._keep_selection(selection)


class _Pivots:
    """The order of the pivots, which can be extended at any time."""

    def __init__(
        self,
        samples: NDArray[Any],
        mode: int | None,
        spread: NDArray[np.float64],
        weights: SampleWeights | None,
    ) -> None:
        kind = complex if np.iscomplexobj(samples) else float
        centred = with_roots(samples.astype(kind), weights)
        if mode is None:
            columns = centred.reshape(len(samples), -1)
        else:
            columns = np.moveaxis(centred, mode + 1, -1).reshape(-1, samples.shape[mode + 1])
        columns[:, spread.ravel() == 0] = 0  # what is left there is rounding
        peak = np.abs(columns).max()
        total = len(samples) if weights is None else weights.values.sum()
        self._unit = peak**2 / total  # squares of tiny values would underflow
        self._columns = columns / peak
        self.size = columns.shape[1]
        variances = squared_modulus(self._columns).sum(axis=0)
        self._left = variances.copy()
        # Smaller values are rounding errors.
        self._least = variances * (self.size * np.finfo(float).eps)
        self._factor = np.empty((self.size, 0), kind)
        self._found: dict[int, float] = {}

    tie, baseline = 0.0, 0.0  # merits are gains

    def extend(self, count: int) -> None:
        """Find pivots until there are `count` of them, or nothing is left."""
        everything = np.ones(self.size, dtype=bool)
        pick_greedily(self, FreeChoice([everything], [self.size], self.tie, 0.0), count)

    def merits(self) -> NDArray[np.float64]:
        """Return the unexplained variance of every feature."""
        return np.where(self._left > self._least, self._left, 0.0)

    def take(self, pick: NDArray[np.intp]) -> None:
        """Take a feature as a pivot; `pick` is an array of its index."""
        feature = int(pick[0])
        pivot = float(self.merits()[feature])
        self._found = {**self._found, feature: pivot}
        if pivot == 0:
            return
        covariances = self._columns.conj().T @ self._columns[:, feature]
        covariances -= self._factor @ self._factor[feature].conj()
        column = covariances / np.sqrt(pivot)
        self._factor = np.column_stack([self._factor, column])
        self._left = np.maximum(self._left - squared_modulus(column), 0)

    @property
    def tiers(self) -> NDArray[np.intp]:
        """All features are alike."""
        return np.zeros(self.size, dtype=int)

    @property
    def objective(self) -> float:
        """The sum of the pivots."""
        return float(sum(self._found.values()))

    def scores(self) -> NDArray[np.float64]:
        """Return the unexplained variance of every feature when it was selected, or now."""
        scores = np.where(self._left > self._least, self._left, 0.0)
        scores[list(self._found)] = list(self._found.values())
        return scores * self._unit
