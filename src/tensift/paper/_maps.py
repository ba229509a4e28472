"""Score maps, and the selected pixels on a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.paper._drawing import cell_text, method_style
from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet, load_set
from tensift.paper._study import Contender, Study
from tensift.plotting import SCORE_MAP, SelectedFeaturesDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_COUNTS = {"PIE": 100, "JAFFE": 300, "BreastMNIST": 50}
_METHODS = ("STPCA-MP", "CPUFS", "MSPCA", "NLGMS")
_NOTES = (
    "The left picture of each pair shows the scores, from 0 (dark) to the largest of that map "
    "(bright). The right one shows the selected pixels on the first sample. Scores of two methods "
    "cannot be compared",
    "Each method is shown at the cell of the grid and the seed with the best NMI at this number of "
    "features: **chosen with the labels**, as in the paper. If NMI is low, the noise of k-means "
    "decides which cell and seed win",
    "The numbers of features are the paper's: 100 on PIE, 300 on JAFFE, 50 on BreastMNIST. NLGMS "
    "needs a fit for each number and is run at every second one. Its cell is the best at the "
    "nearest of those, and it is fitted again in that cell for the number shown",
    "The paper prints no numbers here. `dull` measures what it says about background pixels: the "
    "share of the selected pixels whose variance over the samples is below the median of all "
    "pixels (half for a random selection)",
    "The method does not prefer the selected pixels `of score 0`. No others are left, so it takes "
    "the first by index, column by column, as the authors' program does",
)


@dataclass(frozen=True)
class _Map:
    """What a method selects from a dataset in its best cell."""

    contender: Contender
    data: PaperSet
    fit: Fit
    scores: np.ndarray
    support: np.ndarray
    nmi: float
    acc: float


def _methods(study: Study) -> list[Contender]:
    there = {one.label: one for one in study.contenders()}
    return [there[label] for label in _METHODS if label in there]


def _tasks(study: Study) -> list[Fit]:
    return [
        fit
        for data in study.pick(*_COUNTS)
        for contender in _methods(study)
        for fit in study.fits(contender, data)
    ]


def _more_tasks(study: Study, results: Results) -> list[Fit]:
    return [
        _best_fit(study, contender, data, results)
        for data in study.pick(*_COUNTS)
        for contender in _methods(study)
    ]


def _best_fit(study: Study, contender: Contender, data: PaperSet, results: Results) -> Fit:
    """The fit with the best NMI at the number of features shown, with its score map."""
    wanted = _COUNTS.get(data.name, data.counts[len(data.counts) // 2])
    fits = study.fits(contender, data)
    nearest = min(
        {count for fit in fits for count in fit.counts},
        key=lambda count: (abs(count - wanted), count),
    )
    best = max(
        (fit for fit in fits if nearest in fit.counts),
        key=lambda fit: results[fit]["nmi"][fit.counts.index(nearest)],
    )
    return replace(best, counts=(wanted,), keep_scores=True)


def _report(study: Study, results: Results) -> Report:
    maps = [
        _make_map(contender, data, _best_fit(study, contender, data, results), results)
        for data in study.pick(*_COUNTS)
        for contender in _methods(study)
    ]
    kinds = [f"{data.name}: {data.note}" for data in study.pick(*_COUNTS) if data.note]
    return Report(
        "Score maps and selected pixels",
        {
            "": Table("Every pixel", [row for one in maps for row in _rows(one)], shown=False),
            "selections": Table("Selections", [_summary(one) for one in maps]),
        },
        (lambda figure: _draw(figure, maps)) if maps else None,
        (*_NOTES, *kinds),
        study.absent(*_COUNTS),
    )


def _make_map(contender: Contender, data: PaperSet, fit: Fit, results: Results) -> _Map:
    result = results[fit]
    scores = np.asarray(result["scores"]).reshape(load_set(data.name).data.shape[1:])
    support = np.isin(np.arange(scores.size), result["features"]).reshape(scores.shape)
    return _Map(contender, data, fit, scores, support, result["nmi"][0], result["acc"][0])


def _rows(one: _Map) -> list[dict[str, Any]]:
    return [
        {
            "data": one.data.name,
            "method": one.contender.label,
            "row": row,
            "column": column,
            "score": float(score),
            "selected": bool(one.support[row, column]),
        }
        for (row, column), score in np.ndenumerate(one.scores)
    ]


def _summary(one: _Map) -> dict[str, Any]:
    variance = load_set(one.data.name).data.var(axis=0)
    return {
        "data": one.data.name,
        "method": one.contender.label,
        "features": int(one.support.sum()),
        "of score 0": int((one.scores[one.support] == 0).sum()),
        "NMI, %": 100 * one.nmi,
        "accuracy, %": 100 * one.acc,
        "dull, %": 100 * float((variance[one.support] < np.median(variance)).mean()),
        "rows touched": int(one.support.any(axis=1).sum()),
        "columns touched": int(one.support.any(axis=0).sum()),
        "cell": cell_text(one.contender, one.fit.settings),
        "seed": one.fit.seed,
    }


def _draw(figure: Figure, maps: Sequence[_Map]) -> None:
    """One row per dataset: a sample, then the scores and the selection of each method."""
    sets = list(dict.fromkeys(one.data for one in maps))
    methods = list(dict.fromkeys(one.contender.label for one in maps))
    figure.set_size_inches(1.9 + 3.3 * len(methods), 0.5 + 1.95 * len(sets))
    figure.set_layout_engine("constrained")
    parts = figure.subfigures(
        1, 1 + len(methods), width_ratios=[1.1, *[2] * len(methods)], squeeze=False, wspace=0.02
    )[0]
    parts[0].suptitle("sample", color="0.35")
    for ax, data in zip(parts[0].subplots(len(sets), 1, squeeze=False)[:, 0], sets, strict=True):
        ax.imshow(_sample(data), cmap="gray", interpolation="nearest")
        ax.set_title(f"{data.name}, {_shown(maps, data)} pixels", fontsize=9)
        _strip(ax)
    for part, method in zip(parts[1:], methods, strict=True):
        part.suptitle(method, color=method_style(method)["color"], fontweight="bold")
        axes = part.subplots(len(sets), 2, squeeze=False)
        for pair, data in zip(axes, sets, strict=True):
            of_cell = [one for one in maps if (one.contender.label, one.data) == (method, data)]
            _draw_pair(pair, of_cell[0])


def _shown(maps: Sequence[_Map], data: PaperSet) -> int:
    return next(int(one.support.sum()) for one in maps if one.data == data)


def _sample(data: PaperSet) -> np.ndarray:
    return np.asarray(load_set(data.name).data[0])


def _draw_pair(axes: Sequence[Axes], one: _Map) -> None:
    scores, selection = axes
    top = float(one.scores.max())
    scores.imshow(
        one.scores, cmap=SCORE_MAP, vmin=min(0.0, float(one.scores.min())), vmax=top or 1.0,
        interpolation="nearest",
    )  # fmt: skip
    scores.set_title("scores" if one.scores.any() else "scores: all 0", fontsize=9, color="0.35")
    SelectedFeaturesDisplay(_sample(one.data), one.support).plot(selection)
    selection.set_title(f"NMI {100 * one.nmi:.1f} %", fontsize=9)
    for ax in axes:
        _strip(ax)


def _strip(ax: Axes) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlabel("")
    ax.set_ylabel("")
    ax.spines[:].set_visible(False)


EXPERIMENT = Experiment(
    "maps", "score maps and selected pixels of four methods", _tasks, _report, _more_tasks
)
