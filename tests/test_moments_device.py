"""Transforms, slices, moments and rankings of arrays of any library, beside plain sums in NumPy."""

import pickle

import numpy as np
import pytest

from tensift._utils.namespace import (
    is_device_array,
    kind_of,
    moved_to,
    precision_of,
    to_numpy,
    widest_precision,
)
from tensift.algebra import make_transform, make_transforms
from tensift.moments import DeviceMoments, GramTensor, Moments, Orientation
from tensift.moments import _device_moments as module
from tensift.selection import rank_features
from tensift.solvers import critical_penalties
from tensift.solvers.on_device._spectrum import spectrum_of

SHAPE = (4, 5, 3)
others_than_numpy = pytest.mark.parametrize(
    "library", ["array_api_strict", "torch", "jax"], indirect=True
)


def samples(n=30, complex_=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, *SHAPE)) + 3.0
    return X + 1j * rng.normal(size=X.shape) if complex_ else X


def sums(X, mode, matrices):
    """Mean, standard deviations and Gram matrices of all slices, by einsum on whole arrays."""
    centred = X - X.mean(axis=0)
    letters = "abc"
    others = [letter for axis, letter in enumerate(letters) if axis != mode]
    q = letters[mode]
    hat = np.einsum(f"xa,yb,nabc->nxy{q}" if mode == 2 else
                    f"xa,yc,nabc->nxy{q}" if mode == 1 else f"xb,yc,nabc->nxy{q}",
                    *matrices, centred)  # fmt: skip
    assert len(others) == 2
    gram = np.einsum("nxyq,nxyr->xyqr", hat, hat.conj())
    return X.mean(axis=0), X.std(axis=0), gram.reshape(-1, *gram.shape[2:])


# Where arrays are


@others_than_numpy
def test_a_kind_names_library_and_device(library):
    x = library.asarray(np.ones((2, 3)))
    assert is_device_array(x)
    assert kind_of(x).library == library.name
    assert kind_of(x) == kind_of(moved_to(x, np.eye(2)))


def test_numpy_arrays_and_what_becomes_one_are_no_device_arrays():
    pandas = pytest.importorskip("pandas")
    for x in (np.ones(2), np.float64(1), [1.0], pandas.DataFrame([[1.0]]), np.ma.array([1.0])):
        assert not is_device_array(x)
        assert kind_of(x) is None
        assert to_numpy(x) is x


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128, np.int64, bool])
def test_moving_to_the_host_and_back_changes_nothing(library, dtype):
    values = np.array([[1, 0], [2, 5]]).astype(dtype)
    there = library.asarray(values)
    back = to_numpy(moved_to(there, values))
    assert isinstance(back, np.ndarray)
    assert back.dtype == to_numpy(there).dtype == dtype
    np.testing.assert_array_equal(back, values)


def test_a_device_without_double_precision_says_so():
    strict = pytest.importorskip("array_api_strict")
    x = strict.asarray(np.ones(3, np.float32), device=strict.Device("no_float64"))
    assert widest_precision(x) == "float32"
    assert precision_of(strict.asarray(np.ones(3, np.float32))) == "float32"
    assert precision_of(strict.asarray(np.ones(3, np.int32))) == "float64"


# Transforms


@pytest.mark.parametrize("name", ["identity", "dft", "dct", "haar", "random"])
@pytest.mark.parametrize(("axis", "complex_"), [(0, False), (1, True), (-1, False), (2, True)])
def test_transforms_are_products_with_their_matrices(library, name, axis, complex_):
    X = samples(4, complex_)[:, :, :4, :].transpose(1, 2, 0, 3)[..., [0, 1, 2, 0]]
    transform = make_transform(name, 4, random_state=0)
    expected = np.moveaxis(np.tensordot(transform.matrix, X, (1, axis % 4)), 0, axis)
    there = library.asarray(X)
    found = transform.forward(there, axis=axis)
    assert type(found) is type(there)
    np.testing.assert_allclose(to_numpy(found), expected, atol=1e-12)
    np.testing.assert_allclose(to_numpy(transform.inverse(found, axis=axis)), X, atol=1e-12)


def test_single_precision_stays_single(library):
    for name in ("dft", "dct"):
        found = make_transform(name, 3).forward(library.asarray(samples().astype(np.float32)))
        assert to_numpy(found).dtype == (np.complex64 if name == "dft" else np.float32)


@others_than_numpy
def test_a_matrix_is_moved_once_and_never_pickled(library):
    transform = make_transform("dct", 3)
    x = library.asarray(samples())
    first = transform.moved("matrix", x)
    assert transform.moved("matrix", x) is first
    assert "_on_devices" not in vars(pickle.loads(pickle.dumps(transform)))


