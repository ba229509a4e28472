"""One door for whatever users pass: samples out, with their names."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Any

from tensift.labels._frames import (
    is_frame,
    names_of_frame,
    refuse_columns_without_numbers,
    refuse_lazy_frame,
)
from tensift.labels._labelled import Labelled, SampleDims
from tensift.labels._mne import unlabelled_recording
from tensift.labels._mne_channels import is_recording
from tensift.labels._names import Names
from tensift.labels._xarray import is_xarray, unlabelled_xarray

__all__ = ["unlabelled"]


def unlabelled(
    X: Any, sample_dim: SampleDims = None, names: Names | None = None, *, every: bool = False
) -> Labelled:
    """Take the names off samples.

    Parameters
    ----------
    X : any samples
        DataArrays and Datasets of xarray; Epochs, lists of Evoked, Raw, and lists or dicts of
        Epochs of MNE-Python; datasets of tensift; what this function returns; or samples without
        names, which are returned as they are. So are data frames, because scikit-learn checks the
        names of their columns; columns of text or dates are refused.
    sample_dim : hashable or a list of them, optional
        The dimension or dimensions of xarray that count samples. By default the first or, if
        `names` are given, all that are not among these.
    names : Names, optional
        Those of the fitted samples: `X` is ordered like them.
    every : bool, default=False
        Whether samples that a recording marks as bad are returned, too.

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
    if isinstance(X, Labelled):
        known = X.names or names
        return X if X.scales is not None or known is None else replace(X, scales=known.scales)
    if is_recording(X):
        if sample_dim is not None:
            raise ValueError(
                f"sample_dim={sample_dim!r} is for xarray; the samples of recordings are their "
                "epochs or, without epochs, their times, so leave it out"
            )
        return unlabelled_recording(X, names, every=every)
    if type(X).__module__.partition(".")[0] == "mne":
        raise ValueError(
            f"X is {type(X).__name__}; of MNE-Python, pass Epochs, a list of Evoked objects, or "
            "Raw, or the numbers themselves: X.get_data()"
        )
    found = _without_names(X, sample_dim, names)
    # Arrays have the units of the fitted recordings.
    return found if names is None else replace(found, scales=names.scales)


def _without_names(X: Any, sample_dim: SampleDims, names: Names | None) -> Labelled:
    if is_xarray(X):
        return unlabelled_xarray(X, sample_dim, names)
    if hasattr(X, "__tensift_samples__"):
        given = getattr(X, "names", None)
        if names is not None and given is not None and given.dims == names.dims:
            names.check_same(given)
        return Labelled(X.__tensift_samples__, given)
    refuse_lazy_frame(X)
    if isinstance(X, str | PathLike):
        raise ValueError(
            f"X={str(X)!r} is the name of a file; read it first: "
            f"tensift.datasets.read_tensor({str(X)!r})"
        )
    found = None
    if is_frame(X):
        refuse_columns_without_numbers(X)
        found = names_of_frame(X)
    if sample_dim is not None and names is None:
        raise ValueError(
            f"sample_dim={sample_dim!r} names a dimension, but X has no names; leave sample_dim "
            "out and put samples along the first axis, or pass an xarray.DataArray"
        )
    return Labelled(X, found)
