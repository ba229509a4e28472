"""Plan a job: memory, time, the bottleneck, and what to change."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from tensift.labels import Names, is_frame, unlabelled
from tensift.plan._job import Job, make_job
from tensift.plan._layout import Layout
from tensift.plan._memory import Memory, client_memory, memory_of, passes_of, resident_bytes
from tensift.plan._pilot import Pilot, Pilots
from tensift.plan._samples import DrawnSamples, PilotSamples, StoredSamples
from tensift.plan._times import Stage, overlap_of, stages_of
from tensift.plan._units import as_bytes, as_count, as_rate, format_amount

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
        The blocks in which slices are solved: more than one if the Gram tensor exceeds the working
        memory. A pass over the data makes the Gram matrices of one block.
    stages : list of Stage
        The times.
    overlap : float
        The seconds in which samples are read while others are processed.
    memory : Memory
        The peak memory of a worker, or of the one process.
    client : Memory or None
        The peak memory of the client of a cluster.

    Examples
    --------
    >>> from tensift.plan import Layout, estimate, example_pilot, make_job
    >>> job = make_job((64, 64), 10**7)
    >>> found = estimate(job, Layout(), example_pilot(job))
    >>> found.bottleneck.name, found.fits
    ('moments', True)
    """

    job: Job
    layout: Layout
    passes: int
    stages: list[Stage]
    overlap: float
    memory: Memory
    client: Memory | None

    @property
    def fits(self) -> bool:
        """Whether the job fits into the memory."""
        return self.layout.memory is None or self.memory.total <= self.layout.memory

    @property
    def seconds(self) -> float:
        """The wall-clock time in seconds."""
        return sum(stage.seconds for stage in self.stages) - self.overlap

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
        The time if it grows slowly or fast from the size of the pilot to that of the job.
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
        What was measured, and what is assumed.
    pilot : Pilot
        The measurements.

    Examples
    --------
    >>> from tensift.plan import example_pilot, plan_job
    >>> plan = plan_job((64, 64), 1e7, pilot=example_pilot)
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
    pilots: Callable[[Job], Pilot] = field(repr=False)
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

    @property
    def pilot(self) -> Pilot:
        """The measurements."""
        return self.pilots(self.chosen.job)

    def __str__(self) -> str:
        from tensift.plan._report import report

        return report(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as a dict of plain values, for JSON."""
        from tensift.plan._report import as_dict

        return as_dict(self)


def plan_job(
    shape: Sequence[int] | str | None = None,
    samples: float | None = None,
    *,
    data: Any = None,
    orientation: int | str = 0,
    basis: str | Sequence[str] = "identity",
    solver: str = "exact",
    dtype: object = None,
    names: Names | None = None,
    grid: int | None = None,
    workers: int = 1,
    cores: int = 1,
    memory: float | str | None = None,
    read_bandwidth: float | str | None = None,
    network: float | str = "1.25GB/s",
    chunk: int | None = None,
    in_memory: bool = False,
    loaded: bool = False,
    working_memory: float | str | None = None,
    seconds: float = 4.0,
    pilot: Callable[[Job], Pilot] | None = None,
    **settings: Any,
) -> Plan:
    """Predict the time and memory of a job before it runs.

    A pilot run measures reading, moments, solving and selecting on a few of the samples and
    slices. By default the plan is for ``STPCASelector().fit``.

    Parameters
    ----------
    shape : sequence of int, or str, optional
        The shape of one sample. By default that of `data`.
    samples : int, optional
        The number of samples. By default that of `data`.
    data : array-like, or StoredSamples, optional
        Samples for the pilot: an array, a memory map, an HDF5 or Zarr array, a dataset, or a
        DataArray of xarray. A few evenly spaced ones are looked at. By default, or if `shape` is
        another, they are drawn at random.
    orientation, basis, solver
        As in `STPCASelector`. Give bases by name, and "matrix" for any other.
    dtype : dtype, optional
        The type of the stored samples. By default that of `data`, else float32.
    names : Names, optional
        The names of the modes. By default those of `data`.
    grid : int or None, default=None
        The number of pairs of penalties of a path, 25 for the default grid of `stpca_path`. None
        for a fit.
    workers : int, default=1
        1 means this process. More mean a Dask cluster whose cores are like this machine's.
    cores : int, default=1
        Cores per worker.
    memory : float, str or None, default=None
        The memory that a worker may use: bytes, or a size such as "4GB".
    read_bandwidth : float, str or None, default=None
        How fast a worker reads: a number of MB/s, or a rate such as "2GB/s". By default as
        measured on the file of `data`, or on the disk of temporary files.
    network : float or str, default="1.25GB/s"
        How fast one worker sends to another. The default is ten gigabits per second.
    chunk : int or None, default=None
        Samples per chunk.
    in_memory : bool, default=False
        Whether the samples are an array in memory; true if `data` is one.
    loaded : bool, default=False
        Whether a file is loaded into memory first, which takes the time of reading it once.
    working_memory : float, str or None, default=None
        scikit-learn's ``working_memory``, which sets the size of chunks and the number of passes
        over the data for one process. By default the configured value, 1 GiB.
    seconds : float, default=4.0
        About how long the pilot measures. Other orientations and settings that the plan compares
        take a quarter of it each. Longer pilots get nearer to the size of the job.
    pilot : callable, optional
        Returns a `Pilot` for a `Job`, in place of measuring.
    **settings
        The parameters ``lam``, ``eta``, ``selection`` and ``n_features_to_select`` of a fit, as
        in `STPCASelector`, with the same defaults.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from tensift.datasets import load_digits
    >>> from tensift.plan import plan_job
    >>> plan = plan_job(data=load_digits().data, seconds=0.5)
    >>> [stage.name for stage in plan.chosen.stages]
    ['read', 'transform', 'moments', 'solve', 'select']
    """
    if isinstance(data, str | PathLike):
        raise ValueError(
            f"data must be an array of samples, not the name of a file; read {str(data)!r} with "
            "tensift.datasets.read_tensor first"
        )
    labelled = unlabelled(data)
    stored = _stored(labelled.samples)
    if stored is not None:
        shape = stored.shape if shape is None else shape
        samples = stored.count if samples is None else samples
        dtype = stored.dtype if dtype is None else dtype
        in_memory = in_memory or stored.in_memory
        loaded = loaded or stored.loaded_in is not None
    if shape is None or samples is None:
        raise ValueError("give shape and samples, or data that has them")
    job = make_job(
        shape,
        samples,
        orientation=orientation,
        basis=basis,
        solver=solver,
        dtype="float32" if dtype is None else dtype,
        grid=grid,
        names=labelled.names if names is None else names,
        **settings,
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
        in_memory=in_memory or loaded,
        loaded=loaded,
        working_memory=(
            None if working_memory is None else as_bytes(working_memory, "working_memory")
        ),
    )
    if pilot is None:
        if not 0 < seconds <= 3600:
            raise ValueError(f"seconds must be above 0 and at most 3600; got {seconds!r}")
        held = stored.array.nbytes if stored is not None and stored.in_memory else 0
        layout = replace(layout, resident=max(resident_bytes() - held, 0.0))
        pilot = Pilots(_samples_for(job, stored), seconds)
    return _plan(job, layout, pilot)


def _stored(data: Any) -> StoredSamples | None:
    if data is None or isinstance(data, StoredSamples):
        return data
    if is_frame(data):
        data = np.asarray(data)
    if len(getattr(data, "shape", ())) < 2 or not hasattr(data, "dtype"):
        raise ValueError(
            "data must be an array of samples with at least two axes, in memory or on disk; for "
            "anything else give shape and samples"
        )
    return StoredSamples(data)


def _samples_for(job: Job, stored: StoredSamples | None) -> PilotSamples:
    kind = job.dtype.kind == "c"
    if stored is None or stored.shape != job.shape or (stored.dtype.kind == "c") != kind:
        return DrawnSamples(job.shape, job.dtype)
    return stored


def estimate(job: Job, layout: Layout, pilot: Pilot) -> Estimate:
    """Predict the time and memory of a job in one layout.

    Parameters
    ----------
    job : Job
        What is computed.
    layout : Layout
        Where it is computed.
    pilot : Pilot
        What was measured on a core.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> from tensift.plan import Layout, estimate, example_pilot, make_job
    >>> job = make_job((64, 64), 10**8)
    >>> one, four = (estimate(job, Layout(workers=w), example_pilot(job)) for w in (1, 4))
    >>> one.seconds > 2 * four.seconds
    True
    """
    passes = passes_of(job, layout)
    stages = stages_of(job, layout, pilot, passes)
    return Estimate(
        job=job,
        layout=layout,
        passes=passes,
        stages=stages,
        overlap=overlap_of(stages, layout),
        memory=memory_of(job, layout, pilot, passes),
        client=client_memory(job, layout, pilot) if layout.is_cluster else None,
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


def _plan(job: Job, layout: Layout, pilots: Callable[[Job], Pilot]) -> Plan:
    from tensift.plan._advice import advice_for

    pilot = pilots(job)
    chosen = estimate(job, layout, pilot)
    orientations = [
        estimate(one, layout, pilots(one)) for one in map(job.oriented, range(len(job.shape)))
    ]
    most = max(64, 2 * layout.workers)
    counts = [2**k for k in range(24) if 2**k <= most]
    counts = sorted({*counts, layout.workers})
    # On a cluster, the single worker of the table is a Dask worker too.
    among = replace(layout, cluster=layout.is_cluster)
    scaling = [estimate(job, replace(among, workers=count), pilot) for count in counts]
    low, high = (
        estimate(job, layout, replace(pilot, solve=solve, selection=selection)).seconds
        for solve, selection in zip(pilot.solve_range, pilot.selection_range, strict=True)
    )
    plan = Plan(
        chosen=chosen,
        orientations=orientations,
        scaling=scaling,
        seconds_range=(min(low, chosen.seconds), max(high, chosen.seconds)),
        sampling_error=sampling_error(job.q, job.samples),
        pilots=pilots,
        notes=_notes(chosen, pilot),
    )
    plan.advice.extend(advice_for(plan))
    return plan


def _notes(chosen: Estimate, pilot: Pilot) -> list[str]:
    job, layout = chosen.job, chosen.layout
    notes = [
        f"measured on {format_amount(pilot.samples)} samples, {format_amount(pilot.slices)} of "
        f"{format_amount(job.kept)} slices, {format_amount(pilot.size)} of {format_amount(job.q)} "
        f"features: {pilot.note}"
    ]
    if pilot.size < job.q:
        notes.append(
            "slices are too large to be solved in a pilot, so the growth of times with their size "
            "is continued; a longer pilot (seconds) is more accurate"
        )
    if chosen.overlap:
        notes.append("a chunk is read while the one before it is processed")
    if layout.is_cluster:
        notes.append("every core of the workers is as fast as a core of this machine")
        notes.append("every worker reads at this rate; storage that they share may be slower")
        notes.append("tasks cost what they cost on the machine of the developers")
    if job.kept == 1 and not layout.is_cluster:
        notes.append("a single slice is solved with all threads of BLAS, whatever cores are given")
    return notes
