"""Features that keep samples recognisable: agreement of neighbours, and greedy alignment.

A feature is worth keeping if samples that look alike agree on it. With ``X_j`` the centred values
of feature ``j`` (``n x t``: ``t = 1`` for an element, the fibre for an index along a mode),
``K_j = X_j X_j^T``, and ``W`` a graph of neighbours with degrees ``D`` (see `_neighbours`):

- **Agreement** ``v_j = <X_j, W X_j> / <X_j, D X_j>``, with ``W`` from the other half of the
  features and ``X_j`` centred by degree. It is the share of a feature's variation on which samples
  agree that look alike in other features: 1 for a feature that follows from the rest, 0 for noise,
  with a standard error of at most about ``1 / sqrt(2.5 n)``.
- **Target** ``T = Y Y^T``, what the samples look like together (`target_of`).
- **Alignment**: features are added one at a time, so that the next one maximises

      sum_{j in S} w_j <K_j, T> / sqrt(||sum_{j in S} K_j||^2 + kappa),    kappa = mean_j ||K_j||^2

  where ``w_j = v_j^2``, times the square root of the score if there are scores. Features are first
  divided by the square root of their deviation. The denominator prices redundancy, and ``kappa``
  keeps features that hardly vary from starting the list. Features on which neighbours agree no
  more than on noise are picked after all others: they would dilute what the others show, but
  little, so that the ratio alone prefers them to features that repeat each other.

  With ``a_j = ||Y^T X_j||^2``, ``b_ij = ||X_i^T X_j||^2``, ``A`` and ``B`` the sums so far and
  ``r_j = sum_{i in S} b_ij``, the next feature maximises
  ``(A + w_j a_j) / sqrt(B + 2 r_j + b_jj + kappa)``. A pick takes one product of all features with
  the new one, ``O(n d)``. If all products of features are known or cost less (see `_overlaps`), it
  takes ``O(d)``.

**Weights.** Copies of a sample are one sample whose weight is their number, also if nobody gave
weights: a copy would be the nearest neighbour of the sample and agree with it on noise. With
weights ``w_i``, ``X_j`` is centred by the weighted mean and its rows are multiplied by
``sqrt(w_i)``, so all inner products are those of repeated samples. Each sample has the same number
of neighbours, among distinct samples, and the edge between ``i`` and ``k`` is multiplied by
``w_i w_k``: all copies of one would be linked to all copies of the other. Only ratios of weights
matter, and errors are those of ``(sum w)^2 / sum w^2`` samples.

Related work: the Laplacian score (He, Cai, Niyogi 2005) and spectral feature selection (Zhao, Liu
2007) score features on a graph of raw distances; MCFS (Cai, Zhang, He 2010) regresses spectral
embeddings; kernel-target alignment (Cristianini et al. 2001) and BAHSIC (Song et al. 2012) use
labels. New here: neighbours among whitened components, agreement cross-fitted over features, and
redundancy priced in the denominator of one alignment.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import (
    device_of,
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)
from tensift._utils.threads import one_blas_thread
from tensift.selection._gaps import effective_sizes, with_observed_deviations
from tensift.selection._given_samples import fibres_of, fibres_of_flags, with_weights
from tensift.selection._greedy import FreeChoice, pick_greedily
from tensift.selection._neighbours import SampleComponents, neighbour_graph, target_of
from tensift.selection._overlaps import energies_of, overlaps_of
from tensift.selection._quarters import quarters_of
from tensift.solvers import Replayed
from tensift.sources import KeptSamples

__all__ = ["Geometry", "GeometryOrder", "feature_agreement", "indices_like", "standard_error"]

_LEAST_WEIGHT = 0.02  # of the largest agreement, and of the largest score
_LEAST_DEVIATION = 1e-3  # of the largest; features below it are left out
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}  # deviations of constants, as a share of them
_TIE = {"float64": 1e-9, "float32": 1e-5}  # merits that differ by a smaller share are equal
_HALVES = ((0, 2), (1, 3), (0, 3), (1, 2))  # of quarters of the features: two splits
_DIRECTIONS = 50  # components that neighbours to be kept are found in
_BLOCK = 512  # columns whose neighbours are compared together
_BLOCK_ON_DEVICE = 2**25  # values; there, few large operations are faster than many small ones
_AT_ONCE = 8  # picks at one request


def standard_error(n_samples: Any) -> Any:
    """The standard error of the agreement of a feature that is noise."""
    return 1 / np.sqrt(2.5 * np.maximum(n_samples, 1))


def feature_agreement(
    samples: Any, feature_mode: int | None = None, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Return for each feature how far samples agree on it that look alike in other features.

    It is the share of the feature's variation that neighbours have in common, where neighbours come
    from a half of the features that does not contain it. `GeometrySelector` weights features by
    its square.

    Parameters
    ----------
    samples : array of shape (n, d_1, ..., d_m)
        Samples, real or complex, of any array library.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one.
    sample_weight : array-like of shape (n,), optional
        How much each sample counts.

    Returns
    -------
    ndarray of shape (n_features,)
        About 0 for noise, 1 for a feature that follows from the others, on the host. 0 for features
        that hardly vary.

    Examples
    --------
    Twelve features carry three groups of samples, the others are noise:

    >>> import numpy as np
    >>> from tensift.selection import feature_agreement
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 100))
    >>> X[:, :12] += 4 * rng.normal(size=(3, 12))[rng.integers(0, 3, 200)]
    >>> agreement = feature_agreement(X)
    >>> bool(agreement[:12].mean() > 0.15), bool(abs(agreement[12:].mean()) < 0.05)
    (True, True)
    """
    refuse_masked(samples, "samples")
    return Geometry(with_weights(samples, sample_weight), feature_mode).agreement


