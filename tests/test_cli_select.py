"""``tensift select``: files against the library's own result, and every option."""

import csv
import hashlib
import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io
import sklearn

import tensift
from tensift import (
    ColumnSubsetSelector,
    ExactSolver,
    GeometrySelector,
    PaperSolver,
    STPCASelector,
)
from tensift.cli import main
from tensift.datasets import _numpy_files
from tensift.rivals import VarianceSelector
from tensift.selection import rank_features
from tensift.sources._rows import FileReader

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 6, 9)) * np.linspace(0.2, 2, 9)
TABLES = {"scores.npy", "selected.npy", "ranking.csv", "settings.json"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    return tmp_path


def read_table(path):
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def names_in(folder):
    return {path.name for path in folder.iterdir()}


def test_files_hold_the_librarys_result(here, capsys):
    assert main(["select", "x.npy", "-k", "7", "--lam", "1", "--eta", "2"]) == 0
    expected = STPCASelector(7, lam=1, eta=2).fit(X)
    folder = here / "x.npy-tensift"
    assert names_in(folder) == TABLES | {"selection.png"}
    np.testing.assert_array_equal(np.load(folder / "scores.npy"), expected.scores_)
    selected = np.load(folder / "selected.npy")
    np.testing.assert_array_equal(selected, expected.get_support(indices=True))

    rows = read_table(folder / "ranking.csv")
    assert list(rows[0]) == ["rank", "index", "mode_0", "mode_1", "score", "selected"]
    index = np.array([int(row["index"]) for row in rows])
    np.testing.assert_array_equal(index, expected.order_)
    assert [int(row["rank"]) for row in rows] == list(range(1, 55))
    np.testing.assert_array_equal(
        [[int(row["mode_0"]), int(row["mode_1"])] for row in rows],
        np.column_stack(np.unravel_index(index, (6, 9))),
    )
    np.testing.assert_array_equal(
        [float(row["score"]) for row in rows], expected.scores_.ravel()[index]
    )
    assert set(index[[row["selected"] == "1" for row in rows]]) == set(selected)
    assert (folder / "selection.png").read_bytes().startswith(b"\x89PNG")

    out = capsys.readouterr().out
    assert "60 samples of 6 x 9" in out
    assert "9 slices of 6 features" in out
    best = np.unravel_index(expected.order_[0], (6, 9))
    assert f"mode 0: {best[0]}, mode 1: {best[1]}" in out
    assert "x.npy-tensift" in out


def test_settings_say_what_was_done(here):
    assert main(["select", "x.npy", "-k", "0.2", "--seed", "3", "--no-figure"]) == 0
    settings = json.loads((here / "x.npy-tensift" / "settings.json").read_text())
    content = (here / "x.npy").read_bytes()
    assert settings["input"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert settings["input"]["bytes"] == len(content)
    assert settings["input"]["shape"] == [60, 6, 9]
    assert settings["parameters"]["n_features_to_select"] == 0.2
    assert settings["parameters"]["random_state"] == 3
    assert settings["parameters"]["basis"] == ["identity"]
    assert settings["parameters"]["solver"] == {"name": "exact", "tol": 1e-6, "max_iter": 1000}
    assert settings["n_selected"] == 11
    assert settings["versions"]["tensift"] == tensift.__version__
    assert settings["versions"]["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ([], {}),
        (["--orientation", "1"], {"orientation": 1}),
        (["--basis", "dct"], {"basis": "dct"}),
        (["--basis", "eigen"], {"basis": "eigen"}),
        (["--basis", "random", "--seed", "4"], {"basis": "random", "random_state": 4}),
        (["--basis", "dft", "--score-by", "energy"], {"basis": "dft", "score_by": "energy"}),
        (["--lam", "0.5", "--eta", "0"], {"lam": 0.5, "eta": 0.0}),
        (["--feature-mode", "0"], {"feature_mode": 0}),
        (["--feature-mode", "-1"], {"feature_mode": -1}),
        (["--scale", "none"], {"scale": None}),
        (["--tol", "1e-2"], {"solver": ExactSolver(tol=1e-2)}),
        (["--max-iter", "2"], {"solver": ExactSolver(max_iter=2)}),
        (["--solver", "paper"], {"solver": "paper"}),
        (["--solver", "paper", "--tol", "1e-2"], {"solver": PaperSolver(tol=1e-2)}),
        (
            ["--solver", "paper", "--convention", "paper"],
            {"solver": PaperSolver(convention="paper")},
        ),
        (
            ["--solver", "paper", "--stopping", "relative", "--tol", "1.23456e-7"]
            + ["--max-iter", "10000", "--convention", "paper"],
            {"solver": PaperSolver(1.23456e-7, 10000, "paper", "relative")},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
def test_every_option_reaches_the_selector(here, options, parameters, capsys):
    assert main(["select", "x.npy", "-k", "4", "--no-figure", *options]) == 0
    expected = STPCASelector(4, **parameters).fit(X)
    folder = here / "x.npy-tensift"
    np.testing.assert_array_equal(np.load(folder / "scores.npy"), expected.scores_)
    settings = json.loads((folder / "settings.json").read_text())
    # The last two lines are Python, and make the same selection.
    imports, line = printed_python(capsys)
    assert settings["python"] == [imports, line]
    again = run_python(imports, line)
    np.testing.assert_array_equal(again.get_support(indices=True), np.load(folder / "selected.npy"))


def printed_python(capsys):
    """The imports and the expression that ``select`` prints last."""
    imports, line = capsys.readouterr().out.splitlines()[-2:]
    return imports.removeprefix("in Python "), line.strip()


def run_python(imports, line):
    names = {}
    exec(imports, names)
    return eval(line, names)


def test_a_matrix_from_a_file(here, capsys):
    matrix = RNG.normal(size=(9, 9))
    np.save("m.npy", matrix)
    assert main(["select", "x.npy", "-k", "4", "--no-figure", "--basis", "m.npy"]) == 0
    expected = STPCASelector(4, basis=matrix).fit(X)
    np.testing.assert_array_equal(np.load("x.npy-tensift/scores.npy"), expected.scores_)
    imports, line = printed_python(capsys)
    assert "basis=np.load('m.npy')" in line
    np.testing.assert_array_equal(run_python(imports, line).scores_, expected.scores_)
    settings = json.loads((here / "x.npy-tensift" / "settings.json").read_text())
    recorded = settings["parameters"]["basis"][0]["matrix"]["sha256"]
    assert recorded == hashlib.sha256((here / "m.npy").read_bytes()).hexdigest()


def test_a_transform_for_each_other_mode(here):
    cube = RNG.normal(size=(40, 3, 4, 5))
    np.save("cube.npy", cube)
    assert main(["select", "cube.npy", "-k", "6", "--basis", "haar,dct"]) == 0
    expected = STPCASelector(6, basis=["haar", "dct"]).fit(cube)
    np.testing.assert_array_equal(np.load("cube.npy-tensift/scores.npy"), expected.scores_)


def test_names_pass_through_to_table_and_summary(here, capsys):
    names = ["Fz", "Cz", "Pz", "O1", "O2", "Oz"]
    np.savez("eeg.npz", data=X, dims=["electrode", "time"], coords_electrode=names, feature_mode=0)
    assert main(["select", "eeg.npz", "-k", "2", "--format", "svg"]) == 0
    expected = STPCASelector(2, feature_mode=0).fit(X)
    rows = read_table(here / "eeg.npz-tensift" / "ranking.csv")
    assert list(rows[0]) == ["rank", "index", "electrode", "electrode_name", "score", "selected"]
    assert [row["electrode_name"] for row in rows] == [names[i] for i in expected.order_]
    out = capsys.readouterr().out
    assert f"electrode {names[expected.order_[0]]}" in out
    assert "feature_mode='electrode'" in out
    assert b"<svg" in (here / "eeg.npz-tensift" / "selection.svg").read_bytes()


def test_the_files_feature_mode_can_be_refused(here):
    np.savez("eeg.npz", data=X, feature_mode=0)
    assert main(["select", "eeg.npz", "-k", "2", "--feature-mode", "none", "--no-figure"]) == 0
    assert np.load("eeg.npz-tensift/scores.npy").shape == (6, 9)


def test_a_mode_named_like_a_column_does_not_hide_it(here):
    np.savez("odd.npz", data=X, dims=["score", "my time"])
    assert main(["select", "odd.npz", "-k", "2", "--no-figure"]) == 0
    rows = read_table(here / "odd.npz-tensift" / "ranking.csv")
    assert list(rows[0]) == ["rank", "index", "score_", "my_time", "score", "selected"]


def test_labels_change_nothing(here, capsys):
    labels = RNG.integers(0, 3, len(X))
    np.savez("with.npz", data=X, labels=labels)
    np.savez("other.npz", data=X, truth=RNG.permutation(labels))
    np.savez("without.npz", data=X)
    assert main(["select", "with.npz", "-k", "5", "--no-figure"]) == 0
    assert "3 classes in the file, not used" in capsys.readouterr().out
    assert main(["select", "other.npz", "-k", "5", "--no-figure", "--labels", "truth"]) == 0
    assert main(["select", "without.npz", "-k", "5", "--no-figure"]) == 0
    tables = {name: (here / f"{name}.npz-tensift" / "ranking.csv").read_bytes()
              for name in ("with", "other", "without")}  # fmt: skip
    assert len(set(tables.values())) == 1


def test_columns_of_a_table_keep_their_names_and_labels_are_set_aside(here):
    rows = X[:, 0]
    text = ["a,b,c,d,e,f,g,h,i,species"]
    text += [",".join([*map(repr, row.tolist()), "cat"]) for row in rows]
    (here / "t.csv").write_text("\n".join(text) + "\n")
    assert main(["select", "t.csv", "-k", "3", "--labels", "species", "--no-figure"]) == 0
    expected = STPCASelector(3).fit(rows)
    table = read_table(here / "t.csv-tensift" / "ranking.csv")
    assert [row["column_name"] for row in table] == ["abcdefghi"[i] for i in expected.order_]


def test_variable_and_sample_axis(here, capsys):
    with h5py.File("two.h5", "w") as file:
        file["first"], file["second"] = np.zeros((4, 4, 4)), np.moveaxis(X, 0, 2)
    arguments = ["select", "two.h5", "-k", "3", "--variable", "second", "--sample-axis", "2"]
    assert main([*arguments, "--no-figure"]) == 0
    np.testing.assert_array_equal(
        np.load("two.h5-tensift/scores.npy"), STPCASelector(3).fit(X).scores_
    )
    assert "read_tensor('two.h5', variable='second', sample_axis=2)" in capsys.readouterr().out


def test_matlab_files_have_samples_last(here):
    scipy.io.savemat("m.mat", {"data": np.moveaxis(X, 0, 2)})
    assert main(["select", "m.mat", "-k", "3", "--no-figure"]) == 0
    np.testing.assert_array_equal(
        np.load("m.mat-tensift/scores.npy"), STPCASelector(3).fit(X).scores_
    )


@pytest.mark.parametrize("transform", ["identity", "dct"])
def test_mapped_files_are_streamed_in_chunks(here, monkeypatch, transform):
    monkeypatch.setattr(_numpy_files, "_MAP_FROM_BYTES", 0)
    sizes = []
    read = FileReader.read

    def counted(self, start, stop, out=None):
        sizes.append(stop - start)
        return read(self, start, stop, out)

    monkeypatch.setattr(FileReader, "read", counted)
    with sklearn.config_context(working_memory=32 * 8 * 54 * 16 / 2**20):
        arguments = ["select", "x.npy", "-k", "5", "--basis", transform, "--no-figure"]
        assert main(arguments) == 0
    assert [size for size in sizes if size > 1] == [16, 16, 16, 12]
    expected = STPCASelector(5, basis=transform).fit(X)
    np.testing.assert_allclose(np.load("x.npy-tensift/scores.npy"), expected.scores_, rtol=1e-6)
    np.testing.assert_array_equal(
        np.load("x.npy-tensift/selected.npy"), expected.get_support(indices=True)
    )


def test_a_data_driven_transform_sees_all_samples_of_a_mapped_file(here, monkeypatch):
    monkeypatch.setattr(_numpy_files, "_MAP_FROM_BYTES", 0)
    assert main(["select", "x.npy", "-k", "5", "--basis", "eigen", "--no-figure"]) == 0
    expected = STPCASelector(5, basis="eigen").fit(X)
    np.testing.assert_allclose(np.load("x.npy-tensift/scores.npy"), expected.scores_, rtol=1e-10)


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_same_bytes_every_time_whatever_the_number_of_jobs(here, format):
    for jobs in ("1", "2"):
        arguments = ["select", "x.npy", "-k", "5", "--jobs", jobs, "-o", jobs]
        assert main([*arguments, "--format", format]) == 0
    for name in (TABLES - {"settings.json"}) | {f"selection.{format}"}:
        assert (here / "1" / name).read_bytes() == (here / "2" / name).read_bytes()


def test_figure_is_what_the_user_asked_for(here):
    arguments = ["select", "x.npy", "-k", "5", "-o", "out", "--overwrite"]
    assert main([*arguments, "--format", "pdf"]) == 0
    assert (here / "out" / "selection.pdf").read_bytes().startswith(b"%PDF")
    # A figure of an earlier selection beside a new table would be a lie.
    assert main([*arguments, "--no-figure"]) == 0
    assert names_in(here / "out") == TABLES


def test_users_plot_settings_do_not_matter(here):
    import matplotlib

    assert main(["select", "x.npy", "-k", "5", "-o", "a"]) == 0
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert main(["select", "x.npy", "-k", "5", "-o", "b"]) == 0
    picture = [(here / folder / "selection.png").read_bytes() for folder in "ab"]
    assert picture[0] == picture[1]


def test_quiet(here, capsys):
    arguments = ["select", "x.npy", "-k", "5", "--quiet", "--basis", "dft", "--no-figure"]
    assert main(arguments) == 0
    assert capsys.readouterr() == ("", "")


def test_warnings_are_one_line(here, capsys):
    assert main(["select", "x.npy", "-k", "5", "--basis", "dft", "--no-figure"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("tensift: warning: with basis='dft' all features")
    assert ".py" not in line


def test_as_a_program(here):
    command = [sys.executable, "-m", "tensift.cli", "select", "x.npy", "-k", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    expected = STPCASelector(5).fit(X).order_[:5]
    assert set(np.load("x.npy-tensift/selected.npy")) == set(expected)
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stderr.startswith("tensift: error: ")
    assert failed.stderr.count("\n") == 1


def test_the_number_of_features_and_how_they_are_chosen(here, capsys):
    assert main(["select", "x.npy", "-k", "auto", "--no-figure"]) == 0
    expected = STPCASelector("auto").fit(X)
    assert expected.suggested_count_.reason in capsys.readouterr().out
    kept = np.load("x.npy-tensift/selected.npy")
    np.testing.assert_array_equal(kept, expected.get_support(indices=True))
    settings = json.loads((here / "x.npy-tensift" / "settings.json").read_text())
    assert settings["parameters"]["selection"] == "geometry"
    assert settings["n_selected"] == expected.n_features_
    top = ["--selection", "top", "--no-figure", "--quiet", "-o", "top"]
    assert main(["select", "x.npy", "-k", "7", *top]) == 0
    best = rank_features(STPCASelector(7).fit(X).scores_)[:7]
    assert set(np.load("top/selected.npy")) == set(best)
    assert main(["select", "x.npy", "-k", "most"]) != 0
    assert "nor 'auto'" in capsys.readouterr().err


def test_fractions_of_critical_penalties_for_the_certified_optimum(here, capsys):
    options = ["--lam", "0.05", "--eta", "0.02", "--penalty-units", "relative", "--solver", "exact"]
    assert main(["select", "x.npy", "-k", "7", *options]) == 0
    expected = STPCASelector(7, lam=0.05, eta=0.02, penalty_units="relative", solver="exact").fit(X)
    folder = here / "x.npy-tensift"
    np.testing.assert_array_equal(np.load(folder / "scores.npy"), expected.scores_)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["parameters"]["penalty_units"] == "relative"
    refused = ["--penalty-units", "relative", "--lam", "10", "-o", "other"]
    assert main(["select", "x.npy", "-k", "7", *refused]) != 0
    assert "lam must be at most 1" in capsys.readouterr().err


def test_scores_next_to_zero_are_pointed_out(tmp_path, capsys):
    """At penalties far too strong for the data, with what to do instead."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "faint.npy", rng.normal(size=(20, 5, 6)))
    arguments = [str(tmp_path / "faint.npy"), "-k", "3", "-o", str(tmp_path / "out"), "--no-figure"]
    assert main(["select", *arguments, "--lam", "1e4"]) == 0
    said = capsys.readouterr().err
    assert "all scores are next to zero" in said
    assert "try --lam auto --eta auto" in said
    advice = ["--lam", "auto", "--eta", "auto"]
    assert main(["select", *arguments, *advice, "--overwrite"]) == 0
    assert "next to zero" not in capsys.readouterr().err


# Other methods


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        ("geometry", GeometrySelector),
        ("column-subset", ColumnSubsetSelector),
        ("VarianceSelector", VarianceSelector),
    ],
)
def test_any_selector_can_be_run(here, capsys, method, kind):
    assert main(["select", "x.npy", "-k", "7", "--method", method, "--stability", "4"]) == 0
    out = capsys.readouterr().out
    folder = here / "x.npy-tensift"
    expected = kind(7).fit(X)
    np.testing.assert_array_equal(
        np.load(folder / "selected.npy"), expected.get_support(indices=True)
    )
    np.testing.assert_array_equal(np.load(folder / "scores.npy"), expected.scores_)
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["method"] == kind.__name__
    parameters = expected.get_params()
    parameters.pop("verbose", None)
    assert settings["parameters"] == parameters
    assert f"method    {kind.__name__}\n" in out
    names = {}
    imports, line = settings["python"]
    exec(imports, names)
    np.testing.assert_array_equal(eval(line, names).order_, expected.order_)
    assert main(["report", "x.npy", "-k", "7", "--method", method]) == 0


def test_options_that_a_method_does_not_have_are_refused(here, capsys):
    for options, message in (
        (["--method", "geometry", "--lam", "3"], "--lam is not an option of GeometrySelector"),
        (["--method", "variance", "--jobs", "2"], "--jobs is not an option of VarianceSelector"),
        (["--method", "geometry", "--checkpoint", "c.npz"], "--checkpoint works only with"),
        (["--method", "geometri"], "did you mean GeometrySelector"),
    ):
        assert main(["select", "x.npy", "-k", "7", *options]) == 1
        assert message in capsys.readouterr().err
    assert names_in(here) == {"x.npy"}
    assert (
        main(["select", "x.npy", "-k", "7", "--method", "variance", "--selection", "geometry"]) == 0
    )
