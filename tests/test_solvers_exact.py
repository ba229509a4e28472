"""The exact solver: its certificate, an independent judge, and the corners of the problem."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tensift import ExactSolver, STPCASelector
from tensift.moments import GramTensor
from tensift.solvers import SliceProblems, solve_exact, solve_paper
from tensift.solvers._diagonal import DiagonalProblems


def slices(n_slices, size, n, *, seed=0, is_complex=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_slices, size, n)) * rng.uniform(0.1, 2, (n_slices, size, 1))
    X += rng.normal(size=(n_slices, 1, n))  # features have something in common
    return X + 1j * rng.normal(size=X.shape) if is_complex else X


def problems_of(factor, lam, eta, ridge=1e-3, *, thin=False):
    dense = factor @ np.conj(np.swapaxes(factor, 1, 2))
    return SliceProblems(GramTensor(factor if thin else dense, thin), lam, eta, ridge)


def objective(A, S, lam, eta, ridge):
    """The stated problem, by its definition."""
    rest = np.eye(len(A)) - A
    loss = np.trace(rest @ S @ rest.conj().T).real + ridge * np.linalg.norm(A) ** 2
    return loss + lam * np.linalg.norm(A, axis=0).sum() + eta * np.trace(A).real


def optimum_by_cvxpy(S, lam, eta, ridge):
    cvxpy = pytest.importorskip("cvxpy")
    is_complex = np.iscomplexobj(S)
    q = len(S)
    A = cvxpy.Variable((q, q), hermitian=True) if is_complex else cvxpy.Variable((q, q), PSD=True)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0))
    loss = cvxpy.sum_squares((np.eye(q) - A) @ root) + ridge * cvxpy.sum_squares(A)
    columns = cvxpy.sum([cvxpy.norm(A[:, j], 2) for j in range(q)])
    trace = cvxpy.real(cvxpy.trace(A)) if is_complex else cvxpy.trace(A)
    total = loss + lam * columns + eta * trace
    constraints = [A >> 0] if is_complex else []
    problem = cvxpy.Problem(cvxpy.Minimize(total), constraints)
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-8, tol_gap_rel=1e-8, tol_feas=1e-8)
    return problem.value


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("lam", "eta"), [(0.5, 0.5), (5.0, 0.1), (0.1, 5.0), (20.0, 20.0), (0, 3)])
def test_a_general_convex_solver_finds_the_same_optimum(lam, eta, is_complex):
    for size, n in ((2, 9), (5, 4), (9, 20)):
        factor = slices(1, size, n, seed=size, is_complex=is_complex)
        problems = problems_of(factor, lam, eta)
        solution = solve_exact(problems, tol=1e-8)
        judged = optimum_by_cvxpy(problems.gram.dense()[0], lam, eta, 1e-3)
        assert_allclose(solution.objective[0], judged, rtol=1e-5)
        assert solution.dual[0] <= judged * (1 + 1e-6)


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 20),
    n=st.integers(2, 30),
    lam=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0, 1e3]),
    eta=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0, 1e3]),
    is_complex=st.booleans(),
    thin=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_slice_is_certified(size, n, lam, eta, is_complex, thin, seed):
    factor = slices(3, size, n, seed=seed, is_complex=is_complex)
    problems = problems_of(factor, lam, eta, thin=thin)
    solution = solve_exact(problems)
    assert solution.converged.all()
    assert (solution.dual_gap <= 1e-6).all()
    for A, S, value, bound in zip(
        solution.operators, problems.gram.dense(), solution.objective, solution.dual, strict=True
    ):
        size_of_A = max(np.linalg.norm(A), 1e-12)
        assert np.abs(A - A.conj().T).max() <= 1e-10 * size_of_A
        assert np.linalg.eigvalsh(A).min() >= -1e-10 * size_of_A
        # The reported objective is that of the operator, and the bound lies below it.
        truth = objective(A, S, lam, eta, 1e-3)
        assert_allclose(value, truth, rtol=1e-9, atol=1e-9 * np.trace(S).real)
        assert bound <= truth * (1 + 1e-12)


def test_the_bound_lies_below_every_feasible_operator():
    """Any multipliers will do, not only those of a solver near its end."""
    rng = np.random.default_rng(0)
    factor = slices(4, 6, 15)
    problems = problems_of(factor, 0.7, 0.4)
    diagonal = DiagonalProblems.of(problems)
    for _ in range(30):
        G = rng.normal(size=(4, 6, 6))
        G *= 0.7 / np.linalg.norm(G, axis=1, keepdims=True) * rng.uniform(0, 1, (4, 1, 6))
        root = rng.normal(size=(4, 6, 6)) * rng.uniform(0, 3)
        Z = root @ np.swapaxes(root, 1, 2)
        multipliers = (G + np.swapaxes(G, 1, 2)) / 2 - Z
        bound = diagonal.lower_bound(diagonal.rotate(multipliers / diagonal.unit[:, :, None]))
        root = rng.normal(size=(4, 6, 6)) * rng.uniform(0, 0.7)
        A = root @ np.swapaxes(root, 1, 2)
        assert (bound * diagonal.unit[:, 0] <= problems.value(A) + 1e-9).all()


def test_no_direction_leads_down():
    rng = np.random.default_rng(1)
    problems = problems_of(slices(2, 7, 30), 2.0, 1.0)
    solution = solve_exact(problems, tol=1e-9)
    for _ in range(200):
        root = rng.normal(size=(2, 7, rng.integers(1, 8))) * rng.uniform(0, 1)
        other = root @ np.swapaxes(root, 1, 2)
        step = 10.0 ** rng.uniform(-4, 0)
        moved = (1 - step) * solution.operators + step * other
        assert (problems.value(moved) >= solution.objective * (1 - 1e-8)).all()


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_scale_does_not_matter(factor):
    X = slices(3, 8, 20)
    plain = solve_exact(problems_of(X, 1.5, 0.5, 1e-3))
    scaled = solve_exact(
        problems_of(np.sqrt(factor) * X, 1.5 * factor, 0.5 * factor, 1e-3 * factor)
    )
    assert_allclose(scaled.operators, plain.operators, atol=1e-8)
    assert_array_equal(scaled.n_iter, plain.n_iter)
    assert_allclose(scaled.dual_gap, plain.dual_gap, atol=1e-10)


@pytest.mark.parametrize(("lam", "eta"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)])
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_a_slice_without_variance(lam, eta, ridge):
    gram = GramTensor(np.zeros((2, 4, 4)), thin=False)
    solution = solve_exact(SliceProblems(gram, lam, eta, ridge))
    assert (solution.operators == 0).all()
    assert (solution.objective == 0).all()
    assert (solution.dual_gap == 0).all()


def test_without_penalties_there_is_a_closed_form():
    problems = problems_of(slices(3, 6, 20), 0.0, 0.0, 0.5)
    S = problems.gram.dense()
    expected = S @ np.linalg.inv(S + 0.5 * np.eye(6))
    assert_allclose(solve_exact(problems, tol=1e-12).operators, expected, atol=1e-5)


def test_under_a_trace_alone_eigenvalues_are_shrunk():
    """lam = 0: the eigenvectors of S, with the eigenvalues max(0, (s - eta/2) / (s + ridge))."""
    problems = problems_of(slices(2, 6, 20), 0.0, 8.0, 0.5)
    s, V = np.linalg.eigh(problems.gram.dense())
    expected = (V * np.maximum(0, (s - 4.0) / (s + 0.5))[:, None, :]) @ np.swapaxes(V, 1, 2)
    assert_allclose(solve_exact(problems, tol=1e-12).operators, expected, atol=1e-5)


def test_strong_penalties_leave_nothing_and_columns_vanish_exactly():
    problems = problems_of(slices(3, 8, 25), 1e4, 0.0)
    solution = solve_exact(problems)
    assert (solution.operators == 0).all()
    assert_allclose(solution.objective, problems.gram.trace())
    some = solve_exact(problems_of(slices(3, 8, 25), 200.0, 1.0))
    columns = np.linalg.norm(some.operators, axis=1)
    assert (columns == 0).any()
    assert (columns > 0).any()
    # A positive semidefinite matrix with a zero column has a zero row too.
    assert_array_equal(columns == 0, np.linalg.norm(some.operators, axis=2) == 0)


def test_it_is_never_above_the_authors_iteration():
    for lam, eta in ((0.1, 0.1), (1.0, 10.0), (10.0, 1.0)):
        problems = problems_of(slices(6, 10, 40), lam, eta)
        exact = solve_exact(problems)
        paper = problems.value(solve_paper(problems, ridge=1e-3).operators)
        assert (exact.objective <= paper * (1 + 1e-6)).all()
        assert (exact.dual <= paper).all()


def test_workers_and_company_do_not_matter():
    problems = problems_of(slices(70, 40, 60), 5.0, 5.0)
    one, two = (solve_exact(problems, tol=1e-4, n_jobs=jobs) for jobs in (1, 2))
    assert_array_equal(one.operators, two.operators)
    assert_array_equal(one.dual, two.dual)
    alone = solve_exact(problems[3:4], tol=1e-4)
    assert_allclose(alone.operators[0], one.operators[3], atol=1e-9)


def test_the_path_is_that_of_the_best_so_far():
    solution = solve_exact(problems_of(slices(5, 9, 30), 2.0, 2.0), tol=1e-10)
    for path, count in zip(solution.objective_path, solution.n_iter, strict=True):
        assert not np.isnan(path[:count]).any()
        assert np.isnan(path[count:]).all()
        assert (np.diff(path[:count]) <= 0).all()


# In the selector


def test_the_selector_holds_the_certificates():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 6, 8)) * rng.uniform(0.2, 1, (6, 8))
    selector = STPCASelector(5, solver="exact", lam=0.5, eta=0.5).fit(X)
    assert selector.dual_gap_.shape == selector.dual_objective_.shape == (8,)
    assert (selector.dual_gap_ <= 1e-6).all()
    assert (selector.dual_objective_ <= selector.objective_).all()
    paper = STPCASelector(5, solver="paper", lam=10, eta=10)
    assert not hasattr(paper.fit(X), "dual_gap_")
    assert not hasattr(clone(paper).partial_fit(X), "dual_gap_")
    parts = STPCASelector(5, solver="exact", lam=0.5, eta=0.5).partial_fit(X[:9]).partial_fit(X[9:])
    assert_allclose(parts.dual_gap_, selector.dual_gap_, atol=1e-8)
    assert_allclose(parts.scores_, selector.scores_, atol=1e-8)


def test_a_new_fit_leaves_no_certificate_of_the_old_one():
    X = np.random.default_rng(5).normal(size=(30, 6, 8))
    selector = STPCASelector(5, solver="exact", lam=0.5, eta=0.5).fit(X)
    assert not hasattr(selector.set_params(solver="paper").fit(X), "dual_gap_")


def test_a_refused_fit_leaves_no_result_of_the_old_one():
    X = np.random.default_rng(5).normal(size=(30, 6, 8))
    selector = STPCASelector(5, lam=10, eta=10).fit(X)
    with pytest.raises(ValueError, match="X is constant"):
        selector.fit(np.ones((10, 6, 8)))
    assert not hasattr(selector, "scores_")


def test_conjugate_slices_share_their_certificates():
    X = np.random.default_rng(6).normal(size=(30, 5, 7))
    selector = STPCASelector(5, solver="exact", basis="dft", score_by="energy", lam=3, eta=3).fit(X)
    assert_array_equal(selector.dual_gap_[1:], selector.dual_gap_[:0:-1])
    assert_array_equal(selector.operators_[1:], selector.operators_[:0:-1].conj())


def test_missed_tolerances_are_named():
    X = np.random.default_rng(7).normal(size=(30, 6, 3))
    selector = STPCASelector(5, solver=ExactSolver(tol=1e-9, max_iter=2), lam=2, eta=1)
    with pytest.warns(
        ConvergenceWarning, match=r"3 of 3 slices did not reach tol: slice 0 \(gap .*max_iter"
    ):
        selector.fit(X)
    assert_array_equal(selector.n_iter_, [2, 2, 2])
    assert (selector.dual_gap_ > 1e-9).all()


@pytest.mark.parametrize("name", ["Orbit", "Array"])
@pytest.mark.parametrize("orientation", [0, 1])
def test_real_slices_over_the_papers_grid(paper_dataset, name, orientation):
    X = paper_dataset(name).data
    for lam in (0.01, 0.1, 1, 10, 100):
        for eta in (0.01, 0.1, 1, 10, 100):
            selector = STPCASelector(3, solver="exact", orientation=orientation, lam=lam, eta=eta)
            assert (selector.fit(X).dual_gap_ <= 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PIE", "JAFFE", "Imm40", "COIL20", "BreastMNIST", "ASCH"])
def test_real_slices_at_the_corners_of_the_grid(paper_dataset, name):
    X = paper_dataset(name).data
    for lam, eta in ((0.01, 0.01), (0.01, 100), (100, 0.01), (10, 10)):
        selector = STPCASelector(3, solver="exact", lam=lam, eta=eta).fit(X)
        assert (selector.dual_gap_ <= 1e-6).all()


def test_a_start_changes_the_way_not_the_end():
    X = slices(40, 30, 60)
    near = solve_exact(problems_of(X, 3.0, 2.0), tol=1e-9)
    cold = solve_exact(problems_of(X, 3.1, 2.0), tol=1e-9)
    warm = solve_exact(problems_of(X, 3.1, 2.0), tol=1e-9, start=near)
    assert warm.n_iter.mean() < cold.n_iter.mean()
    assert_allclose(warm.objective, cold.objective, rtol=2e-9)
    assert (warm.dual_gap <= 1e-9).all()
    # A start that is far off is not taken.
    far = solve_exact(problems_of(X, 3.1, 2.0), start=solve_exact(problems_of(X, 0.0, 0.0)))
    assert_array_equal(far.n_iter, solve_exact(problems_of(X, 3.1, 2.0)).n_iter)


def test_slices_may_differ_in_their_penalties():
    X = slices(5, 8, 30)
    lam, eta = np.array([0.0, 0.1, 1.0, 10.0, 1e4]), np.array([0.0, 3.0, 0.1, 1.0, 1.0])
    together = solve_exact(problems_of(X, lam, eta), tol=1e-8)
    for j in range(5):
        alone = solve_exact(problems_of(X[j : j + 1], lam[j], eta[j]), tol=1e-8)
        assert_allclose(together.operators[j], alone.operators[0], atol=1e-9)
        assert_allclose(together.dual[j], alone.dual[0], rtol=1e-9)


def test_slices_whose_subspaces_get_lost(paper_dataset):
    """In one of these slices an eigenspace cannot be followed, and its basis degenerates."""
    X = paper_dataset("UCIHAR_rebuilt_from_HAPT").data
    selector = STPCASelector(3, solver="exact", orientation=1, lam=100, eta=0.1).fit(X)
    assert (selector.dual_gap_ <= 1e-6).all()


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 1200])
def test_a_slice_of_1024_features(n):
    X = slices(1, 1024, n) / np.sqrt(n)
    problems = problems_of(X, 0.05, 0.1, thin=n < 1024)
    solution = solve_exact(problems)
    assert (solution.dual_gap <= 1e-6).all()
    assert_allclose(problems.value(solution.operators), solution.objective, rtol=1e-9)
    assert np.linalg.eigvalsh(solution.operators[0])[0] >= -1e-9
