"""Projection onto the simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["project_to_simplex"]


def project_to_simplex(V: NDArray) -> NDArray[np.float64]:
    """The nearest probability distribution to every row.

    Parameters
    ----------
    V : ndarray of shape (..., m)
        Rows.

    Returns
    -------
    ndarray of the same shape
        Rows are non-negative and sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.graphs import project_to_simplex
    >>> project_to_simplex(np.array([[0.5, 1.0, -3.0]]))
    array([[0.25, 0.75, 0.  ]])
    """
    V = np.asarray(V, dtype=float)
    descending = -np.sort(-V, axis=-1)
    counts = np.arange(1, V.shape[-1] + 1)
    thresholds = (np.cumsum(descending, axis=-1) - 1) / counts
    # In descending order, the entries that stay positive come first.
    last = np.count_nonzero(descending > thresholds, axis=-1) - 1
    threshold = np.take_along_axis(thresholds, last[..., None], axis=-1)
    return np.maximum(V - threshold, 0)
