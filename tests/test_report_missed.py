"""What the report says is missed and redundant, compared with regressions one by one."""

import base64
import json
import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge as OneRidge

from tensift import (
    ColumnSubsetSelector,
    Constraints,
    GeometrySelector,
    STPCASelector,
    compare_selectors,
)
from tensift.cli import main
from tensift.datasets import TensorDataset, load_digits
from tensift.report import make_report
from tensift.report._missed import Ridge, missed_of, predict_features
from tensift.rivals import QRSensorSelector, VarianceSelector
from tensift.sources import KeptSamples

RNG = np.random.default_rng(0)


def made_of(three, noise=0.1):
    """Columns: three sources, their sums, copies with a little noise, and noise alone."""
    sums = three @ np.array([[1, 1, 0], [1, 0, -1], [0, 2, 1]]).T
    near = three + noise * RNG.normal(size=three.shape)
    return np.concatenate([three, sums, near, RNG.normal(size=three.shape)], axis=1)


@pytest.mark.parametrize(("n", "count", "size"), [(60, 8, 1), (60, 5, 3), (20, 9, 4), (12, 3, 30)])
def test_one_decomposition_serves_all_features(n, count, size):
    """Few samples, wide features: the same as a ridge regression on the other features."""
    columns = RNG.normal(size=(n, count * size)) @ RNG.normal(size=(count * size, count * size))
    columns -= columns.mean(axis=0)
    new = RNG.normal(size=(7, count * size))
    ridge = Ridge(columns)
    weight = float(ridge.ridges[1])
    found = ridge.left_with(weight, new, count)
    for feature in range(count):
        own = np.zeros(count * size, dtype=bool)
        own[feature * size : (feature + 1) * size] = True
        one = OneRidge(alpha=weight, fit_intercept=False).fit(columns[:, ~own], columns[:, own])
        expected = new[:, own] - one.predict(new[:, ~own]).reshape(7, size)
        np.testing.assert_allclose(found[:, feature], expected, rtol=1e-6, atol=1e-8)


def test_predictions_are_those_of_one_ridge_regression():
    columns = made_of(RNG.normal(size=(50, 3)))
    columns -= columns.mean(axis=0)
    targets, new = RNG.normal(size=(50, 4)), RNG.normal(size=(6, 12))
    ridge = Ridge(columns)
    found = ridge.predict(targets, new)
    one = [OneRidge(alpha=a, fit_intercept=False).fit(columns, targets) for a in ridge.ridges]
    tried = np.stack([fitted.predict(new) for fitted in one])
    assert np.isclose(tried, found).all(axis=1).any(axis=0).all()  # one ridge for every target


def test_shares_of_known_data():
    rows = made_of(RNG.normal(size=(2000, 3)))
    halves = KeptSamples(rows[:1000]), KeptSamples(rows[1000:])
    kept = np.array([0, 1, 2, 6, 9])  # the sources, a near copy of the first, and noise
    found = predict_features(*halves, kept, None)
    np.testing.assert_allclose(found.shares[3:6], 1, atol=1e-4)
    np.testing.assert_allclose(found.shares[7:9], 1 / 1.01, atol=0.01)
    np.testing.assert_allclose(found.shares[10:], 0, atol=0.01)
    # Of kept features: from the others, so that only the copied one and its copy are redundant.
    np.testing.assert_allclose(found.shares[[0, 6]], 1 / 1.01, atol=0.01)
    np.testing.assert_allclose(found.shares[[1, 2, 9]], 0, atol=0.02)
    assert found.alike[[0, 3]].tolist() == [3, 0]


def test_units_weights_and_complex_numbers():
    rows = made_of(RNG.normal(size=(300, 3)))
    halves = KeptSamples(rows[:150]), KeptSamples(rows[150:])
    kept = np.array([0, 1, 6])
    plain = predict_features(*halves, kept, None)
    units = 10.0 ** np.array([0, 3, -3] * 4)
    scaled = predict_features(*(KeptSamples(h.rows * units + units) for h in halves), kept, None)
    np.testing.assert_allclose(scaled.shares, plain.shares, atol=1e-9)
    # A sample of weight two counts like two.
    twice = [KeptSamples(np.concatenate([h.rows, h.rows[:20]])) for h in halves]
    weights = np.r_[np.full(20, 2.0), np.ones(130)]
    heavy = [KeptSamples(h.rows, weights) for h in halves]
    expected, found = (predict_features(*some, kept, None) for some in (twice, heavy))
    np.testing.assert_allclose(found.shares, expected.shares, atol=2e-3)
    # The same real numbers in both parts.
    both = [KeptSamples(h.rows * (1 + 1j)) for h in halves]
    np.testing.assert_allclose(predict_features(*both, kept, None).shares, plain.shares, atol=1e-3)


def test_channels_and_constants():
    sources = RNG.normal(size=(200, 2, 30))
    data = np.concatenate([sources, sources[:, :1] - sources[:, 1:], np.ones((200, 1, 30))], axis=1)
    data = np.concatenate([data, sources[:, :1]], axis=1)
    halves = KeptSamples(data[::2]), KeptSamples(data[1::2])
    found = predict_features(*halves, np.array([0, 1, 3, 4]), 0)
    assert found.shares[2] > 0.99
    assert np.isnan(found.shares[3])
    assert found.shares[[0, 4]].min() > 0.95
    assert found.shares[1] < 0.05
    assert found.alike.tolist() == [3, found.alike[1], -1, 0]


