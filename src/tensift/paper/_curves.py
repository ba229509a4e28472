"""Accuracy, NMI and silhouette against the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.paper._drawing import method_style, methods_of_the_paper
from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._outcomes import Outcomes
from tensift.paper._printed import printed_metrics
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet
from tensift.paper._study import Contender, Study
from tensift.plotting import tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_SETS = ("PIE", "COIL20", "JAFFE", "BreastMNIST", "Imm40", "USPS")
_RANDOM = "random selection"
_METRICS = {
    "acc": "accuracy, %",
    "nmi": "NMI, %",
    "silhouette": "silhouette × 100",
}
_NOTES = (
    "A point is the best of all cells of the grid at that number of features: **chosen with the "
    "labels**, as in the paper. This choice alone gains more if there are more cells. For methods "
    "with random starts, the point is the mean over seeds of each seed's best",
    "Random selection has no grid: its line is the mean of all draws, and the grey band reaches "
    "from the worst draw to the best. If a method with many cells stays within the band, luck "
    "explains its result",
    "The dashed level is that of all features. The star at the right edge is the largest value "
    "that the paper prints for STPCA-MP; its curves are pictures without numbers",
    "Methods that need a fit for each number of features (RNE, NLGMS) have every second number",
    "Accuracy and NMI in per cent, the silhouette of the true labels times 100. Axes do not start "
    "at zero, and differ between panels",
)
_TOPS = "ours @ its number of features (the paper's best at any number)"


def _methods(study: Study) -> list[Contender]:
    return methods_of_the_paper(study, "maximum variance", _RANDOM)


def _tasks(study: Study) -> list[Fit]:
    return [
        fit
        for data in study.pick(*_SETS)
        for contender in _methods(study)
        for fit in study.fits(contender, data)
    ]


def _report(study: Study, results: Results) -> Report:
    rows = [
        row
        for data in study.pick(*_SETS)
        for contender in _methods(study)
        for row in _rows(contender, data, study.fits(contender, data), results)
    ]
    tables = {"": Table("Every point", rows, shown=False)}
    for metric, title in _METRICS.items():
        if chosen := [row for row in rows if row["metric"] == metric]:
            tables[metric] = Table(f"Top of the curve: {title}", _tops(chosen), (_TOPS,))
    kinds = [f"{data.name}: {data.note}" for data in study.pick(*_SETS) if data.note]
    return Report(
        "Clustering against the number of features",
        tables,
        (lambda figure: _draw(figure, rows)) if rows else None,
        (*_NOTES, *kinds),
        study.absent(*_SETS),
    )


def _rows(
    contender: Contender, data: PaperSet, fits: Sequence[Fit], results: Results
) -> list[dict[str, Any]]:
    """A row for each metric and number of features, in points."""
    everything = Outcomes(contender, data, fits, results)
    of_seeds = [
        Outcomes(contender, data, [fit for fit in fits if fit.seed == seed], results)
        for seed in everything.seeds
    ]
    printed = printed_metrics(contender.paper_name, data.name)
    rows = []
    for metric in data.metrics:
        curves = [outcomes.curve(metric) for outcomes in of_seeds]
        for count, value in everything.curve(metric).items():
            rows.append(
                {
                    "data": data.name,
                    "method": contender.label,
                    "metric": metric,
                    "n_features": count,
                    "ours": 100 * value,
                    "lowest_seed": 100 * min(curve[count] for curve in curves),
                    "highest_seed": 100 * max(curve[count] for curve in curves),
                    "seeds": len(curves),
                    "cells": f"{everything.cells} of {everything.cells_of_grid}",
                    "paper_best": 100 * printed[metric] if printed else None,
                }
            )
    return rows


def _tops(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Methods by sets."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        line: dict[str, Any] = {"method": method}
        for name in sets:
            points = [row for row in rows if (row["method"], row["data"]) == (method, name)]
            line[name] = _text(max(points, key=lambda row: row["ours"])) if points else None
        table.append(line)
    return table


def _text(row: dict[str, Any]) -> str:
    text = f"{row['ours']:.1f} @ {row['n_features']}"
    return text if row["paper_best"] is None else f"{text} ({row['paper_best']:.1f})"


def _draw(figure: Figure, rows: Sequence[dict[str, Any]]) -> None:
    """Metrics down, sets across."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    figure.set_size_inches(max(6.4, 0.8 + 2.6 * len(sets)), 1.2 + 2.3 * len(metrics))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(len(metrics), len(sets), sharex="col", squeeze=False)
    handles: dict[str, Any] = {}
    for down, metric in enumerate(metrics):
        for across, name in enumerate(sets):
            ax = axes[down, across]
            shown = [row for row in rows if (row["metric"], row["data"]) == (metric, name)]
            handles = _draw_panel(ax, shown) | handles
            if down == 0:
                ax.set_title(name, fontweight="bold")
            if across == 0:
                ax.set_ylabel(_METRICS[metric])
            if down == len(metrics) - 1:
                ax.set_xlabel("features kept")
    methods = [row["method"] for row in rows] + list(handles)
    ordered = [handles[label] for label in dict.fromkeys(methods) if label in handles]
    columns = int(figure.get_figwidth() / 1.9)
    figure.legend(handles=ordered, loc="outside lower center", ncols=columns, frameon=False)
    figure.align_ylabels()


def _draw_panel(ax: Axes, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The lines of one metric on one set, by label."""
    counts = sorted({row["n_features"] for row in rows if row["method"] != "All Features"})
    handles: dict[str, Any] = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        points = [row for row in rows if row["method"] == method]
        values = [row["ours"] for row in points]
        style = method_style(method)
        if method == "All Features":
            style = {key: style[key] for key in ("color", "linestyle", "linewidth")}
            handles[method] = ax.axhline(values[0], **style, label=method, zorder=2)
            continue
        places = [row["n_features"] for row in points]
        (handles[method],) = ax.plot(places, values, **style, label=method)
        if method == _RANDOM:
            low, high = ([row[f"{end}_seed"] for row in points] for end in ("lowest", "highest"))
            ax.fill_between(places, low, high, color="0.6", alpha=0.2, linewidth=0, zorder=1)
        if method == "STPCA-MP" and points[0]["paper_best"] is not None:
            (handles["the paper's STPCA-MP"],) = ax.plot(
                1.0, points[0]["paper_best"], "*", transform=ax.get_yaxis_transform(),
                color=style["color"], markerfacecolor="white", markersize=11, linestyle="none",
                clip_on=False, zorder=6, label="the paper's STPCA-MP",
            )  # fmt: skip
    if counts:
        ax.set_xticks(counts)
        margin = 0.05 * (np.ptp(counts) or 1)
        ax.set_xlim(counts[0] - margin, counts[-1] + margin)
    ax.grid(color="0.93", linewidth=0.8)
    ax.set_axisbelow(True)
    tidy(ax)
    return handles


EXPERIMENT = Experiment(
    "curves", "accuracy, NMI and silhouette against the number of features", _tasks, _report
)
