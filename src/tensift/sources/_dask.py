"""Dask arrays: workers measure them chunk by chunk."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.progress import progress_bar
from tensift._utils.threads import one_blas_thread
from tensift.algebra import ModeTransform
from tensift.sources._dask_tasks import gather_results
from tensift.sources._sample_weights import SampleWeights
from tensift.sources._source import Source

__all__ = ["DaskSource", "dask_array_of"]

Measured = TypeVar("Measured")


def dask_array_of(X: Any) -> Any:
    """Return `X` if it is a Dask array, else None.

    This does not import Dask: if nobody has imported it, `X` is no Dask array.
    """
    arrays = sys.modules.get("dask.array")
    return X if arrays is not None and isinstance(X, arrays.Array) else None


class DaskSource(Source):
    """Samples along the first axis of a Dask array with any chunks.

    Chunks may be empty, and their number of samples may be unknown. If the features of a sample
    are in several chunks, the array is rechunked: each new chunk has whole samples, as many as
    Dask's configured chunk size allows.

    Parameters
    ----------
    array : dask.array.Array
        The samples.
    """

    def __init__(self, array: Any) -> None:
        if array.dtype.kind not in "biufc":
            raise ValueError(f"X has dtype {array.dtype}, which is not numeric; pass numbers")
        if array.ndim < 2:
            raise ValueError(
                f"X has shape {array.shape}; it needs at least two axes, the first of which counts "
                "samples"
            )
        if any(math.isnan(length) for length in array.shape[1:]):
            raise ValueError(
                f"X has modes of unknown length (shape={array.shape}); call "
                "X.compute_chunk_sizes() first"
            )
        if 0 in array.shape[1:]:
            raise ValueError(
                f"X has a mode of length zero (shape={array.shape}), so it has no features"
            )
        self.n_samples = None if math.isnan(array.shape[0]) else int(array.shape[0])
        self.sample_shape = tuple(int(length) for length in array.shape[1:])
        self.dtype = array.dtype
        self.array = _with_whole_samples(array)

    def reduce(
        self,
        measure: Callable[..., Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Measure every chunk and merge the results in pairs, on the workers.

        Progress is shown only if the scheduler runs in this process; a cluster has its dashboard.
        """
        root = self.reduction(measure, partial(_merge_into_copy, merge), title)
        (found,) = gather_results([root], on_task=self.task_callback(title, verbose))
        return found

    def weigh(self, weights: SampleWeights | None) -> None:
        """Give samples weights; if it is unknown where chunks begin, a pass finds it out."""
        if weights is not None and self.n_samples is None:
            lengths = self.lengths_of_chunks()
            self.array = self._with_lengths(lengths)
            self.n_samples = sum(lengths)
        super().weigh(weights)

    def lengths_of_chunks(self) -> tuple[int, ...]:
        """Return the number of samples of each chunk, by a pass if they are unknown."""
        if self.n_samples is not None:
            return tuple(self.array.chunks[0])
        found: tuple[int, ...] = copy(self.array).compute_chunk_sizes().chunks[0]
        return found

    def read_rows(self, which: slice | NDArray[np.intp], lengths: tuple[int, ...]) -> NDArray:
        """Load some samples; `lengths` has the length of each chunk."""
        return np.asarray(self._with_lengths(lengths)[which].compute())

    def _with_lengths(self, lengths: tuple[int, ...]) -> Any:
        array = self.array
        chunks = (lengths, *array.chunks[1:])
        return type(array)(array.dask, array.name, chunks, meta=array._meta)

    def map(self, function: Callable[[NDArray], NDArray]) -> Any:
        """Return a lazy array: a function of samples, applied to every chunk."""
        from dask import delayed

        one = function(np.zeros((1, *self.sample_shape), self.dtype))
        shape, dtype = one.shape[1:], one.dtype
        token = self._token(function)
        return self.array.map_blocks(
            _apply,
            function=delayed(function, name=f"function-{token}", traverse=False),
            shape=shape,
            dtype=dtype,
            kind=dtype,
            drop_axis=list(range(1, self.array.ndim)),
            new_axis=list(range(1, 1 + len(shape))),
            chunks=(self.array.chunks[0], *((length,) for length in shape)),
            meta=np.empty((0,) * (1 + len(shape)), dtype),
            name=f"transform-{token}",
        )

    def reduction(self, measure: Callable, merge: Callable, title: str) -> Any:
        """Return the root task of a binary tree that measures and merges all chunks.

        The shape of the tree depends only on the chunks, so results do not depend on the
        scheduler. A `measure` with the attribute ``wants_number`` is also passed the number of
        the chunk.
        """
        from dask import delayed

        if self.weights is not None:
            measure = WeighedMeasure.of(measure, self.weights, self.lengths_of_chunks())
        token = self._token(measure)
        numbered = getattr(measure, "wants_number", False)
        chunks = self.array.map_blocks(
            _measure_numbered if numbered else _measure,
            measure=delayed(measure, name=f"measure-{token}", traverse=False),
            dtype=object,
            meta=np.empty((0,) * self.array.ndim, object),
            name=f"{_slug(title)}-{token}",
        )
        nodes = list(chunks.to_delayed().ravel())
        pair = delayed(_merge, pure=True, traverse=False)
        while len(nodes) > 1:
            pairs = [
                pair(merge, one, other) for one, other in zip(nodes[::2], nodes[1::2], strict=False)
            ]
            nodes = pairs + nodes[2 * len(pairs) :]
        return delayed(_require_samples, pure=True)(nodes[0])

    def task_callback(self, title: str, verbose: bool) -> Callable[[Any], None] | None:
        """Return a function that takes the key of every finished task and shows progress."""
        if not verbose:
            return None
        return _ChunkCounter(progress_bar(title, self.array.numblocks[0]), _slug(title))

    def _token(self, *functions: Callable | None) -> str:
        """Return a name for these functions on these data, the same in every process."""
        from dask.base import tokenize

        _register_tokens()
        return tokenize(self.array.name, *functions)


