"""How long each stage of a job takes, from counts and the rates of a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensift._utils.units import format_bytes
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.plan._memory import solve_blocks
from tensift.plan._units import format_amount

__all__ = ["STAGES", "USUAL_STEPS", "Stage", "stages_of", "total_seconds"]

STAGES = ("read", "transform", "moments", "merge", "solve", "scores", "cluster")

# Steps per slice at one pair of penalties: usual, few and many. A path needs fewer, because each
# cell starts from the solution of its neighbour.
USUAL_STEPS = {
    "paper": (12.0, 4.0, 40.0),
    "exact": (8.0, 2.0, 60.0),
    "paper path": (8.0, 3.0, 40.0),
    "exact path": (4.0, 2.0, 20.0),
}
_ADDS = 2  # a merge on a cluster touches memory twice: it copies, since Dask may reuse both sums
_TASKS_A_CHUNK, _TASKS_A_BLOCK = 3, 2  # read, sum up, merge; take from the sum, solve
_TASK, _TASK_ON_WORKER = 1.4e-3, 3e-3  # overhead of a task in the scheduler, in a worker (s)
_SORT = 1e-8  # seconds per comparison when features are sorted
_FAST = ("dct", "dft")


@dataclass(frozen=True)
class Stage:
    """One part of a job.

    Attributes
    ----------
    name : str
        "read", "transform", "moments", "merge", "solve", "scores" or "cluster".
    seconds : float
        The wall-clock time.
    core_seconds : float
        The time of all cores together.
    work : str
        The amount of work, in numbers.

    Examples
    --------
    >>> from tensift.plan import Stage
    >>> Stage("read", 2.0, 2.0, "1 GB").seconds
    2.0
    """

    name: str
    seconds: float
    core_seconds: float
    work: str


def usual_steps(job: Job) -> float:
    """Return the steps per slice at one pair of penalties: as given, or the usual number."""
    if job.steps is not None:
        return job.steps
    return USUAL_STEPS[f"{job.solver} path" if job.cells > 1 else job.solver][0]


def stages_of(job: Job, layout: Layout, machine: Machine, passes: int = 1) -> list[Stage]:
    """Return all stages, in order."""
    looks = passes + (job.data_passes - 1)
    chunks = layout.chunks_of(job)
    slots = layout.slots
    values = float(job.samples) * job.elements

    def shared(seconds: float, tasks: int, on: int = slots) -> float:
        """Return the wall-clock time of equal tasks; the last round may leave cores idle."""
        return seconds / tasks * math.ceil(tasks / on)

    reads = 0 if layout.in_memory or layout.read_bandwidth is None else looks
    read = reads * job.stored_bytes / (layout.read_bandwidth or math.inf)
    transform = passes * _transform_seconds(job, machine) * values
    moments = _moments_seconds(job, machine, passes) * values
    if "eigen" in job.bases:
        # One more pass: convert and scale values, and correlate the transformed modes.
        moments += values * min(machine.moments["real" if job.real_data else "complex"].seconds)
        moments += values * sum(
            machine.matrix_transform(size)
            for size, name in zip(job.others, job.bases, strict=True)
            if name == "eigen"
        )
    gram = 0 if job.thin else job.gram_bytes
    if layout.is_cluster:
        # The measured rate adds to the Gram tensor once per 2 q samples, as one process does. A
        # task adds once per chunk, which may be shorter.
        rows = min(layout.chunk_of(job), 2 * job.q)
        moments += (job.samples / rows - job.samples / (2 * job.q)) * gram / machine.copy_bandwidth
    add = gram / machine.copy_bandwidth
    merges = chunks - 1 if layout.is_cluster else 0  # one process has a single sum
    steps = usual_steps(job)
    blocks = solve_blocks(job)
    solve = job.cells * _solve_seconds(job, machine, steps, blocks)
    tasks = blocks * (max(1, round(math.sqrt(job.cells))) if job.cells > 1 else 1)
    scores = job.cells * _score_seconds(job, machine)

    if layout.is_cluster:
        clocks = [
            shared(read, chunks, layout.workers),
            *(shared(t, chunks) for t in (transform, moments)),
        ]
    else:  # the slices of every chunk are divided among the cores
        clocks = [read, *(shared(t, max(job.kept, 8)) for t in (transform, moments))]
    seen = _seen_of_overlap(clocks[0], clocks[1] + clocks[2], layout)
    clocks = [clocks[0] * seen[0], clocks[1] * seen[1], clocks[2] * seen[1]]
    stages = [
        Stage("read", clocks[0], reads * job.stored_bytes * machine.read_cost,
              format_bytes(reads * job.stored_bytes)),
        Stage("transform", clocks[1], transform,
              " and ".join(dict.fromkeys(job.bases)) or "none"),
        Stage("moments", clocks[2], moments, f"{format_amount(job.product_flops)} operations"),
    ]  # fmt: skip
    merge = merging = _ADDS * merges * add
    if merges:
        # Sums are merged in pairs: first within each worker, then from worker to worker.
        between = math.ceil(math.log2(min(layout.workers, chunks)))
        merge = merging / min(slots, chunks) + between * (_ADDS * add + gram / layout.network)
    sums = f"{format_amount(merges)} sums of {format_bytes(gram)}"
    stages += [
        Stage("merge", merge, merging, sums),
        Stage("solve", shared(solve, tasks, layout.slots), solve,
              f"{format_amount(job.kept * job.cells)} slices, {steps:g} steps each"),
        Stage("scores", scores, scores, f"{format_amount(job.cells * job.elements)} scores"),
    ]  # fmt: skip
    if layout.is_cluster:
        # The sum is sent in blocks of slices, and column norms come back.
        sent = gram + job.norms_bytes
        n_tasks = _TASKS_A_CHUNK * chunks * looks + _TASKS_A_BLOCK * tasks
        seconds = sent / layout.network + n_tasks * _TASK_ON_WORKER / min(slots, n_tasks)
        # The scheduler works at the same time as the workers: only the excess counts.
        for count, names in (
            (_TASKS_A_CHUNK * chunks * looks, ("read", "transform", "moments", "merge")),
            (_TASKS_A_BLOCK * tasks, ("solve",)),
        ):
            busy = sum(stage.seconds for stage in stages if stage.name in names)
            seconds += max(count * _TASK - busy, 0.0)
        work = f"{format_amount(n_tasks)} tasks, {format_bytes(sent)} sent"
        stages.append(Stage("cluster", seconds, n_tasks * (_TASK + _TASK_ON_WORKER), work))
    return stages


def total_seconds(stages: list[Stage]) -> float:
    """Return the wall-clock time of a whole job."""
    return sum(stage.seconds for stage in stages)


def _seen_of_overlap(read: float, compute: float, layout: Layout) -> tuple[float, float]:
    """Return the shares of reading and of computing that count in wall-clock time.

    One process reads the next chunk while it computes, so the shorter of the two does not count.
    A task of a cluster first reads, then computes. While it reads, tasks on the other cores of
    the worker may compute, so the share of one core counts of the shorter one.
    """
    share = 1 / layout.cores if layout.is_cluster else 0.0
    return (1.0, share) if read > compute else (share, 1.0)


def _moments_seconds(job: Job, machine: Machine, passes: int) -> float:
    """Return the seconds per stored value that is added to the Gram tensor, without transforms."""
    if not job.real_data:
        curve = machine.moments["complex"]
    else:
        curve = machine.moments["dft" if job.complex_slices else "real"]
    seconds = curve(job.q)
    # Each pass makes its share of the products but reads every value, which costs at least as
    # much as with few products.
    seconds += (passes - 1) * min(seconds, *curve.seconds)
    if job.real_data and job.complex_slices:  # the measured rate includes the DFT
        seconds -= passes * min(machine.fast_transform, 0.5 * curve(job.q))
    return seconds


def _transform_seconds(job: Job, machine: Machine) -> float:
    """Return the seconds per stored value for all transforms."""
    seconds, complex_now = 0.0, not job.real_data
    for name, size in zip(job.bases, job.others, strict=True):
        factor = 2.0 if complex_now else 1.0
        if name in _FAST:
            seconds += factor * machine.fast_transform
        elif name != "identity":
            seconds += factor * machine.matrix_transform(size)
        complex_now |= name == "dft"
    return seconds


def _solve_seconds(job: Job, machine: Machine, steps: float, blocks: int) -> float:
    """Return the seconds for all slices at one pair of penalties, on one core."""
    rates = machine.solve[f"{job.solver} {'complex' if job.complex_slices else 'real'}"]
    return rates.seconds(job.q, job.kept, steps, blocks)


def _score_seconds(job: Job, machine: Machine) -> float:
    per_value = sum(
        machine.matrix_transform(size)
        for name, size in zip(job.bases, job.others, strict=True)
        if name != "identity"
    )
    per_value += _SORT * math.log2(max(job.elements, 2))
    return job.elements * per_value
