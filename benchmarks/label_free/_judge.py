"""Do measures that need no labels tell good selections from bad? Tables that compare both.

Within a set, selections of equal size are compared: those of all contestants, random ones, and on
sets at hand those of the paper's grid, each once. A set's value is the mean over its numbers
of features.
"""

import numpy as np
from scipy.stats import spearmanr

from benchmarks._results import Table
from tensift.metrics import mean_ranks

# The measures, and 1 if larger is better or -1 if smaller is.
SIGNS = {
    "neighbours kept": 1,
    "neighbours agree": 1,
    "alignment": 1,
    "missed": -1,
    "redundancy": -1,
}
BOTH = "both: sum of ranks of neighbours kept and neighbours agree"
LABELS = "labels themselves"
NAMES = {"acc": "accuracy", "nmi": "NMI"}
NOTES = [
    "Selections of equal size are compared: of all contestants, random ones, and on sets at hand "
    "those of the paper's grid, each once. A value is the mean over the numbers of features. "
    "Measures see the samples that the features were selected on; missed and redundancy count with "
    "the opposite sign, so that a positive number is good for all",
]


def criteria(measured):
    """Return what each criterion says of every selection; larger is better.

    `measured` maps the measures to arrays with one value per selection.
    """
    found = {name: sign * np.asarray(measured[name], float) for name, sign in SIGNS.items()}
    return found | {BOTH: -mean_ranks(found["neighbours kept"], found["neighbours agree"])}


def correlation(criterion, levels):
    """Return the rank correlation over selections, NaN if either is the same for all."""
    if np.ptp(criterion) == 0 or np.ptp(levels) == 0 or np.isnan(criterion).any():
        return float("nan")
    return float(spearmanr(criterion, levels).statistic)


def favourite(criterion, levels):
    """Return the level of the best selection by a criterion, above the mean of all.

    If several are best, the mean of their levels.
    """
    if np.isnan(criterion).any():
        return float("nan")
    return float(np.mean(levels[criterion == criterion.max()]) - np.mean(levels))


def correlations(study, metric, sets):
    """Return the table of rank correlations of each measure with the labels, per set."""
    table = Table(f"Rank correlation of measures without labels with {NAMES[metric]}, per set")
    table.notes = NOTES
    names = [*SIGNS, BOTH]
    by_set = {name: _over_counts(study, name, metric, correlation) for name in sets}
    for name in names:
        values = {of: by_set[of][name] for of in sets}
        known = [value for value in values.values() if not np.isnan(value)]
        row = {"measure": name, "mean": f"{np.mean(known):+.2f}" if known else None}
        row["sets above 0"] = f"{sum(value > 0 for value in known)} of {len(known)}"
        row |= {of: _signed(value, 2) for of, value in values.items()}
        table.rows.append(row)
    return table


def choices(study, metric, sets):
    """Return the table of what the selection that each measure likes best is worth, per set."""
    title = f"The best selection by each measure, points of {NAMES[metric]} above the mean of all"
    table = Table(title, notes=NOTES)
    by_set = {name: _over_counts(study, name, metric, favourite) for name in sets}
    for name in [*SIGNS, BOTH, LABELS]:
        values = {of: by_set[of][name] for of in sets}
        known = [value for value in values.values() if not np.isnan(value)]
        row = {"measure": name, "mean": f"{np.mean(known):+.1f}" if known else None}
        row |= {of: _signed(value, 1) for of, value in values.items()}
        table.rows.append(row)
    return table


def _over_counts(study, name, metric, judge):
    """Return the mean over the numbers of features of `judge`, by criterion."""
    found = {}
    for measured, levels in study.judged(name, metric):
        for criterion, values in (criteria(measured) | {LABELS: levels}).items():
            found.setdefault(criterion, []).append(judge(values, levels))
    return {
        criterion: float(np.mean([v for v in values if not np.isnan(v)] or [np.nan]))
        for criterion, values in found.items()
    }


def _signed(value, digits):
    return None if np.isnan(value) else f"{value:+.{digits}f}"
