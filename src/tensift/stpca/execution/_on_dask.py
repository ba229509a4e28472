"""Solve slices on the Dask workers that hold their Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.checkpoint import fingerprint
from tensift._utils.threads import one_blas_thread
from tensift.moments import DaskMoments, GramTensor, Moments, joined_gram, variances
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
    solve_row,
)
from tensift.sources import gather_results, in_processes
from tensift.stpca._shared_energy import energies_of
from tensift.stpca._zero_score_order import norms_under
from tensift.stpca.execution._executor import LocalExecutor, SliceExecutor, parts_in

__all__ = ["DaskExecutor"]

_ROUNDING = 1e-6  # relative error that the bounds of equal slices may have


class DaskExecutor(SliceExecutor):
    """Solves slices in blocks on the workers: one task per block, with one BLAS thread.

    Tasks return column norms, objectives and dual bounds. Operators are not kept, because they
    would take as much memory as the Gram tensor and few users need them. Reading `operators_` or
    calling `score` solves the slices again and fetches all operators.

    ``n_jobs`` has no effect: the scheduler decides how many tasks run at the same time.

    Parameters
    ----------
    moments : DaskMoments
        Holds the Gram tensor, in blocks.
    factor : float
        The data are multiplied by this number.
    """

    def __init__(self, moments: DaskMoments, factor: float) -> None:
        self._moments, self._factor = moments, factor
        self.n_slices, self.size = moments.n_slices, moments.size

    def critical(self) -> CriticalPenalties:
        """Return the penalties above which the optimum of every slice is zero.

        Quick bounds rule out most slices. The others go to one worker, which computes the exact
        values.
        """
        parts = gather_results(self._on_blocks(partial(bounds_of_block, factor=self._factor)))
        eta, lower, upper = (np.concatenate(values) for values in zip(*parts, strict=True))
        wanted = upper >= (1 - _ROUNDING) * lower.max()
        wanted |= eta >= (1 - _ROUNDING) * eta.max()
        chosen = [np.flatnonzero(wanted[block]) for block in self._moments.blocks]
        taken = [
            self._task(partial(some_slices, slices=slices), gram)
            for slices, gram in zip(chosen, self._moments.grams, strict=True)
            if len(slices)
        ]
        (critical,) = gather_results(
            [self._task(partial(critical_of, factor=self._factor), *taken)]
        )
        return critical

    def bounds(self, n_jobs: int | None = None) -> CriticalPenalties:
        """Return the critical eta and an upper bound of the critical lam."""
        return largest_of(gather_results(self._on_blocks(bounds_of_critical)), self._factor)

    def energies(self, n_samples: float) -> tuple[float, float]:
        """Return the sum of squares of all slices, and the part that features share."""
        found = gather_results(self._on_blocks(partial(energies_of, n_samples=n_samples)))
        energy, shared = (self._factor**2 * sum(part) for part in zip(*found, strict=True))
        return energy, shared

    def estimates(
        self,
        ridge: float,
        lams: NDArray[np.float64],
        etas: NDArray[np.float64],
        n_jobs: int | None = None,
    ) -> NDArray[np.float64]:
        """Return the sum of all objectives, for each pair of penalties: one task per block."""
        work = partial(estimates_of, lams=lams, etas=etas, ridge=ridge, factor=self._factor)
        return np.sum(gather_results(self._on_blocks(work)), axis=0)

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice; operators are computed again when they are read."""
        settings: dict[str, Any] = {
            "solver": solver,
            "lam": lam,
            "eta": eta,
            "factor": self._factor,
        }
        store = None if callback is None else _SliceCounter(self._moments.blocks, callback)
        parts = gather_results(self._on_blocks(partial(solve_block, **settings)), store)
        operators = partial(operators_of, self._moments, **settings)
        return LazySolution([part for part, _ in parts], [norms for _, norms in parts], operators)

    def columns_that_vary(self, n_waiting: int) -> NDArray[np.bool_]:
        """Return a mask of the columns that vary."""
        return np.concatenate(gather_results(self._on_blocks(varying_columns)))

    def norms_at_smaller_penalties(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[NDArray, float], NDArray]:
        """Return a function that computes column norms under smaller penalties."""
        settings: dict[str, Any] = {
            "solver": solver,
            "lam": lam,
            "eta": eta,
            "factor": self._factor,
        }

        def norms_at(slices: NDArray[np.intp], factor: float) -> NDArray[np.float64]:
            tasks = [
                self._task(
                    partial(norms_of_block, slices=inside, share=factor, **settings),
                    self._moments.grams[number],
                )
                for number, inside in parts_in(self._moments.blocks, slices)
            ]
            return np.concatenate(gather_results(tasks))

        return norms_at

    def path(
        self,
        solver: SliceSolver,
        lams: NDArray,
        etas: NDArray,
        *,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
        checkpoint: Any = None,
        settings: object = None,
    ) -> PathSolution:
        """Solve every slice at every pair of penalties: one task per block and eta.

        One task prepares a block for all tasks that use it. The process scheduler keeps no
        results and would send the prepared block with every task; there, one task solves all
        etas of a block.
        """
        lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)
        blocks = self._moments.blocks

        def key() -> str:
            digests = gather_results(self._on_blocks(digest_of))
            return fingerprint(*digests, self._factor, lams, etas, solver, settings)

        blank = PathSolution.blank(len(lams), len(etas), self)
        rows = PathRows(blank, blocks, lams, checkpoint, key)
        done = rows.n_solved
        if callback is not None and done:
            callback(done)
        missing = rows.missing
        together = _by_block(missing) if in_processes() else [[row] for row in missing]
        prepare = partial(prepared, factor=self._factor, spectrum=solver.name == "exact")
        grams = self._on_blocks(prepare)
        tasks = [
            self._task(
                partial(solve_rows, solver=solver, lams=rows.lams, etas=[etas[j] for _, j in part]),
                grams[part[0][0]],
            )
            for part in together
        ]

        def store(number: int, solved: list[list[dict[str, NDArray]]]) -> None:
            nonlocal done
            for row, cells in zip(together[number], solved, strict=True):
                rows.store(row, cells)
                done += (blocks[row[0]].stop - blocks[row[0]].start) * len(lams)
            if callback is not None:
                callback(done)

        with rows.written_in_the_end():
            gather_results(tasks, store)
        return rows.path

    def _on_blocks(self, work: Callable) -> list[Any]:
        return [self._task(work, gram) for gram in self._moments.grams]

    @staticmethod
    def _task(work: Callable, *grams: Any) -> Any:
        """Return a task whose key depends only on the work and its input, in every process."""
        from dask import delayed

        return delayed(work, pure=True, traverse=False)(*grams)


