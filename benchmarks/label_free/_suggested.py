"""Is the suggested number of features a good one? Tables that compare it with other numbers."""

import numpy as np

from benchmarks._results import Table
from benchmarks.label_free._subjects import SUBJECTS, load_subject

CLOSE = 2.0  # points
NOTES = [
    "GeometrySelector with 'auto', and the same order cut at eight counts with equal ratios, from "
    "10 to 300 (from an eighth of the features to all, if there are few). The best of the eight "
    "is chosen by the labels, with the seeds that judge it, so it is somewhat too high",
]


def suggested(study, metric):
    """Return, for every set, the accuracy at the suggested count and at the best of eight."""
    table = Table("The suggested number of features, and the best of eight", notes=NOTES)
    for name in study.sets:
        count, tried, levels = study.suggested(name, metric)
        best = max(tried, key=lambda one: levels[one])
        table.rows.append(
            {
                "data": name,
                "sets": SUBJECTS[name].origin,
                "features": load_subject(name)[0].n_features,
                "suggested": count,
                "accuracy": f"{levels[count]:.1f}",
                "best of eight": f"{levels[best]:.1f} at {best}",
                "difference": f"{levels[count] - levels[best]:+.1f}",
                "mean of eight": f"{np.mean([levels[one] for one in tried]):.1f}",
            }
        )
    return table


def summary(study, metric):
    """Return how often the suggested count is close to the best."""
    table = Table(f"Sets on which the suggested count is within {CLOSE:g} points of the best")
    for origin in dict.fromkeys(SUBJECTS[name].origin for name in study.sets):
        lost, gained = [], []
        for name in study.of(origin):
            count, tried, levels = study.suggested(name, metric)
            values = [levels[one] for one in tried]
            lost.append(max(values) - levels[count])
            gained.append(levels[count] - np.mean(values))
        close = sum(one <= CLOSE for one in lost)
        row = {"sets": origin, "within 2 points": f"{close} of {len(lost)}"}
        row["mean difference to the best"] = f"{-np.mean(lost):+.1f}"
        row["to the mean of the eight"] = f"{np.mean(gained):+.1f}"
        table.rows.append(row)
    return table
