"""The plan of a job: memory, time, bottleneck, and what to change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensift.plan._cache import this_machine
from tensift.plan._job import Job, make_job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.plan._memory import Memory, client_memory, memory_of, passes_of
from tensift.plan._times import USUAL_STEPS, Stage, stages_of, total_seconds, usual_steps
from tensift.plan._units import as_bytes, as_count, as_rate

__all__ = ["Estimate", "Plan", "estimate", "plan_job", "sampling_error"]


@dataclass(frozen=True)
class Estimate:
    """What one way to run a job takes.

    Attributes
    ----------
    job : Job
        What is done.
    layout : Layout
        Who does it.
    passes : int
        How often the data are read for the Gram tensor, in parts that the working memory holds.
    stages : list of Stage
        The times.
    memory : Memory
        Of a worker, or of the one process, at its worst moment.
    client : Memory or None
        Of the process that asks a cluster.

    Examples
    --------
    >>> from tensift.plan import Layout, estimate, example_machine, make_job
    >>> found = estimate(make_job((64, 64), 10**6), Layout(), example_machine())
    >>> found.bottleneck.name, found.fits
    ('moments', True)
    """

    job: Job
    layout: Layout
    passes: int
    stages: list[Stage]
    memory: Memory
    client: Memory | None

    @property
    def fits(self) -> bool:
        """Whether it can be done in the memory there is."""
        return self.layout.memory is None or self.memory.total <= self.layout.memory

    @property
    def seconds(self) -> float:
        """By the clock."""
        return total_seconds(self.stages)

    @property
    def core_seconds(self) -> float:
        """Of all cores together."""
        return sum(stage.core_seconds for stage in self.stages)

    @property
    def bottleneck(self) -> Stage:
        """The stage that takes longest."""
        return max(self.stages, key=lambda stage: stage.seconds)


@dataclass(frozen=True)
class Plan:
    """A job before it is run.

    Attributes
    ----------
    chosen : Estimate
        The job as it was asked for.
    orientations : list of Estimate
        The same at every orientation, beside one another.
    scaling : list of Estimate
        The same with 1, 2, 4, ... workers.
    seconds : float
        By the clock, in all.
    seconds_range : tuple of float
        From few to many steps of the solver, which depend on the data.
    memory : Memory
        Of a worker, or of the one process.
    bottleneck : str
        The stage that takes longest.
    sampling_error : float
        About how far the Gram matrices of that many samples are from those of infinitely many,
        as a share of the largest eigenvalue, at worst.
    advice : list of str
        What to change, and what that would bring.
    notes : list of str
        What was assumed.

    Examples
    --------
    >>> from tensift.plan import example_machine, plan_job
    >>> plan = plan_job((64, 64), 1e6, machine=example_machine())
    >>> plan.bottleneck
    'moments'
    >>> print(plan)
    job ...
    """

    chosen: Estimate
    orientations: list[Estimate]
    scaling: list[Estimate]
    seconds_range: tuple[float, float]
    sampling_error: float
    machine: Machine = field(repr=False)
    advice: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """By the clock, in all."""
        return self.chosen.seconds

    @property
    def memory(self) -> Memory:
        """Of a worker, or of the one process."""
        return self.chosen.memory

    @property
    def bottleneck(self) -> str:
        """The stage that takes longest."""
        return self.chosen.bottleneck.name

    def __str__(self) -> str:
        from tensift.plan._report import report

        return report(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as what JSON can hold."""
        from tensift.plan._report import as_dict

        return as_dict(self)


def plan_job(
    shape: Sequence[int] | str,
    samples: float,
    *,
    orientation: int = 0,
    transform: str | Sequence[str] = "identity",
    solver: str = "paper",
    dtype: object = "float32",
    grid: int = 1,
    steps: float | None = None,
    workers: int = 1,
    cores: int = 1,
    memory: float | str | None = None,
    read_bandwidth: float | str | None = None,
    network: float | str = "1.25GB/s",
    chunk: int | None = None,
    in_memory: bool = False,
    working_memory: float | str | None = None,
    machine: Machine | None = None,
) -> Plan:
    """Say what a job will take before it is run.

    Parameters
    ----------
    shape : sequence of int, or str
        The shape of one sample.
    samples : int
        How many there are.
    orientation, transform, solver
        As in `STPCASelector`; transforms by name, "matrix" for any other.
    dtype : dtype, default="float32"
        Of the stored samples.
    grid : int, default=1
        Pairs of penalties: 1 for a fit whose penalties are given, about 4 where they are "auto",
        25 for the default grid of `stpca_path`.
    steps : float or None, default=None
        Steps of a slice, where they are known from a smaller run; else what is usual.
    workers : int, default=1
        One is this process; more are a Dask cluster whose cores are like this machine's.
    cores : int, default=1
        Of each worker.
    memory : float, str or None, default=None
        What a worker may take: bytes, or a size such as "4GB".
    read_bandwidth : float, str or None, default=None
        What a worker reads a second: a number of MB, or a rate such as "2GB/s". By default what
        was measured of the disk of temporary files.
    network : float or str, default="1.25GB/s"
        What goes from one worker to another; the default is ten gigabits a second.
    chunk : int or None, default=None
        Samples of a chunk.
    in_memory : bool, default=False
        Whether samples are an array in memory.
    working_memory : float, str or None, default=None
        What scikit-learn's ``working_memory`` will be, by which one process chooses the size of
        chunks and the number of passes over the data; by default what is configured, 1 GiB.
    machine : Machine or None, default=None
        The rates; by default those of this machine, measured once and kept.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from tensift.plan import example_machine, plan_job
    >>> plan = plan_job((64, 64), 1e6, workers=4, machine=example_machine())
    >>> [stage.name for stage in plan.chosen.stages]
    ['read', 'transform', 'moments', 'merge', 'solve', 'scores', 'cluster']
    """
    job = make_job(
        shape,
        samples,
        orientation=orientation,
        transform=transform,
        solver=solver,
        dtype=dtype,
        grid=grid,
        steps=steps,
    )
    layout = Layout(
        workers=as_count(workers, "workers"),
        cores=as_count(cores, "cores"),
        memory=None if memory is None else as_bytes(memory, "memory"),
        read_bandwidth=None
        if read_bandwidth is None
        else as_rate(read_bandwidth, "read_bandwidth"),
        network=as_rate(network, "network"),
        chunk=None if chunk is None else as_count(chunk, "chunk"),
        in_memory=in_memory,
        working_memory=(
            None if working_memory is None else as_bytes(working_memory, "working_memory")
        ),
    )
    machine = this_machine() if machine is None else machine
    if layout.read_bandwidth is None:
        layout = replace(layout, read_bandwidth=machine.read_bandwidth)
    return _plan(job, layout, machine)


