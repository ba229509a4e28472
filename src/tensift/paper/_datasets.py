"""The table of datasets: what was found, compared with what the paper says it used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tensift.paper._experiment import Experiment, Results, Task
from tensift.paper._report import Report, Table
from tensift.paper._sets import PAPER_SETS, PaperSet, load_set
from tensift.paper._study import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]


def _tasks(study: Study) -> list[Task]:
    return []


def _report(study: Study, results: Results) -> Report:
    names = [one.name for one in PAPER_SETS]
    sets = list(study.sets) if study.fast else study.pick(*names)
    rows = [_row(data) for data in sets]
    return Report(
        "Statistics of the datasets",
        {"": Table("Datasets that were found, and what the paper prints", rows)},
        (lambda figure: _draw(figure, sets)) if sets else None,
        ("Tube-wise: every element is a feature. Slice-wise: every index of mode 0 is one",),
        study.absent(*names),
    )


def _row(data: PaperSet) -> dict[str, Any]:
    dataset = load_set(data.name)
    shape, samples, classes = data.printed or ((None, None), None, None)
    return {
        "data": data.name,
        "type": "slice-wise" if data.by_mode else "tube-wise",
        "features": " x ".join(map(str, dataset.feature_shape)),
        "samples": len(dataset.data),
        "classes": len(np.unique(np.asarray(dataset.labels))),
        "paper_features": " x ".join(map(str, shape)) if data.printed else None,
        "paper_samples": samples,
        "paper_classes": classes,
        "orientation": data.orientation,
        "numbers_selected": " ".join(map(str, data.counts)),
        "note": data.note or None,
    }


def _draw(figure: Figure, sets: list[PaperSet]) -> None:
    """The first sample of three classes of every dataset."""
    figure.set_size_inches(1.3 * len(sets), 4.2)
    figure.set_layout_engine("constrained")
    axes = np.reshape(figure.subplots(3, len(sets)), (3, len(sets)))
    for column, data in zip(axes.T, sets, strict=True):
        dataset = load_set(data.name)
        labels = np.asarray(dataset.labels)
        firsts = [int(np.flatnonzero(labels == label)[0]) for label in np.unique(labels)[:3]]
        for row, ax in enumerate(column):
            ax.set_xticks([])
            ax.set_yticks([])
            if row < len(firsts):
                style = {"cmap": "viridis", "aspect": "auto"} if data.by_mode else {"cmap": "gray"}
                ax.imshow(np.real(dataset.data[firsts[row]]), **style)
            else:
                ax.set_axis_off()
        column[0].set_title(data.name, fontsize="small")


EXPERIMENT = Experiment("datasets", "the datasets and their sizes", _tasks, _report)