@dataclass(frozen=True)
class WeighedMeasure:
    """Calls a measure with the samples of a chunk that count, and their weights."""

    measure: Callable[..., Any]
    weights: tuple[SampleWeights, ...]
    wants_number: ClassVar[bool] = True

    @classmethod
    def of(
        cls, measure: Callable[..., Any], weights: SampleWeights, lengths: tuple[int, ...]
    ) -> WeighedMeasure:
        """Cut weights into those of chunks."""
        ends = np.cumsum(lengths).tolist()
        parts = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
        return cls(measure, tuple(weights.take(part) for part in parts))

    def __call__(self, chunk: NDArray, number: int) -> Any:
        """Return the measure of a chunk; None if none of its samples counts."""
        own = self.weights[number]
        samples = np.asarray(chunk)[own.positive]
        if not len(samples):
            return None
        more = {"number": number} if getattr(self.measure, "wants_number", False) else {}
        return self.measure(samples, weights=own.used, **more)


def _with_whole_samples(array: Any) -> Any:
    """Rechunk so that chunks have whole samples, within Dask's configured chunk size."""
    from dask import config
    from dask.utils import parse_bytes

    if all(len(lengths) == 1 for lengths in array.chunks[1:]):
        return array
    chunks: dict[int, int] = dict.fromkeys(range(1, array.ndim), -1)
    allowed = parse_bytes(config.get("array.chunk-size"))
    rows = max(1, allowed // (array.dtype.itemsize * math.prod(array.shape[1:])))
    if max(array.chunks[0]) > rows:  # false if lengths are unknown (NaN)
        chunks[0] = rows
    return array.rechunk(chunks)


@cache
def _register_tokens() -> None:
    from dask.base import normalize_token

    # A transform caches what it computes; its name for Dask must not depend on the cache.
    def token(transform: ModeTransform) -> tuple[Any, ...]:
        kind = f"{type(transform).__module__}.{type(transform).__qualname__}"
        return kind, transform.name, normalize_token(transform.matrix)

    normalize_token.register(ModeTransform, token)


class _ChunkCounter:
    """Counts measured chunks: finished tasks whose key starts with `prefix`."""

    def __init__(self, report: Callable[[int], None], prefix: str) -> None:
        self._report, self._prefix, self._done = report, prefix, 0

    def __call__(self, key: Any) -> None:
        name = key[0] if isinstance(key, tuple) else key
        if str(name).startswith(self._prefix):
            self._done += 1
            self._report(self._done)


def _slug(title: str) -> str:
    return title.replace(" ", "-")


# Tasks must not change their inputs, because Dask may run them again.


def _measure(chunk: Any, measure: Callable[[NDArray], Measured]) -> Measured | None:
    if len(chunk) == 0:
        return None
    _refuse_masked(chunk)
    with one_blas_thread():
        return measure(chunk)


def _measure_numbered(
    chunk: Any, measure: Callable[[NDArray, int], Measured], block_id: tuple[int, ...]
) -> Measured | None:
    return _measure(chunk, lambda samples: measure(samples, block_id[0]))


def _merge(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    with one_blas_thread():
        return merge(one, other)


def _merge_into_copy(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    return merge(deepcopy(one), other)


def _require_samples(found: Any) -> Any:
    if found is None:
        raise ValueError("X has no samples: all of its chunks are empty; at least 2 are needed")
    return found


def _apply(
    chunk: Any, function: Callable[[NDArray], NDArray], shape: tuple[int, ...], kind: np.dtype
) -> NDArray:
    if len(chunk) == 0:
        return np.empty((0, *shape), kind)
    _refuse_masked(chunk)
    with one_blas_thread():
        return function(chunk)


def _refuse_masked(chunk: Any) -> None:
    if np.ma.is_masked(chunk):
        raise ValueError("X has masked values; fill them first")
