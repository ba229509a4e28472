"""Default fits of many and of large slices: time, memory, and what no program can save.

``python -m benchmarks.large_fit --largest`` takes 100 pictures of 1000 x 1000 too.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np

from benchmarks._data import ROOT, smooth_field
from benchmarks._environment import describe_environment, n_cores
from benchmarks._results import Table, write_results
from benchmarks._timing import one_thread
from benchmarks.memory import MIB, _forget_peak, _peak, _resident

SHAPES = ((1000, 256, 32), (200, 20_000), (1000, 256, 256))
LARGEST = (100, 1000, 1000)
WORKERS = {"geometry": (2,), "top": (1, 2)}  # most of what workers share is the solution
COUNT = 100
TOL = 1e-6
SAMPLED = 4  # slices whose eigenvectors are timed


def run(repeats, *, shapes=SHAPES):
    """Fit every shape in processes of their own; `repeats` is not used, as these take long."""
    table = Table("Default fits, one process each")
    for shape in shapes:
        for selection, workers_of in WORKERS.items():
            for workers in workers_of if len(shape) > 2 else (1, 2):
                row = _in_fresh_process(shape, selection, workers)
                print(" ", *(f"{key} {value}," for key, value in row.items()), flush=True)
                table.rows.append(row)
                if row["worst gap"] > TOL:
                    table.failures.append(f"{row['samples']}: gap {row['worst gap']:.1e}")
    _compare_workers(table)
    table.notes = _notes()
    return {"": table}


def _compare_workers(table):
    """Fail if results depend on the number of workers."""
    for one in table.rows:
        for other in table.rows:
            same = all(one[key] == other[key] for key in ("samples", "selection"))
            if same and one["samples"].count("x") > 1 and one["checksum"] != other["checksum"]:
                table.failures.append(f"{one['samples']}: results depend on n_jobs")


def _notes():
    return [
        f"geometry: STPCASelector(); top: STPCASelector({COUNT}, selection='top'), which is little "
        "more than the choice of penalties and the solution",
        f"threads: n_jobs, over slices, on {n_cores()} cores; for a table, which is a single "
        "slice, those of BLAS, which wait by spinning if other programs take the cores",
        "CPU: processor time of all threads, which depends little on what else the machine does; "
        "wall: what a user waits, longer on a busy machine (load: processes that wanted to run "
        "over the minute before the fit)",
        "floor: processor time of the products that make the Gram matrices and of one "
        "decomposition for each, by LAPACK and one thread, of the smaller order where samples are "
        f"fewer than features; measured on {SAMPLED} slices; ratio: CPU divided by floor",
        "peak: resident memory beyond what there was with the samples in memory",
        "images: smooth random fields; the table: 20 factors of a tenth of the features each, and "
        "noise",
        "checksum: of scores and order, equal for any number of workers",
    ]


def _in_fresh_process(shape, selection, workers):
    size = "x".join(map(str, shape))
    blas = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(workers))
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.large_fit", "--one", size, selection, str(workers)],
        cwd=ROOT,
        env=os.environ | (blas if len(shape) == 2 else {}),
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(answer.stdout)


def _fit_and_measure(shape, selection, workers):
    """Fit and measure, in the fresh process."""
    from tensift import STPCASelector

    X = _samples(shape)
    warm_up = STPCASelector(5, selection=selection, n_jobs=workers)
    warm_up.fit(smooth_field((20, *(min(size, 12) for size in shape[1:]))))
    selector = STPCASelector(selection=selection, n_jobs=workers)
    if selection == "top":
        selector.set_params(n_features_to_select=COUNT)
    load = os.getloadavg()[0]
    _forget_peak()
    before = _resident()[0]
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the Gram matrices of X take")
        selector.fit(X)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = _peak() - before
    floor = _floor(X)
    order = np.dot(selector.order_ % 997, np.arange(selector.order_.size) % 991)
    return {
        "samples": " x ".join(map(str, shape)),
        "selection": selection,
        "threads": workers,
        "wall s": wall,
        "CPU s": cpu,
        "floor s": floor,
        "ratio": cpu / floor,
        "peak MiB": peak / MIB,
        "input MiB": X.nbytes / MIB,
        "steps": float(selector.n_iter_.mean()),
        "worst gap": float(selector.dual_gap_.max()),
        "features": int(selector.n_features_),
        "checksum": f"{selector.scores_.sum():.9g}, {order}",
        "load": load,
    }


def _samples(shape):
    """Make images in blocks, because a transform of all at once takes much memory; or a table."""
    rng = np.random.default_rng(0)
    if len(shape) == 2:
        n, size = shape
        weights = rng.normal(size=(20, size)) * (rng.random((20, size)) < 0.1)
        return rng.normal(size=(n, 20)) @ weights + 0.5 * rng.normal(size=shape)
    X = np.empty(shape)
    for start in range(0, len(X), 50):
        X[start : start + 50] = smooth_field(X[start : start + 50].shape, seed=start)
    return X


def _floor(X):
    """Return the processor time of what cannot be saved, for all slices."""
    slices = X.reshape(*X.shape[:2], -1)
    numbers = np.linspace(0, slices.shape[2] - 1, min(SAMPLED, slices.shape[2])).astype(int)
    parts = [np.ascontiguousarray(slices[:, :, j]) for j in numbers]
    with one_thread():
        start = time.process_time()
        for rows in parts:
            wide = rows.shape[0] < rows.shape[1]
            np.linalg.eigh(rows @ rows.T if wide else rows.T @ rows)
        return (time.process_time() - start) * slices.shape[2] / len(parts)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_fit", description=__doc__)
    parser.add_argument("--largest", action="store_true", help="100 x 1000 x 1000 too")
    parser.add_argument("--output", default="benchmarks/results", help="folder of the tables")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)  # one fit, in this process
    options = parser.parse_args(arguments)
    if options.one:
        size, selection, workers = options.one
        shape = tuple(map(int, size.split("x")))
        json.dump(_fit_and_measure(shape, selection, int(workers)), sys.stdout)
        return 0
    tables = run(1, shapes=(*SHAPES, LARGEST) if options.largest else SHAPES)
    write_results(options.output, "large_fit", tables, describe_environment())
    print(tables[""].markdown())
    return 1 if tables[""].failures else 0


if __name__ == "__main__":
    sys.exit(main())
