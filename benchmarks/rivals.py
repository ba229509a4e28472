"""Our fit against selectors that many people use: sparse PCA and the Laplacian score.

They solve different problems, so this compares how long a user waits, not how good the answers
are. ``python -m benchmarks.rivals --defaults`` compares default fits in processor time.
"""

import argparse
import sys
import time
import warnings

import numpy as np
from sklearn.decomposition import PCA, MiniBatchSparsePCA, SparsePCA
from sklearn.exceptions import ConvergenceWarning

from benchmarks._data import load, read_only
from benchmarks._environment import describe_environment
from benchmarks._results import Table, write_results
from benchmarks._timing import interleave, one_thread
from tensift import GeometrySelector, STPCASelector
from tensift.datasets import load_digits
from tensift.rivals import CURSelector, LaplacianScore, QRSensorSelector

N_COMPONENTS = 10
FEW_STEPS = 10
COUNT = 40  # features of default fits; digits have 64, some of them constant


def run(repeats):
    table = Table("Fit against rivals, one worker, one BLAS thread")
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in ("digits", "PIE", "JAFFE"):
            table.rows += _compare(name, *_samples(name), repeats)
    table.notes = [
        "ratio: median of the rival divided by median of ours; below 1 the rival is faster. "
        "range: over single rounds",
        f"SparsePCA and MiniBatchSparsePCA: {N_COMPONENTS} components, otherwise scikit-learn's "
        "defaults, on rows; Laplacian score: scikit-feature's, with its default graph "
        "(5 neighbours, cosine), on rows; PCA for scale. Ours: solver 'paper' with lam = eta = 10, "
        "on the tensor",
        "SparsePCA at its defaults runs until it changes by less than 1e-8, once, without warm-up. "
        "That ratio depends as much on the stopping rule as on the work; the row with few steps "
        "is a lower bound",
        "the data are divided by their largest absolute value for all; the Laplacian score "
        "overwrites its input, so it gets a fresh copy each time, which is not timed",
    ]
    return {"": table}


def run_defaults(repeats):
    """Compare what users would run, with the methods' own defaults."""
    table = Table("Default fits, one worker, one BLAS thread")
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in ("digits", "PIE", "COIL20", "JAFFE"):
            table.rows += _compare_defaults(name, *_samples(name), repeats)
    table.notes = [
        "ratio: median of the method divided by median of STPCASelector with selection='top'; "
        "below 1 the method is faster. range: over single rounds",
        f"{COUNT} features, otherwise defaults, which include automatic penalties; 'auto' has an "
        "automatic number of features as well. Tensors go to all methods but those of "
        f"scikit-learn, which get rows and fit {N_COMPONENTS} components",
        "seconds: processor time, which other programs on the machine hardly change",
        "SparsePCA: ten steps, a lower bound; its defaults take 6 to 19 times as long, see "
        "rivals.md",
    ]
    return {"": table}


def _samples(name):
    return (load_digits().data, "scikit-learn") if name == "digits" else load(name)


def _compare_defaults(name, X, source, repeats):
    """Time what users would run, with the methods' own defaults."""
    X = read_only(X / abs(X).max())
    rows = X.reshape(len(X), -1)
    contestants = {
        "STPCASelector, top": lambda: STPCASelector(COUNT, selection="top").fit(X),
        "STPCASelector": lambda: STPCASelector(COUNT).fit(X),
        "STPCASelector, auto": lambda: STPCASelector().fit(X),
        "GeometrySelector": lambda: GeometrySelector(COUNT).fit(X),
        "Laplacian score": lambda: LaplacianScore(COUNT).fit(X),
        "QR placement": lambda: QRSensorSelector(COUNT).fit(X),
        "CUR": lambda: CURSelector(COUNT).fit(X),
        "MiniBatchSparsePCA": lambda: MiniBatchSparsePCA(N_COMPONENTS, random_state=0).fit(rows),
        f"SparsePCA, {FEW_STEPS} steps": lambda: SparsePCA(
            N_COMPONENTS, max_iter=FEW_STEPS, random_state=0
        ).fit(rows),
    }
    timings = interleave(contestants, repeats, budget=20, clock=time.process_time)
    results = []
    for method in contestants:
        ratio, low, high = timings.ratio(method, "STPCASelector, top")
        results.append(
            {
                "data": name,
                "source": source,
                "shape": "x".join(map(str, X.shape)),
                "method": method,
                "min s": timings.best(method),
                "median s": timings.median(method),
                "ratio": ratio,
                "range": f"{low:.2f} to {high:.2f}",
                "rounds": timings.rounds,
            }
        )
    return results


