"""Do samples that look alike agree on the selected features?"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.metrics._whitened import Likeness
from tensift.selection import feature_agreement

__all__ = ["NeighbourAgreement", "neighbour_agreement"]


def neighbour_agreement(
    X: ArrayLike, features: ArrayLike, *, feature_mode: int | str | None = None
) -> float:
    """Mean share of a selected feature's variation on which samples agree that look alike.

    Who looks alike is found in other features: for each feature, neighbours come from a half of the
    features that does not contain it. It needs no labels. Copies of a feature count as much as the
    feature, so use it together with `neighbours_kept`, as `judge_selections` does.

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
        About 0 for noise, 1 for features that follow from the others; larger is better.

    Notes
    -----
    It is the mean of `tensift.selection.feature_agreement` over the selected features.

    Examples
    --------
    Twenty-one pixels of the digits, spread over the image or from its upper rows:

    >>> import numpy as np
    >>> from tensift.datasets import load_digits
    >>> from tensift.metrics import neighbour_agreement
    >>> X = load_digits().data[:400]
    >>> round(neighbour_agreement(X, np.arange(1, 64, 3)), 2)
    0.47
    >>> round(neighbour_agreement(X, np.arange(21)), 2)
    0.48
    """
    likeness = Likeness(X, feature_mode)
    return NeighbourAgreement(likeness).of(likeness.check("features", features))


class NeighbourAgreement:
    """The agreement of every feature, computed once, and its mean over selections."""

    def __init__(self, likeness: Likeness) -> None:
        self._likeness = likeness

    @cached_property
    def _agreement(self) -> NDArray[np.float64]:
        likeness = self._likeness
        return feature_agreement(likeness.samples, likeness.feature_mode, likeness.shares)

    def of(self, features: np.ndarray) -> float:
        """Return the mean agreement of the selected features."""
        return float(np.mean(self._agreement[features])) if features.size else 0.0
