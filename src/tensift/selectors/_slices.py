"""The slice problems of some data, wherever their Gram matrices are."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import is_device_array, precision_of
from tensift.base import usable_gram, usable_scale
from tensift.base._passes import MomentsInPasses
from tensift.gram import DeviceMoments, GramTensor, Moments
from tensift.selectors._entry import SmallerPenalties
from tensift.selectors._scoring import variances
from tensift.selectors._shared_energy import energies_of
from tensift.selectors._slice_solver import SliceSolver
from tensift.solvers import (
    CriticalPenalties,
    PathSolution,
    Solution,
    critical_penalties,
    solve_path,
)
from tensift.solvers._critical import bounds_of_critical
from tensift.sources._dask_moments import DaskMoments

__all__ = ["LocalSlices", "Slices", "parts_in", "slices_of", "slices_of_gram"]

_SMALL = 256  # features of a slice whose critical lam takes no longer than a solution


class Slices(ABC):
    """Slices whose problems can be solved, in the place where their Gram matrices are.

    Attributes
    ----------
    n_slices : int
        How many, of each conjugate pair one.
    size : int
        The number of features of a slice, ``q``.
    """

    n_slices: int
    size: int

    @abstractmethod
    def critical(self) -> CriticalPenalties:
        """The penalties above which nothing is left of any slice."""

    @abstractmethod
    def bounds(self) -> CriticalPenalties:
        """The critical eta, and a bound from above of the critical lam; soon found."""

    def about_critical(self) -> CriticalPenalties:
        """The critical penalties, or where slices are large their bounds."""
        return self.critical() if self.size <= _SMALL else self.bounds()

    @abstractmethod
    def energies(self, n_samples: int) -> tuple[float, float]:
        """The sum of squares of all slices, and what their features share (`shared_energy`).

        The former is what the objectives sum to without operators.
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
    def varying(self, n_waiting: int) -> Any:
        """The columns of slices that vary, ``(p, q)``, for so many features without a score."""

    @abstractmethod
    def smaller(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[Any, float], Any]:
        """From numbers of slices, fewer every time, and a factor of both penalties to norms."""

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
    """Blocks that some slices lie in, by their number, and the slices counted from its first."""
    for number, block in enumerate(blocks):
        inside = slices[(slices >= block.start) & (slices < block.stop)] - block.start
        if len(inside):
            yield number, inside


class LocalSlices(Slices):
    """Slices whose Gram matrices are in memory."""

    def __init__(self, gram: GramTensor) -> None:
        self.gram = gram
        self.n_slices, self.size = gram.n_slices, gram.size

    def critical(self) -> CriticalPenalties:
        """The penalties above which nothing is left of any slice."""
        return critical_penalties(self.gram)

    def bounds(self) -> CriticalPenalties:
        """The critical eta, and a bound from above of the critical lam."""
        return bounds_of_critical(self.gram)

    def energies(self, n_samples: int) -> tuple[float, float]:
        """The sum of squares of all slices, and what their features share."""
        return energies_of(self.gram, n_samples)

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

    def varying(self, n_waiting: int) -> NDArray[np.bool_]:
        """The columns of slices that vary."""
        return variances(self.gram) > 0

    def smaller(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> SmallerPenalties:
        """Column norms under smaller penalties."""
        problems = solver.problems(self.gram, lam, eta)
        return SmallerPenalties(problems, lambda smaller: solver.solve(smaller, n_jobs))

    def path(
        self, solver: SliceSolver, lams: NDArray, etas: NDArray, **options: Any
    ) -> PathSolution:
        """Solve every slice at every pair of penalties, in threads."""
        return solve_path(
            self.gram, lams, etas, solver.solve_block, ridge=solver.objective_ridge, **options
        )


def slices_of_gram(gram: GramTensor) -> Slices:
    """The slices of Gram matrices that are given as they are."""
    if is_device_array(gram.array):
        from tensift.selectors._device_slices import DeviceSlices

        return DeviceSlices(gram, precision_of(gram.array))
    return LocalSlices(gram)


def slices_of(moments: Moments, scale: str | None) -> Slices:
    """The slices that some moments describe, scaled if so wished."""
    if isinstance(moments, DaskMoments):
        from tensift.selectors._dask_slices import DaskSlices

        return DaskSlices(moments, usable_scale(moments, scale))
    if isinstance(moments, MomentsInPasses):
        from tensift.selectors._pass_slices import PassSlices

        return PassSlices(moments, usable_scale(moments, scale))
    gram = usable_gram(moments, scale)
    if isinstance(moments, DeviceMoments):
        from tensift.selectors._device_slices import DeviceSlices

        return DeviceSlices(gram, moments.precision)
    return LocalSlices(gram)
