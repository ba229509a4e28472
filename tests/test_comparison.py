"""Comparing selectors: numbers against the library's parts, and labels that change nothing."""

import contextlib
import math
import subprocess
import sys

import numpy as np
import pytest

from tensift import STPCASelector
from tensift.comparison import SelectorComparison, _limit, _tasks, compare_selectors
from tensift.metrics import (
    StabilityEstimate,
    evaluate_selection,
    neighbour_agreement,
    neighbours_kept,
    redundancy,
    selection_agreement,
    selection_stability,
)
from tensift.metrics._reconstruction import Reconstruction
from tensift.rivals import (
    AllFeatures,
    LaplacianScore,
    RandomSelector,
    VarianceSelector,
    list_selectors,
)

RNG = np.random.default_rng(5)
LABELS = np.arange(40) % 4
X = RNG.normal(size=(40, 4, 5)) @ RNG.normal(size=(5, 5)) + 3 * RNG.normal(size=(4, 4, 5))[LABELS]
QUICK = {"n_resamples": 3, "n_seeds": 2, "n_repeats": 2}
MEASURED = ("seconds", "seconds_std", "memory_bytes")


def compare(data=X, selectors=("stpca", "ndfs"), count=6, **settings):
    return compare_selectors(data, selectors, count, **{**QUICK, **settings})


