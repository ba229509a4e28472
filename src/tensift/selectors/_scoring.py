"""From the column norms of operators to the scores of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._stacks import diagonal_of, squared_modulus
from tensift._warnings import warn_user
from tensift.gram import GramTensor, Moments, Orientation

__all__ = ["Scoring", "pool_elements", "variances"]

_ROUNDING = 1e-13  # what a feature may vary by, as a share of its mean, and still be constant


@dataclass(frozen=True)
class Scoring:
    """How the features of some data are scored.

    ``spread`` has the standard deviation of every element, 0 for those that do not vary.
    ``feature_mode`` is None for element features, ``energy`` multiplies scores by the spread, and
    ``root`` takes the square root that the program takes and the paper does not.
    """

    orientation: Orientation
    spread: NDArray[np.float64]
    feature_mode: int | None
    energy: bool
    root: bool

    @staticmethod
    def spread_of(data: Moments | GramTensor) -> NDArray[np.float64]:
        """The spread of every element; for a Gram tensor times the root of the sample count."""
        if isinstance(data, Moments):
            spread = data.spread()
            return np.where(spread > _ROUNDING * np.abs(data.mean), spread, 0.0)
        return np.sqrt(variances(data)).T

    def scores(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of the features, from the column norms ``(p', q)`` of the kept slices."""
        scores = self.orientation.spread_over_features(self.orientation.expand(norms) ** 2)
        if self.root:
            scores = np.sqrt(scores)
        if self.energy:
            scores = scores * self.spread
        return pool_elements(scores, self.feature_mode)

    @property
    def feature_spread(self) -> NDArray[np.float64]:
        """The spread of every feature."""
        return pool_elements(self.spread, self.feature_mode)

    def warn_of_constant_rows(self) -> None:
        """Say so if the transform makes operator scores equal along a mode."""
        if self.energy or self.feature_mode is not None:
            return
        transforms = self.orientation.transforms
        flat = [t.name for t in transforms if t.size > 1 and np.ptp(t.energy) == 0]
        if flat:
            warn_user(
                f"under transform={flat[0]!r} all features along the transformed mode have the "
                "same operator score; they are ordered by their standard deviation. Use "
                "score='energy' for scores that tell them apart"
            )


def pool_elements(values: NDArray, feature_mode: int | None) -> NDArray:
    """Values of elements as values of features: for mode features, their sums."""
    if feature_mode is None:
        return values
    return values.sum(axis=tuple(axis for axis in range(values.ndim) if axis != feature_mode))


def variances(gram: GramTensor) -> NDArray[np.float64]:
    """The sum of squares of every feature of every slice, ``(p, q)``."""
    if gram.thin:
        return np.sum(squared_modulus(gram.array), axis=2)
    return np.maximum(diagonal_of(gram.array).real, 0)
