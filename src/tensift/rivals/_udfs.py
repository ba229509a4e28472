"""Unsupervised discriminative feature selection."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift.graphs import nearest_neighbors
from tensift.rivals._local_scatter import LocalScatter
from tensift.rivals._reweighting import mean_row_weights, row_norms_sum, row_weights
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["UDFS"]

Matrix = NDArray[np.float64]


class UDFS(VectorisedSelector):
    """Select features by local discriminative analysis with row-sparse projections (UDFS).

    Every sample and its nearest neighbours form a neighbourhood. The rows of ``X_i`` are the
    samples of a neighbourhood minus their mean. The projection ``W``, with ``d`` rows and
    `n_clusters` columns, minimises

        tr(W' M W) + gamma ||W||_{2,1}  subject to  W' W = I,
        M = sum_i X_i' (X_i X_i' + lam I)^-1 X_i,

    where ``tr(W' M W)`` is small if neighbours stay close to each other after the projection. The
    score of a feature is the norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_clusters : int, default=5
        The number of columns of the projection. The paper uses the number of clusters.
    n_neighbors : int, default=5
        The number of neighbours in every neighbourhood, without the sample itself.
    gamma : float, default=0.1
        The weight of the row norms.
    lam : float, default=1.0
        Added to the local scatter so that it can be inverted. The larger it is relative to the
        squared distances between neighbours, the more distant neighbours count.
    scale : {"max"} or None, default="max"
        "max" divides the data by their largest absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=200
        The largest number of iterations.
    tol : float, default=1e-5
        Stop when the objective falls by no more than this share of it.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The row norms of the projection.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_clusters)
        The projection ``W`` of the flattened features.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It never rises.
    n_iter_ : int
        The number of iterations.
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
    The iterations are those of the paper. The columns of ``W`` are the eigenvectors of the smallest
    eigenvalues of ``M + gamma diag(q)``. At first ``q`` is 1; then ``q_i = 1 / (2 |w_i|)`` for the
    rows of the previous ``W``.

    The method prefers features that vary little: a constant feature costs nothing. We leave out
    constant features, but not features that rarely vary. If features have different units,
    standardise them first. With many more features than samples, ``M`` has a null space of more
    than `n_clusters` dimensions, and every projection into it is optimal in the first iteration. We
    then start from the mean squared row norms of all these projections, so that the result does not
    depend on which one a linear algebra library returns.

    All neighbourhoods are inverted at once. Let ``r < min(n, d)`` be the rank of ``M``. An
    iteration costs ``O(d r^2)`` if ``r`` is less than half of ``d``, and a Cholesky factorisation
    of size ``d`` otherwise. Each iteration starts from the eigenvectors of the previous one.

    References
    ----------
    Y. Yang, H. T. Shen, Z. Ma, Z. Huang, X. Zhou: l2,1-Norm Regularized Discriminative Feature
    Selection for Unsupervised Learning, IJCAI 2011.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import UDFS
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
        constraints: Constraints | None = None,
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
        self.constraints = constraints
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
    """Reweight until the objective stops falling; return the projection and all objectives."""
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
