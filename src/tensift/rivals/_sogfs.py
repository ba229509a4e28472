"""Feature selection with structured graph optimisation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.graphs import (
    adaptive_graph,
    laplacian,
    nearest_neighbors,
    neighbor_graph,
    project_to_simplex,
    smallest_eigenvectors,
)
from tensift.rivals._sogfs_projections import SmoothProjections
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["SOGFS"]

Matrix = NDArray[np.float64]

_EPS = np.finfo(float).eps
# After this many iterations, neighbours are searched among the projected samples.
_ITERATIONS_WITH_FIRST_NEIGHBORS = 5


class SOGFS(VectorisedSelector):
    """Select features by learning a graph of clusters and a row-sparse projection (SOGFS).

    Features are centred and divided by their norms; let ``x_i`` be the rows of the result. The
    method finds a graph ``s`` and a projection ``W``, with ``d`` rows and `n_components` columns,
    that minimise ::

        sum_ij (|W' x_i - W' x_j|^2 s_ij + r s_ij^2) + 2 gamma ||W||_{2,1}

    subject to ``W' W = I``, ``s_ij >= 0``, ``sum_j s_ij = 1`` and a graph of `n_clusters`
    components. The score of a feature is the squared norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_clusters : int, default=5
        The number of connected components that the graph must have.
    n_components : int or None, default=None
        The number of columns of the projection, at most the number of features that vary. None:
        `n_clusters`. The authors leave the choice to the user.
    n_neighbors : int, default=5
        The number of neighbours of every sample in the graph.
    gamma : float, default=0.01
        The weight of the row norms. A large weight leaves exactly `n_components` rows.
    variant : {"intended", "released"}, default="intended"
        How to choose a projection where the method leaves the choice open; see Notes.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them. Features are divided by
        their norms in any case, so this changes rounding only.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=50
        The largest number of graphs.
    tol : float, default=1e-6
        For each graph, the projection is reweighted until its objective changes by less than this,
        at most 100 times.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The squared row norms of the projection. They sum to `n_components`.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_components)
        The projection ``W`` of the flattened features.
    graph_ : csr_array of shape (n, n)
        The graph. Its rows sum to 1.
    lam_path_ : ndarray of shape ``(n_iter_,)``
        The weight of the number of connected components, for every graph.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It may rise.
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
    The iterations are those of the authors. Let ``L`` be the Laplacian of the graph and
    ``M = X' L X``. The columns of the projection are the eigenvectors of the smallest eigenvalues
    of ``M + gamma diag(q)``, where ``q`` is 1 at first and then ``1 / (2 |w_i|)``. Each row of the
    graph is a projection onto the simplex over the nearest samples. Neighbours are searched in the
    original space for five iterations, then in the projected space. The weight of the number of
    connected components doubles while the graph has too few, and is halved when it has too many.
    The objective may rise, because the neighbours and this weight change and ``q`` starts again for
    every graph.

    **The method is not stable with more features than samples.** ``M`` then has a null space. If it
    has more than `n_components` dimensions, all projections into it are equally good, and
    reweighting magnifies the choice. With ``variant="released"``, rounding errors choose, as in the
    authors' program: changes of the data by 1e-13 change most of the selected features, and there
    is a warning. With ``variant="intended"``, the first ``q`` come from the mean squared row norms
    of *all* such projections, which depend only on the data. Both variants agree if the null space
    is smaller. Even a stable result means little here: combinations of features that vanish on all
    samples cost nothing, so the method prefers features that others can cancel.

    Constant features would cost nothing either; both variants leave them out.

    Let ``r < min(n, d)`` be the rank of ``M``. A reweighting costs ``O(d r^2)`` if ``r`` is less
    than a quarter of ``d``, and ``O(d^3)`` otherwise. Once few rows are left, the eigenproblem has
    the size of their number instead of ``d``. A graph costs ``O(n^2 d)``, and ``O(n^3)`` more if
    ``d > n``. No ``n x n`` matrix is held if ``d <= n`` and ``n`` is above 1000.

    References
    ----------
    F. Nie, W. Zhu, X. Li: Unsupervised Feature Selection with Structured Graph Optimization,
    AAAI 2016.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import SOGFS
    >>> X = load_digits().data[:100]
    >>> selector = SOGFS(n_features_to_select=20, n_clusters=10, gamma=0.1, max_iter=5).fit(X)
    >>> selector.transform(X).shape
    (100, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "variant": [StrOptions({"intended", "released"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_clusters: int = 5,
        n_components: int | None = None,
        n_neighbors: int = 5,
        gamma: float = 0.01,
        variant: str = "intended",
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 50,
        tol: float = 1e-6,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.variant = variant
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        varying = self._varying(rows)
        normalised = rows[:, varying] - rows[:, varying].mean(axis=0)
        # Powers of two bring all peaks near 1 without rounding, so that _EPS is small beside them.
        normalised = np.ldexp(normalised, -np.frexp(np.abs(normalised).max(axis=0))[1])
        normalised /= np.sqrt(np.einsum("ij,ij->j", normalised, normalised) + _EPS)
        W = self._alternate(normalised)
        self.weights_ = np.zeros((rows.shape[1], W.shape[1]))
        self.weights_[varying] = W
        self._set_row_scores(np.einsum("ij,ij->i", self.weights_, self.weights_), rows)

    def _alternate(self, rows: Matrix) -> Matrix:
        """Update graph and projection in turn, until the graph has `n_clusters` components."""
        n, d = rows.shape
        c = self._at_most("n_clusters", self.n_clusters, n - 1, f"the {n - 1} other samples")
        width = c if self.n_components is None else self.n_components
        if self.n_components is not None or c > d:
            width = self._at_most("n_components", width, d, f"the {d} features that vary")
        k = self._n_neighbors(rows)
        callback = progress_bar("learning graphs", self.max_iter) if self.verbose else None

        projections = SmoothProjections(
            rows, width, self.gamma, self.tol, self.variant == "intended"
        )
        graph, r = adaptive_graph(rows, k)
        indices, squared = nearest_neighbors(rows, k)
        # r is zero if all samples are equally far apart; distances are, if neighbours are copies.
        r = max(r, _EPS * float(squared.mean()), _EPS**2 * float(np.mean(rows**2)))
        lam = r
        L = laplacian(graph)
        F = smallest_eigenvectors(L, c)[1]
        W = projections.minimise(L)
        path, lams = [], []
        for iteration in range(1, self.max_iter + 1):
            lams.append(lam)
            projected = rows @ W
            if iteration > _ITERATIONS_WITH_FIRST_NEIGHBORS:
                indices, _ = nearest_neighbors(projected, k)
            cost = _to_neighbors(projected, indices) + lam * _to_neighbors(F, indices)
            # The projection onto the simplex ignores shifts; this one reduces rounding errors.
            cost -= cost.min(axis=1, keepdims=True)
            graph = neighbor_graph(indices, project_to_simplex(-cost / (2 * r)))
            L = laplacian(graph)
            W = projections.minimise(L)
            path.append(projections.objective(W, L) + r * float(graph.power(2).sum()))
            if callback is not None:
                callback(iteration)
            values, vectors = smallest_eigenvectors(L, c + 1)
            if values[:c].sum() > 1e-9:  # fewer than c components
                lam, F = 2 * lam, vectors[:, :c]
            elif values.sum() < 1e-11:  # more than c components: keep F
                lam = lam / 2
            elif iteration > 1:
                break
            else:
                F = vectors[:, :c]
        copies = squared.max() <= (n * _EPS) ** 2 * float(np.sum(rows**2))
        projections.warn_if_not_unique(copies)
        graph.eliminate_zeros()
        self.graph_ = graph
        self.lam_path_ = np.array(lams)
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        return W


def _to_neighbors(rows: Matrix, indices: NDArray[np.intp]) -> Matrix:
    """Return the squared distances ``(n, k)`` of rows to their neighbours."""
    return np.sum((rows[:, None] - rows[indices]) ** 2, axis=2)
