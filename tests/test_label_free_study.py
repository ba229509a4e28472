"""The study of selections without labels: labels only judge, and its numbers are what they say."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from tensift.datasets import load_digits

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def study():
    """The modules of the study by name."""
    sys.path.insert(0, str(ROOT))
    try:
        yield lambda name: importlib.import_module(f"benchmarks.label_free.{name}")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture
def with_labels(study, monkeypatch):
    """Puts a few digits with given labels in the place of every set."""
    subjects, cells = study("_subjects"), study("_cells")

    def put(labels):
        data = load_digits().data[: len(labels)]
        samples = subjects.Samples(data, None, int(labels.max()) + 1, (4, 8))
        monkeypatch.setattr(cells, "load_subject", lambda name: (samples, labels))

    return put


def test_permuted_labels_change_no_selection_but_change_judgements(study, with_labels):
    cells, contestants = study("_cells"), study("_contestants")
    labels = np.asarray(load_digits().labels[:90])
    permuted = np.random.default_rng(0).permutation(labels)
    tried = contestants.contestants()
    choices = [cells.Choice("digits", one) for one in tried]
    choices += [cells.Grid("digits", 0), cells.Suggested("digits")]
    judgement = cells.Judgement("digits", (10, 20, 30, 42))
    seen = []
    for some in (labels, permuted):
        with_labels(some)
        with threadpool_limits(limits=1):
            results = [cell.compute() for cell in choices]
        assert not any("error" in result for result in results)
        for result in results:
            result.pop("seconds", None)
        seen.append((results, [cell.key for cell in choices]))
        seen[-1] += (judgement.compute()["acc"], judgement.key)
    assert seen[0][0] == seen[1][0]
    assert seen[0][1] == seen[1][1]
    assert seen[0][2] != seen[1][2]
    assert seen[0][3] != seen[1][3]


def test_every_selector_takes_part_under_a_name_of_its_own(study, monkeypatch):
    from tensift.rivals import list_selectors

    contestants = study("_contestants")
    quick = contestants.contestants()
    monkeypatch.setenv("LABEL_FREE_SLOW", "1")
    found = contestants.contestants()
    labels = [one.label for one in found]
    assert len(set(labels)) == len(labels)
    methods = {one.method for one in (*found, contestants.random_contestant())}
    assert methods == {info.name for info in list_selectors()}
    assert {one.method for one in found} - {one.method for one in quick} == set(contestants.SLOW)
    rules = {one.selection for one in found if one.method == "STPCASelector"}
    assert rules == {"", "top", "reconstruct"}
    assert contestants.STPCASelector().selection == "geometry"


def test_sets_are_described_and_packaged_ones_may_be_missing(study, monkeypatch, capsys):
    subjects, packaged = study("_subjects"), study("_packaged")
    origins = [one.origin for one in subjects.SUBJECTS.values()]
    assert origins.count(subjects.AT_HAND) == 12
    assert origins.count(subjects.PACKAGED) >= 6
    samples, labels = subjects.load_subject("Wine")  # scikit-learn is always there
    assert samples.data.shape == (178, 13)
    assert samples.n_classes == len(set(labels)) == 3

    def missing():
        return packaged._module("package_that_nobody_has.data")

    unknown = subjects.Subject("unknown", missing, subjects.IMAGES, subjects.PACKAGED)
    monkeypatch.setitem(subjects.SUBJECTS, "unknown", unknown)
    assert subjects.load_subject("unknown") is None
    told = capsys.readouterr().err
    assert "unknown is skipped: package_that_nobody_has is not installed" in told
    with pytest.raises(packaged.NotInstalled, match="not installed"):
        packaged._file("package-that-nobody-has", "data.txt")


def test_readers_of_packaged_sets_change_no_values(study):
    packaged = study("_packaged")
    pixels = np.array([[10, 32, 7], [255, 0, 13]], np.uint8)  # 10, 13 and 32 are white space
    picture = b"P5\n3 2\n255\n" + pixels.tobytes()
    np.testing.assert_array_equal(packaged._grey_picture(picture), pixels)
    with pytest.raises(ValueError, match="P5"):
        packaged._grey_picture(b"P2 3 2 255 1 2 3 4 5 6")
    rows = np.arange(2 * 1025.0).reshape(2, 1025)
    short = packaged._shortened(rows)
    assert short.shape == (2, 341)
    assert short[1, 0] == rows[1, :3].mean()
    channels = np.arange(6.0).reshape(2, 3)
    assert packaged._of_length(channels, 2).tolist() == [[0, 1], [3, 4]]
    assert packaged._of_length(channels, 5)[1].tolist() == [3, 4, 5, 5, 5]
    data, labels = packaged._large_classes(np.arange(5), np.array([1, 1, 2, 1, 2]), least=3)
    assert data.tolist() == [0, 1, 3]
    assert labels.tolist() == [1, 1, 1]


def test_disturbances_do_what_they_say(study):
    disturbed = study("_disturbed").disturbed
    rng = np.random.default_rng(0)
    pictures = 1 + rng.random((50, 12, 9))
    before = pictures.copy()
    shaded = disturbed(pictures, "shadow") / pictures
    np.testing.assert_allclose(shaded.min(axis=(1, 2)), 0.2)
    np.testing.assert_allclose(shaded.max(axis=(1, 2)), 1)
    hidden = disturbed(pictures, "occlusion") != pictures
    assert set(hidden.sum(axis=(1, 2))) <= {15, 16}  # the darkest pixel itself may be hidden
    gains = disturbed(pictures, "gains") / pictures
    np.testing.assert_allclose(gains, gains[:, :1, :1] * np.ones((12, 9)))
    assert np.std(np.log(gains[:, 0, 0])) == pytest.approx(0.5, rel=0.25)
    noisy = disturbed(pictures, "noise")
    np.testing.assert_array_equal(noisy[:, :12], pictures)
    assert noisy.shape == (50, 15, 9)
    assert np.std(noisy[:, 12:]) == pytest.approx(np.median(pictures.std(axis=0)), rel=0.1)
    np.testing.assert_array_equal(pictures, before)


def test_classifiers_are_judged_on_samples_they_were_not_made_on(study):
    classify = study("_classify")
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    noise = rng.normal(size=(300, 50))
    # Without structure, both are right as often as chance, although they could learn by heart.
    assert classify.linear_accuracy(noise, labels) == pytest.approx(1 / 3, abs=0.1)
    assert classify.nearest_neighbour_accuracy(noise, labels) == pytest.approx(1 / 3, abs=0.1)
    clear = noise + 30 * np.eye(3)[labels] @ rng.normal(size=(3, 50))
    assert classify.linear_accuracy(clear, labels) == 1
    assert classify.nearest_neighbour_accuracy(clear, labels) == 1
    rows, line = np.array([[0.0], [1.0], [2.5], [7.0]]), np.array([0, 0, 1, 1])
    assert classify.nearest_neighbour_accuracy(rows, line) == 0.75  # 2.5 is nearest to 1


def test_planted_structure_is_where_it_is_said_to_be(study, monkeypatch):
    planted = study("_planted")
    samples, carriers = planted.make("three groups", 0)
    variance = samples.var(axis=0)
    others = np.setdiff1d(np.arange(100), carriers)
    assert len(set(carriers)) == 12
    assert np.median(variance[carriers]) > 2 > variance[others].max()
    samples, carriers = planted.make("one strong factor", 0)
    share = np.linalg.svd(samples - samples.mean(axis=0), compute_uv=False) ** 2
    assert share[0] > 20 * share[1]
    assert len(carriers) == 100
    monkeypatch.setattr(planted, "DRAWS", 2)
    rows = planted.planted().rows
    assert [row["data"] for row in rows] == list(planted.KINDS)
    assert rows[0]["kept features that carry structure"] is None
    assert rows[1]["kept features that carry structure"] == "100%"  # there are no others


def test_tried_counts_have_equal_ratios(study):
    eight = study("_cells").eight_counts
    assert eight(1024) == [10, 16, 26, 43, 70, 114, 185, 300]
    assert eight(6) == [1, 2, 3, 4, 5, 6]
    assert all(eight(n)[-1] == min(n, 300) for n in (2, 9, 64, 301))


def test_keys_change_with_parameters_and_with_code_but_not_with_words(study, with_labels, tmp_path):
    cells, contestants = study("_cells"), study("_contestants")
    sources = study("_sources")
    with_labels(np.arange(60) % 3)
    plain = contestants.Contestant("a", "STPCASelector", "top", (("lam", 1.0),))
    same = contestants.Contestant("b", "STPCASelector", "top", (("lam", 1.0), ("eta", "auto")))
    other = contestants.Contestant("a", "STPCASelector", "top", (("lam", 2.0),))
    keys = [cells.Choice("digits", one).key for one in (plain, same, other)]
    assert keys[0] == keys[1] != keys[2]

    codes = []
    texts = (
        "def f():\n    return 1\n",
        '"""Says."""\ndef f():\n    """Says."""\n    return 1  # so\n',
    )
    for number, text in enumerate((*texts, "def f():\n    return 2\n")):
        (tmp_path / f"of_study_{number}.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    try:
        codes = [sources._code(f"of_study_{number}") for number in range(3)]
    finally:
        sys.path.remove(str(tmp_path))
    assert codes[0] == codes[1] != codes[2]


def test_fingerprint_follows_a_method_to_what_it_is_made_of_and_no_further(study):
    from tensift.rivals import MCFS, LaplacianScore

    behind = study("_sources").modules_behind(LaplacianScore)
    assert {"tensift.selection._base", "tensift.graphs._heat_kernel"} <= behind
    assert MCFS.__module__ not in behind


def test_standard_errors_and_intervals_are_those_of_known_samples(study):
    outcomes = study("_outcomes")
    rng = np.random.default_rng(0)
    seeds, draws, sets = 20, 20, 30
    gains = rng.normal(3.0, 2.0, sets)
    found = []
    for number, gain in enumerate(gains):
        own = rng.normal(50 + gain, 1.0, (3, seeds))
        drawn = 50 + rng.normal(0, 1.0, (draws, 1, 1)) + rng.normal(0, 1.0, (draws, 3, seeds))
        found.append(outcomes.SetOutcome(f"set {number}", {"a": own, "b": own - 1}, drawn, {}))
    errors = [one.level("a").error for one in found]
    assert np.mean(errors) == pytest.approx(1 / np.sqrt(3 * seeds), rel=0.1)
    of_random = [one.random.error for one in found]
    assert np.mean(of_random) == pytest.approx(1 / np.sqrt(draws), rel=0.2)
    # Paired: what is common to both cancels.
    difference = found[0].level("a") - found[0].level("b")
    assert difference.value == pytest.approx(1)
    assert difference.error == pytest.approx(0, abs=1e-9)
    mean = outcomes.mean_over_sets([one.gain("a") for one in found])
    assert mean.error == pytest.approx(
        np.std([one.gain("a").value for one in found]) / sets**0.5, rel=0.15
    )
    low, high = mean.interval
    assert high - low == pytest.approx(2 * 1.96 * mean.error, rel=0.1)


def test_recovered_is_the_share_of_the_best_setting_of_the_grid(study):
    outcomes = study("_outcomes")
    flat = np.ones((2, 20))
    grid = {(1, 1, 0): 60 * flat, (10, 1, 1): 70 * flat}
    one = outcomes.SetOutcome("s", {"a": 65 * flat}, np.full((20, 2, 20), 50.0), grid)
    assert one.tuned == (10, 1, 1)
    assert one.recovered("a").value == pytest.approx(0.75)
    nothing = {(1, 1, 0): 50 * flat}
    one = outcomes.SetOutcome("s", {"a": 65 * flat}, np.full((20, 2, 20), 50.0), nothing)
    assert one.recovered("a") is None


def test_page_takes_the_tables_between_its_markers(study):
    fill, table = study("_page").fill, importlib.import_module("benchmarks._results").Table
    text = "a\n<!-- label_free:main -->\nold\n<!-- end of label_free:main -->\nb\n"
    tables = {"": table("Title", [{"x": 1, "y": None}], notes=["so"])}
    filled = fill(text, tables)
    assert "| 1 | – |" in filled
    assert "- so" in filled
    assert "old" not in filled
    assert "Title" not in filled
    assert fill(filled, tables) == filled
    with pytest.raises(KeyError, match="nmi"):
        fill(text.replace("main", "nmi"), tables)


def check_judge(tables, store, cells):
    """The rank correlation of neighbours kept with accuracy, by hand from the stored results."""
    from tensift.metrics import neighbours_kept

    data = load_digits().data[:90]
    chosen = {}
    for features in {
        tuple(sorted(row))
        for key, result in store._results.items()
        if key.startswith(("choice", "grid"))
        for rows in result["features"]
        for row in (rows if isinstance(rows[0], list) else [rows])
    }:
        level = np.mean(store[cells.Judgement("digits", features).key]["acc"])
        chosen.setdefault(len(features), []).append((neighbours_kept(data, features), level))
    expected = []
    for pairs in (chosen[4], chosen[8]):
        ranks = [
            [np.sum(v < one) + (np.sum(v == one) + 1) / 2 for one in v]
            for v in map(np.array, zip(*pairs, strict=True))
        ]
        expected.append(np.corrcoef(*ranks)[0, 1])
    row = next(r for r in tables["_judge_at_hand_acc"].rows if r["measure"] == "neighbours kept")
    assert float(row["digits"]) == pytest.approx(np.mean(expected), abs=0.0051)
    assert row["mean"] == row["digits"]
    choices = tables["_judge_choice_at_hand_acc"].rows
    best = next(r for r in choices if r["measure"] == "labels themselves")
    most = np.mean([max(v for _, v in p) - np.mean([v for _, v in p]) for p in chosen.values()])
    assert float(best["digits"]) == pytest.approx(most, abs=0.051)
    assert all(float(r["digits"]) <= float(best["digits"]) for r in choices)
    ours = next(r for r in tables["_values"].rows if r["contestant"] == "VarianceSelector, top")
    assert 0 < ours["neighbours kept"] < 1


def test_criteria_count_in_the_right_direction(study):
    judge = study("_judge")
    levels = np.array([10.0, 20.0, 30.0, 40.0])
    measured = {
        "neighbours kept": [0.1, 0.2, 0.3, 0.4],
        "neighbours agree": [0.4, 0.5, 0.7, 0.6],
        "alignment": [0.4, 0.5, 0.7, 0.6],
        "missed": [0.9, 0.5, 0.4, 0.1],
        "redundancy": [0.1, 0.2, 0.3, 0.4],
    }
    found = judge.criteria(measured)
    values = {name: judge.correlation(one, levels) for name, one in found.items()}
    assert values == pytest.approx(
        {
            "neighbours kept": 1, "neighbours agree": 0.8, "alignment": 0.8, "missed": 1,
            "redundancy": -1, judge.BOTH: 0.9487,
        },
        abs=1e-4,
    )  # fmt: skip
    assert judge.favourite(found["alignment"], levels) == 5
    assert judge.favourite(found["missed"], levels) == 15
    # Both rank the last two 1 and 2: the mean of the two.
    assert judge.favourite(found[judge.BOTH], levels) == 10
    assert np.isnan(judge.correlation(np.ones(4), levels))
    assert np.isnan(judge.favourite(np.array([1, np.nan, 2, 3]), levels))


def check_suggested(tables, store, cells):
    """The suggested count and the best of the tried ones, by hand from the stored results."""
    from tensift import GeometrySelector

    result = store[cells.Suggested("digits").key]
    data = load_digits().data[:90]
    assert result["count"] == GeometrySelector("auto").fit(data).n_features_

    def level(count):
        features = tuple(sorted(result["order"][:count]))
        return np.mean(store[cells.Judgement("digits", features).key]["acc"])

    best = max(map(level, cells.eight_counts(64)))
    row = tables["_auto"].rows[0]
    assert float(row["accuracy"]) == pytest.approx(level(result["count"]), abs=0.051)
    assert float(row["difference"]) == pytest.approx(level(result["count"]) - best, abs=0.051)
    close = "1 of 1" if best - level(result["count"]) <= 2 else "0 of 1"
    assert tables["_auto_summary"].rows[0]["within 2 points"] == close


def check_explained(tables, store, cells, contestants):
    """What is explained of samples left out, by hand: of variance and of random features."""
    from tensift.metrics import reconstruction_error

    data = load_digits().data[:90]

    def explained(contestant, seed=0):
        chosen = store[cells.Choice("digits", contestant, seed).key]["features"]
        missed = [reconstruction_error(data, one, n_folds=2) for one in chosen]
        return 100 * (1 - np.mean(missed))

    values = {r["contestant"]: r for r in tables["_values"].rows if r["metric"] == "r2"}
    variance = next(one for one in contestants.contestants() if one.method == "VarianceSelector")
    row = values[variance.label]
    random = contestants.random_contestant()
    assert row["level"] == pytest.approx(explained(variance))
    assert row["random"] == pytest.approx(np.mean([explained(random, seed) for seed in range(3)]))


def test_small_study_fills_the_page_and_is_not_computed_twice(
    study, with_labels, monkeypatch, tmp_path
):
    from tensift._utils.cells import CellStore

    whole, cells, tables = study("_study"), study("_cells"), study("_tables")
    labels = np.asarray(load_digits().labels[:90])
    with_labels(labels)
    monkeypatch.setattr(tables, "load_subject", cells.load_subject)
    monkeypatch.setattr(whole, "load_subject", cells.load_subject)
    monkeypatch.setattr(study("_suggested"), "load_subject", cells.load_subject)
    monkeypatch.setattr(cells, "SEEDS", (0, 1, 2))
    monkeypatch.setattr(whole, "SEEDS", (0, 1, 2))
    monkeypatch.setattr(whole, "DRAWS", 3)
    wanted = ("STPCASelector", "GeometrySelector", "VarianceSelector", "MCFS")
    chosen = [one for one in whole.contestants() if one.method in wanted]
    monkeypatch.setattr(whole, "contestants", lambda: chosen)
    store = CellStore()
    first = whole.make_tables(whole.Study(store, ["digits"], n_jobs=1))
    assert not first[""].failures
    assert {row["contestant"] for row in first[""].rows} == {one.label for one in chosen}
    page = (ROOT / "docs" / "label_free.md").read_text(encoding="utf-8")
    marked = set(re.findall(r"<!-- label_free:(\w+) -->", page))
    marked -= {"main", "picture", "planted", "cost"}
    of_other_sets = {name for name in marked if "packaged" in name or "disturbed" in name}
    assert {f"_{name}" for name in marked - of_other_sets} <= first.keys()
    at_hand = {re.sub("packaged|disturbed", "at_hand", name) for name in of_other_sets}
    assert {f"_{name}" for name in at_hand} <= first.keys()

    monkeypatch.setattr(whole, "compute", lambda cell: pytest.fail(f"{cell} computed again"))
    second = whole.make_tables(whole.Study(store, ["digits"], n_jobs=1))
    assert second[""].markdown() == first[""].markdown()

    # The best of the grid by hand: largest mean over counts and seeds.
    grid = cells.Grid("digits", 0)
    levels = {}
    for setting, rows in zip(grid.settings, store[grid.key]["features"], strict=True):
        judged = [store[cells.Judgement("digits", tuple(sorted(row))).key]["acc"] for row in rows]
        levels[setting] = np.mean(judged)
    shown = float(first["_tuning_acc"].rows[0]["best by labels"].split()[0])
    assert shown >= round(max(levels.values()), 1)

    check_judge(first, store, cells)
    check_suggested(first, store, cells)
    check_explained(first, store, cells, study("_contestants"))

    pytest.importorskip("matplotlib", reason="the figure needs it")
    picture = tmp_path / "figure.png"
    study("_figure").draw(first["_values"].rows, picture)
    assert picture.read_bytes()[:4] == b"\x89PNG"
