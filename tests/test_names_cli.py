"""Names on the command line: modes by name, tables with units, and files without names."""

import csv
import json

import numpy as np
import pytest

from tensift import GeometrySelector, STPCASelector
from tensift.cli import main
from tensift.datasets import read_tensor

RNG = np.random.default_rng(9)
VALUES = RNG.normal(size=(40, 4, 12)).cumsum(axis=2)
CHANNELS = ["Fz", "Cz", "Pz", "Oz"]
FAST = ["--method", "geometry", "--no-figure", "--quiet"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("eeg.npz", data=VALUES, ch_names=CHANNELS, sfreq=4.0)
    np.save("plain.npy", VALUES)
    return tmp_path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_elements_have_channels_and_seconds(here):
    assert main(["select", "eeg.npz", "-k", "5", *FAST]) == 0
    order = GeometrySelector(5).fit(VALUES).order_
    rows = rows_of("eeg.npz-tensift/ranking.csv")
    assert list(rows[0]) == [
        "rank", "index", "channel", "time", "channel_name", "time (s)", "score", "selected",
    ]  # fmt: skip
    for row, flat in zip(rows, order, strict=True):
        channel, time = divmod(int(flat), 12)
        assert (row["channel_name"], float(row["time (s)"])) == (CHANNELS[channel], time / 4)
    assert main(["select", "plain.npy", "-k", "5", *FAST]) == 0
    plain = rows_of("plain.npy-tensift/ranking.csv")
    assert list(plain[0]) == ["rank", "index", "mode_0", "mode_1", "score", "selected"]
    assert [row["index"] for row in plain] == [row["index"] for row in rows]


@pytest.mark.parametrize(("mode", "name"), [("channel", "channel {}"), (None, "channel {}, time ")])
def test_reports_say_the_first_features_by_name(here, capsys, mode, name):
    options = [] if mode is None else ["--feature-mode", mode]
    assert main(["report", "eeg.npz", "-k", "2", "--no-alternatives", *options]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("first ")]
    order = STPCASelector(2, feature_mode=None if mode is None else 0).fit(VALUES).order_[:2]
    said = line.removeprefix("first").strip().split("; ")
    for one, flat in zip(said, order, strict=True):
        assert one.startswith(name.format(CHANNELS[flat // 12 if mode is None else flat]))


def test_modes_by_name_and_by_number(here, capsys):
    options = ["-k", "2", "--no-figure", "--stability", "2"]
    by_name = ["--feature-mode", "channel", "--orientation", "time"]
    assert main(["select", "eeg.npz", *options, *by_name, "-o", "a"]) == 0
    out = capsys.readouterr().out
    assert main(["select", "eeg.npz", *options, "--feature-mode", "0", "--orientation", "1",
                 "-o", "b"]) == 0  # fmt: skip
    expected = STPCASelector(2, feature_mode=0, orientation=1).fit(VALUES)
    for folder in "ab":
        rows = rows_of(f"{folder}/ranking.csv")
        assert [row["channel_name"] for row in rows] == [CHANNELS[i] for i in expected.order_]
    assert (here / "a/stability.csv").read_text() == (here / "b/stability.csv").read_text()
    stable = rows_of("a/stability.csv")
    assert list(stable[0])[:3] == ["feature", "channel", "channel_name"]
    assert all(row["name"] == f"channel {row['channel_name']}" for row in stable)
    assert "orientation 1 (time)" in out
    assert f"channel {CHANNELS[expected.order_[0]]}" in out

    settings = json.loads((here / "a/settings.json").read_text())
    assert settings["input"]["dims"] == ["channel", "time"]
    assert settings["input"]["units"] == {"time": "s"}
    assert settings["parameters"]["feature_mode"] == "channel"
    # The printed code makes the same selection, with names in both cases.
    for folder in "ab":
        lines = json.loads((here / folder / "settings.json").read_text())["python"]
        assert "feature_mode='channel', orientation='time'" in lines[1]
        space = {}
        exec(lines[0].replace("; ", "\n"), space)
        again = eval(lines[1], space)
        np.testing.assert_array_equal(again.order_, expected.order_)


def test_a_checkpoint_keeps_names(here):
    options = ["select", "eeg.npz", "-k", "2", "--no-figure", "--quiet", "--feature-mode",
               "channel", "--orientation", "time"]  # fmt: skip
    for folder in "ab":
        assert main([*options, "--checkpoint", "sums", "-o", folder]) == 0
    assert main([*options, "-o", "c"]) == 0
    texts = {(here / folder / "ranking.csv").read_text() for folder in "abc"}
    assert len(texts) == 1
    assert "channel_name" in texts.pop()


@pytest.mark.parametrize(
    "arguments",
    [
        ["select", "eeg.npz", "-k", "2", "--feature-mode", "chanel"],
        ["report", "eeg.npz", "-k", "2", "--feature-mode", "chanel"],
        ["compare", "eeg.npz", "-k", "2", "--feature-mode", "chanel"],
        ["select", "eeg.npz", "-k", "2", "--orientation", "chanel"],
        ["select", "eeg.npz", "-k", "2", "--include", "Cz", "--feature-mode", "chanel"],
        ["plan", "--file", "eeg.npz", "--orientation", "chanel"],
    ],
)
def test_a_misspelt_name_is_one_line_with_the_nearest(here, capsys, arguments):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "='chanel' is not a feature mode of the samples" in error
    assert error.endswith("did you mean 'channel'?\n")


def test_compare(here):
    options = ["-k", "2", "--methods", "geometry", "--resamples", "2", "--seeds", "1", "--quiet",
               "--no-figure", "--report"]  # fmt: skip
    assert main(["compare", "eeg.npz", "--feature-mode", "channel", *options]) == 0
    rows = rows_of("eeg.npz-compare/selected.csv")
    assert list(rows[0])[:6] == ["method", "rank", "index", "channel", "channel_name", "feature"]
    for row in rows:
        assert row["channel_name"] == CHANNELS[int(row["index"])]
        assert row["feature"] == f"channel {row['channel_name']}"
    page = (here / "eeg.npz-compare/report.html").read_text()
    assert "compare_selectors(read_tensor('eeg.npz'), " in page
    assert "feature_mode='channel'" in page
    assert main(["compare", "plain.npy", "--feature-mode", "0", *options]) == 0
    assert list(rows_of("plain.npy-compare/selected.csv")[0])[3:5] == ["mode_0", "feature"]
    assert "feature_mode=0" in (here / "plain.npy-compare/report.html").read_text()


def test_report_and_picture(here, capsys):
    pytest.importorskip("matplotlib")
    assert main(["report", "eeg.npz", "-k", "4", "--no-alternatives", "-o", "page.html"]) == 0
    assert '"titles":["channel","time (s)"]' in (here / "page.html").read_text()
    options = ["-k", "4", "--method", "geometry", "--format", "svg", "--stability", "2"]
    assert main(["select", "eeg.npz", *options]) == 0
    for name in ("selection", "stability"):
        # Text is drawn as paths, each with the text in a comment.
        picture = (here / f"eeg.npz-tensift/{name}.svg").read_text()
        assert "<!-- time (s) -->" in picture
        assert "<!-- channel -->" in picture
    assert main(["select", "plain.npy", *options]) == 0
    assert "<!-- mode 1 -->" in (here / "plain.npy-tensift/selection.svg").read_text()


def test_plan(here, capsys):
    assert main(["plan", "--file", "eeg.npz", "--orientation", "time", "--seconds", "0.1"]) == 0
    out = capsys.readouterr().out
    assert "orientation 1 (time): 4 slices of 12 features" in out
    assert "\n0 (channel) " in out
    assert main(["plan", "--file", "plain.npy", "--orientation", "1", "--seconds", "0.1"]) == 0
    assert "orientation 1: 4 slices of 12 features" in capsys.readouterr().out


def test_info(here, capsys):
    np.savez(
        "cube.npz", data=VALUES, dims=["place", "band"], coords_band=np.arange(12), units_band="nm"
    )
    assert main(["info", "cube.npz"]) == 0
    out = capsys.readouterr().out
    assert "mode      band (nm), length 12: 0, 1, 2, 3, 4, 5, ...\n" in out
    assert "--feature-mode band" in out
    assert main(["info", "eeg.npz"]) == 0
    out = capsys.readouterr().out
    assert "mode      time (s), length 12: 0, 0.25" in out
    assert "--feature-mode channel" in out
    assert main(["info", "plain.npy"]) == 0
    assert "mode 1    length 12\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["none", "None", "3", "1_0", "-x"])
def test_a_suggested_command_works_for_any_name(here, capsys, name):
    np.savez("odd.npz", data=VALUES, dims=[name, "time"], feature_mode=0)
    assert main(["info", "odd.npz"]) == 0
    assert "--feature-mode 0" in capsys.readouterr().out
    assert read_tensor("odd.npz").dims[0] == name