class Geometry:
    """What samples look like together, and which features show it.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m), or KeptSamples
        Samples, real or complex, of any array library. If some values are estimates, deviations are
        those of the observed ones. Estimates vary less than these, and what they do not tell counts
        as variation on which samples do not agree.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one.

    Attributes
    ----------
    n_samples, n_features : int
        The number of distinct samples, and of features.
    effective_size : float
        The number of equally weighted samples that say as much.
    n_observed : float or ndarray of shape (n_features,)
        That number for the samples in which each feature was observed; for fibres, an element of
        it on average.
    shares : ndarray of shape (n_samples,) or None
        The weights of the samples, scaled to a mean of one.
    is_constant : bool
        Whether no feature varies by more than rounding.
    kept : ndarray of int
        The features that vary enough to take part.
    deviation : ndarray of shape (len(kept),)
        Their standard deviations, as shares of the largest absolute value.
    agreement : ndarray of shape (n_features,)
        The cross-fitted agreement of every feature, on the host; 0 for those that hardly vary.
    values : array of shape (n, len(kept), t)
        The centred and scaled values of the features that take part, multiplied by the roots of
        the weights of the samples.
    """

    def __init__(self, rows: Any, feature_mode: int | None) -> None:
        kept = KeptSamples.of(rows).distinct()
        # Most products are small: with sixteen threads they take ten times as long as with one.
        with one_blas_thread():
            self._look(kept, feature_mode)

    def _look(self, kept: KeptSamples, feature_mode: int | None) -> None:
        raw = fibres_of(kept.rows, feature_mode)
        xp = namespace_of(raw)
        self.n_samples, self.n_features, _ = raw.shape
        self.effective_size, self.shares = kept.effective_size, kept.shares
        self.n_observed: Any = self.effective_size
        told: NDArray[np.float64] = np.ones(self.n_features)
        if kept.observed is not None:
            observed = fibres_of_flags(kept.observed, feature_mode, raw.shape)
            self.n_observed = effective_sizes(observed, self.shares).mean(axis=1)
            raw, told = with_observed_deviations(raw, observed, self.shares)
        roots = None
        if self.shares is None:
            values = raw - xp.mean(raw, axis=0, keepdims=True)
        else:
            shares = moved_or_same(raw, self.shares[:, None, None])
            values = raw - raw[:1, ...]  # sums of large equal parts would lose digits
            values = values - xp.mean(shares * values, axis=0, keepdims=True)
            roots = np.sqrt(self.shares)
        peak, largest = _largest(values), _largest(raw)
        del raw  # as large as the values, and not needed while these are looked at
        self.is_constant = peak <= _ROUNDING[precision_of(values)] * largest
        if peak > 0:
            values /= peak  # squares must neither overflow nor vanish
        if roots is not None:
            values *= moved_or_same(values, roots[:, None, None])
        energies = xp.sum(energies_of(values), axis=1)
        deviation = np.sqrt(np.asarray(to_numpy(energies), float) / self.n_samples)
        self.kept = np.flatnonzero(deviation > _LEAST_DEVIATION * deviation.max())
        if self.kept.size < self.n_features:
            values = xp.take(values, indices_like(values, self.kept), axis=1)
            deviation = deviation[self.kept]
        self.deviation = deviation
        self.agreement = np.zeros(self.n_features)
        self._components = self._products = None
        if self.kept.size:
            components, agreement = _look_at(values, deviation, self.shares)
            self.agreement[self.kept] = agreement * told[self.kept]
            self._components = components.of_all()
            root = np.sqrt(deviation)
            values /= moved_or_same(values, root[:, None])
            if components.products is not None:
                roots = moved_or_same(values, np.repeat(root, values.shape[2]))
                self._products = components.products
                self._products /= roots[:, None]
                self._products /= roots
        self.values = values

    @cached_property
    def target(self) -> NDArray[np.float64]:
        """``Y`` with ``T = Y Y^T``, on the host."""
        if self._components is None:  # nothing varies, so samples do not look like anything
            return np.zeros((self.n_samples, 1))
        with one_blas_thread():
            return target_of(self._components, neighbour_graph(self._components, self.shares))

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """The leading whitened components with rows of length 1: their products are cosines."""
        if self._components is None:
            return np.zeros((self.n_samples, 1))
        components = self._components[:, :_DIRECTIONS]
        lengths = np.linalg.norm(components, axis=1, keepdims=True)
        return np.asarray(components / np.where(lengths > 0, lengths, 1))

    @cached_property
    def aligned(self) -> Any:
        """``a_j = <K_j, T>`` for all features that take part."""
        values = self.values
        xp = namespace_of(values)
        n_samples, count, depth = values.shape
        target = moved_or_same(values, self.target)
        products = xp.matmul(target.T, xp.reshape(values, (n_samples, count * depth)))
        return xp.sum(xp.reshape(xp.sum(products**2, axis=0), (count, depth)), axis=1)

    @cached_property
    def overlaps(self) -> Any:
        """``b_ij = <K_i, K_j>``, computed when asked for."""
        return overlaps_of(self.values, self._products)

    @property
    def n_structured(self) -> int:
        """The number of features on which neighbours agree more than on noise, by two errors."""
        return int(np.count_nonzero(self.agreement > 2 * self.standard_error))

    @property
    def standard_error(self) -> Any:
        """The standard error of the agreement of a feature that is noise; one or one for each."""
        return standard_error(self.n_observed)

    @property
    def is_structured(self) -> NDArray[np.bool_]:
        """Which of the features that take part have more agreement than one standard error."""
        return np.asarray((self.agreement > self.standard_error)[self.kept])

    def alignment(self, order: Any) -> Any:
        """How similar samples look in the first 1, 2, ... features of an order and in all of them.

        It is the cosine between the sum of their ``K_j`` and the target, from 0 to 1.
        """
        values = self.values
        xp = namespace_of(values)
        if not self.kept.size:
            return xp.zeros(order.shape[0], dtype=values.dtype, device=device_of(values))
        place = np.zeros(self.n_features, dtype=np.int64)
        place[self.kept] = np.arange(len(self.kept))
        takes_part = np.zeros(self.n_features)
        takes_part[self.kept] = 1
        places = xp.take(indices_like(values, place), order)
        counts = xp.take(moved_or_same(values, takes_part), order)
        totals = xp.cumulative_sum(counts * xp.take(self.aligned, places))
        squares = self.overlaps.squares_of_sums(places, counts)
        lengths = xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))
        cosines = xp.where(squares > 0, totals / lengths, xp.zeros_like(totals))
        return cosines / float(np.linalg.norm(self.target.T @ self.target))


