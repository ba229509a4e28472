import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.metrics import proportion_correct
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._sets import load_set
from tensift.paper._study import Study
from tensift.paper._synthetic import EXPERIMENT
from tensift.selection import rank_features

STUDY = Study.quick(methods=("STPCASelector", "RNE", "VarianceSelector"), cells=3, seeds=2)


@pytest.fixture(scope="module")
def store():
    return CellStore()


@pytest.fixture(scope="module")
def report(store):
    return run_experiment(EXPERIMENT, STUDY, store)


def lines(report, data, method):
    rows = report.tables["summary"].rows
    return next(row for row in rows if (row["data"], row["method"]) == (data, method))


@pytest.mark.parametrize("data", ["Generated Orbit", "Generated Array"])
@pytest.mark.parametrize("orientation", [0, 1])
def test_shares_are_those_of_the_known_features(report, data, orientation):
    dataset = load_set(data)
    known = set(dataset.informative.tolist())
    shares, pocs = [], []
    contender = next(one for one in STUDY.contenders() if one.name == "STPCASelector")
    for cell in STUDY.grid(contender):
        selector = STPCASelector(
            len(known),
            orientation=orientation,
            feature_mode=dataset.feature_mode,
            solver="paper",
            **cell,
        ).fit(dataset.data)
        first = rank_features(selector.scores_, order="F")[: len(known)]
        shares.append(sum(feature in known for feature in first.tolist()) / len(known))
        pocs.append(
            proportion_correct(
                first, dataset.data, dataset.labels, feature_mode=dataset.feature_mode
            )
        )
    row = lines(report, data, f"STPCA-MP, Dir{orientation + 1}")
    assert row["share found: best"] == max(shares)
    assert row["share found: mean"] == pytest.approx(np.mean(shares))
    assert row["all found: share of fits"] == pytest.approx(np.mean(np.array(shares) == 1))
    assert row["POC: best"] == pytest.approx(max(pocs))
    assert row["POC: mean"] == pytest.approx(np.mean(pocs))


def test_variance_finds_the_orbit_that_the_paper_describes(report):
    row = lines(report, "Generated Orbit", "Variance")
    assert row["share found: best"] == 1
    assert {*row["its features"].split()} == {"6", "7", "8"}


def test_the_paper_s_measure_of_the_right_answer(report):
    array = load_set("Generated Array")
    expected = proportion_correct(array.informative, array.data, array.labels)
    assert lines(report, "Generated Array", "RNE")["POC of the right ones"] == expected


def test_rows_hold_every_cell_and_seed(report):
    rows = [row for row in report.tables[""].rows if row["data"] == "Generated Array"]
    assert len({row["cell"] for row in rows if row["method"] == "STPCA-MP, Dir2"}) == 3
    assert {row["seed"] for row in rows if row["method"] == "RNE"} == {0, 1}
    assert len(rows) == len({(row["method"], row["cell"], row["seed"]) for row in rows})


def test_maps_belong_to_the_cells_of_best_poc(report, store):
    array = load_set("Generated Array")
    kept = EXPERIMENT.more_tasks(STUDY, Results(store))
    assert [fit.data for fit in kept] == ["Generated Array"] * 4
    methods = ["RNE", "STPCA-MP, Dir1", "STPCA-MP, Dir2", "Variance"]
    for fit, method in zip(kept, methods, strict=True):
        assert np.shape(store[fit.key]["scores"]) == array.data.shape[1:]
        assert store[fit.key]["poc"][0] == lines(report, "Generated Array", method)["POC: best"]


def test_figure_shows_truth_and_choices(report):
    report.draw(figure := Figure())
    assert len(figure.axes) == 2 * 5
    orbits = [ax for ax in figure.axes if ax.name == "3d"]
    assert len(orbits) == 5
    orbit = load_set("Generated Orbit")
    truth = orbits[0].collections[1]._offsets3d  # of the second class
    radii = np.linalg.norm(np.array(truth), axis=0)
    np.testing.assert_allclose(radii, np.linalg.norm(orbit.data[-1, 6:], axis=0)[0])
    maps = [ax for ax in figure.axes if ax.name != "3d"]
    for ax in maps:
        corners = {(patch.get_y() + 0.5, patch.get_x() + 0.5) for patch in ax.patches}
        known = load_set("Generated Array").informative
        assert corners == set(zip(*np.unravel_index(known, (10, 10)), strict=True))
    assert set(report.csv("synthetic")) == {"synthetic.csv", "synthetic_summary.csv"}


def test_published_sets_may_be_absent():
    study = Study((), {"Orbit": "no file"}, methods=("VarianceSelector",))
    report = run_experiment(EXPERIMENT, study, CellStore())
    assert {row["data"] for row in report.tables[""].rows} == {"Generated Orbit", "Generated Array"}
    assert report.absent == {"Orbit": "no file"}


def test_none_of_the_methods():
    report = run_experiment(EXPERIMENT, Study.quick(methods=("SOGFS",)), CellStore())
    assert report.draw is None
    assert report.tables[""].rows == []
