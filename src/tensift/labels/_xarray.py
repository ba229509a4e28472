"""DataArrays and Datasets of xarray: values and names apart, and together again."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels._labelled import Labelled, SampleDims
from tensift.labels._names import Names

__all__ = [
    "FEATURE_DIM",
    "XarrayForm",
    "coords_of",
    "imported_xarray",
    "is_xarray",
    "kept_values",
    "labelled_dataset",
    "plain_form",
    "unlabelled_xarray",
]

FEATURE_DIM = "feature"  # along which selected elements lie


def is_xarray(X: Any) -> bool:
    """Whether `X` belongs to xarray; if nobody has imported xarray, it does not."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(X, xarray.DataArray | xarray.Dataset | xarray.Variable)


@dataclass(frozen=True)
class XarrayForm:
    """The coordinates of samples, and how their dimensions were ordered.

    Attributes
    ----------
    coordinates_of_all : xarray.Dataset
        All coordinates of the samples, without the samples.
    sample_dims, feature_dims : tuple
        The dimensions that count samples, and those of the features.
    sample_shape, feature_shape : tuple of int
        The lengths of these dimensions.
    order : tuple
        All dimensions as the user ordered them.
    name, attrs
        Of the DataArray.
    """

    coordinates_of_all: Any
    sample_dims: tuple[Hashable, ...]
    feature_dims: tuple[Hashable, ...]
    sample_shape: tuple[int, ...]
    feature_shape: tuple[int, ...]
    order: tuple[Hashable, ...]
    name: Any = None
    attrs: Any = None

    def selected(self, kept: Any, features: NDArray, mode: int | None) -> Any:
        """Return a DataArray with the coordinates of what is kept."""
        known = self.coordinates_of_all
        if mode is None and len(self.feature_dims) == 1:
            mode = 0  # elements are the indices of the only mode, and stay along it
        if mode is not None:
            known = known.isel({self.feature_dims[mode]: features}, missing_dims="ignore")
            return self._array(kept, (*self.sample_dims, *self.feature_dims), known)
        known = coords_of_elements(known, self.feature_dims, self.feature_shape, features)
        return self._array(kept, (*self.sample_dims, FEATURE_DIM), known)

    def coordinates(self, values: Any, dim: str) -> Any:
        """Return a DataArray ``(samples, dim)``."""
        return self._array(values, (*self.sample_dims, dim), self._of_samples())

    def restored(self, values: Any, names: Names) -> Any:
        """Return whole samples, with the coordinates of the fitted features."""
        known = self._of_samples().assign_coords(coords_of(names).coords)
        return self._array(values, (*self.sample_dims, *names.dims), known)

    def _of_samples(self) -> Any:
        """Return the coordinates that belong to samples alone."""
        known = self.coordinates_of_all
        return known.drop_dims([dim for dim in known.dims if dim not in self.sample_dims])

    def _array(self, values: Any, dims: tuple[Hashable, ...], known: Any) -> Any:
        import xarray

        values = values.reshape(*self.sample_shape, *values.shape[1:])
        found = xarray.DataArray(values, known.coords, dims, self.name, self.attrs)
        return found.transpose(*(dim for dim in self.order if dim in dims), ...)


def coords_of(names: Names) -> Any:
    """Return the coordinates of features as a Dataset without variables."""
    import xarray

    if names.template is not None:
        return names.template
    found = xarray.Dataset(coords={dim: (dim, names.coords[dim]) for dim in names.coords})
    for dim, unit in names.units.items():
        if dim in found.coords:
            found.coords[dim].attrs["units"] = unit
    return found


