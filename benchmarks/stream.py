"""Read samples from a file one chunk at a time: how fast, and with how much memory.

The first case has a file of 20 GB, or of `TENSIFT_STREAM_GB`; the others have a tenth of that.
Files are written to `TENSIFT_STREAM_FOLDER` or to the folder of temporary files, and removed.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks._data import ROOT
from benchmarks._results import Table
from benchmarks.memory import _forget_peak, _peak, _resident

GIGABYTES = float(os.environ.get("TENSIFT_STREAM_GB", "20"))
CASES = [  # shape, type, format, share of the size, whether the file is in the page cache
    ((64, 64), "float64", "npy", 1.0, False),
    ((64, 64), "float64", "npy", 0.1, False),
    ((64, 64), "float32", "npy", 0.1, False),
    ((32, 32), "float64", "npy", 0.1, False),
    ((32, 32), "float32", "npy", 0.1, False),
    ((256, 256), "float64", "npy", 0.1, False),
    ((256, 256), "float32", "npy", 0.1, False),
    ((64, 64), "float32", "HDF5", 0.1, False),
    ((64, 64), "float32", "Zarr", 0.1, False),
    ((64, 64), "float64", "npy", 0.1, True),
    ((256, 256), "float32", "npy", 0.1, True),
]
WANTED = 0.8  # share of the slower of reading and multiplying
MOST_MEMORY = 1e9
_BLOCK_BYTES = 2**26


def run(repeats):
    table = Table("Streaming from a file")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TENSIFT_STREAM_FOLDER")) as folder:
        needed, free = 1.1e9 * GIGABYTES, shutil.disk_usage(folder).free
        if free < needed:
            raise SystemExit(
                f"stream needs {needed / 1e9:.0f} GB in {folder}, but only {free / 1e9:.0f} GB are "
                "free; set TENSIFT_STREAM_GB or TENSIFT_STREAM_FOLDER"
            )
        for case in CASES:
            row = _row(Path(folder), repeats, *case)
            table.rows.append(row)
            print(row, flush=True)
    slow = [row for row in table.rows if not row["cached"] and row["share"] < WANTED]
    for row in slow:
        table.failures.append(
            f"{row['shape']} {row['dtype']} {row['format']}: {row['share']:.2f} of the slower of "
            f"reading and multiplying, below {WANTED}"
        )
    for row in table.rows:
        if row["peak MB"] * 1e6 > MOST_MEMORY:
            table.failures.append(f"{row['shape']} {row['dtype']}: {row['peak MB']:.0f} MB")
    table.notes = [
        "collect_moments(..., n_jobs=-1) with defaults, in a fresh process. The file is dropped "
        "from the page cache before every measurement, except where cached is True",
        "read: read the same chunks and discard them. multiply: only the products of the slices, "
        "repeated on one block that stays in cache, with as many workers, counted in bytes of "
        "the file. share: streaming divided by the slower of the two. Read, multiply and "
        "stream take turns; share is the median over the turns",
        "peak: largest resident memory of the process; before: resident memory after imports",
    ]
    return {"": table}


def _row(folder, repeats, shape, dtype, format, share, cached):
    path = folder / f"samples.{format}"
    n = max(200, int(GIGABYTES * share * 1e9) // (math.prod(shape) * np.dtype(dtype).itemsize))
    rounds = min(repeats, 2 if share == 1 else 3)
    try:
        _write(path, n, shape, dtype, format)
        measured = [
            {what: _measure(what, path, format, cached) for what in ("read", "multiply", "stream")}
            for _ in range(rounds)
        ]
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    n_bytes = n * math.prod(shape) * np.dtype(dtype).itemsize

    def rate(turn, what):
        return turn[what]["bytes"] / turn[what]["seconds"] / 1e9

    turns = [{what: rate(turn, what) for what in turn} for turn in measured]
    shares = [turn["stream"] / min(turn["read"], turn["multiply"]) for turn in turns]
    middle = turns[int(np.argsort(shares)[len(shares) // 2])]
    return {
        "shape": "x".join(map(str, shape)),
        "dtype": dtype,
        "format": format,
        "GB": n_bytes / 1e9,
        "cached": cached,
        "read GB/s": middle["read"],
        "multiply GB/s": middle["multiply"],
        "stream GB/s": middle["stream"],
        "share": float(np.median(shares)),
        "before MB": measured[0]["stream"]["before"] / 1e6,
        "peak MB": max(turn["stream"]["peak"] for turn in measured) / 1e6,
    }


def _write(path, n, shape, dtype, format):
    rows = max(1, _BLOCK_BYTES // (math.prod(shape) * np.dtype(dtype).itemsize))
    block = np.random.default_rng(0).normal(size=(min(n, rows), *shape)).astype(dtype)
    if format == "npy":
        with open(path, "wb") as stream:
            header = {"descr": block.dtype.str, "fortran_order": False, "shape": (n, *shape)}
            np.lib.format.write_array_header_1_0(stream, header)
            for start in range(0, n, len(block)):
                part = block[: n - start]
                part *= -1
                stream.write(memoryview(part).cast("B"))
    else:
        stored = _create(path, (n, *shape), dtype, format)
        for start in range(0, n, len(block)):
            stored[start : start + len(block)] = block[: n - start]
        if format == "HDF5":
            stored.file.close()
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file():
            _flush(file)


def _create(path, shape, dtype, format):
    chunks = (256, *shape[1:])
    if format == "HDF5":
        import h5py

        return h5py.File(path, "w").create_dataset("X", shape, dtype, chunks=chunks)
    import zarr

    return zarr.create_array(str(path), shape=shape, dtype=dtype, chunks=chunks, compressors=None)


def _open(path, format):
    if format == "npy":
        return np.load(path, mmap_mode="r")
    if format == "HDF5":
        import h5py

        return h5py.File(path, "r")["X"]
    import zarr

    return zarr.open_array(str(path), mode="r")


def _flush(file):
    handle = os.open(file, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _set_cache(path, cached):
    """Load a whole file into the page cache, or drop it from there."""
    for file in [path] if path.is_file() else path.rglob("*"):
        if not file.is_file():
            continue
        if cached:
            with open(file, "rb", buffering=0) as stream:
                while stream.read(_BLOCK_BYTES):
                    pass
        elif hasattr(os, "posix_fadvise"):
            handle = os.open(file, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def _measure(what, path, format, cached):
    _set_cache(path, cached)
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.stream", what, str(path), format],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(answer.stdout)


# In the fresh process


def _stream(X):
    from tensift import collect_moments

    _forget_peak()
    before = _resident()[0]
    start = time.perf_counter()
    moments = collect_moments(X, n_jobs=-1)
    seconds = time.perf_counter() - start
    assert moments.count == X.shape[0]
    return {"seconds": seconds, "before": before, "peak": _peak()}


def _read(X):
    from tensift.sources import source_of

    start = time.perf_counter()
    for chunk in source_of(X).chunks():
        assert len(chunk.samples)
    return {"seconds": time.perf_counter() - start}


def _multiply(X):
    """Multiply the slices of one block, which stays in cache."""
    from tensift._utils.pool import Pool
    from tensift.algebra import make_transforms
    from tensift.moments import Moments, Orientation

    orientation = Orientation(X.shape[1:], 0, make_transforms("identity", X.shape[2:]))
    moments = Moments(orientation)
    rows = min(moments._rows_of_block(), X.shape[0])
    scatter = moments.blank_scatter()
    columns = np.moveaxis(np.random.default_rng(0).normal(size=(rows, *scatter.shape[:2])), 0, 2)
    tasks = moments._tasks(scatter)

    def multiply(part):
        scatter[part] += columns[part] @ np.swapaxes(columns[part], 1, 2)

    taken = 0
    with Pool(-1) as pool:
        pool.map(multiply, tasks)
        start = time.perf_counter()
        while time.perf_counter() - start < 2:
            pool.map(multiply, tasks)
            taken += 1
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes": taken * rows * np.asarray(X[:1]).nbytes}


if __name__ == "__main__":
    what, path, format = sys.argv[1:]
    X = _open(path, format)
    n_bytes = math.prod(X.shape) * np.dtype(X.dtype).itemsize
    found = {"read": _read, "multiply": _multiply, "stream": _stream}[what](X)
    json.dump({"bytes": n_bytes, **found}, sys.stdout)
