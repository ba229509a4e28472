"""Time against samples n, features per slice q and slices p, doubling one at a time."""

import numpy as np

from benchmarks._data import smooth_field
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from tensift.algebra import make_transforms
from tensift.moments import Moments, Orientation
from tensift.solvers import SliceProblems, solve_paper

BASE = {"n": 1024, "q": 32, "p": 32}
VALUES = {
    "n": (512, 1024, 2048, 4096, 8192),
    "q": (16, 32, 64, 128, 256),
    "p": (16, 32, 64, 128, 256),
}


def run(repeats):
    times = Table("Time of the Gram tensor and of the solver, one worker, one BLAS thread")
    exponents = Table("Fitted exponents")
    with one_thread():
        for varied, values in VALUES.items():
            rows = _measure(varied, values, min(repeats, 5))
            times.rows += rows
            exponents.rows.append(
                {"varied": varied}
                | {
                    key.removesuffix(" s"): _exponent(values, [row[key] for row in rows])
                    for key in ("Gram s", "solve s", "solve per slice and step s")
                }
            )
    times.notes = [
        "smooth random fields, orientation 0, identity, lam = eta = 10, data in [0, 1]; "
        "medians of several rounds in which the sizes take turns",
    ]
    exponents.notes = [
        "time grows as the varied size to this power, fitted over all five sizes. "
        "The operation counts of the Gram tensor grow as n 1, q 2, p 1, those of the solver as "
        "n 0, q 3, p 1 (per slice and step: 0, 3, 0). Overheads and caches lower the exponents "
        "at small sizes",
    ]
    return {"": times, "_exponents": exponents}


def _measure(varied, values, repeats):
    sizes = [BASE | {varied: value} for value in values]
    samples = [smooth_field((size["n"], size["q"], size["p"])) for size in sizes]
    gram = interleave(
        {i: (lambda X=X: _gram(X)) for i, X in enumerate(samples)}, repeats, budget=15
    )
    solve = interleave(
        {i: (lambda g=gram.returned[i]: _solve(g)) for i in range(len(sizes))}, repeats, budget=15
    )
    rows = []
    for i, size in enumerate(sizes):
        steps = int(solve.returned[i].n_iter.sum())
        rows.append(
            {
                "varied": varied,
                **size,
                "Gram s": gram.median(i),
                "solve s": solve.median(i),
                "steps of all slices": steps,
                "solve per slice and step s": solve.median(i) / steps,
                "rounds": min(gram.rounds, solve.rounds),
            }
        )
    return rows


def _gram(X):
    transforms = make_transforms("identity", X.shape[2:])
    return Moments(Orientation(X.shape[1:], 0, transforms)).update(X).gram()


def _solve(gram):
    return solve_paper(SliceProblems(gram, lam=10.0, eta=10.0), ridge=1e-3)


def _exponent(values, seconds):
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
