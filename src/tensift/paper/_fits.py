"""One fit of one selector, judged as in the paper. Runs consist of many fits."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import tensift
from tensift.metrics import evaluate_selection
from tensift.paper._sets import load_set
from tensift.rivals import SelectorInfo, list_selectors
from tensift.selection import TensorSelector, rank_features

__all__ = ["Fit", "Result", "selector_info"]

Result = dict[str, Any]


@dataclass(frozen=True)
class Fit:
    """A selector, its settings, the data, and the numbers of features at which it is judged.

    Parameters
    ----------
    data : str
        The name of a dataset.
    method : str
        The name of a selector in the registry.
    settings : tuple of pairs
        Parameters of the selector, by name.
    seed : int
        The seed of the selector. The seed of k-means is always the same.
    counts : tuple of int
        The numbers of features.
    repeats : int
        The number of runs of k-means at each number of features.
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
        """Everything that the result depends on."""
        return json.dumps(["fit", tensift.__version__, *vars(self).values()])

    @property
    def group(self) -> object:
        """Fits of one method to one dataset take similar time."""
        return self.data, self.method

    def compute(self) -> Result:
        """Fit and judge.

        Returns
        -------
        dict
            `seconds` of processor time; `features`, the selected ones, best first; the values of
            each metric at the counts; for metrics of k-means also their standard deviations, such
            as ``acc_std``; `scores` if kept.
        """
        dataset = load_set(self.data)
        settings: dict[str, Any] = {"selection": "top", **dict(self.settings)}
        if self.method == "STPCASelector":
            settings["solver"] = "paper"  # other methods have a parameter of that name, too
        selector = selector_info(self.method).make(
            max(self.counts), **settings, random_state=self.seed
        )
        started = time.process_time()
        with warnings.catch_warnings():
            # The authors' program stops after 100 steps without saying so; these are its results.
            warnings.simplefilter("ignore", ConvergenceWarning)
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
    """The registry's entry of a selector."""
    return next(info for info in list_selectors() if info.name == name)


def _as_the_program_ranks(selector: TensorSelector) -> np.ndarray:
    """Features, best first; equal scores by index in MATLAB's order, as its `sort` does."""
    if selector_info(type(selector).__name__).counted:
        return selector.order_  # these methods select without sorting scores
    return rank_features(selector.scores_, order="F")


@lru_cache(maxsize=4096)
def _judged(
    data: str, features: tuple[int, ...], repeats: int, metrics: tuple[str, ...]
) -> dict[str, float]:
    """Judge features; cached, because many cells of a grid select the same ones."""
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
