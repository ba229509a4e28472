"""SPCA-PSD: the one-mode case of STPCA-MP, from which it grew."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift.gram import Orientation
from tensift.selectors._stpca import STPCASelector

__all__ = ["SPCA_PSD"]


class SPCA_PSD(STPCASelector):
    """Select features by sparse PCA with a positive semidefinite operator (SPCA-PSD).

    Samples are flattened to the columns of ``X``, and one operator reconstructs all features from
    few of them:

        min  ||X - A X||_F^2 + lam ||A||_{2,1} + eta Tr(A)  over  A >= 0.

    A feature's score is the norm of its column of ``A``. This is `STPCASelector` on samples of one
    mode, the same problem and the same solvers. The authors' forerunner of STPCA-MP, it sees how
    any two features go together where STPCA-MP sees those of a slice, at the price of a matrix as
    wide as a sample has elements.

    Parameters
    ----------
    n_features_to_select : int, float in (0, 1) or "auto", default=100
        How many features to keep, which share of them, or as many as explain more than their share
        of the variance.
    selection : {"top", "diverse"}, default="top"
        Keep the features with the largest scores, or features with large scores that do not repeat
        one another (`rank_diverse`).
    lam, eta : float or "auto", default=10.0
        Weights of the column norms and of the trace; "auto" as in `STPCASelector`.
    penalty : {"absolute", "relative"}, default="absolute"
        Whether `lam` and `eta` are taken as they stand, or as fractions of their critical values,
        above which the optimum is zero.
    solver : {"paper", "exact"}, default="paper"
        The authors' iteration, or one that minimises the problem and proves how close it came.
    scale : {"max"} or None, default="max"
        Divide the data by their largest absolute value, or leave them.
    feature_mode : int or None, default=None
        None: every element is a feature. An int: every index along that mode is one, scored by
        the sum over its elements.
    feature_shape : tuple of int or None, default=None
        The shape of one sample, for 2-D input.
    tol : float or None, default=None
        "paper": stop when the objective changes by less; None means 1e-5. "exact": stop when the
        relative duality gap is at most this; None means 1e-6.
    max_iter : int or None, default=None
        Steps at most; None means 100 for "paper" and 1000 for "exact".
    convention : {"program", "paper"}, default="program"
        Constants of the "paper" solver, as in `STPCASelector`. Those of "program" are in the
        authors' programs for both methods.
    stopping : {"absolute", "relative"}, default="absolute"
        Whether the `tol` of the "paper" solver is a change of the objective or a share of it.
    verbose : bool or int, default=False
        Show progress on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (d_1, ..., d_m), or (d_k,) with ``feature_mode=k``
        Column norms. The authors square them, which ranks the same elements in the same order.
    ranking_ : ndarray of int
        Flat row-major feature indices, best first.
    lam_, eta_ : float
        The penalties of the problem that was solved.
    choice_ : AutomaticChoice
        How they were chosen, if they were "auto".
    operators_ : ndarray of shape (1, d, d)
        The operator ``A`` on flattened samples.
    objective_ : float
        The objective in the end.
    objective_path_ : ndarray of shape ``(n_iter_,)``
        The objective after every step.
    n_iter_ : int
        The number of steps.
    dual_objective_, dual_gap_ : float
        "exact" only: a value that no operator can go below, and how far above it the objective
        is, as a share of the objective.
    n_features_ : int
        How many features are kept.
    explained_energy_, suggested_count_
        Of "diverse" and "auto": as in `STPCASelector`.
    feature_shape_ : tuple of int
        The shape of one sample.
    n_features_in_ : int
        The number of elements of a sample.
    n_samples_seen_ : int
        The number of samples fitted.

    See Also
    --------
    STPCASelector : The tensor method; has more on the solvers.

    Notes
    -----
    A step of "paper" takes ``O(d^3)`` and memory of ``O(d^2)``. From ten times as many features
    ``d`` as samples ``n`` on, operators are kept as factors: a step takes ``O(d n^2)``, memory is
    ``O(d n)``, and `operators_` is put together when it is first read.

    The projection onto the cone is not the constrained minimiser of the step, so the objective
    may rise now and then; "exact" has no such steps. The start is ``A = I / 2`` where the authors
    draw a random diagonal.

    References
    ----------
    J. Zheng et al.: Fast Sparse PCA via Positive Semidefinite Projection for Unsupervised Feature
    Selection, 2023, arXiv:2309.06202.

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.selectors import SPCA_PSD
    >>> X = load_digits().data
    >>> selector = SPCA_PSD(n_features_to_select=20).fit(X)
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
        penalty: str = "absolute",
        solver: str = "paper",
        scale: str | None = "max",
        feature_mode: int | None = None,
        feature_shape: tuple[int, ...] | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        convention: str = "program",
        stopping: str = "absolute",
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            n_features_to_select,
            selection=selection,
            lam=lam,
            eta=eta,
            penalty=penalty,
            solver=solver,
            scale=scale,
            feature_mode=feature_mode,
            feature_shape=feature_shape,
            tol=tol,
            max_iter=max_iter,
            convention=convention,
            stopping=stopping,
            verbose=verbose,
        )

    _of_one_slice: ClassVar[tuple[str, ...]] = (
        "objective_",
        "objective_path_",
        "n_iter_",
        "dual_objective_",
        "dual_gap_",
    )

    def _orient(self, *, real: bool, **known: Any) -> Orientation:
        self._oriented_by = (self.orientation, vars(self)["transform"])
        return _Flattened(self.feature_shape_, 0, (), real)

    def _check_orientation(self, orientation: Orientation) -> None:
        if orientation.size < self.n_features_in_:
            raise ValueError(
                "X is Moments of slices, but SPCA_PSD flattens samples; collect those of rows "
                "without feature_shape"
            )

    def _solve(self, samples: NDArray | None) -> None:
        super()._solve(samples)
        for name in self._of_one_slice:
            if name in self.__dict__:
                only = self.__dict__[name][0]
                setattr(self, name, only if only.ndim else only.item())


@dataclass(frozen=True)
class _Flattened(Orientation):
    """All modes taken as one, which is reconstructed: a single slice."""

    @property
    def size(self) -> int:
        return math.prod(self.feature_shape)

    @property
    def other_shape(self) -> tuple[int, ...]:
        return ()

    def to_slices(self, samples: NDArray) -> NDArray:
        return super().to_slices(samples.reshape(len(samples), -1))

    def spread_over_features(self, slice_values: NDArray[np.float64]) -> NDArray[np.float64]:
        return super().spread_over_features(slice_values).reshape(self.feature_shape)
