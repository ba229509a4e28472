"""The evenly spaced samples of any input, without the moments of all samples."""

from __future__ import annotations

from copy import copy
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
    Source,
    StoredSource,
    even_subsample,
    locate_errors,
)

__all__ = ["take_in_subsample"]


def take_in_subsample(estimator: TensorEstimator, X: Any, *, verbose: bool = False) -> Any:
    """Let an estimator learn the shape of samples, and return the evenly spaced ones.

    Parameters
    ----------
    estimator : TensorEstimator
        Checks the samples and stores their shape.
    X : array, source or Moments
        Samples. Of files and Dask arrays only the needed samples are read. Moments must come from
        `collect_moments`, which keeps these samples.
    verbose : bool, default=False
        Whether to show progress.
    """
    if isinstance(X, Moments):
        if X.subsample is None:
            raise ValueError(
                "X is Moments without samples, since they were merged or updated; pass samples, or "
                "what collect_moments returns"
            )
        estimator._learn_shape(X.orientation.feature_shape, X.names)
        return X.subsample.rows()
    missing = estimator._allows_missing
    source = estimator._source_of(X)
    if source is None:
        samples = estimator._validate_samples(X, reset=True)
        refuse_gradients(samples)
        check_magnitude(samples)
        return even_subsample(samples)
    estimator._learn_source(source)
    subsample = EvenSubsample(estimator.feature_shape_)
    _read(source, subsample, verbose, missing)
    if subsample.count < 2:
        raise ValueError(f"X has {subsample.count} sample; at least 2 are needed")
    return subsample.rows()


def _read(source: Source, subsample: EvenSubsample, verbose: bool, missing: bool) -> None:
    checked = partial(checked_chunk, feature_shape=subsample.feature_shape, missing=missing)
    if isinstance(source, DaskSource):
        lengths = source.array.chunks[0]
        if source.n_samples is None:
            lengths = copy(source.array).compute_chunk_sizes().chunks[0]
        rows = source.read_strided(*subsample.next_rows(sum(lengths)), lengths)
        subsample.add_rows(checked(rows), sum(lengths))
    elif isinstance(source, StoredSource) and _few_are_needed(source, subsample):
        rows = _strided_rows(source, subsample.next_rows(source.n_samples)[1])
        subsample.add_rows(checked(rows), source.n_samples)
    else:
        assert isinstance(source, ChunkedSource)
        for chunk in source.chunks_with_progress(0, "reading samples", verbose):
            with locate_errors(chunk):
                checked(chunk.samples)
            subsample.add(chunk.samples)


def _few_are_needed(source: StoredSource, subsample: EvenSubsample) -> bool:
    """Whether needed samples are in different pieces of the file, so that most are skipped."""
    return subsample.next_rows(source.n_samples)[1] > source.reader.stored_together


def _strided_rows(source: StoredSource, stride: int) -> NDArray[Any]:
    rows = [source.reader.read(k, k + 1) for k in range(0, source.n_samples, stride)]
    return np.concatenate(rows)
