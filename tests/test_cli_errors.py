"""Bad input, bad usage and bad luck: one line, the right status, nothing left behind."""

import errno
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import tensift
from tensift import STPCASelector
from tensift.cli import _figures, main
from tensift.cli._output import OutputFolder

X = np.random.default_rng(0).normal(size=(900, 4, 5))  # enough of them for scores above zero


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def fails(capsys, *arguments, status=1):
    """Run, expect one line of error, and return it."""
    assert main([*arguments]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tensift: error: ")
    assert err.count("\n") == 1
    return err


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def make_hostile(kind):
    if kind == "truncated":
        content = Path("x.npy").read_bytes()
        Path("bad.npy").write_bytes(content[: len(content) // 2])
    elif kind == "pickle":
        Path("bad.npy").write_bytes(pickle.dumps([1, 2, 3]))
    elif kind == "objects":
        np.save("bad.npy", np.array([[{}, 1], [2, 3]], dtype=object), allow_pickle=True)
    elif kind == "empty":
        Path("bad.npy").touch()
    elif kind == "folder":
        os.mkdir("bad.npy")
    elif kind == "nan":
        np.save("bad.npy", np.where(X > 2, np.nan, X))
    elif kind == "infinite":
        np.save("bad.npy", np.where(X > 2, np.inf, X))
    elif kind == "constant":
        np.save("bad.npy", np.ones((5, 3, 3)))
    elif kind == "one sample":
        np.save("bad.npy", X[:1])
    elif kind == "vector":
        np.save("bad.npy", X.ravel())


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing", "no such file"),
        ("truncated", "truncated"),
        ("pickle", "pickle"),
        ("objects", "Python objects"),
        ("empty", "empty"),
        ("folder", "a folder"),
        ("nan", "contains NaN"),
        ("infinite", "contains infinity"),
        ("constant", "constant"),
        ("one sample", "minimum of 2"),
        ("vector", "axes"),
    ],
)
def test_hostile_files(here, capsys, kind, words):
    make_hostile(kind)
    before = everything(here)
    line = fails(capsys, "select", "bad.npy", "-k", "2")
    assert words in line
    assert "bad.npy" in line
    assert everything(here) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-k", "21"], "-k 21 is more than the 20 features in x.npy"),
        (["-k", "5", "--feature-mode", "0"], "-k 5 is more than the 4 features"),
        (["-k", "3", "--orientation", "2"], "orientation=2 is not a mode"),
        (["-k", "3", "--feature-mode", "7"], "feature_mode=7 is not a mode"),
        (["-k", "3", "--feature-mode", "first"], "feature_mode='first' must be a number"),
        (["-k", "3", "--orientation", "first"], "orientation='first' must be a number"),
        (["-k", "3", "--basis", "fft"], "'fft' is not a known"),
        (["-k", "3", "--basis", "dct,dct"], "lists 2 "),
        (["-k", "3", "--basis", "no.npy"], "--basis no.npy: No such file"),
        (["-k", "3", "--basis", "evil.npy"], "--basis evil.npy: not a matrix"),
        (["-k", "3", "--basis", "x.npy"], "give a matrix of shape (5, 5)"),
        (["-k", "3", "--variable", "y"], "no array 'y'"),
        (["-k", "3", "--labels", "y"], "labels='y'"),
        (["-k", "3", "--sample-axis", "9"], "sample_axis=9"),
        (["--convention", "paper"], "--convention works only with --solver paper"),
        (
            ["--solver", "exact", "--stopping", "relative"],
            "--stopping works only with --solver paper",
        ),
    ],
)
def test_options_that_do_not_fit_the_data(here, capsys, options, words):
    with open("evil.npy", "wb") as stream:
        pickle.dump(np.eye(5), stream)
    before = everything(here)
    assert words in fails(capsys, "select", "x.npy", *options)
    assert everything(here) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["choose"],
        ["select", "-k", "3"],
        ["select", "x.npy", "-k", "0"],
        ["select", "x.npy", "-k", "1.5"],
        ["select", "x.npy", "-k", "many"],
        ["select", "x.npy", "-k", "nan"],
        ["select", "x.npy", "-k", "3", "--lam", "-1"],
        ["select", "x.npy", "-k", "3", "--eta", "nan"],
        ["select", "x.npy", "-k", "3", "--tol", "small"],
        ["select", "x.npy", "-k", "3", "--max-iter", "0"],
        ["select", "x.npy", "-k", "3", "--format", "bmp"],
        ["info"],
    ],
)
def test_wrong_usage(here, capsys, arguments):
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert "usage: tensift" in err
    assert "Traceback" not in err


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tensift {tensift.__version__}\n"
    for command in ([], ["select"], ["info"], ["demo"]):
        assert main([*command, "--help"]) == 0
        out = capsys.readouterr().out
        assert "examples:" in out
        assert "tensift " in out.split("examples:")[1]
    assert main(["select", "--help"]) == 0
    out = capsys.readouterr().out
    for word in ("orientation  ", "basis  ", "feature mode  "):
        assert word in out


