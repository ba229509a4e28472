"""Critical penalties: against a general convex solver, and by what happens on both sides."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.solvers import SliceProblems, critical_penalties, solve_exact


def gram_of(seed, n_slices, size, n, *, is_complex=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_slices, size, n)) * rng.uniform(0.2, 2, (n_slices, size, 1))
    X = X + rng.normal(size=(n_slices, 1, n))
    if is_complex:
        X = X + 1j * rng.normal(size=X.shape)
    return GramTensor(X @ np.conj(np.swapaxes(X, 1, 2)), thin=False)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_a_general_convex_solver_finds_the_same(size):
    """The largest ``Tr(2 S A)`` under ``A >= 0`` and ``||A||_{2,1} <= 1``."""
    cvxpy = pytest.importorskip("cvxpy")
    gram = gram_of(size, 3, size, 12)
    found = []
    for S in gram.dense():
        A = cvxpy.Variable((size, size), PSD=True)
        columns = cvxpy.sum([cvxpy.norm(A[:, j], 2) for j in range(size)])
        problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(2 * S @ A)), [columns <= 1])
        found.append(problem.solve(solver="CLARABEL"))
    critical = critical_penalties(gram, tol=1e-6)
    assert_allclose(critical.lam, max(found), rtol=1e-5)
    assert critical.lam >= max(found) * (1 - 1e-7)
    assert_allclose(critical.eta, 2 * np.linalg.eigvalsh(gram.dense()).max())


@pytest.mark.parametrize("is_complex", [False, True])
def test_nothing_is_left_above_and_something_below(is_complex):
    gram = gram_of(0, 6, 9, 30, is_complex=is_complex)
    critical = critical_penalties(gram)
    for lam, eta in ((critical.lam, 0.0), (0.0, critical.eta)):
        above = solve_exact(SliceProblems(gram, 1.0001 * lam, 1.0001 * eta, 1e-3), tol=1e-10)
        assert (above.operators == 0).all()
        below = solve_exact(SliceProblems(gram, 0.999 * lam, 0.999 * eta, 1e-3), tol=1e-10)
        assert (below.operators != 0).any()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_shares_that_sum_to_one_leave_nothing(share):
    gram = gram_of(1, 4, 7, 30)
    critical = critical_penalties(gram)
    problems = SliceProblems(gram, share * critical.lam, (1 - share) * critical.eta, 1e-3)
    assert (solve_exact(problems).operators == 0).all()


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_they_scale_with_the_gram_matrices(factor):
    gram = gram_of(2, 3, 6, 20)
    plain, scaled = critical_penalties(gram), critical_penalties(gram.scaled(np.sqrt(factor)))
    assert_allclose([scaled.lam, scaled.eta], [factor * plain.lam, factor * plain.eta])


def test_thin_factors_and_slices_without_variance():
    factor = np.random.default_rng(3).normal(size=(3, 8, 4))
    factor[1] = 0
    thin = GramTensor(factor, thin=True)
    dense = GramTensor(thin.dense(), thin=False)
    assert_allclose(critical_penalties(thin).lam, critical_penalties(dense).lam)
    nothing = critical_penalties(GramTensor(np.zeros((2, 3, 3)), thin=False))
    assert (nothing.lam, nothing.eta) == (0.0, 0.0)


def test_real_slices(paper_dataset):
    X = paper_dataset("PIE").data
    orientation = Orientation(X.shape[1:], 0, make_transforms("identity", [X.shape[2]]))
    moments = Moments(orientation).update(X)
    gram = moments.gram().scaled(1 / moments.peak)
    critical = critical_penalties(gram)
    above = solve_exact(SliceProblems(gram, critical.lam, 0.0, 1e-3), tol=1e-8)
    below = solve_exact(SliceProblems(gram, 0.99 * critical.lam, 0.0, 1e-3), tol=1e-8)
    assert (above.operators == 0).all()
    assert (below.operators != 0).any()
