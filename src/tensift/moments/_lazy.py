"""Sources as input of ``transform``."""

from __future__ import annotations

from typing import Any

from tensift._utils.namespace import check_same_kind
from tensift._utils.sklearn_compat import output_is_frame
from tensift.moments._samples import TensorEstimator
from tensift.sources import DaskSource, Source

__all__ = ["lazy_source"]


def lazy_source(estimator: TensorEstimator, X: Any, *, scaled: bool = True) -> Source | None:
    """Return a source for `X`, checked for `estimator`; None for arrays in memory."""
    source = estimator._source_of(X, fitted=True, scaled=scaled)
    if source is None:
        return None
    is_lazy = isinstance(source, DaskSource)
    if is_lazy and output_is_frame(estimator):
        raise ValueError(
            "set_output asks for a data frame, but Dask arrays are transformed to Dask arrays; use "
            "set_output(transform='default')"
        )
    estimator._check_shape(source.sample_shape)
    check_same_kind(None, estimator._fitted_kind(), type(estimator).__name__)
    return source
