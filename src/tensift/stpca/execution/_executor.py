"""Solve the slices of some data where their Gram matrices are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, precision_of
from tensift.moments import (
    DaskMoments,
    DeviceMoments,
    GramTensor,
    Moments,
    MomentsInPasses,
    usable_gram,
    usable_scale,
    variances,
)
from tensift.solvers import (
    CriticalPenalties,
    PathSolution,
    SliceSolver,
    Solution,
    bounds_of_critical,
    critical_penalties,
    estimated_objectives,
    keep_spectrum,
    solve_path,
)
from tensift.stpca._shared_energy import energies_of
from tensift.stpca._zero_score_order import NormsAtSmallerPenalties

__all__ = ["LocalExecutor", "SliceExecutor", "executor_for", "executor_for_gram", "parts_in"]


class SliceExecutor(ABC):
    """Solves the slices of some data, in the place where their Gram matrices are.

    Every slice is an independent problem (the paper's equation "STPCA-MP: matrix form") that
    depends on the data only through its Gram matrix.

    Attributes
    ----------
    n_slices : int
        The number of slices to solve; one of each conjugate pair.
    size : int
        The number of features in a slice, ``q``.
    """

    n_slices: int
    size: int

    def prepare(self, n_jobs: int | None = None) -> None:  # noqa: B027  # others keep nothing
        """Compute, if it can be kept, what the choice of penalties and the solver both need."""

    @abstractmethod
    def critical(self) -> CriticalPenalties:
        """Return the critical penalties: above either, the optimum of every slice is zero."""

    @abstractmethod
    def bounds(self, n_jobs: int | None = None) -> CriticalPenalties:
        """Return the critical eta and an upper bound of the critical lam, which is quick."""

    @abstractmethod
    def estimates(
        self,
        ridge: float,
        lams: NDArray[np.float64],
        etas: NDArray[np.float64],
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of all objectives, for each pair of penalties, without solving.

        See `tensift.solvers.estimated_objectives`.
        """

    @abstractmethod
    def energies(self, n_samples: float) -> tuple[float, float]:
        """Return the sum of squares of all slices, and the part that features share.

        The sum of squares is also the sum of all objectives at ``A = 0``. See
        `tensift.stpca._shared_energy` for the shared part.
        """

    @abstractmethod
    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice."""

    @abstractmethod
    def columns_that_vary(self, n_waiting: int) -> Any:
        """Return a mask ``(p, q)`` of the columns that vary; `n_waiting` is for the warning.

        It is called before `norms_at_smaller_penalties` is used, for `n_waiting` features with a
        score of zero.
        """

    @abstractmethod
    def norms_at_smaller_penalties(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[Any, float], Any]:
        """Return ``norms_at(indices, factor)``; fewer indices are requested in each call.

        It solves the slices with these indices again, with both penalties times `factor`, and
        returns the column norms of the operators.
        """

    @abstractmethod
    def path(
        self,
        solver: SliceSolver,
        lams: NDArray,
        etas: NDArray,
        *,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        settings: object = None,
    ) -> PathSolution:
        """Solve every slice at every pair of penalties."""


def parts_in(
    blocks: Sequence[slice], slices: NDArray[np.intp]
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield the number of each block with some of the slices, and their indices in the block."""
    for number, block in enumerate(blocks):
        inside = slices[(slices >= block.start) & (slices < block.stop)] - block.start
        if len(inside):
            yield number, inside


class LocalExecutor(SliceExecutor):
    """Solves slices whose Gram matrices are in the memory of this process."""

    def __init__(self, gram: GramTensor) -> None:
        self.gram = gram
        self.n_slices, self.size = gram.n_slices, gram.size

    def prepare(self, n_jobs: int | None = None) -> None:
        """Decompose the Gram matrices in threads."""
        keep_spectrum(self.gram, n_jobs)

    def critical(self) -> CriticalPenalties:
        """Return the penalties above which the optimum of every slice is zero."""
        return critical_penalties(self.gram)

    def bounds(self, n_jobs: int | None = None) -> CriticalPenalties:
        """Return the critical eta and an upper bound of the critical lam, in threads."""
        return bounds_of_critical(self.gram, n_jobs)

    def energies(self, n_samples: float) -> tuple[float, float]:
        """Return the sum of squares of all slices, and the part that features share."""
        return energies_of(self.gram, n_samples)

    def estimates(
        self,
        ridge: float,
        lams: NDArray[np.float64],
        etas: NDArray[np.float64],
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of all objectives, for each pair of penalties, in threads."""
        return estimated_objectives(self.gram, lams, etas, ridge, n_jobs)

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice, in threads."""
        return solver.solve(solver.problems(self.gram, lam, eta), n_jobs, callback)

    def columns_that_vary(self, n_waiting: int) -> NDArray[np.bool_]:
        """Return a mask of the columns that vary."""
        return variances(self.gram) > 0

    def norms_at_smaller_penalties(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> NormsAtSmallerPenalties:
        """Return a function that computes column norms under smaller penalties."""
        problems = solver.problems(self.gram, lam, eta)
        return NormsAtSmallerPenalties(problems, lambda smaller: solver.solve(smaller, n_jobs))

    def path(
        self, solver: SliceSolver, lams: NDArray, etas: NDArray, **options: Any
    ) -> PathSolution:
        """Solve every slice at every pair of penalties, in threads."""
        return solve_path(
            self.gram, lams, etas, solver.solve_block, ridge=solver.objective_ridge, **options
        )


def executor_for_gram(gram: GramTensor) -> SliceExecutor:
    """Return an executor for given Gram matrices."""
    if is_device_array(gram.array):
        from tensift.stpca.execution._on_device import DeviceExecutor

        return DeviceExecutor(gram, precision_of(gram.array))
    return LocalExecutor(gram)


def executor_for(moments: Moments, scale: str | None) -> SliceExecutor:
    """Return an executor for the slices of moments, scaled as `scale` says."""
    if isinstance(moments, DaskMoments):
        from tensift.stpca.execution._on_dask import DaskExecutor

        return DaskExecutor(moments, usable_scale(moments, scale))
    if isinstance(moments, MomentsInPasses):
        from tensift.stpca.execution._in_passes import PassExecutor

        return PassExecutor(moments, usable_scale(moments, scale))
    gram = usable_gram(moments, scale)
    if isinstance(moments, DeviceMoments):
        from tensift.stpca.execution._on_device import DeviceExecutor

        return DeviceExecutor(gram, moments.precision)
    return LocalExecutor(gram)
