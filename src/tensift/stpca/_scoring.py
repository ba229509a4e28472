"""From the column norms of operators to the scores of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._utils.modes import pool_elements
from tensift._utils.namespace import is_device_array, namespace_of
from tensift._utils.warnings import warn_user
from tensift.moments import GramTensor, Moments, Orientation, spread_above_rounding, variances

__all__ = ["Scoring"]


@dataclass(frozen=True)
class Scoring:
    """How the features of some data are scored.

    ``spread`` has the standard deviation of every element, 0 for constant ones. ``feature_mode``
    is None for element features. ``energy`` multiplies scores by the spread. ``root`` takes the
    square root, as the authors' program does; the paper's equation (feature_score) has none.
    """

    orientation: Orientation
    spread: Any
    feature_mode: int | None
    energy: bool
    root: bool

    @staticmethod
    def spread_of(data: Moments | GramTensor) -> Any:
        """Return the spread of every element.

        For a Gram tensor, whose number of samples is unknown, it is the spread times its root.
        """
        if isinstance(data, Moments):
            return spread_above_rounding(data)
        squares = variances(data)
        xp = namespace_of(squares)
        return xp.matrix_transpose(xp.sqrt(squares))

    def scores(self, norms: Any) -> Any:
        """Return the scores of features, given the column norms ``(p', q)`` of the kept slices."""
        if is_device_array(norms):
            norms = _without_rounding(norms)
        scores = self.orientation.spread_over_features(self.orientation.expand(norms) ** 2)
        if self.root:
            scores = namespace_of(scores).sqrt(scores)
        if self.energy:
            scores = scores * self.spread
        return pool_elements(scores, self.feature_mode)

    @property
    def feature_spread(self) -> Any:
        """The spread of every feature."""
        return pool_elements(self.spread, self.feature_mode)

    def warn_of_constant_rows(self) -> None:
        """Warn if the basis makes operator scores equal along a mode.

        This happens if all entries of M have the same modulus, as for the DFT.
        """
        spreads_differ = self.energy and self.orientation.deviations is None
        if spreads_differ or self.feature_mode is not None:
            return
        transforms = self.orientation.transforms
        flat = [t.name for t in transforms if t.size > 1 and np.ptp(t.energy) == 0]
        if flat:
            warn_user(
                f"with basis={flat[0]!r} all features along the transformed mode have the "
                f"same operator score; {self._how_ordered()}"
            )

    def _how_ordered(self) -> str:
        if self.orientation.deviations is not None:
            return "with scale='feature' they are ordered by their index; use another basis"
        return (
            "they are ordered by their standard deviation. Use score_by='energy' for scores that "
            "tell them apart"
        )


def _without_rounding(norms: Any) -> Any:
    """Set norms to zero that are only rounding compared with the largest.

    On a device, the cone projection uses matrix products, which leave rounding errors where
    eigenvectors would give exact zeros. Features with a score of zero must not be ordered by
    rounding.
    """
    xp = namespace_of(norms)
    least = xp.finfo(norms.dtype).eps * xp.max(norms)
    return xp.where(norms > least, norms, xp.zeros_like(norms))
