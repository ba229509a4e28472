"""Multi-cluster feature selection."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lars_path
from sklearn.utils._param_validation import Interval

from tensift._stacks import peak_phases
from tensift.graphs import laplacian, smallest_eigenvectors
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["MCFS"]


class MCFS(VectorisedSelector):
    """Select features that explain the spectral embedding of the samples (MCFS).

    A graph of nearest neighbours with weights ``S``, degrees ``D`` and Laplacian ``L = D - S``
    has the embeddings ``L y = lambda D y`` of smallest ``lambda``, the constant one left out.
    Each is explained by few features: ``a`` minimises ``|y - X a|^2 + penalty * |a|_1``, with the
    largest penalty for which so many weights as wanted are not zero. The score of a feature is
    its largest absolute weight for any embedding.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them.
    n_clusters : int, default=5
        The number of embeddings, for which the paper takes the number of clusters.
    n_neighbors : int, default=5
        Samples that are joined to every sample.
    n_nonzero : int or None, default=None
        Features with a weight, for every embedding. None: the number of features to select.
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

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Largest absolute weights.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first. Features without any weight are ordered by
        their standard deviations.
    embedding_ : ndarray of shape (n, n_clusters)
        The embeddings ``y``, with ``y' D y = 1``.
    weights_ : ndarray of shape (d, n_clusters)
        The weights ``a`` of the flattened features.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.

    Notes
    -----
    ``O(n^2 d)`` for the neighbours, a sparse eigenproblem of size ``n``, and one path of the
    lasso by least angle regression for every embedding, ``O(n d n_nonzero)``. Samples are centred
    for the regression, as with an intercept. A feature that is a combination of others in the
    path stays out of it, so of equal features the first takes the weight.

    If the graph falls into several parts, ``lambda = 0`` is repeated, and which combinations of
    the parts are the embeddings is not determined by the method.

    References
    ----------
    D. Cai, C. Zhang, X. He: Unsupervised Feature Selection for Multi-Cluster Data, KDD 2010.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import MCFS
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
        n_clusters: int = 5,
        n_neighbors: int = 5,
        n_nonzero: int | None = None,
        width: float | None = None,
        scale: str | None = "max",
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.n_nonzero = n_nonzero
        self.width = width
        self.scale = scale
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        others = len(rows) - 1
        n_embeddings = self._at_most(
            "n_clusters", self.n_clusters, others, f"the {others} embeddings of {len(rows)} samples"
        )
        self.embedding_ = _embedding(self._heat_kernel_graph(rows), n_embeddings)
        # Centred samples span one dimension less than there are samples.
        limit = min(others, rows.shape[1])
        wanted = self._n_wanted(limit) if self.n_nonzero is None else min(self.n_nonzero, limit)
        self.weights_ = _lasso_weights(rows, self.embedding_, wanted)
        self._set_row_scores(np.abs(self.weights_).max(axis=1), rows)


def _embedding(graph: csr_array, count: int) -> NDArray[np.float64]:
    """Solutions of ``L y = lambda D y`` of the smallest ``lambda``, without the constant one."""
    values, vectors = smallest_eigenvectors(laplacian(graph, normed=True), count + 1)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    constant = np.sqrt(degrees)
    # Among several vectors of eigenvalue zero the constant one is not the first, but a mixture.
    others = null_space((constant / np.linalg.norm(constant) @ vectors)[None])
    others = others[:, :count]
    mixing = np.linalg.eigh(others.T @ (values[:, None] * others))[1]
    vectors = vectors @ others @ mixing
    vectors = vectors * peak_phases(vectors)
    return vectors / np.sqrt(np.maximum(degrees, np.finfo(float).tiny))[:, None]


def _lasso_weights(
    rows: NDArray[np.float64], targets: NDArray[np.float64], n_nonzero: int
) -> NDArray[np.float64]:
    """Weights ``(d, m)`` on the lasso path of every target where `n_nonzero` first are not zero."""
    centred = rows - rows.mean(axis=0)
    gram = centred.T @ centred if rows.shape[1] <= len(rows) else None
    weights = np.empty((rows.shape[1], targets.shape[1]))
    for column, target in enumerate(targets.T):
        weights[:, column] = _on_lasso_path(centred, target - target.mean(), gram, n_nonzero)
    return weights


def _on_lasso_path(
    X: NDArray[np.float64], y: NDArray[np.float64], gram: NDArray | None, n_nonzero: int
) -> NDArray[np.float64]:
    steps = n_nonzero
    while True:
        with warnings.catch_warnings():
            # Said of features that are combinations of those in the path: they stay out of it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            path = lars_path(X, y, Gram=gram, max_iter=steps, method="lasso")[2]
        counts = np.count_nonzero(path, axis=0)
        reached = np.flatnonzero(counts >= n_nonzero)
        if len(reached):
            return path[:, reached[0]]
        if path.shape[1] <= steps:  # the end of the path, before the steps were used up
            return path[:, -1]
        steps *= 2  # features that left the path made it longer
