"""Projections that follow a slowly changing stack, against a fresh decomposition at every step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensift.solvers import psd_part
from tensift.solvers._low_rank import LowRank
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


@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 17])
def test_a_converging_sequence(decomposed, size, is_complex, steady):
    rng = np.random.default_rng(size)
    n = 12
    values = rng.uniform(0.1, 1, (n, size)) * rng.choice([-1, 1], (n, size))
    values[0], values[1] = np.abs(values[0]), -np.abs(values[1])
    limit, change = (
        with_spectrum(rng, values, is_complex),
        hermitian(rng, (n, size, size), is_complex),
    )
    project = TrackedProjection(n, size, limit.dtype, steady=steady)
    decomposed.clear()
    for step in range(2, 12):
        matrices = limit + 0.3**step * change
        counted = len(decomposed)
        parts = project(matrices)
        fresh = sum(decomposed[counted:])
        assert_allclose(parts, psd_part(matrices), atol=1e-10 * np.sqrt(size))
        if step > 6:
            assert fresh == 0  # from here on products are enough


@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("is_complex", [False, True])
def test_eigenvalues_that_change_sign_are_noticed(decomposed, is_complex, steady):
    """A small residual alone would not see them: the subspace is as invariant as before."""
    rng = np.random.default_rng(0)
    values = np.array([[-1.0, -0.5, -0.2, 0.01, 0.4, 0.9], [-0.9, -0.01, 0.2, 0.3, 0.6, 0.8]])
    matrices = with_spectrum(rng, values, is_complex)
    project = TrackedProjection(2, 6, matrices.dtype, steady=steady)
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


def test_eigenvalues_that_change_sign_slowly_are_noticed():
    """Small steps, each of them nearer to the last than the spectrum is to zero, add up."""
    rng = np.random.default_rng(5)
    values = np.array([[-1.0, -0.5, -0.2, -0.1, 0.4, 0.9], [-0.9, -0.3, -0.2, 0.1, 0.6, 0.8]])
    matrices = with_spectrum(rng, values)
    project = TrackedProjection(2, 6, matrices.dtype, steady=True)
    for shift in np.concatenate([np.linspace(0, 0.3, 61), np.linspace(0.3, -0.5, 161)]):
        shifted = matrices + shift * np.eye(6)
        assert_allclose(project(shifted), psd_part(shifted), atol=1e-12)


def test_a_steady_sequence_needs_few_factorisations(monkeypatch):
    rng = np.random.default_rng(6)
    values = rng.uniform(0.2, 1, (4, 20)) * rng.choice([-1, 1], (4, 20), p=[0.8, 0.2])
    limit, change = with_spectrum(rng, values), hermitian(rng, (4, 20, 20), False)
    factored = []
    cholesky = np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda x: factored.append(x.shape) or cholesky(x))
    project = TrackedProjection(4, 20, limit.dtype, steady=True)
    for step in range(3, 15):
        matrices = limit + 0.4**step * change
        assert_allclose(project(matrices), psd_part(matrices), atol=1e-10)
        factored_here = [shape for shape in factored if shape[-1] == 20]
        factored.clear()
        if step > 8:
            # psd_part tries once; only the small cores are factored by the tracked projection.
            assert len(factored_here) <= 1


@pytest.mark.parametrize("is_complex", [False, True])
def test_thin_projections_come_as_factors(is_complex):
    rng = np.random.default_rng(7)
    values = np.concatenate([rng.uniform(-1, -0.2, (5, 17)), rng.uniform(0.2, 1, (5, 3))], axis=1)
    values[0, -1] = -0.5  # one more is negative
    limit = with_spectrum(rng, values, is_complex)
    gram = with_spectrum(rng, rng.uniform(0, 1, (5, 20)), is_complex)
    change = hermitian(rng, limit.shape, is_complex)
    project = TrackedProjection(5, 20, limit.dtype, steady=True)
    project(limit)
    for size in (1e-2, 1e-3):
        matrices = limit + size * change
        parts, expected = project.parts(matrices), psd_part(matrices)
        assert isinstance(parts, LowRank)
        assert parts.rows.shape == (5, 3, 20)
        assert_allclose(parts.dense(), expected, atol=1e-10)
        assert_allclose(parts[[3, 1]].conj().dense(), expected[[3, 1]].conj(), atol=1e-10)
        assert_allclose(parts.column_norms(), np.linalg.norm(expected, axis=1), atol=1e-10)
        assert_allclose(parts.trace, np.trace(expected, axis1=1, axis2=2).real, atol=1e-10)
        fit, energy = parts.inner(gram)
        both = expected @ gram
        assert_allclose(fit, np.trace(both, axis1=1, axis2=2).real, atol=1e-10)
        energies = np.trace(both @ expected, axis1=1, axis2=2).real
        assert_allclose(energy, energies, atol=1e-10)


def test_lost_subspaces_do_not_spoil_those_that_are_found(decomposed):
    rng = np.random.default_rng(8)
    values = rng.uniform(0.1, 1, (6, 12)) * rng.choice([-1, 1], (6, 12), p=[0.7, 0.3])
    matrices = with_spectrum(rng, values)
    for steady in (False, True):
        project = TrackedProjection(6, 12, matrices.dtype, steady=steady)
        project(matrices)
        moved = matrices + 1e-3 * hermitian(rng, matrices.shape, False)
        moved[[1, 4]] = hermitian(rng, (2, 12, 12), False)
        decomposed.clear()
        parts = project(moved)
        assert decomposed == [2]
        assert_allclose(parts, psd_part(moved), atol=1e-10)
