"""The results of a method on a dataset: best cells, means, curves, spreads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensift.paper._experiment import Results
from tensift.paper._fits import Fit, Result
from tensift.paper._sets import PaperSet
from tensift.paper._study import Contender

__all__ = ["Best", "Outcomes"]


@dataclass(frozen=True)
class Best:
    """A value, and where it comes from.

    `spread` is the standard deviation over the runs of k-means in that cell, or None. If the method
    has several seeds, `value` is the mean over seeds of each seed's best value, and `over_seeds`
    their standard deviation. `fit` and `count` belong to the best seed.
    """

    value: float
    fit: Fit
    count: int
    spread: float | None = None
    over_seeds: float | None = None


class Outcomes:
    """The results of a method on a dataset."""

    def __init__(
        self, contender: Contender, data: PaperSet, fits: Sequence[Fit], results: Results
    ) -> None:
        self.contender = contender
        self.data = data
        self.results: list[tuple[Fit, Result]] = [(fit, results[fit]) for fit in fits]

    @property
    def seeds(self) -> list[int]:
        return sorted({fit.seed for fit, _ in self.results})

    @property
    def cells(self) -> int:
        """How many cells of the grid were run."""
        return len({fit.settings for fit, _ in self.results})

    @property
    def cells_of_grid(self) -> int:
        return int(np.prod([len(values) for values in self.contender.grid.values()]))

    @property
    def mean_seconds(self) -> float:
        """Of a fit."""
        return float(np.mean([result["seconds"] for _, result in self.results]))

    def seconds_of(self, fit: Fit) -> float:
        return next(float(result["seconds"]) for one, result in self.results if one == fit)

    def luckiest(self, metric: str) -> float:
        """The largest value over cells, counts and seeds."""
        return max(self._best_of_seed(metric, seed).value for seed in self.seeds)

    def best(self, metric: str) -> Best:
        """The largest value over cells and counts, as the paper reports: chosen with the labels."""
        bests = [self._best_of_seed(metric, seed) for seed in self.seeds]
        top = max(bests, key=lambda best: best.value)
        if len(bests) == 1:
            return top
        values = [best.value for best in bests]
        return Best(float(np.mean(values)), top.fit, top.count, top.spread, float(np.std(values)))

    def _best_of_seed(self, metric: str, seed: int) -> Best:
        found = [
            Best(value, fit, count, result[f"{metric}_std"][place] if is_drawn else None)
            for fit, result in self.results
            for is_drawn in [f"{metric}_std" in result]
            for place, (count, value) in enumerate(zip(fit.counts, result[metric], strict=True))
            if fit.seed == seed
        ]
        return max(found, key=lambda best: best.value)

    def mean(self, metric: str) -> tuple[float, float | None]:
        """Mean over cells and counts, and its standard deviation over several seeds, or None."""
        means = [
            float(np.mean([result[metric] for fit, result in self.results if fit.seed == seed]))
            for seed in self.seeds
        ]
        return float(np.mean(means)), float(np.std(means)) if len(means) > 1 else None

    def curve(self, metric: str) -> dict[int, float]:
        """For each number of features, the best of all cells; then the mean over seeds."""
        best: dict[tuple[int, int], float] = {}
        for fit, result in self.results:
            for count, value in zip(fit.counts, result[metric], strict=True):
                key = count, fit.seed
                best[key] = max(value, best.get(key, -np.inf))
        counts = sorted({count for count, _ in best})
        return {
            count: float(np.mean([best[count, seed] for seed in self.seeds])) for count in counts
        }
