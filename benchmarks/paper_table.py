"""The paper's table of methods on real data, by this library, beside the paper's own figures.

With a folder in ``--cache`` a stopped run goes on where it was; empty it when the library changes.
``--minutes`` ends a run, with a table of what it has.
"""

import json
import signal
import sys
import time
import warnings
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks._data import published, read_only
from benchmarks._paper_figures import CLUSTERED, DOUBTFUL, figures
from benchmarks._paper_notes import NOTES, causes
from benchmarks._results import Table
from benchmarks._timing import one_thread
from benchmarks.quality import REPEATS, SUBJECTS
from tensift.metrics import evaluate_selection
from tensift.selectors import list_selectors

SETS = ("BreastMNIST", "Imm40", "UCIDSA", "JAFFE", "PIE", "COIL20", "ASCH", "UCIHAR", "USPS")
FILES = {"UCIHAR": "UCIHAR_rebuilt_from_HAPT"}
COARSE = (0.01, 1.0, 100.0)
SEEDS, DRAWS = 3, 25  # DRAWS of random features: as many as STPCA-MP has cells
UNIT_SECONDS = 60.0  # of a fit: one that takes longer is given up, and its method on that set
METHOD_SECONDS = 30.0  # of a method on a set, after which it gets no further part of its grid
FAR = 5.0  # points, beyond which a difference asks for a cause
POINTS = {"acc": 1.0, "nmi": 1.0, "silhouette": 100.0, "poc": 1.0}  # of a paper's figure
TITLES = {
    "acc": "Best accuracy, per cent",
    "nmi": "Best normalised mutual information, per cent",
    "silhouette": "Best silhouette of the true labels, times 100",
    "poc": "Mean share of correct channels (POC) over the grid, per cent",
}
IN_THE_PAPER = {"All-Features": "All Features"}  # where its name differs from the registry's


@dataclass(frozen=True)
class Unit:
    """One fit and the counts it is judged at."""

    cell: tuple[tuple[str, float], ...]
    seed: int
    counts: tuple[int, ...]

    @property
    def key(self):
        return json.dumps([list(map(list, self.cell)), self.seed, list(self.counts)])


@dataclass
class Result:
    """What a method came to on a set: its units that were run, and how many there are."""

    info: object
    name: str
    done: list[tuple[Unit, dict]] = field(default_factory=list)
    planned: int = 0
    given_up: str = ""

    def by_seed(self, value):
        """`value` of the outcomes of every seed, of cells that all seeds have."""
        seeds = sorted({unit.seed for unit, _ in self.done})
        having = [{u.cell for u, _ in self.done if u.seed == s} for s in seeds]
        shared = set.intersection(*having) if having else set()
        return [
            value([out for u, out in self.done if u.seed == seed and u.cell in shared])
            for seed in seeds
            if shared
        ]


def run(repeats, cache=None, minutes=None):
    """One pass; `repeats` is for timings elsewhere."""
    cache = Path(cache) if cache else None
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 60 * (minutes or float("inf"))
    results, absent = [], ["UMCS"]
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence and reduced neighbours, a thousand times
        for name in SETS:
            dataset = published(FILES.get(name, name))
            if dataset is None:
                absent.append(name)
                continue
            results += Bench(name, dataset, cache).all_methods(deadline)
    if not any(result.done for result in results):
        raise SystemExit("nothing was run: name the folder of the paper's sets in TENSIFT_DATA")
    return _tables([result for result in results if result.planned], absent)


