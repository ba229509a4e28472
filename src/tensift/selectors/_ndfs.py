"""Nonnegative discriminative feature selection."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array, diags_array
from sklearn.cluster import KMeans
from sklearn.utils._param_validation import Interval, StrOptions

from tensift.graphs import laplacian
from tensift.selectors._reweighting import row_norms_sum, row_weights
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["NDFS"]

Matrix = NDArray[np.float64]

_FLOOR = 1e-100  # of indicators: an entry of zero would be zero for ever


class NDFS(VectorisedSelector):
    """Select features that predict nonnegative spectral cluster indicators (NDFS).

    With the normalised Laplacian ``L`` of a graph of nearest neighbours, indicators ``F`` of the
    samples' clusters, not negative, and the weights ``W`` of features that predict them minimise

        tr(F' L F) + alpha (||X W - F||^2 + beta ||W||_{2,1}) + gamma / 2 ||F' F - I||^2.

    The score of a feature is the norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_clusters : int, default=5
        The number of clusters, columns of ``F`` and ``W``.
    n_neighbors : int, default=5
        Samples that are joined to every sample.
    alpha : float, default=1.0
        Weight of the prediction against the graph.
    beta : float, default=1.0
        Weight of the row norms against the error of the prediction.
    gamma : float, default=1e8
        Weight of the orthogonality of the indicators.
    width : float or None, default=None
        Width of the heat kernel, ``exp(-|x_i - x_j|^2 / (2 width^2))``, after scaling. None: the
        root mean square of the distances between neighbours.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, scored by
        the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=300
        Iterations at most.
    tol : float, default=1e-6
        Stop when the objective changes by less, as a share of it.
    random_state : int, RandomState or None, default=None
        Seed of the k-means clustering from which ``F`` starts.
    variant : {"intended", "released"}, default="intended"
        How ``F`` is updated; see the notes.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Row norms of the weights.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_clusters)
        The weights ``W`` of the flattened features.
    indicators_ : ndarray of shape (n, n_clusters)
        The indicators ``F``.
    objective_ : float
        The objective in the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It never rises with ``variant="intended"``.
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
    An iteration solves a ridge regression for ``W``, whose penalties are ``beta / (2 |w_i|)``
    with the rows of the ``W`` before (1 in the beginning, instead of the fraction), and then
    multiplies the entries of ``F``. With ``E = F - X W`` and ``C = F' F``:

    - "released", which is the published update, multiplies by
      ``gamma F / (L F + alpha E + gamma F C)`` and divides the columns of ``F`` by their norms.
      The fraction can become negative, for `gamma` that is not large; such entries are set to
      almost zero. Neither this step nor the division is sure to lower the objective.
    - "intended" has all that is negative in the gradient in the numerator, and the fourth root of
      the fraction, which makes it the minimum of a majorant: the objective never rises. Columns
      keep their norms, which `gamma` draws to 1.

    Samples are taken as they are, not centred. A common error in programs for NDFS is to subtract
    the weights of the graph from a row of degrees instead of a diagonal matrix of them; the
    Laplacian here is the one of the paper.

    ``O(n^2 d)`` for the neighbours; an iteration costs ``O(m^3 + n d c + n k c)`` where ``m`` is
    the smaller one of ``n`` and ``d``, plus ``O(n^2 d)`` if ``d`` is the larger one. Nothing of
    size ``n x n`` is held if ``n > d``, nothing of size ``d x d`` if ``d > n``.

    References
    ----------
    Z. Li, Y. Yang, J. Liu, X. Zhou, H. Lu: Unsupervised Feature Selection Using Nonnegative
    Spectral Analysis, AAAI 2012.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import NDFS
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
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.variant = variant

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        graph = laplacian(self._heat_kernel_graph(rows), normed=True)
        similarity = csr_array(diags_array(np.ones(len(rows))) - graph)  # off the diagonal of -L
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
        """Clusters of k-means, in columns of norm 1, and a little everywhere, as updates need."""
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
    """Minimise ``||X W - F||^2 + beta sum_i q_i |w_i|^2`` for one ``F`` and ``q`` after another.

    In the variables ``sqrt(q_i) w_i`` the system is as well conditioned as its penalty `beta`
    makes it, however large some of the ``q_i`` are; it is solved in the smaller space.
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
