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
from benchmarks._environment import n_cores
from benchmarks._results import Table

GOAL = 2.0  # predictions may be wrong by this factor
MB = 1e6
SHOWN = ("where", "shape", "what", "core time ratio", "clock ratio", "memory ratio")
# Samples are smooth fields with noise. "held" is an array in memory, "file" a file that is read
# in chunks, "dask" a cluster of two processes with one thread each.
JOBS = [
    {"where": "held", "shape": (32, 32), "samples": 60_000},
    {"where": "held", "shape": (16, 64), "samples": 50_000, "basis": "dft"},
    {"where": "held", "shape": (64, 16), "samples": 20_000, "dtype": "complex64"},
    {"where": "held", "shape": (24, 16, 12), "samples": 20_000, "basis": ["haar", "dct"]},
    {"where": "held", "shape": (256, 16), "samples": 2_000},
    {"where": "held", "shape": (128, 24), "samples": 2_000, "solver": "exact"},
    {"where": "held", "shape": (96, 32), "samples": 2_000, "solver": "exact", "basis": "dft"},
    {"where": "held", "shape": (200, 32), "samples": 1_000, "cores": 2},
    {"where": "held", "shape": (48, 48), "samples": 3_000, "solver": "exact", "grid": 25},
    {"where": "held", "shape": (48, 48), "samples": 3_000, "grid": 25},
    {"where": "file", "shape": (64, 64), "samples": 40_000},
    {"where": "file", "shape": (64, 64), "samples": 40_000, "cores": 2},
    {"where": "file", "shape": (128, 16), "samples": 40_000, "basis": "dft"},
    {"where": "file", "shape": (64, 64), "samples": 20_000, "basis": "eigen"},
    {"where": "file", "shape": (8, 8), "samples": 2_000_000},
    {"where": "file", "shape": (256, 128), "samples": 6_000, "orientation": 1},
    {"where": "file", "shape": (200, 200), "samples": 3_000, "dtype": "float64"},
    {"where": "dask", "shape": (64, 64), "samples": 60_000, "workers": 2, "chunk": 2_000},
    {"where": "dask", "shape": (128, 64), "samples": 4_000, "workers": 2, "chunk": 1_000},
]  # fmt: skip
# The settings of a job that `plan_job` takes.
PLANNED = ("shape", "samples", "orientation", "basis", "solver", "dtype", "grid", "cores",
           "workers", "chunk")  # fmt: skip
DEFAULTS = {"orientation": 0, "basis": "identity", "solver": "paper", "dtype": "float32",
            "grid": 1, "cores": 1, "workers": 1, "chunk": None}  # fmt: skip


def run(repeats):
    from tensift.plan import calibrate

    table = Table("Predicted and measured")
    machine = calibrate()
    for job in JOBS:
        if job["where"] == "dask" and not _has_dask():
            continue
        table.rows.append(_row(job, machine, min(repeats, 3)))
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
        f"predicted from a calibration of {n_cores()} cores just before, with the number of "
        "steps that the slices took, which depends on the data (column steps: their mean). usual "
        "steps: the ratio of times if the plan assumes the usual number of steps",
        "core time: processor time of all threads and workers together, including the client and "
        "its scheduler. All measurements are the minimum of up to three runs",
        "clock: on a shared machine it depends on how busy others are. To compare it, run "
        "`python -m benchmarks plan_check` on an idle machine",
        "memory: the largest resident size of the process, or of the larger worker for dask. "
        "Files are dropped from the page cache before they are read",
        "held: an array in memory; file: an .npy file; dask: two processes with one thread that "
        "read the same file",
    ]
    return {"": table}


