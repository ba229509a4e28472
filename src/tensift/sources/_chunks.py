"""Samples that pass through memory in chunks, one after the other."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from tensift._pool import Pool
from tensift._progress import byte_progress
from tensift.gram import Moments
from tensift.gram._moments import UnusableSample
from tensift.sources._ahead import ahead
from tensift.sources._resume import PassCheckpoint
from tensift.sources._rows import Rows
from tensift.sources._source import Source
from tensift.sources._thinned import ThinnedSamples

__all__ = ["Chunk", "ChunkedSource", "StoredSource", "chunk_bytes"]

Measured = TypeVar("Measured")

_SHARE_OF_MEMORY = 32  # one chunk is this part of scikit-learn's working memory
_BUFFERS = 3  # a chunk that is read, one that waits, one that is worked on
_PROBES = 16  # samples by which stored data are known again


@dataclass(frozen=True)
class Chunk:
    """Consecutive samples.

    ``start`` counts samples, ``place`` names the chunk in errors.
    """

    start: int
    samples: NDArray
    place: str


class ChunkedSource(Source):
    """Samples in chunks, of which one is worked on while the next is read.

    ``length`` is how many samples a chunk has, as a rule.
    """

    rereadable: bool
    length: int

    @abstractmethod
    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """All chunks from the one that begins at sample `start` on."""

    @abstractmethod
    def probe(self) -> tuple[Any, ...]:
        """What these samples are known by, at little cost."""

    def reduce(
        self,
        measure: Callable[[NDArray], Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Measure chunk after chunk, and merge each into those before."""
        total: Measured | None = None
        for chunk in self._watched(0, title, verbose):
            with located(chunk):
                measured = measure(chunk.samples)
            total = measured if total is None else merge(total, measured)
        if total is None:
            raise ValueError("X has no samples; at least 2 are needed")
        return total

    def moments(
        self,
        measure: Callable[[NDArray], Moments],
        *,
        verbose: bool = False,
        n_jobs: int | None = None,
        rows: ThinnedSamples | None = None,
        kept: PassCheckpoint | None = None,
    ) -> Moments:
        """The moments of all samples, of which there are never two sets in memory."""
        moments = measure.blank()  # type: ignore[attr-defined]
        start = 0 if kept is None else kept.begin_moments(moments, self)
        if start == self.n_samples:
            return moments
        together = max(1, moments.rows_together // self.length)
        with Pool(n_jobs, single=moments.orientation.n_slices == 1) as pool:
            for number, chunk in enumerate(self._watched(start, "reading samples", verbose)):
                with located(chunk):
                    measure.add_more(moments, chunk.samples, pool)  # type: ignore[attr-defined]
                if rows is not None:
                    rows.add(chunk.samples)
                if kept is not None:
                    kept.note(chunk)
                # At places that do not depend on time: what is added together is so every time.
                if (number + 1) % together == 0:
                    moments.settle(pool)
                    if kept is not None:
                        kept.after_chunks()
            moments.settle(pool, last=True)
        if kept is not None:
            kept.finish()
        return moments

    def map(self, function: Callable[[NDArray], NDArray]) -> NDArray:
        """What a function of samples gives for all of them, in one array."""
        found: NDArray | None = None
        parts = []
        for chunk in self._watched(0, "", False):
            with located(chunk):
                part = np.asarray(function(chunk.samples))
            if self.n_samples is None:
                parts.append(part.copy() if np.may_share_memory(part, chunk.samples) else part)
                continue
            if found is None:
                found = np.empty((self.n_samples, *part.shape[1:]), part.dtype)
            found[chunk.start : chunk.start + len(part)] = part
        return np.concatenate(parts) if found is None else found

    def _watched(self, start: int, title: str, verbose: bool) -> Iterator[Chunk]:
        """Chunks that are read ahead; how far they are is shown when the next is asked for."""
        total = None
        row_bytes = self.dtype.itemsize * math.prod(self.sample_shape)
        if self.n_samples is not None:
            total = self.n_samples * row_bytes
        report = byte_progress(title, total, done=start * row_bytes) if verbose else None
        with closing(ahead(self.chunks(start))) as chunks:
            for chunk in chunks:
                yield chunk
                if report is not None:
                    end = chunk.start + len(chunk.samples)
                    report(end * row_bytes, f"{end} samples")


class StoredSource(ChunkedSource):
    """Samples that are stored in an array whose rows can be read.

    Parameters
    ----------
    rows : Rows
        The array.
    """

    rereadable = True
    n_samples: int

    def __init__(self, rows: Rows) -> None:
        check_samples(rows.shape, rows.dtype)
        self.rows = rows
        self.n_samples, self.sample_shape, self.dtype = rows.shape[0], rows.shape[1:], rows.dtype
        self.length = chunk_length(rows)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """All chunks from the one that begins at sample `start` on; each is for a time only."""
        buffers: list[NDArray | None] = [None] * _BUFFERS
        for first in range(start, self.n_samples, self.length):
            stop = min(first + self.length, self.n_samples)
            number = first // self.length
            samples = self.rows.read(first, stop, buffers[number % _BUFFERS])
            buffers[number % _BUFFERS] = samples if samples.flags.c_contiguous else None
            yield Chunk(first, samples, f"chunk {number}, samples {first} to {stop - 1}")

    def probe(self) -> tuple[Any, ...]:
        """Shape, type, length of chunks, and some samples from the first to the last."""
        digest = hashlib.sha256()
        for k in np.unique(np.linspace(0, self.n_samples - 1, _PROBES).astype(int)).tolist():
            digest.update(np.ascontiguousarray(self.rows.read(k, k + 1)).tobytes())
        shape = (self.n_samples, *self.sample_shape)
        return shape, self.dtype.str, self.length, digest.hexdigest()


def check_samples(shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuse what cannot be samples."""
    if dtype.kind not in "biufc":
        raise ValueError(f"X has dtype {dtype}, which is not numeric; pass numbers")
    if len(shape) < 2:
        raise ValueError(f"X has shape {shape}; samples go along the first axis of two")
    if 0 in shape[1:]:
        raise ValueError(f"X has a mode of length zero (shape={shape}); there is nothing in it")
    if shape[0] == 0:
        raise ValueError(f"X has no samples (shape={shape}); at least 2 are needed")


def chunk_bytes() -> int:
    """How large a chunk may be, by scikit-learn's ``working_memory``."""
    return max(1, int(get_config()["working_memory"] * 2**20) // _SHARE_OF_MEMORY)


def chunk_length(rows: Rows) -> int:
    """How many samples are read at once: whole pieces of those stored together, if they fit."""
    row_bytes = rows.dtype.itemsize * math.prod(rows.shape[1:])
    length = max(1, chunk_bytes() // row_bytes)
    stored = rows.stored_together
    if length >= stored:
        return length - length % stored
    # To read part of a packed piece means to unpack all of it, so several pieces' worth is taken.
    return stored if stored <= 8 * length else length


@contextmanager
def located(chunk: Chunk) -> Iterator[None]:
    """Say of what is wrong with samples where they are."""
    try:
        yield
    except UnusableSample as error:
        row = chunk.start + error.row
        where = f"sample {row} is the first ({chunk.place})"
        raise ValueError(f"Input X contains {error.what}: {where}") from None
