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
  the new one, ``O(n d)``, and no ``d x d`` matrix.

Related work: the Laplacian score (He, Cai, Niyogi 2005) and spectral feature selection (Zhao, Liu
2007) score features on a graph of raw distances; MCFS (Cai, Zhang, He 2010) regresses spectral
embeddings; kernel-target alignment (Cristianini et al. 2001) and BAHSIC (Song et al. 2012) use
labels. New here: neighbours among whitened components, agreement cross-fitted over features, and
redundancy priced in the denominator of one alignment.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import (
    device_of,
    in_precision,
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
    to_numpy,
)
from tensift.selection._neighbours import SampleComponents, neighbour_graph, target_of
from tensift.selection._overlaps import energies_of, overlaps_of

__all__ = ["Geometry", "GeometryOrder", "feature_agreement", "indices_for", "standard_error"]

_LEAST_WEIGHT = 0.02  # of the largest agreement, and of the largest score
_LEAST_DEVIATION = 1e-3  # of the largest; features below it are left out
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}  # deviations of constants, as a share of them
_TIE = {"float64": 1e-9, "float32": 1e-5}  # merits that differ by a smaller share are equal
_DIRECTIONS = 50  # components that neighbours to be kept are found in
_BLOCK = 512  # columns whose neighbours are compared together


def standard_error(n_samples: int) -> float:
    """The standard error of the agreement of a feature that is noise."""
    return 1 / math.sqrt(2.5 * n_samples)


def feature_agreement(samples: Any, feature_mode: int | None = None) -> NDArray[np.float64]:
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
    given = samples if is_device_array(samples) else np.asarray(samples)
    return Geometry(given, feature_mode).agreement


class Geometry:
    """What samples look like together, and which features show it.

    Parameters
    ----------
    rows : array of shape (n, d_1, ..., d_m)
        Samples, real or complex, of any array library.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one.

    Attributes
    ----------
    n_samples, n_features : int
    is_constant : bool
        Whether no feature varies by more than rounding.
    kept : ndarray of int
        The features that vary enough to take part.
    deviation : ndarray of shape (len(kept),)
        Their standard deviations, as shares of the largest absolute value.
    agreement : ndarray of shape (n_features,)
        The cross-fitted agreement of every feature, on the host; 0 for those that hardly vary.
    values : array of shape (n, len(kept), t)
        The centred and scaled values of the features that take part.
    """

    def __init__(self, rows: Any, feature_mode: int | None) -> None:
        raw = _fibres(rows, feature_mode)
        xp = namespace_of(raw)
        self.n_samples, self.n_features, _ = raw.shape
        values = raw - xp.mean(raw, axis=0, keepdims=True)
        peak, largest = _largest(values), _largest(raw)
        self.is_constant = peak <= _ROUNDING[precision_of(values)] * largest
        if peak > 0:
            values /= peak  # squares must neither overflow nor vanish
        energies = xp.sum(energies_of(values), axis=1)
        deviation = np.sqrt(np.asarray(to_numpy(energies), float) / self.n_samples)
        self.kept = np.flatnonzero(deviation > _LEAST_DEVIATION * deviation.max())
        if self.kept.size < self.n_features:
            values = xp.take(values, indices_for(values, self.kept), axis=1)
            deviation = deviation[self.kept]
        self.deviation = deviation
        self.agreement = np.zeros(self.n_features)
        components = None
        if self.kept.size:
            components, agreement = _look_at(values, deviation)
            self.agreement[self.kept] = agreement
            values /= moved_or_same(values, np.sqrt(deviation)[:, None])
        self._components = components
        self.values = values

    @cached_property
    def target(self) -> NDArray[np.float64]:
        """``Y`` with ``T = Y Y^T``, on the host."""
        if self._components is None:  # nothing varies, so samples do not look like anything
            return np.zeros((self.n_samples, 1))
        return target_of(self._components, neighbour_graph(self._components))

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
        return overlaps_of(self.values)

    @property
    def n_structured(self) -> int:
        """The number of features on which neighbours agree more than on noise, by two errors."""
        return int(np.count_nonzero(self.agreement > 2 * standard_error(self.n_samples)))

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
        places = xp.take(indices_for(values, place), order)
        counts = xp.take(moved_or_same(values, takes_part), order)
        redundancy = xp.zeros_like(self.aligned)
        total = square = xp.zeros_like(self.aligned[0, ...])
        curve = []
        for k in range(order.shape[0]):
            feature, is_kept = places[k, ...], counts[k, ...]
            total = total + is_kept * _at(self.aligned, feature)
            square = square + is_kept * (
                2 * _at(redundancy, feature) + _at(self.overlaps.squares, feature)
            )
            redundancy = redundancy + is_kept * self.overlaps.with_feature(feature)
            curve.append(xp.where(square > 0, total / xp.sqrt(xp.where(square > 0, square, 1)), 0))
        return xp.stack(curve) / float(np.linalg.norm(self.target.T @ self.target))


