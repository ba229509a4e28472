"""The computations of the study: choices, which do not see the labels, and judgements."""

import hashlib
import json
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.label_free._classify import linear_accuracy, nearest_neighbour_accuracy
from benchmarks.label_free._contestants import GEOMETRY, Contestant
from benchmarks.label_free._sources import fingerprint
from benchmarks.label_free._subjects import load_subject
from tensift import GeometrySelector, __version__, stpca_path
from tensift.comparison._limit import OverLimit, can_limit, time_limit
from tensift.metrics import Judge, evaluate_selection, reconstruction_error, redundancy

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)  # the paper's
SHORT_GRID = (0.1, 10.0)
LARGE = 200  # slices with more features get the short grid
SEEDS = tuple(range(10))  # of k-means
LIMIT = 60.0  # most seconds of processor time for one fit
CLUSTERED = ("acc", "nmi")
CLASSIFIED = ("nearest", "linear")
METRICS = (*CLUSTERED, *CLASSIFIED, "r2")
FOLDS = 2  # of what is missed; there are hundreds of selections, and two are fast


def compute(cell):
    """Compute a cell; `run_cells` calls this, also in other processes."""
    return cell.compute()


@dataclass(frozen=True)
class Choice:
    """What a contestant selects on a set: its first features for each count."""

    subject: str
    contestant: Contestant
    seed: int = 0

    @property
    def key(self):
        code = fingerprint(self.contestant.selector)
        return _key("choice", self.subject, self._identity(), self.seed, LIMIT, code)

    @property
    def group(self):
        return self.subject, self.contestant.method

    def _identity(self):
        """Return the parameters by name, including those left at their defaults."""
        samples, _ = load_subject(self.subject)
        try:
            made = self.contestant.make(max(samples.counts), samples, self.seed)
        except TypeError:  # the library does not have this parameter; the fit will say so
            return repr(self.contestant)
        return f"{self.contestant.method} {sorted(made.get_params(deep=False).items())!r}"

    def compute(self):
        """Return `features` per count and `seconds`, or why it is `left_out`, or the `error`.

        The seconds are those of one fit, for the largest count.
        """
        samples, _ = load_subject(self.subject)
        try:
            features, seconds = self._features(samples)
        except OverLimit:
            return {"left_out": f"stopped after {LIMIT:g} s"}
        except Exception as error:
            lines = str(error).strip().splitlines()
            return {"error": f"{type(error).__name__}: {lines[0] if lines else ''}"}
        return {"features": features, "seconds": seconds}

    def _features(self, samples):
        contestant, counts = self.contestant, samples.counts
        if not contestant.per_count:
            fitted, seconds = self._fitted(max(counts), samples)
            order = fitted.order_.tolist()
            # A selector that keeps all features is judged with all of them.
            kept = int(np.count_nonzero(fitted.get_support()))
            chosen = [order[: kept if kept > max(counts) else count] for count in counts]
            return chosen, seconds
        found = []
        for count in counts:
            fitted, seconds = self._fitted(count, samples)
            found.append(np.flatnonzero(fitted.get_support()).tolist())
        return found, seconds

    def _fitted(self, count, samples):
        selector = self.contestant.make(count, samples, self.seed)
        started = time.process_time()
        with time_limit(LIMIT if can_limit() else None), _limited_steps():
            selector.fit(samples.data)
        return selector, time.process_time() - started


@dataclass(frozen=True)
class Grid:
    """What the paper's method selects by largest scores, over its grid in one orientation."""

    subject: str
    orientation: int

    @property
    def key(self):
        return _key("grid", self.subject, self.orientation, self.grid, fingerprint(stpca_path))

    @property
    def group(self):
        return self.subject, "grid"

    @property
    def grid(self):
        shape = load_subject(self.subject)[0].data.shape[1:]
        return SHORT_GRID if shape[self.orientation] > LARGE else GRID

    @property
    def settings(self):
        return [(lam, eta, self.orientation) for lam in self.grid for eta in self.grid]

    def compute(self):
        """Return `features` for each setting and count."""
        samples, _ = load_subject(self.subject)
        started = time.process_time()
        with _limited_steps():
            path = stpca_path(
                samples.data,
                self.grid,
                self.grid,
                orientation=self.orientation,
                feature_mode=samples.feature_mode,
                solver="paper",
            )
        places = range(len(self.grid))
        orders = [path.ranking(i, j).tolist() for i in places for j in places]
        features = [[order[:count] for count in samples.counts] for order in orders]
        return {"features": features, "seconds": time.process_time() - started}


