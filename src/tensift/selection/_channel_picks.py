"""The selected channels, as MNE-Python counts them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tensift.labels import CHANNEL, Names

__all__ = ["PicksChannels"]


class PicksChannels:
    """A selector that knows where its channels are in the recording that it was fitted on."""

    names_: Names | None

    @abstractmethod
    def get_support(self, indices: bool = False) -> Any:
        """Return the selected features."""

    @abstractmethod
    def _fitted_mode(self) -> int | None:
        """Return the mode of the scored features."""

    @property
    def picks_(self) -> NDArray[np.intp]:
        """The places of the selected channels in the recording that was fitted, increasing.

        For ``pick`` of MNE-Python. In other recordings these channels may be in other places, so
        pass `get_feature_names_out` there.
        """
        check_is_fitted(self)
        if self.names_ is None or self.names_.sensors is None or not self._has_channels():
            raise AttributeError(
                "picks_ is for selectors of channels that were fitted on recordings of MNE-Python, "
                "with feature_mode='channel'; use get_support(indices=True)"
            )
        places = self.names_.sensors.places
        if places is None:
            raise AttributeError(
                "the fitted recordings order their channels differently, so no picks_ fit all; use "
                "get_feature_names_out()"
            )
        return np.sort(places[self.get_support(indices=True)])

    def _has_channels(self) -> bool:
        """Whether the features are channels with names."""
        names, mode = self.names_, self._fitted_mode()
        if names is None or CHANNEL not in names.coords:
            return False
        return len(names.dims) == 1 or (mode is not None and names.dims[mode] == CHANNEL)
