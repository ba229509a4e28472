"""The cost of a certified fit and a certified path, against the authors' iteration.

``python -m benchmarks.path --rankings`` compares paths of two tolerances.
"""

import argparse
import sys
import time

import numpy as np

from benchmarks._data import load, published
from benchmarks._environment import describe_environment
from benchmarks._results import Table, write_results
from benchmarks._timing import interleave, one_thread
from benchmarks.transcription import fit_transcription
from tensift import ExactSolver, STPCASelector, stpca_path
from tensift.datasets import list_paper

LARGEST = 128  # features per slice; above this a path takes minutes
FOR_RANKINGS = 1e-4
FIRST = 100  # features whose agreement is counted, or a quarter of all if they are few


def run(repeats):
    """Time fits at lam = eta = 10 and paths over the 25 cells of the paper's grid, in turns."""
    table = Table("Fits and paths, one worker, one BLAS thread")
    with one_thread():
        for name, orientation in _cases():
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


def run_rankings(repeats):
    """Compare paths of both tolerances: time, and the first features of every cell."""
    table = Table(f"Paths for rankings: tol = {FOR_RANKINGS:g} against 1e-6")
    with one_thread():
        table.rows = [_rankings(name, orientation, repeats) for name, orientation in _cases()]
    ratios = np.array([row["ratio"] for row in table.rows])
    kept = np.array([row["in common, mean"] for row in table.rows])
    least = min(row["in common, least"] for row in table.rows)
    table.notes = [
        f"ratio: median {np.median(ratios):.2g}, {ratios.min():.2g} to {ratios.max():.2g}; in "
        f"common: mean of all sets {kept.mean():.4f}, least of a set {kept.min():.4f}, of a cell "
        f"{least:.2f}",
        f"in common: the share of the first {FIRST} features (at most a quarter of all) that both "
        "paths have, over 25 cells",
        "seconds: processor time, one thread, medians over rounds",
    ]
    return {"": table}


def _cases():
    """Yield names of sets and orientations whose slices are not too large."""
    names = [name for name in list_paper() if published(name) is not None] or ["Orbit", "PIE"]
    for name in names:
        for orientation in (0, 1):
            if load(name)[0].shape[orientation + 1] <= LARGEST:
                yield name, orientation


def _rankings(name, orientation, repeats):
    X, _ = load(name)
    contestants = {
        tol: lambda tol=tol: stpca_path(X, solver=ExactSolver(tol=tol), orientation=orientation)
        for tol in (1e-6, FOR_RANKINGS)
    }
    timings = interleave(contestants, repeats, budget=6.0, clock=time.process_time)
    fine, rough = (timings.returned[tol] for tol in contestants)
    first = min(FIRST, X[0].size // 4)
    cells = [(i, j) for i in range(len(fine.lams)) for j in range(len(fine.etas))]
    common = [
        len({*fine.ranking(*cell)[:first]} & {*rough.ranking(*cell)[:first]}) / first
        for cell in cells
    ]
    return {
        "data": name,
        "orientation": orientation,
        "slices": f"{fine.objective.shape[-1]} of {X.shape[orientation + 1]}",
        "tol 1e-6 (s)": timings.median(1e-6),
        f"tol {FOR_RANKINGS:g} (s)": timings.median(FOR_RANKINGS),
        "ratio": timings.median(FOR_RANKINGS) / timings.median(1e-6),
        "first": first,
        "in common, mean": float(np.mean(common)),
        "in common, least": float(min(common)),
        "worst gap": float(rough.dual_gap.max()),
    }


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


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.path", description=__doc__)
    parser.add_argument("--rankings", action="store_true", help="only the rankings")
    parser.add_argument("--repeats", type=int, default=3, help="rounds per timing (3)")
    parser.add_argument("--output", default="benchmarks/results", help="folder of the tables")
    options = parser.parse_args(arguments)
    name = "path_rankings" if options.rankings else "path"
    tables = (run_rankings if options.rankings else run)(options.repeats)
    write_results(options.output, name, tables, describe_environment())
    print(tables[""].markdown())


if __name__ == "__main__":
    sys.exit(main())
