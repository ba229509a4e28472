"""The ground of the paper's experiments: sets, fits, grids, best values, the numbers it prints."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tensift import STPCASelector
from tensift._utils.cells import CellStore
from tensift.metrics import evaluate_selection, proportion_correct
from tensift.paper import Study, run_experiment
from tensift.paper._experiment import Results
from tensift.paper._fits import Fit
from tensift.paper._metrics import EXPERIMENT as METRICS
from tensift.paper._metrics import REAL_SETS
from tensift.paper._outcomes import Outcomes
from tensift.paper._printed import printed_metrics, printed_orientations
from tensift.paper._sets import PAPER_SETS, STAND_INS, load_set
from tensift.paper._study import GRID
from tensift.rivals import RNE, VarianceSelector

PAPER = Path(__file__).resolve().parents[2] / "shared" / "paper" / "stpca_mp.tex"
DIGITS, ARRAY, ORBIT = STAND_INS


def contender(study, label):
    return next(one for one in study.contenders(variants=True) if one.label == label)


def fit_of(**changes):
    fit = Fit(
        "Digits",
        "STPCASelector",
        (("eta", 10.0), ("lam", 10.0), ("orientation", 0)),
        0,
        (10, 20),
        2,
        ("acc", "nmi", "silhouette"),
    )
    return replace(fit, **changes)


# Fits


def test_a_fit_is_judged_as_the_paper_does():
    digits = load_set("Digits")
    result = fit_of(keep_scores=True).compute()
    selector = STPCASelector(20, lam=10, eta=10, solver="paper").fit(digits.data)
    assert result["scores"] == selector.scores_.tolist()
    in_columns = np.argsort(-selector.scores_.ravel(order="F"), kind="stable")
    rows, columns = in_columns % 8, in_columns // 8
    assert result["features"] == (8 * rows + columns)[:20].tolist()
    for place, count in enumerate((10, 20)):
        features = np.sort(result["features"][:count])
        direct = evaluate_selection(
            digits.data, digits.labels, features, counts=[count], n_repeats=2
        )
        for metric in ("acc", "nmi", "silhouette"):
            assert result[metric][place] == direct.means[metric][0]
        assert result["acc_std"][place] == direct.stds["acc"][0]
    assert result["seconds"] > 0


def test_other_methods_keep_their_own_solver(monkeypatch):
    """RNE has a parameter `solver` too, which the paper's solver of STPCA-MP must not set."""
    made = []
    fit = RNE.fit
    monkeypatch.setattr(RNE, "fit", lambda self, X: made.append(self) or fit(self, X))
    fit_of(method="RNE", settings=(), counts=(3,)).compute()
    assert [one.solver for one in made] == [None]


def test_equal_scores_go_by_column_as_in_the_authors_program():
    """All features that vary have score one: those of the first columns come first."""
    result = fit_of(method="AllFeatures", settings=(), counts=(3,)).compute()
    varying = load_set("Digits").data.std(axis=0) > 0
    columns, rows = np.nonzero(varying.T)
    assert result["features"] == (8 * rows + columns)[:3].tolist()


def test_channels_are_judged_by_poc():
    orbit = load_set("Generated Orbit")
    fit = fit_of(
        data="Generated Orbit",
        method="VarianceSelector",
        settings=(("feature_mode", 0),),
        counts=(3,),
        metrics=("poc",),
    )
    ranking = VarianceSelector(3, feature_mode=0).fit(orbit.data).order_
    expected = proportion_correct(ranking[:3], orbit.data, orbit.labels, feature_mode=0)
    assert fit.compute()["poc"] == [expected]


