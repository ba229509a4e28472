"""Suggest changes to a job; the effect of each is predicted before it is suggested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tensift._utils.pool import count_workers
from tensift._utils.units import format_bytes
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._memory import working_memory_for
from tensift.plan._units import format_amount, format_seconds

if TYPE_CHECKING:
    from tensift.plan._plan import Estimate, Plan

__all__ = ["advice_for", "useful_workers"]

_WORTH = 0.9  # suggest a change if the job then takes less than this share of the time
_WORTH_OF_PILOTS = 0.7  # the same if two pilots are compared, whose times vary
_SHORT = 10.0  # seconds; shorter jobs get no advice on time
_ACCURATE = 0.01  # error of the Gram matrices that random samples may have
_EFFICIENT = 0.5  # share of the cores that must be busy on average


def advice_for(plan: Plan) -> list[str]:
    """Return what to change, most useful first."""
    found = [*_memory(plan)]
    if plan.seconds > _SHORT:
        timed = sorted(_times(plan), key=lambda each: each[0])  # some of it runs further pilots
        found += [text for seconds, text in timed if seconds < _WORTH * plan.seconds]
        found += _workers(plan)
    found += _sampling(plan)
    return found


def useful_workers(plan: Plan) -> int:
    """Return the largest number of workers whose cores are busy at least half of the time."""
    alone = plan.scaling[0]
    good = [
        each.layout.workers
        for each in plan.scaling
        if alone.seconds / each.seconds >= _EFFICIENT * each.layout.slots / alone.layout.slots
    ]
    return max(good, default=1)


def _again(plan: Plan, job: Job | None = None, layout: Layout | None = None) -> Estimate:
    from tensift.plan._plan import estimate

    job = job or plan.chosen.job
    return estimate(job, layout or plan.chosen.layout, plan.pilots(job))


def _memory(plan: Plan) -> Iterator[str]:
    chosen, layout, job = plan.chosen, plan.chosen.layout, plan.chosen.job
    if not chosen.fits:
        yield from _to_make_it_fit(plan)
    elif chosen.passes > 1:
        wanted = working_memory_for(job, 1)
        once = _again(plan, layout=replace(layout, working_memory=wanted))
        if once.fits:
            yield (
                f"slices are solved in {chosen.passes} blocks, and the data are read again for "
                "each; one pass over the data is enough if scikit-learn's working_memory is "
                f"{wanted / 2**20:.0f} MiB: "
                f"{format_bytes(once.memory.total)} in all, {format_seconds(once.seconds)}"
            )
    fewer = [each for each in plan.orientations if each.fits and each.passes < chosen.passes]
    if not chosen.fits:
        fewer = [each for each in plan.orientations if each.fits]
    if fewer:
        best = min(fewer, key=lambda each: (each.passes, each.seconds))
        blocks = "one block" if best.passes == 1 else f"{best.passes} blocks"
        yield (
            f"orientation {best.job.title} (q = {best.job.q}) needs {blocks} and "
            f"{format_bytes(best.memory.total)}"
        )


def _to_make_it_fit(plan: Plan) -> Iterator[str]:
    """Use less memory at a time: fewer slices, or on a cluster fewer cores or smaller chunks."""
    layout, job = plan.chosen.layout, plan.chosen.job
    needed = format_bytes(plan.chosen.memory.total)
    layouts = []
    if layout.is_cluster:
        layouts += [replace(layout, cores=cores) for cores in range(layout.cores - 1, 0, -1)]
        chunk = layout.chunk_of(job)
        layouts += [replace(layout, cores=1, chunk=max(1, chunk >> k)) for k in range(1, 20)]
    else:
        passes = plan.chosen.passes
        while passes < job.kept:
            passes = min(2 * passes, job.kept)
            less = working_memory_for(job, passes)
            layouts.append(replace(layout, working_memory=less))
    found = next((e for e in (_again(plan, layout=one) for one in layouts) if e.fits), None)
    if found is None:
        yield f"it does not fit into memory: it needs {needed}, and no smaller setting helps"
    elif layout.is_cluster:
        yield (
            f"it does not fit into memory: it needs {needed}; {found.layout.cores} cores per "
            f"worker and chunks of {format_amount(found.layout.chunk_of(job))} samples need "
            f"{format_bytes(found.memory.total)}"
        )
    else:
        yield (
            f"it does not fit into memory: it needs {needed}; with scikit-learn's working_memory "
            f"of {found.layout.working / 2**20:.0f} MiB it needs {found.passes} blocks, "
            f"{format_bytes(found.memory.total)} and {format_seconds(found.seconds)}"
        )


def _times(plan: Plan) -> Iterator[tuple[float, str]]:
    """Yield changes, each with the seconds that the job would then take."""
    chosen, job, layout = plan.chosen, plan.chosen.job, plan.chosen.layout
    best = min(plan.orientations, key=lambda each: (not each.fits, each.seconds))
    better = best.seconds < _WORTH_OF_PILOTS * chosen.seconds
    if best.job.orientation != job.orientation and best.fits and better:
        yield (
            best.seconds,
            f"orientation {best.job.title} (q = {best.job.q}) takes "
            f"{format_seconds(best.seconds)}; it answers another question, so choose the "
            "orientation by what it means first",
        )
    if job.dtype.itemsize > 4 and job.dtype.kind == "f":
        other = _again(plan, replace(job, dtype=np.dtype(np.float32)))
        yield (
            other.seconds,
            f"stored as float32: {format_bytes(other.job.stored_bytes)} and "
            f"{format_seconds(other.seconds)}; sums are still in double precision",
        )
    elif job.dtype == np.float32:
        other = _again(plan, replace(job, dtype=np.dtype(np.float16)))
        yield (
            other.seconds,
            f"stored as float16: {format_bytes(other.job.stored_bytes)} and "
            f"{format_seconds(other.seconds)}; values have three digits",
        )
    if "dft" in job.bases and job.real_data:
        names = tuple("dct" if name == "dft" else name for name in job.bases)
        other = _again(plan, replace(job, bases=names))
        yield other.seconds, f"basis dct instead of dft is real: {format_seconds(other.seconds)}"
    if job.solver == "exact" and chosen.bottleneck.name == "solve":
        other = _again(plan, replace(job, solver="paper"))
        yield (
            other.seconds,
            f"solver paper takes {format_seconds(other.seconds)}, without certificates",
        )
    if chosen.bottleneck.name == "read":
        rate = layout.read_bandwidth or 1 / plan.pilot.read
        other = _again(plan, layout=replace(layout, read_bandwidth=2 * rate))
        yield other.seconds, f"storage twice as fast: {format_seconds(other.seconds)}"
    if chosen.bottleneck.name == "solve" and not layout.is_cluster:
        cores = count_workers(-1)
        if cores > layout.cores:
            other = _again(plan, layout=replace(layout, cores=cores))
            yield (
                other.seconds,
                f"n_jobs={cores} solves slices on all cores: {format_seconds(other.seconds)}",
            )
    if layout.is_cluster:
        yield from _chunks(plan)


def _chunks(plan: Plan) -> Iterator[tuple[float, str]]:
    """Suggest larger or smaller chunks, if they fit into the memory of a worker."""
    layout, job = plan.chosen.layout, plan.chosen.job
    now = layout.chunk_of(job)
    tried = [
        _again(plan, layout=replace(layout, chunk=max(1, now * 2**k // 64))) for k in range(13)
    ]
    fitting = [each for each in tried if each.fits]
    best = min(fitting, key=lambda each: each.seconds, default=None)
    if best is not None and best.layout.chunk is not None:
        yield (
            best.seconds,
            f"chunks of {format_amount(best.layout.chunk)} samples instead of "
            f"{format_amount(now)}: {format_seconds(best.seconds)}",
        )


def _workers(plan: Plan) -> Iterator[str]:
    layout = plan.chosen.layout
    useful = useful_workers(plan)
    there = next(each for each in plan.scaling if each.layout.workers == useful)
    if useful > layout.workers:
        more = " or more" if useful == plan.scaling[-1].layout.workers else ""
        yield (
            f"more workers help, up to {useful}{more}: {format_seconds(there.seconds)} with "
            f"{useful}, whose cores are busy at least half of the time"
        )
    elif useful < layout.workers:
        yield (
            f"this job cannot use {layout.workers} workers: {useful} take "
            f"{format_seconds(there.seconds)}"
        )
    bottleneck = plan.bottleneck
    if bottleneck in ("moments", "solve", "transform"):
        yield (
            f"{bottleneck} consists of matrix products: a GPU makes it faster (pass arrays on "
            "the GPU), if samples reach it fast enough; how much is not known here"
        )


def _sampling(plan: Plan) -> Iterator[str]:
    job = plan.chosen.job
    enough = int(4 * job.q / _ACCURATE**2)
    if job.samples > 2 * enough:
        other = _again(plan, replace(job, samples=enough))
        yield (
            f"{format_amount(enough)} samples drawn at random take {format_seconds(other.seconds)} "
            f"and give every Gram matrix to about {100 * _ACCURATE:g} % of its largest eigenvalue"
        )
