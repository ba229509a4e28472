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
from pathlib import Path

import numpy as np

from benchmarks._data import published, read_only
from benchmarks._paper_figures import CLUSTERED, DOUBTFUL, figures
from benchmarks._paper_notes import NOTES, causes
from benchmarks._paper_plan import DRAWS, Entry, Unit, entries, plan
from benchmarks._results import Table
from benchmarks._timing import one_thread
from benchmarks.quality import REPEATS, SUBJECTS
from tensift.metrics import evaluate_selection
from tensift.selectors import list_selectors

SETS = ("BreastMNIST", "Imm40", "UCIDSA", "JAFFE", "PIE", "COIL20", "ASCH", "UCIHAR", "USPS")
FILES = {"UCIHAR": "UCIHAR_rebuilt_from_HAPT"}
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
LUCKY = f"random, best of {DRAWS}"
PLAIN = ("All Features", "maximum variance", "random selection", LUCKY)


@dataclass
class Result:
    """What a method came to on a set: its units that were run, and how many there are."""

    entry: Entry
    name: str
    done: list[tuple[Unit, dict]] = field(default_factory=list)
    planned: int = 0
    given_up: str = ""

    def by_seed(self, value):
        """`value` of the outcomes of every seed, of cells and counts that all seeds have."""
        found = {}
        for unit, outcome in self.done:
            found.setdefault(unit.seed, {})[unit.cell, unit.counts] = outcome
        shared = set.intersection(*map(set, found.values())) if found else set()
        return [value([found[seed][key] for key in shared]) for seed in sorted(found) if shared]

    @property
    def covered(self):
        """Cells that were run, of how many."""
        cells = len({unit.cell for unit, _ in self.done})
        return cells, int(np.prod([len(values) for values in self.entry.grid.values()]))


def run(repeats, cache=None, minutes=None):
    """One pass; `repeats` is for timings elsewhere."""
    cache = Path(cache) if cache else None
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + (float("inf") if minutes is None else 60 * minutes)
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
        for entry in entries():
            if entry.name != "AllFeatures" or self.metrics != ("poc",):
                fixed = {name: settings.get(value, value) for name, value in entry.fixed.items()}
                yield self._method(entry, settings | fixed, deadline)

    def _method(self, entry, settings, deadline):
        units = plan(entry, self.subject.counts, self.data[0].size)
        result = Result(entry, self.name, planned=len(units))
        spent = 0.0
        for unit in units:
            outcome = self._stored.get((entry.name, unit.key))
            if outcome is None:
                left = deadline - time.monotonic()
                if left <= 0 or (entry.info.grid and spent > METHOD_SECONDS):
                    result.given_up = result.given_up or "no time left"
                    continue  # what was found in an earlier run counts
                outcome = self._unit(entry.info, unit, settings)
                self._keep(entry.name, unit, outcome)
                place = f"{self.name} {entry.name} {len(result.done) + 1}/{len(units)}"
                until = f"{left / 60:.0f} minutes left" if np.isfinite(left) else ""
                print(f"\r{place:50}{until}", end="", file=sys.stderr, flush=True)
            spent += outcome["spent"]
            if "failed" in outcome:
                result.given_up = outcome["failed"]
                spent = np.inf
                continue
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
    first = [*PLAIN, *(info.paper_name for info in list_selectors() if not info.grid)]
    order = [*first, *published_figures]  # then others
    place = {method: number for number, method in reversed(list(enumerate(order)))}
    results.sort(key=lambda result: place.get(result.entry.in_the_paper, len(order)))
    rows = [row for result in results for row in _rows(result, published_figures)]
    rows.sort(key=lambda row: SETS.index(row["data"]))
    tables = {"_summary": _summary(rows)}
    for metric, title in TITLES.items():
        chosen = [row for row in rows if row["metric"] == metric]
        if chosen:
            tables[f"_{metric}"] = _matrix(title, chosen)
    tables["_far"] = Table(
        f"Differences of more than {FAR:.0f} points",
        [
            {key: row[key] for key in ("data", "method", "metric", "ours", "± seeds", "paper's")}
            | {"difference": row["difference"], "known causes that apply": row["causes"]}
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
    entry, (cells, total) = result.entry, result.covered
    theirs = published_figures.get(entry.in_the_paper, {}).get(result.name, {})
    rows = []
    for metric in ("poc",) if result.name not in CLUSTERED else ("acc", "nmi", "silhouette"):
        values = result.by_seed(lambda outcomes, metric=metric: _level(outcomes, metric))
        paper = theirs.get(metric)
        doubtful = (entry.in_the_paper, result.name, metric) in DOUBTFUL
        ours = float(np.mean(values)) if values else None
        row = {
            "data": result.name,
            "method": entry.label,
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
        if entry.name == "RandomSelector" and len(values) == DRAWS and metric != "poc":
            rows.append(row | {"method": LUCKY, "ours": max(values), "± seeds": None})
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
    sets = sorted({row["data"] for row in rows}, key=SETS.index)
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
    sets = sorted({result.name for result in results}, key=SETS.index)
    table = Table("Cells of the grid that were run, and the median seconds of a fit")
    found = {(result.entry.label, result.name): _covered(result) for result in results}
    for method in dict.fromkeys(result.entry.label for result in results):
        table.rows.append({"method": method} | {name: found.get((method, name)) for name in sets})
    return table


def _covered(result):
    if not result.done:
        return result.given_up
    cells, total = result.covered
    seconds = float(np.median([outcome["seconds"] for _, outcome in result.done]))
    return f"{cells} of {total}; {seconds:.2g} s"


def _summary(rows):
    """Every method beside the paper's figures for it and the plain selections, on the same sets."""
    table = Table("Best accuracy beside plain selections, means over the sets of images, per cent")
    found = {}
    for row in rows:
        if row["metric"] == "acc" and row["ours"] is not None:
            found.setdefault(row["method"], {})[row["data"]] = row
    for method, sets in found.items():
        ours = {name: row["ours"] for name, row in sets.items()}
        differences = [row["difference"] for row in sets.values() if row["difference"] is not None]
        line = {"method": method, "sets": len(sets), "accuracy": _mean(ours.values())}
        line["minus paper's"] = _mean(differences)
        line["largest difference"] = float(max(map(abs, differences))) if differences else None
        for plain in PLAIN:
            levels = {n: r["ours"] for n, r in found.get(plain, {}).items() if n in sets}
            line[plain] = _mean(levels.values()) if len(levels) == len(sets) else None
            if plain in ("maximum variance", LUCKY):
                better = sum(ours[name] > level for name, level in levels.items())
                line[f"above {plain}"] = None if method == plain else f"{better} of {len(levels)}"
        table.rows.append(line)
    return table


def _mean(values):
    values = list(values)
    return float(np.mean(values)) if values else None
