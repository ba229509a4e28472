"""Feature selection with structured graph optimisation."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from tensift._progress import progress_bar
from tensift.graphs import (
    adaptive_graph,
    laplacian,
    nearest_neighbors,
    project_to_simplex,
    smallest_eigenvectors,
)
from tensift.graphs._heat_kernel import neighbor_graph
from tensift.selectors._sogfs_projections import SmoothProjections
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["SOGFS"]

Matrix = NDArray[np.float64]

_EPS = np.finfo(float).eps
_FIXED_NEIGHBORS = 5  # iterations before neighbours are looked for among projected samples


class SOGFS(VectorisedSelector):
    """Select features by learning a graph of clusters and a row-sparse projection (SOGFS).

    Features are centred and divided by their norms. On the rows ``x_i`` of the result, a graph
    ``s`` and a projection ``W``, of ``d`` rows and `n_components` columns, are to minimise ::

        sum_ij (|W' x_i - W' x_j|^2 s_ij + r s_ij^2) + 2 gamma ||W||_{2,1}

    subject to ``W' W = I``, ``s_ij >= 0``, ``sum_j s_ij = 1`` and a graph of `n_clusters`
    components. The score of a feature is the squared norm of its row of ``W``.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_clusters : int, default=5
        The number of components that the graph is to have.
    n_components : int or None, default=None
        Columns of the projection, at most the number of features that vary. None: `n_clusters`.
        The authors leave the choice to the user.
    n_neighbors : int, default=5
        Neighbours of every sample in the graph.
    gamma : float, default=0.01
        Weight of the row norms. A large one leaves exactly `n_components` rows.
    variant : {"intended", "released"}, default="intended"
        What to do where the method does not say which projection to take; see Notes.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them. Features are divided by
        their norms in any case, so this changes rounding only.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, scored by
        the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=50
        Graphs at most.
    tol : float, default=1e-6
        Under a graph, the projection is reweighted until its objective changes by less, at most
        100 times.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Squared row norms of the projection; they sum to the number of components.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_components)
        The projection ``W`` of the flattened features.
    graph_ : csr_array of shape (n, n)
        The graph; rows sum to 1.
    lam_path_ : ndarray of shape ``(n_iter_,)``
        The weight of the number of components, with which every graph was found.
    objective_ : float
        The objective in the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It may rise.
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
    Iterations are the authors'. With the Laplacian ``L`` of the graph and ``M = X' L X``, the
    projection has the eigenvectors of the smallest eigenvalues of ``M + gamma diag(q)``, where
    ``q`` is 1 at first and then ``1 / (2 |w_i|)``. A row of the graph is a projection onto the
    simplex, over the nearest samples: in the original space for five iterations, then in the
    projected one. The weight of the number of components doubles while the graph has too few,
    and is halved when it has too many. Neighbours, this weight and the new start of ``q`` under
    every graph are why the objective may rise.

    **The method is not stable with more features than samples.** ``M`` then has a null space in
    which every projection is as good as another, if it has more than `n_components` dimensions,
    and reweighting magnifies the choice. With ``variant="released"`` rounding decides, as in
    the authors' program: changes of the data by 1e-13 change most of the selected features, and
    there is a warning. With ``variant="intended"`` the first ``q`` come from the mean squared row
    norms of *all* such projections, which depend on the data alone. Both are the same where
    the null space is smaller. Even a stable result says little there: combinations of features
    that vanish on all samples cost nothing, so features are favoured that others can cancel.

    Features that do not vary would cost nothing, too; they are left out in both variants.

    With ``r < min(n, d)``, the rank of ``M``, a reweighting costs ``O(d r^2)`` if ``r`` is less
    than a quarter of ``d``, and ``O(d^3)`` otherwise. As soon as few rows are left, an
    eigenproblem of their number takes the place of one of ``d``. A graph costs ``O(n^2 d)``, with
    ``O(n^3)`` more if ``d > n``; no matrix of ``n^2`` numbers is held if ``d <= n`` and ``n`` is
    above 1000.

    References
    ----------
    F. Nie, W. Zhu, X. Li: Unsupervised Feature Selection with Structured Graph Optimization,
    AAAI 2016.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import SOGFS
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
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        varying = self._varying(rows)
        normalised = rows[:, varying] - rows[:, varying].mean(axis=0)
        normalised /= np.sqrt(np.einsum("ij,ij->j", normalised, normalised) + _EPS)
        W = self._alternate(normalised)
        self.weights_ = np.zeros((rows.shape[1], W.shape[1]))
        self.weights_[varying] = W
        self._set_row_scores(np.einsum("ij,ij->i", self.weights_, self.weights_), rows)

    def _alternate(self, rows: Matrix) -> Matrix:
        """Graph and projection by turns, until the graph has its components."""
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
        r = max(r, _EPS * float(squared.mean()))  # zero if all samples are equally far
        lam = r
        L = laplacian(graph)
        F = smallest_eigenvectors(L, c)[1]
        W = projections.under(L)
        path, lams = [], []
        for iteration in range(1, self.max_iter + 1):
            lams.append(lam)
            projected = rows @ W
            if iteration > _FIXED_NEIGHBORS:
                indices, _ = nearest_neighbors(projected, k)
            cost = _to_neighbors(projected, indices) + lam * _to_neighbors(F, indices)
            cost -= cost.min(axis=1, keepdims=True)  # the simplex does not see it, rounding does
            # A copy, for the graph sorts its indices in place.
            graph = neighbor_graph(indices, project_to_simplex(-cost / (2 * r)))
            L = laplacian(graph)
            W = projections.under(L)
            path.append(projections.objective(W, L) + r * float(graph.power(2).sum()))
            if callback is not None:
                callback(iteration)
            values, vectors = smallest_eigenvectors(L, c + 1)
            if values[:c].sum() > 1e-9:  # fewer than c components
                lam, F = 2 * lam, vectors[:, :c]
            elif values.sum() < 1e-11:  # more than c; the F that led here stays
                lam = lam / 2
            elif iteration > 1:
                break
            else:
                F = vectors[:, :c]
        projections.warn_if_not_unique()
        graph.eliminate_zeros()
        self.graph_ = graph
        self.lam_path_ = np.array(lams)
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        return W


def _to_neighbors(rows: Matrix, indices: NDArray[np.intp]) -> Matrix:
    """Squared distances of rows to some others, ``(n, k)``."""
    return np.sum((rows[:, None] - rows[indices]) ** 2, axis=2)
