"""Constraints on the command line: the library's own result, one line for every mistake."""

import csv
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from tensift import Constraints, GeometrySelector, STPCASelector
from tensift.cli import main
from tensift.datasets import read_constraints

RNG = np.random.default_rng(3)
NAMES = ["Fp1", "Fp2", "F3", "Fz", "F4", "C3", "Cz", "C4"]
EEG = RNG.normal(size=(80, 8, 20)) + RNG.normal(size=(80, 1, 20))
X = RNG.normal(size=(60, 6, 9)) * np.linspace(0.2, 2, 9)
SENSORS = """\
feature,include,exclude,cost,x,y,group
Fp1,,yes,,-0.3,0.9,front
Fp2,,,2,0.3,0.9,front
F3,,,1,-0.5,0.5,front
Fz,,,1,0,0.5,front
F4,,,1,0.5,0.5,front
C3,,,1,-0.4,0,back
Cz,yes,,2.5,0,0,back
C4,,,1,0.4,0,back
"""
SELECT = ["select", "eeg.npz", "-k", "5", "--method", "geometry", "--no-figure"]
LIMITED = ["--constraints", "s.csv", "--budget", "7", "--min-distance", "0.45", "--at-least", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("eeg.npz", data=EEG, dims=["channel", "time"], coords_channel=NAMES, feature_mode=0)
    np.save("x.npy", X)
    Path("s.csv").write_text(SENSORS)
    return tmp_path


def fails(capsys, *arguments, status=1):
    assert main([*arguments]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tensift: error: ")
    assert err.count("\n") == 1
    return err


def expected():
    constraints = read_constraints("s.csv", budget=7, min_distance=0.45, at_least=1, names=NAMES)
    return GeometrySelector(5, feature_mode=0, constraints=constraints).fit(EEG)


def test_a_file_and_options_together(here, capsys):
    assert main([*SELECT, *LIMITED]) == 0
    folder = here / "eeg.npz-tensift"
    selector = expected()
    kept = selector.get_support(indices=True)
    np.testing.assert_array_equal(np.load(folder / "selected.npy"), kept)
    with open(folder / "ranking.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[-3:] == ["selected", "cost", "group"]
    assert [int(row["index"]) for row in rows] == selector.order_.tolist()
    costs = {row["channel_name"]: float(row["cost"]) for row in rows}
    assert costs == dict.fromkeys(NAMES, 1.0) | {"Fp2": 2.0, "Cz": 2.5}
    assert {row["channel_name"] for row in rows if row["group"] == "back"} == {"C3", "Cz", "C4"}
    spent = sum(costs[NAMES[j]] for j in kept)
    (line,) = [x for x in capsys.readouterr().out.splitlines() if x.startswith("limits ")]
    assert line.startswith(
        f"limits    included Cz; excluded Fp1; cost {spent:g} of 7; at least 0.45"
    )
    assert "of front (at least 1)" in line


def test_the_record_reproduces_the_fit(here, capsys):
    assert main([*SELECT, *LIMITED]) == 0
    capsys.readouterr()
    settings = json.loads((here / "eeg.npz-tensift" / "settings.json").read_text())
    assert settings["parameters"]["constraints"] == {
        "file": {
            "path": "s.csv",
            "bytes": len(SENSORS),
            "sha256": hashlib.sha256(SENSORS.encode()).hexdigest(),
        },
        "budget": 7.0,
        "min_distance": 0.45,
        "at_least": 1,
    }
    names = {}
    imports, line = settings["python"]
    exec(imports, names)
    np.testing.assert_array_equal(eval(line, names).order_, expected().order_)


@pytest.mark.parametrize("kind", ["float", "bytes", "int"])
def test_names_of_all_kinds_are_reproduced(here, capsys, kind):
    values = {
        "float": np.linspace(400.5, 470.5, 8),
        "bytes": np.array(NAMES, dtype="S"),
        "int": np.arange(100, 108),
    }[kind]
    np.savez("bands.npz", data=EEG, dims=["band", "time"], coords_band=values, feature_mode=0)
    name = {"float": "410.5", "bytes": "Fp2", "int": "x"}[kind]
    chosen = ["--include", name] if kind != "int" else ["--include", "1"]
    assert (
        main(["select", "bands.npz", "-k", "3", "--method", "variance", "--no-figure", *chosen])
        == 0
    )
    settings = json.loads((here / "bands.npz-tensift" / "settings.json").read_text())
    capsys.readouterr()
    found = {}
    exec(settings["python"][0], found)
    selector = eval(settings["python"][1], found)
    assert selector.order_[0] == 1
    np.testing.assert_array_equal(
        np.load("bands.npz-tensift/selected.npy"), selector.get_support(indices=True)
    )


def test_elements_by_name_index_and_coordinates(here, capsys):
    arguments = ["--include", "x0_3, 3 5", "--exclude", "4,-1", "--min-distance", "2"]
    assert main(["select", "x.npy", "-k", "5", "--no-figure", *arguments]) == 0
    constraints = Constraints(include=[(0, 3), (3, 5)], exclude=[4, 53], min_distance=2)
    selector = STPCASelector(5, constraints=constraints).fit(X)
    np.testing.assert_array_equal(
        np.load("x.npy-tensift/selected.npy"), selector.get_support(indices=True)
    )
    out = capsys.readouterr().out
    assert "limits    included x0_3, x3_5; excluded x0_4, x5_8; at least 2 apart" in out
    assert "constraints=Constraints(include=['x0_3', (3, 5)], exclude=[4, -1]" in out


def test_without_constraints_nothing_changes(here, capsys):
    assert main(SELECT) == 0
    assert "limits" not in capsys.readouterr().out
    settings = json.loads((here / "eeg.npz-tensift" / "settings.json").read_text())
    assert settings["parameters"]["constraints"] is None
    assert "cost" not in (here / "eeg.npz-tensift" / "ranking.csv").read_text()


def test_costs_alone_are_listed(here, capsys):
    Path("c.csv").write_text("feature,cost\nCz,2\n")
    assert main([*SELECT, "--constraints", "c.csv"]) == 0
    assert "limits    cost " in capsys.readouterr().out
    assert "selected,cost\n" in (here / "eeg.npz-tensift" / "ranking.csv").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--include", "Q"], "include has the name 'Q', which no feature has"),
        (["--include", "8"], "include has the feature 8, but there are 8 features"),
        (["--include", "1 2"], "include has the coordinates (1, 2), but features have one axis"),
        (["--at-least", "1"], "at_least counts features of groups; give groups too"),
        (["--constraints", "none.csv"], "none.csv"),
        (["--constraints", "x.npy"], "x.npy: constraints are read from .csv or .toml files"),
        (["--constraints", "b.toml", "--budget", "4"], "has budget = 3, but budget = 4.0 is given"),
        (["--constraints", "bad.csv"], "bad.csv: include has the name 'Zz', which no feature has"),
        (["--include", "Cz", "--exclude", "Cz"], "constraints cannot be met: include and exclude"),
        (["--include", "Cz,Fp1", "--budget", "1.5"], "the included features cost 2, more than the"),
    ],
)
def test_mistakes_are_one_line(here, capsys, options, message):
    Path("b.toml").write_text("budget = 3\n")
    Path("bad.csv").write_text("feature,include\nZz,yes\n")
    for command in (
        SELECT,
        ["report", *SELECT[1:-1]],
        ["compare", "eeg.npz", "-k", "5", "--no-figure"],
    ):
        assert message in fails(capsys, *command, *options)
    assert sorted(os.listdir()) == ["b.toml", "bad.csv", "eeg.npz", "s.csv", "x.npy"]


@pytest.mark.parametrize(
    "options", [["--budget", "-1"], ["--min-distance", "nan"], ["--at-most", "1.5"],
                ["--include", ","], ["--include", "9" * 30]],
)  # fmt: skip
def test_wrong_usage(here, capsys, options):
    assert main([*SELECT, *options]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"tensift select: error: argument {options[0]}: ")


def test_a_number_that_is_a_name_too_is_refused(here, capsys):
    np.savez("n.npz", data=EEG, dims=["c", "t"], coords_c=np.arange(1, 9), feature_mode=0)
    command = ["select", "n.npz", "-k", "3", "--method", "geometry", "--no-figure"]
    message = "include has 3, an index, but feature 2 has this name; give names that are numbers"
    assert message in fails(capsys, *command, "--include", "3")
    Path("q.toml").write_text("include = ['3']\n")
    assert main([*command, "--constraints", "q.toml"]) == 0
    assert 2 in np.load("n.npz-tensift/selected.npy")


def test_the_file_is_never_written_over(here, capsys):
    for command in ("report", "select"):
        place = ["-o", "s.csv"] if command == "report" else ["-o", "."]
        if command == "select":
            os.rename("s.csv", "ranking.csv")
        path = "s.csv" if command == "report" else "ranking.csv"
        error = fails(
            capsys, command, "eeg.npz", "-k", "3", "--method", "geometry", "--constraints", path,
            "--overwrite", *place,
        )  # fmt: skip
        assert "this is the input" in error
        assert Path(path).read_text() == SENSORS


def test_every_method_gets_them(here, capsys):
    command = ["select", "x.npy", "-k", "4", "--no-figure", "--quiet", "--overwrite"]
    for method in ("variance", "columnsubset", "laplacianscore", "random"):
        assert main([*command, "--method", method, "--include", "7", "--exclude", "8"]) == 0
        kept = np.load("x.npy-tensift/selected.npy")
        assert 7 in kept
        assert 8 not in kept


def test_a_comparison(here, capsys):
    command = [
        "compare", "eeg.npz", "-k", "5", "--methods", "geometry", "--resamples", "2",
        "--seeds", "1", "--no-figure", "--report", *LIMITED,
    ]  # fmt: skip
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "kept      at most 5 of 8 features" in out
    assert "Every method selects under these constraints: included Cz; excluded Fp1;" in out
    folder = here / "eeg.npz-compare"
    with open(folder / "selected.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    geometry = [int(row["index"]) for row in rows if row["method"] == "GeometrySelector"]
    selector = expected()
    assert geometry == selector.order_[: selector.n_features_].tolist()
    assert all(row["index"] != "0" for row in rows)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["parameters"]["constraints"]["file"]["path"] == "s.csv"
    assert (
        "constraints=read_constraints('s.csv', budget=7.0" in (folder / "report.html").read_text()
    )
    cells = (folder / "cells.jsonl").read_text()
    assert main(command) == 0  # the same settings may be written again, and nothing is computed
    assert (folder / "cells.jsonl").read_text() == cells
    capsys.readouterr()
    Path("s.csv").write_text(SENSORS.replace("Cz,yes", "Cz,"))
    assert "exists already" in fails(capsys, *command)


def test_help_shows_a_file(capsys):
    for command in ("select", "report", "compare"):
        assert main([command, "--help"]) == 0
        out = capsys.readouterr().out
        assert "feature,include,exclude,cost,x,y,group,together" in out
        assert "--min-distance D" in out


def test_the_example_of_the_help_is_a_file(tmp_path):
    from tensift.cli._constraints import CONSTRAINTS_EPILOG

    lines = CONSTRAINTS_EPILOG.splitlines()
    rows = [line.strip() for line in lines if line.startswith("  ") and "=" not in line]
    toml = [line.strip() for line in lines if "=" in line]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "a.toml").write_text("\n".join(toml) + "\n")
    assert read_constraints(tmp_path / "a.csv").together == [["P3", "P4"]]
    assert read_constraints(tmp_path / "a.toml").budget == 8
