"""MSPCA against plain elastic nets, sparse PCA, multilinear PCA and planted features."""

import runpy
from functools import reduce
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from tensift import SparseTensorPCA
from tensift.datasets import load_digits
from tensift.moments import GramTensor
from tensift.rivals import MSPCA
from tensift.rivals._mspca import _by_splitting, alternate, best_encoder
from tensift.selection import rank_features
from tensift.solvers._encoder import EncoderProblems

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
plain = SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "_transcriptions_tensor.py")))


def scatter(rng, size, n=40):
    Y = rng.normal(size=(n, size)) * np.linspace(2, 0.5, size)
    return Y.T @ Y


def problem_of(S, alpha, beta):
    return EncoderProblems(GramTensor(S[None], thin=False), beta, alpha, "entries")


def orthonormal(rng, size, count):
    return np.linalg.qr(rng.normal(size=(size, count)))[0]


def correlated(seed, shape, n=50):
    """Samples with clearly separate components in every mode."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, *shape))
    for axis, size in enumerate(shape):
        basis = orthonormal(rng, size, size) * 0.6 ** np.arange(size)
        X = np.moveaxis(np.tensordot(X, basis, axes=(axis + 1, 1)), -1, axis + 1)
    return X


# The published method


def test_reference_values(published):
    X = published.X
    U1, U2 = MSPCA(6, n_components=2, alpha=1, beta=0.5, tol=1e-4).fit(X).encoders_
    expected = np.zeros((6, 2))
    expected[:2] = [[0.03315768, 1], [0.99945013, 0]]
    assert_allclose(np.abs(U1), expected, atol=1e-8)
    assert_allclose(
        np.abs(U2),
        [
            [0.72863155, 0],
            [0.37410564, 0.08556023],
            [0.57370814, 0],
            [0, 0.94645181],
            [0, 0.31130116],
        ],
        atol=1e-8,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 2.0), (0.1, 8.0), (3.0, 0.0)])
def test_transcription(seed, alpha, beta):
    X = correlated(seed, (5, 4))
    fitted = MSPCA(3, n_components=(3, 2), alpha=alpha, beta=beta, scale=None, tol=1e-4).fit(X)
    U1, U2, B1, B2 = plain.mspca(np.moveaxis(X, 0, -1), 3, 2, alpha=alpha, beta=beta)
    for got, expected in zip(fitted.encoders_ + fitted.decoders_, (U1, U2, B1, B2), strict=True):
        assert_allclose(np.abs(got), np.abs(expected), atol=1e-7)
    product = np.kron(U1, U2)
    assert_allclose(fitted.scores_.ravel(), (product**2).sum(axis=1), atol=1e-7)


@pytest.mark.parametrize(
    ("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.5, 5.0), (1e-3, 40.0), (2.0, 1e4)]
)
@pytest.mark.parametrize("singular", [False, True])
def test_encoders_solve_elastic_nets(alpha, beta, singular):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        S = scatter(rng, 7, n=4 if singular else 40)
        B, U = orthonormal(rng, 7, 3), rng.normal(size=(7, 3))
        found = best_encoder(problem_of(S, alpha, beta), U[None], B[None])[0]
        slope = 2 * (S @ (B - found) - alpha * found)  # minus the gradient of the squares
        size = 1e-9 * np.trace(S)
        zero = found == 0
        assert np.abs(slope[zero]).max(initial=0) <= beta + size
        assert_allclose(slope[~zero], beta * np.sign(found[~zero]), atol=size)
        if not singular:
            columns = [plain.elastic_net(S, b, np.zeros(7), alpha, beta) for b in B.T]
            assert_allclose(found, np.column_stack(columns), atol=1e-9)


@pytest.mark.parametrize("beta", [0.5, 8.0, 60.0])  # about 30, 60 and 80% of zeros
@pytest.mark.parametrize("alpha", [0.05, 2.0])
def test_large_elastic_nets(alpha, beta):
    """Columns with few zeros and with many, which are solved in different ways."""
    rng = np.random.default_rng(0)
    S = scatter(rng, 90, n=60)
    B = plain.leading_eigenvectors(S, 4)
    found = best_encoder(problem_of(S, alpha, beta), B[None], B[None])[0]
    slope = 2 * (S @ (B - found) - alpha * found)
    zero = found == 0
    size = 1e-11 * np.trace(S)
    assert np.abs(slope[zero]).max(initial=0) <= beta + size
    assert_allclose(slope[~zero], beta * np.sign(found[~zero]), atol=size)
    split = _by_splitting(problem_of(S, alpha, beta), B[None], B[None])
    assert_allclose(found, split, atol=1e-8)


@pytest.mark.parametrize("beta", [0.0, 0.5, 20.0, 60.0])
def test_objective_of_a_mode_never_rises(beta):
    digits = load_digits().data / 16
    digits = (digits - digits.mean(axis=0)).transpose(1, 0, 2).reshape(8, -1)
    for S in (scatter(np.random.default_rng(1), 8), digits @ digits.T):
        B = plain.leading_eigenvectors(S, 3)
        U, B, path = (
            np.squeeze(part) for part in alternate(problem_of(S, 0.3, beta), B[None], B[None])
        )
        assert np.diff(np.atleast_1d(path)).max(initial=0) <= 1e-12 * np.trace(S)
        assert_allclose(path[-1], plain.sparse_pca_objective(S, B, U, 0.3, beta), rtol=1e-10)
        assert_allclose(B.T @ B, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("shape", [(6,), (4, 3), (3, 4, 2), (2, 3, 2, 3)])
def test_every_mode_is_at_its_fixed_point(shape):
    """In any order of tensor, by Kronecker products: elastic nets and Procrustes both hold."""
    X = correlated(3, shape)
    alpha, beta = 0.5, 1.5
    counts = [max(1, size - 1) for size in shape]
    fitted = MSPCA(
        2, n_components=counts, alpha=alpha, beta=beta, scale=None, tol=1e-9, max_iter=5000
    )
    fitted.fit(X)
    centred = X - X.mean(axis=0)
    total = 0.0
    for mode, size in enumerate(shape):
        others = [B for axis, B in enumerate(fitted.decoders_) if axis != mode]
        product = reduce(np.kron, others, np.eye(1))
        S = np.zeros((size, size))
        for sample in centred:
            Y = np.moveaxis(sample, mode, 0).reshape(size, -1) @ product
            S += Y @ Y.T
        B = fitted.decoders_[mode]
        U = np.column_stack([plain.elastic_net(S, b, b, alpha, beta) for b in B.T])
        length = np.linalg.norm(U, axis=0)
        assert_allclose(fitted.encoders_[mode], U / np.where(length > 0, length, 1), atol=2e-4)
        P, _, Rt = np.linalg.svd(S @ U, full_matrices=False)
        alive = length > 0
        assert_allclose((P @ Rt)[:, alive], B[:, alive], atol=2e-4)
        total += plain.sparse_pca_objective(S, B, U, alpha, beta)
    assert_allclose(fitted.objective_, total, rtol=1e-5)
    product = reduce(np.kron, fitted.encoders_)
    assert_allclose(fitted.scores_.ravel(), (product**2).sum(axis=1), atol=1e-12)


def test_one_mode_is_sparse_pca():
    X = correlated(0, (9,), n=60)
    own = MSPCA(3, n_components=3, alpha=0.7, beta=2.0, scale=None, tol=1e-10, max_iter=5000).fit(X)
    other = SparseTensorPCA(
        3, lam=2.0, ridge=0.7, penalty_units="absolute", sparsity="entries", tol=1e-14
    ).fit(X)
    encoder = other.sparse_encoder_[0]
    order = [int(np.argmax(np.abs(encoder.T @ column))) for column in own.encoders_[0].T]
    assert sorted(order) == [0, 1, 2]
    encoder = encoder[:, order] / np.linalg.norm(encoder[:, order], axis=0)
    assert_array_equal(own.encoders_[0] == 0, encoder == 0)
    assert_allclose(np.abs(own.encoders_[0]), np.abs(encoder), atol=1e-4)
    assert_allclose(own.objective_, other.objective_[0], rtol=1e-8)
    assert np.diff(own.objective_path_).max(initial=0) <= 1e-12 * own.objective_


def test_without_sparsity_it_is_multilinear_pca():
    """Theorem 1 of the paper: columns are eigenvectors; in several modes, up to a rotation."""
    X = correlated(5, (5, 4))
    centred = (X - X.mean(axis=0)) / np.abs(X).max()
    rows = centred.reshape(len(X), -1)
    leading = plain.leading_eigenvectors(rows.T @ rows, 3)
    (encoder,) = MSPCA(3, n_components=3, beta=0.0).fit(X.reshape(len(X), -1)).encoders_
    assert_allclose(np.abs(leading.T @ encoder), np.eye(3), atol=1e-9)

    fitted = MSPCA(3, n_components=2, beta=0.0, tol=1e-8, max_iter=2000).fit(X)
    Y = np.einsum("nij,jb->nib", centred, fitted.decoders_[1])
    leading = plain.leading_eigenvectors(np.einsum("nib,nlb->il", Y, Y), 2)
    span = np.linalg.qr(fitted.encoders_[0])[0]
    assert_allclose(np.linalg.svd(leading.T @ span, compute_uv=False), 1, atol=1e-9)


# Selection


@pytest.mark.parametrize("seed", range(3))
def test_planted_features(seed):
    """A 3 x 3 block of 10 x 8 features carries three patterns; chance is 1 of 9."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.normal(size=(80, 10, 8))
    X[:, 4:7, 2:5] += rng.normal(size=(4, 3, 3))[np.arange(80) % 4]
    selector = MSPCA(9, n_components=2, beta=5.0).fit(X)
    row, column = np.unravel_index(selector.order_[:9], (10, 8))
    assert np.sum((row >= 4) & (row < 7) & (column >= 2) & (column < 5)) >= 7
    assert selector.transform(X).shape == (80, 9)


