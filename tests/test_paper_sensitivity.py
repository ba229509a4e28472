"""The two parameters of STPCA-MP, against single fits and evaluations."""

import csv
import io

import numpy as np
import pytest

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.metrics import evaluate_selection
from tensift.paper import _sensitivity as sensitivity
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._sets import PAPER_SETS, load_set
from tensift.paper._study import GRID, Study
from tensift.selection import rank_features

figures = pytest.importorskip("matplotlib.figure")
EXPERIMENT = sensitivity.EXPERIMENT


@pytest.fixture(scope="module")
def report():
    return run_experiment(EXPERIMENT, Study.quick(), CellStore())


def rows_of(report, name="sensitivity.csv"):
    return list(csv.DictReader(io.StringIO(report.csv("sensitivity")[name])))


def test_all_cells_are_run_though_the_study_is_partial(report):
    cells = {(float(row["lam"]), float(row["eta"])) for row in rows_of(report)}
    assert cells == {(lam, eta) for lam in GRID for eta in GRID}
    assert len(rows_of(report)) == 25 * 2 * 2


@pytest.mark.parametrize(("lam", "eta"), [(0.01, 10.0), (100.0, 0.1)])
def test_a_cell_is_the_mean_over_runs_of_k_means(report, lam, eta):
    digits = load_set("Digits")
    selector = STPCASelector(30, lam=lam, eta=eta, solver="paper").fit(digits.data)
    ranking = rank_features(selector.scores_, order="F")
    # Features are judged in the order of their indices.
    expected = evaluate_selection(
        digits.data, digits.labels, sorted(ranking[:30]), counts=[30], n_repeats=2
    )
    for row in rows_of(report):
        if (row["data"], float(row["lam"]), float(row["eta"])) == ("Digits", lam, eta):
            metric = row["metric"]
            assert float(row["ours"]) == pytest.approx(100 * expected.means[metric][0])
            spread = 100 * expected.stds[metric][0]
            assert float(row["std_over_k_means"]) == pytest.approx(spread)
            # Of two runs: half their difference is both.
            assert float(row["standard_error"]) == pytest.approx(spread)


def test_the_figure_shows_losses_on_one_scale(report):
    figure = figures.Figure()
    report.draw(figure)
    *panels, bar = figure.axes
    assert len(panels) == 4
    assert len({panel.images[0].get_clim() for panel in panels}) == 1
    shown = np.asarray(panels[1].images[0].get_array())
    cells = [row for row in rows_of(report) if (row["data"], row["metric"]) == ("Digits", "nmi")]
    best = max(float(row["ours"]) for row in cells)
    for row in cells:
        place = GRID.index(float(row["eta"])), GRID.index(float(row["lam"]))
        assert shown[place] == pytest.approx(best - float(row["ours"]))
    assert "points" in bar.get_ylabel()
    figure.canvas.draw()


def test_cells_without_other_scores_are_marked(report):
    array = load_set("Generated Array")
    checked = set()
    for row in rows_of(report):
        cell = float(row["lam"]), float(row["eta"])
        if row["data"] != "Generated Array" or cell in checked:
            continue
        checked.add(cell)
        selector = STPCASelector(20, lam=cell[0], eta=cell[1], solver="paper").fit(array.data)
        # The first twenty pixels are the first two columns.
        assert (row["by_index"] == "True") == (not selector.scores_[:, 2:].any())
    assert len(checked) == 25


def test_numbers_of_features_are_the_paper_s_and_fits_shared(monkeypatch):
    """JAFFE has 100 among its numbers, and shares its fits; USPS has not."""
    monkeypatch.setattr("tensift.paper._study.load_set", lambda name: load_set("Digits"))
    big = load_set("Generated Orbit")  # more than a hundred elements
    monkeypatch.setattr(sensitivity, "load_set", lambda name: big)
    jaffe, usps = (
        next(one for one in PAPER_SETS if one.name == name) for name in ("JAFFE", "USPS")
    )
    study = Study((jaffe, usps), cells=3)
    tasks = EXPERIMENT.tasks(study)
    assert len(tasks) == 50
    (ours,) = [one for one in study.contenders() if one.name == "STPCASelector"]
    assert set(study.fits(ours, jaffe)) < set(tasks)
    assert {fit.counts for fit in tasks if fit.data == "USPS"} == {(100,)}


def test_summary_counts_cells_that_lose_little(monkeypatch):
    """With results made by hand: accuracy falls by a point from cell to cell."""
    usps = next(one for one in PAPER_SETS if one.name == "USPS")
    orbit = load_set("Generated Orbit")
    monkeypatch.setattr("tensift.paper._study.load_set", lambda name: orbit)
    monkeypatch.setattr(sensitivity, "load_set", lambda name: orbit)
    study = Study((usps,), repeats=5)
    store = CellStore()
    for place, fit in enumerate(EXPERIMENT.tasks(study)):
        values = {"acc": [0.6 - 0.01 * place], "nmi": [0.5], "acc_std": [0.04], "nmi_std": [0.0]}
        store.put(fit.key, values | {"features": list(range(100, 200))})
    report = EXPERIMENT.report(study, Results(store))
    accuracy, nmi = rows_of(report, "sensitivity_summary.csv")
    assert float(accuracy["best"]) == pytest.approx(60)
    assert float(accuracy["median cell"]) == pytest.approx(48)
    assert float(accuracy["worst"]) == pytest.approx(36)
    assert float(accuracy["±"]) == pytest.approx(2)
    assert accuracy["cells that lose less than 2"] == "2 of 25"
    assert nmi["cells that lose less than 2"] == "25 of 25"
    assert accuracy["cells by index"] == "0"


@pytest.mark.parametrize(
    "study", [Study((), {"USPS": "no file"}), Study.quick(methods=("MSPCA",))], ids=["sets", "ours"]
)
def test_without_sets_or_ours_it_says_so(study):
    report = run_experiment(EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert report.csv("sensitivity") == {}
    assert report.absent == dict(study.missing)
    assert "Nothing to show" in report.markdown()
