"""How many features the page suggests, and the curve that the number is read from."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from tensift.datasets import TensorDataset
from tensift.metrics import Judge
from tensift.report._encoding import rounded
from tensift.selection import SuggestedCount, TensorSelector, suggest_count, without_gaps
from tensift.sources import KeptSamples, SampleWeights, kept_samples

__all__ = ["Suggestion", "measures_of", "rows_looked_at", "suggestion_of"]

_FEWEST_SAMPLES = 16  # fewer cannot be split into halves that judge each other


class Suggestion(TypedDict):
    """The suggested number of features.

    ``count`` is None if there is nothing to suggest, ``title`` says the same in two words,
    ``reason`` in sentences. ``curve`` and ``spread`` are the curve of ``measure``, if there is one;
    ``structured`` is the number of features that it could have.
    """

    count: int | None
    title: str
    reason: str
    measure: str
    curve: list[float | None]
    spread: list[float | None]
    structured: int


def suggestion_of(
    selector: TensorSelector | None,
    dataset: TensorDataset,
    feature_mode: int | None,
    n_features: int,
    *,
    missing: bool,
) -> Suggestion:
    """Return the number that the selector has chosen itself, or compute it from samples.

    `n_features` have been observed, and with `missing` samples may have gaps.
    """
    found = getattr(selector, "suggested_count_", None)
    if found is None:
        kept = rows_looked_at(selector, dataset, missing=missing)
        if len(kept) < _FEWEST_SAMPLES:
            reason = (
                f"No number is suggested: the report has {len(kept)} samples, and fewer than "
                f"{_FEWEST_SAMPLES} do not show how many features are worth keeping."
            )
            return Suggestion(
                count=None,
                title="No suggestion",
                reason=reason,
                measure="neighbours kept",
                curve=[],
                spread=[],
                structured=0,
            )
        limits = None if selector is None else selector._fitted_limits()
        given = {"sample_weight": kept.weights, "groups": kept.groups}
        more: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
        found = suggest_count(kept.rows, feature_mode, limits, **more)
        found = found.among(n_features)
    return _in_words(found)


def measures_of(
    selector: TensorSelector | None, dataset: TensorDataset, feature_mode: int | None
) -> dict[str, str]:
    """Return how recognisable samples are in the kept features, in words, if that can be said."""
    if selector is None:
        return {}
    kept, total = selector.get_support(indices=True), selector.order_.shape[0]
    looked_at = rows_looked_at(selector, dataset, missing=hasattr(selector, "missing_"))
    rows = looked_at.rows
    if len(rows) < _FEWEST_SAMPLES or len(kept) == total or np.ptp(rows, axis=0).max() == 0:
        return {}
    judge = Judge(rows, feature_mode, looked_at.weights)
    of = f"of {len(kept):,} features"
    return {
        f"neighbours kept, {of}": f"{100 * judge.neighbours_kept(kept):.0f} %",
        f"alignment, {of}": f"{judge.alignment(kept):.3f}",
    }


def rows_looked_at(
    selector: TensorSelector | None, dataset: TensorDataset, *, missing: bool
) -> KeptSamples:
    """Return the samples that the selector looked at, if it has kept them, or some of the data."""
    held = getattr(getattr(selector, "_moments", None), "subsample", None)
    weights = SampleWeights.of(dataset.weights, dataset.groups, fewest=0)
    if held is not None:
        kept: KeptSamples = held.kept()
    elif weights is None:
        kept = kept_samples(dataset.data)
    else:
        kept = kept_samples(dataset.data[weights.positive], weights.used)
    if missing:
        kept = without_gaps(kept)
    if not np.isfinite(kept.rows).all():
        raise ValueError("data must be finite; found NaN or infinity")
    return kept


def _in_words(found: SuggestedCount) -> Suggestion:
    structure = found.n_structured > 0
    reason = f"{found.reason[0].upper()}{found.reason[1:]}."
    return Suggestion(
        count=found.count if structure else None,
        title=f"Suggested: {found.count:,}" if structure else "No structure",
        reason=reason,
        measure=found.measure,
        curve=[rounded(value) for value in found.curve],
        spread=[rounded(value) for value in found.spread],
        structured=found.n_structured,
    )
