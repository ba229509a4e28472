"""How much memory a job takes at its worst moment, by counting arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tensift.gram._moments import _BLOCK_BYTES
from tensift.plan._job import Job
from tensift.plan._layout import Layout
from tensift.plan._machine import Machine
from tensift.solvers._workers import _BLOCK_ELEMENTS

__all__ = ["Memory", "memory_of", "passes_of", "solve_blocks"]

# Arrays as large as a block of samples that taking it in has at a time: in double precision,
# centred, and in slices; under a DFT the complex slices come before half of them is dropped.
_BLOCK_COPIES = {"real": 3.0, "dft": 4.3}
# Arrays as large as a block of Gram matrices that a solver has at a time.
_SOLVER_COPIES = {"paper": 12.0, "exact": 23.0}
_DASK_RESIDENT = 60e6  # bytes that a worker's own libraries take
_PASSES_AT_MOST = 10**6


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
    tasks = layout.cores if layout.is_cluster else 1
    chunk = layout.chunk_of(job)
    chunk_bytes = chunk * job.elements * job.dtype.itemsize
    process = machine.resident + (_DASK_RESIDENT if layout.is_cluster else 0.0)

    # Blocks of at least 2 q samples, on their way into the Gram tensor.
    sample = 8 * job.elements
    rows = min(max(2 * job.q, _BLOCK_BYTES // sample), chunk)
    block = rows * sample * (1 if job.real_data else 2)
    copies = _BLOCK_COPIES["dft" if job.real_data and job.complex_slices else "real"]
    # One sum for every chunk at work, and one that they are added to.
    summing = gram * (tasks + (chunk < job.samples))
    moments = Memory(process, tasks * chunk_bytes, tasks * copies * block, summing, "moments")

    solving = solve_blocks(job, kept)
    solve_block = kept * job.q**2 * job.number_bytes / solving
    threads = min(layout.cores, solving)
    space = threads * _SOLVER_COPIES[job.solver] * solve_block
    if layout.is_cluster:
        # A worker has the blocks it solves, and may have been sent the whole sum.
        held = gram
    elif job.cells > 1:
        held = 2 * gram + 2 * job.norms_bytes  # the sum and its scaled copy
    else:
        held = 3 * gram  # and operators; they are put together once all are there,
        space = max(space, gram)  # when the solver's work is over
    resident_data = chunk_bytes if layout.in_memory and not layout.is_cluster else 0.0
    solve = Memory(process, resident_data, space, held, "solve")
    return max(moments, solve, key=lambda one: one.total)


def client_memory(job: Job, layout: Layout, machine: Machine) -> Memory:
    """The memory of the process that asks a cluster: results, never samples."""
    operators = job.gram_bytes if job.cells == 1 else 0.0
    process = machine.resident + _DASK_RESIDENT
    return Memory(process, 0.0, 3.0 * job.norms_bytes, 2.0 * operators, "solve")


def passes_of(job: Job, layout: Layout, machine: Machine) -> int | None:
    """How often the data are read so that every pass fits into memory; None if none would."""
    if layout.memory is None or memory_of(job, layout, machine).total <= layout.memory:
        return 1
    most = min(job.kept, _PASSES_AT_MOST)
    if memory_of(job, layout, machine, most).total > layout.memory:
        return None
    low, high = 1, most  # the last that is too few, the first that is enough
    while high - low > 1:
        middle = (low + high) // 2
        if memory_of(job, layout, machine, middle).total <= layout.memory:
            high = middle
        else:
            low = middle
    return high
