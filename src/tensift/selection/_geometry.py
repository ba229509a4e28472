"""Features that keep samples recognisable: agreement of neighbours, and greedy alignment.

A feature is worth keeping if samples that look alike agree on it. Samples look alike if they are
near each other in *whitened* principal components: without singular values, strong nuisance such
as light or gain does not decide who is a neighbour.

With ``X_j`` the centred values of feature ``j`` (``n x t``: ``t = 1`` for an element, the fibre for
an index along a mode), ``W`` the mean of several nearest-neighbour graphs with degrees ``D``:

- **agreement** ``v_j = <X_j, W X_j> / <X_j, D X_j>``, where ``W`` comes from the other half of the
  features and ``X_j`` is centred by degree. It is the share of a feature's variation on which
  samples agree that look alike in other features: 1 for a feature that follows from the rest, 0
  for noise, with a standard error of about ``1 / sqrt(2.5 n)``.
- **target** ``T = Y Y^T``, what the samples look like together: leading whitened components and
  leading eigenvectors of the graph, weighted by how many of a few ranks contain them.
- **alignment** of a set ``S`` of features: ``sum_S w_j <K_j, T> / sqrt(||sum_S K_j||^2 + kappa)``
  with ``K_j = X_j X_j^T`` and ``w_j = v_j^2``, times the root of the score where there are scores.
  The denominator prices redundancy. Features are added one at a time, each by one product with
  all others: ``O(n d)`` for a feature, and no ``d x d`` matrix.

Laplacian score (He, Cai, Niyogi 2005) and spectral feature selection (Zhao, Liu 2007) score
features on a graph of raw distances; kernel-target alignment (Cristianini et al. 2001) uses labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

__all__ = ["Geometry", "standard_error"]

_COMPONENTS = (20, 50, 100)  # numbers of components that neighbours are found in
_NEIGHBOURS = (3, 5, 8)
_RANKS_OF_COMPONENTS = (5, 10, 20, 40)
_RANKS_OF_GRAPH = (10, 20, 40)
_LEAST_WEIGHT = 0.02  # of the largest agreement
_LEAST_DEVIATION = 1e-3  # of the largest; features below it are left out
_SMALLEST = 1e-100  # squares of smaller values underflow
_DENSE = 1024  # rows up to which all eigenvectors are as cheap as a few


def standard_error(n_samples: int) -> float:
    """The standard error of the agreement of a feature that is noise."""
    return 1 / math.sqrt(2.5 * n_samples)


class Geometry:
    """The geometry of samples, and which features keep it.

    Parameters
    ----------
    rows : ndarray of shape (n, d_1, ..., d_m)
        Samples, real or complex.
    feature_mode : int or None
        None: every element is a feature. An int: every index along that mode is one.

    Attributes
    ----------
    agreement : ndarray of shape (n_features,)
        The cross-fitted agreement of every feature; 0 for those that hardly vary.
    varies : ndarray of bool
        Features that vary enough to take part.
    """

    def __init__(self, rows: NDArray[Any], feature_mode: int | None) -> None:
        values = _fibres(rows, feature_mode)
        self.n_samples, self.n_features, self.n_values = values.shape
        values = values - values.mean(axis=0)
        peak = np.abs(values).max()
        if 0 < peak < _SMALLEST:
            values /= peak
        deviation = np.sqrt(np.mean(np.sum(values**2, axis=2), axis=0))
        self.varies = deviation > _LEAST_DEVIATION * deviation.max()
        self.kept = np.flatnonzero(self.varies)
        values = values[:, self.kept]
        deviation = deviation[self.kept]
        self.agreement = np.zeros(self.n_features)
        self.agreement[self.kept] = _cross_fitted_agreement(values, deviation)
        # Without a feature that varies, samples do not look like anything.
        self.target = _target(values) if self.kept.size else np.zeros((self.n_samples, 1))
        values /= np.sqrt(deviation)[:, None]
        self.values = values  # (n, kept features, t)
        flat = values.reshape(self.n_samples, -1)
        on_target = np.sum((self.target.T @ flat) ** 2, axis=0)
        self.aligned = on_target.reshape(-1, self.n_values).sum(axis=1)  # <K_j, T>
        gram = np.einsum("nft,nfs->fts", values, values)
        self.squares = np.sum(gram**2, axis=(1, 2))  # ||K_j||^2

    @property
    def n_structured(self) -> int:
        """The number of features on which neighbours agree more than on noise, by two errors."""
        return int(np.count_nonzero(self.agreement > 2 * standard_error(self.n_samples)))

    def order(
        self, count: int, scores: NDArray[Any] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Pick features one after another by greedy alignment.

        Parameters
        ----------
        count : int
            How many to pick.
        scores : ndarray of shape (n_features,), optional
            Scores of all features.

        Returns
        -------
        order : ndarray of int
            All features: those picked, then the others by what they would add next.
        curve : ndarray
            The alignment, without weights, of the first 1, 2, ... picked features.
        """
        if not self.kept.size:
            return np.arange(self.n_features), np.zeros(0)
        agreement = self.agreement[self.kept]
        weights = np.maximum(agreement, _LEAST_WEIGHT * max(agreement.max(), 0.0)) ** 2
        if scores is not None:
            weights = weights * np.sqrt(np.asarray(scores, float).ravel()[self.kept])
        gains = weights * self.aligned
        offset = self.squares.mean()  # keeps features that hardly vary from starting the list
        free = np.ones(len(self.kept), bool)
        redundancy = np.zeros(len(self.kept))
        total, square = 0.0, 0.0
        picks: list[int] = []
        merit = gains / np.sqrt(self.squares + offset)
        for _ in range(min(count, int(free.sum()))):
            merit = (total + gains) / np.sqrt(square + 2 * redundancy + self.squares + offset)
            pick = int(np.argmax(np.where(free, merit, -np.inf)))
            picks.append(pick)
            free[pick] = False
            total += gains[pick]
            square += 2 * redundancy[pick] + self.squares[pick]
            redundancy += self._overlaps(pick)
        chosen = self.kept[picks]
        others = np.setdiff1d(np.arange(self.n_features), chosen)
        left = np.full(self.n_features, -np.inf)
        left[self.kept] = merit
        others = others[np.argsort(-left[others], kind="stable")]
        return np.concatenate([chosen, others]).astype(np.intp), self.alignment(chosen)

    def alignment(self, order: NDArray[np.intp]) -> NDArray[np.float64]:
        """How similar samples look in the first 1, 2, ... features of an order and in all of them.

        The cosine between the sum of their ``K_j`` and the target, from 0 to 1.
        """
        place = np.full(self.n_features, -1)
        place[self.kept] = np.arange(len(self.kept))
        redundancy = np.zeros(len(self.kept))
        total, square = 0.0, 0.0
        curve = np.zeros(len(order))
        norm = np.linalg.norm(self.target.T @ self.target)
        for k, feature in enumerate(place[order]):
            if feature >= 0:
                total += self.aligned[feature]
                square += 2 * redundancy[feature] + self.squares[feature]
                redundancy += self._overlaps(feature)
            if square > 0:
                curve[k] = total / (math.sqrt(square) * norm)
        return curve

    def _overlaps(self, feature: int) -> NDArray[np.float64]:
        """``<K_i, K_feature>`` for all features ``i``."""
        flat = self.values.reshape(self.n_samples, -1)
        products = flat.T @ self.values[:, feature]
        squares = np.sum(products**2, axis=1)
        sums: NDArray[np.float64] = squares.reshape(-1, self.n_values).sum(axis=1)
        return sums


