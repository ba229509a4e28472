"""The study: choices, judgements, tables, figure and page."""

import os
import sys
from pathlib import Path

import numpy as np

from benchmarks._data import ROOT
from benchmarks.label_free import _judge, _suggested, _tables, _tuning
from benchmarks.label_free._cells import (
    CLUSTERED,
    LIMIT,
    METRICS,
    SEEDS,
    Choice,
    Grid,
    Judgement,
    Measured,
    Suggested,
    compute,
)
from benchmarks.label_free._contestants import contestants, random_contestant
from benchmarks.label_free._cost import cost
from benchmarks.label_free._outcomes import RESAMPLES, SetOutcome
from benchmarks.label_free._page import fill_page
from benchmarks.label_free._planted import planted
from benchmarks.label_free._subjects import (
    AT_HAND,
    DISTURBED,
    PACKAGED,
    SUBJECTS,
    load_subject,
    wanted_subjects,
)
from tensift._utils.cells import CellStore, run_cells
from tensift._utils.progress import progress_bar

DRAWS = 20  # of random features
PAGE, PICTURE = ROOT / "docs" / "label_free.md", ROOT / "docs" / "images" / "label_free.png"
NOTES = [
    f"A value is the mean over the numbers of features and {len(SEEDS)} runs of k-means "
    "(k-means++, with the same seeds for all). k-means knows the number of classes; labels are "
    f"used only to judge. Random: {DRAWS} draws of features that vary",
    "±: standard error over the seeds of k-means (and over the draws of random features, where "
    f"they are involved), from {RESAMPLES} paired resamples. [95 %]: the sets are resampled too; "
    "this interval is rough, because there are few sets. better / worse: sets on which the value "
    "differs from zero by two standard errors",
    "All methods have the library's default parameters; the paper's setting is lam = eta = 10 "
    "with solver 'paper'. Methods that need a number of clusters get the number of classes",
    "USPS is every fifth sample, or every tenth if disturbed; COIL20 is every third if disturbed. "
    "UCIHAR is recomputed from raw recordings, and the segments of UCIDSA are inferred: not the "
    "authors' files",
]


