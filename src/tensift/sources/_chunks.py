"""Sources that this process reads chunk by chunk."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from tensift._utils.progress import byte_progress
from tensift.sources._prefetch import prefetch
from tensift.sources._rows import RowReader
from tensift.sources._sample_weights import SampleWeights
from tensift.sources._source import Source

__all__ = [
    "Chunk",
    "ChunkedSource",
    "StoredSource",
    "UnusableSample",
    "chunk_bytes",
    "locate_errors",
]

Measured = TypeVar("Measured")

CHUNK_SHARE_OF_MEMORY = 32  # a chunk takes 1/32 of scikit-learn's working_memory
CHUNK_BUFFERS = 3  # one chunk is being read, one waits in the queue, one is in use
_PROBES = 16  # samples whose values go into the fingerprint of stored data


class UnusableSample(ValueError):
    """A sample holds NaN, infinity, or a value larger than 1e100.

    Attributes
    ----------
    row : int
        The index of the sample within the array that was checked.
    what : str
        What it holds, such as "NaN".
    """

    def __init__(self, row: int, what: str) -> None:
        super().__init__(f"Input X contains {what}; repair or remove these samples first")
        self.row, self.what = row, what

    def __reduce__(self) -> tuple[Any, ...]:
        return UnusableSample, (self.row, self.what)


@dataclass(frozen=True)
class Chunk:
    """Consecutive samples.

    ``start`` is the index of the first sample; ``place`` names the chunk in error messages. If
    samples have ``weights``, ``used`` are those whose weight is not zero; otherwise all are.
    """

    start: int
    samples: NDArray
    place: str
    weights: SampleWeights | None = None

    @property
    def stop(self) -> int:
        """The index after that of the last sample."""
        return self.start + len(self.samples)

    @property
    def used(self) -> NDArray:
        """The samples that count; `weights.used` are their weights."""
        if self.weights is None or self.weights.positive.all():
            return self.samples
        return self.samples[self.weights.positive]

    def row_of_used(self, row: int) -> int:
        """Return the index within this chunk of one of those that count."""
        return row if self.weights is None else int(np.flatnonzero(self.weights.positive)[row])


class ChunkedSource(Source):
    """A source that is read in chunks; a thread reads the next chunk while one is in use.

    ``length`` is the usual number of samples in a chunk. The last chunk may have fewer.
    """

    rereadable: bool
    length: int

    @abstractmethod
    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks, beginning with the one whose first sample has index `start`."""

    @abstractmethod
    def probe(self) -> tuple[Any, ...]:
        """Return values that identify these samples without reading all of them."""

    def reduce(
        self,
        measure: Callable[..., Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Measure one chunk after another, and merge each result into the total so far."""
        total: Measured | None = None
        for chunk in self.chunks_with_progress(0, title, verbose):
            samples = chunk.used
            if not len(samples):
                continue
            with locate_errors(chunk):
                if chunk.weights is None:
                    measured = measure(samples)
                else:
                    measured = measure(samples, weights=chunk.weights.used)
            total = measured if total is None else merge(total, measured)
        if total is None:
            raise ValueError("X has no samples; at least 2 are needed")
        return total

    def map(self, function: Callable[[NDArray], NDArray]) -> NDArray:
        """Apply a function to every chunk and return the results in one array."""
        found: NDArray | None = None
        parts = []
        for chunk in self.chunks_with_progress(0, "", False):
            with locate_errors(chunk):
                part = np.asarray(function(chunk.samples))
            if self.n_samples is None:
                parts.append(part.copy() if np.may_share_memory(part, chunk.samples) else part)
                continue
            if found is None:
                found = np.empty((self.n_samples, *part.shape[1:]), part.dtype)
            found[chunk.start : chunk.start + len(part)] = part
        return np.concatenate(parts) if found is None else found

    def chunks_with_progress(self, start: int, title: str, verbose: bool) -> Iterator[Chunk]:
        """Yield chunks that a thread reads ahead, with weights, and report progress after each."""
        total, stop = None, start
        row_bytes = self.dtype.itemsize * math.prod(self.sample_shape)
        if self.n_samples is not None:
            total = self.n_samples * row_bytes
        report = byte_progress(title, total, done=start * row_bytes) if verbose else None
        with closing(prefetch(self.chunks(start))) as chunks:
            for chunk in chunks:
                stop = chunk.stop
                yield self._weighed(chunk)
                if report is not None:
                    report(stop * row_bytes, f"{stop} samples")
        if self.weights is not None:
            self.weights.check_length(stop)

    def _weighed(self, chunk: Chunk) -> Chunk:
        if self.weights is None:
            return chunk
        if chunk.stop > len(self.weights):
            what = "sample_weight" if self.weights.groups is None else "groups"
            raise ValueError(
                f"{what} has {len(self.weights)} values, but X has {chunk.stop} samples or more; "
                "pass one for each"
            )
        return replace(chunk, weights=self.weights.take(slice(chunk.start, chunk.stop)))


class StoredSource(ChunkedSource):
    """Samples of an array on disk.

    Parameters
    ----------
    reader : RowReader
        Reads rows of the array.
    """

    rereadable = True
    n_samples: int

    def __init__(self, reader: RowReader) -> None:
        check_samples(reader.shape, reader.dtype)
        self.reader = reader
        self.n_samples, self.sample_shape = reader.shape[0], reader.shape[1:]
        self.dtype = reader.dtype
        self.length = chunk_length(reader)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the chunks from sample `start` on.

        Three buffers are used in turn: reading a chunk overwrites the third chunk before it.
        """
        buffers: list[NDArray | None] = [None] * CHUNK_BUFFERS
        for first in range(start, self.n_samples, self.length):
            stop = min(first + self.length, self.n_samples)
            number = first // self.length
            samples = self.reader.read(first, stop, buffers[number % CHUNK_BUFFERS])
            buffers[number % CHUNK_BUFFERS] = samples if samples.flags.c_contiguous else None
            yield Chunk(first, samples, f"chunk {number}, samples {first} to {stop - 1}")

    def probe(self) -> tuple[Any, ...]:
        """Return shape, dtype, chunk length, and a digest of 16 samples from first to last."""
        digest = hashlib.sha256()
        for k in np.unique(np.linspace(0, self.n_samples - 1, _PROBES).astype(int)).tolist():
            digest.update(np.ascontiguousarray(self.reader.read(k, k + 1)).tobytes())
        shape = (self.n_samples, *self.sample_shape)
        return shape, self.dtype.str, self.length, digest.hexdigest()


def check_samples(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Raise an error if an array of this shape and dtype cannot hold samples."""
    if dtype.kind not in "biufc":
        raise ValueError(f"X has dtype {dtype}, which is not numeric; pass numbers")
    if len(shape) < 2:
        raise ValueError(
            f"X has shape {shape}; it needs at least two axes, the first of which counts samples"
        )
    if 0 in shape[1:]:
        raise ValueError(f"X has a mode of length zero (shape={shape}), so it has no features")
    if shape[0] == 0:
        raise ValueError(f"X has no samples (shape={shape}); at least 2 are needed")


def chunk_bytes() -> int:
    """Return the largest size of a chunk, from scikit-learn's ``working_memory``."""
    return max(1, int(get_config()["working_memory"] * 2**20) // CHUNK_SHARE_OF_MEMORY)


def chunk_length(reader: RowReader) -> int:
    """Return how many samples to read at once.

    This is a multiple of the array's own chunks (of HDF5 or Zarr) where that fits.
    """
    row_bytes = reader.dtype.itemsize * math.prod(reader.shape[1:])
    length = max(1, chunk_bytes() // row_bytes)
    stored = reader.stored_together
    if length >= stored:
        return length - length % stored
    # Reading part of a compressed piece decompresses all of it. Up to 8 times the allowed size,
    # it is therefore better to read the whole piece.
    return stored if stored <= 8 * length else length


@contextmanager
def locate_errors(chunk: Chunk) -> Iterator[None]:
    """Add the sample and the chunk to the error about an unusable sample."""
    try:
        yield
    except UnusableSample as error:
        row = chunk.start + chunk.row_of_used(error.row)
        where = f"sample {row} is the first ({chunk.place})"
        hint = "; missing='allow' takes NaN as not observed" if error.what == "NaN" else ""
        raise ValueError(f"Input X contains {error.what}: {where}{hint}") from None
