"""Groups of samples: held out, drawn and shown as wholes; on the command line too."""

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tensift import GeometrySelector, STPCASelector, compare_selectors, stability_selection
from tensift.cli import main
from tensift.comparison._tasks import Samples
from tensift.datasets import TensorDataset, read_tensor
from tensift.plotting import GroupSelectionDisplay
from tensift.rivals import LaplacianScore, VarianceSelector
from tensift.selection import suggest_count, suggest_count_by_reconstruction
from tensift.sources import SampleWeights
from tensift.stability import select_by_group
from tensift.stability._resamples import Resampling

RNG = np.random.default_rng(0)
NAMES = ["anna", "bert", "carl", "dora", "emil", "fred"]
GROUPS = np.repeat(NAMES, [40, 30, 20, 12, 10, 8])
CHANNELS = [f"c{k}" for k in range(8)]
N = len(GROUPS)


def recordings():
    """Channels 0 to 3 follow a common source in all groups; 4 to 7 are noise."""
    source = RNG.normal(size=(N, 1, 10))
    X = RNG.normal(size=(N, 8, 10))
    X[:, :4] += 3 * source * np.array([1.0, -1, 0.8, 1.2])[:, None]
    return X


X = recordings()
WEIGHTS = RNG.uniform(0.5, 2, N)


# Stability


@pytest.mark.parametrize("kind", ["half", "bootstrap"])
def test_whole_groups_are_drawn(kind):
    weights = SampleWeights.of(WEIGHTS, GROUPS)
    drawn = Resampling(X, kind, 3, weights, True)
    for place in range(10):
        indices = drawn.indices(place)
        names, counts = np.unique(GROUPS[indices], return_counts=True)
        sizes = np.array([np.count_nonzero(name == GROUPS) for name in names])
        times = counts / sizes
        assert_array_equal(times, times.astype(int))
        assert times.sum() == (3 if kind == "half" else 6)
        own = drawn.weights_of(indices)
        assert_allclose(own.sum(), WEIGHTS.sum() * (0.5 if kind == "half" else 1))
        sums = [own[GROUPS[indices] == name].sum() for name in names]
        assert_allclose(sums / times, sums[0] / times[0])
    if kind == "half":
        first, second = (set(GROUPS[drawn.indices(place)]) for place in (0, 1))
        assert first | second == set(NAMES)
        assert not first & second


def test_stability_of_groups_is_that_of_explicit_fits():
    selector = GeometrySelector(3, feature_mode=0)
    found = stability_selection(selector, X, n_resamples=6, groups=GROUPS, random_state=1)
    assert found.n_groups == 6
    assert "on each of 6 halves of 6 groups" in found.reason
    drawn = Resampling(X, "half", 1, SampleWeights.of(None, GROUPS), True)
    for place, support in enumerate(found.supports):
        part = drawn.indices(place)
        own = clone(selector).fit(X[part], groups=GROUPS[part])
        assert_array_equal(own.get_support(), support)
    assert_array_equal(found.estimator.order_, clone(selector).fit(X, groups=GROUPS).order_)


def test_stability_with_weights(tmp_path):
    selector = STPCASelector(3, feature_mode=0)
    zero = np.where(np.arange(N) < 20, 0, WEIGHTS)
    options = {"n_resamples": 4, "store": tmp_path / "store.jsonl"}
    found = stability_selection(selector, X, sample_weight=zero, **options)
    same = stability_selection(selector, X[20:], sample_weight=WEIGHTS[20:], n_resamples=4)
    other = stability_selection(selector, X, sample_weight=zero + 1, **options)
    assert_array_equal(found.supports, same.supports)
    assert found.n_groups is None
    assert not np.array_equal(found.estimator.scores_, other.estimator.scores_)
    # Halves with weights have half of their sum, and half of the penalties.
    plain = stability_selection(selector, X, n_resamples=4)
    equal = stability_selection(selector, X, sample_weight=np.ones(N), n_resamples=4)
    assert_array_equal(plain.supports, equal.supports)


