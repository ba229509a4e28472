"""One Dask worker against two, each a process with one thread, and the same fit in memory."""

import contextlib
import logging
import os
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks._environment import n_cores
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import ExactSolver, PaperSolver, STPCASelector, stpca_path

GOAL = 1.7  # two workers should be this many times as fast as one
CLOSE = 1e-10  # allowed difference, divided by the largest score
# By default, workers return freed memory to the system at once; see docs/clusters.md.
ENVIRONMENT = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1)


def _fit(X, n_jobs, **parameters):
    return STPCASelector(50, selection="top", n_jobs=n_jobs, **parameters).fit(X).scores_


def _path(X, n_jobs, **parameters):
    return stpca_path(X, n_jobs=n_jobs, **parameters).scores


TWO_STEPS, ACCURATE = PaperSolver(max_iter=2), ExactSolver(tol=1e-9)
JOBS = {  # samples, their shape, samples per chunk, and what is computed
    "moments": (60_000, (64, 64), 2000, partial(_fit, solver=TWO_STEPS, lam=10, eta=10)),
    "solving": (1000, (96, 96), 125, partial(_fit, solver=ACCURATE, lam=5, eta=5)),
    "path": (1000, (96, 96), 125, partial(_path, lams=(1.0, 10.0), etas=(0.1, 1.0, 10.0))),
}
BUDGET = 60.0  # seconds per job


def _products(seconds):
    """Count the products of small matrices that a worker makes in this time."""
    matrices, begun, done = np.random.default_rng(0).normal(size=(8, 96, 96)), time.time(), 0
    with one_thread():
        while time.time() < begun + seconds:
            matrices @ matrices
            done += 1
    return done


def _machine(clients):
    """Return how many times as many products two workers make as one: the limit of the cores."""
    made = [sum(clients[n].run(_products, 2.0).values()) for _ in range(3) for n in (1, 2)]
    return float(np.median([two / one for one, two in zip(made[::2], made[1::2], strict=True)]))


def run(repeats):
    table = Table("One Dask worker against two")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        clients = {n: stack.enter_context(_client(n)) for n in (1, 2)}
        machine = _machine(clients)
        for job, (n_samples, shape, rows, work) in JOBS.items():
            path = Path(folder) / f"{n_samples}.npy"
            if not path.exists():
                _write_samples(path, n_samples, shape)
            table.rows += _rows(job, path, rows, work, clients, repeats, table.failures)
    table.notes = [
        f"two workers that multiply independent matrices make {machine:.2f} times as many "
        "products as one, in the same run: these cores do not allow more",
        "single precision; every task reads its chunk from a file in the page cache; workers are "
        "processes with one thread and one BLAS thread, and keep the memory they free",
        "moments: a fit that takes two steps of solver 'paper'; solving: the optimum, certified to "
        "1e-9; path: the optimum, certified to 1e-6, for 2 x 3 pairs of penalties",
        "in memory: the same call on a NumPy array, with n_jobs threads over slices and chunks",
        "speed-up: over one worker or one job, from the medians of all rounds; range: over single "
        "rounds",
        "busiest worker: its processor time, median of all calls, including the untimed first one; "
        "by processor time: the speed-up of that time, which other work on the machine affects "
        "less",
        f"the goal of {GOAL} for two workers is for two otherwise idle cores",
        "largest difference: from the scores of the fit in memory, divided by the largest score",
    ]
    return {"": table}


def _rows(job, path, rows, work, clients, repeats, failures):
    in_memory = np.load(path)
    busiest = {("Dask", n): [] for n in clients}

    def on_workers(n):
        with clients[n].as_current():
            before = clients[n].run(_processor_seconds)
            scores = work(_lazy(path, rows), None)
            after = clients[n].run(_processor_seconds)
        busiest["Dask", n].append(max(after[worker] - before[worker] for worker in after))
        return scores

    contestants = {("Dask", n): partial(on_workers, n) for n in clients}
    contestants |= {("in memory", n): partial(work, in_memory, n) for n in clients}
    with one_thread():
        timings = interleave(contestants, repeats, budget=BUDGET)
    truth = timings.returned["in memory", 1]
    found = []
    for where, n in contestants:
        ratio, low, high = timings.ratio((where, 1), (where, n))
        away = np.abs(timings.returned[where, n] - truth).max() / np.abs(truth).max()
        seconds, by_time = None, None
        if where == "Dask":
            seconds = float(np.median(busiest[where, n]))
            by_time = float(np.median(busiest[where, 1])) / seconds
        found.append(
            {
                "job": job,
                "samples": "x".join(map(str, in_memory.shape)),
                "where": where,
                "workers or n_jobs": n,
                "min s": timings.best((where, n)),
                "median s": timings.median((where, n)),
                "speed-up": ratio,
                "range": f"{low:.2f} to {high:.2f}",
                "busiest worker s": seconds,
                "by processor time": by_time,
                "rounds": timings.rounds,
                "largest difference": away,
                "cores": n_cores(),
            }
        )
        if away > CLOSE:
            failures.append(f"{job}, {where}, {n}: scores differ by {away:.1e}")
        if (where, n) == ("Dask", 2) and ratio < GOAL:
            failures.append(f"{job}: two workers are {ratio:.2f} times as fast as one, not {GOAL}")
    return found


def _lazy(path, rows):
    """Return a Dask array whose chunks are read by the workers that need them."""
    import dask.array as da

    head = np.load(path, mmap_mode="r")
    chunks = da.core.normalize_chunks((rows, *head.shape[1:]), head.shape)
    return da.map_blocks(
        _read, str(path), chunks=chunks, dtype=head.dtype, meta=np.empty((0, 0, 0), head.dtype)
    )


def _read(path, block_info=None):
    (start, stop), *_ = block_info[None]["array-location"]
    return np.load(path, mmap_mode="r")[start:stop]


def _write_samples(path, n, shape):
    rng = np.random.default_rng(0)
    samples = np.lib.format.open_memmap(path, "w+", np.float32, (n, *shape))
    spread = rng.uniform(0.2, 1.0, shape).astype(np.float32)
    for start in range(0, n, 1000):
        block = samples[start : start + 1000]
        block[:] = spread * rng.standard_normal(block.shape, np.float32)
        block += rng.standard_normal((len(block), 1, shape[1]), np.float32)
    samples.flush()


@contextlib.contextmanager
def _client(n_workers):
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set({"distributed.nanny.pre-spawn-environ": ENVIRONMENT}):
        cluster = LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        )
    with cluster, Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(n_workers)
        client.run(_import_tensift)  # now, so that it is not timed
        yield client


def _import_tensift():
    import tensift  # noqa: F401


def _processor_seconds():
    times = os.times()
    return times.user + times.system