def test_nothing_to_say():
    few = KeptSamples(RNG.normal(size=(10, 4)))
    assert missed_of(few, np.arange(4), 2, None) is None
    some = KeptSamples(RNG.normal(size=(40, 4)))
    assert missed_of(some, np.arange(4), 4, None) is None
    alone = missed_of(some, np.arange(4), 1, None)
    assert (alone["alike"], alone["samples"]) == ([None], 40)
    constant = missed_of(KeptSamples(np.ones((40, 4)) * np.arange(4)), np.arange(4), 2, None)
    assert constant is None or constant["alike"] == [None, None]


def content_of(page):
    return json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL)[1])


def test_reports_of_small_data_say_how_sure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", load_digits().data[:60])
    run = ["report", "x.npy", "-k", "9", "--no-alternatives", "--overwrite", "-o", "r.html"]
    assert main(run) == 0
    assert "of 20 half-samples" in capsys.readouterr().out
    found = content_of((tmp_path / "r.html").read_text())
    assert "20 half-samples" in found["stability"][0]
    assert found["missed"]["count"] == 9
    assert main([*run, "--no-stability"]) == 0
    assert content_of((tmp_path / "r.html").read_text())["stability"] is None
    assert main([*run, "--stability", "4"]) == 0
    assert "4 half-samples" in content_of((tmp_path / "r.html").read_text())["stability"][0]
    assert main([*run, "--stability", "4", "--no-stability"]) == 2
    # A method that may be slow is not fitted again unless asked.
    assert main([*run, "--method", "variance"]) == 0
    assert content_of((tmp_path / "r.html").read_text())["stability"] is None


def test_reports_of_unscaled_and_scaled_fits_differ_by_units():
    """With scale="feature" every feature has the same share in the variance."""
    X = RNG.normal(size=(80, 6)) * 10.0 ** np.arange(6)
    parts = []
    for scale in (None, "feature"):
        found = content_of(make_report(GeometrySelector(2, scale=scale).fit(X), X))["missed"]
        import base64

        parts.append(np.frombuffer(base64.b64decode(found["variance"]), "<f4"))
    assert parts[0].max() > 0.9
    np.testing.assert_allclose(parts[1], 1 / 6, rtol=0.1)
    assert isinstance(STPCASelector(2).fit(X)._deviations, type(None))


def test_gaps_weights_groups_and_complex_samples_are_reported():
    """What was not observed is not judged; whole groups are held out; parts of complex numbers."""
    X = made_of(RNG.normal(size=(120, 3)))
    gaps = X.copy()
    gaps[RNG.random(X.shape) < 0.1] = np.nan
    gaps[:, :3] = X[:, :3]
    kept = Constraints(include=[0, 1, 2])
    found = content_of(
        make_report(ColumnSubsetSelector(3, missing="allow", constraints=kept).fit(gaps), gaps)
    )["missed"]
    shares = np.frombuffer(base64.b64decode(found["predicted"]), "<f4")
    np.testing.assert_allclose(shares[3:6], 1, atol=0.01)
    assert shares[10:].max() < 0.2
    grouped = TensorDataset(X, groups=np.repeat(np.arange(20), 6), weights=np.ones(120))
    fitted = GeometrySelector(3).fit(grouped, groups=grouped.groups)
    assert content_of(make_report(fitted, grouped))["missed"]["samples"] == 120
    turned = X.reshape(120, 4, 3) * np.exp(1j)
    fitted = ColumnSubsetSelector(3, constraints=kept).fit(turned)
    shares = content_of(make_report(fitted, turned))["missed"]["predicted"]
    shares = np.frombuffer(base64.b64decode(shares), "<f4")
    np.testing.assert_allclose(shares[3:6], 1, atol=0.01)


def test_held_out_groups_are_whole():
    """What tells the groups apart predicts nothing of a group that was held out."""
    of_groups = RNG.normal(size=(20, 21))  # a mark of 20 numbers for each group, and its value
    rows = np.repeat(of_groups, 4, axis=0) + 0.01 * RNG.normal(size=(80, 21))
    shares = []
    for groups in (None, np.repeat(np.arange(20), 4)):
        found = missed_of(KeptSamples(rows, groups=groups), np.arange(21), 20, None)
        shares.append(np.frombuffer(base64.b64decode(found["predicted"]), "<f4")[20])
    assert shares[0] > 0.9
    assert shares[1] < 0.3


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (QRSensorSelector(3), "picked one after another"),
        (ColumnSubsetSelector(3), "can be predicted best"),
        (VarianceSelector(3), "with the largest scores"),
        (VarianceSelector(3, selection="geometry"), "similar samples agree"),
    ],
)
def test_the_rule_is_that_of_the_method(selector, words):
    X = RNG.normal(size=(40, 8))
    assert words in content_of(make_report(selector.fit(X), X))["views"][0]["rule"]
    found = compare_selectors(X, [selector], n_features_to_select=3, n_resamples=2)
    if selector.selection == "top":
        assert words in content_of(make_report(None, X, comparison=found))["views"][0]["rule"]