def _fibres(rows: NDArray[Any], feature_mode: int | None) -> NDArray[np.float64]:
    """Samples as ``(n, features, values of a feature)``, real."""
    if np.iscomplexobj(rows):
        rows = np.stack([rows.real, rows.imag], axis=-1)
        if feature_mode is None:
            return np.asarray(rows, float).reshape(len(rows), -1, 2)
    if feature_mode is None:
        return np.asarray(rows, float).reshape(len(rows), -1, 1)
    moved = np.moveaxis(np.asarray(rows, float), feature_mode + 1, 1)
    return moved.reshape(*moved.shape[:2], -1)


def _cross_fitted_agreement(
    values: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Agreement of every feature, among neighbours that the other half of the features gives.

    Features are split by the rank of their deviation, not by their index, so that the result does
    not depend on the order of features.
    """
    n_features = values.shape[1]
    if n_features < 2:
        return np.ones(n_features)
    rank = np.empty(n_features, int)
    rank[np.argsort(-deviation, kind="stable")] = np.arange(n_features)
    splits = [rank % 2, (rank // 2 + rank) % 2]
    found = np.zeros(n_features)
    for side in splits:
        for half in (0, 1):
            seen, judged = side == half, side != half
            if not seen.any() or not judged.any():
                continue
            graph = _graph(_components(values[:, seen]))
            found[judged] += _agreement(values[:, judged], graph)
    return found / len(splits)


def _agreement(values: NDArray[np.float64], graph: scipy.sparse.csr_array) -> NDArray[np.float64]:
    """``<X_j, W X_j> / <X_j, D X_j>`` with ``X_j`` centred by degree."""
    n_samples, n_features, _ = values.shape
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    flat = values.reshape(n_samples, -1)
    flat = flat - degrees @ flat / degrees.sum()
    shared = np.sum(flat * (graph @ flat), axis=0).reshape(n_features, -1).sum(axis=1)
    own = (degrees @ flat**2).reshape(n_features, -1).sum(axis=1)
    agreement: NDArray[np.float64] = np.divide(shared, own, out=np.zeros(n_features), where=own > 0)
    return agreement


def _components(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leading left singular vectors of samples: whitened principal components."""
    flat = values.reshape(len(values), -1)
    count = min(max(_COMPONENTS), max(1, len(flat) // 4))
    if flat.shape[1] <= len(flat):
        energy, right = _leading(flat.T @ flat, min(count, flat.shape[1]))
        return flat @ right / np.sqrt(energy)
    return _leading(flat @ flat.T, count)[1]


def _leading(gram: NDArray[np.float64], count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The largest eigenvalues of a Gram matrix above rounding, and their vectors, descending."""
    size = len(gram)
    if size <= _DENSE or 3 * count > size:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - count, size - 1])
    else:
        start = np.diag(gram).copy()  # moves with the samples if these are reordered
        values, vectors = scipy.sparse.linalg.eigsh(gram, count, v0=start)
    real = values > 1e-10 * values[-1]
    return values[real][::-1], vectors[:, real][:, ::-1]


def _graph(components: NDArray[np.float64]) -> scipy.sparse.csr_array:
    """The mean of nearest-neighbour graphs, so that no single number has to be right."""
    n_samples, available = components.shape
    graphs = []
    for count in _COMPONENTS:
        part = components[:, : min(count, available)]
        length = np.linalg.norm(part, axis=1, keepdims=True)
        part = part / np.where(length > 0, length, 1)
        similarity = part @ part.T
        np.fill_diagonal(similarity, -np.inf)
        most = min(max(_NEIGHBOURS), n_samples - 1)
        nearest = np.argpartition(-similarity, most - 1, axis=1)[:, :most]
        closeness = np.take_along_axis(similarity, nearest, axis=1)
        nearest = np.take_along_axis(nearest, np.argsort(-closeness, axis=1, kind="stable"), axis=1)
        for neighbours in _NEIGHBOURS:
            columns = nearest[:, :neighbours]
            rows = np.repeat(np.arange(n_samples), columns.shape[1])
            one = scipy.sparse.csr_array(
                (np.ones(columns.size), (rows, columns.ravel())), shape=(n_samples, n_samples)
            )
            graphs.append(one.maximum(one.T))
    return scipy.sparse.csr_array(sum(graphs[1:], graphs[0]) / len(graphs))


def _target(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``Y`` with ``T = Y Y^T``: what the samples look like together."""
    components = _components(values)
    graph = _graph(components)
    root = 1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    normalised = scipy.sparse.diags_array(root) @ graph @ scipy.sparse.diags_array(root)
    wanted = min(max(_RANKS_OF_GRAPH) + 1, max(2, len(values) // 4 + 1), len(values))
    vectors = _leading_of_graph(normalised, wanted, start=1 / root)[:, 1:]  # the first is trivial
    columns = [components * _weights(components.shape[1], _RANKS_OF_COMPONENTS)]
    columns.append(vectors * _weights(vectors.shape[1], _RANKS_OF_GRAPH))
    return np.concatenate(columns, axis=1)


def _leading_of_graph(
    graph: scipy.sparse.csr_array, count: int, start: NDArray[np.float64]
) -> NDArray[Any]:
    size = graph.shape[0]
    if size <= _DENSE // 2 or 3 * count > size:
        dense = graph.toarray()
        vectors = scipy.linalg.eigh(dense, subset_by_index=[size - count, size - 1])[1]
    else:
        vectors = scipy.sparse.linalg.eigsh(graph, count, which="LA", v0=start**2)[1]
    return vectors[:, ::-1]


def _weights(available: int, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Roots of the number of ranks that contain each column."""
    number = np.arange(available)
    counts = np.sum([number < rank for rank in ranks], axis=0)
    return np.sqrt(counts.astype(float))
