"""One door for whatever users pass: samples out, with their names."""

from __future__ import annotations

from typing import Any

from tensift.labels._frames import is_frame, refuse_columns_without_numbers, refuse_lazy_frame
from tensift.labels._labelled import Labelled, SampleDims
from tensift.labels._names import Names
from tensift.labels._xarray import is_xarray, unlabelled_xarray

__all__ = ["unlabelled"]


def unlabelled(X: Any, sample_dim: SampleDims = None, names: Names | None = None) -> Labelled:
    """Take the names off samples.

    Parameters
    ----------
    X : any samples
        DataArrays and Datasets of xarray, datasets of tensift, or samples without names, which are
        returned as they are. So are data frames, whose columns scikit-learn knows by name; columns
        of text or dates are refused.
    sample_dim : hashable or a list of them, optional
        The dimension or dimensions of xarray that count samples. By default the first or, if
        `names` are given, all that are not among these.
    names : Names, optional
        Those of the fitted samples: `X` is ordered like them.

    Returns
    -------
    Labelled

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> from tensift.labels import unlabelled
    >>> scene = xarray.DataArray(np.zeros((4, 5, 3)), dims=["y", "x", "band"])
    >>> found = unlabelled(scene, sample_dim=("y", "x"))
    >>> found.samples.shape, found.names.dims
    ((20, 3), ('band',))
    """
    if is_xarray(X):
        return unlabelled_xarray(X, sample_dim, names)
    if hasattr(X, "__tensift_samples__"):
        found = _names_of_dataset(X)
        if names is not None and found is not None and found.dims == names.dims:
            names.check_same(found)
        return Labelled(X.__tensift_samples__, found)
    refuse_lazy_frame(X)
    if is_frame(X):
        refuse_columns_without_numbers(X)
    if sample_dim is not None and names is None:
        raise ValueError(
            f"sample_dim={sample_dim!r} names a dimension, but X has no names; leave sample_dim "
            "out and put samples along the first axis, or pass an xarray.DataArray"
        )
    return Labelled(X)


def _names_of_dataset(dataset: Any) -> Names | None:
    dims = getattr(dataset, "dims", None)
    if dims is None:
        return None
    units = getattr(dataset, "units", None) or {}
    return Names(tuple(dataset.feature_shape), tuple(dims), dict(dataset.coords or {}), dict(units))