class Bench:
    """All methods on one set, with what was found before."""

    def __init__(self, name, dataset, cache=None):
        self.name, self.dataset = name, dataset
        self.data = read_only(np.array(dataset.data, dtype=np.float64))
        self.subject = SUBJECTS[FILES.get(name, name)]
        self.metrics = ("acc", "nmi", "silhouette") if name in CLUSTERED else ("poc",)
        self._judged = {}
        self._path = cache and cache / f"{name}.jsonl"
        self._stored = {}
        if self._path and self._path.is_file():
            for line in self._path.read_text().split("\n")[:-1]:  # the last may be half a line
                record = json.loads(line)
                self._stored[record["method"], record["unit"]] = record["outcome"]

    def all_methods(self, deadline):
        settings = {
            "n_clusters": len(np.unique(self.dataset.labels)),
            "n_neighbors": 5,
            "feature_mode": self.dataset.feature_mode,
            "orientation": self.subject.authors,
        }
        # Those without parameters are quick, and say what the others are worth.
        for info in sorted(list_selectors(), key=lambda info: len(info.grid)):
            if info.name == "AllFeatures" and self.metrics == ("poc",):
                continue
            yield self._method(info, settings, deadline)

    def _method(self, info, settings, deadline):
        units = plan(info, self.subject.counts, self.data[0].size)
        result = Result(info, self.name, planned=len(units))
        spent = 0.0
        for unit in units:
            outcome = self._stored.get((info.name, unit.key))
            if outcome is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    result.given_up = "no time left"
                    break
                if info.grid and spent > METHOD_SECONDS:
                    result.given_up = f"{METHOD_SECONDS:.0f} s"
                    break
                outcome = self._unit(info, unit, settings)
                self._keep(info.name, unit, outcome)
                place = f"{self.name} {info.name} {len(result.done) + 1}/{len(units)}"
                until = f"{left / 60:.0f} minutes left" if np.isfinite(left) else ""
                print(f"\r{place:50}{until}", end="", file=sys.stderr, flush=True)
            spent += outcome["spent"]
            if "failed" in outcome:
                result.given_up = outcome["failed"]
                break
            result.done.append((unit, outcome))
        return result

    def _unit(self, info, unit, settings):
        began = time.process_time()
        selector = info.make(
            max(unit.counts), **settings, **dict(unit.cell), random_state=unit.seed
        )
        try:
            with _at_most(UNIT_SECONDS):
                selector.fit(self.data)
        except _TooLong:
            return {"failed": f"a fit takes over {UNIT_SECONDS:.0f} s", "spent": UNIT_SECONDS}
        seconds = time.process_time() - began
        judged = [self._judge(selector.ranking_[:count]) for count in unit.counts]
        outcome = {metric: [one[metric] for one in judged] for metric in self.metrics}
        spent = time.process_time() - began
        return outcome | {"counts": unit.counts, "seconds": seconds, "spent": spent}

    def _judge(self, features):
        features = np.sort(features)
        key = features.tobytes()
        if key not in self._judged:
            found = evaluate_selection(
                self.data,
                self.dataset.labels,
                features,
                counts=[len(features)],
                n_repeats=REPEATS,
                feature_mode=self.dataset.feature_mode,
                metrics=self.metrics,
            )
            self._judged[key] = {name: 100 * float(v[0]) for name, v in found.means.items()}
        return self._judged[key]

    def _keep(self, method, unit, outcome):
        if self._path:
            line = json.dumps({"method": method, "unit": unit.key, "outcome": outcome})
            with self._path.open("a") as stream:
                stream.write(line + "\n")


def plan(info, counts, size):
    """The fits of a method, those that say most first.

    The cell of ones, then cells of every second value, then the rest; both of the latter in an
    order that is shuffled, so that a part of them is a sample of the grid. Methods whose result
    depends on the number of features need a fit for each: every second count is taken.
    """
    if info.name == "AllFeatures":
        counts = (size,)
    names, values = list(info.grid), list(info.grid.values())
    cells = list(product(*values))
    shuffled = np.random.default_rng(0).permutation(len(cells))
    order = sorted(shuffled, key=lambda place: _coarseness(cells[place]))
    seeds = DRAWS if info.random and not names else SEEDS if info.random else 1
    parts = [(count,) for count in (counts[1::2] or counts)] if info.counted else [tuple(counts)]
    return [
        Unit(tuple(zip(names, cells[place], strict=True)), seed, part)
        for place in order
        for seed in range(seeds)
        for part in parts
    ]


def _coarseness(cell):
    return 0 if set(cell) <= {1.0} else 1 if set(cell) <= set(COARSE) else 2


class _TooLong(Exception):
    pass