@others_than_numpy
def test_the_basis_of_the_data_is_that_of_numpy(library):
    X = samples(complex_=True)
    expected = make_transform("eigen", 5, data=X, axis=2).matrix
    found = make_transform("eigen", 5, data=library.asarray(X), axis=2).matrix
    np.testing.assert_allclose(found, expected, atol=1e-10)


@others_than_numpy
def test_a_matrix_on_a_device_is_no_transform(library):
    with pytest.raises(ValueError, match="pass the matrix as a NumPy array"):
        make_transform(library.asarray(np.eye(3)), 3)


# Moments

CASES = [
    (0, ("dft", "dct"), False),
    (1, ("identity", "dft"), False),
    (2, ("haar", "random"), True),
    (1, ("dft", "dft"), True),
]


@pytest.mark.parametrize(
    ("library", "mode", "names", "complex_"),
    [
        # JAX compiles every operation for every shape: one case is for all tests, all are slow.
        pytest.param(name, *case, marks=[pytest.mark.slow] * (name == "jax" and case != CASES[0]))
        for name in ("numpy", "array_api_strict", "torch", "jax")
        for case in CASES
    ],
    indirect=["library"],
)
def test_moments_are_the_plain_sums(library, monkeypatch, mode, names, complex_):
    monkeypatch.setattr(module, "_BLOCK_ELEMENTS", 7 * 60)
    monkeypatch.setattr(module, "_FEWEST_ROWS", 1)
    X = samples(21, complex_)  # three blocks of 7, two of them in one call
    sizes = [size for axis, size in enumerate(SHAPE) if axis != mode]
    transforms = make_transforms(list(names), sizes, random_state=0)
    orientation = Orientation(SHAPE, mode, transforms, real_data=not complex_)
    moments = DeviceMoments(orientation).update(library.asarray(X[:7]))
    moments.merge(DeviceMoments(orientation).update(library.asarray(X[7:])))
    mean, spread, gram = sums(X, mode, [t.matrix for t in transforms])
    assert moments.count == 21
    assert moments.peak == pytest.approx(np.abs(X).max(), rel=1e-14)
    np.testing.assert_allclose(to_numpy(moments.mean), mean, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(moments.spread()), spread, rtol=1e-12)
    found = to_numpy(orientation.expand(moments.gram().array))
    np.testing.assert_allclose(found, gram, atol=1e-11 * np.abs(gram).max())
    np.testing.assert_array_equal(found, found.conj().swapaxes(1, 2))
    trace = to_numpy(orientation.expand(moments.gram().trace()))
    np.testing.assert_allclose(trace, np.einsum("pii->p", gram).real, rtol=1e-10)


def test_single_precision_is_summed_in_double(library):
    rng = np.random.default_rng(0)
    X = (1000 + rng.normal(size=(500, 4, 3))).astype(np.float32)
    orientation = Orientation((4, 3), 0, make_transforms("identity", [3]))
    moments = DeviceMoments(orientation).update(library.asarray(X))
    exact = X.astype(float)
    assert moments.precision == "float32"
    assert to_numpy(moments.spread()).dtype == np.float32
    np.testing.assert_allclose(to_numpy(moments.spread()), exact.std(axis=0), rtol=1e-6)
    centred = exact - exact.mean(axis=0)
    gram = np.einsum("nap,nbp->pab", centred, centred)
    np.testing.assert_allclose(to_numpy(moments.gram().array), gram, rtol=1e-9, atol=1e-8)


def test_where_there_is_no_double_precision_the_mean_is_corrected():
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X = (1000 + rng.normal(size=(500, 4, 3))).astype(np.float32)
    X[:, 0, 0] = 1000.1  # constant, and no sum of it is exact
    there = strict.asarray(X, device=strict.Device("no_float64"))
    moments = DeviceMoments(Orientation((4, 3), 0, make_transforms("identity", [3]))).update(there)
    spread = np.asarray(np.from_dlpack(moments.spread(), device="cpu"))
    assert spread[0, 0] < 1e-6 * 1000
    np.testing.assert_allclose(spread.ravel()[1:], X.astype(float).std(axis=0).ravel()[1:], 1e-3)


def test_moments_on_the_host_and_on_a_device_do_not_merge(library):
    orientation = Orientation(SHAPE, 0, make_transforms("identity", SHAPE[1:]))
    there = DeviceMoments(orientation).update(library.asarray(samples()))
    with pytest.raises(TypeError, match="to_numpy"):
        there.merge(Moments(orientation).update(samples()))