class Study:
    """All results, in the form that the tables need."""

    def __init__(self, store, sets, n_jobs=1):
        self.sets = list(sets)
        self.contestants = contestants()
        self.failures, self.left_out, self.seconds, self.measures = [], {}, {}, {}
        self._store, self._n_jobs = store, n_jobs
        random = random_contestant()
        choices = [Choice(name, one) for name in self.sets for one in self.contestants]
        draws = [Choice(name, random, seed) for name in self.sets for seed in range(DRAWS)]
        self.grids = [
            Grid(name, orientation) for name in self.of(AT_HAND) for orientation in (0, 1)
        ]
        self._suggested = {name: Suggested(name) for name in self.sets}
        self._run("selections", [*self._suggested.values(), *choices, *self.grids, *draws])
        chosen = {cell: store[cell.key] for cell in (*choices, *draws)}
        judgements = list(self._judgements(chosen))
        further = [_judgement(*one) for one in self._counted()]
        self._run("judgements", _by_set([*judgements, *further]))
        self._selections = {name: set() for name in self.sets}
        for cell in judgements:
            self._selections[cell.subject].add(cell.features)
        self._run(
            "measures without labels",
            [Measured(name, one) for name in self.sets for one in sorted(self._selections[name])],
        )
        self._note(choices)
        self.outcomes = {
            metric: {name: self._outcome(name, metric, choices, draws) for name in self.sets}
            for metric in METRICS
        }

    def of(self, origin, kind=None):
        """Return the names of the sets of one origin, and of one kind if given."""
        found = [SUBJECTS[name] for name in self.sets]
        return [one.name for one in found if one.origin == origin and kind in (None, one.kind)]

    def _run(self, title, cells):
        bar = progress_bar(title, len({cell.key for cell in cells}))
        run_cells(
            cells,
            compute,
            self._store,
            n_jobs=self._n_jobs,
            report=lambda done, total, left: bar(done, left),
        )

    def _judgements(self, chosen):
        for cell, result in chosen.items():
            yield from (_judgement(cell.subject, one) for one in result.get("features", ()))
        for cell in self.grids:
            for rows in self._store[cell.key]["features"]:
                yield from (_judgement(cell.subject, one) for one in rows)

    def _counted(self):
        """Yield what is judged for the suggested count: it and the counts it is compared with."""
        for name, cell in self._suggested.items():
            result = self._store[cell.key]
            for count in (result["count"], *result["tried"]):
                yield name, result["order"][:count]

    def suggested(self, name, metric):
        """Return the suggested count of a set, and the level of it and of the tried counts."""
        result = self._store[self._suggested[name].key]
        counts = sorted({result["count"], *result["tried"]})
        levels = {
            count: float(np.mean(self._judged(name, result["order"][:count])[metric]))
            for count in counts
        }
        return result["count"], result["tried"], levels

    def _judged(self, name, features):
        """Return the values of all metrics of selected features."""
        return self._store[_judgement(name, features).key]

    def _note(self, choices):
        for cell in choices:
            result, label = self._store[cell.key], cell.contestant.label
            if "error" in result:
                self.failures.append(f"{label} on {cell.subject}: {result['error']}")
            elif "left_out" in result:
                self.left_out[label, cell.subject] = result["left_out"]
            else:
                self.seconds[label, cell.subject] = result["seconds"]
                self.measures[label, cell.subject] = self._mean_measures(cell.subject, result)

    def _mean_measures(self, name, result):
        """Return the measures of a contestant on a set, each a mean over the counts."""
        found = [self._measured(name, one) for one in result["features"]]
        return {measure: float(np.mean([one[measure] for one in found])) for measure in found[0]}

    def _measured(self, name, features):
        return self._store[Measured(name, tuple(sorted(features))).key]

    def judged(self, name, metric):
        """Yield, for every count of a set, all measures and the levels of selections of this size.

        Selections of other sizes, such as all features, are left out.
        """
        for count in load_subject(name)[0].counts:
            chosen = sorted(one for one in self._selections[name] if len(one) == count)
            found = [self._measured(name, one) for one in chosen]
            levels = [np.mean(self._judged(name, one)[metric]) for one in chosen]
            measured = {m: np.array([one[m] for one in found], float) for m in _judge.SIGNS}
            yield measured, np.array(levels)

    def _outcome(self, name, metric, choices, draws):
        def worth(rows):
            return np.array([self._values(name, one, metric) for one in rows])

        results = {
            cell.contestant.label: self._store[cell.key] for cell in choices if cell.subject == name
        }
        values = {k: worth(one["features"]) for k, one in results.items() if "features" in one}
        drawn = [worth(self._store[one.key]["features"]) for one in draws if one.subject == name]
        cells = {
            setting: worth(rows)
            for grid in self.grids
            if grid.subject == name
            for setting, rows in zip(grid.settings, self._store[grid.key]["features"], strict=True)
        }
        return SetOutcome(name, values, np.stack(drawn), cells)

    def _values(self, name, features, metric):
        """Return one value per seed; those that need no seed are repeated."""
        if metric == "r2":
            # On nearly collinear features it has no lower bound, and one set would decide a mean.
            found = [100 * max(0.0, 1 - self._measured(name, features)["missed"])]
        else:
            found = self._judged(name, features)[metric]
        return found * (len(SEEDS) // len(found))

    def present(self, label, metric, sets=None):
        """Return the outcomes of those sets on which a contestant has one."""
        outcomes = self.outcomes[metric]
        names = self.sets if sets is None else sets
        return [outcomes[name] for name in names if label in outcomes[name]]

    def absent(self, contestant, name):
        """Say why a contestant has no value on a set."""
        return "left out" if (contestant.label, name) in self.left_out else "failed"


def run(repeats):
    """Return the tables, fill the page, draw the figure. `repeats` is ignored.

    There are repetitions over seeds, draws and sets.
    """
    folder = Path(os.environ.get("LABEL_FREE_CACHE") or ROOT / "build" / "label_free")
    sets = wanted_subjects()
    study = Study(CellStore(folder / "cells.jsonl"), sets)
    tables = make_tables(study)
    if set(sets) == set(SUBJECTS):
        tables |= {"_planted": planted(), "_cost": cost()}
        from benchmarks.label_free._figure import draw  # matplotlib

        draw(tables["_values"].rows, PICTURE)
        fill_page(PAGE, tables, PICTURE)
    else:
        print("only some sets: the page and its figure are not changed", file=sys.stderr)
    return tables


def make_tables(study):
    """Return the tables by the suffix of their files."""
    at_hand, packaged, disturbed = (study.of(one) for one in (AT_HAND, PACKAGED, DISTURBED))
    tables = {"": _tables.headline(study)}
    tables[""].notes, tables[""].failures = [*NOTES, _left_out(study)], study.failures
    for name, sets in (("at_hand", at_hand), ("packaged", packaged), ("disturbed", disturbed)):
        if not sets:
            continue
        for metric in CLUSTERED:
            tables[f"_{name}_{metric}"] = _tables.gains(study, metric, sets)
            tables[f"_judge_{name}_{metric}"] = _judge.correlations(study, metric, sets)
            tables[f"_judge_choice_{name}_{metric}"] = _judge.choices(study, metric, sets)
        tables[f"_measures_{name}"] = _tables.measures(study, sets)
        tables[f"_against_{name}"] = _tables.against(study, "acc", sets)
    tables["_auto"] = _suggested.suggested(study, "acc")
    tables["_auto_summary"] = _suggested.summary(study, "acc")
    for metric in CLUSTERED:
        tables[f"_tuning_{metric}"] = _tuning.tuning(study, metric)
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


def _by_set(cells):
    """Put cells of one set together, so that a run that is stopped has whole sets."""
    order = list(SUBJECTS)
    return sorted(cells, key=lambda cell: order.index(cell.subject))
