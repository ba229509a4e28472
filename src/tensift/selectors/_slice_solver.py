"""Which solver to run on slices, and with what settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tensift._namespace import namespace_of
from tensift._warnings import warn_user
from tensift.gram import GramTensor
from tensift.solvers import SliceProblems, Solution, solve_exact, solve_paper
from tensift.solvers._exact import solve_exact_block
from tensift.solvers._paper import solve_paper_block

__all__ = ["SliceSolver", "explained_failure", "warn_of_open_gaps"]


@dataclass(frozen=True)
class SliceSolver:
    """A solver and its settings, all of them resolved.

    ``ridge`` is part of the objective for "exact", of the update alone for "paper". ``smoothing``,
    ``relative`` and ``watch_conjugate`` concern "paper" only.
    """

    name: str
    tol: float
    max_iter: int
    ridge: float
    smoothing: float = float(np.finfo(float).eps)
    relative: bool = False
    watch_conjugate: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        *,
        tol: float | None,
        max_iter: int | None,
        convention: str,
        stopping: str,
        many_samples: bool,
    ) -> SliceSolver:
        """Resolve the parameters of an estimator; many samples are more than a slice's features."""
        if name == "exact":
            return cls(
                name,
                tol=1e-6 if tol is None else float(tol),
                max_iter=1000 if max_iter is None else int(max_iter),
                ridge=1e-3,
            )
        program = convention == "program"
        return cls(
            name,
            tol=1e-5 if tol is None else float(tol),
            max_iter=100 if max_iter is None else int(max_iter),
            ridge=1e-2 if program and not many_samples else 1e-3,
            smoothing=float(np.finfo(float).eps) if program else 1e-2,
            relative=stopping == "relative",
            watch_conjugate=program and many_samples,
        )

    @property
    def objective_ridge(self) -> float:
        """The ridge of the problems that are solved."""
        return self.ridge if self.name == "exact" else 0.0

    def problems(self, gram: GramTensor, lam: float, eta: float) -> SliceProblems:
        """The problems of slices under these penalties."""
        return SliceProblems(gram, lam, eta, self.objective_ridge)

    def solve(
        self,
        problems: SliceProblems,
        n_jobs: int | None = None,
        callback: Callable[[int], None] | None = None,
    ) -> Solution:
        """Solve all slices, in threads."""
        if self.name == "exact":
            return solve_exact(
                problems, tol=self.tol, max_iter=self.max_iter, n_jobs=n_jobs, callback=callback
            )
        return solve_paper(problems, **self.of_paper(), n_jobs=n_jobs, callback=callback)

    def solve_block(self, problems: SliceProblems, start: Solution | None = None) -> Solution:
        """Solve a block of slices in this thread, from the solution at other penalties."""
        if self.name == "exact":
            return solve_exact_block(problems, start, tol=self.tol, max_iter=self.max_iter)
        # Where the authors' iteration ends depends on where it starts, so it starts as in a fit.
        return solve_paper_block(problems, **self.of_paper())

    def of_paper(self) -> dict[str, Any]:
        """The settings that the paper's iteration takes."""
        names = ("ridge", "smoothing", "tol", "relative", "max_iter", "watch_conjugate")
        return {name: getattr(self, name) for name in names}


def warn_of_open_gaps(converged: Any, name: Callable[..., str], total: str) -> None:
    """Name what is not proven optimal to the tolerance, if anything; `name` gets its indices."""
    xp = namespace_of(converged)
    missed = xp.nonzero(~converged)
    count = missed[0].shape[0]
    if count:
        first = [name(*(int(axis[k]) for axis in missed)) for k in range(min(count, 5))]
        more = f" and {count - 5} more" if count > 5 else ""
        warn_user(
            f"{count} of {total} missed tol: {', '.join(first)}{more}; increase max_iter or tol",
            ConvergenceWarning,
        )


@contextmanager
def explained_failure() -> Iterator[None]:
    """Say what to do where a solver meets matrices that it cannot factor."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "features of X depend on one another beyond working precision, and its values are "
            "too large for the ridge to help; use scale='max', smaller units or a larger lam"
        ) from error
