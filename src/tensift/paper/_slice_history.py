"""The authors' iteration, watched step by step and held against the certified optimum."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tensift
from tensift.algebra import make_transforms
from tensift.gram import Moments, Orientation
from tensift.paper._fits import Result
from tensift.paper._sets import load_set
from tensift.solvers import SliceProblems, Solution, solve_exact, solve_paper

__all__ = ["SliceHistory", "representative", "total_path", "went_up"]


@dataclass(frozen=True)
class SliceHistory:
    """STPCA-MP with the identity transform on a set, every step of every slice.

    Parameters
    ----------
    data : str
        The name of a set.
    orientation : int
        The mode whose indices reconstruct one another.
    lam, eta : float
        The penalties.
    repeats : int
        How often each number of steps is timed; the least time counts.
    """

    data: str
    orientation: int
    lam: float
    eta: float
    repeats: int

    @property
    def key(self) -> str:
        """All that the result depends on."""
        return json.dumps(["slice history", tensift.__version__, *vars(self).values()])

    @property
    def group(self) -> object:
        """What takes about as long."""
        return "slice history", self.data

    def compute(self) -> Result:
        """Solve all slices in both ways, and time the steps of one.

        Returns
        -------
        dict
            `total`, the objectives after every step, summed over slices (one that has stopped
            stays where it is); `steps` of each slice; `rises`, the steps that went up, over all
            slices; `slice`, the representative one, `path`, its objectives, and `cumulative`,
            least processor seconds of its first
            step, first two, and so on; `total_optimum` and
            `slice_optimum`, the certified least values, `total_bound` and `slice_bound` what
            no operator can go below; `zero`, the slices whose optimum is zero.
        """
        problems, ridge = self._problems()
        found = solve_paper(problems, ridge=ridge)
        best = solve_exact(problems)
        assert best.dual is not None
        chosen = representative(found, problems)
        path = found.objective_path[chosen, : found.n_iter[chosen]]
        return {
            "total": total_path(found.objective_path).tolist(),
            "steps": found.n_iter.tolist(),
            "rises": int(np.count_nonzero(went_up(found.objective_path))),
            "slice": chosen,
            "path": path.tolist(),
            "cumulative": self._timed(problems[chosen : chosen + 1], ridge, len(path)),
            "total_optimum": float(best.objective.sum()),
            "total_bound": float(best.dual.sum()),
            "slice_optimum": float(best.objective[chosen]),
            "slice_bound": float(best.dual[chosen]),
            "zero": int(np.count_nonzero(~best.operators.any(axis=(1, 2)))),
        }

    def _problems(self) -> tuple[SliceProblems, float]:
        """The slices of scaled data, and the ridge that the authors' program adds to its update."""
        X = load_set(self.data).data
        others = [size for mode, size in enumerate(X.shape[1:]) if mode != self.orientation]
        transforms = make_transforms("identity", others)
        moments = Moments(Orientation(X.shape[1:], self.orientation, transforms)).update(X)
        gram = moments.gram().scaled(1 / moments.peak)
        return SliceProblems(gram, self.lam, self.eta), 1e-3 if gram.size < len(X) else 1e-2

    def _timed(self, problem: SliceProblems, ridge: float, n_steps: int) -> list[float]:
        """Least seconds of the first 1, 2, ... steps; repetitions apart, against passing loads."""
        seconds = np.full(n_steps, np.inf)
        for _ in range(self.repeats):
            for place in range(n_steps):
                started = time.process_time()
                solve_paper(problem, ridge=ridge, tol=0.0, max_iter=place + 1)
                seconds[place] = min(seconds[place], time.process_time() - started)
        # Fewer steps take no longer than more: what was measured of more bounds them as well.
        least = np.minimum.accumulate(seconds[::-1])[::-1]
        return [float(value) for value in least]


def representative(found: Solution, problems: SliceProblems) -> int:
    """The slice of a median number of steps that has the most energy."""
    median = np.sort(found.n_iter)[len(found.n_iter) // 2]
    return int(np.argmax(np.where(found.n_iter == median, problems.gram.trace(), -np.inf)))


def total_path(path: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over slices after every step; a slice that has stopped stays where it is."""
    filled = path.copy()
    for step in range(1, path.shape[1]):
        stopped = np.isnan(filled[:, step])
        filled[stopped, step] = filled[stopped, step - 1]
    return filled.sum(axis=0)


def went_up(path: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Along the last axis, whether a value is above the one before, beyond rounding."""
    change = np.diff(path, axis=-1)
    return np.asarray(change > 1e-12 * np.abs(path[..., :-1]))
