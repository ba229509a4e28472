"""Multi-cluster feature selection."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.sparse import csr_array

from tensift._utils.sklearn_compat import Interval
from tensift._utils.stacks import peak_phases
from tensift.graphs import laplacian, smallest_eigenvectors
from tensift.rivals._lasso_path import lasso_weights_at_count
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["MCFS"]


class MCFS(VectorisedSelector):
    """Select features that explain the spectral embedding of the samples (MCFS).

    The method builds a graph of nearest neighbours with weights ``S``, degrees ``D`` and Laplacian
    ``L = D - S``. The embeddings ``y`` solve ``L y = lambda D y`` for the smallest ``lambda``; the
    constant one is left out. A lasso then explains each embedding by few features: ``a`` minimises
    ``|y - X a|^2 + penalty * |a|_1``, with the largest penalty for which `n_nonzero` weights are
    not zero. The score of a feature is its largest absolute weight over all embeddings.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_clusters : int, default=5
        The number of embeddings. The paper uses the number of clusters.
    n_neighbors : int, default=5
        The number of neighbours that each sample is joined to.
    n_nonzero : int or None, default=None
        The number of non-zero weights for every embedding. None: the number of features to select.
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
        The largest absolute weights.
    order_ : ndarray of int
        Flat row-major feature indices, best first. Features without a weight are ordered by
        standard deviation.
    embedding_ : ndarray of shape (n, n_clusters)
        The embeddings ``y``, with ``y' D y = 1``.
    weights_ : ndarray of shape (d, n_clusters)
        The weights ``a`` of the flattened features.
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
    A fit takes ``O(n^2 d)`` for the neighbours, solves a sparse eigenproblem of size ``n``, and
    follows one lasso path for every embedding, which takes ``O(min(n, d) d)`` at each breakpoint.
    A path ends when it has enough weights, or when its penalty is a tenth of a millionth of the
    number of samples. Samples are centred for the regression, as with an intercept. A feature that
    is a linear combination of those in the path stays out of it. So the first of several equal
    features gets the weight.

    If the graph has several connected components, the eigenvalue ``lambda = 0`` is repeated. The
    method does not say which combinations of the components are the embeddings.

    References
    ----------
    D. Cai, C. Zhang, X. He: Unsupervised Feature Selection for Multi-Cluster Data, KDD 2010.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import MCFS
    >>> X = load_digits().data[:200]
    >>> MCFS(n_features_to_select=20, n_clusters=10).fit_transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_nonzero": [Interval(Integral, 1, None, closed="left"), None],
        "width": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        selection: str = "top",
        n_clusters: int = 5,
        n_neighbors: int = 5,
        n_nonzero: int | None = None,
        width: float | None = None,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_nonzero = n_nonzero
        self.width = width
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        others = len(rows) - 1
        n_embeddings = self._at_most(
            "n_clusters", self.n_clusters, others, f"the {others} embeddings of {len(rows)} samples"
        )
        self.embedding_ = _embedding(self._heat_kernel_graph(rows), n_embeddings)
        # Centred samples span at most one dimension less than there are samples.
        limit = min(others, rows.shape[1])
        wanted = self._n_wanted(limit) if self.n_nonzero is None else min(self.n_nonzero, limit)
        targets = self.embedding_ - self.embedding_.mean(axis=0)
        self.weights_ = lasso_weights_at_count(rows - rows.mean(axis=0), targets, wanted)
        self._set_row_scores(np.abs(self.weights_).max(axis=1), rows)


def _embedding(graph: csr_array, count: int) -> NDArray[np.float64]:
    """Solve ``L y = lambda D y`` for the smallest ``lambda``, without the constant solution."""
    values, vectors = smallest_eigenvectors(laplacian(graph, normed=True), count + 1)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    constant = np.sqrt(degrees)
    # If eigenvalue zero is repeated, every one of its vectors may contain part of the constant one.
    # Project the constant vector out instead of dropping the first.
    others = null_space((constant / np.linalg.norm(constant) @ vectors)[None])
    others = others[:, :count]
    mixing = np.linalg.eigh(others.T @ (values[:, None] * others))[1]
    vectors = vectors @ others @ mixing
    vectors = vectors * peak_phases(vectors)
    return vectors / np.sqrt(np.maximum(degrees, np.finfo(float).tiny))[:, None]