def test_default_number_of_components_holds_90_percent():
    X = correlated(1, (6, 5))
    fitted = MSPCA(3).fit(X)
    centred = X - X.mean(axis=0)
    for mode, count in enumerate(fitted.n_components_):
        rows = np.moveaxis(centred, mode + 1, 0).reshape(X.shape[mode + 1], -1)
        share = np.cumsum(np.linalg.svd(rows, compute_uv=False) ** 2)
        share /= share[-1]
        assert share[count - 1] >= 0.9
        assert count == 1 or share[count - 2] < 0.9


def test_shapes_scale_and_features_of_a_mode():
    X = correlated(2, (5, 4))
    tensor = MSPCA(3, n_components=2).fit(X)
    rows = MSPCA(3, n_components=2, feature_shape=(5, 4)).fit(X.reshape(len(X), -1))
    assert_array_equal(rows.scores_, tensor.scores_)
    assert_allclose(MSPCA(3, n_components=2).fit(100 * X).scores_, tensor.scores_, rtol=1e-6)
    for mode in (0, 1):
        slices = MSPCA(3, n_components=2, feature_mode=mode).fit(X)
        assert_allclose(slices.scores_, tensor.scores_.sum(axis=1 - mode), rtol=1e-12)
    permuted = MSPCA(3, n_components=2).fit(X[::-1, :, ::-1])
    assert_allclose(permuted.scores_[:, ::-1], tensor.scores_, atol=1e-6)


