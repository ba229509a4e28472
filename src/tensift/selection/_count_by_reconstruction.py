"""How many features are worth keeping in order to predict the rest: held-out R²."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.namespace import namespace_of, to_numpy
from tensift._utils.stacks import adjoint, conjugate, outer, real_part, squared_modulus
from tensift.selection._column_subsets import ColumnSubsetOrder, Step
from tensift.selection._count import SuggestedCount, resolved_for
from tensift.selection._fibres import Fibres
from tensift.selection._given_samples import with_weights
from tensift.selection._halves import halves_of, seen_on
from tensift.selection._limited_count import LimitedOrders, limited_orders
from tensift.selection._limits import FeatureLimits
from tensift.sources import KeptSamples

if TYPE_CHECKING:
    from tensift.selection._constraints import Constraints

__all__ = ["count_by_reconstruction", "suggest_count_by_reconstruction"]

_SHARE = 0.98  # of the largest R²
_ENOUGH = 0.999  # an R² that can hardly grow
_MOST = 512  # features that are looked at
_BLOCK = 16  # features between two looks at whether to go on


def suggest_count_by_reconstruction(
    rows: Any,
    feature_mode: int | None = None,
    constraints: Constraints | FeatureLimits | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> SuggestedCount:
    """Suggest how many features to keep in order to predict all others.

    Features are chosen on one half of the samples (`ColumnSubsetOrder`). Ridge regression on the
    first 1, 2, ... of them, learned on the same half, predicts the other half; then the other way
    round. The suggested count is the smallest at which the mean of both curves of R² reaches 98 %
    of its maximum.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples, real or complex.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    constraints : Constraints or None, default=None
        What selections must respect, as in `suggest_count`.
    sample_weight, groups : array-like of shape (n,), optional
        How much each sample counts, and its group, as in `suggest_count`.

    Returns
    -------
    SuggestedCount
        Its ``curve`` is the held-out R² of the first 1, 2, ... features.

    Notes
    -----
    R² is the share of the variance of all features, the chosen ones among them. Features that are
    independent of each other predict nothing but themselves, so nearly all of them are needed. At
    most 512 features are tried, and no more once R² is at least 0.999. With fewer than 16 samples,
    the curve is that of the samples that the features were chosen on.

    Examples
    --------
    Three factors and little noise: three features are enough.

    >>> import numpy as np
    >>> from tensift.selection import suggest_count_by_reconstruction
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 50)) + 0.1 * rng.normal(size=(200, 50))
    >>> suggest_count_by_reconstruction(X).count
    3
    """
    kept = with_weights(rows, sample_weight, groups)
    limits = resolved_for(kept, feature_mode, constraints)
    return count_by_reconstruction(kept, feature_mode, limits)


def count_by_reconstruction(
    kept: KeptSamples, feature_mode: int | None, limits: FeatureLimits | None = None
) -> SuggestedCount:
    """Return what `suggest_count_by_reconstruction` does, under constraints that were resolved."""
    size, n_varying = _count_features(kept, feature_mode)
    most = min(n_varying, _MOST)
    split = halves_of(kept)
    few = not split.sides
    halves = [kept] if few or most == 0 else split.pair(0)
    limited = None
    if limits is not None:
        rules = [(partial(ColumnSubsetOrder, half, feature_mode), None) for half in halves]
        limited = limited_orders(rules, limits, most)
    if most == 0:
        reason = "no feature varies between samples, so there is nothing to predict"
        count = 1 if limited is None else int(limited.counts[0])
        return SuggestedCount(count, reason, "R²", np.zeros(0), np.zeros(0), 0, size)
    if few:
        whole = ColumnSubsetOrder(kept, feature_mode)
        if limited is None:
            whole.extend(most)
        else:
            _take_all(whole, limited.orders[0])
        curves = np.asarray(to_numpy(whole.curve))[None, :]
    else:
        curves = _held_out(halves[0], halves[1], feature_mode, most, limited)
    mean = curves.mean(axis=0)
    count, remark = int(np.argmax(mean >= _SHARE * mean.max())) + 1 if mean.max() > 0 else 1, ""
    if limited is not None:
        count, remark = limited.count(mean, _SHARE)
    seen = seen_on(split)
    reason = (
        f"the first {count} of {size} features reach {100 * _SHARE:.0f}% of the largest R² "
        f"with which features predict all others (R² {mean[count - 1]:.2f} {seen}){remark}"
    )
    spread = np.ptp(curves, axis=0) / 2
    return SuggestedCount(count, reason, "R²", mean, spread, n_varying, size)


def _count_features(rows: KeptSamples, feature_mode: int | None) -> tuple[int, int]:
    """Return the number of features, and of those that vary."""
    fibres = Fibres(rows, feature_mode)
    return fibres.deviation.shape[0], int(np.count_nonzero(to_numpy(fibres.varies)))


def _take_all(order: ColumnSubsetOrder, features: NDArray[np.intp]) -> None:
    """Take features in, in the order given."""
    for feature in features.tolist():
        order.take_feature(feature)


def _held_out(
    one: KeptSamples,
    other: KeptSamples,
    feature_mode: int | None,
    most: int,
    limited: LimitedOrders | None,
) -> NDArray[np.float64]:
    """R² of regressions on the first 1, 2, ... features, learned on one half, on the other half.

    Both ways. Ends early if the mean is so near to 1 that it can hardly grow.
    """
    judges = [_Errors(one, other, feature_mode), _Errors(other, one, feature_mode)]
    curves, least = np.zeros((2, 0)), 0
    if limited is not None:
        for judge, order in zip(judges, limited.orders, strict=True):
            judge.given = order.tolist()
        most, least = len(limited.orders[0]), int(limited.counts[0])
    while curves.shape[1] < most:
        # Values are moved from a device a block at a time.
        steps = min(_BLOCK, most - curves.shape[1])
        curves = np.hstack([curves, [judge.continued(steps) for judge in judges]])
        if curves.mean(axis=0).max() >= _ENOUGH and curves.shape[1] >= least:
            break
    return curves


class _Errors:
    """What regression on the features so far leaves of new samples ``N``.

    The regression predicts ``P X``: values of the known samples ``X``, combined. A feature changes
    ``P`` by ``s U^H``, where ``s`` is how wrongly its own values were predicted, divided by the
    factor of its pivot, and ``V = X^H U``. So what is left, ``R = N - P X``, changes by ``s V^H``,
    and its energy by ``||s V^H||^2 - 2 Re <s, R V>``. All of that follows from products of samples
    with samples, ``N X^H`` and ``K = X X^H``: no step computes all of ``R``.

    `given` are features to take in this order; None: those that explain most.
    """

    given: list[int] | None = None

    def __init__(self, known: KeptSamples, new: KeptSamples, feature_mode: int | None) -> None:
        self._order = ColumnSubsetOrder(known, feature_mode)
        self._values = self._order.fibres.of(new)
        xp = namespace_of(self._values)
        flat = xp.reshape(self._values, (self._values.shape[0], -1))
        self._products = xp.matmul(flat, adjoint(self._order.regression.flat))  # N X^H
        self._predictor = xp.zeros_like(self._products)  # P
        self._left = xp.sum(squared_modulus(flat))  # ||R||^2
        # Longer fibres are seen in part; the rest of their energy counts as not explained.
        self._total = self._order.fibres.energy_of(new)
        self._missed = self._total - self._left

    def continued(self, steps: int) -> NDArray[np.float64]:
        """R² after each of some more features."""
        xp = namespace_of(self._products)
        found = [self._after(self._step()) for _ in range(steps)]
        return np.asarray(to_numpy(xp.stack(found)), dtype=float)

    def _step(self) -> Step:
        if self.given is None:
            return self._order.advance()
        return self._order.take_feature(self.given.pop(0))

    def _after(self, step: Step) -> Any:
        xp = namespace_of(self._products)
        values = xp.take(self._values, step.pick, axis=1)[:, 0, :]
        wrong = values - xp.matmul(self._predictor, step.columns)
        surprise = adjoint(xp.linalg.solve(step.factor, adjoint(wrong)))  # s
        still = xp.matmul(self._products, step.directions)
        still = still - xp.matmul(self._predictor, step.images)  # R V
        both = xp.matmul(adjoint(surprise), surprise) * xp.matrix_transpose(step.energies)
        gained = 2 * real_part(xp.sum(surprise * conjugate(still))) - real_part(xp.sum(both))
        self._left = self._left - gained
        self._predictor += outer(surprise, step.directions)
        missed = self._left + self._missed
        return 1 - missed / xp.where(self._total > 0, self._total, xp.ones_like(self._total))
