"""Stability selection: resamples are plain fits, counts and bounds are what they claim to be."""

import base64
import csv
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_selection import VarianceThreshold

from tensift import ExactSolver, STPCASelector, stability_selection
from tensift.datasets import load_digits
from tensift.rivals import LaplacianScore, RandomSelector, VarianceSelector
from tensift.stability import StabilitySelection
from tensift.stability._resamples import Resampling


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:201]  # an odd number: one sample is left out of both halves


NOISE = np.random.default_rng(0).normal(size=(12, 8, 8))  # in which no feature is constant


def brute_force(make, X, n_resamples, kind="half", seed=0):
    """The share of resamples that keep each feature, by a loop of plain fits."""
    drawn = Resampling(X, kind, seed)
    kept = [make(place).fit(X[drawn.indices(place)]).get_support() for place in range(n_resamples)]
    return np.array(kept)


def test_halves_come_in_pairs_that_share_no_sample():
    drawn = Resampling(np.zeros((11, 2)), "half", 3)
    for pair in range(20):
        first, second = drawn.indices(2 * pair), drawn.indices(2 * pair + 1)
        assert len(first) == len(second) == 5
        assert len({*first.tolist(), *second.tolist()}) == 10
    assert len({tuple(drawn.indices(2 * pair)) for pair in range(20)}) > 15
    often = np.zeros(11)
    for place in range(2000):
        often[drawn.indices(place)] += 1
    np.testing.assert_allclose(often / 2000, 5 / 11, atol=0.05)


def test_bootstrap_draws_with_replacement():
    drawn = Resampling(np.zeros((100, 2)), "bootstrap", 0)
    indices = [drawn.indices(place) for place in range(200)]
    assert all(len(i) == 100 and i.min() >= 0 and i.max() < 100 for i in indices)
    share = np.mean([len(np.unique(i)) / 100 for i in indices])
    assert share == pytest.approx(1 - np.exp(-1), abs=0.01)


@pytest.mark.parametrize("kind", ["half", "bootstrap"])
def test_resamples_of_a_rival_are_plain_fits(digits, kind):
    found = stability_selection(
        LaplacianScore(15), digits, n_resamples=6, resampling=kind, random_state=4
    )
    expected = brute_force(lambda place: LaplacianScore(15), digits, 6, kind, seed=4)
    np.testing.assert_array_equal(found.supports, expected)
    np.testing.assert_array_equal(found.probabilities, expected.mean(axis=0).reshape(8, 8))


@pytest.mark.parametrize("solver", ["paper", "exact"])
def test_resamples_of_stpca_are_plain_fits_at_the_penalties_of_all_samples(digits, solver):
    selector = STPCASelector(15, solver=solver, orientation=1, basis="dct")
    found = stability_selection(selector, digits, n_resamples=4)
    on_all = STPCASelector(15, solver=solver, orientation=1, basis="dct").fit(digits)
    scaled = digits / np.abs(digits).max()
    share = 100 / 201
    parameters = {"lam": on_all.lam_ * share, "eta": on_all.eta_ * share, "scale": None}
    parameters |= {"solver": solver, "orientation": 1, "basis": "dct"}
    expected = brute_force(lambda place: STPCASelector(15, **parameters), scaled, 4)
    np.testing.assert_array_equal(found.supports, expected)
    np.testing.assert_array_equal(found.estimator.scores_, on_all.scores_)


def test_half_of_the_penalties_suit_half_of_the_samples(digits):
    # Every sample twice: twice the Gram matrices, which twice the penalties answer.
    setting = {"solver": ExactSolver(tol=1e-8), "scale": None}
    data = digits / 16
    once = STPCASelector(15, lam=2.0, eta=2.0, **setting).fit(data)
    twice = STPCASelector(15, lam=4.0, eta=4.0, **setting).fit(np.concatenate([data, data]))
    np.testing.assert_allclose(once.scores_, twice.scores_, atol=2e-3)
    same = STPCASelector(15, lam=4.0, eta=4.0, **setting).fit(data)
    assert np.abs(same.scores_ - twice.scores_).max() > 0.02


