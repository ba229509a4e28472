"""Solve slices whose Gram matrices are arrays on a device, on that device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import in_precision, namespace_of, precision_of
from tensift.moments import GramTensor, variances
from tensift.solvers import (
    CriticalPenalties,
    PathSolution,
    SliceProblems,
    SliceSolver,
    Solution,
    block_elements,
    column_norms,
    critical_penalties,
    estimated_objectives,
    on_device,
    spectrum_of,
)
from tensift.stpca._shared_energy import energies_of
from tensift.stpca._zero_score_order import norms_under
from tensift.stpca.execution._executor import SliceExecutor

__all__ = ["DeviceExecutor"]


class DeviceExecutor(SliceExecutor):
    """Solves slices whose Gram matrices are arrays of any library of the array API standard.

    The paper's solver works in the precision of the results. The exact solver works in that of the
    Gram matrices. Its objectives and dual bounds keep that precision, because rounded bounds would
    prove nothing.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices, in any precision.
    precision : {"float32", "float64"}
        The precision of operators and scores.
    """

    def __init__(self, gram: GramTensor, precision: str) -> None:
        self.gram = GramTensor(gram.dense(), thin=False)
        self.precision = precision
        self.n_slices, self.size = gram.n_slices, gram.size

    @cached_property
    def _rounded(self) -> GramTensor:
        if self.precision == "float32" and precision_of(self.gram.array) == "float64":
            _check_range(self.gram.array)
        return GramTensor(in_precision(self.gram.array, self.precision), thin=False)

    def _problems(self, solver: SliceSolver, lam: float, eta: float) -> SliceProblems:
        gram = self.gram if solver.name == "exact" else self._rounded
        return solver.problems(gram, lam, eta)

    def critical(self) -> CriticalPenalties:
        """Return the penalties above which the optimum of every slice is zero."""
        return critical_penalties(self.gram)

    def bounds(self, n_jobs: int | None = None) -> CriticalPenalties:
        """Return the critical eta and an upper bound of the critical lam.

        The eigenvalues are those that estimates and the exact solver need too: libraries for
        accelerators take longer for eigenvalues alone than `spectrum_of` for all.
        """
        xp = namespace_of(self.gram.array)
        longest = xp.max(column_norms(self.gram.array))
        largest = xp.max(spectrum_of(self.gram)[0])
        return CriticalPenalties(2 * float(longest), 2 * float(largest))

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
        """Return the sum of all objectives, for each pair of penalties."""
        return estimated_objectives(self.gram, lams, etas, ridge)

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve all slices together; `n_jobs` has no effect."""
        solution = _solve(solver, self._problems(solver, lam, eta), None, callback)
        return replace(solution, found=in_precision(solution.found, self.precision))

    def columns_that_vary(self, n_waiting: int) -> Any:
        """Return a mask of the columns that vary."""
        return variances(self.gram) > 0

    def norms_at_smaller_penalties(
        self, solver: SliceSolver, lam: float, eta: float, n_jobs: int | None = None
    ) -> Callable[[Any, float], Any]:
        """Return a function that computes column norms under smaller penalties."""

        def norms_at(slices: Any, factor: float) -> Any:
            problems = self._problems(solver, lam, eta)
            part = SliceProblems(problems.gram[slices], lam, eta, problems.ridge)
            found = norms_under(part, factor, lambda smaller: _solve(solver, smaller))
            return in_precision(found, self.precision)

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
        """Solve every slice at every pair of penalties, with warm starts upwards in lam."""
        if checkpoint is not None:
            raise ValueError(
                "checkpoint cannot be used on a device; pass NumPy arrays, or leave it out"
            )
        ascending = [int(i) for i in np.argsort(lams)]
        exact = solver.name == "exact"
        gram = self.gram if exact else self._rounded
        size = self.n_slices * self.size**2
        together = max(1, block_elements(gram.array) // size)
        cells: dict[tuple[int, int], dict[str, Any]] = {}
        for first in range(0, len(etas), together):
            columns = range(first, min(first + together, len(etas)))
            stack = _SlicesForEachEta(gram, [float(etas[j]) for j in columns], exact=exact)
            solution = None
            for i in ascending:
                problems = solver.problems(stack.gram, float(lams[i]), stack.eta)
                solution = _solve(solver, problems, solution)
                kept = _kept_fields(solution, self.precision)
                for j, part in zip(columns, stack.parts(kept), strict=True):
                    cells[i, j] = part
                if callback is not None:
                    callback(len(cells) * self.n_slices)
        return PathSolution(**_stacked(cells, len(lams), len(etas)))


class _SlicesForEachEta:
    """The same slices, repeated for each of several etas, so that all are solved together.

    Most slices are done after a few steps, but on a device a step takes as long for a few slices
    as for many. Solving several etas together keeps it busy.
    """

    def __init__(self, gram: GramTensor, etas: list[float], *, exact: bool) -> None:
        xp = namespace_of(gram.array)
        self.n_slices, self.gram = gram.n_slices, gram
        self.eta: Any = etas[0]
        if len(etas) == 1:
            return
        self.gram = GramTensor(xp.concat([gram.array] * len(etas)), thin=False)
        one = xp.ones_like(xp.linalg.vector_norm(gram.array, axis=(1, 2)))
        self.eta = xp.concat([eta * one for eta in etas])
        if exact:
            values, vectors = spectrum_of(gram)
            vars(self.gram)["spectrum"] = (
                xp.concat([values] * len(etas)),
                xp.concat([vectors] * len(etas)),
            )

    def parts(self, kept: dict[str, Any]) -> list[dict[str, Any]]:
        """Split results into those of each eta."""
        cuts = range(0, self.gram.n_slices, self.n_slices)
        return [
            {name: value[cut : cut + self.n_slices, ...] for name, value in kept.items()}
            for cut in cuts
        ]


def _check_range(matrices: Any) -> None:
    """Raise an error if products of these sums of squares do not fit single precision."""
    xp = namespace_of(matrices)
    largest = float(xp.max(xp.abs(matrices)))
    if not 1e-15 < largest < 1e15:
        raise ValueError(
            f"X has sums of squares of {largest:.0e}, out of the range of single precision; use "
            "scale='max', other units, or float64"
        )


def _solve(
    solver: SliceSolver,
    problems: SliceProblems,
    start: Solution | None = None,
    callback: Callable[[int], None] | None = None,
) -> Solution:
    if solver.name == "exact":
        return on_device.solve_exact_on_device(
            problems, tol=solver.tol, max_iter=solver.max_iter, start=start, callback=callback
        )
    # No warm start here: where the authors' iteration ends depends on where it starts, and the
    # result must equal that of a fit.
    return on_device.solve_paper_on_device(problems, **solver.of_paper(), callback=callback)


def _kept_fields(solution: Solution, precision: str) -> dict[str, Any]:
    """Return all results but the operators."""
    objective = solution.objective
    unknown = namespace_of(objective).full_like(objective, float("nan"))
    return {
        "norms": in_precision(solution.norms, precision),
        "objective": objective,
        "dual": unknown if solution.dual is None else solution.dual,
        "dual_gap": unknown if solution.dual_gap is None else solution.dual_gap,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
    }


def _stacked(
    cells: dict[tuple[int, int], dict[str, Any]], n_lams: int, n_etas: int
) -> dict[str, Any]:
    """Stack the results of all cells; the first two axes are the grid."""
    xp = namespace_of(cells[0, 0]["norms"])
    return {
        name: xp.stack(
            [xp.stack([cells[i, j][name] for j in range(n_etas)]) for i in range(n_lams)]
        )
        for name in cells[0, 0]
    }
