"""Features that predict the rest: greedy column subset selection.

Let ``X_j`` be the centred values of feature ``j``, an ``n x t`` matrix: ``t = 1`` for an element,
the fibre for an index along a mode. Let ``X`` be all of them side by side, and ``X_S`` those in a
set ``S``. Ridge regression of everything on ``X_S`` explains the energy ::

    E(S) = tr( C_S^H (C_SS + delta I)^-1 C_S ),     C_S = X_S^H X,  C_SS = X_S^H X_S

The next feature is the one that adds most to ``E``. With ``M = (I + X_S X_S^H / delta)^-1``, which
is ``I`` at first, ``R = M^1/2 X`` are residuals of the regression, and adding ``j`` gains ::

    tr( (R_j^H R_j + delta I)^-1 R_j^H R R^H R_j )

which is ``||R^H r_j||^2 / (||r_j||^2 + delta)`` for an element. For a fibre it is the energy of the
projection of all residuals onto the whole fibre, not onto the mean or one direction of it.

``delta`` is a small share of the mean energy of an element. It keeps features that hardly vary from
the head of the list, and the residuals of features that depend on one another from being divided by
rounding errors. A copy of a picked feature adds almost nothing.

A pick ``p`` changes ``M`` by ``-U U^H``: ``U = M X_p L^-H`` with ``L L^H = R_p^H R_p + delta I``.
With ``K = X X^H`` the two matrices in the gain change by products of ``V = X^H U`` and
``Z = X^H M K U`` alone::

    R_j^H R_j       <-  R_j^H R_j - V_j V_j^H
    R_j^H R R^H R_j <-  R_j^H R R^H R_j - Z_j V_j^H - V_j Z_j^H + V_j (U^H K U) V_j^H

So a pick costs two products with the data, ``O(n d)`` (times ``t`` for fibres), after one ``n x n``
Gram matrix. If there are more samples than values, the triangular factor of the data takes their
place. No ``d x d`` matrix is made if ``d > n``.

References
----------
A. K. Farahat, A. Ghodsi, M. S. Kamel: Efficient greedy feature selection for unsupervised learning.
Knowledge and Information Systems 35, 2013 (the gain, without delta).
A. Krause, A. Singh, C. Guestrin: Near-optimal sensor placements in Gaussian processes. Journal of
Machine Learning Research 9, 2008 (delta as the noise of a sensor).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from tensift._utils.namespace import (
    device_of,
    is_device_array,
    namespace_of,
    precision_of,
)
from tensift._utils.stacks import adjoint, conjugate, outer, real_part, squared_modulus
from tensift.selection._fibres import Fibres
from tensift.selection._greedy import FreeChoice, pick_greedily
from tensift.selection._order import rank_features

__all__ = ["ColumnSubsetOrder", "Step"]

_RIDGE = 1e-2  # delta, as a share of the mean energy of the elements that vary
_TIE = {"float64": 1e-9, "float32": 1e-4}  # gains that differ by a smaller share are equal
_DEPENDENT = 1e4  # epsilons of the norm of a feature: if less is left of it, others explain it


class Step(NamedTuple):
    """One feature that was taken in by the regression, in the space of the samples."""

    pick: Any  # its index, an array of one
    columns: Any  # ``X_p``, (n, t)
    factor: Any  # ``L``, (t, t)
    directions: Any  # ``U``, (n, t)
    images: Any  # ``K U``, (n, t)
    energies: Any  # ``U^H K U``, (t, t)


class ColumnSubsetOrder:
    """Features in the order in which they best predict all features, found as far as asked for.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples, real or complex, or `KeptSamples`, which may have weights. An array of another
        library than NumPy stays on its device.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one. Fibres with
        more than 64 values are seen through their 64 leading principal components.
    scores : array of one value per feature, optional
        Gains are multiplied by the square roots of the scores. If some are negative, the least
        one counts as zero. Features whose score is zero are picked after all others.
    centred : bool, default=False
        Whether the samples are centred already. Those that were multiplied by the roots of weights
        have to be.

    Attributes
    ----------
    size : int
        The number of features.
    n_varying : int
        The number of features that vary enough to be picked before all others are.
    fibres : Fibres
        How samples become centred features.
    tiers : array of int
        Features with smaller numbers are picked first: 0 have a score, 1 have none, 2 hardly vary.
    regression : Regression
        Ridge regression of all features on those picked.

    Notes
    -----
    Nested and deterministic. Of equal gains, the feature with the smaller index is picked.
    Features whose deviation is below 1e-3 of the largest are picked last.

    Examples
    --------
    The third feature is the sum of the first two, so it predicts most:

    >>> import numpy as np
    >>> from tensift.selection import ColumnSubsetOrder
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 2] = X[:, 0] + X[:, 1]
    >>> order = ColumnSubsetOrder(X, None)
    >>> order.extend(1)
    array([2])
    >>> order.extend(2).shape, order.curve.round(3)
    ((2,), array([0.761, 1.   ]))
    """

    baseline = 0.0  # merits are gains

    def __init__(
        self,
        rows: Any,
        feature_mode: int | None,
        scores: Any = None,
        *,
        centred: bool = False,
    ) -> None:
        self.fibres = Fibres(rows, feature_mode, centred=centred)
        values = self.fibres.of(rows)
        xp = namespace_of(values)
        self._precision = precision_of(values)
        self.size = values.shape[1]
        varies = self.fibres.varies
        self.n_varying = _count(varies)
        self._weights, scored = _weights(scores, self.fibres.deviation)
        # Tiers are picked one after another: 0 have a score, 1 have none, 2 hardly vary.
        tiers = xp.astype(~scored, xp.int32)
        self.tiers = xp.where(varies, tiers, xp.full_like(tiers, 2))
        self._ends = [_count(self.tiers <= tier) for tier in range(3)]
        energy = self.fibres.energy
        self._total = xp.where(energy > 0, energy, xp.ones_like(energy))
        self.regression = Regression(values, _RIDGE * self.fibres.mean_energy)
        self._index = xp.arange(self.size, device=device_of(values))
        self._picked: list[Any] = []
        self._gains: list[Any] = []
        self._known: Any = None  # the gains, until the next feature is taken
        self._span = _Span(self.regression.gram)
        self._explained: list[Any] = []
        self.tie = _TIE[self._precision]
        self._choice = FreeChoice([self.tiers == tier for tier in range(3)], self._ends, self.tie)

    def extend(self, count: int) -> Any:
        """The first `count` features, or all if there are fewer."""
        count = min(count, self.size)
        pick_greedily(self, self._choice, count)
        picks = [self._index[:0], *self._picked[:count]]
        return namespace_of(self._index).concat(picks)

    def advance(self) -> Step:
        """Pick one feature more, and tell how it changed the regression."""
        picks = self._choice.next(self)
        assert picks is not None
        return self.take(picks[0])

    def merits(self) -> Any:
        """The weighted share of the variance that each of all features would add next."""
        if self._known is None:
            self._known = self.next_gains
        return self._weights * self._known

    def take(self, pick: Any) -> Step:
        """Take a feature in, and tell how it changed the regression; `pick` is its index."""
        gains = self.next_gains if self._known is None else self._known
        self._picked.append(pick)
        self._gains.append(namespace_of(gains).take(gains, pick))
        self._known = None
        return self.regression.take(pick)

    def take_feature(self, feature: int) -> Step:
        """Take a feature in by its index on the host, as `take` does."""
        return self.take(self._index[feature : feature + 1])

    def exchanged(
        self, count: int, most: int, open_to: Callable[[Any, int], Any] | None = None
    ) -> Any:
        """The first `count` features after exchanges of one for another that explain more.

        Every pick in turn is taken out, and the feature that then adds most takes its place,
        until a whole round changes nothing or `most` exchanges were made. The result is a set:
        it is not nested for other counts. Use a new object afterwards. If features were taken in
        under constraints, `open_to` returns the features that may take the place of a pick.
        """
        if open_to is None:
            self.extend(count)
        picks = self._picked[:count]
        xp = namespace_of(self._index)
        done, unchanged, place = 0, 0, 0
        free = self.tiers < 2  # of those not picked; features that hardly vary stay out
        for pick in self._picked:
            free = free & (self._index != pick)
        for pick in self._picked[count:]:
            self.regression.drop(pick)
            free = free | (self._index == pick)
        while done < most and unchanged < len(picks):
            old = picks[place]
            self.regression.drop(old)
            merits = self._weights * self.next_gains
            can = free if open_to is None else free & open_to(xp.concat(picks), place)
            merits = xp.where(can | (self._index == old), merits, -xp.ones_like(merits))
            new = xp.reshape(xp.argmax(merits), (1,))
            better = xp.take(merits, new) > (1 + _TIE[self._precision]) * xp.take(merits, old)
            if bool(better[0]):
                free = (free & (self._index != new)) | (self._index == old)
                picks[place] = new
                done, unchanged = done + 1, 0
            else:
                unchanged += 1
            self.regression.take(picks[place])
            place = (place + 1) % len(picks)
        return xp.concat(picks)

    def ranking(self) -> Any:
        """All features: those picked, then the others by what they would add next."""
        xp = namespace_of(self._index)
        tiers = xp.where(self._choice.is_left, self.tiers, xp.full_like(self.tiers, 3))
        others = rank_features(-tiers, [self._weights * self.next_gains])
        return xp.concat([*self._picked, others[: self.size - len(self._picked)]])

    @property
    def curve(self) -> Any:
        """The share of the variance of all features that the first 1, 2, ... picks explain.

        By least squares, without `delta`.
        """
        xp = namespace_of(self._index)
        for pick in self._picked[len(self._explained) :]:
            self._explained.append(self._span.add(self.regression.columns(pick)))
        if not self._explained:
            return xp.zeros_like(self._weights)[:0]
        return xp.clip(xp.cumulative_sum(xp.stack(self._explained)) / self._total, max=1.0)

    def curve_of(self, features: Any) -> Any:
        """The curve of features that were taken in from outside, in this order."""
        return self.curve

    @property
    def objective(self) -> Any:
        """The sum of the weighted gains of the picks."""
        xp = namespace_of(self._weights)
        if not self._picked:
            return xp.zeros_like(self._total)
        return xp.sum(xp.take(self._weights, xp.concat(self._picked)) * xp.concat(self._gains))

    @property
    def gains(self) -> Any:
        """The share of the variance of all features that every pick added, with `delta`."""
        xp = namespace_of(self._weights)
        if not self._gains:
            return xp.zeros_like(self._weights)[:0]
        return xp.concat(self._gains)

    @property
    def next_gains(self) -> Any:
        """The share that each of all features would add next, with `delta`."""
        xp = namespace_of(self._weights)
        return xp.clip(self.regression.gains() / self._total, min=0.0)


class Regression:
    """Ridge regression of all features on those taken in.

    Attributes
    ----------
    flat : array of shape (n, d t)
        The values ``X``, or fewer rows with the same products of columns.
    gram : array of shape (n, n)
        ``K = X X^H``.
    """

    def __init__(self, values: Any, ridge: Any) -> None:
        xp = namespace_of(values)
        _, self._size, self._width = values.shape
        self.flat = _fewer_rows(xp.reshape(values, (values.shape[0], -1)))
        n = self.flat.shape[0]
        self._ridge = ridge * xp.eye(self._width, dtype=values.dtype, device=device_of(values))
        self._left_of_samples = xp.eye(n, dtype=values.dtype, device=device_of(values))  # M
        self.gram = xp.matmul(self.flat, adjoint(self.flat))  # K
        columns = self._by_feature(self.flat)
        self._own = self._products(columns, columns)  # R_j^H R_j
        self._shared = self._products(columns, self._by_feature(xp.matmul(self.gram, self.flat)))

    def copied(self) -> Regression:
        """A regression that can be changed without changing this one."""
        other = copy(self)
        # The only array that is written to; the others are replaced.
        xp = namespace_of(self.gram)
        other._left_of_samples = xp.asarray(self._left_of_samples, copy=True)
        return other

    def gains(self) -> Any:
        """The energy that every feature would explain in addition."""
        xp = namespace_of(self.flat)
        if self._width == 1:
            return real_part((self._shared / (self._own + self._ridge))[:, 0, 0])
        solved = xp.linalg.solve(self._own + self._ridge, self._shared)
        return real_part(xp.sum(xp.linalg.diagonal(solved), axis=-1))

    def take(self, pick: Any) -> Step:
        """Take a feature in; `pick` is an array of its index."""
        columns = self.columns(pick)
        xp = namespace_of(columns)
        left = xp.matmul(self._left_of_samples, columns)
        factor = self._root(xp.matmul(adjoint(columns), left) + self._ridge)
        return Step(pick, columns, factor, *self._change(left, factor, -1))

    def drop(self, pick: Any) -> None:
        """Undo that a feature was taken in, at any time."""
        columns = self.columns(pick)
        xp = namespace_of(columns)
        left = xp.matmul(self._left_of_samples, columns)
        self._change(left, self._root(self._ridge - xp.matmul(adjoint(columns), left)), 1)

    def _root(self, pivot: Any) -> Any:
        return namespace_of(pivot).linalg.cholesky((pivot + adjoint(pivot)) / 2)

    def _change(self, left: Any, factor: Any, sign: int) -> tuple[Any, Any, Any]:
        """Change ``M`` by plus or minus ``U U^H``, with what depends on it.

        Returns ``U``, ``K U`` and ``U^H K U``.
        """
        xp = namespace_of(self.flat)
        taken = adjoint(xp.linalg.solve(factor, adjoint(left)))  # U
        images = xp.matmul(self.gram, taken)
        energies = xp.matmul(adjoint(taken), images)
        v, z = self._loadings(taken, xp.matmul(self._left_of_samples, images))
        # With Y = Z +- V B / 2, Z V^H + V Z^H +- V B V^H is Y V^H + V Y^H.
        y = z + sign * self._times(v, energies / 2)
        change = self._times(y, adjoint(v))
        self._own = self._own + sign * self._times(v, adjoint(v))
        self._shared = self._shared + sign * (change + adjoint(change))
        self._left_of_samples += sign * outer(taken, taken)
        return taken, images, energies

    def _loadings(self, *directions: Any) -> list[Any]:
        """Return the products ``(d, t, t)`` of all features with directions ``(n, t)``."""
        xp = namespace_of(self.flat)
        shape = (self._size, self._width, self._width)
        if self._width == 1:  # products with two columns would be slower than two with one
            products = [self._with_all(direction) for direction in directions]
        else:
            together = self._with_all(xp.concat(directions, axis=1))
            starts = range(0, together.shape[1], self._width)
            products = [together[:, start : start + self._width] for start in starts]
        return [xp.reshape(product, shape) for product in products]

    def _with_all(self, directions: Any) -> Any:
        """Return ``X^H`` times directions, without a conjugate copy of ``X``."""
        xp = namespace_of(self.flat)
        return conjugate(xp.matmul(self.flat.T, conjugate(directions)))

    def columns(self, pick: Any) -> Any:
        """The values ``(n, t)`` of a feature, or as many that have the same products."""
        xp = namespace_of(self.flat)
        stack = xp.reshape(self.flat, (self.flat.shape[0], self._size, self._width))
        return xp.take(stack, pick, axis=1)[:, 0, :]

    def _by_feature(self, flat: Any) -> Any:
        """Conjugate columns of a matrix ``(n, d t)`` as ``(d, t, n)``."""
        xp = namespace_of(flat)
        return xp.reshape(adjoint(flat), (self._size, self._width, flat.shape[0]))

    def _products(self, columns: Any, others: Any) -> Any:
        """The products ``A_j^H B_j`` of the columns of every feature."""
        xp = namespace_of(columns)
        if self._width == 1:
            return xp.sum(columns * conjugate(others), axis=2)[:, :, None]
        return xp.matmul(columns, adjoint(others))

    def _times(self, one: Any, other: Any) -> Any:
        """Products of stacks of small matrices; those of single numbers are slow as such."""
        return one * other if self._width == 1 else namespace_of(one).matmul(one, other)


class _Span:
    """The energy that features explain by least squares, those before included."""

    def __init__(self, gram: Any) -> None:
        xp = namespace_of(gram)
        self._gram = gram  # of the samples
        self._left = xp.eye(gram.shape[0], dtype=gram.dtype, device=device_of(gram))

    def add(self, columns: Any) -> Any:
        """The energy that the columns of a feature explain in addition."""
        xp = namespace_of(columns)
        # Twice, because what is left may be a small part of the columns.
        left = xp.matmul(self._left, xp.matmul(self._left, columns))
        whole = xp.sqrt(xp.sum(squared_modulus(columns)))
        if columns.shape[1] == 1:
            lengths = xp.sqrt(xp.sum(squared_modulus(left), axis=0))
            vectors = left / xp.where(lengths > 0, lengths, xp.ones_like(lengths))
        else:
            vectors, lengths, _ = xp.linalg.svd(left, full_matrices=False)
        new = lengths > _DEPENDENT * xp.finfo(whole.dtype).eps * whole
        vectors = xp.where(new, vectors, xp.zeros_like(vectors))
        self._left = self._left - xp.matmul(vectors, adjoint(vectors))
        return real_part(xp.sum(conjugate(vectors) * xp.matmul(self._gram, vectors)))


def _fewer_rows(flat: Any) -> Any:
    """A matrix with the same products of columns, and no more rows than columns."""
    if flat.shape[0] <= flat.shape[1]:
        return flat
    if is_device_array(flat):
        return namespace_of(flat).linalg.qr(flat, mode="reduced")[1]
    return np.linalg.qr(flat, mode="r")


def _weights(scores: Any, like: Any) -> tuple[Any, Any]:
    """Weights of features, and which of them are more than a zero score."""
    xp = namespace_of(like)
    ones = xp.ones_like(like)
    if scores is None:
        return ones, ones > 0
    values = scores if is_device_array(scores) else np.asarray(scores)
    if math.prod(values.shape) != like.shape[0]:
        raise ValueError(
            f"scores has {math.prod(values.shape)} values, but there are {like.shape[0]} features"
        )
    values = xp.astype(xp.reshape(values, (-1,)), like.dtype)
    values = values - xp.clip(xp.min(values), max=0.0)
    peak = xp.max(values)
    values = xp.sqrt(values / xp.where(peak > 0, peak, xp.ones_like(peak)))
    return xp.where(values > 0, values, ones), values > 0


def _count(flags: Any) -> int:
    """How many are true; this number decides what is done next, so the host has to know it."""
    xp = namespace_of(flags)
    return int(xp.sum(xp.astype(flags, xp.int32)))
