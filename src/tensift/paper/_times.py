"""Mean training time over the grid, compared with the seconds that the paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.paper._drawing import method_style
from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._outcomes import Outcomes
from tensift.paper._printed import printed_metrics
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet, load_set
from tensift.paper._study import Contender, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_SETS = ("JAFFE", "UMCS", "ASCH", "USPS")
_UNTRAINED = ("AllFeatures", "RandomSelector")
_NOTES = (
    "A fit is timed from the samples to the ranking, in seconds of processor time of one thread. "
    "The bar is the mean over the cells of the grid that were run, and the whisker reaches from "
    "the fastest cell to the slowest",
    "The paper draws the mean over its grid but prints only the seconds of its best cell. We print "
    "them next to those of our best cell (best accuracy or POC, chosen with the labels)",
    "**Another machine, another language**: the paper's seconds are those of MATLAB programs at "
    "2.2 GHz, ours those of this library here. Compare methods within ours and within theirs",
    "Methods that need a fit for each number of features (RNE, NLGMS, MCFS) count one fit here, "
    "although a curve over six numbers needs six",
)


def _pairs(study: Study) -> list[tuple[Contender, PaperSet]]:
    return [
        (contender, data)
        for data in study.pick(*_SETS)
        for contender in study.contenders()
        if contender.name not in _UNTRAINED
    ]


def _tasks(study: Study) -> list[Fit]:
    return [fit for contender, data in _pairs(study) for fit in study.fits(contender, data)]


def _report(study: Study, results: Results) -> Report:
    rows = [
        _row(Outcomes(contender, data, study.fits(contender, data), results), results)
        for contender, data in _pairs(study)
    ]
    return Report(
        "Training time",
        {
            "": Table("Seconds of a fit", rows, shown=False),
            "mean": Table(
                "Mean seconds of a fit (seconds of our best cell; of the paper's)", _matrix(rows)
            ),
        },
        (lambda figure: _draw(figure, rows)) if rows else None,
        _NOTES,
        study.absent(*_SETS),
    )


def _row(outcomes: Outcomes, results: Results) -> dict[str, Any]:
    contender, data = outcomes.contender, outcomes.data
    seconds = [result["seconds"] for _, result in outcomes.results]
    best = outcomes.best(data.metrics[0]).fit
    dataset = load_set(data.name)
    return {
        "data": data.name,
        "method": contender.label,
        "n_elements": int(np.prod(dataset.data.shape[1:])),
        "n_samples": len(dataset.data),
        "cells": outcomes.cells,
        "cells_of_grid": outcomes.cells_of_grid,
        "fits": len(seconds),
        "mean_seconds": outcomes.mean_seconds,
        "least_seconds": float(min(seconds)),
        "most_seconds": float(max(seconds)),
        "best_cell_seconds": float(results[best]["seconds"]),
        "paper_best_cell_seconds": printed_metrics(contender.paper_name, data.name).get("seconds"),
    }


def _matrix(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Methods by sets."""
    found = {(row["method"], row["data"]): row for row in rows}
    sets = list(dict.fromkeys(row["data"] for row in rows))
    return [
        {"method": method} | {name: _text(found[method, name]) for name in sets}
        for method in dict.fromkeys(row["method"] for row in rows)
    ]


def _text(row: dict[str, Any]) -> str:
    printed = row["paper_best_cell_seconds"]
    paper = "–" if printed is None else f"{printed:.4g}"
    return f"{row['mean_seconds']:.2g} ({row['best_cell_seconds']:.2g}; {paper})"


def _draw(figure: Figure, rows: Sequence[dict[str, Any]]) -> None:
    """One panel per dataset, one bar per method."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure.set_size_inches(1.9 + 2.7 * len(sets), 1.9 + 0.3 * len(methods))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    for ax, name in zip(axes, sets, strict=True):
        _draw_set(ax, [row for row in rows if row["data"] == name], methods)
    axes[0].set_yticks(range(len(methods)), methods)
    for label in axes[0].get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == "STPCA-MP" else "normal")
    axes[0].set_ylim(len(methods) - 0.4, -0.6)
    _legend(figure, axes[0], any(row["paper_best_cell_seconds"] is not None for row in rows))


def _draw_set(ax: Axes, rows: Sequence[dict[str, Any]], methods: Sequence[str]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    everything = [
        row[key]
        for row in rows
        for key in ("least_seconds", "paper_best_cell_seconds", "most_seconds")
        if row[key]
    ]
    left = 10 ** (np.floor(np.log10(min(everything, default=1e-3))) - 0.3)
    for row in rows:
        place = methods.index(row["method"])
        mean, printed = max(row["mean_seconds"], left), row["paper_best_cell_seconds"]
        ax.barh(
            place, mean - left, left=left, height=0.62, color=method_style(row["method"])["color"]
        )
        span = [max(row["least_seconds"], left), row["most_seconds"]]
        ax.plot(span, [place, place], color="white", lw=3, zorder=2)
        ax.plot(span, [place, place], color="0.15", lw=1, zorder=3)
        if printed is not None:
            ax.plot(
                printed, place, "D", markersize=6, markerfacecolor="white", color="0.1", zorder=4
            )
    ax.set_xscale("log")
    ax.set_xlim(left, 2.5 * max(everything, default=1.0))
    ax.xaxis.set_major_locator(LogLocator(numticks=7))
    ax.xaxis.set_minor_locator(NullLocator())
    row = rows[0]
    sizes = f"{row['n_samples']:,} samples of {row['n_elements']:,} elements"
    ax.set_title(f"{row['data']}\n", fontsize="medium", fontweight="bold")
    ax.text(0.5, 1.015, sizes, transform=ax.transAxes, ha="center", va="bottom", fontsize="small")
    ax.set_xlabel("seconds of a fit")
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _legend(figure: Figure, ax: Axes, has_printed: bool) -> None:
    handles = [
        ax.barh([np.nan], [np.nan], color="0.6", label="ours: mean over the grid"),
        ax.plot([], [], color="0.15", lw=1, label="fastest to slowest cell")[0],
    ]
    if has_printed:
        style: dict[str, Any] = {
            "marker": "D",
            "markersize": 6,
            "markerfacecolor": "white",
            "color": "0.1",
        }
        label = "the paper's best cell (another machine)"
        handles += ax.plot([], [], linestyle="none", label=label, **style)
    columns = 3 if figure.get_figwidth() > 9 else 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


EXPERIMENT = Experiment("times", "average training time of every method", _tasks, _report)
