"""``tensift info``: facts about a file, counted independently."""

import shlex

import numpy as np
import pytest
import scipy.io

from tensift._utils.units import format_bytes
from tensift.cli import _input, main

RNG = np.random.default_rng(3)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def info(capsys, *arguments):
    assert main(["info", *arguments]) == 0
    return capsys.readouterr().out


def line_of(out, start):
    return next(line for line in out.splitlines() if line.startswith(start))


def test_shape_range_and_missing_values_in_chunks(here, capsys, monkeypatch):
    X = RNG.normal(size=(50, 6, 20))
    X[4, 2, 3], X[30, 0, 0], X[31, 0, 0] = np.nan, np.inf, -np.inf
    X[49, 5, 19] = 77.5
    np.save("x.npy", X)
    monkeypatch.setattr(_input, "_CHUNK_BYTES", 8 * 6 * 20 * 7)
    out = info(capsys, "x.npy")
    assert "50 samples of 6 x 20, float64" in out
    low = np.nanmin(np.where(np.isinf(X), np.nan, X))
    assert line_of(out, "values").split(maxsplit=1)[1] == f"{low:.6g} to 77.5"
    assert "1 NaN, 2 infinite" in out
    assert "select refuses them" in out


def test_orientations(here, capsys):
    np.save("x.npy", RNG.normal(size=(10, 6, 20)))
    out = info(capsys, "x.npy")
    table = out.split("kept as\n")[1].splitlines()
    assert table[0].split() == ["0", "6", "20", "5.76", "kB", "dense"]  # 20 * 6**2 * 8 bytes
    assert table[1].split() == ["1", "20", "6", "19.2", "kB", "thin", "factors"]


def test_names_labels_and_features(here, capsys):
    np.savez(
        "x.npz",
        data=RNG.normal(size=(6, 2, 8)),
        labels=["a", "b", "b", "b", "a", "b"],
        dims=["channel", "time"],
        coords_channel=["left", "right"],
        coords_time=np.arange(8) / 4,
        feature_mode=0,
    )
    out = info(capsys, "x.npz")
    assert "2 classes: a (2), b (4)" in out
    assert "channel, length 2: left, right\n" in out
    assert "time, length 8: 0, 0.25, 0.5, 0.75, 1, 1.25, ...\n" in out
    assert "the indices of channel (from the file)" in out
    assert line_of(out, "0 (channel)").split()[2:4] == ["2", "8"]


def test_many_classes_and_complex_values(here, capsys):
    np.savez("x.npz", data=np.full((12, 3, 3), 3 + 4j), labels=np.arange(12))
    out = info(capsys, "x.npz")
    assert line_of(out, "labels").endswith("7 (1), ...")
    assert line_of(out, "moduli").split(maxsplit=1)[1] == "5 to 5"


@pytest.mark.parametrize("dtype", [np.uint8, bool, np.float32])
def test_other_types(here, capsys, dtype):
    np.save("x.npy", np.ones((5, 3), dtype=dtype))
    assert f"5 samples of 3, {np.dtype(dtype)}" in info(capsys, "x.npy")


def test_nothing_finite(here, capsys):
    np.save("x.npy", np.full((5, 3), np.nan))
    assert "nan to nan" in info(capsys, "x.npy")


def test_the_suggested_command_runs(here, capsys):
    np.savez("my data.npz", first=RNG.normal(size=(3, 4, 30)), second=np.zeros((3, 3)))
    out = info(capsys, "my data.npz", "--variable", "first", "--sample-axis", "2", "--quiet")
    command = shlex.split(line_of(out, "try").removeprefix("try"))
    assert command[0] == "tensift"
    assert main([*command[1:], "--no-figure"]) == 0
    assert np.load("my data.npz-tensift/scores.npy").shape == (3, 4)


def test_the_suggested_command_keeps_the_feature_mode(here, capsys):
    np.savez("x.npz", data=RNG.normal(size=(9, 30, 4)), y=np.arange(9) % 2, feature_mode=0)
    out = info(capsys, "x.npz", "--labels", "y")
    assert line_of(out, "try").endswith("select x.npz -k 3 --feature-mode 0 --labels y")


def test_sizes_in_words():
    assert [format_bytes(n) for n in (0, 999, 1000, 5.76e6, 8e11, 3e15)] == [
        "0 bytes", "999 bytes", "1 kB", "5.76 MB", "800 GB", "3 PB",
    ]  # fmt: skip


def test_missing_file(here, capsys):
    assert main(["info", "no.npy"]) == 1
    assert capsys.readouterr().err == "tensift: error: no.npy: no such file\n"


