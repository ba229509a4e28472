"""``tensift demo``: show the method on data that need no download."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift import STPCASelector
from tensift._utils.tables import csv_text
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, add_console_arguments
from tensift.cli._figures import write_figure
from tensift.cli._output import OutputFolder
from tensift.datasets import TensorDataset, load_digits, make_orbit
from tensift.metrics import SelectionEvaluation, evaluate_selection
from tensift.plotting import (
    EvaluationDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionDisplay,
    require_matplotlib,
)
from tensift.selection import rank_features

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_parser", "run"]

# Nobody else uses these names, so a second demo may replace the files of the first.
_DIGITS = "tensift-digits"
_DIGITS_TABLE = f"{_DIGITS}.csv"
_ORBIT = "tensift-orbit"

_N_PIXELS = 20
_COUNTS = (5, 10, 15, 20, 30, 40, 50)
_N_REPEATS = 10
_N_RANDOM = 5
_SEED = 0

_EPILOG = """\
written to the output folder:
  tensift-digits.png   pixels of handwritten digits: the score map, the selected pixels, and how
                       well they cluster, compared with variance, random pixels and all pixels
  tensift-digits.csv   the accuracies that the picture shows
  tensift-orbit.png    channels of a synthetic recording: three carry an orbit, six are noise

examples:
  tensift demo
  tensift demo --output pictures
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help=COMMANDS["demo"],
        description="Select pixels and channels of bundled data, and draw them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path("demo"),
        help="where to write (default: demo)",
    )  # fmt: skip
    add_console_arguments(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    require_matplotlib()
    files = (f"{_DIGITS}.png", _DIGITS_TABLE, f"{_ORBIT}.png")
    with OutputFolder(arguments.output, files, overwrite=True) as output:
        _show_digits(output, console)
        console.say()
        _show_orbit(output, console)
    console.say()
    console.say("Pictures and numbers:")
    for name in output.written:
        console.say(f"  {arguments.output / name}")


def _show_digits(output: OutputFolder, console: Console) -> None:
    digits = load_digits()
    console.say("Handwritten digits: 1797 images of 8 x 8 pixels; every pixel is a feature.")
    selector = STPCASelector(n_features_to_select=max(_COUNTS)).fit(digits)
    selector.set_params(n_features_to_select=_N_PIXELS)  # keeps the best of them
    evaluations = compare_on_digits(digits, selector.order_, console)
    console.say(
        f"k-means accuracy on {_N_PIXELS} pixels (mean of {_N_REPEATS} runs; labels are used "
        "only to measure):"
    )
    accuracy = {name: _accuracy_at(_N_PIXELS, found) for name, found in evaluations.items()}
    for name, value in accuracy.items():
        console.say(f"  {name:<18} {value:.3f}")
    console.say(
        f"Best here: {max(accuracy, key=accuracy.__getitem__)}. A selection has to beat random "
        "pixels. Digits differ where the ink varies, so variance is a strong rival."
    )
    output.write_text(_DIGITS_TABLE, _table(evaluations))
    write_figure(
        output, _DIGITS, ["png"], lambda figure: _draw_digits(figure, digits, selector, evaluations)
    )


def compare_on_digits(
    digits: TensorDataset, ranking: np.ndarray, console: Console
) -> dict[str, SelectionEvaluation]:
    """Accuracy of k-means on the best pixels, by our ranking, variance and chance."""
    assert digits.labels is not None
    X, labels = digits.data, digits.labels
    rng = np.random.default_rng(_SEED)
    rankings = [ranking, rank_features(X.var(axis=0))]
    rankings += [rng.permutation(X[0].size) for _ in range(_N_RANDOM)]
    report = console.progress("k-means", len(rankings))
    scored = []
    for done, order in enumerate(rankings, start=1):
        scored.append(
            evaluate_selection(
                X, labels, order, counts=_COUNTS, n_repeats=_N_REPEATS, metrics=["acc"]
            )
        )
        report(done)
    everything = evaluate_selection(
        X, labels, np.ones(X[0].size, bool), n_repeats=_N_REPEATS, metrics=["acc"]
    )
    return {
        "STPCA-MP": scored[0],
        "variance": scored[1],
        "random": _over_draws(scored[2:]),
        f"all {X[0].size} pixels": everything,
    }


def _accuracy_at(count: int, evaluation: SelectionEvaluation) -> float:
    """The accuracy at a number of features; for all features there is only one number."""
    place = evaluation.counts.index(count) if count in evaluation.counts else 0
    return float(evaluation.means["acc"][place])


def _over_draws(evaluations: list[SelectionEvaluation]) -> SelectionEvaluation:
    """Mean over random rankings, and the spread between them."""
    values = np.array([evaluation.means["acc"] for evaluation in evaluations])
    return SelectionEvaluation(
        evaluations[0].counts,
        {"acc": values.mean(axis=0)},
        {"acc": values.std(axis=0)},
        evaluations[0].n_repeats,
    )


def _draw_digits(
    figure: Figure,
    digits: TensorDataset,
    selector: STPCASelector,
    evaluations: dict[str, SelectionEvaluation],
) -> None:
    figure.set_size_inches(12.0, 3.9)
    figure.set_layout_engine("constrained")
    parts: Any = figure.subfigures(1, 3, width_ratios=[1.08, 0.95, 1.25])
    titles = (
        "Score of every pixel",
        f"The {_N_PIXELS} kept, on a sample",
        "How well the kept pixels cluster",
    )
    for part, title in zip(parts, titles, strict=True):
        part.suptitle(title, x=0.03, ha="left", fontweight="bold", fontsize="medium")
    ScoreMapDisplay.from_estimator(selector, ax=parts[0].subplots())
    SelectedFeaturesDisplay.from_estimator(selector, digits, ax=parts[1].subplots())
    EvaluationDisplay(evaluations).plot(parts[2].subplots())


def _table(evaluations: dict[str, SelectionEvaluation]) -> str:
    rows = [
        [name, row["n_features"], row["acc"], row["acc_std"]]
        for name, evaluation in evaluations.items()
        for row in evaluation.to_rows()
    ]
    return csv_text(["method", "n_features", "accuracy", "std"], rows)


def _show_orbit(output: OutputFolder, console: Console) -> None:
    orbit = make_orbit(random_state=_SEED)
    assert orbit.informative is not None
    truth = set(orbit.informative.tolist())
    console.say("Orbit: 100 recordings of 9 channels, 41 points each; every channel is a feature.")
    console.say(f"Channels {sorted(truth)} carry a circular orbit, the others are noise.")
    selector = STPCASelector(n_features_to_select=len(truth), feature_mode="channel").fit(orbit)
    kept = selector.get_support(indices=True).tolist()
    loudest = np.sort(rank_features(orbit.data.var(axis=(0, 2)))[: len(truth)]).tolist()
    console.say(f"  STPCA-MP keeps {kept}: {len(truth & set(kept))} of {len(truth)} right")
    console.say(f"  variance keeps {loudest}: {len(truth & set(loudest))} of {len(truth)} right")
    title = f"Orbit: {len(kept)} of {orbit.feature_shape[0]} channels kept"
    display = SelectionDisplay(selector, orbit, title=title)
    write_figure(output, _ORBIT, ["png"], display.plot)
