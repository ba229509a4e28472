"""Which solver selects better features? Both on the paper's sets and grid, by its metrics.

If the environment variable `QUALITY_CACHE` names a folder, results are stored there, and a stopped
run continues. Empty the folder when the library changes.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks._data import published, read_only
from benchmarks._results import Table
from benchmarks._timing import one_thread
from benchmarks.synthetic import COLLAPSED, DEFAULT, GRID, PUBLISHED_ANSWERS
from tensift import STPCASelector, stpca_path
from tensift.metrics import evaluate_selection
from tensift.selection import rank_features

SOLVERS = ("paper", "exact")
BY_SPREAD = "exact, ties by spread"
SAME = "same features as paper"
SHORT_GRID = (0.1, 10.0)  # for large slices
REPEATS = 10  # of k-means
DRAWS = 10  # of random features
CLEAR = 0.1  # points by which metrics without k-means must differ to count as different
METRICS = {
    "acc": "Clustering accuracy, per cent",
    "nmi": "Normalised mutual information, per cent",
    "silhouette": "Silhouette of the true labels, times 100",
    "poc": "Share of the selected features with the largest between-class variance, per cent",
    "known": "Share of the selected features that are known to be right, per cent",
}
STOCHASTIC = ("acc", "nmi")  # values that depend on the seeds of k-means
NOTES = [
    f"acc, nmi: means over {REPEATS} runs of k-means, with the same seeds for all. silhouette is "
    "that of the true labels; silhouette, poc and known are not random. All are times 100",
    "A value is the mean over the numbers of selected features: 50, 100, ..., 300 pixels (USPS 10, "
    "30, ..., 110; Array 4), or channels: Orbit 3, ASCH 6, UCIDSA 15, UCIHAR 100",
    "default: lam = eta = 10. grid: mean over {0.01, 0.1, 1, 10, 100}^2. best: the largest value "
    "of all cells and numbers, as the paper reports it; choosing it needs the labels",
    "exact better / worse: by more than two standard errors over the runs of k-means, and by more "
    f"than {CLEAR}",
    "UCIHAR in orientation 0 and ASCH in orientation 1 have slices of 561 and 640 features: there "
    "the grid is {0.1, 10}^2",
    "same features: selected by both solvers, mean over cells, per cent. cells by ties: cells in "
    "which some features that the exact solver selects have a score of zero",
    f"random: {DRAWS} draws. variance: summed over the elements of a channel. UCIHAR is recomputed "
    "from raw recordings, and the segments of UCIDSA are inferred: not the authors' files",
]
TIES_NOTES = [
    "by ties: cells in which some features that the exact solver selects have a score of zero",
    "exact: ranked as by STPCASelector, features without a score by when they enter as both "
    "penalties decrease. ties by spread: features without a score by their standard deviations",
    "better / worse: than paper. Its scores are seldom exactly zero. Where they are, it ranks by "
    "spread; the authors' program ranks by index, which makes POC smaller on UCIDSA",
]
PIXELS = (50, 100, 150, 200, 250, 300)


@dataclass(frozen=True)
class Subject:
    """A set of the paper: its numbers of features, and the orientation of the authors' program."""

    counts: tuple[int, ...]
    authors: int | None = None
    large: int | None = None  # an orientation whose slices are too large for the whole grid


SUBJECTS = {
    "Orbit": Subject((3,)),
    "Array": Subject((4,)),
    "BreastMNIST": Subject(PIXELS, authors=0),
    "Imm40": Subject(PIXELS, authors=1),
    "PIE": Subject(PIXELS, authors=0),
    "COIL20": Subject(PIXELS, authors=0),
    "JAFFE": Subject(PIXELS, authors=0),
    "USPS": Subject((10, 30, 50, 70, 90, 110), authors=1),
    "UCIDSA": Subject((15,), authors=0),
    "UCIHAR_rebuilt_from_HAPT": Subject((100,), authors=1, large=0),
    "ASCH": Subject((6,), authors=1, large=1),
}


@dataclass(frozen=True)
class Maps:
    """Score maps and rankings, one row per cell of the grid."""

    scores: np.ndarray
    rankings: np.ndarray


