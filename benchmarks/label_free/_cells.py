"""The computations of the study: choices, which see no labels, and judgements."""

import hashlib
import json
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.label_free._contestants import Contestant
from benchmarks.label_free._sources import fingerprint
from benchmarks.label_free._subjects import load_subject
from tensift import __version__, stpca_path
from tensift.comparison._limit import OverLimit, can_limit, time_limit
from tensift.metrics import evaluate_selection

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)  # the paper's
SHORT_GRID = (0.1, 10.0)
LARGE = 200  # features of a slice, beyond which the grid is the short one
SEEDS = tuple(range(20))  # of k-means
LIMIT = 60.0  # seconds of processor time that one fit may take
METRICS = ("acc", "nmi")


def compute(cell):
    """What `run_cells` calls, also in other processes."""
    return cell.compute()


@dataclass(frozen=True)
class Choice:
    """What a contestant chooses on a set: its first features for each count."""

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
        """The parameters by name, those that are left at their defaults too."""
        samples, _ = load_subject(self.subject)
        try:
            made = self.contestant.make(max(samples.counts), samples, self.seed)
        except TypeError:  # a parameter that the library does not have: the fit will say so
            return repr(self.contestant)
        return f"{self.contestant.method} {sorted(made.get_params(deep=False).items())!r}"

    def compute(self):
        """`features` for each count and `seconds`; or why it is `left_out`; or the `error`."""
        samples, _ = load_subject(self.subject)
        started = time.process_time()
        try:
            features = self._features(samples)
        except OverLimit:
            return {"left_out": f"stopped after {LIMIT:g} s"}
        except Exception as error:
            lines = str(error).strip().splitlines()
            return {"error": f"{type(error).__name__}: {lines[0] if lines else ''}"}
        return {"features": features, "seconds": time.process_time() - started}

    def _features(self, samples):
        contestant, counts = self.contestant, samples.counts
        if not contestant.per_count:
            fitted = self._fitted(max(counts), samples)
            order = fitted.ranking_.tolist()
            # A selector that keeps all is judged by all.
            kept = int(np.count_nonzero(fitted.get_support()))
            return [order[: kept if kept > max(counts) else count] for count in counts]
        found = []
        for count in counts:
            support = self._fitted(count, samples).get_support()
            found.append(np.flatnonzero(support).tolist())
        return found

    def _fitted(self, count, samples):
        selector = self.contestant.make(count, samples, self.seed)
        with time_limit(LIMIT if can_limit() else None):
            selector.fit(samples.data)
            selector.ranking_  # noqa: B018  (some solve when a result is first read)
        return selector


@dataclass(frozen=True)
class Grid:
    """What the paper's method chooses over its whole grid in one orientation, by largest scores."""

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
        """`features` for each setting and count."""
        samples, _ = load_subject(self.subject)
        started = time.process_time()
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
class Judgement:
    """k-means on chosen features beside the labels, from every seed."""

    subject: str
    features: tuple[int, ...]  # in increasing order: many contestants choose the same

    @property
    def key(self):
        _, labels = load_subject(self.subject)
        code = fingerprint(evaluate_selection)
        return _key("judgement", self.subject, self.features, SEEDS, code, labels.tolist())

    @property
    def group(self):
        return self.subject, "judgement"

    def compute(self):
        """For each metric its values, in points, in the order of the seeds."""
        samples, labels = load_subject(self.subject)
        rows = samples.restricted(self.features)
        everything = np.arange(rows.shape[1])
        found = {metric: [] for metric in METRICS}
        for seed in SEEDS:
            judged = evaluate_selection(
                rows,
                labels,
                everything,
                counts=[len(everything)],
                n_repeats=1,
                random_state=seed,
                metrics=METRICS,
            )
            for metric in METRICS:
                found[metric].append(100 * float(judged.means[metric][0]))
        return found


def _key(kind, subject, *parts):
    """What is computed and on what, and a checksum of all that the result depends on."""
    text = json.dumps([__version__, load_subject(subject)[0].checksum, *parts])
    return f"{kind} {subject} {hashlib.sha256(text.encode()).hexdigest()[:32]}"
