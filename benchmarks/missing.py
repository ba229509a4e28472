"""Selections from samples with gaps, beside those from filled ones.

Values are removed from complete samples, at random or in blocks. Ours takes the gaps as they are;
the others fill them first, and then use our fit. What is selected is compared with the selection
from the complete samples, and by k-means on the complete values of the selected features.

``python -m benchmarks.missing --quick`` takes a few sets, in about ten minutes.
"""

import argparse
import sys
import time
import warnings

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from benchmarks._data import published
from benchmarks._environment import describe_environment
from benchmarks._results import Table, write_results
from benchmarks._timing import one_thread
from tensift import GeometrySelector, STPCASelector
from tensift.datasets import list_paper, load_digits
from tensift.metrics import evaluate_selection

QUICK = ("digits", "USPS", "Imm40", "PIE")
SHARES = (0.05, 0.2, 0.5)
PATTERNS = ("random", "blocks")
SEEDS = (0, 1)
KEPT = 8  # of all features one in so many is kept
MOST = 400  # samples
RUNS = 10  # of k-means
SELECTORS = {"geometry": GeometrySelector, "stpca": STPCASelector}
# With all features as predictors, and ten rounds, the iterative imputer takes hours on these sets.
IMPUTERS = {
    "mean": lambda: SimpleImputer(keep_empty_features=True),
    "nearest": lambda: KNNImputer(keep_empty_features=True),
    "iterative": lambda: IterativeImputer(
        max_iter=3, n_nearest_features=10, keep_empty_features=True, random_state=0
    ),
}


def run(repeats, names=None, seeds=SEEDS):
    """Return the tables; `names` are those of sets, all by default."""
    del repeats  # times are of single fits
    rows = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, labels in _sets(names):
            rows += _rows_of_set(name, X, labels, seeds)
            print(f"{name} is done", file=sys.stderr, flush=True)
    table = Table("Selections from samples with gaps", rows, _notes(rows))
    return {"": _summary(rows), "_sets": table}


def _sets(names):
    """Yield samples (n, d_1, ..., d_m) and labels."""
    if names is None or "digits" in names:
        digits = load_digits()
        yield "digits", np.asarray(digits.data[:MOST], float), digits.labels[:MOST]
    for name in list_paper():
        dataset = published(name)
        if dataset is None or dataset.labels is None or (names is not None and name not in names):
            continue
        stride = -(-dataset.n_samples // MOST)
        yield name, np.asarray(dataset.data[::stride], float), np.asarray(dataset.labels[::stride])


def _rows_of_set(name, X, labels, seeds):
    """One row for every share, pattern, selector and method: means over seeds."""
    count = max(10, X[0].size // KEPT)
    whole = {key: kind(count).fit(X).get_support() for key, kind in SELECTORS.items()}
    best = {key: _accuracy(X, labels, support) for key, support in whole.items()}
    rows = []
    for pattern in PATTERNS:
        for share in SHARES:
            found = [_outcomes(count, _with_gaps(X, share, pattern, seed)) for seed in seeds]
            for selector, method in found[0]:
                supports, seconds = zip(*(one[selector, method] for one in found), strict=True)
                same = [np.count_nonzero(one & whole[selector]) / count for one in supports]
                accuracies = [_accuracy(X, labels, one) for one in supports]
                rows.append(
                    {
                        "set": name,
                        "selector": selector,
                        "pattern": pattern,
                        "missing": share,
                        "method": method,
                        "overlap": float(np.mean(same)),
                        "k-means gain": float(np.mean(accuracies) - best[selector]),
                        "seconds": float(np.mean(seconds)),
                    }
                )
    return rows


def _with_gaps(X, share, pattern, seed):
    """Remove a share of the values: each on its own, or a block from every sample."""
    rng = np.random.default_rng(seed)
    gappy = X.copy()
    if pattern == "random":
        gappy[rng.random(X.shape) < share] = np.nan
        return gappy
    shape = X.shape[1:]
    side = share ** (1 / len(shape))
    lengths = [max(1, round(side * length)) for length in shape]
    for sample in gappy:
        starts = [
            rng.integers(0, length - size + 1) for length, size in zip(shape, lengths, strict=True)
        ]
        sample[tuple(slice(a, a + n) for a, n in zip(starts, lengths, strict=True))] = np.nan
    return gappy


def _outcomes(count, gappy):
    """Return what every method selects, and the seconds of filling and fitting."""
    found = {}
    for selector, kind in SELECTORS.items():
        start = time.perf_counter()
        support = kind(count, missing="allow").fit(gappy).get_support()
        found[selector, "ours"] = support, time.perf_counter() - start
    for name, make in IMPUTERS.items():
        start = time.perf_counter()
        filled = make().fit_transform(gappy.reshape(len(gappy), -1)).reshape(gappy.shape)
        filling = time.perf_counter() - start
        for selector, kind in SELECTORS.items():
            start = time.perf_counter()
            support = kind(count).fit(filled).get_support()
            found[selector, name] = support, filling + time.perf_counter() - start
    return found


def _accuracy(X, labels, support):
    found = evaluate_selection(X, labels, support, n_repeats=RUNS, metrics=("acc",))
    return float(found.means["acc"][-1])


def _summary(rows):
    """Means over sets, for every pattern and share."""
    keys = list(
        dict.fromkeys((r["selector"], r["pattern"], r["missing"], r["method"]) for r in rows)
    )
    table = Table("Means over sets")
    for key in keys:
        own = [r for r in rows if (r["selector"], r["pattern"], r["missing"], r["method"]) == key]
        means = {
            name: float(np.mean([r[name] for r in own]))
            for name in ("overlap", "k-means gain", "seconds")
        }
        names = ("selector", "pattern", "missing", "method")
        table.rows.append(dict(zip(names, key, strict=True)) | means)
    table.notes = _notes(rows)
    return table


def _notes(rows):
    """On how many sets ours is nearer to complete data, and how its time compares."""
    notes = [
        "overlap: the share of the features selected from complete samples that is selected again.",
        "k-means gain: accuracy of k-means on complete values of the selected features, less that "
        "of the selection from complete samples.",
    ]
    place = {(r["set"], r["selector"], r["pattern"], r["missing"], r["method"]): r for r in rows}
    sets = list(dict.fromkeys(r["set"] for r in rows))
    for selector in SELECTORS:
        for pattern in PATTERNS:
            pairs = [
                [place[name, selector, pattern, 0.2, method] for method in ("ours", "mean")]
                for name in sets
            ]
            better = sum(ours["overlap"] >= mean["overlap"] for ours, mean in pairs)
            notes.append(
                f"{selector}, 20 % missing, {pattern}: ours overlaps at least as much as after "
                f"filling in means on {better} of {len(sets)} sets."
            )
    ratios = [
        place[(*key[:4], "iterative")]["seconds"] / row["seconds"]
        for key, row in place.items()
        if key[4] == "ours"
    ]
    notes.append(
        f"The iterative imputer and our fit take {min(ratios):.1f} to {max(ratios):.1f} times as "
        "long as ours."
    )
    return notes


def main():
    """Run this benchmark on its own."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.missing", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"only {', '.join(QUICK)}, once")
    parser.add_argument("--output", default="benchmarks/results", help="folder of the tables")
    options = parser.parse_args()
    start = time.perf_counter()
    tables = run(1, QUICK, SEEDS[:1]) if options.quick else run(1)
    write_results(options.output, "missing", tables, describe_environment())
    print(tables[""].markdown())
    print(f"(missing took {time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
