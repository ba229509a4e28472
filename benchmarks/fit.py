"""Our fit against a plain transcription of the authors' algorithm, one worker each."""

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from benchmarks._data import load
from benchmarks._results import Table
from benchmarks._timing import interleave, one_thread
from benchmarks.transcription import fit_transcription
from tensift import STPCASelector

AGREEMENT = 1e-6  # of the largest score


@dataclass(frozen=True)
class Case:
    data: str
    lam: float = 10.0
    eta: float = 10.0
    orientation: int = 0
    basis: str = "identity"


CASES = [
    *(
        Case(data, penalty, penalty)
        for data in ("PIE", "JAFFE", "ASCH")
        for penalty in (10.0, 0.1, 1.0, 100.0)
    ),
    Case("PIE", basis="dft"),
    Case("BreastMNIST", basis="dft"),
    Case("BreastMNIST"),
]
LARGE_CASE = Case("ASCH", orientation=1)  # q = 640 features, 84 samples


def run(repeats):
    table = Table("Fit against transcription, one worker, one BLAS thread")
    with one_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="with basis='dft'")
        for case in CASES:
            table.rows.append(_compare(case, repeats))
        table.rows.append(_compare_large(LARGE_CASE))
    table.failures = [
        f"{row['data']} ({row['lam, eta']}, {row['basis']}): scores differ by "
        f"{row['score difference']:.1e} of the largest"
        for row in table.rows
        if row["score difference"] > AGREEMENT
    ]
    table.notes = [
        "ratio: median of the transcription divided by median of ours; range: over single rounds",
        "score difference: the largest difference divided by the largest score; at most "
        f"{AGREEMENT:g}",
        "ASCH at orientation 1: the transcription ran on 2 of the 16 slices. Its time is "
        "multiplied by the steps of all 16 divided by the steps of the 2; one round, no warm-up",
    ]
    return {"": table}


def _compare(case, repeats):
    X, source = load(case.data)
    M = scipy.linalg.dft(X.shape[2 - case.orientation]) if case.basis == "dft" else None
    timings = interleave(
        {
            "ours": lambda: _selector(case).fit(X),
            "theirs": lambda: fit_transcription(
                X, case.lam, case.eta, orientation=case.orientation, M=M
            ),
        },
        repeats,
    )
    selector, (scores, _, _) = timings.returned["ours"], timings.returned["theirs"]
    return _row(case, X, source, timings, selector, selector.scores_, scores)


def _compare_large(case):
    """Compare as above, but run the transcription on two slices and extrapolate by steps."""
    X, source = load(case.data)
    # The transcription divides by the largest value, so one of the two slices must have it.
    first = np.unravel_index(np.abs(X).argmax(), X.shape)[1]
    slices = [first, (first + 1) % X.shape[1]]
    timings = interleave(
        {
            "ours": lambda: _selector(case).fit(X),
            "theirs": lambda: fit_transcription(
                X[:, slices], case.lam, case.eta, orientation=case.orientation
            ),
        },
        repeats=1,
        warm_up=False,
    )
    selector, (scores, steps, _) = timings.returned["ours"], timings.returned["theirs"]
    factor = selector.n_iter_.sum() / steps.sum()
    return _row(case, X, source, timings, selector, selector.scores_[slices], scores, factor)


def _selector(case):
    return STPCASelector(
        100,
        selection="top",
        orientation=case.orientation,
        basis=case.basis,
        lam=case.lam,
        eta=case.eta,
        solver="paper",
    )


def _row(case, X, source, timings, selector, ours, theirs, factor=1.0):
    ratio, low, high = timings.ratio("theirs", "ours", factor)
    return {
        "data": case.data,
        "source": source,
        "shape": "x".join(map(str, X.shape)),
        "orientation": case.orientation,
        "basis": case.basis,
        "lam, eta": f"{case.lam:g}, {case.eta:g}",
        "steps": float(selector.n_iter_.mean()),
        "ours min s": timings.best("ours"),
        "ours median s": timings.median("ours"),
        "transcription min s": factor * timings.best("theirs"),
        "transcription median s": factor * timings.median("theirs"),
        "ratio": ratio,
        "range": f"{low:.2f} to {high:.2f}",
        "rounds": timings.rounds,
        "score difference": float(np.abs(ours - theirs).max() / theirs.max()),
    }
