"""Column subset selection: the features from which all features can be predicted best."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.labels import SampleDims
from tensift.rivals._greedy import GreedySelector, Picks
from tensift.selection import (
    Chosen,
    ColumnSubsetOrder,
    Constraints,
    FeatureLimits,
    SuggestedCount,
    TensorSelector,
    choose,
    exchangeable,
    suggest_count_by_reconstruction,
)
from tensift.sources import KeptSamples

__all__ = ["ColumnSubsetSelector"]


class ColumnSubsetSelector(GreedySelector):
    """Select the features from which least squares predicts all features best.

    Features are picked one after another: always the one that adds most to the variance of all
    features that a regression on the picked ones explains. Use it if you want to keep or measure a
    few features and predict the rest.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count_by_reconstruction` suggests.
    swaps : int, default=0
        The largest number of exchanges after the last pick. Every selected feature in turn is
        exchanged for the one that explains most in its place, until no exchange helps.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        all its elements take part in the regression. Fibres with more than 64 elements are seen
        through their 64 leading principal components.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    sample_dim : hashable, list of these or None, default=None
        The dimension of a DataArray that counts samples, or several: ``("y", "x")`` if every pixel
        of a scene is a sample. None: the first.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed. Estimates
        from the other values take their place.
    scale : {"feature"} or None, default=None
        "feature" divides every feature by its standard deviation, for features in different units:
        then their units do not count. With `feature_mode`, all elements of a feature are divided by
        the same number. None leaves the data as they are.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The share of the variance of all features that a feature added when it was picked, but at
        most the score of the feature before it. For others, the share that they would add next.
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
    tensift.selection.ColumnSubsetOrder : The order of the picks, and the formulas.
    PivotedCholeskySelector : Picks the feature that is explained worst, not the one that explains
        most.

    Notes
    -----
    The greedy rule is that of Farahat, Ghodsi and Kamel, with two differences. Least squares has a
    small ridge, 1 % of the mean variance of an element, so that features that hardly vary are not
    picked for their rounding errors. Features whose deviation is below 1e-3 of the largest come
    last. The exchanges are a local search; with them, the selected features are ordered by the
    greedy rule among themselves.

    A fit takes ``O(s n d)`` for ``s`` picks, the same again for ``s`` exchanges that are tried, and
    ``O(n d min(n, d))`` once. Tensors may be complex.

    References
    ----------
    A. K. Farahat, A. Ghodsi, M. S. Kamel: Efficient greedy feature selection for unsupervised
    learning. Knowledge and Information Systems 35, 2013.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import ColumnSubsetSelector
    >>> X = load_digits().data[:200]
    >>> greedy = ColumnSubsetSelector(20).fit(X)
    >>> greedy.transform(X).shape
    (200, 20)

    Exchanges explain more:

    >>> import numpy as np
    >>> rows = X.reshape(200, -1) - X.reshape(200, -1).mean(axis=0)
    >>> def missed(selector):
    ...     kept = rows[:, selector.get_support()]
    ...     return np.linalg.norm(rows - kept @ np.linalg.lstsq(kept, rows)[0])
    >>> swapped = ColumnSubsetSelector(20, swaps=50).fit(X)
    >>> bool(missed(swapped) < missed(greedy))
    True
    """

    _own_rule = "reconstruct"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        **TensorSelector._may_be_missing,
        "swaps": [Interval(Integral, 0, None, closed="left")],
        "sample_dim": "no_validation",
        "scale": [StrOptions({"feature"}), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        swaps: int = 0,
        constraints: Constraints | None = None,
        feature_mode: int | str | None = None,
        feature_shape: tuple[int, ...] | None = None,
        sample_dim: SampleDims = None,
        missing: str = "raise",
        scale: str | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.swaps = swaps
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.scale = scale

    def _suggest(self, rows: KeptSamples, mode: int | None) -> SuggestedCount:
        return suggest_count_by_reconstruction(rows, mode, self._limits())

    def _pick(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Picks:
        order = ColumnSubsetOrder(values, 0, centred=True)
        if self.swaps:
            chosen = np.zeros(values.shape[1])
            chosen[order.exchanged(count, self.swaps)] = 1
            # Others have no score and come later.
            order = ColumnSubsetOrder(values, 0, chosen, centred=True)
        picks = order.extend(count)
        return Picks(picks.tolist(), order.gains.tolist(), order.next_gains)

    def _pick_within(
        self, limits: FeatureLimits, values: NDArray, count: int, kept: NDArray[np.intp]
    ) -> tuple[Picks, Chosen[Any]]:
        found = choose(self._make(values), limits, count, features=kept)
        if self.swaps:
            constants = np.setdiff1d(found.features, kept)

            def open_to(picks: NDArray[np.intp], place: int) -> NDArray[np.bool_]:
                features = np.concatenate([kept[picks], constants])
                return exchangeable(limits, features, place)[kept]

            chosen = np.zeros(values.shape[1])
            chosen[found.rule.exchanged(count, self.swaps, open_to)] = 1
            found = choose(self._make(values, chosen), limits, count, features=kept)
        order, places = found.rule, np.searchsorted(kept, found.features)
        features = places[np.isin(found.features, kept)]
        return Picks(features.tolist(), order.gains.tolist(), order.next_gains), found

    def _make(self, values: NDArray, scores: Any = None) -> partial[ColumnSubsetOrder]:
        return partial(ColumnSubsetOrder, values, 0, scores, centred=True)

    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Any:
        return ColumnSubsetOrder(values, 0, centred=True)
