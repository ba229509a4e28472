"""Solve slices whose Gram matrices do not fit into memory: one pass per block of slices."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.checkpoint import fingerprint
from tensift._utils.warnings import warn_user
from tensift.moments import GramTensor, MomentsInPasses, not_kept_message, variances
from tensift.solvers import (
    CriticalPenalties,
    PathRows,
    PathSolution,
    SliceSolver,
    Solution,
    bounds_of_critical,
    bounds_of_slices,
    critical_penalties,
    estimated_objectives,
    solve_path,
)
from tensift.stpca._shared_energy import energies_of
from tensift.stpca._zero_score_order import norms_under
from tensift.stpca.execution._executor import SliceExecutor, parts_in
from tensift.stpca.execution._on_dask import LazySolution, largest_of

__all__ = ["PassExecutor"]

T = TypeVar("T")
_ROUNDING = 1e-6  # relative error that the bounds of equal slices may have


class PassExecutor(SliceExecutor):
    """Solves slices in blocks, with the Gram matrices of only one block in memory.

    Of a solved block it keeps column norms, objectives and dual bounds, but no operators and no
    Gram matrices.

    Parameters
    ----------
    moments : MomentsInPasses
        Computes the Gram matrices of a block by a pass over the samples.
    factor : float
        The data are multiplied by this number.
    """

    def __init__(self, moments: MomentsInPasses, factor: float) -> None:
        self._moments, self._factor = moments, factor
        self.n_slices = len(moments.orientation.kept_slices)
        self.size = moments.orientation.size
        self._varies: dict[int, NDArray[np.bool_]] = {}
        self._prepared: tuple[CriticalPenalties, tuple[float, float]] | None = None

    def prepare(self, n_jobs: int | None = None) -> None:
        """Find the bounds and the energies of all slices, with one pass for each block."""
        n_samples = self._moments.sample_size
        found = {
            number: (bounds_of_critical(gram, n_jobs), energies_of(gram, n_samples))
            for number, gram in self._moments.grams()
        }
        bounds, energies = zip(*_in_order(found), strict=True)
        total, shared = (self._factor**2 * sum(part) for part in zip(*energies, strict=True))
        self._prepared = largest_of(bounds, self._factor), (total, shared)

    def critical(self) -> CriticalPenalties:
        """Return the penalties above which the optimum of every slice is zero.

        Quick bounds tell which slices of a block may have the largest critical penalties. Only
        those are kept. If they become more than a block, the exact values decide among them.
        """
        held: GramTensor | None = None
        most = max(block.stop - block.start for block in self._moments.blocks)
        for _, gram in self._moments.grams():
            held = _candidates(_joined(held, _candidates(gram)))
            if held.n_slices > most:
                held = _leaders(held)
        assert held is not None
        return critical_penalties(self._scaled(held))

    def bounds(self, n_jobs: int | None = None) -> CriticalPenalties:
        """Return the critical eta and an upper bound of the critical lam."""
        if self._prepared is None:
            self.prepare(n_jobs)
        assert self._prepared is not None
        return self._prepared[0]

    def energies(self, n_samples: float) -> tuple[float, float]:
        """Return the sum of squares of all slices, and the part that features share."""
        del n_samples  # the moments know it
        if self._prepared is None:
            self.prepare()
        assert self._prepared is not None
        return self._prepared[1]

    def estimates(
        self,
        ridge: float,
        lams: NDArray[np.float64],
        etas: NDArray[np.float64],
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of all objectives, for each pair of penalties: one pass per block."""
        found = {
            number: estimated_objectives(self._scaled(gram), lams, etas, ridge, n_jobs)
            for number, gram in self._moments.grams()
        }
        return np.sum(_in_order(found), axis=0)

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice, one block after another."""
        parts: dict[int, Solution] = {}
        norms, n_solved = {}, 0
        for number, gram in self._moments.grams():
            told = None if callback is None else _OffsetCallback(n_solved, callback)
            solution = solver.solve(solver.problems(self._scaled(gram), lam, eta), n_jobs, told)
            norms[number] = solution.norms
            parts[number] = replace(solution, found=np.empty((gram.n_slices, 0, 0)))
            self._varies[number] = variances(gram) > 0
            n_solved += gram.n_slices
        return LazySolution(_in_order(parts), _in_order(norms), operators_are_not_kept)

    def columns_that_vary(self, n_waiting: int) -> NDArray[np.bool_]:
        """Return a mask of the columns that vary, and warn of the passes that will follow."""
        warn_user(
            f"{n_waiting} features have a score of zero; to order them, X is read again, up to "
            f"{len(self._moments.blocks)} times for every smaller pair of penalties. To avoid "
            "this, use smaller lam and eta, or a larger working_memory of scikit-learn"
        )
        return np.concatenate(_in_order(self._varies))

    def norms_at_smaller_penalties(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[NDArray, float], NDArray]:
        """Return a function for column norms under smaller penalties; one pass per block."""

        def norms_at(slices: NDArray[np.intp], factor: float) -> NDArray[np.float64]:
            found = []
            for number, inside in parts_in(self._moments.blocks, slices):
                gram = self._moments.gram_of(self._moments.blocks[number])[inside]
                problems = solver.problems(self._scaled(gram), lam, eta)
                found.append(norms_under(problems, factor, lambda one: solver.solve(one, n_jobs)))
            return np.concatenate(found)

        return norms_at

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
        """Solve every slice at every pair of penalties, one block after another."""
        moments = self._moments
        lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)

        def key() -> str:
            data = (moments.mean, moments._squares, moments.total, moments.peak, moments.blocks)
            return fingerprint(*data, self._factor, lams, etas, solver, settings)

        blank = PathSolution.blank(len(lams), len(etas), self)
        rows = PathRows(blank, moments.blocks, lams, checkpoint, key)
        ascending = np.argsort(lams)
        with rows.written_in_the_end():
            for number, block in enumerate(moments.blocks):
                missing = [eta for other, eta in rows.missing if other == number]
                if not missing:
                    continue
                solved = solve_path(
                    self._scaled(moments.gram_of(block)),
                    lams,
                    etas[missing],
                    solver.solve_block,
                    ridge=solver.objective_ridge,
                    n_jobs=n_jobs,
                    callback=None if callback is None else _OffsetCallback(rows.n_solved, callback),
                )
                for place, eta in enumerate(missing):
                    cells = [
                        {name: values[lam, place] for name, values in vars(solved).items()}
                        for lam in ascending
                    ]
                    rows.store((number, eta), cells)
        return rows.path

    def _scaled(self, gram: GramTensor) -> GramTensor:
        return gram if self._factor == 1 else gram.scaled(self._factor)


class _OffsetCallback:
    """Calls a callback with a count that includes earlier blocks."""

    def __init__(self, before: int, callback: Callable[[int], None]) -> None:
        self._before, self._callback = before, callback

    def __call__(self, done: int) -> None:
        self._callback(self._before + done)


def _in_order(parts: Mapping[int, T]) -> list[T]:
    """Return what was found for each block, in the order of the slices."""
    return [parts[number] for number in sorted(parts)]


def operators_are_not_kept() -> NDArray:
    """Raise an error that says why there are no operators."""
    raise ValueError(not_kept_message("operators"))


def _candidates(gram: GramTensor) -> GramTensor:
    """Return the slices that may have the largest critical lam or eta."""
    eta, lower, upper = bounds_of_slices(gram)
    wanted = upper >= (1 - _ROUNDING) * lower.max()
    wanted |= eta >= (1 - _ROUNDING) * eta.max()
    return gram[np.flatnonzero(wanted)]


def _leaders(gram: GramTensor) -> GramTensor:
    """Return the slice with the largest critical lam and the one with the largest eta."""
    lams = [critical_penalties(gram[slice(j, j + 1)]).lam for j in range(gram.n_slices)]
    return gram[np.unique([int(np.argmax(lams)), int(np.argmax(bounds_of_slices(gram)[0]))])]


def _joined(held: GramTensor | None, more: GramTensor) -> GramTensor:
    if held is None:
        return more
    return GramTensor(np.concatenate([held.array, more.array]), more.thin)