class GeometryOrder:
    """The order of features by greedy alignment, found as far as it is asked for.

    Parameters
    ----------
    geometry : Geometry
        What the samples look like.
    scores : array of n_features scores, optional
        Weights from another source. Negative ones count as zero.
    """

    def __init__(self, geometry: Geometry, scores: Any = None) -> None:
        self.geometry = geometry
        self._picks: list[Any] = []
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
        self._redundancy = xp.zeros_like(gains)
        self._total = self._square = xp.zeros_like(self._kappa)
        # Features with structure are free first, all others after them.
        structured = agreement > standard_error(geometry.n_samples)
        self._n_structured = int(np.count_nonzero(structured))
        self._tiers = [indices_for(values, tier) for tier in (structured, np.ones_like(structured))]
        self._is_left = xp.ones_like(gains, dtype=xp.bool)
        self._numbers = xp.arange(gains.shape[0], device=device_of(gains))

    def extend(self, count: int) -> Any:
        """Return the first `count` features."""
        geometry = self.geometry
        while len(self._picks) < min(count, len(geometry.kept)):
            xp = namespace_of(self._gains)
            tier = self._tiers[len(self._picks) >= self._n_structured]
            merit = xp.where(self._is_left & tier, self._merit(), -math.inf)
            # Rounding must not decide between equal features: the first of those that are near
            # the maximum wins. The pick stays on the device, since transfers would be slow.
            near = merit >= (1 - _TIE[precision_of(merit)]) * xp.max(merit)
            pick = xp.argmax(xp.astype(near, xp.int32))
            self._picks.append(pick)
            self._total = self._total + _at(self._gains, pick)
            self._square = self._square + (
                2 * _at(self._redundancy, pick) + _at(geometry.overlaps.squares, pick)
            )
            self._redundancy = self._redundancy + geometry.overlaps.with_feature(pick)
            self._is_left = self._is_left & (self._numbers != pick)
        return self.ranking()[:count]

    def ranking(self) -> Any:
        """Return all features: those picked, then the others by what they would add next."""
        geometry = self.geometry
        values = geometry.values
        xp = namespace_of(values)
        rest = np.setdiff1d(np.arange(geometry.n_features), geometry.kept)
        parts = [indices_for(values, rest)]
        if geometry.kept.size:
            kept = indices_for(values, geometry.kept)
            others = self._waiting()[: kept.shape[0] - len(self._picks)]
            parts = [xp.take(kept, others), *parts]
            if self._picks:
                parts = [xp.take(kept, xp.stack(self._picks)), *parts]
        return xp.concat(parts)

    def _waiting(self) -> Any:
        """Return the features that are not picked by what they would add next, then the others."""
        xp = namespace_of(self._gains)
        keys = [xp.where(self._is_left & tier, -self._merit(), math.inf) for tier in self._tiers]
        order = xp.argsort(keys[1], stable=True)
        first = xp.take(keys[0], order) < math.inf
        return xp.take(order, xp.argsort(xp.astype(~first, xp.int32), stable=True))

    @property
    def curve(self) -> Any:
        """The alignment, without weights, of the first 1, 2, ... picked features."""
        return self.geometry.alignment(self.ranking()[: len(self._picks)])

    def _merit(self) -> Any:
        xp = namespace_of(self._gains)
        squares = self.geometry.overlaps.squares
        scale = self._square + 2 * self._redundancy + squares + self._kappa
        return (self._total + self._gains) / xp.sqrt(scale)


def _score_weights(scores: Any, geometry: Geometry) -> Any:
    """Return the square roots of the scores of the features that take part."""
    xp = namespace_of(scores)
    scores = xp.take(xp.reshape(scores, (-1,)), indices_for(scores, geometry.kept))
    scores = xp.astype(scores, geometry.values.dtype, copy=False)
    largest = xp.max(scores)
    scores = xp.where(scores > _LEAST_WEIGHT * largest, scores, _LEAST_WEIGHT * largest)
    return xp.where(largest > 0, xp.sqrt(xp.abs(scores)), xp.ones_like(scores))


