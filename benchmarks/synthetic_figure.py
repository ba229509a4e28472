"""Draw `docs/images/synthetic.png` from the table of the benchmark `synthetic`.

``python -m benchmarks.synthetic_figure [results folder] [picture]``
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
from benchmarks.synthetic import GRID

CHANCE = {"Orbit": 3 / 9, "Array": 4 / 100}
FIRST = {"Orbit": "3 channels", "Array": "4 units"}


def draw(results, picture):
    with open(results / "synthetic_cells.csv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    accounts = list(dict.fromkeys(row["account"] for row in rows))
    panels = [(data, orientation) for data in ("Orbit", "Array") for orientation in (0, 1)]
    figure, axes = plt.subplots(
        len(panels),
        len(accounts),
        figsize=(2.6 * len(accounts) + 1, 9.2),
        layout="constrained",
        squeeze=False,
    )
    labels = [f"{value:g}" for value in GRID]
    for line, (data, orientation) in zip(axes, panels, strict=True):
        for axis, account in zip(line, accounts, strict=True):
            shares = np.full((len(GRID), len(GRID)), np.nan)
            for row in rows:
                if (row["data"], row["account"]) == (data, account) and (
                    int(row["orientation"]) == orientation
                ):
                    place = GRID.index(float(row["lam"])), GRID.index(float(row["eta"]))
                    shares[place] = float(row["share right"])
            image = axis.imshow(shares, vmin=0, vmax=1, cmap="viridis", origin="lower")
            axis.set_xticks(range(len(GRID)), labels)
            axis.set_yticks(range(len(GRID)), labels)
            axis.set_title(account.removeprefix("our "), fontsize=9)
        chance = f"chance {CHANCE[data]:.2f}"
        line[0].set_ylabel(
            f"{data}, orientation {orientation}\n(first {FIRST[data]}, {chance})\nλ", fontsize=8
        )
    for axis in axes[-1]:
        axis.set_xlabel("η")
    figure.colorbar(
        image,
        ax=axes,
        shrink=0.5,
        label="share right among the first, mean of trials (ties at random)",
    )
    write_beside(picture, lambda file: figure.savefig(file, dpi=90))
    plt.close(figure)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:]]
    defaults = [ROOT / "benchmarks" / "results", ROOT / "docs" / "images" / "synthetic.png"]
    draw(*given, *defaults[len(given) :])