def test_selectors_without_weights():
    found = stability_selection(LaplacianScore(3, feature_mode=0), X, n_resamples=2, groups=GROUPS)
    assert "LaplacianScore takes no weights" in found.reason
    with pytest.raises(ValueError, match="LaplacianScore takes no sample_weight"):
        stability_selection(LaplacianScore(3), X, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": np.arange(N) % 3}, "groups has 3 group"),
        ({"groups": GROUPS[1:]}, "groups has 119 values, but X has 120"),
        ({"sample_weight": np.arange(N) < 3}, "positive for 3 sample"),
    ],
)
def test_too_little_to_resample(given, message):
    with pytest.raises(ValueError, match=message):
        stability_selection(GeometrySelector(3), X, **given)


# Comparisons


def test_comparisons_hold_out_whole_groups():
    weights = SampleWeights.of(None, GROUPS)
    samples = Samples(X, 0, None, weights)
    for place in range(5):
        learning, test = samples.halves(0, place)
        assert not set(GROUPS[learning]) & set(GROUPS[test])
        assert_array_equal(np.sort(np.concatenate([learning, test])), np.arange(N))
        assert len(set(GROUPS[learning])) == 3
    plain = Samples(X, 0)
    sums = {one.checksum() for one in (samples, plain, Samples(X, 0, None, SampleWeights(WEIGHTS)))}
    assert len(sums) == 3


def test_comparison_of_weighted_samples():
    methods = {"geometry": GeometrySelector(3), "laplacian": LaplacianScore(3)}
    found = compare_selectors(X, methods, 3, feature_mode=0, groups=GROUPS, n_resamples=2)
    assert "Selections are judged on groups they were not made on (6 groups)." in found.notes
    assert any("count all samples alike: laplacian" in note for note in found.notes)
    own = GeometrySelector(3, feature_mode=0).fit(X, groups=GROUPS)
    assert_array_equal(found.features["geometry"], own.order_[:3])
    zero = np.where(np.arange(N) < 30, 0, WEIGHTS)
    labels = np.arange(N) % 2
    options = {"feature_mode": 0, "n_resamples": 2, "n_seeds": 1}
    one = compare_selectors(X, methods, 3, labels=labels, sample_weight=zero, **options)
    other = compare_selectors(
        X[30:], methods, 3, labels=labels[30:], sample_weight=WEIGHTS[30:], **options
    )
    for measure in ("neighbours_kept", "reconstruction_error", "redundancy", "acc"):
        for name in one.features:
            assert_array_equal(one.runs[measure][name], other.runs[measure][name])
    equal = compare_selectors(X, methods, 3, sample_weight=np.ones(N), **options)
    plain = compare_selectors(X, methods, 3, **options)
    for name in plain.features:
        assert_allclose(
            equal.runs["reconstruction_error"][name], plain.runs["reconstruction_error"][name]
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": np.zeros(N)}, "at least two groups"),
        ({"groups": np.arange(N) == 0}, "at least two samples outside the largest"),
        ({"sample_weight": np.arange(N) < 3}, "positive for 3 sample"),
        ({"sample_weight": -np.ones(N)}, "negative weight"),
    ],
)
def test_too_little_to_compare(given, message):
    with pytest.raises(ValueError, match=message):
        compare_selectors(X, [], 3, feature_mode=0, **given)


# Counts


@pytest.mark.parametrize("suggest", [suggest_count, suggest_count_by_reconstruction])
def test_counts_are_judged_on_other_groups(suggest):
    assert "on groups that they were not chosen on" in suggest(X, 0, groups=GROUPS).reason
    assert "on samples that they were not chosen on" in suggest(X, 0).reason


def test_groups_that_are_too_few_to_be_held_out():
    few = suggest_count_by_reconstruction(X, 0, groups=np.arange(N) < 5)  # half of them has 5
    assert "on the samples that they were chosen on" in few.reason


