"""The exact solver in a span of the samples, against matrices and a general convex solver."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import ExactSolver, STPCASelector, stpca_path
from tensift.moments import GramTensor
from tensift.solvers import SliceProblems, solve_exact
from tensift.solvers import _span as span_module
from tensift.solvers._low_rank import LowRank
from tensift.solvers._span import fits_span, solve_in_span
from tensift.stpca._zero_score_order import norms_under

RIDGE = 1e-3


def factors_of(p, q, n, *, seed=0, is_complex=False, rank=5):
    """Centred factors (p, q, n): a few directions that features share, and noise."""
    rng = np.random.default_rng(seed)
    slices = rng.normal(size=(p, q, rank)) * (rng.random((p, q, 1)) < 0.5)
    slices = slices @ rng.normal(size=(p, rank, n)) + 0.3 * rng.normal(size=(p, q, n))
    if is_complex:
        slices = slices + 1j * rng.normal(size=slices.shape) * 0.3
    return slices - slices.mean(axis=2, keepdims=True)


def thin_problems(factors, lam, eta):
    return SliceProblems(GramTensor(factors, thin=True), lam, eta, RIDGE)


def dense_problems(factors, lam, eta):
    dense = factors @ np.conj(np.swapaxes(factors, 1, 2))
    return SliceProblems(GramTensor(dense, thin=False), lam, eta, RIDGE)


def objective(A, factor, lam, eta):
    """The stated problem, by its definition."""
    loss = np.linalg.norm(factor - A @ factor) ** 2 + RIDGE * np.linalg.norm(A) ** 2
    return loss + lam * np.linalg.norm(A, axis=0).sum() + eta * np.trace(A).real


@pytest.fixture
def refuse_matrices(monkeypatch):
    def dense(self):
        raise AssertionError("a matrix of the order of the features was asked for")

    monkeypatch.setattr(GramTensor, "dense", dense)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("lam", "eta"), [(0.01, 0.01), (1.0, 5.0), (3.0, 1.0), (0.0, 4.0)])
def test_the_same_optimum_as_by_matrices(is_complex, lam, eta):
    factors = factors_of(1, 150, 12, is_complex=is_complex)
    found = solve_in_span(thin_problems(factors, lam, eta), 1e-7, 200)
    assert found.converged.all()
    assert isinstance(found.found, LowRank)
    A = found.operators[0]
    assert_allclose(A, A.conj().T, atol=1e-12)
    assert np.linalg.eigvalsh(A)[0] > -1e-12
    assert_allclose(objective(A, factors[0], lam, eta), found.objective[0], rtol=1e-9)
    assert_allclose(found.norms[0], np.linalg.norm(A, axis=0), atol=1e-12)
    judge = solve_exact(dense_problems(factors, lam, eta), tol=1e-8)
    assert judge.converged.all()
    # Each bound lies below what the other method found, up to rounding.
    assert found.dual[0] <= judge.objective[0] * (1 + 1e-12)
    assert judge.dual[0] <= found.objective[0] * (1 + 1e-12)
    assert_allclose(found.objective, judge.objective, rtol=2e-7)
    assert_allclose(found.norms, judge.norms, atol=2e-3 * judge.norms.max())


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("lam", "eta"), [(0.02, 0.1), (0.1, 3.0), (0.5, 0.5)])
def test_a_general_convex_solver_finds_the_same_optimum(lam, eta):
    cvxpy = pytest.importorskip("cvxpy")
    factor = factors_of(1, 12, 3, seed=3)[0]
    A = cvxpy.Variable((12, 12), PSD=True)
    loss = cvxpy.sum_squares(factor - A @ factor) + RIDGE * cvxpy.sum_squares(A)
    columns = cvxpy.sum([cvxpy.norm(A[:, j], 2) for j in range(12)])
    problem = cvxpy.Problem(cvxpy.Minimize(loss + lam * columns + eta * cvxpy.trace(A)))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    found = solve_in_span(thin_problems(factor[None], lam, eta), 1e-4, 200)
    assert found.converged.all()
    assert found.dual[0] <= problem.value * (1 + 1e-7)
    assert problem.value <= found.objective[0] * (1 + 1e-7)


def test_no_operator_is_below_the_bound():
    factors = factors_of(1, 160, 10, seed=4)
    rng = np.random.default_rng(0)
    lam, eta = 2.0, 3.0
    for max_iter in (1, 2, 4, 8):  # whether certified or not
        found = solve_in_span(thin_problems(factors, lam, eta), 0.0, max_iter)
        A = found.operators[0]
        for share in (1e-3, 0.1, 1.0):
            L = rng.normal(size=(160, 4)) / 30
            for other in (A + share * L @ L.T, (1 - share) * A, A * 0):
                assert objective(other, factors[0], lam, eta) >= found.dual[0]


@pytest.mark.parametrize(("lam", "eta"), [(1e4, 1e4), (30.0, 60.0)])
def test_strong_penalties_leave_little_or_nothing(lam, eta):
    factors = factors_of(1, 140, 10, seed=5)
    wide, judge = (
        solve_exact(make(factors, lam, eta), tol=1e-6) for make in (thin_problems, dense_problems)
    )
    assert wide.converged.all()
    assert_allclose(wide.objective, judge.objective, rtol=2e-6)


@pytest.mark.parametrize(("lam", "eta"), [(5.0, 0.0), (40.0, 0.01)])
def test_matrices_take_over_where_the_span_proves_nothing(lam, eta):
    factors = factors_of(1, 130, 8, seed=6)
    assert not solve_in_span(thin_problems(factors, lam, eta), 1e-6, 1000).converged.all()
    wide, judge = (
        solve_exact(make(factors, lam, eta), tol=1e-6) for make in (thin_problems, dense_problems)
    )
    assert wide.converged.all()
    assert_allclose(wide.objective, judge.objective, rtol=2e-6)


def test_many_features_never_become_matrices(monkeypatch, refuse_matrices):
    monkeypatch.setattr(span_module, "_DENSE", 100)
    found = solve_exact(thin_problems(factors_of(1, 130, 8, seed=6), 40.0, 0.01), max_iter=30)
    assert not found.converged.any()
    assert found.n_iter[0] == 30
    assert found.dual[0] <= found.objective[0]


def test_constant_samples_and_repeated_ones():
    nothing = solve_exact(thin_problems(np.zeros((1, 130, 5)), 1.0, 1.0))
    assert nothing.converged.all()
    assert_array_equal(nothing.operators, 0)
    once = factors_of(1, 150, 6, seed=7)
    twice = np.concatenate([once, once], axis=2) / np.sqrt(2)
    found = [solve_exact(thin_problems(factors, 0.5, 0.5), tol=1e-8) for factors in (once, twice)]
    assert_allclose(found[0].norms, found[1].norms, atol=1e-4 * found[0].norms.max())


def test_workers_and_company_do_not_matter():
    factors = factors_of(5, 200, 10, seed=8)
    lams, etas = np.linspace(0.1, 2, 5), np.linspace(2, 0.1, 5)
    problems = thin_problems(factors, lams, etas)
    one, two = (solve_exact(problems, n_jobs=jobs) for jobs in (1, 2))
    alone = solve_exact(thin_problems(factors[2:3], lams[2], etas[2]))
    assert_array_equal(one.norms, two.norms)
    assert_array_equal(one.objective, two.objective)
    assert_allclose(alone.norms[0], one.norms[2], rtol=1e-8)
    assert one.converged.all()


def test_shapes_decide():
    assert fits_span(GramTensor(np.zeros((1, 128, 32)), thin=True))
    assert not fits_span(GramTensor(np.zeros((1, 128, 33)), thin=True))
    assert not fits_span(GramTensor(np.zeros((1, 127, 2)), thin=True))
    assert not fits_span(GramTensor(np.zeros((1, 128, 128)), thin=False))


def test_a_default_fit_and_a_path_need_no_square_matrix(refuse_matrices):
    X = np.random.default_rng(9).normal(size=(16, 3000))
    X[:, :1500] += np.random.default_rng(10).normal(size=(16, 1)) * 2
    STPCASelector().fit(X[:, :500])  # what is imported or cached once
    tracemalloc.start()
    selector = STPCASelector().fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000**2 * 8 / 4
    assert selector.dual_gap_[0] <= 1e-6
    path = stpca_path(X, lams=[0.01, 0.1], etas=[0.1], solver=ExactSolver())
    assert path.dual_gap.max() <= 1e-6


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_norms_without_penalties_need_no_matrices(is_complex):
    factors = factors_of(2, 20, 6, seed=11, is_complex=is_complex)
    found = norms_under(thin_problems(factors, 1.0, 1.0), 0.0, None)
    for factor, norms in zip(factors, found, strict=True):
        S = factor @ factor.conj().T
        A = S @ np.linalg.inv(S + RIDGE * np.eye(20))
        assert_allclose(norms, np.linalg.norm(A, axis=0), rtol=1e-9)