def _compare(name, X, source, repeats):
    X = read_only(X / abs(X).max())
    rows = X.reshape(len(X), -1)
    steps = _ours(X.copy()).n_iter_
    contestants = {
        "STPCASelector": lambda: _ours(X),
        "PCA": lambda: PCA(N_COMPONENTS, random_state=0).fit(rows),
        "MiniBatchSparsePCA": lambda: MiniBatchSparsePCA(N_COMPONENTS, random_state=0).fit(rows),
        f"SparsePCA, {FEW_STEPS} steps": lambda: SparsePCA(
            N_COMPONENTS, max_iter=FEW_STEPS, random_state=0
        ).fit(rows),
    }
    lap_score = _laplacian_score()
    prepare = {}
    if lap_score is not None:
        # It normalises its input in place, so it gets its own copy.
        contestants["Laplacian score"] = lap_score
        prepare["Laplacian score"] = rows.copy
    timings = interleave(contestants, repeats, prepare=prepare, budget=20)
    if not np.array_equal(timings.returned["STPCASelector"].n_iter_, steps):
        raise RuntimeError(f"{name}: a contestant changed the shared data")
    to_the_end = interleave(
        {
            "STPCASelector": lambda: _ours(X),
            "SparsePCA, defaults": lambda: SparsePCA(N_COMPONENTS, random_state=0).fit(rows),
        },
        repeats=1,
        warm_up=False,
    )
    shape = "x".join(map(str, X.shape))
    results = [_row(name, source, shape, timings, rival) for rival in contestants]
    results.append(_row(name, source, shape, to_the_end, "SparsePCA, defaults"))
    if lap_score is None:
        missing = dict.fromkeys(results[0], None)
        note = "Laplacian score (scikit-feature is not installed)"
        results.append({**missing, "data": name, "source": source, "method": note})
    return results


def _ours(X):
    return STPCASelector(10, selection="top", lam=10, eta=10, solver="paper").fit(X)


def _row(name, source, shape, timings, rival):
    ratio, low, high = timings.ratio(rival, "STPCASelector")
    return {
        "data": name,
        "source": source,
        "shape": shape,
        "method": rival,
        "iterations": _iterations(timings.returned[rival]),
        "min s": timings.best(rival),
        "median s": timings.median(rival),
        "ratio": ratio,
        "range": f"{low:.2f} to {high:.2f}",
        "rounds": timings.rounds,
    }


def _laplacian_score():
    try:
        from skfeature.function.similarity_based.lap_score import lap_score
    except ImportError:
        return None
    return lap_score


def _iterations(fitted):
    steps = getattr(fitted, "n_iter_", None)
    return None if steps is None else float(steps.mean() if hasattr(steps, "mean") else steps)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--defaults", action="store_true", help="only default fits")
    parser.add_argument("--repeats", type=int, default=3, help="rounds per timing (3)")
    parser.add_argument("--output", default="benchmarks/results", help="folder of the tables")
    options = parser.parse_args(arguments)
    name = "rivals_defaults" if options.defaults else "rivals"
    tables = (run_defaults if options.defaults else run)(options.repeats)
    write_results(options.output, name, tables, describe_environment())
    print(tables[""].markdown())


if __name__ == "__main__":
    sys.exit(main())