def coords_of_elements(
    known: Any, dims: Sequence[Hashable], shape: Sequence[int], features: NDArray
) -> Any:
    """Return the coordinates of single elements, given by flat indices, along one dimension."""
    import xarray

    places = dict(zip(dims, np.unravel_index(features, shape), strict=True))
    # Without its index, a coordinate of a mode can lie along another dimension.
    plain = known.reset_index([dim for dim in dims if dim in known.indexes])
    along = {dim: xarray.DataArray(place, dims=FEATURE_DIM) for dim, place in places.items()}
    found = plain.isel(along, missing_dims="ignore")
    unnamed = {dim: (FEATURE_DIM, at) for dim, at in places.items() if dim not in known.variables}
    return found.assign_coords(unnamed)


def unlabelled_xarray(X: Any, sample_dim: SampleDims, names: Names | None) -> Labelled:
    """Take a DataArray, Dataset or Variable apart; `names` are those of fitted samples."""
    array = _as_data_array(X)
    sample_dims = _sample_dims(array, sample_dim, names)
    feature_dims = tuple(dim for dim in array.dims if dim not in sample_dims)
    if names is not None and set(names.dims) == set(feature_dims):
        feature_dims = names.dims
    ordered = array.transpose(*sample_dims, *feature_dims)
    known = array.coords.to_dataset()
    form = XarrayForm(
        known,
        sample_dims,
        feature_dims,
        tuple(ordered.shape[: len(sample_dims)]),
        tuple(ordered.shape[len(sample_dims) :]),
        tuple(array.dims),
        array.name,
        array.attrs,
    )
    found = _names(ordered, known, feature_dims)
    if names is not None and found.dims == names.dims:
        names.check_same(found)
    return Labelled(_values(ordered, len(sample_dims)), found, form)


def kept_values(Z: Any, names: Names, mode: int | None) -> Labelled:
    """Take apart what `transform` returned: a DataArray of kept features."""
    array = _as_data_array(Z)
    dims: tuple[Hashable, ...] = (FEATURE_DIM,)
    if mode is not None or len(names.dims) == 1:
        dims = names.dims
    missing = [str(dim) for dim in dims if dim not in array.dims]
    if missing:
        raise ValueError(
            f"X has the dimensions {[str(dim) for dim in array.dims]}, but not {missing[0]!r}; "
            "pass what transform returns"
        )
    samples = tuple(dim for dim in array.dims if dim not in dims)
    ordered = array.transpose(*samples, *dims)
    form = XarrayForm(
        array.coords.to_dataset(),
        samples,
        dims,
        tuple(ordered.shape[: len(samples)]),
        tuple(ordered.shape[len(samples) :]),
        tuple(array.dims),
        array.name,
        array.attrs,
    )
    return Labelled(_values(ordered, len(samples)), None, form)


def labelled_dataset(
    values: Mapping[str, tuple[tuple[Hashable, ...], Any]], names: Names, attrs: Mapping[str, Any]
) -> Any:
    """Return arrays and their dimensions as a Dataset with the coordinates of `names`.

    A dimension that counts results, such as "selector", must not be called like a mode.
    """
    xarray = imported_xarray("to_xarray")
    return xarray.Dataset(dict(values), coords=coords_of(names).coords, attrs=dict(attrs))


def imported_xarray(what_for: str) -> Any:
    """Import xarray, or say how to install it.

    Examples
    --------
    >>> from tensift.labels import imported_xarray
    >>> imported_xarray("to_xarray").__name__
    'xarray'
    """
    try:
        import xarray
    except ImportError:
        raise ImportError(
            f"{what_for} needs xarray; install it with pip install tensift[xarray]"
        ) from None
    return xarray


def plain_form(n_samples: int, names: Names) -> XarrayForm:
    """Return the form of an array without names, for results that are wanted as DataArrays."""
    imported_xarray("set_output(transform='xarray')")
    known = coords_of(names)
    sample = "sample"
    while sample in names.dims:
        sample += "_"
    return XarrayForm(
        known, (sample,), names.dims, (n_samples,), names.shape, (sample, *names.dims)
    )


