"""``tensift demo``: the method at work on data that need no download."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from tensift import STPCASelector
from tensift.cli._console import Console
from tensift.cli._figures import figure_for_file, save_figure
from tensift.cli._output import OutputFolder
from tensift.datasets import TensorDataset, load_digits, make_orbit
from tensift.metrics import SelectionEvaluation, evaluate_selection
from tensift.plotting import (
    EvaluationDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionDisplay,
)
from tensift.plotting._matplotlib import require_matplotlib
from tensift.selectors import rank_features

__all__ = ["add_parser", "run"]

# These names can only be ours, so that a second demo may replace the first.
_DIGITS_PICTURE = "tensift-digits.png"
_DIGITS_TABLE = "tensift-digits.csv"
_ORBIT_PICTURE = "tensift-orbit.png"

_N_PIXELS = 20
_COUNTS = (5, 10, 15, 20, 30, 40, 50)
_N_REPEATS = 10
_N_RANDOM = 5
_SEED = 0

_EPILOG = """\
written to the output folder:
  tensift-digits.png   pixels of handwritten digits: the score map, the selected pixels, and how
                       well they cluster beside variance, random pixels and all pixels
  tensift-digits.csv   the accuracies behind the picture
  tensift-orbit.png    channels of a synthetic recording: three carry an orbit, six are noise

examples:
  tensift demo
  tensift demo --output pictures
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="select pixels and channels on bundled data, ending in pictures",
        description="Select pixels and channels on bundled data, ending in pictures.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", default=Path("demo"),
        help="where to write (default: demo)",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    require_matplotlib()
    files = (_DIGITS_PICTURE, _DIGITS_TABLE, _ORBIT_PICTURE)
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
    selector = STPCASelector(n_features_to_select=max(_COUNTS)).fit(digits.data)
    selector.set_params(n_features_to_select=_N_PIXELS)  # the first of those
    evaluations = compare_on_digits(digits, selector.ranking_, console)
    console.say(
        f"k-means accuracy on {_N_PIXELS} pixels (mean of {_N_REPEATS} runs; labels serve only "
        "to measure):"
    )
    accuracy = {name: _accuracy_at(_N_PIXELS, found) for name, found in evaluations.items()}
    for name, value in accuracy.items():
        console.say(f"  {name:<18} {value:.3f}")
    console.say(
        f"Best here: {max(accuracy, key=accuracy.__getitem__)}. A selection has to beat random "
        "pixels; where ink varies is where digits differ, so variance is a strong rival."
    )
    output.write(
        _DIGITS_PICTURE, lambda stream: _draw_digits(stream, digits, selector, evaluations)
    )
    output.write_text(_DIGITS_TABLE, _table(evaluations))


def compare_on_digits(
    digits: TensorDataset, ranking: np.ndarray, console: Console
) -> dict[str, SelectionEvaluation]:
    """Accuracy of k-means on the best pixels, by our ranking and by what it must stand beside."""
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
    """The accuracy at a number of features; all features have only one number."""
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
    stream: Any,
    digits: TensorDataset,
    selector: STPCASelector,
    evaluations: dict[str, SelectionEvaluation],
) -> None:
    with figure_for_file() as figure:
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
        ScoreMapDisplay.from_estimator(selector, dims=digits.dims, ax=parts[0].subplots())
        SelectedFeaturesDisplay.from_estimator(
            selector, digits.data, dims=digits.dims, ax=parts[1].subplots()
        )
        EvaluationDisplay(evaluations).plot(parts[2].subplots())
        save_figure(figure, stream, "png")


def _table(evaluations: dict[str, SelectionEvaluation]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["method", "n_features", "accuracy", "std"])
    for name, evaluation in evaluations.items():
        for row in evaluation.to_rows():
            table.writerow([name, row["n_features"], row["acc"], row["acc_std"]])
    return text.getvalue()


def _show_orbit(output: OutputFolder, console: Console) -> None:
    orbit = make_orbit(random_state=_SEED)
    assert orbit.informative is not None
    truth = set(orbit.informative.tolist())
    console.say("Orbit: 100 recordings of 9 channels, 41 points each; every channel is a feature.")
    console.say(f"Channels {sorted(truth)} carry a circular orbit, the others are noise.")
    selector = STPCASelector(n_features_to_select=len(truth), feature_mode=0).fit(orbit.data)
    kept = selector.get_support(indices=True).tolist()
    loudest = np.sort(rank_features(orbit.data.var(axis=(0, 2)))[: len(truth)]).tolist()
    console.say(f"  STPCA-MP keeps {kept}: {len(truth & set(kept))} of {len(truth)} right")
    console.say(f"  variance keeps {loudest}: {len(truth & set(loudest))} of {len(truth)} right")
    with figure_for_file() as figure:
        SelectionDisplay.from_estimator(
            selector,
            orbit.data,
            title=f"Orbit: {len(kept)} of {orbit.feature_shape[0]} channels kept",
            dims=orbit.dims,
            figure=figure,
        )
        output.write(_ORBIT_PICTURE, lambda stream: save_figure(figure, stream, "png"))
