"""Base class of selectors that pick one feature after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tensift._utils.modes import pool_elements
from tensift.moments import FeatureScale
from tensift.rivals._by_element import ElementSelector
from tensift.rivals._fibres import centred_fibres, energies, without_constants
from tensift.selection import (
    Chosen,
    FeatureLimits,
    FreeChoice,
    Selection,
    SuggestedCount,
    choose,
    limited_selection,
    pick_greedily,
    rank_features,
    suggest_count,
)
from tensift.sources import KeptSamples, SampleWeights, kept_samples

__all__ = ["GreedySelector", "PickRule", "Picks"]


class Picks(NamedTuple):
    """The features that were picked, and what the others are worth afterwards."""

    features: list[int]
    gains: list[float]  # of every pick, when it was picked
    left: NDArray[np.float64]  # of all features at the end; not looked at for picks


class PickRule(ABC):
    """What features are worth, given those picked so far; for the greedy loop of `selection`.

    A subclass implements `_worth` and `_take`.
    """

    tie = 1e-9  # share by which larger values count as larger
    least: float | None = 0.0  # what is not worth more adds nothing; None: nothing is too little
    baseline = 0.0  # merits are gains

    def __init__(self, values: NDArray) -> None:
        self.size = values.shape[1]
        self.tiers = np.zeros(self.size, dtype=int)
        self.picked: list[int] = []
        self.gains: list[float] = []
        # Features that add nothing come last, by deviation: they get tiny negative merits.
        places = np.argsort(rank_features(energies(values)))
        self._nothing = -1e-200 * (1.0 + places)
        self._known: NDArray[np.float64] | None = None

    def left(self) -> NDArray[np.float64]:
        """Return what every feature would add next."""
        if self._known is None:
            self._known = self._worth()
        return self._known

    def merits(self) -> NDArray[np.float64]:
        """Return what every feature would add next, where it is more than rounding."""
        left = self.left()
        return left if self.least is None else np.where(left > self.least, left, self._nothing)

    def take(self, pick: NDArray[np.intp]) -> None:
        """Take a feature; `pick` is an array of its index."""
        feature = int(pick[0])
        self.gains.append(max(0.0, float(self.merits()[feature])))
        self.picked.append(feature)
        self._take(feature)
        self._known = None

    @property
    def objective(self) -> float:
        """The sum of the gains."""
        return float(np.sum(self.gains))

    @abstractmethod
    def _worth(self) -> NDArray[np.float64]:
        """Return what every feature would add next."""

    @abstractmethod
    def _take(self, feature: int) -> None:
        """Take a feature."""


class GreedySelector(ElementSelector):
    """Base class of selectors that pick one feature after another.

    A subclass has the parameters ``n_features_to_select``, ``constraints``, ``feature_mode`` and
    ``feature_shape``, and implements `_rule`. Constant features take no part. The score of a
    feature is its gain when it was picked, but at most the score of the feature before it, so that
    scores and order agree.
    """

    scale: str | None = None  # for subclasses without this parameter
    _own_rule = "picks"

    def _fit_elements(
        self, spread: NDArray, samples: NDArray, weights: SampleWeights | None
    ) -> None:
        mode = self._mode_of_features()
        if self.scale == "feature":
            self._deviations = FeatureScale(mode).of_samples(samples, weights)
            spread, samples = self._in_units(spread), self._in_units(samples)
        values, kept = without_constants(centred_fibres(samples, spread, mode, weights))
        spread = pool_elements(spread, mode)
        rows, limits = kept_samples(samples, weights), self._limits()
        suggested = None
        if self.n_features_to_select == "auto":
            suggested = self._suggest(rows, mode)
        count = self._checked_count(spread.size, suggested)
        if limits is None:
            picks, chosen = self._pick(values, min(count, len(kept)), kept), None
        else:
            picks, chosen = self._pick_within(limits, values, count, kept)
        scores, places = np.zeros(spread.size), np.zeros(spread.size)
        capped = np.minimum.accumulate([*picks.gains, 0.0])[: len(picks.gains)]
        scores[kept] = np.clip(picks.left, 0.0, capped[-1] if capped.size else np.inf)
        features = kept[picks.features]
        scores[features] = capped
        places[features] = np.arange(len(features), 0, -1)  # equal scores: as they were picked
        self.scores_, self._scored_mode = scores.reshape(spread.shape), mode
        if chosen is not None:
            self._keep_selection(limited_selection(chosen, count, suggested, None, like=scores))
            return
        order = rank_features(scores, [places, spread.ravel()])
        self._keep_selection(Selection(order, suggested=suggested))

    def _suggest(self, rows: KeptSamples, mode: int | None) -> SuggestedCount:
        """Suggest how many features to keep."""
        return suggest_count(rows, mode, self._limits())

    def _pick(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> Picks:
        """Pick at least one feature of ``(n, features, elements)``, of which all vary.

        Only products over samples count: those with weights are multiplied by their roots.

        `count` features, or fewer if no more are worth anything. Gains do not depend on units.
        `kept` are the flat indices of these features among all.
        """
        rule = self._rule(values, count, kept)
        everything = np.ones(values.shape[1], dtype=bool)
        choice = FreeChoice([everything], [everything.size], rule.tie, rule.least)
        pick_greedily(rule, choice, count)
        left = rule.left() if len(rule.picked) == count else np.zeros(everything.size)
        return self._finished(Picks(rule.picked, rule.gains, left))

    def _pick_within(
        self, limits: FeatureLimits, values: NDArray, count: int, kept: NDArray[np.intp]
    ) -> tuple[Picks, Chosen[Any]]:
        """Pick features that meet constraints."""
        make = partial(self._rule, values, min(count, len(kept)), kept)
        chosen = choose(make, limits, count, features=kept)
        rule = chosen.rule
        return self._finished(Picks(rule.picked, rule.gains, rule.left())), chosen

    def _finished(self, picks: Picks) -> Picks:
        """Change gains at the end, if a method wants it."""
        return picks

    @abstractmethod
    def _rule(self, values: NDArray, count: int, kept: NDArray[np.intp]) -> PickRule:
        """Return what features ``(n, features, elements)`` are worth, before any is picked."""
