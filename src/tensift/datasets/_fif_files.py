"""FIF files: recordings as MNE-Python writes them, read by it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tensift.datasets._stored import (
    Contents,
    RefusedFile,
    StoredArray,
    collected_log,
    damaged_file,
)
from tensift.labels import data_channels, unlabelled

__all__ = ["is_fif", "open_fif"]

# The first tag of every file: its identifier, as a structure of 20 bytes.
_START = b"\x00\x00\x00\x64\x00\x00\x00\x1f\x00\x00\x00\x14"
_TAG = struct.Struct(">iiii")  # kind, type, length of the data, place of the next tag
_READABLE = ("raw", "epochs", "evoked")


def is_fif(head: bytes) -> bool:
    """Whether a file begins as FIF files do."""
    return head.startswith(_START)


def open_fif(path: Path) -> Contents:
    """Describe the good data channels of a recording as one array, with its events as labels."""
    with _fif(path) as mne:
        _refuse_open_end(path)
        kind = mne.what(path)
        if kind not in _READABLE:
            looks = "" if kind == "unknown" else f"; MNE-Python finds {kind} in it"
            raise RefusedFile(
                f"{path}: a FIF file without a whole recording of raw data, epochs or averages"
                f"{looks}; it may be damaged or truncated"
            )
        recording = _read(mne, path, kind)
        first = recording[0] if kind == "evoked" else recording
        try:
            channels = data_channels(first)
        except ValueError as error:
            raise RefusedFile(f"{path}: {error}") from None
        places = [first.ch_names.index(name) for name in channels]
        types = first.get_channel_types(picks=places, unique=True)
        load = _FifLoader(path, kind, len(types) > 1)
        coords = {"channel": np.array(channels)}
        if kind == "raw":
            shape: tuple[int, ...] = (first.n_times, len(channels))
            axes: tuple[str, ...] = ("time", "channel")
        else:
            shape = (len(recording), len(channels), len(first.times))
            axes = (kind.removesuffix("s"), "channel", "time")
            coords["time"] = np.array(first.times)
        labels = _labels(recording, kind)
    data = StoredArray(
        shape,
        np.dtype(float),
        load,
        "recording",
        axes=axes,
        sample_axes=(0,),
        coords=coords,
        units={"time": "s"} if "time" in coords else {},
    )
    arrays = {"data": data}
    if labels is not None:
        arrays["labels"] = StoredArray(labels.shape, labels.dtype, labels.copy, "events")
    note = ""
    if len(types) > 1:
        note = (
            f"each type of channel ({', '.join(types)}) is divided by its spread, so that units "
            "do not decide"
        )
    return Contents("FIF", arrays, note=note)


class _FifLoader:
    """Loads the good data channels, when called.

    If there are several types of channels, each is divided by its scale, as in a fit on the
    recording itself: an array has one unit.
    """

    def __init__(self, path: Path, kind: str, several_types: bool) -> None:
        self.path, self.kind, self.several_types = path, kind, several_types

    def __call__(self) -> np.ndarray:
        with _fif(self.path) as mne:
            found = unlabelled(_read(mne, self.path, self.kind))
            values = np.asarray(found.samples)
            return values / found.scales if self.several_types else values


def _refuse_open_end(path: Path) -> None:
    """Raise an error if the file ends before its last tag: MNE-Python would read what is there."""
    with open(path, "rb") as stream:
        size, place = stream.seek(0, 2), 0
        while place + _TAG.size <= size:
            stream.seek(place)
            _, _, length, following = _TAG.unpack(stream.read(_TAG.size))
            if following < 0:
                if place + _TAG.size + length <= size:
                    return
                break
            if length < 0 or 0 < following <= place:
                raise ValueError(f"the tag at byte {place} is broken")
            place = following or place + _TAG.size + length
    raise ValueError(f"it ends at byte {size}, before its last tag")


def _read(mne: Any, path: Path, kind: str) -> Any:
    if kind == "raw":
        return mne.io.read_raw_fif(path, preload=False, verbose="ERROR")
    if kind == "epochs":
        return mne.read_epochs(path, preload=False, verbose="ERROR")
    return mne.read_evokeds(path, verbose="ERROR")


def _labels(recording: Any, kind: str) -> np.ndarray | None:
    """Return the names of events, or the comments of averages; None if all are the same."""
    if kind == "raw":
        return None
    if kind == "evoked":
        found = np.array([one.comment or "" for one in recording])
    else:
        names = {code: name for name, code in recording.event_id.items()}
        found = np.array([names.get(code, str(code)) for code in recording.events[:, 2]])
    return found if len(np.unique(found)) > 1 else None


@contextmanager
def _fif(path: Path) -> Iterator[Any]:
    """Import MNE-Python; what is wrong with a file becomes one line that names it."""
    try:
        import mne
    except ImportError:
        raise ImportError(
            f'{path}: FIF files need MNE-Python: pip install "tensift[mne]"'
        ) from None
    with damaged_file(path, "FIF"), collected_log("mne"):
        yield mne
