"""The curves of the paper, against loops over its grid."""

import csv
import io

import numpy as np
import pytest

from tensift._utils.cells import CellStore
from tensift.paper._curves import EXPERIMENT
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._fits import Fit
from tensift.paper._printed import printed_metrics
from tensift.paper._study import Study

figures = pytest.importorskip("matplotlib.figure")
METHODS = ("STPCASelector", "SPCAFS", "RNE", "RandomSelector", "AllFeatures", "NDFS")


@pytest.fixture(scope="module")
def study():
    return Study.quick(methods=METHODS, draws=2)


@pytest.fixture(scope="module")
def store():
    return CellStore()


@pytest.fixture(scope="module")
def report(study, store):
    return run_experiment(EXPERIMENT, study, store)


def points(report):
    return list(csv.DictReader(io.StringIO(report.csv("curves")["curves.csv"])))


def test_a_point_is_the_largest_of_all_cells(study, store, report):
    results = Results(store)
    fits = EXPERIMENT.tasks(study)
    for row in points(report):
        if row["method"] not in ("STPCA-MP", "SPCAFS"):
            continue
        method = {"STPCA-MP": "STPCASelector"}.get(row["method"], row["method"])
        largest = -np.inf
        for fit in fits:
            if (fit.data, fit.method) == (row["data"], method):
                at = list(fit.counts).index(int(row["n_features"]))
                largest = max(largest, results[fit][row["metric"]][at])
        assert float(row["ours"]) == pytest.approx(100 * largest)


def test_of_random_selection_it_is_the_mean_between_worst_and_best_draw(study, store, report):
    results = Results(store)
    draws = [fit for fit in EXPERIMENT.tasks(study) if fit.method == "RandomSelector"]
    rows = [row for row in points(report) if row["method"] == "random selection"]
    assert len(rows) == 2 * 3 * 3
    for row in rows:
        values = [
            100 * results[fit][row["metric"]][fit.counts.index(int(row["n_features"]))]
            for fit in draws
            if fit.data == row["data"]
        ]
        assert len(values) == 2
        assert float(row["ours"]) == pytest.approx(sum(values) / 2)
        assert float(row["lowest_seed"]) == pytest.approx(min(values))
        assert float(row["highest_seed"]) == pytest.approx(max(values))


def test_the_figure_shows_the_table(report):
    figure = figures.Figure()
    report.draw(figure)
    assert len(figure.axes) == 3 * 2
    shown = [row for row in points(report) if (row["data"], row["metric"]) == ("Digits", "acc")]
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert set(lines) == {row["method"] for row in shown}
    assert "NDFS" not in lines  # not one of the paper's
    ours = [float(row["ours"]) for row in shown if row["method"] == "STPCA-MP"]
    np.testing.assert_allclose(lines["STPCA-MP"].get_ydata(), ours)
    level = [float(row["ours"]) for row in shown if row["method"] == "All Features"]
    assert set(lines["All Features"].get_ydata()) == set(level)
    assert lines["STPCA-MP"].get_linewidth() > lines["SPCAFS"].get_linewidth()
    figure.canvas.draw()


def test_methods_fitted_for_each_number_have_every_second_one(report):
    counts = {row["n_features"] for row in points(report) if row["method"] == "RNE"}
    assert counts == {"10", "20"}  # of Generated Array 10, of Digits 20


def test_the_paper_s_best_stands_beside_ours(monkeypatch):
    """With results made by hand, on one of the paper's sets."""
    from tensift.paper import _study
    from tensift.paper._sets import PAPER_SETS

    jaffe = next(one for one in PAPER_SETS if one.name == "JAFFE")
    monkeypatch.setattr(_study.Study, "_settings", lambda self, contender, data, given: ())
    study = Study((jaffe,), methods=("STPCASelector",), cells=1)
    store = CellStore()
    (fit,) = EXPERIMENT.tasks(study)
    assert isinstance(fit, Fit)
    values = [0.1, 0.2, 0.5, 0.4, 0.3, 0.2]
    store.put(fit.key, dict.fromkeys(("acc", "nmi", "silhouette"), values))
    report = EXPERIMENT.report(study, Results(store))
    text = report.markdown()
    assert f"50.0 @ 150 ({100 * printed_metrics('STPCA-MP', 'JAFFE')['acc']:.1f})" in text
    figure = figures.Figure()
    report.draw(figure)
    stars = [line for line in figure.axes[0].lines if line.get_marker() == "*"]
    assert [star.get_ydata()[0] for star in stars] == [pytest.approx(34.74)]


def test_without_sets_it_says_what_is_absent():
    study = Study((), {"PIE": "no file", "UMCS": "none known"})
    report = run_experiment(EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert report.csv("curves") == {}
    assert report.absent == {"PIE": "no file"}
    assert "PIE: no file" in report.markdown()
