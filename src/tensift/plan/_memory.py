"""How much memory a job takes at its worst moment, by counting arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tensift.base._passes import _COPIES
from tensift.gram import Moments
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.solvers._workers import _BLOCK_ELEMENTS
from tensift.sources._chunks import _BUFFERS

__all__ = ["Memory", "memory_of", "passes_of", "solve_blocks", "working_memory_for"]

# Arrays as large as a part of a block of samples that are made while it is centred and
# transformed; a DFT makes all of its complex output before half of that is dropped. Where
# nothing is transformed, samples are laid out in their block at once.
_PART_COPIES = {"none": 0.25, "real": 4.0, "dft": 8.0}
# Arrays as large as a block of Gram matrices that a solver has at a time.
_SOLVER_COPIES = {"paper": 12.0, "exact": 23.0}
_DASK_RESIDENT = 60e6  # bytes that a worker's own libraries take


@dataclass(frozen=True)
class Memory:
    """Bytes of a process at its worst moment, by what they hold.

    Attributes
    ----------
    process : float
        The interpreter and the libraries.
    data : float
        Stored samples: a chunk for each core, or all of them where they are in memory.
    work : float
        Blocks of samples on their way, or the work space of the solver, whichever is larger in
        all.
    gram : float
        Gram tensors: being summed up, scaled, and as operators.
    at : {"moments", "solve"}
        Which stage needs most.
    total : float
        All of it.

    Examples
    --------
    >>> from tensift.plan import Memory
    >>> Memory(process=1e8, data=1e6, work=2e6, gram=3e6, at="moments").total
    106000000.0
    """

    process: float
    data: float
    work: float
    gram: float
    at: str

    @property
    def total(self) -> float:
        """All of it."""
        return self.process + self.data + self.work + self.gram


def solve_blocks(job: Job, kept: int | None = None) -> int:
    """Blocks of slices that are solved together, as the solvers make them."""
    kept = job.kept if kept is None else kept
    blocks = 1
    while blocks < kept and blocks * _BLOCK_ELEMENTS < kept * job.q**2:
        blocks *= 2
    return min(blocks, kept)


def memory_of(job: Job, layout: Layout, machine: Machine, passes: int = 1) -> Memory:
    """The memory of one worker; for one process, of that process."""
    kept = math.ceil(job.kept / passes)
    gram = kept * job.gram_bytes / job.kept
    process = machine.resident + (_DASK_RESIDENT if layout.is_cluster else 0.0)
    chunk = layout.chunk_of(job)
    chunk_bytes = float(chunk * job.sample_bytes)
    rows, part = _rows_of_block(job)
    # One process fills a block from several chunks, if they are short.
    rows = min(rows, chunk if layout.is_cluster else job.samples)
    block = float(rows * kept * job.q * job.number_bytes)
    kind = "dft" if job.real_data and job.complex_slices else "real"
    if passes == 1 and set(job.transforms) <= {"identity"}:
        kind = "none"
    parts = min(part, chunk) * 8 * job.elements * (1 if job.real_data else 2) * _PART_COPIES[kind]
    if job.thin:  # centred samples are kept, and become slices all at once
        block, parts = gram, 2 * gram

    if layout.is_cluster:
        # Every task has its chunk and its sum; as many sums wait for another to be merged with.
        tasks = layout.cores
        data, work, sums = tasks * chunk_bytes, tasks * (block + parts), 2 * tasks + 2
    else:
        data = chunk_bytes if layout.in_memory else _BUFFERS * chunk_bytes
        work, sums = block + layout.cores * parts, 1
    at_first = _work_of_looking(job, chunk, whole=layout.in_memory and not layout.is_cluster)
    if layout.is_cluster:
        at_first *= layout.cores
    moments = Memory(process, data, max(work, at_first), sums * gram, "moments")

    solving = solve_blocks(job, kept)
    solve_block = kept * job.q**2 * job.number_bytes / solving
    work = min(layout.cores, solving) * _SOLVER_COPIES[job.solver] * solve_block
    if layout.is_cluster:
        held = 2 * gram  # the sum, and its blocks
    elif job.cells > 1:
        held = 2 * gram + 2 * job.norms_bytes  # the sum, and scaled
    else:
        held = 3 * gram  # and operators; they are put together once all are there,
        work = max(work, gram)  # when the solver's work is over
    data = chunk_bytes if layout.in_memory and not layout.is_cluster else 0.0
    solve = Memory(process, data, work, held, "solve")
    return max(moments, solve, key=lambda one: one.total)


def _work_of_looking(job: Job, rows: int, *, whole: bool) -> float:
    """Copies of samples that are looked at before they are taken in, `whole` or a chunk."""
    stored = float(rows * job.sample_bytes)
    double = float(rows * job.elements * (8 if job.real_data else 16))
    if "eigen" in job.transforms:  # in double precision, conjugated, and scaled
        converted = double if stored < double else 0.0
        return stored + converted + (0.0 if job.real_data else double)
    return stored if whole and not job.real_data else 0.0  # absolute values


def _rows_of_block(job: Job) -> tuple[int, int]:
    """Samples that are multiplied together, and that are centred together."""
    # Moments know best; to make some would take the memory that is to be counted.
    like: Any = SimpleNamespace(orientation=SimpleNamespace(size=job.q, feature_shape=job.shape))
    return Moments._rows_of_block(like), Moments._rows_of_part(like)


def client_memory(job: Job, machine: Machine) -> Memory:
    """The memory of the process that asks a cluster: column norms, no samples, no operators."""
    process = machine.resident + _DASK_RESIDENT
    return Memory(process, 0.0, 3.0 * job.norms_bytes + 24.0 * job.elements, 0.0, "solve")


def passes_of(job: Job, layout: Layout) -> int:
    """How often the data are read: once, or where Gram matrices are too many for memory, more."""
    each = _COPIES * job.gram_bytes // job.kept  # of a slice
    allowed = max(int(layout.working), job.stored_bytes if layout.in_memory else 0)
    if layout.is_cluster or job.kept == 1 or job.kept * each <= allowed:
        return 1
    return -(-job.kept // max(1, allowed // each))


def working_memory_for(job: Job, passes: int) -> float:
    """The least working memory with which so many passes do."""
    return float(-(-job.kept // passes) * (_COPIES * job.gram_bytes // job.kept))
