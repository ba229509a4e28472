"""Eigenvectors from products: LAPACK's eigenvalues, residuals of rounding, nothing silent."""

import numpy as np
import pytest

from tensift.solvers.on_device import _eigen
from tensift.solvers.on_device._eigen import eigh, eigh_by_products

CASES = {
    "decaying": lambda rng, q: _with_spectrum(rng, np.geomspace(1, 1e-5, q)),
    "even": lambda rng, q: _with_spectrum(rng, np.linspace(1, 2, q)),
    "noise floor": lambda rng, q: _with_spectrum(
        rng, np.r_[np.geomspace(1, 1e-2, q // 4), 1e-5 * (1 + rng.random(q - q // 4))]
    ),
    "low rank": lambda rng, q: _with_spectrum(rng, np.r_[np.ones(3), 0.5, np.zeros(q - 4)]),
    "one dominant": lambda rng, q: _with_spectrum(rng, np.r_[1.0, 1e-9 * (1 + rng.random(q - 1))]),
    "diagonal": lambda rng, q: np.diag(np.geomspace(1, 1e-12, q))[None],
    "zero": lambda rng, q: np.zeros((2, q, q)),
}


def _with_spectrum(rng, values):
    basis, _ = np.linalg.qr(rng.normal(size=(3, len(values), len(values))))
    matrices = (basis * values) @ basis.swapaxes(1, 2)
    return (matrices + matrices.swapaxes(1, 2)) / 2


def _check(matrices, values, vectors):
    size, order = max(np.abs(matrices).max(), 1e-300), matrices.shape[-1]
    norm = max(float(np.linalg.norm(matrices, 2, axis=(1, 2)).max()), size)
    expected = np.linalg.eigvalsh(matrices)
    np.testing.assert_allclose(np.sort(values, axis=1), expected, rtol=0, atol=1e-13 * norm)
    assert np.diff(values, axis=1).min() >= -1e-12 * norm  # ascending, but for rounding
    residual = matrices @ vectors - vectors * values[:, None, :]
    assert np.linalg.norm(residual, axis=(1, 2)).max() <= 1e-12 * norm
    gram = vectors.conj().swapaxes(1, 2) @ vectors
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(order), gram.shape), atol=1e-13)


@pytest.mark.parametrize("order", [9, 16, 24, 33])
@pytest.mark.parametrize("case", CASES)
def test_products_find_what_lapack_finds(case, order):
    matrices = CASES[case](np.random.default_rng(order), order)
    _check(matrices, *eigh_by_products(matrices, small=4))


@pytest.mark.filterwarnings("ignore:.*library's own eigh")
@pytest.mark.parametrize("order", [16, 24])
@pytest.mark.parametrize("values", [[1.0, 1.0], [1.0, 1e-9], [3.0, 1.0]])
def test_equal_eigenvalues(values, order):
    values = np.repeat(values, [2, order - 2])
    matrices = _with_spectrum(np.random.default_rng(order), values)
    _check(matrices, *eigh_by_products(matrices, small=4))


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_units_do_not_matter(scale):
    matrices = scale * CASES["decaying"](np.random.default_rng(0), 20)
    _check(matrices, *eigh_by_products(matrices, small=5))


def test_complex_matrices():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(4, 18, 30)) + 1j * rng.normal(size=(4, 18, 30))
    matrices = factors @ factors.conj().swapaxes(1, 2)
    values, vectors = eigh_by_products(matrices, small=5)
    assert values.dtype == float
    _check(matrices, values, vectors)


def test_every_library(library):
    matrices = CASES["decaying"](np.random.default_rng(2), 10)
    values, vectors = eigh_by_products(library.asarray(matrices), small=5)
    _check(matrices, library.numpy(values), library.numpy(vectors))


def test_blocks_that_are_small_enough_are_left_to_the_library():
    matrices = CASES["even"](np.random.default_rng(3), 8)
    for found in (eigh_by_products(matrices), eigh(matrices)):
        _check(matrices, *found)


def test_what_products_do_not_find_is_left_to_the_library_with_a_warning(monkeypatch):
    monkeypatch.setattr(_eigen, "_PURIFICATIONS", 8)
    rng = np.random.default_rng(4)
    easy, hard = _with_spectrum(rng, np.r_[2.0, 1.0, 0, 0]), _with_spectrum(rng, np.ones(4) + 1)
    matrices = np.concatenate([easy, hard + 1e-9 * _with_spectrum(rng, np.linspace(1, 2, 4))])
    with pytest.warns(
        UserWarning, match=r"of 6 matrices were decomposed by the library's own eigh"
    ):
        found = eigh_by_products(matrices, small=1)
    _check(matrices, *found)
