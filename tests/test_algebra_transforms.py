"""Transforms along one mode: each against its textbook definition, and hostile specifications."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import (
    ModeTransform,
    conjugate_partners,
    is_data_driven,
    make_transform,
    make_transforms,
)

NAMES = ["identity", "dft", "dct", "haar", "eigen", "random"]
KINDS = [*NAMES, "matrix", "complex matrix", "callable"]
modest = settings(max_examples=40, deadline=None)


def well_conditioned(size, rng, *, is_complex=False):
    """Return an invertible matrix with singular values from 0.5 to 2."""
    matrix = rng.normal(size=(size, size))
    if is_complex:
        matrix = matrix + 1j * rng.normal(size=(size, size))
    u, _, vh = np.linalg.svd(matrix)
    return (u * np.linspace(2, 0.5, size)) @ vh


def build(kind, size, rng):
    if kind == "matrix":
        return make_transform(well_conditioned(size, rng), size)
    if kind == "complex matrix":
        return make_transform(well_conditioned(size, rng, is_complex=True), size)
    if kind == "callable":
        matrix = well_conditioned(size, rng)
        inverse = np.linalg.inv(matrix)
        return make_transform((lambda x: x @ matrix.T, lambda x: x @ inverse.T), size)
    data = rng.normal(size=(4, size, 3))
    return make_transform(kind, size, data=data, axis=1, random_state=int(rng.integers(100)))


def textbook_matrix(name, size):
    j, h = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    if name == "identity":
        return np.eye(size)
    if name == "dft":
        return np.exp(-2j * np.pi * j * h / size)
    scale = np.where(j == 0, np.sqrt(1 / size), np.sqrt(2 / size))
    return scale * np.cos(np.pi * (2 * h + 1) * j / (2 * size))


@pytest.mark.parametrize("name", ["identity", "dft", "dct"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_fast_transforms_have_their_textbook_matrices(name, size):
    transform = make_transform(name, size)
    matrix = textbook_matrix(name, size)
    assert_allclose(transform.matrix, matrix, atol=1e-13)
    assert_allclose(transform.inverse_matrix, np.linalg.inv(matrix), atol=1e-13)


@modest
@given(
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 7),
    before=st.lists(st.integers(1, 3), max_size=2),
    after=st.lists(st.integers(1, 3), max_size=2),
    dtype=st.sampled_from([np.float32, np.float64, np.complex64, np.complex128]),
    seed=st.integers(0, 1000),
)
def test_forward_is_the_matrix_along_the_axis_and_inverse_undoes_it(
    kind, size, before, after, dtype, seed
):
    rng = np.random.default_rng(seed)
    transform = build(kind, size, rng)
    x = rng.normal(size=(*before, size, *after)).astype(dtype)
    if np.iscomplexobj(x):
        x += 1j * rng.normal(size=x.shape).astype(x.real.dtype)
    x.flags.writeable = False
    atol = 1e-4 if x.dtype in (np.float32, np.complex64) else 1e-12

    image = transform.forward(x, axis=len(before))
    expected = np.empty(x.shape, dtype=complex)
    for index in np.ndindex(*before):
        for last in np.ndindex(*after):
            fibre = (*index, slice(None), *last)
            for j in range(size):
                expected[(*index, j, *last)] = sum(transform.matrix[j] * x[fibre])
    assert_allclose(image, expected, atol=atol)
    assert_allclose(transform.forward(x, axis=-1 - len(after)), image, atol=0)
    back = transform.inverse(image, axis=len(before))
    assert_allclose(back, x, atol=atol)
    assert np.finfo(image.dtype).dtype == np.finfo(back.dtype).dtype == np.finfo(dtype).dtype
    assert np.isrealobj(image) == (np.isrealobj(x) and transform.is_real)
    assert np.isrealobj(back) == (np.isrealobj(x) and transform.is_real)


@modest
@given(kind=st.sampled_from(KINDS), size=st.integers(1, 9), seed=st.integers(0, 1000))
def test_declared_properties_hold_for_the_matrix(kind, size, seed):
    transform = build(kind, size, np.random.default_rng(seed))
    matrix, gram = transform.matrix, transform.matrix @ transform.matrix.conj().T
    assert transform.size == size
    assert transform.name == kind.removeprefix("complex ")
    assert_allclose(transform.inverse_matrix @ matrix, np.eye(size), atol=1e-12)
    assert_allclose(transform.energy, np.abs(matrix) ** 2, atol=1e-14)
    if kind in NAMES or size == 1:
        assert_allclose(gram, transform.unitary_factor * np.eye(size), atol=1e-12)
    else:
        assert transform.unitary_factor is None
    x = np.random.default_rng(seed).normal(size=size)
    image = matrix @ x
    if transform.conjugate_symmetric:
        assert_allclose(image[-np.arange(size) % size], image.conj(), atol=1e-12)
    assert transform.is_real == np.isrealobj(matrix)
    copy = pickle.loads(pickle.dumps(transform))
    assert_array_equal(copy.forward(x), transform.forward(x))
    with pytest.raises(ValueError, match="read-only"):
        transform.matrix[0, 0] = 1


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_dft_has_exact_energy_and_factor(size):
    dft = make_transform("dft", size)
    assert_array_equal(dft.energy, np.ones((size, size)))
    assert dft.unitary_factor == size
    assert dft.conjugate_symmetric
    assert not dft.is_real


def test_conjugate_symmetry_is_recognised_in_a_given_matrix():
    unitary_dft = make_transform(np.fft.fft(np.eye(5), norm="ortho"), 5)
    assert unitary_dft.conjugate_symmetric
    assert unitary_dft.unitary_factor == pytest.approx(1)
    shuffled = make_transform(np.fft.fft(np.eye(5))[[1, 0, 2, 3, 4]], 5)
    assert not shuffled.conjugate_symmetric
    assert shuffled.unitary_factor == pytest.approx(5)


def test_a_complex_matrix_without_imaginary_part_counts_as_real():
    assert make_transform(np.eye(3) * (2 + 0j), 3).is_real


def test_identity_does_no_work():
    x = np.ones((3, 4))
    assert make_transform("identity", 4).forward(x) is x


def test_haar_of_a_power_of_two_is_the_classical_matrix():
    r = np.sqrt(0.5)
    expected = [[0.5] * 4, [0.5, 0.5, -0.5, -0.5], [r, -r, 0, 0], [0, 0, r, -r]]
    assert_allclose(make_transform("haar", 4).matrix, expected, atol=1e-15)
    smaller = make_transform("haar", 4).matrix
    halves = np.vstack([np.kron(smaller, [r, r]), np.kron(np.eye(4), [r, -r])])
    assert_allclose(make_transform("haar", 8).matrix, halves, atol=1e-15)


@pytest.mark.parametrize("size", range(1, 18))
def test_haar_of_any_size_is_an_orthonormal_tree_of_balanced_two_piece_vectors(size):
    matrix = make_transform("haar", size).matrix
    assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-13)
    assert_allclose(matrix[0], 1 / np.sqrt(size))
    for row in matrix[1:]:
        left, right = np.flatnonzero(row > 0), np.flatnonzero(row < 0)
        assert len(left) - len(right) in (0, 1)
        assert_array_equal(np.r_[left, right], np.arange(left[0], right[-1] + 1))
        assert np.ptp(row[left]) == np.ptp(row[right]) == 0
        assert row.sum() == pytest.approx(0, abs=1e-13)


@pytest.mark.parametrize("is_complex", [False, True])
def test_eigen_diagonalises_the_uncentred_self_correlation_in_descending_order(is_complex):
    rng = np.random.default_rng(3)
    data = rng.normal(size=(6, 4, 3)) + 2.0
    if is_complex:
        data = data + 1j * rng.normal(size=data.shape)
    transform = make_transform("eigen", 4, data=data, axis=1)
    correlation = np.zeros((4, 4), dtype=data.dtype)
    for i in range(6):
        for k in range(3):
            correlation += np.outer(data[i, :, k], data[i, :, k].conj())
    rotated = transform.matrix @ correlation @ transform.matrix.conj().T
    assert_allclose(rotated, np.diag(np.diag(rotated)), atol=1e-10)
    assert (np.diff(np.diag(rotated).real) < 0).all()
    assert_allclose(np.diag(rotated).sum(), np.sum(np.abs(data) ** 2))
    for row in transform.matrix:
        leading = row[np.argmax(np.abs(row))]
        assert leading.real > 0
        assert leading.imag == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("factor", [-1.0, 1e-170, 1e170, 1j])
def test_eigen_does_not_depend_on_sign_phase_or_scale_of_the_data(factor):
    data = np.random.default_rng(0).normal(size=(5, 4))
    expected = make_transform("eigen", 4, data=data, axis=1).matrix
    assert_allclose(
        make_transform("eigen", 4, data=data * factor, axis=1).matrix, expected, atol=1e-13
    )


def test_random_is_reproducible_and_differs_between_modes_and_seeds():
    first, second = make_transforms("random", [4, 4], random_state=5)
    again, _ = make_transforms("random", [4, 4], random_state=5)
    assert_array_equal(first.matrix, again.matrix)
    assert np.abs(first.matrix - second.matrix).max() > 0.1
    assert np.abs(first.matrix - make_transform("random", 4, random_state=6).matrix).max() > 0.1


def test_callables_may_be_complex_and_are_read_only_once():
    calls = []

    def forward(x):
        calls.append(x.shape)
        return np.fft.fft(x)

    transform = make_transform((forward, np.fft.ifft), 6)
    before = len(calls)
    x = np.random.default_rng(0).normal(size=(2, 6))
    assert_allclose(transform.forward(x), np.fft.fft(x), atol=1e-13)
    assert_allclose(transform.inverse(x), np.fft.ifft(x), atol=1e-13)
    assert len(calls) == before


def test_callables_may_work_in_place():
    def double(x):
        x *= 2
        return x

    def halve(x):
        x /= 2
        return x

    assert_array_equal(make_transform((double, halve), 3).matrix, 2 * np.eye(3))


def test_make_transforms_takes_one_specification_or_one_for_each_mode():
    ready = make_transform("dct", 3)
    mixed = make_transforms([ready, np.eye(2), (np.fft.fft, np.fft.ifft)], [3, 2, 5])
    assert [one.name for one in mixed] == ["dct", "matrix", "callable"]
    assert mixed[0] is ready
    pair = make_transforms((np.fft.fft, np.fft.ifft), [4, 3])
    assert [(one.name, one.size) for one in pair] == [("callable", 4), ("callable", 3)]
    data = np.random.default_rng(0).normal(size=(7, 3, 4))
    from_last = make_transforms("eigen", [3, 4], data=data)
    from_named = make_transforms("eigen", [4, 3], data=data, axes=[2, 1])
    assert_array_equal(from_last[0].matrix, from_named[1].matrix)
    assert_array_equal(from_last[1].matrix, from_named[0].matrix)
    assert make_transforms("dft", []) == []


def test_is_data_driven_finds_eigen_anywhere():
    assert is_data_driven("eigen")
    assert is_data_driven(("dft", "eigen"))
    assert not is_data_driven(["dft", np.eye(3), (np.fft.fft, np.fft.ifft)])
    assert not is_data_driven(np.eye(2))
    assert not is_data_driven(make_transform("dft", 3))


@modest
@given(
    specs=st.lists(
        st.tuples(st.sampled_from(["identity", "dft", "haar"]), st.integers(1, 5)), max_size=3
    ),
    seed=st.integers(0, 1000),
)
def test_conjugate_partners_point_at_the_conjugate_slice_of_real_data(specs, seed):
    transforms = make_transforms([name for name, _ in specs], [size for _, size in specs])
    x = np.random.default_rng(seed).normal(size=[size for _, size in specs])
    for axis, transform in enumerate(transforms):
        x = transform.forward(x, axis)
    flat = np.ravel(x)
    assert_allclose(flat[conjugate_partners(transforms)], flat.conj(), atol=1e-12)


def test_conjugate_partners_are_unknown_for_a_general_complex_matrix():
    general = make_transform(well_conditioned(3, np.random.default_rng(0), is_complex=True), 3)
    assert conjugate_partners([make_transform("dft", 2), general]) is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fourier", r"transform='fourier' is not a known transform; use one of 'identity'"),
        ("", "not a known transform"),
        (None, "transform is a NoneType"),
        (3.0, "transform is a float"),
        ([[1, 0], [0, 1]], "transform is a list"),
        (np.ones((4, 3)), r"shape \(4, 3\).*give a matrix of shape \(4, 4\)"),
        (np.eye(3), r"shape \(3, 3\).*length 4"),
        (np.ones(4), r"shape \(4,\)"),
        (np.ones((4, 4)), "transform is singular.*condition number"),
        (np.zeros((4, 4)), "condition number inf"),
        (np.diag([1, 1, 1, 1e-12]), r"condition number 1e\+12.*well-conditioned"),
        (np.full((4, 4), np.nan), "transform contains NaN"),
        (np.diag([1, 1, np.inf, 1]), "infinity"),
        (np.array([["a"] * 4] * 4), "must hold numbers"),
        (make_transform("dct", 5), "size 5, but the mode has length 4"),
        ((np.fft.rfft, np.fft.irfft), r"transform\[0\] \(forward\) turned shape"),
        ((np.cumsum, np.diff), r"\(forward\) turned shape \(4, 4\) into \(16,\)"),
        ((np.fft.fft, np.fft.fft), "does not undo"),
        ((np.fft.fft, lambda x: np.fft.ifft(x).real), "inverse"),
        (
            (lambda x: x * 2, lambda x: x * 0.50001),
            "round trip changes unit vectors by up to 2e-05",
        ),
        ((np.exp, np.log), r"\(forward\) is not linear"),
        ((lambda x: x + 1, lambda x: x - 1), r"\(forward\) is not linear"),
        ((lambda x: x * 2, lambda x: np.where(x == 1, 0.5, x)), r"\(inverse\) is not linear"),
        ((lambda x: np.tri(4) @ x, lambda x: np.linalg.inv(np.tri(4)) @ x), "failed on an array"),
        ((lambda x: x * np.nan, lambda x: x), "contains NaN"),
        ((lambda x: 1 / 0, lambda x: x), "division by zero"),
        ((lambda x: x @ np.ones((4, 4)), lambda x: x), r"matrix of transform\[0\].*singular"),
    ],
)
def test_hostile_specifications_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        make_transform(spec, 4)


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3"])
def test_a_size_that_is_no_length_is_refused(size):
    with pytest.raises(ValueError, match="size must be a positive integer"):
        make_transform("dft", size)


@pytest.mark.parametrize(
    ("data", "axis", "message"),
    [
        (None, 0, "'eigen' is computed from data"),
        (np.ones((3, 4)), None, "'eigen' is computed from data"),
        (np.ones((3, 5)), 1, "length 5 along axis 1.*length 4"),
        (np.ones((3, 4)), 2, "axis=2 is not an axis"),
        (np.full((3, 4), np.inf), 1, "data contains NaN or infinity"),
        (np.ones((0, 4)), 1, "data is empty"),
    ],
)
def test_eigen_without_usable_data_is_refused(data, axis, message):
    with pytest.raises(ValueError, match=message):
        make_transform("eigen", 4, data=data, axis=axis)


def test_lists_of_the_wrong_length_or_content_are_refused():
    with pytest.raises(ValueError, match="lists 1 specifications, but 2 modes"):
        make_transforms(["dft"], [3, 4])
    with pytest.raises(ValueError, match=r"transform\[1\]='nope'"):
        make_transforms(["dft", "nope"], [3, 4])
    with pytest.raises(ValueError, match=r"give a matrix of shape \(4, 4\)"):
        make_transforms(np.eye(3), [3, 4])
    with pytest.raises(ValueError, match="axes has 1 entries for 2 sizes"):
        make_transforms("dft", [3, 4], axes=[0])
    with pytest.raises(ValueError, match="not a known transform"):
        make_transforms("nope", [])


def test_input_that_does_not_fit_the_transform_is_refused():
    transform = make_transform("dft", 4)
    with pytest.raises(ValueError, match=r"length 3 along axis 1.*dft transform has size 4"):
        transform.forward(np.ones((4, 3)), axis=1)
    with pytest.raises(ValueError, match="axis=2 is not an axis of an array with 2 axes"):
        transform.inverse(np.ones((4, 4)), axis=2)
    with pytest.raises(ValueError, match="x must hold numbers"):
        transform.forward(np.array(["a"] * 4))


@pytest.mark.parametrize("matrix", [np.ones((2, 3)), np.ones(3), np.ones((0, 0)), [[np.nan]]])
def test_the_class_itself_refuses_what_is_no_square_matrix(matrix):
    with pytest.raises(ValueError, match=r"matrix (has shape|contains NaN)"):
        ModeTransform(matrix)


def test_integers_and_strided_input_work_like_their_double_precision_copies():
    transform = ModeTransform(well_conditioned(4, np.random.default_rng(1)))
    x = np.arange(48).reshape(6, 8)[::2, ::2]
    kept = x.copy()
    assert_allclose(transform.forward(x), x.astype(float) @ transform.matrix.T)
    assert_array_equal(x, kept)


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e60, 1e200])
def test_matrices_of_absurd_size_are_refused(scale):
    with pytest.raises(ValueError, match=r"transform multiplies norms by .* divide it"):
        make_transform(scale * np.eye(3), 3)
    assert make_transform(1e-40 * np.eye(3), 3).size == 3
