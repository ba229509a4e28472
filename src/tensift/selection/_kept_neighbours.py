"""The share of neighbours that features keep, on samples they were not chosen on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import namespace_of, precision_of, to_numpy
from tensift._utils.nearest import nearest
from tensift._utils.threads import one_blas_thread
from tensift.selection._geometry import Geometry, indices_like

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
    alike = judge.directions @ judge.directions.T
    true = nearest(-alike, np.ones(n_samples), count)
    values = _values_of(judge, order[: max(counts)])
    tie = _TIE[precision_of(judge.values)]
    products = np.zeros((n_samples, n_samples))
    kept, done = [], 0
    for several in counts:
        new = values[:, done:several].reshape(n_samples, -1)
        products += new @ new.T
        done = several
        squares = np.diag(products).copy()
        distances = squares[:, None] + squares - 2 * products
        found = nearest(distances, squares, count, tie)
        shared = np.einsum("ij,ij->i", found, true)
        kept.append(float(np.average(shared, weights=judge.shares)) / count)
    return np.array(kept)


def _values_of(judge: Geometry, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the centred values of features in the samples of `judge`, on the host.

    Features that do not vary there are 0.
    """
    values = np.zeros((judge.n_samples, len(order), judge.values.shape[2]))
    place = np.full(judge.n_features, -1)
    place[judge.kept] = np.arange(len(judge.kept))
    here = np.flatnonzero(place[order] >= 0)
    if here.size:
        chosen = place[order[here]]
        xp = namespace_of(judge.values)
        found = xp.take(judge.values, indices_like(judge.values, chosen), axis=1)
        values[:, here] = np.asarray(to_numpy(found), float)
        values[:, here] *= np.sqrt(judge.deviation[chosen])[:, None]  # as they were
        if judge.shares is not None:
            values /= np.sqrt(judge.shares)[:, None, None]
    return values
