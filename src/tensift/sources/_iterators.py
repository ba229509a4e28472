"""Samples that an iterator yields in chunks; their number is unknown until it ends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array, kind_of
from tensift.sources._chunks import Chunk, ChunkedSource, check_samples, chunk_bytes

__all__ = ["Chunks", "IteratorSource", "iterable_source"]


class Chunks:
    """Chunks of samples that can be read several times.

    A generator can be read only once. Where samples have to be read more than once, as for
    ``basis="eigen"`` or where Gram matrices are too large to be in memory together, pass
    the function that makes the generator.

    Parameters
    ----------
    make : callable
        Called without arguments, it returns an iterator over chunks: arrays
        ``(n, d_1, ..., d_m)`` with any number of samples. Every call must give the same samples.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import STPCASelector
    >>> from tensift.sources import Chunks
    >>> def days():
    ...     for seed in range(3):
    ...         yield np.random.default_rng(seed).normal(size=(100, 8, 6))
    >>> selector = STPCASelector(5, basis="eigen").fit(Chunks(days))
    >>> selector.n_samples_seen_
    300
    """

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        if not callable(make):
            raise TypeError(
                f"Chunks needs a function that returns an iterator, got a {type(make).__name__}"
            )
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self.make())


class IteratorSource(ChunkedSource):
    """Samples from an iterator over chunks, or from an iterable that can be read again.

    Small chunks are joined, so that yielding one sample at a time is not slow.

    Parameters
    ----------
    chunks : iterable
        Yields arrays ``(n, d_1, ..., d_m)``.
    """

    n_samples = None

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.rereadable = not hasattr(chunks, "__next__")
        self._chunks = chunks
        self._opened: Iterator[Any] | None = iter(chunks)
        self._rest: Iterator[Chunk] = iter(())
        self._bytes = chunk_bytes()
        first = next(self._opened, None)
        if first is None:
            raise ValueError(
                "X yielded no chunk: it is empty, or an iterator that was read before; "
                "pass something that can be read again, such as tensift.sources.Chunks"
            )
        self._first: NDArray | None = _as_samples(first, 0)
        self.sample_shape, self.dtype = self._first.shape[1:], self._first.dtype
        self._head = self._first[:1].copy()
        row_bytes = self.dtype.itemsize * math.prod(self.sample_shape)
        self.length = max(1, self._bytes // row_bytes)

    def probe(self) -> tuple[Any, ...]:
        """Return the first sample; a checkpoint compares the others as it reads them."""
        return self.sample_shape, self._head.dtype.str, self._bytes, self._head.tobytes()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield all chunks, or if `start` is not 0, those after `read_until`."""
        yield from self._rest if start else self._regrouped()

    def read_until(self, count: int) -> Iterator[Chunk]:
        """Yield the chunks of the first `count` samples; `chunks` then continues after them."""
        pieces = self._regrouped()
        seen = 0
        while seen < count:
            chunk = next(pieces, None)
            if chunk is None:
                raise ValueError(
                    f"X ended after {seen} samples, but the checkpoint holds {count}; remove the "
                    "checkpoint, or pass the samples it was made from"
                )
            seen += len(chunk.samples)
            yield chunk
        self._rest = pieces

    def _regrouped(self) -> Iterator[Chunk]:
        """Join small chunks until they reach the usual size."""
        start, first, last, n_bytes = 0, 0, 0, 0
        held: list[NDArray] = []
        for last, samples in self._checked_chunks():
            first = first if held else last
            held.append(samples)
            n_bytes += samples.nbytes
            if n_bytes >= self._bytes:
                yield _joined(start, held, first, last)
                start += sum(map(len, held))
                held, n_bytes = [], 0
        if held:
            yield _joined(start, held, first, last)

    def _checked_chunks(self) -> Iterator[tuple[int, NDArray]]:
        """Yield each chunk with its number; a copy, because the iterator may reuse its array."""
        for number, given in enumerate(self._raw_chunks()):
            samples = _as_samples(given, number)
            if samples.shape[1:] != self.sample_shape:
                raise ValueError(
                    f"chunk {number} of X has samples of shape {samples.shape[1:]}, but earlier "
                    f"samples have shape {self.sample_shape}"
                )
            if samples.dtype.kind == "c" and self.dtype.kind != "c":
                raise ValueError(
                    f"chunk {number} of X is complex, but earlier ones are real; convert all to one"
                )
            if len(samples):
                yield number, samples

    def _raw_chunks(self) -> Iterator[Any]:
        if self._opened is None and not self.rereadable:
            raise ValueError(
                "X is an iterator, which can be read only once, and it has been read; pass "
                "something that can be read again, such as tensift.sources.Chunks"
            )
        opened = iter(self._chunks) if self._opened is None else self._opened
        first, self._first, self._opened = self._first, None, None
        if first is not None:
            yield first
        yield from opened


def _as_samples(given: Any, number: int) -> NDArray:
    """Return a checked copy of a chunk as an array."""
    if isinstance(given, str | bytes | dict | tuple):
        raise ValueError(
            f"chunk {number} of X is a {type(given).__name__}, not an array of samples"
        )
    if is_device_array(given):
        raise ValueError(
            f"chunk {number} of X is a {kind_of(given)}; pass such chunks to partial_fit one by "
            "one, or convert them to NumPy arrays"
        )
    if np.ma.is_masked(given):
        raise ValueError(f"chunk {number} of X has masked values; fill them first")
    try:
        samples = np.array(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"chunk {number} of X is not an array of samples: {error}") from None
    shape = (max(1, len(samples)), *samples.shape[1:]) if samples.ndim else ()
    try:
        check_samples(shape, samples.dtype)
    except ValueError as error:
        raise ValueError(f"chunk {number} of X: {error}") from None
    return samples


def _joined(start: int, parts: list[NDArray], first: int, last: int) -> Chunk:
    samples = parts[0] if len(parts) == 1 else np.concatenate(parts)
    stop = start + len(samples) - 1
    which = f"chunk {first}" if first == last else f"chunks {first} to {last}"
    return Chunk(start, samples, f"{which}, samples {start} to {stop}")


def iterable_source(X: Any) -> IteratorSource | None:
    """Return a source if `X` is an iterable of chunks, not an array or a sequence; else None."""
    kept_out = ("__array__", "__getitem__", "shape")
    is_one = hasattr(X, "__iter__") and not any(hasattr(X, name) for name in kept_out)
    if not is_one or isinstance(X, str | bytes | set | frozenset):
        return None
    return IteratorSource(X)
