"""Robust neighbourhood embedding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift.graphs import nearest_neighbors
from tensift.rivals._counted import CountedSelector
from tensift.rivals._rne_embedding import embed, fast_sweeps, paper_sweeps
from tensift.selection import Constraints

__all__ = ["RNE", "local_weights"]

# Ridges as shares of the trace. The second one only matters for duplicated samples.
_RIDGE_IF_MORE_NEIGHBORS, _RIDGE = 1e-3, 1e-12
_PAPER_FIRST_WEIGHT = 10.0
_FAST_TOL = 1e-4


class RNE(CountedSelector):
    """Select features by robust neighbourhood embedding (RNE).

    As in locally linear embedding, every sample is reconstructed from its nearest neighbours, with
    weights ``W`` that sum to 1. This leaves the residual ``A = X - W X``. The method then finds
    non-negative and nearly orthogonal weights ``H`` of the features that make the residual small:

        min ||A H||_1 + alpha / 4 ||H'H - I||^2    over H >= 0

    ``H`` has as many columns as features are to be selected. The score of a feature is the squared
    norm of its row of ``H``.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them. Unless `n_components` is given, this is
        the number of columns of ``H``. Another number is then another problem: a larger selection
        need not contain a smaller one.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_components : int or None, default=None
        The number of columns of ``H``. None: the number of features to keep; with `feature_mode`,
        the number of elements that those features have. This takes long if channels have many
        elements. The published times are only possible with one column per channel.
    n_neighbors : int, default=5
        The number of neighbours that reconstruct a sample.
    alpha : float, default=1000.0
        The weight of orthogonality. The default is that of the authors' program.
    scale : {"max", "samples"} or None, default="max"
        "max" divides the data by their largest absolute value. "samples" scales every sample to
        norm 1, as in the authors' demonstration. None leaves the data as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    variant : {"intended", "released"}, default="intended"
        The authors' program stores the weights of sample ``i`` in row ``i`` but multiplies by the
        transpose: ``A = X - W'X``. This is not the residual, and it is much larger. "released"
        follows the program; "intended" does what is described above.
    solver : {"fast", "paper"} or None, default=None
        "paper" is the authors' iteration: 30 multiplicative sweeps per turn, which split ``A'A``
        into its positive and negative entries. "fast" is described in the notes. None: "fast" for
        the intended variant, "paper" for the released one.
    init : array-like of shape (d, m) or None, default=None
        The ``H`` to start from. All entries must be positive; rows are the elements of a sample
        in row-major order. None draws the entries uniformly from (0, 1].
    max_iter : int, default=50
        The largest number of turns.
    tol : float or None, default=None
        Stop when the objective changes by less than this share of it. None: 1e-4 for "fast", and 0
        for "paper", which then makes all turns, as in the authors' program.
    random_state : int, RandomState or None, default=None
        The seed of the start.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map.
    order_ : ndarray of int
        Flat row-major indices of all features, best first. Equal scores are ordered by the
        features' standard deviations, then by index.
    embedding_ : ndarray of shape (d, m)
        ``H``, with zeros in the rows of constant features.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every turn.
    n_iter_ : int
        The number of turns.
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
    The result depends on the start. With the authors' iteration the dependence is strong: the
    selections from two starts have hardly more in common than random ones. Report several seeds.

    Both solvers use an augmented Lagrangian for ``M = A H``, with a weight that grows by a tenth in
    each turn. The objective usually falls from turn to turn, but this is not guaranteed.

    "fast" minimises the same objective over ``H`` with columns of norm 1. (The authors' program
    also scales the columns to norm 1, in every sweep.) It makes 10 sweeps per turn, bounds
    ``|A'A|`` by products of column norms, and lengthens the steps while the augmented Lagrangian
    falls. It forms no ``d x d`` matrix if ``d > n``. It ends at a lower objective: on JAFFE faces
    with every eighth pixel, 50 features and `alpha` 1000, at 138 where "paper" ends at 192 (means
    of two seeds).

    The objective rewards features that vary little as much as features that neighbours predict
    well. The single features with the smallest sums of ``|A|`` are nearly as good as its best
    solutions. Constant features are left out of the problem and come last.

    With ``m`` columns of ``H``, a sweep takes ``O(min(n, d) d m + d m^2)`` operations for "fast"
    and ``O(d^2 m)`` for "paper", which holds one ``d x d`` matrix. The weights take ``O(n^2 d)``.

    References
    ----------
    Liu, Ye, Li, Wang, Wang: Robust neighborhood embedding for unsupervised feature
    selection. Knowledge-Based Systems, 2020.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import RNE
    >>> X = load_digits().data[:200]
    >>> selector = RNE(n_features_to_select=10, random_state=0).fit(X)
    >>> selector.scores_.shape
    (8, 8)
    >>> selector.transform(X).shape
    (200, 10)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CountedSelector._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "scale": [StrOptions({"max", "samples"}), None],
        "solver": [StrOptions({"fast", "paper"}), None],
    }

    def __init__(
        self,
        n_features_to_select: int | float = 100,
        *,
        selection: str = "top",
        n_components: int | None = None,
        n_neighbors: int = 5,
        alpha: float = 1e3,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        variant: str = "intended",
        solver: str | None = None,
        init: ArrayLike | None = None,
        max_iter: int = 50,
        tol: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.variant = variant
        self.solver = solver
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        if self.scale == "samples":
            rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        varying = self._varying(rows)
        if not varying.any():
            raise ValueError(
                "scale='samples' makes all samples equal, because they differ only by a factor "
                "(always so with 1 feature(s)); use scale='max' or None"
            )
        data = rows[:, varying]
        W = local_weights(data, self._n_neighbors(data))
        residual = data - (W.T if self.variant == "released" else W) @ data
        start = self._start(varying)
        fast = self.solver == "fast" or (self.solver is None and self.variant == "intended")
        if fast:
            start = start / np.linalg.norm(start, axis=0)
            # In the units of the data, so that the penalty is as large as the terms of ||A H||_1.
            first_weight, tol = 1 / max(np.abs(residual @ start).mean(), 1e-100), _FAST_TOL
        else:
            first_weight, tol = _PAPER_FIRST_WEIGHT, 0.0
        H, path = embed(
            residual,
            start,
            self.alpha,
            (fast_sweeps if fast else paper_sweeps)(residual, self.alpha),
            first_weight=first_weight,
            max_iter=self.max_iter,
            tol=tol if self.tol is None else self.tol,
            report=self._progress("RNE"),
        )
        self.embedding_ = np.zeros((len(varying), H.shape[1]))
        self.embedding_[varying] = H
        self._set_path(path)
        self._set_varying_scores(np.sum(H**2, axis=1), varying, rows)

    def _start(self, varying: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the given or a random start, for the features that vary."""
        limit = int(varying.sum())
        if self.n_components is None:
            width = self._n_wanted(limit)
        else:
            why = f"the {limit} elements that vary"
            width = self._at_most("n_components", self.n_components, limit, why)
        start = self._given_start(varying, width)
        if start is None:
            draws = check_random_state(self.random_state).random_sample((len(varying), width))
            return 1 - draws[varying]
        if not (start > 0).all():
            raise ValueError(
                "init must be positive, because entries that start at zero stay zero; add a small "
                "number"
            )
        return start


def local_weights(X: NDArray, n_neighbors: int) -> csr_array:
    """Return weights ``(n, n)`` that reconstruct every row of `X` from its neighbours; sum 1."""
    n, d = X.shape
    nearest = nearest_neighbors(X, n_neighbors)[0]
    products = np.empty((n, n_neighbors, n_neighbors))
    for i, neighbors in enumerate(nearest):
        differences = X[neighbors] - X[i]
        products[i] = differences @ differences.T
    trace = np.trace(products, axis1=1, axis2=2)
    ridge = (_RIDGE_IF_MORE_NEIGHBORS if n_neighbors > d else _RIDGE) * trace
    # If all neighbours equal the row, any weights reconstruct it. Avoid a singular system.
    ridge = np.where(trace > 0, ridge, 1.0)
    products += ridge[:, None, None] * np.eye(n_neighbors)
    weights = np.linalg.solve(products, np.ones((n, n_neighbors, 1)))[..., 0]
    weights /= weights.sum(axis=1, keepdims=True)
    starts = np.arange(n + 1) * n_neighbors
    return csr_array((weights.ravel(), nearest.ravel(), starts), shape=(n, n))
