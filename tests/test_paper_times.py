import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift._utils.cells import CellStore
from tensift.paper import _times
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._study import Study
from tensift.paper._times import EXPERIMENT


@pytest.fixture
def study():
    return Study.quick(methods=("STPCASelector", "NLGMS", "RandomSelector", "AllFeatures"))


@pytest.fixture
def store(study):
    """Made-up results: the n-th fit takes n + 1 seconds, the last of a method does best."""
    store = CellStore()
    for place, fit in enumerate(EXPERIMENT.tasks(study)):
        values = [place / 1000] * len(fit.counts)
        metrics = dict.fromkeys(fit.metrics, values) | {"acc_std": values}
        store.put(fit.key, {"seconds": place + 1.0, "features": [0], **metrics})
    return store


def seconds_of(study, store, row):
    return [
        store[fit.key]["seconds"]
        for contender in study.contenders()
        for fit in EXPERIMENT.tasks(study)
        if contender.label == row["method"]
        and (fit.method, fit.data) == (contender.name, row["data"])
    ]


def test_only_methods_that_train_are_timed(study):
    assert {fit.method for fit in EXPERIMENT.tasks(study)} == {"STPCASelector", "NLGMS"}


def test_fits_are_those_of_other_experiments(study):
    (stpca, *_), (data, *_) = study.contenders(), study.pick("JAFFE")
    assert {fit.key for fit in study.fits(stpca, data)} <= {
        fit.key for fit in EXPERIMENT.tasks(study)
    }


def test_rows_have_mean_extremes_and_best_cell(study, store):
    rows = EXPERIMENT.report(study, Results(store)).tables[""].rows
    assert len(rows) == 2 * len(study.sets)
    for row in rows:
        seconds = seconds_of(study, store, row)
        assert row["fits"] == len(seconds) > 1
        assert row["mean_seconds"] == pytest.approx(np.mean(seconds))
        assert (row["least_seconds"], row["most_seconds"]) == (min(seconds), max(seconds))
        assert row["best_cell_seconds"] == seconds[-1]
        assert row["paper_best_cell_seconds"] is None


def test_printed_seconds_stand_beside_ours(study, store, monkeypatch):
    monkeypatch.setattr(
        _times, "printed_metrics", lambda method, data: {"seconds": 7.25} if "MP" in method else {}
    )
    report = EXPERIMENT.report(study, Results(store))
    printed = {row["method"]: row["paper_best_cell_seconds"] for row in report.tables[""].rows}
    assert printed == {"STPCA-MP": 7.25, "NLGMS": None}
    ours = {row["method"]: row["Digits"] for row in report.tables["mean"].rows}
    assert ours["STPCA-MP"].endswith("; 7.25)")
    assert ours["NLGMS"].endswith("; –)")
    report.draw(figure := Figure())
    diamonds = [
        line for line in figure.axes[0].lines if line.get_marker() == "D" and len(line.get_xdata())
    ]
    assert [line.get_xdata()[0] for line in diamonds] == [7.25]


def test_bars_end_at_the_means(study, store):
    report = EXPERIMENT.report(study, Results(store))
    report.draw(figure := Figure())
    for ax, data in zip(figure.axes, study.sets, strict=True):
        means = [row["mean_seconds"] for row in report.tables[""].rows if row["data"] == data.name]
        ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose([end for end in ends if np.isfinite(end)], means)
        assert ax.get_xscale() == "log"
    assert set(report.csv("times")) == {"times.csv", "times_mean.csv"}


def test_nothing_at_hand():
    report = run_experiment(EXPERIMENT, Study((), {"UMCS": "no file"}), CellStore())
    assert report.draw is None
    assert report.tables[""].rows == []
    assert report.absent == {"UMCS": "no file"}