class GeometryOrder:
    """The order of features by greedy alignment, found as far as it is asked for.

    Parameters
    ----------
    geometry : Geometry
        What the samples look like.
    scores : array of n_features scores, optional
        Weights from another source. Negative ones count as zero.

    Notes
    -----
    It is a `Rule` of the greedy loop, for the features that take part (``geometry.kept``).
    """

    def __init__(self, geometry: Geometry, scores: Any = None) -> None:
        self.geometry = geometry
        self._picks: list[Any] = []
        self.tiers, self.tie = np.zeros(0, dtype=int), 0.0
        if not geometry.kept.size:
            return
        values = geometry.values
        xp = namespace_of(values)
        agreement = geometry.agreement[geometry.kept]
        weights = np.maximum(agreement, _LEAST_WEIGHT * max(agreement.max(), 0.0)) ** 2
        gains = moved_or_same(values, weights) * geometry.aligned
        if scores is not None:
            gains = gains * _score_weights(scores, geometry)
        self._gains = gains
        self._kappa = xp.mean(geometry.overlaps.squares)
        self._growth = geometry.overlaps.squares + self._kappa  # b_jj + 2 r_j + kappa
        self._total = self._square = xp.zeros_like(self._kappa)
        # Features with structure are free first, all others after them.
        structured = geometry.is_structured
        self.tiers = np.where(structured, 0, 1)
        self._free = [indices_like(values, tier) for tier in (structured, np.ones_like(structured))]
        ends = [int(np.count_nonzero(structured)), len(structured)]
        self.tie = _TIE[precision_of(gains)]
        self._choice = FreeChoice(self._free, ends, self.tie)

    def extend(self, count: int) -> Any:
        """Return the first `count` features."""
        missing = min(count, len(self.geometry.kept)) - len(self._picks)
        if missing > 0:
            self.geometry.overlaps.prepare(missing)
            wanted = len(self._picks) + missing
            if is_device_array(self._gains):
                self._pick_several_at_once(wanted)
            else:
                pick_greedily(self, self._choice, wanted)
        if 0 < count <= len(self._picks):
            return self._picked()[:count]
        return self.ranking()[:count]

    def _pick_several_at_once(self, wanted: int) -> None:
        """Pick features until there are as many as wanted, at one request for several.

        A pick is a dozen small operations, which a device finishes before Python can ask for more.
        """
        choice = self._choice
        while choice.n_picked < wanted:
            ahead = min(wanted - choice.n_picked, choice.n_left_in_tier)
            several = Replayed(self._several_picks, None, lasting=True)  # in one tier
            for _ in range(ahead // _AT_ONCE):
                picks, choice.is_left, self._total, self._square, self._growth = several(
                    choice.is_left, self._total, self._square, self._growth
                )
                choice.n_picked += _AT_ONCE
                self._picks += [picks[number] for number in range(_AT_ONCE)]
            pick_greedily(self, choice, choice.n_picked + ahead % _AT_ONCE)

    def _several_picks(self, is_left: Any, *state: Any) -> tuple[Any, ...]:
        """Return some picks, and what they leave; nothing of this object is changed."""
        order, choice = copy(self), copy(self._choice)
        order._picks, choice.is_left = [], is_left
        order._total, order._square, order._growth = state
        pick_greedily(order, choice, choice.n_picked + _AT_ONCE)
        picks = namespace_of(is_left).stack(order._picks)
        return picks, choice.is_left, order._total, order._square, order._growth

    def merits(self) -> Any:
        """Return the objective after each of the features that take part."""
        xp = namespace_of(self._gains)
        return (self._total + self._gains) / xp.sqrt(self._square + self._growth)

    def take(self, pick: Any) -> None:
        """Take a feature in; `pick` is an array of its place among those that take part."""
        xp = namespace_of(self._gains)
        feature = pick[0, ...]
        self._picks.append(feature)
        self._total = self._total + xp.take(self._gains, pick)[0, ...]
        self._square = self._square + xp.take(self._growth, pick)[0, ...] - self._kappa
        self._growth = self._growth + 2 * self.geometry.overlaps.with_feature(feature)

    @property
    def objective(self) -> Any:
        """The weighted alignment of the picks."""
        if not self.geometry.kept.size:
            return 0.0
        return self._total / namespace_of(self._total).sqrt(self._square + self._kappa)

    @property
    def baseline(self) -> Any:
        """Merits are objectives, so a gain is a merit less the objective now."""
        return self.objective

    def _picked(self) -> Any:
        """Return the features picked so far; at least one."""
        kept = indices_like(self._gains, self.geometry.kept)
        xp = namespace_of(kept)
        return xp.take(kept, xp.stack(self._picks))

    def ranking(self) -> Any:
        """Return all features: those picked, then the others by what they would add next."""
        geometry = self.geometry
        values = geometry.values
        xp = namespace_of(values)
        rest = np.setdiff1d(np.arange(geometry.n_features), geometry.kept)
        parts = [indices_like(values, rest)]
        if geometry.kept.size:
            kept = indices_like(values, geometry.kept)
            others = self._waiting()[: kept.shape[0] - len(self._picks)]
            parts = [xp.take(kept, others), *parts]
            if self._picks:
                parts = [self._picked(), *parts]
        return xp.concat(parts)

    def _waiting(self) -> Any:
        """Return the features that are not picked by what they would add next, then the others."""
        xp = namespace_of(self._gains)
        is_left = self._choice.is_left
        keys = [xp.where(is_left & tier, -self.merits(), math.inf) for tier in self._free]
        order = xp.argsort(keys[1], stable=True)
        first = xp.take(keys[0], order) < math.inf
        return xp.take(order, xp.argsort(xp.astype(~first, xp.int32), stable=True))

    @property
    def curve(self) -> Any:
        """The alignment, without weights, of the first 1, 2, ... picked features."""
        picked = self._picked() if self._picks else self.ranking()[:0]
        return self.geometry.alignment(picked)

    def curve_of(self, features: NDArray[np.intp]) -> Any:
        """The alignment, without weights, of the first 1, 2, ... of some features."""
        return self.geometry.alignment(indices_like(self.geometry.values, features))


def _score_weights(scores: Any, geometry: Geometry) -> Any:
    """Return the square roots of the scores of the features that take part."""
    xp = namespace_of(scores)
    scores = xp.take(xp.reshape(scores, (-1,)), indices_like(scores, geometry.kept))
    scores = xp.astype(scores, geometry.values.dtype, copy=False)
    largest = xp.max(scores)
    scores = xp.where(scores > _LEAST_WEIGHT * largest, scores, _LEAST_WEIGHT * largest)
    return xp.where(largest > 0, xp.sqrt(xp.abs(scores)), xp.ones_like(scores))


def _look_at(
    values: Any, deviation: NDArray[np.float64], shares: NDArray[np.float64] | None = None
) -> tuple[SampleComponents, NDArray[np.float64]]:
    """Return what gives the components of all features, and the agreement of every feature.

    The agreement is cross-fitted: neighbours come from one half of the features, and the features
    of the other half are judged. Quarters make two splits into halves (`quarters_of`).
    """
    n_samples, n_features, depth = values.shape
    xp = namespace_of(values)
    flat = xp.reshape(values, (n_samples, n_features * depth))
    if n_features == 1:
        return SampleComponents(flat), np.ones(1)
    quarters = quarters_of(values, deviation, shares)
    # Columns are taken much faster in ascending order.
    columns = [(depth * quarter[:, None] + np.arange(depth)).ravel() for quarter in quarters]
    components = SampleComponents(flat, columns)
    found = np.zeros(n_features)
    for one, other in _HALVES:
        graph = neighbour_graph(components.of(one, other), shares)
        judged = [quarter for quarter in range(4) if quarter not in (one, other)]
        part = np.sort(np.concatenate([columns[quarter] for quarter in judged]))
        agreement = agreement_of(flat, depth, graph, shares, part)
        found[np.sort(np.concatenate([quarters[quarter] for quarter in judged]))] += agreement / 2
    return components, found


def agreement_of(
    flat: Any,
    depth: int,
    graph: scipy.sparse.csr_array,
    shares: NDArray[np.float64] | None = None,
    columns: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return ``<X_j, W X_j> / <X_j, D X_j>``, with ``X_j`` centred by degree, on the host.

    A feature has `depth` columns of `flat`, next to each other. `columns` are those of the features
    to judge, in their order; by default all are. Samples with weights were
    multiplied by the roots of these; the graph has the products of the weights of both ends.
    """
    xp = namespace_of(flat)
    size = flat.shape[1] if columns is None else len(columns)
    weights = np.asarray(graph.sum(axis=1)).ravel()
    degrees = moved_or_same(flat, weights)
    roots = None if shares is None else moved_or_same(flat, np.sqrt(shares)[:, None])
    dense = moved_or_same(flat, graph.toarray()) if is_device_array(flat) else None
    shared, own = [], []
    step = _BLOCK if dense is None else max(1, _BLOCK_ON_DEVICE // len(weights))
    for start in range(0, size, step):
        stop = min(start + step, size)
        if columns is None:
            block = flat[:, start:stop]
        else:
            block = xp.take(flat, indices_like(flat, columns[start:stop]), axis=1)
        if roots is not None:
            block = block / roots
        near = graph @ block if dense is None else xp.matmul(dense, block)
        # Centring by degree takes the same out of both sums.
        offset = xp.matmul(degrees, block) ** 2 / float(weights.sum())
        shared.append(xp.sum(block * near, axis=0) - offset)
        own.append(xp.matmul(degrees, block**2) - offset)
    above, below = (
        np.asarray(to_numpy(xp.concat(parts)), float).reshape(-1, depth).sum(axis=1)
        for parts in (shared, own)
    )
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def moved_or_same(like: Any, values: NDArray[Any]) -> Any:
    """Copy values to the device and precision of `like`, if it is not a NumPy array."""
    return moved_to(like, values, like.dtype) if is_device_array(like) else values


def _largest(values: Any) -> float:
    """Return the largest absolute value, without an array of all of them."""
    xp = namespace_of(values)
    return max(float(xp.max(values)), -float(xp.min(values)))


def indices_like(like: Any, indices: NDArray[Any]) -> Any:
    """Copy indices to the device of `like`, if it is not a NumPy array."""
    return moved_to(like, indices) if is_device_array(like) else indices
