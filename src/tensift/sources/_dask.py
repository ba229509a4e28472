"""Dask arrays, alone or inside of xarray: measured on the workers, chunk by chunk."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from copy import deepcopy
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tensift._progress import progress_bar
from tensift._threads import one_blas_thread
from tensift.algebra import ModeTransform
from tensift.gram import Moments
from tensift.sources._dask_moments import DaskMoments, merged
from tensift.sources._dask_rows import (
    MomentsAndPicked,
    Picker,
    merged_with_picked,
    moments_alone,
    picked_alone,
)
from tensift.sources._dask_tasks import cluster, gather, keep
from tensift.sources._source import Source
from tensift.sources._thinned import ThinnedSamples

__all__ = ["DaskSource", "dask_array_of"]

Measured = TypeVar("Measured")


def dask_array_of(X: Any) -> Any:
    """The Dask array that `X` is or that an xarray wraps, else None; does not import Dask."""
    arrays, xarray = sys.modules.get("dask.array"), sys.modules.get("xarray")
    if arrays is None:
        return None
    if xarray is not None and isinstance(X, xarray.DataArray | xarray.Variable):
        X = X.data if X.chunks is not None else None
    return X if isinstance(X, arrays.Array) else None


class DaskSource(Source):
    """Samples along the first axis of a Dask array, however it is chunked.

    Chunks may have unknown lengths along the samples, and none at all. Features are put into one
    chunk, along with as many samples as the sizes of chunks in Dask's configuration allow.

    Parameters
    ----------
    array : dask.array.Array
        The samples.
    """

    def __init__(self, array: Any) -> None:
        if array.dtype.kind not in "biufc":
            raise ValueError(f"X has dtype {array.dtype}, which is not numeric; pass numbers")
        if array.ndim < 2:
            raise ValueError(f"X has shape {array.shape}; samples go along the first axis of two")
        if any(math.isnan(length) for length in array.shape[1:]):
            raise ValueError(
                f"X has modes of unknown length (shape={array.shape}); call "
                "X.compute_chunk_sizes() first"
            )
        if 0 in array.shape[1:]:
            raise ValueError(
                f"X has a mode of length zero (shape={array.shape}); there is nothing in it"
            )
        self.n_samples = None if math.isnan(array.shape[0]) else int(array.shape[0])
        self.sample_shape = tuple(int(length) for length in array.shape[1:])
        self.dtype = array.dtype
        self._array = _with_whole_samples(array)

    def reduce(
        self,
        measure: Callable[[NDArray], Measured],
        merge: Callable[[Measured, Measured], Measured],
        *,
        title: str,
        verbose: bool = False,
    ) -> Measured:
        """Measure every chunk and merge what was measured, by pairs, on the workers.

        Progress is shown by schedulers in this process; a cluster has its dashboard.
        """
        root = self._reduction(measure, partial(_merge_into_copy, merge), title)
        (found,) = gather([root], watch=self._watch(title, verbose))
        return found

    def moments(
        self,
        measure: Callable[[NDArray], Moments],
        *,
        verbose: bool = False,
        n_jobs: int | None = None,
        rows: ThinnedSamples | None = None,
    ) -> Moments:
        """The moments of all samples, whose Gram tensor stays on the workers.

        Samples that `rows` keeps come along; where chunks have unknown lengths, by a second pass.
        """
        title = "reading samples"
        watch = self._watch(title, verbose)
        if rows is None:
            return DaskMoments(self._reduction(measure, merged, title), watch)
        from dask import delayed

        lengths = None if self.n_samples is None else self._array.chunks[0]
        picker = Picker(None) if lengths is None else Picker.of(rows, lengths)
        root = self._reduction(measure, merged_with_picked, title, picker)
        if cluster() is None:
            (found,) = gather([root], watch=watch)
            picked = found.picked
            whole = delayed(found.moments, name=f"{root.key}-moments", traverse=False)
        else:
            (root,) = keep([root])
            (picked,) = gather([delayed(picked_alone, pure=True)(root)])
            whole = delayed(moments_alone, pure=True)(root)
        moments = DaskMoments(whole)
        if lengths is None:
            found_lengths = tuple(picked.get(k, 0) for k in range(self._array.numblocks[0]))
            taken = self._every(*rows.next_rows(moments.count), found_lengths)
        else:
            taken = np.concatenate([picked[number] for number in sorted(picked)])
        rows.add_rows(taken, moments.count)
        return moments

    def _every(self, first: int, stride: int, lengths: tuple[int, ...]) -> NDArray:
        """Every so many-th sample from the first on, brought here, by the lengths of chunks."""
        array = self._array
        chunks = (lengths, *array.chunks[1:])
        array = type(array)(array.dask, array.name, chunks, meta=array._meta)
        return np.asarray(array[first::stride].compute())

    def map(self, function: Callable[[NDArray], NDArray]) -> Any:
        """A lazy array with what a function of samples gives for every chunk."""
        from dask import delayed

        one = function(np.zeros((1, *self.sample_shape), self.dtype))
        shape, dtype = one.shape[1:], one.dtype
        token = self._token(function)
        return self._array.map_blocks(
            _apply,
            function=delayed(function, name=f"function-{token}", traverse=False),
            shape=shape,
            dtype=dtype,
            kind=dtype,
            drop_axis=list(range(1, self._array.ndim)),
            new_axis=list(range(1, 1 + len(shape))),
            chunks=(self._array.chunks[0], *((length,) for length in shape)),
            meta=np.empty((0,) * (1 + len(shape)), dtype),
            name=f"transform-{token}",
        )

    def _reduction(
        self, measure: Callable, merge: Callable, title: str, picker: Picker | None = None
    ) -> Any:
        """The task at the root of a tree of pairs, whose shape depends on the chunks alone."""
        from dask import delayed

        token = self._token(measure, picker)
        also: dict[str, Any] = {}
        if picker is not None:
            also["picker"] = delayed(picker, name=f"picker-{token}", traverse=False)
        chunks = self._array.map_blocks(
            _measure if picker is None else _measure_and_pick,
            measure=delayed(measure, name=f"measure-{token}", traverse=False),
            dtype=object,
            meta=np.empty((0,) * self._array.ndim, object),
            name=f"{_slug(title)}-{token}",
            **also,
        )
        nodes = list(chunks.to_delayed().ravel())
        pair = delayed(_merge, pure=True, traverse=False)
        while len(nodes) > 1:
            pairs = [
                pair(merge, one, other) for one, other in zip(nodes[::2], nodes[1::2], strict=False)
            ]
            nodes = pairs + nodes[2 * len(pairs) :]
        return delayed(_something, pure=True)(nodes[0])

    def _watch(self, title: str, verbose: bool) -> Callable[[Any], None] | None:
        if not verbose:
            return None
        return _Count(progress_bar(title, self._array.numblocks[0]), _slug(title))

    def _token(self, *functions: Callable | None) -> str:
        """Names functions on these data: equal for equal ones, in whatever process."""
        from dask.base import tokenize

        _register_tokens()
        return tokenize(self._array.name, *functions)


def _with_whole_samples(array: Any) -> Any:
    """Chunks that have all features; of no more bytes than Dask is configured for."""
    from dask import config
    from dask.utils import parse_bytes

    if all(len(lengths) == 1 for lengths in array.chunks[1:]):
        return array
    chunks: dict[int, int] = dict.fromkeys(range(1, array.ndim), -1)
    allowed = parse_bytes(config.get("array.chunk-size"))
    rows = max(1, allowed // (array.dtype.itemsize * math.prod(array.shape[1:])))
    if max(array.chunks[0]) > rows:  # never so for unknown lengths
        chunks[0] = rows
    return array.rechunk(chunks)


@cache
def _register_tokens() -> None:
    from dask.base import normalize_token

    # A transform keeps what it has computed; what it is does not depend on that.
    @normalize_token.register(ModeTransform)
    def _(transform: ModeTransform) -> tuple[Any, ...]:
        kind = f"{type(transform).__module__}.{type(transform).__qualname__}"
        return kind, transform.name, normalize_token(transform.matrix)


class _Count:
    """Counts the chunks that are measured."""

    def __init__(self, report: Callable[[int], None], prefix: str) -> None:
        self._report, self._prefix, self._done = report, prefix, 0

    def __call__(self, key: Any) -> None:
        name = key[0] if isinstance(key, tuple) else key
        if str(name).startswith(self._prefix):
            self._done += 1
            self._report(self._done)


def _slug(title: str) -> str:
    return title.replace(" ", "-")


# Tasks. None changes what it is given: it may be given again, to whoever computes it anew.


def _measure(chunk: Any, measure: Callable[[NDArray], Measured]) -> Measured | None:
    if len(chunk) == 0:
        return None
    _refuse_masked(chunk)
    with one_blas_thread():
        return measure(chunk)


def _measure_and_pick(
    chunk: Any,
    measure: Callable[[NDArray], Moments],
    picker: Picker,
    block_id: tuple[int, ...],
) -> MomentsAndPicked | None:
    moments = _measure(chunk, measure)
    number = block_id[0]
    return None if moments is None else MomentsAndPicked(moments, {number: picker(chunk, number)})


def _merge(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    with one_blas_thread():
        return merge(one, other)


def _merge_into_copy(merge: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    return merge(deepcopy(one), other)


def _something(found: Any) -> Any:
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
        raise ValueError("X has masked values, which would be taken as they are; fill them first")
