"""The data of a Dask array never come to the client."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("distributed")

FIT = """
import json, logging, resource, sys
import numpy as np
import dask.array as da
from distributed import Client, LocalCluster
from tensift import STPCASelector, TensorPCA

def block(block_info=None):
    shape = block_info[None]["chunk-shape"]
    number = block_info[None]["chunk-location"][0]
    one = np.random.default_rng(number).normal(size=(shape[0] // 50, *shape[1:]))
    return np.concatenate([one + k for k in range(50)]).astype(np.float32)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

if __name__ == "__main__":
    rows, n_chunks, shape = 10_000, 50, (20, 50)
    X = da.map_blocks(
        block, chunks=((rows,) * n_chunks, *((d,) for d in shape)), dtype=np.float32,
        meta=np.empty((0, 0, 0), np.float32),
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
    ) as cluster, Client(cluster) as client:
        STPCASelector(5, lam=0.1, eta=0.1).fit(X[:20])  # loads what a fit needs
        before = peak()
        fitted = STPCASelector(5, lam=0.1, eta=0.1).fit(X)
        kept = fitted.transform(X)
        means = kept[:rows].mean(axis=0).compute()
        print(json.dumps({
            "bytes": X.nbytes, "grown": peak() - before, "n": fitted.n_samples_seen_,
            "finite": bool(np.isfinite(means).all()), "shape": kept.shape,
        }))
"""


@pytest.mark.slow
def test_the_client_stays_small(tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(FIT)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["bytes"] == 2_000_000_000
    assert found["n"] == 500_000
    assert found["finite"]
    assert found["shape"] == [500_000, 5]
    assert found["grown"] < found["bytes"] / 40, f"{found['grown'] / 2**20:.0f} MiB"
