"""What ``select`` and ``report`` share: whether the selection is stable."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.base import clone

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    StabilitySelection,
    STPCASelector,
    stability_selection,
)
from tensift._utils.tables import to_csv
from tensift.cli._arguments import positive_int
from tensift.cli._console import Console
from tensift.cli._input import weighing_of
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.selection import TensorSelector

__all__ = [
    "add_stability_argument",
    "choose_resamples",
    "resampled",
    "say_stability",
    "stability_table",
]

# What a report does without being asked: a few seconds, whatever the machine.
_FEW_RESAMPLES = 20
_FEWEST_SAMPLES = 16
_MOST_VALUES = 2**20  # of all samples together
_MOST_WORK = 1e8  # the number of slices times the cube of their size, for STPCASelector


def add_stability_argument(group: Any, *, default: bool = False) -> None:
    """Add the number of half-samples; with `default`, small data get some without being asked."""
    text = "also fit N half-samples, such as 50, and say which features stay selected"
    if default:
        text = (
            "fit N half-samples, and say how often each feature is kept (default: "
            f"{_FEW_RESAMPLES} for small data, with STPCASelector, GeometrySelector and "
            "ColumnSubsetSelector)"
        )
    either = group.add_mutually_exclusive_group()
    either.add_argument("--stability", type=_even_number, metavar="N", help=text)
    if default:
        either.add_argument(
            "--no-stability", action="store_true", help="fit no half-samples, also for small data"
        )


def choose_resamples(
    arguments: argparse.Namespace, selector: TensorSelector, dataset: TensorDataset
) -> int | None:
    """Return how many half-samples a report fits: those asked for, else a few if that is quick."""
    if arguments.stability is not None or arguments.no_stability:
        wanted: int | None = arguments.stability
        return wanted
    shape = dataset.feature_shape
    values = int(np.prod(shape))
    quick = isinstance(selector, STPCASelector | GeometrySelector | ColumnSubsetSelector)
    if isinstance(selector, STPCASelector):
        quick = values * max(shape) ** 2 <= _MOST_WORK
    groups = dataset.groups
    enough = dataset.n_samples if groups is None else len(np.unique(groups))
    small = dataset.n_samples * values <= _MOST_VALUES
    keeps_some = int(selector.get_support().sum()) < selector.order_.shape[0]
    if quick and small and keeps_some and min(dataset.n_samples, 4 * enough) >= _FEWEST_SAMPLES:
        return _FEW_RESAMPLES
    return None


def _even_number(text: str) -> int:
    number = positive_int(text)
    if number % 2:
        raise argparse.ArgumentTypeError(
            f"{text} is odd, but half-samples come in pairs; give an even number"
        )
    return number


def resampled(
    arguments: argparse.Namespace,
    selector: TensorSelector,
    dataset: TensorDataset,
    console: Console,
    n_resamples: int | None,
) -> StabilitySelection | None:
    """The same selection on half-samples; None if there are none to fit."""
    if n_resamples is None:
        return None
    try:
        return stability_selection(
            _quiet(selector),
            dataset,
            n_resamples=n_resamples,
            **weighing_of(dataset),
            n_jobs=arguments.n_jobs or 1,
            verbose=console.shows_progress,
        )
    except ValueError as error:
        raise ValueError(f"{arguments.input}: {str(error).splitlines()[0]}") from None


def _quiet(selector: TensorSelector) -> TensorSelector:
    """A copy of a selector that shows no progress of its own."""
    copy: TensorSelector = clone(selector)
    return copy.set_params(verbose=False) if "verbose" in copy.get_params() else copy


def say_stability(console: Console, found: StabilitySelection | None) -> None:
    """Print how stable the selection is; nothing if that is unknown."""
    if found is not None:
        first, *others = found.reason.splitlines()
        for word, line in [("stability", first), *(("", line) for line in others)]:
            console.say(f"{word:<10}{line}")


def stability_table(found: StabilitySelection, names: Names) -> str:
    """All features as CSV; those that most half-samples keep come first."""
    rows = found.to_rows()
    for row in rows:
        place = np.unravel_index(row["feature"], found.feature_shape)
        row["name"] = names.describe([int(index) for index in place])
    return to_csv(rows)
