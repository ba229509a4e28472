"""Where a job runs: workers, their cores and memory, and what they read and send through."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklearn import get_config

from tensift.plan._job import Job
from tensift.sources._chunks import _SHARE_OF_MEMORY

__all__ = ["Layout"]

_CLUSTER_CHUNK = 2**27  # bytes of a stored chunk, as Dask's own guess is


@dataclass(frozen=True)
class Layout:
    """Who does the work.

    Parameters
    ----------
    workers : int, default=1
        One is this process; more are a Dask cluster, and so is one if `cluster` says so.
    cores : int, default=1
        Of each worker. One process shares out the work on a chunk to them (``n_jobs``), workers
        of a cluster have a task on each.
    memory : float or None
        Bytes a worker may take, None for no limit.
    read_bandwidth : float or None
        Bytes a second that each worker reads, None if unknown.
    network : float
        Bytes a second between two workers.
    chunk : int or None
        Samples of a chunk, None for what is usual.
    in_memory : bool, default=False
        Whether samples are an array in memory already: nothing is read.
    cluster : bool, default=False
        Whether even one worker is a Dask cluster.
    working_memory : float or None
        Bytes of scikit-learn's ``working_memory``, by which one process chooses the size of
        chunks and how many Gram matrices it has at a time; None for what is configured.

    Examples
    --------
    >>> from tensift.plan import Layout, make_job
    >>> Layout().chunk_of(make_job((64, 64), 10**6, dtype="float32"))
    2048
    """

    workers: int = 1
    cores: int = 1
    memory: float | None = None
    read_bandwidth: float | None = None
    network: float = 1.25e9
    chunk: int | None = None
    in_memory: bool = False
    cluster: bool = False
    working_memory: float | None = None

    @property
    def is_cluster(self) -> bool:
        """Whether there is more than this process."""
        return self.cluster or self.workers > 1

    @property
    def slots(self) -> int:
        """Tasks that run at a time."""
        return self.workers * self.cores

    @property
    def working(self) -> float:
        """Bytes of the working memory."""
        if self.working_memory is None:
            return float(get_config()["working_memory"] * 2**20)
        return self.working_memory

    def chunk_of(self, job: Job) -> int:
        """Samples of a chunk."""
        if self.in_memory and not self.is_cluster:
            return job.samples
        if self.chunk is not None:
            return min(self.chunk, job.samples)
        size = _CLUSTER_CHUNK if self.is_cluster else int(self.working) // _SHARE_OF_MEMORY
        return min(max(1, size // job.sample_bytes), job.samples)

    def chunks_of(self, job: Job) -> int:
        """How many chunks there are."""
        return math.ceil(job.samples / self.chunk_of(job))
