"""Pictures, pages and commands for samples with missing values."""

import csv
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import GeometrySelector, STPCASelector, compare_selectors, stability_selection
from tensift.cli import main
from tensift.datasets import TensorDataset
from tensift.plotting import MissingDisplay, ReconstructionDisplay, SelectionDisplay
from tensift.report import make_report
from tensift.rivals import VarianceSelector

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gappy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 30)) + 0.1 * rng.normal(size=(60, 30))
    X = X.reshape(60, 5, 6)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 1] = np.nan
    X[4] = np.nan
    return X


def test_the_display_shows_shares():
    X = gappy()
    display = MissingDisplay.from_samples(X, dims=("row", "column"), ax=Figure().subplots())
    assert_allclose(display.elements, np.isnan(X).mean(axis=0))
    assert_allclose(display.samples_ax_.lines[0].get_ydata(), np.isnan(X).mean(axis=(1, 2)))
    assert_allclose(display.ax_.images[0].get_array(), np.isnan(X).mean(axis=0))
    assert display.ax_.get_xlabel() == "column"


def test_the_display_of_an_estimator():
    X = gappy()
    fitted = GeometrySelector(4, missing="allow").fit(X)
    display = MissingDisplay.from_estimator(fitted, ax=Figure().subplots())
    assert_allclose(display.elements, np.isnan(np.delete(X, 4, axis=0)).mean(axis=0))
    assert display.samples_ax_ is None
    whole = GeometrySelector(4).fit(np.nan_to_num(X))
    with pytest.raises(ValueError, match="missing='allow'"):
        MissingDisplay.from_estimator(whole)


def test_pictures_and_pages_of_selections():
    X = gappy()
    data = TensorDataset(X, name="gaps")
    for selector in (STPCASelector(4, missing="allow"), GeometrySelector(4, missing="allow")):
        fitted = selector.fit(X)
        assert SelectionDisplay(fitted, X).plot(Figure()) is not None
        assert "<html" in make_report(fitted, data)[:200]
    refused = STPCASelector(4).fit(np.nan_to_num(X))
    with pytest.raises(ValueError, match="finite"):
        make_report(refused, data)


def test_land_is_not_counted(here, capsys):
    X = gappy()
    selector = GeometrySelector(4, missing="allow").fit(X)
    found = compare_selectors(X, ["geometry"], 4, missing="allow", n_resamples=2, n_seeds=1)
    for page in (make_report(selector, X), make_report(None, X, comparison=found)):
        assert '"selectable":24,' in page.replace(" ", "")
    figure = SelectionDisplay(selector, X).plot(Figure()).figure_
    assert figure.get_suptitle() == "4 of 24 features kept"
    np.save("x.npy", X)
    command = ["x.npy", "-k", "4", "--method", "geometry", "--missing", "allow"]
    assert main(["select", *command, "--no-figure"]) == 0
    assert "selected  4 of 24 elements" in capsys.readouterr().out
    assert main(["report", *command]) == 0
    assert "kept      4 of 24 features" in capsys.readouterr().out


def test_reconstructions_of_samples_with_gaps():
    X = gappy()
    fitted = GeometrySelector(4, missing="allow").fit(X[:50])
    display = ReconstructionDisplay.from_estimator(fitted, X[50:], figure=Figure())
    new, found = X[50:54], fitted.reconstruct(fitted.transform(X[50:54]))
    mean = fitted.reconstruct(np.full((1, 4), np.nan))
    lost, energy = (np.nansum((new - one) ** 2, axis=(1, 2)) for one in (found, mean))
    assert_allclose(display.errors_, lost / energy)
    for row in display.axes_:
        for ax in row:
            assert np.isfinite(ax.images[0].get_clim()).all()
            assert np.ma.masked_invalid(ax.images[0].get_array()).mask[1].all()


def test_stability_with_gaps():
    found = stability_selection(STPCASelector(4, missing="allow"), gappy(), n_resamples=4)
    assert not found.supports.reshape(-1, 5, 6)[:, 1].any()
    with pytest.raises(ValueError, match="NaN"):
        stability_selection(STPCASelector(4), gappy(), n_resamples=4)


