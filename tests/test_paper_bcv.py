"""Selected channels and their between-class variance, against the metric's own definition."""

import csv
import io

import numpy as np
import pytest

from tensift._utils.cells import CellStore
from tensift.metrics import between_class_variance, proportion_correct
from tensift.paper import _bcv as bcv
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._printed import printed_metrics
from tensift.paper._sets import PAPER_SETS, load_set
from tensift.paper._study import Study

figures = pytest.importorskip("matplotlib.figure")
METHODS = ("STPCASelector", "SPCAFS", "VarianceSelector", "RandomSelector", "AllFeatures")


@pytest.fixture(scope="module")
def study():
    return Study.quick(methods=METHODS)


@pytest.fixture(scope="module")
def store():
    return CellStore()


@pytest.fixture(scope="module")
def report(study, store):
    return run_experiment(bcv.EXPERIMENT, study, store)


def rows_of(report, name="bcv.csv"):
    return list(csv.DictReader(io.StringIO(report.csv("bcv")[name])))


def selected(report, method):
    return [
        int(row["channel"])
        for row in rows_of(report)
        if row["method"] == method and row["selected"] == "True"
    ]


def test_the_variance_is_that_of_the_class_means(report):
    orbit = load_set("Generated Orbit")
    means = [orbit.data[orbit.labels == label].mean(axis=0) for label in np.unique(orbit.labels)]
    expected = np.var(means, axis=0, ddof=1).sum(axis=1)
    for row in rows_of(report):
        assert float(row["bcv"]) == pytest.approx(expected[int(row["channel"])])
        better = (expected > expected[int(row["channel"])]).sum()
        assert int(row["place"]) == better + 1
        assert (row["among_best"] == "True") == (better < 3)


def test_methods_are_shown_at_their_largest_poc(study, store, report):
    orbit = load_set("Generated Orbit")
    results = Results(store)
    summary = {row["method"]: row for row in rows_of(report, "bcv_selections.csv")}
    assert set(summary) == {"STPCA-MP", "SPCAFS", "maximum variance", "random selection"}
    for contender in study.contenders():
        if contender.name == "AllFeatures":
            continue
        pocs = []
        for fit in bcv.EXPERIMENT.tasks(study):
            if fit.method == contender.name:
                chosen = results[fit]["features"]
                pocs.append(proportion_correct(chosen, orbit.data, orbit.labels, feature_mode=0))
        shown = selected(report, contender.label)
        assert len(shown) == 3
        poc = proportion_correct(shown, orbit.data, orbit.labels, feature_mode=0)
        assert poc == max(pocs)
        line = summary[contender.label]
        assert float(line["max POC"]) == pytest.approx(100 * poc)
        assert float(line["mean POC"]) == pytest.approx(100 * np.mean(pocs))


def test_variance_kept_is_a_share_of_the_largest_possible(report):
    orbit = load_set("Generated Orbit")
    variance = between_class_variance(orbit.data, orbit.labels, feature_mode=0)
    for line in rows_of(report, "bcv_selections.csv"):
        kept = sum(variance[channel] for channel in selected(report, line["method"]))
        assert float(line["bcv kept"]) == pytest.approx(100 * kept / sum(sorted(variance)[-3:]))


def test_the_figure_colours_correct_channels(report):
    figure = figures.Figure()
    report.draw(figure)
    bars, grid = figure.subfigs[0].axes
    heights = [bar.get_height() for bar in bars.patches]
    assert heights == sorted(heights, reverse=True)
    image = np.asarray(grid.images[0].get_array())
    order = [int(label.get_text()) for label in grid.get_xticklabels()]
    methods = [label.get_text() for label in grid.get_yticklabels()]
    assert image.shape[:2] == (4, 9)
    from matplotlib.colors import to_rgb

    for line, method in enumerate(methods):
        for place, channel in enumerate(order):
            colour = to_rgb(bcv.BLUE if place < 3 else bcv.ACCENT)
            is_marked = np.allclose(image[line, place], colour)
            assert is_marked == (channel in selected(report, method))
    figure.canvas.draw()


def test_the_paper_s_mean_stands_beside_ours(monkeypatch):
    """With results made by hand: two cells on what stands for the paper's ASCH."""
    asch = next(one for one in PAPER_SETS if one.name == "ASCH")
    orbit = load_set("Generated Orbit")
    monkeypatch.setattr(bcv, "load_set", lambda name: orbit)
    monkeypatch.setattr("tensift.paper._study.load_set", lambda name: orbit)
    study = Study((asch,), methods=("STPCASelector",), cells=2)
    store = CellStore()
    first, second = bcv.EXPERIMENT.tasks(study)
    store.put(first.key, {"features": [0, 1, 2, 3, 4, 5], "poc": [0.5], "seconds": 1.0})
    store.put(second.key, {"features": [6, 7, 8, 3, 4, 5], "poc": [0.75], "seconds": 1.0})
    report = bcv.EXPERIMENT.report(study, Results(store))
    (line,) = rows_of(report, "bcv_selections.csv")
    assert float(line["max POC"]) == 75
    assert float(line["mean POC"]) == 62.5
    expected = 100 * printed_metrics("STPCA-MP", "ASCH")["poc"]
    assert float(line["paper's mean POC"]) == pytest.approx(expected)
    assert sorted(selected(report, "STPCA-MP")) == [3, 4, 5, 6, 7, 8]
    figure = figures.Figure()
    report.draw(figure)
    assert any("75 | 62 (83)" in text.get_text() for text in figure.subfigs[0].axes[1].texts)


@pytest.mark.parametrize("methods", [None, ("AllFeatures",)])
def test_without_sets_or_methods_it_says_so(methods):
    study = Study((), {"UMCS": "none known", "PIE": "no file"}, methods=methods)
    report = run_experiment(bcv.EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert report.csv("bcv") == {}
    assert report.absent == {"UMCS": "none known"}


def test_sets_without_any_method_have_no_figure():
    report = run_experiment(bcv.EXPERIMENT, Study.quick(methods=("AllFeatures",)), CellStore())
    assert report.draw is None
    assert report.csv("bcv") == {}