@dataclass(frozen=True)
class Outcome:
    """How good rankings are, in points: metric to values `(rankings, counts)`.

    `stds` are the standard deviations over the repeats of k-means.
    """

    means: dict[str, np.ndarray]
    stds: dict[str, np.ndarray]

    def level(self, metric):
        """Return one value per ranking, the mean over the counts."""
        return self.means[metric].mean(axis=1)

    def error(self, metric):
        """Return the standard error of `level`, from the repeats of k-means."""
        return np.sqrt((self.stds[metric] ** 2 / REPEATS).sum(axis=1)) / self.stds[metric].shape[1]


@dataclass(frozen=True)
class Case:
    """Both solvers on one set in one orientation, and the simple selections.

    `outcomes` has one entry per solver. A further entry has the exact solver's scores, with
    features without a score ordered by their standard deviations.
    """

    name: str
    orientation: int
    cells: tuple[tuple[float, float], ...]
    maps: dict[str, Maps]
    outcomes: dict[str, Outcome]
    plain: dict[str, Outcome]

    def has(self, metric):
        return metric in self.outcomes["exact"].means

    @property
    def default(self):
        return self.cells.index(DEFAULT)

    def level(self, contestant, metric):
        return self.outcomes[contestant].level(metric)

    def gain(self, metric, contestant="exact"):
        """Return, for each cell, the gain over solver "paper" and whether it is clear."""
        paper, other = self.outcomes["paper"], self.outcomes[contestant]
        difference = other.level(metric) - paper.level(metric)
        noise = np.hypot(paper.error(metric), other.error(metric))
        return difference, np.abs(difference) > np.maximum(2 * noise, CLEAR)

    def overlap(self, contestant="exact"):
        """Return, for each cell, the per cent of features that solver "paper" selects too."""
        counts = SUBJECTS[self.name].counts
        pairs = zip(self.maps["paper"].rankings, self.maps[contestant].rankings, strict=True)
        shares = [[len(np.intersect1d(a[:c], b[:c])) / c for c in counts] for a, b in pairs]
        return 100 * np.mean(shares, axis=1)

    @property
    def tied(self):
        """Whether, in each cell, some features that the exact solver selects have no score."""
        return self.outcomes["exact"].level("alive") < 100


def run(repeats):
    """Run one pass. `repeats` is ignored; spreads are over k-means, cells and draws."""
    cache = os.environ.get("QUALITY_CACHE")
    cache = Path(cache) if cache else None
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
    cases = []
    with one_thread():
        for name, subject in SUBJECTS.items():
            dataset = published(name)
            if dataset is None:
                continue
            judge = Judge(dataset, subject, cache)
            plain = judge.plain()
            for orientation in (0, 1):
                grid = SHORT_GRID if orientation == subject.large else GRID
                maps = score_maps(judge, orientation, grid, cache)
                outcomes = {contestant: judge.maps(found) for contestant, found in maps.items()}
                cells = tuple(product(grid, grid))
                cases.append(Case(name, orientation, cells, maps, outcomes, plain))
    if not cases:
        raise SystemExit("none of the paper's sets was found: set TENSIFT_DATA to their folder")
    return _tables(cases)


def score_maps(judge, orientation, grid, cache=None):
    """Return the maps of all cells for each contestant."""
    data, name = judge.data, judge.dataset.name
    settings = {"orientation": orientation, "feature_mode": judge.dataset.feature_mode}
    cells, maps = list(product(grid, grid)), {}
    for solver in SOLVERS:
        path = stpca_path(
            data,
            grid,
            grid,
            solver=solver,
            checkpoint=cache and cache / f"{name}-{orientation}-{solver}.npz",
            **settings,
        )
        scores = path.scores.reshape(len(cells), -1)
        spread = path.spread.ravel()
        maps[solver] = Maps(scores, np.array([rank_features(row, spread) for row in scores]))
    maps[BY_SPREAD] = maps["exact"]

    # STPCASelector ranks only features without a score differently.
    counts = judge.subject.counts
    tied = np.flatnonzero(np.count_nonzero(maps["exact"].scores, axis=1) < max(counts))
    rankings = maps["exact"].rankings.copy()
    for number in tied:
        lam, eta = cells[number]
        selector = STPCASelector(
            max(counts), selection="top", lam=lam, eta=eta, solver="exact", **settings
        )
        rankings[number] = selector.fit(data).order_
    maps["exact"] = Maps(maps["exact"].scores, rankings)
    return maps


