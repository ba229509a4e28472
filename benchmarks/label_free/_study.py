"""The study: choices, judgements, tables, figure and page."""

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks._data import ROOT
from benchmarks.label_free import _judge, _tables
from benchmarks.label_free._cells import (
    GRID,
    LARGE,
    LIMIT,
    METRICS,
    SEEDS,
    SHORT_GRID,
    Choice,
    Grid,
    Judgement,
    Measured,
    compute,
)
from benchmarks.label_free._contestants import contestants, random_contestant
from benchmarks.label_free._outcomes import RESAMPLES, SetOutcome
from benchmarks.label_free._page import fill_page
from benchmarks.label_free._subjects import SUBJECTS, load_subject, wanted_subjects
from tensift._utils.cells import CellStore, run_cells
from tensift._utils.progress import progress_bar

DRAWS = 20  # of random features
LEFT_OUT = {  # fits that are known to exceed LIMIT, skipped to save time
    ("MSPCA", "ASCH"): "144 s",
    ("MSPCA", "UCIHAR"): "69 s",
    ("RNE", "ASCH"): "over 150 s",
    ("RNE", "UCIDSA"): "over 150 s",
    ("SOGFS", "JAFFE"): "71 s",
    ("SOGFS", "UCIDSA"): "85 s",
}
PAGE, PICTURE = ROOT / "docs" / "label_free.md", ROOT / "docs" / "images" / "label_free.png"
NOTES = [
    f"A value is the mean over the numbers of features and {len(SEEDS)} runs of k-means "
    "(k-means++, with the same seeds for all). k-means knows the number of classes; labels are "
    f"used only to judge. Random: {DRAWS} draws of features that vary",
    "±: standard error over the seeds of k-means (and over the draws of random features, where "
    f"they are involved), from {RESAMPLES} paired resamples. [95 %]: the sets are resampled too; "
    "this interval is rough, because there are few sets. better / worse: sets on which the value "
    "differs from zero by two standard errors",
    "Methods with a random start were fitted from one seed, and no interval covers this. All "
    "have the library's default parameters, ours with solver 'paper'; methods that need a number "
    "of clusters get the number of classes",
    "USPS is every fifth sample. UCIHAR is recomputed from raw recordings, and the segments of "
    "UCIDSA are inferred: not the authors' files",
]
_ON_GRID = "{{{}}}^2".format
TUNING_NOTES = [
    "rapid: the paper's setting for use without tuning, lam = eta = 10, largest scores. best by "
    "labels: the best mean over the numbers of features, chosen with the labels among the cells "
    f"of the grid {_ON_GRID(', '.join(f'{value:g}' for value in GRID))} in both orientations, "
    f"largest scores; where slices have more than {LARGE} features the grid is "
    f"{_ON_GRID(', '.join(f'{value:g}' for value in SHORT_GRID))}. It is chosen and judged with "
    "the same seeds, so it is somewhat too high",
    "recovered: (without labels - random) / (best - random); – if best is not clearly above "
    "random. all sets: sums over the sets that have both",
]


