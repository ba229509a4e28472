"""Runs with a checkpoint that are ended at any time: run again, same result, nothing left."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

from .values import pick, plain_samples

# Many small chunks and a checkpoint after each, so that there is something to interrupt.
_RUN = """
import sys, time
import sklearn
import tensift.sources
import tensift._utils.checkpoint as checkpoint
from tensift.cli import main
from tensift.moments import _resume

checkpoint._SECONDS, checkpoint._SHARE = 0.0, 1e9
after = _resume.PassCheckpoint.after_chunks

def slowly(self):
    after(self)
    time.sleep(float(sys.argv[1]))

_resume.PassCheckpoint.after_chunks = slowly
sklearn.set_config(working_memory=1)
print("ready", flush=True)
sys.exit(main(sys.argv[2:]))
"""
_RESULTS = ("scores.npy", "selected.npy", "ranking.csv")
_LIMIT_SECONDS = 120


def check_case(rng, folder):
    """End a run some times, then let it finish."""
    np.save(folder / "x.npy", plain_samples(rng, (8, 8), n=int(rng.integers(400, 2000))))
    arguments = ["select", "x.npy", "-k", "5", "--no-figure", "--quiet", "--basis"]
    arguments += [pick(rng, ("identity", "dct", "eigen")), "--checkpoint"]
    _finish(_start(folder, 0.0, *arguments, "whole.npz", "-o", "whole"))
    ends = []
    for _ in range(int(rng.integers(1, 3))):
        number = pick(rng, (signal.SIGTERM, signal.SIGKILL))
        process = _start(folder, 0.02, *arguments, "c.npz", "-o", "out", "--overwrite")
        time.sleep(float(rng.uniform(0, 0.6)))
        process.send_signal(number)
        _, err = process.communicate(timeout=_LIMIT_SECONDS)
        ends.append((number.name, process.returncode, err))
        _check_end(folder, number, process.returncode, err)
    _finish(_start(folder, 0.0, *arguments, "c.npz", "-o", "out", "--overwrite"))
    for name in _RESULTS:
        same = (folder / "out" / name).read_bytes() == (folder / "whole" / name).read_bytes()
        assert same, f"{name} differs after {ends}, with {arguments}"
    left = {path.name for path in folder.rglob("*")}
    expected = {"x.npy", "c.npz", "whole.npz", "out", "whole", "settings.json", *_RESULTS}
    assert left == expected, f"files that were left: {left ^ expected}, after {ends}"


def _start(folder, delay, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, str(delay), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    if process.stdout.readline() != "ready\n":
        raise AssertionError(process.communicate()[1])
    return process


def _finish(process):
    _, err = process.communicate(timeout=_LIMIT_SECONDS)
    assert process.returncode == 0, f"exit status {process.returncode}: {err}"
    assert err == "", err


def _check_end(folder, number, status, err):
    finished = status == 0
    if number == signal.SIGKILL:
        assert finished or status == -signal.SIGKILL, f"exit status {status}: {err}"
        return
    # Before and after `main`, Python itself ends the process.
    assert status in (0, 128 + number, -number), f"exit status {status}: {err}"
    assert err in ("", "tensift: error: terminated\n"), err
    hidden = [path.name for path in folder.rglob(".tensift-*")]
    assert finished or status == -number or not hidden, f"left after SIGTERM: {hidden}"
