"""``tensift paper``: files, resuming, errors."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest

from tensift.cli import main
from tensift.paper import list_experiments
from tensift.paper._fits import Fit

SMALL = ("--fast", "--methods", "STPCASelector,CPUFS,RNE,VarianceSelector", "--quiet")


def paper(folder, *arguments):
    return main(["paper", *arguments, "-o", str(folder)])


def rows_of(path, leave_out=("seconds",)):
    with open(path, newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [{key: value for key, value in row.items() if key not in leave_out} for row in rows]


def cells(folder):
    """The results in the cache by key, without what no two runs share."""
    kept = {}
    for line in (folder / "cells.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert record["key"] not in kept, "computed twice"
        kept[record["key"]] = {k: v for k, v in record["result"].items() if k != "seconds"}
    return kept


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "results"
    assert paper(folder, "metrics", "datasets", *SMALL) == 0
    return folder


def test_every_experiment_has_a_name_of_its_own_and_a_title(capsys):
    assert main(["paper", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [one.name for one in list_experiments()]
    assert all(len(line.split()) > 2 for line in lines)


def test_numbers_figures_and_settings_are_written(metrics):
    for stem in ("metrics", "datasets"):
        assert (metrics / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(metrics / f"{stem}.svg").getroot().tag.endswith("svg")
        assert (metrics / f"{stem}.md").read_text().startswith("# ")
        assert f"]({stem}.png)" in (metrics / f"{stem}.md").read_text()
        assert rows_of(metrics / f"{stem}.csv")
        record = json.loads((metrics / f"{stem}.json").read_text())
        assert record["experiment"] == stem
        assert record["extent"]["repeats_of_k_means"] == 2
        assert record["extent"]["seeds"] == [0]
        assert {"tensift", "numpy", "scipy", "scikit-learn", "python"} <= set(record["versions"])
    assert not [name for name in os.listdir(metrics) if name.startswith(".")]


def test_a_second_run_computes_nothing_and_writes_the_same(metrics, monkeypatch):
    before = {p.name: p.read_bytes() for p in metrics.iterdir()}

    def fail(self):
        raise AssertionError("computed again")

    monkeypatch.setattr(Fit, "compute", fail)
    assert paper(metrics, "metrics", "datasets", *SMALL) == 0
    assert {p.name: p.read_bytes() for p in metrics.iterdir()} == before


def test_two_jobs_come_to_the_same(metrics, tmp_path):
    assert paper(tmp_path / "two", "metrics", *SMALL, "--jobs", "2") == 0
    assert cells(tmp_path / "two") == cells(metrics)
    assert rows_of(tmp_path / "two" / "metrics.csv") == rows_of(metrics / "metrics.csv")


def test_a_killed_run_goes_on_without_repeating_and_ends_the_same(metrics, tmp_path):
    folder = tmp_path / "killed"
    command = [sys.executable, "-m", "tensift.cli", "paper", "metrics", *SMALL, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 120
        while not (folder / "cells.jsonl").exists() or len(cells_text(folder)) < 5:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = len(cells_text(folder))
    assert 5 <= done < len(cells(metrics))
    assert not (folder / "metrics.csv").exists()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert cells(folder) == cells(metrics)  # which also asserts that none was computed twice
    assert rows_of(folder / "metrics.csv") == rows_of(metrics / "metrics.csv")


def cells_text(folder):
    return (folder / "cells.jsonl").read_text().splitlines()


def test_missing_sets_have_a_line_each(tmp_path, monkeypatch, capsys):
    from tensift.paper._sets import load_set

    monkeypatch.setenv("TENSIFT_DATA", str(tmp_path))
    monkeypatch.setenv("TENSIFT_CACHE", str(tmp_path))
    load_set.cache_clear()
    status = main(["paper", "metrics", "-o", str(tmp_path / "out")])
    load_set.cache_clear()
    assert status == 1
    said = capsys.readouterr()
    assert said.out.count("missing   ") == 12
    assert "no dataset was found; set TENSIFT_DATA" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables"], "unknown experiment 'tables'; known: datasets, "),
        (["--sets", "MNIST"], "unknown dataset 'MNIST'; known: PIE, "),
        (["--methods", "PCA"], "unknown method 'PCA'; known: STPCASelector, "),
        (["--cells", "3,RNE@MNIST=1"], "unknown dataset 'MNIST'; known: PIE, "),
        (["--cells", "3,PCA=1"], "unknown method 'PCA'; known: STPCASelector, "),
        (["--fast", "--sets", "PIE"], "leave out --sets"),
    ],
)
def test_wrong_names_are_answered_with_the_right_ones(tmp_path, capsys, arguments, message):
    assert paper(tmp_path / "out", *arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", ["--cells", "--seeds", "--repeats", "--jobs"])
@pytest.mark.parametrize("value", ["0", "-2", "two"])
def test_wrong_numbers_are_usage_errors(tmp_path, capsys, option, value):
    assert paper(tmp_path, "--fast", f"{option}={value}") == 2
    assert option in capsys.readouterr().err


CELLS = "4,spcafs=1,STPCASelector@Digits=2"


def test_methods_that_take_long_can_have_fewer_cells(tmp_path):
    methods = ("--methods", "STPCASelector,SPCAFS", "--quiet", "--repeats", "1")
    assert paper(tmp_path / "out", "metrics", "--fast", *methods, "--cells", CELLS) == 0
    rows = rows_of(tmp_path / "out" / "metrics.csv")
    run = {(row["method"], row["data"]): row["cells"] for row in rows}
    assert run.pop(("STPCA-MP", "Digits")) == "2 of 25"
    assert {run[key] for key in run if key[0] == "STPCA-MP"} == {"4 of 25"}
    assert {run[key] for key in run if key[0] == "SPCAFS"} == {"1 of 5"}
    record = json.loads((tmp_path / "out" / "metrics.json").read_text())
    exceptions = {"SPCAFS": 1, "STPCASelector@Digits": 2}
    assert record["extent"]["cells_of_single_methods"] == exceptions


def test_files_of_others_are_not_replaced_and_no_work_is_done_first(tmp_path, capsys, monkeypatch):
    (tmp_path / "metrics.csv").write_text("mine")
    monkeypatch.setattr(Fit, "compute", None)
    assert paper(tmp_path, "metrics", *SMALL) == 1
    assert "metrics.csv exists, but this command did not write it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.csv"]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert paper(tmp_path / "out", "datasets", "--fast") == 1
    assert "cannot write" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"