def test_comparisons_fill_once_and_say_so():
    X = gappy()
    settings = {"n_features_to_select": 4, "n_resamples": 2, "n_seeds": 1}
    found = compare_selectors(X, [VarianceSelector()], missing="allow", **settings)
    assert any("estimates in their place" in note for note in found.notes)
    assert set(found.features["VarianceSelector"]).isdisjoint(range(6, 12))
    with pytest.raises(ValueError, match="missing='allow'"):
        compare_selectors(X, [VarianceSelector()], **settings)
    with pytest.raises(ValueError, match="missing must be 'raise' or 'allow'"):
        compare_selectors(X, [VarianceSelector()], missing="drop", **settings)


def test_info_says_how_much_is_missing_and_where(here, capsys):
    X = gappy()
    np.save("gaps.npy", X)
    assert main(["info", "gaps.npy", "--figure", "where.png"]) == 0
    out = capsys.readouterr().out
    share = 100 * np.isnan(X).mean()
    assert f"{np.isnan(X).sum()} NaN, 0 infinite ({share:.3g} % NaN)" in out
    assert "6 of 30 elements were never observed" in out
    assert "1 sample has no value" in out
    assert "mode 0: most at 1 (100 %)" in out
    assert "samples: most at 4 (100 %)" in out
    assert "--missing allow" in out
    assert (here / "where.png").read_bytes().startswith(b"\x89PNG")
    assert main(["info", "gaps.npy", "--figure", "where.png"]) != 0
    assert main(["info", "gaps.npy", "--figure", "where.txt"]) != 0
    assert "must end in .png" in capsys.readouterr().err


def test_select_report_and_compare_allow_gaps(here, capsys):
    X = gappy()
    np.save("gaps.npy", X)
    assert main(["select", "gaps.npy", "-k", "4"]) != 0
    assert "--missing allow" in capsys.readouterr().err
    assert main(["select", "gaps.npy", "-k", "4", "--missing", "allow", "-o", "out"]) == 0
    said = capsys.readouterr()
    assert "% of the values are missing" in said.out + said.err
    expected = STPCASelector(4, missing="allow").fit(X)
    assert_array_equal(np.load("out/selected.npy"), expected.get_support(indices=True))
    assert json.loads((here / "out/settings.json").read_text())["parameters"]["missing"] == "allow"
    assert main(["report", "gaps.npy", "--missing", "allow", "-o", "page.html"]) == 0
    assert (here / "page.html").stat().st_size > 10_000
    few = ["--resamples", "2", "--seeds", "1", "--methods", "variance", "--no-figure"]
    assert main(["compare", "gaps.npy", "-k", "4", "--missing", "allow", "-o", "c", *few]) == 0
    with open("c/selected.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) >= 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "laplacianscore"], "--missing is not an option of LaplacianScore"),
        (["--checkpoint", "moments.npz"], "checkpoint cannot be used with missing='allow'"),
    ],
    ids=["method", "checkpoint"],
)
def test_what_does_not_go_together(here, capsys, options, message):
    np.save("gaps.npy", gappy())
    assert main(["select", "gaps.npy", "-k", "4", "--missing", "allow", *options]) != 0
    assert message in capsys.readouterr().err


def test_land_needs_no_position_on_the_command_line(here, capsys):
    X = gappy()
    np.save("x.npy", X)
    rows = [f"{i} {j},{j},{i}" for i in (0, 2, 3, 4) for j in range(6)]
    (here / "places.csv").write_text("feature,x,y\n" + "\n".join(rows))
    limits = ["--constraints", "places.csv", "--min-distance", "2.5"]
    command = ["select", "x.npy", "-k", "4", "--method", "geometry", "--no-figure", *limits]
    assert main([*command, "--missing", "allow"]) == 0
    kept = np.load("x.npy-tensift/selected.npy")
    places = np.column_stack(np.unravel_index(kept, (5, 6)))
    distances = np.linalg.norm(places[:, None] - places, axis=-1)
    assert distances[np.triu_indices(4, 1)].min() >= 2.5
    capsys.readouterr()
    (here / "places.csv").write_text("feature,x,y\n" + "\n".join(rows[:-1]))
    assert main([*command, "--missing", "allow", "--overwrite"]) == 1
    assert "positions has none for the feature 'x4_5', but min_dis" in capsys.readouterr().err
