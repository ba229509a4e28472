"""Pictures show the selection, names are text, and neither costs results or inputs."""

import io
import os
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from tensift import STPCASelector, TensorPCA, stability_selection, stpca_path
from tensift.cli import main
from tensift.comparison import compare_selectors
from tensift.metrics import evaluate_selection
from tensift.plotting import (
    ChannelRankingDisplay,
    ComparisonDisplay,
    ComponentMapDisplay,
    ComponentsDisplay,
    EnergyDisplay,
    EvaluationDisplay,
    PathDisplay,
    ReconstructionDisplay,
    ScoreCurveDisplay,
    ScoreMapDisplay,
    SelectedFeaturesDisplay,
    SelectionCurveDisplay,
    SelectionDisplay,
)
from tensift.rivals import VarianceSelector
from tensift.selection import SuggestedCount

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 3, 5)) * np.linspace(0.5, 2, 5)
ONE = np.array([0.5])
CUBE = RNG.normal(size=(12, 2, 3, 4))
NAMES = [
    "price ($)",
    "$_$",
    "$$",
    "a\\b",
    "x^{2",
    "}{",
    "$\\frac$",
    "a\x1b[2Jb",
    "\udc80",
    "_hidden",
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts_of(figure):
    """Draw a figure as PNG and SVG, and return all its texts as they are drawn."""
    for format in ("png", "svg"):
        stream = io.BytesIO()
        figure.savefig(stream, format=format)
    ElementTree.fromstring(stream.getvalue())
    found = figure.findobj(lambda artist: hasattr(artist, "_preprocess_math"))
    return [text._preprocess_math(text.get_text()) for text in found if text.get_text()]


def is_plain(figure, name):
    """Whether a figure can be drawn, shows the name, and takes nothing for mathematics."""
    drawn = texts_of(figure)
    # Powers of ten on logarithmic axes are mathematics.
    assert not any(math for text, math in drawn if "mathdefault" not in text)
    shown = name.replace("\x1b", "\\x1b").replace("\udc80", "\\udc80")
    return any(shown in text for text, _ in drawn)


class TestNames:
    """Names are text, never mathematics."""

    @pytest.mark.parametrize("name", NAMES)
    def test_selections_of_elements_and_of_channels(self, name):
        dims, coords = (name, "time"), {name: [name, "b", "c"]}
        for mode in (None, 0, 1):
            selector = STPCASelector(2, lam=1, eta=1, feature_mode=mode).fit(X)
            display = SelectionDisplay(selector, X, title=name, dims=dims, coords=coords)
            assert is_plain(display.plot(Figure()).figure_, name)

    @pytest.mark.parametrize("name", NAMES)
    def test_cubes(self, name):
        dims, coords = (name, "row", "column"), {name: [name, "b"]}
        selector = STPCASelector(3, lam=1, eta=1).fit(CUBE)
        for kind in (ScoreMapDisplay.from_estimator, SelectedFeaturesDisplay.from_estimator):
            given = () if kind == ScoreMapDisplay.from_estimator else (CUBE,)
            ax = Figure().subplots()
            display = kind(selector, *given, dims=dims, coords=coords, ax=ax)
            assert is_plain(display.figure_, name)
        traces = STPCASelector(2, lam=1, eta=1, feature_mode=2).fit(CUBE)
        ax = Figure().subplots()
        SelectedFeaturesDisplay.from_estimator(traces, CUBE, dims=dims, coords=coords, ax=ax)
        assert is_plain(ax.figure, name)
        path = stpca_path(CUBE, [0.1, 1.0], [0.1])
        figure = PathDisplay.from_path(path, dims=dims, coords=coords, figure=Figure()).figure_
        assert is_plain(figure, name)

    @pytest.mark.parametrize("name", NAMES)
    def test_given_titles_and_labels(self, name):
        suggested = SuggestedCount(1, name, "neighbours kept", ONE, ONE, 1, 4)
        figures = [
            ChannelRankingDisplay([1.0, 2.0], [1, 0], names=[name, "b"], title=name),
            ChannelRankingDisplay([1.0, 2.0], [1, 0], selection=name),
            ScoreCurveDisplay([1.0, 2.0], 1, selection=name),
            ScoreMapDisplay([1.0, 2.0], quantity=name),
            ScoreMapDisplay(np.eye(3), quantity=name),
            SelectionCurveDisplay([0.5, 0.8], 4, 2, suggested=suggested),
            SelectionCurveDisplay([0.5, 0.8], 4, 2, measure=name),
            ComponentMapDisplay(RNG.normal(size=(4, 2)), labels=[name, "b", "b", name]),
            ComponentMapDisplay(RNG.normal(size=(4, 2)), axis_titles=(name, "b")),
        ]
        labels = np.repeat([0, 1], 12)
        scored = evaluate_selection(X, labels, np.arange(15), counts=[2, 4], n_repeats=1)
        figures.append(EvaluationDisplay({name: scored}))
        for display in figures:
            assert is_plain(display.plot(Figure().subplots()).figure_, name)

    @pytest.mark.parametrize("name", NAMES)
    def test_decompositions(self, name):
        dims, coords = (name, "time"), {name: [name, "b", "c"]}
        pca = TensorPCA(3).fit(X)
        given = {"dims": dims, "coords": coords}
        assert is_plain(
            ComponentsDisplay.from_estimator(pca, figure=Figure(), **given).figure_, name
        )
        ax = Figure().subplots()
        texts_of(EnergyDisplay.from_estimator(pca, ax=ax, **given).figure_)
        ax = Figure().subplots()
        texts_of(ComponentMapDisplay.from_estimator(pca, X, ax=ax, **given).figure_)
        display = ReconstructionDisplay(X[:1], X[:1], titles=[name], **given)
        assert is_plain(display.plot(Figure()).figure_, name)

    @pytest.mark.parametrize("name", ["$_$", "price ($) and ($)", "_hidden"])
    def test_comparisons_and_stability(self, name):
        found = compare_selectors(X, {name: VarianceSelector(3)}, 3, n_resamples=2, n_seeds=1)
        dims, coords = (name, "time"), {name: [name, "b", "c"]}
        display = ComparisonDisplay(found, title=name, dims=dims, coords=coords)
        assert is_plain(display.plot(Figure()).figure_, name)
        stable = stability_selection(VarianceSelector(2, feature_mode=0), X, n_resamples=4)
        figure = stable.plot(dims=dims[:1], coords=coords, figure=Figure()).figure_
        assert is_plain(figure, name)

    @pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
    def test_columns_of_a_table(self, here, capsys, suffix):
        head = ",".join(f'"{name}"' for name in ("price ($)", "$_$", "\\", "x^{", "}"))
        rows = "\n".join(",".join(map(repr, row)) for row in RNG.normal(size=(20, 5)).tolist())
        (here / "$_$.csv").write_text(f"{head}\n{rows}\n")
        command = ["select", "$_$.csv", "-k", "2", "--header", "--format", suffix, "-o", "out"]
        assert main(command) == 0
        assert capsys.readouterr().err == ""
        assert (here / "out" / f"selection.{suffix}").stat().st_size > 0


def broken(*_, **__):
    raise RuntimeError("no ink\nand more lines")


class TestFailedPictures:
    """A drawing that fails costs no results, only a line of warning."""

    def lines(self, capsys):
        return capsys.readouterr().err.splitlines()

    def test_selections(self, here, monkeypatch, capsys):
        np.save("x.npy", X)
        assert main(["select", "x.npy", "-k", "4", "-o", "whole", "--stability", "4"]) == 0
        capsys.readouterr()
        monkeypatch.setattr("tensift.plotting.SelectionDisplay.plot", broken)
        monkeypatch.setattr("tensift.plotting.StabilityDisplay.plot", broken)
        monkeypatch.setattr("tensift.cli._pages.make_report", broken)
        command = ["select", "x.npy", "-k", "4", "-o", "out", "--stability", "4", "--report"]
        assert main(command) == 0
        lines = self.lines(capsys)
        assert [line.split()[2] for line in lines] == [
            "selection.png",
            "stability.png",
            "report.html",
        ]
        assert all("no ink" in line for line in lines)
        tables = ["ranking.csv", "scores.npy", "selected.npy", "settings.json", "stability.csv"]
        assert sorted(path.name for path in (here / "out").iterdir()) == tables
        for name in tables:
            assert (here / "out" / name).read_bytes() == (here / "whole" / name).read_bytes()

    def test_an_old_picture_does_not_stay_with_new_results(self, here, monkeypatch, capsys):
        np.save("x.npy", X)
        assert main(["select", "x.npy", "-k", "4", "-o", "out"]) == 0
        monkeypatch.setattr("tensift.plotting.SelectionDisplay.plot", broken)
        assert main(["select", "x.npy", "-k", "3", "-o", "out", "--overwrite"]) == 0
        assert not (here / "out" / "selection.png").exists()
        assert len(np.load(here / "out" / "selected.npy")) == 3

    def test_comparisons(self, here, monkeypatch, capsys):
        np.save("x.npy", X)
        monkeypatch.setattr("tensift.plotting.ComparisonDisplay.plot", broken)
        monkeypatch.setattr("tensift.cli._pages.make_report", broken)
        command = ["compare", "x.npy", "-k", "4", "--methods", "mcfs", "--resamples", "2"]
        assert main([*command, "--report", "-o", "out"]) == 0
        lines = [line for line in self.lines(capsys) if "no ink" in line]
        assert [line.split()[2] for line in lines] == ["comparison.png", "report.html"]
        names = {path.name for path in (here / "out").iterdir()}
        assert {"comparison.csv", "comparison.md", "selected.csv", "settings.json"} <= names
        assert "comparison.png" not in names

    def test_the_paper(self, here, monkeypatch, capsys):
        monkeypatch.setattr("tensift.cli._figures.save_figure", broken)
        assert main(["paper", "synthetic", "--fast", "-o", "out"]) == 0
        assert any("synthetic.png could not be drawn" in line for line in self.lines(capsys))
        names = {path.name for path in (here / "out").iterdir()}
        assert "synthetic.json" in names
        assert "synthetic.png" not in (here / "out" / "synthetic.md").read_text(encoding="utf-8")


class TestInputsAreSafe:
    """No command writes over a file that it reads."""

    @pytest.fixture(autouse=True)
    def files(self, here):
        np.save("scores.npy", X)
        np.save("basis.npy", np.eye(5))
        np.save("labels.npy", np.repeat([0, 1], 12))
        os.symlink("scores.npy", "link.html")
        os.symlink(".", "same")
        self.before = {path.name: path.read_bytes() for path in here.glob("*.npy")}
        yield
        assert {path.name: path.read_bytes() for path in here.glob("*.npy")} == self.before
        assert os.readlink("link.html") == "scores.npy"

    @pytest.mark.parametrize(
        "command",
        [
            "report scores.npy -k 2 -o scores.npy --overwrite",
            "report scores.npy -k 2 -o ./same/scores.npy --overwrite",
            "report scores.npy -k 2 -o link.html --overwrite",
            "report link.html -k 2 -o scores.npy --overwrite",
            "report scores.npy -k 2 -o basis.npy --basis basis.npy --overwrite",
            "report scores.npy -k 2 -o labels.npy --labels labels.npy --overwrite",
            "report scores.npy -k 2 -o new.html --checkpoint new.html",
            "select scores.npy -k 2 -o .",
            "select scores.npy -k 2 -o . --overwrite",
            "select scores.npy -k 2 -o same --overwrite",
            "select scores.npy -k 2 --checkpoint scores.npy",
            "select scores.npy -k 2 --checkpoint link.html",
            "select scores.npy -k 2 --labels labels.npy --checkpoint labels.npy",
            "select scores.npy -k 2 --basis basis.npy --checkpoint basis.npy",
            "select scores.npy -k 2 -o new --checkpoint new/scores.npy",
        ],
    )
    def test_outputs_that_are_inputs(self, here, capsys, command):
        before = sorted(here.iterdir())
        assert main(command.split()) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "this is the input" in captured.err
        assert "--overwrite" not in captured.err
        assert sorted(here.iterdir()) == before

    @pytest.mark.parametrize(
        "name", ["selected.csv", "comparison.md", "cells.jsonl", "report.html"]
    )
    def test_comparisons(self, here, capsys, name):
        (here / name).write_text("\n".join(map(str, [0, 1] * 12)))
        before = (here / name).read_bytes()
        command = ["compare", "scores.npy", "-k", "2", "--labels", name, "-o", ".", "--overwrite"]
        assert main(command) == 1
        assert "this is the input" in capsys.readouterr().err
        assert (here / name).read_bytes() == before

    @pytest.mark.parametrize("command", ["select", "compare", "report"])
    def test_inputs_that_differ_in_their_suffix(self, here, capsys, command):
        table = X.reshape(24, -1)
        np.save("a.npy", table)
        np.savetxt("a.csv", table + 1, delimiter=",")
        before = set(here.iterdir())
        options = ["--methods", "mcfs", "--resamples", "2"] if command == "compare" else []
        options += ["--no-alternatives"] if command == "report" else ["--no-figure"]
        for name in ("a.npy", "a.csv"):
            assert main([command, name, "-k", "2", *options]) == 0
        assert len(set(here.iterdir()) - before) == 2
        for name in ("a.npy", "a.csv"):
            (here / name).unlink()
