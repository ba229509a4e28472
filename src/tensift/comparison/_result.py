"""The result of a comparison: numbers, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensift._utils.tables import to_markdown
from tensift.comparison._methods import RANDOM
from tensift.comparison._tasks import LABELLED, LIKENESS
from tensift.comparison._verdict import conclusions_of, ranks_of, with_spread
from tensift.labels import Names, labelled_dataset, names_or_numbers
from tensift.metrics import StabilityEstimate
from tensift.selection import Constraints, HeldConstraints

__all__ = ["SelectorComparison"]


@dataclass(frozen=True, eq=False)
class SelectorComparison:
    """Several selectors on the same data: the result of `compare_selectors`.

    Attributes
    ----------
    methods : tuple of str
        All compared methods, including those that failed.
    n_features, n_features_to_select : int
        The number of features of a sample, and the number to select.
    feature_shape : tuple of int
        The shape of a sample.
    feature_mode : int or None
        The mode whose indices are the features; None if every element is a feature.
    features : dict of str to ndarray
        The features that each method selects on all samples, in its order. If a method has several
        seeds, the features of the first.
    scores : dict of str to ndarray
        The scores of the same fits, in the shape of the features.
    orders : dict of str to ndarray
        All features in the order in which the same fits select them; the first are `features`.
    rules : dict of str to str
        The rules that made these orders: the parameter ``selection`` of the methods.
    runs : dict of str to dict of str to ndarray
        By measure and method, the single values behind means and standard deviations:
        ``"neighbours_kept"``, ``"neighbour_agreement"``, ``"reconstruction_error"`` and
        ``"redundancy"`` of every half-sample (NaN if the method failed there), ``"seconds"`` of
        every seed, and with labels the metrics of every seed.
    stds : dict of str to dict of str to float
        By measure and method, the standard deviation.
    stability : dict of str to StabilityEstimate
        The stability of the selections on half-samples, with its interval.
    probabilities : dict of str to ndarray
        The share of the half-samples on which each feature is selected, in the shape of the
        features.
    agreement : ndarray of shape (n_methods, n_methods)
        Kuncheva's index between the selections on all samples, as the mean over pairs of
        different seeds. NaN if a method failed.
    memory : dict of str to int
        The peak memory of a fit in bytes.
    failures : dict of str to str
        For methods that failed, at least on some half-samples: the reason.
    notes : tuple of str
        Remarks for the reader, such as default values that were used.
    constraints : Constraints or None
        What every selection respects.
    held : dict of str to HeldConstraints
        What constraints did to the selections on all samples, for methods that have some.
    costs : dict of str to float
        What the selected features cost together, if constraints give costs; the tables then have a
        column for it.
    names : Names or None
        The names of the modes of a sample, if the data have some.
    n_observed : int or None
        The number of features that were ever observed, if values were missing.

    Examples
    --------
    >>> from tensift.comparison import compare_selectors
    >>> from tensift.datasets import load_digits
    >>> found = compare_selectors(load_digits().data[:100], ["laplacian score"], 20, n_resamples=3)
    >>> found.methods
    ('LaplacianScore', 'VarianceSelector', 'RandomSelector')
    >>> [row["n_features"] for row in found.to_rows()]
    [20, 20, 20]
    """

    methods: tuple[str, ...]
    n_features: int
    n_features_to_select: int
    feature_shape: tuple[int, ...]
    feature_mode: int | None
    features: dict[str, np.ndarray]
    scores: dict[str, np.ndarray]
    orders: dict[str, np.ndarray]
    rules: dict[str, str]
    runs: dict[str, dict[str, np.ndarray]]
    stds: dict[str, dict[str, float]]
    stability: dict[str, StabilityEstimate]
    probabilities: dict[str, np.ndarray]
    agreement: np.ndarray
    memory: dict[str, int]
    failures: dict[str, str]
    notes: tuple[str, ...]
    constraints: Constraints | None = None
    held: dict[str, HeldConstraints] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    names: Names | None = None
    n_observed: int | None = None

    def mean(self, measure: str, method: str) -> float:
        """Return the mean of a measure over the runs that succeeded, NaN if none did."""
        values = self.runs.get(measure, {}).get(method, np.array([]))
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else math.nan

    def share_better(self, method: str, than: str = RANDOM) -> float:
        """Return how often a method is better than another, as a share, or NaN.

        Every half-sample counts twice: by neighbours kept and by their agreement.
        """
        if method == than:
            return math.nan
        wins: list[bool] = []
        for measure in LIKENESS:
            values = self.runs[measure]
            if method not in values or than not in values:
                return math.nan
            pairs = np.column_stack([values[method], values[than]])
            pairs = pairs[~np.isnan(pairs).any(axis=1)]
            wins += (pairs[:, 0] > pairs[:, 1]).tolist()
        return float(np.mean(wins)) if wins else math.nan

    def ranks(self) -> dict[str, float]:
        """Return the mean rank of each method by the two measures that decide; 1 is first in both.

        Methods that failed, and those that keep all features, have none.
        """
        return ranks_of(self)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dict per method, for ``csv.DictWriter`` or ``pandas.DataFrame``.

        Missing values are None.
        """
        ranks = self.ranks()
        return [self._row(method, ranks.get(method)) for method in self.methods]

    def _row(self, method: str, rank: float | None) -> dict[str, Any]:
        kept = self.features.get(method)
        row: dict[str, Any] = {
            "method": method,
            "n_features": None if kept is None else len(kept),
            "rank": rank,
        }
        if self.costs:
            row["cost"] = self.costs.get(method)
        for measure in LIKENESS:
            row |= self._mean_and_std(measure, method)
        row["better_than_random"] = self.share_better(method)
        for measure in ("reconstruction_error", "redundancy"):
            row |= self._mean_and_std(measure, method)
        stability = self.stability.get(method)
        for name, part in (("", "value"), ("_low", "low"), ("_high", "high")):
            row[f"stability{name}"] = getattr(stability, part, math.nan)
        for metric in LABELLED:
            if metric in self.runs:
                row |= self._mean_and_std(metric, method)
        row |= self._mean_and_std("seconds", method)
        row["memory_bytes"] = self.memory.get(method)
        row["note"] = self.failures.get(method)
        return {key: None if _is_nan(value) else value for key, value in row.items()}

    def _mean_and_std(self, measure: str, method: str) -> dict[str, float]:
        std = self.stds.get(measure, {}).get(method, math.nan)
        return {measure: self.mean(measure, method), f"{measure}_std": std}

    def to_table(self) -> list[dict[str, str]]:
        """Return one dict per method with formatted text: values with standard deviations."""
        titles = {
            "neighbours_kept": "neighbours kept",
            "neighbour_agreement": "neighbours agree",
            "reconstruction_error": "missed",
            "redundancy": "redundancy",
            **{metric: metric for metric in LABELLED if metric in self.runs},
        }
        table = []
        for row in self.to_rows():
            line = {"method": row["method"], "rank": _rank(row["rank"])}
            if self.costs:
                cost = row["cost"]
                line["features"] = "–" if cost is None else str(row["n_features"])
                line["cost"] = "–" if cost is None else f"{cost:.4g}"
            for measure, title in titles.items():
                line[title] = with_spread(row[measure], row[f"{measure}_std"])
                if measure == "neighbour_agreement":
                    line["beats random"] = _percent(row["better_than_random"])
            line["stability"] = _interval(row)
            line["seconds"] = with_spread(row["seconds"], row["seconds_std"])
            memory = row["memory_bytes"]
            line["memory (MB)"] = "–" if memory is None else f"{memory / 1e6:.3g}"
            line["note"] = row["note"] or ""
            table.append(line)
        if not any(line["note"] for line in table):
            for line in table:
                del line["note"]
        return table

    def to_xarray(self) -> Any:
        """Return scores and selections of all methods as a Dataset of xarray.

        Returns
        -------
        xarray.Dataset
            Along ``selector`` and the dimensions of the features: ``score``; ``rank``, the place in
            the order, 0 for the best; ``selected``; ``probability``, the share of half-samples
            that keep the feature. Along ``selector``: the means of all measures. Methods that
            failed are left out.

        Examples
        --------
        >>> from tensift.comparison import compare_selectors
        >>> from tensift.datasets import load_digits
        >>> found = compare_selectors(load_digits(), ["geometry"], 20, n_resamples=2)
        >>> dict(found.to_xarray().score.sizes)
        {'selector': 3, 'row': 8, 'column': 8}
        """
        methods = [method for method in self.methods if method in self.scores]
        own, shape = self.names, self.feature_shape
        if self.feature_mode is not None:
            own = None if own is None else own.only([self.feature_mode])
            shape = (shape[self.feature_mode],)
        names = names_or_numbers(own, shape)
        features = np.arange(self.n_features)
        ranks = [np.argsort(self.orders[method]) for method in methods]
        values = {
            "score": [self.scores[method] for method in methods],
            "rank": ranks,
            "selected": [np.isin(features, self.features[method]) for method in methods],
            "probability": [
                self.probabilities.get(method, np.full(shape, np.nan)) for method in methods
            ],
        }
        parts: dict[str, Any] = {
            name: (("selector", *names.dims), np.reshape(each, (len(methods), *shape)))
            for name, each in values.items()
        }
        for measure in self.runs:
            parts[measure] = ("selector", [self.mean(measure, method) for method in methods])
        found = labelled_dataset(parts, names, {"n_features_to_select": self.n_features_to_select})
        return found.assign_coords(selector=methods)

    def to_markdown(self) -> str:
        """Return the table, the agreement between methods, and the conclusions as Markdown."""
        parts = [
            to_markdown(self.to_table()),
            "Agreement between the selections (Kuncheva's index: 1 if equal, 0 as by chance):\n",
            to_markdown([_rounded(row) for row in self.agreement_rows()]),
            "\n".join(f"- {line}" for line in (*self.conclusions(), *self.notes)) + "\n",
        ]
        return "\n".join(parts)

    def agreement_rows(self) -> list[dict[str, Any]]:
        """Return the agreement matrix, one dict per method."""
        rows = []
        for name, values in zip(self.methods, self.agreement, strict=True):
            named = zip(self.methods, values.tolist(), strict=True)
            rows.append(
                {"method": name, **{other: None if _is_nan(v) else v for other, v in named}}
            )
        return rows

    def conclusions(self) -> list[str]:
        """Return what the measures without labels show, in sentences.

        Neighbours kept and their agreement decide together who is first.
        """
        return conclusions_of(self)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: f"{v:z.2f}" if isinstance(v, float) else v for key, v in row.items()}


def _rank(rank: float | None) -> str:
    return "–" if rank is None else f"{rank:g}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _interval(row: Mapping[str, Any]) -> str:
    if row["stability"] is None:
        return "–"
    return f"{row['stability']:z.2f} ({row['stability_low']:z.2f} to {row['stability_high']:z.2f})"
