"""The share of neighbours that features keep, on samples they were not chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    device_of,
    indices_like,
    moved_or_same,
    namespace_of,
    precision_of,
    to_numpy,
    widened,
)
from tensift._utils.nearest import limits_of_nearest, nearest, without_own
from tensift._utils.threads import one_blas_thread
from tensift.selection._geometry import Geometry
from tensift.solvers import Replayed

__all__ = ["kept_by"]

_NEIGHBOURS = 10  # as in `tensift.metrics.neighbours_kept`
_TIE = {"float64": 1e-11, "float32": 1e-5}  # distances that differ by a smaller share are equal


def kept_by(judge: Geometry, order: NDArray[np.intp], counts: Sequence[int]) -> NDArray[np.float64]:
    """Return the share of neighbours among the samples of `judge` that some features keep.

    There is one value for each of the ascending `counts`: for so many features of `order`. True
    neighbours have the largest cosine between whitened components of all features. On the chosen
    features, neighbours are nearest by distance.
    """
    with one_blas_thread():
        return _kept_by(judge, order, counts)


def _kept_by(
    judge: Geometry, order: NDArray[np.intp], counts: Sequence[int]
) -> NDArray[np.float64]:
    n_samples = judge.n_samples
    count = min(_NEIGHBOURS, max(1, n_samples // 4))
    values = _values_of(judge, order[: max(counts)])
    xp = namespace_of(values)
    pairs, weights = _true_neighbours(judge, count)
    pairs, weights = indices_like(values, pairs), moved_or_same(values, weights)
    rows = pairs // n_samples
    tie = _TIE[precision_of(judge.values)]
    # On a device a dozen small operations, requested at once.
    kept_now = Replayed(partial(_share_kept, count, tie), ("kept", count, tie), lasting=True)
    # Of a row, squared distances without the square of the row's own sample, which all share.
    distances = without_own(
        xp.zeros((n_samples, n_samples), dtype=values.dtype, device=device_of(values))
    )
    squares = xp.zeros_like(distances[:, 0])
    kept: list[Any] = []
    done = 0
    for several in counts:
        new = xp.reshape(values[:, done:several, :], (n_samples, -1))
        own = xp.sum(new**2, axis=1)
        squares = squares + own
        change = xp.matmul(-2 * new, new.T)
        change += own
        distances = distances + change  # a new array: the recording must see that it changed
        done = several
        kept += kept_now(distances, squares, pairs, rows, weights)
    return np.asarray(to_numpy(xp.stack(kept)), float)


def _share_kept(
    count: int, tie: float, distances: Any, squares: Any, pairs: Any, rows: Any, weights: Any
) -> tuple[Any]:
    """Return the share of pairs, as places in the matrix, that are among the nearest."""
    xp = namespace_of(distances)
    low, high, share = limits_of_nearest(distances, squares, count, tie, squares)
    found = xp.take(xp.reshape(distances, (-1,)), pairs)
    shares = xp.where(found <= xp.take(high, rows), xp.take(share, rows), xp.zeros_like(found))
    shares = xp.where(found < xp.take(low, rows), xp.ones_like(found), shares)
    return (xp.sum(weights * shares),)


def _true_neighbours(judge: Geometry, count: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return pairs of samples that look alike, as places in a matrix, and how much each counts."""
    n_samples = judge.n_samples
    alike = judge.directions @ judge.directions.T
    true = nearest(-alike, np.ones(n_samples), count)
    shares = np.ones(n_samples) if judge.shares is None else judge.shares
    true *= (shares / (count * shares.sum()))[:, None]
    pairs = np.flatnonzero(true)
    return pairs, true.ravel()[pairs]


def _values_of(judge: Geometry, order: NDArray[np.intp]) -> Any:
    """Return the centred values of features in the samples of `judge`, in double precision.

    Features that do not vary there are 0.
    """
    place = np.full(judge.n_features, -1)
    place[judge.kept] = np.arange(len(judge.kept))
    chosen = place[order]
    varies = chosen >= 0
    xp = namespace_of(judge.values)
    if not judge.kept.size:
        shape = (judge.n_samples, len(order), judge.values.shape[2])
        return xp.zeros(shape, dtype=judge.values.dtype, device=device_of(judge.values))
    there = indices_like(judge.values, np.maximum(chosen, 0))
    found = widened(xp.take(judge.values, there, axis=1))
    scales = np.where(varies, np.sqrt(judge.deviation[chosen]), 0.0)  # as they were
    found = found * moved_or_same(found, scales)[:, None]
    if judge.shares is not None:
        found = found / moved_or_same(found, np.sqrt(judge.shares))[:, None, None]
    return found
