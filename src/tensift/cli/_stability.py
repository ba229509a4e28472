"""What ``select`` and ``report`` have in common: whether the selection is stable."""

from __future__ import annotations

import argparse
from typing import Any

from tensift import StabilitySelection, STPCASelector, stability_selection
from tensift._tables import to_csv
from tensift.cli._arguments import positive_int
from tensift.cli._console import Console
from tensift.datasets import TensorDataset
from tensift.plotting._names import ModeNames

__all__ = ["add_stability_argument", "resampled", "say_stability", "stability_table"]


def add_stability_argument(group: Any) -> None:
    """Add the number of half-samples."""
    group.add_argument(
        "--stability", type=_even_number, metavar="N",
        help="fit N half-samples too, such as 50, and say which features stay selected",
    )  # fmt: skip


def _even_number(text: str) -> int:
    number = positive_int(text)
    if number % 2:
        raise argparse.ArgumentTypeError(f"{text} is odd, but half-samples come in pairs")
    return number


def resampled(
    arguments: argparse.Namespace,
    parameters: dict[str, Any],
    dataset: TensorDataset,
    console: Console,
) -> StabilitySelection | None:
    """The same selection on half-samples, if it is asked for."""
    if arguments.stability is None:
        return None
    try:
        return stability_selection(
            STPCASelector(**parameters),
            dataset.data,
            n_resamples=arguments.stability,
            n_jobs=arguments.jobs or 1,
            verbose=not console.quiet,
        )
    except ValueError as error:
        raise ValueError(f"{arguments.input}: {str(error).splitlines()[0]}") from None


def say_stability(console: Console, found: StabilitySelection | None) -> None:
    """Print what was found, if it was looked for."""
    if found is not None:
        first, *others = found.reason.splitlines()
        for word, line in [("stability", first), *(("", line) for line in others)]:
            console.say(f"{word:<10}{line}")


def stability_table(found: StabilitySelection, names: ModeNames) -> str:
    """All features as CSV, those that most half-samples keep first."""
    rows = found.to_rows()
    for row in rows:
        place = [row.pop(f"mode_{mode}") for mode in range(len(found.feature_shape))]
        row["name"] = names.describe(place)
    return to_csv(rows)
