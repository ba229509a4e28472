"""CPUFS: feature selection by rank-one classifiers on a non-negative CP decomposition."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import Interval
from tensift._utils.warnings import warn_user
from tensift.graphs import heat_kernel_graph, laplacian
from tensift.rivals._cpufs_updates import CPModel, CPRun
from tensift.rivals._vectorised import VectorisedSelector
from tensift.selection import Constraints

__all__ = ["CPUFS", "CPUFSnn"]

_MAX_RESTARTS = 60  # with half the step each, after a run has diverged


class CPUFS(VectorisedSelector):
    """Unsupervised feature selection via graph regularised non-negative CP decomposition.

    The method decomposes the samples into one rank-one tensor per cluster. The factor of the
    samples gives pseudo-labels, which are smooth on a graph of neighbours. For every cluster, a
    rank-one classifier (the outer product of one vector per mode) predicts its pseudo-labels. The
    score of a feature is the sum of its squared weights in all classifiers.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    n_clusters : int, default=10
        The number of clusters ``c``: the CP rank and the number of classifiers, at most the number
        of samples. The authors use the true number of classes. The method cannot find it, and the
        default is only a round number: set it if you know better.
    n_neighbors : int, default=5
        The number of neighbours in the graph of samples. Weights are heat kernels of width 1.
    mu, alpha, beta : float, default=1.0
        The weights of the graph, of the error of the classifiers, and of their sparsity.
    eta : float, default=1e5
        The weight that ties the pseudo-labels to the factor of the samples.
    n_init : int, default=1
        The number of runs from different random starts. With more than one, the scores are the
        mean of the score maps, each divided by its sum. The authors report single runs, whose
        order of features depends strongly on the seed.
    init : dict or None, default=None
        The start, instead of a random one. The keys are "factors" (a list of arrays ``(d_i, c)``),
        "sample_factor" ``(n, c)`` and "classifiers" (a list of arrays ``(c, d_i)``).
    step_size : float or None, default=None
        The step of the gradient descent for the classifiers. None: the largest power of 1/2 that
        lowers their objective from a random start. If a run diverges, the step is halved and the
        run is repeated.
    scale : {"max"} or None, default="max"
        "max" divides the data by their largest absolute value; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    max_iter : int, default=500
        The number of iterations.
    tol : float, default=0.0
        Stop when the objective changes by no more than this share of it. 0: never stop early, as
        in the authors' program.
    random_state : int, RandomState or None, default=None
        The seed of the starts and of the search for a step size.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map; 0 for constant features.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    run_scores_ : ndarray of shape (n_init, d_1, ..., d_m)
        The score map of every run. It shows how much the scores depend on the seed.
    objective_, objective_path_, n_iter_, step_size_
        For the run with the lowest objective: the final objective, the objective after every
        iteration, the number of iterations, and the step.
    factors_, sample_factor_, pseudo_labels_, classifiers_
        For the same run: the arrays ``A_i (d_i, c)``, ``C (n, c)``, ``F (n, c)``, ``U_i (c, d_i)``.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    n_features_in_, feature_shape_
        The number of elements of a sample, and its shape.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.

    See Also
    --------
    CPUFSnn : The same with non-negative classifiers.

    Notes
    -----
    The method minimises, subject to ``C^T C = I`` and ``A_i, F >= 0``, ::

        ||X - [[A_1, ..., A_m, C]]||^2 + mu Tr(C^T L F) + alpha ||H - F||^2
        + beta ||W||_{2,1} + eta ||C - F||^2

    where row ``r`` of ``W`` is the outer product of the rows ``r`` of all ``U_i``, and
    ``H = X W^T``. The updates are those of the authors' program, for samples of any order. For
    matrices they agree with it to rounding. With one mode, the classifiers are linear.

    The objective may rise: the steps of the classifiers have a fixed length, and the gradient of
    the norms jumps where a feature vanishes. All other updates are exact minimisations. This
    includes the multiplicative updates of ``A_i``, which solve least squares as soon as ``C`` is
    orthonormal, that is, after the first iteration. Negative data therefore work, but give a
    warning, because factors become negative too and are no longer parts of the data.

    An iteration takes 4 products with the data, ``O(n d c)``. In addition, each of the 3 m steps of
    the classifiers takes one product with a quarter of the Gram matrix of features,
    ``O(d^2 c / 4)``. If ``d > 3 n``, an iteration takes 2 products with the data, and one more for
    each step.

    References
    ----------
    B. Chen, J. Guan, Z. Li: Unsupervised Feature Selection via Graph Regularized Nonnegative CP
    Decomposition. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2023.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import CPUFS
    >>> X = load_digits().data[:200]
    >>> selector = CPUFS(20, max_iter=20, random_state=0).fit(X)
    >>> selector.scores_.shape
    (8, 8)
    >>> selector.transform(X).shape
    (200, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **VectorisedSelector._parameter_constraints,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "mu": [Interval(Real, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "beta": [Interval(Real, 0, None, closed="left")],
        "eta": [Interval(Real, 0, None, closed="neither")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [dict, None],
        "step_size": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _nonnegative: ClassVar[bool] = False

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        n_clusters: int = 10,
        n_neighbors: int = 5,
        mu: float = 1.0,
        alpha: float = 1.0,
        beta: float = 1.0,
        eta: float = 1e5,
        n_init: int = 1,
        init: dict[str, Any] | None = None,
        step_size: float | None = None,
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        max_iter: int = 500,
        tol: float = 0.0,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.alpha = alpha
        self.beta = beta
        self.eta = eta
        self.n_init = n_init
        self.init = init
        self.step_size = step_size
        self.scale = scale
        self.constraints = constraints
        self.feature_mode = feature_mode
        self.feature_shape = feature_shape
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def _fit_rows(self, rows: NDArray[np.float64]) -> None:
        if rows.min() < 0:
            warn_user(
                f"X has negative values, and {type(self).__name__} is meant for non-negative data: "
                "its CP factors will not be parts of the data; subtract the smallest value to get "
                "parts"
            )
        if self.init is not None and self.n_init > 1:
            raise ValueError(
                f"n_init={self.n_init} runs would all start from init; pass only one of the two"
            )
        model = self._model(rows)
        report = progress_bar("iterating", self.n_init * self.max_iter) if self.verbose else None
        seeds = check_random_state(self.random_state).randint(2**31, size=int(self.n_init))
        runs = []
        for number, seed in enumerate(seeds):

            def tell(iteration: int, before: int = number * self.max_iter) -> None:
                if report is not None:
                    report(before + iteration)

            runs.append(self._run(model, np.random.RandomState(seed), tell))
        self._set_runs(runs, np.stack([model.scores(run) for run in runs]), rows)

    def _model(self, rows: NDArray[np.float64]) -> CPModel:
        n = len(rows)
        n_clusters = self._at_most("n_clusters", self.n_clusters, n, f"the {n} samples in X")
        graph = heat_kernel_graph(rows, self._n_neighbors(rows), width=1.0)
        return CPModel(
            rows,
            self.feature_shape_,
            laplacian(graph, normed=True),
            n_clusters,
            mu=self.mu,
            alpha=self.alpha,
            beta=self.beta,
            eta=self.eta,
            nonnegative=self._nonnegative,
        )

    def _run(
        self, model: CPModel, rng: np.random.RandomState, report: Callable[[int], None]
    ) -> CPRun:
        """Run once; start again with half the step whenever the run diverges."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            step_size = self.step_size or model.search_step_size(rng)
            for _ in range(_MAX_RESTARTS):
                if self.init is None:
                    run = model.random_start(rng, step_size)
                else:
                    run = model.given_start(self.init, step_size)
                if model.iterate(run, self.max_iter, self.tol, report):
                    return run
                step_size /= 2
        raise ValueError(
            f"every run diverged, down to a step_size of {step_size:.0e}; use scale='max', or "
            f"lower alpha={self.alpha}, beta={self.beta}, mu={self.mu} or eta={self.eta}"
        )

    def _set_runs(self, runs: list[CPRun], scores: NDArray, rows: NDArray) -> None:
        """Store the best run, and the scores of all runs ``(n_init, d)``."""
        best = min(runs, key=lambda run: run.path[-1])
        self.objective_path_ = np.array(best.path)
        self.objective_, self.n_iter_ = best.path[-1], len(best.path)
        self.step_size_ = best.step_size
        self.factors_ = [factor.T for factor in best.factors]
        self.sample_factor_, self.pseudo_labels_ = best.sample_factor, best.labels
        self.classifiers_ = best.classifiers
        self.run_scores_ = scores.reshape(-1, *self.feature_shape_)
        if len(runs) > 1:
            totals = scores.sum(axis=1, keepdims=True)
            scores = scores / np.where(totals > 0, totals, 1)
        self._set_row_scores(scores.mean(axis=0), rows)
        if self.tol > 0 and not all(run.converged for run in runs):
            warn_user(
                f"the objective still changed by more than tol={self.tol} after "
                f"max_iter={self.max_iter} iterations; increase max_iter or tol",
                ConvergenceWarning,
            )


class CPUFSnn(CPUFS):
    """CPUFS with non-negative classifiers.

    After every step, negative entries of the classifiers are set to zero, and pseudo-labels are at
    least machine epsilon. Otherwise this is `CPUFS`, with its parameters and attributes. A
    classifier that is zero in all modes stays zero, so a large `beta` can remove all features.
    Features without a score are ordered by their standard deviations.

    See Also
    --------
    CPUFS : Classifiers of either sign; describes all parameters.

    References
    ----------
    B. Chen, J. Guan, Z. Li: Unsupervised Feature Selection via Graph Regularized Nonnegative CP
    Decomposition. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2023.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import CPUFSnn
    >>> X = load_digits().data[:200]
    >>> selector = CPUFSnn(20, max_iter=20, random_state=0).fit(X)
    >>> [bool((classifier >= 0).all()) for classifier in selector.classifiers_]
    [True, True]
    """

    _nonnegative: ClassVar[bool] = True