class Study:
    """All results, in the form that the tables need."""

    def __init__(self, store, sets, n_jobs=2):
        self.sets = list(sets)
        self.contestants = contestants()
        self.failures, self.left_out, self.seconds, self.measures = [], {}, {}, {}
        self._store, self._n_jobs = store, n_jobs
        random = random_contestant()
        choices = [
            Choice(name, contestant)
            for contestant in sorted(self.contestants, key=lambda one: -_slowness(one))
            for name in self.sets
            if (contestant.name, name) not in LEFT_OUT
        ]
        draws = [Choice(name, random, seed) for name in self.sets for seed in range(DRAWS)]
        grids = [Grid(name, orientation) for name in self.sets for orientation in (0, 1)]
        self._run("selections", [*choices, *grids, *draws])
        chosen = {cell: store[cell.key] for cell in (*choices, *draws)}
        judgements = list(self._judgements(chosen, grids))
        self._run("judgements", judgements)
        self._selections = {name: set() for name in self.sets}
        for cell in judgements:
            self._selections[cell.subject].add(cell.features)
        self._run(
            "measures without labels",
            [Measured(name, one) for name in self.sets for one in sorted(self._selections[name])],
        )
        self._note(choices)
        self.outcomes = {
            metric: {name: self._outcome(name, metric, choices, draws, grids) for name in self.sets}
            for metric in METRICS
        }

    def _run(self, title, cells):
        bar = progress_bar(title, len({cell.key for cell in cells}))
        run_cells(
            cells,
            compute,
            self._store,
            n_jobs=self._n_jobs,
            report=lambda done, total, left: bar(done, left),
        )

    def _judgements(self, chosen, grids):
        for cell, result in chosen.items():
            yield from (_judgement(cell.subject, one) for one in result.get("features", ()))
        for cell in grids:
            for rows in self._store[cell.key]["features"]:
                yield from (_judgement(cell.subject, one) for one in rows)

    def _note(self, choices):
        names = {contestant.name for contestant in self.contestants}
        self.left_out |= {
            (name, of): told
            for (name, of), told in LEFT_OUT.items()
            if of in self.sets and name in names
        }
        for cell in choices:
            result, label = self._store[cell.key], cell.contestant.label
            if "error" in result:
                self.failures.append(f"{label} on {cell.subject}: {result['error']}")
            elif "left_out" in result:
                self.left_out[cell.contestant.name, cell.subject] = result["left_out"]
            else:
                self.seconds[label, cell.subject] = result["seconds"]
                self.measures[label, cell.subject] = self._mean_measures(cell.subject, result)

    def _mean_measures(self, name, result):
        """Return the measures of a contestant on a set, each a mean over the counts."""
        found = [self._measured(name, tuple(sorted(one))) for one in result["features"]]
        return {measure: float(np.mean([one[measure] for one in found])) for measure in found[0]}

    def _measured(self, name, features):
        return self._store[Measured(name, features).key]

    def judged(self, name, metric):
        """Yield, for every count of a set, all measures and the levels of selections of this size.

        Selections of other sizes, such as all features, are left out.
        """
        for count in load_subject(name)[0].counts:
            chosen = sorted(one for one in self._selections[name] if len(one) == count)
            found = [self._measured(name, one) for one in chosen]
            levels = [np.mean(self._store[_judgement(name, one).key][metric]) for one in chosen]
            measured = {m: np.array([one[m] for one in found], float) for m in _judge.SIGNS}
            yield measured, np.array(levels)

    def _outcome(self, name, metric, choices, draws, grids):
        def worth(rows):
            return np.array([self._store[_judgement(name, one).key][metric] for one in rows])

        results = {
            cell.contestant.label: self._store[cell.key] for cell in choices if cell.subject == name
        }
        values = {k: worth(one["features"]) for k, one in results.items() if "features" in one}
        drawn = [worth(self._store[one.key]["features"]) for one in draws if one.subject == name]
        cells = {
            setting: worth(rows)
            for grid in grids
            if grid.subject == name
            for setting, rows in zip(grid.settings, self._store[grid.key]["features"], strict=True)
        }
        return SetOutcome(name, values, np.stack(drawn), cells)

    def present(self, label, metric):
        """Return the outcomes of all sets on which a contestant has one."""
        return [one for one in self.outcomes[metric].values() if label in one]

    def absent(self, contestant, name):
        """Say why a contestant has no value on a set."""
        return "left out" if (contestant.name, name) in self.left_out else "failed"


def run(repeats):
    """Run one pass. `repeats` is ignored; spreads are over seeds, draws and sets."""
    folder = Path(os.environ.get("LABEL_FREE_CACHE") or ROOT / "build" / "label_free")
    sets = wanted_subjects()
    study = Study(CellStore(folder / "cells.jsonl"), sets)
    tables = make_tables(study)
    if set(sets) == set(SUBJECTS):
        from benchmarks.label_free._figure import draw  # matplotlib

        draw(tables["_means"].rows, tables["_values"].rows, PICTURE)
        fill_page(PAGE, tables, PICTURE)
    else:
        print("only some sets: the page and its figure are not changed", file=sys.stderr)
    return tables


def make_tables(study):
    """Return the tables by the suffix of their files."""
    tables = {"": _tables.gains(study, "acc")}
    tables[""].notes, tables[""].failures = [*NOTES, _left_out(study)], study.failures
    tables["_nmi"] = _tables.gains(study, "nmi")
    for metric in METRICS:
        tables[f"_default_{metric}"] = _tables.against(study, metric)
        tables[f"_diversity_{metric}"] = _tables.diversity(study, metric)
        tables[f"_tuning_{metric}"] = _tables.tuning(study, metric)
        tables[f"_tuning_{metric}"].notes = TUNING_NOTES
        tables[f"_judge_{metric}"] = _judge.correlations(study, metric)
        tables[f"_judge_choice_{metric}"] = _judge.choices(study, metric)
    tables["_sets"] = _tables.sets(study)
    tables["_seconds"] = _tables.seconds(study)
    tables["_means"] = _tables.means(study)
    tables["_values"] = _tables.every_value(study)
    return {suffix: table for suffix, table in tables.items() if table.rows}


def _left_out(study):
    """Say which contestants are missing on which sets."""
    pairs = ", ".join(f"{name} on {of} ({told})" for (name, of), told in study.left_out.items())
    return f"Left out, because one fit takes more than {LIMIT:g} s: {pairs or 'none'}"


def _judgement(name, features):
    return Judgement(name, tuple(sorted(features)))


def _slowness(contestant):
    """Rank slow methods first, so that none is left for the end."""
    slow = ("NLGMS", "MSPCA", "SOGFS", "RNE", "SPCAPSD", "CPUFS", "CPUFSnn")
    return len(slow) - slow.index(contestant.method) if contestant.method in slow else 0
