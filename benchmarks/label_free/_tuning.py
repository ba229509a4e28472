"""How much of the gain of label-based tuning is reached without labels?"""

import numpy as np

from benchmarks._results import Table
from benchmarks.label_free._cells import GRID, LARGE, SHORT_GRID
from benchmarks.label_free._contestants import DEFAULT, GEOMETRY, RAPID
from benchmarks.label_free._outcomes import ratio_over_sets

NAMES = {"acc": "accuracy", "nmi": "NMI"}
_ON_GRID = "{{{}}}^2".format
NOTES = [
    "rapid: the paper's setting for use without tuning, lam = eta = 10, largest scores. best by "
    "labels: the best mean over the numbers of features, chosen with the labels among the cells "
    f"of the grid {_ON_GRID(', '.join(f'{value:g}' for value in GRID))} in both orientations, "
    f"largest scores; where slices have more than {LARGE} features the grid is "
    f"{_ON_GRID(', '.join(f'{value:g}' for value in SHORT_GRID))}. It is chosen and judged with "
    "the same seeds, so it is somewhat too high",
    "recovered: (without labels - random) / (best - random); – if best is not clearly above "
    "random. all sets: sums over the sets that have both",
]


def tuning(study, metric):
    """Compare contestants with the best cell of the paper's grid, set by set."""
    title = f"Without labels, and the best setting by the labels: {NAMES[metric]}"
    table = Table(title, notes=NOTES)
    ours = {"rapid": f"{RAPID}, top", "default": DEFAULT, "geometry": GEOMETRY}
    outcomes = [one for one in study.outcomes[metric].values() if one.tuned]
    for one in outcomes:
        lam, eta, orientation = one.tuned
        row = {"data": one.name, "random": _level(one.random)}
        for name, label in ours.items():
            row[name] = _level(one.level(label)) if label in one else None
        row["best by labels"] = _level(one.best)
        row["at lam, eta, orientation"] = f"{lam:g}, {eta:g}, {orientation}"
        for name, label in ours.items():
            row[f"recovered, {name}"] = _share(one.recovered(label)) if label in one else None
        table.rows.append(row)
    if outcomes:
        row = dict.fromkeys(table.rows[0], None) | {"data": "all sets"}
        row["random"] = _plain_mean(one.random for one in outcomes)
        row["best by labels"] = _plain_mean(one.best for one in outcomes)
        for name, label in ours.items():
            found = [one for one in outcomes if label in one]
            if not found:
                continue
            if len(found) == len(outcomes):
                row[name] = _plain_mean(one.level(label) for one in found)
            gained = [one.gain(label) for one in found]
            most = [one.best - one.random for one in found]
            row[f"recovered, {name}"] = _share(ratio_over_sets(gained, most))
        table.rows.append(row)
    return table


def _plain_mean(estimates):
    return f"{np.mean([one.value for one in estimates]):.1f}"


def _level(estimate):
    return f"{estimate.value:.1f} ± {estimate.error:.1f}"


def _share(estimate):
    if estimate is None:
        return None
    low, high = estimate.interval
    return f"{estimate.value:.0%} [{low:.0%}, {high:.0%}]".replace("%", " %")
