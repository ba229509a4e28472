"""The certified optimum in the array API: proven gaps, feasible operators, the host's optimum."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from tensift.moments import GramTensor
from tensift.solvers import SliceProblems, solve_exact
from tensift.solvers.on_device import forget_recordings, solve_exact_on_device
from tensift.solvers.on_device._replay import Replayed

RIDGE, TOL = 1e-3, 1e-6


def _gram(p, q, n, *, is_complex=False, seed=0):
    rng = np.random.default_rng(seed)
    X = gaussian_filter1d(rng.standard_normal((p, q, n)), 2, axis=1)
    if is_complex:
        X = X + 1j * gaussian_filter1d(rng.standard_normal((p, q, n)), 2, axis=1)
    X = (X + 0.1 * rng.standard_normal((p, q, n))) * rng.uniform(0.2, 1, (p, 1, 1))
    X -= X.mean(axis=2, keepdims=True)
    return X @ X.conj().swapaxes(1, 2)


def _problems(gram, lam, eta, make=np.asarray):
    lam, eta = (make(w) if isinstance(w, np.ndarray) else w for w in (lam, eta))
    return SliceProblems(GramTensor(make(gram), thin=False), lam, eta, RIDGE)


def _check(found, gram, lam, eta, tol=TOL, as_numpy=np.asarray):
    """Operators are feasible, objectives are as stated, and no bound is above any value."""
    operators = as_numpy(found.operators)
    sizes = np.linalg.eigvalsh(operators)
    assert sizes.min() >= -1e-12 * max(sizes.max(), 1)
    problems = _problems(gram, lam, eta)
    value, dual = problems.value(operators), as_numpy(found.dual)
    np.testing.assert_allclose(as_numpy(found.objective), value, rtol=1e-10, atol=1e-12)
    reference = solve_exact(problems, tol=1e-9)
    assert (dual <= reference.objective * (1 + 1e-12) + 1e-12).all()
    assert as_numpy(found.converged).all()
    assert (value - dual <= tol * np.abs(value) * (1 + 1e-9)).all()
    assert (value <= reference.objective * (1 + tol) + 1e-12).all()
    np.testing.assert_array_equal(
        as_numpy(found.n_iter), np.isfinite(as_numpy(found.objective_path)).sum(axis=1)
    )


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    ("lam", "eta"), [(0.01, 0.01), (1.0, 0.5), (10.0, 1.0), (1.0, 30.0), (300.0, 1.0), (0.0, 1.0)]
)
def test_gaps_are_proven(lam, eta, is_complex):
    gram = _gram(6, 12, 40, is_complex=is_complex)
    _check(solve_exact_on_device(_problems(gram, lam, eta)), gram, lam, eta)


def test_every_library(library):
    gram = _gram(4, 6, 20)
    problems = _problems(gram, 2.0, 1.0, library.asarray)
    found = solve_exact_on_device(problems)
    for array in (found.operators, found.objective_path, found.converged, found.dual):
        assert type(array) is type(problems.gram.array)
    _check(found, gram, 2.0, 1.0, as_numpy=library.numpy)


@pytest.mark.parametrize("n", [5, 200])
def test_fewer_and_more_samples_than_features(n):
    gram = _gram(3, 14, n)
    _check(solve_exact_on_device(_problems(gram, 1.0, 1.0)), gram, 1.0, 1.0)


def test_slices_that_take_long_get_a_new_metric_and_others_leave_the_stack():
    gram = _gram(40, 16, 60, seed=3)
    found = solve_exact_on_device(_problems(gram, 20.0, 0.01), tol=1e-8)
    assert found.n_iter.max() > 12 > found.n_iter.min()
    _check(found, gram, 20.0, 0.01, tol=1e-8)


def test_penalties_of_every_slice():
    gram = _gram(5, 8, 30)
    lam, eta = np.array([0.0, 0.1, 1.0, 10.0, 100.0]), np.array([1.0, 0.1, 2.0, 0.5, 5.0])
    _check(solve_exact_on_device(_problems(gram, lam, eta)), gram, lam, eta)


def test_blocks_of_slices_are_put_together(monkeypatch):
    gram = _gram(7, 6, 30)
    whole = solve_exact_on_device(_problems(gram, 1.0, 1.0))
    monkeypatch.setattr("tensift.solvers.on_device._exact.block_elements", lambda like: 80)
    seen = []
    parts = solve_exact_on_device(_problems(gram, 1.0, 1.0), callback=seen.append)
    assert seen == [2, 4, 6, 7]
    np.testing.assert_allclose(parts.operators, whole.operators, atol=1e-9)
    np.testing.assert_array_equal(parts.n_iter, whole.n_iter)


def test_a_start_that_is_near_saves_steps():
    gram = _gram(6, 12, 40)
    before = solve_exact_on_device(_problems(gram, 3.0, 1.0), tol=1e-8)
    cold = solve_exact_on_device(_problems(gram, 3.01, 1.0))
    warm = solve_exact_on_device(_problems(gram, 3.01, 1.0), start=before)
    _check(warm, gram, 3.01, 1.0)
    assert warm.n_iter.sum() < cold.n_iter.sum()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_do_not_matter(scale):
    gram = _gram(3, 8, 30)
    found = solve_exact_on_device(
        SliceProblems(GramTensor(scale * gram, thin=False), scale, scale, scale * RIDGE)
    )
    expected = solve_exact_on_device(_problems(gram, 1.0, 1.0))
    np.testing.assert_allclose(found.operators, expected.operators, atol=1e-8)


def test_data_without_variance():
    found = solve_exact_on_device(_problems(np.zeros((2, 5, 5)), 1.0, 1.0))
    assert not found.operators.any()
    assert found.converged.all()


def test_steps_that_run_out_are_admitted():
    gram = _gram(4, 16, 60, seed=3)
    found = solve_exact_on_device(_problems(gram, 2.0, 0.01), max_iter=3, tol=1e-12)
    assert not found.converged.any()
    assert (found.n_iter == 3).all()
    assert (found.dual <= found.objective).all()


def test_single_precision_is_refused():
    problems = _problems(_gram(2, 4, 10).astype(np.float32), 1.0, 1.0)
    with pytest.raises(ValueError, match=r"double precision.*float32.*jax_enable_x64.*'paper'"):
        solve_exact_on_device(problems)


def test_replayed_functions_give_what_the_function_gives():
    double = Replayed(lambda x: (2 * x, x + 1), "double", lasting=True)
    for value in range(4):
        twice, more = double(np.array([value]))
        assert (twice[0], more[0]) == (2 * value, value + 1)
    forget_recordings()
