"""The cost of a certified fit and a certified path, against the authors' iteration."""

import numpy as np

from benchmarks._data import load, published
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from benchmarks.transcription import fit_transcription
from tensift import STPCASelector, stpca_path
from tensift.datasets import list_paper

LARGEST = 128  # features per slice; above this a path takes minutes


def run(repeats):
    """Time fits at lam = eta = 10 and paths over the 25 cells of the paper's grid, in turns."""
    table = Table("Fits and paths, one worker, one BLAS thread")
    names = [name for name in list_paper() if published(name) is not None] or ["Orbit", "PIE"]
    with one_thread():
        for name in names:
            for orientation in (0, 1):
                if load(name)[0].shape[orientation + 1] <= LARGEST:
                    row = _row(name, orientation, repeats)
                    print(" ", *(f"{k} {v}" for k, v in row.items()), flush=True)
                    table.rows.append(row)
    for key, goal in (
        ("exact / paper fit", "at most 2"),
        ("exact path / exact fit", "at most 5"),
        ("paper path / paper fit", "at most 6"),
        ("exact path / transcription", "below 1"),
    ):
        ratios = np.array([row[key] for row in table.rows])
        limit = float(goal.split()[-1])
        table.notes.append(
            f"{key}: goal {goal}; median {np.median(ratios):.2g}, {ratios.min():.2g} to "
            f"{ratios.max():.2g}, met on {np.count_nonzero(ratios <= limit)} of {len(ratios)}"
        )
    table.notes.append("seconds: medians over rounds, from the samples to the score map")
    return {"": table}


def _row(name, orientation, repeats):
    X, source = load(name)
    kind = {"orientation": orientation}

    def fit(solver):
        selector = STPCASelector(1, selection="top", lam=10, eta=10, solver=solver, **kind)
        return lambda: selector.fit(X)

    def path(solver):
        return lambda: stpca_path(X, solver=solver, **kind)

    contestants = {
        "transcription": lambda: fit_transcription(X, 10.0, 10.0, **kind),
        "paper fit": fit("paper"),
        "exact fit": fit("exact"),
        "exact path": path("exact"),
        "paper path": path("paper"),
    }
    timings = interleave(contestants, repeats, budget=12.0)
    seconds = {key: timings.median(key) for key in contestants}
    result = timings.returned["exact path"]
    return {
        "data": name,
        "source": source,
        "orientation": orientation,
        "slices": f"{result.objective.shape[-1]} of {X.shape[orientation + 1]}",
        **{f"{key} s": value for key, value in seconds.items()},
        "exact / paper fit": seconds["exact fit"] / seconds["paper fit"],
        "exact path / exact fit": seconds["exact path"] / seconds["exact fit"],
        "paper path / paper fit": seconds["paper path"] / seconds["paper fit"],
        "exact path / transcription": seconds["exact path"] / seconds["transcription"],
        "rounds": timings.rounds,
        "worst gap": float(result.dual_gap.max()),
        "steps, mean": float(result.n_iter.mean()),
    }
