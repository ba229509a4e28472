"""The names of the modes of a sample and of the indices along them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.modes import resolve_mode
from tensift.labels._sensors import Sensors

__all__ = ["Names", "mode_number", "names_or_numbers"]

_OF_RANKINGS = ("rank", "index", "score", "selected", "cost", "group")


@dataclass(frozen=True, eq=False)
class Names:
    """What the feature modes are called, and the indices along them.

    Parameters
    ----------
    shape : tuple of int
        The shape of a sample.
    dims : tuple, optional
        One name for each mode; by default "mode 0", "mode 1", ...
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

    On axes and in sentences:

    >>> spectra = Names((2,), ("band",), {"band": [450.0, 660.5]}, {"band": "nm"})
    >>> spectra.title(0), spectra.describe([1])
    ('band (nm)', 'band 660.5 nm')
    """

    shape: tuple[int, ...]
    dims: tuple[Hashable, ...] = ()
    coords: Mapping[Any, Any] = field(default_factory=dict)
    units: Mapping[Any, str] = field(default_factory=dict)
    template: Any = None
    sensors: Sensors | None = None

    def __post_init__(self) -> None:
        dims = tuple(self.dims) or tuple(f"mode {mode}" for mode in range(len(self.shape)))
        if len(dims) != len(self.shape) or len(set(dims)) != len(dims):
            raise ValueError(
                f"dims must name each of the {len(self.shape)} feature modes once; got "
                f"{list(self.dims)}"
            )
        object.__setattr__(self, "dims", dims)
        known = {dim: self._checked_coords(dim, values) for dim, values in self.coords.items()}
        object.__setattr__(self, "coords", known)
        object.__setattr__(self, "units", self._checked_units())

    def _checked_coords(self, dim: Hashable, values: Any) -> NDArray[Any]:
        if dim not in self.dims:
            raise ValueError(f"coords names the mode {dim!r}, which is not in dims ({self.dims})")
        found = _as_labels(values)
        size = self.shape[self.dims.index(dim)]
        if found.shape != (size,):
            raise ValueError(
                f"coords[{dim!r}] must hold one value for each of the {size} indices of that "
                f"mode; got shape {np.shape(values)}"
            )
        return found

    def _checked_units(self) -> dict[Hashable, str]:
        for dim, unit in self.units.items():
            if dim not in self.dims:
                raise ValueError(
                    f"units names the mode {dim!r}, which is not in dims ({self.dims})"
                )
            if not isinstance(unit, str):
                raise ValueError(f"units[{dim!r}] must be text, such as 's' or 'nm'; got {unit!r}")
        return {dim: unit for dim, unit in self.units.items() if unit}

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

    def name(self, mode: int) -> str:
        """Return the name of a mode."""
        return str(self.dims[mode])

    def unit(self, mode: int) -> str:
        """Return the unit of the coordinates along a mode, "" if there is none."""
        return self.units.get(self.dims[mode], "") if self.is_named(mode) else ""

    def title(self, mode: int) -> str:
        """Return the name of a mode for an axis: with its unit, as in "time (s)".

        Without coordinates an axis shows indices, which have no unit.
        """
        unit = self.unit(mode)
        return f"{self.name(mode)} ({unit})" if unit else self.name(mode)

    def is_named(self, mode: int) -> bool:
        """Whether the indices along a mode have names or numbers of their own."""
        return self.dims[mode] in self.coords

    def is_scale(self, mode: int) -> bool:
        """Whether the indices along a mode lie on a scale: they have no names of their own."""
        values = self.coords.get(self.dims[mode])
        return values is None or values.dtype.kind in "biufmM"

    def label(self, mode: int, index: int) -> str:
        """Return the name of one index along a mode: its coordinate, or the index itself."""
        values = self.coords.get(self.dims[mode])
        return str(index) if values is None else _as_text(values[index])

    def describe(self, index: Sequence[int]) -> str:
        """Return one feature in words, such as ``row 3, column 4`` or ``time 0.5 s``."""
        words = []
        for mode, place in enumerate(index):
            # "mode 1 3" would read as one number.
            colon = ":" if self.name(mode)[-1:].isdigit() else ""
            unit = self.unit(mode)
            label = self.label(mode, place)
            words.append(f"{self.name(mode)}{colon} {label}{f' {unit}' if unit else ''}")
        return ", ".join(words)

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

    def columns(self, taken: Collection[str] = _OF_RANKINGS) -> list[tuple[str, str | None]]:
        """Return the columns of a table of features, for each mode: of indices and of coordinates.

        `taken` are the titles of other columns of the table, by default those of ``ranking.csv``.
        If a mode is called ``score``, its column must not replace the scores: it is ``score_``.

        Examples
        --------
        >>> from tensift.labels import Names
        >>> names = Names((2, 3), ("channel", "time"), {"time": [0.0, 0.5, 1.0]}, {"time": "s"})
        >>> names.columns()
        [('channel', None), ('time', 'time (s)')]
        """
        used = set(taken)
        found: list[tuple[str, str | None]] = []
        for mode in range(len(self.shape)):
            title = self.name(mode).replace(" ", "_")
            while title in used:
                title += "_"
            used.add(title)
            label = f"{title} ({self.unit(mode)})" if self.unit(mode) else f"{title}_name"
            while label in used:
                label += "_"
            used.add(label)
            found.append((title, label if self.is_named(mode) else None))
        return found

    def table(
        self, features: NDArray[np.integer] | Sequence[int], taken: Collection[str] = _OF_RANKINGS
    ) -> dict[str, list[Any]]:
        """Return these columns for some features, which are given by their flat indices.

        Examples
        --------
        >>> from tensift.labels import Names
        >>> names = Names((2, 3), ("channel", "time"), {"time": [0.0, 0.5, 1.0]}, {"time": "s"})
        >>> names.table([5, 0])
        {'channel': [1, 0], 'time': [2, 0], 'time (s)': [1.0, 0.0]}
        """
        columns, places = self.columns(taken), np.unravel_index(features, self.shape)
        found = {title: at.tolist() for (title, _), at in zip(columns, places, strict=True)}
        for mode, (_, title) in enumerate(columns):
            if title is not None:
                cells = self.cells(mode)
                found[title] = [cells[index] for index in places[mode]]
        return found

    def cells(self, mode: int) -> list[Any]:
        """Return the coordinates along a mode for a table: numbers in full precision, else text."""
        values = self.coords[self.dims[mode]]
        return values.tolist() if values.dtype.kind in "iuf" else [_as_text(v) for v in values]

    def to_texts(self) -> list[list[str]]:
        """Return the name of each mode, and the names of the indices along it if they have some."""
        return [
            [self.name(mode), *(self.label(mode, k) for k in range(size) if self.is_named(mode))]
            for mode, size in enumerate(self.shape)
        ]

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

    def with_given(self, dims: Sequence[str] | None, coords: Mapping[str, Any] | None) -> Names:
        """Return the same names, but for those that a user gives by hand.

        Other names of modes keep their coordinates; other coordinates lose the unit.
        """
        if dims is None and coords is None:
            return self
        given = self.dims if dims is None else tuple(dims)
        if len(given) != len(self.dims):
            return Names(self.shape, given)  # which says what is wrong
        now = dict(zip(self.dims, given, strict=True))
        own = {now[dim]: values for dim, values in self.coords.items()}
        return Names(
            self.shape,
            given,
            own | dict(coords or {}),
            {now[dim]: unit for dim, unit in self.units.items() if now[dim] not in (coords or {})},
            sensors=self.sensors,
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


def names_or_numbers(names: Names | None, shape: tuple[int, ...]) -> Names:
    """Return the names; ``mode_0``, ``mode_1``, ... where there are none.

    Examples
    --------
    >>> from tensift.labels import names_or_numbers
    >>> names_or_numbers(None, (8, 8)).dims
    ('mode_0', 'mode_1')
    """
    if names is not None:
        return names
    return Names(shape, tuple(f"mode_{mode}" for mode in range(len(shape))))


def mode_number(argument: str, mode: int | str, n_modes: int, names: Names | None) -> int:
    """Return the number of a mode that is given by number or by name.

    Parameters
    ----------
    argument : str
        For the error, such as "feature_mode".
    mode : int or str
        The mode; negative numbers count from the last.
    n_modes : int
        The number of feature modes.
    names : Names or None
        The names of the samples, if they have some.

    Examples
    --------
    >>> from tensift.labels import Names, mode_number
    >>> mode_number("orientation", "time", 2, Names((9, 41), ("channel", "time")))
    1
    >>> mode_number("orientation", -1, 2, None)
    1
    """
    if isinstance(mode, str) and names is not None:
        return names.mode_of(argument, mode)
    return resolve_mode(argument, mode, n_modes)


def _as_labels(values: Any) -> NDArray[Any]:
    """Return values along a mode as an array with one axis; tuples stay single values."""
    if isinstance(values, np.ndarray) and values.ndim == 1:
        return values
    found = np.asarray(values)
    if found.ndim < 2:
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
