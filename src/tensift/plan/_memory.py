"""How much memory a job needs at its peak, by counting arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tensift.moments import BLOCK_ELEMENTS, GRAM_COPIES, Moments
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.sources import CHUNK_BUFFERS

__all__ = ["Memory", "memory_of", "passes_of", "solve_blocks", "working_memory_for"]

# A block of samples is centred and transformed in parts. This many arrays of the size of a part
# exist at that time. A DFT makes its whole complex output before half of it is dropped. Without a
# transform, samples are written into their block directly.
_PART_COPIES = {"none": 0.25, "real": 4.0, "dft": 8.0}
# Arrays of the size of a block of Gram matrices that a solver has at the same time.
_SOLVER_COPIES = {"paper": 12.0, "exact": 23.0}
_DASK_RESIDENT = 60e6  # bytes of Dask itself in a worker


@dataclass(frozen=True)
class Memory:
    """The peak memory of a process in bytes, by use.

    Attributes
    ----------
    process : float
        The interpreter and the libraries.
    data : float
        Stored samples: one chunk per core, or all samples if they are in memory.
    work : float
        Blocks of samples in progress, or the work space of the solver, at the time of the peak.
    gram : float
        Gram tensors: the sums, the scaled copy, and the operators.
    at : {"moments", "solve"}
        The stage that needs most memory.
    total : float
        The sum of all parts.

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
        """The sum of all parts."""
        return self.process + self.data + self.work + self.gram


def solve_blocks(job: Job, kept: int | None = None) -> int:
    """Return the number of blocks of slices, divided as the solvers do."""
    kept = job.kept if kept is None else kept
    blocks = 1
    while blocks < kept and blocks * BLOCK_ELEMENTS < kept * job.q**2:
        blocks *= 2
    return min(blocks, kept)


def memory_of(job: Job, layout: Layout, machine: Machine, passes: int = 1) -> Memory:
    """Return the peak memory of one worker, or of the one process."""
    kept = math.ceil(job.kept / passes)
    gram = kept * job.gram_bytes / job.kept
    process = machine.resident + (_DASK_RESIDENT if layout.is_cluster else 0.0)
    chunk = layout.chunk_of(job)
    chunk_bytes = float(chunk * job.sample_bytes)
    rows, part = _rows_of_block(job)
    # One process fills a block from several chunks if they are short.
    rows = min(rows, chunk if layout.is_cluster else job.samples)
    block = float(rows * kept * job.q * job.number_bytes)
    kind = "dft" if job.real_data and job.complex_slices else "real"
    if passes == 1 and set(job.bases) <= {"identity"}:
        kind = "none"
    parts = min(part, chunk) * 8 * job.elements * (1 if job.real_data else 2) * _PART_COPIES[kind]
    if job.thin:  # all centred samples are kept, then turned into slices at once
        block, parts = gram, 2 * gram

    if layout.is_cluster:
        # Every task has its chunk and its sum. As many finished sums wait to be merged.
        tasks = layout.cores
        data, work, sums = tasks * chunk_bytes, tasks * (block + parts), 2 * tasks + 2
    else:
        data = chunk_bytes if layout.in_memory else CHUNK_BUFFERS * chunk_bytes
        work, sums = block + layout.cores * parts, 1
    at_first = _work_of_first_pass(job, chunk, whole=layout.in_memory and not layout.is_cluster)
    if layout.is_cluster:
        at_first *= layout.cores
    moments = Memory(process, data, max(work, at_first), sums * gram, "moments")

    solving = solve_blocks(job, kept)
    solve_block = kept * job.q**2 * job.number_bytes / solving
    work = min(layout.cores, solving) * _SOLVER_COPIES[job.solver] * solve_block
    if layout.is_cluster:
        held = 2 * gram  # the sum and its blocks
    elif job.cells > 1:
        held = 2 * gram + 2 * job.norms_bytes  # the sum and its scaled copy
    else:
        held = 3 * gram  # the sum, its scaled copy, and the operators
        work = max(work, gram)  # operators are joined after the solver has freed its work space
    data = chunk_bytes if layout.in_memory and not layout.is_cluster else 0.0
    solve = Memory(process, data, work, held, "solve")
    return max(moments, solve, key=lambda one: one.total)


def _work_of_first_pass(job: Job, rows: int, *, whole: bool) -> float:
    """Return the bytes of copies made before moments are summed, of all samples or a chunk."""
    stored = float(rows * job.sample_bytes)
    double = float(rows * job.elements * (8 if job.real_data else 16))
    if "eigen" in job.bases:  # copies: scaled, in double precision, conjugated
        converted = double if stored < double else 0.0
        return stored + converted + (0.0 if job.real_data else double)
    return stored if whole and not job.real_data else 0.0  # absolute values


def _rows_of_block(job: Job) -> tuple[int, int]:
    """Return how many samples are multiplied at a time, and how many are centred at a time."""
    # Ask Moments itself, with a stand-in: real Moments would use the memory that is counted.
    like: Any = SimpleNamespace(orientation=SimpleNamespace(size=job.q, feature_shape=job.shape))
    return Moments._rows_of_block(like), Moments._rows_of_part(like)


def client_memory(job: Job, machine: Machine) -> Memory:
    """Return the memory of the client of a cluster: column norms, no samples, no operators."""
    process = machine.resident + _DASK_RESIDENT
    return Memory(process, 0.0, 3.0 * job.norms_bytes + 24.0 * job.elements, 0.0, "solve")


def passes_of(job: Job, layout: Layout) -> int:
    """Return the passes over the data: more than one if the Gram matrices exceed the memory."""
    each = GRAM_COPIES * job.gram_bytes // job.kept  # bytes per slice
    allowed = max(int(layout.working), job.stored_bytes if layout.in_memory else 0)
    if layout.is_cluster or job.kept == 1 or job.kept * each <= allowed:
        return 1
    return -(-job.kept // max(1, allowed // each))


def working_memory_for(job: Job, passes: int) -> float:
    """Return the least working memory for which this many passes are enough."""
    return float(-(-job.kept // passes) * (GRAM_COPIES * job.gram_bytes // job.kept))