def _row(job, machine, repeats):
    from tensift.plan import plan_job

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        _write_samples(path, job)
        runs = [_in_fresh_process(job, path) for _ in range(repeats)]
    measured = {name: float(min(run[name] for run in runs)) for name in runs[0]}
    options = {name: job[name] for name in PLANNED if name in job}
    options |= {name: job.get(name, DEFAULTS[name]) for name in ("dtype", "solver")}
    options["machine"] = machine
    options["in_memory"] = job["where"] == "held"
    usual = plan_job(**options)
    plan = plan_job(**options, steps=measured["steps"])
    cores = {name: each.chosen.core_seconds for name, each in (("usual", usual), ("known", plan))}
    what = [str(job[k]) for k in ("basis", "solver") if k in job]
    what += [f"grid {job['grid']}"] if "grid" in job else []
    what += [f"{job['cores']} jobs"] if "cores" in job else []
    return {
        "where": job["where"],
        "shape": "x".join(map(str, job["shape"])),
        "n": job["samples"],
        "what": " ".join(what) or "–",
        "steps": measured["steps"],
        "core s": measured["cpu"],
        "predicted core s": cores["known"],
        "core time ratio": cores["known"] / measured["cpu"],
        "usual steps": cores["usual"] / measured["cpu"],
        "clock s": measured["wall"],
        "predicted clock s": plan.seconds,
        "clock ratio": plan.seconds / measured["wall"],
        "memory MB": measured["peak"] / MB,
        "predicted memory MB": plan.memory.total / MB,
        "memory ratio": plan.memory.total / measured["peak"],
        "bottleneck": plan.bottleneck,
    }


def _write_samples(path, job):
    rng = np.random.default_rng(0)
    dtype = np.dtype(job.get("dtype", "float32"))
    n, shape = job["samples"], job["shape"]
    samples = np.lib.format.open_memmap(path, "w+", dtype, (n, *shape))
    rows = max(1, 2**22 // math.prod(shape))
    block = rng.standard_normal((min(rows, n), *shape), dtype=np.float32)
    for axis in range(1, block.ndim):  # smooth, except for some noise
        block = 0.5 * (block + np.roll(block, 1, axis=axis))
    block += 0.1 * rng.standard_normal(block.shape, dtype=np.float32)
    if dtype.kind == "c":
        block = block + 1j * np.roll(block, 1, axis=0)
    for number, start in enumerate(range(0, n, rows)):  # later blocks are shifted copies
        count = min(rows, n - start)
        samples[start : start + count] = np.roll(block, number, axis=1)[:count]
    samples.flush()
    del samples
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _in_fresh_process(job, path):
    one_thread = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.plan_check", json.dumps(job), str(path)],
        cwd=ROOT,
        env=os.environ | one_thread,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _fit_and_measure(job, path):
    """Fit and measure, in the fresh process."""
    warnings.simplefilter("ignore")
    if job["where"] == "dask":
        return _fit_on_cluster(job, path)
    from benchmarks.memory import _forget_peak, _peak

    X = np.load(path, mmap_mode=None if job["where"] == "held" else "r")
    options = {**DEFAULTS, **job}
    _fit(X[:64].copy(), options)  # load everything that is loaded on first use
    _forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    steps = _fit(X, options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "peak": _peak(), "steps": steps}


def _fit(X, options):
    """Fit, and return the mean number of steps."""
    from tensift import STPCASelector, stpca_path

    method = {
        "orientation": options["orientation"],
        "basis": options["basis"],
        "solver": options["solver"],
        "n_jobs": options["cores"],
    }
    if options["grid"] > 1:
        return float(stpca_path(X, **method).n_iter.mean())
    selector = STPCASelector(20, selection="top", lam=10, eta=10, **method)
    return float(selector.fit(X).n_iter_.mean())


def _fit_on_cluster(job, path):
    from distributed import Client, LocalCluster

    from benchmarks.dask_scaling import _lazy
    from benchmarks.memory import _forget_peak, _peak

    options = {**DEFAULTS, **job}
    with (
        LocalCluster(
            n_workers=job["workers"], threads_per_worker=1, dashboard_address=None,
            processes=True, memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        _fit(_lazy(path, job["chunk"])[: 2 * job["chunk"]], options)
        client.run(_forget_peak)
        before = client.run(time.process_time)
        wall, client_cpu = time.perf_counter(), time.process_time()
        steps = _fit(_lazy(path, job["chunk"]), options)
        wall, client_cpu = time.perf_counter() - wall, time.process_time() - client_cpu
        after = client.run(time.process_time)
        peak = max(client.run(_peak).values())
    cpu = client_cpu + sum(after[worker] - before[worker] for worker in after)
    return {"wall": wall, "cpu": cpu, "peak": peak, "steps": steps}


def _has_dask():
    try:
        import distributed  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    print(json.dumps(_fit_and_measure(json.loads(sys.argv[1]), Path(sys.argv[2]))))
