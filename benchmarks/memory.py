"""Peak resident memory of a fit against the number of samples, one fresh process each."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._data import ROOT
from benchmarks._results import Table

SAMPLE_SHAPE = (32, 32)
COUNTS = (2000, 8000, 32000)
MIB = 2**20
ALLOWED_SHARE = 0.02  # memory may grow by this share of the growth of the input


def run(repeats):
    table = Table("Peak resident memory beyond the input")
    for how, dtype in (
        ("fit", "float32"),
        ("fit", "float64"),
        ("fit, memory-mapped", "float32"),
        ("partial_fit, memory-mapped", "float32"),
    ):
        rows = [_row(how, dtype, n) for n in COUNTS]
        table.rows += rows
        grown = rows[-1]["beyond the input MiB"] - rows[0]["beyond the input MiB"]
        input_grown = rows[-1]["input MiB"] - rows[0]["input MiB"]
        if grown > ALLOWED_SHARE * input_grown:
            table.failures.append(
                f"{how}, {dtype}: {grown:.1f} MiB more for {input_grown:.0f} MiB more of input"
            )
    table.notes = [
        "beyond the input: peak during the fit minus the resident memory before it, and minus the "
        "resident pages of a memory-mapped input. It contains the libraries that a first "
        "fit loads, the Gram tensor, the solver's work space and the results",
        "samples of 32x32, uniform noise, solver 'paper', lam = eta = 10, one BLAS thread; "
        "partial_fit takes 1000 samples at a time",
    ]
    return {"": table}


def _row(how, dtype, n):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.npy"
        if "mapped" in how:
            _write_samples(path, n, dtype)
        measured = _in_fresh_process(how, dtype, n, path)
    return {
        "how": how,
        "dtype": dtype,
        "n": n,
        "input MiB": n * np.prod(SAMPLE_SHAPE) * np.dtype(dtype).itemsize / MIB,
        "before MiB": measured["before"] / MIB,
        "peak MiB": measured["peak"] / MIB,
        "beyond the input MiB": measured["beyond"] / MIB,
    }


def _write_samples(path, n, dtype):
    rng = np.random.default_rng(0)
    samples = np.lib.format.open_memmap(path, "w+", dtype, (n, *SAMPLE_SHAPE))
    for start in range(0, n, 1000):
        block = samples[start : start + 1000]
        block[:] = rng.random(size=block.shape, dtype=dtype)
    samples.flush()


def _in_fresh_process(how, dtype, n, path):
    one_thread = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
    )
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory", how, dtype, str(n), str(path)],
        cwd=ROOT,
        env=os.environ | one_thread,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(answer.stdout)


def _fit_and_measure(how, dtype, n, path):
    """Fit and measure, in the fresh process."""
    from tensift import STPCASelector

    selector = STPCASelector(100, selection="top", lam=10, eta=10, solver="paper")
    if "mapped" in how:
        samples = np.load(path, mmap_mode="r")
    else:  # filled in place, so that making the samples needs no extra memory
        samples = np.empty((n, *SAMPLE_SHAPE), dtype)
        np.random.default_rng(0).random(dtype=dtype, out=samples)
    _forget_peak()
    before, mapped_before = _resident()
    if how.startswith("partial_fit"):
        for start in range(0, n, 1000):
            selector.partial_fit(samples[start : start + 1000], solve=False)
        selector.solve()
    else:
        selector.fit(samples)
    assert np.isfinite(selector.scores_).all()
    peak = _peak()
    mapped = _resident()[1] - mapped_before if "mapped" in how else 0
    return {"before": before, "peak": peak, "beyond": peak - before - mapped}


def _forget_peak():
    """Reset the kernel's peak counter where possible, since imports may have had a higher peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _resident():
    """Return the resident bytes, and how many of them belong to files."""
    status = _status()
    if status is None:
        return _peak(), 0
    return status["VmRSS"], status["RssFile"]


def _peak():
    status = _status()
    if status is not None:
        return status["VmHWM"]
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _status():
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    pairs = (line.split(":") for line in lines)
    return {key: 1024 * int(text.split()[0]) for key, text in pairs if text.endswith(" kB")}


if __name__ == "__main__":
    how, dtype, n, path = sys.argv[1:]
    json.dump(_fit_and_measure(how, dtype, int(n), path), sys.stdout)
