"""How often the known features of synthetic data come first, over seeds and the paper's grid.

The numbers are for solver "paper" with the largest scores, as in the paper.
"""

import math
from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from benchmarks._data import published
from benchmarks._results import Table
from benchmarks._timing import one_thread
from tensift import STPCASelector
from tensift.datasets import make_array, make_orbit

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
DEFAULT = (10.0, 10.0)  # the paper's setting for use without tuning
SEEDS = range(20)
GENERATORS = {"Orbit": make_orbit, "Array": make_array}
# The published files do not name these. In Orbit, they are the only three channels with a constant
# sum of squares; in Array, the only units with an error in their phase.
PUBLISHED_ANSWERS = {"Orbit": [6, 7, 8], "Array": [62, 63, 72, 73]}


COLLAPSED = 1e-6  # if the largest score is below this, the map is only a residue of the iteration


@dataclass(frozen=True)
class Outcome:
    """The features that come first: the share of known ones, and the chance that all are known."""

    share: float
    all_right: float
    by_ties: bool = False
    collapsed: bool = False


def run(repeats):
    summary = Table("Right features first")
    cells = Table("The same, for each cell of the grid", csv_only=True)
    with one_thread():
        for name, account, trials in _subjects():
            for orientation in (0, 1):
                fitted = [_over_grid(*trial, orientation) for trial in trials]
                for method, which in (("scores alone", 0), ("ties by spread", 1)):
                    outcomes = [[cell[which] for cell in trial] for trial in fitted]
                    label = f"STPCA-MP, orientation {orientation}, {method}"
                    summary.rows.append(_summary_row(name, account, label, outcomes))
                    if which == 0:
                        cells.rows += _cell_rows(name, account, orientation, outcomes)
            by_variance = [[_outcome(_variance(*trial), trial[1])] for trial in trials]
            summary.rows.append(_summary_row(name, account, "variance", by_variance))
            at_random = [[_outcome(0 * _variance(*trial), trial[1])] for trial in trials]
            summary.rows.append(_summary_row(name, account, "random", at_random))
    summary.notes = [
        "all right: share of trials whose first 3 channels (Orbit) or first 4 units (Array) are "
        "exactly the known ones; share right: mean share of known ones among the first",
        f"default: lam = eta = {DEFAULT[0]:g}. grid: all 25 cells of "
        "{0.01, 0.1, 1, 10, 100}^2. best cell: the mean over trials of the best cell of each; "
        "only someone who knows the answer can find that cell",
        "scores alone: equal scores are ordered at random (the exact expectation). ties by spread: "
        "`order_`, which sorts equal scores by the features' standard deviations; what it finds "
        "among ties comes from plain variance",
        "by ties: share of trials and cells whose first features are chosen among equal scores; "
        f"collapsed: largest score below {COLLAPSED:g}",
        "variance ranks by the variance of the samples (Orbit: summed over the channel's times)",
    ]
    return {"": summary, "_cells": cells}


def _subjects():
    """Yield name, account, and trials `(data, known features, feature mode)`."""
    for name, generate in GENERATORS.items():
        for style in ("paper", "file"):
            sets = [generate(style=style, random_state=seed) for seed in SEEDS]
            trials = [(s.data, list(s.informative), s.feature_mode) for s in sets]
            yield name, f"our generator, style {style!r}", trials
        dataset = published(name)
        if dataset is not None:
            trial = (dataset.data, PUBLISHED_ANSWERS[name], dataset.feature_mode)
            yield name, "published file", [trial]


def _over_grid(data, known, feature_mode, orientation):
    """Return, for each cell, the outcome of the scores alone and that of `order_`."""
    outcomes = []
    for lam, eta in product(GRID, GRID):
        selector = STPCASelector(
            len(known),
            selection="top",
            orientation=orientation,
            lam=lam,
            eta=eta,
            feature_mode=feature_mode,
            solver="paper",
        ).fit(data)
        places = np.argsort(selector.order_)
        outcomes.append((_outcome(selector.scores_.ravel(), known), _outcome(-places, known)))
    return outcomes


def _outcome(scores, known):
    """Return the expected outcome if equal scores are ordered at random."""
    count = len(known)
    threshold = np.sort(scores)[-count]
    above, tied = np.flatnonzero(scores > threshold), np.flatnonzero(scores == threshold)
    places = count - len(above)
    known_above, known_tied = np.isin(above, known).sum(), np.isin(tied, known).sum()
    possible = known_above == len(above) and known_tied == places
    return Outcome(
        share=float((known_above + places * known_tied / len(tied)) / count),
        all_right=1 / math.comb(len(tied), places) if possible else 0.0,
        by_ties=len(tied) > places,
        collapsed=float(scores.max()) < COLLAPSED,
    )


def _variance(data, known, feature_mode):
    variance = data.var(axis=0)
    if feature_mode is None:
        return variance.ravel()
    others = tuple(axis for axis in range(variance.ndim) if axis != feature_mode)
    return variance.sum(axis=others)


def _summary_row(name, account, method, outcomes):
    """Summarise `outcomes`: one row per trial, and one column per cell or a single column."""
    share, right, ties, collapsed = _fields(outcomes)
    has_grid = share.shape[1] > 1
    default = list(product(GRID, GRID)).index(DEFAULT) if has_grid else 0
    is_map = has_grid and "alone" in method
    return {
        "data": name,
        "account": account,
        "trials": len(outcomes),
        "method": method,
        "default: all right": float(right[:, default].mean()),
        "default: share right": float(share[:, default].mean()),
        "default: by ties": float(ties[:, default].mean()) if is_map else None,
        "grid: all right": float(right.mean()) if has_grid else None,
        "grid: share right": float(share.mean()) if has_grid else None,
        "grid: by ties": float(ties.mean()) if is_map else None,
        "grid: collapsed": float(collapsed.mean()) if is_map else None,
        "best cell: all right": float(right.max(axis=1).mean()) if has_grid else None,
    }


def _cell_rows(name, account, orientation, outcomes):
    means = [values.mean(axis=0) for values in _fields(outcomes)]
    return [
        {
            "data": name,
            "account": account,
            "orientation": orientation,
            "lam": lam,
            "eta": eta,
            "share right": float(share),
            "all right": float(right),
            "by ties": float(ties),
            "collapsed": float(collapsed),
        }
        for (lam, eta), share, right, ties, collapsed in zip(
            product(GRID, GRID), *means, strict=True
        )
    ]


def _fields(outcomes):
    return [
        np.array([[getattr(outcome, field.name) for outcome in trial] for trial in outcomes], float)
        for field in fields(Outcome)
    ]