def test_what_is_chosen_is_chosen_on_all_samples(digits):
    selector = STPCASelector(0.2, penalty_units="relative", lam=0.05, eta=0.05)
    found = stability_selection(selector, digits, n_resamples=4)
    assert np.all(found.supports.sum(axis=1) == round(0.2 * 64))
    wider = stability_selection(selector, digits, n_resamples=4, n_features_to_select=30)
    assert np.all(wider.supports.sum(axis=1) == 30)
    assert selector.n_features_to_select == 0.2
    assert not hasattr(selector, "scores_")


def test_a_random_selector_has_a_seed_of_its_own_on_every_resample():
    found = stability_selection(RandomSelector(20), NOISE, n_resamples=40)
    assert abs(found.index) < 0.1
    assert found.interval[0] < 0.05
    fixed = stability_selection(RandomSelector(20, random_state=1), NOISE, n_resamples=4)
    assert fixed.index == 1.0


def test_index_and_interval_by_hand():
    """Nogueira, Sechidis and Brown: equation 4, and theorem 7 for the variance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7)) * [5, 4, 3, 1.2, 1.1, 1.0, 0.9]
    found = stability_selection(VarianceSelector(4), X, n_resamples=10)
    Z = found.supports.astype(float)
    M, d = Z.shape
    p = Z.sum(axis=0) / M
    k = Z.sum() / M
    s2 = M / (M - 1) * p * (1 - p)
    phi = 1 - s2.mean() / (k / d * (1 - k / d))
    assert 0 < phi < 1
    assert found.index == pytest.approx(phi, rel=1e-12)
    phis = [
        1 / (k / d * (1 - k / d))
        * (
            (Z[i] * p).mean() - Z[i].sum() * k / d**2
            + phi / 2 * (2 * Z[i].sum() * k / d**2 - Z[i].sum() / d - k / d + 1)
        )
        for i in range(M)
    ]  # fmt: skip
    variance = 4 / M**2 * np.sum((np.array(phis) - np.mean(phis)) ** 2)
    reach = 1.959964 * np.sqrt(variance)
    np.testing.assert_allclose(found.interval, (phi - reach, phi + reach), rtol=1e-6)


def test_the_bound_is_met_and_attained_by_a_selector_that_guesses():
    # One pair and a threshold of 1: both guesses must meet, q^2 / d times on average.
    runs = [
        stability_selection(
            RandomSelector(20), NOISE, n_resamples=2, threshold=1, random_state=2 * seed
        )
        for seed in range(30)
    ]
    assert runs[0].error_bound == pytest.approx(20**2 / 64)
    counts = np.array([len(run.selected) for run in runs])
    assert counts.mean() == pytest.approx(20**2 / 64, abs=3 * counts.std() / np.sqrt(30))
    eight = stability_selection(RandomSelector(20), NOISE, n_resamples=8, threshold=0.6)
    assert eight.error_bound == pytest.approx(20**2 / (0.2 * 64))
    assert np.isnan(
        stability_selection(
            RandomSelector(20), NOISE, n_resamples=2, resampling="bootstrap"
        ).error_bound
    )


def made(probabilities, n=20, threshold=0.75, **settings):
    """A result whose features are kept as often as is said."""
    counts = np.rint(np.array(probabilities) * n).astype(int)
    supports = np.array([[place < c for c in counts.ravel()] for place in range(n)])
    X = np.random.default_rng(0).normal(size=(30, *counts.shape)) * (1 + np.arange(counts.size))[
        ::-1
    ].reshape(counts.shape)
    from tensift.metrics import selection_stability

    return StabilitySelection(
        VarianceSelector(2).fit(X),
        supports,
        counts.shape,
        "half",
        threshold,
        selection_stability(supports),
        **settings,
    )


def test_selected_are_those_that_reach_the_threshold_best_first():
    found = made([[0.5, 1.0, 0.75], [0.7, 0.75, 0.0]])
    assert found.selected.tolist() == [1, 2, 4]
    assert found.ranking.tolist() == [1, 2, 4, 3, 0, 5]
    np.testing.assert_array_equal(found.support, [[0, 1, 1], [0, 1, 0]])
    assert found.at(0.7).selected.tolist() == [1, 2, 4, 3]
    assert found.at(1).selected.tolist() == [1]
    rows = found.to_rows()
    assert [row["feature"] for row in rows] == [1, 2, 4, 3, 0, 5]
    assert rows[2]["mode_0"] == 1
    assert rows[2]["mode_1"] == 1
    assert rows[2]["probability"] == 0.75
    assert rows[2]["selected"]
    assert not rows[2]["kept_on_all"]
    assert rows[2]["score"] == pytest.approx(found.estimator.scores_[1, 1])


def test_words():
    text = str(made([[0.5, 1.0, 0.75], [0.7, 0.75, 0.0]], notes=("2 of 20 resamples: oh",)))
    assert "keeps 1 to 5 of 6 features on each of 20 half-samples; 3 are kept by 75%" in text
    assert "fair to good" in text or "poor" in text
    assert text.endswith("2 of 20 resamples: oh")
    assert "too high to be useful" in text
    none = str(made([[0.5, 0.5, 0.5]]))
    assert "0 are kept by 75%" in none
    assert "Stability is undefined" in str(made([[1.0, 1.0]]))
    assert "3 of 6 features" in repr(made([[0.5, 1.0, 0.75], [0.7, 0.75, 0.0]]))


def test_mode_features_and_estimators_of_others(digits):
    found = stability_selection(VarianceSelector(3, feature_mode=1), digits, n_resamples=4)
    assert found.probabilities.shape == (8,)
    assert found.scores.shape == (8,)
    rows = digits.reshape(len(digits), -1)
    theirs = stability_selection(VarianceThreshold(20.0), rows, n_resamples=4)
    expected = brute_force(lambda place: VarianceThreshold(20.0), rows, 4)
    np.testing.assert_array_equal(theirs.supports, expected)
    assert theirs.scores is None
    assert theirs.n_kept == pytest.approx(expected.sum(axis=1).mean())
    assert "to" in theirs.reason.split("of 64")[0]


def test_workers_change_no_bit(digits):
    one = stability_selection(STPCASelector(15), digits, n_resamples=4)
    two = stability_selection(STPCASelector(15, n_jobs=2), digits, n_resamples=4, n_jobs=2)
    np.testing.assert_array_equal(one.supports, two.supports)
    assert one.stability == two.stability


class _Counting(VarianceSelector):
    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        if self.fits == 4:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_a_stopped_run_goes_on_where_it_was(digits, tmp_path):
    store = tmp_path / "resamples.jsonl"
    _Counting.fits = 0
    with pytest.raises(KeyboardInterrupt):
        stability_selection(_Counting(15), digits, n_resamples=6, store=store)
    assert len(store.read_text().splitlines()) == 2  # besides the fit on all samples
    found = stability_selection(_Counting(15), digits, n_resamples=6, store=store)
    assert _Counting.fits == 4 + 1 + 4
    again = stability_selection(_Counting(15), digits, n_resamples=6, store=store)
    assert _Counting.fits == 9 + 1
    plain = stability_selection(VarianceSelector(15), digits, n_resamples=6)
    np.testing.assert_array_equal(found.supports, plain.supports)
    np.testing.assert_array_equal(again.supports, plain.supports)
    stability_selection(_Counting(15), digits, n_resamples=8, store=store)
    assert _Counting.fits == 10 + 1 + 2


def test_a_store_of_other_data_or_settings_is_not_taken_for_these(digits, tmp_path):
    store = tmp_path / "resamples.jsonl"
    stability_selection(VarianceSelector(15), digits, n_resamples=2, store=store)
    other = digits[:, ::-1]
    found = stability_selection(VarianceSelector(15), other, n_resamples=2, store=store)
    plain = stability_selection(VarianceSelector(15), other, n_resamples=2)
    np.testing.assert_array_equal(found.supports, plain.supports)
    stability_selection(VarianceSelector(16), digits, n_resamples=2, store=store)
    stability_selection(VarianceSelector(15), digits, n_resamples=2, random_state=1, store=store)
    keys = [json.loads(line)["key"] for line in store.read_text().splitlines()]
    assert len(set(keys)) == len(keys) == 8


class _Warning(VarianceSelector):
    def fit(self, X, y=None):
        if len(X) < 150:
            warnings.warn(f"missed by {X.mean():.6f}", UserWarning, stacklevel=2)
        return super().fit(X, y)


def test_warnings_of_resamples_are_told_once(digits):
    found = stability_selection(_Warning(15), digits, n_resamples=4)
    assert len(found.notes) == 1
    assert found.notes[0].startswith("4 of 4 resamples: missed by ")


def test_progress_is_shown(digits, capsys, monkeypatch):
    import tensift.stability._select as module

    def bar(title, total):
        return lambda done, left: print(title, done, total)

    monkeypatch.setattr(module, "progress_bar", bar)
    stability_selection(VarianceSelector(15), digits, n_resamples=2, verbose=True)
    assert capsys.readouterr().out.splitlines() == ["resamples 1 2", "resamples 2 2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((1, 3, 3))}, "X has 1 sample"),
        ({"X": np.ones((3, 3, 3))}, "resampling needs at least 4"),
        ({"X": np.full((9, 3, 3), np.nan)}, "X contains NaN"),
        ({"X": np.array(["a", "b"])}, "X must contain numbers"),
        ({"n_resamples": 1}, "n_resamples must be an integer of at least 2; got 1"),
        ({"n_resamples": 3}, "drawn in pairs"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer"),
        ({"threshold": 0.5}, "threshold must be a share"),
        ({"threshold": 1.1}, "threshold must be a share"),
        ({"resampling": "jackknife"}, "resampling must be 'half' or 'bootstrap'"),
        ({"random_state": -1}, "random_state must be an integer of at least 0"),
        ({"estimator": VarianceThreshold(), "n_features_to_select": 3}, "has no such parameter"),
        ({"store": "."}, "cannot read"),
    ],
)
def test_errors(digits, change, message):
    arguments = {"estimator": VarianceSelector(5), "X": digits, "n_resamples": 2, **change}
    with pytest.raises((ValueError, OSError), match=message):
        stability_selection(arguments.pop("estimator"), arguments.pop("X"), **arguments)


@pytest.mark.parametrize("estimator", [STPCASelector, "variance", object()])
def test_what_is_no_estimator(digits, estimator):
    with pytest.raises(TypeError, match="estimator must be a selector"):
        stability_selection(estimator, digits)


def test_a_resample_that_cannot_be_fitted_is_named():
    X = np.zeros((8, 3))
    X[0] = [1.0, 2.0, 3.0]  # one half of every pair is constant
    with pytest.raises(ValueError, match=r"VarianceSelector fails on resample [01]: "):
        stability_selection(VarianceSelector(1), X, n_resamples=2)


def test_picture(digits):
    figures = pytest.importorskip("matplotlib.figure")
    from tensift.plotting import StabilityDisplay

    found = made([[0.5, 1.0, 0.75], [0.7, 0.75, 0.0]])
    display = found.plot(dims=("row", "column"), figure=figures.Figure())
    scores, shares = (part.ax_.images[0].get_array() for part in display.displays_)
    np.testing.assert_array_equal(scores, found.estimator.scores_)
    np.testing.assert_array_equal(shares, found.probabilities)
    # Around (0, 1), (0, 2) and (1, 1): eight sides.
    (outline,) = display.displays_[1].ax_.collections
    assert len(outline.get_segments()) == 8
    drawn = display.curve_ax_.patches[-1].get_data().values
    np.testing.assert_array_equal(drawn, [1, 0.75, 0.75, 0.7, 0.5, 0])
    assert "3 of 6 features are stable; stability" in display.figure_.get_suptitle()
    for shape in ((4,), (2, 3, 4)):
        share = np.linspace(0, 1, int(np.prod(shape))).reshape(shape)
        alone = StabilityDisplay(share, threshold=0.6).plot(figures.Figure())
        assert len(alone.displays_) == 1
        alone.figure_.draw_without_rendering()
    with pytest.raises(ValueError, match="scores has shape"):
        StabilityDisplay(np.zeros(3), scores=np.zeros(4))


# In the documentation, in reports, and on the command line


def test_the_page_shows_what_comes_out():
    page = (Path(__file__).parents[1] / "docs" / "stability.md").read_text()
    found = stability_selection(STPCASelector(20), load_digits().data, n_resamples=20)
    assert f"```text\n{found}\n```" in page


def test_report_holds_what_was_found(digits):
    from tensift.report import make_report

    selector = STPCASelector(20).fit(digits)
    found = stability_selection(selector, digits, n_resamples=4, random_state=3)
    page = make_report(selector, digits, stability=found)
    content = json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])
    assert content["stability"] == found.reason.splitlines()
    chosen, shares = content["views"]
    assert (chosen["kind"], shares["kind"]) == ("chosen", "stability")
    values = np.frombuffer(base64.b64decode(shares["scores"]["values"]), "<f4")
    np.testing.assert_allclose(values * shares["scores"]["scale"], found.probabilities.ravel())
    ranking = np.frombuffer(base64.b64decode(shares["ranking"]["values"]), "<u2")
    np.testing.assert_array_equal(ranking, found.ranking)
    assert shares["fitted"] == len(found.selected)
    before, after = shares["code"]
    *lines, last = f"{before}{len(found.selected)}{after}".split("\n")
    names = {"X": digits}
    exec("\n".join(lines), names)
    np.testing.assert_array_equal(eval(last, names), found.selected)


def test_report_refuses_what_does_not_belong(digits):
    from tensift.report import make_report

    selector = STPCASelector(20).fit(digits)
    with pytest.raises(TypeError, match="stability must be a result of stability_selection"):
        make_report(selector, digits, stability={})
    other = stability_selection(VarianceSelector(3, feature_mode=0), digits, n_resamples=2)
    with pytest.raises(ValueError, match=r"stability has features of shape \(8,\)"):
        make_report(selector, digits, stability=other)


def test_commands(digits, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    from tensift.cli import main

    monkeypatch.chdir(tmp_path)
    np.save("x.npy", digits)
    command = ["select", "x.npy", "-k", "20", "--stability", "4", "--report", "--no-alternatives"]
    assert main([*command, "-o", "out"]) == 0
    found = stability_selection(STPCASelector(20), digits, n_resamples=4)
    printed = capsys.readouterr().out
    for line in found.reason.splitlines():
        assert line in printed
    table = (tmp_path / "out" / "stability.csv").read_text()
    rows = list(csv.DictReader(table.splitlines()))
    assert [int(row["feature"]) for row in rows] == found.ranking.tolist()
    assert [float(row["probability"]) for row in rows] == sorted(
        found.probabilities.ravel(), reverse=True
    )
    assert (tmp_path / "out" / "stability.png").stat().st_size > 0
    assert "Share of resamples" in (tmp_path / "out" / "report.html").read_text()
    command = ["report", "x.npy", "-k", "20", "--stability", "4", "--no-alternatives"]
    assert main([*command, "-o", "page.html"]) == 0
    assert found.reason.splitlines()[0] in capsys.readouterr().out
    assert found.reason.splitlines()[0] in (tmp_path / "page.html").read_text()
    assert main(["select", "x.npy", "-k", "20", "--stability", "3"]) == 2
    assert "half-samples come in pairs" in capsys.readouterr().err
    np.save("few.npy", digits[:3])
    assert main(["select", "few.npy", "-k", "20", "--stability", "2"]) == 1
    assert "resampling needs at least 4" in capsys.readouterr().err
    assert not (tmp_path / "few.npy-tensift").exists()
