"""A few cases of every area of the campaign (`make fuzz`), and what campaigns have found."""

import importlib
import os
import subprocess
import sys
from numbers import Integral
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tensift import SparseTensorPCA, STPCASelector, TensorPCA
from tensift._utils.pool import Pool
from tensift._utils.sklearn_compat import Interval
from tensift.graphs import heat_kernel_graph
from tensift.rivals import (
    NLGMS,
    UDFS,
    CPUFSnn,
    LaplacianScore,
    PivotedCholeskySelector,
    list_selectors,
)
from tensift.selection import suggest_count

TESTS = Path(__file__).parent
X = np.random.default_rng(0).normal(size=(20, 4, 3))
SLOW = pytest.mark.slow
needs_signals = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
FIRST_CASES = {"api": range(60), "files": range(40), "streams": range(12), "concurrency": range(3)}


@pytest.fixture(scope="module")
def campaign():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TESTS)
        yield importlib.import_module("fuzz.campaign")


@pytest.mark.parametrize("area", FIRST_CASES)
def test_first_cases_hold(campaign, area):
    found = [campaign.run_case(area, seed=0, case=case) for case in FIRST_CASES[area]]
    assert [failure.details for failure in found if failure] == []


@needs_signals
@SLOW
@pytest.mark.parametrize("case", range(2))
def test_ended_runs_can_be_repeated(campaign, case):
    failure = campaign.run_case("signals", seed=0, case=case)
    assert failure is None, failure.details


def test_a_failure_is_told_with_the_line_that_repeats_it(campaign, monkeypatch, capsys):
    seen = []

    def check(rng, folder):
        seen.append((int(rng.integers(10**9)), list(folder.iterdir())))
        if len(seen) == 3:
            raise AssertionError("the third\nis wrong")

    monkeypatch.setitem(campaign.AREAS, "api", (check, 1.0))
    for case in range(3):
        failure = campaign.run_case("api", seed=7, case=case)
    assert failure.reason == "the third is wrong"
    assert failure.command == "python -m tests.fuzz --area api --seed 7 --case 2"
    assert "Traceback" in failure.details
    assert len({number for number, _ in seen}) == 3
    assert all(content == [] for _, content in seen)
    told = campaign.table([("api", "3", "1", "0")], [failure])
    assert "api 2: the third is wrong" in told
    assert failure.command in told
    seen.clear()
    long = 1e6  # seconds, more than any machine takes
    assert campaign.run_campaign(["api"], seed=7, seconds=0.0, limit=long) == 0
    assert capsys.readouterr().out.split("\n")[1].split() == ["api", "1", "0", "0"]


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="needs timers")
def test_a_case_that_does_not_end_is_a_failure(campaign, monkeypatch):
    def check(rng, folder):
        while True:
            pass

    monkeypatch.setitem(campaign.AREAS, "api", (check, 1.0))
    failure = campaign.run_case("api", seed=0, case=0, limit=0.05)
    assert failure.reason == "TooSlow: the case takes more than 0.05 s"


def test_the_command_of_the_makefile_repeats_a_case():
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "--area", "api", "--seed", "0", "--case", "0"]
        + ["--limit", "1e6"],
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "api 0: nothing is wrong\n", "")


def test_only_fits_with_a_seed_are_repeated(campaign):
    assert not campaign.api.is_repeatable(NLGMS(3, start="random"))
    assert campaign.api.is_repeatable(NLGMS(3, start="random", random_state=0))
    assert campaign.api.is_repeatable(PivotedCholeskySelector(3))


# What campaigns have found


def test_more_workers_than_anybody_has():
    """A list with an entry for each of them took minutes."""
    with Pool(10**9) as pool:
        assert pool.map(abs, [-1, 2, -3]) == [1, 2, 3]
    with Pool(2) as pool:
        assert pool.map(abs, [-1, 2, -3, -4, 5]) == [1, 2, 3, 4, 5]
    one, many = (STPCASelector(2, n_jobs=n_jobs).fit(X) for n_jobs in (1, 10**9))
    assert_array_equal(one.scores_, many.scores_)