def test_rivals_are_loaded_by_the_first_comparison_only():
    lines = [
        "import sys, tensift",
        "tensift.compare_selectors, tensift.stability_selection",
        "assert 'tensift.comparison' in sys.modules",
        "print([name for name in sys.modules if name.startswith('tensift.rivals')])",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"


def same(first, second, but=()):
    """Rows, features, scores and agreement are equal, but for what a clock has measured."""
    assert first.methods == second.methods
    for one, other in zip(first.to_rows(), second.to_rows(), strict=True):
        left_out = {*MEASURED, *but}
        assert {k: v for k, v in one.items() if k not in left_out} == {
            k: v for k, v in other.items() if k not in left_out
        }
    for name in first.features:
        np.testing.assert_array_equal(first.features[name], second.features[name])
        np.testing.assert_array_equal(first.scores[name], second.scores[name])
    np.testing.assert_array_equal(first.agreement, second.agreement)


def test_what_is_kept_is_what_the_selector_keeps():
    found = compare(selectors=["stpca", "laplacianscore"], n_neighbors=3)
    for name, selector in {
        "STPCASelector": STPCASelector(6),
        "LaplacianScore": LaplacianScore(6, n_neighbors=3),
        "VarianceSelector": VarianceSelector(6),
        "RandomSelector": RandomSelector(6, random_state=0),
    }.items():
        selector.fit(X)
        np.testing.assert_array_equal(found.features[name], selector.order_[:6])
        np.testing.assert_array_equal(found.scores[name], selector.scores_)
        np.testing.assert_array_equal(found.orders[name], selector.order_)
        assert found.rules[name] == selector.selection
    assert list(found.features) == list(found.methods)


@pytest.mark.parametrize("feature_mode", [None, 1])
def test_measures_are_those_of_half_samples(feature_mode):
    count = 6 if feature_mode is None else 2
    found = compare(selectors=["stpca"], count=count, feature_mode=feature_mode, random_state=7)
    row = found.to_rows()[0]
    missed, repeated, masks, chance = [], [], [], []
    alike = {"neighbours_kept": [], "neighbour_agreement": []}
    for place in range(3):
        order = np.random.default_rng([7, place]).permutation(40)
        first, second = np.sort(order[:20]), np.sort(order[20:])
        selector = STPCASelector(count, feature_mode=feature_mode).fit(X[first])
        drawn = RandomSelector(count, feature_mode=feature_mode, random_state=7 + place)
        errors = []
        pair = {"neighbours_kept": [], "neighbour_agreement": []}
        for mask in (selector.get_support(), drawn.fit(X[first]).get_support()):
            kept = Reconstruction(X, np.flatnonzero(mask), feature_mode)
            wrong, total = kept.missed(first, second)
            errors.append(wrong / total)
            options = {"feature_mode": feature_mode}
            # A quarter of 20 samples.
            near = neighbours_kept(X[second], mask, n_neighbors=5, **options)
            pair["neighbours_kept"].append(near)
            pair["neighbour_agreement"].append(neighbour_agreement(X[second], mask, **options))
        for measure, values in pair.items():
            alike[measure].append(values)
        missed.append(errors[0])
        chance.append(errors[1])
        masks.append(selector.get_support())
        repeated.append(redundancy(X[second], masks[-1], feature_mode=feature_mode))
    stability = selection_stability(np.array(masks))
    expected = {
        "n_features": count,
        "reconstruction_error": np.mean(missed),
        "reconstruction_error_std": np.std(missed),
        "better_than_random": np.mean([ours > drawn for v in alike.values() for ours, drawn in v]),
        "neighbours_kept": np.mean(alike["neighbours_kept"], axis=0)[0],
        "neighbours_kept_std": np.std(alike["neighbours_kept"], axis=0)[0],
        "neighbour_agreement": np.mean(alike["neighbour_agreement"], axis=0)[0],
        "neighbour_agreement_std": np.std(alike["neighbour_agreement"], axis=0)[0],
        "redundancy": np.mean(repeated),
        "redundancy_std": np.std(repeated),
        "stability": stability.value,
        "stability_low": stability.low,
        "stability_high": stability.high,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(row[name], value, err_msg=name)
    shares = np.mean(masks, axis=0).reshape(found.scores["STPCASelector"].shape)
    np.testing.assert_array_equal(found.probabilities["STPCASelector"], shares)
    random_row = next(row for row in found.to_rows() if row["method"] == "RandomSelector")
    np.testing.assert_allclose(random_row["reconstruction_error"], np.mean(chance))


def test_labels_judge_and_do_nothing_else():
    """No labels, the right ones and shuffled ones: all but the labels' own metrics are equal."""
    unlabelled = compare()
    labelled = compare(labels=LABELS)
    shuffled = compare(labels=RNG.permutation(LABELS).astype(str))
    metrics = ("acc", "nmi", "silhouette", "poc")
    of_labels = [*metrics, *(f"{metric}_std" for metric in metrics)]
    same(labelled, shuffled, but=of_labels)
    assert not set(of_labels) & set(unlabelled.to_rows()[0])
    for with_labels in (labelled, shuffled):
        for one, other in zip(unlabelled.to_rows(), with_labels.to_rows(), strict=True):
            assert set(other) - set(one) == set(of_labels)
            for name in set(one) - set(MEASURED):
                assert one[name] == other[name]
    # They are used where they should be.
    assert [r["acc"] for r in labelled.to_rows()] != [r["acc"] for r in shuffled.to_rows()]


def test_no_selector_is_given_labels_or_their_number(monkeypatch):
    seen = []

    class Spy(VarianceSelector):
        def fit(self, X, y=None, **more):
            seen.append((y, more))
            return super().fit(X)

    found = compare(selectors=[Spy(), "ndfs"], labels=LABELS)
    assert "Spy" in found.features
    assert seen
    assert all(entry == (None, {}) for entry in seen)
    assert found.notes == ("n_clusters was not given; methods used their defaults: NDFS 5.",)
    given = compare(selectors=["ndfs"], n_clusters=4)
    assert given.notes == ()
    expected = next(i for i in list_selectors() if i.name == "NDFS")
    expected = expected.make(6, n_clusters=4, n_neighbors=5, random_state=0).fit(X)
    np.testing.assert_array_equal(given.features["NDFS"], expected.order_[:6])


def test_metrics_of_labels_are_the_protocols():
    found = compare(selectors=["stpca"], labels=LABELS)
    for name, n_seeds in (("STPCASelector", 1), ("RandomSelector", 3)):
        scored = []
        for seed in range(n_seeds):
            kept = found.features[name]
            if name == "RandomSelector":
                kept = RandomSelector(6, random_state=seed).fit(X).order_[:6]
            scored.append(
                evaluate_selection(
                    X,
                    LABELS,
                    kept,
                    counts=[6],
                    n_repeats=2,
                    random_state=0,
                    metrics=["acc", "nmi", "silhouette", "poc"],
                )
            )
        row = next(row for row in found.to_rows() if row["method"] == name)
        for metric in ("acc", "nmi", "silhouette", "poc"):
            means = [one.means[metric][0] for one in scored]
            np.testing.assert_allclose(row[metric], np.mean(means))
            if metric in ("acc", "nmi"):
                inside = np.mean([one.stds[metric][0] ** 2 for one in scored])
                expected = math.sqrt(inside + np.var(means))
                np.testing.assert_allclose(row[f"{metric}_std"], expected, atol=1e-12)


def test_agreement_is_over_seeds():
    found = compare(selectors=["stpca"])
    draws = [RandomSelector(6, random_state=s).fit(X).order_[:6] for s in range(3)]
    ours, chance = found.methods.index("STPCASelector"), found.methods.index("RandomSelector")
    kept = found.features["STPCASelector"]
    expected = np.mean([selection_agreement(kept, draw, 20) for draw in draws])
    np.testing.assert_allclose(found.agreement[ours, chance], expected)
    np.testing.assert_allclose(found.agreement, found.agreement.T)
    assert found.agreement[ours, ours] == 1
    pairs = [selection_agreement(draws[i], draws[j], 20) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(found.agreement[chance, chance], np.mean(pairs))


def test_baselines_are_always_there():
    assert compare(selectors=["stpca"]).methods[-2:] == ("VarianceSelector", "RandomSelector")
    assert compare(selectors=["random", "stpca"]).methods == (
        "RandomSelector", "STPCASelector", "VarianceSelector",
    )  # fmt: skip
    default = compare(selectors=None)
    assert default.methods == (
        "STPCASelector", "GeometrySelector", "PivotedCholeskySelector", "QRSensorSelector",
        "LaplacianScore", "VarianceSelector", "RandomSelector",
    )  # fmt: skip


def test_all_of_the_registry():
    found = compare(selectors="ALL", n_resamples=2, n_seeds=1)
    assert set(found.methods) == {info.name for info in list_selectors()}
    everything = next(row for row in found.to_rows() if row["method"] == "AllFeatures")
    assert everything["n_features"] == 20
    assert everything["reconstruction_error"] == 0
    assert everything["stability"] is None
    assert not found.failures
    assert everything["rank"] is None
    assert "AllFeatures" not in found.conclusions()[0]


@pytest.mark.parametrize("name", ["STPCASelector", "stpca", "STPCA-MP", "stpca_mp", "Stpca mp"])
def test_names_in_any_spelling(name):
    assert compare(selectors=[name]).methods[0] == "STPCASelector"


def test_estimators_under_names():
    found = compare(
        selectors={
            "weak": STPCASelector(3, lam=0.01, eta=0.01),
            "strong": STPCASelector(9, lam=100, eta=100, feature_mode=1),
            "ours": "stpca",
        },
        lam=1.0,
        eta=1.0,
    )
    for name, lam in (("weak", 0.01), ("strong", 100), ("ours", 1.0)):
        expected = STPCASelector(6, lam=lam, eta=lam).fit(X)
        np.testing.assert_array_equal(found.features[name], expected.order_[:6])


def test_seeds_that_were_given_are_kept():
    found = compare(selectors={"fixed": RandomSelector(6, random_state=99)})
    expected = RandomSelector(6, random_state=99).fit(X)
    np.testing.assert_array_equal(found.features["fixed"], expected.order_[:6])
    assert len(found.runs["seconds"]["fixed"]) == 1
    assert len(found.runs["seconds"]["RandomSelector"]) == 3


def test_a_share_of_the_features():
    assert compare(selectors=[], count=0.24).n_features_to_select == 5
    assert compare(selectors=[], count=0.6, feature_mode=-1).n_features_to_select == 3


def test_processes_do_not_change_results():
    same(compare(labels=LABELS), compare(labels=LABELS, n_jobs=2))


def test_selectors_that_fail_say_why():
    found = compare(X + 1j * X[::-1], selectors=["stpca", "mcfs"])
    assert list(found.failures) == ["MCFS"]
    assert "omplex" in found.failures["MCFS"]
    row = found.to_rows()[1]
    assert row["note"] == found.failures["MCFS"]
    assert row["reconstruction_error"] is None
    assert "MCFS" not in found.features
    assert np.isnan(found.agreement[1]).all()
    assert found.failures["MCFS"] in found.to_markdown()


def test_failures_on_some_half_samples():
    class Moody(VarianceSelector):
        def fit(self, X, y=None):
            if len(X) == 20 and X[0, 0, 0] < np.median(X_FIRST):
                raise ValueError("not today\nnor tomorrow")
            return super().fit(X)

    X_FIRST = X[:, 0, 0]
    found = compare(selectors=[Moody()], n_resamples=6)
    failed = np.isnan(found.runs["reconstruction_error"]["Moody"])
    assert 0 < failed.sum() < 6
    assert found.failures["Moody"] == (f"failed on {failed.sum()} of 6 half-samples: not today")
    plain = found.runs["reconstruction_error"]["VarianceSelector"]
    np.testing.assert_array_equal(
        found.runs["reconstruction_error"]["Moody"][~failed], plain[~failed]
    )


@pytest.mark.skipif(not _limit.can_limit(), reason="this system has no SIGPROF")
def test_fits_that_take_too_long_are_given_up():
    class Slow(VarianceSelector):
        def fit(self, X, y=None):
            while True:
                with contextlib.suppress(Exception):
                    sum(range(1000))

    found = compare(selectors=[Slow(), "stpca"], fit_limit=1)
    assert found.failures == {"Slow": "stopped after 1 s (fit_limit)"}
    assert "STPCASelector" in found.features


def test_memory_is_what_a_fit_allocates():
    class Greedy(VarianceSelector):
        def fit(self, X, y=None):
            for _ in range(3):
                np.ones(10**6)
            return super().fit(X)

    found = compare(selectors=[Greedy()])
    assert 8e6 <= found.memory["Greedy"] < 9e6
    assert found.memory["VarianceSelector"] < 1e6


def made_up(means, stability, spread=0.0):
    """A comparison with given means of neighbours kept, agreement and what is missed."""
    measures = ("neighbours_kept", "neighbour_agreement", "reconstruction_error")
    offsets = spread * np.array([-1.0, 0.0, 1.0])
    runs = {
        measure: {name: values[place] + offsets for name, values in means.items()}
        for place, measure in enumerate(measures)
    }
    return SelectorComparison(
        methods=tuple(means), n_features=20, n_features_to_select=4, feature_shape=(20,),
        feature_mode=None, features={name: np.arange(4) for name in means}, scores={}, runs=runs,
        stds={measure: dict.fromkeys(means, spread) for measure in measures},
        stability={
            name: StabilityEstimate(value, 0.0, value, value)
            for name, value in zip(means, stability, strict=True)
        },
        probabilities={}, agreement=np.eye(len(means)), memory={}, failures={}, notes=(),
        orders={name: np.arange(20) for name in means}, rules=dict.fromkeys(means, "top"),
    )  # fmt: skip


def test_neighbours_and_agreement_decide_and_every_first_is_named():
    means = {
        "A": (0.5, 0.7, 0.4),
        "B": (0.6, 0.5, 0.3),
        "VarianceSelector": (0.2, 0.8, 0.1),
        "RandomSelector": (0.1, 0.3, 0.5),
    }
    found = made_up(means, (0.5, 0.6, 0.9, 0.0))
    # By hand: A is second in both, B first and third, variance third and first, random last.
    assert found.ranks() == {"A": 2, "B": 2, "VarianceSelector": 2, "RandomSelector": 4}
    # A has the largest sum of both values, though it is first in nothing.
    assert found.conclusions()[0] == (
        "By neighbours kept and their agreement together, A is first but not clearly ahead of B "
        "and VarianceSelector; B keeps the most neighbours (0.600 ± 0.000); VarianceSelector has "
        "the features on which neighbours agree most (0.800 ± 0.000), misses the least "
        "variance (0.100 ± 0.000) and is the most stable (0.90)."
    )
    # Missing less does not help: a method that reconstructs perfectly stays where it was.
    better = made_up({**means, "B": (0.6, 0.5, 0.0)}, (0.5, 0.6, 0.9, 0.0))
    assert better.ranks() == found.ranks()
    assert "A is first" in better.conclusions()[0]
    assert found.share_better("A", "B") == 0.5
    assert found.share_better("A") == 1
    assert found.conclusions()[1:] == [
        "No method is clearly better than variance selection by these two measures.",
        "All methods are clearly better than random selection by these two measures.",
    ]


def test_a_clear_winner_and_many_close_ones():
    clear = made_up({"A": (0.9, 0.9, 0.1), "RandomSelector": (0.1, 0.1, 0.9)}, (0.9, 0.0))
    assert clear.conclusions()[0] == (
        "By neighbours kept and their agreement together, A is first: it keeps the most neighbours "
        "(0.900 ± 0.000), has the features on which neighbours agree most (0.900 ± 0.000), misses "
        "the least variance (0.100 ± 0.000) and is the most stable (0.90)."
    )
    means = {name: (0.5, 0.5 - place / 100, 0.5) for place, name in enumerate("ABCDE")}
    close = made_up(means, [0.5] * 5)
    assert "A is first but not clearly ahead of 4 others: it" in close.conclusions()[0]


def test_conclusions_name_what_is_no_better_than_chance():
    class Worst(VarianceSelector):
        def fit(self, X, y=None):
            super().fit(X)
            self._set_scores(-self.scores_, ties=self.scores_)
            return self

    # Eight features of forty carry what samples look like, the others are quiet noise.
    rng = np.random.default_rng(1)
    loud = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 8)) + 0.3 * rng.normal(size=(80, 8))
    data = np.hstack([loud, 0.01 * rng.normal(size=(80, 32))])
    found = compare(data, selectors=[Worst()], count=6)
    said = found.conclusions()
    assert said[0].startswith(
        "By neighbours kept and their agreement together, VarianceSelector is first"
    )
    assert said[-1].endswith("half-samples): Worst.")
    assert found.share_better("VarianceSelector") == 1
    assert found.share_better("Worst") < 0.5
    assert math.isnan(found.share_better("RandomSelector"))
    assert said[1] == "No method is clearly better than variance selection by these two measures."
    assert list(found.ranks()) == list(found.methods)
    alone = compare(data, selectors=[], count=6).conclusions()
    assert len(alone) == 2
    assert alone[-1].startswith("All methods are clearly better than random selection")


def test_a_spread_of_one_run_is_no_number():
    spike = np.zeros((20, 4, 5))
    spike[0, 0, 0] = 1
    found = compare(spike, selectors=[])
    assert np.isnan(found.runs["reconstruction_error"]["VarianceSelector"]).any()
    assert np.isnan(found.runs["neighbour_agreement"]["VarianceSelector"]).any()
    assert "nan" not in found.to_markdown()
    assert compare(selectors=[], count=20).conclusions() == []


def test_tables():
    found = compare(labels=LABELS)
    table = found.to_table()
    row = found.to_rows()[0]
    error = f"{row['reconstruction_error']:.3f} ± {row['reconstruction_error_std']:.3f}"
    assert table[0]["missed"] == error
    near = f"{row['neighbours_kept']:.3f} ± {row['neighbours_kept_std']:.3f}"
    assert table[0]["neighbours kept"] == near
    agreed = f"{row['neighbour_agreement']:.3f} ± {row['neighbour_agreement_std']:.3f}"
    assert table[0]["neighbours agree"] == agreed
    assert [line["rank"] for line in table] == [f"{row['rank']:g}" for row in found.to_rows()]
    markdown = found.to_markdown()
    assert error in markdown
    for name in found.methods:
        assert f"| {name} |" in markdown
    assert "note" not in table[0]


def hostile(kind):
    data = X.copy()
    if kind == "nan":
        data[3, 1, 1] = np.nan
    elif kind == "constant":
        data[:] = 2
    elif kind == "words":
        return data.astype(str)
    return data[: {"one": 1, "three": 3}.get(kind)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: compare(hostile("nan")), ValueError, "NaN"),
        (lambda: compare(hostile("constant")), ValueError, "constant"),
        (lambda: compare(hostile("words")), ValueError, "numbers"),
        (lambda: compare(hostile("one")), ValueError, r"1 sample\(s\); half-samples need"),
        (lambda: compare(hostile("three")), ValueError, "at least 4"),
        (lambda: compare(X.ravel()), ValueError, "shape"),
        (lambda: compare(count=21), ValueError, "21 is more than the 20 features"),
        (lambda: compare(count=5, feature_mode=0), ValueError, "5 is more than the 4 features"),
        (lambda: compare(count=0), ValueError, "number of features"),
        (lambda: compare(count="six"), ValueError, "number of features"),
        (lambda: compare(feature_mode=2), ValueError, "feature_mode=2"),
        (lambda: compare(selectors=["laplace"]), ValueError, "did you mean LaplacianScore"),
        (lambda: compare(selectors=["zzzz"]), ValueError, "'zzzz'; selectors are STPCASelector"),
        (lambda: compare(selectors=["stpca", "STPCA-MP"]), ValueError, "twice"),
        (lambda: compare(selectors=[STPCASelector]), TypeError, "names or tensift's estimators"),
        (lambda: compare(selectors=[3]), TypeError, "names or tensift's estimators; got int"),
        (lambda: compare(selectors={"RandomSelector": "stpca"}), ValueError, "another name"),
        (lambda: compare(labels=LABELS[:-1]), ValueError, "39 values for 40 samples"),
        (lambda: compare(labels=np.zeros(40)), ValueError, "at least two classes"),
        (lambda: compare(n_resamples=1), ValueError, "n_resamples"),
        (lambda: compare(n_seeds=0), ValueError, "n_seeds"),
        (lambda: compare(n_clusters=0), ValueError, "n_clusters"),
        (lambda: compare(random_state=None), ValueError, "random_state"),
        (lambda: compare(fit_limit=0), ValueError, "fit_limit"),
        (lambda: compare(lamda=3), TypeError, "'lamda'"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_bad_input_leaves_no_file(tmp_path):
    for bad in (hostile("nan"), hostile("constant"), hostile("one")):
        with pytest.raises(ValueError, match="X"):
            compare(bad, store=tmp_path / "cells.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_what_a_key_depends_on():
    """Everything that changes a result changes its key."""
    selector = STPCASelector(6)

    def key(data=X, estimator=selector, mode=None, **changes):
        settings = {"seed": 0, "limit": None, "place": 0, "shuffle": 0, **changes}
        method = _tasks.Method("name", estimator, False)
        return _tasks.HalfSample(method, _tasks.Samples(data, mode).checksum(), **settings).key

    other = X.copy()
    other[-1, -1, -1] += 1e-9
    keys = [
        key(),
        key(other),
        key(X.reshape(40, 5, 4)),
        key(X.astype(np.float32)),
        key(mode=0),
        key(estimator=STPCASelector(7)),
        key(estimator=STPCASelector(6, lam=2)),
        key(estimator=STPCASelector(6, basis=np.eye(5))),
        key(estimator=STPCASelector(6, basis=2 * np.eye(5))),
        key(estimator=VarianceSelector(6)),
        key(estimator=AllFeatures(6)),
        *(key(**{name: 3}) for name in ("seed", "limit", "place", "shuffle")),
    ]
    assert len(set(keys)) == len(keys)
    assert key(X.copy(order="F"), estimator=STPCASelector(6)) == keys[0]


def test_public_names_have_examples():
    for public in (compare_selectors, SelectorComparison):
        assert ">>>" in public.__doc__
