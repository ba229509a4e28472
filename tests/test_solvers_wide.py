"""Slices with far more features than samples: factors against plain matrices."""

import pickle
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector
from tensift.moments import GramTensor
from tensift.rivals import SPCAPSD
from tensift.solvers import SliceProblems, Solution, solve_paper
from tensift.solvers import _paper as paper_module
from tensift.solvers._low_rank import LowRank
from tensift.solvers._wide import WideUpdate, is_wide, positive_eigenpairs

PENALTIES = [(0.01, 0.01), (0.5, 0.0), (0.0, 0.3), (1.0, 1.0), (20.0, 0.1), (0.1, 20.0), (1e3, 1e3)]


def factors_of(p, q, n, *, seed=0, is_complex=False):
    """Centred slices (p, q, n) in which a few features carry most of the variance."""
    rng = np.random.default_rng(seed)
    slices = rng.normal(size=(p, q, n)) * rng.uniform(0.05, 1, size=(p, q, 1))
    if is_complex:
        slices = slices + 1j * rng.normal(size=slices.shape) * 0.3
    return slices - slices.mean(axis=2, keepdims=True)


def plain_update(factor, weights, eta):
    gram = factor @ factor.conj().T
    size = len(gram)
    update = (gram - eta / 2 * np.eye(size)) @ np.linalg.inv(gram + np.diag(weights))
    return (update + update.conj().T) / 2


def plain_part(matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.conj().T


@pytest.fixture
def always_wide(monkeypatch):
    monkeypatch.setattr(paper_module, "is_wide", lambda gram: gram.thin)
    refuse_matrices(monkeypatch)


def refuse_matrices(monkeypatch):
    def dense(self):
        raise AssertionError("the whole matrix was asked for")

    monkeypatch.setattr(WideUpdate, "dense", dense)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("eta", [0.0, 0.3, 40.0])
def test_the_update_by_factors_is_the_update(is_complex, eta):
    factor = factors_of(1, 30, 6, is_complex=is_complex)[0]
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.01, 3, 30)
    matrix = plain_update(factor, weights, eta)
    update = WideUpdate(factor, weights, eta)
    assert_allclose(update.dense(), matrix, atol=1e-10)
    values = np.linalg.eigvalsh(matrix)
    for shift in (1e-6, 0.01, 0.3, 0.9):
        assert update.count_above(shift) == np.count_nonzero(values > shift)
        vectors = rng.normal(size=(30, 4))
        expected = np.linalg.solve(shift * np.eye(30) - matrix, vectors)
        assert_allclose(update.shifted_inverse(shift) @ vectors, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [2, 3, 12])
@pytest.mark.parametrize("eta", [0.0, 1e-3, 0.5, 5.0, 1e4])
def test_positive_eigenpairs_make_the_projection(monkeypatch, is_complex, n, eta):
    refuse_matrices(monkeypatch)
    factor = factors_of(1, 150, n, is_complex=is_complex, seed=n)[0]
    weights = np.random.default_rng(2).uniform(0.01, 1, 150) ** 3 + 1e-3
    values, vectors = positive_eigenpairs(WideUpdate(factor, weights, eta))
    expected = plain_part(plain_update(factor, weights, eta))
    assert_allclose((vectors * values) @ vectors.conj().T, expected, atol=1e-9)
    assert len(values) <= n
    assert (values >= -1e-9).all()
    assert_allclose(vectors.conj().T @ vectors, np.eye(len(values)), atol=1e-12)


def test_a_start_that_is_far_off_or_too_small_leads_to_the_same(monkeypatch):
    refuse_matrices(monkeypatch)
    factor = factors_of(1, 120, 8)[0]
    weights = np.random.default_rng(3).uniform(0.01, 1, 120)
    update = WideUpdate(factor, weights, 0.2)
    expected = plain_part(plain_update(factor, weights, 0.2))
    rng = np.random.default_rng(4)
    for width in (1, 3, 7, 20):
        start = np.linalg.qr(rng.normal(size=(120, width)))[0]
        values, vectors = positive_eigenpairs(update, start)
        assert_allclose((vectors * values) @ vectors.T, expected, atol=1e-9)


def test_samples_or_features_that_repeat_are_no_trouble(monkeypatch):
    refuse_matrices(monkeypatch)
    factor = factors_of(1, 100, 5)[0]
    repeated = np.concatenate([factor, factor, factor[:, :2]], axis=1)
    twins = np.concatenate([factor, factor])
    nearly_nothing = factor * (np.arange(100) < 2)[:, None]
    for given in (repeated, twins, nearly_nothing, 0 * factor):
        for weights in (np.full(len(given), 0.5), np.linspace(0.01, 2, len(given))):
            for eta in (0.0, 0.1, 30.0):
                values, vectors = positive_eigenpairs(WideUpdate(given, weights, eta))
                expected = plain_part(plain_update(given, weights, eta))
                assert_allclose((vectors * values) @ vectors.T, expected, atol=1e-9)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("n", [2, 6])
@pytest.mark.parametrize(("lam", "eta"), PENALTIES)
def test_paths_and_operators_equal_a_direct_loop(brute_force, always_wide, is_complex, n, lam, eta):
    slices = factors_of(3, 60, n, is_complex=is_complex)
    solution = solve_paper(SliceProblems(GramTensor(slices, thin=True), lam, eta), ridge=1e-2)
    assert isinstance(solution.found, LowRank)
    for j, block in enumerate(slices):
        operator, path = brute_force.solve(block, lam, eta, ridge=1e-2)
        assert solution.n_iter[j] == len(path)
        assert_allclose(solution.objective_path[j, : len(path)], path, rtol=1e-8)
        assert_allclose(solution.operators[j], operator, atol=1e-9)
        assert_allclose(solution.norms[j], np.linalg.norm(operator, axis=0), atol=1e-9)


