"""Arrays back as recordings of MNE-Python: whole samples that were restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels._mne_channels import is_epochs, is_evoked
from tensift.labels._names import Names

__all__ = ["RecordingForm"]


@dataclass(frozen=True)
class RecordingForm:
    """Gives whole samples the form of the recordings they were restored from.

    Attributes
    ----------
    recordings : Epochs, Evoked, Raw, or a list or dict of them
        What the user passed, with epochs that are loaded.
    """

    recordings: Any

    def selected(self, kept: Any, features: NDArray, mode: int | None) -> Any:
        """Return the array of kept features: a recording has whole channels only."""
        return kept

    def coordinates(self, values: Any, dim: str) -> Any:
        """Return the array: coordinates are not channels."""
        return values

    def restored(self, values: Any, names: Names) -> Any:
        """Return whole samples as recordings of all fitted channels."""
        if names.sensors is None or np.iscomplexobj(values):
            return values
        given = self.recordings
        if isinstance(given, list | tuple | Mapping):
            several = list(given.values() if isinstance(given, Mapping) else given)
            ends = np.cumsum([1 if is_evoked(one) else len(one) for one in several])[:-1]
            parts = [
                _restored(one, part, names.sensors.info)
                for one, part in zip(several, np.split(values, ends), strict=True)
            ]
            return dict(zip(given, parts, strict=True)) if isinstance(given, Mapping) else parts
        return _restored(given, values, names.sensors.info)


def _restored(recording: Any, values: NDArray, info: Any) -> Any:
    """Return values of all fitted channels with the events, times and notes of a recording."""
    import mne

    info = info.copy()
    if is_epochs(recording):
        # Projectors were applied, or not, before: here values stay as they are.
        return mne.EpochsArray(
            values,
            info,
            events=recording.events,
            tmin=recording.tmin,
            event_id=recording.event_id,
            metadata=recording.metadata,
            selection=recording.selection,
            drop_log=recording.drop_log,
            on_missing="ignore",
            proj=False,
            verbose="ERROR",
        )
    if is_evoked(recording):
        return mne.EvokedArray(
            values[0],
            info,
            tmin=recording.times[0],
            comment=recording.comment,
            nave=recording.nave,
            kind=recording.kind,
            verbose="ERROR",
        )
    found = mne.io.RawArray(values.T, info, first_samp=recording.first_samp, verbose="ERROR")
    found.set_meas_date(recording.info["meas_date"])
    return found.set_annotations(recording.annotations, on_missing="ignore", verbose="ERROR")
