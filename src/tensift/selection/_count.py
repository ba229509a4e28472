"""How many features are worth keeping: cross-fitted alignment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import is_device_array, to_numpy
from tensift.selection._geometry import Geometry, GeometryOrder, indices_like
from tensift.selection._limited_count import LimitedOrders, limited_orders
from tensift.selection._limits import FeatureLimits

if TYPE_CHECKING:
    from tensift.selection._constraints import Constraints

__all__ = ["SuggestedCount", "count_by_alignment", "suggest_count"]

_SHARE = 0.98  # of the largest alignment
_MOST = 512  # features that are looked at
_FEWEST_SAMPLES = 16  # fewer are not split in halves


@dataclass(frozen=True)
class SuggestedCount:
    """How many features to keep, and why.

    The number does not depend on scores, only on the samples and on what selection is for.

    Attributes
    ----------
    count : int
        The number of features.
    reason : str
        Why, in words.
    measure : str
        What the curve shows: "alignment" (how well features keep the similarities between
        samples, from 0 to 1) or "R²" (how well they predict all features).
    curve : ndarray of shape (t,)
        The measure for the first 1, 2, ... features, on samples they were not chosen on. Empty if
        no feature has structure.
    spread : ndarray of shape (t,)
        Half the difference of the curve between the two halves of the samples.
    n_structured : int
        How many features may be counted: those on which similar samples agree more than noise
        would, or (for R²) those that vary.
    n_features : int
        The number of all features.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import VarianceSelector
    >>> suggested = VarianceSelector("auto").fit(load_digits().data).suggested_count_
    >>> suggested.count < suggested.n_structured <= suggested.n_features
    True
    """

    count: int
    reason: str
    measure: str
    curve: NDArray[np.float64]
    spread: NDArray[np.float64]
    n_structured: int
    n_features: int


def suggest_count(
    rows: Any,
    feature_mode: int | None = None,
    constraints: Constraints | FeatureLimits | None = None,
) -> SuggestedCount:
    """Suggest how many features to keep, from samples alone.

    Features are chosen on one half of the samples by how well they keep the similarities of
    samples, and judged on the other half; then the other way round. The suggested count is the
    smallest at which the mean of both curves reaches 98 % of its maximum. Features on which similar
    samples do not agree more than noise would (by two standard errors) are never counted.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples, real or complex.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    constraints : Constraints or None, default=None
        What selections must respect. Both halves choose under them, and only numbers of features
        that they allow are suggested. What `Constraints.resolve` returns will do too.

    Returns
    -------
    SuggestedCount

    Examples
    --------
    Twelve features carry three groups of samples, the others are noise:

    >>> import numpy as np
    >>> from tensift.selection import suggest_count
    >>> rng = np.random.default_rng(0)
    >>> groups, noise = rng.integers(0, 3, 200), rng.normal(size=(200, 100))
    >>> X = noise + np.pad(4 * rng.normal(size=(3, 12))[groups], ((0, 0), (0, 88)))
    >>> suggest_count(X).count <= 12
    True
    >>> print(suggest_count(noise).reason)  # doctest: +ELLIPSIS
    no structure: ...
    """
    refuse_masked(rows, "rows")
    samples = rows if is_device_array(rows) else np.asarray(rows)
    limits = resolved_for(samples, feature_mode, constraints)
    return count_by_alignment(samples, feature_mode, Geometry(samples, feature_mode), limits)


def resolved_for(
    rows: Any, feature_mode: int | None, constraints: Constraints | FeatureLimits | None
) -> FeatureLimits | None:
    """Resolve constraints against the features of samples, unless they are already."""
    if constraints is None or isinstance(constraints, FeatureLimits):
        return constraints
    shape = tuple(rows.shape[1:])
    return constraints.resolve(shape if feature_mode is None else (shape[feature_mode],))


def count_by_alignment(
    rows: Any, feature_mode: int | None, whole: Geometry, limits: FeatureLimits | None = None
) -> SuggestedCount:
    """Return what `suggest_count` does, if the geometry of all samples is already known."""
    n_structured = whole.n_structured
    if n_structured == 0:
        reason = (
            "no structure: on no feature do similar samples agree more than noise would, so no "
            "number of features is better than another"
        )
        count = 1
        if limits is not None:
            count = int(_limited([(whole, whole)], limits, 1).counts[0])
            reason += f"; constraints leave no smaller number than {count}" * (count > 1)
        empty = np.zeros(0)
        return SuggestedCount(count, reason, "alignment", empty, empty, 0, whole.n_features)
    most = min(n_structured, _MOST)
    pairs = [(whole, whole)]
    if rows.shape[0] >= _FEWEST_SAMPLES:
        halves = [Geometry(rows[start::2, ...], feature_mode) for start in (0, 1)]
        pairs = [(halves[0], halves[1]), (halves[1], halves[0])]
    if limits is None:
        orders = [GeometryOrder(chooser).extend(most) for chooser, _ in pairs]
    else:
        limited = _limited(pairs, limits, most)
        orders = [indices_like(rows, order) for order in limited.orders]
    curves = [
        np.asarray(to_numpy(judge.alignment(order)), float)
        for order, (_, judge) in zip(orders, pairs, strict=True)
    ]
    mean = np.mean(curves, axis=0)
    count, remark = int(np.argmax(mean >= _SHARE * mean.max())) + 1, ""
    if limits is not None:
        count, remark = limited.count(mean, _SHARE)
    reason = (
        f"the first {count} of {whole.n_features} features keep {100 * _SHARE:.0f}% of what any "
        f"number of them keeps of the similarities between samples (alignment "
        f"{mean[count - 1]:.2f} on samples they were not chosen on){remark}"
    )
    spread = np.ptp(curves, axis=0) / 2
    return SuggestedCount(count, reason, "alignment", mean, spread, n_structured, whole.n_features)


def _limited(
    pairs: list[tuple[Geometry, Geometry]], limits: FeatureLimits, wanted: int
) -> LimitedOrders:
    """Choose under constraints by the first geometry of every pair."""
    rules = [(partial(GeometryOrder, chooser), chooser.kept) for chooser, _ in pairs]
    return limited_orders(rules, limits, wanted)
