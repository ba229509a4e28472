"""Choose the orientation and the basis without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names
from tensift.metrics import judge_selections
from tensift.moments import Moments, OrientedEstimator, sample_axes
from tensift.sources import KeptSamples
from tensift.stpca._penalties import is_auto

__all__ = ["OrientationChoice", "candidates_of", "choose_orientation"]

_BASES = ("identity", "dct", "haar", "eigen")  # what basis="auto" tries


@dataclass(frozen=True)
class OrientationChoice:
    """How the orientation, the basis or both were chosen.

    Every candidate scores and selects features. The candidate whose selection keeps samples most
    recognisable is kept: `tensift.metrics.judge_selections` ranks all of them by two measures
    without labels.

    Attributes
    ----------
    candidates : list of (int, basis)
        The orientations and bases that were tried.
    neighbours_kept : ndarray
        For each candidate the share of nearest neighbours that its selected features keep.
    neighbour_agreement : ndarray
        For each candidate how far samples that look alike agree on its selected features.
    chosen : int
        The index of the candidate that was kept.
    reason : str
        Why, in one sentence.
    names : Names or None
        The names of the modes, if the samples have some.

    Examples
    --------
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> selector = STPCASelector(20, orientation="auto").fit(load_digits().data)
    >>> choice = selector.choice_.orientation
    >>> choice.candidates
    [(0, 'identity'), (1, 'identity')]
    >>> selector.orientation_ == choice.candidates[choice.chosen][0]
    True
    """

    candidates: list[tuple[int, Any]]
    neighbours_kept: NDArray[np.float64]
    neighbour_agreement: NDArray[np.float64]
    chosen: int
    reason: str
    names: Names | None = None


def candidates_of(estimator: OrientedEstimator, X: Any) -> list[tuple[int | str, Any]]:
    """Return the orientations and bases to choose from."""
    if isinstance(X, Moments):
        raise ValueError(
            "orientation='auto' and basis='auto' need samples, but X is Moments, whose "
            "orientation and basis are fixed; give both"
        )
    source = estimator._source_of(X)
    if source is not None and not source.rereadable:
        raise ValueError(
            "orientation='auto' and basis='auto' read the samples several times, but X is an "
            "iterator, which can be read only once; pass something that can be read again, "
            "such as tensift.sources.Chunks"
        )
    if source is None:
        X = estimator._unlabelled(X, fitted=False).samples
        sample_axes(X)  # raise an error for vectors, which have no mode to choose
    shape = np.shape(X)[1:] if source is None else source.sample_shape
    if len(shape) == 1 and estimator.feature_shape is not None:
        shape = tuple(estimator.feature_shape)
    orientations: list[int | str] = [estimator.orientation]
    if is_auto(estimator.orientation):
        orientations = list(range(len(shape)))
    bases = [estimator.basis]
    if is_auto(estimator.basis):
        bases = list(_BASES) if len(shape) > 1 else ["identity"]
    return [(one, other) for one in orientations for other in bases]


def choose_orientation(
    candidates: list[tuple[int, Any]],
    selections: list[NDArray[np.intp]],
    kept: KeptSamples,
    feature_mode: int | None,
    names: Names | None = None,
) -> OrientationChoice:
    """Choose the candidate whose selected features keep samples most recognisable.

    `kept` are samples. The first of several equal candidates is chosen.
    """
    kept = kept.distinct()
    judged = judge_selections(
        kept.rows, selections, feature_mode=feature_mode, sample_weight=kept.weights
    )
    chosen = judged.best
    orientation, basis = candidates[chosen]
    mode = orientation if names is None else repr(names.name(orientation))
    name = f", basis={basis!r}" if isinstance(basis, str) else ""
    reason = (
        f"orientation={mode}{name}: the features it selects keep "
        f"{100 * judged.neighbours_kept[chosen]:.0f}% of the nearest neighbours, and neighbours "
        f"agree on them by {judged.neighbour_agreement[chosen]:.2f} "
        f"(best by both of {len(candidates)} tried)"
    )
    return OrientationChoice(
        candidates, judged.neighbours_kept, judged.neighbour_agreement, chosen, reason, names
    )
