"""Critical penalties: against a general convex solver, explicit proofs, and both sides of them."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.solvers import SliceProblems, bounds_of_slices, critical_penalties, solve_exact
from tensift.solvers._algebra import HOST
from tensift.solvers._column_lengths import LengthsOfFactor, LengthsOfMatrices


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


def proven_bounds(S):
    """Bounds of the critical lam of one slice, with the conditions they rest on checked."""
    weights = np.full(len(S), 1 / len(S))
    for _ in range(200):
        G = 4 * S * weights[:, None] / (weights[:, None] + weights)
        A = S * weights[:, None] * weights / (weights[:, None] + weights)
        weights = np.maximum(weights * np.linalg.norm(G, axis=0) ** 2, 1e-30)
        weights /= weights.sum()
    assert_allclose(G + G.conj().T, 4 * S, atol=1e-12 * np.abs(S).max())
    assert np.linalg.eigvalsh(A).min() >= -1e-12 * np.abs(A).max()
    lower = np.trace(2 * S @ A).real / np.linalg.norm(A, axis=0).sum()
    return lower, np.linalg.norm(G, axis=0).max()


@pytest.mark.parametrize("is_complex", [False, True])
def test_explicit_matrices_prove_the_critical_lam(is_complex):
    gram = gram_of(4, 5, 12, 20, is_complex=is_complex)
    lower, upper = (max(bounds) for bounds in zip(*map(proven_bounds, gram.dense()), strict=True))
    assert upper <= lower * (1 + 1e-6)
    critical = critical_penalties(gram, tol=1e-4)
    assert lower * (1 - 1e-9) <= critical.lam <= upper * (1 + 1e-4)


def wide_factor(seed, n_slices, size, n, *, is_complex=False):
    """Rows of different lengths that share a few directions, as features of one table do."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n_slices, size, n)) * np.exp(rng.normal(size=(n_slices, size, 1)) / 2)
    factor += rng.normal(size=(n_slices, size, 2)) @ rng.normal(size=(n_slices, 2, n))
    if is_complex:
        factor = factor + 1j * rng.normal(size=factor.shape)
    return factor


@pytest.fixture
def no_large_matrices(monkeypatch):
    def refuse(self):
        raise AssertionError("a matrix of the order of the features")

    monkeypatch.setattr(GramTensor, "dense", refuse)
    monkeypatch.setattr(GramTensor, "spectrum", property(refuse))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n", [1, 5, 12])
def test_wide_slices_have_the_same_values_as_their_matrices(n, is_complex, request):
    factor = wide_factor(n, 3, 700, n, is_complex=is_complex)
    factor[1] = 0  # a slice without variance
    factor[2, ::3] = 0  # features without variance
    matrices = GramTensor(factor @ np.conj(np.swapaxes(factor, 1, 2)), thin=False)
    request.getfixturevalue("no_large_matrices")
    found = critical_penalties(GramTensor(factor, thin=True))
    monkey = request.getfixturevalue("monkeypatch")
    monkey.undo()
    expected = critical_penalties(matrices, tol=1e-5)
    assert_allclose(found.eta, expected.eta, rtol=1e-9)
    assert (1 - 1e-5) * expected.lam <= found.lam <= (1 + 1e-4) * expected.lam


@pytest.mark.parametrize("accuracy", [0.5, 1e-2, 1e-4, 1e-7])
def test_interpolated_lengths_are_as_accurate_as_they_say(accuracy):
    rng = np.random.default_rng(0)
    factor = wide_factor(0, 1, 300, 4, is_complex=True)[0]
    logs = -rng.exponential(size=(1, 300)) * 5
    exact, _ = LengthsOfMatrices(HOST, (factor @ factor.conj().T)[None])(logs, 0.0)
    found, error = LengthsOfFactor(factor)(logs, accuracy)
    assert error <= accuracy
    assert_allclose(found, exact, rtol=error)


def test_wide_slices_are_zero_above_and_not_below():
    gram = GramTensor(wide_factor(6, 1, 600, 6), thin=True)
    critical = critical_penalties(gram)
    above = solve_exact(SliceProblems(gram, 0.5 * critical.lam, 0.5 * critical.eta, 1e-3))
    assert above.converged.all()
    assert (above.norms == 0).all()
    # Any operator that is better than zero shows that zero is not the optimum.
    below = solve_exact(SliceProblems(gram, 0.99 * critical.lam, 0.0, 1e-3), max_iter=10)
    assert below.objective[0] < gram.trace()[0]
    assert (below.norms > 0).any()


@pytest.mark.parametrize("size", [1, 7, 600])
def test_one_sample(size):
    """``S = f f^H``: all entries alike, or one so large that its feature decides alone."""
    rng = np.random.default_rng(size)
    alike = np.exp(2j * np.pi * rng.random((1, size, 1)))
    critical = critical_penalties(GramTensor(alike, thin=True))
    assert_allclose([critical.lam, critical.eta], [2 * np.sqrt(size), 2 * size])
    one_large = alike.copy()
    one_large[0, 0] = 10 * np.sqrt(size)
    critical = critical_penalties(GramTensor(one_large, thin=True))
    assert_allclose(critical.lam, 200 * size, rtol=1.01e-4)
    assert critical.lam >= 200 * size * (1 - 1e-12)


def test_features_in_separate_groups():
    """No sample has features of two groups, so the largest value of a group is that of all."""
    groups = [gram_of(seed, 1, 4, 9).dense()[0] for seed in range(5)]
    whole = np.zeros((20, 20))
    for j, group in enumerate(groups):
        whole[4 * j : 4 * j + 4, 4 * j : 4 * j + 4] = group
    alone = max(critical_penalties(GramTensor(group[None], thin=False)).lam for group in groups)
    assert_allclose(critical_penalties(GramTensor(whole[None], thin=False)).lam, alone, rtol=1e-4)


def test_blocks_of_slices_change_nothing(monkeypatch):
    gram = gram_of(7, 9, 6, 8)
    together = critical_penalties(gram)
    monkeypatch.setattr("tensift.solvers._critical._BLOCK", 1)
    alone = critical_penalties(gram)
    assert_allclose(alone.lam, together.lam, rtol=1e-4)
    assert_allclose(alone.eta, together.eta, rtol=1e-14)


@pytest.mark.parametrize("is_complex", [False, True])
def test_bounds_of_every_slice(is_complex):
    factor = wide_factor(8, 4, 15, 6, is_complex=is_complex)
    thin = GramTensor(factor, thin=True)
    dense = GramTensor(thin.dense(), thin=False)
    for one, other in zip(bounds_of_slices(thin), bounds_of_slices(dense), strict=True):
        assert_allclose(one, other)
    eta, lower, upper = bounds_of_slices(thin)
    for j in range(4):
        critical = critical_penalties(thin[j : j + 1])
        assert_allclose(critical.eta, eta[j])
        assert lower[j] <= critical.lam * (1 + 1e-9)
        assert critical.lam <= upper[j] * (1 + 1e-9)


def test_wide_slices_take_memory_for_their_factors_only():
    gram = GramTensor(wide_factor(9, 1, 6000, 10), thin=True)
    tracemalloc.start()
    try:
        critical_penalties(gram)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6000**2 * 8 / 10


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