def test_moments_on_the_host_go_on(library):
    X = samples()
    orientation = Orientation(SHAPE, 1, make_transforms("dft", [4, 3]))
    moved = DeviceMoments(orientation).update(library.asarray(X[:12])).to_numpy()
    found = moved.update(X[12:])
    expected = Moments(orientation).update(X)
    np.testing.assert_allclose(found.gram().dense(), expected.gram().dense(), atol=1e-10)
    np.testing.assert_allclose(found.spread(), expected.spread(), rtol=1e-12)


# Rankings and penalties


@others_than_numpy
@pytest.mark.parametrize("order", ["C", "F"])
def test_rankings_are_those_of_numpy(library, order):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 4, size=(7, 8)).astype(float)
    scores[scores == 0] *= rng.choice([-1.0, 1.0], size=np.sum(scores == 0))  # -0.0 among 0.0
    ties = [rng.integers(0, 3, size=(7, 8)), rng.integers(0, 2, size=(7, 8)).astype(np.float32)]
    expected = rank_features(scores, ties, order)
    found = rank_features(library.asarray(scores), [library.asarray(t) for t in ties], order)
    assert kind_of(found) == kind_of(library.asarray(scores))
    np.testing.assert_array_equal(to_numpy(found), expected)
    found = rank_features(library.asarray(scores > 1), library.asarray(ties[0]))
    np.testing.assert_array_equal(to_numpy(found), rank_features(scores > 1, ties[0]))


@others_than_numpy
@pytest.mark.parametrize(
    ("scores", "ties", "message"),
    [
        (np.array([1.0, np.nan]), None, "scores has NaN"),
        (np.array([1.0, 2.0]), np.array([1.0]), "ties has shape"),
        (np.array([1.0, 2j]), None, "scores must be real"),
    ],
)
def test_rankings_refuse_what_cannot_be_ordered(library, scores, ties, message):
    with pytest.raises(ValueError, match=message):
        rank_features(library.asarray(scores), None if ties is None else library.asarray(ties))


@others_than_numpy
def test_ties_must_be_where_scores_are(library):
    with pytest.raises(ValueError, match=r"ties must be a .*, like scores"):
        rank_features(library.asarray(np.ones(3)), np.ones(3))


@pytest.mark.parametrize(
    "library",
    ["array_api_strict", "torch", pytest.param("jax", marks=pytest.mark.slow)],
    indirect=True,
)
@pytest.mark.parametrize("complex_", [False, True])
def test_critical_penalties_bracket_the_optimum_at_zero(library, complex_):
    rng = np.random.default_rng(2)
    n_slices = 1 if library.name == "jax" else 3  # it compiles for every number that is left
    factor = rng.normal(size=(n_slices, 5, 8)) + 0j
    factor = factor + 1j * rng.normal(size=factor.shape) if complex_ else factor.real
    gram = factor @ factor.conj().swapaxes(1, 2)
    found = critical_penalties(GramTensor(library.asarray(gram), thin=False))
    expected = critical_penalties(GramTensor(gram, thin=False))
    assert found.eta == pytest.approx(2 * np.linalg.eigvalsh(gram).max(), rel=1e-12)
    assert found.lam == pytest.approx(expected.lam, rel=2e-4)
    thin = critical_penalties(GramTensor(library.asarray(factor), thin=True))
    assert (thin.lam, thin.eta) == pytest.approx((found.lam, found.eta), rel=1e-9)
    zero = GramTensor(library.asarray(np.zeros((2, 3, 3))), thin=False)
    assert critical_penalties(zero).lam == 0


@pytest.mark.parametrize("index", [slice(1, 3), np.array([3, 0]), np.array([0, 1, 1, 0], bool)])
def test_parts_of_a_gram_tensor_keep_what_is_known_of_their_spectra(library, index):
    factors = np.random.default_rng(0).normal(size=(4, 5, 9))
    gram = GramTensor(library.asarray(factors @ factors.swapaxes(1, 2)), thin=False)
    assert "spectrum" not in vars(gram[index])
    values, vectors = (library.numpy(part) for part in spectrum_of(gram))
    part = gram[index]
    found = vars(part)["spectrum"]
    np.testing.assert_array_equal(library.numpy(found[0]), values[index])
    np.testing.assert_array_equal(library.numpy(found[1]), vectors[index])
    vectors = vectors[index]
    again = vectors * values[index][:, None, :] @ vectors.swapaxes(1, 2)
    np.testing.assert_allclose(again, library.numpy(part.array), atol=1e-10)