class Judge:
    """Judge sets of features of one dataset, each set once, because many cells select the same."""

    def __init__(self, dataset, subject, cache=None):
        self.data = read_only(np.array(dataset.data, dtype=np.float64))
        self.dataset = dataset
        self.subject = subject
        self._known = PUBLISHED_ANSWERS.get(dataset.name)
        self._path = cache and cache / f"{dataset.name}-sets.json"
        stored = self._path is not None and self._path.is_file()
        self._judged = json.loads(self._path.read_text()) if stored else {}

    def maps(self, maps):
        """Return the outcome of maps, with the share of selected features that have a score."""
        outcome = self._outcome(maps.rankings, self.subject.counts)
        alive = np.take_along_axis(maps.scores, maps.rankings, axis=1) > COLLAPSED
        shares = [100 * alive[:, :count].mean(axis=1) for count in self.subject.counts]
        outcome.means["alive"] = np.stack(shares, axis=1)
        return outcome

    def plain(self):
        """Return the outcomes of random features, of variance and of all features."""
        variance, mode = self.data.var(axis=0), self.dataset.feature_mode
        if mode is not None:
            variance = variance.sum(axis=tuple(set(range(variance.ndim)) - {mode}))
        variance = variance.ravel()
        rng = np.random.default_rng(0)
        draws = np.array([rng.permutation(variance.size) for _ in range(DRAWS)])
        by_variance = np.argsort(-variance, kind="stable")[None]
        return {
            "random": self._outcome(draws, self.subject.counts),
            "variance": self._outcome(by_variance, self.subject.counts),
            "all": self._outcome(by_variance, (variance.size,)),
        }

    def _outcome(self, rankings, counts):
        judged = [[self._judge(ranking[:count]) for count in counts] for ranking in rankings]
        if self._path:
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(self._judged))
            part.replace(self._path)
        return Outcome(
            *(
                {
                    metric: 100 * np.array([[one[kind][metric] for one in row] for row in judged])
                    for metric in judged[0][0][kind]
                }
                for kind in ("means", "stds")
            )
        )

    def _judge(self, features):
        features = np.sort(features)
        key = hashlib.sha256(features.astype("<i8").tobytes()).hexdigest()[:32]
        if key not in self._judged:
            found = evaluate_selection(
                self.data,
                self.dataset.labels,
                features,
                counts=[len(features)],
                n_repeats=REPEATS,
                feature_mode=self.dataset.feature_mode,
                metrics=("acc", "nmi", "silhouette", "poc"),
            )
            means = {metric: float(values[0]) for metric, values in found.means.items()}
            stds = {metric: float(values[0]) for metric, values in found.stds.items()}
            if self._known is not None:
                means["known"] = float(np.isin(features, self._known).mean())
            self._judged[key] = {"means": means, "stds": dict.fromkeys(means, 0.0) | stds}
        return self._judged[key]


# Tables


def _tables(cases):
    tables = {"": _summary(cases), "_ties": _ties(cases)}
    for metric, title in METRICS.items():
        rows = [_row(case, metric) for case in cases if case.has(metric)]
        if rows:
            tables[f"_{metric}"] = Table(title, rows)
    tables["_cells"] = Table("Every cell", _cell_rows(cases), csv_only=True)
    return tables


def _summary(cases):
    """Summarise the cases: means, and how often which solver is better."""
    table = Table("Over all sets and both orientations", notes=NOTES)
    for metric in METRICS:
        judged = [case for case in cases if case.has(metric)]
        if not judged:
            continue
        gains = [case.gain(metric) for case in judged]
        places = [case.default for case in judged]
        at_default = [np.array(g)[:, i] for g, i in zip(gains, places, strict=True)]
        row = {"metric": metric, "cases": len(judged)}
        for solver in SOLVERS:
            levels = [case.level(solver, metric) for case in judged]
            row[f"{solver}, default"] = _mean(v[i] for v, i in zip(levels, places, strict=True))
            row[f"{solver}, grid"] = _mean(values.mean() for values in levels)
            row[f"{solver}, best"] = _mean(c.outcomes[solver].means[metric].max() for c in judged)
        row["default: exact better / worse"] = _tally(np.transpose(at_default))
        row["cells: exact better / worse"] = _tally(np.concatenate(gains, axis=1))
        for method in ("variance", "random", "all"):
            row[method] = _plain(judged, method, metric)
        table.rows.append(row)
    return table


