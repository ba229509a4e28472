"""Recordings of MNE-Python: numbers, and the names, types and scales of channels."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.warnings import warn_user
from tensift.labels._labelled import Labelled
from tensift.labels._mne_channels import (
    CHANNEL,
    data_channels,
    is_epochs,
    is_evoked,
    is_raw,
    named_channels,
)
from tensift.labels._mne_forms import RecordingForm
from tensift.labels._mne_raw import RawRows, good_times, moments_of
from tensift.labels._names import Names
from tensift.labels._sensors import Sensors, scales_of_types, spread_along

__all__ = ["kept_recording", "unlabelled_recording"]

_SHOWN = 12  # names of channels in a warning


def unlabelled_recording(X: Any, names: Names | None, *, every: bool = False) -> Labelled:
    """Take recordings apart; `names` are those of fitted samples, whose channels are meant.

    Bad segments of continuous recordings are left out, unless `every` time is asked for.
    """
    wanted = _fitted_channels(names)
    if isinstance(X, Mapping) or (isinstance(X, list | tuple) and not is_evoked(X[0])):
        return _of_several(X, names, wanted)
    if is_raw(X):
        return _of_raw(X, names, wanted, every)
    values, loaded, channels = _values(X, wanted, "the estimator was fitted on")
    _check_not_empty(values)
    first = X[0] if isinstance(X, list | tuple) else X
    found = _names(channels, values.shape[1:], first.times)
    _check_rate(names, first)
    if names is None:
        found = found.with_sensors(_sensors(first, channels, *_channel_moments(values)))
    scales = found.scales if names is None else names.scales
    return Labelled(values, found, RecordingForm(loaded), scales=scales)


def kept_recording(Z: Any, names: Names, features: NDArray, mode: int | None) -> Labelled:
    """Take apart what `transform` returned: recordings of the kept channels, or of more."""
    if CHANNEL not in names.coords or (mode != names.dims.index(CHANNEL) and len(names.dims) > 1):
        raise ValueError(
            "Z is a recording, but the kept features are not channels; pass the array that "
            "transform returns"
        )
    wanted = [str(name) for name in names.coords[CHANNEL][features]]
    what = "the selector keeps"
    if is_raw(Z):
        _check_rate(names, Z)
        rows = RawRows(Z, named_channels(Z, wanted, what))
        return Labelled(np.asarray(rows) if Z.preload else rows, None, RecordingForm(Z))
    several = isinstance(Z, Mapping) or (isinstance(Z, list | tuple) and not is_evoked(Z[0]))
    if not several:
        values, loaded, _ = _values(Z, wanted, what)
        _check_rate(names, Z[0] if isinstance(Z, list | tuple) else Z)
        return Labelled(values, None, RecordingForm(loaded))
    parts = {key: _values(one, wanted, what) for key, one in _checked_several(Z).items()}
    for one in parts.values():
        _check_rate(names, one[1])
    values = np.concatenate([one[0] for one in parts.values()])
    loaded = {key: one[1] for key, one in parts.items()}
    form = RecordingForm(loaded if isinstance(Z, Mapping) else list(loaded.values()))
    return Labelled(values, None, form)


# One recording


def _of_raw(raw: Any, names: Names | None, wanted: list[str] | None, every: bool) -> Labelled:
    """Take the times of a continuous recording as samples."""
    channels = data_channels(raw) if wanted is None else wanted
    places = named_channels(raw, channels, "the estimator was fitted on")
    rows = RawRows(raw, places, None if every else good_times(raw))
    if not len(rows):
        raise ValueError(
            "X has no time outside of segments that are marked as bad; see annotations"
        )
    _check_rate(names, raw)
    found = _names(channels, (len(channels),), None)
    if names is None:
        found = found.with_sensors(_sensors(raw, channels, *moments_of(rows.blocks())))
    scales = found.scales if names is None else names.scales
    # What is loaded already is an array; the rest is read in chunks.
    samples = np.asarray(rows) if raw.preload else rows
    return Labelled(samples, found, RecordingForm(raw), scales=scales)


def _values(X: Any, wanted: list[str] | None, what: str) -> tuple[NDArray, Any, list[str]]:
    """Return samples (n, channels, times), loaded recordings, and the names of the channels."""
    if is_epochs(X):
        channels = data_channels(X) if wanted is None else wanted
        places = named_channels(X, channels, what)
        if not X.preload:
            X = X.copy()
            X.drop_bad(verbose="ERROR")  # only then it is known which there are
        return X.get_data(picks=places, copy=False, verbose="ERROR"), X, channels
    several = list(X) if isinstance(X, list | tuple) else [X]
    if not all(is_evoked(one) for one in several):
        raise ValueError("X is a list of Evoked objects and of others; pass one kind")
    if wanted is None and not isinstance(X, list | tuple):
        raise ValueError("X is one Evoked object, which is one sample; pass a list of them")
    channels = _shared(several) if wanted is None else wanted
    for number, one in enumerate(several):
        _check_times(f"X[{number}]", one, several[0])
    rows = [one.data[named_channels(one, channels, what)] for one in several]
    return np.stack(rows), X, channels


# Several recordings


def _of_several(X: Any, names: Names | None, wanted: list[str] | None) -> Labelled:
    """Put the epochs of several people or sessions one after another, each scaled by itself."""
    several = _checked_several(X)
    first = next(iter(several.values()))
    channels = _shared(list(several.values())) if wanted is None else wanted
    parts, spreads, loaded = [], [], {}
    for key, one in several.items():
        _check_times(_place(X, key), one, first)
        _check_rate(names, one)
        values, loaded[key], _ = _values(one, channels, f"others have (see {_place(X, key)})")
        _check_not_empty(values, _place(X, key))
        parts.append(values)
        spreads.append(_channel_moments(values))
    types = _types(first, channels)
    divisors = [spread_along(types, scales_of_types(*one, types), 2) for one in spreads]
    lengths = [len(values) for values in parts]
    found = _names(channels, parts[0].shape[1:], first.times)
    if names is None:
        same = all(one.ch_names == first.ch_names for one in several.values())
        means, variances = np.mean(spreads, axis=0)
        found = found.with_sensors(_sensors(first, channels, means, variances, has_places=same))
    form = RecordingForm(loaded if isinstance(X, Mapping) else list(loaded.values()))
    keys = np.empty(len(several), dtype=object)
    keys[:] = list(several)
    return Labelled(
        np.concatenate(parts),
        found,
        form,
        scales=np.repeat(np.stack(divisors), lengths, axis=0),
        groups=np.repeat(keys, lengths),
    )


def _checked_several(X: Any) -> dict[Any, Any]:
    """Return recordings by their keys or places; raise an error unless all are Epochs."""
    several = dict(X) if isinstance(X, Mapping) else dict(enumerate(X))
    for key, one in several.items():
        if not is_epochs(one):
            advice = (
                "mne.concatenate_raws joins continuous recordings"
                if is_raw(one)
                else ("pass Epochs objects, or a list of Evoked objects")
            )
            raise ValueError(
                f"{_place(X, key)} is {type(one).__name__}, but several recordings must be Epochs; "
                f"{advice}"
            )
    return several


def _shared(recordings: Sequence[Any]) -> list[str]:
    """Return the channels that all recordings have, in the order of the first; warn of others."""
    channels = [data_channels(one) for one in recordings]
    shared = set.intersection(*map(set, channels))
    if not shared:
        raise ValueError(
            "X has no data channel that all recordings share and none marks as bad; compare their "
            "ch_names and info['bads']"
        )
    every = dict.fromkeys(name for one in channels for name in one)
    others = [name for name in every if name not in shared]
    if others:
        shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        warn_user(
            f"X has {len(others)} channels that some recordings lack or mark as bad, which are "
            f"left out: {shown}"
        )
    return [name for name in channels[0] if name in shared]


def _place(X: Any, key: Any) -> str:
    return f"X[{key!r}]" if isinstance(X, Mapping) else f"X[{key}]"


# Names and scales


def _names(channels: list[str], shape: Any, times: Any) -> Names:
    if times is None:
        return Names(tuple(shape), (CHANNEL,), {CHANNEL: np.array(channels)})
    coords: dict[Hashable, NDArray[Any]] = {CHANNEL: np.array(channels), "time": np.array(times)}
    return Names(tuple(shape), (CHANNEL, "time"), coords, {"time": "s"})


def _sensors(
    recording: Any,
    channels: list[str],
    means: NDArray,
    variances: NDArray,
    *,
    has_places: bool = True,
) -> Sensors:
    import mne

    places = named_channels(recording, channels, "others have")
    info = mne.pick_info(recording.info, places, copy=True, verbose="ERROR")
    info["subject_info"] = None  # about a person, and not needed
    types = _types(recording, channels)
    return Sensors(
        info, types, scales_of_types(means, variances, types), places if has_places else None
    )


def _types(recording: Any, channels: list[str]) -> tuple[str, ...]:
    places = named_channels(recording, channels, "others have")
    return tuple(recording.get_channel_types(picks=places))


def _channel_moments(values: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    channels = range(values.shape[1])
    with np.errstate(invalid="ignore", over="ignore"):
        means = np.array([values[:, c].mean() for c in channels])
        return means, np.array([values[:, c].var() for c in channels])


def _fitted_channels(names: Names | None) -> list[str] | None:
    """Return the names of the fitted channels; None if they have none."""
    known = None if names is None else names.coords.get(CHANNEL)
    if known is None or known.dtype.kind not in "OSUT":
        return None
    return [str(name) for name in known]


# Checks


def _check_not_empty(values: NDArray, place: str = "X") -> None:
    if not values.size:
        raise ValueError(f"{place} has no epochs left; see its drop_log")


def _check_times(place: str, one: Any, first: Any) -> None:
    if len(one.times) != len(first.times) or one.info["sfreq"] != first.info["sfreq"]:
        raise ValueError(
            f"{place} has {len(one.times)} times at {one.info['sfreq']:g} Hz, but the first "
            f"recording has {len(first.times)} at {first.info['sfreq']:g} Hz; crop and resample "
            "them alike"
        )


def _check_rate(names: Names | None, recording: Any) -> None:
    """Raise an error if samples are not as far apart as the fitted ones."""
    if names is None or names.sensors is None:
        return
    fitted, given = names.sensors.info["sfreq"], recording.info["sfreq"]
    if not np.isclose(fitted, given, rtol=1e-6):
        raise ValueError(
            f"X has {given:g} samples per second, but the fitted recording has {fitted:g}; "
            "resample one of them"
        )
