"""From the column norms of operators to the scores of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tensift._namespace import (
    in_precision,
    is_complex,
    is_device_array,
    namespace_of,
    widest_precision,
)
from tensift._stacks import diagonal_of, squared_modulus
from tensift._warnings import warn_user
from tensift.gram import DeviceMoments, GramTensor, Moments, Orientation

__all__ = ["Scoring", "pool_elements", "variances"]

# What a feature may vary by, as a share of its mean, and still be constant.
_ROUNDING = {"float64": 1e-13, "float32": 1e-5}


@dataclass(frozen=True)
class Scoring:
    """How the features of some data are scored.

    ``spread`` has the standard deviation of every element, 0 for those that do not vary.
    ``feature_mode`` is None for element features, ``energy`` multiplies scores by the spread, and
    ``root`` takes the square root that the program takes and the paper does not.
    """

    orientation: Orientation
    spread: Any
    feature_mode: int | None
    energy: bool
    root: bool

    @staticmethod
    def spread_of(data: Moments | GramTensor) -> Any:
        """The spread of every element; for a Gram tensor times the root of the sample count."""
        if isinstance(data, DeviceMoments):
            xp, spread = namespace_of(data.mean), data.spread()
            least = _ROUNDING[widest_precision(data.mean)] * xp.abs(data.mean)
            varies = spread > in_precision(least, data.precision)
            return xp.where(varies, spread, xp.zeros_like(spread))
        if isinstance(data, Moments):
            spread = data.spread()
            return np.where(spread > _ROUNDING["float64"] * np.abs(data.mean), spread, 0.0)
        squares = variances(data)
        xp = namespace_of(squares)
        return xp.matrix_transpose(xp.sqrt(squares))

    def scores(self, norms: Any) -> Any:
        """Scores of the features, from the column norms ``(p', q)`` of the kept slices."""
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


def _without_rounding(norms: Any) -> Any:
    """Norms of which those that are rounding next to the largest are zero.

    Projections by products leave rounding where eigenvectors leave zeros, and features with a
    score of zero are ordered by other things than rounding.
    """
    xp = namespace_of(norms)
    least = xp.finfo(norms.dtype).eps * xp.max(norms)
    return xp.where(norms > least, norms, xp.zeros_like(norms))


def pool_elements(values: Any, feature_mode: int | None) -> Any:
    """Values of elements as values of features: for mode features, their sums."""
    if feature_mode is None:
        return values
    others = tuple(axis for axis in range(values.ndim) if axis != feature_mode)
    if is_device_array(values):
        # The sum over no axes is that over all in one library, and that over none in another.
        return namespace_of(values).sum(values, axis=others) if others else values
    return values.sum(axis=others)


def variances(gram: GramTensor) -> Any:
    """The sum of squares of every feature of every slice, ``(p, q)``."""
    if is_device_array(gram.array):
        xp = namespace_of(gram.array)
        if gram.thin:
            return xp.sum(squared_modulus(gram.array), axis=2)
        diagonal = diagonal_of(gram.array)
        return xp.clip(xp.real(diagonal) if is_complex(diagonal) else diagonal, min=0.0)
    if gram.thin:
        return np.sum(squared_modulus(gram.array), axis=2)
    return np.maximum(diagonal_of(gram.array).real, 0)
