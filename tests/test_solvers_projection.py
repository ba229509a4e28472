"""Projection onto the cone: against eigendecompositions and its optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift._utils.stacks import eigh
from tensift.solvers import psd_part
from tensift.solvers._inverse import inverse_of_definite

TOLERANCE = 1e-12


def hermitian(eigenvalues, rng, *, is_complex=False):
    """Return a matrix with the given eigenvalues and random eigenvectors."""
    size = len(eigenvalues)
    basis = rng.normal(size=(size, size))
    if is_complex:
        basis = basis + 1j * rng.normal(size=(size, size))
    basis, _ = np.linalg.qr(basis)
    matrix = (basis * np.asarray(eigenvalues, float)) @ basis.conj().T
    return (matrix + matrix.conj().T) / 2


def assert_is_projection(matrix, result):
    """``A >= 0``, ``A - H >= 0`` and ``<A, A - H> = 0`` hold for the nearest A alone."""
    scale = max(np.abs(matrix).max(), np.finfo(float).tiny)
    matrix, result = matrix / scale, result / scale
    slack = TOLERANCE * len(matrix)
    assert_allclose(result, result.conj().T, atol=slack)
    assert np.linalg.eigvalsh(result).min() >= -slack
    assert np.linalg.eigvalsh(result - matrix).min() >= -slack
    assert abs(np.vdot(result, result - matrix)) <= slack * len(matrix)
    values, vectors = np.linalg.eigh(matrix)
    brute = vectors @ np.diag(np.maximum(values, 0)) @ vectors.conj().T
    assert_allclose(result, brute, atol=slack)


SPECTRA = {
    "definite": [3.0, 2.0, 1.0, 0.5],
    "indefinite": [3.0, 1.0, -0.5, -2.0],
    "negative": [-0.1, -1.0, -2.0, -3.0],
    "one positive": [5.0, -1.0, -2.0, -3.0],
    "one negative": [5.0, 4.0, 2.0, -1e-3],
    "singular": [2.0, 1.0, 0.0, 0.0],
    "degenerate": [1.0, 1.0, 1.0, 1.0],
    "degenerate pairs": [2.0, 2.0, -2.0, -2.0],
    "opposite": [1.0, -1.0, 1.0, -1.0],
    "badly scaled": [1e9, 1.0, -1.0, -1e-9],
    "badly scaled negative": [1e-9, 1e-3, -1.0, -1e9],
    "barely indefinite": [1.0, 1e-15, -1e-15, -1e-16],
    "1x1 positive": [2.0],
    "1x1 negative": [-2.0],
    "1x1 zero": [0.0],
    "large": [*np.linspace(1, 2, 40), *np.linspace(-2, -1, 40)],
    "large, few positive": [*np.linspace(1, 2, 3), *np.linspace(-2, -1e-6, 77)],
    "large, few negative": [*np.linspace(1, 2, 77), *np.linspace(-2, -1, 3)],
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_projection_of_a_given_spectrum(name, kind, scale):
    rng = np.random.default_rng(0)
    stack = np.array(
        [hermitian(SPECTRA[name], rng, is_complex=kind == "complex") for _ in range(3)]
    )
    results = psd_part(stack * scale)
    assert results.shape == stack.shape
    assert results.dtype == stack.dtype
    for matrix, result in zip(stack * scale, results, strict=True):
        assert_is_projection(matrix, result)


@settings(max_examples=80, deadline=None)
@given(
    spectra=st.integers(1, 9).flatmap(
        lambda q: st.lists(
            st.lists(
                st.floats(-3, 3).map(lambda x: 0.0 if abs(x) < 1e-3 else x),
                min_size=q,
                max_size=q,
            ),
            min_size=1,
            max_size=6,
        )
    ),
    is_complex=st.booleans(),
    seed=st.integers(0, 100),
)
def test_projection_of_any_stack(spectra, is_complex, seed):
    rng = np.random.default_rng(seed)
    stack = np.array([hermitian(values, rng, is_complex=is_complex) for values in spectra])
    for matrix, result in zip(stack, psd_part(stack), strict=True):
        assert_is_projection(matrix, result)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_matrices_of_a_stack_do_not_touch_one_another(kind):
    rng = np.random.default_rng(1)
    names = ["definite", "indefinite", "negative", "singular", "degenerate", "one negative"]
    stack = np.array(
        [hermitian(SPECTRA[name], rng, is_complex=kind == "complex") for name in names * 5]
    )
    together = psd_part(stack)
    alone = np.concatenate([psd_part(matrix[None]) for matrix in stack])
    assert_allclose(together, alone, atol=1e-13)


def test_zero_and_diagonal_matrices_are_exact():
    assert_array_equal(psd_part(np.zeros((2, 5, 5))), np.zeros((2, 5, 5)))
    diagonal = np.array([4.0, -1.0, 0.0, 2.5, -3.0])
    assert_allclose(psd_part(np.diag(diagonal)[None])[0], np.diag(np.maximum(diagonal, 0)))
    assert_array_equal(psd_part(np.diag([-1.0, -2.0])[None])[0], np.zeros((2, 2)))


def test_positive_definite_matrices_come_back_unchanged_and_projecting_twice_changes_nothing():
    rng = np.random.default_rng(2)
    definite = np.array([hermitian(SPECTRA["definite"], rng) for _ in range(4)])
    assert_array_equal(psd_part(definite), definite)
    once = psd_part(np.array([hermitian(SPECTRA["indefinite"], rng) for _ in range(4)]))
    assert_allclose(psd_part(once), once, atol=1e-14)


def test_input_is_neither_modified_nor_returned():
    stack = np.array([np.eye(3), -np.eye(3), np.diag([1.0, 0.0, -1.0])])
    before = stack.copy()
    stack.flags.writeable = False
    result = psd_part(stack)
    assert_array_equal(stack, before)
    assert not np.shares_memory(result, stack)


def test_an_empty_stack_stays_empty():
    assert psd_part(np.zeros((0, 3, 3))).shape == (0, 3, 3)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("size", [1, 2, 5, 12, 13, 24, 25, 64])
@pytest.mark.parametrize("condition", [1e1, 1e6, 1e10])
@pytest.mark.parametrize("count", ["few", "many"])
def test_inverse_of_definite_matrices_is_as_accurate_as_a_solve(size, is_complex, condition, count):
    rng = np.random.default_rng(size)
    shape = (3 if count == "few" else 12_000 // size**2 + 1, size, size)
    matrices = rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0)
    vectors = np.linalg.qr(matrices)[0]
    values = np.geomspace(1, condition, size)
    matrices = (vectors * values) @ np.conj(np.swapaxes(vectors, 1, 2))
    matrices = (matrices + np.conj(np.swapaxes(matrices, 1, 2))) / 2
    truth = (vectors / values) @ np.conj(np.swapaxes(vectors, 1, 2))
    error = np.abs(inverse_of_definite(matrices) - truth).max()
    assert error <= 1e-15 * condition * size


@pytest.mark.parametrize("is_complex", [False, True])
def test_a_matrix_that_lapack_gives_up_on_is_read_backwards(monkeypatch, is_complex):
    rng = np.random.default_rng(0)
    matrices = rng.normal(size=(4, 6, 6)) + (1j * rng.normal(size=(4, 6, 6)) if is_complex else 0)
    matrices = matrices + np.conj(np.swapaxes(matrices, 1, 2))
    decompose = np.linalg.eigh

    def gives_up(stack):
        if any(np.array_equal(matrix, matrices[2]) for matrix in stack):
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return decompose(stack)

    monkeypatch.setattr(np.linalg, "eigh", gives_up)
    values, vectors = eigh(matrices)
    assert (np.diff(values, axis=1) >= 0).all()
    rebuilt = (vectors * values[:, None, :]) @ np.conj(np.swapaxes(vectors, 1, 2))
    assert_allclose(rebuilt, matrices, atol=1e-12)
