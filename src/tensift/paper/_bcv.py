"""Between-class variance of the channels that each method selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.metrics import between_class_variance
from tensift.paper._drawing import cell_text, methods_of_the_paper
from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._outcomes import Outcomes
from tensift.paper._printed import printed_metrics
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet, load_set
from tensift.paper._study import Contender, Study
from tensift.plotting import ACCENT, BLUE, MUTED, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

_SETS = ("UCIDSA", "UCIHAR", "UMCS", "ASCH")
_MOST_NAMED = 70  # channels; the numbers of more channels would overlap
_NOTES = (
    "Channels are sorted by their between-class variance (BCV), the largest first. A method that "
    "selects the channels in which classes differ fills the row from the left. The numbers below "
    "are channels, counted from 0",
    "Each method is shown at the cell and seed (for random selection, the draw) with its largest "
    "POC: **chosen with the labels**, as in the paper. If several tie, the first is shown",
    "POC: if k channels are selected, the share of them that are among the k channels with the "
    "largest BCV. `max` is the POC of the row, `mean` is the mean over all cells and seeds, and "
    "the mean that the paper prints is in brackets. The paper's figure has no numbers",
    "BCV depends only on the data and the labels, not on a method. Its divisor is K - 1, as in the "
    "authors' program; the paper writes K. The order is the same",
)


@dataclass(frozen=True)
class _Selection:
    """The channels of a method at its largest POC, best first."""

    method: str
    channels: list[int]
    poc: float
    mean_poc: float
    paper_poc: float | None
    cell: str
    seed: int


@dataclass(frozen=True)
class _Channels:
    """A dataset: the BCV of its channels, and what the methods select."""

    name: str
    bcv: np.ndarray
    count: int
    selections: list[_Selection]

    @property
    def order(self) -> np.ndarray:
        """Channels from the largest BCV to the smallest."""
        return np.argsort(-self.bcv, kind="stable")

    @property
    def correct(self) -> np.ndarray:
        """Whether POC counts a channel as one of the `count` best."""
        return np.asarray(self.bcv >= self.bcv[self.order[self.count - 1]])


def _methods(study: Study) -> list[Contender]:
    shown = methods_of_the_paper(study, "maximum variance", "random selection")
    return [one for one in shown if one.name != "AllFeatures"]


def _tasks(study: Study) -> list[Fit]:
    return [
        fit
        for data in study.pick(*_SETS)
        for contender in _methods(study)
        for fit in study.fits(contender, data)
    ]


def _report(study: Study, results: Results) -> Report:
    found = [_look_at(study, data, results) for data in study.pick(*_SETS)]
    rows = [row for channels in found for row in _rows(channels)]
    kinds = [f"{data.name}: {data.note}" for data in study.pick(*_SETS) if data.note]
    return Report(
        "Between-class variance of the selected channels",
        {
            "": Table("Every channel", rows, shown=False),
            "selections": Table(
                "Selected channels at the largest POC, per cent",
                [row for channels in found for row in _summary(channels)],
                (
                    "`bcv kept` is the sum of the BCV of the selected channels in per cent of the "
                    "largest possible of as many: a near miss costs little there, and as much as "
                    "a far one in POC",
                ),
            ),
        },
        (lambda figure: _draw(figure, found)) if rows else None,
        (*_NOTES, *kinds),
        study.absent(*_SETS),
    )


def _look_at(study: Study, data: PaperSet, results: Results) -> _Channels:
    dataset = load_set(data.name)
    assert dataset.labels is not None
    bcv = between_class_variance(dataset.data, dataset.labels, feature_mode=dataset.feature_mode)
    selections = []
    for contender in _methods(study):
        outcomes = Outcomes(contender, data, study.fits(contender, data), results)
        fit = outcomes.best("poc").fit
        printed = printed_metrics(contender.paper_name, data.name)
        selections.append(
            _Selection(
                contender.label,
                results[fit]["features"],
                results[fit]["poc"][-1],
                outcomes.mean("poc")[0],
                printed.get("poc"),
                cell_text(contender, fit.settings),
                fit.seed,
            )
        )
    return _Channels(data.name, bcv, data.counts[-1], selections)


def _rows(channels: _Channels) -> list[dict[str, Any]]:
    """One row per channel, in the order of the data: its BCV, its rank, who selects it."""
    places = np.argsort(channels.order)
    return [
        {
            "data": channels.name,
            "channel": channel,
            "bcv": float(channels.bcv[channel]),
            "place": int(places[channel]) + 1,
            "among_best": bool(channels.correct[channel]),
            "method": selection.method,
            "selected": channel in selection.channels,
        }
        for selection in channels.selections
        for channel in range(len(channels.bcv))
    ]


def _summary(channels: _Channels) -> list[dict[str, Any]]:
    most = float(channels.bcv[channels.order[: channels.count]].sum())
    return [
        {
            "data": channels.name,
            "method": selection.method,
            "max POC": 100 * selection.poc,
            "mean POC": 100 * selection.mean_poc,
            "paper's mean POC": selection.paper_poc and 100 * selection.paper_poc,
            "bcv kept": 100 * float(channels.bcv[selection.channels].sum()) / most,
            "cell": selection.cell or None,
            "seed": selection.seed,
        }
        for selection in channels.selections
    ]


def _draw(figure: Figure, found: Sequence[_Channels]) -> None:
    """For each dataset: the BCV above, and below it the selected channels of each method."""
    from matplotlib.patches import Patch

    down, across, rows = -(-len(found) // 2), min(2, len(found)), len(found[0].selections)
    figure.set_size_inches(1.4 + 6.6 * across, 0.6 + (2.3 + 0.27 * rows) * down)
    figure.set_layout_engine("constrained")
    parts = figure.subfigures(down, across, squeeze=False, wspace=0.04, hspace=0.05).ravel()
    for part, channels in zip(parts, found, strict=False):
        bars, grid = part.subplots(2, 1, sharex=True, height_ratios=[1.3, 0.05 + 0.22 * rows])
        _draw_bcv(bars, channels)
        _draw_selections(grid, channels)
    handles = [
        Patch(color=BLUE, label="among the channels of largest BCV"),
        Patch(color=ACCENT, label="selected, but not among them"),
    ]
    if len(found) < len(parts):
        parts[-1].legend(handles=handles, loc="center", frameon=False)
        return
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)


def _draw_bcv(ax: Axes, channels: _Channels) -> None:
    ordered = channels.bcv[channels.order]
    colours = np.where(channels.correct[channels.order], BLUE, MUTED)
    ax.bar(np.arange(len(ordered)), ordered, width=0.8, color=colours)
    title = f"{channels.name}: {channels.count} of {len(ordered)} channels"
    ax.set_title(title, fontweight="bold", loc="left")
    ax.set_ylabel("BCV")
    ax.tick_params(axis="x", length=0, labelbottom=False)
    tidy(ax)


def _draw_selections(ax: Axes, channels: _Channels) -> None:
    from matplotlib.colors import to_rgb

    order, correct = channels.order, channels.correct
    blank = np.where(correct[order][:, None], to_rgb("#e6eef5"), to_rgb("#f4f4f4"))
    image = np.stack([blank] * len(channels.selections))
    for line, selection in enumerate(channels.selections):
        for place, channel in enumerate(order):
            if channel in selection.channels:
                image[line, place] = to_rgb(BLUE if correct[channel] else ACCENT)
    ax.imshow(image, aspect="auto", interpolation="nearest")
    for line in range(1, len(image)):
        ax.axhline(line - 0.5, color="white", linewidth=2.5)
    if len(order) <= _MOST_NAMED:
        for place in range(1, len(order)):
            ax.axvline(place - 0.5, color="white", linewidth=0.8)
        ax.set_xticks(range(len(order)), [str(channel) for channel in order])
        ax.tick_params(axis="x", labelsize=8, length=0, rotation=0 if len(order) < 30 else 90)
    ax.set_yticks(range(len(image)), [selection.method for selection in channels.selections])
    for label in ax.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == "STPCA-MP" else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("channels, by BCV")
    ax.spines[:].set_visible(False)
    for line, selection in enumerate(channels.selections):
        text = f"{100 * selection.poc:.0f} | {100 * selection.mean_poc:.0f}"
        if selection.paper_poc is not None:
            text += f" ({100 * selection.paper_poc:.0f})"
        ax.annotate(
            text, (1.0, line), xytext=(6, 0), xycoords=ax.get_yaxis_transform(),
            textcoords="offset points", va="center", fontsize=9,
        )  # fmt: skip
    header = ax.annotate(
        "POC, %\nmax | mean\n(the paper's)", (1.0, 1.0), xytext=(6, 4), xycoords="axes fraction",
        textcoords="offset points", va="bottom", fontsize=8, color="0.35",
    )  # fmt: skip
    header.set_in_layout(False)  # stands beside the bars, and must not push them up


EXPERIMENT = Experiment(
    "bcv", "between-class variance of the channels that each method selects", _tasks, _report
)
