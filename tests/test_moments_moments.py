"""Moments accumulated over any chunks equal those of one pass, and exact sums."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import make_transforms
from tensift.moments import Moments, Orientation

modest = settings(max_examples=60, deadline=None)


def orientation_of(shape, mode=0, spec="identity", *, real=True):
    others = shape[:mode] + shape[mode + 1 :]
    return Orientation(shape, mode, make_transforms(spec, others), real)


def chunks(X, cuts):
    edges = sorted({0, len(X), *(cut % (len(X) + 1) for cut in cuts)})
    return [X[a:b] for a, b in pairwise(edges)]


def assert_same_moments(one, other, rtol=1e-12):
    assert one.count == other.count
    assert one.peak == other.peak
    scale = np.abs(other.mean).max()
    assert_allclose(one.mean, other.mean, rtol=0, atol=rtol * scale)
    assert_allclose(one.spread(), other.spread(), rtol=0, atol=rtol * other.spread().max())
    expected = other.gram().dense()
    assert_allclose(one.gram().dense(), expected, rtol=0, atol=rtol * np.abs(expected).max())


@modest
@given(
    n=st.integers(1, 20),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple),
    spec=st.sampled_from(["identity", "dft", "dct", "haar"]),
    is_complex=st.booleans(),
    cuts=st.lists(st.integers(0, 20), max_size=20),
    seed=st.integers(0, 1000),
)
def test_any_chunking_equals_one_pass(n, shape, spec, is_complex, cuts, seed):
    rng = np.random.default_rng(seed)
    X = 2 + rng.normal(size=(n, *shape))
    if is_complex:
        X = X + 1j * rng.normal(size=X.shape)
    mode = seed % len(shape)
    orientation = orientation_of(shape, mode, spec, real=not is_complex)
    whole = Moments(orientation).update(X)
    parts = Moments(orientation)
    for chunk in chunks(X, cuts):
        parts.update(chunk)
    assert_same_moments(parts, whole)
    assert parts.gram().thin == whole.gram().thin == (n < shape[mode])
    # Against numpy, not against ourselves.
    assert_allclose(parts.spread(), X.std(axis=0), atol=1e-12)
    assert_allclose(parts.mean, X.mean(axis=0), atol=1e-12)
    slices = orientation.to_slices(X - X.mean(axis=0))
    expected = slices @ np.conj(np.swapaxes(slices, 1, 2))
    atol = 1e-12 * max(1, np.abs(expected).max())
    assert_allclose(parts.gram().dense(), expected, atol=atol)


@pytest.mark.parametrize("n", [3, 40])
def test_single_samples_equal_one_pass(n):
    X = np.random.default_rng(0).normal(size=(n, 5, 2))
    parts = Moments(orientation_of((5, 2)))
    for sample in X:
        parts.update(sample[None])
    assert_same_moments(parts, Moments(orientation_of((5, 2))).update(X))


@pytest.mark.parametrize("sizes", [[60], [1] * 60, [7, 1, 30, 2, 20], [1, 59]])
def test_small_variations_on_a_large_mean_are_not_lost(sizes):
    """Exact truth in rationals; the textbook sum of squares would have no correct digit here."""
    steps = np.random.default_rng(1).integers(-2048, 2049, size=(60, 4))
    X = 1e8 + steps / 1024  # exactly representable
    moments = Moments(orientation_of((4,)))
    for chunk in np.split(X, np.cumsum(sizes)[:-1]):
        moments.update(chunk)

    exact = [[Fraction(int(value), 1024) for value in row] for row in steps]
    means = [sum(column) / 60 for column in zip(*exact, strict=True)]
    centred = [[value - mean for value, mean in zip(row, means, strict=True)] for row in exact]
    gram = np.array(
        [[float(sum(row[a] * row[b] for row in centred)) for b in range(4)] for a in range(4)]
    )
    assert_allclose(moments.gram().dense()[0], gram, rtol=0, atol=1e-7 * gram.max())
    assert_allclose(moments.spread(), np.sqrt(np.diag(gram) / 60), rtol=1e-7)
    assert_allclose(moments.mean, 1e8 + np.array([float(m) for m in means]), rtol=1e-15)
    naive = X.T @ X - 60 * np.outer(X.mean(axis=0), X.mean(axis=0))
    assert np.abs(naive - gram).max() > 1e-3 * gram.max()


@pytest.mark.parametrize("spec", ["identity", "dft", "dct"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_single_precision_input_is_accumulated_in_double(dtype, spec):
    rng = np.random.default_rng(2)
    X = (100 + rng.normal(size=(50, 3, 4))).astype(dtype)
    double = X.astype(complex if np.iscomplexobj(X) else float)
    orientation = orientation_of((3, 4), spec=spec, real=np.isrealobj(X))
    moments, truth = Moments(orientation).update(X), Moments(orientation).update(double)
    assert moments.gram().array.dtype == truth.gram().array.dtype
    assert_array_equal(moments.gram().array, truth.gram().array)
    assert_array_equal(moments.mean, truth.mean)
    assert_array_equal(moments.spread(), truth.spread())


def test_the_largest_modulus_is_not_rounded_to_single_precision():
    X = np.array([[3 + 2j, 2 + 3j, 1], [0, 1j, 2 - 3j]], dtype=np.complex64)
    orientation = orientation_of((3,), real=False)
    assert Moments(orientation).update(X).peak == pytest.approx(np.sqrt(13.0), rel=1e-15)
    nearly_equal = np.nextafter(np.float32(2), np.float32(3))
    X[0, 0] = 3 + 1j * nearly_equal
    assert Moments(orientation).update(X).peak == pytest.approx(
        abs(complex(3, nearly_equal)), rel=1e-15
    )


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64])
def test_integers_do_not_wrap_around(dtype):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 127, size=(30, 3, 2)).astype(dtype)
    moments = Moments(orientation_of((3, 2))).update(X)
    assert_same_moments(moments, Moments(orientation_of((3, 2))).update(X.astype(float)))


def strided(X):
    wide = np.zeros((2 * X.shape[0], X.shape[1] + 1, *X.shape[2:]), X.dtype)
    view = wide[::2, 1:]
    view[...] = X
    return view


def reversed_axes(X):
    return np.ascontiguousarray(X[::-1, :, ::-1])[::-1, :, ::-1]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


@pytest.mark.parametrize("layout", [strided, reversed_axes, read_only, np.asfortranarray])
@pytest.mark.parametrize("spec", ["identity", "dft", "haar"])
@pytest.mark.parametrize("mode", [0, 1])
def test_layout_in_memory_does_not_matter_and_input_is_not_modified(layout, spec, mode):
    X = np.random.default_rng(4).normal(size=(20, 5, 4))
    laid_out = layout(X)
    orientation = orientation_of((5, 4), mode, spec)
    moments = Moments(orientation).update(laid_out[:7]).update(laid_out[7:])
    assert_array_equal(laid_out, X)
    assert_same_moments(moments, Moments(orientation).update(X))


def test_memory_mapped_files_are_read_as_arrays_are(tmp_path):
    X = np.random.default_rng(5).normal(size=(30, 4, 3))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(mapped, np.memmap)
    orientation = orientation_of((4, 3), spec="dct")
    moments = Moments(orientation).update(mapped)
    assert_same_moments(moments, Moments(orientation).update(X))
    assert not isinstance(moments.gram().array, np.memmap)


def test_input_is_taken_in_small_blocks(monkeypatch):
    """The smallest blocks give what one block gives, and none is larger than it has to be."""
    X = np.random.default_rng(6).normal(size=(50, 4, 3))
    whole = Moments(orientation_of((4, 3))).update(X)
    seen = []
    to_slices = Orientation.to_slices

    def watched(self, samples, only=None):
        seen.append(len(samples))
        return to_slices(self, samples, only)

    monkeypatch.setattr("tensift.moments._moments._BLOCK_BYTES", 1)
    monkeypatch.setattr(Orientation, "to_slices", watched)
    assert_same_moments(Moments(orientation_of((4, 3))).update(X), whole)
    assert max(seen) <= 8  # 2 q: fewer would make adding up dearer than multiplying


def test_reading_the_gram_tensor_does_not_disturb_the_sums():
    X = np.random.default_rng(7).normal(size=(12, 6, 2))
    moments = Moments(orientation_of((6, 2)))
    for chunk in np.split(X, [3, 5, 8]):
        moments.update(chunk)
        moments.gram()
        moments.spread()
    assert_same_moments(moments, Moments(orientation_of((6, 2))).update(X))


def test_memory_stays_bounded_once_there_are_more_samples_than_features():
    moments = Moments(orientation_of((4, 3)))
    rng = np.random.default_rng(8)
    for _ in range(30):
        moments.update(rng.normal(size=(10, 4, 3)))
    assert moments.gram().array.shape == (3, 4, 4)
    assert moments._columns == []
