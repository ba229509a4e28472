"""Correct channels of ASCH in both orientations, over the paper's grid, by solver "paper"."""

from itertools import product

import numpy as np

from benchmarks._data import published
from benchmarks._results import Table
from benchmarks._timing import one_thread
from benchmarks.synthetic import DEFAULT, GRID
from tensift import STPCASelector
from tensift.metrics import proportion_correct

N_CHANNELS = 6
PAPER = {0: 68.67, 1: 83.33}  # per cent, the paper's numbers for this grid


def run(repeats):
    dataset = published("ASCH")
    if dataset is None:
        raise SystemExit("ASCH.mat was not found: set TENSIFT_DATA to its folder")
    table = Table(f"Proportion of correct channels (POC, per cent), {N_CHANNELS} of 16")
    with one_thread():
        for orientation in (0, 1):
            found = {
                (lam, eta): _correct(dataset, _channels(dataset, orientation, lam, eta))
                for lam, eta in product(GRID, GRID)
            }
            values = list(found.values())
            table.rows.append(
                {
                    "method": f"STPCA-MP, orientation {orientation}",
                    "default": found[DEFAULT],
                    "mean over grid": float(np.mean(values)),
                    "worst cell": min(values),
                    "best cell": max(values),
                    "paper's mean": PAPER[orientation],
                }
            )
    variance = dataset.data.var(axis=0).sum(axis=1)
    plain = {
        "variance": _correct(dataset, np.argsort(-variance, kind="stable")[:N_CHANNELS]),
        "random": 100 * N_CHANNELS / dataset.data.shape[1],
    }
    for method, value in plain.items():
        table.rows.append(dict.fromkeys(table.rows[0], value) | {"method": method})
        table.rows[-1]["paper's mean"] = None
    table.notes = [
        "POC: if k channels are selected, the share of them among the k channels of largest "
        "between-class variance. random is the expectation; random and variance have no grid",
    ]
    return {"": table}


def _channels(dataset, orientation, lam, eta):
    selector = STPCASelector(
        N_CHANNELS,
        selection="top",
        orientation=orientation,
        lam=lam,
        eta=eta,
        feature_mode=dataset.feature_mode,
        solver="paper",
    )
    return selector.fit(dataset.data).order_[:N_CHANNELS]


def _correct(dataset, channels):
    share = proportion_correct(
        channels, dataset.data, dataset.labels, feature_mode=dataset.feature_mode
    )
    return 100 * share
