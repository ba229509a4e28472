"""Projections that follow a slowly changing stack, against a fresh decomposition at every step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensift.solvers import psd_part
from tensift.solvers._tracking import TrackedProjection


def hermitian(rng, shape, is_complex):
    matrices = rng.normal(size=shape)
    if is_complex:
        matrices = matrices + 1j * rng.normal(size=shape)
    return (matrices + np.conj(np.swapaxes(matrices, 1, 2))) / 2


def with_spectrum(rng, values, is_complex=False):
    """One Hermitian matrix for each row of eigenvalues."""
    vectors = np.linalg.eigh(hermitian(rng, (len(values), *2 * values.shape[1:]), is_complex))[1]
    return (vectors * values[:, None, :]) @ np.conj(np.swapaxes(vectors, 1, 2))


@pytest.fixture
def decomposed(monkeypatch):
    """The number of matrices decomposed by each call of eigh."""
    calls = []
    eigh = np.linalg.eigh

    def counting(matrices, *args, **kwargs):
        calls.append(len(matrices))
        return eigh(matrices, *args, **kwargs)

    monkeypatch.setattr(np.linalg, "eigh", counting)
    return calls


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 17])
def test_a_converging_sequence(decomposed, size, is_complex):
    rng = np.random.default_rng(size)
    n = 12
    values = rng.uniform(0.1, 1, (n, size)) * rng.choice([-1, 1], (n, size))
    values[0], values[1] = np.abs(values[0]), -np.abs(values[1])
    limit, change = (
        with_spectrum(rng, values, is_complex),
        hermitian(rng, (n, size, size), is_complex),
    )
    project = TrackedProjection(n, size, limit.dtype)
    decomposed.clear()
    for step in range(2, 12):
        matrices = limit + 0.3**step * change
        counted = len(decomposed)
        parts = project(matrices)
        fresh = sum(decomposed[counted:])
        assert_allclose(parts, psd_part(matrices), atol=1e-10 * np.sqrt(size))
        if step > 6:
            assert fresh == 0  # from here on products are enough


@pytest.mark.parametrize("is_complex", [False, True])
def test_eigenvalues_that_change_sign_are_noticed(decomposed, is_complex):
    """A small residual alone would not see them: the subspace is as invariant as before."""
    rng = np.random.default_rng(0)
    values = np.array([[-1.0, -0.5, -0.2, 0.01, 0.4, 0.9], [-0.9, -0.01, 0.2, 0.3, 0.6, 0.8]])
    matrices = with_spectrum(rng, values, is_complex)
    project = TrackedProjection(2, 6, matrices.dtype)
    project(matrices)
    eye = np.eye(6)
    for shift in (0.005, -0.005, -0.02, 0.02, 0.0):
        shifted = matrices + shift * eye  # the same eigenvectors, other signs
        assert_allclose(project(shifted), psd_part(shifted), atol=1e-12)


def test_sudden_jumps_fall_back_on_a_decomposition(decomposed):
    rng = np.random.default_rng(1)
    project = TrackedProjection(4, 9, np.dtype(float))
    for _ in range(5):
        matrices = hermitian(rng, (4, 9, 9), False)
        counted = len(decomposed)
        parts = project(matrices)
        assert sum(decomposed[counted:]) == 4
        assert_allclose(parts, psd_part(matrices), atol=1e-12)


def test_definite_matrices_are_returned_as_they_are(decomposed):
    rng = np.random.default_rng(2)
    project = TrackedProjection(3, 5, np.dtype(float))
    for _ in range(3):
        matrices = with_spectrum(rng, rng.uniform(0.5, 1, (3, 5)))
        decomposed.clear()
        assert (project(matrices) == matrices).all()
        assert decomposed == []


def test_slices_can_leave():
    rng = np.random.default_rng(3)
    values = rng.uniform(0.1, 1, (6, 7)) * rng.choice([-1, 1], (6, 7))
    matrices = with_spectrum(rng, values)
    project = TrackedProjection(6, 7, np.dtype(float))
    project(matrices)
    stay = np.array([True, False, True, True, False, True])
    project.keep(stay)
    matrices = matrices[stay] + 1e-4 * hermitian(rng, (4, 7, 7), False)
    assert_allclose(project(matrices), psd_part(matrices), atol=1e-10)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scale_does_not_matter(scale):
    rng = np.random.default_rng(4)
    values = rng.uniform(0.1, 1, (3, 6)) * rng.choice([-1, 1], (3, 6))
    matrices = with_spectrum(rng, values)
    project = TrackedProjection(3, 6, np.dtype(float))
    project(scale * matrices)
    matrices = matrices + 1e-4 * hermitian(rng, (3, 6, 6), False)
    assert_allclose(project(scale * matrices) / scale, psd_part(matrices), atol=1e-10)
