"""How many features are worth keeping: neighbours kept on samples they were not chosen on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import to_numpy
from tensift._utils.pool import Pool
from tensift.selection._geometry import Geometry
from tensift.selection._geometry_order import GeometryOrder
from tensift.selection._given_samples import with_weights
from tensift.selection._halves import Halves, halves_of, seen_on
from tensift.selection._kept_neighbours import kept_by
from tensift.selection._limited_count import LimitedOrders, limited_orders
from tensift.selection._limits import FeatureLimits
from tensift.sources import KeptSamples

if TYPE_CHECKING:
    from tensift.selection._constraints import Constraints

__all__ = ["SuggestedCount", "count_by_neighbours", "suggest_count"]

_SHARE = 0.94  # of the most neighbours that any number keeps
_MOST = 512  # features that are looked at
_STEP = 1.1  # between large counts that are looked at
_NEAREST = "neighbours kept"


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
        What the curve shows: "neighbours kept" (the share of a sample's nearest neighbours that
        features keep) or "R²" (how well they predict all features).
    curve : ndarray of shape (t,)
        The measure for the first 1, 2, ... features, on samples they were not chosen on. Empty if
        no feature has structure.
    spread : ndarray of shape (t,)
        Half the range of the curve over the halves of the samples.
    n_structured : int
        How many features may be counted: those on which similar samples agree more than noise
        would, or (for R²) those that vary.
    n_features : int
        The number of all features, without those that were never observed.

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

    def among(self, n_features: int) -> SuggestedCount:
        """Return the same for so many features: those that were ever observed."""
        said = self.reason.replace(f" of {self.n_features} features", f" of {n_features} features")
        return replace(self, reason=said, n_features=n_features)


def suggest_count(
    rows: Any,
    feature_mode: int | None = None,
    constraints: Constraints | FeatureLimits | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> SuggestedCount:
    """Suggest how many features to keep, from samples alone.

    Features are chosen on one half of the samples (`GeometrySelector`) and judged on the other half
    by how many neighbours they keep (`tensift.metrics.neighbours_kept`); then the other way round,
    and both ways again with other halves. The suggested count is the smallest at which the mean of
    the four curves reaches 94 % of its maximum. Features on which similar samples do not agree more
    than noise would (by two standard errors) are never counted.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples, real or complex.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    constraints : Constraints or None, default=None
        What selections must respect. Both halves choose under them, and only numbers of features
        that they allow are suggested. What `Constraints.resolve` returns will do too.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.
    groups : array-like of shape (n,), optional
        The group of each sample. All groups count equally, and the halves of the samples are halves
        of the groups.
    n_jobs : int or None, default=None
        Threads; None means 1, -1 means all cores. The result does not depend on it.

    Returns
    -------
    SuggestedCount

    Notes
    -----
    At most 512 features are counted. Neighbours are looked for with 1, 2, 3, ... features, above 15
    with about a tenth more each time; the curve is linear in between. With fewer than 16 samples,
    features are judged on the samples that they were chosen on. Copies of a sample count as one
    sample whose weight is their number, so that no copy is on the other side.

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
    kept = with_weights(rows, sample_weight, groups)
    limits = resolved_for(kept, feature_mode, constraints)
    return count_by_neighbours(kept, feature_mode, Geometry(kept, feature_mode, n_jobs), limits)


def resolved_for(
    kept: KeptSamples, feature_mode: int | None, constraints: Constraints | FeatureLimits | None
) -> FeatureLimits | None:
    """Resolve constraints against the features of samples, unless they are already."""
    if constraints is None or isinstance(constraints, FeatureLimits):
        return constraints
    shape = tuple(kept.rows.shape[1:])
    return constraints.resolve(shape if feature_mode is None else (shape[feature_mode],))


def count_by_neighbours(
    kept: KeptSamples,
    feature_mode: int | None,
    whole: Geometry,
    limits: FeatureLimits | None = None,
) -> SuggestedCount:
    """Return what `suggest_count` does, if the geometry of all samples is already known.

    As many threads as that had share the halves of the samples.
    """
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
        return SuggestedCount(count, reason, _NEAREST, empty, empty, 0, whole.n_features)
    most, remark = min(n_structured, _MOST), ""
    pairs: Iterable[list[tuple[Geometry, Geometry]]] = [[(whole, whole)]]
    halves = halves_of(kept)
    seen = seen_on(halves)
    with Pool(whole.n_jobs) as pool:
        if halves.sides:
            pairs = _pairs(halves, feature_mode, pool)
        if limits is None:
            looked_at = _counts(most)

            def curve(pair: tuple[Geometry, Geometry]) -> NDArray[np.float64]:
                return _curve(pair[1], _order(pair[0], most), looked_at)

            curves = [one for both in pairs for one in pool.map(curve, both)]
        else:
            every = [pair for both in pairs for pair in both]
            limited = _limited(every, limits, most)
            looked_at = _counts(len(limited.orders[0]))
            curves = [
                _curve(judge, order, looked_at)
                for order, (_, judge) in zip(limited.orders, every, strict=True)
            ]
    mean = np.mean(curves, axis=0)
    count = int(np.argmax(mean >= _SHARE * mean.max())) + 1
    if limits is not None:
        count, remark = limited.count(mean, _SHARE)
    reason = (
        f"the first {count} of {whole.n_features} features keep {100 * _SHARE:.0f}% of the "
        f"neighbours that any number of them keeps (neighbours kept {mean[count - 1]:.2f} "
        f"{seen}){remark}"
    )
    spread = np.ptp(curves, axis=0) / 2
    return SuggestedCount(count, reason, _NEAREST, mean, spread, n_structured, whole.n_features)


def _limited(
    pairs: list[tuple[Geometry, Geometry]], limits: FeatureLimits, wanted: int
) -> LimitedOrders:
    """Choose under constraints by the first geometry of every pair."""
    rules = [(partial(GeometryOrder, chooser), chooser.kept) for chooser, _ in pairs]
    return limited_orders(rules, limits, wanted)


def _order(chooser: Geometry, most: int) -> NDArray[np.intp]:
    """Return the first features by a geometry, on the host."""
    return np.asarray(to_numpy(GeometryOrder(chooser).extend(most)))


def _curve(judge: Geometry, order: NDArray[np.intp], counts: list[int]) -> NDArray[np.float64]:
    """Return the share of neighbours that the first 1, 2, ... features of an order keep."""
    return np.interp(np.arange(1, counts[-1] + 1), counts, kept_by(judge, order, counts))


def _pairs(
    halves: Halves, feature_mode: int | None, pool: Pool
) -> Iterator[list[tuple[Geometry, Geometry]]]:
    """Yield halves of the samples both ways: one to choose features on, one to judge them.

    They are yielded as they are made, so that only those of one way are in memory.
    """
    n_jobs = max(1, pool.workers // 2)  # of each of two at a time
    for number in range(len(halves.sides)):

        def look_at(side: int, number: int = number) -> Geometry:
            return Geometry(halves.half(number, side), feature_mode, n_jobs)

        one, other = pool.map(look_at, (0, 1))
        yield [(one, other), (other, one)]


def _counts(most: int) -> list[int]:
    """Return all counts up to 15, and above them each a tenth larger than the one before."""
    found = [1]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, round(_STEP * found[-1]))))
    return found
