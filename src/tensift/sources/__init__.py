"""Read samples that do not fit into memory: from files, from iterators, and on Dask clusters."""

from tensift.sources._chunks import (
    CHUNK_BUFFERS,
    CHUNK_SHARE_OF_MEMORY,
    Chunk,
    ChunkedSource,
    StoredSource,
    UnusableSample,
    locate_errors,
)
from tensift.sources._dask import DaskSource
from tensift.sources._dask_tasks import (
    active_cluster,
    gather_results,
    in_processes,
    keep_on_workers,
)
from tensift.sources._even_subsample import EvenSubsample, even_subsample
from tensift.sources._iterators import Chunks
from tensift.sources._rows import SlicingReader
from tensift.sources._scaled import scaled_source
from tensift.sources._source import Source, in_memory, source_of

__all__ = [
    "CHUNK_BUFFERS",
    "CHUNK_SHARE_OF_MEMORY",
    "Chunk",
    "ChunkedSource",
    "Chunks",
    "DaskSource",
    "EvenSubsample",
    "SlicingReader",
    "Source",
    "StoredSource",
    "UnusableSample",
    "active_cluster",
    "even_subsample",
    "gather_results",
    "in_memory",
    "in_processes",
    "keep_on_workers",
    "locate_errors",
    "scaled_source",
    "source_of",
]
