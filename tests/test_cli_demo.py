"""``tensift demo``: it runs, and what it says is what the library finds."""

import csv

import numpy as np
import pytest

from tensift import STPCASelector
from tensift.cli import _demo, main
from tensift.datasets import load_digits
from tensift.metrics import evaluate_selection


@pytest.fixture
def small_demo(monkeypatch):
    monkeypatch.setattr(_demo, "_COUNTS", (10, 20))
    monkeypatch.setattr(_demo, "_N_REPEATS", 2)
    monkeypatch.setattr(_demo, "_N_RANDOM", 2)


def test_demo(small_demo, tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    digits = load_digits()
    selector = STPCASelector(20).fit(digits.data)
    expected = evaluate_selection(
        digits.data, digits.labels, selector.order_, counts=[10, 20], n_repeats=2, metrics=["acc"]
    )
    assert f"STPCA-MP           {expected.means['acc'][1]:.3f}" in out
    for rival in ("variance", "random", "all 64 pixels"):
        assert rival in out
    assert "STPCA-MP keeps [6, 7, 8]: 3 of 3 right" in out

    with open(tmp_path / "demo" / "tensift-digits.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    ours = [float(row["accuracy"]) for row in rows if row["method"] == "STPCA-MP"]
    np.testing.assert_array_equal(ours, expected.means["acc"])
    best = max(
        (row for row in rows if row["n_features"] in ("20", "64")),
        key=lambda row: float(row["accuracy"]),
    )
    assert f"Best here: {best['method']}." in out
    pictures = sorted((tmp_path / "demo").glob("*.png"))
    assert [path.name for path in pictures] == ["tensift-digits.png", "tensift-orbit.png"]
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert str(path) in out


def test_demo_again_and_quiet(small_demo, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["demo", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert len(list((tmp_path / "demo").iterdir())) == 3


def test_random_is_the_mean_over_draws():
    labels = np.arange(20) % 2
    evaluations = [
        evaluate_selection(
            np.random.default_rng(seed).normal(size=(20, 4)),
            labels,
            [0, 1, 2],
            counts=[1, 3],
            n_repeats=2,
            metrics=["acc"],
        )
        for seed in range(3)
    ]
    mean = _demo._over_draws(evaluations)
    values = [evaluation.means["acc"] for evaluation in evaluations]
    np.testing.assert_allclose(mean.means["acc"], np.mean(values, axis=0))
    np.testing.assert_allclose(mean.stds["acc"], np.std(values, axis=0))
