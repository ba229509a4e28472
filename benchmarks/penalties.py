"""What it costs to find penalties: fits that choose or scale them, against one solve with them."""

from functools import partial

import numpy as np

from benchmarks._data import load, published
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import STPCASelector, collect_moments
from tensift.datasets import list_paper, load_digits
from tensift.solvers import critical_penalties

COUNT = 100
LARGEST = 2e9  # operations of one step on all slices, p q^3; what takes longer is left out


def run(repeats):
    table = Table("Fits with automatic and with relative penalties against one solve")
    with one_thread():
        for name, X in _sets():
            for orientation in (0, 1):
                q = X.shape[1 + orientation]
                if X[0].size * q**2 <= LARGEST:
                    table.rows.append(_compared(name, X, orientation, repeats))
    for kind, ratio in (("automatic", "ratio"), ("relative", "ratio of relative")):
        ratios = [row[ratio] for row in table.rows]
        table.notes.append(
            f"{kind}: median ratio {np.median(ratios):.2f}, largest {max(ratios):.2f}"
        )
    table.notes += [
        'given: the same penalties as numbers, so one solve; all with selection="top"',
        'relative: the same as fractions of their critical values, penalty_units="relative"',
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
    moments = collect_moments(X, orientation=orientation)
    critical = critical_penalties(moments.gram().scaled(1 / moments.peak))
    relative = STPCASelector(
        auto.n_features_to_select,
        lam=chosen.lam_ / critical.lam,
        eta=chosen.eta_ / critical.eta,
        penalty_units="relative",
        **settings,
    )
    contestants = {"auto": auto, "given": given, "relative": relative}
    times = interleave({name: partial(one.fit, X) for name, one in contestants.items()}, repeats)
    ratio, least, most = times.ratio("auto", "given")
    of_relative, *_ = times.ratio("relative", "given")
    q = X.shape[1 + orientation]
    return {
        "data": name,
        "orientation": orientation,
        "slices": f"{X[0].size // q} of {q}",
        "automatic (s)": times.median("auto"),
        "given (s)": times.median("given"),
        "ratio": ratio,
        "range": f"{least:.2f} to {most:.2f}",
        "relative (s)": times.median("relative"),
        "ratio of relative": of_relative,
    }
