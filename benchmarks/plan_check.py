"""What `tensift plan` predicts against what jobs need, each in a fresh process."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks._data import ROOT
from benchmarks._results import Table

GOAL = 2.0  # predictions may be wrong by this factor
MB = 1e6
SHOWN = ("where", "shape", "n", "what", "core s", "core time ratio", "clock ratio", "memory ratio")
# "held" is an array in memory, "file" a file that is read in chunks, "dask" a cluster of two
# processes with one thread each. Samples are the digits, or smooth fields with noise.
JOBS = [
    {"where": "held", "shape": (8, 8), "samples": 1797, "data": "digits"},
    {"where": "held", "shape": (64, 64), "samples": 200},
    {"where": "held", "shape": (256, 32), "samples": 1_000},
    {"where": "held", "shape": (4000,), "samples": 100},  # ten minutes and more
    {"where": "held", "shape": (2000,), "samples": 100},
    {"where": "held", "shape": (600, 16), "samples": 60},
    {"where": "held", "shape": (64, 32), "samples": 2_000},
    {"where": "held", "shape": (32, 32), "samples": 60_000},
    {"where": "held", "shape": (16, 64), "samples": 50_000, "basis": "dft"},
    {"where": "held", "shape": (24, 16, 12), "samples": 5_000, "basis": ["haar", "dct"]},
    {"where": "held", "shape": (96, 32), "samples": 2_000, "solver": "paper"},
    {"where": "held", "shape": (128, 24), "samples": 2_000, "lam": 10.0, "eta": 10.0,
     "selection": "top", "n_features_to_select": 20},
    {"where": "held", "shape": (48, 48), "samples": 3_000, "grid": 25},
    {"where": "held", "shape": (128, 24), "samples": 2_000, "cores": 2},
    {"where": "file", "shape": (64, 64), "samples": 40_000},
    {"where": "file", "shape": (8, 8), "samples": 2_000_000},
    {"where": "file", "shape": (64, 64), "samples": 20_000, "basis": "eigen"},
    {"where": "file", "shape": (128, 64), "samples": 3_000, "working_memory": 16 * 2**20},
    {"where": "dask", "shape": (64, 64), "samples": 40_000, "workers": 2, "chunk": 2_000},
]  # fmt: skip
OF_PLACE = ("where", "shape", "samples", "data", "workers", "chunk", "working_memory", "cores")


def run(repeats):
    table = Table("Predicted and measured")
    for job in JOBS:
        if job["where"] == "dask" and not _has_dask():
            continue
        table.rows.append(_row(job))
        print({key: table.rows[-1][key] for key in SHOWN}, flush=True)
    for name in ("core time", "memory"):
        ratios = [row[f"{name} ratio"] for row in table.rows]
        for row, ratio in zip(table.rows, ratios, strict=True):
            if not 1 / GOAL <= ratio <= GOAL:
                table.failures.append(
                    f"{row['where']} {row['shape']} n = {row['n']} {row['what']}: {name} is "
                    f"predicted as {ratio:.2f} times what was measured"
                )
        inside = sum(1 / GOAL <= ratio <= GOAL for ratio in ratios)
        table.notes.append(
            f"{name}: {inside} of {len(ratios)} within a factor of {GOAL:g}, from "
            f"{min(ratios):.2f} to {max(ratios):.2f} times what was measured"
        )
    table.notes += [
        "predicted in a fresh process by `plan_job(data=...)` with its default pilot, which takes "
        "the seconds of the column pilot s; then fitted in another, once. Fits have default "
        "settings but for what is named",
        "core time: processor time of all threads and workers together, without waiting. Clock: on "
        "a shared machine it depends on how busy others are",
        "drawn: the ratio of core times if the pilot knows only the shape and draws random samples",
        "memory: the largest resident size of the process, or of the larger worker for dask. "
        "Files are dropped from the page cache before they are read",
    ]
    return {"": table}


def _row(job):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        _write_samples(path, job)
        plan = _in_fresh_process("plan", job, path)
        drawn = _in_fresh_process("draw", job, path)
        _drop(path)
        fit = _in_fresh_process("fit", job, path)
    what = [f"{k}={v}" for k, v in job.items() if k not in OF_PLACE]
    what += [f"n_jobs={job['cores']}"] if "cores" in job else []
    what += [f"{job['working_memory'] >> 20} MiB"] if "working_memory" in job else []
    return {
        "where": job["where"],
        "shape": "x".join(map(str, job["shape"])),
        "n": job["samples"],
        "what": " ".join(what) or "–",
        "pilot s": plan["taken"],
        "core s": fit["core"],
        "predicted core s": plan["core"],
        "core time ratio": plan["core"] / fit["core"],
        "drawn": drawn["core"] / fit["core"],
        "clock s": fit["clock"],
        "predicted clock s": plan["clock"],
        "clock ratio": plan["clock"] / fit["clock"],
        "memory MB": fit["memory"] / MB,
        "predicted memory MB": plan["memory"] / MB,
        "memory ratio": plan["memory"] / fit["memory"],
        "bottleneck": plan["bottleneck"],
    }


def _write_samples(path, job):
    if job.get("data") == "digits":
        from tensift.datasets import load_digits

        np.save(path, load_digits().data)
        return
    rng = np.random.default_rng(0)
    n, shape = job["samples"], job["shape"]
    samples = np.lib.format.open_memmap(path, "w+", np.float32, (n, *shape))
    rows = max(1, 2**22 // math.prod(shape))
    block = rng.standard_normal((min(rows, n), *shape), dtype=np.float32)
    for axis in range(1, block.ndim):  # smooth, except for some noise
        block = 0.5 * (block + np.roll(block, 1, axis=axis))
    block += 0.1 * rng.standard_normal(block.shape, dtype=np.float32)
    for number, start in enumerate(range(0, n, rows)):  # later blocks are shifted copies
        count = min(rows, n - start)
        samples[start : start + count] = np.roll(block, number, axis=1)[:count]
    samples.flush()
    del samples


def _drop(path):
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _in_fresh_process(what, job, path):
    one_thread = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.plan_check", what, json.dumps(job), str(path)],
        cwd=ROOT,
        env=os.environ | one_thread,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _predict(job, X, *, draw):
    from tensift.plan import plan_job

    options = {k: v for k, v in job.items() if k not in ("where", "shape", "samples", "data")}
    before = time.perf_counter()
    if draw:
        options |= {"in_memory": job["where"] == "held", "dtype": X.dtype}
        plan = plan_job(X.shape[1:], len(X), **options)
    else:
        plan = plan_job(data=X, **options)
    return {
        "taken": time.perf_counter() - before,
        "clock": plan.seconds,
        "core": plan.chosen.core_seconds,
        "memory": plan.memory.total,
        "bottleneck": plan.bottleneck,
    }


def _fit_and_measure(job, X):
    import sklearn

    from benchmarks.memory import _forget_peak, _peak

    if "working_memory" in job:
        sklearn.set_config(working_memory=job["working_memory"] / 2**20)
    _fit(X[:64].copy(), job)  # load everything that is loaded on first use
    _forget_peak()
    clock, core = time.perf_counter(), time.process_time()
    _fit(X, job)
    clock, core = time.perf_counter() - clock, time.process_time() - core
    return {"clock": clock, "core": core, "memory": _peak()}


def _fit(X, job):
    from tensift import STPCASelector, stpca_path

    settings = {k: v for k, v in job.items() if k not in (*OF_PLACE, "grid")}
    settings["n_jobs"] = job.get("cores")
    if "grid" in job:
        stpca_path(X, **settings)
    else:
        STPCASelector(**settings).fit(X)


def _fit_on_cluster(job, path):
    from distributed import Client, LocalCluster

    from benchmarks.dask_scaling import _lazy
    from benchmarks.memory import _forget_peak, _peak

    with (
        LocalCluster(
            n_workers=job["workers"], threads_per_worker=1, dashboard_address=None,
            processes=True, memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        _fit(_lazy(path, job["chunk"])[: 2 * job["chunk"]], job)
        client.run(_forget_peak)
        clock, core = time.perf_counter(), _core_seconds(client)
        _fit(_lazy(path, job["chunk"]), job)
        clock, core = time.perf_counter() - clock, _core_seconds(client) - core
        return {"clock": clock, "core": core, "memory": max(client.run(_peak).values())}


def _core_seconds(client):
    return time.process_time() + sum(client.run(time.process_time).values())


def _has_dask():
    try:
        import distributed  # noqa: F401
    except ImportError:
        return False
    return True


def _main(what, job, path):
    warnings.simplefilter("ignore")
    X = np.load(path, mmap_mode=None if job["where"] == "held" else "r")
    if what != "fit":
        return _predict(job, X, draw=what == "draw")
    return _fit_on_cluster(job, path) if job["where"] == "dask" else _fit_and_measure(job, X)


if __name__ == "__main__":
    print(json.dumps(_main(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))))
