"""Accuracy and NMI of STPCA-MP over its two regularisation parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet, load_set
from tensift.paper._study import GRID, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_SETS = ("JAFFE", "USPS")
_FEATURES = 100
_METRICS = {"acc": "accuracy", "nmi": "NMI"}
_NOTES = (
    "Numbers are in per cent, for {count} features. Colours are the points lost against the best "
    "cell of the panel, on one scale: panels that look alike are equally sensitive",
    "`±` is the median over the cells of the standard error of the mean over {repeats} runs of "
    "k-means: cells that differ by less may not differ",
    "The frame is the best cell, **chosen with the labels**",
    "In cells marked `by index` the selected pixels are exactly the first ones, column by column. "
    "This happens if all other scores are zero, because the authors' program sorts them so",
    "All cells of the grid are run here, even if other experiments run only a part of them",
    "The paper shows this as pictures without numbers. It says that JAFFE degrades only at "
    "excessively large parameters, and that USPS hardly depends on them",
)
_CLOSE = 2.0  # points; a cell that loses less is as good in practice


def _n_features(data: PaperSet) -> int:
    """The paper's number of features, or the largest number of a smaller dataset."""
    return _FEATURES if load_set(data.name).data[0].size > _FEATURES else data.counts[-1]


def _fits(study: Study, data: PaperSet) -> list[Fit]:
    """The fits; those of other experiments, if they include the number of features."""
    count = _n_features(data)
    whole = replace(study, cells=None)
    return [
        fit if count in fit.counts else replace(fit, counts=(count,))
        for contender in whole.contenders()
        if contender.name == "STPCASelector"
        for fit in whole.fits(contender, data)
    ]


def _tasks(study: Study) -> list[Fit]:
    return [fit for data in study.pick(*_SETS) for fit in _fits(study, data)]


def _report(study: Study, results: Results) -> Report:
    sets = study.pick(*_SETS)
    rows = [row for data in sets for fit in _fits(study, data) for row in _rows(fit, data, results)]
    counts = " and ".join(dict.fromkeys(str(row["n_features"]) for row in rows))
    notes = [note.format(count=counts, repeats=study.repeats) for note in _NOTES]
    notes += [f"{data.name}: {data.note}" for data in sets if data.note]
    if not rows:
        notes = ["Nothing to show: STPCA-MP is not among the methods, or both datasets are missing"]
    tables = {"": Table("Every cell", rows, shown=False)}
    if rows:
        tables["summary"] = Table("How much the parameters matter, points", _summary(rows))
    return Report(
        "Sensitivity of STPCA-MP to its parameters",
        tables,
        (lambda figure: _draw(figure, rows)) if rows else None,
        notes,
        study.absent(*_SETS),
    )


def _rows(fit: Fit, data: PaperSet, results: Results) -> list[dict[str, Any]]:
    count = _n_features(data)
    place, settings, result = fit.counts.index(count), dict(fit.settings), results[fit]
    # np.std divides by n, so the standard error of the mean divides by n - 1.
    runs = max(fit.repeats - 1, 1)
    by_index = _is_by_index(result["features"][:count], load_set(data.name).data.shape[1:])
    return [
        {
            "data": data.name,
            "metric": metric,
            "lam": settings["lam"],
            "eta": settings["eta"],
            "n_features": count,
            "ours": 100 * result[metric][place],
            "std_over_k_means": 100 * result[f"{metric}_std"][place],
            "standard_error": 100 * result[f"{metric}_std"][place] / runs**0.5,
            "by_index": by_index,
        }
        for metric in _METRICS
    ]


def _is_by_index(features: Sequence[int], shape: tuple[int, ...]) -> bool:
    """Whether features are the first ones column by column, as when all scores are equal."""
    first = np.unravel_index(np.arange(len(features)), shape, order="F")
    return set(features) == set(np.ravel_multi_index(first, shape).tolist())


def _panels(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows by set and metric."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["data"], row["metric"]), []).append(row)
    return found


def _summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    table = []
    for (data, metric), cells in _panels(rows).items():
        values = [row["ours"] for row in cells]
        best = max(cells, key=lambda row: row["ours"])
        table.append(
            {
                "data": data,
                "metric": _METRICS[metric],
                "features": best["n_features"],
                "best": max(values),
                "median cell": float(np.median(values)),
                "worst": min(values),
                "±": float(np.median([row["standard_error"] for row in cells])),
                f"cells that lose less than {_CLOSE:g}": (
                    f"{sum(value > max(values) - _CLOSE for value in values)} of {len(values)}"
                ),
                "cells by index": sum(row["by_index"] for row in cells),
                "best cell": f"lam={best['lam']:g}, eta={best['eta']:g}",
            }
        )
    return table


def _draw(figure: Figure, rows: Sequence[dict[str, Any]]) -> None:
    """Datasets down, metrics across; colours are losses against the panel's best cell."""
    panels = _panels(rows)
    sets = list(dict.fromkeys(data for data, _ in panels))
    most = max(np.ptp([row["ours"] for row in cells]) for cells in panels.values())
    figure.set_size_inches(10.4, 0.4 + 4.1 * len(sets))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(len(sets), len(_METRICS), squeeze=False)
    for ax, ((data, metric), cells) in zip(axes.ravel(), panels.items(), strict=True):
        drawn = _draw_panel(ax, cells, float(most) or 1.0)
        values = [row["ours"] for row in cells]
        title = f"{data}, {_METRICS[metric]} in %: {min(values):.1f} to {max(values):.1f}"
        ax.set_title(title, fontsize="medium", fontweight="bold")
    bar = figure.colorbar(drawn, ax=axes, shrink=0.6, label="points below the panel's best cell")
    bar.ax.invert_yaxis()
    bar.outline.set_visible(False)


def _draw_panel(ax: Axes, cells: Sequence[dict[str, Any]], most: float) -> Any:
    from matplotlib.patches import Rectangle

    best = max(cells, key=lambda row: row["ours"])
    loss = np.empty((len(GRID), len(GRID)))
    for row in cells:
        down, across = GRID.index(row["eta"]), GRID.index(row["lam"])
        loss[down, across] = best["ours"] - row["ours"]
        dark = loss[down, across] > 0.5 * most
        ax.text(
            across, down, f"{row['ours']:.1f}", ha="center", va="center",
            color="white" if dark else "black", fontweight="bold" if row is best else "normal",
        )  # fmt: skip
        if row["by_index"]:
            ax.text(across, down - 0.32, "by index", ha="center", va="center", fontsize=7,
                    color="white" if dark else "black")  # fmt: skip
    drawn = ax.imshow(loss, cmap="viridis_r", vmin=0, vmax=most, origin="lower", aspect="auto")
    place = GRID.index(best["lam"]) - 0.48, GRID.index(best["eta"]) - 0.48
    ax.add_patch(Rectangle(place, 0.96, 0.96, fill=False, edgecolor="black", linewidth=2))
    names = [f"{value:g}" for value in GRID]
    ax.set_xticks(range(len(GRID)), names)
    ax.set_yticks(range(len(GRID)), names)
    ax.set_xlabel("λ")
    ax.set_ylabel("η")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return drawn


EXPERIMENT = Experiment(
    "sensitivity", "STPCA-MP over its two regularisation parameters", _tasks, _report
)
