"""Samples whose transformed values are not computed before someone asks for them."""

from __future__ import annotations

from typing import Any

from sklearn.utils._set_output import _get_output_config

from tensift._namespace import check_same_kind
from tensift.base._samples import TensorEstimator
from tensift.sources._dask import DaskSource, dask_array_of

__all__ = ["lazy_source"]


def lazy_source(estimator: TensorEstimator, X: Any) -> DaskSource | None:
    """The source that a Dask array is, if `estimator` can transform it; None for other arrays."""
    array = dask_array_of(X)
    if array is None:
        return None
    if _get_output_config("transform", estimator)["dense"] != "default":
        raise ValueError(
            "set_output asks for a data frame, but a Dask array becomes a Dask array; use "
            "set_output(transform='default')"
        )
    source = DaskSource(array)
    estimator._check_shape(source.sample_shape)
    check_same_kind(None, estimator._fitted_kind(), type(estimator).__name__)
    return source
