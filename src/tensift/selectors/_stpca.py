"""STPCA-MP for unsupervised feature selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tensift._namespace import namespace_of
from tensift._progress import progress_bar
from tensift.base import OrientedEstimator, ParameterAndMethod
from tensift.base._passes import MomentsInPasses, why_not_kept
from tensift.gram import GramTensor, Moments, Orientation
from tensift.selectors._auto_orientation import TRANSFORMS, choose_orientation
from tensift.selectors._auto_penalties import FIRST_FRACTION, choose_penalties
from tensift.selectors._base import TensorSelector
from tensift.selectors._choice import AutomaticChoice
from tensift.selectors._covariances import covariances_of_slices
from tensift.selectors._entry import entry_scores
from tensift.selectors._penalties import AUTO, check_fractions, given_penalties, is_auto
from tensift.selectors._scoring import Scoring, pool_elements
from tensift.selectors._slice_solver import SliceSolver, explained_failure, warn_of_open_gaps
from tensift.selectors._slices import Slices, slices_of
from tensift.solvers import Solution
from tensift.sources import source_of

__all__ = ["STPCASelector"]


class STPCASelector(OrientedEstimator, TensorSelector):
    """Select features of tensor data by sparse tensor PCA under the star-M product (STPCA-MP).

    Samples are oriented so that the indices of one mode reconstruct one another, the other modes
    are transformed by M, and each frontal slice yields a sparse positive semidefinite operator
    that reconstructs the slice from few of its features. A feature's score is its weight in all
    reconstructions.

    The computation sees the data only through the ``q x q`` Gram matrices of the slices: it
    streams (`partial_fit`), and its memory does not grow with the number of samples.

    Samples may be arrays of PyTorch, CuPy, JAX or any library that follows the array API standard,
    on any device; attributes are then arrays of that library on that device, and so is what the
    methods return.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or "auto": the number ``t`` for which the
        share of the variance that the first ``t`` features explain exceeds ``t / d`` the most. Any
        more explain less than an equal share, ``1 / d`` each.
    selection : {"diverse", "top"}, default="diverse"
        "diverse" picks features one after another by their score and by how much they vary that
        those before do not explain, so that neighbours do not crowd in (`rank_diverse`). "top" is
        the paper's: the features with the largest scores.
    orientation : int or "auto", default=0
        The feature mode whose indices reconstruct one another (Dir1 of the paper is 0, Dir2 is 1).
        "auto" tries all, and keeps the one whose selected features vary the most.
    transform : str, ndarray, pair of callables, or a list of these, default="identity"
        The transform M along every other mode: "identity", "dft", "dct", "haar", "eigen",
        "random", an invertible matrix, or ``(forward, inverse)``. A list has one for each other
        mode, in order. "auto" tries "identity", "dct", "haar" and "eigen" along all other modes,
        as "auto" of `orientation` does.
    lam, eta : float or "auto", default="auto"
        Weights of the column norms and of the trace. "auto" chooses without labels: about the
        largest, as one fraction of their critical values, under which operators explain nine
        tenths of what features share (see `PenaltyChoice`). It takes a few solutions
        instead of one. The paper's values for rapid deployment are 10 and 10, made for data
        scaled to [-1, 1].
    penalty : {"absolute", "relative"}, default="absolute"
        Whether `lam` and `eta` are taken as they stand, or as fractions of their critical values:
        those above which, without the other penalty, the optimum of every slice is zero. Two
        fractions that sum to 1 leave nothing. Fractions do not depend on the data's scale.
    feature_mode : int or None, default=None
        None: every element is a feature (the paper's tube-wise data). An int: every index along
        that mode is a feature (slice-wise), scored by the sum over its elements.
    score : {"operator", "energy"}, default="operator"
        "operator" is the paper's: a feature's weight in the reconstruction operators. "energy"
        multiplies it by the feature's standard deviation. Under the DFT every feature of a row
        has the same operator score, and only "energy" tells them apart.
    solver : {"paper", "exact"}, default="paper"
        "paper" is the authors' iteration, which stops somewhat above the optimum of the stated
        problem. "exact" minimises it, with the paper's ridge of 1e-3, and proves for every slice
        how close it came (`dual_gap_`).
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, as the paper does, or leave them.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input. None: 2-D input has one feature mode.
    tol : float or None, default=None
        "paper": a slice stops when its objective changes by less; None means 1e-5. "exact": a
        slice stops when its relative duality gap is at most this; None means 1e-6.
    max_iter : int or None, default=None
        Steps at most; None means 100 for "paper" and 1000 for "exact".
    n_jobs : int or None, default=None
        Threads over slices. The result does not depend on it. Without meaning on a device.
    random_state : int, RandomState or None, default=None
        Seed of the "random" transform.
    convention : {"program", "paper"}, default="program"
        Where the paper's text and its authors' program differ. "program": machine epsilon under
        the root of the weights, ridge 1e-3, or 1e-2 if a slice has no more samples than features,
        scores with a square root. "paper": 1e-2 under the root, ridge 1e-3, squared scores.
    stopping : {"absolute", "relative"}, default="absolute"
        Whether the `tol` of the "paper" solver is a change of the objective, as in the paper, or
        a share of it, which does not depend on the scale of the data.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The score map.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first. For "top" in the order of the scores. Equal ones
        are ordered by the features' standard deviations, then by index. For "exact", features with
        a score of zero are first ordered by where they enter as both penalties go down together.
        For "diverse", the `n_features_` that were picked come first, in the order in which they
        were; if more are wanted later, by ``set_params``, they are taken from the others, ordered
        by what they would gain next. Fit with the largest number to have all of them picked.
    n_features_ : int
        How many features are kept.
    explained_energy_ : ndarray
        For "diverse" or "auto": at ``t - 1`` the share of the variance of all features that least
        squares on the first ``t`` of `ranking_` explains, in the samples that were looked at.
    suggested_count_ : SuggestedCount
        For "auto": the number, and why it was chosen.
    lam_, eta_ : float
        The penalties of the problem that was solved.
    choice_ : AutomaticChoice
        What was chosen where "auto" was given, what else was tried, and why; print it for words.
    operators_ : ndarray of shape (p, q, q)
        Reconstruction operators in the transform domain, slices in row-major order of the other
        modes.
    objective_, n_iter_ : ndarray of shape (p,)
        The objective each slice ended with, and its number of steps.
    objective_path_ : ndarray of shape (p, steps)
        The objective of each slice after every step; NaN after its last one. For "exact" the
        least one so far.
    dual_objective_, dual_gap_ : ndarray of shape (p,)
        "exact" only: a value that no operator of the slice can go below, and how far above it
        the objective is, as a share of the objective.
    orientation_ : int
        `orientation`, counted from the front.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    n_samples_seen_ : int
        The number of samples fitted.

    Notes
    -----
    "diverse" and "auto" look at some samples themselves, evenly spaced: those whose index is a
    multiple of the smallest power of two that leaves no more than 32 MiB of them, but at least 32
    and at most 2048 samples. They are the same ones whether samples come in an array, from files,
    in chunks or by `partial_fit`. Where only `Moments` are known, or others than the samples seen
    last, covariances are taken from these, as if different slices were uncorrelated.

    After `partial_fit` the slices are solved when a result is first read, not after every chunk.

    `transform` and `score` name parameters and, as scikit-learn has it, methods. Read from an
    instance they are the methods; ``get_params`` and ``set_params`` see the parameters.

    The start is ``A = I / 2`` where the program draws a random diagonal. For complex slices the
    program watches the objective of the conjugate operator when it decides to stop; this is
    followed, but `objective_` is that of the operators themselves.

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
        "orientation": [Integral, StrOptions({AUTO})],
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({AUTO})],
        "eta": [Interval(Real, 0, None, closed="left"), StrOptions({AUTO})],
        "penalty": [StrOptions({"absolute", "relative"})],
        "score": [StrOptions({"operator", "energy"})],
        "solver": [StrOptions({"paper", "exact"})],
        "scale": [StrOptions({"max"}), None],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
        "convention": [StrOptions({"program", "paper"})],
        "stopping": [StrOptions({"absolute", "relative"})],
        "verbose": ["verbose"],
    }
    _takes_device_arrays = True
    _solves_in_passes = True
    _results: ClassVar[tuple[str, ...]] = (
        "scores_",
        "ranking_",
        "n_features_",
        "explained_energy_",
        "suggested_count_",
        "lam_",
        "eta_",
        "choice_",
        "operators_",
        "_solution",
        "objective_",
        "objective_path_",
        "n_iter_",
        "dual_objective_",
        "dual_gap_",
    )

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "diverse",
        orientation: int | str = 0,
        transform: Any = "identity",
        lam: float | str = AUTO,
        eta: float | str = AUTO,
        penalty: str = "absolute",
        feature_mode: int | None = None,
        score: str = "operator",
        solver: str = "paper",
        scale: str | None = "max",
        feature_shape: tuple[int, ...] | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        convention: str = "program",
        stopping: str = "absolute",
        verbose: bool | int = False,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.selection = selection
        self.orientation = orientation  # type: ignore[assignment]
        self.transform = transform  # type: ignore[method-assign]
        self.lam = lam
        self.eta = eta
        self.penalty = penalty
        self.feature_mode = feature_mode
        self.score = score  # type: ignore[method-assign, assignment]
        self.solver = solver
        self.scale = scale
        self.feature_shape = feature_shape
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.convention = convention
        self.stopping = stopping
        self.verbose = verbose

    @cached_property
    def operators_(self) -> NDArray:
        """Reconstruction operators, put together when first read."""
        if isinstance(self._moments, MomentsInPasses):
            raise AttributeError  # `__getattr__` says why
        return self._moments.orientation.expand(self._solution.operators)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Share of the energy of centred samples that the operators reconstruct.

        Higher means that the slices of `X` follow the reconstruction learned from the fitted
        samples. It falls as `lam` and `eta` grow, so it compares settings of equal sparsity.

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
            raise AttributeError(why_not_kept("operators_"))
        return super().__getattr__(name)

    def _fit(self, X: Any) -> NDArray | None:
        if not self._is_open():
            return super()._fit(X)
        best, chosen = choose_orientation(self._candidates(X), partial(self._try, X))
        if best.get_params()["lam"] != self.lam:  # it was tried at a fraction that is often near
            best.set_params(lam=self.lam, eta=self.eta, penalty=self.penalty).fit(X)
        parameters = self._get_param_names()
        self._forget_results()
        self.__dict__.update({k: v for k, v in vars(best).items() if k not in parameters})
        self.choice_ = replace(best.choice_, orientation=chosen)
        return None

    def _is_open(self) -> bool:
        """Whether the orientation or the transform are left to be chosen."""
        return is_auto(self.orientation) or is_auto(vars(self)["transform"])

    def _candidates(self, X: Any) -> list[tuple[int, Any]]:
        """Orientations and transforms to choose from."""
        if isinstance(X, Moments):
            raise ValueError(
                "X is Moments, which have their orientation and transform; 'auto' needs samples"
            )
        source = source_of(X)
        if source is not None and not source.rereadable:
            raise ValueError(
                "orientation='auto' and transform='auto' read the samples several times, but X is "
                "an iterator, which can be read once; pass something that can be read again"
            )
        shape = np.shape(X)[1:] if source is None else source.sample_shape
        if len(shape) == 1 and self.feature_shape is not None:
            shape = tuple(self.feature_shape)
        orientations = range(len(shape)) if is_auto(self.orientation) else [self.orientation]
        transform = vars(self)["transform"]
        transforms = [transform] if not is_auto(transform) else list(TRANSFORMS)
        if is_auto(transform) and len(shape) < 2:
            transforms = ["identity"]
        return [(one, other) for one in orientations for other in transforms]

    def _try(self, X: Any, orientation: int, transform: Any) -> tuple[float, Self]:
        """Fit a candidate; with penalties near those that would be chosen, if they are open."""
        other = clone(self).set_params(orientation=orientation, transform=transform)
        if is_auto(self.lam) and is_auto(self.eta):
            other.set_params(lam=FIRST_FRACTION, eta=FIRST_FRACTION, penalty="relative")
        other.fit(X)
        spread = Scoring.spread_of(other._moments)
        variance = pool_elements(spread**2, other._mode_of_features())
        xp = namespace_of(variance)
        flat = xp.reshape(variance, (-1,))
        selected = xp.take(flat, other.get_support(indices=True), axis=0)
        return float(xp.mean(selected)) / float(xp.mean(flat)), other

    def _other_modes(self) -> list[int]:
        if self._is_open():
            raise ValueError(
                "orientation='auto' and transform='auto' are chosen from all samples, which "
                "partial_fit never sees together; use fit, or give both"
            )
        return super()._other_modes()

    def _check_features(self) -> None:
        self._mode_of_features()

    def _check_parameters(self) -> None:
        check_fractions(self.penalty, {"lam": self.lam, "eta": self.eta})

    def _solve(self, samples: NDArray | None) -> None:
        """Solve the slices from the moments and score the features."""
        moments, orientation = self._moments, self._moments.orientation
        slices = slices_of(moments, self.scale)
        scoring = self._scoring(orientation, moments)
        solver = self._slice_solver(slices, moments.count)
        callback = progress_bar("solving slices", slices.n_slices) if self.verbose else None
        with explained_failure():
            solution = self._solved_slices(slices, solver, callback)
            norms = solution.norms
            scores, ties = scoring.scores(norms), [scoring.feature_spread]
            total = math.prod(scores.shape)
            if self.solver == "exact":
                # Zeros are the optimum's own here, so they say nothing of one another.
                entries = entry_scores(
                    norms,
                    scoring.scores,
                    scoring.feature_spread > 0,
                    self._n_selected(total) if self.n_features_to_select != AUTO else total,
                    slices.varying,
                    slices.smaller(solver, self.lam_, self.eta_, self.n_jobs),
                )
                ties = [*entries, *ties]
        scoring.warn_of_constant_rows()
        self._set_feature_scores(scores, ties, self._covariances(samples))
        self._solution = solution
        self.objective_ = orientation.expand(solution.objective)
        self.n_iter_ = orientation.expand(solution.n_iter)
        self.objective_path_ = orientation.expand(solution.objective_path)
        if solution.dual is not None and solution.dual_gap is not None:
            self.dual_objective_ = orientation.expand(solution.dual)
            self.dual_gap_ = orientation.expand(solution.dual_gap)
            warn_of_open_gaps(
                orientation.expand(solution.converged),
                lambda j: f"slice {j} (gap {float(self.dual_gap_[j]):.1e})",
                f"{orientation.n_slices} slices",
            )

    def _solved_slices(
        self, slices: Slices, solver: SliceSolver, callback: Callable[[int], None] | None
    ) -> Solution:
        """Solve the slices under the penalties that were given, or that are chosen here."""
        lam, eta = given_penalties(self.penalty, self.lam, self.eta, slices)
        if lam is None or eta is None:
            solution, chosen = choose_penalties(
                slices, solver, self._moments.count, lam, eta, self.n_jobs, callback
            )
            self.choice_ = AutomaticChoice(chosen)
            self.lam_, self.eta_ = chosen.lam, chosen.eta
            return solution
        self.choice_ = AutomaticChoice()
        self.lam_, self.eta_ = lam, eta
        return slices.solve(solver, lam, eta, self.n_jobs, callback)

    def _wants_rows(self) -> bool:
        return self.selection == "diverse" or self.n_features_to_select == AUTO

    def _covariances(self, samples: NDArray | None) -> Any:
        """What tells which features are alike, if that is asked for: samples, or moments alone."""
        if not self._wants_rows():
            return None
        rows = self._rows(samples)
        if rows is not None:
            return rows
        orientation, gram = self._moments.orientation, self._moments.gram()
        spread = Scoring.spread_of(self._moments)
        return covariances_of_slices(orientation, gram, spread, self._mode_of_features())

    def _scoring(self, orientation: Orientation, data: Moments | GramTensor) -> Scoring:
        return Scoring(
            orientation,
            Scoring.spread_of(data),
            self._mode_of_features(),
            energy=vars(self)["score"] == "energy",
            root=self.convention == "program",
        )

    def _slice_solver(self, slices: Slices, n_samples: int) -> SliceSolver:
        return SliceSolver.of(
            self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            convention=self.convention,
            stopping=self.stopping,
            many_samples=slices.size < n_samples,
        )


# After the class is made: scikit-learn wraps the methods it finds while making it.
STPCASelector.transform = ParameterAndMethod(  # type: ignore[method-assign, assignment]
    "transform", TensorSelector.transform
)
STPCASelector.score = ParameterAndMethod(  # type: ignore[method-assign, assignment]
    "score", STPCASelector.score
)
