"""What ``select`` and ``report`` share: whether the selection is stable."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.base import clone

from tensift import StabilitySelection, stability_selection
from tensift._utils.tables import to_csv
from tensift.cli._arguments import positive_int
from tensift.cli._console import Console
from tensift.cli._input import weighing_of
from tensift.datasets import TensorDataset
from tensift.labels import Names
from tensift.selection import TensorSelector

__all__ = ["add_stability_argument", "resampled", "say_stability", "stability_table"]


def add_stability_argument(group: Any) -> None:
    """Add the number of half-samples."""
    group.add_argument(
        "--stability", type=_even_number, metavar="N",
        help="also fit N half-samples, such as 50, and say which features stay selected",
    )  # fmt: skip


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
) -> StabilitySelection | None:
    """The same selection on half-samples; None without --stability."""
    if arguments.stability is None:
        return None
    try:
        return stability_selection(
            _quiet(selector),
            dataset,
            n_resamples=arguments.stability,
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
    """Print how stable the selection is; nothing without --stability."""
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
