"""The Laplacian score."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tensift._utils.sklearn_compat import Interval
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["LaplacianScore"]

_WORST = 2.0  # upper bound of Laplacian scores: the largest eigenvalue of normalised Laplacians
_ROUNDING = 1e-13  # features that vary by less, as a share of their largest value, are constant


class LaplacianScore(VectorisedSelector):
    """Select features that differ little between neighbours and much between all samples.

    The method builds a graph of nearest neighbours with weights ``S``, degrees ``D`` and Laplacian
    ``L = D - S``. Let ``f`` be the values of a feature, centred so that ``f' D 1 = 0``. Its
    Laplacian score is ``(f' L f) / (f' D f)``: its variation along the edges as a share of its
    variance. The score lies between 0 and 2; smaller is better.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_neighbors : int, default=5
        The number of neighbours that each sample is joined to.
    width : float or None, default=None
        The width of the heat kernel, ``exp(-|x_i - x_j|^2 / (2 width^2))``, after scaling. None:
        the root mean square of the distances between neighbours.
    scale : {"max"} or None, default="max"
        "max" divides the data by their largest absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        2 minus the Laplacian score, so that larger is better. 0 for constant features.
    laplacian_scores_ : ndarray of shape (d_1, ..., d_m)
        The scores of the paper; smaller is better. Features that do not vary among samples with
        neighbours get 2, the worst possible score.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    Notes
    -----
    The neighbours take ``O(n^2 d)``, and all scores together ``O(n k d)``. No ``n x n`` matrix is
    held.

    References
    ----------
    X. He, D. Cai, P. Niyogi: Laplacian Score for Feature Selection, NIPS 2005.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import LaplacianScore
    >>> X = load_digits().data[:200]
    >>> LaplacianScore(n_features_to_select=20).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "width": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_neighbors: int = 5,
        width: float | None = None,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_neighbors = n_neighbors
        self.width = width
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        scores = _laplacian_scores(rows, self._heat_kernel_graph(rows))
        self.laplacian_scores_ = scores.reshape(self.feature_shape_)
        self._set_row_scores(_WORST - scores, rows)


def _laplacian_scores(rows: NDArray[np.float64], graph: csr_array) -> NDArray[np.float64]:
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    centred = rows - degrees @ rows / degrees.sum()
    variance = np.einsum("ij,i,ij->j", centred, degrees, centred)
    # A sum over edges would lose no digits to cancellation, but would hold n k d numbers.
    variation = variance - np.einsum("ij,ij->j", centred, graph @ centred)
    varies = variance > (_ROUNDING * np.abs(rows).max(axis=0)) ** 2 * degrees.sum()
    ratio = variation / np.where(varies, variance, 1.0)
    return np.where(varies, np.clip(ratio, 0, _WORST), _WORST)
