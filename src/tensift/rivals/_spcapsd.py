"""SPCA-PSD: the forerunner of STPCA-MP, which is its case of one mode."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift.moments import Orientation, SamplesInMemory
from tensift.selection import Constraints
from tensift.solvers import ExactSolver, PaperSolver
from tensift.stpca import STPCASelector

__all__ = ["SPCAPSD"]


class SPCAPSD(STPCASelector):
    """Select features by sparse PCA with a positive semidefinite operator (SPCA-PSD).

    Samples are flattened to the columns of ``X``. One operator reconstructs all features from few
    of them:

        min  ||X - A X||_F^2 + lam ||A||_{2,1} + eta Tr(A)  over  A >= 0.

    The score of a feature is the norm of its column of ``A``. This is `STPCASelector` on samples
    with one mode: the same problem and the same solvers. SPCA-PSD is the authors' earlier method.
    It uses the covariances of all pairs of features, where STPCA-MP uses only those within a slice.
    The price is a ``d x d`` matrix.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, or which share of them. "auto" keeps the number that
        `tensift.selection.suggest_count` suggests.
    selection : {"top", "geometry", "reconstruct"}, default="top"
        "top" keeps the features with the largest scores. "geometry" keeps samples recognisable,
        and "reconstruct" predicts the other features; both avoid features that repeat each other.
    lam, eta : float or "auto", default=10.0
        The weights of the column norms and of the trace. "auto" is as in `STPCASelector`.
    penalty_units : {"absolute", "relative"}, default="absolute"
        Whether `lam` and `eta` are used as they are, or are fractions of their critical values.
        Above its critical value, a penalty alone makes the optimum zero.
    solver : {"paper", "exact"}, PaperSolver or ExactSolver, default="paper"
        "paper" is the authors' iteration. "exact" minimises the problem and proves how close it
        came. Pass an object to change the settings, for example ``PaperSolver(max_iter=500)``.
    scale : {"max", "feature"} or None, default="max"
        "max" divides the data by their largest absolute value, "feature" every feature by its
        standard deviation; None leaves them as they are.
    constraints : Constraints or None, default=None
        What the selection must respect: features to keep or leave out, a budget, distances, groups.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is a feature, and
        its score is the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        The column norms. The authors square them, which gives the same order of elements.
    order_ : ndarray of int
        Flat row-major feature indices, best first.
    lam_, eta_ : float
        The penalties of the problem that was solved.
    choice_ : AutomaticChoice
        How `lam` and `eta` were chosen, if they were "auto".
    operators_ : ndarray of shape (1, d, d)
        The operator ``A`` on flattened samples.
    objective_ : float
        The final objective.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every step.
    n_iter_ : int
        The number of steps.
    dual_objective_, dual_gap_ : float
        Exact solver only: a lower bound for the objective, and how far above it the objective is,
        as a share of the objective.
    n_features_ : int
        How many features are kept.
    selection_curve_, suggested_count_
        As in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    orientation_ : int
        Always 0, because flattened samples have one mode.
    n_features_in_ : int
        The number of elements of a sample.
    names_ : tensift.labels.Names or None
        What the modes of a sample are called, if the samples said so.
    n_samples_seen_ : int
        The number of samples fitted.

    See Also
    --------
    tensift.stpca.STPCASelector : The tensor method. Its documentation says more about the solvers.

    Notes
    -----
    A step of "paper" takes ``O(d^3)`` operations and ``O(d^2)`` memory. With at least ten times as
    many features ``d`` as samples ``n``, the operator is kept as factors: a step takes ``O(d n^2)``
    operations and ``O(d n)`` memory, and `operators_` is computed when it is first read.

    The projection onto the cone is not the constrained minimiser of the step, so the objective of
    "paper" may sometimes rise. "paper" starts from ``A = I / 2``, where the authors draw a random
    diagonal.

    References
    ----------
    J. Zheng et al.: Fast Sparse PCA via Positive Semidefinite Projection for Unsupervised Feature
    Selection, 2023, arXiv:2309.06202.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.rivals import SPCAPSD
    >>> X = load_digits().data
    >>> selector = SPCAPSD(n_features_to_select=20).fit(X)
    >>> selector.scores_.shape
    (8, 8)
    >>> selector.transform(X).shape
    (1797, 20)
    """

    _takes_device_arrays = False

    def __init__(
        self,
        n_features_to_select: int | float | str = 100,
        *,
        selection: str = "top",
        lam: float | str = 10.0,
        eta: float | str = 10.0,
        penalty_units: str = "absolute",
        solver: str | ExactSolver | PaperSolver = "paper",
        scale: str | None = "max",
        constraints: Constraints | None = None,
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            n_features_to_select,
            selection=selection,
            lam=lam,
            eta=eta,
            penalty_units=penalty_units,
            solver=solver,
            scale=scale,
            constraints=constraints,
            feature_mode=feature_mode,
            feature_shape=feature_shape,
            verbose=verbose,
        )

    _scalar_results: ClassVar[tuple[str, ...]] = (
        "objective_",
        "objective_path_",
        "n_iter_",
        "dual_objective_",
        "dual_gap_",
    )

    def _orient(self, *, real: bool, **known: Any) -> Orientation:
        self._oriented_by = (self.orientation, self.basis)
        return _FlatOrientation(self.feature_shape_, 0, (), real)

    def _check_orientation(self, orientation: Orientation) -> None:
        if orientation.size < self.n_features_in_:
            raise ValueError(
                "X is Moments of slices, but SPCAPSD flattens samples; pass flattened samples to "
                "collect_moments, without feature_shape"
            )

    def _solve(self, samples: SamplesInMemory | None) -> None:
        super()._solve(samples)
        for name in self._scalar_results:
            if name in self.__dict__:
                only = self.__dict__[name][0]
                setattr(self, name, only if only.ndim else only.item())


@dataclass(frozen=True)
class _FlatOrientation(Orientation):
    """All modes flattened to one, which is reconstructed: a single slice."""

    @property
    def size(self) -> int:
        return math.prod(self.feature_shape)

    @property
    def other_shape(self) -> tuple[int, ...]:
        return ()

    def to_slices(self, samples: Any, only: slice | None = None) -> Any:
        return super().to_slices(samples.reshape(len(samples), -1), only)

    def in_slices(self, values: NDArray) -> NDArray:
        return values.reshape(1, -1)

    def spread_over_features(self, slice_values: NDArray[np.float64]) -> NDArray[np.float64]:
        return super().spread_over_features(slice_values).reshape(self.feature_shape)
