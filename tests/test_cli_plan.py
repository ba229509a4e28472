"""``tensift plan``: from the command line to the model, and what stands in the way."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tensift.cli import main
from tensift.plan import _cache, example_machine, plan_job, this_machine
from tensift.plotting import PlanDisplay

JOB = ("plan", "--shape", "64,32", "--samples", "1e6")


@pytest.fixture(autouse=True)
def measured(tmp_path, monkeypatch):
    """A machine that has been measured already."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    this_machine(measure=example_machine)
    return tmp_path


def answer(capsys, *arguments):
    assert main([*arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_answer_is_the_plan(capsys):
    out = answer(capsys, *JOB, "--memory-per-worker", "4GB")
    plan = plan_job((64, 32), 10**6, solver="exact", memory="4GB", machine=example_machine())
    assert out == f"{plan}\n"


def test_every_option_reaches_the_model(capsys):
    out = answer(
        capsys, *JOB, "--orientation", "1", "--basis", "dft", "--solver", "exact", "--dtype",
        "float64", "--grid", "25", "--steps", "9", "--workers", "3", "--cores", "2",
        "--memory-per-worker", "8GiB", "--read-bandwidth", "300", "--network", "2GB/s", "--chunk",
        "5000", "--working-memory", "2GiB", "--json",
    )  # fmt: skip
    plan = plan_job(
        (64, 32), 10**6, orientation=1, basis="dft", solver="exact", dtype="float64", grid=25,
        steps=9, workers=3, cores=2, memory=8 * 2**30, read_bandwidth=300, network="2GB/s",
        chunk=5000, working_memory=2**31, machine=example_machine(),
    )  # fmt: skip
    assert json.loads(out) == json.loads(json.dumps(plan.to_dict()))


def test_numbers_from_a_file(capsys):
    np.save("x.npy", np.zeros((50, 6, 4), np.complex64))
    job = json.loads(answer(capsys, "plan", "--file", "x.npy", "--json"))["job"]
    assert (job["shape"], job["samples"], job["dtype"]) == ([6, 4], 50, "complex64")
    more = ("--samples", "1e9", "--dtype", "float16", "--json")
    job = json.loads(answer(capsys, "plan", "--file", "x.npy", *more))["job"]
    assert (job["samples"], job["dtype"]) == (10**9, "float16")


def test_measuring_is_announced(capsys, monkeypatch):
    monkeypatch.setattr(_cache, "calibrate", example_machine)
    assert main([*JOB, "--calibrate"]) == 0
    assert capsys.readouterr().err == "tensift: measuring this machine, about ten seconds (once)\n"
    assert main(["plan", "--calibrate", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "machine.json" in out
    assert "1 GB/s" in out


def test_files_and_pictures(capsys, measured):
    out = answer(capsys, *JOB, "-o", "folder", "--figure", "stages.svg")
    assert sorted(p.name for p in (measured / "folder").iterdir()) == [
        "plan.json", "plan.png", "plan.txt",
    ]  # fmt: skip
    assert (measured / "folder" / "plan.txt").read_text() == out
    json.loads((measured / "folder" / "plan.json").read_text())
    assert ElementTree.parse("stages.svg").getroot().tag.endswith("svg")
    first = (measured / "stages.svg").read_bytes()
    assert main([*JOB, "--figure", "stages.svg"]) == 1
    assert "exists already" in capsys.readouterr().err
    answer(capsys, *JOB, "--figure", "stages.svg", "--overwrite")
    assert (measured / "stages.svg").read_bytes() == first


def test_the_picture_shows_the_plan():
    from matplotlib.figure import Figure

    plan = plan_job((64, 32), 1e6, workers=4, machine=example_machine())
    display = PlanDisplay.from_plan(plan, ax=Figure().subplots())
    bars = display.ax_.patches
    ends = {}
    for bar in bars:
        row = round(bar.get_y() + bar.get_height() / 2)
        ends[row] = max(ends.get(row, 0.0), bar.get_x() + bar.get_width())
    ratio = plan.orientations[0].seconds / plan.orientations[1].seconds
    assert ends[0] / ends[1] == pytest.approx(ratio)
    workers = [label.get_text() for label in display.workers_ax_.get_yticklabels()]
    assert workers == [str(each.layout.workers) for each in plan.scaling]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--shape", "64,x"), "--shape: every length"),
        (("--shape", "64,0"), "--shape: every length"),
        (("--shape", "1e12,1e12"), "1e+24 features"),
        (("--samples", "-5"), "--samples"),
        (("--samples", "1.5"), "whole number"),
        (("--samples", "1e30"), "--samples"),
        (("--grid", "0"), "--grid"),
        (("--workers", "none"), "--workers"),
        (("--memory-per-worker", "4 apples"), "such as 4GB"),
        (("--read-bandwidth", "0"), "rate above zero"),
        (("--network", "fast"), "rate above zero"),
        (("--solver", "magic"), "--solver"),
        (("--basis", ","), "--basis"),
    ],
)
def test_wrong_usage(capsys, arguments, words):
    assert main([*JOB, *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("plan",), "give --shape and --samples"),
        (("plan", "--shape", "5"), "give --samples"),
        ((*JOB, "--orientation", "7"), "orientation=7 is not a mode"),
        ((*JOB, "--basis", "fft"), "basis must be one of"),
        ((*JOB, "--basis", "dft,dct"), "2 names, but there are 1 other modes"),
        ((*JOB, "--dtype", "elephant"), "dtype must be the name of a number type"),
        ((*JOB, "--steps", "-1"), "steps must be"),
        ((*JOB, "--figure", "plan.bmp"), "must end in .png, .svg or .pdf"),
        (("plan", "--file", "missing.npy"), "missing.npy: no such file"),
        (("plan", "--file", "broken.npy"), "broken.npy"),
        (("plan", "--file", "vector.npy"), "it must have samples and features"),
        (("plan", "--file", "."), "a folder"),
    ],
)
def test_what_cannot_be_planned(capsys, arguments, words):
    with open("broken.npy", "wb") as stream:
        stream.write(b"\x93NUMPY\x01\x00 no header")
    np.save("vector.npy", np.zeros(5))
    assert main([*arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tensift: error: ")
    assert err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    "target", ["plan.png", "./plan.png", "link.png", "hard.png", "same/plan.png"]
)
def test_the_input_is_never_replaced(capsys, monkeypatch, target):
    """Refused before anything is measured, whatever the input is called."""
    monkeypatch.setattr("tensift.cli._plan.plan_job", lambda **_: pytest.fail("it was planned"))
    with open("plan.png", "wb") as stream:
        np.save(stream, np.ones((5, 4)))
    os.symlink("plan.png", "link.png")
    os.link("plan.png", "hard.png")
    os.symlink(".", "same")
    before = Path("plan.png").read_bytes()
    folder = os.path.dirname(target) or "."
    for place in (["--figure", target], ["-o", folder]):
        assert main(["plan", "--file", "plan.png", *place, "--overwrite"]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "this is the input" in err
        assert Path("plan.png").read_bytes() == before


def test_a_figure_that_fails_costs_nothing_else(capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("no ink")

    monkeypatch.setattr("tensift.cli._plan.PlanDisplay.from_plan", broken)
    assert main([*JOB, "-o", "out", "--figure", "figure.svg"]) == 0
    out, err = capsys.readouterr()
    assert [line.split()[2] for line in err.splitlines()] == ["figure.svg", "plan.png"]
    assert sorted(os.listdir("out")) == ["plan.json", "plan.txt"]
    assert Path("out", "plan.txt").read_text(encoding="utf-8") == out
    assert not os.path.exists("figure.svg")
