"""Where a job runs: workers, their cores and memory, how fast they read and send data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sklearn import get_config

from tensift.plan._job import Job
from tensift.sources import CHUNK_SHARE_OF_MEMORY

__all__ = ["Layout"]

_CLUSTER_CHUNK = 2**27  # bytes of a stored chunk, Dask's default


@dataclass(frozen=True)
class Layout:
    """Where a job runs.

    Parameters
    ----------
    workers : int, default=1
        1 means this process, unless `cluster` is true. More mean a Dask cluster.
    cores : int, default=1
        Cores per worker. One process divides each chunk among them (``n_jobs``). Workers of a
        cluster run one task on each.
    memory : float or None
        Bytes that a worker may use; None for no limit.
    read_bandwidth : float or None
        Bytes per second that each worker reads; None if unknown.
    network : float
        Bytes per second between two workers.
    chunk : int or None
        Samples per chunk; None for the default.
    in_memory : bool, default=False
        Whether a fit has all samples in memory.
    loaded : bool, default=False
        Whether samples are in memory because a file is loaded first.
    cluster : bool, default=False
        Whether a single worker is a Dask cluster too.
    working_memory : float or None
        scikit-learn's ``working_memory`` in bytes, which sets the size of chunks and the number
        of Gram matrices in memory for one process. None for the configured value.
    resident : float, default=150e6
        Bytes of a process that has loaded the libraries.

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
    loaded: bool = False
    cluster: bool = False
    working_memory: float | None = None
    resident: float = 150e6

    @property
    def is_cluster(self) -> bool:
        """Whether the job runs on a cluster, not in this process."""
        return self.cluster or self.workers > 1

    @property
    def slots(self) -> int:
        """The number of tasks that run at the same time."""
        return self.workers * self.cores

    @property
    def working(self) -> float:
        """The working memory in bytes."""
        if self.working_memory is None:
            return float(get_config()["working_memory"] * 2**20)
        return self.working_memory

    def chunk_of(self, job: Job) -> int:
        """Return the number of samples in a chunk."""
        if self.in_memory and not self.is_cluster:
            return job.samples
        if self.chunk is not None:
            return min(self.chunk, job.samples)
        size = _CLUSTER_CHUNK if self.is_cluster else int(self.working) // CHUNK_SHARE_OF_MEMORY
        return min(max(1, size // job.sample_bytes), job.samples)

    def chunks_of(self, job: Job) -> int:
        """Return the number of chunks."""
        return math.ceil(job.samples / self.chunk_of(job))
