"""What selectors know about missing values, and the units that they look at samples in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import is_device_array
from tensift.moments import (
    MissingValues,
    TensorEstimator,
    check_finite,
    check_finite_on_device,
    divided,
    is_missing,
)
from tensift.selection._gaps import without_gaps
from tensift.sources import EvenSubsample, KeptSamples

__all__ = ["KnowsGaps"]


class KnowsGaps(TensorEstimator):
    """An estimator that knows which features were never observed, and fills gaps in samples."""

    def _in_units(self, rows: Any) -> Any:
        """Return samples in the units of the fit: divided by the deviations of features, or not."""
        return rows if self._deviations is None else divided(rows, self._deviations)

    def _kept_in_units(self, kept: KeptSamples) -> KeptSamples:
        """Return kept samples in the units of the fit."""
        return replace(kept, rows=self._in_units(kept.rows))

    def _note_missing(self, rows: Any) -> None:
        """Store what is missing in the samples that are looked at, and warn of what is unknown."""
        if is_device_array(rows) or not (self._allows_missing or is_missing(rows).any()):
            return
        self.missing_ = MissingValues.in_rows(rows)
        self.missing_.check()
        self.missing_.warn(vars(self).get("names_"))

    def _never_observed(self) -> NDArray[np.bool_] | None:
        """Return a flat mask of the features that were never observed; None if there are none."""
        missing = vars(self).get("missing_")
        if missing is None or not missing.n_never:
            return None
        never: NDArray[np.bool_] = missing.never_of(self._mode_of_features())
        return never if never.any() else None

    def _n_observed(self, total: int) -> int:
        """Return how many of all features were ever observed."""
        never = self._never_observed()
        return total if never is None else total - int(np.count_nonzero(never))

    def _without_gaps(self, kept: KeptSamples) -> KeptSamples:
        """Return samples with estimates in place of NaN, which must not depend on units."""
        if is_device_array(kept.rows) or not is_missing(kept.rows).any():
            return kept
        found = without_gaps(self._kept_in_units(kept))
        if self._deviations is None:
            return found
        return replace(found, rows=found.rows * self._deviations)

    def _filled(self, samples: EvenSubsample) -> KeptSamples:
        """Return the fitted samples with estimates in place of NaN; they are made once."""
        known = vars(self).get("_gapless")
        if known is not None and known[0] is samples:
            found: KeptSamples = known[1]
            return found
        kept = samples.kept()
        found = self._without_gaps(kept)
        if found is not kept:
            self._gapless = (samples, found)
        return found

    def _checked_values(self, values: Any, name: str) -> Any:
        """Return values of selected features; raise an error for NaN, if it is not allowed."""
        if is_device_array(values):
            return check_finite_on_device(values, name)
        with self._hint_at_missing(name):
            return check_finite(values, name, allow_nan=self._allows_missing)
