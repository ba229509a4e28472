"""stpca_path against single fits, its inputs, its file, its ties and its errors."""

import dataclasses
import io
import itertools
import os
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

import tensift
from tensift import ExactSolver, PaperSolver, SelectionPath, STPCASelector, stpca_path
from tensift.algebra import make_transforms
from tensift.datasets import load_digits
from tensift.moments import GramTensor, Moments, Orientation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5, 6)) * RNG.uniform(0.2, 1, (5, 6)) + RNG.normal(size=(30, 1, 6))
LAMS, ETAS = [1.0, 0.05, 20.0], [3.0, 0.1]


def cells(path):
    for (i, lam), (j, eta) in itertools.product(enumerate(path.lams), enumerate(path.etas)):
        yield (i, j), {"lam": lam, "eta": eta}


# Against single fits


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"basis": "dct", "orientation": 1},
        {"basis": "dft", "score_by": "energy"},
        {"feature_mode": 0, "solver": PaperSolver(convention="paper")},
        {"scale": None, "feature_mode": -1, "score_by": "energy"},
        {"solver": PaperSolver(stopping="relative", tol=1e-4)},
        {"solver": PaperSolver(max_iter=2), "basis": "random", "random_state": 3},
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [30, 4], ids=["n>q", "n<q"])
@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
def test_with_the_papers_solver_cells_are_fits_to_the_bit(params, n):
    params = {"solver": "paper", **params}
    path = stpca_path(X[:n], LAMS, ETAS, **params)
    assert_array_equal(path.lams, LAMS)
    assert_array_equal(path.etas, ETAS)
    for cell, penalties in cells(path):
        fitted = STPCASelector(1, **penalties, **params).fit(X[:n])
        assert_array_equal(path.scores[cell], fitted.scores_)
        assert_array_equal(path.objective[cell], fitted.objective_)
        assert_array_equal(path.n_iter[cell], fitted.n_iter_)
    assert np.isnan(path.dual_gap).all()


def test_blocks_are_those_of_a_fit():
    """Slices solved in other company differ by rounding."""
    X = np.random.default_rng(0).normal(size=(300, 200, 5)) * np.linspace(0.1, 1, 200)[:, None]
    path = stpca_path(X, [1.0], [1.0], solver="paper")
    fitted = STPCASelector(1, lam=1.0, eta=1.0, solver="paper").fit(X)
    assert_array_equal(path.scores[0, 0], fitted.scores_)


@pytest.mark.parametrize("params", [{}, {"basis": "dft", "score_by": "energy"}], ids=str)
def test_with_the_exact_solver_cells_and_fits_prove_one_another(params):
    path = stpca_path(X, LAMS, ETAS, **params)
    assert path.converged.all()
    assert path.dual_gap.max() <= 1e-6
    for cell, penalties in cells(path):
        fitted = STPCASelector(1, solver="exact", **penalties, **params).fit(X)
        assert (fitted.dual_objective_ <= path.objective[cell] * (1 + 1e-12)).all()
        assert (path.dual_objective[cell] <= fitted.objective_ * (1 + 1e-12)).all()
        # An objective within 1e-6 of the least, and strongly convex: operators within 2 %.
        top = max(fitted.scores_.max(), 1e-3)
        assert_allclose(path.scores[cell], fitted.scores_, atol=0.02 * top)
    if params:
        assert_array_equal(path.dual_gap[..., 1:], path.dual_gap[..., :0:-1])


def test_rows_are_tensors_by_their_shape():
    rows = stpca_path(X.reshape(30, 30), LAMS, ETAS, feature_shape=(5, 6))
    assert_array_equal(rows.scores, stpca_path(X, LAMS, ETAS).scores)


@pytest.mark.parametrize("solver", ["exact", "paper"])
def test_the_order_of_the_grid_and_the_workers_do_not_matter(solver):
    path = stpca_path(X, LAMS, ETAS, solver=solver)
    other = stpca_path(X, LAMS[::-1], ETAS[::-1], solver=solver, n_jobs=3)
    for name in ("scores", "objective", "dual_objective", "n_iter"):
        assert_array_equal(getattr(other, name)[::-1, ::-1], getattr(path, name))


def test_the_default_grid_is_the_papers():
    path = stpca_path(X)
    assert_array_equal(path.lams, [0.01, 0.1, 1, 10, 100])
    assert_array_equal(path.etas, path.lams)
    assert path.scores.shape == (5, 5, 5, 6)
    assert path.objective.shape == path.converged.shape == (5, 5, 6)


# Other inputs


