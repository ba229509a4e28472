"""What every generator, reader and loader returns: a tensor with its labels and names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._utils.arrays import as_array
from tensift.labels import Names

__all__ = ["TensorDataset"]


@dataclass(frozen=True, eq=False)
class TensorDataset:
    """A data tensor, samples first, with what is known about it.

    Pass it where samples are expected: ``selector.fit(dataset)`` is ``selector.fit(dataset.data)``.
    Its ``feature_mode`` is only a note; estimators have a parameter of that name.

    Parameters
    ----------
    data : ndarray of shape (n, d_1, ..., d_m)
        The samples.
    labels : ndarray of shape (n,), optional
        One class label a sample; any values. Feature selection never looks at them,
        evaluation does.
    name : str, default=""
        A short name for tables and figures.
    feature_mode : int, optional
        The 0-based feature mode whose indices are the features (the channels of a
        multi-channel series, say); None where every element is a feature.
    informative : ndarray of int, optional
        The features known to carry the classes: flat C-order element indices, or indices
        along ``feature_mode``.
    dims : tuple of str, optional
        The names of the m feature modes.
    coords : dict of str to ndarray, optional
        The names along a mode, keyed by the mode's name in ``dims``.
    units : dict of str to str, optional
        The units of ``coords``, such as "s" or "nm", keyed in the same way.
    sample_shape : tuple of int, optional
        The shape of the axes that were stacked to make the samples: (rows, columns) if every pixel
        of a scene is a sample. By default (n,).
    kept : ndarray of int of shape (n,), optional
        The flat places of the samples in `sample_shape`, if some were left out.
    weights : ndarray of shape (n,), optional
        How much each sample counts. Like `labels` and `groups`, estimators do not look at them by
        themselves: pass ``sample_weight=dataset.weights``.
    groups : ndarray of shape (n,), optional
        The group of each sample, such as its subject; any values.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.datasets import TensorDataset
    >>> series = TensorDataset(np.zeros((5, 2, 30)), name="demo", feature_mode=0,
    ...                        dims=("channel", "time"), coords={"channel": ["left", "right"]})
    >>> series
    TensorDataset('demo', 5 samples of shape (2, 30), no labels, feature_mode=0)
    >>> series.n_samples, series.feature_shape
    (5, (2, 30))
    >>> series.coords["channel"][1]
    np.str_('right')
    >>> series.names.mode_of("feature_mode", "time")
    1

    A scene of 2 x 2 pixels, one of which was not measured:

    >>> scene = TensorDataset(np.ones((3, 50)), sample_shape=(2, 2), kept=[0, 1, 3])
    >>> scene.unstack([7, 8, 9], fill_value=0)
    array([[7, 8],
           [0, 9]])
    """

    data: np.ndarray
    labels: np.ndarray | None = None
    name: str = ""
    feature_mode: int | None = None
    informative: np.ndarray | None = None
    dims: tuple[str, ...] | None = None
    coords: dict[str, np.ndarray] | None = None
    units: dict[str, str] | None = None
    sample_shape: tuple[int, ...] | None = None
    kept: np.ndarray | None = None
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None

    def __post_init__(self) -> None:
        data = as_array(self.data, "data")
        self._set("data", data)
        if data.dtype.kind not in "biufc":
            raise ValueError(f"data must be numbers; got an array of dtype {data.dtype}")
        if data.ndim < 2:
            raise ValueError(
                "data must have a sample axis and at least one feature mode, shape "
                f"(n, d_1, ..., d_m); got shape {data.shape}"
            )
        for name in ("labels", "weights", "groups"):
            if getattr(self, name) is not None:
                self._set(name, _one_for_each(name, getattr(self, name), len(data)))
        modes = data.ndim - 1
        if self.feature_mode is not None and not 0 <= self.feature_mode < modes:
            raise ValueError(
                f"feature_mode must be one of 0..{modes - 1} (0-based); got {self.feature_mode}"
            )
        if self.informative is not None:
            self._set("informative", self._checked_informative())
        self._check_names()
        if self.sample_shape is not None:
            self._set("sample_shape", tuple(int(size) for size in self.sample_shape))
        if self.kept is not None:
            self._set("kept", _checked_kept(self.kept, self.sample_shape, len(data)))
        elif self.sample_shape is not None and math.prod(self.sample_shape) != len(data):
            raise ValueError(
                f"sample_shape {self.sample_shape} does not fit {len(data)} samples; say in kept "
                "which of them there are"
            )

    def _check_names(self) -> None:
        for name in ("coords", "units"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(
                    f"{name} must be a dict with the names of modes as keys; got {given!r:.60}"
                )
        if self.dims is not None:
            self._set("dims", tuple(str(name) for name in self.dims))
        coords = None
        if self.coords is not None:
            coords = {dim: np.asarray(values) for dim, values in self.coords.items()}
        for name, given in (("coords", coords), ("units", self.units)):
            if given and self.dims is None:
                raise ValueError(
                    f"{name} names the mode {next(iter(given))!r}, which is not in dims (None)"
                )
        if self.dims == ():
            raise ValueError(
                f"dims must name each of the {self.data.ndim - 1} feature modes once; got []"
            )
        if self.dims is not None:
            Names(self.feature_shape, self.dims, coords or {}, self.units or {})
        if self.coords is not None:
            self._set("coords", coords)
        if self.units is not None:
            self._set("units", dict(self.units))

    def _set(self, field: str, value: Any) -> None:
        object.__setattr__(self, field, value)

    def _checked_informative(self) -> np.ndarray:
        indices = np.asarray(self.informative)
        shape = self.feature_shape
        size = math.prod(shape) if self.feature_mode is None else shape[self.feature_mode]
        integers = indices.ndim == 1 and (indices.dtype.kind in "iu" or indices.size == 0)
        if not integers or np.any((indices < 0) | (indices >= size)):
            raise ValueError(f"informative must be a list of feature indices in 0..{size - 1}")
        return indices.astype(np.intp)

    @property
    def names(self) -> Names | None:
        """The names of the feature modes and of the indices along them, None without names."""
        if self.dims is None:
            return None
        return Names(self.feature_shape, self.dims, self.coords or {}, self.units or {})

    @property
    def __tensift_samples__(self) -> np.ndarray:
        """The samples, for functions that read them in chunks."""
        return self.data

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.data, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return self.n_samples

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the data, (n, d_1, ..., d_m)."""
        return tuple(int(size) for size in self.data.shape)

    @property
    def dtype(self) -> np.dtype:
        """The type of the data."""
        return self.data.dtype

    @property
    def n_samples(self) -> int:
        """The number of samples n."""
        return int(self.data.shape[0])

    @property
    def feature_shape(self) -> tuple[int, ...]:
        """The shape of one sample, (d_1, ..., d_m)."""
        return tuple(int(size) for size in self.data.shape[1:])

    @property
    def n_classes(self) -> int | None:
        """The number of distinct labels, None without labels."""
        return None if self.labels is None else len(np.unique(self.labels))

    def unstack(self, values: Any, fill_value: Any = np.nan) -> np.ndarray:
        """Put values of the samples back into their places: a map of a scene, say.

        Parameters
        ----------
        values : array-like of shape (n, ...)
            One value for each sample, such as a label or a selected band.
        fill_value : scalar, default=nan
            What the places of samples get that were left out.

        Returns
        -------
        ndarray of shape ``(*sample_shape, ...)``
        """
        values = np.asarray(values)
        if values.shape[:1] != (self.n_samples,):
            raise ValueError(
                f"values must hold one entry for each of the {self.n_samples} samples; got shape "
                f"{values.shape}"
            )
        shape = self.sample_shape or (self.n_samples,)
        if self.kept is None:
            return values.reshape(*shape, *values.shape[1:])
        dtype = np.result_type(values, np.asarray(fill_value))
        full = np.full((math.prod(shape), *values.shape[1:]), fill_value, dtype)
        full[self.kept] = values
        return full.reshape(*shape, *values.shape[1:])

    def __repr__(self) -> str:
        classes = "no labels" if self.labels is None else f"{self.n_classes} classes"
        mode = "" if self.feature_mode is None else f", feature_mode={self.feature_mode}"
        return (
            f"TensorDataset({self.name!r}, {self.n_samples} samples of shape "
            f"{self.feature_shape}, {classes}{mode})"
        )


def _one_for_each(name: str, given: Any, n_samples: int) -> np.ndarray:
    values = np.asarray(as_array(given, name))
    # MATLAB knows no vectors: labels arrive as one column or one row.
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.shape != (n_samples,):
        raise ValueError(
            f"{name} must hold one value for each of the {n_samples} samples; "
            f"got shape {values.shape}"
        )
    return values


def _checked_kept(kept: Any, shape: tuple[int, ...] | None, n_samples: int) -> np.ndarray:
    if shape is None:
        raise ValueError("kept says where samples are in sample_shape; give that too")
    places = np.asarray(kept)
    size = math.prod(shape)
    if places.shape != (n_samples,) or places.dtype.kind not in "iu":
        raise ValueError(
            f"kept must hold one place for each of the {n_samples} samples; got "
            f"{places.dtype} of shape {places.shape}"
        )
    outside = np.any((places < 0) | (places >= size))
    if outside or len(np.unique(places)) < n_samples:
        raise ValueError(f"kept must hold different places in 0..{size - 1}")
    return places.astype(np.intp)
