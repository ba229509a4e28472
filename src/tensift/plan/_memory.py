"""How much memory a job needs at its peak, by counting arrays."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tensift.moments import BLOCK_ELEMENTS, GRAM_COPIES, Moments
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._pilot import Pilot
from tensift.sources import CHUNK_BUFFERS

__all__ = [
    "Memory",
    "client_memory",
    "memory_of",
    "passes_of",
    "resident_bytes",
    "solve_blocks",
    "working_memory_for",
]

# A block of samples is centred and transformed in parts. This many arrays of the size of a part
# exist at that time. A DFT makes its whole complex output before half of it is dropped. Without a
# transform, samples are written into their block directly.
_PART_COPIES = {"none": 0.25, "real": 4.0, "dft": 8.0}
# Arrays of the size of a block of operators that a solver has at the same time.
_SOLVER_COPIES = {"paper": 12.0, "exact": 22.0}
# The same if they are factors. The exact solver's span grows as the data ask for: between 0.75 and
# twice the count was measured.
_THIN_COPIES = {"paper": 32.0, "exact": 20.0}
# Arrays of full matrices of all slices while penalties are chosen: the inverse of Gram matrices,
# and what it is made of. Eigenvectors are kept only if there are few.
_CHOICE_COPIES = 4.0
_DASK_RESIDENT = 60e6  # bytes of Dask itself in a worker
_RESIDENT = 150e6  # bytes of the libraries, if the system does not report it


@dataclass(frozen=True)
class Memory:
    """The peak memory of a process in bytes, by use.

    Attributes
    ----------
    process : float
        The interpreter and the libraries.
    data : float
        Stored samples: one chunk per core, or all samples if they are in memory; and the samples
        that the selection looks at.
    work : float
        Blocks of samples in progress, or the work space of solver or selection, at the peak.
    gram : float
        Gram tensors or their thin factors, the scaled copy, and the operators.
    at : {"moments", "solve", "select"}
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


def memory_of(job: Job, layout: Layout, pilot: Pilot, passes: int = 1) -> Memory:
    """Return the peak memory of one worker, or of the one process."""
    held = 0.0
    if layout.in_memory and not layout.is_cluster:
        held = float(job.stored_bytes)
    stages = [_at_moments(job, layout, passes), _at_solve(job, layout, passes, held)]
    if job.selects and not layout.is_cluster:
        kept = math.ceil(job.kept / passes)
        gram = 2 * job.gram_bytes * kept / job.kept
        operators = job.operator_bytes if passes == 1 else 0.0
        data = held + job.looked_at_bytes
        stages.append(
            Memory(_process(layout), data, pilot.selection_memory, gram + operators, "select")
        )
    return max(stages, key=lambda one: one.total)


def _at_moments(job: Job, layout: Layout, passes: int) -> Memory:
    """Return the memory while samples are read and summed up."""
    kept = math.ceil(job.kept / passes)
    gram = kept * job.gram_bytes / job.kept
    chunk = layout.chunk_of(job)
    chunk_bytes = float(chunk * job.sample_bytes)
    rows, part = _rows_of_block(job)
    # One process fills a block from several chunks if they are short.
    rows = min(rows, chunk if layout.is_cluster else job.samples)
    block = float(rows * kept * job.q * job.number_bytes)
    kind = "dft" if job.real_data and job.complex_slices else "real"
    if passes == 1 and job.is_identity:
        kind = "none"
    parts = min(part, chunk) * 8 * job.elements * (1 if job.real_data else 2) * _PART_COPIES[kind]
    if job.thin:  # all centred samples are kept, then turned into slices at once
        block, parts = gram, 2 * gram
    looked_at = job.looked_at * job.sample_bytes if job.keeps_samples else 0
    if layout.is_cluster:
        # Every task has its chunk and its sum. As many finished sums wait to be merged.
        tasks = layout.cores
        data, work, sums = tasks * chunk_bytes, tasks * (block + parts), 2 * tasks + 2
    else:
        data = chunk_bytes if layout.in_memory else CHUNK_BUFFERS * chunk_bytes
        data, work, sums = data + looked_at, block + layout.cores * parts, 1
    at_first = _work_of_first_pass(job, chunk, whole=layout.in_memory and not layout.is_cluster)
    if layout.is_cluster:
        at_first *= layout.cores
    return Memory(_process(layout), data, max(work, at_first), sums * gram, "moments")


def _at_solve(job: Job, layout: Layout, passes: int, held: float) -> Memory:
    """Return the memory while slices are solved.

    The Gram tensor may be thin factors. Even then, solvers work with full matrices, unless there
    are far fewer samples than features.
    """
    kept = math.ceil(job.kept / passes)
    gram = kept * job.gram_bytes / job.kept
    dense = kept * job.operator_bytes / job.kept
    blocks = solve_blocks(job, kept)
    copies = _THIN_COPIES[job.solver] if job.stays_thin else _SOLVER_COPIES[job.solver]
    work = min(layout.cores, blocks) * copies * dense / blocks
    data = held + (job.looked_at * job.sample_bytes if job.keeps_samples else 0.0)
    if layout.is_cluster:
        return Memory(_process(layout), 0.0, work, 2 * gram, "solve")  # the sum and its blocks
    grams = 2 * gram  # the sum and its scaled copy
    if job.cells is not None:
        return Memory(_process(layout), data, work + 2 * job.norms_bytes, grams, "solve")
    # Operators of the solution in progress, and of the best one while penalties are chosen.
    operators = dense * (2 if job.chooses_penalties and passes == 1 else 1)
    work = max(work, dense)  # operators of blocks are joined after the solver freed its work space
    if job.chooses_penalties and not job.stays_thin:
        work = max(work, _CHOICE_COPIES * dense - operators)
    return Memory(_process(layout), data, work, grams + operators, "solve")


def _process(layout: Layout) -> float:
    return layout.resident + (_DASK_RESIDENT if layout.is_cluster else 0.0)


def resident_bytes() -> float:
    """Return the memory of this process now: the interpreter and the libraries."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as stream:
        return float(int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return _RESIDENT


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


def client_memory(job: Job, layout: Layout, pilot: Pilot) -> Memory:
    """Return the memory of the client of a cluster: column norms and selection, no operators."""
    work = 3.0 * job.norms_bytes + 24.0 * job.elements + pilot.selection_memory
    data = float(job.looked_at_bytes) if job.keeps_samples else 0.0
    return Memory(_process(layout), data, work, 0.0, "select" if job.selects else "solve")


def passes_of(job: Job, layout: Layout) -> int:
    """Return the blocks of slices whose Gram matrices fit into the working memory one by one."""
    each = GRAM_COPIES * job.gram_bytes // job.kept  # bytes per slice
    allowed = max(int(layout.working), job.stored_bytes if layout.in_memory else 0)
    if layout.is_cluster or job.kept == 1 or job.kept * each <= allowed:
        return 1
    return -(-job.kept // max(1, allowed // each))


def working_memory_for(job: Job, passes: int) -> float:
    """Return the least working memory for which this many passes are enough."""
    return float(-(-job.kept // passes) * (GRAM_COPIES * job.gram_bytes // job.kept))