def meanings(out):
    """What the file seems to be, each with the options of its command."""
    lines = out.splitlines()
    found = []
    for place, line in enumerate(lines):
        if line.startswith(("meaning", "guess")):
            command = shlex.split(lines[place + 1].removeprefix("try"))
            found.append((line.split(maxsplit=1)[0], line[10:], command[3:]))
    return found


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((50, 8, 8), [("50 pictures of 8 x 8", [])]),
        ((100, 24, 16), [("100 pictures of 24 x 16", [])]),
        ((50, 24, 16, 3), [("50 pictures of 24 x 16 in 3 channels", [])]),
        (
            (20, 6, 100),
            [
                ("20 recordings of 6 channels at 100 times", ["--feature-mode", "0"]),
                ("20 samples of 6 x 100", []),
            ],
        ),
        (
            (20, 100, 6),
            [
                ("20 recordings of 6 channels at 100 times", ["--feature-mode", "1"]),
                ("20 samples of 100 x 6", []),
            ],
        ),
        (
            (20, 20, 70),
            [
                ("one scene of 20 x 20 pixels in 70 bands", ["--sample-axis", "0,1"]),
                ("20 recordings of 20 channels", ["--feature-mode", "0"]),
            ],
        ),
        (
            (30, 24, 16),
            [
                ("30 pictures of 24 x 16", []),
                ("one scene of 30 x 24 pixels in 16 bands", ["--sample-axis", "0,1"]),
            ],
        ),
        (
            (9, 8, 8, 30),
            [
                ("9 patches of 8 x 8 pixels in 30 bands", ["--feature-mode", "2"]),
                ("9 samples of 8 x 8 x 30", []),
            ],
        ),
        ((40, 12), [("a table of 40 samples with 12 columns", [])]),
        ((9, 3, 4, 5, 2), [("9 samples of 3 x 4 x 5 x 2", [])]),
    ],
)
def test_guesses_by_the_shape(here, capsys, shape, expected):
    np.save("x.npy", RNG.normal(size=shape))
    found = meanings(info(capsys, "x.npy"))
    assert [kind for kind, _, _ in found] == ["guess"] * len(expected)
    for (_, words, command), (start, options) in zip(found, expected, strict=True):
        assert words.startswith(start)
        assert command[2:] == options
        assert main(["select", "x.npy", *command, "--method", "variance", "--no-figure", "-o",
                     f"out{len(options)}", "--quiet", "--overwrite"]) == 0  # fmt: skip


def test_a_matlab_cube_is_first_taken_for_a_scene(here, capsys):
    scipy.io.savemat("cube.mat", {"cube": RNG.normal(size=(20, 20, 30))})
    scene, pictures = meanings(info(capsys, "cube.mat"))
    assert scene[1].startswith("one scene of 20 x 20 pixels in 30 bands")
    assert pictures[1].startswith("30 pictures of 20 x 20")
    scipy.io.savemat("cube_gt.mat", {"gt": RNG.integers(0, 3, (20, 20))})
    options = ["--sample-axis", "0,1", "--labels", "cube_gt.mat", "--drop-label", "0"]
    out = info(capsys, "cube.mat", *options)
    assert "stacked from 20 x 20; " in line_of(out, "samples")
    assert line_of(out, "labels").startswith("labels    2 classes: 1")
    command = shlex.split(line_of(out, "try").removeprefix("try"))
    assert command[3:5] == ["-k", "3"]
    assert {*command[5:]} == {*options}


@pytest.mark.parametrize(
    ("shape", "dims", "words", "options"),
    [
        ((9, 12, 20), ["channel", "time"], "every channel is a feature",
         ["--feature-mode", "channel"]),
        ((9, 12, 20), ["time", "channel"], "every channel is a feature",
         ["--feature-mode", "channel"]),
        ((9, 12, 60), ["row", "column"], "9 pictures of 12 x 60", []),
        ((9, 30), ["band"], "9 pixels in 30 bands", []),
        ((9, 3, 3, 30), ["row", "column", "band"], "every band is a feature",
         ["--feature-mode", "band"]),
    ],
)  # fmt: skip
def test_names_in_the_file_leave_nothing_to_guess(here, capsys, shape, dims, words, options):
    np.savez("x.npz", data=RNG.normal(size=shape), dims=dims)
    ((kind, meaning, command),) = meanings(info(capsys, "x.npz"))
    assert kind == "meaning"
    assert words in meaning
    assert command[2:] == options


def test_help_says_what_arrays_may_be_called(capsys):
    assert main(["info", "--help"]) == 0
    out = capsys.readouterr().out
    for name in ("coords_<dim>", "ch_names", "wavelengths", "sfreq", "feature_mode"):
        assert name in out
