"""Graphs of samples against explicit loops, identities and dense decompositions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.sparse import block_diag, csr_array

from tensift.graphs import _spectrum as spectrum
from tensift.graphs import (
    adaptive_graph,
    adaptive_weights,
    heat_kernel_graph,
    laplacian,
    nearest_neighbors,
    project_to_simplex,
    smallest_eigenvectors,
    squared_distances,
)
from tensift.graphs._inverse_krylov import lowest_from_guess


def loop_distances(X):
    return np.array([[np.sum((a - b) ** 2) for b in X] for a in X])


def sorted_others(X, i):
    """Other rows of `X` by (distance to row `i`, index), in exact arithmetic for integers."""
    return sorted((float(np.sum((X[i] - X[j]) ** 2)), j) for j in range(len(X)) if j != i)


def ring(n):
    """The cycle graph, whose Laplacian has the eigenvalues 2 - 2 cos(2 pi j / n)."""
    i = np.arange(n)
    return csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n)) * 2


# Distances and neighbours


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_squared_distances_are_those_of_a_loop(shift):
    X = np.random.RandomState(0).randn(9, 4) + shift
    Y = np.random.RandomState(1).randn(5, 4) + shift
    both = loop_distances(np.concatenate([X, Y]))
    np.testing.assert_allclose(squared_distances(X), both[:9, :9], atol=1e-12)
    np.testing.assert_allclose(squared_distances(X, Y), both[:9, 9:], atol=1e-12)
    assert (np.diagonal(squared_distances(X)) == 0).all()


def test_squared_distances_are_never_negative():
    X = np.repeat(np.random.RandomState(0).randn(3, 50) * 1e3, 4, axis=0)
    assert (squared_distances(X) >= 0).all()
    assert (squared_distances(X, X.copy()) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3), st.data())
def test_neighbors_by_distance_then_index(seed, n, d, data):
    # Few small integers: many duplicates and many equal distances.
    X = np.random.RandomState(seed).randint(0, 3, (n, d)).astype(float)
    k = data.draw(st.integers(1, n - 1))
    indices, squared = nearest_neighbors(X, k)
    assert indices.dtype == np.intp
    for i in range(n):
        expected = sorted_others(X, i)[:k]
        assert indices[i].tolist() == [j for _, j in expected]
        np.testing.assert_allclose(squared[i], [e for e, _ in expected], rtol=1e-12, atol=1e-28)


def test_neighbors_where_inner_products_cannot_tell():
    # Two far groups: inside a group distances are below the rounding of inner products.
    rng = np.random.RandomState(0)
    X = np.concatenate([np.zeros((20, 3)), np.full((20, 3), 1e8)])
    X += rng.permutation(40)[:, None] / 4
    indices, squared = nearest_neighbors(X, 3)
    for i in range(40):
        expected = sorted_others(X, i)[:3]
        assert squared[i].tolist() == pytest.approx([e for e, _ in expected], rel=1e-12)
        assert indices[i].tolist() == [j for _, j in expected]


def test_neighbors_do_not_depend_on_blocks(monkeypatch):
    X = np.random.RandomState(0).randn(37, 5)
    whole = nearest_neighbors(X, 4)
    monkeypatch.setattr("tensift.graphs._neighbors._BLOCK", 100)
    for part, all_at_once in zip(nearest_neighbors(X, 4), whole, strict=True):
        np.testing.assert_array_equal(part, all_at_once)


@pytest.mark.parametrize("k", [0, 3])
def test_impossible_number_of_neighbors(k):
    with pytest.raises(ValueError, match=f"k={k} is not possible for 3 rows; choose k from 1 to 2"):
        nearest_neighbors(np.eye(3), k)


# Weights


@pytest.mark.parametrize("width", [1.0, 0.3])
def test_heat_kernel_graph_is_that_of_a_loop(width):
    X = np.random.RandomState(2).randn(12, 3)
    expected = np.zeros((12, 12))
    for i in range(12):
        for e, j in sorted_others(X, i)[:3]:
            expected[i, j] = np.exp(-e / (2 * width**2))
    expected = np.maximum(expected, expected.T)
    graph = heat_kernel_graph(X, 3, width=width)
    np.testing.assert_allclose(graph.toarray(), expected, rtol=1e-12)
    assert (graph.diagonal() == 0).all()


def test_adaptive_weights_minimise_their_objective():
    rng = np.random.RandomState(3)
    k, m = 3, 7
    squared = np.sort(rng.rand(4, m), axis=1)
    weights, r = adaptive_weights(squared, k)
    for row, e, regularisation in zip(weights, squared, r, strict=True):
        found = minimize(
            lambda s, e=e, c=regularisation: e @ s + c * s @ s,
            np.full(m, 1 / m),
            jac=lambda s, e=e, c=regularisation: e + 2 * c * s,
            bounds=[(0, 1)] * m,
            constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        np.testing.assert_allclose(np.append(row, np.zeros(m - k)), found.x, atol=1e-6)


@pytest.mark.parametrize("k", [1, 4, 10, 11])
def test_adaptive_graph_is_that_of_a_loop(k):
    X = np.random.RandomState(4).randn(12, 3)
    expected, rs = np.zeros((12, 12)), []
    for i in range(12):
        nearest = sorted_others(X, i)
        limit = nearest[min(k, 10)][0]
        total = sum(limit - e for e, _ in nearest[:k])
        rs.append(total / 2)
        for e, j in nearest[:k]:
            expected[i, j] = (limit - e) / total
    S, r = adaptive_graph(X, k)
    np.testing.assert_allclose(S.toarray(), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert r == pytest.approx(np.mean(rs))


@pytest.mark.parametrize("X", [np.zeros((6, 2)), np.eye(6), np.full((6, 2), 1e-9) * np.eye(6, 2)])
def test_adaptive_graph_of_equal_distances_is_uniform(X):
    S, _ = adaptive_graph(X, 3)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert (S.diagonal() == 0).all()
    assert np.isfinite(S.data).all()


def test_adaptive_weights_of_two_samples():
    S, r = adaptive_graph(np.array([[0.0], [1.0]]), 1)
    np.testing.assert_array_equal(S.toarray(), [[0, 1], [1, 0]])
    assert r == 0


def test_adaptive_weights_need_a_further_candidate():
    with pytest.raises(ValueError, match="k=2 weights need k >= 1 and at least 3 candidates"):
        adaptive_weights(np.ones((1, 2)), 2)


# Laplacians


def test_laplacian_identity():
    rng = np.random.RandomState(5)
    S, Y = rng.rand(8, 8), rng.randn(8, 3)
    energy = sum(S[i, j] * np.sum((Y[i] - Y[j]) ** 2) for i in range(8) for j in range(8))
    L = laplacian(csr_array(S))
    assert energy == pytest.approx(2 * np.trace(Y.T @ L.toarray() @ Y))
    np.testing.assert_allclose(L.toarray(), laplacian(S).toarray())


def test_normed_laplacian_is_the_definition():
    S = np.random.RandomState(6).rand(7, 7)
    S[2] = S[:, 2] = 0  # a row without any neighbour divides by 1e-9, not by 0
    A = (S + S.T) / 2
    D = np.diag(1e-9 + A.sum(axis=1))
    expected = np.eye(7) - np.linalg.inv(np.sqrt(D)) @ A @ np.linalg.inv(np.sqrt(D))
    np.testing.assert_allclose(laplacian(S, normed=True).toarray(), expected, atol=1e-12)


# Spectra


@pytest.mark.parametrize("n", [60, 1500])
def test_spectrum_of_a_ring(n):
    c = 7
    L = laplacian(ring(n))
    values, vectors = smallest_eigenvectors(L, c)
    expected = np.sort(2 - 2 * np.cos(2 * np.pi * np.arange(n) / n))[:c]
    np.testing.assert_allclose(values, expected, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(c), atol=1e-10)
    np.testing.assert_allclose(L @ vectors, vectors * values, atol=1e-7)


def test_repeated_zeros_of_separate_parts_are_all_found():
    # As many zero eigenvalues as parts; a Krylov space of one start vector has but one of them.
    L = csr_array(block_diag([csr_array(laplacian(ring(100 + part))) for part in range(12)]))
    values, vectors = smallest_eigenvectors(L, 14)
    np.testing.assert_allclose(values[:12], 0, atol=1e-10)
    smallest_rings = np.sort([2 - 2 * np.cos(2 * np.pi / 111)] * 2)
    np.testing.assert_allclose(values[12:], smallest_rings, rtol=1e-6)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(14), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_and_dense_spectra_agree(seed, monkeypatch):
    X = np.random.RandomState(seed).randn(200, 6)
    L = laplacian(heat_kernel_graph(X, 5), normed=True)
    values, vectors = smallest_eigenvectors(L.toarray(), 6)
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    partial_values, partial_vectors = smallest_eigenvectors(L, 6)
    np.testing.assert_allclose(partial_values, values, atol=1e-9)
    np.testing.assert_allclose(partial_vectors, vectors, atol=1e-5)
    again = smallest_eigenvectors(L, 6)
    np.testing.assert_array_equal(again[1], partial_vectors)


def test_spectrum_of_an_indefinite_matrix(monkeypatch):
    A = np.random.RandomState(0).randn(80, 80)
    A = A + A.T
    monkeypatch.setattr(spectrum, "_DENSE", 10)
    values, _ = smallest_eigenvectors(csr_array(A), 5)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:5], rtol=1e-9)


def test_impossible_number_of_eigenvectors():
    with pytest.raises(ValueError, match="c=4 is not possible for a matrix of size 3; choose c"):
        smallest_eigenvectors(np.eye(3), 4)


# Simplex


@pytest.mark.parametrize("seed", range(5))
def test_projection_to_simplex_satisfies_its_optimality_conditions(seed):
    V = np.random.RandomState(seed).randn(20, 6) * 10.0 ** (seed - 2)
    S = project_to_simplex(V)
    assert (S >= 0).all()
    np.testing.assert_allclose(S.sum(axis=1), 1)
    # v - s is one constant where s > 0, and at most that constant elsewhere.
    for v, s in zip(V, S, strict=True):
        constant = (v - s)[s > 0]
        np.testing.assert_allclose(constant, constant[0], atol=1e-12)
        assert (v[s == 0] <= constant[0] + 1e-12).all()


def test_projection_to_simplex_leaves_distributions_alone():
    S = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(project_to_simplex(S), S, atol=1e-15)


# Lowest eigenvectors from a guess


def shifted_inverse(A):
    def inverse_below(shift):
        factor = cho_factor(A - shift * np.eye(len(A)))
        return lambda vectors: cho_solve(factor, vectors)

    return inverse_below


@pytest.mark.parametrize("quality", [1e-3, 1.0, np.inf])
@pytest.mark.parametrize("spread", [1.0, 1e7])
def test_lowest_eigenvectors_from_guesses_of_all_qualities(quality, spread):
    rng = np.random.RandomState(0)
    A = rng.randn(150, 150)
    A = A @ A.T / 150 + np.diag(np.geomspace(1, spread, 150))
    vectors = np.linalg.eigh(A)[1]
    guess = rng.randn(150, 8)
    if np.isfinite(quality):
        guess = vectors[:, :8] + quality * guess / np.sqrt(150)
    guess = np.linalg.qr(guess)[0]
    energies = np.linalg.eigvalsh(guess.T @ A @ guess)
    found = lowest_from_guess(shifted_inverse(A), guess, energies, 5)
    np.testing.assert_allclose(found.T @ found, np.eye(8), atol=1e-10)
    sines = np.linalg.norm(found[:, :5] - vectors[:, :5] @ (vectors[:, :5].T @ found[:, :5]), 2)
    assert sines < 1e-6


def test_lowest_eigenvectors_of_repeated_eigenvalues_are_accurate():
    rng = np.random.RandomState(0)
    basis = np.linalg.qr(rng.randn(120, 120))[0]
    values = np.concatenate([np.ones(9), np.linspace(2, 5, 111)])
    A = (basis * values) @ basis.T
    guess = np.linalg.qr(rng.randn(120, 6))[0]
    energies = np.linalg.eigvalsh(guess.T @ A @ guess)
    found = lowest_from_guess(shifted_inverse(A), guess, energies, 4)
    np.testing.assert_allclose(A @ found[:, :4], found[:, :4], atol=1e-8)
