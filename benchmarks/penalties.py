"""What it costs to find penalties: fits that choose or scale them, against one solve with them."""

from functools import partial

import numpy as np

from benchmarks._data import load, published
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import STPCASelector
from tensift.datasets import list_paper, load_digits

COUNT = 100
FRACTION = 0.1  # of both critical penalties
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
        f'relative: penalty_units="relative", {FRACTION} of both critical values; its ratio is to '
        "those penalties given",
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
    relative = STPCASelector(
        auto.n_features_to_select, lam=FRACTION, eta=FRACTION, penalty_units="relative", **settings
    )
    scaled = relative.fit(X)
    absolute = STPCASelector(
        auto.n_features_to_select, lam=scaled.lam_, eta=scaled.eta_, **settings
    )
    contestants = {"auto": auto, "given": given, "relative": relative, "absolute": absolute}
    times = interleave({name: partial(one.fit, X) for name, one in contestants.items()}, repeats)
    ratio, least, most = times.ratio("auto", "given")
    of_relative, *_ = times.ratio("relative", "absolute")
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
