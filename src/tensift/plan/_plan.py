"""Plan a job: memory, time, the bottleneck, and what to change."""

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
    """The predicted time and memory of a job in one layout.

    Attributes
    ----------
    job : Job
        What is computed.
    layout : Layout
        Where it is computed.
    passes : int
        How often the data are read. More than once if the Gram tensor exceeds the working
        memory and is made in parts.
    stages : list of Stage
        The times.
    memory : Memory
        The peak memory of a worker, or of the one process.
    client : Memory or None
        The peak memory of the client of a cluster.

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
        """Whether the job fits into the memory."""
        return self.layout.memory is None or self.memory.total <= self.layout.memory

    @property
    def seconds(self) -> float:
        """The wall-clock time in seconds."""
        return total_seconds(self.stages)

    @property
    def core_seconds(self) -> float:
        """The seconds of all cores together."""
        return sum(stage.core_seconds for stage in self.stages)

    @property
    def bottleneck(self) -> Stage:
        """The stage that takes longest."""
        return max(self.stages, key=lambda stage: stage.seconds)


@dataclass(frozen=True)
class Plan:
    """The predicted time and memory of a job, with alternatives and advice.

    Attributes
    ----------
    chosen : Estimate
        The job as requested.
    orientations : list of Estimate
        The job at every orientation.
    scaling : list of Estimate
        The job with 1, 2, 4, ... workers.
    seconds : float
        The wall-clock time in seconds.
    seconds_range : tuple of float
        The time with few and with many steps of the solver, which depend on the data.
    memory : Memory
        The peak memory of a worker, or of the one process.
    bottleneck : str
        The stage that takes longest.
    sampling_error : float
        About how far the Gram matrices are from those of infinitely many samples, at worst, as a
        share of the largest eigenvalue.
    advice : list of str
        What to change, and what you would gain.
    notes : list of str
        The assumptions.

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
        """The wall-clock time in seconds."""
        return self.chosen.seconds

    @property
    def memory(self) -> Memory:
        """The peak memory of a worker, or of the one process."""
        return self.chosen.memory

    @property
    def bottleneck(self) -> str:
        """The stage that takes longest."""
        return self.chosen.bottleneck.name

    def __str__(self) -> str:
        from tensift.plan._report import report

        return report(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dict of plain values, for JSON."""
        from tensift.plan._report import as_dict

        return as_dict(self)


def plan_job(
    shape: Sequence[int] | str,
    samples: float,
    *,
    orientation: int = 0,
    basis: str | Sequence[str] = "identity",
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
    """Predict the time and memory of a job before it runs.

    Parameters
    ----------
    shape : sequence of int, or str
        The shape of one sample.
    samples : int
        The number of samples.
    orientation, basis, solver
        As in `STPCASelector`. Give bases by name, and "matrix" for any other.
    dtype : dtype, default="float32"
        The type of the stored samples.
    grid : int, default=1
        The number of pairs of penalties: 1 for a fit with given penalties, about 4 if they are
        "auto", 25 for the default grid of `stpca_path`.
    steps : float or None, default=None
        The steps per slice, if you know them from a smaller run. By default the usual number.
    workers : int, default=1
        1 means this process. More mean a Dask cluster whose cores are like this machine's.
    cores : int, default=1
        Cores per worker.
    memory : float, str or None, default=None
        The memory that a worker may use: bytes, or a size such as "4GB".
    read_bandwidth : float, str or None, default=None
        How fast a worker reads: a number of MB/s, or a rate such as "2GB/s". By default the
        measured rate of the disk of temporary files.
    network : float or str, default="1.25GB/s"
        How fast one worker sends to another. The default is ten gigabits per second.
    chunk : int or None, default=None
        Samples per chunk.
    in_memory : bool, default=False
        Whether the samples are an array in memory.
    working_memory : float, str or None, default=None
        scikit-learn's ``working_memory``, which sets the size of chunks and the number of passes
        over the data for one process. By default the configured value, 1 GiB.
    machine : Machine or None, default=None
        The rates. By default those of this machine, which are measured once and stored.

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
        basis=basis,
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
    """Predict the time and memory of a job in one layout.

    Parameters
    ----------
    job : Job
        What is computed.
    layout : Layout
        Where it is computed.
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
    """Return about how far a Gram matrix is from that of infinitely many samples, at worst.

    The result is a share of the largest eigenvalue: ``2 sqrt(q / n) + q / n``, by which the
    eigenvalues of white noise spread (Marchenko and Pastur). The error is smaller if the variance
    of the data is in fewer than `q` directions.

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
    # On a cluster, the single worker of the table is a Dask worker too.
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
            f"{usual:g} steps per slice, as usual; data have needed {few:g} to {many:g} "
            "(give steps if you know them)"
        )
    else:
        notes.append(f"{usual_steps(job):g} steps per slice, as given")
    if not layout.in_memory and layout.read_bandwidth is not None:
        notes.append(
            "chunks are read while others are processed, so only the longer of the two counts"
        )
    elif not layout.in_memory:
        notes.append("reading is not counted, because its rate is unknown (give read_bandwidth)")
    if layout.is_cluster:
        notes.append("every core of the workers is as fast as a core of this machine")
        notes.append("every worker reads at this rate; storage that they share may be slower")
    if job.thin:
        notes.append("a slice has fewer samples than features; times are those of full matrices")
    return notes