def numbers_of(selector):
    """The names of its parameters that are whole numbers; n_jobs refuses True by name."""
    return [
        name
        for name, allowed in selector._parameter_constraints.items()
        if name not in ("n_features_to_select", "n_jobs")
        and any(isinstance(one, Interval) and one.type is Integral for one in allowed)
    ]


@pytest.mark.parametrize(
    ("selector", "name"),
    [(info.selector, name) for info in list_selectors() for name in numbers_of(info.selector)],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_true_is_one(selector, name):
    """scikit-learn's constraints let it pass, and some functions of NumPy do not."""
    seeded = {"random_state": 0} if "random_state" in selector._get_param_names() else {}
    one, true = (selector(3, **{name: value}, **seeded).fit(X) for value in (1, True))
    assert_array_equal(one.scores_, true.scores_)


def test_widths_whose_squares_overflow_or_vanish():
    rows = X.reshape(20, -1)
    ones = heat_kernel_graph(rows, 3, width=1e100).toarray()
    assert set(ones.ravel()) == {0.0, 1.0}
    assert_array_equal(heat_kernel_graph(rows, 3, width=1e300).toarray(), ones)
    LaplacianScore(3, width=1e300).fit(X)
    for width in (1e-200, 1e-160):
        with pytest.raises(ValueError, match=r"width=.* is so small that the weights"):
            LaplacianScore(3, width=width).fit(1e20 * X)


@pytest.mark.parametrize("estimator", [STPCASelector(2), TensorPCA(2), SparseTensorPCA(2)])
@pytest.mark.parametrize("shape", [(20, 4, 3), (20, 12)])
def test_lists_of_arrays_of_objects(estimator, shape):
    """Their values became numbers in fit, but stayed objects in transform."""
    samples = list(X.reshape(shape).astype(object))
    expected = clone(estimator).fit(X.reshape(shape))
    found = clone(estimator).fit(samples)
    assert_array_equal(found.transform(samples), expected.transform(X.reshape(shape)))
    assert found.transform(samples).dtype == float
    assert found.score(samples) == expected.score(X.reshape(shape))


def test_a_singular_matrix_is_explained():
    with pytest.raises(ValueError, match=r"X leads UDFS to a matrix.*use scale='max'") as error:
        UDFS(3, scale=None, n_neighbors=2).fit(1e30 * X.round())
    assert type(error.value) is ValueError
    UDFS(3, scale="max", n_neighbors=2).fit(1e30 * X.round())


def test_runs_whose_scores_overflow_have_diverged():
    settings = {"beta": 8000.0, "n_neighbors": 1, "random_state": 39, "max_iter": 55, "tol": 1e-9}
    with pytest.warns(UserWarning, match="negative values|still changed"):
        fitted = CPUFSnn(3, step_size=15.0, n_clusters=2, **settings).fit(X)
    assert np.isfinite(fitted.scores_).all()
    assert np.isfinite(fitted.objective_path_).all()


def test_a_suggestion_from_values_whose_squares_vanish():
    groups = np.repeat([[0.0] * 12, [1.0] * 12], 20, axis=0)
    rows = groups + 0.1 * np.random.default_rng(0).normal(size=(40, 12))
    assert suggest_count(1e-250 * rows).count == suggest_count(rows).count
    assert PivotedCholeskySelector("auto").fit(1e-250 * rows).n_features_ >= 1


def test_a_suggestion_from_a_subsample_in_which_nothing_varies():
    """Of many samples only some are looked at; here they are all equal."""
    rare = np.zeros((5000, 3, 4))
    rare[4001] = X[0].T
    assert PivotedCholeskySelector("auto").fit(rare).n_features_ == 1
    half = np.zeros((40, 12))
    half[::2] = X.reshape(20, 12)[:, :1] + 0.01 * X.reshape(20, 12)
    assert 1 <= suggest_count(half).count <= 12
