"""The names of the modes of a sample and of the indices along them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels._sensors import Sensors

__all__ = ["Names"]


@dataclass(frozen=True, eq=False)
class Names:
    """What the feature modes are called, and the indices along them.

    Parameters
    ----------
    shape : tuple of int
        The shape of a sample.
    dims : tuple
        One name for each mode.
    coords : mapping, optional
        The names or numbers along a mode, keyed by the mode's name.
    units : mapping, optional
        The units of these numbers, such as "s" or "nm", keyed in the same way.
    template : xarray.Dataset, optional
        All coordinates of the features as xarray keeps them: multi-indexes, two-dimensional
        coordinates, attributes.
    sensors : Sensors, optional
        The channels of a recording, along the mode called channel. Values of these are divided by
        the scale of their type before anything is learned from them.

    Examples
    --------
    >>> from tensift.labels import Names
    >>> names = Names((2, 3), ("channel", "time"), {"channel": ["Fz", "Cz"]}, {"time": "s"})
    >>> names.mode_of("feature_mode", "time")
    1
    >>> names.of_features(0).tolist()
    ['Fz', 'Cz']
    >>> names.of_features(None).tolist()[:2]
    ['channel=Fz,time=0', 'channel=Fz,time=1']
    """

    shape: tuple[int, ...]
    dims: tuple[Hashable, ...]
    coords: Mapping[Hashable, Any] = field(default_factory=dict)
    units: Mapping[Hashable, str] = field(default_factory=dict)
    template: Any = None
    sensors: Sensors | None = None

    def __post_init__(self) -> None:
        if len(self.dims) != len(self.shape):
            raise ValueError(
                f"dims must name each of the {len(self.shape)} feature modes; got {self.dims}"
            )
        known = {dim: _as_labels(values) for dim, values in self.coords.items()}
        object.__setattr__(self, "coords", known)

    def with_sensors(self, sensors: Sensors) -> Names:
        """Return the same names, with what is known of the channels."""
        return replace(self, sensors=sensors)

    def in_one_unit(self) -> Names:
        """Return the same names for samples that have been divided by their scales."""
        if self.sensors is None:
            return self
        ones = dict.fromkeys(self.sensors.scales, 1.0)
        return self.with_sensors(replace(self.sensors, scales=ones))

    @property
    def scales(self) -> NDArray[np.float64] | None:
        """What samples are divided by, broadcast over them; None if they are left as they are."""
        return None if self.sensors is None else self.sensors.factors(len(self.shape))

    def mode_of(self, argument: str, name: Hashable) -> int:
        """Return the number of the mode with this name; `argument` is for the error."""
        if name in self.dims:
            return self.dims.index(name)
        known = [str(dim) for dim in self.dims]
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"{argument}={name!r} is not a feature mode of the samples, which are {known}{hint}"
        )

    def label(self, mode: int, index: int) -> str:
        """Return the name of one index along a mode: its coordinate, or the index itself."""
        values = self.coords.get(self.dims[mode])
        return str(index) if values is None else _as_text(values[index])

    def of_features(self, mode: int | None) -> NDArray[np.object_]:
        """Return the names of all features in row-major order, for `get_feature_names_out`."""
        if mode is not None:
            dim = self.dims[mode]
            labels = [self.label(mode, index) for index in range(self.shape[mode])]
            if not self._is_text(dim):
                labels = [f"{dim}={label}" for label in labels]
            return np.asarray(labels, dtype=object)
        if len(self.shape) == 1:
            return self.of_features(0)
        parts = [
            [f"{dim}={self.label(axis, index)}" for index in range(self.shape[axis])]
            for axis, dim in enumerate(self.dims)
        ]
        found = np.empty(math.prod(self.shape), dtype=object)
        for place, index in enumerate(np.ndindex(*self.shape)):
            found[place] = ",".join(parts[axis][k] for axis, k in enumerate(index))
        return found

    def only(self, modes: Sequence[int]) -> Names:
        """Return the names of only some of the modes."""
        dims = tuple(self.dims[mode] for mode in modes)
        template = self.template
        if template is not None:
            template = template.drop_dims([dim for dim in template.dims if dim not in dims])
        return Names(
            tuple(self.shape[mode] for mode in modes),
            dims,
            {dim: self.coords[dim] for dim in dims if dim in self.coords},
            {dim: self.units[dim] for dim in dims if dim in self.units},
            template,
            self.sensors if 0 in modes else None,
        )

    def check_same(self, other: Names) -> None:
        """Raise an error if other samples name the indices of a mode in another way.

        Only text is compared: times and places may differ a little from recording to recording.
        """
        for dim in self.dims:
            if not (self._is_text(dim) and other._is_text(dim)):
                continue
            ours, theirs = self.coords[dim], other.coords[dim]
            if ours.shape == theirs.shape and not np.array_equal(ours, theirs):
                place = int(np.flatnonzero(ours != theirs)[0])
                raise ValueError(
                    f"X has {_as_text(theirs[place])!r} at place {place} of {str(dim)!r}, where "
                    f"the fitted samples have {_as_text(ours[place])!r}; select and order them "
                    "as in the fitted samples"
                )

    def _is_text(self, dim: Hashable) -> bool:
        """Whether the indices along a mode have names, and not just numbers or dates."""
        values = self.coords.get(dim)
        return values is not None and values.dtype.kind in "OSUT"


def _as_labels(values: Any) -> NDArray[Any]:
    """Return values along a mode as an array with one axis; tuples stay single values."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    found = np.asarray(values)
    if found.ndim == 1:
        return found
    objects = np.empty(len(values), dtype=object)
    objects[:] = [tuple(value) for value in values]
    return objects


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, tuple):
        return "/".join(map(_as_text, value))
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="auto"))
    return f"{value:g}" if isinstance(value, (float, np.floating)) else str(value)
