"""Slices whose Gram matrices are too many for memory: solved in blocks, a pass each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tensift._checkpoint import fingerprint
from tensift._stacks import diagonal_of
from tensift._warnings import warn_user
from tensift.base._passes import MomentsInPasses, why_not_kept
from tensift.gram import GramTensor
from tensift.selectors._dask_slices import SolutionElsewhere, largest_of
from tensift.selectors._entry import norms_under
from tensift.selectors._scoring import variances
from tensift.selectors._shared_energy import energies_of
from tensift.selectors._slice_solver import SliceSolver
from tensift.selectors._slices import Slices, parts_in
from tensift.solvers import (
    CriticalPenalties,
    PathSolution,
    Solution,
    critical_penalties,
    solve_path,
)
from tensift.solvers._critical import bounds_of_critical
from tensift.solvers._path import PathRows
from tensift.solvers._problem import column_norms

__all__ = ["PassSlices"]

_ROUNDING = 1e-6  # what bounds of equal slices may differ by


class PassSlices(Slices):
    """Slices in blocks, of which one is in memory at a time.

    Of a block that is solved, column norms, objectives and certificates are kept, but no
    operators and no Gram matrices.

    Parameters
    ----------
    moments : MomentsInPasses
        They make the Gram matrices of a block by a pass over the samples.
    factor : float
        What the data are multiplied by.
    """

    def __init__(self, moments: MomentsInPasses, factor: float) -> None:
        self._moments, self._factor = moments, factor
        self.n_slices = len(moments.orientation.kept_slices)
        self.size = moments.orientation.size
        self._varies: list[NDArray[np.bool_]] = []

    def critical(self) -> CriticalPenalties:
        """The penalties above which nothing is left of any slice.

        From every block those slices are held that may have the largest, by bounds that are found
        at once. Where these are more than a block, they are settled among themselves.
        """
        held: GramTensor | None = None
        most = max(block.stop - block.start for block in self._moments.blocks)
        for _, gram in self._moments.grams():
            held = _candidates(_joined(held, _candidates(gram)))
            if held.n_slices > most:
                held = _leaders(held)
        assert held is not None
        return critical_penalties(self._scaled(held))

    def bounds(self) -> CriticalPenalties:
        """The critical eta, and a bound from above of the critical lam."""
        return largest_of(
            [bounds_of_critical(gram) for _, gram in self._moments.grams()], self._factor
        )

    def energies(self, n_samples: int) -> tuple[float, float]:
        """The sum of squares of all slices, and what their features share."""
        found = [energies_of(gram, n_samples) for _, gram in self._moments.grams()]
        energy, shared = (self._factor**2 * sum(part) for part in zip(*found, strict=True))
        return energy, shared

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice, block after block."""
        parts, norms = [], []
        self._varies = []
        for block, gram in self._moments.grams():
            told = None if callback is None else _After(block.start, callback)
            solution = solver.solve(solver.problems(self._scaled(gram), lam, eta), n_jobs, told)
            norms.append(solution.norms)
            parts.append(replace(solution, found=np.empty((gram.n_slices, 0, 0))))
            self._varies.append(variances(gram) > 0)
        return SolutionElsewhere(parts, norms, operators_are_not_kept)

    def varying(self, n_waiting: int) -> NDArray[np.bool_]:
        """The columns of slices that vary; what is asked next takes passes."""
        warn_user(
            f"{n_waiting} features have a score of zero; to order them, X is read again, up to "
            f"{len(self._moments.blocks)} times for every smaller pair of penalties. Smaller lam "
            "and eta, or a larger working_memory of scikit-learn, spare that"
        )
        return np.concatenate(self._varies)

    def smaller(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[NDArray, float], NDArray]:
        """Column norms under smaller penalties; a pass for every block of every step."""

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
        """Solve every slice at every pair of penalties, block after block."""
        moments = self._moments
        lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)

        def key() -> str:
            data = (moments.mean, moments._squares, moments.count, moments.peak, moments.blocks)
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
                    callback=None if callback is None else _After(rows.n_solved, callback),
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


class _After:
    """Adds what was done before to what a callback is told."""

    def __init__(self, before: int, callback: Callable[[int], None]) -> None:
        self._before, self._callback = before, callback

    def __call__(self, done: int) -> None:
        self._callback(self._before + done)


def operators_are_not_kept() -> NDArray:
    """Refuse to give operators."""
    raise ValueError(why_not_kept("operators"))


def _bounds(gram: GramTensor) -> tuple[NDArray, NDArray, NDArray]:
    """For every slice half of its critical eta, and bounds of half of its critical lam."""
    dense = gram.dense()
    largest = np.linalg.eigvalsh(dense)[:, -1]
    return largest, diagonal_of(dense).real.max(axis=1), column_norms(dense).max(axis=1)


def _candidates(gram: GramTensor) -> GramTensor:
    """Slices that may have the largest critical lam or eta."""
    eta, lower, upper = _bounds(gram)
    wanted = upper >= (1 - _ROUNDING) * lower.max()
    wanted |= eta >= (1 - _ROUNDING) * eta.max()
    return gram[np.flatnonzero(wanted)]


def _leaders(gram: GramTensor) -> GramTensor:
    """The slices that have the largest critical lam and eta of many."""
    lams = [critical_penalties(gram[slice(j, j + 1)]).lam for j in range(gram.n_slices)]
    return gram[np.unique([int(np.argmax(lams)), int(np.argmax(_bounds(gram)[0]))])]


def _joined(held: GramTensor | None, more: GramTensor) -> GramTensor:
    if held is None:
        return more
    return GramTensor(np.concatenate([held.array, more.array]), more.thin)