def largest_of(parts: Sequence[CriticalPenalties], factor: float) -> CriticalPenalties:
    """Return the largest penalties of all parts, for data multiplied by `factor`."""
    lam, eta = (max(values) for values in zip(*((p.lam, p.eta) for p in parts), strict=True))
    return CriticalPenalties(factor**2 * lam, factor**2 * eta)


class LazySolution(Solution):
    """A solution without operators; they are computed again when they are read."""

    _compute_operators: Callable[[], NDArray]

    def __init__(
        self,
        parts: Sequence[Solution],
        norms: Sequence[NDArray],
        operators: Callable[[], NDArray],
    ) -> None:
        vars(self).update(vars(Solution.concatenate(parts)))
        vars(self)["norms"] = np.concatenate(norms)
        vars(self)["_compute_operators"] = operators

    @cached_property
    def operators(self) -> NDArray:
        """The reconstruction operators, ``(p, q, q)``."""
        return self._compute_operators()


def operators_of(
    moments: Moments, solver: SliceSolver, lam: float, eta: float, factor: float
) -> NDArray:
    """Compute the operators of all slices, where their Gram matrices are now."""
    if not isinstance(moments, DaskMoments):  # pickling turned them into ordinary moments
        return LocalExecutor(moments.gram().scaled(factor)).solve(solver, lam, eta).operators
    work = partial(operators_of_block, solver=solver, lam=lam, eta=eta, factor=factor)
    return np.concatenate(gather_results(DaskExecutor(moments, factor)._on_blocks(work)))


