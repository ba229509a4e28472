"""NLGMS: row-sparse graph embedding with a low-rank self-representation of samples."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.rivals._counted import CountedSelector
from tensift.rivals._nlgms_solver import RowSparse, go_start, random_start, solve_nlgms
from tensift.selection import Constraints

__all__ = ["NLGMS"]

_SHARE_OF_FEATURES = 5 / 6  # as in the authors' program: 250 columns for 300 features


class NLGMS(CountedSelector):
    """Select features by non-convex regularised graph embedding and self-representation (NLGMS).

    The method chooses ``k`` features, and directions in them that vary least along a graph of
    samples. It learns the graph together with a low-rank representation of each sample by the other
    samples. With samples as the columns of ``X``, it solves

        min 2 tr(W'(X - E) L_S (X - E)'W) + r ||S||^2 + lambda1 ||Z||_* + lambda2 ||E||^2

    over ``X = X Z + E``, orthonormal ``W`` with ``k`` rows that are not zero, and a graph ``S``
    whose rows are distributions over neighbours.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them. This number is ``k``. Another number is
        another problem: a larger selection need not contain a smaller one. With `feature_mode`,
        ``k`` is the number of elements that the features to keep have together.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_components : int or None, default=None
        The number of columns of ``W``, at most ``k``. None: five sixths of ``k``, like the 250
        columns for 300 features in the authors' program.
    lambda1, lambda2 : float, default=100.0
        The weights of the nuclear norm and of the residual. The defaults are those of the authors'
        program.
    n_neighbors : int, default=5
        The number of neighbours of a sample in the graph.
    scale : {"features", "max"} or None, default="features"
        "features" scales every feature to [0, 1]. The authors make this part of the method:
        without it, features that vary little are selected. "max" divides the data by their largest
        absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    variant : {"intended", "released"}, default="intended"
        The authors' program departs from its own objective in three places. It rebuilds the graph
        from the data instead of the projected samples, so ``S`` never changes. Its ``E`` lacks the
        part outside the span of ``W``. The bound that makes the matrix of the W step positive is
        that of ``X``, not of ``X - E``. "released" follows the program; "intended" follows the
        objective.
    start : {"go", "random"}, default="go"
        The first ``W``. It largely decides which features are selected, because later steps hardly
        change the support. "random", as in the program, takes the best of ten random orthonormal
        matrices. "go" is deterministic: it takes the ``k`` largest diagonal entries of the best
        approximation of rank `n_components` to the matrix of the W step.
    init : array-like of shape (d, n_components) or None, default=None
        A matrix whose columns span those of the first ``W``. It replaces `start`. Rows are the
        elements of a sample in row-major order.
    max_iter : int, default=30
        The largest number of iterations.
    tol : float, default=1e-3
        Stop when the objective changes by less than this, as in the program.
    random_state : int, RandomState or None, default=None
        The seed of the "random" start.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map: the diagonal whose ``k`` largest entries choose the rows of ``W``. It also
        ranks the features that were not chosen.
    order_ : ndarray of int
        Flat row-major indices of all features, best first. Equal scores are ordered by the
        features' standard deviations, then by index.
    projection_ : ndarray of shape (d, n_components)
        ``W``. Rows that were not chosen are zero.
    graph_ : csr_array of shape (n, n)
        ``S``.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It may rise, because the constraint ``X = X Z + E``
        holds only in the limit.
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
    The weight of the constraints starts at 1e-6 and grows by a tenth in each iteration, as in the
    program. In 30 iterations it stays so small that the threshold for the singular values of ``Z``
    exceeds all of them, unless `lambda1` is tiny. The low-rank term then has no effect.

    Constant features are left out of the problem and come last.

    Let ``m`` be the number of columns of ``W``, ``r = min(n, d)`` and ``l = min(n, m)``. An
    iteration takes ``O(n d r + n d l + n^2 m)`` operations (the last term is for the neighbours)
    and one sparse factorisation of the graph. No matrix is larger than the data or ``k x m``. The
    authors' program takes ``O(d^3 + n^3)``. With far fewer samples than features, more than ``m``
    directions in ``k`` features have no energy. ``W`` then consists of some of these, the same ones
    in every run.

    References
    ----------
    Bai, Huang, Zhong: Precise feature selection via non-convex regularized graph embedding and
    self-representation for unsupervised learning. Knowledge-Based Systems, 2024. The row-sparse
    step and the start are those of FSPCA: Tian et al., NeurIPS 2020.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import NLGMS
    >>> X = load_digits().data[:100]
    >>> selector = NLGMS(n_features_to_select=10).fit(X)
    >>> selector.scores_.shape
    (8, 8)
    >>> selector.transform(X).shape
    (100, 10)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CountedSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "lambda1": [Interval(Real, 0, None, closed="left")],
        "lambda2": [Interval(Real, 0, None, closed="left")],
        "scale": [StrOptions({"features", "max"}), None],
        "start": [StrOptions({"go", "random"})],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        selection: str = "top",
        n_components: int | None = None,
        lambda1: float = 100.0,
        lambda2: float = 100.0,
        n_neighbors: int = 5,
        scale: str | None = "features",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        variant: str = "intended",
        start: str = "go",
        init: ArrayLike | None = None,
        max_iter: int = 30,
        tol: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_components = n_components
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.variant = variant
        self.start = start
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        varying = self._varying(rows)
        data = rows[:, varying]
        if self.scale == "features":
            data = (data - data.min(axis=0)) / np.ptp(data, axis=0)
        k = self._n_wanted(data.shape[1])
        n_neighbors = self._n_neighbors(data)
        embedding = solve_nlgms(
            data,
            self._start(data, varying, k, n_neighbors),
            k,
            lambda1=self.lambda1,
            lambda2=self.lambda2,
            n_neighbors=n_neighbors,
            released=self.variant == "released",
            max_iter=self.max_iter,
            tol=self.tol,
            report=self._progress("NLGMS"),
        )
        self.projection_ = np.zeros((len(varying), embedding.weights.values.shape[1]))
        self.projection_[varying] = embedding.weights.dense(data.shape[1])
        self.graph_ = embedding.graph
        self._set_path(embedding.path)
        self._set_varying_scores(embedding.scores, varying, rows)

    def _start(self, data: NDArray, varying: NDArray, k: int, n_neighbors: int) -> RowSparse:
        """Return the first W."""
        if self.n_components is None:
            m = max(1, round(_SHARE_OF_FEATURES * k))
        else:
            m = self._at_most("n_components", self.n_components, k, f"the {k} features of W")
        given = self._given_start(varying, m)
        if given is None and self.start == "go":
            return go_start(data, k, m, n_neighbors)
        if given is None:
            return random_start(data, m, n_neighbors, check_random_state(self.random_state))
        if np.linalg.matrix_rank(given) < m:
            raise ValueError(
                f"init has linearly dependent columns; pass {m} independent ones, or None"
            )
        return RowSparse(np.arange(len(given)), np.linalg.qr(given)[0])
