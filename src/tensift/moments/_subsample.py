"""The evenly spaced samples of any input, without the moments of all samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.moments._chunk_measures import checked_chunk
from tensift.moments._data_checks import check_magnitude, refuse_gradients
from tensift.moments._moments import Moments
from tensift.moments._samples import TensorEstimator
from tensift.sources import (
    ChunkedSource,
    DaskSource,
    EvenSubsample,
    KeptSamples,
    SampleWeights,
    Source,
    StoredSource,
    kept_samples,
    locate_errors,
)

__all__ = ["refuse_weights", "take_in_subsample"]


def take_in_subsample(
    estimator: TensorEstimator,
    X: Any,
    *,
    weights: SampleWeights | None = None,
    verbose: bool = False,
) -> KeptSamples:
    """Let an estimator learn the shape of samples, and return the evenly spaced ones.

    Parameters
    ----------
    estimator : TensorEstimator
        Checks the samples and stores their shape.
    X : array, source or Moments
        Samples. Of files and Dask arrays only the needed samples are read. Moments must come from
        `collect_moments`, which keeps these samples.
    weights : SampleWeights, optional
        The weights of the samples. Moments have their own.
    verbose : bool, default=False
        Whether to show progress.
    """
    if isinstance(X, Moments):
        refuse_weights(weights)
        if X.subsample is None:
            raise ValueError(
                "X is Moments without samples, since they were merged or updated; pass samples, or "
                "what collect_moments returns"
            )
        estimator._learn_shape(X.orientation.feature_shape, X.names)
        return X.subsample.kept()
    source = estimator._source_of(X)
    if source is None:
        samples = estimator._validate_samples(X, reset=True, weights=weights)
        refuse_gradients(samples)
        check_magnitude(samples)
        return kept_samples(samples, None if weights is None else weights.used)
    estimator._learn_source(source)
    source.weigh(weights)
    subsample = EvenSubsample(estimator.feature_shape_)
    _read(source, subsample, verbose, missing=estimator._allows_missing)
    if subsample.count < 2:
        raise ValueError(f"X has {subsample.count} sample; at least 2 are needed")
    return subsample.kept()


def refuse_weights(weights: SampleWeights | None) -> None:
    """Raise an error if there are weights for samples that are moments already."""
    if weights is not None:
        raise ValueError(
            "X is Moments, in which samples have their weights already; give sample_weight and "
            "groups to collect_moments"
        )


def _read(source: Source, subsample: EvenSubsample, verbose: bool, *, missing: bool) -> None:
    check = partial(checked_chunk, feature_shape=subsample.feature_shape, missing=missing)
    if isinstance(source, DaskSource):
        lengths = source.lengths_of_chunks()
        wanted = _Wanted.of(subsample, source, sum(lengths))
        rows = source.read_rows(wanted.places, lengths)
        wanted.add(check(rows), subsample)
        return
    if isinstance(source, StoredSource):
        wanted = _Wanted.of(subsample, source, source.n_samples)
        if wanted.step > source.reader.stored_together:
            parts = [source.reader.read(k, k + 1) for k in wanted.places.tolist()]
            wanted.add(check(np.concatenate(parts)), subsample)
            return
    assert isinstance(source, ChunkedSource)
    for chunk in source.chunks_with_progress(0, "reading samples", verbose):
        samples = chunk.used
        if len(samples):
            with locate_errors(chunk):
                check(samples)
            subsample.add(samples, None if chunk.weights is None else chunk.weights.used)


@dataclass(frozen=True)
class _Wanted:
    """Which samples of a source are kept."""

    places: NDArray[np.intp]
    n_samples: int
    n_used: int
    weights: SampleWeights | None

    @classmethod
    def of(cls, subsample: EvenSubsample, source: Source, n_samples: int) -> _Wanted:
        if source.weights is None:
            which = subsample.next_rows(n_samples)
            return cls(np.arange(n_samples)[which], n_samples, n_samples, None)
        used, weights = np.flatnonzero(source.weights.positive), source.weights.used
        which = subsample.next_rows(len(used), weights)
        return cls(used[which], n_samples, len(used), weights)

    @property
    def step(self) -> float:
        """The mean number of samples from one that is kept to the next."""
        return self.n_samples / len(self.places)

    def add(self, rows: NDArray[Any], subsample: EvenSubsample) -> None:
        subsample.add_rows(rows, self.n_used, self.weights)