class _at_most:
    """Ends what is inside after so many seconds of this process's own time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        def give_up(number, frame):
            raise _TooLong

        self.before = signal.signal(signal.SIGPROF, give_up)
        signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def __exit__(self, *exception):
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, self.before)


# Tables


def _tables(results, absent):
    published_figures = figures()
    rows = [row for result in results for row in _rows(result, published_figures)]
    tables = {}
    for metric, title in TITLES.items():
        chosen = [row for row in rows if row["metric"] == metric]
        if chosen:
            tables[f"_{metric}"] = _matrix(title, chosen)
    tables["_far"] = Table(
        f"Differences of more than {FAR:.0f} points",
        [
            {key: row[key] for key in ("data", "method", "metric", "ours", "± seeds", "paper's")}
            | {"difference": row["difference"], "known causes that apply, untested": row["causes"]}
            for row in rows
            if row["difference"] is not None and abs(row["difference"]) > FAR
        ],
    )
    tables["_grid"] = _coverage(results)
    tables[""] = Table("Every figure", rows, csv_only=True)
    first = next(iter(tables.values()))
    first.notes = [*NOTES, f"Missing sets: {', '.join(absent)}"]
    return {suffix: table for suffix, table in tables.items() if table.rows}


def _rows(result, published_figures):
    """A row for each metric; for chance a second one, the best of its draws."""
    info, label = result.info, IN_THE_PAPER.get(result.info.paper_name, result.info.paper_name)
    theirs = published_figures.get(label, {}).get(result.name, {})
    cells = len({unit.cell for unit, _ in result.done})
    total = int(np.prod([len(values) for values in info.grid.values()]))
    rows = []
    for metric in ("poc",) if result.name not in CLUSTERED else ("acc", "nmi", "silhouette"):
        values = result.by_seed(lambda outcomes, metric=metric: _level(outcomes, metric))
        paper = theirs.get(metric)
        doubtful = (label, result.name, metric) in DOUBTFUL
        ours = float(np.mean(values)) if values else None
        row = {
            "data": result.name,
            "method": label,
            "metric": metric,
            "cells": f"{cells} of {total}",
            "seeds": len(values),
            "ours": ours,
            "± seeds": float(np.std(values)) if len(values) > 1 else None,
            "paper's": None if paper is None else POINTS[metric] * paper,
            "difference": None,
            "seconds": _seconds(result, metric),
            "paper's seconds": theirs.get("seconds"),
            "causes": "",
        }
        if ours is not None and paper is not None:
            row["difference"] = ours - row["paper's"]
            if abs(row["difference"]) > FAR:
                row["causes"] = causes(row, cells < total, doubtful)
        rows.append(row)
        if info.name == "RandomSelector" and values:
            best = {"method": f"random, best of {len(values)}", "ours": max(values)}
            rows.append(row | best | {"± seeds": None})
    return rows


def _level(outcomes, metric):
    """Of one seed: the best of all cells and counts, but the mean POC."""
    values = np.concatenate([outcome[metric] for outcome in outcomes])
    return float(values.mean() if metric == "poc" else values.max())


def _seconds(result, metric):
    """Of the fit with the largest value."""
    if not result.done:
        return None
    return max((out for _, out in result.done), key=lambda out: max(out[metric]))["seconds"]


def _matrix(title, rows):
    """Methods by sets, ours with the spread over seeds, then the paper's in brackets."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    found = {(row["method"], row["data"]): row for row in rows}
    table = Table(title)
    for method in dict.fromkeys(row["method"] for row in rows):
        line = {"method": method}
        for name in sets:
            row = found.get((method, name))
            line[name] = _cell(row) if row and row["ours"] is not None else None
        table.rows.append(line)
    return table


def _cell(row):
    spread = "" if row["± seeds"] is None else f" ± {row['± seeds']:.1f}"
    theirs = row["paper's"]
    paper = "" if theirs is None else f" ({theirs:.1f})"
    return f"{row['ours']:.1f}{spread}{paper}"


def _coverage(results):
    """Cells of the grid that were run, and the seconds of a fit."""
    sets = list(dict.fromkeys(result.name for result in results))
    table = Table("Cells of the grid that were run, and the median seconds of a fit")
    for info in {result.info.name: result.info for result in results}.values():
        line = {"method": IN_THE_PAPER.get(info.paper_name, info.paper_name)}
        for result in results:
            if result.info.name == info.name:
                line[result.name] = _covered(result)
        table.rows.append({"method": line["method"]} | {name: line.get(name) for name in sets})
    return table


def _covered(result):
    if not result.done:
        return result.given_up
    cells = len({unit.cell for unit, _ in result.done})
    total = int(np.prod([len(values) for values in result.info.grid.values()]))
    seconds = float(np.median([out["seconds"] for _, out in result.done]))
    return f"{cells} of {total}; {seconds:.2g} s"