def test_sparser_encoders_with_larger_beta_and_ties_by_spread():
    X = load_digits().data
    few, many = (MSPCA(20, n_components=3, beta=beta).fit(X) for beta in (1.0, 300.0))
    zeros = [sum(np.count_nonzero(U == 0) for U in fitted.encoders_) for fitted in (few, many)]
    assert zeros[0] < zeros[1]
    assert 0 < np.count_nonzero(many.scores_) < 64
    assert_array_equal(many.order_, rank_features(many.scores_, ties=X.std(axis=0)))


def test_constant_features_come_last():
    X = correlated(0, (5, 4))
    X[:, 1, 2] = 3.0
    selector = MSPCA(3, n_components=2, beta=0.01).fit(X)
    assert selector.order_[-1] == 6
    assert selector.scores_[1, 2] == 0
    assert selector.encoders_[0][1].any()
    assert selector.encoders_[1][2].any()


# Bad input


def test_too_large_a_penalty():
    X = correlated(0, (5, 4))
    with pytest.warns(UserWarning, match=r"beta=1000000.0 leaves nothing.*lower beta"):
        selector = MSPCA(3, n_components=2, beta=1e6).fit(X)
    assert not selector.scores_.any()
    assert_array_equal(selector.order_, rank_features(X.std(axis=0)))


def test_warnings():
    X = correlated(0, (5, 4))
    with pytest.warns(UserWarning, match="n_components=9 is more than the length of mode 1; 4 is"):
        assert MSPCA(3, n_components=(2, 9)).fit(X).n_components_ == (2, 4)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        assert MSPCA(3, n_components=2, beta=0.1, max_iter=1, tol=1e-9).fit(X).n_iter_ == 1


X = correlated(0, (5, 4))


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({}, X + 1j, "complex"),
        ({}, np.ones((12, 3, 2)), "X is constant"),
        ({}, X[:1], "minimum of 2"),
        ({"n_components": 0}, X, "n_components"),
        ({"n_components": (2,)}, X, "one for each of the 2 modes"),
        ({"n_components": (2, 1.5)}, X, "one for each of the 2 modes"),
        ({"alpha": -1}, X, "alpha"),
        ({"beta": -1}, X, "beta"),
    ],
)
def test_errors(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        MSPCA(2, **parameters).fit(data)
