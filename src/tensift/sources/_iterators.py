"""Samples that come in chunks from an iterator, in its own order and as long as it lasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import is_device_array, kind_of
from tensift.sources._chunks import Chunk, ChunkedSource, check_samples, chunk_bytes

__all__ = ["Chunks", "IteratorSource", "iterable_source"]


class Chunks:
    """Chunks of samples that can be read again and again.

    A generator can be read once. Where samples have to be read more than once, as for
    ``transform="eigen"`` or where Gram matrices are too large to be in memory together, pass
    the function that makes it.

    Parameters
    ----------
    make : callable
        Called without arguments, gives an iterator over chunks: arrays ``(n, d_1, ..., d_m)``
        with any number of samples each, the same ones every time.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift import STPCASelector
    >>> from tensift.sources import Chunks
    >>> def days():
    ...     for seed in range(3):
    ...         yield np.random.default_rng(seed).normal(size=(100, 8, 6))
    >>> selector = STPCASelector(5, transform="eigen").fit(Chunks(days))
    >>> selector.n_samples_seen_
    300
    """

    def __init__(self, make: Callable[[], Iterable[Any]]) -> None:
        if not callable(make):
            raise TypeError(
                f"Chunks needs a function that gives an iterator, got a {type(make).__name__}"
            )
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return iter(self.make())


class IteratorSource(ChunkedSource):
    """Chunks of samples from an iterator, or from something that gives a new one every time.

    Small chunks are put together, so that one sample at a time is no slower than many.

    Parameters
    ----------
    chunks : iterable
        Of arrays ``(n, d_1, ..., d_m)``.
    """

    n_samples = None

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.rereadable = not hasattr(chunks, "__next__")
        self._chunks = chunks
        self._opened: Iterator[Any] | None = iter(chunks)
        self._further: Iterator[Chunk] = iter(())
        self._bytes = chunk_bytes()
        first = next(self._opened, None)
        if first is None:
            raise ValueError(
                "X gave no chunk of samples: it is empty, or an iterator that was read before; "
                "pass something that can be read again, such as tensift.sources.Chunks"
            )
        self._first: NDArray | None = _as_samples(first, 0)
        self.sample_shape, self.dtype = self._first.shape[1:], self._first.dtype
        self._head = self._first[:1].copy()
        row_bytes = self.dtype.itemsize * math.prod(self.sample_shape)
        self.length = max(1, self._bytes // row_bytes)

    def probe(self) -> tuple[Any, ...]:
        """The first sample; what follows is compared as it comes."""
        return self.sample_shape, self._head.dtype.str, self._bytes, self._head.tobytes()

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """All chunks, or those after the ones that were skipped."""
        yield from self._further if start else self._put_together()

    def skipped(self, count: int) -> Iterator[Chunk]:
        """Chunks up to a number of samples; those after them come next."""
        pieces = self._put_together()
        seen = 0
        while seen < count:
            chunk = next(pieces, None)
            if chunk is None:
                raise ValueError(
                    f"X ended after {seen} samples, but the checkpoint has seen {count}; remove "
                    "it, or pass the samples that it was made from"
                )
            seen += len(chunk.samples)
            yield chunk
        self._further = pieces

    def _put_together(self) -> Iterator[Chunk]:
        """Chunks of a reasonable size, each an array of its own."""
        start, first, last, n_bytes = 0, 0, 0, 0
        held: list[NDArray] = []
        for last, samples in self._checked():
            first = first if held else last
            held.append(samples)
            n_bytes += samples.nbytes
            if n_bytes >= self._bytes:
                yield _joined(start, held, first, last)
                start += sum(map(len, held))
                held, n_bytes = [], 0
        if held:
            yield _joined(start, held, first, last)

    def _checked(self) -> Iterator[tuple[int, NDArray]]:
        """What the iterator gives and its number, copied: it may fill the same array again."""
        for number, given in enumerate(self._given()):
            samples = _as_samples(given, number)
            if samples.shape[1:] != self.sample_shape:
                raise ValueError(
                    f"chunk {number} of X has samples of shape {samples.shape[1:]}, but those "
                    f"before it have {self.sample_shape}"
                )
            if samples.dtype.kind == "c" and self.dtype.kind != "c":
                raise ValueError(
                    f"chunk {number} of X is complex, but those before it were real; pass one kind"
                )
            if len(samples):
                yield number, samples

    def _given(self) -> Iterator[Any]:
        if self._opened is None and not self.rereadable:
            raise ValueError(
                "X is an iterator, which can be read once, and it has been; pass something that "
                "can be read again, such as tensift.sources.Chunks"
            )
        opened = iter(self._chunks) if self._opened is None else self._opened
        first, self._first, self._opened = self._first, None, None
        if first is not None:
            yield first
        yield from opened


def _as_samples(given: Any, number: int) -> NDArray:
    """A chunk as an array of its own."""
    if isinstance(given, str | bytes | dict | tuple):
        raise ValueError(
            f"chunk {number} of X is a {type(given).__name__}, not an array of samples"
        )
    if is_device_array(given):
        raise ValueError(
            f"chunk {number} of X is a {kind_of(given)}; pass such chunks to partial_fit one by "
            "one, or as NumPy arrays"
        )
    if np.ma.is_masked(given):
        raise ValueError(f"chunk {number} of X has masked values; fill them first")
    try:
        samples = np.array(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"chunk {number} of X is no array of samples: {error}") from None
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
    """A source if `X` gives chunks one after the other, and is no sequence or array."""
    kept_out = ("__array__", "__getitem__", "shape")
    is_one = hasattr(X, "__iter__") and not any(hasattr(X, name) for name in kept_out)
    if not is_one or isinstance(X, str | bytes | set | frozenset):
        return None
    return IteratorSource(X)
