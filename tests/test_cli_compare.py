"""``tensift compare``: files against the library's own result, resuming, and bad luck."""

import csv
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import tensift
from tensift.cli import _figures, main
from tensift.cli._output import OutputFolder
from tensift.comparison import DEFAULT_SELECTORS, _tasks, compare_selectors

RNG = np.random.default_rng(4)
LABELS = np.arange(30) % 3
X = RNG.normal(size=(30, 4, 5)) + RNG.normal(size=(3, 4, 5))[LABELS]
TABLES = {"comparison.csv", "comparison.md", "agreement.csv", "selected.csv", "settings.json"}
FIGURES = {"comparison.png", "comparison.svg"}
QUICK = ["--methods", "stpca", "--resamples", "2", "--seeds", "1", "--repeats", "2"]
PLAIN = [*QUICK, "--no-figure"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def read_table(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def everything(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def fails(capsys, *arguments):
    """Run, expect one line of error, and return it."""
    assert main(["compare", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tensift: error: ")
    assert err.count("\n") == 1
    return err


def test_files_hold_the_librarys_result(here, capsys):
    assert main(["compare", "x.npy", "-k", "6", *QUICK, "--seed", "3"]) == 0
    folder = here / "x.npy-compare"
    assert everything(folder) == TABLES | FIGURES | {"cells.jsonl"}
    expected = compare_selectors(
        X, ["stpca"], 6, n_resamples=2, n_seeds=1, random_state=3, store=folder / "cells.jsonl"
    )
    rows = read_table(folder / "comparison.csv")
    for found, row in zip(rows, expected.to_rows(), strict=True):
        assert set(found) == set(row)
        for name, value in row.items():
            assert found[name] == ("" if value is None else str(value))
    assert (folder / "comparison.md").read_text() == expected.to_markdown()
    agreement = read_table(folder / "agreement.csv")
    values = [[float(row[name]) for name in expected.methods] for row in agreement]
    np.testing.assert_array_equal(values, expected.agreement)
    selected = read_table(folder / "selected.csv")
    for method, features in expected.features.items():
        own = [row for row in selected if row["method"] == method]
        assert [int(row["index"]) for row in own] == features.tolist()
        assert [int(row["rank"]) for row in own] == list(range(1, 7))
        row, column = divmod(int(features[0]), 5)
        assert own[0]["feature"] == f"mode 0: {row}, mode 1: {column}"
        assert float(own[0]["score"]) == expected.scores[method].ravel()[features[0]]
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "comparison.svg").read_bytes()
    out = capsys.readouterr().out
    assert "30 samples of 4 x 5" in out
    for line in expected.conclusions():
        assert line in out
    for cell in expected.to_table()[0].values():
        assert cell in out


def test_settings_say_what_was_done(here):
    assert main(["compare", "x.npy", "-k", "0.2", *PLAIN, "--quiet"]) == 0
    settings = json.loads((here / "x.npy-compare" / "settings.json").read_text())
    content = Path("x.npy").read_bytes()
    assert settings["input"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert settings["labelled"] is False
    assert settings["parameters"] == {
        "selectors": ["stpca"],
        "missing": "raise",
        "n_features_to_select": 0.2,
        "n_clusters": None,
        "n_neighbors": 5,
        "n_resamples": 2,
        "n_seeds": 1,
        "n_repeats": 2,
        "random_state": 0,
        "fit_limit": None,
        "feature_mode": None,
    }
    assert settings["versions"]["tensift"] == tensift.__version__


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--feature-mode", "1"], {"feature_mode": 1}),
        (["--methods", "NDFS", "--clusters", "3"], {"selectors": ["ndfs"], "n_clusters": 3}),
        (["--methods", "mcfs", "--neighbors", "3"], {"selectors": ["mcfs"], "n_neighbors": 3}),
        (["--resamples", "3"], {"n_resamples": 3}),
        (["--methods", "rne", "--seeds", "2"], {"selectors": ["rne"], "n_seeds": 2}),
        (["--fit-limit", "60"], {"fit_limit": 60.0}),
        (["--jobs", "2"], {}),
    ],
)
def test_every_option_reaches_the_comparison(here, options, settings):
    assert main(["compare", "x.npy", "-k", "3", *PLAIN, *options, "--quiet"]) == 0
    expected = compare_selectors(
        X, **{"selectors": ["stpca"], "n_resamples": 2, "n_seeds": 1, **settings},
        n_features_to_select=3,
    )  # fmt: skip
    for found, row in zip(
        read_table(here / "x.npy-compare" / "comparison.csv"), expected.to_rows(), strict=True
    ):
        for name, value in row.items():
            if not name.startswith(("seconds", "memory")):
                assert found[name] == ("" if value is None else str(value))


def test_unlabelled_labelled_and_shuffled(here, capsys):
    """All that needs no labels is the same, byte by byte but for what clocks measure."""
    np.save("y.npy", LABELS)
    np.save("shuffled.npy", RNG.permutation(LABELS))
    folders = {"none": [], "right": ["--labels", "y.npy"], "wrong": ["--labels", "shuffled.npy"]}
    for folder, options in folders.items():
        assert main(["compare", "x.npy", "-k", "6", "-o", folder, *PLAIN, *options]) == 0
    assert "used to judge only" in capsys.readouterr().out
    for name in ("selected.csv", "agreement.csv"):
        assert len({(here / folder / name).read_bytes() for folder in folders}) == 1
    tables = {folder: read_table(here / folder / "comparison.csv") for folder in folders}
    for none, right, wrong in zip(*tables.values(), strict=True):
        for column in none:
            if not column.startswith(("seconds", "memory")):
                assert none[column] == right[column] == wrong[column]
        assert set(right) - set(none) == {
            f"{metric}{suffix}"
            for metric in ("acc", "nmi", "silhouette", "poc")
            for suffix in ("", "_std")
        }
    assert [row["acc"] for row in tables["right"]] != [row["acc"] for row in tables["wrong"]]


def test_labels_in_the_file(here, capsys):
    np.savez("named.npz", data=X, labels=LABELS)
    assert main(["compare", "named.npz", "-k", "6", *PLAIN]) == 0
    assert "3 classes in the file, used to judge only" in capsys.readouterr().out
    assert "acc" in read_table(here / "named.npz-compare" / "comparison.csv")[0]
    np.savez("useless.npz", data=X, labels=np.zeros(30, int))
    assert main(["compare", "useless.npz", "-k", "6", *PLAIN]) == 0
    assert "1 classes in the file, not used" in capsys.readouterr().out


def test_a_second_run_fits_nothing(here, monkeypatch, capsys):
    assert main(["compare", "x.npy", "-k", "6", *QUICK]) == 0
    folder = here / "x.npy-compare"
    first = {name: (folder / name).read_bytes() for name in TABLES | FIGURES | {"cells.jsonl"}}

    def forbidden(*_):
        raise AssertionError("a finished fit was repeated")

    monkeypatch.setattr(_tasks._Fitting, "compute", forbidden)
    assert main(["compare", "x.npy", "-k", "6", *QUICK]) == 0
    assert {name: (folder / name).read_bytes() for name in first} == first


def test_other_settings_replace_nothing_unasked(here, capsys):
    assert main(["compare", "x.npy", "-k", "6", *PLAIN, "--quiet"]) == 0
    before = (here / "x.npy-compare" / "comparison.csv").read_bytes()
    assert "pass --overwrite" in fails(capsys, "x.npy", "-k", "7", *PLAIN)
    assert (here / "x.npy-compare" / "comparison.csv").read_bytes() == before
    assert main(["compare", "x.npy", "-k", "7", *PLAIN, "--overwrite", "--quiet"]) == 0
    assert (here / "x.npy-compare" / "comparison.csv").read_bytes() != before


def test_a_stopped_run_keeps_its_fits_and_nothing_else(here, monkeypatch, capsys):
    done = []

    def stop_at_the_fifth(self, samples, compute=_tasks._Fitting.compute):
        done.append(self)
        if len(done) == 5:
            raise KeyboardInterrupt
        return compute(self, samples)

    with monkeypatch.context() as patch:
        patch.setattr(_tasks._Fitting, "compute", stop_at_the_fifth)
        assert main(["compare", "x.npy", "-k", "6", *PLAIN]) == 130
    assert capsys.readouterr().err == "tensift: error: interrupted\n"
    assert everything(here) == {"x.npy", "x.npy-compare", "x.npy-compare/cells.jsonl"}
    assert len((here / "x.npy-compare" / "cells.jsonl").read_text().splitlines()) == 4
    assert main(["compare", "x.npy", "-k", "6", *PLAIN]) == 0
    assert main(["compare", "x.npy", "-k", "6", *PLAIN, "-o", "whole"]) == 0
    for name in ("selected.csv", "agreement.csv"):
        assert (here / "x.npy-compare" / name).read_bytes() == (here / "whole" / name).read_bytes()


def test_damaged_cells(here, capsys):
    assert main(["compare", "x.npy", "-k", "6", *PLAIN]) == 0
    capsys.readouterr()
    with open(here / "x.npy-compare" / "cells.jsonl", "ab") as stream:
        stream.write(b"\xff\xfe{[\n\x00")
    assert main(["compare", "x.npy", "-k", "6", *PLAIN]) == 0
    warning = capsys.readouterr().err.splitlines()[0]
    assert warning.startswith("tensift: warning: ")
    assert "damaged line(s) left out" in warning


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (np.where(X > 2, np.nan, X), [], "NaN"),
        (np.ones((8, 3, 3)), [], "constant"),
        (X[:1], [], "1 sample(s)"),
        (X[:3], [], "half-samples need at least 4"),
        (X, ["-k", "21"], "21 is more than the 20 features"),
        (X, ["--feature-mode", "5"], "feature_mode=5"),
        (X, ["--methods", "laplace"], "did you mean LaplacianScore"),
        (X, ["--resamples", "1"], "n_resamples"),
        (X, ["--labels", "short.npy"], "labels"),
        (X, ["--fit-limit", "0"], "fit_limit"),
        (X, ["--seed", "-1"], "random_state"),
    ],
)
def test_bad_input_leaves_nothing(here, capsys, data, options, words):
    np.save("bad.npy", data)
    np.save("short.npy", LABELS[:-3])
    before = everything(here)
    line = fails(capsys, "bad.npy", "-k", "3", *PLAIN, *options)
    assert words in line
    assert "bad.npy" in line or "short.npy" in line
    assert everything(here) == before


@pytest.mark.parametrize(
    "options", [[], ["-k", "0"], ["-k", "3", "--methods", ","], ["-k", "3", "--jobs", "0"]]
)
def test_wrong_usage(here, capsys, options):
    assert main(["compare", "x.npy", *options]) == 2


def test_places_that_cannot_be_written(here, capsys):
    assert "it is not a folder" in fails(capsys, "x.npy", "-k", "3", *PLAIN, "-o", "x.npy")
    assert "cannot write" in fails(capsys, "x.npy", "-k", "3", *PLAIN, "-o", "x.npy/deeper")
    (here / "out" / "cells.jsonl").mkdir(parents=True)
    assert "cannot read" in fails(capsys, "x.npy", "-k", "3", *PLAIN, "-o", "out")


@pytest.mark.parametrize("nth", [1, 4, 7])
def test_a_full_disk_leaves_only_fits(here, capsys, monkeypatch, nth):
    write, calls = OutputFolder.write, []

    def fill(self, name, writer):
        calls.append(name)
        if len(calls) == nth:
            raise OSError("No space left on device")
        write(self, name, writer)

    monkeypatch.setattr(OutputFolder, "write", fill)
    assert "No space left" in fails(capsys, "x.npy", "-k", "3", *QUICK)
    assert everything(here) == {"x.npy", "x.npy-compare", "x.npy-compare/cells.jsonl"}


def test_without_matplotlib(here, capsys, monkeypatch):
    def missing():
        raise ImportError('tensift.plotting needs matplotlib: pip install "tensift[plot]"')

    monkeypatch.setattr(_figures, "require_matplotlib", missing)
    assert "or pass --no-figure" in fails(capsys, "x.npy", "-k", "3", *QUICK)
    assert everything(here) == {"x.npy"}
    assert main(["compare", "x.npy", "-k", "3", *PLAIN, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_help_names_every_file(capsys):
    assert main(["compare", "--help"]) == 0
    text = capsys.readouterr().out
    for name in ("agreement.csv", "selected.csv", "settings.json", "cells.jsonl", "comparison.png"):
        assert name in text


def test_help_names_the_default_methods_and_every_column(capsys):
    assert main(["compare", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    defaults = ",".join(name.removesuffix("Selector").lower() for name in DEFAULT_SELECTORS)
    assert f"(default: {defaults})" in text.replace("- ", "-").replace(", ", ",")
    found = compare_selectors(X, [], 6, n_resamples=2)
    for column in set(found.to_table()[0]) - {"method", "seconds", "memory (MB)"}:
        assert column in text


def test_a_file_that_is_no_store_is_left_alone(here, capsys):
    (here / "x.npy-compare").mkdir()
    content = b"\xff\xfe{[\n\x00"
    (here / "x.npy-compare" / "cells.jsonl").write_bytes(content)
    assert "is not a store of results" in fails(capsys, "x.npy", "-k", "6", *PLAIN)
    assert (here / "x.npy-compare" / "cells.jsonl").read_bytes() == content
