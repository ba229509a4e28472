"""The price of selection by geometry: against our Laplacian score, and how it grows."""

import warnings

import numpy as np

from benchmarks._data import load
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import GeometrySelector
from tensift.rivals import LaplacianScore

COUNT = 100
GROWTH = [(512, 1024), (1024, 1024), (2048, 1024), (2048, 2048), (2048, 4096)]  # samples, features


def run(repeats):
    price = Table("100 features by geometry against the Laplacian score, one BLAS thread")
    growth = Table("Growth with samples and features")
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in ("PIE", "COIL20", "JAFFE"):
            X, source = load(name)
            price.rows.append(_compared(name, source, X, repeats))
        price.rows.append(_compared("2048 x 4096", "generated", _factors(2048, 4096), repeats))
        for n, d in GROWTH:
            X = _factors(n, d)
            times = interleave({"ours": lambda X=X: GeometrySelector(COUNT).fit(X)}, repeats)
            growth.rows.append({"samples": n, "features": d, "seconds": times.median("ours")})
    price.notes = [
        "ratio: median of ours divided by median of the Laplacian score; range: over single rounds",
        "ours: neighbours, cross-fitted agreement, the target, and the choice of 100 features",
        "generated: 60 factors and noise, where components beyond the factors have no gap",
    ]
    return {"": price, "_growth": growth}


def _compared(name, source, X, repeats):
    times = interleave(
        {
            "ours": lambda: GeometrySelector(COUNT).fit(X),
            "laplacian": lambda: LaplacianScore(COUNT).fit(X),
        },
        repeats,
    )
    ratio, least, most = times.ratio("ours", "laplacian")
    return {
        "data": name,
        "source": source,
        "shape": " x ".join(map(str, X.shape)),
        "geometry (s)": times.median("ours"),
        "Laplacian score (s)": times.median("laplacian"),
        "ratio": ratio,
        "range": f"{least:.2f} to {most:.2f}",
    }


def _factors(n, d, rank=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) + rng.normal(size=(n, d))
