"""Samples that are transformed a chunk at a time."""

from __future__ import annotations

from typing import Any

from sklearn.utils._set_output import _get_output_config

from tensift._namespace import check_same_kind
from tensift.base._samples import TensorEstimator
from tensift.sources import Source, source_of
from tensift.sources._dask import DaskSource

__all__ = ["lazy_source"]


def lazy_source(estimator: TensorEstimator, X: Any) -> Source | None:
    """The source that `X` is, if `estimator` can transform it; None for arrays in memory."""
    source = source_of(X)
    if source is None:
        return None
    is_lazy = isinstance(source, DaskSource)
    if is_lazy and _get_output_config("transform", estimator)["dense"] != "default":
        raise ValueError(
            "set_output asks for a data frame, but a Dask array becomes a Dask array; use "
            "set_output(transform='default')"
        )
    estimator._check_shape(source.sample_shape)
    check_same_kind(None, estimator._fitted_kind(), type(estimator).__name__)
    return source