@pytest.mark.parametrize("solver", ["exact", "paper"])
def test_moments_of_a_stream_are_as_good_as_samples(solver):
    orientation = Orientation((5, 6), 1, make_transforms("dct", [5]))
    moments = Moments(orientation).update(X[:7]).update(X[7:])
    params = {"solver": solver, "feature_mode": 0}
    streamed = stpca_path(moments, LAMS, ETAS, **params)
    whole = stpca_path(X, LAMS, ETAS, orientation=1, basis="dct", **params)
    assert_allclose(streamed.scores, whole.scores, atol=1e-4)
    assert_allclose(streamed.spread, whole.spread)


@pytest.mark.parametrize("n", [30, 4], ids=["whole", "thin"])
@pytest.mark.parametrize("solver", ["exact", "paper"])
def test_gram_matrices_are_as_good_as_samples(n, solver):
    centred = np.transpose(X[:n] - X[:n].mean(axis=0), (2, 1, 0))
    gram = GramTensor(centred if n == 4 else centred @ np.swapaxes(centred, 1, 2), thin=n == 4)
    path = stpca_path(gram, LAMS, ETAS, solver=solver)
    whole = stpca_path(X[:n], LAMS, ETAS, solver=solver, scale=None)
    assert_allclose(path.scores, whole.scores, atol=1e-4)
    assert_allclose(path.spread, whole.spread * np.sqrt(n))
    assert path.scores.shape == (3, 2, 5, 6)


# Ties


def test_equal_scores_are_ordered_by_where_they_enter():
    """Read off the rule: down both penalties together, the smaller ones stay; then spread."""
    scores = np.zeros((3, 2, 6))  # of lams 1, 0.1, 10 and etas 5, 0.5
    scores[2, 0] = [9, 0, 0, 0, 0, 0]
    scores[0, 1] = [1, 0, 2, 0, 0, 0]  # both one down
    scores[1, 1] = [1, 3, 1, 0, 0, 0]  # lam two down, eta at its smallest
    scores[1, 0] = [0, 0, 0, 0, 7, 0]  # not on the way
    blank = np.zeros((3, 2, 1))
    path = SelectionPath(
        lams=np.array([1.0, 0.1, 10.0]),
        etas=np.array([5.0, 0.5]),
        scores=scores,
        spread=np.array([0, 0, 0, 1.0, 2.0, 2.0]),
        objective=blank,
        dual_objective=blank,
        dual_gap=blank,
        n_iter=blank.astype(int),
        converged=blank.astype(bool),
    )
    assert_array_equal(path.ranking(2, 0), [0, 2, 1, 4, 5, 3])
    assert_array_equal(path.ranking(-1, -2), path.ranking(2, 0))
    assert_array_equal(path.ranking(1, 1), [1, 0, 2, 4, 5, 3])
    assert_array_equal(path.ranking(1, 0), [4, 1, 0, 2, 5, 3])
    with pytest.raises(IndexError):
        path.ranking(3, 0)


def test_rankings_are_sorted_scores_where_nothing_ties():
    path = stpca_path(X, LAMS, ETAS)
    assert len(np.unique(path.scores[1, 1])) == 30
    assert_array_equal(path.ranking(1, 1), np.argsort(-path.scores[1, 1], axis=None))


# The file