def test_small_features_keep_their_order_where_little_is_left(brute_force, always_wide):
    """Under a large lam all columns are near 1e-8, and still rank features."""
    slices = factors_of(1, 60, 6)
    solution = solve_paper(SliceProblems(GramTensor(slices, thin=True), 200.0, 0.01), ridge=1e-2)
    expected = np.linalg.norm(brute_force.solve(slices[0], 200.0, 0.01, ridge=1e-2)[0], axis=0)
    assert 0 < expected.max() < 1e-4
    assert_allclose(solution.norms[0], expected, atol=1e-7 * expected.max())


def test_slices_have_penalties_and_ranks_of_their_own(brute_force, always_wide):
    slices = factors_of(4, 50, 5)
    lam, eta = np.array([0.1, 1.0, 0.0, 5.0]), np.array([0.0, 50.0, 0.3, 1e6])
    problems = SliceProblems(GramTensor(slices, thin=True), lam, eta)
    whole = solve_paper(problems, ridge=1e-2)
    expected = [
        brute_force.solve(*given, ridge=1e-2) for given in zip(slices, lam, eta, strict=True)
    ]
    for j, (operator, path) in enumerate(expected):
        assert whole.n_iter[j] == len(path)
        assert_allclose(whole.operators[j], operator, atol=1e-9)
    assert not whole.operators[3].any()
    begun = solve_paper(problems, ridge=1e-2, max_iter=2, tol=0)
    rest = solve_paper(problems, ridge=1e-2, start=begun)
    assert_allclose(rest.operators, whole.operators, atol=1e-8)


def test_shapes_decide_who_projects(monkeypatch):
    assert is_wide(GramTensor(np.zeros((1, 400, 40)), thin=True))
    assert not is_wide(GramTensor(np.zeros((1, 400, 41)), thin=True))
    assert not is_wide(GramTensor(np.zeros((1, 399, 2)), thin=True))
    assert not is_wide(GramTensor(np.zeros((1, 400, 400)), thin=False))
    slices = factors_of(1, 400, 12)
    problems = SliceProblems(GramTensor(slices, thin=True), 0.5, 0.2)
    by_factors = solve_paper(problems, ridge=1e-2)
    monkeypatch.setattr(paper_module, "is_wide", lambda gram: False)
    by_matrices = solve_paper(problems, ridge=1e-2)
    assert isinstance(by_factors.found, LowRank)
    assert not isinstance(by_matrices.found, LowRank)
    assert_array_equal(by_factors.n_iter, by_matrices.n_iter)
    assert_allclose(by_factors.objective_path, by_matrices.objective_path, rtol=1e-10)
    assert_allclose(by_factors.operators, by_matrices.operators, atol=1e-9)


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
def test_number_of_threads_does_not_change_one_bit(is_complex):
    slices = factors_of(5, 420, 10, is_complex=is_complex)
    problems = SliceProblems(GramTensor(slices, thin=True), 0.3, 0.1)
    one, two = (solve_paper(problems, ridge=1e-2, n_jobs=jobs) for jobs in (1, 2))
    assert_array_equal(one.operators, two.operators)
    assert_array_equal(one.objective_path, two.objective_path)


def test_factors_of_different_ranks_join():
    rng = np.random.default_rng(5)
    pairs = [
        (rng.uniform(1, 2, r), np.linalg.qr(rng.normal(size=(9, max(r, 1))))[0][:, :r])
        for r in (3, 0, 1)
    ]
    whole = LowRank.of_eigenpairs(pairs)
    parts = [LowRank.of_eigenpairs([pair]) for pair in pairs]
    joined = LowRank.concatenate(parts)
    expected = np.stack([(vectors * values) @ vectors.T for values, vectors in pairs])
    for given in (whole, joined):
        assert_allclose(given.dense(), expected, atol=1e-14)
        assert_allclose(given.column_norms(), np.linalg.norm(expected, axis=1), atol=1e-14)
        assert_allclose(given.trace, np.trace(expected, axis1=1, axis2=2), atol=1e-14)
    mixed = Solution.concatenate(
        [Solution(part, np.ones((1, 1)), np.array([True])) for part in (parts[0], expected[1:])]
    )
    assert_allclose(mixed.operators, expected, atol=1e-14)


def test_a_fit_of_long_rows_needs_no_square_matrix():
    X = np.random.default_rng(6).normal(size=(8, 3000))
    SPCAPSD(lam=1.0, eta=1.0).fit(X[:, :500])  # what is imported or cached once
    tracemalloc.start()
    selector = SPCAPSD(lam=1.0, eta=1.0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000**2 * 8 / 4
    assert "operators_" not in vars(selector)
    norms = np.linalg.norm(selector.operators_[0], axis=0)
    assert_allclose(norms, selector.scores_, atol=1e-12)
    assert selector.operators_ is selector.operators_


def test_operators_follow_chunks_and_survive_pickling():
    X = np.random.default_rng(7).normal(size=(12, 500))
    chunked = STPCASelector(5, lam=1.0, eta=1.0, solver="paper").partial_fit(X[:7])
    before = chunked.operators_
    chunked.partial_fit(X[7:])
    whole = STPCASelector(5, lam=1.0, eta=1.0, solver="paper").fit(X)
    assert_allclose(chunked.operators_, whole.operators_, atol=1e-8)
    assert np.abs(before - whole.operators_).max() > 1e-3
    copy = pickle.loads(pickle.dumps(whole))
    assert_array_equal(copy.operators_, whole.operators_)
    assert not hasattr(STPCASelector(), "operators_")