class _SliceCounter:
    """Calls a callback with the number of slices in finished blocks."""

    def __init__(self, blocks: Sequence[slice], callback: Callable[[int], None]) -> None:
        self._lengths = [block.stop - block.start for block in blocks]
        self._callback, self._done = callback, 0

    def __call__(self, number: int, result: Any) -> None:
        self._done += self._lengths[number]
        self._callback(self._done)


def _by_block(rows: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    parts: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        parts.setdefault(row[0], []).append(row)
    return list(parts.values())


# Tasks must not change their inputs, because Dask may run them again.


def _solved(
    gram: GramTensor, solver: SliceSolver, lam: float, eta: float, factor: float
) -> Solution:
    with one_blas_thread():
        return solver.solve(solver.problems(gram.scaled(factor), lam, eta))


def solve_block(gram: GramTensor, **settings: Any) -> tuple[Solution, NDArray[np.float64]]:
    """Return the solution of a block without its operators, and their column norms."""
    solution = _solved(gram, **settings)
    return replace(solution, found=np.empty((gram.n_slices, 0, 0))), solution.norms


def operators_of_block(gram: GramTensor, **settings: Any) -> NDArray:
    """Return the operators of a block."""
    return _solved(gram, **settings).operators


def estimates_of(
    gram: GramTensor,
    lams: NDArray[np.float64],
    etas: NDArray[np.float64],
    ridge: float,
    factor: float,
) -> NDArray[np.float64]:
    """Return the estimated objectives of a block."""
    with one_blas_thread():
        return estimated_objectives(gram.scaled(factor), lams, etas, ridge)


def varying_columns(gram: GramTensor) -> NDArray[np.bool_]:
    """Return a mask of the columns of a block that vary."""
    return variances(gram) > 0


def norms_of_block(
    gram: GramTensor,
    slices: NDArray[np.intp],
    share: float,
    solver: SliceSolver,
    lam: float,
    eta: float,
    factor: float,
) -> NDArray[np.float64]:
    """Return the column norms of some slices of a block, with both penalties times `share`."""
    with one_blas_thread():
        problems = solver.problems(gram[slices].scaled(factor), lam, eta)
        return norms_under(problems, share, solver.solve)


def bounds_of_block(gram: GramTensor, factor: float) -> tuple[NDArray, NDArray, NDArray]:
    """Return the critical eta of every slice of a block, and bounds of its critical lam."""
    with one_blas_thread():
        return bounds_of_slices(gram.scaled(factor))


def some_slices(gram: GramTensor, slices: NDArray[np.intp]) -> GramTensor:
    """Return some slices of a block."""
    return gram[slices]


def critical_of(*grams: GramTensor, factor: float) -> CriticalPenalties:
    """Return the critical penalties of the slices of all blocks."""
    with one_blas_thread():
        return critical_penalties(joined_gram(list(grams)).scaled(factor))


def digest_of(gram: GramTensor) -> str:
    """Return the fingerprint of a block."""
    return fingerprint(gram.array, gram.thin)


def prepared(gram: GramTensor, factor: float, spectrum: bool) -> GramTensor:
    """Return a scaled block, with its spectrum if the solver uses it for every eta."""
    scaled = gram.scaled(factor)
    if spectrum and not scaled.thin:
        with one_blas_thread():
            scaled.spectrum  # noqa: B018  # compute and cache it
    return scaled


def solve_rows(
    gram: GramTensor, solver: SliceSolver, lams: NDArray, etas: Sequence[float]
) -> list[list[dict[str, NDArray]]]:
    """Solve a block for all lams at each of some etas."""
    ridge = solver.objective_ridge
    with one_blas_thread():
        return [solve_row(gram, lams, float(eta), solver.solve_block, ridge) for eta in etas]
