"""Which objects belong to MNE-Python, and which of their channels are meant."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels._names import Names

__all__ = [
    "CHANNEL",
    "data_channels",
    "is_epochs",
    "is_evoked",
    "is_loaded_recording",
    "is_raw",
    "is_recording",
    "named_channels",
    "picked_recording",
]

CHANNEL = "channel"
_SHOWN = 6  # names in an error message
_DATA_TYPES = ("meg", "eeg", "seeg", "ecog", "dbs", "csd", "fnirs")


def is_epochs(X: Any) -> bool:
    """Whether `X` is an Epochs object; if nobody has imported MNE-Python, it is not."""
    return _is(X, "mne.epochs", "BaseEpochs")


def is_evoked(X: Any) -> bool:
    """Whether `X` is an Evoked object."""
    return _is(X, "mne.evoked", "Evoked")


def is_raw(X: Any) -> bool:
    """Whether `X` is a continuous recording."""
    return _is(X, "mne.io.base", "BaseRaw")


def _is(X: Any, module: str, kind: str) -> bool:
    # The module itself, because attributes of mne are imported when they are first looked up.
    found = sys.modules.get(module)
    return found is not None and isinstance(X, getattr(found, kind))


def is_recording(X: Any) -> bool:
    """Whether `X` is a recording of MNE-Python, or a list or dict of them."""
    if "mne" not in sys.modules:
        return False
    if isinstance(X, Mapping):
        X = list(X.values())
    if isinstance(X, list | tuple):
        # Lists of lists, too, of which the error then speaks.
        inner = [part[0] for part in X if isinstance(part, list | tuple) and part]
        return any(_is_one(one) for one in [*X, *inner])
    return _is_one(X)


def is_loaded_recording(X: Any) -> bool:
    """Whether `X` is a recording, or several, that become an array in memory."""
    return is_recording(X) and not (is_raw(X) and not X.preload)


def _is_one(X: Any) -> bool:
    return is_epochs(X) or is_evoked(X) or is_raw(X)


def data_channels(recording: Any) -> list[str]:
    """Return the names of the data channels that are not marked as bad."""
    import mne

    info = recording.info
    picks = mne.pick_types(info, ref_meg=False, exclude="bads", **dict.fromkeys(_DATA_TYPES, True))
    if not len(picks):
        kinds = ", ".join(recording.get_channel_types(unique=True))
        raise ValueError(
            f"X has no data channels that are not marked as bad: {len(info['bads'])} are bad, and "
            f"the types are {kinds}; set types with X.set_channel_types"
        )
    return [info["ch_names"][pick] for pick in picks]


def named_channels(recording: Any, wanted: Sequence[str], what: str) -> NDArray[np.intp]:
    """Return the places of channels in a recording; `what` says whose they are, for the error."""
    places = {name: place for place, name in enumerate(recording.ch_names)}
    missing = [name for name in wanted if name not in places]
    if missing:
        shown = ", ".join(missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
        raise ValueError(
            f"X has no channel {shown} ({len(missing)} of {len(wanted)} missing), which {what}; "
            "add or interpolate them, or rename the channels of X"
        )
    return np.array([places[name] for name in wanted], dtype=np.intp)


def picked_recording(X: Any, names: Names, features: NDArray) -> Any:
    """Return a copy of a recording, or of several, that has only some of the fitted channels."""
    wanted = [str(name) for name in names.coords[CHANNEL][features]]
    if isinstance(X, Mapping):
        return {key: _picked(one, wanted) for key, one in X.items()}
    if isinstance(X, list | tuple):
        return [_picked(one, wanted) for one in X]
    return _picked(X, wanted)


def _picked(recording: Any, wanted: list[str]) -> Any:
    named_channels(recording, wanted, "the selector keeps")
    found = recording.copy()
    if is_epochs(found) and not found.preload:
        found.load_data()  # without, epochs cannot drop channels
    found.pick(wanted)
    return found if found.ch_names == wanted else found.reorder_channels(wanted)
