"""Objectives from spectra: never below the optimum, exact where the optimum has a formula."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.moments import GramTensor
from tensift.solvers import SliceProblems, estimated_objectives, solve_exact


def factors(n_slices=5, size=7, rank=20, *, complex_values=False, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_slices, size, rank))
    if complex_values:
        values = values + 1j * rng.normal(size=values.shape)
    return values * np.geomspace(1, 0.1, size)[:, None]


def dense(factor):
    return GramTensor(factor @ factor.conj().transpose(0, 2, 1), thin=False)


@pytest.mark.parametrize("complex_values", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_estimates_are_objectives_of_operators_near_the_optimum(ridge, complex_values):
    gram = dense(factors(complex_values=complex_values))
    lams, etas = np.array([0.1, 1.0, 5.0]), np.array([0.3, 2.0, 4.0])
    found = estimated_objectives(gram, lams, etas, ridge)
    energy = gram.trace().sum()
    for value, lam, eta in zip(found, lams, etas, strict=True):
        optimum = solve_exact(SliceProblems(gram, lam, eta, ridge), tol=1e-9)
        best = optimum.objective.sum()
        assert value >= optimum.dual.sum() * (1 - 1e-12)
        assert value - best <= 0.06 * (energy - best)


def test_without_column_norms_estimates_are_exact():
    """Then the optimum has the eigenvectors of S, and each eigenvalue its own parabola."""
    gram, eta, ridge = dense(factors()), 1.5, 1e-2
    s = np.linalg.eigvalsh(gram.array)
    a = np.maximum((2 * s - eta) / (2 * (s + ridge)), 0)
    truth = np.sum((1 - a) ** 2 * s + ridge * a**2 + eta * a)
    assert_allclose(estimated_objectives(gram, np.zeros(1), np.array([eta]), ridge), truth)


def test_large_penalties_leave_all_energy():
    gram = dense(factors())
    assert_allclose(
        estimated_objectives(gram, np.array([1e9, 0.0]), np.array([0.0, 1e9])), gram.trace().sum()
    )
    constant = GramTensor(np.zeros((2, 3, 3)), thin=False)
    assert_array_equal(estimated_objectives(constant, np.ones(1), np.ones(1)), [0.0])


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_thin_factors_give_what_their_matrices_give(rank):
    factor = factors(size=7, rank=rank)
    lams, etas = np.array([0.1, 1.0]), np.array([0.3, 0.2])
    thin = estimated_objectives(GramTensor(factor, thin=True), lams, etas, 1e-3)
    assert_allclose(thin, estimated_objectives(dense(factor), lams, etas, 1e-3), rtol=1e-8)


def test_workers_change_no_bit_and_later_estimates_neither():
    factor = factors(64, 48, 60)
    lams, etas = np.geomspace(0.01, 10, 4), np.geomspace(0.01, 10, 4)
    gram = dense(factor)
    one = estimated_objectives(gram, lams, etas, 1e-3)
    assert "spectrum" in vars(gram)  # for the solver
    assert_array_equal(estimated_objectives(gram, lams, etas, 1e-3), one)
    assert_array_equal(estimated_objectives(dense(factor), lams, etas, 1e-3, n_jobs=2), one)


def test_arrays_of_other_libraries_give_the_same():
    strict = pytest.importorskip("array_api_strict")
    factor = factors()
    gram = dense(factor)
    other = GramTensor(strict.asarray(gram.array), thin=False)
    lams, etas = np.array([0.1, 1.0]), np.array([0.3, 0.2])
    found = estimated_objectives(other, lams, etas, 1e-3)
    assert_allclose(found, estimated_objectives(gram, lams, etas, 1e-3))
