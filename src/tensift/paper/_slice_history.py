"""The authors' iteration, step by step, compared with the certified optimum."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import tensift
from tensift.algebra import make_transforms
from tensift.moments import Moments, Orientation
from tensift.paper._fits import Result
from tensift.paper._sets import load_set
from tensift.solvers import SliceProblems, Solution, solve_exact, solve_paper

__all__ = ["SliceHistory", "representative", "total_path", "went_up"]


@dataclass(frozen=True)
class SliceHistory:
    """Every step of every slice of STPCA-MP on a dataset, with the identity transform.

    Parameters
    ----------
    data : str
        The name of a dataset.
    orientation : int
        The mode along which features predict each other.
    lam, eta : float
        The penalties.
    repeats : int
        How often each number of steps is timed; the shortest time counts.
    """

    data: str
    orientation: int
    lam: float
    eta: float
    repeats: int

    @property
    def key(self) -> str:
        """Everything that the result depends on."""
        return json.dumps(["slice history", tensift.__version__, *vars(self).values()])

    @property
    def group(self) -> object:
        """Cells of one group take similar time."""
        return "slice history", self.data

    def compute(self) -> Result:
        """Solve all slices in both ways, and time the steps of one.

        Returns
        -------
        dict
            `total`: the objective after every step, summed over slices (a slice that has stopped
            keeps its value). `steps` of each slice. `rises`: the number of steps of all slices that
            raise the objective. `slice`: the representative slice, with `path`, its objectives, and
            `cumulative`, the shortest processor seconds of its first step, its first two, and so
            on. `total_optimum` and `slice_optimum`: the certified smallest values. `total_bound`
            and `slice_bound`: their lower bounds. `zero`: the number of slices whose optimum is
            zero.
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
        """Shortest seconds of the first 1, 2, ... steps; repeats are spread to average out load."""
        seconds = np.full(n_steps, np.inf)
        for _ in range(self.repeats):
            for place in range(n_steps):
                started = time.process_time()
                solve_paper(problem, ridge=ridge, tol=0.0, max_iter=place + 1)
                seconds[place] = min(seconds[place], time.process_time() - started)
        # Fewer steps cannot take longer than more steps, so times of more steps are upper bounds.
        least = np.minimum.accumulate(seconds[::-1])[::-1]
        return [float(value) for value in least]


def representative(found: Solution, problems: SliceProblems) -> int:
    """Of the slices with the median number of steps, the one with the most energy."""
    median = np.sort(found.n_iter)[len(found.n_iter) // 2]
    return int(np.argmax(np.where(found.n_iter == median, problems.gram.trace(), -np.inf)))


def total_path(path: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum over slices after every step; a slice that has stopped keeps its value."""
    filled = path.copy()
    for step in range(1, path.shape[1]):
        stopped = np.isnan(filled[:, step])
        filled[stopped, step] = filled[stopped, step - 1]
    return filled.sum(axis=0)


def went_up(path: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each value along the last axis is larger than the one before, beyond rounding."""
    change = np.diff(path, axis=-1)
    return np.asarray(change > 1e-12 * np.abs(path[..., :-1]))
