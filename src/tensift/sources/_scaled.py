"""Samples that are divided by numbers while they are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.sources._chunks import Chunk, ChunkedSource, StoredSource
from tensift.sources._dask import DaskSource
from tensift.sources._rows import RowReader
from tensift.sources._source import Source

__all__ = ["scaled_source"]


def scaled_source(source: Source, divisors: NDArray[np.float64], shape: tuple[int, ...]) -> Source:
    """Return a source of the same samples, each divided by `divisors`.

    Parameters
    ----------
    source : Source
        The samples.
    divisors : ndarray
        What a sample of this shape is divided by, broadcast over it.
    shape : tuple of int
        The tensor shape of a sample, which may be stored as a row.
    """
    divisors = np.broadcast_to(divisors, shape).reshape(source.sample_shape)
    found: Source
    if isinstance(source, DaskSource):
        found = DaskSource(source.array / divisors)
    elif isinstance(source, StoredSource):
        found = StoredSource(_ScaledReader(source.reader, divisors))
    else:
        assert isinstance(source, ChunkedSource)
        found = _ScaledChunks(source, divisors)
    found.names = source.names
    return found


class _ScaledReader(RowReader):
    """Reads rows and divides them."""

    def __init__(self, reader: RowReader, divisors: NDArray[np.float64]) -> None:
        self.reader, self.divisors = reader, divisors
        self.shape, self.stored_together = reader.shape, reader.stored_together
        self.dtype = np.result_type(reader.dtype, divisors.dtype)

    def read(self, start: int, stop: int, out: NDArray | None = None) -> NDArray:
        """Return rows ``start:stop``, divided."""
        return np.asarray(self.reader.read(start, stop) / self.divisors)


class _ScaledChunks(ChunkedSource):
    """Divides the chunks of an iterator."""

    def __init__(self, source: ChunkedSource, divisors: NDArray[np.float64]) -> None:
        self.source, self.divisors = source, divisors
        self.n_samples, self.sample_shape = source.n_samples, source.sample_shape
        self.rereadable, self.length = source.rereadable, source.length
        self.dtype = np.result_type(source.dtype, divisors.dtype)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks, divided."""
        for chunk in self.source.chunks(start):
            yield replace(chunk, samples=np.asarray(chunk.samples / self.divisors))

    def probe(self) -> tuple[Any, ...]:
        """Return what identifies the samples, and the divisors."""
        return (*self.source.probe(), self.divisors.tobytes())
