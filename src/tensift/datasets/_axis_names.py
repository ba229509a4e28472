"""The names of axes, and the names along them, under all the spellings that files use."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tensift._utils.warnings import warn_user
from tensift.datasets._sample_axes import SAMPLE_NAMES
from tensift.datasets._side_values import load_side_array
from tensift.datasets._stored import Contents, StoredArray

__all__ = ["SPELLINGS", "default_sample_axes", "feature_names", "names_of_axes"]

# Arrays that name the indices of a mode, by the name of that mode; in lower or upper case.
SPELLINGS = {
    "channel": (
        "channels", "ch_names", "channel_names", "chans", "electrodes", "channel", "ch", "chan",
        "chnames", "chan_names", "electrode_names", "sensors", "sensor_names",
    ),
    "band": (
        "wavelengths", "wavelength", "bands", "band_names", "band", "wavelengths_nm",
        "wavelength_nm", "wl",
    ),
    "time": ("times", "time", "t", "timestamps"),
    "column": ("feature_names", "columns", "column_names"),
}  # fmt: skip
_RATES = (
    "sfreq", "fs", "sampling_rate", "sample_rate", "srate", "sf", "samplerate",
    "sampling_frequency", "sampling_freq",
)  # fmt: skip

Coords = dict[str, np.ndarray]
Units = dict[str, str]


def names_of_axes(path: Path, contents: Contents, stored: StoredArray) -> tuple[str, ...]:
    """Return the names of all axes of an array, () if the file does not give them.

    ``dims`` may leave out the axis of the samples, which is the first then.
    """
    if stored.axes:
        return stored.axes
    names = _stored_dims(path, contents)
    if len(names) == len(stored.shape) - 1:
        return ("sample", *names)
    return names if len(names) == len(stored.shape) else ()


def default_sample_axes(
    contents: Contents, stored: StoredArray, names: tuple[str, ...]
) -> tuple[int, ...]:
    """Return the axes of the samples where the user does not say which."""
    if stored.sample_axes is not None:
        return stored.sample_axes
    if contents.from_matlab:
        return (len(stored.shape) - 1,)
    return (next((axis for axis, name in enumerate(names) if name in SAMPLE_NAMES), 0),)


def feature_names(
    path: Path, contents: Contents, stored: StoredArray, axes: tuple[int, ...], chosen: bool
) -> tuple[list[str] | None, Coords | None, Units | None]:
    """Return the names of the modes that are left as features, and those along them with units.

    `chosen` says that the user chose the sample axis, so that m names are those of these m modes.
    """
    modes = [axis for axis in range(len(stored.shape)) if axis not in axes]
    sizes = [stored.shape[axis] for axis in modes]
    given = _stored_dims(path, contents)
    dims: list[str] | None
    if chosen and len(axes) == 1 and len(given) == len(modes):
        dims = list(given)
    elif names := names_of_axes(path, contents, stored):
        dims = [names[axis] for axis in modes]
    else:
        dims = list(given) or None  # of the wrong number, which is an error later
    coords = {dim: stored.coords[dim] for dim in dims or [] if dim in stored.coords}
    for dim in dims or []:
        if f"coords_{dim}" in contents.arrays:
            name = f"coords_{dim}"
            coords[dim] = load_side_array(path, name, contents.arrays[name])
    units = {dim: stored.units[dim] for dim in dims or [] if dim in stored.units}
    if dims is None or len(dims) == len(modes):
        dims = _add_spellings(path, contents, dims, coords, units, sizes)
    for dim in dims or []:
        if f"units_{dim}" in contents.arrays:
            units[dim] = _unit(path, f"units_{dim}", contents)
    return dims, coords or None, units or None


def _unit(path: Path, name: str, contents: Contents) -> str:
    """Return the one text that an array holds."""
    stored = contents.arrays[name]
    if stored.is_numeric or math.prod(stored.shape) != 1:
        raise ValueError(f"{path}: {name!r} must be one text, such as 's' or 'nm'")
    return _decoded(load_side_array(path, name, stored).ravel()[0])


def _stored_dims(path: Path, contents: Contents) -> tuple[str, ...]:
    stored = contents.arrays.get("dims")
    # In other files "dims" may be anything, most often a list of sizes.
    if stored is None or contents.from_matlab or stored.is_numeric:
        return ()
    return tuple(_decoded(dim) for dim in load_side_array(path, "dims", stored).ravel())


def _decoded(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)


def _add_spellings(
    path: Path,
    contents: Contents,
    dims: list[str] | None,
    coords: Coords,
    units: Units,
    sizes: list[int],
) -> list[str] | None:
    """Add names that the file gives under other spellings; return the names of the modes."""
    known: list[str | None] = [None] * len(sizes) if dims is None else list(dims)
    spelled = _by_lower_case(contents)
    for dim, spellings in SPELLINGS.items():
        if dim == "column" and len(sizes) > 1:
            continue  # columns are those of a table
        for name in (spelled[one] for one in spellings if one in spelled):
            values = _vector(path, contents, name)
            mode = None if values is None else _mode_for(path, name, dim, len(values), known, sizes)
            if values is None or mode is None:
                continue
            title = known[mode] = known[mode] or dim
            if title not in coords:
                coords[title] = values
                if name.lower().endswith("_nm"):
                    units[title] = "nm"
                break
    _add_times(contents, known, coords, units, sizes)
    if dims is None and not any(known):
        return None
    return [name or f"mode {mode}" for mode, name in enumerate(known)]


def _by_lower_case(contents: Contents) -> dict[str, str]:
    """Return the names of all arrays by their lower case, which is itself the name if it is one."""
    return {name.lower(): name for name in contents.arrays} | {
        name: name for name in contents.arrays if name.islower()
    }


def _vector(path: Path, contents: Contents, name: str) -> np.ndarray | None:
    """Return a vector of names, None if the array is something else."""
    stored = contents.arrays.get(name)
    if stored is None or stored.refusal or stored.dtype is None or stored.dtype.kind not in "iufSU":
        return None
    # A single number is a count, and a matrix is no list of names.
    if math.prod(stored.shape) < 2 or max(stored.shape) != math.prod(stored.shape):
        return None
    return load_side_array(path, name, stored).ravel()


def _mode_for(
    path: Path, name: str, dim: str, size: int, known: list[str | None], sizes: list[int]
) -> int | None:
    """Return the mode that a list of names belongs to, None if there is none."""
    called = [mode for mode, title in enumerate(known) if title in (dim, f"{dim}s")]
    if called:
        return called[0] if sizes[called[0]] == size else None
    free = [mode for mode, title in enumerate(known) if title is None and sizes[mode] == size]
    if len(free) > 1:
        warn_user(
            f"{path}: {name} has {size} names, which fit several modes, so they are not used; add "
            "an array dims with the names of the modes"
        )
    return free[0] if len(free) == 1 else None


def _add_times(
    contents: Contents, known: list[str | None], coords: Coords, units: Units, sizes: list[int]
) -> None:
    """Count times from a sampling rate: of the mode called time, or of the last without a name."""
    spelled = _by_lower_case(contents)
    rate = next((contents.arrays[spelled[name]] for name in _RATES if name in spelled), None)
    if rate is None or not rate.is_numeric or math.prod(rate.shape) != 1 or rate.refusal:
        return
    called = [mode for mode, title in enumerate(known) if title in ("time", "times")]
    free = [mode for mode, title in enumerate(known) if title is None]
    if not called and not free:
        return
    mode = called[0] if called else free[-1]
    title = known[mode] or "time"
    hertz = complex(rate.load().ravel()[0])
    if title in coords or hertz.imag or not 0 < hertz.real < math.inf:
        return
    known[mode] = title
    coords[title] = np.arange(sizes[mode]) / hertz.real
    units[title] = "s"
