"""How well products of samples on the selected features follow what the samples look like."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tensift.metrics._whitened import Likeness

__all__ = ["Alignment", "alignment"]

_LEAST_DEVIATION = 1e-3  # of the largest; features below it are left out


def alignment(X: ArrayLike, features: ArrayLike, *, feature_mode: int | str | None = None) -> float:
    """Cosine between products of samples on the selected features and their overall likeness.

    Samples look alike if they are near each other in whitened principal components of all
    features. Selections with many copies of one feature score low. It needs no labels.

    Parameters
    ----------
    X : array-like of shape (n, d_1, ..., d_m)
        The samples, with all features. A complex number counts as two. At most 2048 evenly spaced
        samples are used (`tensift.sources.even_subsample`).
    features : array-like
        The selected features: indices without duplicates (flat C-order, or along
        ``feature_mode``), or a boolean mask of all features.
    feature_mode : int or str, optional
        The mode whose indices are the features. By default every element is a feature.

    Returns
    -------
    float
        Between 0 and 1; larger is better. 0 if no selected feature varies. Compare values of the
        same samples only: the largest possible value depends on them.

    Notes
    -----
    With ``X_j`` the centred columns of feature j, divided by the square root of its standard
    deviation, and ``K_j = X_j X_j'``, the result is ``<K, T> / (||K|| ||T||)`` in Frobenius norms,
    where K is the sum of the ``K_j`` of the selected features. ``T`` holds the cosines between
    rows of the 50 leading left singular vectors of the centred samples (at most n/4). Features
    whose deviation is below a thousandth of the largest are left out.

    References
    ----------
    N. Cristianini, J. Shawe-Taylor, A. Elisseeff, J. Kandola: On kernel-target alignment. NIPS,
    2001. There the target comes from labels.

    Examples
    --------
    Twenty-one pixels of the digits, spread over the image or from its upper rows:

    >>> import numpy as np
    >>> from tensift.datasets import load_digits
    >>> from tensift.metrics import alignment
    >>> X = load_digits().data[:400]
    >>> round(alignment(X, np.arange(1, 64, 3)), 2)
    0.44
    >>> round(alignment(X, np.arange(21)), 2)
    0.37
    """
    likeness = Likeness(X, feature_mode)
    return Alignment(likeness).of(likeness.check("features", features))


class Alignment:
    """The likeness of samples as a target, and how well selections align with it."""

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness
        self._varies = likeness.deviations > _LEAST_DEVIATION * likeness.deviations.max()
        self._directions = likeness.weighed(likeness.directions)
        self._norm = _norm_of_products(self._directions)

    def of(self, features: np.ndarray) -> float:
        """Return the alignment of the selected features."""
        features = features[self._varies[features]]
        if features.size == 0:
            return 0.0
        deviations = self._likeness.elementwise(self._likeness.deviations, features)
        columns = self._likeness.weighed(self._likeness.columns(features)) / np.sqrt(deviations)
        shared = float(np.sum((self._directions.T @ columns) ** 2))
        return shared / (_norm_of_products(columns) * self._norm)


def _norm_of_products(rows: np.ndarray) -> float:
    """Return the Frobenius norm of ``rows @ rows.T``, by the smaller of two products."""
    products = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
    return float(np.linalg.norm(products))
