"""Slices whose Gram matrices are arrays on a device: solved and scored where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import in_precision, namespace_of, precision_of
from tensift.gram import GramTensor
from tensift.selectors._entry import entry_scores, norms_under
from tensift.selectors._scoring import variances
from tensift.selectors._slice_solver import SliceSolver
from tensift.selectors._slices import Slices
from tensift.solvers import (
    CriticalPenalties,
    PathSolution,
    SliceProblems,
    Solution,
    critical_penalties,
    on_device,
)

__all__ = ["DeviceSlices"]


class DeviceSlices(Slices):
    """Slices whose Gram matrices are arrays of any library of the array API standard.

    Parameters
    ----------
    gram : GramTensor
        The Gram matrices, in any precision.
    precision : {"float32", "float64"}
        What to solve and to give results in.
    """

    def __init__(self, gram: GramTensor, precision: str) -> None:
        matrices = gram.dense()
        if precision == "float32" and precision_of(matrices) == "float64":
            _check_range(matrices)
        self.gram = GramTensor(in_precision(matrices, precision), thin=False)
        self.n_slices, self.size = gram.n_slices, gram.size

    def critical(self) -> CriticalPenalties:
        """The penalties above which nothing is left of any slice."""
        return critical_penalties(self.gram)

    def solve(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve every slice, all of them together; `n_jobs` has no meaning here."""
        return _solve(solver, solver.problems(self.gram, lam, eta), None, callback)

    def entry_scores(
        self,
        solver: SliceSolver,
        lam: float,
        eta: float,
        norms: Any,
        score: Callable[[Any], Any],
        varies: Any,
        n_selected: int,
        n_jobs: int | None = None,
    ) -> list[Any]:
        """Scores under smaller and smaller penalties."""

        def norms_at(slices: Any, factor: float) -> Any:
            problems = solver.problems(self.gram[slices], lam, eta)
            return norms_under(problems, factor, lambda smaller: _solve(solver, smaller))

        return entry_scores(
            norms, score, varies, n_selected, lambda: variances(self.gram) > 0, norms_at
        )

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
        """Solve every slice at every pair of penalties, upwards in lam from the last solution."""
        if checkpoint is not None:
            raise ValueError(
                "checkpoint is for paths on the host; pass NumPy arrays, or leave it out"
            )
        ascending = np.argsort(lams)
        cells: dict[tuple[int, int], dict[str, Any]] = {}
        for j, eta in enumerate(etas):
            solution = None
            for i in ascending:
                problems = solver.problems(self.gram, float(lams[i]), float(eta))
                solution = _solve(solver, problems, solution)
                cells[int(i), j] = _what_is_kept(solution)
                if callback is not None:
                    callback(len(cells) * self.n_slices)
        return PathSolution(**_stacked(cells, len(lams), len(etas)))


def _check_range(matrices: Any) -> None:
    """Refuse sums of squares that single precision cannot hold, nor their products."""
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
    # Where the authors' iteration ends depends on where it starts, so it starts as in a fit.
    return on_device.solve_paper_on_device(problems, **solver.of_paper(), callback=callback)


def _what_is_kept(solution: Solution) -> dict[str, Any]:
    """All but the operators."""
    objective = solution.objective
    unknown = namespace_of(objective).full_like(objective, float("nan"))
    return {
        "norms": solution.norms,
        "objective": objective,
        "dual": unknown if solution.dual is None else solution.dual,
        "dual_gap": unknown if solution.dual_gap is None else solution.dual_gap,
        "n_iter": solution.n_iter,
        "converged": solution.converged,
    }


def _stacked(
    cells: dict[tuple[int, int], dict[str, Any]], n_lams: int, n_etas: int
) -> dict[str, Any]:
    """What is kept of every cell as arrays whose first two axes are the grid."""
    xp = namespace_of(cells[0, 0]["norms"])
    return {
        name: xp.stack(
            [xp.stack([cells[i, j][name] for j in range(n_etas)]) for i in range(n_lams)]
        )
        for name in cells[0, 0]
    }
