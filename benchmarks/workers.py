"""One worker against two, and how many threads a fit uses."""

import threading
from functools import partial

import numpy as np
from threadpoolctl import ThreadpoolController

from benchmarks._data import load
from benchmarks._environment import n_cores
from benchmarks._results import Table
from benchmarks._timing import interleave
from tensift import STPCASelector

SAMPLING_SECONDS = 0.002


def _fit(X, solver, n_jobs):
    return STPCASelector(100, selection="top", lam=10, eta=10, solver=solver, n_jobs=n_jobs).fit(X)


def run(repeats):
    X, source = load("JAFFE")
    contestants = {
        (solver, n): partial(_fit, X, solver, n) for solver in ("paper", "exact") for n in (1, 2)
    }
    timings = interleave(contestants, repeats)
    table = Table("Workers")
    for solver, n in contestants:
        workers, threads, product = _watch(contestants[solver, n])
        ratio, low, high = timings.ratio((solver, 1), (solver, n))
        table.rows.append(
            {
                "data": "JAFFE",
                "source": source,
                "solver": solver,
                "n_jobs": n,
                "min s": timings.best((solver, n)),
                "median s": timings.median((solver, n)),
                "speed-up": ratio,
                "range": f"{low:.2f} to {high:.2f}",
                "rounds": timings.rounds,
                "most workers": workers,
                "BLAS threads beside them": threads,
                "most workers x threads": product,
                "cores": n_cores(),
            }
        )
        if product > n_cores():
            table.failures.append(f"n_jobs={n}: {product} threads on {n_cores()} cores")
    same = True
    for solver in ("paper", "exact"):
        one, two = (timings.returned[solver, n].scores_ for n in (1, 2))
        if not np.array_equal(one, two):
            same = False
            table.failures.append(f"scores of solver={solver!r} depend on n_jobs")
    table.notes = [
        "threads are counted every 2 ms in one more fit, which is not timed; a fit without a pool "
        "of workers counts as one worker",
        f"scores with one and two workers are {'identical' if same else 'different'}",
    ]
    return {"": table}


def _watch(fit):
    """Return the most workers, the BLAS threads at that time, and the largest product of both."""
    libraries = ThreadpoolController().select(user_api="blas")
    before = threading.active_count() + 1  # the watching thread counts too
    seen = [(1, 1)]
    ended = threading.Event()

    def blas_threads():
        return max(library["num_threads"] for library in libraries.info())

    def watch():
        while not ended.wait(SAMPLING_SECONDS):
            # The limit is set before workers start and lifted after they end. Read it before and
            # after the count, so that a change in between does not look like too many threads.
            threads = blas_threads()
            workers = max(1, threading.active_count() - before)
            seen.append((workers, min(threads, blas_threads())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        fit()
    finally:
        ended.set()
        watcher.join()
    most = max(workers for workers, _ in seen)
    beside = max(threads for workers, threads in seen if workers == most)
    return most, beside, max(workers * threads for workers, threads in seen)
