"""Samples that are never in memory together: files, iterators and clusters."""

from tensift.sources._iterators import Chunks
from tensift.sources._source import Source, source_of

__all__ = ["Chunks", "Source", "source_of"]
