"""``tensift plan``: from the command line to the model, and what stands in the way."""

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tensift.cli import main
from tensift.plan import Pilot, _plan, example_pilot, plan_job
from tensift.plotting import PlanDisplay

JOB = ("plan", "--shape", "64,32", "--samples", "1e6")


class ExamplePilots:
    """Stands for pilots; notes what they would run on."""

    def __init__(self, samples, seconds):
        ExamplePilots.last = samples, seconds

    def __call__(self, job):
        return example_pilot(job)


@pytest.fixture(autouse=True)
def measured(tmp_path, monkeypatch):
    """Nothing is measured: times are round numbers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_plan, "Pilots", ExamplePilots)
    monkeypatch.setattr(_plan, "resident_bytes", lambda: 150e6)
    return tmp_path


def answer(capsys, *arguments):
    assert main([*arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_answer_is_the_plan(capsys):
    out = answer(capsys, *JOB, "--memory-per-worker", "4GB")
    plan = plan_job((64, 32), 10**6, memory="4GB", pilot=example_pilot)
    assert out == f"{plan}\n"


def test_every_option_reaches_the_model(capsys):
    out = answer(
        capsys, *JOB, "--orientation", "1", "--basis", "dft", "--solver", "exact", "--dtype",
        "float64", "--grid", "25", "--workers", "3", "--cores", "2",
        "--memory-per-worker", "8GiB", "--read-bandwidth", "300", "--network", "2GB/s", "--chunk",
        "5000", "--working-memory", "2GiB", "--json",
    )  # fmt: skip
    plan = plan_job(
        (64, 32), 10**6, orientation=1, basis="dft", solver="exact", dtype="float64", grid=25,
        workers=3, cores=2, memory=8 * 2**30, read_bandwidth=300, network="2GB/s",
        chunk=5000, working_memory=2**31, pilot=example_pilot,
    )  # fmt: skip
    assert json.loads(out) == json.loads(json.dumps(plan.to_dict()))


def test_numbers_from_a_file(capsys):
    np.save("x.npy", np.zeros((50, 6, 4), np.complex64))
    job = json.loads(answer(capsys, "plan", "--file", "x.npy", "--json"))["job"]
    assert (job["shape"], job["samples"], job["dtype"]) == ([6, 4], 50, "complex64")
    more = ("--samples", "1e9", "--dtype", "float16", "--json")
    job = json.loads(answer(capsys, "plan", "--file", "x.npy", *more))["job"]
    assert (job["samples"], job["dtype"]) == (10**9, "float16")


def test_settings_of_a_fit_reach_the_model(capsys):
    settings = ("--lam", "10", "--eta", "auto", "--selection", "top", "-k", "20")
    job = json.loads(answer(capsys, *JOB, *settings, "--json"))["job"]
    assert (job["lam"], job["eta"]) == (10.0, "auto")
    assert (job["selection"], job["n_features_to_select"]) == ("top", 20)


def test_pilots_run_on_the_samples_of_the_file(capsys):
    X = np.random.default_rng(0).normal(size=(50, 6, 4))
    np.save("x.npy", X)
    answer(capsys, "plan", "--file", "x.npy", "--seconds", "2")
    samples, seconds = ExamplePilots.last
    assert np.array_equal(samples.array, X)
    assert seconds == 2
    answer(capsys, "plan", "--file", "x.npy", "--shape", "6,5")  # other samples than these
    assert not hasattr(ExamplePilots.last[0], "array")
    answer(capsys, *JOB)
    assert ExamplePilots.last[0].shape == (64, 32)


def test_a_pilot_from_the_command_line_to_the_record(capsys, monkeypatch):
    monkeypatch.undo()
    assert main(["plan", "--shape", "6,4", "--samples", "100", "--seconds", "0.1", "--json"]) == 0
    pilot = json.loads(capsys.readouterr().out)["pilot"]
    assert pilot.keys() == Pilot.__dataclass_fields__.keys()
    assert pilot["samples"] <= 100


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

    plan = plan_job((64, 32), 1e6, workers=4, pilot=example_pilot)
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
        (("--lam", "-1"), "--lam"),
        (("--selection", "best"), "--selection"),
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
        ((*JOB, "--seconds", "0"), "seconds must be above 0"),
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
