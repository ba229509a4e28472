"""The accessor ``.tensift`` of DataArrays."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

from sklearn.base import clone

from tensift.comparison import find_selector
from tensift.labels import SampleDims, imported_xarray
from tensift.selection import TensorSelector

__all__ = ["TensiftAccessor"]

Selector = TypeVar("Selector", bound=TensorSelector)

xarray = imported_xarray("tensift.xarray")


@xarray.register_dataarray_accessor("tensift")
class TensiftAccessor:
    """Select features of a DataArray: ``import tensift.xarray`` gives DataArrays ``.tensift``.

    Parameters
    ----------
    array : xarray.DataArray
        Samples. It may be lazy: on disk, or on Dask.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray
    >>> import tensift.xarray
    >>> rng = np.random.default_rng(0)
    >>> recording = xarray.DataArray(
    ...     rng.normal(size=(50, 4, 20)) * np.array([1, 3, 2, 1])[:, None],
    ...     dims=("trial", "channel", "time"),
    ...     coords={"channel": ["Fz", "Cz", "Pz", "Oz"]},
    ... )
    >>> kept = recording.tensift.select(2, feature_mode="channel", method="variance")
    >>> kept.channel.values.tolist()
    ['Cz', 'Pz']
    >>> recording.tensift.scores(feature_mode="channel", method="variance").dims
    ('channel',)
    """

    def __init__(self, array: Any) -> None:
        self._array = array

    def select(
        self,
        n_features: int | float | str = "auto",
        *,
        method: str = "geometry",
        feature_mode: str | int | None = None,
        sample_dim: SampleDims = None,
        **parameters: Any,
    ) -> Any:
        """Return the DataArray of kept features, with their coordinates.

        Parameters
        ----------
        n_features : int, float or "auto", default="auto"
            How many features to keep, or which share of them.
        method : str, default="geometry"
            The selector, by its name in `tensift.rivals.list_selectors`, such as "geometry",
            "stpca" or "variance".
        feature_mode : str or int, optional
            The dimension whose indices are the features. By default every element is a feature.
        sample_dim : hashable or a list of them, optional
            The dimension or dimensions that count samples; by default the first.
        **parameters
            Further parameters of the selector, such as ``constraints``.

        Returns
        -------
        xarray.DataArray
            Indices of a mode stay along its dimension; elements lie along ``feature``.

        Examples
        --------
        Bands of a scene, whose pixels are the samples:

        >>> import numpy as np
        >>> import xarray
        >>> import tensift.xarray
        >>> values = np.random.default_rng(0).normal(size=(6, 5, 8))
        >>> scene = xarray.DataArray(values, dims=("y", "x", "band"))
        >>> dict(scene.tensift.select(3, sample_dim=("y", "x")).sizes)
        {'y': 6, 'x': 5, 'band': 3}
        """
        selector = _selector(method, n_features, feature_mode, parameters)
        return self.fit(selector, sample_dim=sample_dim).transform(self._array)

    def scores(
        self,
        n_features: int | float | str = "auto",
        *,
        method: str = "geometry",
        feature_mode: str | int | None = None,
        sample_dim: SampleDims = None,
        **parameters: Any,
    ) -> Any:
        """Return the scores of all features, with their coordinates.

        Parameters
        ----------
        n_features, method, feature_mode, sample_dim, **parameters
            As in `select`. The scores of most methods do not depend on `n_features`.

        Returns
        -------
        xarray.DataArray
            Its dimensions are those of a sample, or the one of the feature mode. What is kept, and
            in which order, is in ``fit(selector).to_xarray()``.

        Examples
        --------
        >>> import numpy as np
        >>> import xarray
        >>> import tensift.xarray
        >>> values = np.random.default_rng(0).normal(size=(30, 4, 5))
        >>> pictures = xarray.DataArray(values, dims=("sample", "row", "column"))
        >>> pictures.tensift.scores(method="variance").dims
        ('row', 'column')
        """
        selector = _selector(method, n_features, feature_mode, parameters)
        return self.fit(selector, sample_dim=sample_dim).to_xarray()["score"]

    def fit(self, selector: Selector, *, sample_dim: SampleDims = None) -> Selector:
        """Return a copy of a selector that is fitted to this array.

        Parameters
        ----------
        selector : TensorSelector
            Any selector of tensift. It is not changed.
        sample_dim : hashable or a list of them, optional
            The dimension or dimensions that count samples. By default what the selector says, else
            the first.

        Returns
        -------
        TensorSelector

        Examples
        --------
        >>> import numpy as np
        >>> import xarray
        >>> import tensift.xarray
        >>> from tensift import ColumnSubsetSelector
        >>> values = np.random.default_rng(0).normal(size=(30, 4, 5))
        >>> pictures = xarray.DataArray(values, dims=("sample", "row", "column"))
        >>> selector = pictures.tensift.fit(ColumnSubsetSelector(6))
        >>> selector.reconstruct(pictures.tensift.select(6, method="column subset")).dims
        ('sample', 'row', 'column')
        """
        if isinstance(selector, type) or not isinstance(selector, TensorSelector):
            given = selector if isinstance(selector, type) else type(selector)
            raise TypeError(
                "selector must be a selector of tensift, such as GeometrySelector(20); got "
                f"{given.__name__}"
            )
        fresh: Selector = clone(selector)
        if sample_dim is not None:
            fresh.sample_dim = sample_dim  # all have this attribute, some as a parameter
        fresh.fit(self._array)
        return fresh


def _selector(
    method: str, n_features: Any, feature_mode: Any, parameters: dict[str, Any]
) -> TensorSelector:
    """Return the selector of this name; an error names the parameter that it does not have."""
    if not isinstance(method, str):
        raise TypeError(
            f"method must be the name of a selector, such as 'geometry'; got {method!r}; to use a "
            "selector of your own, call .tensift.fit(selector)"
        )
    kind = find_selector(method).selector
    known = [name for name in inspect.signature(kind).parameters if name != "n_features_to_select"]
    for name in parameters:
        if name not in known:
            raise TypeError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(known)}")
    found: TensorSelector = kind(n_features, feature_mode=feature_mode, **parameters)
    return found
