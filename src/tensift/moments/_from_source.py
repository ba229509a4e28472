"""Moments of samples that are not in memory: read chunk by chunk, here or on Dask workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift._utils.pool import Pool
from tensift.moments._chunk_measures import MomentsOfChunk
from tensift.moments._dask_moments import DaskMoments, merged
from tensift.moments._moments import Moments
from tensift.moments._resume import PassCheckpoint
from tensift.sources import (
    ChunkedSource,
    DaskSource,
    EvenSubsample,
    SampleWeights,
    Source,
    active_cluster,
    gather_results,
    keep_on_workers,
    locate_errors,
)

__all__ = ["moments_of_source"]

_TITLE = "reading samples"


def moments_of_source(
    source: Source,
    measure: MomentsOfChunk,
    *,
    subsample: EvenSubsample | None = None,
    checkpoint: PassCheckpoint | None = None,
    verbose: bool = False,
    n_jobs: int | None = None,
) -> Moments:
    """Return the moments of all samples, from one pass over them.

    Parameters
    ----------
    source : Source
        The samples.
    measure : MomentsOfChunk
        Computes the moments of a chunk.
    subsample : EvenSubsample, optional
        Gets the samples too, and becomes the ``subsample`` of the moments.
    checkpoint : PassCheckpoint, optional
        Where to continue from, and what to write; only for samples that this process reads.
    verbose : bool
        Whether to show progress.
    n_jobs : int or None
        The number of threads; only for samples that this process reads.
    """
    if isinstance(source, DaskSource):
        moments = _moments_on_dask(source, measure, subsample, verbose)
    else:
        assert isinstance(source, ChunkedSource)
        moments = _moments_of_chunks(source, measure, subsample, checkpoint, verbose, n_jobs)
    moments.subsample = subsample
    return moments


def _moments_of_chunks(
    source: ChunkedSource,
    measure: MomentsOfChunk,
    subsample: EvenSubsample | None,
    checkpoint: PassCheckpoint | None,
    verbose: bool,
    n_jobs: int | None,
) -> Moments:
    """Add one chunk after another to the same moments, so that memory holds them only once."""
    moments = measure.blank()
    start = 0 if checkpoint is None else checkpoint.begin_moments(moments, subsample, source)
    if start == source.n_samples:
        return moments
    together = max(1, moments.rows_per_flush // source.length)
    with Pool(n_jobs, single=moments.orientation.n_slices == 1) as pool:
        for number, chunk in enumerate(source.chunks_with_progress(start, _TITLE, verbose)):
            samples, weights = chunk.used, None if chunk.weights is None else chunk.weights.used
            if len(samples):
                with locate_errors(chunk):
                    measure.add_more(moments, samples, pool, weights)
                if subsample is not None:
                    subsample.add(samples, weights)
            if checkpoint is not None:
                checkpoint.note(chunk)
            # Flush after a fixed number of chunks, not by time, so that every run rounds alike
            # and a continued run gives the same bits.
            if (number + 1) % together == 0:
                moments.flush(pool)
                if checkpoint is not None:
                    checkpoint.after_chunks()
        moments.flush(pool, last=True)
    if checkpoint is not None:
        checkpoint.finish()
    return moments


def _moments_on_dask(
    source: DaskSource, measure: MomentsOfChunk, subsample: EvenSubsample | None, verbose: bool
) -> Moments:
    """Compute moments and merge them on the workers, where the Gram tensor stays.

    The samples of the subsample are picked in the same pass. If the lengths of chunks are unknown,
    a second pass picks them.
    """
    on_task = source.task_callback(_TITLE, verbose)
    gathered = _gathered if measure.missing else DaskMoments
    if subsample is None:
        return gathered(source.reduction(measure, merged, _TITLE), on_task)
    from dask import delayed

    weights = source.weights
    lengths = None if source.n_samples is None else source.lengths_of_chunks()
    picker = _Picker(None) if lengths is None else _Picker.of(subsample, lengths, weights)
    root = source.reduction(_MeasureAndPick(measure, picker), _merged_with_picked, _TITLE)
    if active_cluster() is None:
        (found,) = gather_results([root], on_task=on_task)
        picked = found.picked
        whole = delayed(found.moments, name=f"{root.key}-moments", traverse=False)
    else:
        (root,) = keep_on_workers([root])
        (picked,) = gather_results([delayed(_picked_alone, pure=True)(root)])
        whole = delayed(_moments_alone, pure=True)(root)
    moments = gathered(whole)
    if lengths is None:
        found_lengths = tuple(picked.get(k, 0) for k in range(source.array.numblocks[0]))
        n_samples = sum(found_lengths)
        rows = source.read_rows(subsample.next_rows(n_samples), found_lengths)
    else:
        n_samples = sum(lengths) if weights is None else len(weights.used)
        rows = np.concatenate([picked[number] for number in sorted(picked)])
    subsample.add_rows(rows, n_samples, None if weights is None else weights.used)
    return moments


def _gathered(whole: Any, on_task: Callable[[Any], None] | None = None) -> Moments:
    """Fetch moments of samples with missing values, whose pairwise sums are needed together."""
    (moments,) = gather_results([whole], on_task=on_task)
    found: Moments = moments
    return found


# These are sent to workers. Tasks must not change their inputs, because Dask may run them again.


@dataclass(frozen=True)
class _Picker:
    """Picks samples from chunks, or counts them if it is unknown where chunks start.

    Parameters
    ----------
    starts : tuple of int or None
        The index of the first sample of every chunk, if known. Samples of weight zero are not
        among those that are numbered.
    which : slice or ndarray of int
        The samples to pick.
    """

    starts: tuple[int, ...] | None
    which: slice | NDArray[np.intp] | None = None

    @classmethod
    def of(
        cls, subsample: EvenSubsample, lengths: tuple[int, ...], weights: SampleWeights | None
    ) -> _Picker:
        """Return a picker of the samples that `subsample` needs, for chunks of these lengths."""
        starts = tuple(accumulate(lengths, initial=0))
        if weights is not None:
            numbered = np.concatenate([[0], np.cumsum(weights.positive)])
            starts, weights = tuple(numbered[list(starts)].tolist()), weights.used
        return cls(starts[:-1], subsample.next_rows(starts[-1], weights))

    def __call__(self, chunk: Any, number: int) -> NDArray | int:
        """Return the samples to pick from a chunk, or the number of its samples."""
        if self.starts is None or self.which is None:
            return len(chunk)
        start, which = self.starts[number], self.which
        if isinstance(which, slice):
            return np.array(np.asarray(chunk)[(which.start - start) % which.step :: which.step])
        ends = np.searchsorted(which, [start, start + len(chunk)])
        return np.array(np.asarray(chunk)[which[slice(*ends)] - start])


@dataclass(frozen=True)
class _MomentsAndPicked:
    """Moments of chunks, and the samples picked from each of them, by the chunk's number."""

    moments: Moments
    picked: dict[int, Any]


@dataclass(frozen=True)
class _MeasureAndPick:
    """Computes the moments of a chunk and picks samples from it."""

    measure: MomentsOfChunk
    picker: _Picker
    wants_number: ClassVar[bool] = True

    def __call__(
        self, chunk: NDArray, number: int, weights: SampleWeights | None = None
    ) -> _MomentsAndPicked:
        """Return the moments of a chunk and the samples picked from it."""
        picked = {number: self.picker(chunk, number)}
        return _MomentsAndPicked(self.measure(chunk, weights), picked)


def _merged_with_picked(one: _MomentsAndPicked, other: _MomentsAndPicked) -> _MomentsAndPicked:
    return _MomentsAndPicked(merged(one.moments, other.moments), one.picked | other.picked)


def _moments_alone(found: _MomentsAndPicked) -> Moments:
    return found.moments


def _picked_alone(found: _MomentsAndPicked) -> dict[int, Any]:
    return found.picked