def test_a_saved_path_is_the_path(tmp_path):
    path = stpca_path(X, LAMS, ETAS)
    path.save(tmp_path / "a path")
    loaded = SelectionPath.load(tmp_path / "a path")
    assert loaded.names is None
    assert loaded.tol == path.tol == 1e-6
    for field in dataclasses.fields(path)[:-2]:
        values = getattr(loaded, field.name)
        assert_array_equal(values, getattr(path, field.name))
        assert values.dtype == getattr(path, field.name).dtype
    assert repr(loaded) == repr(path)
    assert os.listdir(tmp_path) == ["a path"]
    path.save(str(tmp_path / "a path"))
    assert os.listdir(tmp_path) == ["a path"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.lams = None


def test_a_path_for_rankings_says_its_tolerance():
    digits = load_digits().data
    fine, rough = (stpca_path(digits, solver=ExactSolver(tol=tol)) for tol in (1e-8, 1e-4))
    assert (fine.tol, rough.tol) == (1e-8, 1e-4)
    assert rough.dual_gap.max() <= 1e-4
    assert rough.n_iter.sum() < fine.n_iter.sum()
    # Both are optimal within their tolerance, so neither bound is above the other objective.
    assert np.all(fine.dual_objective <= rough.objective * (1 + 1e-12))
    assert np.all(rough.objective * (1 - 1e-4) <= fine.objective)
    common = [
        len(set(fine.ranking(i, j)[:20]) & set(rough.ranking(i, j)[:20]))
        for i in range(5)
        for j in range(5)
    ]
    assert np.mean(common) >= 0.99 * 20


def test_files_that_are_no_paths_are_refused(tmp_path):
    path = stpca_path(X, LAMS, ETAS)
    file = tmp_path / "path.npz"
    with pytest.raises(FileNotFoundError, match=r"there is no file .*path\.npz"):
        SelectionPath.load(file)
    np.savez(file, scores=path.scores)
    with pytest.raises(ValueError, match=r"path\.npz is damaged, or not a file of tensift"):
        SelectionPath.load(file)
    path.save(file)
    arrays = dict(np.load(file))
    spoiled = {
        "lams": arrays["lams"][:2],
        "scores": arrays["scores"][:, :, 1:],
        "spread": arrays["spread"].astype(int),
        "converged": arrays["converged"].astype(float),
        "dual_gap": arrays["dual_gap"][..., :1],
    }
    spoiled["tol"] = np.zeros(2)
    for name, array in spoiled.items():
        np.savez(file, **{**arrays, name: array})
        with pytest.raises(ValueError, match=r"path\.npz is not a selection path"):
            SelectionPath.load(file)
    earlier = {name: array for name, array in arrays.items() if name != "tol"}
    np.savez(file, **{**earlier, "format": np.array("tensift selection path 2")})
    assert SelectionPath.load(file).tol is None
    np.savez(file, **{**arrays, "format": np.array("something else")})
    with pytest.raises(ValueError, match="not a selection path that this version can read"):
        SelectionPath.load(file)
    with pytest.raises(OSError, match="cannot write"):
        path.save(tmp_path / "nowhere" / "path.npz")


# Checkpoints, progress, warnings


def test_a_checkpoint_is_gone_on_from_and_refused_for_other_parameters(tmp_path, monkeypatch):
    file = tmp_path / "checkpoint.npz"
    first = stpca_path(X, LAMS, ETAS, checkpoint=file)

    def never(*args, **kwargs):
        raise AssertionError("solved again")

    with monkeypatch.context() as patch:
        patch.setattr(tensift.solvers._settings, "solve_exact_block", never)
        again = stpca_path(X, LAMS, ETAS, checkpoint=file, n_jobs=2, verbose=True)
    assert_array_equal(again.scores, first.scores)
    assert_array_equal(again.dual_gap, first.dual_gap)
    for params in (
        {"X": X[:29]},
        {"lams": [1.0]},
        {"etas": ETAS[::-1]},
        {"solver": "paper"},
        {"solver": ExactSolver(tol=1e-5)},
        {"solver": ExactSolver(max_iter=999)},
        {"basis": "dct"},
        {"orientation": 1},
        {"scale": None},
        {"score_by": "energy"},
        {"feature_mode": 0},
        {"solver": PaperSolver(convention="paper")},
    ):
        call = {"X": X, "lams": LAMS, "etas": ETAS, **params}
        with pytest.raises(ValueError, match="was made with other data"):
            stpca_path(checkpoint=file, **call)
    with monkeypatch.context() as patch:
        patch.setattr(tensift.stpca._path, "__version__", "99.0")
        with pytest.raises(ValueError, match="another version of tensift"):
            stpca_path(X, LAMS, ETAS, checkpoint=file)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_path_ends_with_the_same_bits(tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(tensift.moments._slice_blocks, "BLOCK_ELEMENTS", 75)
    file = tmp_path / "checkpoint.npz"
    params = {"basis": "dft", "score_by": "energy", "penalty_units": "relative"}
    whole = stpca_path(X, **params)
    solve, calls = tensift.solvers._settings.solve_exact_block, itertools.count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == 23:
            raise KeyboardInterrupt
        return solve(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(tensift.solvers._settings, "solve_exact_block", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stpca_path(X, checkpoint=file, n_jobs=jobs, **params)
    assert 0 < np.load(file)["finished"].sum() < np.load(file)["finished"].size
    resumed = stpca_path(X, checkpoint=file, n_jobs=3 - jobs, **params)
    for name, values in vars(whole).items():
        assert_array_equal(getattr(resumed, name), values, err_msg=name)


def test_progress_is_shown_over_slices_and_cells(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    bar = tensift._utils.progress.progress_bar
    monkeypatch.setattr(
        tensift.stpca._path, "progress_bar", lambda title, total: bar(title, total, delay=0)
    )
    stpca_path(X, LAMS, ETAS, verbose=True)
    assert "36/36" in stream.getvalue().splitlines()[-1]


def test_cells_that_missed_the_tolerance_are_named_in_one_warning():
    with pytest.warns(
        ConvergenceWarning,
        match=(
            r"\d+ of 36 slices of all cells did not reach tol: "
            r"slice \d at lam=1, eta=3 \(gap .*more;"
        ),
    ) as caught:
        path = stpca_path(X, LAMS, ETAS, solver=ExactSolver(tol=1e-12, max_iter=1))
    assert [warning.filename for warning in caught] == [__file__]
    assert f"{np.count_nonzero(~path.converged)} of 36 slices over tol" in repr(path)


def test_constant_rows_under_the_dft_are_warned_of_once():
    with pytest.warns(UserWarning, match="same operator score") as caught:
        stpca_path(X, LAMS, ETAS, basis="dft")
    assert len(caught) == 1


def test_the_representation_says_what_is_there():
    path = stpca_path(X, [2.0], ETAS, feature_mode=1)
    assert repr(path) == "SelectionPath(lam 2, 2 etas from 0.1 to 3, features of shape (6,))"


# Bad input


MOMENTS = Moments(Orientation((5, 6), 0, make_transforms("identity", [6])))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"lams": []}, "lams must be a list of at least one number"),
        ({"etas": 3.0}, r"etas must be a list of at least one number, got an array of shape \(\)"),
        ({"lams": [[1.0]]}, r"lams .* shape \(1, 1\)"),
        ({"lams": [1.0, -2.0]}, "lams must be finite numbers of at least 0, got -2"),
        ({"etas": [np.nan]}, "etas must be finite numbers of at least 0, got nan"),
        ({"etas": [np.inf]}, "etas must be finite numbers of at least 0, got inf"),
        ({"lams": [1, 2, 1.0]}, "lams has 1 more than once"),
        ({"lams": ["a"]}, "lams must be a list of numbers"),
        ({"lams": [1j]}, "lams must be a list of numbers"),
        ({"lams": np.array([1j])}, "lams must be a list of numbers"),
        ({"lams": ["1"]}, "lams must be a list of numbers"),
        ({"lams": [[1.0], [1.0, 2.0]]}, "lams must be a list of numbers"),
        ({"lams": None, "etas": [None]}, "etas must be"),
        ({"solver": "magic"}, "'solver' parameter of stpca_path must be"),
        ({"penalty_units": "magic"}, "'penalty_units' parameter of stpca_path must be"),
        ({"orientation": 2}, "orientation=2 is not a mode"),
        ({"feature_mode": 2}, "feature_mode=2 is not a mode"),
        ({"X": np.ones((5, 4, 3))}, "X is constant"),
        ({"X": X[:1]}, "minimum of 2"),
        ({"X": MOMENTS}, "no sample seen so far; at least 2"),
        ({"X": MOMENTS, "orientation": 1}, "orientation must be left at 0 when X is Moments"),
        ({"X": MOMENTS, "basis": "dct"}, "basis must be left at 'identity'"),
        ({"X": MOMENTS, "basis": np.eye(6)}, "basis must be left at 'identity'"),
        ({"X": GramTensor(np.ones((2, 3)), False)}, r"X has an array of shape \(2, 3\)"),
        ({"X": GramTensor(np.ones((2, 3, 4)), False)}, r"X has an array of shape \(2, 3, 4\)"),
        ({"X": GramTensor(np.full((2, 3, 3), np.nan), False)}, "X must hold finite"),
        ({"X": GramTensor(np.triu(np.ones((2, 3, 3))), False)}, "X must hold Hermitian"),
        ({"X": GramTensor(np.zeros((2, 3, 3)), False)}, "X is constant"),
        ({"X": GramTensor(np.eye(3)[None], False), "feature_shape": (3, 1)}, "feature_shape must"),
    ],
)
def test_bad_input_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        stpca_path(**{"X": X, "lams": LAMS, "etas": ETAS, **call})


def test_a_cell_outside_the_grid_is_named():
    path = stpca_path(np.random.default_rng(0).normal(size=(20, 3, 4)), lams=[1, 2], etas=[1])
    assert_array_equal(path.ranking(-1, -1), path.ranking(1, 0))
    with pytest.raises(IndexError, match="i=2 is outside the grid, which has 2 values"):
        path.ranking(2, 0)
    with pytest.raises(IndexError, match="j=-2 is outside the grid, which has 1 values"):
        path.ranking(0, -2)
