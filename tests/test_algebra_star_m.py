"""The star-M algebra and the T-SVDM against their definitions, for every kind of transform."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift.algebra import (
    ModeTransform,
    conjugate_transpose,
    facewise_product,
    from_transform_domain,
    identity_tensor,
    inverse_tensor,
    is_orthogonal,
    make_transform,
    make_transforms,
    mprod,
    to_transform_domain,
    tsvdm,
)

UNITARY = ["identity", "dft", "dct", "haar", "eigen", "random", "unitary"]
KINDS = [*UNITARY, "matrix", "complex matrix", "callable", "fft pair"]
modest = settings(max_examples=30, deadline=None)


def make(kind, size, rng):
    if kind == "callable":
        matrix = 2 * np.eye(size) + np.tri(size, k=-1) / size
        inverse = np.linalg.inv(matrix)
        return make_transform((lambda x: x @ matrix.T, lambda x: x @ inverse.T), size)
    if kind == "fft pair":
        return make_transform((np.fft.fft, np.fft.ifft), size)
    if kind in ("matrix", "complex matrix", "unitary"):
        draw = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
        u, _, vh = np.linalg.svd(draw.real if kind == "matrix" else draw)
        return make_transform(
            (u * (3 if kind == "unitary" else np.linspace(2, 0.5, size))) @ vh, size
        )
    data = rng.normal(size=(4, size))
    return make_transform(kind, size, data=data, axis=1, random_state=int(rng.integers(100)))


class Case(NamedTuple):
    """A random problem: shapes, type, transforms, and the accuracy to expect of it."""

    faces: list[int]
    sizes: list[int]
    dtype: np.dtype
    transforms: list[ModeTransform]
    rng: np.random.Generator

    @property
    def atol(self):
        return 2e-3 if np.finfo(self.dtype).dtype == np.float32 else 1e-10

    @property
    def scale(self):
        """By how much the transforms multiply squared norms, when they are unitary multiples."""
        return np.prod([one.unitary_factor for one in self.transforms])

    @property
    def expects_real(self):
        return self.dtype.kind == "f" and all(
            one.is_real or one.conjugate_symmetric for one in self.transforms
        )

    def tensor(self, rows, columns):
        x = self.rng.normal(size=(rows, columns, *self.sizes))
        if self.dtype.kind == "c":
            x = x + 1j * self.rng.normal(size=x.shape)
        x = x.astype(self.dtype)
        x.flags.writeable = False
        return x


@st.composite
def cases(draw, kinds=KINDS, dtypes=("f4", "f8", "c8", "c16")):
    order = draw(st.integers(3, 5))
    sizes = draw(st.lists(st.integers(1, 4), min_size=order - 2, max_size=order - 2))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    return Case(
        faces=draw(st.lists(st.integers(1, 4), min_size=4, max_size=4)),
        sizes=sizes,
        dtype=np.dtype(draw(st.sampled_from(dtypes))),
        transforms=[make(draw(st.sampled_from(kinds)), size, rng) for size in sizes],
        rng=rng,
    )


def brute_transform(x, matrices):
    """Sum over each transformed index with explicit matrices, in double precision."""
    letters = "cdefgh"[: len(matrices)]
    inputs = ",".join(f"{one.upper()}{one}" for one in letters)
    return np.einsum(f"{inputs},ab{letters}->ab{letters.upper()}", *matrices, x.astype(complex))


def brute_hat(x, transforms):
    return brute_transform(x, [one.matrix for one in transforms])


def brute_back(x, transforms):
    return brute_transform(x, [np.linalg.inv(one.matrix) for one in transforms])


def slices(sizes):
    return [(slice(None), slice(None), *index) for index in np.ndindex(*sizes)]


@modest
@given(cases())
def test_transform_domain_round_trip(case):
    a = case.tensor(*case.faces[:2])
    hat = to_transform_domain(a, case.transforms)
    assert_allclose(hat, brute_hat(a, case.transforms), atol=case.atol)
    assert_allclose(from_transform_domain(hat, case.transforms), a, atol=case.atol)


@modest
@given(cases())
def test_mprod_multiplies_the_slices_in_the_transform_domain(case):
    d, m, n, _ = case.faces
    a, b = case.tensor(d, m), case.tensor(m, n)
    a_hat, b_hat = brute_hat(a, case.transforms), brute_hat(b, case.transforms)
    c_hat = np.empty((d, n, *case.sizes), dtype=complex)
    for one in slices(case.sizes):
        c_hat[one] = a_hat[one] @ b_hat[one]
    assert_allclose(facewise_product(a_hat, b_hat), c_hat, atol=1e-10)
    product = mprod(a, b, case.transforms)
    assert_allclose(product, brute_back(c_hat, case.transforms), atol=case.atol * 10)
    assert np.isrealobj(product) == case.expects_real
    assert np.finfo(product.dtype).dtype == np.finfo(case.dtype).dtype


@modest
@given(cases())
def test_identity_changes_nothing(case):
    d, m = case.faces[:2]
    a = case.tensor(d, m)
    left = identity_tensor(d, case.sizes, case.transforms)
    right = identity_tensor(m, case.sizes, case.transforms)
    assert_allclose(mprod(left, a, case.transforms), a, atol=case.atol)
    assert_allclose(mprod(a, right, case.transforms), a, atol=case.atol)
    assert is_orthogonal(left, case.transforms)


@modest
@given(cases())
def test_product_is_associative_and_conjugate_transpose_reverses_it(case):
    d, m, n, k = case.faces
    a, b, c = case.tensor(d, m), case.tensor(m, n), case.tensor(n, k)
    t = case.transforms
    ab = mprod(a, b, t)
    atol = case.atol * 50
    assert_allclose(mprod(ab, c, t), mprod(a, mprod(b, c, t), t), atol=atol)
    reversed_product = mprod(conjugate_transpose(b, t), conjugate_transpose(a, t), t)
    assert_allclose(conjugate_transpose(ab, t), reversed_product, atol=atol)


@modest
@given(cases())
def test_conjugate_transpose_transposes_the_slices_in_the_transform_domain(case):
    a = case.tensor(*case.faces[:2])
    transposed = conjugate_transpose(a, case.transforms)
    assert np.isrealobj(transposed) == case.expects_real
    hat, transposed_hat = brute_hat(a, case.transforms), brute_hat(transposed, case.transforms)
    for one in slices(case.sizes):
        assert_allclose(transposed_hat[one], hat[one].conj().T, atol=case.atol)


@modest
@given(cases(dtypes=("f8", "c16")))
def test_inverse_multiplies_to_the_identity_from_both_sides(case):
    d, t = case.faces[0], case.transforms
    noise = case.tensor(d, d)
    largest = max(np.linalg.norm(brute_hat(noise, t)[one], 2) for one in slices(case.sizes))
    identity = brute_back(np.ones(noise.shape) * np.eye(d).reshape(d, d, *[1] * len(t)), t)
    a = noise + 2 * largest * (identity.real if case.expects_real else identity)
    inverse = inverse_tensor(a, t)
    assert_allclose(mprod(a, inverse, t), identity, atol=1e-9)
    assert_allclose(mprod(inverse, a, t), identity, atol=1e-9)
    assert np.isrealobj(inverse) == case.expects_real


def block_circulant(a):
    """Return bcirc(A): block (i, j) is frontal slice (i - j) mod d_3."""
    count = a.shape[2]
    return np.block([[a[:, :, (i - j) % count] for j in range(count)] for i in range(count)])


@modest
@given(
    faces=st.lists(st.integers(1, 4), min_size=3, max_size=3),
    count=st.integers(1, 6),
    is_complex=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_the_dft_case_is_the_t_product_of_block_circulant_matrices(faces, count, is_complex, seed):
    rng = np.random.default_rng(seed)
    d, m, n = faces
    a, b = rng.normal(size=(d, m, count)), rng.normal(size=(m, n, count))
    if is_complex:
        a, b = a + 1j * rng.normal(size=a.shape), b + 1j * rng.normal(size=b.shape)
    stacked = block_circulant(a) @ np.vstack([b[:, :, i] for i in range(count)])
    expected = np.stack(np.split(stacked, count), axis=2)
    assert_allclose(mprod(a, b, "dft"), expected, atol=1e-11)
    transposed = conjugate_transpose(a, "dft")
    assert_allclose(block_circulant(transposed), block_circulant(a).conj().T, atol=1e-12)
    # bcirc(A) is block-diagonalised by the DFT: its singular values are those of the slices.
    values = np.linalg.svd(block_circulant(a), compute_uv=False)
    found = np.sort(tsvdm(a, "dft").singular_values, axis=None)[::-1]
    assert_allclose(found, values[: found.size], atol=1e-11)


@modest
@given(cases(kinds=UNITARY))
def test_unitary_multiples_scale_the_frobenius_norm(case):
    a = case.tensor(*case.faces[:2])
    hat = to_transform_domain(a, case.transforms)
    assert_allclose(np.linalg.norm(hat), np.sqrt(case.scale) * np.linalg.norm(a), rtol=1e-4)
    if case.dtype in (np.float64, np.complex128):
        assert_allclose(np.linalg.norm(hat), np.sqrt(case.scale) * np.linalg.norm(a), rtol=1e-12)


@modest
@given(cases(), st.booleans())
def test_tsvdm_factors_exactly_with_orthogonal_factors(case, full):
    d, m = case.faces[:2]
    k, t = min(d, m), case.transforms
    a = case.tensor(d, m)
    svd = tsvdm(a, t, full_matrices=full)
    assert svd.U.shape == (d, d if full else k, *case.sizes)
    assert svd.V.shape == (m, m if full else k, *case.sizes)
    assert svd.S.shape == ((d, m) if full else (k, k)) + tuple(case.sizes)
    assert_allclose(svd.reconstruct(), a, atol=case.atol)
    assert is_orthogonal(svd.U, t, columns_only=not full, tol=case.atol)
    assert is_orthogonal(svd.V, t, columns_only=not full, tol=case.atol)
    for factor in (svd.U, svd.S, svd.V):
        assert np.isrealobj(factor) == (case.expects_real or (factor is svd.S and real_core(t)))
        assert np.finfo(factor.dtype).dtype == np.finfo(case.dtype).dtype
    hat, core = brute_hat(a, t), brute_hat(svd.S, t)
    assert (svd.ranks == k).all()
    for one in slices(case.sizes):
        values = np.linalg.svd(hat[one], compute_uv=False)
        assert_allclose(svd.singular_values[:, *one[2:]], values, atol=case.atol)
        expected = np.zeros(core.shape[:2])
        np.fill_diagonal(expected, values)
        assert_allclose(core[one], expected, atol=case.atol)


def real_core(transforms):
    """Real transforms keep the core real even where the data are complex."""
    return all(one.is_real for one in transforms)


@modest
@given(cases(), st.data())
def test_truncation_by_rank_truncates_every_slice(case, data):
    d, m = case.faces[:2]
    k, t = min(d, m), case.transforms
    a = case.tensor(d, m)
    if data.draw(st.booleans()):
        rank = data.draw(st.integers(1, k))
        ranks = np.full(case.sizes, rank)
    else:
        count = int(np.prod(case.sizes))
        flat = data.draw(st.lists(st.integers(0, k), min_size=count, max_size=count).filter(any))
        ranks = np.reshape(flat, case.sizes)
        rank = data.draw(st.sampled_from([flat, ranks]))
    svd = tsvdm(a, t, rank=rank)
    assert_array_equal(svd.ranks, ranks)
    assert svd.U.shape[1] == svd.S.shape[0] == svd.S.shape[1] == svd.V.shape[1] == ranks.max()
    hat, approximation = brute_hat(a, t), brute_hat(svd.reconstruct(), t)
    left = brute_hat(svd.U, t)
    for one in slices(case.sizes):
        r = ranks[one[2:]]
        u, s, vh = np.linalg.svd(hat[one])
        assert_allclose(approximation[one], (u[:, :r] * s[:r]) @ vh[:r], atol=case.atol * 5)
        assert_allclose(left[one][:, r:], 0, atol=case.atol)


def near_competitors(hat, ranks, sizes, rng):
    """Yield the best tensors on random column spaces of the same multirank, near and far."""
    for noise in (1e-3, 1e-1, 10.0):
        competitor = np.empty_like(hat)
        for one in slices(sizes):
            u, _, _ = np.linalg.svd(hat[one], full_matrices=False)
            columns = u[:, : ranks[one[2:]]]
            q, _ = np.linalg.qr(columns + noise * rng.normal(size=columns.shape))
            competitor[one] = q @ (q.conj().T @ hat[one])
        yield competitor


@modest
@given(cases(kinds=UNITARY, dtypes=("f8", "c16")), st.data())
def test_eckart_young_under_unitary_multiples(case, data):
    d, m = case.faces[:2]
    t = case.transforms
    a = case.tensor(d, m)
    svd = tsvdm(a, t, rank=data.draw(st.integers(1, min(d, m))))
    error = np.sum(np.abs(svd.reconstruct() - a) ** 2)
    discarded = np.sum(svd.singular_values[svd.ranks.max() :] ** 2) / case.scale
    assert error == pytest.approx(discarded, rel=1e-9, abs=1e-18)
    for competitor in near_competitors(brute_hat(a, t), svd.ranks, case.sizes, case.rng):
        rival = np.sum(np.abs(brute_back(competitor, t) - a) ** 2)
        assert rival >= error * (1 - 1e-9) - 1e-18


@modest
@given(
    shape=st.tuples(st.integers(2, 5), st.integers(2, 5), st.integers(1, 6)),
    noise=st.sampled_from([1e-3, 0.1, 10.0]),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_no_real_tensor_of_the_same_tubal_rank_comes_nearer(shape, noise, seed, data):
    rank = data.draw(st.integers(1, min(shape[:2]) - 1))
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape)
    svd = tsvdm(a, "dft", rank=rank)
    assert np.isrealobj(svd.U)
    left = svd.U + noise * rng.normal(size=svd.U.shape)
    # The best right factor for this left one: least squares with bcirc, no transform involved.
    stacked = np.vstack([a[:, :, i] for i in range(shape[2])])
    right = np.linalg.lstsq(block_circulant(left), stacked, rcond=None)[0]
    rival = np.linalg.norm(block_circulant(left) @ right - stacked)
    assert rival >= np.linalg.norm(svd.reconstruct() - a) * (1 - 1e-9)


@modest
@given(cases(dtypes=("f8", "c16")), st.floats(0.01, 1.0))
def test_truncation_by_energy_keeps_the_share_with_the_fewest_largest_values(case, share):
    a = case.tensor(*case.faces[:2])
    svd = tsvdm(a, case.transforms, energy=share)
    values = svd.singular_values
    position = np.arange(len(values)).reshape(-1, *[1] * len(case.sizes))
    kept = position < svd.ranks
    total = np.sum(values**2)
    smallest = values[kept].min()
    assert np.sum(values[kept] ** 2) >= share * total * (1 - 1e-12)
    assert np.sum(values[values > smallest] ** 2) < share * total
    if not kept.all():
        assert values[~kept].max() < smallest
    error = brute_hat(svd.reconstruct() - a, case.transforms)
    assert np.sum(np.abs(error) ** 2) == pytest.approx(np.sum(values[~kept] ** 2), abs=1e-9 * total)
    if case.expects_real:
        assert np.isrealobj(svd.U)
        assert np.isrealobj(svd.reconstruct())


def test_energy_chooses_across_slices_and_keeps_ties_together():
    a = np.zeros((2, 2, 3))
    a[:, :, 0] = np.diag([4.0, 1.0])
    a[:, :, 1] = np.diag([2.0, 2.0])
    a[:, :, 2] = np.diag([0.5, 0.0])
    total = 16 + 1 + 4 + 4 + 0.25
    assert_array_equal(tsvdm(a, "identity", energy=16 / total - 1e-9).ranks, [1, 0, 0])
    assert_array_equal(tsvdm(a, "identity", energy=17 / total).ranks, [1, 2, 0])
    assert_array_equal(tsvdm(a, "identity", energy=24.5 / total).ranks, [2, 2, 0])
    assert_array_equal(tsvdm(a, "identity", energy=1.0).ranks, [2, 2, 1])


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_energy_does_not_depend_on_the_scale_of_the_data(factor):
    a = np.random.default_rng(0).normal(size=(4, 3, 5))
    expected = tsvdm(a, "dct", energy=0.7).ranks
    assert_array_equal(tsvdm(a * factor, "dct", energy=0.7).ranks, expected)


def test_ranks_that_split_a_conjugate_pair_give_the_complex_tensor_they_ask_for():
    a = np.random.default_rng(0).normal(size=(3, 3, 5))
    hat = np.fft.fft(a)
    hat[:, :, 4] = 0
    cut = tsvdm(a, "dft", rank=[3, 3, 3, 3, 0])
    assert_allclose(cut.reconstruct(), np.fft.ifft(hat), atol=1e-12)
    assert np.isrealobj(tsvdm(a, "dft", rank=[3, 0, 1, 1, 0]).reconstruct())


def test_a_zero_tensor_decomposes():
    zero = np.zeros((3, 2, 4))
    for options in ({}, {"rank": 1}, {"energy": 0.5}, {"full_matrices": True}):
        assert_array_equal(tsvdm(zero, "dft", **options).reconstruct(), zero)


def test_tsvdm_computes_eigen_from_the_tensor_and_returns_its_transforms():
    a = np.random.default_rng(0).normal(size=(3, 4, 5, 2))
    svd = tsvdm(a, "eigen", rank=2)
    built = make_transforms("eigen", [5, 2], data=a, axes=[2, 3])
    for found, expected in zip(svd.transforms, built, strict=True):
        assert_array_equal(found.matrix, expected.matrix)
    assert_array_equal(svd.reconstruct(), tsvdm(a, built, rank=2).reconstruct())


def test_matrices_get_ordinary_matrix_algebra():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)) + 5 * np.eye(3)
    assert_allclose(mprod(a, b, "dft"), a @ b)
    assert_allclose(conjugate_transpose(a * 1j, "dft"), (a * 1j).conj().T)
    assert_allclose(identity_tensor(3, [], "dct"), np.eye(3))
    assert_allclose(inverse_tensor(b, "dct"), np.linalg.inv(b))
    svd = tsvdm(a, "haar")
    assert_allclose(svd.singular_values, np.linalg.svd(a, compute_uv=False))
    assert_allclose(svd.reconstruct(), a)
    assert is_orthogonal(svd.V, "haar")


def test_strided_input_gives_the_same_and_is_left_alone():
    whole = np.random.default_rng(0).normal(size=(5, 6, 8))
    kept = whole.copy()
    a = whole[::-1, ::2, 1::2].transpose(1, 0, 2)
    b = whole[:, :2, ::2]
    for name in ("identity", "dft", "dct", "haar"):
        assert_allclose(mprod(a, b, name), mprod(a.copy(), b.copy(), name))
        assert_allclose(tsvdm(a, name).reconstruct(), a, atol=1e-12)
        tsvdm(a, name, energy=0.5)
    assert_array_equal(whole, kept)


def test_is_orthogonal_tells_deviations_apart():
    identity = identity_tensor(3, [4], "dft")
    bent = identity.copy()
    bent[0, 1, 2] += 1e-3
    assert not is_orthogonal(bent, "dft")
    assert is_orthogonal(bent, "dft", tol=1e-2)
    tall, wide = identity[:, :2], identity[:2]
    assert is_orthogonal(tall, "dft", columns_only=True)
    assert not is_orthogonal(tall, "dft")
    assert not is_orthogonal(wide, "dft", columns_only=True)


ONES = np.ones((2, 3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mprod(ONES, ONES, "dft"), r"shape \(2, 3, 4\) and B has shape \(2, 3, 4\)"),
        (lambda: mprod(ONES, np.ones((3, 2, 5)), "dft"), "all further lengths must be equal"),
        (lambda: facewise_product(ONES, np.ones((3, 2))), "must be equal"),
        (lambda: mprod(ONES * np.nan, ONES, "dft"), "A contains NaN or infinity"),
        (lambda: mprod(ONES, ONES / [[[0, 1, 1, 1]]], "dft"), "B contains NaN or infinity"),
        (lambda: mprod(np.ones(3), ONES, "dft"), "A has 1 axes"),
        (lambda: to_transform_domain(np.ones((2, 0, 3)), "dft"), r"A has shape \(2, 0, 3\)"),
        (lambda: to_transform_domain([["a"]], "dft"), "A must hold numbers"),
        (lambda: from_transform_domain(np.ones(3), "dft"), "A_hat has 1 axes"),
        (lambda: to_transform_domain(ONES, "fft"), "transform='fft' is not a known transform"),
        (lambda: to_transform_domain(ONES, np.ones((4, 4))), "transform is singular"),
        (lambda: to_transform_domain(ONES, ["dft", "dft"]), "lists 2 specifications, but 1 modes"),
        (lambda: mprod(ONES, ONES.swapaxes(0, 1), "eigen"), "'eigen' would differ from call to"),
        (lambda: conjugate_transpose(ONES, ["random"]), "'random' would differ from call to call"),
        (lambda: identity_tensor(0, [3], "dft"), "size must be a positive integer"),
        (lambda: identity_tensor(2, [0], "dft"), "mode_sizes must be a positive integer"),
        (lambda: inverse_tensor(ONES, "dft"), "only tensors with square slices have an inverse"),
        (lambda: inverse_tensor(np.ones((2, 2, 3)), "identity"), r"slice \(0,\) is singular"),
        (
            lambda: inverse_tensor(singular_in(1, 2), ["identity", "dct"]),
            r"slice \(1, 2\) is.*1 of 6",
        ),
        (lambda: tsvdm(ONES, "dft", rank=0), "rank must be a positive integer, got 0"),
        (lambda: tsvdm(ONES, "dft", rank=3), "rank=3 is too large.*at most 2"),
        (lambda: tsvdm(ONES, "dft", rank=1.5), "rank must be a positive integer"),
        (lambda: tsvdm(ONES, "dft", rank=[1, 1]), r"rank has shape \(2,\).*each of the 4 slices"),
        (lambda: tsvdm(ONES, "dft", rank=[1.0] * 4), "dtype float64"),
        (lambda: tsvdm(ONES, "dft", rank=[1, 1, 1, 3]), "rank runs from 1 to 3.*from 0 to 2"),
        (lambda: tsvdm(ONES, "dft", rank=[-1, 1, 1, 1]), "rank runs from -1 to 1"),
        (lambda: tsvdm(ONES, "dft", rank=[0, 0, 0, 0]), "not all zero"),
        (lambda: tsvdm(ONES, "dft", energy=0), "energy=0 is not a share"),
        (lambda: tsvdm(ONES, "dft", energy=1.1), r"energy=1\.1 is not a share"),
        (lambda: tsvdm(ONES, "dft", energy=np.nan), "energy=nan is not a share"),
        (lambda: tsvdm(ONES, "dft", energy="all"), "energy='all' is not a share"),
        (lambda: tsvdm(ONES, "dft", rank=1, energy=0.5), "give one of them"),
        (lambda: tsvdm(ONES, "dft", rank=1, full_matrices=True), "full_matrices=True keeps"),
        (lambda: tsvdm(ONES, "random"), "build it once with make_transforms"),
        (lambda: tsvdm(np.full((2, 2, 2), np.inf), "dft"), "A contains NaN or infinity"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_hostile_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def singular_in(*index):
    """Return a (2, 2, 2, 3) tensor with one singular slice after the DCT of its last mode."""
    hat = np.ones((2, 2, 2, 3)) * np.eye(2)[:, :, None, None]
    hat[(0, 0, *index)] = 0
    return from_transform_domain(hat, ["identity", "dct"])
