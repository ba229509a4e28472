"""Samples that are never in memory together: files, iterators and clusters."""

from tensift.sources._source import Source, source_of

__all__ = ["Source", "source_of"]
