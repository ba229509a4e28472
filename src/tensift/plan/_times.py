"""How long each stage of a job takes, from counts and what a pilot measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensift._utils.units import format_bytes
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._memory import solve_blocks
from tensift.plan._pilot import Pilot
from tensift.plan._units import format_amount

__all__ = ["STAGES", "Stage", "overlap_of", "stages_of"]

STAGES = ("read", "transform", "moments", "merge", "solve", "select", "cluster")

_ADDS = 2  # a merge on a cluster touches memory twice: it copies, since Dask may reuse both sums
_TASKS_A_CHUNK, _TASKS_A_BLOCK = 3, 2  # read, sum up, merge; take from the sum, solve
_TASK, _TASK_ON_WORKER = 1.4e-3, 3e-3  # overhead of a task in the scheduler, in a worker (s)


@dataclass(frozen=True)
class Stage:
    """One part of a job.

    Attributes
    ----------
    name : str
        "read", "transform", "moments", "merge", "solve", "select" or "cluster".
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


def stages_of(job: Job, layout: Layout, pilot: Pilot, passes: int = 1) -> list[Stage]:
    """Return all stages, in order."""
    # With several passes, each makes the Gram matrices of some slices; and whenever the fit comes
    # back to a slice, its Gram matrix is made again.
    rounds = pilot.rounds if passes > 1 else 1.0
    looks = rounds * passes + (job.data_passes - 1)
    stages = _taking_in(job, layout, pilot, looks, rounds)
    if layout.is_cluster:
        stages.append(_merging(job, layout, pilot))
    blocks = solve_blocks(job)
    tasks = blocks * (1 if job.cells is None else max(1, math.isqrt(job.cells)))
    solve = job.kept * (pilot.solve if passes == 1 else pilot.solve_in_passes)
    cells = "" if job.cells is None else f", {format_amount(job.cells)} pairs of penalties"
    stages.append(
        Stage(
            "solve",
            _shared(solve, tasks, layout.slots),
            solve,
            f"{format_amount(job.kept)} slices of {format_amount(job.q)} features{cells}",
        )
    )
    if job.selects:
        work = f"{format_amount(job.elements)} features, {format_amount(job.looked_at)} samples"
        # Threads of one process share the halves of the samples; most of the time goes into these.
        shared = job.selection == "geometry" and not layout.is_cluster
        seconds = _shared(pilot.selection, 2, layout.cores if shared else 1)
        stages.append(Stage("select", seconds, pilot.selection, work))
    if layout.is_cluster:
        stages.append(_overhead(job, layout, stages, tasks * pilot.rounds, looks))
    return stages


def overlap_of(stages: list[Stage], layout: Layout) -> float:
    """Return the seconds in which samples are read while others are processed.

    One process reads the next chunk while it computes. A task of a cluster first reads, then
    computes; while it reads, tasks on the other cores of the worker may compute.
    """
    if layout.in_memory and not layout.is_cluster:
        return 0.0
    seconds = {stage.name: stage.seconds for stage in stages}
    share = 1 - 1 / layout.cores if layout.is_cluster else 1.0
    return share * min(seconds["read"], seconds["transform"] + seconds["moments"])


def _shared(seconds: float, tasks: int, slots: int) -> float:
    """Return the wall-clock time of equal tasks; the last round may leave cores idle."""
    return seconds / tasks * math.ceil(tasks / slots)


def _taking_in(job: Job, layout: Layout, pilot: Pilot, looks: float, rounds: float) -> list[Stage]:
    """Return the stages in which samples are read and summed up."""
    in_memory = layout.in_memory and not layout.is_cluster
    reads = looks if not in_memory else float(layout.loaded)
    rate = pilot.read if layout.read_bandwidth is None else 1 / layout.read_bandwidth
    read = reads * job.stored_bytes * rate
    # Without a transform, samples are arranged while they are added to the moments; but a pass
    # for some of the slices arranges all of them.
    transform = job.samples * pilot.transform * (looks if looks > 1 or not job.is_identity else 0)
    moments = job.samples * job.kept * pilot.product * rounds
    chunks = layout.chunks_of(job)
    if layout.is_cluster:
        gram = 0 if job.thin else job.gram_bytes
        # The measured rate adds to the Gram tensor once per 2 q samples, as one process does. A
        # task adds once per chunk, which may be shorter.
        rows = min(layout.chunk_of(job), 2 * job.q)
        moments += (job.samples / rows - job.samples / (2 * job.q)) * gram * pilot.add
        tasks, on = chunks, layout.slots
    else:  # the slices of every chunk are divided among the cores
        tasks, on = max(job.kept, 8), layout.cores
    return [
        Stage(
            "read",
            _shared(read, chunks, layout.workers),
            0.0,  # cores wait
            f"{format_bytes(reads * job.stored_bytes)}, {format_amount(reads)} times all samples"
            if reads > 1
            else format_bytes(reads * job.stored_bytes),
        ),
        Stage(
            "transform",
            _shared(transform, tasks, on),
            transform,
            " and ".join(dict.fromkeys(job.bases)) or "none",
        ),
        Stage(
            "moments",
            _shared(moments, tasks, on),
            moments,
            f"{format_amount(rounds * job.product_flops)} operations",
        ),
    ]


def _merging(job: Job, layout: Layout, pilot: Pilot) -> Stage:
    """Return the stage in which a cluster merges its sums in pairs: in a worker, then between."""
    gram = 0 if job.thin else job.gram_bytes
    chunks = layout.chunks_of(job)
    merging = _ADDS * (chunks - 1) * gram * pilot.add
    between = math.ceil(math.log2(min(layout.workers, chunks)))
    seconds = merging / min(layout.slots, chunks)
    seconds += between * gram * (_ADDS * pilot.add + 1 / layout.network)
    work = f"{format_amount(chunks - 1)} sums of {format_bytes(gram)}"
    return Stage("merge", seconds, merging, work)


def _overhead(job: Job, layout: Layout, stages: list[Stage], tasks: float, looks: float) -> Stage:
    """Return the time that a cluster spends on tasks, and on sending Gram matrices and norms."""
    sent = (0 if job.thin else job.gram_bytes) + job.norms_bytes
    for_chunks = _TASKS_A_CHUNK * layout.chunks_of(job) * looks
    for_blocks = _TASKS_A_BLOCK * tasks
    n_tasks = for_chunks + for_blocks
    seconds = sent / layout.network + n_tasks * _TASK_ON_WORKER / min(layout.slots, n_tasks)
    # The scheduler works at the same time as the workers: only the excess counts.
    for count, names in (
        (for_chunks, ("read", "transform", "moments", "merge")),
        (for_blocks, ("solve",)),
    ):
        busy = sum(stage.seconds for stage in stages if stage.name in names)
        seconds += max(count * _TASK - busy, 0.0)
    work = f"{format_amount(n_tasks)} tasks, {format_bytes(sent)} sent"
    return Stage("cluster", seconds, n_tasks * (_TASK + _TASK_ON_WORKER), work)
