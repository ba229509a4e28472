"""What automatic penalties cost: a fit that chooses them, against one solve at the chosen ones."""

import numpy as np

from benchmarks._data import load, published
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import STPCASelector
from tensift.datasets import list_paper, load_digits

COUNT = 100
LARGEST = 2e9  # operations of one step on all slices, p q^3; what takes longer is left out


def run(repeats):
    table = Table('Fit with automatic penalties and selection="top" against one solve')
    with one_thread():
        for name, X in _sets():
            for orientation in (0, 1):
                q = X.shape[1 + orientation]
                if X[0].size * q**2 <= LARGEST:
                    table.rows.append(_compared(name, X, orientation, repeats))
    ratios = [row["ratio"] for row in table.rows]
    table.notes = [
        f"median ratio {np.median(ratios):.2f}, largest {max(ratios):.2f}",
        "one solve: a fit with the penalties that were chosen, given as lam and eta",
        "slices: their number, and features of each",
    ]
    return {"": table}


def _sets():
    yield "digits", load_digits().data
    for name in list_paper():
        if published(name) is not None:
            X, _ = load(name)
            yield name, X


def _compared(name, X, orientation, repeats):
    settings = {"selection": "top", "orientation": orientation}
    auto = STPCASelector(COUNT if X[0].size > COUNT else 0.5, **settings)
    chosen = STPCASelector(auto.n_features_to_select, **settings).fit(X)
    given = STPCASelector(auto.n_features_to_select, lam=chosen.lam_, eta=chosen.eta_, **settings)
    times = interleave({"auto": lambda: auto.fit(X), "given": lambda: given.fit(X)}, repeats)
    ratio, least, most = times.ratio("auto", "given")
    q = X.shape[1 + orientation]
    return {
        "data": name,
        "orientation": orientation,
        "slices": f"{X[0].size // q} of {q}",
        "automatic (s)": times.median("auto"),
        "given (s)": times.median("given"),
        "ratio": ratio,
        "range": f"{least:.2f} to {most:.2f}",
    }
