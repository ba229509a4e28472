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
from tensift.sources._even_subsample import EvenSubsample, even_subsample, kept_samples, stride_of
from tensift.sources._iterators import Chunks
from tensift.sources._kept_samples import KeptSamples
from tensift.sources._rows import SlicingReader
from tensift.sources._sample_weights import SampleWeights, group_codes, takes_weights
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
    "KeptSamples",
    "SampleWeights",
    "SlicingReader",
    "Source",
    "StoredSource",
    "UnusableSample",
    "active_cluster",
    "even_subsample",
    "gather_results",
    "group_codes",
    "in_memory",
    "in_processes",
    "keep_on_workers",
    "kept_samples",
    "locate_errors",
    "scaled_source",
    "source_of",
    "stride_of",
    "takes_weights",
]
