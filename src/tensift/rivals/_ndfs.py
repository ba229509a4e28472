"""Nonnegative discriminative feature selection."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from sklearn.cluster import KMeans

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.graphs import laplacian
from tensift.rivals._reweighting import row_norms_sum, row_weights
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["NDFS"]

Matrix = NDArray[np.float64]

_FLOOR = 1e-100  # smallest indicator: multiplicative updates cannot leave zero


class NDFS(VectorisedSelector):
    """Select features that predict nonnegative spectral cluster indicators (NDFS).

    Let ``L`` be the normalised Laplacian of a graph of nearest neighbours. The method finds
    nonnegative cluster indicators ``F`` of the samples, and weights ``W`` of the features that
    predict them, which minimise

        tr(F' L F) + alpha (||X W - F||^2 + beta ||W||_{2,1}) + gamma / 2 ||F' F - I||^2.

    The score of a feature is the norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_clusters : int, default=5
        The number of clusters: the number of columns of ``F`` and ``W``.
    n_neighbors : int, default=5
        The number of neighbours that each sample is joined to.
    alpha : float, default=1.0
        The weight of the prediction relative to the graph.
    beta : float, default=1.0
        The weight of the row norms relative to the error of the prediction.
    gamma : float, default=1e8
        The weight of the orthogonality of the indicators.
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
    max_iter : int, default=300
        The largest number of iterations.
    tol : float, default=1e-6
        Stop when the objective changes by no more than this share of it.
    random_state : int, RandomState or None, default=None
        The seed of the k-means clustering from which ``F`` starts.
    variant : {"intended", "released"}, default="intended"
        How ``F`` is updated; see Notes.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The row norms of the weights.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_clusters)
        The weights ``W`` of the flattened features.
    indicators_ : ndarray of shape (n, n_clusters)
        The indicators ``F``.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It never rises with ``variant="intended"``.
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
    An iteration solves a ridge regression for ``W``, then multiplies the entries of ``F`` by
    factors. The penalties of the regression are ``beta / (2 |w_i|)`` with the rows of the previous
    ``W``; in the first iteration the fraction ``1 / (2 |w_i|)`` is replaced by 1. With
    ``E = F - X W`` and ``C = F' F``:

    - "released" is the published update. It multiplies by
      ``gamma F / (L F + alpha E + gamma F C)`` and divides the columns of ``F`` by their norms.
      Unless `gamma` is large, the fraction can become negative; such entries are set to almost
      zero. Neither this step nor the division always lowers the objective.
    - "intended" moves all negative parts of the gradient to the numerator, and takes the fourth
      root of the fraction. The result minimises an upper bound of the objective, so the objective
      never rises. Columns are not normalised; `gamma` keeps their norms near 1.

    Samples are not centred. A common error in programs for NDFS is to subtract the weights of the
    graph from a row of degrees instead of from the diagonal matrix of degrees. We use the Laplacian
    of the paper.

    The neighbours take ``O(n^2 d)``. An iteration takes ``O(m^3 + n d c + n k c)``, where ``m`` is
    the smaller of ``n`` and ``d``, plus ``O(n^2 d)`` if ``d > n``. No ``n x n`` matrix is held if
    ``n > d``, and no ``d x d`` matrix if ``d > n``.

    References
    ----------
    Z. Li, Y. Yang, J. Liu, X. Zhou, H. Lu: Unsupervised Feature Selection Using Nonnegative
    Spectral Analysis, AAAI 2012.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import NDFS
    >>> X = load_digits().data[:200]
    >>> NDFS(n_features_to_select=20, n_clusters=10, random_state=0).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "width": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "variant": [StrOptions({"intended", "released"})],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_clusters: int = 5,
        n_neighbors: int = 5,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1e8,
        width: float | None = None,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        variant: str = "intended",
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.width = width
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.variant = variant

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        graph = laplacian(self._heat_kernel_graph(rows), normed=True)
        similarity = csr_array(diags_array(np.ones(len(rows))) - graph)  # I - L
        F = self._first_indicators(rows)
        regression = _WeightedRidge(rows, self.beta)
        penalties = np.ones(rows.shape[1])
        path: list[float] = []
        for _ in range(self.max_iter):
            W = regression.solve(F, penalties)
            penalties = row_weights(W)
            F = self._updated(F, rows @ W, similarity)
            path.append(self._objective(F, W, rows @ W, similarity))
            if len(path) > 1 and abs(path[-2] - path[-1]) <= self.tol * path[-1]:
                break
        self.weights_, self.indicators_ = W, F
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        self._set_row_scores(np.linalg.norm(W, axis=1), rows)

    def _first_indicators(self, rows: Matrix) -> Matrix:
        """Return k-means clusters in columns of norm 1, plus 0.02: updates cannot leave zero."""
        distinct = len(np.unique(rows, axis=0))
        count = self._at_most(
            "n_clusters", self.n_clusters, distinct, f"the {distinct} different samples"
        )
        labels = KMeans(count, n_init=10, random_state=self.random_state).fit(rows).labels_
        members = np.eye(count)[labels]
        return members / np.sqrt(members.sum(axis=0)) + 0.02

    def _updated(self, F: Matrix, predicted: Matrix, similarity: csr_array) -> Matrix:
        quartic = self.gamma * (F @ (F.T @ F))
        if self.variant == "released":
            denominator = F - similarity @ F + self.alpha * (F - predicted) + quartic
            safe = np.where(denominator > 0, denominator, np.inf)
            F = np.maximum(F * (self.gamma * F / safe), _FLOOR)
            return F / np.linalg.norm(F, axis=0)
        numerator = similarity @ F + self.alpha * np.maximum(predicted, 0) + self.gamma * F
        denominator = (1 + self.alpha) * F + self.alpha * np.maximum(-predicted, 0) + quartic
        return np.maximum(F * (numerator / denominator) ** 0.25, _FLOOR)

    def _objective(self, F: Matrix, W: Matrix, predicted: Matrix, similarity: csr_array) -> float:
        smooth = np.vdot(F, F - similarity @ F)
        error = np.sum((predicted - F) ** 2)
        orthogonal = np.sum((F.T @ F - np.eye(F.shape[1])) ** 2)
        return float(
            smooth
            + self.alpha * (error + self.beta * row_norms_sum(W))
            + self.gamma / 2 * orthogonal
        )


class _WeightedRidge:
    """Minimise ``||X W - F||^2 + beta sum_i q_i |w_i|^2`` repeatedly, for changing ``F`` and ``q``.

    We solve for ``sqrt(q_i) w_i``, because the condition of that system depends on `beta` alone,
    however large some ``q_i`` are. The system has the size of the smaller of samples and features.
    """

    def __init__(self, rows: Matrix, beta: float) -> None:
        self._rows = rows
        self._beta = beta
        self._gram = rows.T @ rows if rows.shape[1] <= len(rows) else None

    def solve(self, F: Matrix, q: NDArray[np.float64]) -> Matrix:
        root = 1 / np.sqrt(q)
        if self._gram is None:
            scaled = self._rows * root
            factor = self._factor(scaled @ scaled.T)
            return root[:, None] * (scaled.T @ cho_solve(factor, F))
        factor = self._factor(root[:, None] * self._gram * root)
        return root[:, None] * cho_solve(factor, root[:, None] * (self._rows.T @ F))

    def _factor(self, matrix: Matrix) -> tuple[Matrix, bool]:
        matrix.flat[:: len(matrix) + 1] += self._beta
        return cho_factor(matrix, overwrite_a=True, check_finite=False)
