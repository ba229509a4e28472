"""What a choice by geometry costs, against the Laplacian score of the same samples."""

import numpy as np

from benchmarks._data import load, smooth_field
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift import GeometrySelector
from tensift.rivals import LaplacianScore

COUNT, ROUNDS = 100, 7
NOTES = [
    f"Seconds of a fit that selects {COUNT} features, on one core: medians of {ROUNDS} rounds in "
    "turn. Ratio: of the medians, and its range over single rounds",
]


def cost():
    """Return a table of times and their ratio."""
    table = Table("GeometrySelector against LaplacianScore, seconds of a fit", notes=NOTES)
    for name, samples in _samples():
        fits = {
            method.__name__: lambda method=method, samples=samples: method(COUNT).fit(samples)
            for method in (GeometrySelector, LaplacianScore)
        }
        with one_thread():
            times = interleave(fits, ROUNDS)
        ours, other = fits
        ratio, least, most = times.ratio(ours, other)
        table.rows.append(
            {
                "data": name,
                "samples": len(samples),
                "features": int(np.prod(samples.shape[1:])),
                ours: f"{times.median(ours):.3f}",
                other: f"{times.median(other):.3f}",
                "ratio [range]": f"{ratio:.1f} [{least:.1f}, {most:.1f}]",
            }
        )
    return table


def _samples():
    yield from ((name, load(name)[0]) for name in ("PIE", "COIL20", "JAFFE"))
    yield "smooth fields", smooth_field((2048, 64, 64))
