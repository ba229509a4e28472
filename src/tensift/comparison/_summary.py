"""Summarise the outcomes of all methods."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tensift.comparison._result import SelectorComparison
from tensift.comparison._schedule import Outcome
from tensift.comparison._tasks import LABELLED, LIKENESS
from tensift.metrics import StabilityEstimate, selection_agreement, selection_stability
from tensift.selection import Constraints, HeldConstraints

__all__ = ["summarise"]

_OF_HALVES = (*LIKENESS, "reconstruction_error", "redundancy")


def summarise(
    outcomes: Sequence[Outcome],
    n_features: int,
    n_features_to_select: int,
    feature_shape: tuple[int, ...],
    feature_mode: int | None,
    notes: Sequence[str],
    constraints: Constraints | None = None,
    shared: HeldConstraints | None = None,
    never: np.ndarray | None = None,
) -> SelectorComparison:
    """Compute means, standard deviations, stabilities and agreements.

    `shared` has the costs and groups of the constraints that were given for all methods. `never`
    is a mask of the features that were never observed.
    """
    seen = np.ones(n_features, dtype=bool) if never is None else ~never
    n_seen = int(np.count_nonzero(seen))
    costs = None if shared is None else shared.costs
    fitted = [o for o in outcomes if all("error" not in fit for fit in o.fits)]
    runs: dict[str, dict[str, np.ndarray]] = {
        measure: {o.name: _values(o.halves, measure) for o in fitted} for measure in _OF_HALVES
    }
    runs["seconds"] = {o.name: _values(o.fits, "seconds") for o in fitted}
    if any(o.judged for o in fitted):
        runs |= {metric: {o.name: _values(o.judged, metric) for o in fitted} for metric in LABELLED}
    stds = {
        measure: {name: _std(values) for name, values in by_method.items()}
        for measure, by_method in runs.items()
    }
    for metric in ("acc", "nmi"):
        for o in fitted if metric in runs else ():
            # The variance over seeds plus the variance over runs of k-means.
            within = np.mean(_values(o.judged, f"{metric}_std") ** 2)
            stds[metric][o.name] = math.sqrt(within + np.var(runs[metric][o.name]))
    halves = {o.name: _masks_of_halves(o, n_features) for o in fitted}
    layout = feature_shape if feature_mode is None else (n_features,)
    return SelectorComparison(
        methods=tuple(o.name for o in outcomes),
        n_features=n_features,
        n_observed=None if never is None else n_seen,
        n_features_to_select=n_features_to_select,
        feature_shape=feature_shape,
        feature_mode=feature_mode,
        features={o.name: np.array(o.fits[0]["features"]) for o in fitted},
        scores={o.name: np.array(o.fits[0]["scores"]) for o in fitted},
        orders={o.name: np.array(o.fits[0]["order"]) for o in fitted},
        rules={o.name: o.fits[0]["rule"] for o in fitted},
        runs=runs,
        stds=stds,
        stability={name: _stability(masks[:, seen]) for name, masks in halves.items()},
        probabilities={
            name: masks.mean(axis=0).reshape(layout) for name, masks in halves.items() if len(masks)
        },
        agreement=np.array([[_agreement(a, b, seen) for b in outcomes] for a in outcomes]),
        memory={o.name: o.memory["bytes"] for o in fitted if "bytes" in o.memory},
        failures={o.name: o.failure for o in outcomes if o.failure is not None},
        notes=tuple(notes),
        constraints=constraints,
        held={o.name: _held(o.fits[0]["held"], shared) for o in fitted if "held" in o.fits[0]},
        costs={} if costs is None else {o.name: _cost(o, costs) for o in fitted},
    )


def _held(stored: dict, shared: HeldConstraints | None) -> HeldConstraints:
    return HeldConstraints(
        included=np.array(stored["included"], dtype=np.intp),
        excluded=np.array(stored["excluded"], dtype=np.intp),
        costs=None if shared is None else shared.costs,
        groups=None if shared is None else shared.groups,
        stops=tuple(stored["stops"]),
        words=tuple(stored["words"]),
    )


def _cost(outcome: Outcome, costs: np.ndarray) -> float:
    return float(costs[np.array(outcome.fits[0]["features"])].sum())


def _values(results: Sequence[dict], name: str) -> np.ndarray:
    return np.array([result.get(name, math.nan) for result in results], dtype=float)


def _std(values: np.ndarray) -> float:
    """Return the standard deviation over the runs that succeeded; NaN for fewer than two."""
    there = values[~np.isnan(values)]
    return float(there.std()) if there.size > 1 else math.nan


def _masks_of_halves(outcome: Outcome, n_features: int) -> np.ndarray:
    """Return a mask of the selected features for every half-sample that did not fail."""
    kept = [half["features"] for half in outcome.halves if "features" in half]
    masks = np.zeros((len(kept), n_features), dtype=bool)
    for mask, features in zip(masks, kept, strict=True):
        mask[features] = True
    return masks


def _stability(masks: np.ndarray) -> StabilityEstimate:
    if len(masks) < 2:
        return StabilityEstimate(math.nan, math.nan, math.nan, math.nan)
    return selection_stability(masks)


def _agreement(a: Outcome, b: Outcome, seen: np.ndarray) -> float:
    """Return the mean over pairs of fits; for one method, over pairs of different seeds.

    Only features that were ever observed (`seen`) count.
    """
    places = np.cumsum(seen) - 1
    if any("error" in fit for fit in (*a.fits, *b.fits)):
        return math.nan
    kept, others = (
        [places[[j for j in fit["features"] if seen[j]]] for fit in one.fits] for one in (a, b)
    )
    values = [
        selection_agreement(first, second, int(np.count_nonzero(seen)))
        for i, first in enumerate(kept)
        for j, second in enumerate(others)
        if a is not b or i != j or len(a.fits) == 1
    ]
    return float(np.mean(values))
