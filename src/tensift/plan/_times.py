"""How long every stage of a job takes, from counts and the rates of a machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.plan._memory import solve_blocks
from tensift.plan._units import format_amount, format_bytes

__all__ = ["STAGES", "USUAL_STEPS", "Stage", "stages_of", "total_seconds"]

STAGES = ("read", "transform", "moments", "merge", "solve", "scores", "cluster")

# Steps of a slice at one pair of penalties: usual, few and many; cells of a path start from
# their neighbours.
USUAL_STEPS = {
    "paper": (12.0, 4.0, 40.0),
    "exact": (8.0, 2.0, 60.0),
    "paper path": (8.0, 3.0, 40.0),
    "exact path": (4.0, 2.0, 20.0),
}
_ADDS = 2  # of a Gram tensor in a merge on a cluster, which leaves both sums as they are
_TASKS_A_CHUNK, _TASKS_A_BLOCK = 3, 2  # read, measured, merged; taken from the sum, solved
_TASK, _TASK_ON_WORKER = 1.4e-3, 3e-3  # seconds that a task takes a cluster's scheduler, a worker
_SORT = 1e-8  # seconds of a comparison in a ranking
_FAST = ("dct", "dft")


@dataclass(frozen=True)
class Stage:
    """One part of a job.

    Attributes
    ----------
    name : str
        "read", "transform", "moments", "merge", "solve", "scores" or "cluster".
    seconds : float
        By the clock.
    core_seconds : float
        Of all cores together.
    work : str
        What is done, in numbers.

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
    """Steps of a slice at one pair of penalties: given, or what is usual."""
    if job.steps is not None:
        return job.steps
    return USUAL_STEPS[f"{job.solver} path" if job.cells > 1 else job.solver][0]


def stages_of(job: Job, layout: Layout, machine: Machine, passes: int = 1) -> list[Stage]:
    """All stages, in order."""
    looks = passes + (job.data_passes - 1)
    chunks = layout.chunks_of(job)
    slots = layout.slots
    values = float(job.samples) * job.elements

    def shared(seconds: float, tasks: int, on: int = slots) -> float:
        """Seconds by the clock of tasks of equal length, the last round of which may be idle."""
        return seconds / tasks * math.ceil(tasks / on)

    reads = 0 if layout.in_memory or layout.read_bandwidth is None else looks
    read = reads * job.stored_bytes / (layout.read_bandwidth or math.inf)
    transform = passes * _transform_seconds(job, machine) * values
    moments = _moments_seconds(job, machine, passes) * values
    if "eigen" in job.transforms:
        # A look more: values are converted and scaled, and the transformed modes correlated.
        moments += values * min(machine.moments["real" if job.real_data else "complex"].seconds)
        moments += values * sum(
            machine.matrix_transform(size)
            for size, name in zip(job.others, job.transforms, strict=True)
            if name == "eigen"
        )
    gram = 0 if job.thin else job.gram_bytes
    if layout.is_cluster:
        # What was measured adds to the Gram tensor after every 2 q samples. One process waits for
        # as many; a task, whose chunk may be shorter, cannot.
        rows = min(layout.chunk_of(job), 2 * job.q)
        moments += (job.samples / rows - job.samples / (2 * job.q)) * gram / machine.copy_bandwidth
    add = gram / machine.copy_bandwidth
    merges = chunks - 1 if layout.is_cluster else 0  # one process has one sum, from the start
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
    else:  # slices are shared out, of every chunk
        clocks = [read, *(shared(t, max(job.kept, 8)) for t in (transform, moments))]
    seen = _seen_of_overlap(clocks[0], clocks[1] + clocks[2], layout)
    clocks = [clocks[0] * seen[0], clocks[1] * seen[1], clocks[2] * seen[1]]
    stages = [
        Stage("read", clocks[0], reads * job.stored_bytes * machine.read_cost,
              format_bytes(reads * job.stored_bytes)),
        Stage("transform", clocks[1], transform,
              " and ".join(dict.fromkeys(job.transforms)) or "none"),
        Stage("moments", clocks[2], moments, f"{format_amount(job.product_flops)} operations"),
    ]  # fmt: skip
    merge = merging = _ADDS * merges * add
    if merges:
        # A tree of pairs: below on every worker by itself, above from worker to worker.
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
        # The sum goes out in blocks of slices; column norms come back.
        sent = gram + job.norms_bytes
        n_tasks = _TASKS_A_CHUNK * chunks * looks + _TASKS_A_BLOCK * tasks
        seconds = sent / layout.network + n_tasks * _TASK_ON_WORKER / min(slots, n_tasks)
        # The scheduler works while the workers do: what it takes longer is seen.
        for count, names in (
            (_TASKS_A_CHUNK * chunks * looks, ("read", "transform", "moments", "merge")),
            (_TASKS_A_BLOCK * tasks, ("solve",)),
        ):
            busy = sum(stage.seconds for stage in stages if stage.name in names)
            seconds += max(count * _TASK - busy, 0.0)
        work = f"{format_amount(n_tasks)} tasks, {format_bytes(sent)} to and fro"
        stages.append(Stage("cluster", seconds, n_tasks * (_TASK + _TASK_ON_WORKER), work))
    return stages


def total_seconds(stages: list[Stage]) -> float:
    """Of a whole job, by the clock."""
    return sum(stage.seconds for stage in stages)


def _seen_of_overlap(read: float, compute: float, layout: Layout) -> tuple[float, float]:
    """Shares of reading and of computing that the clock sees.

    One process computes with a chunk while the next is read: the shorter of the two is not seen.
    A task of a cluster reads, then computes; while it reads, those on the worker's other cores
    may compute, so of the shorter one the share of a core is seen.
    """
    share = 1 / layout.cores if layout.is_cluster else 0.0
    return (1.0, share) if read > compute else (share, 1.0)


def _moments_seconds(job: Job, machine: Machine, passes: int) -> float:
    """Seconds of a stored value on its way into the Gram tensor, but for transforms."""
    if not job.real_data:
        curve = machine.moments["complex"]
    else:
        curve = machine.moments["dft" if job.complex_slices else "real"]
    seconds = curve(job.q)
    # A pass has its share of the products, but takes in every value: as where products are few.
    seconds += (passes - 1) * min(seconds, *curve.seconds)
    if job.real_data and job.complex_slices:  # what was measured has a DFT in it
        seconds -= passes * min(machine.fast_transform, 0.5 * curve(job.q))
    return seconds


def _transform_seconds(job: Job, machine: Machine) -> float:
    """Seconds of a stored value under all transforms."""
    seconds, complex_now = 0.0, not job.real_data
    for name, size in zip(job.transforms, job.others, strict=True):
        factor = 2.0 if complex_now else 1.0
        if name in _FAST:
            seconds += factor * machine.fast_transform
        elif name != "identity":
            seconds += factor * machine.matrix_transform(size)
        complex_now |= name == "dft"
    return seconds


def _solve_seconds(job: Job, machine: Machine, steps: float, blocks: int) -> float:
    """Seconds of all slices at one pair of penalties, on one core."""
    rates = machine.solve[f"{job.solver} {'complex' if job.complex_slices else 'real'}"]
    return rates.seconds(job.q, job.kept, steps, blocks)


def _score_seconds(job: Job, machine: Machine) -> float:
    per_value = sum(
        machine.matrix_transform(size)
        for name, size in zip(job.transforms, job.others, strict=True)
        if name != "identity"
    )
    per_value += _SORT * math.log2(max(job.elements, 2))
    return job.elements * per_value