def _as_data_array(X: Any) -> Any:
    import xarray

    if isinstance(X, xarray.Variable):
        return xarray.DataArray(X)
    if isinstance(X, xarray.DataArray):
        return X
    variables = {name: one for name, one in X.data_vars.items() if one.dtype.kind in "biufc"}
    if not variables:
        raise ValueError("X is a Dataset without a variable of numbers; pass one that has some")
    if len(variables) == 1:
        return next(iter(variables.values()))
    first = next(iter(variables.values()))
    if any(set(one.dims) != set(first.dims) for one in variables.values()):
        shown = ", ".join(f"{name} {tuple(one.dims)}" for name, one in variables.items())
        raise ValueError(
            f"X is a Dataset whose variables have different dimensions: {shown}; pass one "
            f"variable, such as X[{next(iter(variables))!r}], or several with the same dimensions"
        )
    stacked = X[list(variables)].to_dataarray(dim="variable")
    return stacked.transpose(first.dims[0], "variable", *first.dims[1:])


def _sample_dims(array: Any, sample_dim: SampleDims, names: Names | None) -> tuple[Hashable, ...]:
    """Return the dimensions that count samples: the given ones, or all that were not fitted."""
    dims = tuple(array.dims)
    if names is not None and set(names.dims) <= set(dims):
        rest = tuple(dim for dim in dims if dim not in names.dims)
        if not rest:
            raise ValueError(
                f"X has the dimensions {[str(dim) for dim in dims]}, which are all features, so "
                "there is none for samples; if it is one sample, pass X.expand_dims('sample')"
            )
        return rest
    if names is not None and sample_dim is None:
        missing = [str(dim) for dim in names.dims if dim not in dims]
        raise ValueError(
            f"X has the dimensions {[str(dim) for dim in dims]}, but the fitted samples have the "
            f"feature dimension {missing[0]!r}; rename it or pass samples of the same kind"
        )
    if sample_dim is None:
        if not dims:
            raise ValueError("X has no dimensions; pass samples and features")
        return dims[:1]
    several = isinstance(sample_dim, list) or (
        isinstance(sample_dim, tuple) and sample_dim not in dims
    )
    wanted = tuple(sample_dim) if several else (sample_dim,)  # type: ignore[arg-type]
    for dim in wanted:
        if dim not in dims:
            raise ValueError(
                f"sample_dim={sample_dim!r} is not among the dimensions of X, which are "
                f"{[str(one) for one in dims]}"
            )
    if len(set(wanted)) < len(wanted) or len(wanted) == len(dims):
        raise ValueError(
            f"sample_dim={sample_dim!r} must name some of the dimensions {list(dims)} once, and "
            "leave at least one for features"
        )
    return wanted


def _values(ordered: Any, n_sample_dims: int) -> Any:
    """Return values with samples along the first axis; what is on disk or on Dask stays there."""
    if n_sample_dims == 1:
        return ordered.data if ordered.variable._in_memory or ordered.chunks else ordered
    values = ordered.data
    shape = values.shape
    n_samples = math.prod(shape[:n_sample_dims])
    return values.reshape(n_samples, *shape[n_sample_dims:])


def _names(ordered: Any, known: Any, dims: tuple[Hashable, ...]) -> Names:
    template = known.drop_dims([dim for dim in known.dims if dim not in dims])
    coords, units = {}, {}
    for dim in dims:
        if dim in ordered.indexes:
            coords[dim] = _index_values(ordered.indexes[dim])
        elif dim in ordered.coords:
            coords[dim] = np.asarray(ordered.coords[dim].values)
        if dim in ordered.coords and isinstance(ordered.coords[dim].attrs.get("units"), str):
            units[dim] = ordered.coords[dim].attrs["units"]
    shape = tuple(ordered.sizes[dim] for dim in dims)
    return Names(shape, dims, coords, units, template)


def _index_values(index: Any) -> NDArray[Any]:
    values = index.to_numpy()
    return values if values.ndim == 1 else np.asarray(list(map(tuple, values)), dtype=object)