@dataclass(frozen=True)
class Suggested:
    """How many features "auto" keeps on a set, and the order from which they are taken."""

    subject: str

    @property
    def key(self):
        return _key("suggested", self.subject, fingerprint(GeometrySelector))

    @property
    def group(self):
        return self.subject, GEOMETRY

    def compute(self):
        """Return the suggested `count`, the `tried` counts, and the `order` of features."""
        samples, _ = load_subject(self.subject)
        tried = eight_counts(samples.n_features)
        fitted = GeometrySelector("auto", feature_mode=samples.feature_mode).fit(samples.data)
        count = int(fitted.n_features_)
        most = max(count, *tried)
        fitted = GeometrySelector(most, feature_mode=samples.feature_mode).fit(samples.data)
        return {"count": count, "tried": tried, "order": fitted.order_[:most].tolist()}


def eight_counts(n_features):
    """Return at most eight counts with equal ratios: 10 to 300, or an eighth of them to all."""
    least = max(1, min(10, n_features // 8))
    return sorted({round(one) for one in np.geomspace(least, min(n_features, 300), 8)})


@dataclass(frozen=True)
class Judgement:
    """Selected features, judged by the labels: k-means from every seed, and two classifiers."""

    subject: str
    features: tuple[int, ...]  # sorted, because many contestants select the same ones

    @property
    def key(self):
        _, labels = load_subject(self.subject)
        code = [fingerprint(one) for one in (evaluate_selection, linear_accuracy)]
        return _key("judgement", self.subject, self.features, SEEDS, code, labels.tolist())

    @property
    def group(self):
        return self.subject, "judgement"

    def compute(self):
        """Return the values of each metric in points: one per seed, or one of a classifier."""
        samples, labels = load_subject(self.subject)
        rows = samples.restricted(self.features)
        everything = np.arange(rows.shape[1])
        found = {metric: [] for metric in CLUSTERED}
        for seed in SEEDS:
            judged = evaluate_selection(
                rows,
                labels,
                everything,
                counts=[len(everything)],
                n_repeats=1,
                random_state=seed,
                metrics=CLUSTERED,
            )
            for metric in CLUSTERED:
                found[metric].append(100 * float(judged.means[metric][0]))
        found["nearest"] = [100 * nearest_neighbour_accuracy(rows, labels)]
        found["linear"] = [100 * linear_accuracy(rows, labels)]
        return found


@dataclass(frozen=True)
class Measured:
    """What measures without labels say of selected features."""

    subject: str
    features: tuple[int, ...]  # sorted

    @property
    def key(self):
        code = [fingerprint(one) for one in (Judge, reconstruction_error, redundancy)]
        return _key("measured", self.subject, self.features, FOLDS, code)

    @property
    def group(self):
        return self.subject, "measured"

    def compute(self):
        """Return the value of each measure."""
        samples, _ = load_subject(self.subject)
        judge, chosen = _judge_of(samples), np.array(self.features)
        data, mode = samples.data, samples.feature_mode
        return {
            "neighbours kept": judge.neighbours_kept(chosen),
            "neighbours agree": judge.neighbour_agreement(chosen),
            "alignment": judge.alignment(chosen),
            "missed": reconstruction_error(data, chosen, feature_mode=mode, n_folds=FOLDS),
            "redundancy": redundancy(data, chosen, feature_mode=mode),
        }


@lru_cache(maxsize=1)
def _judge_of(samples):
    """Compute the components of a set once: cells of one set follow each other."""
    return Judge(samples.data, samples.feature_mode)


@contextmanager
def _limited_steps():
    """Ignore warnings about convergence: methods are compared with their default step limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _key(kind, subject, *parts):
    """Name what is computed and on what, with a checksum of all that the result depends on."""
    text = json.dumps([__version__, load_subject(subject)[0].checksum, *parts])
    return f"{kind} {subject} {hashlib.sha256(text.encode()).hexdigest()[:32]}"
