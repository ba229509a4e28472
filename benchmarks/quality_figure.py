"""Draw `docs/images/solvers.png` from the tables of the benchmark `quality`.

``python -m benchmarks.quality_figure [results folder] [picture]``
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks._data import ROOT
from benchmarks._results import write_beside
from benchmarks.quality import SOLVERS

COLOURS = {"paper": "#d95f02", "exact": "#1f6fb4"}
PLAIN = {"variance": ("|", "#333333"), "random": ("x", "#888888"), "all": ("+", "#888888")}
CHANNELS = ("Orbit", "UCIDSA", "UCIHAR_rebuilt_from_HAPT", "ASCH")


def draw(results, picture):
    cells = _read(results / "quality_cells.csv")
    panels = [("acc", "k-means accuracy, per cent", False), ("poc", "POC, per cent", True)]
    rows = [
        [row for row in _read(results / f"quality_{metric}.csv") if (row["data"] in CHANNELS) == of]
        for metric, _, of in panels
    ]
    figure, axes = plt.subplots(
        1,
        2,
        figsize=(10, 1.2 + 0.4 * max(map(len, rows))),
        width_ratios=(1.4, 1),
        layout="constrained",
    )
    for axis, (metric, label, _), lines in zip(axes, panels, rows, strict=True):
        for height, row in enumerate(lines):
            _draw_row(axis, -height, row, cells, metric)
        axis.set_yticks([-height for height in range(len(lines))], [_name(row) for row in lines])
        axis.set_ylim(-len(lines) + 0.4, 0.6)
        axis.set_xlabel(label)
        axis.grid(axis="x", color="#e5e5e5")
        axis.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axis.spines[side].set_visible(False)
        axis.tick_params(axis="y", length=0)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    write_beside(picture, lambda file: figure.savefig(file, dpi=90))
    plt.close(figure)


def _draw_row(axis, height, row, cells, metric):
    first = height == 0
    for solver, side in zip(SOLVERS, (0.14, -0.14), strict=True):
        of_solver = [
            cell
            for cell in cells
            if (cell["data"], cell["solver"]) == (row["data"], solver)
            and cell["orientation"] == row["orientation"][0]
        ]
        values = [float(cell[metric]) for cell in of_solver]
        axis.plot(
            values,
            [height + side] * len(values),
            "o",
            color=COLOURS[solver],
            markersize=4,
            alpha=0.35,
            markeredgewidth=0,
            label=f"{solver}, every cell" if first else None,
        )
        axis.plot(
            float(row[f"{solver}, default"]),
            height + side,
            "D",
            color=COLOURS[solver],
            markersize=5.5,
            markeredgecolor="white",
            label=f"{solver}, default" if first else None,
        )
    for method, (marker, colour) in PLAIN.items():
        if row[method]:
            axis.plot(
                float(row[method]),
                height,
                marker,
                color=colour,
                markersize=13 if marker == "|" else 6,
                markeredgewidth=1.6,
                linestyle="",
                label=f"{method} features" if method == "all" else method,
            )
            if not first:
                axis.lines[-1].set_label(None)


def _name(row):
    data = "UCIHAR" if row["data"].startswith("UCIHAR") else row["data"]
    star = "*" if "authors" in row["orientation"] else ""
    return f"{data}, {row['orientation'][0]}{star}"


def _read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [ROOT / "benchmarks" / "results", ROOT / "docs" / "images" / "solvers.png"]
    draw(*given, *defaults[len(given) :])
