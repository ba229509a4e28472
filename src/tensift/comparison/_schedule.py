"""List the computations of a comparison, run them in order, and collect the results."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tensift._utils.cells import CellStore, run_cells
from tensift._utils.progress import progress_bar
from tensift.comparison._methods import RANDOM, Method
from tensift.comparison._tasks import (
    Fit,
    HalfSample,
    Judgement,
    LikenessOfHalf,
    Memory,
    Result,
    Samples,
    Task,
)

__all__ = ["Outcome", "Schedule"]


@dataclass(frozen=True)
class Outcome:
    """The results of one method: its fits, and if all succeed, everything else."""

    name: str
    fits: list[Result]
    halves: list[Result] = field(default_factory=list)
    memory: Result = field(default_factory=dict)
    judged: list[Result] = field(default_factory=list)

    @property
    def failure(self) -> str | None:
        """Why results are missing, or None if all are there."""
        for result in (*self.fits, self.memory):
            if "error" in result:
                return str(result["error"])
        errors = [str(result["error"]) for result in self.halves if "error" in result]
        if not errors:
            return None
        return f"failed on {len(errors)} of {len(self.halves)} half-samples: {errors[0]}"


@dataclass(frozen=True, eq=False)
class Schedule:
    """The samples, and how often every method is fitted and judged."""

    samples: Samples
    n_resamples: int
    n_seeds: int
    n_repeats: int
    random_state: int
    fit_limit: float | None

    def run(
        self, methods: Sequence[Method], store: CellStore, *, n_jobs: int, verbose: bool
    ) -> list[Outcome]:
        """Compute what is not in the store yet.

        First fit all methods on all samples, then do the rest for those that did not fail.
        """
        checksum = self.samples.checksum()
        fits = {method.name: self._fits(method, checksum) for method in methods}

        def compute(title: str, tasks: Iterable[Task]) -> None:
            _run(title, list(tasks), self.samples, store, n_jobs, verbose)

        compute("fits", (fit for own in fits.values() for fit in own))
        outcomes = {name: [store[fit.key] for fit in own] for name, own in fits.items()}
        fitted = [m for m in methods if all("error" not in r for r in outcomes[m.name])]
        memory = {
            method.name: Memory(method, checksum, self.random_state, self.fit_limit)
            for method in fitted
        }
        halves = {method.name: self._halves(method, checksum) for method in fitted}
        judged = {m.name: self._judgements(outcomes[m.name], checksum) for m in fitted}
        compute("half-samples", (half for own in halves.values() for half in own))
        results = {name: [store[half.key] for half in own] for name, own in halves.items()}
        likeness = [self._likeness(results, place, checksum) for place in range(self.n_resamples)]
        compute("likeness", likeness)
        compute("memory", memory.values())
        compute("labels", (judgement for own in judged.values() for judgement in own))
        return [
            Outcome(
                name,
                found,
                [
                    task.added_to(half, store[task.key])
                    for half, task in zip(results.get(name, []), likeness, strict=False)
                ],
                store[memory[name].key] if name in memory else {},
                [store[judgement.key] for judgement in judged.get(name, [])],
            )
            for name, found in outcomes.items()
        ]

    def _fits(self, method: Method, checksum: str) -> list[Fit]:
        count = 1
        if method.random:
            count = self.n_resamples if method.name == RANDOM else self.n_seeds
        first = self.random_state
        return [
            Fit(method, checksum, seed, self.fit_limit, ranked=seed == first)
            for seed in range(first, first + count)
        ]

    def _halves(self, method: Method, checksum: str) -> list[HalfSample]:
        first = self.random_state
        return [
            HalfSample(
                method,
                checksum,
                seed=first + place if method.random else first,
                limit=self.fit_limit,
                place=place,
                shuffle=first,
            )
            for place in range(self.n_resamples)
        ]

    def _likeness(
        self, halves: dict[str, list[Result]], place: int, checksum: str
    ) -> LikenessOfHalf:
        """Return the task that judges what was selected on one half-sample."""
        kept = [own[place]["features"] for own in halves.values() if "features" in own[place]]
        selections = sorted({tuple(sorted(features)) for features in kept})
        return LikenessOfHalf(tuple(selections), checksum, place, self.random_state)

    def _judgements(self, fits: list[Result], checksum: str) -> list[Judgement]:
        if self.samples.labels is None:
            return []
        labels = hashlib.sha256(self.samples.labels.tobytes()).hexdigest()
        return [
            Judgement(tuple(fit["features"]), checksum, labels, self.n_repeats, self.random_state)
            for fit in fits
        ]


def _run(
    title: str, tasks: list[Task], samples: Samples, store: CellStore, n_jobs: int, verbose: bool
) -> None:
    show: Callable[..., None] = progress_bar(title, len(tasks)) if verbose else lambda *_: None

    def report(done: int, total: int, seconds_left: float) -> None:
        show(done, seconds_left)

    run_cells(tasks, samples.compute, store, n_jobs=n_jobs, report=report)