def test_copies_in_other_groups_are_held_out():
    """Two groups with the same samples: each predicts the other as it predicts itself."""
    Y = X[:40, :, 0]
    found = suggest_count_by_reconstruction(np.concatenate([Y, Y]), groups=np.arange(80) // 40)
    assert_allclose(found.spread, 0, atol=1e-9)
    assert found.curve[-1] > 0.98


@pytest.mark.parametrize("selection", ["geometry", "reconstruct"])
def test_automatic_counts_with_groups(selection):
    selector = STPCASelector("auto", selection=selection, feature_mode=0).fit(X, groups=GROUPS)
    suggest = suggest_count if selection == "geometry" else suggest_count_by_reconstruction
    expected = suggest(X, 0, groups=GROUPS)
    assert selector.n_features_ == expected.count
    assert "on groups" in selector.suggested_count_.reason
    assert_allclose(selector.suggested_count_.curve, expected.curve, atol=1e-9)


# Which features serve all groups


def dataset():
    return TensorDataset(X, dims=("channel", "time"), coords={"channel": CHANNELS})


@pytest.mark.parametrize("estimator", [GeometrySelector(3, feature_mode="channel"),
                                       LaplacianScore(3, feature_mode=0)])  # fmt: skip
def test_selections_of_every_group(estimator):
    found = select_by_group(estimator, dataset(), GROUPS)
    assert found.groups == tuple(NAMES)
    assert_array_equal(found.n_samples, [40, 30, 20, 12, 10, 8])
    for name, support, scores in zip(NAMES, found.supports, found.scores, strict=True):
        alone = clone(estimator).set_params(feature_mode=0).fit(X[name == GROUPS])
        assert_array_equal(alone.get_support(), support)
        assert_allclose(alone.scores_, scores)
    assert_array_equal(found.shares, found.supports.mean(axis=0))
    assert not set(found.serve_all) & set(found.serve_some)
    rows = found.to_rows()
    assert len(rows) == 6 * 8
    assert rows[9]["name"] in ("c1", "1")
    assert f"all {len(NAMES)} groups together" in str(found)


def test_an_automatic_number_is_that_of_all_groups():
    found = select_by_group(GeometrySelector(feature_mode=0), X, GROUPS)
    assert_array_equal(found.supports.sum(axis=1), found.estimator.n_features_)
    assert "on groups" in found.estimator.suggested_count_.reason


def test_weights_within_groups():
    found = select_by_group(VarianceSelector(3, feature_mode=0), X, GROUPS, sample_weight=WEIGHTS)
    part = GROUPS == "bert"
    own = VarianceSelector(3, feature_mode=0).fit(X[part], sample_weight=WEIGHTS[part])
    assert_allclose(found.scores[1], own.scores_)
    together = VarianceSelector(3, feature_mode=0).fit(X, sample_weight=WEIGHTS, groups=GROUPS)
    assert_allclose(found.estimator.scores_, together.scores_)


@pytest.mark.parametrize(
    ("estimator", "groups", "more", "error", "message"),
    [
        (object(), GROUPS, {}, TypeError, "must be a selector"),
        (GeometrySelector(3), GROUPS[1:], {}, ValueError, "119 values"),
        (GeometrySelector(3), [*GROUPS[1:], "zoe"], {}, ValueError, "group 'zoe' has 1 sample"),
        (LaplacianScore(3), GROUPS, {"sample_weight": WEIGHTS}, ValueError, "no sample_weight"),
    ],
)
def test_what_cannot_be_fitted_by_group(estimator, groups, more, error, message):
    with pytest.raises(error, match=message):
        select_by_group(estimator, X, groups, **more)


def test_a_group_that_is_constant_is_named():
    constant = X.copy()
    constant[GROUPS == "dora"] = 1
    with pytest.raises(ValueError, match=r"^group 'dora': X is constant"):
        select_by_group(GeometrySelector(3), constant, GROUPS)


def test_the_picture():
    found = select_by_group(GeometrySelector(3, feature_mode=0), dataset(), GROUPS)
    display = found.plot(ax=Figure().subplots())
    shares, together = found.shares, found.estimator.get_support()
    drawn = display.features_
    assert_array_equal(np.sort(shares[drawn])[::-1], shares[drawn])
    assert_allclose([bar.get_height() for bar in display.bars_], shares[drawn])
    cells = np.asarray(display.image_.get_array())
    assert_array_equal(cells > 0, found.supports[:, drawn])
    assert_array_equal(cells == 2, found.supports[:, drawn] & together[drawn])
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == [CHANNELS[k] for k in drawn]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == NAMES
    weights = [t.get_fontweight() for t in display.ax_.get_xticklabels()]
    assert [w == "bold" for w in weights] == together[drawn].tolist()
    display.figure_.canvas.draw()


def test_pictures_of_many_features_and_groups():
    supports = RNG.random((120, 500)) < 0.1
    display = GroupSelectionDisplay(supports, supports[0]).plot(
        Figure().subplots(), max_features=30
    )
    assert len(display.features_) == 30
    assert "470 later features not shown" in display.ax_.get_xlabel()
    nothing = np.zeros((3, 40), bool)
    assert len(GroupSelectionDisplay(nothing, nothing[0]).plot(Figure().subplots()).features_) == 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"together": [True]}, "one row for each group"),
        ({"groups": ["a"]}, "groups has 1 names, but there are 2"),
        ({"names": ["a"]}, "names has 1 names, but there are 3"),
        ({"order": [0, 0, 1]}, "each of the 3 features once"),
    ],
)
def test_pictures_of_what_does_not_fit(change, message):
    given = {"supports": np.ones((2, 3), bool), "together": [True, False, True]} | change
    with pytest.raises(ValueError, match=message):
        GroupSelectionDisplay(given.pop("supports"), given.pop("together"), **given)


