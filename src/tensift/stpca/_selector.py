"""STPCA-MP for unsupervised feature selection."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift._utils.progress import progress_bar
from tensift._utils.sklearn_compat import Interval, StrOptions, fit_context
from tensift.labels import SampleDims, groups_of
from tensift.moments import (
    FeatureScale,
    GramTensor,
    Moments,
    MomentsInPasses,
    Orientation,
    OrientedEstimator,
    SamplesInMemory,
    not_kept_message,
    take_in_subsample,
)
from tensift.selection import Constraints, TensorSelector, without_gaps
from tensift.solvers import (
    ExactSolver,
    PaperSolver,
    SliceSolver,
    Solution,
    explained_failure,
    solver_from,
    warn_of_open_slices,
)
from tensift.sources import EvenSubsample, KeptSamples, SampleWeights
from tensift.stpca._auto_orientation import candidates_of, choose_orientation
from tensift.stpca._auto_penalties import choose_penalties
from tensift.stpca._choice import AutomaticChoice
from tensift.stpca._penalties import AUTO, check_fractions, given_penalties, is_auto
from tensift.stpca._scoring import Scoring
from tensift.stpca._zero_score_order import zero_score_order
from tensift.stpca.execution import SliceExecutor, executor_for

__all__ = ["STPCASelector"]


class STPCASelector(OrientedEstimator, TensorSelector):
    """Select features of tensor data by sparse tensor PCA under the star-M product (STPCA-MP).

    The method predicts the features along one mode (the orientation) from each other. It
    transforms all other modes by a matrix M (the basis), which splits the data into frontal slices,
    and finds for every slice a sparse positive semidefinite operator that reconstructs the slice
    from few of its features. The score of a feature is its weight in all reconstructions.

    The solver sees the data only through the ``q x q`` Gram matrices of the slices. The method can
    therefore stream (`partial_fit`), and its memory does not grow with the number of samples.

    Samples may be arrays of PyTorch, CuPy, JAX or any library that follows the array API standard,
    on any device. Attributes and return values are then arrays of that library on that device.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default="auto"
        How many features to keep, or which share of them. "auto" keeps the smallest number that
        keeps 94 % as many nearest neighbours of samples as any number does, on samples that the
        features were not chosen on (`tensift.selection.suggest_count`).
    selection : {"geometry", "reconstruct", "top"}, default="geometry"
        The rule that selects once features have scores. "geometry" keeps samples recognisable: it
        prefers features on which samples agree that look alike, and adds them one after another so
        that none repeats the others (`GeometrySelector`). "reconstruct" adds the feature that
        helps most to predict the others (`ColumnSubsetSelector`). In both, the square root of the
        score is a weight. "top" keeps the features with the largest scores, as the paper does.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    orientation : int, str or "auto", default=0
        The mode along which features predict each other (Dir1 of the paper is 0, Dir2 is 1), by
        number, or by name if the samples have names. "auto" tries all modes and keeps the one
        whose selected features keep samples most recognisable (`tensift.metrics.judge_selections`).
    basis : str, ndarray, pair of callables, or a list of these, default="identity"
        The transform M along every other mode: "identity", "dft", "dct", "haar", "eigen",
        "random", an invertible matrix, or ``(forward, inverse)``. A list has one for each other
        mode, in order. "auto" tries "identity", "dct", "haar" and "eigen" along all other modes,
        and chooses as `orientation` does.
    lam, eta : float or "auto", default="auto"
        The weights of the column norms and of the trace. "auto" chooses them without labels: the
        strongest penalties that still explain 90 % of the variance that features share (see
        `PenaltyChoice`). This takes a few solutions instead of one. The paper's values for rapid
        deployment are 10 and 10, for data scaled to [-1, 1].
    penalty_units : {"absolute", "relative"}, default="absolute"
        Whether `lam` and `eta` are used as they are, or are fractions of their critical values.
        Above its critical value, a penalty alone makes the optimum of every slice zero. Two
        fractions that sum to 1 leave nothing. Fractions do not depend on the scale of the data.
    feature_mode : int, str or None, default=None
        None: every element is a feature (the paper's tube-wise data). A mode, by number or, if the
        samples have names, by name: every index along it is a feature (slice-wise), and its score
        is the sum over its elements.
    score_by : {"operator", "energy"}, default="operator"
        "operator" is the paper's score: the weight of a feature in the reconstruction operators.
        "energy" multiplies it by the standard deviation of the feature. With ``basis="dft"`` all
        features of a row have the same operator score, and only "energy" tells them apart.
    solver : {"exact", "paper"}, ExactSolver or PaperSolver, default="exact"
        "exact" minimises the stated problem, with the paper's ridge of 1e-3, and proves for every
        slice how close it came (`dual_gap_`). "paper" is the authors' iteration, which stops
        somewhat above the optimum. Pass an object to change the settings, for example
        ``ExactSolver(tol=1e-8)`` or ``PaperSolver(max_iter=500)``.
    scale : {"max", "feature"} or None, default="max"
        "max" divides the data by their largest absolute value, as the paper does. "feature" divides
        every feature by its standard deviation, for features in different units: then their units
        do not count. With `feature_mode`, all elements of a feature are divided by the same number,
        the root of their mean variance. Constant features stay constant, with a score of zero.
        With a basis that mixes features, deviations take one more pass over the samples, which
        must then be readable twice: no iterator, no Moments, no `partial_fit`. None leaves the data
        as they are. The paper's penalties are for "max".
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    sample_dim : hashable, list of these or None, default=None
        The dimension of a DataArray that counts samples, or several: ``("y", "x")`` if every pixel
        of a scene is a sample. None: the first.
    missing : {"raise", "allow"}, default="raise"
        What NaN means. "raise": an error. "allow": a value that was not observed (see Notes).
    n_jobs : int or None, default=None
        The number of threads, -1 for as many as cores. They share the slices, and the samples and
        features that the selection looks at. The result does not depend on it. It has no effect on
        a device. A single slice is solved with the threads of BLAS instead, and their number may
        change its last digits.
    random_state : int, RandomState or None, default=None
        The seed of the "random" basis.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map.
    order_ : ndarray of int
        Flat row-major feature indices, best first. The `n_features_` selected features come first,
        in the order in which they were selected; the others follow in the order of what they would
        add next. Fit with the largest number you need to have all of them selected. With "top"
        features are sorted by score, then by standard deviation, then by index. The exact solver
        gives some features a score of exactly zero; "top" sorts those by where they enter as both
        penalties decrease together.
    n_features_ : int
        How many features are kept.
    selection_curve_ : ndarray
        At ``t - 1`` what the first ``t`` of `order_` reach by the rule, on the samples that are
        looked at (see Notes). With "geometry": how similar samples look in these features and in
        all, from 0 to 1. With "reconstruct": the share of the variance of all features that they
        explain by least squares. Absent with "top".
    suggested_count_ : SuggestedCount
        With "auto": the number of features and why it was chosen.
    lam_, eta_ : float
        The penalties of the problem that was solved.
    choice_ : AutomaticChoice
        What was chosen for parameters that were "auto", what else was tried, and why. Print it to
        read the reasons.
    operators_ : ndarray of shape (p, q, q)
        Reconstruction operators in the transform domain, slices in row-major order of the other
        modes.
    objective_, n_iter_ : ndarray of shape (p,)
        The final objective of each slice, and its number of steps.
    objective_path_ : ndarray of shape (p, steps)
        The objective of each slice after every step; NaN after its last one. For the exact solver,
        the lowest so far.
    dual_objective_, dual_gap_ : ndarray of shape (p,)
        Exact solver only: a lower bound for the objective of each slice, and how far above it the
        objective is, as a share of the objective.
    orientation_ : int
        `orientation` as a non-negative number.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.
    n_samples_seen_ : int
        The number of samples fitted whose weight is not zero; with ``missing="allow"``, those with
        any value.
    missing_ : MissingValues
        With ``missing="allow"``: what was missing.

    Notes
    -----
    All rules but "top", and "auto", look at some evenly spaced samples: those whose index is a
    multiple of the smallest power of two that leaves at most 2048 samples (fewer if samples are
    large, see `tensift.sources.even_subsample`). They are the same whether samples come in an
    array, from files, in chunks, from Dask, by `partial_fit`, or as the moments that
    `collect_moments` returns. Moments that were merged have none, and need "top" and a number.
    Samples with weights lie on a line, each as long as its weight, and those are kept that contain
    a multiple of the step. A whole-number weight is like copies of a sample, to rounding, as long
    as these copies are few enough to be kept. Copies of a sample count as one sample with a weight,
    also if nobody gave weights.

    With ``missing="allow"`` covariances are those of `tensift.moments.ObservedMoments`. Samples
    that rules look at, and all if a basis mixes elements, get conditional means in the gaps.

    The paper's solver starts from ``A = I / 2``, where the authors' program draws a random
    diagonal. For complex slices the program uses the objective of the conjugate operator to decide
    when to stop. We do the same, but `objective_` is that of the operators themselves.

    References
    ----------
    J. Zheng, X. Zhang, W. Jiang, X. Qiu, M. Ren: Orientation-Aware Sparse Tensor PCA for
    Efficient Unsupervised Feature Selection.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> X = load_digits().data
    >>> selector = STPCASelector(n_features_to_select=20).fit(X)
    >>> selector.scores_.shape
    (8, 8)
    >>> selector.transform(X).shape
    (1797, 20)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TensorSelector._parameter_constraints,
        **OrientedEstimator._parameter_constraints,
        **OrientedEstimator._may_be_missing,
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({AUTO})],
        "eta": [Interval(Real, 0, None, closed="left"), StrOptions({AUTO})],
        "penalty_units": [StrOptions({"absolute", "relative"})],
        "score_by": [StrOptions({"operator", "energy"})],
        "solver": [StrOptions({"exact", "paper"}), ExactSolver, PaperSolver],
        "scale": [StrOptions({"max", "feature"}), None],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "verbose": ["verbose"],
    }
    _takes_device_arrays = True
    _solves_in_passes = True
    _keeps_subsample = True  # `reconstruct` learns from it, whatever the rule
    choice_: AutomaticChoice

    def __init__(
        self,
        n_features_to_select: int | float | str = AUTO,
        *,
        selection: str = "geometry",
        constraints: Constraints | None = None,
        orientation: int | str = 0,
        basis: Any = "identity",
        lam: float | str = AUTO,
        eta: float | str = AUTO,
        penalty_units: str = "absolute",
        feature_mode: int | str | None = None,
        score_by: str = "operator",
        solver: str | ExactSolver | PaperSolver = "exact",
        scale: str | None = "max",
        feature_shape: tuple[int, ...] | None = None,
        sample_dim: SampleDims = None,
        missing: str = "raise",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.constraints = constraints
        self.orientation = orientation
        self.basis = basis
        self.lam = lam
        self.eta = eta
        self.penalty_units = penalty_units
        self.feature_mode = feature_mode
        self.score_by = score_by
        self.solver = solver
        self.scale = scale
        self.feature_shape = feature_shape
        self.sample_dim = sample_dim
        self.missing = missing
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context
    def fit(
        self,
        X: ArrayLike | Moments,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score the features of `X` and select among them.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m) or (n, d), a source, or Moments
            Samples, finite but for what `missing` allows. They may be complex. Memory maps, HDF5,
            Zarr and Dask arrays, and iterators over chunks of samples are read one chunk at a time.
            Moments (`tensift.collect_moments`) stand for the samples they were collected from.
        y : None
            Ignored.
        sample_weight : array-like of shape (n,), optional
            How much each sample counts: 3 like three copies of it, 0 like its absence.
        groups : array-like of shape (n,), optional
            The group of each sample, such as its subject; or "recordings", if `X` are several. All
            groups then count equally: weights are scaled to the same sum in each. An automatic
            number of features is judged on whole groups that the features were not chosen on.

        Returns
        -------
        self
        """
        if self._chooses_orientation():
            return self._fit_best_candidate(X, sample_weight, groups)
        return super().fit(X, None, sample_weight, groups)

    @cached_property
    def operators_(self) -> NDArray:
        """The reconstruction operators of all slices, computed when first read."""
        if isinstance(self._moments, MomentsInPasses):
            raise AttributeError  # `__getattr__` says why
        return self._moments.orientation.expand(self._solution.operators)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Return the share of the energy of centred samples that the operators reconstruct.

        A higher score means that the operators of the fitted samples also reconstruct `X` well. It
        falls as `lam` and `eta` grow, so only compare settings of similar sparsity.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m), or (n, d)
            Samples, usually held out.
        y : None
            Ignored.

        Returns
        -------
        float
            ``1 - sum ||X_j - A_j X_j||^2 / sum ||X_j||^2`` over the slices, at most 1.
        """
        check_is_fitted(self)
        return self._share_reconstructed(X, self._solution.operators)

    def __getattr__(self, name: str) -> Any:
        if name == "operators_" and isinstance(vars(self).get("_moments"), MomentsInPasses):
            raise AttributeError(not_kept_message("operators_"))
        return super().__getattr__(name)

    def _fit_best_candidate(self, X: Any, sample_weight: Any, groups: Any) -> Self:
        """Fit every candidate for the orientation and the basis, and become the best one."""
        weights = SampleWeights.of(sample_weight, groups_of(X, groups))
        candidates = candidates_of(self, X)
        kept = take_in_subsample(clone(self), X, weights=weights)
        fitted = [
            clone(self)
            .set_params(orientation=orientation, basis=basis)
            .fit(X, None, sample_weight, groups)
            for orientation, basis in candidates
        ]
        kept = without_gaps(fitted[0]._kept_in_units(kept).to_numpy())
        kept = replace(kept, observed=None)  # estimates are taken as they are
        supports = [to_numpy(one.get_support(indices=True)) for one in fitted]
        tried = [(one.orientation_, one.basis) for one in fitted]
        mode, names = fitted[0]._mode_of_features(), fitted[0].names_
        chosen = choose_orientation(tried, supports, kept, mode, names)
        best = fitted[chosen.chosen]
        parameters = self._get_param_names()
        self._forget_results()
        self.__dict__.update({k: v for k, v in vars(best).items() if k not in parameters})
        self.choice_ = replace(best.choice_, orientation=chosen)
        return self

    def _chooses_orientation(self) -> bool:
        """Whether the orientation or the basis is chosen automatically."""
        return is_auto(self.orientation) or is_auto(self.basis)

    def _resolve_orientation(self) -> None:
        if self._chooses_orientation():
            raise ValueError(
                "orientation='auto' and basis='auto' are chosen from all samples, which "
                "partial_fit never sees together; use fit, or give both"
            )
        super()._resolve_orientation()

    def _check_features(self) -> None:
        self._mode_of_features()

    def _check_parameters(self) -> None:
        check_fractions(self.penalty_units, {"lam": self.lam, "eta": self.eta})

    def _solve(self, samples: SamplesInMemory | None) -> None:
        """Solve the slices, score the features, and select among them."""
        moments = self._moments_in_units()
        orientation, self._deviations = moments.orientation, moments.orientation.deviations
        executor = executor_for(moments, self.scale)
        settings = solver_from(self.solver)
        solver = settings.resolve(many_samples=moments.widest < moments.sample_size)
        scoring = self._scoring(orientation, moments)
        with explained_failure():
            solution = self._solve_slices(executor, solver)
            scores = scoring.scores(solution.norms)
            ties = [scoring.feature_spread]
            if solver.name == "exact" and self.selection == "top":
                ties = [*self._order_of_zeros(solution, scoring, executor, solver), *ties]
        self._keep_solution(solution, orientation)
        scoring.warn_of_constant_rows()
        self._set_feature_scores(scores, ties, self._rows_to_look_at())

    def _order_of_zeros(
        self, solution: Solution, scoring: Scoring, executor: SliceExecutor, solver: SliceSolver
    ) -> list[Any]:
        """Return `ties` of `rank_features` that order the features with a score of zero."""
        total = math.prod(scoring.feature_spread.shape)
        wanted = total if self.n_features_to_select == AUTO else self._count(total, None)
        return zero_score_order(
            solution.norms,
            scoring.scores,
            scoring.feature_spread > 0,
            wanted,
            executor.columns_that_vary,
            executor.norms_at_smaller_penalties(solver, self.lam_, self.eta_, self.n_jobs),
        )

    def _keep_solution(self, solution: Solution, orientation: Orientation) -> None:
        """Store the results of all slices, and warn of slices that did not reach the tolerance."""
        self._solution = solution
        self.objective_ = orientation.expand(solution.objective)
        self.n_iter_ = orientation.expand(solution.n_iter)
        self.objective_path_ = orientation.expand(solution.objective_path)
        gaps = None
        if solution.dual is not None and solution.dual_gap is not None:
            self.dual_objective_ = orientation.expand(solution.dual)
            self.dual_gap_ = gaps = orientation.expand(solution.dual_gap)
        warn_of_open_slices(
            orientation.expand(solution.converged),
            lambda j: f"slice {j}" if gaps is None else f"slice {j} (gap {float(gaps[j]):.1e})",
            f"{orientation.n_slices} slices",
        )

    def _solve_slices(self, executor: SliceExecutor, solver: SliceSolver) -> Solution:
        """Solve the slices under the given penalties, or choose the penalties and solve."""
        callback = progress_bar("solving slices", executor.n_slices) if self.verbose else None
        lam, eta = given_penalties(self.penalty_units, self.lam, self.eta, executor)
        if lam is None or eta is None:
            solution, chosen = choose_penalties(
                executor, solver, self._moments.sample_size, lam, eta, self.n_jobs, callback
            )
            self.choice_ = AutomaticChoice(chosen)
            self.lam_, self.eta_ = chosen.lam, chosen.eta
            return solution
        self.choice_ = AutomaticChoice()
        self.lam_, self.eta_ = lam, eta
        return executor.solve(solver, lam, eta, self.n_jobs, callback)

    def _feature_scale(self) -> FeatureScale | None:
        return FeatureScale(self._mode_of_features()) if self.scale == "feature" else None

    def _moments_in_units(self) -> Moments:
        """Return the moments of the samples in the units that the model sees."""
        scale, moments = self._feature_scale(), self._moments
        if moments.orientation.deviations is not None and self._divided_by != scale:
            raise ValueError(
                "scale or feature_mode was changed after the samples were divided by the "
                "deviations of features; fit again"
            )
        return moments if scale is None else scale.standardised(moments)

    def _needs_subsample(self) -> bool:
        return self._keeps_subsample

    def _keep_samples(self, samples: Any, weights: SampleWeights | None = None) -> None:
        """Keep nothing: the moments have the samples."""

    def _samples_to_learn_from(self) -> EvenSubsample | None:
        return self._moments.subsample

    def _rows_to_look_at(self) -> KeptSamples | None:
        """Return the samples that the selection looks at, if it needs some and they are known."""
        looks = self.selection != "top" or self.n_features_to_select == AUTO
        if not looks or self._moments.subsample is None:
            return None
        return self._kept_in_units(self._moments.subsample.kept())

    def _scoring(self, orientation: Orientation, data: Moments | GramTensor) -> Scoring:
        return Scoring(
            orientation,
            Scoring.spread_of(data),
            self._mode_of_features(),
            energy=self.score_by == "energy",
            root=not solver_from(self.solver).squared_scores,
        )
