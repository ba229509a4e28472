"""Draw `docs/images/label_free.png`: the gain of every contestant over random features.

``python -m benchmarks.label_free._figure [results folder] [picture]`` draws the last results.
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks._data import ROOT
from benchmarks._results import write_beside

COLOURS = {"top": "#d95f02", "diverse": "#1f6fb4", "": "#333333"}
LABELS = {"top": "largest scores", "diverse": "diverse", "": "other"}
OURS = "STPCA"  # names of our own settings start with this; they are diverse unless they say top


def draw(means, values, picture, metric="acc"):
    """Draw one line per contestant, best first: a dot per set, the mean and its interval."""
    means = [row for row in means if row["metric"] == metric]
    best = {}
    for row in means:
        best[row["contestant"]] = max(float(row["gain"]), best.get(row["contestant"], -100.0))
    names = sorted(best, key=lambda name: -best[name])
    figure, axis = plt.subplots(figsize=(9, 1.3 + 0.34 * len(names)), layout="constrained")
    axis.axvline(0, color="#888888", linewidth=1)
    labelled = set()
    for row in means:
        selection, height = row["selection"], -names.index(row["contestant"])
        height += {"top": 0.16, "diverse": -0.16, "": 0}[selection]
        shown = selection or ("diverse" if OURS in row["contestant"] else "")
        colour = COLOURS[shown]
        dots = [
            float(value["gain"])
            for value in values
            if (value["metric"], value["contestant"]) == (metric, row["contestant"])
            and value["selection"] == selection
        ]
        axis.plot(dots, [height] * len(dots), "o", color=colour, markersize=4, alpha=0.45, mew=0)
        gain, low, high = (float(row[key]) for key in ("gain", "low", "high"))
        axis.plot([low, high], [height] * 2, color=colour, linewidth=1.4)
        label = None if shown in labelled else LABELS[shown]
        labelled.add(shown)
        axis.plot(
            gain, height, "D", color=colour, markersize=5, markeredgecolor="white", label=label
        )
    axis.set_yticks([-place for place in range(len(names))], names)
    for text, name in zip(axis.get_yticklabels(), names, strict=True):
        text.set_fontweight("bold" if name.startswith(OURS) else "normal")
    axis.set_ylim(-len(names) + 0.4, 0.6)
    axis.set_xlabel("points of k-means accuracy above random features; one dot per set")
    axis.grid(axis="x", color="#e5e5e5")
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    write_beside(Path(picture), lambda file: figure.savefig(file, dpi=80))
    plt.close(figure)


def _read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [ROOT / "benchmarks" / "results", ROOT / "docs" / "images" / "label_free.png"]
    results, target = (*given, *defaults[len(given) :])
    tables = [_read(results / f"label_free_{name}.csv") for name in ("means", "values")]
    draw(*tables, target)