def _fibres(rows: Any, feature_mode: int | None) -> Any:
    """Return samples as ``(n, features, values of a feature)``, real and floating."""
    xp = namespace_of(rows)
    if is_device_array(rows):
        rows = in_precision(rows, precision_of(rows))
    else:
        rows = np.asarray(rows, complex if np.iscomplexobj(rows) else float)
    n_samples = rows.shape[0]
    if is_complex(rows):
        rows = xp.stack([xp.real(rows), xp.imag(rows)], axis=-1)
        if feature_mode is None:
            return xp.reshape(rows, (n_samples, -1, 2))
    if feature_mode is None:
        return xp.reshape(rows, (n_samples, -1, 1))
    moved = xp.moveaxis(rows, feature_mode + 1, 1)
    return xp.reshape(moved, (n_samples, moved.shape[1], -1))


def _look_at(
    values: Any, deviation: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the whitened components of all features, and the agreement of every feature.

    The agreement is cross-fitted: neighbours come from one half of the features, and the features
    of the other half are judged. Features are split by the rank of their deviation, not by their
    index, so that the result does not depend on the order of features.
    """
    n_samples, n_features, depth = values.shape
    xp = namespace_of(values)
    flat = xp.reshape(values, (n_samples, n_features * depth))
    components = SampleComponents(flat)
    if n_features == 1:
        return components.of_all(), np.ones(1)
    rank = np.empty(n_features, int)
    rank[np.argsort(-deviation, kind="stable")] = np.arange(n_features)
    splits = (rank % 2, (rank // 2 + rank) % 2)
    columns = np.arange(n_features * depth).reshape(n_features, depth)
    found = np.zeros(n_features)
    for side in splits:
        halves = [np.flatnonzero(side == half) for half in (0, 1)]
        own = [columns[half].ravel() for half in halves]
        graphs = [neighbour_graph(one) for one in components.of_halves(own)]
        for half, part, graph in zip(halves, own, graphs[::-1], strict=True):
            judged = xp.take(flat, indices_for(flat, part), axis=1)
            found[half] += agreement_of(judged, depth, graph)
    return components.of_all(), found / len(splits)


def agreement_of(flat: Any, depth: int, graph: scipy.sparse.csr_array) -> NDArray[np.float64]:
    """Return ``<X_j, W X_j> / <X_j, D X_j>``, with ``X_j`` centred by degree, on the host.

    A feature has `depth` columns of `flat`, next to each other.
    """
    xp = namespace_of(flat)
    n_features = flat.shape[1] // depth
    weights = np.asarray(graph.sum(axis=1)).ravel()
    degrees = moved_or_same(flat, weights)
    dense = moved_or_same(flat, graph.toarray()) if is_device_array(flat) else None
    shared, own = [], []
    for start in range(0, flat.shape[1], _BLOCK):
        block = flat[:, start : min(start + _BLOCK, flat.shape[1])]
        near = graph @ block if dense is None else xp.matmul(dense, block)
        # Centring by degree takes the same out of both sums.
        offset = xp.matmul(degrees, block) ** 2 / float(weights.sum())
        shared.append(xp.sum(block * near, axis=0) - offset)
        own.append(xp.matmul(degrees, block**2) - offset)
    above, below = (
        np.asarray(to_numpy(xp.concat(parts)), float).reshape(n_features, depth).sum(axis=1)
        for parts in (shared, own)
    )
    return np.divide(above, below, out=np.zeros(n_features), where=below > 0)


def moved_or_same(like: Any, values: NDArray[Any]) -> Any:
    """Copy values to the device and precision of `like`, if it is not a NumPy array."""
    return moved_to(like, values, like.dtype) if is_device_array(like) else values


def _largest(values: Any) -> float:
    """Return the largest absolute value, without an array of all of them."""
    xp = namespace_of(values)
    return max(float(xp.max(values)), -float(xp.min(values)))


def indices_for(like: Any, indices: NDArray[Any]) -> Any:
    """Copy indices to the device of `like`, if it is not a NumPy array."""
    return moved_to(like, indices) if is_device_array(like) else indices


def _at(values: Any, index: Any) -> Any:
    """Return the value at an index that is on the device, as an array without axes."""
    return namespace_of(values).take(values, index[None], axis=0)[0, ...]
