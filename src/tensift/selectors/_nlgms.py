"""NLGMS: row-sparse graph embedding with a low-rank self-representation of samples."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tensift.selectors._counted import CountedSelector
from tensift.selectors._nlgms_solver import RowSparse, go_start, random_start, solve_nlgms

__all__ = ["NLGMS"]

_SHARE_OF_FEATURES = 5 / 6  # the program's 250 columns for 300 features


class NLGMS(CountedSelector):
    """Select features by non-convex regularised graph embedding and self-representation (NLGMS).

    With samples as the columns of ``X``, ``k`` features are chosen such that few directions in
    them vary least along a graph of samples, which is learned together with a low-rank
    representation of the samples by one another:

        min 2 tr(W'(X - E) L_S (X - E)'W) + r ||S||^2 + lambda1 ||Z||_* + lambda2 ||E||^2

    over ``X = X Z + E``, orthonormal ``W`` with ``k`` rows that are not zero, and a graph ``S``
    whose rows are distributions over neighbours.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them. The number, to which a share is resolved
        first, is ``k``: another number is another problem, and what it selects need not contain
        what a smaller one selects. With `feature_mode` it is the number of elements that the
        features to keep have together.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_components : int or None, default=None
        The number of columns of ``W``, at most ``k``. None means five sixths of ``k``, as 250 for
        300 features in the authors' program.
    lambda1, lambda2 : float, default=100.0
        Weights of the nuclear norm and of the residual, as in the authors' program.
    n_neighbors : int, default=5
        Neighbours of a sample in the graph.
    scale : {"features", "max"} or None, default="features"
        Scale every feature to [0, 1], which the method's authors make part of it: otherwise
        features that vary little win. Or divide the data by their largest absolute value, or
        leave them.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, scored
        by the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    variant : {"intended", "released"}, default="intended"
        The authors' program departs from its own objective in three places: it rebuilds the graph
        from the data where the projected samples are meant, so that ``S`` never changes; its ``E``
        lacks the part outside of the span of ``W``; and the bound that makes the matrix of the W
        step positive is that of ``X``, not of ``X - E``. "released" follows it; "intended", the
        default, does what the objective asks for.
    start : {"go", "random"}, default="go"
        The first ``W``. "random" is the program's, the best of ten random orthonormal matrices; it
        decides which features are selected, as later steps hardly move the support. "go", the
        default, has no such luck in it: it takes the ``k`` largest diagonal entries of the best
        approximation of rank `n_components` to the matrix of the W step.
    init : array-like of shape (d, n_components) or None, default=None
        A matrix whose columns span those of the first ``W``, instead of `start`; rows are elements
        of a sample in row-major order.
    max_iter : int, default=30
        Iterations at most.
    tol : float, default=1e-3
        Stop when the objective changes by less, as the program does.
    random_state : int, RandomState or None, default=None
        Seed of the "random" start.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map: the diagonal whose ``k`` largest entries are the rows of ``W``. It is
        defined for all features, and ranks those that were not chosen as well.
    ranking_ : ndarray of int
        Flat row-major indices of all features, best first. Equal scores are ordered by the
        features' standard deviations, then by index.
    projection_ : ndarray of shape (d, n_components)
        ``W``, with zeros in the rows that were not chosen.
    graph_ : csr_array of shape (n, n)
        ``S``.
    objective_ : float
        The objective at the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every iteration. It may rise, because the constraint ``X = X Z + E`` is
        met only in the limit.
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
    The weight of the constraints starts at 1e-6 and grows by a tenth an iteration, as in the
    program. In 30 iterations it stays so small that the threshold for the singular values of ``Z``
    exceeds all of them, unless `lambda1` is tiny: the low-rank term takes no part.

    Features that do not vary are left out of the problem and come last.

    With ``r = min(n, d)`` and ``l = min(n, m)`` an iteration takes ``O(n d r + n d l + n^2 m)``
    operations, the last of them for the neighbours, and one sparse factorisation of the graph. No
    matrix is larger than the data or ``k x m``; the authors' takes ``O(d^3 + n^3)``. If ``k``
    features have more than `m` directions of no energy, as with far fewer samples than features,
    ``W`` is made of some of them, the same in every run.

    References
    ----------
    Bai, Huang, Zhong: Precise feature selection via non-convex regularized graph embedding and
    self-representation for unsupervised learning. Knowledge-Based Systems, 2024. The row-sparse
    step and the start are those of FSPCA: Tian et al., NeurIPS 2020.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import NLGMS
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
        """The first W."""
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
                f"init has linearly dependent columns; give {m} independent ones, or None"
            )
        return RowSparse(np.arange(len(given)), np.linalg.qr(given)[0])
