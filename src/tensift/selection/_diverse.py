"""An order of features in which each has a good score and differs from those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.arrays import refuse_masked
from tensift._utils.modes import resolve_mode
from tensift._utils.namespace import device_of, is_device_array, kind_of, namespace_of, to_numpy
from tensift._utils.stacks import squared_modulus
from tensift.moments import check_finite, check_finite_on_device
from tensift.selection._covariances import Covariances, RowCovariances
from tensift.selection._order import rank_features

__all__ = ["DiverseOrder", "EnergyCurve", "ScoreOrder", "explained_energy", "rank_diverse"]

_SCALING = 0.75  # the power of their deviations that features are divided by: 0 are covariances
_CURVE_BLOCK = 64  # features whose shares are computed together


def rank_diverse(
    X: ArrayLike,
    scores: ArrayLike,
    n_features_to_select: int,
    *,
    ties: ArrayLike | Sequence[ArrayLike] | None = None,
    feature_mode: int | None = None,
) -> Any:
    """Order features so that the first ones have large scores and do not repeat one another.

    Features are picked one after another: always the one with the largest product of its squared
    score and the variance that is left of it, then what it explains of all others is taken out of
    them. That is a pivoted Cholesky factorisation of the covariances, with three changes. Features
    are divided by their standard deviations to the power 3/4, which is nearer to correlations than
    to covariances. Scores weigh the pivots. And pivots are damped by the mean variance of all
    features, so that a feature takes out half of what a full step would, and noisy ones less.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        Samples, real or complex. An array of another library than NumPy stays on its device.
    scores : array-like of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        One score for every feature. If some are negative, the least one counts as zero.
    n_features_to_select : int
        How many features to pick. The first so many are the same for larger numbers.
    ties : array-like of the shape of `scores`, or a sequence of these, optional
        Takes the place of scores among features whose score is zero, which are picked after all
        others; of several, each among those that are zero in all before it.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.

    Returns
    -------
    array of int
        Flat row-major indices of all features: those picked, in order, and then the others by
        their squared score times the variance that is left of them. Features that do not vary
        come last.

    See Also
    --------
    rank_features : The order of the scores alone.
    explained_energy : What the first features of an order explain of all.

    Notes
    -----
    With the centred and scaled samples as the columns of ``F``, ``r_i = ||F_i||^2`` and
    ``delta`` the mean of ``r`` over all features that vary, a step picks the ``i`` with the largest
    ``scores_i^2 r_i``, the one with the larger score if several have it, and changes ``r_j`` to
    ``r_j - |c_j|^2 / (r_i + delta)``, where ``c`` are the covariances with ``i`` that the steps
    before have left. For ``h`` features that takes ``O(h n d)`` and memory for ``X``.

    Examples
    --------
    The second feature is the first one once more, the third says something else:

    >>> import numpy as np
    >>> from tensift.selection import rank_diverse, rank_features
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 1] = X[:, 0]
    >>> scores = [1.0, 0.9, 0.7]
    >>> rank_features(scores)
    array([0, 1, 2])
    >>> rank_diverse(X, scores, 2)
    array([0, 2, 1])
    """
    if not isinstance(n_features_to_select, int | np.integer) or n_features_to_select < 1:
        raise ValueError(
            f"n_features_to_select must be a positive integer, got {n_features_to_select!r}"
        )
    samples, mode = _checked(X, feature_mode)
    refuse_masked(scores, "scores")
    shape = tuple(samples.shape[1:])
    wanted = shape if mode is None else (shape[mode],)
    values: Any = scores if is_device_array(scores) else np.asarray(scores)
    if tuple(values.shape) != wanted:
        raise ValueError(
            f"scores has shape {tuple(values.shape)}, but the features of X have {wanted}"
        )
    if kind_of(values) != kind_of(samples):
        raise ValueError("scores must be an array of the library and on the device of X")
    several = isinstance(ties, list | tuple) and all(np.shape(key) == wanted for key in ties)
    keys: Any = ties if several else [] if ties is None else [ties]
    keys = [key if is_device_array(key) else np.asarray(key) for key in keys]
    for key in keys:
        if tuple(key.shape) != wanted:
            raise ValueError(f"ties has shape {tuple(key.shape)}, but scores has {wanted}")
    order = DiverseOrder(RowCovariances(samples, mode), values, keys)
    order.extend(n_features_to_select)
    return order.ranking()


def explained_energy(X: ArrayLike, order: ArrayLike, feature_mode: int | None = None) -> Any:
    """Share of the variance of all features that the first ones of an order explain.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        Samples, real or complex. An array of another library than NumPy stays on its device.
    order : array-like of int
        Flat row-major indices of features, all or some.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, and explains
        others element by element.

    Returns
    -------
    array of shape ``(len(order),)``
        At ``t - 1`` the share of the sum of all features' variances that least squares on the
        first ``t`` features explains: from 0 to 1, never falling.

    See Also
    --------
    tensift.metrics.reconstruction_error : The same question for one set of features.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.selection import explained_energy
    >>> X = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -2.0, 0.0], [0.0, 0.0, -1.0]])
    >>> explained_energy(X, [1, 0, 2]).round(3)
    array([0.833, 0.833, 1.   ])
    """
    samples, mode = _checked(X, feature_mode)
    shape = samples.shape[1:]
    total = int(np.prod(shape)) if mode is None else shape[mode]
    if is_device_array(order):
        features: Any = order
        known = to_numpy(order)
    else:
        known = np.asarray(order)
        features = known
    if known.ndim != 1 or not len(known) or known.dtype.kind not in "iu":
        raise ValueError("order must be flat indices of features, best first, at least one")
    if known.min() < 0 or known.max() >= total or len(np.unique(known)) < len(known):
        raise ValueError(f"order must have indices from 0 to {total - 1}, none of them twice")
    if kind_of(features) != kind_of(samples):
        xp = namespace_of(samples)
        features = xp.asarray(known.tolist(), device=device_of(samples))
    curve = EnergyCurve(RowCovariances(samples, mode))
    if not bool(curve.total > 0):
        raise ValueError("X is constant: no feature varies between samples, nothing to explain")
    return curve.extended(features)


def _checked(X: Any, feature_mode: int | None) -> tuple[Any, int | None]:
    samples: Any = check_finite_on_device(X) if is_device_array(X) else check_finite(X)
    if samples.ndim < 2 or samples.shape[0] < 2:
        raise ValueError(
            f"X has shape {tuple(samples.shape)}; give two samples or more, (n, d_1, ..., d_m)"
        )
    if feature_mode is None:
        return samples, None
    return samples, resolve_mode("feature_mode", feature_mode, samples.ndim - 1)


class ScoreOrder:
    """Features in the order of their scores, which is known at once."""

    def __init__(self, scores: Any, ties: Sequence[Any]) -> None:
        self._ranking = rank_features(scores, ties)

    def extend(self, count: int) -> Any:
        """The first `count` features."""
        return self._ranking[:count]

    def ranking(self) -> Any:
        """All features."""
        return self._ranking


class DiverseOrder:
    """Features in the order of `rank_diverse`, of which more can be picked at any time.

    Parameters
    ----------
    covariances : Covariances
        Of all features.
    scores : array
        One for every feature, in any shape.
    ties : sequence of array
        What orders features with a score of zero.
    """

    def __init__(self, covariances: Covariances, scores: Any, ties: Sequence[Any]) -> None:
        xp = namespace_of(covariances.variances)
        variances = covariances.variances
        varies = variances > 0
        self._order = rank_features(
            xp.reshape(xp.astype(varies, xp.float32), scores.shape), [scores, *ties]
        )
        self._weights, self._tiers = _weights(varies, [scores, *ties], variances.dtype)
        positive = xp.where(varies, variances, xp.ones_like(variances))
        scale = xp.where(varies, positive ** (-_SCALING / 2), xp.zeros_like(variances))
        self._left = scale * scale * variances
        self._damping = xp.sum(self._left) / max(1, self._tiers[-1])
        self._deflation = covariances.deflation(scale)
        self._index = xp.arange(variances.shape[0], device=device_of(variances))
        self._free = xp.ones_like(varies)
        self._picked: list[Any] = []

    def extend(self, count: int) -> Any:
        """The first `count` features."""
        xp = namespace_of(self._left)
        while len(self._picked) < min(count, self._tiers[-1]):
            done = len(self._picked)
            stop = next(stop for stop in self._tiers if done < stop)
            start = max((tier for tier in self._tiers if tier <= done), default=0)
            best = start + xp.argmax(self._gains()[start:stop])
            pick = xp.take(self._order, xp.reshape(best, (1,)))
            pivot = xp.take(self._left, pick) + self._damping
            taken = squared_modulus(self._deflation.take(pick, pivot))
            self._left = xp.clip(self._left - taken, min=0.0)
            self._free = self._free & (self._index != pick)
            self._picked.append(pick)
        if count > len(self._picked):
            ranking = self.ranking()  # with some that do not vary
            return ranking[: min(count, ranking.shape[0])]
        return xp.concat(self._picked[:count])

    def ranking(self) -> Any:
        """All features: those picked, then the others by what they would gain."""
        xp = namespace_of(self._left)
        done = len(self._picked)
        gains = self._gains()
        parts = list(self._picked)
        start = 0
        for stop in (*self._tiers, self._left.shape[0]):
            if done < stop and start < stop:
                # Those picked have a gain of -1, and are the last.
                places = start + rank_features(gains[start:stop])
                parts.append(xp.take(self._order, places)[: stop - max(start, done)])
            start = stop
        return xp.concat(parts)

    def _gains(self) -> Any:
        """What features would gain, in the order of their scores; -1 for those picked."""
        xp = namespace_of(self._left)
        gains = xp.where(self._free, self._weights * self._left, -xp.ones_like(self._left))
        return xp.take(gains, self._order)


def _weights(varies: Any, keys: Sequence[Any], dtype: Any) -> tuple[Any, list[int]]:
    """Squares of the first key of every feature that is not zero, and where such tiers end.

    Ends are numbers of features in the order of the scores. A last tier has the features that vary
    and are zero in all keys.
    """
    xp = namespace_of(varies)
    weights, known, ends = xp.ones(varies.shape, dtype=dtype, device=device_of(varies)), ~varies, []
    for key in keys:
        key = xp.astype(xp.reshape(key, (-1,)), dtype)
        key = key - xp.clip(xp.min(key), max=0.0)
        largest = xp.max(key)
        key = key / xp.where(largest > 0, largest, xp.ones_like(largest))
        weights = xp.where(known | (key == 0), weights, key * key)
        known = known | (key != 0)
        ends.append(_count(known & varies))
    return weights, [*ends, _count(varies)]


def _count(flags: Any) -> int:
    """How many are true: a number that decides what is done next, so it has to be known here."""
    xp = namespace_of(flags)
    return int(xp.sum(xp.astype(flags, xp.int32)))


class EnergyCurve:
    """What the first features of an order explain of all, of which more can be added.

    Parameters
    ----------
    covariances : Covariances
        Of all features.
    """

    def __init__(self, covariances: Covariances) -> None:
        self.total = namespace_of(covariances.variances).sum(covariances.variances)
        self._span = covariances.span()
        self._gained: list[Any] = []
        self._count = 0

    def extended(self, features: Any) -> Any:
        """Shares for the first one, two, ... of `features`, whose first ones are already in."""
        xp = namespace_of(self.total)
        count = features.shape[0]
        for start in range(self._count, count, _CURVE_BLOCK):
            stop = min(start + _CURVE_BLOCK, count)
            self._gained.append(self._span.add(features[start:stop]))
        self._count = count
        total = xp.where(self.total > 0, self.total, xp.ones_like(self.total))
        return xp.clip(xp.cumulative_sum(xp.concat(self._gained)) / total, max=1.0)
