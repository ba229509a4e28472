"""Unsupervised discriminative feature selection."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh
from scipy.sparse import csr_array
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from tensift.graphs import nearest_neighbors
from tensift.graphs._inverse_krylov import lowest_from_guess
from tensift.selectors._reweighting import row_norms_sum, row_weights
from tensift.selectors._vectorised import VectorisedSelector

__all__ = ["UDFS"]

Matrix = NDArray[np.float64]

_BLOCK = 2**20  # numbers that a block of neighbourhoods may hold
_DENSE_SIZE = 200  # up to this size a dense decomposition is as fast as anything


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
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them.
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
    objective_path_ : ndarray of shape (n_iter_,)
        The objective after every iteration; it never rises.
    n_iter_ : int
        The number of iterations.
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
        n_features_to_select: int | float = 100,
        *,
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
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.lam = lam
        self.scale = scale
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Score the features of `X`.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Real samples, without NaN or infinity.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        rows = self._rows(X)
        varying = self._varying(rows)
        count = int(np.count_nonzero(varying))
        width = self._at_most(
            "n_clusters", self.n_clusters, count, f"the {count} features that vary"
        )
        indices, _ = nearest_neighbors(rows, self._n_neighbors(rows))
        centred = rows[:, varying] - rows[:, varying].mean(axis=0)
        scatter = _Scatter(centred, _alignment(centred, indices, self.lam))
        W, path = _minimise(scatter, width, self.gamma, self.max_iter, self.tol)
        self.weights_ = np.zeros((rows.shape[1], width))
        self.weights_[varying] = W
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        self._set_row_scores(np.linalg.norm(self.weights_, axis=1), rows)
        return self


def _alignment(rows: Matrix, indices: NDArray[np.intp], lam: float) -> csr_array:
    """The sparse ``A`` with ``M = X' A X``: inverted local scatter, summed over neighbourhoods."""
    n, k = indices.shape
    members = np.concatenate([np.arange(n)[:, None], indices], axis=1)
    local = np.empty((n, k + 1, k + 1))
    step = max(1, _BLOCK // ((k + 1) * rows.shape[1]))
    for start in range(0, n, step):
        block = slice(start, start + step)
        samples = rows[members[block]]
        samples -= samples.mean(axis=1, keepdims=True)
        local[block] = samples @ np.swapaxes(samples, 1, 2)
    inverse = np.linalg.inv(local + lam * np.eye(k + 1))
    inverse -= inverse.mean(axis=1, keepdims=True)
    inverse -= inverse.mean(axis=2, keepdims=True)
    row = np.repeat(members, k + 1, axis=1).ravel()
    column = np.tile(members, (1, k + 1)).ravel()
    return csr_array((inverse.ravel(), (row, column)), shape=(n, n))


class _Scatter:
    """The matrix ``M = X' A X``, and the lowest eigenvectors of its sums with diagonals.

    It is held as a factor ``C``, ``M = C C'``, if its rank is less than half of its size.
    """

    def __init__(self, rows: Matrix, alignment: csr_array) -> None:
        n, self.size = rows.shape
        self._factor: Matrix | None = None
        if 2 * n < self.size:
            values, vectors = np.linalg.eigh(alignment.toarray())
            self._factor = rows.T @ (vectors * np.sqrt(np.maximum(values, 0)))
        else:
            matrix = rows.T @ (alignment @ rows)
            self._matrix = (matrix + matrix.T) / 2

    def energy(self, W: Matrix) -> float:
        """``tr(W' M W)``."""
        return float(np.trace(self._compressed(np.zeros(self.size), W)))

    def lowest(self, diagonal: Matrix, count: int, guess: Matrix | None) -> tuple[Matrix, Matrix]:
        """The `count` lowest eigenvectors of ``M + diag``, and a guess at those of the next sum."""
        width = min(count + 3, self.size)
        if self._factor is not None and guess is None:
            noise = np.random.RandomState(0).standard_normal((self.size, width))
            guess = np.linalg.qr(noise)[0]
        if guess is not None and self.size > _DENSE_SIZE:
            energies = np.linalg.eigvalsh(self._compressed(diagonal, guess))
            block = lowest_from_guess(
                lambda shift: self._inverse(diagonal - shift), guess, energies, count
            )
            if block is not None:
                return block[:, :count], block
        block = eigh(self._plus(diagonal), subset_by_index=(0, width - 1), overwrite_a=True)[1]
        return block[:, :count], block

    def null_energies(self) -> tuple[int, Matrix]:
        """The dimension of the null space, and the squared norms ``(d,)`` of its rows."""
        limit = self.size * np.finfo(float).eps
        if self._factor is not None:
            values, vectors = np.linalg.eigh(self._factor.T @ self._factor)
            kept = values > limit * values[-1]
            span = self._factor @ (vectors[:, kept] / np.sqrt(values[kept]))
        else:
            shift = np.full(self.size, limit * np.trace(self._matrix))
            try:
                cho_factor(self._plus(-shift), overwrite_a=True, check_finite=False)
            except LinAlgError:
                values, vectors = np.linalg.eigh(self._matrix)
                span = vectors[:, values > limit * values[-1]]
            else:
                return 0, np.zeros(self.size)
        outside = np.einsum("ij,ij->i", span, span)
        return self.size - span.shape[1], np.maximum(1 - outside, 0)

    def _plus(self, diagonal: Matrix) -> Matrix:
        matrix = self._matrix.copy() if self._factor is None else self._factor @ self._factor.T
        matrix.flat[:: self.size + 1] += diagonal
        return matrix

    def _compressed(self, diagonal: Matrix, W: Matrix) -> Matrix:
        """``W' (M + diag) W``."""
        if self._factor is None:
            inner = W.T @ (self._matrix @ W)
        else:
            half = self._factor.T @ W
            inner = half.T @ half
        return inner + W.T @ (diagonal[:, None] * W)

    def _inverse(self, diagonal: Matrix) -> Callable[[Matrix], Matrix]:
        """Products with the inverse of ``M + diag``."""
        if self._factor is None:
            cholesky = cho_factor(self._plus(diagonal), overwrite_a=True, check_finite=False)
            return lambda vectors: cho_solve(cholesky, vectors, check_finite=False)
        if diagonal.min() <= 0:
            raise LinAlgError("the low-rank inverse takes a positive diagonal")
        root = np.sqrt(diagonal)[:, None]
        scaled = self._factor / root
        inner = scaled.T @ scaled
        inner.flat[:: len(inner) + 1] += 1
        cholesky = cho_factor(inner, overwrite_a=True, check_finite=False)

        def solve(vectors: Matrix) -> Matrix:
            vectors = vectors / root
            return (vectors - scaled @ cho_solve(cholesky, scaled.T @ vectors)) / root

        return solve


def _minimise(
    scatter: _Scatter, width: int, gamma: float, max_iter: int, tol: float
) -> tuple[Matrix, list[float]]:
    """Reweight until the objective falls no more: the projection, and all objectives."""
    weights = np.ones(scatter.size)
    dimension, energies = scatter.null_energies()
    if dimension > width:
        weights = row_weights(np.sqrt(width / dimension * energies)[:, None])
    path: list[float] = []
    guess = None
    for _ in range(max_iter):
        W, guess = scatter.lowest(gamma * weights, width, guess)
        weights = row_weights(W)
        path.append(scatter.energy(W) + gamma * row_norms_sum(W))
        if len(path) > 1 and path[-2] - path[-1] <= tol * path[-1]:
            break
    return W, path
