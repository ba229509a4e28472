"""Positive semidefinite parts by products, against eigenvalues."""

import numpy as np
import pytest

from tensift.solvers.on_device import psd_part
from tensift.solvers.on_device._sign import (
    _best_polynomial,
    _composition,
    certified_split,
    sign,
    sign_steps,
)

SIZE = 24


def _spectra(size):
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(size)
    side = np.sign(normal)
    first = np.arange(size) == 0
    return {
        "random": normal,
        "over many scales": side * 10 ** rng.uniform(-14, 0, size),
        "two clusters": side * (1 + 1e-9 * normal),
        "many zeros": np.where(np.arange(size) < size // 4, normal, 0),
        "one dominant": np.where(first, 1e7, normal),
        "one dominant below": np.where(first, -1e7, normal),
        "nearly zero": np.where(np.arange(size) < size // 2, 1.0, 1e-10 * normal),
        "positive": np.abs(normal),
        "negative": -np.abs(normal),
        "identity": np.ones(size),
        "zero": np.zeros(size),
        "tiny": 1e-30 * normal,
        "huge": 1e30 * normal,
    }


def _hermitian(values, is_complex, seed=1):
    """A Hermitian matrix of given eigenvalues, and its positive part."""
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal((len(values), len(values)))
    if is_complex:
        draw = draw + 1j * rng.standard_normal(draw.shape)
    vectors = np.linalg.qr(draw)[0]
    made = [(vectors * v) @ vectors.conj().T for v in (values, np.maximum(values, 0))]
    return [(matrix + matrix.conj().T) / 2 for matrix in made]


def _stack(size=SIZE, is_complex=False, precision="float64"):
    spectra = _spectra(size)
    pairs = [_hermitian(values, is_complex) for values in spectra.values()]
    matrices, parts = (np.array(side) for side in zip(*pairs, strict=True))
    if precision == "float32":
        matrices = matrices.astype(np.complex64 if is_complex else np.float32)
    scale = np.maximum(np.abs(np.array(list(spectra.values()))).max(axis=1), 1e-300)
    return matrices, parts, scale[:, None, None]


def _worst(matrices):
    return np.linalg.norm(matrices, 2, axis=(1, 2)).max()


CASES = [
    ("float64", 1e-4),
    ("float64", 1e-9),
    ("float64", 1e-13),
    ("float32", 1e-3),
    ("float32", 1e-6),
]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("precision", "accuracy"), CASES)
@pytest.mark.parametrize("size", [1, 2, 7, SIZE, 96])
def test_parts_are_as_accurate_as_asked(size, precision, accuracy, is_complex):
    matrices, expected, scale = _stack(size, is_complex, precision)
    found = psd_part(matrices, accuracy)
    assert found.dtype == matrices.dtype
    # The norm is overestimated by size ** (1/8) at most; the rest is rounding.
    allowed = accuracy * size**0.125 + 60 * np.finfo(precision).eps
    assert _worst((found.astype(complex) - expected) / scale) <= allowed
    np.testing.assert_array_equal(found, found.conj().swapaxes(1, 2))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("precision", "accuracy"), CASES)
def test_certified_parts_are_definite_at_any_accuracy(precision, accuracy, is_complex):
    matrices, _, scale = _stack(64, is_complex, precision)
    positive, negative = (
        part.astype(complex) / scale for part in certified_split(matrices, accuracy)
    )
    lowest = min(np.linalg.eigvalsh(part).min() for part in (positive, negative))
    assert lowest >= -40 * np.finfo(precision).eps
    assert _worst(positive - negative - matrices / scale) <= 4 * accuracy * 64**0.125


def test_plain_parts_are_not_definite_and_certified_ones_are():
    # Otherwise the dearer ones would be for nothing.
    matrices, _, scale = _stack(64)
    positive, certified = psd_part(matrices, 1e-4), certified_split(matrices, 1e-4)
    plain = positive, positive - matrices
    assert min(np.linalg.eigvalsh(part / scale).min() for part in plain) < -1e-6
    assert min(np.linalg.eigvalsh(part / scale).min() for part in certified) > -1e-14


def test_every_library_gives_the_same(library):
    for is_complex, precision in ((False, "float32"), (True, "float64")):
        matrices, expected, scale = _stack(8, is_complex, precision)
        given = library.asarray(matrices)
        found = psd_part(given, 1e-6)
        assert type(found) is type(given)
        assert found.dtype == given.dtype
        assert _worst((library.numpy(found).astype(complex) - expected) / scale) < 4e-6
        positive, negative = certified_split(given, 1e-6)
        gap = library.numpy(positive - negative).astype(complex) - matrices
        assert _worst(gap / scale) < 8e-6


def test_signs_never_turn_over():
    # Scalars as matrices of order one, and a few as diagonals so that none has a norm of its own.
    values = np.concatenate([-np.geomspace(1e-16, 1, 400), np.geomspace(1e-16, 1, 400)])
    x = np.diagonal(sign(np.diag(values)[None], 1e-5)[0])
    assert (x * values > 0).all()
    assert np.max(np.abs(values) * np.abs(1 - np.abs(x))) / 2 <= 1e-5 * 800**0.125


@pytest.mark.parametrize("low", [1e-3, 0.05, 0.3, 0.9])
def test_polynomials_are_the_best(low):
    """The error is largest at four points with alternating signs (Chebyshev's condition)."""
    a, b, c = _best_polynomial(low, 1.0)
    x = np.linspace(low, 1, 200_001)
    error = a * x + b * x**3 + c * x**5 - 1
    bound = np.abs(error).max()
    peaks = error[[0, *(np.flatnonzero(np.diff(np.sign(np.diff(error)))) + 1), -1]]
    np.testing.assert_allclose(peaks, bound * np.array([-1, 1, -1, 1]), rtol=1e-6)


@pytest.mark.parametrize("margin", [1e-6, 1e-4])
@pytest.mark.parametrize("accuracy", [0.1, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12])
def test_compositions_keep_their_promise(accuracy, margin):
    steps = _composition(accuracy, margin)
    x = np.concatenate([np.geomspace(accuracy / 1e3, 1, 300_001), np.linspace(0, 1, 200_001)])
    y = steps(x)
    assert np.max(x * np.abs(1 - y)) / 2 <= accuracy * 1.001
    assert y.min() >= 0
    for a, b, c in steps.coefficients:
        assert c > 0
        assert a / c > (b / (2 * c)) ** 2  # positive on both sides of any interval


def test_steps_grow_with_the_accuracy_by_their_rate():
    counts = [sign_steps(10.0**-digits) for digits in range(1, 13)]
    assert counts == sorted(counts)
    # 4.06 a step, and a few to converge in the end.
    assert counts[-1] - counts[2] == pytest.approx(9 * np.log(10) / np.log(4.06), abs=1.5)
    assert sign_steps(1e-30) == sign_steps(1e-13)
    assert sign_steps(1e-9, "single") == sign_steps(1e-6, "single")


@pytest.mark.parametrize("accuracy", [0.0, -1.0, 1.0, float("nan")])
def test_impossible_accuracies_are_refused(accuracy):
    with pytest.raises(ValueError, match="accuracy must be between 0 and 1"):
        psd_part(np.eye(2)[None], accuracy)