# Files and the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = np.round(WEIGHTS * 2)
    np.savez("x.npz", data=X, subject=GROUPS, w=whole, feature_mode=0)
    np.save("only.npy", X)
    np.save("w.npy", whole)
    (tmp_path / "g.txt").write_text("\n".join(GROUPS) + "\n")
    rows = [",".join(map(repr, row.tolist())) for row in X[:, :, 0]]
    lines = [f"{a},{b:g},{c}" for a, b, c in zip(rows, whole, GROUPS, strict=True)]
    (tmp_path / "t.csv").write_text(
        "\n".join([",".join([*CHANNELS, "weight", "subject"]), *lines]) + "\n"
    )
    return whole


def test_reading_weights_and_groups(folder):
    for path, options in (
        ("x.npz", {"weights": "w", "groups": "subject"}),
        ("only.npy", {"weights": "w.npy", "groups": "g.txt"}),
        ("only.npy", {"weights": folder, "groups": "x.npz:subject"}),
        ("t.csv", {"weights": "weight", "groups": "subject"}),
    ):
        found = read_tensor(path, **options)
        assert_array_equal(found.weights, folder)
        assert_array_equal(found.groups, GROUPS)
        expected = X[:, :, 0] if path == "t.csv" else X
        assert_array_equal(found.data, expected)
    assert read_tensor("x.npz").weights is None  # only if asked for
    masked = read_tensor("x.npz", weights="w", groups="subject", mask=np.arange(N) % 2 == 0)
    assert_array_equal(masked.weights, folder[::2])
    assert_array_equal(masked.groups, GROUPS[::2])
    with pytest.raises(ValueError, match=r"119 weights for 120 samples"):
        read_tensor("only.npy", weights=folder[1:])
    with pytest.raises(ValueError, match="groups='nobody' is neither an array in the file"):
        read_tensor("x.npz", groups="nobody")
    with pytest.raises(ValueError, match="groups must hold one value for each"):
        TensorDataset(X, groups=GROUPS[1:])