def test_existing_results_are_kept_unless_told(here, capsys):
    assert main(["select", "x.npy", "-k", "2"]) == 0
    capsys.readouterr()
    folder = here / "x.npy-tensift"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    line = fails(capsys, "select", "x.npy", "-k", "3")
    assert "exists already; pass --overwrite" in line
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert main(["select", "x.npy", "-k", "3", "--overwrite", "--quiet"]) == 0
    assert len(np.load(folder / "selected.npy")) == 3


def test_other_files_of_the_folder_are_left_alone(here):
    (here / "out").mkdir()
    (here / "out" / "notes.txt").write_text("mine")
    assert main(["select", "x.npy", "-k", "3", "-o", "out", "--quiet"]) == 0
    assert (here / "out" / "notes.txt").read_text() == "mine"
    assert (here / "out" / "ranking.csv").exists()


@pytest.mark.parametrize("output", ["x.npy", "x.npy/below", "/proc/tensift/below"])
def test_folders_that_cannot_be(here, capsys, output):
    before = everything(here)
    assert "cannot write" in fails(capsys, "select", "x.npy", "-k", "3", "-o", output)
    assert everything(here) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_a_read_only_folder(here, capsys):
    (here / "locked").mkdir(mode=0o500)
    line = fails(capsys, "select", "x.npy", "-k", "3", "-o", "locked/out")
    assert "Permission denied" in line
    assert not any((here / "locked").iterdir())


def test_an_unwritable_folder_is_known_before_the_work(here, capsys, monkeypatch):
    mkdir = Path.mkdir

    def refuse(path, *args, **kwargs):
        if path.name.startswith(".tensift-"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        mkdir(path, *args, **kwargs)

    monkeypatch.setattr(Path, "mkdir", refuse)
    monkeypatch.setattr(STPCASelector, "fit", lambda *args: pytest.fail("the work was begun"))
    before = everything(here)
    line = fails(capsys, "select", "x.npy", "-k", "3", "-o", "a/b/c")
    assert line == "tensift: error: cannot write a/b/c: Permission denied\n"
    assert everything(here) == before


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("folder_exists", [False, True])
def test_a_full_disk_leaves_nothing(here, capsys, monkeypatch, nth, folder_exists):
    if folder_exists:
        assert main(["select", "x.npy", "-k", "2", "-o", "a/b", "--quiet"]) == 0
    before = {p: (here / p).read_bytes() for p in everything(here) if (here / p).is_file()}
    folders = everything(here)
    write, calls = OutputFolder.write, []

    def fill(self, name, writer):
        def until_full(stream):
            calls.append(name)
            if len(calls) == nth:
                stream.write(b"half of it")
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            writer(stream)

        write(self, name, until_full)

    monkeypatch.setattr(OutputFolder, "write", fill)
    line = fails(capsys, "select", "x.npy", "-k", "3", "-o", "a/b", "--overwrite")
    assert line.endswith(f"{calls[-1]}: No space left on device\n")
    assert len(calls) == nth
    assert everything(here) == folders
    assert {p: (here / p).read_bytes() for p in before} == before


def test_a_folder_in_the_place_of_a_file(here, capsys):
    (here / "out" / "ranking.csv").mkdir(parents=True)
    before = everything(here)
    line = fails(capsys, "select", "x.npy", "-k", "3", "-o", "out", "--overwrite")
    assert "ranking.csv: it is a folder" in line
    assert everything(here) == before


def test_interrupt(here, capsys, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(STPCASelector, "fit", interrupt)
    before = everything(here)
    assert fails(capsys, "select", "x.npy", "-k", "3", status=130).endswith("interrupted\n")
    assert everything(here) == before


def test_no_memory(here, capsys, monkeypatch):
    def exhaust(*args):
        raise MemoryError

    monkeypatch.setattr(STPCASelector, "fit", exhaust)
    assert "not enough memory" in fails(capsys, "select", "x.npy", "-k", "3")


def test_without_matplotlib_it_says_so_before_the_work(here, capsys, monkeypatch):
    def missing():
        raise ImportError('tensift.plotting needs matplotlib: pip install "tensift[plot]"')

    monkeypatch.setattr(_figures, "require_matplotlib", missing)
    before = everything(here)
    line = fails(capsys, "select", "x.npy", "-k", "3")
    assert 'pip install "tensift[plot]", or pass --no-figure' in line
    assert everything(here) == before
    assert main(["select", "x.npy", "-k", "3", "--no-figure", "--quiet"]) == 0


def test_a_bug_is_not_hidden(here, monkeypatch):
    def bug(*args):
        raise TypeError("a bug")

    monkeypatch.setattr(STPCASelector, "fit", bug)
    with pytest.raises(TypeError, match="a bug"):
        main(["select", "x.npy", "-k", "3"])
    assert not (here / "x.npy-tensift").exists()
