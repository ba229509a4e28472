"""Slices whose Gram matrices are on Dask workers, where they are solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._checkpoint import fingerprint
from tensift._stacks import diagonal_of
from tensift._threads import one_blas_thread
from tensift.gram import GramTensor, Moments
from tensift.selectors._entry import norms_under
from tensift.selectors._scoring import variances
from tensift.selectors._shared_energy import energies_of
from tensift.selectors._slice_solver import SliceSolver
from tensift.selectors._slices import LocalSlices, Slices, parts_in
from tensift.solvers import CriticalPenalties, PathSolution, Solution, critical_penalties
from tensift.solvers._critical import bounds_of_critical
from tensift.solvers._path import PathRows, solve_row
from tensift.solvers._problem import column_norms
from tensift.sources._dask_moments import DaskMoments, joined_gram
from tensift.sources._dask_tasks import gather, in_processes

__all__ = ["DaskSlices"]

_ROUNDING = 1e-6  # what bounds of equal slices may differ by


class DaskSlices(Slices):
    """Slices in blocks on the workers: a task for each block, with one BLAS thread.

    Tasks give back column norms, objectives and certificates. Operators never leave the workers,
    nor are they kept there: they would take as much memory as the Gram tensor, and few ask for
    them. Those who do, by reading `operators_` or by `score`, have the slices solved again, and
    all operators brought here.

    ``n_jobs`` has no meaning: how many tasks run at a time is the scheduler's concern.

    Parameters
    ----------
    moments : DaskMoments
        They hold the Gram tensor, in blocks.
    factor : float
        What the data are multiplied by.
    """

    def __init__(self, moments: DaskMoments, factor: float) -> None:
        self._moments, self._factor = moments, factor
        self.n_slices, self.size = moments.n_slices, moments.size

    def critical(self) -> CriticalPenalties:
        """The penalties above which nothing is left of any slice.

        Most slices are known not to have the largest from bounds that are found at once; those
        that may have it go to one worker, which narrows the bounds as it would for all slices.
        """
        parts = gather(self._on_blocks(partial(bounds_of_slices, factor=self._factor)))
        eta, lower, upper = (np.concatenate(values) for values in zip(*parts, strict=True))
        wanted = upper >= (1 - _ROUNDING) * lower.max()
        wanted |= eta >= (1 - _ROUNDING) * eta.max()
        chosen = [np.flatnonzero(wanted[block]) for block in self._moments.blocks]
        taken = [
            self._task(partial(some_slices, slices=slices), gram)
            for slices, gram in zip(chosen, self._moments.grams, strict=True)
            if len(slices)
        ]
        (critical,) = gather([self._task(partial(critical_of, factor=self._factor), *taken)])
        return critical

    def bounds(self) -> CriticalPenalties:
        """The critical eta, and a bound from above of the critical lam."""
        return largest_of(gather(self._on_blocks(bounds_of_critical)), self._factor)

    def energies(self, n_samples: int) -> tuple[float, float]:
        """The sum of squares of all slices, and what their features share."""
        found = gather(self._on_blocks(partial(energies_of, n_samples=n_samples)))
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
        """Solve every slice; the solution has no operators until they are read."""
        settings: dict[str, Any] = {
            "solver": solver,
            "lam": lam,
            "eta": eta,
            "factor": self._factor,
        }
        store = None if callback is None else _Count(self._moments.blocks, callback)
        parts = gather(self._on_blocks(partial(solve_block, **settings)), store)
        operators = partial(operators_of, self._moments, **settings)
        return SolutionElsewhere(
            [part for part, _ in parts], [norms for _, norms in parts], operators
        )

    def varying(self, n_waiting: int) -> NDArray[np.bool_]:
        """The columns of slices that vary."""
        return np.concatenate(gather(self._on_blocks(columns_that_vary)))

    def smaller(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[NDArray, float], NDArray]:
        """Column norms under smaller penalties."""
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
            return np.concatenate(gather(tasks))

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
        """Solve every slice at every pair of penalties: a task for every block and eta.

        Before its rows, a block is prepared once, by one task, for all that need it. Processes
        without a memory of their own would be sent it with every row; there, one task solves all
        rows of a block.
        """
        lams, etas = np.asarray(lams, dtype=float), np.asarray(etas, dtype=float)
        blocks = self._moments.blocks

        def key() -> str:
            digests = gather(self._on_blocks(digest_of))
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
            gather(tasks, store)
        return rows.path

    def _on_blocks(self, work: Callable) -> list[Any]:
        return [self._task(work, gram) for gram in self._moments.grams]

    @staticmethod
    def _task(work: Callable, *grams: Any) -> Any:
        """A task named after what it does to what: the same in every process."""
        from dask import delayed

        return delayed(work, pure=True, traverse=False)(*grams)


def largest_of(parts: Sequence[CriticalPenalties], factor: float) -> CriticalPenalties:
    """The largest penalties of parts of the data, which are multiplied by a factor."""
    lam, eta = (max(values) for values in zip(*((p.lam, p.eta) for p in parts), strict=True))
    return CriticalPenalties(factor**2 * lam, factor**2 * eta)


class SolutionElsewhere(Solution):
    """A solution whose operators are computed again, and brought here, when they are read."""

    _again: Callable[[], NDArray]

    def __init__(
        self,
        parts: Sequence[Solution],
        norms: Sequence[NDArray],
        operators: Callable[[], NDArray],
    ) -> None:
        vars(self).update(vars(Solution.concatenate(parts)))
        vars(self)["norms"] = np.concatenate(norms)
        vars(self)["_again"] = operators

    @cached_property
    def operators(self) -> NDArray:
        """Reconstruction operators, ``(p, q, q)``."""
        return self._again()


def operators_of(
    moments: Moments, solver: SliceSolver, lam: float, eta: float, factor: float
) -> NDArray:
    """Operators of all slices, wherever their Gram matrices are by now."""
    if not isinstance(moments, DaskMoments):  # they have been pickled in between
        return LocalSlices(moments.gram().scaled(factor)).solve(solver, lam, eta).operators
    work = partial(operators_of_block, solver=solver, lam=lam, eta=eta, factor=factor)
    return np.concatenate(gather(DaskSlices(moments, factor)._on_blocks(work)))


class _Count:
    """Tells a callback how many slices are in the blocks that are done."""

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


# Tasks. None changes what it is given: it may be given again, to whoever computes it anew.


def _solved(
    gram: GramTensor, solver: SliceSolver, lam: float, eta: float, factor: float
) -> Solution:
    with one_blas_thread():
        return solver.solve(solver.problems(gram.scaled(factor), lam, eta))


def solve_block(gram: GramTensor, **settings: Any) -> tuple[Solution, NDArray[np.float64]]:
    """The solution of a block without its operators, and their column norms."""
    solution = _solved(gram, **settings)
    return replace(solution, found=np.empty((gram.n_slices, 0, 0))), solution.norms


def operators_of_block(gram: GramTensor, **settings: Any) -> NDArray:
    """The operators of a block."""
    return _solved(gram, **settings).operators


def columns_that_vary(gram: GramTensor) -> NDArray[np.bool_]:
    """Which features of the slices of a block vary."""
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
    """Column norms of some slices of a block under a share of the penalties."""
    with one_blas_thread():
        problems = solver.problems(gram[slices].scaled(factor), lam, eta)
        return norms_under(problems, share, solver.solve)


def bounds_of_slices(gram: GramTensor, factor: float) -> tuple[NDArray, NDArray, NDArray]:
    """For every slice of a block its critical eta, and bounds of its critical lam."""
    with one_blas_thread():
        doubled = 2 * gram.scaled(factor).dense()
        largest = np.linalg.eigvalsh(doubled)[:, -1]
        return largest, diagonal_of(doubled).real.max(axis=1), column_norms(doubled).max(axis=1)


def some_slices(gram: GramTensor, slices: NDArray[np.intp]) -> GramTensor:
    """Some slices of a block."""
    return gram[slices]


def critical_of(*grams: GramTensor, factor: float) -> CriticalPenalties:
    """The critical penalties of the slices of all blocks."""
    with one_blas_thread():
        return critical_penalties(joined_gram(list(grams)).scaled(factor))


def digest_of(gram: GramTensor) -> str:
    """The fingerprint of a block."""
    return fingerprint(gram.array, gram.thin)


def prepared(gram: GramTensor, factor: float, spectrum: bool) -> GramTensor:
    """A block with everything that its rows share."""
    scaled = gram.scaled(factor)
    if spectrum:
        with one_blas_thread():
            scaled.spectrum  # noqa: B018  # it is kept
    return scaled


def solve_rows(
    gram: GramTensor, solver: SliceSolver, lams: NDArray, etas: Sequence[float]
) -> list[list[dict[str, NDArray]]]:
    """Rows of a path of a block."""
    ridge = solver.objective_ridge
    with one_blas_thread():
        return [solve_row(gram, lams, float(eta), solver.solve_block, ridge) for eta in etas]
