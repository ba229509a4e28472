"""Score maps of the paper's methods, against fits made by hand."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.paper import _maps as maps
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._sets import PAPER_SETS, load_set
from tensift.paper._study import Study

figures = pytest.importorskip("matplotlib.figure")
METHODS = ("STPCASelector", "NLGMS", "SPCAFS")


@pytest.fixture(scope="module")
def study():
    return Study.quick(methods=METHODS)


@pytest.fixture(scope="module")
def store():
    return CellStore()


@pytest.fixture(scope="module")
def report(study, store):
    return run_experiment(maps.EXPERIMENT, study, store)


def rows_of(report, name):
    return list(csv.DictReader(io.StringIO(report.csv("maps")[name])))


def best_of(study, store, data, method, count):
    """The largest NMI at a number of features, and the settings it belongs to, by a loop."""
    results = Results(store)
    found = (-1.0, ())
    for fit in maps.EXPERIMENT.tasks(study):
        if (fit.data, fit.method) == (data, method) and count in fit.counts:
            nmi = results[fit]["nmi"][fit.counts.index(count)]
            found = max(found, (nmi, fit.settings), key=lambda pair: pair[0])
    return found


def test_the_map_is_that_of_the_best_cell(study, store, report):
    nmi, settings = best_of(study, store, "Digits", "STPCASelector", 20)
    selector = STPCASelector(20, solver="paper", **dict(settings))
    scores = selector.fit(load_set("Digits").data).scores_
    shown = [
        row
        for row in rows_of(report, "maps.csv")
        if (row["data"], row["method"]) == ("Digits", "STPCA-MP")
    ]
    assert len(shown) == scores.size
    for row in shown:
        score = scores[int(row["row"]), int(row["column"])]
        assert float(row["score"]) == pytest.approx(score)
    kept = [float(row["score"]) for row in shown if row["selected"] == "True"]
    left = [float(row["score"]) for row in shown if row["selected"] == "False"]
    assert len(kept) == 20
    assert min(kept) >= max(left)
    (line,) = [
        row
        for row in rows_of(report, "maps_selections.csv")
        if (row["data"], row["method"]) == ("Digits", "STPCA-MP")
    ]
    assert float(line["NMI, %"]) == pytest.approx(100 * nmi)


def test_dull_pixels_are_those_of_little_variance(report):
    variance = load_set("Digits").data.var(axis=0)
    for line in rows_of(report, "maps_selections.csv"):
        if line["data"] != "Digits":
            continue
        chosen = [
            variance[int(row["row"]), int(row["column"])]
            for row in rows_of(report, "maps.csv")
            if row["data"] == "Digits"
            and row["method"] == line["method"]
            and row["selected"] == "True"
        ]
        dull = sum(value < np.median(variance) for value in chosen)
        assert float(line["dull, %"]) == pytest.approx(100 * dull / len(chosen))


def test_only_the_four_methods_of_the_paper_s_figure(report):
    methods = {row["method"] for row in rows_of(report, "maps_selections.csv")}
    assert methods == {"STPCA-MP", "NLGMS"}


def test_the_figure_has_a_pair_for_each_method_and_set(report):
    figure = figures.Figure()
    report.draw(figure)
    sample, *methods = figure.subfigs
    assert len(sample.axes) == 2
    assert [part.get_suptitle() for part in methods] == ["STPCA-MP", "NLGMS"]
    assert all(len(part.axes) == 4 for part in methods)
    np.testing.assert_array_equal(sample.axes[0].images[0].get_array(), load_set("Digits").data[0])
    figure.canvas.draw()


def test_counted_methods_are_fitted_for_the_number_shown(monkeypatch):
    """BreastMNIST is shown with 50 pixels, and NLGMS runs at 100, 200 and 300."""
    breast = next(one for one in PAPER_SETS if one.name == "BreastMNIST")
    monkeypatch.setattr("tensift.paper._study.load_set", lambda name: load_set("Digits"))
    study = Study((breast,), methods=("NLGMS",), cells=2)
    store = CellStore()
    tasks = maps.EXPERIMENT.tasks(study)
    assert {fit.counts for fit in tasks} == {(100,), (200,), (300,)}
    for place, fit in enumerate(tasks):
        # The largest of all is at 300 features, which is not what is shown.
        at_hundred = fit.counts == (100,)
        store.put(fit.key, {"nmi": [0.1 * place / len(tasks) if at_hundred else 0.9]})
    (extra,) = maps.EXPERIMENT.more_tasks(study, Results(store))
    last = [fit for fit in tasks if fit.counts == (100,)][-1]
    assert extra == replace(last, counts=(50,), keep_scores=True)


def test_a_map_without_any_score_says_so():
    """A penalty beyond all bounds leaves nothing: pixels by index are no preference."""
    study = Study.quick(methods=("STPCASelector",), cells=1)
    report = run_experiment(maps.EXPERIMENT, study, CellStore())
    (line,) = [
        row for row in rows_of(report, "maps_selections.csv") if row["data"] == "Generated Array"
    ]
    scores = [
        float(row["score"])
        for row in rows_of(report, "maps.csv")
        if row["data"] == "Generated Array"
    ]
    assert set(scores) == {0.0}
    assert line["of score 0"] == line["features"]
    figure = figures.Figure()
    report.draw(figure)
    titles = [ax.get_title() for ax in figure.subfigs[1].axes]
    assert "scores: all 0" in titles


def test_without_sets_it_says_what_is_absent():
    study = Study((), {"PIE": "no file", "UMCS": "none known"})
    report = run_experiment(maps.EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert report.csv("maps") == {}
    assert report.absent == {"PIE": "no file"}
