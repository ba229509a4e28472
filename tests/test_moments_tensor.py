"""Orientation, slices and the Gram tensor against explicit loops over matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation

SHAPES = [(5,), (4, 3), (3, 4, 2), (2, 3, 2, 2)]
PLACES = [(shape, mode) for shape in SHAPES for mode in range(len(shape))]
NAMES = ["identity", "dft", "dct", "haar", "eigen", "random"]
SPECS = [*NAMES, "matrix", "complex matrix", "callable", "mixed"]
N = 9


def samples_of(shape, rng, *, is_complex=False, n=N):
    X = rng.normal(size=(n, *shape)) + 0.3
    return X + 1j * rng.normal(size=X.shape) if is_complex else X


def orient(spec, shape, mode, X, rng):
    """Return the orientation for samples `X`, and the matrices it should apply."""
    others = [axis for axis in range(len(shape)) if axis != mode]
    sizes = [shape[axis] for axis in others]
    if spec in NAMES:
        specs = spec
    elif spec == "mixed":
        specs = [("dft", "dct", "identity")[i % 3] for i in range(len(sizes))]
    else:
        matrices = [rng.normal(size=(d, d)) + 3 * np.eye(d) for d in sizes]
        if spec == "complex matrix":
            matrices = [matrix + 1j * rng.normal(size=matrix.shape) for matrix in matrices]
        specs = matrices
        if spec == "callable":
            specs = [
                (lambda x, m=m: x @ m.T, lambda x, m=m: x @ np.linalg.inv(m).T) for m in matrices
            ]
    transforms = make_transforms(
        specs, sizes, data=X, axes=[axis + 1 for axis in others], random_state=3
    )
    if isinstance(specs, list) and spec in ("matrix", "complex matrix", "callable"):
        expected = matrices
    else:
        expected = [transform.matrix for transform in transforms]
    return Orientation(shape, mode, transforms, np.isrealobj(X)), expected


@pytest.mark.parametrize(("shape", "mode"), PLACES)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_slices_and_gram_tensor_are_the_explicit_loops(brute_force, shape, mode, spec, kind):
    rng = np.random.default_rng([mode, len(shape)])
    X = samples_of(shape, rng, is_complex=kind == "complex")
    orientation, matrices = orient(spec, shape, mode, X, rng)
    q, p = shape[mode], int(np.prod(shape)) // shape[mode]
    assert (orientation.size, orientation.n_slices) == (q, p)

    slices = brute_force.slices(X, mode, matrices)
    kept = orientation.kept_slices
    assert_allclose(orientation.to_slices(X), slices[kept], atol=1e-12)

    centred = slices - slices.mean(axis=2, keepdims=True)
    expected = np.array([block @ block.conj().T for block in centred])
    moments = Moments(orientation).update(X)
    dense = moments.gram().dense()
    atol = 1e-12 * np.abs(expected).max()
    assert_allclose(orientation.expand(dense), expected, atol=atol)
    assert_allclose(moments.gram().trace(), np.trace(expected[kept], axis1=1, axis2=2), rtol=1e-12)


@pytest.mark.parametrize(("shape", "mode"), PLACES)
@pytest.mark.parametrize("spec", ["dft", "mixed", "callable dft"])
def test_half_of_the_conjugate_slices_gives_the_same_as_all(shape, mode, spec):
    rng = np.random.default_rng(0)
    X = samples_of(shape, rng)
    if spec == "callable dft":
        sizes = shape[:mode] + shape[mode + 1 :]
        half = Orientation(shape, mode, make_transforms((np.fft.fft, np.fft.ifft), sizes))
    else:
        half, _ = orient(spec, shape, mode, X, rng)
    every = Orientation(shape, mode, half.transforms, real_data=False)
    assert_array_equal(every.kept_slices, np.arange(every.n_slices))
    if any(t.size > 2 for t in half.transforms if t.conjugate_symmetric):
        assert len(half.kept_slices) < half.n_slices
    assert len(half.kept_slices) >= half.n_slices / 2

    slices = every.to_slices(X)
    assert_allclose(half.expand(half.to_slices(X)), slices, atol=1e-12)
    assert_allclose(
        half.expand(Moments(half).update(X).gram().dense()),
        Moments(every).update(X).gram().dense(),
        atol=1e-11,
    )
    norms = np.linalg.norm(slices, axis=2)
    assert_allclose(half.expand(np.ascontiguousarray(norms[half.kept_slices])), norms, rtol=1e-12)


def test_complex_data_keep_every_slice():
    transforms = make_transforms("dft", [6])
    assert len(Orientation((4, 6), 0, transforms, real_data=False).kept_slices) == 6
    assert len(Orientation((4, 6), 0, transforms, real_data=True).kept_slices) == 4


@pytest.mark.parametrize(("shape", "mode"), PLACES)
@pytest.mark.parametrize("spec", ["identity", "dft", "matrix", "complex matrix", "mixed"])
def test_slice_values_are_spread_over_features_by_the_energy_of_the_kronecker_matrix(
    brute_force, shape, mode, spec
):
    rng = np.random.default_rng(1)
    orientation, matrices = orient(spec, shape, mode, samples_of(shape, rng), rng)
    values = rng.uniform(size=(orientation.n_slices, orientation.size))
    energy = np.abs(brute_force.kronecker(matrices)) ** 2
    others = shape[:mode] + shape[mode + 1 :]
    spread = orientation.spread_over_features(values)
    assert spread.shape == shape
    for feature in range(shape[mode]):
        for h, place in enumerate(np.ndindex(*others)):
            expected = sum(energy[j, h] * values[j, feature] for j in range(len(values)))
            assert spread[(*place[:mode], feature, *place[mode:])] == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("rank", [1, 3, 6])
def test_thin_and_dense_forms_are_the_same_tensor(kind, rank):
    rng = np.random.default_rng(2)
    factor = rng.normal(size=(4, 5, rank))
    if kind == "complex":
        factor = factor + 1j * rng.normal(size=factor.shape)
    thin = GramTensor(factor, thin=True)
    dense = GramTensor(thin.dense(), thin=False)
    assert (thin.n_slices, thin.size) == (dense.n_slices, dense.size) == (4, 5)
    for j in range(4):
        assert_allclose(dense.array[j], factor[j] @ factor[j].conj().T, atol=1e-13)
    assert_allclose(thin.trace(), dense.trace(), rtol=1e-13)
    assert_allclose(thin.scaled(0.3).dense(), 0.09 * dense.array, rtol=1e-12, atol=1e-13)
    assert_allclose(dense.scaled(0.3).dense(), 0.09 * dense.array, rtol=1e-12, atol=1e-13)
    for index in (slice(1, 3), np.array([3, 0]), np.array([True, False, False, True])):
        assert_allclose(thin[index].dense(), dense[index].dense(), atol=1e-13)
        assert_array_equal(dense[index].array, dense.array[index])


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_gram_matrices_are_thin_exactly_while_samples_are_fewer_than_features(kind):
    rng = np.random.default_rng(3)
    X = samples_of((6, 3), rng, is_complex=kind == "complex", n=10)
    orientation = Orientation((6, 3), 0, make_transforms("dct", [3]), kind == "real")
    for n in range(1, 11):
        gram = Moments(orientation).update(X[:n]).gram()
        assert gram.thin == (n < 6)
        slices = orientation.to_slices(X[:n] - X[:n].mean(axis=0))
        expected = slices @ np.conj(np.swapaxes(slices, 1, 2))
        assert_allclose(gram.dense(), expected, atol=1e-12)
