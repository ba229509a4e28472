"""SPCAFS: feature selection by sparse PCA with an l_{2,p} norm."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.sklearn_compat import Interval
from tensift._utils.warnings import warn_user
from tensift.rivals._extreme_eigenvectors import DiagonalAndGram
from tensift.rivals._reweighting import row_norms_sum, row_weights
from tensift.rivals._spread import with_roots
from tensift.rivals._vectorised import WeighedSelector
from tensift.selection import Constraints
from tensift.sources import SampleWeights

__all__ = ["SPCAFS"]

_DEFAULT_COMPONENTS = 10


class SPCAFS(WeighedSelector):
    """Select features by PCA whose projection has few rows (SPCAFS).

    Let ``S`` be the scatter matrix of the centred samples. The method finds a projection ``W``,
    with ``d`` rows and `n_components` columns, that minimises

        -tr(W' S W) + gamma ||W||_{2,p}^p  subject to  W' W = I,

    where the norm is the sum of ``|w_i|^p`` over the rows of ``W``. The score of a feature is the
    squared norm of its row.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_components : int or None, default=None
        The number of columns of the projection, at most the rank of the centred samples. None: 10,
        or the rank if it is smaller. The authors leave the choice to the user.
    gamma : float, default=1.0
        The weight of the row norms. Its effect depends on ``S``, which grows with the number of
        samples and with the square of their scale.
    p : float in (0, 2], default=1.0
        The power. A smaller power leaves fewer rows. The authors' program uses 1.
    scale : {"max"} or None, default="max"
        "max" divides the data by their largest absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    max_iter : int, default=50
        The largest number of iterations.
    tol : float, default=1e-6
        Stop when the objective changes by less than this.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The squared row norms of the projection. They sum to `n_components`.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    weights_ : ndarray of shape (d, n_components)
        The projection ``W`` of the flattened features.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration.
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
    The iterations are those of the authors. The columns of ``W`` are the eigenvectors of the
    smallest eigenvalues of ``gamma diag(q) - S``. At first ``q`` is 1, which gives PCA; then it is
    ``p/2 (|w_i|^2 + eps)^((p-2)/2)`` with an ``eps`` of 2.2e-16. The objective never rises if its
    norms contain the same ``eps``. The problem is not convex, and a row that has vanished stays
    zero.

    A large `gamma` leaves exactly `n_components` rows. The scores of all other features are then
    below 1e-14, and only tell how strongly they are related to the rows that are left.

    The authors' program passes a matrix that is not exactly symmetric, because of rounding errors,
    to a general eigensolver. With more features than samples this can return wrong eigenvectors, so
    we do not offer it as a variant. The program also computes its objective with ``p = 1`` whatever
    `p` is; we use `p`.

    If samples are fewer than a quarter of the features, no ``d x d`` matrix is formed. An iteration
    then costs ``O(d n^2)``, starts from the previous projection, and proves by a count of
    eigenvalues that the eigenvectors are right. If the proof fails, because eigenvalues are equal,
    there is a warning. With more samples, iterations cost ``O(d^3)``.

    References
    ----------
    Z. Li, F. Nie, J. Bian, D. Wu, X. Li: Sparse PCA via l2,p-Norm Regularization for Unsupervised
    Feature Selection, IEEE TPAMI 45(4), 2023.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import SPCAFS
    >>> X = load_digits().data[:200]
    >>> selector = SPCAFS(n_features_to_select=20, gamma=10.0).fit(X)
    >>> selector.transform(X).shape
    (200, 20)
    >>> round(float(selector.scores_.sum()), 6)
    10.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **WeighedSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "p": [Interval(Real, 0, 2, closed="right")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_components: int | None = None,
        gamma: float = 1.0,
        p: float = 1.0,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 50,
        tol: float = 1e-6,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_components = n_components
        self.gamma = gamma
        self.p = p
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol

    def _fit_rows(self, rows: NDArray[np.float64], weights: SampleWeights | None = None) -> None:
        factor = _scatter_factor(rows, weights)
        width = self._width(factor.shape[1])
        problem = DiagonalAndGram(factor, sign=-1)
        by_row = np.ones(rows.shape[1])
        block = factor / np.linalg.norm(factor, axis=0)
        path: list[float] = []
        certified = True
        for _ in range(self.max_iter):
            lowest = problem.lowest(self.gamma * by_row, width, block)
            W, block = lowest.vectors, lowest.block
            certified = certified and lowest.certified
            by_row = row_weights(W, self.p)
            path.append(self.gamma * row_norms_sum(W, self.p) - float(np.sum((factor.T @ W) ** 2)))
            if len(path) > 1 and abs(path[-1] - path[-2]) < self.tol:
                break
        if not certified:
            warn_user(
                f"the {width} smallest eigenvalues cannot be told apart from the next one, so the "
                "projection is not unique; use another n_components or another gamma"
            )
        self.weights_ = W
        self.objective_path_ = np.array(path)
        self.objective_ = path[-1]
        self.n_iter_ = len(path)
        self._set_row_scores(np.einsum("ij,ij->i", W, W), rows, weights)

    def _width(self, rank: int) -> int:
        if self.n_components is None:
            return min(_DEFAULT_COMPONENTS, rank)
        return self._at_most(
            "n_components", self.n_components, rank, f"the rank {rank} of the centred samples"
        )


def _scatter_factor(
    rows: NDArray[np.float64], weights: SampleWeights | None
) -> NDArray[np.float64]:
    """Return ``C`` with ``C C' = S`` and orthogonal columns, the longest first."""
    centred = with_roots(rows, weights)
    _, values, right = np.linalg.svd(centred, full_matrices=False)
    rank = np.count_nonzero(values > max(rows.shape) * np.finfo(float).eps * values[0])
    return right[:rank].T * values[:rank]
