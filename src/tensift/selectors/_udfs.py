"""Unsupervised discriminative feature selection."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from tensift.graphs import nearest_neighbors
from tensift.selectors._local_scatter import LocalScatter
from tensift.selectors._reweighting import mean_row_weights, row_norms_sum, row_weights
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["UDFS"]

Matrix = NDArray[np.float64]


class UDFS(VectorisedSelector):
    """Select features by local discriminative analysis with row-sparse projections (UDFS).

    Every sample and its nearest neighbours are a neighbourhood, whose samples, centred on their
    mean, are the rows of ``X_i``. The projection ``W``, of ``d`` rows and `n_clusters` columns,
    minimises

        tr(W' M W) + gamma ||W||_{2,1}  subject to  W' W = I,
        M = sum_i X_i' (X_i X_i' + lam I)^-1 X_i,

    where ``tr(W' M W)`` is small if neighbours are projected near one another. The score of a
    feature is the norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_clusters : int, default=5
        Columns of the projection, for which the paper takes the number of clusters.
    n_neighbors : int, default=5
        Neighbours in every neighbourhood, beside the sample itself.
    gamma : float, default=0.1
        Weight of the row norms.
    lam : float, default=1.0
        Added to local scatter, so that it can be inverted. The larger it is against the squared
        distances of neighbours, the more far neighbours count.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, scored by
        the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=200
        Iterations at most.
    tol : float, default=1e-5
        Stop when the objective falls by less, as a share of it.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Row norms of the projection.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_clusters)
        The projection ``W`` of the flattened features.
    objective_ : float
        The objective in the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration; it never rises.
    n_iter_ : int
        The number of iterations.
    n_features_ : int
        How many features are kept.
    explained_energy_, suggested_count_
        Of "diverse" and "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    Iterations are the paper's: ``W`` has the eigenvectors of the smallest eigenvalues of
    ``M + gamma diag(q)``, where ``q_i = 1 / (2 |w_i|)`` for the rows of the ``W`` before, and 1 in
    the beginning.

    The method prefers what does not vary: a constant feature costs nothing. Constant features
    are left out here, but features that seldom vary are not; where units differ between features,
    standardise them first. If ``M`` has a null space of more than `n_clusters` dimensions, as
    always where features are many more than samples, every projection into it is optimal in the
    first iteration. We then start from the mean square norms of the rows of all of these, so that
    the result does not hang on the one that a linear algebra library happens to return.

    All neighbourhoods are inverted at once. With the rank ``r < min(n, d)`` of ``M``, an iteration
    costs ``O(d r^2)`` if ``r`` is less than half of ``d``, and a Cholesky factorisation of size
    ``d`` otherwise; the eigenvectors of one iteration are the start for those of the next.

    References
    ----------
    Y. Yang, H. T. Shen, Z. Ma, Z. Huang, X. Zhou: l2,1-Norm Regularized Discriminative Feature
    Selection for Unsupervised Learning, IJCAI 2011.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import UDFS
    >>> X = load_digits().data[:200]
    >>> UDFS(n_features_to_select=20, n_clusters=10).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_clusters: int = 5,
        n_neighbors: int = 5,
        gamma: float = 0.1,
        lam: float = 1.0,
        scale: str | None = "max",
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 200,
        tol: float = 1e-5,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.lam = lam
        self.scale = scale
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        varying = self._varying(rows)
        count = int(np.count_nonzero(varying))
        width = self._at_most(
            "n_clusters", self.n_clusters, count, f"the {count} features that vary"
        )
        indices, _ = nearest_neighbors(rows, self._n_neighbors(rows))
        centred = rows[:, varying]
        centred -= centred.mean(axis=0)
        scatter = LocalScatter(centred, indices, self.lam)
        W, path = _minimise(scatter, width, self.gamma, self.max_iter, self.tol)
        self.weights_ = np.zeros((rows.shape[1], width))
        self.weights_[varying] = W
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        self._set_row_scores(np.linalg.norm(self.weights_, axis=1), rows)


def _minimise(
    scatter: LocalScatter, width: int, gamma: float, max_iter: int, tol: float
) -> tuple[Matrix, list[float]]:
    """Reweight until the objective falls no more: the projection, and all objectives."""
    weights = np.ones(scatter.size)
    dimension, energies = scatter.null_energies()
    if dimension > width:
        weights = mean_row_weights(energies, dimension, width)
    path: list[float] = []
    guess = None
    for _ in range(max_iter):
        W, guess = scatter.lowest(gamma * weights, width, guess)
        weights = row_weights(W)
        path.append(scatter.energy(W) + gamma * row_norms_sum(W))
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            break
    return W, path