def estimate(job: Job, layout: Layout, machine: Machine) -> Estimate:
    """What one way to run a job takes.

    Parameters
    ----------
    job : Job
        What is done.
    layout : Layout
        Who does it.
    machine : Machine
        The rates of a core.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from tensift.plan import Layout, estimate, example_machine, make_job
    >>> job = make_job((64, 64), 10**6)
    >>> one, four = (estimate(job, Layout(workers=w), example_machine()) for w in (1, 4))
    >>> one.seconds > 3 * four.seconds
    True
    """
    passes = passes_of(job, layout)
    return Estimate(
        job=job,
        layout=layout,
        passes=passes,
        stages=stages_of(job, layout, machine, passes),
        memory=memory_of(job, layout, machine, passes),
        client=client_memory(job, machine) if layout.is_cluster else None,
    )


def sampling_error(q: int, samples: float) -> float:
    """About how far a Gram matrix of `samples` is from that of infinitely many, at worst.

    As a share of its largest eigenvalue: ``2 sqrt(q / n) + q / n``, to which the eigenvalues of
    white noise spread out (Marchenko and Pastur). Data whose variance is in fewer
    directions than `q` come closer.

    Examples
    --------
    >>> from tensift.plan import sampling_error
    >>> round(sampling_error(256, 1e6), 4)
    0.0323
    """
    ratio = q / samples
    return 2 * math.sqrt(ratio) + ratio


def _plan(job: Job, layout: Layout, machine: Machine) -> Plan:
    from tensift.plan._advice import advice_for

    chosen = estimate(job, layout, machine)
    orientations = [estimate(job.oriented(mode), layout, machine) for mode in range(len(job.shape))]
    most = max(64, 2 * layout.workers)
    counts = [2**k for k in range(24) if 2**k <= most]
    counts = sorted({*counts, layout.workers})
    # A single worker is compared with many as one of them, unless no cluster was asked for.
    among = replace(layout, cluster=layout.is_cluster)
    scaling = [estimate(job, replace(among, workers=count), machine) for count in counts]
    steps = USUAL_STEPS[f"{job.solver} path" if job.cells > 1 else job.solver][1:]
    low, high = (
        estimate(replace(job, steps=each), layout, machine).seconds
        for each in (steps if job.steps is None else (job.steps, job.steps))
    )
    plan = Plan(
        chosen=chosen,
        orientations=orientations,
        scaling=scaling,
        seconds_range=(min(low, chosen.seconds), max(high, chosen.seconds)),
        sampling_error=sampling_error(job.q, job.samples),
        machine=machine,
        notes=_notes(job, layout),
    )
    plan.advice.extend(advice_for(plan))
    return plan


def _notes(job: Job, layout: Layout) -> list[str]:
    usual, few, many = USUAL_STEPS[f"{job.solver} path" if job.cells > 1 else job.solver]
    notes = []
    if job.steps is None:
        notes.append(
            f"{usual:g} steps a slice are assumed; data have needed {few:g} to {many:g} "
            "(give steps where you know them)"
        )
    else:
        notes.append(f"{usual_steps(job):g} steps a slice, as given")
    if not layout.in_memory and layout.read_bandwidth is not None:
        notes.append(
            "chunks are read while others are worked on: of the two, the clock sees the longer"
        )
    elif not layout.in_memory:
        notes.append("reading is not counted: its rate is not known (give read_bandwidth)")
    if layout.is_cluster:
        notes.append("cores of the workers are taken to be like one core of this machine")
        notes.append("every worker reads at its own rate: storage that all share may be slower")
    if job.thin:
        notes.append("fewer samples than features of a slice: times are those of whole matrices")
    return notes
