"""Draw `docs/images/label_free.png`: the gain of every contestant over random features.

``python -m benchmarks.label_free._figure [results folder] [picture]`` draws the last results.
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from benchmarks._data import ROOT
from benchmarks._results import write_beside
from benchmarks.label_free._contestants import DEFAULT, GEOMETRY
from benchmarks.label_free._subjects import AT_HAND, DISTURBED, PACKAGED

COLOURS = {AT_HAND: "#1f6fb4", PACKAGED: "#d95f02", DISTURBED: "#7a7a7a"}
LABELS = {AT_HAND: "at hand", PACKAGED: "packaged, not tuned on", DISTURBED: "disturbed"}
OFFSETS = {AT_HAND: 0.22, PACKAGED: 0.0, DISTURBED: -0.22}
OURS = (GEOMETRY, DEFAULT)


def draw(values, picture, metric="acc"):
    """Draw three lines per contestant, best first: a dot per set, and the mean of each origin."""
    values = [row for row in values if row["metric"] == metric]
    names = {row["contestant"] for row in values}
    found = {name: _by_origin(values, name) for name in names}
    overall = {name: np.mean(np.concatenate(list(of.values()))) for name, of in found.items()}
    names = sorted(names, key=lambda name: -overall[name])
    figure, axis = plt.subplots(figsize=(9, 1.3 + 0.42 * len(names)), layout="constrained")
    axis.axvline(0, color="#888888", linewidth=1)
    for place, name in enumerate(names):
        for origin, gains in found[name].items():
            height, colour = OFFSETS[origin] - place, COLOURS[origin]
            heights = np.full(len(gains), height)
            axis.plot(gains, heights, "o", color=colour, markersize=3.5, alpha=0.45, mew=0)
            label = LABELS[origin] if place == 0 else None
            mean = np.mean(gains)
            axis.plot(mean, height, "D", color=colour, markersize=6, mec="white", label=label)
    axis.set_yticks([-place for place in range(len(names))], names)
    for text, name in zip(axis.get_yticklabels(), names, strict=True):
        text.set_fontweight("bold" if name in OURS else "normal")
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


def _by_origin(values, name):
    """Return the gains of a contestant on the sets of each origin."""
    found = {}
    for row in values:
        if row["contestant"] == name:
            found.setdefault(row["sets"], []).append(float(row["gain"]))
    return {origin: np.array(found[origin]) for origin in COLOURS if origin in found}


def _read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [ROOT / "benchmarks" / "results", ROOT / "docs" / "images" / "label_free.png"]
    results, target = (*given, *defaults[len(given) :])
    draw(_read(results / "label_free_values.csv"), target)