@pytest.mark.parametrize(
    "change",
    [
        {"data": "Generated Array"},
        {"method": "SPCAFS"},
        {"settings": (("lam", 1.0),)},
        {"seed": 1},
        {"counts": (10,)},
        {"repeats": 3},
        {"metrics": ("acc",)},
        {"keep_scores": True},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_key_tells_fits_apart(change):
    assert fit_of(**change).key != fit_of().key


# The extent of a study


def test_a_grid_is_the_papers_and_a_part_of_it_is_its_beginning():
    study = Study.quick(cells=None)
    ours = contender(study, "STPCA-MP")
    cells = study.grid(ours)
    assert {(cell["lam"], cell["eta"]) for cell in cells} == set(product(GRID, GRID))
    assert cells[0] == {"lam": 1.0, "eta": 1.0}
    assert {value for cell in cells[:9] for value in cell.values()} == {0.01, 1.0, 100.0}
    assert Study.quick(cells=7).grid(ours) == cells[:7]
    assert len(study.grid(contender(study, "CPUFS"))) == 125


def test_drawn_methods_have_seeds_others_one():
    study = Study.quick(cells=8, seeds=4, draws=6)
    count = {one.label: len(study.fits(one, DIGITS)) for one in study.contenders()}
    assert count["STPCA-MP"] == 8
    assert count["CPUFS"] == 2 * 4  # no more draws than others
    assert count["random selection"] == 6
    assert count["RNE"] == 2 * 4  # every second number of features: one of three
    assert count["All Features"] == 1


def test_settings_are_those_of_the_set():
    study = Study.quick()
    (fit, _) = study.fits(contender(study, "STPCA-MP"), ORBIT)
    assert dict(fit.settings) == {"eta": 1.0, "lam": 1.0, "feature_mode": 0, "orientation": 0}
    (fit, _) = study.fits(contender(study, "SOGFS"), DIGITS)
    assert dict(fit.settings)["n_clusters"] == 10
    assert dict(fit.settings)["n_neighbors"] == 5
    (fit, _) = study.fits(contender(study, "SPCAFS, components: classes"), DIGITS)
    assert dict(fit.settings)["n_components"] == 10
    (fit, _) = study.fits(contender(study, "RNE"), ORBIT)
    assert dict(fit.settings)["n_components"] == 3
    (fit,) = study.fits(contender(study, "RNE, released program"), DIGITS)
    assert dict(fit.settings)["variant"] == "released"


def test_sets_that_are_not_at_hand_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TENSIFT_DATA", str(tmp_path))
    monkeypatch.setenv("TENSIFT_CACHE", str(tmp_path))
    load_set.cache_clear()
    study = Study.of_the_paper()
    load_set.cache_clear()
    assert study.sets == ()
    assert set(study.missing) == {one.name for one in PAPER_SETS}
    assert "TENSIFT_DATA" in study.missing["JAFFE"]
    assert study.pick("JAFFE", "USPS") == []
    assert list(study.absent("JAFFE", "UMCS")) == ["JAFFE", "UMCS"]
    with pytest.raises(ValueError, match="unknown dataset 'MNIST'; known: PIE"):
        Study.of_the_paper(["MNIST"])


def test_stand_ins_are_of_the_kinds_asked_for():
    study = Study.quick()
    assert study.pick("JAFFE") == [DIGITS]
    assert study.pick("JAFFE", "USPS", "PIE") == [DIGITS, ARRAY]
    assert study.pick("ASCH") == [ORBIT]
    assert study.pick("JAFFE", "ASCH", "UCIDSA") == [DIGITS, ORBIT]


@pytest.mark.parametrize(
    "one", [one for one in PAPER_SETS if one.name != "UMCS"], ids=lambda one: one.name
)
def test_files_have_the_papers_sizes(paper_dataset, one):
    dataset = paper_dataset(one.file or one.name)
    shape, samples, classes = one.printed
    assert dataset.feature_shape == shape
    assert len(dataset.data) == samples
    assert len(np.unique(dataset.labels)) == classes
    assert (dataset.feature_mode is not None) == one.by_mode


# What a method came to


@pytest.fixture(scope="module")
def quick():
    """A study of four methods on stand-ins, with its results."""
    study = Study.quick(
        methods=("STPCASelector", "NDFS", "RandomSelector", "AllFeatures"), cells=6, seeds=2
    )
    store = CellStore()
    report = run_experiment(METRICS, study, store)
    return study, Results(store), report


def test_best_values_curves_and_means_agree_with_loops(quick):
    study, results, _ = quick
    for label in ("STPCA-MP", "NDFS"):
        one = contender(study, label)
        fits = study.fits(one, DIGITS)
        outcomes = Outcomes(one, DIGITS, fits, results)
        seeds = sorted({fit.seed for fit in fits})
        by_seed = [
            max(max(results[fit]["acc"]) for fit in fits if fit.seed == seed) for seed in seeds
        ]
        best = outcomes.best("acc")
        assert best.value == pytest.approx(np.mean(by_seed), abs=1e-15)
        place = best.fit.counts.index(best.count)
        assert results[best.fit]["acc"][place] == max(by_seed) == outcomes.luckiest("acc")
        assert best.spread == results[best.fit]["acc_std"][place]
        assert (best.over_seeds is None) == (len(seeds) == 1)
        curve = outcomes.curve("acc")
        assert list(curve) == list(DIGITS.counts)
        for place, count in enumerate(DIGITS.counts):
            tops = [
                max(results[fit]["acc"][place] for fit in fits if fit.seed == seed)
                for seed in seeds
            ]
            assert curve[count] == pytest.approx(np.mean(tops), abs=1e-15)
        seconds = [results[fit]["seconds"] for fit in fits]
        assert outcomes.mean_seconds == pytest.approx(np.mean(seconds))


def test_the_table_has_every_method_set_and_metric(quick):
    study, results, report = quick
    rows = report.tables[""].rows
    found = {(row["data"], row["method"], row["metric"]) for row in rows}
    for data in (DIGITS, ARRAY):
        for method in ("STPCA-MP", "NDFS", "random selection", "random, best of 3", "All Features"):
            for metric in ("acc", "nmi", "silhouette"):
                assert (data.name, method, metric) in found
    assert ("Generated Orbit", "STPCA-MP", "poc") in found
    assert ("Generated Orbit", "All Features", "poc") not in found
    orbit = next(row for row in rows if row["data"] == ORBIT.name and row["method"] == "NDFS")
    fits = study.fits(contender(study, "NDFS"), ORBIT)
    assert orbit["ours"] == pytest.approx(100 * np.mean([results[fit]["poc"] for fit in fits]))


def test_chance_is_reported_by_its_mean_and_its_best_draw(quick):
    study, results, report = quick
    rows = {
        row["method"]: row["ours"]
        for row in report.tables[""].rows
        if row["data"] == "Digits" and row["metric"] == "acc"
    }
    fits = study.fits(contender(study, "random selection"), DIGITS)
    draws = [100 * max(results[fit]["acc"]) for fit in fits]
    assert len(draws) == 3
    assert rows["random selection"] == pytest.approx(np.mean(draws))
    assert rows["random, best of 3"] == pytest.approx(max(draws))


# What the paper prints


@pytest.mark.parametrize("name", REAL_SETS)
def test_printed_metrics_are_in_the_paper(name):
    """Each number stands in the row of its method."""
    if not PAPER.is_file():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    table = text[text.index(r"\textbf{Method} &\multicolumn") :]
    table = table[: table.index(r"\end{tabular}")]
    blocks = re.split(r"\\hline", table)
    for method in ("RNE", "SOGFS", "SPCAFS", "NLGMS", "CPUFS", "CPUFSnn", "MSPCA", "STPCA-MP"):
        (block,) = [b for b in blocks if re.search(rf"\b{method}(\\cite|\}}|\\textbf|\s)", b)][:1]
        for metric, value in printed_metrics(method, name).items():
            shown = value if metric in ("silhouette", "seconds") else 100 * value
            digits = 4 if metric == "silhouette" else 2
            spellings = {f"{shown:.{digits}f}", f"{shown:g}"}
            assert any(re.search(rf"(?<![\d.]){re.escape(s)}(?!\d)", block) for s in spellings), (
                method,
                metric,
                shown,
            )


def test_printed_orientations_are_in_the_paper():
    if not PAPER.is_file():
        pytest.skip(f"the paper's text is not at {PAPER}")
    text = PAPER.read_text(encoding="utf-8")
    names = {"identity": "I", "dft": "DFT", "eigen": "EigVector"}
    for orientation, (transform, short) in product((0, 1), names.items()):
        line = re.search(rf"Dir{orientation + 1}-{short}\s+& ACC.*", text).group()
        numbers = [float(number) for number in re.findall(r"\d+\.?\d*", line.split("ACC")[1])]
        sets = ("JAFFE", "BreastMNIST", "USPS", "PIE", "UCIDSA", "UMCS")
        ours = [100 * printed_orientations(orientation, transform, name) for name in sets]
        assert ours == pytest.approx(numbers)


def test_nothing_is_printed_for_methods_and_sets_the_paper_has_not():
    assert printed_metrics("NDFS", "JAFFE") == {}
    assert printed_metrics("STPCA-MP", "Digits") == {}
    assert printed_metrics("All Features", "ASCH") == {}
    assert printed_orientations(0, "random", "JAFFE") is None
    assert printed_orientations(0, "dft", "COIL20") is None
