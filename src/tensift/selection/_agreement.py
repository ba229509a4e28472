"""Agreement on a feature of samples that look alike in others; `_geometry` has the formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from tensift._utils.namespace import (
    indices_like,
    is_device_array,
    moved_or_same,
    namespace_of,
    to_numpy,
)
from tensift._utils.pool import Pool
from tensift.selection._neighbours import SampleComponents, neighbour_graph
from tensift.selection._quarters import quarters_of

__all__ = ["agreement_of", "cross_fitted_agreement", "standard_error"]

_HALVES = ((0, 2), (1, 3), (0, 3), (1, 2))  # of quarters of the features: two splits
_BLOCK = 512  # columns whose neighbours are compared together
_BLOCK_ON_DEVICE = 2**25  # values; there, few large operations are faster than many small ones


def standard_error(n_samples: Any) -> Any:
    """The standard error of the agreement of a feature that is noise."""
    return 1 / np.sqrt(2.5 * np.maximum(n_samples, 1))


def cross_fitted_agreement(
    values: Any,
    deviation: NDArray[np.float64],
    shares: NDArray[np.float64] | None,
    pool: Pool,
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
    components = SampleComponents(flat, columns, pool=pool)

    def judge(half: tuple[int, int]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the features of the other half, and their agreement."""
        graph = neighbour_graph(components.of(*half), shares)
        is_judged = np.ones(n_features, dtype=bool)
        for quarter in half:
            is_judged[quarters[quarter]] = False
        part = np.flatnonzero(np.repeat(is_judged, depth))
        return np.flatnonzero(is_judged), agreement_of(flat, depth, graph, shares, part)

    found = np.zeros(n_features)
    for features, agreement in pool.map(judge, _HALVES):
        found[features] += agreement / 2
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
