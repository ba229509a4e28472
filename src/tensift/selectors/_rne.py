"""Robust neighbourhood embedding."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from tensift.graphs import nearest_neighbors
from tensift.selectors._counted import CountedSelector
from tensift.selectors._rne_embedding import bold_sweeps, embed, published_sweeps

__all__ = ["RNE", "local_weights"]

_RIDGE_MORE_NEIGHBORS, _RIDGE = 1e-3, 1e-12  # shares of the trace; the second for duplicates only
_PAPER_WEIGHT = 10.0
_FAST_TOL = 1e-4


class RNE(CountedSelector):
    """Select features by robust neighbourhood embedding (RNE).

    Every sample is reconstructed from its nearest neighbours, with weights ``W`` that sum to 1, as
    in locally linear embedding. Non-negative and nearly orthogonal weights ``H`` of the features
    then leave as little as possible of the residual ``A = X - W X``:

        min ||A H||_1 + alpha / 4 ||H'H - I||^2    over H >= 0 with as many columns as features
                                                   are to be selected

    A feature's score is the squared length of its row of ``H``.

    Parameters
    ----------
    n_features_to_select : int or float in (0, 1), default=100
        How many features to keep, or which share of them. Unless `n_components` is given, the
        number is that of the columns of ``H``: another number is another problem, and what it
        selects need not contain what a smaller one selects.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    n_components : int or None, default=None
        The number of columns of ``H``. None: as many as features to keep, with `feature_mode` as
        many as those have elements. On channels of many elements that takes long; the published
        times leave room for a column a channel only.
    n_neighbors : int, default=5
        How many neighbours reconstruct a sample.
    alpha : float, default=1000.0
        Weight of orthogonality, as in the authors' program.
    scale : {"max", "samples"} or None, default="max"
        Divide the data by their largest absolute value, give every sample length one, as in the
        authors' demonstration, or leave the data.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, scored
        by the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    variant : {"intended", "released"}, default="intended"
        The authors' program stores the weights of sample ``i`` in row ``i`` and then multiplies by
        the transpose: ``A = X - W'X``, which is no residual and is larger by far. "released"
        follows it; "intended", the default, does what is described above.
    solver : {"fast", "paper"} or None, default=None
        "paper" is the authors' iteration: 30 multiplicative sweeps a turn, in which the positive
        and negative parts of ``A'A`` are taken entry by entry. "fast" is described in the notes.
        None means "fast" for the intended variant and "paper" for the released one.
    init : array-like of shape (d, m) or None, default=None
        The positive ``H`` to start from; rows are elements of a sample in row-major order. None
        draws it uniformly from (0, 1].
    max_iter : int, default=50
        Turns at most.
    tol : float or None, default=None
        Stop when the objective changes by less than this share of it. None means 1e-4 for "fast"
        and 0, all turns as in the authors' program, for "paper".
    random_state : int, RandomState or None, default=None
        Seed of the start.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map.
    ranking_ : ndarray of int
        Flat row-major indices of all features, best first. Equal scores are ordered by the
        features' standard deviations, then by index.
    embedding_ : ndarray of shape (d, m)
        ``H``, with zeros in the rows of features that do not vary.
    objective_ : float
        The objective at the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every turn.
    n_iter_ : int
        The number of turns.
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
    The result depends on the start, and with the authors' iteration strongly: sets selected from
    two starts have hardly more in common than random ones. Report several seeds.

    Both solvers use multipliers for ``M = A H`` with a weight that grows by a tenth a turn. The
    objective usually falls from turn to turn, but nothing in the method says that it must.

    "fast" minimises the same objective with columns of ``H`` of length one, to which the authors'
    program scales them in every sweep. It makes 10 sweeps a turn, in which it bounds ``|A'A|`` by
    the lengths of columns and takes steps as long as the augmented Lagrangian falls. It forms no
    ``d x d`` matrix if ``d > n``, and ends lower: on JAFFE faces with every eighth pixel, 50
    features and `alpha` 1000 at 138 where "paper" ends at 192 (means of two seeds).

    The objective rewards features that vary little as much as features that neighbours predict
    well: the single features with the least sum of ``|A|`` are nearly as good as its best
    solutions. Features that do not vary at all are left out of the problem and come last.

    A sweep takes ``O(min(n, d) d m + d m^2)`` operations for "fast" and ``O(d^2 m)`` for "paper",
    which holds one ``d x d`` matrix. The weights take ``O(n^2 d)``.

    References
    ----------
    Liu, Ye, Li, Wang, Wang: Robust neighborhood embedding for unsupervised feature
    selection. Knowledge-Based Systems, 2020.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import RNE
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
                "scale='samples' leaves nothing that varies: all samples point the same way, as "
                "those with 1 feature(s) do; use scale='max' or None"
            )
        data = rows[:, varying]
        W = local_weights(data, self._n_neighbors(data))
        residual = data - (W.T if self.variant == "released" else W) @ data
        start = self._start(varying)
        fast = self.solver == "fast" or (self.solver is None and self.variant == "intended")
        if fast:
            start = start / np.linalg.norm(start, axis=0)
            # As large as the terms of the sum that it competes with, whatever the data's units.
            first_weight, tol = 1 / max(np.abs(residual @ start).mean(), 1e-100), _FAST_TOL
        else:
            first_weight, tol = _PAPER_WEIGHT, 0.0
        H, path = embed(
            residual,
            start,
            self.alpha,
            (bold_sweeps if fast else published_sweeps)(residual, self.alpha),
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
        """The given start or one that is drawn, for the features that vary."""
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
                "init must be positive: what starts at zero stays there; add a small number"
            )
        return start


def local_weights(X: NDArray, n_neighbors: int) -> csr_array:
    """Weights that sum to 1 and reconstruct every row of `X` from its nearest rows, ``(n, n)``."""
    n, d = X.shape
    nearest = nearest_neighbors(X, n_neighbors)[0]
    products = np.empty((n, n_neighbors, n_neighbors))
    for i, neighbors in enumerate(nearest):
        differences = X[neighbors] - X[i]
        products[i] = differences @ differences.T
    trace = np.trace(products, axis1=1, axis2=2)
    ridge = (_RIDGE_MORE_NEIGHBORS if n_neighbors > d else _RIDGE) * trace
    # A row whose neighbours all equal it is reconstructed by any weights.
    ridge = np.where(trace > 0, ridge, 1.0)
    products += ridge[:, None, None] * np.eye(n_neighbors)
    weights = np.linalg.solve(products, np.ones((n, n_neighbors, 1)))[..., 0]
    weights /= weights.sum(axis=1, keepdims=True)
    starts = np.arange(n + 1) * n_neighbors
    return csr_array((weights.ravel(), nearest.ravel(), starts), shape=(n, n))
