from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.moments import GramTensor
from tensift.paper._convergence import EXPERIMENT
from tensift.paper._experiment import run_experiment
from tensift.paper._sets import load_set
from tensift.paper._slice_history import SliceHistory, representative, total_path, went_up
from tensift.paper._study import Study
from tensift.solvers import SliceProblems, Solution

NAN = np.nan


@pytest.fixture(scope="module")
def history():
    return SliceHistory("Digits", 1, 10.0, 10.0, repeats=2).compute()


@pytest.fixture(scope="module")
def fitted():
    selector = STPCASelector(5, orientation=1, lam=10.0, eta=10.0, solver="paper")
    return selector.fit(load_set("Digits").data)


@pytest.fixture(scope="module")
def report():
    return run_experiment(EXPERIMENT, Study.quick(), CellStore())


def test_history_is_that_of_the_estimator(history, fitted):
    path = fitted.objective_path_
    np.testing.assert_array_equal(history["steps"], fitted.n_iter_)
    np.testing.assert_allclose(
        history["path"], path[history["slice"]][: len(history["path"])], rtol=1e-12
    )
    assert np.isnan(path[history["slice"], len(history["path"]) :]).all()
    assert history["total"][-1] == pytest.approx(fitted.objective_.sum(), rel=1e-12)
    rises = sum(after > before * (1 + 1e-12) for line in path for before, after in pairwise(line))
    assert history["rises"] == rises > 0  # the published steps are no descent


def test_optimum_is_certified_and_below_every_step(history):
    for part, path in (("slice", history["path"]), ("total", history["total"])):
        bound, optimum = history[f"{part}_bound"], history[f"{part}_optimum"]
        assert bound <= optimum <= min(path)
        assert optimum - bound <= 1e-6 * optimum


def test_zero_slices_are_counted():
    data = load_set("Digits").data
    strong = SliceHistory("Digits", 0, 1e6, 10.0, repeats=1).compute()
    assert strong["zero"] == len(strong["steps"]) == data.shape[2]
    energy = ((data - data.mean(axis=0)) ** 2).sum() / np.abs(data).max() ** 2
    assert strong["total_optimum"] == pytest.approx(energy)  # nothing is reconstructed


def test_seconds_grow_with_the_steps(history):
    cumulative = np.array(history["cumulative"])
    assert len(cumulative) == len(history["path"])
    assert cumulative[0] > 0
    assert (np.diff(cumulative) >= 0).all()


def test_stopped_slices_stay_where_they_are():
    path = np.array([[5.0, 3.0, NAN, NAN], [4.0, 2.0, 2.5, 1.0]])
    np.testing.assert_array_equal(total_path(path), [9.0, 5.0, 5.5, 4.0])
    np.testing.assert_array_equal(went_up(path), [[False] * 3, [False, True, False]])


def test_representative_slice_is_of_median_steps_and_most_energy():
    path = np.array([[1.0, NAN, NAN], [1.0, 1.0, NAN], [1.0, 1.0, NAN], [1.0, 1.0, 1.0]])
    gram = GramTensor(np.eye(2) * np.array([9.0, 1.0, 2.0, 9.0])[:, None, None], thin=False)
    solution = Solution(np.zeros((4, 2, 2)), path, np.ones(4, bool))
    assert representative(solution, SliceProblems(gram, 1.0, 1.0)) == 2


def test_rows_say_how_far_above_the_optimum(report):
    rows = report.tables[""].rows
    assert {row["data"] for row in rows} == {"Digits", "Generated Array", "Generated Orbit"}
    for row in rows:
        expected = 100 * (row["objective"] / row["optimum"] - 1)
        assert row["percent_above_optimum"] == pytest.approx(expected, abs=1e-9)
        assert (row["seconds"] is None) == (row["part"] == "all slices")
    of_slice = [row for row in rows if row["data"] == "Digits" and row["part"] != "all slices"]
    assert [row["step"] for row in of_slice] == list(range(1, len(of_slice) + 1))
    before = of_slice[0]
    for row in of_slice[1:]:
        assert row["rises"] == (row["objective"] > before["objective"] * (1 + 1e-12))
        before = row


def test_figure_shows_every_step(report):
    report.draw(figure := Figure())
    assert len(figure.axes) == 9
    ends = report.tables["ends"].rows[0]
    steps = [row for row in report.tables[""].rows if row["data"] == "Digits"]
    heights = [row["seconds"] for row in steps if row["seconds"] is not None]
    costs = next(ax for ax in figure.axes if "milliseconds" in ax.get_ylabel())
    np.testing.assert_allclose(
        [bar.get_height() for bar in costs.patches], 1e3 * np.array(heights), atol=1e-12
    )
    assert 1e3 * sum(heights) == pytest.approx(ends["milliseconds a step"] * len(heights))
    assert set(report.csv("convergence")) == {"convergence.csv", "convergence_ends.csv"}


@pytest.mark.parametrize("study", [Study((), {"PIE": "no file"}), Study.quick(methods=("RNE",))])
def test_nothing_to_show(study):
    report = run_experiment(EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert report.tables[""].rows == []
    assert report.absent == dict(study.missing)
