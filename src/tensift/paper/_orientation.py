"""What the orientation and the transform M do to STPCA-MP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tensift.paper._drawing import cell_text
from tensift.paper._experiment import Experiment, Results
from tensift.paper._fits import Fit
from tensift.paper._orientation_figure import MapPanel, draw_orientation
from tensift.paper._outcomes import Outcomes
from tensift.paper._printed import printed_orientations
from tensift.paper._report import Report, Table
from tensift.paper._sets import PaperSet
from tensift.paper._study import Contender, Study

__all__ = ["EXPERIMENT"]

_SETS = ("JAFFE", "BreastMNIST", "USPS", "PIE", "UCIDSA", "UMCS")
_CURVES = ("JAFFE", "USPS")
_MAPS = ("PIE", "JAFFE")
_ON_THE_MAP = {"JAFFE": 300, "PIE": 100}  # features, as the paper has it
_TRANSFORMS = {"identity": "I", "dft": "DFT", "eigen": "EigVector", "random": "Random"}
_NOTES = (
    "In Dir1 features along mode 0 (rows, channels) predict each other, in Dir2 those along mode "
    "1. I, DFT, EigVector and Random are the transform M along the other mode: identity, discrete "
    "Fourier matrix, eigenvectors of that mode's correlations, a random orthogonal matrix",
    "Images: the best accuracy over the grid and the numbers of features, **chosen with the "
    "labels**. Channels: the mean POC over the grid; nothing is chosen. The paper's numbers are in "
    "brackets",
    "With the DFT, all features of a row (Dir1) or column (Dir2) have the same score. Their index "
    "decides which are taken first, as in the authors' program",
    "Random is drawn once for each seed, and the curve is the mean over seeds; the paper does not "
    "say how often it drew",
    "Maps: identity, at the cell with the best NMI for the number of features that the paper shows",
)

Key = tuple[str, int, str]  # set, orientation, transform


def _fits(study: Study, contender: Contender, data: PaperSet, key: Key) -> list[Fit]:
    _, orientation, transform = key
    # The identity is the default; not naming it makes these the fits of the other experiments.
    named: dict[str, Any] = {} if transform == "identity" else {"basis": transform}
    fits = study.fits(contender, data, orientation=orientation, **named)
    seeds = study.seeds if transform == "random" else 1
    return [replace(fit, seed=seed) for fit in fits for seed in range(seeds)]


def _all(study: Study) -> dict[Key, tuple[PaperSet, Contender, list[Fit]]]:
    found = {}
    curves = {data.name for data in study.pick(*_CURVES)}
    for contender in study.contenders():
        if contender.name != "STPCASelector":
            continue
        for data in study.pick(*_SETS):
            keys: list[Key] = [
                (data.name, orientation, transform)
                for orientation in (0, 1)
                for transform in ("identity", "dft", "eigen")
            ]
            if data.name in curves:
                keys.append((data.name, 0, "random"))
            for key in keys:
                found[key] = data, contender, _fits(study, contender, data, key)
    return found


def _tasks(study: Study) -> list[Fit]:
    return [fit for _, _, fits in _all(study).values() for fit in fits]


def _outcomes(study: Study, results: Results) -> dict[Key, Outcomes]:
    return {
        key: Outcomes(contender, data, fits, results)
        for key, (data, contender, fits) in _all(study).items()
    }


def _map_fits(study: Study, results: Results) -> dict[Key, tuple[Fit, int]]:
    """The cells with the best NMI, with their scores, and the number of features shown."""
    shown = {data.name for data in study.pick(*_MAPS)}
    found = {}
    for key, outcomes in _outcomes(study, results).items():
        name, _, transform = key
        if name in shown and transform == "identity":
            counts = outcomes.data.counts
            place = counts.index(_ON_THE_MAP.get(name, counts[0]))
            fit, _ = max(outcomes.results, key=lambda pair: pair[1]["nmi"][place])
            found[key] = replace(fit, keep_scores=True), counts[place]
    return found


def _more_tasks(study: Study, results: Results) -> list[Fit]:
    return [fit for fit, _ in _map_fits(study, results).values()]


def _report(study: Study, results: Results) -> Report:
    found = _outcomes(study, results)
    rows = [row for key, outcomes in found.items() for row in _rows(key, outcomes)]
    best = [_best_row(key, outcomes) for key, outcomes in found.items() if key[2] != "random"]
    curves = {
        key: outcomes.curve("acc")
        for key, outcomes in found.items()
        if key[0] in {data.name for data in study.pick(*_CURVES)}
    }
    maps = [
        MapPanel(
            key[0],
            setting(key),
            np.asarray(results[fit]["scores"]),
            tuple(results[fit]["features"][:count]),
            cell_text(found[key].contender, fit.settings),
        )
        for key, (fit, count) in _map_fits(study, results).items()
    ]
    return Report(
        "Orientation and transform",
        {
            "": Table("Every point of the curves", rows, shown=False),
            "best": Table("Best accuracy or mean POC, per cent", best, shown=False),
            "table": Table(
                "Best accuracy (images) or mean POC (channels), per cent: ours (the paper's)",
                _matrix(best),
            ),
        },
        (lambda figure: draw_orientation(figure, best, curves, maps, setting)) if found else None,
        (*_NOTES, *(f"{data.name}: {data.note}" for data in study.pick(*_SETS) if data.note)),
        study.absent(*_SETS),
    )


def setting(key: Key) -> str:
    """What the paper calls an orientation and a transform."""
    return f"Dir{key[1] + 1}-{_TRANSFORMS[key[2]]}"


def _rows(key: Key, outcomes: Outcomes) -> list[dict[str, Any]]:
    metric = outcomes.data.metrics[0]
    return [
        {
            "data": key[0],
            "orientation": key[1],
            "transform": key[2],
            "metric": metric,
            "n_features": count,
            "best_over_grid": value,
            "seeds": len(outcomes.seeds),
            "cells": outcomes.cells,
        }
        for count, value in outcomes.curve(metric).items()
    ]


def _best_row(key: Key, outcomes: Outcomes) -> dict[str, Any]:
    name, orientation, transform = key
    metric = outcomes.data.metrics[0]
    best = outcomes.best(metric)
    by_mode = outcomes.data.by_mode
    theirs = 1 - orientation if outcomes.data.exchanged else orientation
    printed = printed_orientations(theirs, transform, name)
    return {
        "data": name,
        "setting": setting(key),
        "metric": f"mean {metric}" if by_mode else f"best {metric}",
        "ours": 100 * (outcomes.mean(metric)[0] if by_mode else best.value),
        "std_over_k_means": None if best.spread is None else 100 * best.spread,
        "paper": None if printed is None else 100 * printed,
        "cells": f"{outcomes.cells} of {outcomes.cells_of_grid}",
        "best_cell": cell_text(outcomes.contender, best.fit.settings),
        "n_features": best.count,
    }


def _matrix(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Settings by datasets; our best is bold."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    top = {name: max(row["ours"] for row in rows if row["data"] == name) for name in sets}
    table: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = table.setdefault(row["setting"], {"setting": row["setting"]})
        text = f"{row['ours']:.1f}"
        text = f"**{text}**" if row["ours"] == top[row["data"]] else text
        line[row["data"]] = text + ("" if row["paper"] is None else f" ({row['paper']:.1f})")
    return list(table.values())


EXPERIMENT = Experiment(
    "orientation", "orientations and transforms of STPCA-MP", _tasks, _report, _more_tasks
)
