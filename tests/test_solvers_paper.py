"""The authors' iteration against plain transcriptions of it, and its limits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.solvers import SliceProblems, Solution, solve_paper
from tensift.solvers._problem import column_norms

EPS = float(np.finfo(float).eps)
TOLERANCE = 1e-9  # the agreement asked of objectives; step counts must be the same


def executor_for(n, q, p, *, seed=0, is_complex=False, size=0.3):
    """Centred slices (p, q, n) in which a few features carry most of the variance."""
    rng = np.random.default_rng(seed)
    slices = rng.normal(size=(p, q, n)) * size * rng.uniform(0.1, 2, size=(p, q, 1))
    if is_complex:
        slices = slices + 1j * rng.normal(size=slices.shape) * size
    return slices - slices.mean(axis=2, keepdims=True)


def gram_of(slices, *, thin=False):
    gram = GramTensor(slices, thin=True)
    return gram if thin else GramTensor(gram.dense(), thin=False)


def assert_same_solution(solution, slices, expected, rtol=TOLERANCE):
    for j in range(len(slices)):
        operator, path = expected[j]
        assert solution.n_iter[j] == len(path)
        assert_allclose(solution.operators[j], operator, atol=rtol * max(1, abs(operator).max()))
        assert_allclose(solution.objective_path[j, : len(path)], path, rtol=rtol)
        assert np.isnan(solution.objective_path[j, len(path) :]).all()
        assert solution.objective[j] == solution.objective_path[j, len(path) - 1]


@pytest.mark.parametrize("n", [60, 12, 5], ids=["n>q", "n=q", "n<q"])
@pytest.mark.parametrize("orientation", [0, 1])
@pytest.mark.parametrize("with_matrix", [False, True])
@pytest.mark.parametrize(("lam", "eta"), [(0.01, 0.01), (0.1, 1), (1, 0.1), (5, 5), (100, 100)])
def test_equals_the_transcription(fit_transcription, n, orientation, with_matrix, lam, eta):
    rng = np.random.default_rng([n, orientation])
    X = rng.normal(size=(n, 12, 12)) * rng.uniform(0.1, 1, size=(12, 12))
    M = rng.normal(size=(12, 12)) + 3 * np.eye(12) if with_matrix else np.eye(12)
    scores, steps, objectives = fit_transcription(X, lam, eta, orientation=orientation, M=M)

    oriented = Orientation((12, 12), orientation, make_transforms([M], [12]))
    gram = Moments(oriented).update(X / np.abs(X).max()).gram()
    assert gram.thin == (n < 12)
    ridge = 1e-3 if n > 12 else 1e-2
    solution = solve_paper(SliceProblems(gram, lam, eta), ridge=ridge)
    ours = np.sqrt(oriented.spread_over_features(column_norms(solution.operators) ** 2))
    assert_allclose(ours, scores, atol=TOLERANCE * max(scores.max(), 1e-6))
    assert_array_equal(solution.n_iter, steps)
    assert_allclose(solution.objective, objectives, rtol=TOLERANCE)


@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("lam", "eta"), [(0.05, 0.02), (0.5, 1.0), (3.0, 0.2), (50.0, 50.0)])
@pytest.mark.parametrize("smoothing", [EPS, 1e-2])
def test_operators_and_paths_equal_a_direct_loop(brute_force, n, is_complex, lam, eta, smoothing):
    slices = executor_for(n, 9, 5, seed=n, is_complex=is_complex)
    expected = [
        brute_force.solve(block, lam, eta, ridge=1e-3, smoothing=smoothing) for block in slices
    ]
    problems = SliceProblems(gram_of(slices, thin=n < 9), lam, eta)
    solution = solve_paper(problems, ridge=1e-3, smoothing=smoothing)
    assert_same_solution(solution, slices, expected)
    assert_array_equal(solution.converged, solution.n_iter < 100)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("watch_conjugate", [False, True])
@pytest.mark.parametrize(("lam", "eta"), [(0.5, 20.0), (3.0, 8.0), (0.1, 0.5)])
def test_larger_slices_equal_a_direct_loop(brute_force, is_complex, watch_conjugate, lam, eta):
    """Few positive eigenvalues, some, and few negative ones."""
    slices = executor_for(70, 33, 6, is_complex=is_complex)
    params = {"ridge": 1e-3, "watch_conjugate": watch_conjugate}
    expected = [brute_force.solve(block, lam, eta, **params) for block in slices]
    solution = solve_paper(SliceProblems(gram_of(slices), lam, eta), **params)
    assert_same_solution(solution, slices, expected)


def test_slices_may_differ_in_their_penalties(brute_force):
    slices = executor_for(40, 9, 5)
    lam, eta = np.array([0.0, 0.1, 1.0, 10.0, 1e3]), np.array([0.0, 3.0, 0.1, 1.0, 1.0])
    for thin in (False, True):
        solution = solve_paper(SliceProblems(gram_of(slices, thin=thin), lam, eta), ridge=1e-3)
        expected = [
            brute_force.solve(*given, ridge=1e-3) for given in zip(slices, lam, eta, strict=True)
        ]
        assert_same_solution(solution, slices, expected)


@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_a_start_is_where_the_iteration_goes_on(n, is_complex):
    """Three steps and then the others are all of them."""
    slices = executor_for(n, 9, 5, is_complex=is_complex)
    problems = SliceProblems(gram_of(slices, thin=n < 9), 2.0, 0.2)
    params = {"ridge": 1e-3, "tol": 1e-7}
    whole = solve_paper(problems, **params, max_iter=1000)
    assert whole.n_iter.min() > 5
    begun = solve_paper(problems, **params, max_iter=3)
    rest = solve_paper(problems, **params, max_iter=1000, start=begun)
    assert_array_equal(rest.n_iter, whole.n_iter - 3)
    assert_allclose(rest.operators, whole.operators, atol=1e-9)
    steps = rest.objective_path.shape[1]
    assert_allclose(rest.objective_path, whole.objective_path[:, 3 : 3 + steps], rtol=1e-10)


def test_a_start_goes_to_its_own_block_of_slices():
    slices = executor_for(60, 48, 90, size=0.1)
    problems = SliceProblems(gram_of(slices), 0.5, 0.5)
    begun = solve_paper(problems, ridge=1e-3, max_iter=2)
    whole, rest = solve_paper(problems, ridge=1e-3), solve_paper(problems, ridge=1e-3, start=begun)
    assert_allclose(rest.operators, whole.operators, atol=1e-9)


@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
@pytest.mark.parametrize("share", [False, True])
def test_watching_the_conjugate_changes_when_to_stop_and_nothing_else(brute_force, n, share):
    slices = executor_for(n, 9, 8, is_complex=True, size=0.2)
    params = {"tol": 1e-4, "watch_conjugate": True}
    problems = SliceProblems(gram_of(slices, thin=n < 9), 0.5, 0.1)
    solution = solve_paper(problems, ridge=1e-3, relative=share, **params)
    expected = [
        brute_force.solve(block, 0.5, 0.1, ridge=1e-3, share=share, **params) for block in slices
    ]
    assert_same_solution(solution, slices, expected)
    plain = solve_paper(problems, ridge=1e-3, tol=1e-4, relative=share)
    assert (plain.n_iter != solution.n_iter).any()
    steps = min(plain.objective_path.shape[1], solution.objective_path.shape[1])
    both = ~np.isnan(plain.objective_path[:, :steps] + solution.objective_path[:, :steps])
    assert_allclose(
        plain.objective_path[:, :steps][both], solution.objective_path[:, :steps][both], rtol=1e-12
    )
    real = SliceProblems(gram_of(slices.real, thin=n < 9), 0.5, 0.1)
    watched, unwatched = (
        solve_paper(real, ridge=1e-3, watch_conjugate=watch) for watch in (True, False)
    )
    assert_array_equal(watched.operators, unwatched.operators)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("ridge", [1e-3, 1e-2])
@pytest.mark.parametrize("rank", [3, 9, 14])
def test_thin_and_dense_forms_have_the_same_solution(is_complex, ridge, rank):
    slices = executor_for(rank, 9, 4, is_complex=is_complex)
    thin, dense = (
        solve_paper(SliceProblems(gram_of(slices, thin=form), 0.4, 0.3), ridge=ridge)
        for form in (True, False)
    )
    assert_array_equal(thin.n_iter, dense.n_iter)
    assert_allclose(thin.operators, dense.operators, atol=TOLERANCE)
    assert_allclose(thin.objective_path, dense.objective_path, rtol=TOLERANCE)


@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_objective_is_the_distance_of_the_data_from_their_reconstruction(thin, is_complex):
    """``Tr((I - A) S (I - A)^H) = ||X - A X||^2``, for any Hermitian A."""
    slices = executor_for(20, 6, 4, is_complex=is_complex)
    rng = np.random.default_rng(4)
    operators = rng.normal(size=(4, 6, 6))
    if is_complex:
        operators = operators + 1j * rng.normal(size=operators.shape)
    operators = operators + np.conj(np.swapaxes(operators, 1, 2))
    values = SliceProblems(gram_of(slices, thin=thin), 0.7, 0.2).value(operators)
    for A, X, value in zip(operators, slices, values, strict=True):
        columns = sum(np.linalg.norm(A[:, c]) for c in range(6))
        expected = np.linalg.norm(X - A @ X) ** 2 + 0.7 * columns + 0.2 * np.trace(A).real
        assert value == pytest.approx(expected, rel=1e-12)
        # The trace form, spelled out.
        rest = np.eye(6) - A
        fit = np.trace(rest @ (X @ X.conj().T) @ rest.conj().T).real
        assert value == pytest.approx(fit + 0.7 * columns + 0.2 * np.trace(A).real, rel=1e-12)


@pytest.mark.parametrize("n", [100, 20], ids=["dense", "thin"])
@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_number_of_threads_does_not_change_one_bit(n, is_complex):
    slices = executor_for(n, 48, 90, is_complex=is_complex, size=0.1)
    problems = SliceProblems(gram_of(slices, thin=n < 48), 0.2, 0.1)
    one, two, three = (solve_paper(problems, ridge=1e-3, n_jobs=jobs) for jobs in (1, 2, 3))
    for other in (two, three):
        assert_array_equal(other.operators, one.operators)
        assert_array_equal(other.objective_path, one.objective_path)
        assert_array_equal(other.converged, one.converged)


def test_slices_are_solved_independently_of_their_neighbours():
    slices = executor_for(30, 40, 60, size=0.2)
    problems = SliceProblems(gram_of(slices), 0.3, 0.1)
    together = solve_paper(problems, ridge=1e-3)
    for j in (0, 17, 59):
        alone = solve_paper(problems[j : j + 1], ridge=1e-3)
        assert_allclose(alone.operators[0], together.operators[j], atol=TOLERANCE)
        assert alone.n_iter[0] == together.n_iter[j]


@pytest.mark.parametrize("factor", [1e-3, 0.125, 7.0, 1e4])
@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
def test_relative_stopping_does_not_depend_on_the_scale(brute_force, factor, n):
    """Data times c, with lam, eta and ridge times c^2, is the same problem."""
    slices = executor_for(n, 9, 4)

    def solve(c):
        problems = SliceProblems(gram_of(c * slices, thin=n < 9), 0.5 * c**2, 0.3 * c**2)
        return solve_paper(problems, ridge=1e-3 * c**2, tol=1e-6, relative=True)

    one, scaled = solve(1.0), solve(factor)
    assert_array_equal(scaled.n_iter, one.n_iter)
    assert_allclose(scaled.operators, one.operators, atol=TOLERANCE)
    assert_allclose(scaled.objective_path, factor**2 * one.objective_path, rtol=TOLERANCE)
    expected = [
        brute_force.solve(block, 0.5, 0.3, ridge=1e-3, tol=1e-6, share=True) for block in slices
    ]
    assert_same_solution(one, slices, expected)


def test_absolute_stopping_does_depend_on_the_scale():
    slices = executor_for(40, 9, 4)
    steps = [
        solve_paper(
            SliceProblems(gram_of(c * slices), 0.5 * c**2, 0.3 * c**2), ridge=1e-3 * c**2
        ).n_iter.sum()
        for c in (1e-3, 1.0)
    ]
    assert steps[0] < steps[1]


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-8])
def test_a_slice_stops_at_the_first_small_change_and_says_so(tol, relative):
    slices = executor_for(40, 9, 12) * np.linspace(0.1, 1, 12)[:, None, None]
    problems = SliceProblems(gram_of(slices), 0.4, 0.2)
    solution = solve_paper(problems, ridge=1e-3, tol=tol, relative=relative, max_iter=1000)
    assert solution.converged.all()
    assert len(np.unique(solution.n_iter)) > 1
    assert solution.objective_path.shape == (12, solution.n_iter.max())
    for path, steps in zip(solution.objective_path, solution.n_iter, strict=True):
        changes = np.abs(np.diff(path[:steps]))
        allowed = tol * path[1:steps] if relative else np.full(steps - 1, tol)
        assert changes[-1] < allowed[-1]
        assert (changes[:-1] >= allowed[:-1]).all()
    assert_allclose(solution.objective, problems.value(solution.operators), rtol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 2, 3])
def test_steps_are_limited_and_only_stopped_slices_count_as_converged(brute_force, max_iter):
    slices = executor_for(40, 9, 6)
    slices[2] = 0.0  # stops at the second step
    problems = SliceProblems(gram_of(slices), 0.4, 0.2)
    solution = solve_paper(problems, ridge=1e-3, max_iter=max_iter)
    assert solution.objective_path.shape == (6, max_iter)
    quick = np.arange(6) == 2
    assert_array_equal(solution.n_iter, np.where(quick, min(2, max_iter), max_iter))
    assert_array_equal(solution.converged, quick & (max_iter >= 2))
    expected = [
        brute_force.solve(block, 0.4, 0.2, ridge=1e-3, max_iter=max_iter) for block in slices
    ]
    assert_same_solution(solution, slices, expected)


def test_tolerance_zero_takes_every_step():
    problems = SliceProblems(gram_of(executor_for(40, 5, 3)), 0.4, 0.2)
    solution = solve_paper(problems, ridge=1e-3, tol=0.0, max_iter=25)
    assert_array_equal(solution.n_iter, [25, 25, 25])
    assert not solution.converged.any()


def test_without_penalties_the_operator_is_the_ridge_regression_on_itself():
    """lam = eta = 0: ``A = S (S + ridge)^-1``, whatever the weights."""
    slices = executor_for(40, 7, 3)
    gram = gram_of(slices)
    solution = solve_paper(SliceProblems(gram, 0.0, 0.0), ridge=1e-2)
    for S, A in zip(gram.array, solution.operators, strict=True):
        assert_allclose(A, S @ np.linalg.inv(S + 1e-2 * np.eye(7)), atol=1e-10)
    assert_array_equal(solution.n_iter, [2, 2, 2])


@pytest.mark.parametrize("eta", [0.0, 0.5, 1e6])
@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
def test_without_column_penalty_eigenvalues_are_shrunk(n, eta):
    """lam = 0: A shares its eigenvectors with S, values ``max(0, (s - eta/2) / (s + ridge))``."""
    slices = executor_for(n, 7, 3)
    problems = SliceProblems(gram_of(slices, thin=n < 7), 0.0, eta)
    solution = solve_paper(problems, ridge=1e-2)
    for S, A in zip(problems.gram.dense(), solution.operators, strict=True):
        values, vectors = np.linalg.eigh(S)
        shrunk = np.maximum(0, (values - eta / 2) / (values + 1e-2))
        assert_allclose(A, vectors @ np.diag(shrunk) @ vectors.conj().T, atol=1e-9)


@pytest.mark.parametrize("n", [40, 4], ids=["dense", "thin"])
def test_without_trace_penalty_equals_a_direct_loop(brute_force, n):
    slices = executor_for(n, 7, 3)
    solution = solve_paper(SliceProblems(gram_of(slices, thin=n < 7), 0.6, 0.0), ridge=1e-3)
    expected = [brute_force.solve(block, 0.6, 0.0, ridge=1e-3) for block in slices]
    assert_same_solution(solution, slices, expected)


@pytest.mark.parametrize(("lam", "eta"), [(0, 0), (1, 0), (0, 1), (1, 1), (1e6, 1e6)])
@pytest.mark.parametrize("thin", [False, True])
def test_a_slice_without_variance_has_no_operator(lam, eta, thin):
    slices = executor_for(20, 5, 3)
    slices[1] = 0.0
    solution = solve_paper(SliceProblems(gram_of(slices, thin=thin), lam, eta), ridge=1e-3)
    assert_array_equal(solution.operators[1], np.zeros((5, 5)))
    assert solution.objective[1] == 0
    assert solution.converged[1]
    if lam < 1e6:
        assert np.abs(solution.operators[[0, 2]]).max() > 0


@pytest.mark.parametrize("thin", [False, True])
def test_operators_are_in_the_cone_and_below_the_identity(thin):
    problems = SliceProblems(gram_of(executor_for(30, 9, 6, is_complex=True), thin=thin), 0.3, 0.2)
    operators = solve_paper(problems, ridge=1e-3).operators
    assert_allclose(operators, np.conj(np.swapaxes(operators, 1, 2)), atol=1e-14)
    values = np.linalg.eigvalsh(operators)
    assert values.min() >= -1e-13
    assert values.max() <= 1 + 1e-12


def test_one_feature_has_a_closed_form(brute_force):
    slices = executor_for(30, 1, 4)
    solution = solve_paper(SliceProblems(gram_of(slices), 0.3, 0.2), ridge=1e-3)
    expected = [brute_force.solve(block, 0.3, 0.2, ridge=1e-3) for block in slices]
    assert_same_solution(solution, slices, expected)


def test_the_problem_is_not_modified():
    for thin in (False, True):
        problems = SliceProblems(gram_of(executor_for(20, 6, 4), thin=thin), 0.3, 0.2)
        before = problems.gram.array.copy()
        problems.gram.array.flags.writeable = False
        solve_paper(problems, ridge=1e-3)
        assert_array_equal(problems.gram.array, before)


def test_progress_is_reported_up_to_the_last_slice():
    problems = SliceProblems(gram_of(executor_for(60, 48, 90, size=0.1)), 1.0, 1.0)
    for jobs in (1, 2):
        reports = []
        solve_paper(problems, ridge=1e-3, n_jobs=jobs, callback=reports.append)
        assert reports == sorted(reports)
        assert reports[-1] == 90


def test_solutions_of_parts_join_to_the_solution_of_all():
    first = Solution(
        np.ones((2, 3, 3)), np.array([[4.0, 3.0], [2.0, np.nan]]), np.array([1, 1]) > 0
    )
    second = Solution(np.zeros((1, 3, 3)), np.array([[9.0, 8.0, 7.0]]), np.array([False]))
    joined = Solution.concatenate([first, second])
    assert joined.operators.shape == (3, 3, 3)
    assert_array_equal(joined.n_iter, [2, 1, 3])
    assert_array_equal(joined.objective, [3.0, 2.0, 7.0])
    assert_array_equal(joined.converged, [True, True, False])