def _ties(cases):
    """Separate cells in which the exact solver selects by score from those decided by ties."""
    table = Table("By score, and by ties", notes=TIES_NOTES)
    contestants = (*SOLVERS, BY_SPREAD)
    for metric, tied in product((*METRICS, SAME), (False, True)):
        judged = [case for case in cases if metric == SAME or case.has(metric)]
        chosen = np.concatenate([[], *(case.tied == tied for case in judged)]).astype(bool)
        if not chosen.any():
            continue
        row = {"metric": metric, "exact chooses": "by ties" if tied else "by score"}
        row["cells"] = int(chosen.sum())
        for one in contestants:
            values = [c.overlap(one) if metric == SAME else c.level(one, metric) for c in judged]
            row[one] = float(np.concatenate(values)[chosen].mean())
        for one in contestants[1:]:
            row[f"{one}: better / worse"] = None
            if metric != SAME:
                gains = np.concatenate([case.gain(metric, one) for case in judged], axis=1)
                row[f"{one}: better / worse"] = _tally(gains[:, chosen])
        table.rows.append(row)
    return table


def _row(case, metric):
    authors = SUBJECTS[case.name].authors == case.orientation
    row = {
        "data": case.name,
        "orientation": f"{case.orientation} (authors)" if authors else str(case.orientation),
        "cells": len(case.cells),
    }
    for solver in SOLVERS:
        outcome = case.outcomes[solver]
        levels = outcome.level(metric)
        row[f"{solver}, default"] = float(levels[case.default])
        row[f"{solver}, default ± seeds"] = _seeds(outcome, metric, case.default)
        row[f"{solver}, grid"] = float(levels.mean())
        row[f"{solver}, grid ± cells"] = float(levels.std())
        row[f"{solver}, best"] = float(outcome.means[metric].max())
    row["cells: exact better / worse"] = _tally(case.gain(metric))
    row["same features"] = float(case.overlap().mean())
    row["cells by ties"] = int(case.tied.sum())
    row["variance"] = _plain([case], "variance", metric)
    row["random"] = _plain([case], "random", metric)
    row["random ± draws"] = float(case.plain["random"].level(metric).std())
    row["all"] = _plain([case], "all", metric)
    return row


def _cell_rows(cases):
    rows = []
    for case in cases:
        for solver, outcome in case.outcomes.items():
            overlap = case.overlap(solver)
            levels = {metric: outcome.level(metric) for metric in outcome.means}
            for number, (lam, eta) in enumerate(case.cells):
                row = {"data": case.name, "orientation": case.orientation, "solver": solver}
                row |= {"lam": lam, "eta": eta, "alive": float(levels["alive"][number])}
                row["same features"] = float(overlap[number])
                for metric in METRICS:
                    row[metric] = float(levels[metric][number]) if metric in levels else None
                    if metric in STOCHASTIC:
                        row[f"{metric} ± seeds"] = _seeds(outcome, metric, number)
                rows.append(row)
    return rows


def _seeds(outcome, metric, number):
    """Return the mean standard deviation over k-means, or None if the metric is not random."""
    return float(outcome.stds[metric][number].mean()) if metric in STOCHASTIC else None


def _plain(cases, method, metric):
    if method == "all" and metric in ("poc", "known"):
        return None
    return _mean(case.plain[method].level(metric).mean() for case in cases)


def _mean(values):
    return float(np.mean(list(values)))


def _tally(gains):
    """Say in how many places the second contestant is clearly better and clearly worse."""
    difference, clear = np.asarray(gains)
    signs = np.sign(difference) * clear
    return f"{np.sum(signs > 0)} / {np.sum(signs < 0)} of {len(signs)}"
