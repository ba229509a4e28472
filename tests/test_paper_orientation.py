import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.metrics import evaluate_selection, proportion_correct
from tensift.paper._experiment import Results, run_experiment
from tensift.paper._orientation import EXPERIMENT
from tensift.paper._sets import load_set
from tensift.paper._study import Study
from tensift.selection import rank_features

STUDY = Study.quick(methods=("STPCASelector",), seeds=2)


@pytest.fixture(scope="module")
def store():
    return CellStore()


@pytest.fixture(scope="module")
def report(store):
    return run_experiment(EXPERIMENT, STUDY, store)


def rankings(data, **settings):
    """Of the cells of the study, as the authors' program orders equal scores."""
    dataset = load_set(data)
    for cell in STUDY.grid(STUDY.contenders()[0]):
        selector = STPCASelector(
            3, feature_mode=dataset.feature_mode, solver="paper", **settings, **cell
        )
        yield rank_features(selector.fit(dataset.data).scores_, order="F")


def ours(report, data, setting):
    rows = report.tables["best"].rows
    return next(row for row in rows if (row["data"], row["setting"]) == (data, setting))["ours"]


@pytest.mark.parametrize(
    ("setting", "orientation", "transform"),
    [("Dir1-I", 0, "identity"), ("Dir2-DFT", 1, "dft"), ("Dir1-EigVector", 0, "eigen")],
)
@pytest.mark.filterwarnings("ignore:with basis='dft'")
def test_best_accuracy_is_the_largest_over_cells_and_counts(
    report, setting, orientation, transform
):
    digits = load_set("Digits")
    best = max(
        evaluate_selection(
            digits.data, digits.labels, ranking[:count], counts=[count], n_repeats=STUDY.repeats
        ).means["acc"][0]
        for ranking in rankings("Digits", orientation=orientation, basis=transform)
        for count in (10, 20, 30)
    )
    assert ours(report, "Digits", setting) == pytest.approx(100 * best)


def test_poc_is_a_mean_over_cells(report):
    orbit = load_set("Generated Orbit")
    pocs = [
        proportion_correct(ranking[:3], orbit.data, orbit.labels, feature_mode=0)
        for ranking in rankings("Generated Orbit", orientation=1)
    ]
    assert ours(report, "Generated Orbit", "Dir2-I") == pytest.approx(100 * np.mean(pocs))


def test_identity_is_computed_once_for_all_experiments():
    keys = {fit.key for fit in EXPERIMENT.tasks(STUDY)}
    for data in STUDY.sets:
        assert {fit.key for fit in STUDY.fits(STUDY.contenders()[0], data)} <= keys


def test_random_transforms_are_drawn_once_a_seed(report):
    seeds = [fit.seed for fit in EXPERIMENT.tasks(STUDY) if ("basis", "random") in fit.settings]
    assert sorted(set(seeds)) == [0, 1]
    assert all(
        row["seeds"] == (2 if row["transform"] == "random" else 1) for row in report.tables[""].rows
    )


def test_table_has_a_line_a_setting_and_marks_the_best(report):
    table = {line["setting"]: line for line in report.tables["table"].rows}
    assert list(table) == [
        f"{direction}-{transform}"
        for direction in ("Dir1", "Dir2")
        for transform in ("I", "DFT", "EigVector")
    ]
    values = {setting: ours(report, "Digits", setting) for setting in table}
    top = max(values, key=lambda setting: values[setting])
    assert table[top]["Digits"] == f"**{values[top]:.1f}**"


def test_maps_are_of_the_cell_of_best_nmi(report, store):
    kept = [fit for fit in EXPERIMENT.more_tasks(STUDY, Results(store)) if fit.keep_scores]
    assert len(kept) == 4  # two sets in two orientations
    for fit in kept:
        scores = np.array(store[fit.key]["scores"])
        count = fit.counts[0]
        chosen = store[fit.key]["features"][:count]
        assert scores.ravel()[chosen].min() >= np.delete(scores.ravel(), chosen).max()
        rivals = [
            store[other.key]["nmi"][0]
            for other in EXPERIMENT.tasks(STUDY)
            if other.data == fit.data
            and dict(other.settings)["orientation"] == dict(fit.settings)["orientation"]
            and "basis" not in dict(other.settings)
        ]
        assert store[fit.key]["nmi"][0] == max(rivals)


def test_figure_and_files(report):
    report.draw(figure := Figure())
    titles = [ax.get_title() for ax in figure.axes]
    assert {"Digits: orientations", "Digits: transforms", "Dir2-I: 10 selected"} <= set(titles)
    curve = next(ax for ax in figure.axes if ax.get_title() == "Digits: transforms")
    points = [
        100 * row["best_over_grid"]
        for row in report.tables[""].rows
        if (row["data"], row["orientation"], row["transform"]) == ("Digits", 0, "dft")
    ]
    line = next(line for line in curve.lines if line.get_label() == "Dir1-DFT")
    np.testing.assert_allclose(line.get_ydata(), points)
    assert set(report.csv("orientation")) == {
        "orientation.csv",
        "orientation_best.csv",
        "orientation_table.csv",
    }


@pytest.mark.parametrize("study", [Study((), {"USPS": "no file"}), Study.quick(methods=("RNE",))])
def test_nothing_to_show(study):
    report = run_experiment(EXPERIMENT, study, CellStore())
    assert report.draw is None
    assert all(table.rows == [] for table in report.tables.values())
    assert report.absent == dict(study.missing)


def test_channels_alone_have_no_curves_and_no_maps():
    channels = tuple(data for data in STUDY.sets if data.by_mode)
    study = Study.quick(methods=("STPCASelector",))
    study = type(study)(channels, cells=1, repeats=1, fast=True, methods=study.methods)
    report = run_experiment(EXPERIMENT, study, CellStore())
    report.draw(figure := Figure())
    assert [ax.get_title() for ax in figure.axes] == ["Generated Orbit"]
