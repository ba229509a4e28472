"""What a pilot run measured, and which pilots a plan needs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tensift._utils.threads import blas_threads_for, linear_algebra
from tensift.plan._job import Job
from tensift.plan._pilot_run import PilotRun, SelectionRun
from tensift.plan._samples import DrawnSamples, PilotSamples

__all__ = ["Pilot", "Pilots", "example_pilot", "run_pilot"]

Clock = Callable[[], float]


@dataclass(frozen=True)
class Pilot:
    """What a pilot run measured, for slices of the full size.

    Attributes
    ----------
    read : float
        Seconds per stored byte.
    transform : float
        Seconds per sample to transform it and to arrange it in slices.
    product : float
        Seconds per sample and slice to add it to the moments.
    add : float
        Seconds per byte when one Gram tensor is added to another.
    solve : float
        Seconds per slice for all solutions of a fit: those that choose the penalties, and those
        that order features with a score of zero.
    solve_in_passes : float
        The same if not all Gram matrices fit into memory: blocks of slices share less work.
    rounds : float
        How often a fit asks for the Gram matrix of a slice, which is made again if not all fit
        into memory.
    selection : float
        Seconds to select among all features, once they have scores.
    selection_memory : float
        Bytes that the selection needs, apart from the samples it looks at.
    samples, slices, size : int
        The samples, slices and features of a slice in the largest run.
    solve_range, selection_range : tuple of float
        `solve` and `selection` if they grow slowly or fast beyond the largest run.
    note : str
        What the samples were.

    Examples
    --------
    >>> from tensift.plan import plan_job
    >>> pilot = plan_job((16, 8), 500, seconds=0.5).pilot
    >>> pilot.size, pilot.solve > 0
    (16, True)
    """

    read: float
    transform: float
    product: float
    add: float
    solve: float
    solve_in_passes: float
    rounds: float
    selection: float
    selection_memory: float
    samples: int
    slices: int
    size: int
    solve_range: tuple[float, float]
    selection_range: tuple[float, float]
    note: str


class Pilots:
    """Runs a pilot for every method that a plan asks about, each once.

    The first takes about `seconds`. Each of the others takes a quarter of that, because they share
    what does not depend on the method.
    """

    def __init__(self, samples: PilotSamples, seconds: float, clock: Clock | None = None) -> None:
        self._samples, self._seconds, self._clock = samples, seconds, clock
        self._done: dict[Any, Pilot] = {}

    def __call__(self, job: Job) -> Pilot:
        """Return the pilot of a job; jobs of the same method share one."""
        key = job.orientation, job.bases, job.solver, job.cells
        if key not in self._done:
            first = next(iter(self._done.values()), None)
            self._done[key] = run_pilot(
                job,
                self._samples,
                seconds=self._seconds if first is None else self._seconds / 4,
                clock=self._clock,
                first=first,
            )
        return self._done[key]


def run_pilot(
    job: Job,
    samples: PilotSamples | None = None,
    *,
    seconds: float = 4.0,
    clock: Clock | None = None,
    first: Pilot | None = None,
) -> Pilot:
    """Time the parts of a job on a few of its samples and slices, in about `seconds`.

    A pilot begins with one slice of few features and few samples. It enlarges the run while the
    time lasts: first the slice up to its full size, then the number of slices. If it does not
    reach the full size, the growth between its last two runs is continued.

    Samples are drawn at random if there are none. By default reading is timed by the wall clock,
    and computations by the processor time of this process, so that other work on the machine does
    not count. What does not depend on the method is taken from the `first` pilot, if there is one.
    """
    drawn = DrawnSamples(job.shape, job.dtype)
    samples = drawn if samples is None else samples
    wall_clock, clock = clock or time.perf_counter, clock or _clock_for(job)
    with warnings.catch_warnings(), blas_threads_for(job.kept):
        warnings.simplefilter("ignore")
        try:
            found = _measured(job, samples, seconds, clock, first)
        except ValueError as error:  # what stops a fit too: NaN, or only constant features
            found = _measured(job, drawn, seconds, clock, first)
            found["note"] = f"random samples, because with yours a fit fails: {error}"
    if first is None:
        return Pilot(read=samples.seconds_per_byte(wall_clock), **found)
    return replace(first, **found)


def _clock_for(job: Job) -> Clock:
    # A single slice is solved with all threads of BLAS, whose processor times add up. And Windows
    # counts processor time in steps of 16 ms, too long for some of what is timed here.
    threads = max((one["num_threads"] for one in linear_algebra().info()), default=1)
    coarse = time.get_clock_info("process_time").resolution > 1e-4
    wall = coarse or (job.kept == 1 and threads > 1)
    return time.perf_counter if wall else time.process_time


def _measured(
    job: Job, samples: PilotSamples, seconds: float, clock: Clock, first: Pilot | None
) -> dict[str, Any]:
    run = PilotRun(job, samples, clock)
    found: dict[str, Any] = {}
    start = clock()
    if first is None:
        found |= SelectionRun(job, samples, clock).measure(seconds / 2)
        found |= {"add": run.seconds_per_added_byte(), "note": samples.note}
    return found | run.measure(max(seconds / 4, seconds - (clock() - start)))


def example_pilot(job: Job) -> Pilot:
    """Return round numbers, about those of a 2022 server core, for examples and tests.

    Examples
    --------
    >>> from tensift.plan import example_pilot, make_job
    >>> example_pilot(make_job((64, 64), 1000)).size
    64
    """
    factor = 2.0 if job.complex_slices else 1.0
    solve = (4e-7 if job.solver == "exact" else 1e-7) * factor * job.q**3
    solve *= 1.0 if job.cells is None else job.cells / 4
    selection = 1e-4 * job.elements if job.selects else 0.0
    return Pilot(
        read=1e-9,
        transform=4e-9 * factor * job.elements,
        product=factor * job.q * (8e-9 + 1e-10 * job.q),
        add=1e-10,
        solve=solve,
        solve_in_passes=solve,
        rounds=12.0 if job.cells is None else 1.0,
        selection=selection,
        selection_memory=4.0 * job.looked_at_bytes if job.selects else 0.0,
        samples=min(job.samples, 4 * job.q),
        slices=1,
        size=job.q,
        solve_range=(solve, solve),
        selection_range=(selection, selection),
        note="round numbers",
    )
