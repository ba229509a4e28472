"""One fit of one selector, judged as the paper judges it: the unit that runs are made of."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import tensift
from tensift.metrics import evaluate_selection
from tensift.paper._sets import load_set
from tensift.selectors import SelectorInfo, TensorSelector, list_selectors, rank_features

__all__ = ["Fit", "Result", "selector_info"]

Result = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A selector, its settings, the data and the numbers of features it is judged at.

    Parameters
    ----------
    data : str
        The name of a set.
    method : str
        The name of a selector in the registry.
    settings : tuple of pairs
        Parameters of the selector, by name.
    seed : int
        Of the selector; that of k-means is always the same.
    counts : tuple of int
        Numbers of features.
    repeats : int
        Runs of k-means at each.
    metrics : tuple of str
        What to measure.
    keep_scores : bool
        Whether the score map is part of the result.
    """

    data: str
    method: str
    settings: tuple[tuple[str, Any], ...]
    seed: int
    counts: tuple[int, ...]
    repeats: int
    metrics: tuple[str, ...]
    keep_scores: bool = False

    @property
    def key(self) -> str:
        """All that the result depends on."""
        return json.dumps(["fit", tensift.__version__, *vars(self).values()])

    @property
    def group(self) -> object:
        """Fits of one method to one set take about as long as one another."""
        return self.data, self.method

    def compute(self) -> Result:
        """Fit and judge.

        Returns
        -------
        dict
            `seconds` of processor time, the `features` selected, best first, for each metric its
            values at the counts, for those of k-means also ``acc_std``; `scores` if kept.
        """
        dataset = load_set(self.data)
        selector = selector_info(self.method).make(
            max(self.counts), selection="top", **dict(self.settings), random_state=self.seed
        )
        started = time.process_time()
        selector.fit(dataset.data)
        ranking = _as_the_program_ranks(selector)
        result: Result = {"seconds": time.process_time() - started}
        result["features"] = ranking[: max(self.counts)].tolist()
        result |= self._judge(ranking)
        if self.keep_scores:
            result["scores"] = selector.scores_.tolist()
        return result

    def _judge(self, ranking: np.ndarray) -> Result:
        found: Result = {}
        for count in self.counts:
            features = tuple(sorted(ranking[:count].tolist()))
            judged = _judged(self.data, features, self.repeats, self.metrics)
            for name, value in judged.items():
                found.setdefault(name, []).append(value)
        return found


def selector_info(name: str) -> SelectorInfo:
    """What the registry says of a selector."""
    return next(info for info in list_selectors() if info.name == name)


def _as_the_program_ranks(selector: TensorSelector) -> np.ndarray:
    """Features best first, equal scores by index in MATLAB's order, as its `sort` leaves them."""
    if selector_info(type(selector).__name__).counted:
        return selector.ranking_  # not an order of scores
    return rank_features(selector.scores_, order="F")


@lru_cache(maxsize=4096)
def _judged(
    data: str, features: tuple[int, ...], repeats: int, metrics: tuple[str, ...]
) -> dict[str, float]:
    """Many cells of a grid select the same features."""
    dataset = load_set(data)
    assert dataset.labels is not None
    found = evaluate_selection(
        dataset.data,
        dataset.labels,
        features,
        counts=[len(features)],
        n_repeats=repeats,
        feature_mode=dataset.feature_mode,
        metrics=metrics,
    )
    values = {name: float(value[0]) for name, value in found.means.items()}
    return values | {f"{name}_std": float(value[0]) for name, value in found.stds.items()}
