"""The solvers that users choose from, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from tensift._utils.namespace import namespace_of
from tensift._utils.sklearn_compat import Interval, StrOptions
from tensift._utils.warnings import warn_user
from tensift.moments import GramTensor
from tensift.solvers._exact import solve_exact, solve_exact_block
from tensift.solvers._paper import solve_paper, solve_paper_block
from tensift.solvers._problem import SliceProblems
from tensift.solvers._solution import Solution

__all__ = [
    "ExactSolver",
    "PaperSolver",
    "SliceSolver",
    "explained_failure",
    "solver_from",
    "warn_of_open_slices",
]

_RIDGE = 1e-3  # eps_1 of the paper


class ExactSolver(BaseEstimator):
    """Minimise the stated problem, with a proof for every slice of how close the result is.

    Parameters
    ----------
    tol : float, default=1e-6
        A slice stops when its relative duality gap is at most this.
    max_iter : int, default=1000
        The largest number of steps.

    Examples
    --------
    >>> from tensift import ExactSolver, STPCASelector
    >>> from tensift.datasets import load_digits
    >>> selector = STPCASelector(20, solver=ExactSolver(tol=1e-8)).fit(load_digits().data)
    >>> bool(selector.dual_gap_.max() <= 1e-8)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    squared_scores = False

    def __init__(self, tol: float = 1e-6, max_iter: int = 1000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def resolve(self, *, many_samples: bool) -> SliceSolver:
        """The settings for slices; `many_samples` are more than a slice has features."""
        return SliceSolver("exact", float(self.tol), int(self.max_iter), _RIDGE)


class PaperSolver(BaseEstimator):
    """The authors' iteration; it stops somewhat above the optimum of the stated problem.

    Parameters
    ----------
    tol : float, default=1e-5
        A slice stops when its objective changes by less than this.
    max_iter : int, default=100
        The largest number of steps.
    convention : {"program", "paper"}, default="program"
        What to follow where the paper's text and its authors' program differ. "program": machine
        epsilon under the root of the weights, ridge 1e-3, or 1e-2 if a slice has no more samples
        than features, scores with a square root. "paper": 1e-2 under the root, ridge 1e-3, squared
        scores.
    stopping : {"absolute", "relative"}, default="absolute"
        Whether `tol` is a change of the objective, as in the paper, or a share of it, which does
        not depend on the scale of the data.

    Examples
    --------
    >>> from tensift import PaperSolver, STPCASelector
    >>> from tensift.datasets import load_digits
    >>> solver = PaperSolver(max_iter=500)
    >>> selector = STPCASelector(20, lam=10, eta=10, solver=solver).fit(load_digits().data)
    >>> selector.get_params()["solver__max_iter"]
    500
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "convention": [StrOptions({"program", "paper"})],
        "stopping": [StrOptions({"absolute", "relative"})],
    }

    def __init__(
        self,
        tol: float = 1e-5,
        max_iter: int = 100,
        convention: str = "program",
        stopping: str = "absolute",
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.convention = convention
        self.stopping = stopping

    @property
    def squared_scores(self) -> bool:
        """Whether scores are squared norms."""
        return self.convention == "paper"

    def resolve(self, *, many_samples: bool) -> SliceSolver:
        """The settings for slices; `many_samples` are more than a slice has features."""
        program = self.convention == "program"
        return SliceSolver(
            "paper",
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            ridge=1e-2 if program and not many_samples else _RIDGE,
            smoothing=float(np.finfo(float).eps) if program else 1e-2,
            relative=self.stopping == "relative",
            watch_conjugate=program and many_samples,
        )


def solver_from(given: str | ExactSolver | PaperSolver) -> ExactSolver | PaperSolver:
    """The solver that a parameter names or holds, with valid settings."""
    if isinstance(given, str):
        return ExactSolver() if given == "exact" else PaperSolver()
    given._validate_params()
    return given


@dataclass(frozen=True)
class SliceSolver:
    """A solver with all settings resolved for the slices at hand.

    For "exact", ``ridge`` is part of the objective; for "paper", only of the update.
    ``smoothing``, ``relative`` and ``watch_conjugate`` are used by "paper" only.
    """

    name: str
    tol: float
    max_iter: int
    ridge: float
    smoothing: float = float(np.finfo(float).eps)
    relative: bool = False
    watch_conjugate: bool = False

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
        # The result of the authors' iteration depends on its start, so it starts as in a fit.
        return solve_paper_block(problems, **self.of_paper())

    def of_paper(self) -> dict[str, Any]:
        """The settings that the paper's iteration takes."""
        names = ("ridge", "smoothing", "tol", "relative", "max_iter", "watch_conjugate")
        return {name: getattr(self, name) for name in names}


def warn_of_open_slices(converged: Any, name: Callable[..., str], total: str) -> None:
    """Warn of slices that did not reach the tolerance; `name` turns their indices into words."""
    xp = namespace_of(converged)
    missed = xp.nonzero(~converged)
    count = missed[0].shape[0]
    if count:
        first = [name(*(int(axis[k]) for axis in missed)) for k in range(min(count, 5))]
        more = f" and {count - 5} more" if count > 5 else ""
        warn_user(
            f"{count} of {total} did not reach tol: {', '.join(first)}{more}; increase max_iter or "
            "tol of the solver, for example solver=ExactSolver(max_iter=10000)",
            ConvergenceWarning,
        )


@contextmanager
def explained_failure() -> Iterator[None]:
    """Turn the error for matrices that cannot be factored into advice."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "some features of X depend on one another to working precision, and its values are "
            "too large for the ridge to help; use scale='max', smaller units or a larger lam"
        ) from error