def test_select(folder, capsys):
    main(["select", "x.npz", "-k", "3", "--weights", "w", "--groups", "subject", "--no-figure",
          "--stability", "4"])  # fmt: skip
    said = capsys.readouterr().out
    assert "groups    6 groups of 8 to 40: anna (40), bert (30)" in said
    assert "halves of 6 groups" in said
    expected = STPCASelector(3, feature_mode=0).fit(X, sample_weight=folder, groups=GROUPS)
    assert_array_equal(np.load("x.npz-tensift/selected.npy"), expected.get_support(indices=True))
    assert_allclose(np.load("x.npz-tensift/scores.npy"), expected.scores_)
    line = said.split("in Python ")[1].splitlines()
    names = {}
    exec(line[0], names)
    again = eval(line[1].strip(), names)
    assert_array_equal(again.order_, expected.order_)
    settings = json.loads(Path("x.npz-tensift/settings.json").read_text())
    assert settings["input"]["options"]["groups"] == "subject"


def test_select_with_a_checkpoint_and_without_weights_to_give(folder, capsys):
    main(["select", "x.npz", "-k", "3", "--weights", "w.npy", "--no-figure", "--checkpoint",
          "pass.npz"])  # fmt: skip
    expected = STPCASelector(3, feature_mode=0).fit(X, sample_weight=folder)
    assert_allclose(np.load("x.npz-tensift/scores.npy"), expected.scores_)
    capsys.readouterr()
    wanted = ["--method", "LaplacianScore", "--groups", "subject"]
    assert main(["select", "x.npz", "-k", "3", *wanted, "--no-figure", "--overwrite"]) != 0
    assert "LaplacianScore takes no weights" in capsys.readouterr().err


def test_compare_report_and_info(folder, capsys):
    main(["compare", "x.npz", "-k", "3", "--groups", "g.txt", "--methods", "geometry",
          "--resamples", "2", "--no-figure"])  # fmt: skip
    said = capsys.readouterr().out
    assert "judged on groups they were not made on (6 groups)" in said
    main(["report", "x.npz", "-k", "3", "--weights", "w", "--groups", "subject",
          "--no-alternatives"])  # fmt: skip
    assert "groups    6 groups" in capsys.readouterr().out
    page = Path("x.npz-report.html").read_text()
    assert "sample_weight=data.weights, groups=data.groups" in page.replace("\\u003d", "=")
    main(["info", "t.csv", "--weights", "weight", "--groups", "subject"])
    said = capsys.readouterr().out
    assert "groups    6 groups of 8 to 40: anna (40)" in said
    assert f"sum {folder.sum():.6g}" in said
    assert "--weights weight --groups subject" in said


# Several recordings


def test_recordings_are_groups():
    mne = pytest.importorskip("mne", reason="mne is not installed")
    info = mne.create_info([f"EEG {k}" for k in range(8)], 100.0, "eeg")
    people = {
        name: mne.EpochsArray(X[name == GROUPS] * 1e-6, info, verbose=False)
        for name in ("dora", "anna", "bert")
    }
    keys = [name for name in people for _ in range(len(people[name]))]
    for selector in (GeometrySelector("auto", feature_mode="channel"), VarianceSelector(3)):
        found = clone(selector).fit(people, groups="recordings")
        expected = clone(selector).fit(people, groups=keys)
        assert_array_equal(found.order_, expected.order_)
        assert found.n_features_ == expected.n_features_
    alone = select_by_group(GeometrySelector(3, feature_mode="channel"), people, "recordings")
    assert alone.groups == ("anna", "bert", "dora")
    assert_array_equal(alone.n_samples, [40, 30, 12])
    assert alone.to_rows()[0]["name"] == "EEG 0"


@pytest.mark.parametrize(
    ("groups", "message"),
    [("recordings", "needs several recordings"), ("subject", "is no list of groups")],
)
def test_groups_that_are_words(groups, message):
    for fit in (
        GeometrySelector(3).fit,
        STPCASelector(3).fit,
        VarianceSelector(3).fit,
        lambda X, groups: compare_selectors(X, [], 3, groups=groups),
        lambda X, groups: stability_selection(GeometrySelector(3), X, groups=groups),
        lambda X, groups: select_by_group(GeometrySelector(3), X, groups),
    ):
        with pytest.raises(ValueError, match=message):
            fit(X, groups=groups)
