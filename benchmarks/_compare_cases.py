"""The timings that `python -m benchmarks compare` takes of a revision, one at a time on request.

This runs in a process of its own, whose path has the library of one revision. It reads names of
cases from standard input, a line each, and answers each with the seconds of one run, or with the
error. It uses only names that have been public for long, so that old revisions can answer too.
"""

import contextlib
import gc
import json
import sys
import time
import warnings

import numpy as np

CASES = {
    "STPCASelector": "default fit, 400 images of 32 x 32, 50 features",
    "STPCASelector, exact": "fixed penalties, exact solver",
    "STPCASelector, paper": "fixed penalties, the paper's solver",
    "GeometrySelector": "1000 images of 32 x 32, 50 features",
    "ColumnSubsetSelector": "1000 images of 32 x 32, 50 features",
    "channels": "default fit, 200 recordings of 32 channels, 128 points, 8 channels",
    "stream": "partial_fit of ten chunks, 4000 images of 16 x 16",
    "path": "stpca_path, 5 x 5 penalties, 200 images of 16 x 16",
    "reconstruct": "1000 images from 50 of their pixels",
}


def smooth(n, height, width, rank=12, seed=0):
    """Samples that are sums of smooth patterns, with noise."""
    rng = np.random.default_rng(seed)
    patterns = rng.normal(size=(rank, height, width)).cumsum(axis=1).cumsum(axis=2)
    patterns /= patterns.std(axis=(1, 2), keepdims=True)
    samples = np.einsum("nr,rhw->nhw", rng.normal(size=(n, rank)), patterns)
    return samples + 0.3 * rng.normal(size=samples.shape)


def prepared(name):
    """Return a function without arguments: what is timed."""
    from tensift import ColumnSubsetSelector, GeometrySelector, STPCASelector, stpca_path

    if name.startswith("STPCASelector"):
        X = smooth(400, 32, 32)
        options = {} if name == "STPCASelector" else {"lam": 10, "eta": 10, "solver": name[15:]}
        return lambda: STPCASelector(50, **options).fit(X)
    if name == "channels":
        X = smooth(200, 32, 128)
        return lambda: STPCASelector(8, feature_mode=0).fit(X)
    if name == "stream":
        chunks = np.array_split(smooth(4000, 16, 16), 10)

        def stream():
            selector = STPCASelector(20, lam=10, eta=10)
            for chunk in chunks:
                selector.partial_fit(chunk)

        return stream
    if name == "path":
        X = smooth(200, 16, 16)
        return lambda: stpca_path(X)
    X = smooth(1000, 32, 32)
    if name == "reconstruct":
        selector = ColumnSubsetSelector(50).fit(X)
        kept = selector.transform(X)
        selector.reconstruct(kept)  # the first call learns the estimate; the others are timed
        return lambda: selector.reconstruct(kept)
    makers = {"GeometrySelector": GeometrySelector, "ColumnSubsetSelector": ColumnSubsetSelector}
    return lambda: makers[name](50).fit(X)


def main():
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    answers = sys.stdout
    ready = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if name == "where":
                    import tensift

                    answer = {"where": tensift.__file__}
                else:
                    answer = {"seconds": _seconds(ready, name)}
        except Exception as error:  # an old revision may lack a name: the table says so
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


def _seconds(ready, name):
    if name not in ready:
        ready[name] = prepared(name)
        ready[name]()  # warms up what is loaded or compiled once
    gc.collect()
    start = time.perf_counter()
    ready[name]()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
