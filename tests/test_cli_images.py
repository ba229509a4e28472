"""Commands on pictures and scenes: what they read, and what they write down about it."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import scipy.io
from PIL import Image

from tensift.cli import main
from tensift.datasets import read_tensor
from tensift.rivals import VarianceSelector

RNG = np.random.default_rng(4)
PICTURES = RNG.integers(0, 256, (12, 6, 5), dtype=np.uint8)
CUBE = RNG.normal(size=(9, 8, 30)) * np.linspace(1, 3, 30)
FAST = ["--method", "variance", "--no-figure", "--quiet"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shots").mkdir()
    for place, pixels in enumerate(PICTURES):
        Image.fromarray(pixels).save(tmp_path / "shots" / f"{place}.png")
    CUBE.transpose(2, 0, 1).tofile(tmp_path / "scene.img")
    (tmp_path / "scene.hdr").write_text(
        "ENVI\nsamples = 8\nlines = 9\nbands = 30\ndata type = 5\ninterleave = bsq\n"
        "byte order = 0\nwavelength = {" + ", ".join(str(400 + 10 * i) for i in range(30)) + "}\n"
    )
    return tmp_path


def settings(folder):
    with open(f"{folder}/settings.json", encoding="utf-8") as stream:
        return json.load(stream)


def fails(capsys, *arguments):
    assert main([*arguments]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err


def test_a_folder_of_pictures(here, capsys):
    assert main(["select", "shots/", "-k", "7", *FAST]) == 0
    expected = VarianceSelector(7).fit(PICTURES)
    np.testing.assert_array_equal(
        np.load("shots-tensift/selected.npy"), expected.get_support(indices=True)
    )
    files = [here / "shots" / f"{i}.png" for i in range(12)]
    lines = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files]
    assert settings("shots-tensift")["input"] == {
        "path": "shots",
        "files": 12,
        "bytes": sum(file.stat().st_size for file in files),
        "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
        "options": {},
        "shape": [12, 6, 5],
        "dtype": "uint8",
        "dims": ["row", "column"],
        "units": {},
    }
    assert main(["info", "shots"]) == 0
    out = capsys.readouterr().out
    assert "shots (12 files, " in out
    assert "meaning   12 pictures of 6 x 5; every pixel is a feature\n" in out
    assert out.endswith("try       tensift select shots -k 3\n")


def test_the_folder_itself(here, monkeypatch):
    monkeypatch.chdir(here / "shots")
    assert main(["select", ".", "-k", "7", *FAST]) == 0
    assert (here / "shots" / "shots-tensift" / "scores.npy").is_file()
    # Results beside the pictures are not read as pictures.
    assert main(["select", ".", "-k", "7", "--method", "variance", "--overwrite", "--quiet"]) == 0
    assert read_tensor(here / "shots").n_samples == 12


def test_pictures_are_not_overwritten(here, capsys):
    shutil.copy("shots/0.png", "shots/selection.png")
    before = (here / "shots" / "selection.png").read_bytes()
    words = ["select", "shots", "-k", "7", "--method", "variance", "-o", "shots", "--overwrite"]
    assert "would be lost" in fails(capsys, *words)
    assert (here / "shots" / "selection.png").read_bytes() == before


def test_a_scene(here, capsys):
    np.save("valid.npy", RNG.random((9, 8)) < 0.7)
    valid = np.load("valid.npy")
    assert main(["select", "scene.hdr", "-k", "4", "--mask", "valid.npy", *FAST]) == 0
    expected = VarianceSelector(4).fit(CUBE[valid])
    np.testing.assert_allclose(np.load("scene.hdr-tensift/scores.npy"), expected.scores_)
    with open("scene.hdr-tensift/ranking.csv", encoding="utf-8") as stream:
        assert str(400 + 10 * expected.order_[0]) in stream.read().splitlines()[1]
    found = settings("scene.hdr-tensift")
    assert found["input"]["files"] == 2
    assert found["input"]["options"] == {"mask": "valid.npy"}
    # The line of Python that is written down makes the same selection.
    imports, line = found["python"]
    names = {}
    exec(imports, names)
    assert eval(line, names).order_.tolist() == expected.order_.tolist()
    assert main(["info", "scene.img", "--mask", "valid.npy"]) == 0
    out = capsys.readouterr().out
    assert f"stacked from 9 x 8; {np.count_nonzero(~valid)} left out" in out
    assert f"meaning   {valid.sum()} pixels in 30 bands; every band is a feature" in out
    assert out.endswith("try       tensift select scene.img -k 3 --mask valid.npy\n")


def test_axes_labels_and_what_is_left_out(here):
    truth = RNG.integers(0, 4, (9, 8))
    cube = CUBE.copy()
    cube[3, 4, 5] = np.nan
    scipy.io.savemat("cube.mat", {"cube": cube})
    scipy.io.savemat("truth.mat", {"map": truth, "other": truth})
    options = ["--sample-axis", "0,1", "--labels", "truth.mat:map", "--drop-label", "0"]
    options += ["--nodata", "nan"]
    assert main(["select", "cube.mat", "-k", "4", *FAST, *options]) == 0
    kept = truth != 0
    kept[3, 4] = False
    expected = VarianceSelector(4).fit(cube[kept])
    np.testing.assert_allclose(np.load("cube.mat-tensift/scores.npy"), expected.scores_)
    found = settings("cube.mat-tensift")
    assert found["input"]["options"] == {
        "labels": "truth.mat:map", "sample_axis": [0, 1], "nodata": "nan", "drop_label": "0",
    }  # fmt: skip
    assert found["input"]["shape"] == [int(kept.sum()), 30]
    names = {}
    exec(found["python"][0], names)
    assert eval(found["python"][1], names).order_.tolist() == expected.order_.tolist()


def test_axes_by_name(here, capsys):
    np.savez("cube.npz", data=CUBE, dims=["y", "x", "band"])
    assert main(["select", "cube.npz", "-k", "4", "--sample-axis", "y,x", *FAST]) == 0
    expected = VarianceSelector(4).fit(CUBE.reshape(72, 30))
    np.testing.assert_allclose(np.load("cube.npz-tensift/scores.npy"), expected.scores_)
    words = ["select", "cube.npz", "-k", "4", *FAST, "--overwrite"]
    assert "the axes are y, x, band" in fails(capsys, *words, "--sample-axis", "z")
    assert main([*words, "--nodata", "none"]) == 2
    assert "nor nan" in capsys.readouterr().err


def test_report_compare_and_plan(here, capsys):
    assert main(["report", "shots", "-k", "7", "--method", "variance", "--quiet"]) == 0
    assert (here / "shots-report.html").is_file()
    options = ["--methods", "variance", "--resamples", "2", "--seeds", "1", "--no-figure"]
    for _ in range(2):  # the second run finds the results of the first
        assert main(["compare", "scene.hdr", "-k", "4", *options, "--quiet"]) == 0
    capsys.readouterr()
    assert main(["plan", "--file", "scene.hdr", "--seconds", "0.1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["job"]["shape"], found["job"]["samples"]) == ([30], 72)
    words = ["plan", "--file", "shots", "--sample-axis", "1,2", "--seconds", "0.1", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["job"]["shape"], found["job"]["samples"]) == ([12], 30)


def test_one_picture(here, capsys):
    Image.fromarray(PICTURES[0]).save("one.png")
    assert "put pictures of the same size into a folder" in fails(capsys, "info", "one.png")
