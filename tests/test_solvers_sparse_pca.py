import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.linear_model import ElasticNet

import tensift.solvers._encoder as encoder_module
import tensift.solvers._sparse_pca as module
from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.solvers import Coupling, critical_sparsity, solve_sparse_pca


def random_factor(rng, p, q, n, is_complex=False):
    """Samples of a few common factors and noise, so that components differ in size."""

    def draw(*shape):
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if is_complex else 0)

    loadings = draw(p, q, min(q, 4)) * np.arange(4, 4 - min(q, 4), -1)
    return loadings @ draw(p, min(q, 4), n) + draw(p, q, n)


def random_gram(rng, p, q, n, is_complex=False):
    factor = random_factor(rng, p, q, n, is_complex)
    if n < q:
        return GramTensor(factor, thin=True)
    return GramTensor(factor @ np.swapaxes(factor.conj(), 1, 2), thin=False)


def coupled_problem(rng, spec, q, shape, n, is_complex=False):
    """Random samples, their coupling, and the scaled Gram tensor that goes with it."""
    X = rng.normal(size=(n, q, *shape)) * np.linspace(3, 0.5, q).reshape(q, *[1] * len(shape))
    X = np.cumsum(X, axis=2)  # neighbours are alike, so slices differ in energy
    if is_complex:
        X = X * np.exp(2j * np.pi * rng.random(X.shape))
    transforms = make_transforms(spec, list(shape))
    orientation = Orientation((q, *shape), 0, transforms, real_data=not is_complex)
    coupling = Coupling(orientation)
    gram = Moments(orientation).update(X).gram()
    return X - X.mean(axis=0), coupling, gram.scaled(1 / coupling.scale)


def pen(Q, sparsity):
    if sparsity == "entries":
        return sum(abs(value) for value in Q.ravel())
    vectors = Q if sparsity == "features" else Q.T
    return sum(np.sqrt(np.vdot(vector, vector).real) for vector in vectors)


def objective(S, U, Q, lam, ridge, sparsity):
    A = U @ Q.conj().T
    rest = np.eye(len(S)) - A
    fit = np.trace(rest @ S @ rest.conj().T).real
    return fit + ridge * np.linalg.norm(Q) ** 2 + lam * pen(Q, sparsity)


def unitary_matrix(coupling):
    """The whole unitary M over all other modes, from the matrices of the transforms."""
    full = np.eye(1)
    for transform in coupling.orientation.transforms:
        full = np.kron(full, transform.matrix / np.sqrt(transform.unitary_factor))
    return full


def assert_descends(solution, gram, weights=None):
    traces = gram.trace() if weights is None else [gram.trace() @ weights]
    for path, trace in zip(solution.objective_path, traces, strict=True):
        path = path[~np.isnan(path)]
        assert np.all(np.diff(path) <= 1e-13 * trace)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("sparsity", ["entries", "features"])
def test_the_objective_never_rises(sparsity, is_complex):
    rng = np.random.default_rng(1)
    for _ in range(20):
        q, n, k = rng.integers(2, 9), rng.integers(2, 15), rng.integers(1, 4)
        gram = random_gram(rng, 2, q, n, is_complex)
        lam = critical_sparsity(gram, sparsity) * rng.choice([0.001, 0.03, 0.3, 0.9])
        ridge = rng.choice([0, 0.01]) * gram.trace().max()
        solution = solve_sparse_pca(
            gram, n_components=min(k, q), lam=lam, ridge=ridge, sparsity=sparsity, max_iter=60
        )
        assert_descends(solution, gram)
        for j, S in enumerate(gram.dense()):
            U, Q = solution.decoder[j], solution.encoder[j]
            np.testing.assert_allclose(U.conj().T @ U, np.eye(min(k, q)), atol=1e-13)
            value = objective(S, U, Q, lam, ridge, sparsity)
            assert value == pytest.approx(solution.objective[j], rel=1e-9)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("spec", ["dct", "dft", "haar"])
def test_the_objective_of_coupled_slices_never_rises(spec, is_complex):
    rng = np.random.default_rng(2)
    for shape in [(4,), (8,), (2, 4)] * 3:
        q = int(rng.integers(2, 6))
        X, coupling, gram = coupled_problem(rng, spec, q, shape, 8, is_complex)
        lam = critical_sparsity(gram, "entries", coupling) * rng.choice([0.003, 0.1, 0.5])
        solution = solve_sparse_pca(
            gram, n_components=2, lam=lam, ridge=1e-3, coupling=coupling, max_iter=30
        )
        assert_descends(solution, gram, coupling.weights)
        full = unitary_matrix(coupling)
        total = lam * np.abs(solution.sparse_encoder).sum()
        B = solution.sparse_encoder
        assert np.isrealobj(B) == (not is_complex)
        slices = np.einsum("jh,hlk->jlk", full, B)
        kept = coupling.orientation.kept_slices
        np.testing.assert_allclose(slices[kept], solution.encoder, atol=1e-12)
        decoder = coupling.orientation.expand(solution.decoder)
        samples = np.einsum("jh,nlh->jln", full, X.reshape(len(X), q, -1))
        for U, Q, Y in zip(decoder, slices, samples, strict=True):
            total += np.linalg.norm(Y - U @ (Q.conj().T @ Y)) ** 2
            total += 1e-3 * np.linalg.norm(Q) ** 2
        assert solution.objective_path.shape[0] == 1
        assert solution.objective[0] == pytest.approx(total, rel=1e-10)


def test_splitting_that_does_not_descend_is_not_taken(monkeypatch):
    """One step of it from the gradient often goes up; a proximal step takes its place."""
    monkeypatch.setattr(encoder_module, "_SPLITTINGS", 1)
    monkeypatch.setattr(encoder_module, "_TRIALS", 1)
    rng = np.random.default_rng(18)
    taken = []
    whole = encoder_module.EncoderProblems._with

    def recorded(problems, encoder, sparse):
        taken.append(1)
        return whole(problems, encoder, sparse)

    monkeypatch.setattr(encoder_module.EncoderProblems, "_with", recorded)
    _, coupling, gram = coupled_problem(rng, "dct", 4, (4,), 10)
    lam = 0.05 * critical_sparsity(gram, "entries", coupling)
    solution = solve_sparse_pca(gram, n_components=2, lam=lam, coupling=coupling, max_iter=50)
    assert_descends(solution, gram, coupling.weights)
    assert len(taken) > solution.n_iter[0]  # some iterations needed the second kind of step


def best_encoder(S, U, lam, ridge, sparsity):
    """The encoder problem at a decoder, by a general convex solver."""
    values, vectors = np.linalg.eigh(S)
    root = (vectors * np.sqrt(np.maximum(values, 0))).conj().T
    Q = cp.Variable(U.shape, complex=np.iscomplexobj(S))
    weight = {
        "entries": cp.sum(cp.abs(Q)),
        "features": sum(cp.norm(Q[row, :]) for row in range(len(U))),
    }[sparsity]
    fit = cp.sum_squares(cp.abs(root @ (U - Q))) + ridge * cp.sum_squares(cp.abs(Q))
    problem = cp.Problem(cp.Minimize(fit + lam * weight))
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    return problem.value + np.trace(S).real - np.trace(U.conj().T @ S @ U).real


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("sparsity", ["entries", "features"])
@pytest.mark.parametrize(
    ("share", "ridge", "max_iter"), [(0.05, 0.0, 500), (0.3, 0.5, 500), (0.05, 0.1, 1)]
)
def test_the_gap_bounds_the_distance_to_the_best_encoder(
    sparsity, is_complex, share, ridge, max_iter
):
    rng = np.random.default_rng(3)
    gram = random_gram(rng, 2, 6, 15, is_complex)
    lam = share * critical_sparsity(gram, sparsity)
    solution = solve_sparse_pca(
        gram, n_components=2, lam=lam, ridge=ridge, sparsity=sparsity, tol=1e-9, max_iter=max_iter
    )
    for j, S in enumerate(gram.dense()):
        best = best_encoder(S, solution.decoder[j], lam, ridge, sparsity)
        excess = (solution.objective[j] - best) / solution.objective[j]
        assert -1e-7 <= excess <= solution.dual_gap[j] + 1e-7
    if max_iter > 1:
        assert solution.converged.all()
        assert solution.dual_gap.max() < 1e-6
    else:
        assert not solution.converged.any()
        assert solution.dual_gap.min() > 1e-6


def sparse_pca_by_regressions(X, start, lam, ridge, steps):
    """Zou, Hastie and Tibshirani: elastic nets for the encoder, an SVD for the decoder."""
    n = X.shape[1]
    weight = lam / (2 * n) + ridge / n
    U = start
    for _ in range(steps):
        net = ElasticNet(
            alpha=weight,
            l1_ratio=lam / (2 * n) / weight,
            fit_intercept=False,
            tol=1e-12,
            max_iter=100_000,
        )
        Q = np.stack([net.fit(X.T, X.T @ u).coef_ for u in U.T], axis=1)
        left, _, right = np.linalg.svd(X @ (X.T @ Q), full_matrices=False)
        previous, U = U, left @ right
        if np.abs(U - previous).max() < 1e-9:
            break
    return previous, Q


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("share", "ridge_share"), [(0.02, 0.001), (0.1, 0.01), (0.3, 0.1)])
def test_one_slice_is_sparse_pca_as_it_is_known(seed, share, ridge_share):
    rng = np.random.default_rng(seed)
    loadings = np.zeros((10, 3))
    loadings[:4, 0], loadings[3:7, 1], loadings[7:, 2] = 3.0, 2.0, 1.4
    X = loadings @ rng.normal(size=(3, 40)) + 0.3 * rng.normal(size=(10, 40))
    gram = GramTensor((X @ X.T)[None], thin=False)
    lam = share * critical_sparsity(gram, "entries")
    ridge = ridge_share * gram.spectrum[0].max()
    solution = solve_sparse_pca(gram, n_components=3, lam=lam, ridge=ridge, tol=1e-13)
    start = np.linalg.svd(X)[0][:, :3]
    U, Q = sparse_pca_by_regressions(X, start, lam, ridge, steps=5000)
    expected = objective(X @ X.T, U, Q, lam, ridge, "entries")
    assert solution.objective[0] == pytest.approx(expected, rel=1e-6)
    assert 0.1 < np.mean(solution.encoder == 0) < 1
    ours = solution.encoder[0]
    for column in Q.T:
        distance = np.minimum(
            np.abs(ours - column[:, None]).max(axis=0), np.abs(ours + column[:, None]).max(axis=0)
        )
        assert distance.min() < 1e-4


@pytest.mark.parametrize(
    ("spec", "shape", "is_complex"),
    [("dft", (4,), False), ("dft", (3,), True), ("dct", (3,), False), ("haar", (2, 2), False)],
)
def test_coupled_entries_reach_the_optimum_of_the_dense_problem(spec, shape, is_complex):
    rng = np.random.default_rng(4)
    q, k, ridge = 3, 2, 0.1
    X, coupling, gram = coupled_problem(rng, spec, q, shape, 9, is_complex)
    lam = 0.1 * critical_sparsity(gram, "entries", coupling)
    solution = solve_sparse_pca(
        gram, n_components=k, lam=lam, ridge=ridge, coupling=coupling, tol=1e-10
    )
    assert solution.converged.all()
    assert 0 < np.mean(solution.sparse_encoder == 0) < 1
    p = int(np.prod(shape))
    # One dense regression for each component: all samples, all slices, all entries at once.
    full = unitary_matrix(coupling)
    samples = np.einsum("jh,nlh->jnl", full, X.reshape(len(X), q, p))
    decoder = coupling.orientation.expand(solution.decoder)
    best = np.linalg.norm(X) ** 2
    for i in range(k):
        # Rows (slice, sample), columns (position, feature): Q_j^H x with Q_j = sum_h M[j, h] B_h.
        design = np.einsum("jnl,jh->jnhl", samples, full.conj()).reshape(-1, p * q)
        target = np.einsum("jnl,jl->jn", samples, decoder[:, :, i].conj()).ravel()
        B = cp.Variable(p * q, complex=is_complex)
        fit = cp.sum_squares(cp.abs(target - design @ cp.conj(B)))
        fit += ridge * cp.sum_squares(cp.abs(B))
        problem = cp.Problem(cp.Minimize(fit + lam * cp.norm1(B)))
        problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
        best += problem.value - np.linalg.norm(target) ** 2
        np.testing.assert_allclose(
            solution.sparse_encoder[:, :, i].ravel(), B.value, atol=1e-3 * np.abs(B.value).max()
        )
    excess = solution.objective[0] / best - 1
    assert -1e-7 <= excess <= solution.dual_gap[0] + 1e-7


def test_an_end_is_stationary():
    rng = np.random.default_rng(5)
    for sparsity in ("entries", "features"):
        gram = random_gram(rng, 3, 7, 20)
        lam = 0.05 * critical_sparsity(gram, sparsity)
        solution = solve_sparse_pca(
            gram, n_components=3, lam=lam, ridge=0.5, sparsity=sparsity, tol=1e-14, max_iter=5000
        )
        for S, U, Q in zip(gram.dense(), solution.decoder, solution.encoder, strict=True):
            # No decoder has more to say to this encoder than the sum of singular values.
            most = np.linalg.svd(S @ Q, compute_uv=False).sum()
            assert np.trace(U.T @ S @ Q) == pytest.approx(most, rel=1e-10)
            pull = 2 * (S @ (U - Q) - 0.5 * Q)  # a subgradient of lam pen at Q
            if sparsity == "entries":
                size, unit = np.abs(pull), np.sign(Q)
            else:
                size, norms = (np.linalg.norm(a, axis=1, keepdims=True) for a in (pull, Q))
                unit = Q / np.where(norms > 0, norms, 1)
            assert size.max() <= lam * (1 + 1e-6)
            np.testing.assert_allclose(pull[unit != 0], lam * unit[unit != 0], atol=1e-5 * lam)


@pytest.mark.parametrize("is_complex", [False, True])
def test_features_that_are_chosen_together_leave_theorem_1(is_complex):
    """Over rows of the encoder, ``U Q^H`` at the best end of many starts is not Hermitian."""
    rng = np.random.default_rng(6)
    gram = random_gram(rng, 1, 8, 12, is_complex)
    lam = 0.1 * critical_sparsity(gram, "features")
    options = {"n_components": 3, "lam": lam, "sparsity": "features", "tol": 1e-11}
    first = solve_sparse_pca(gram, **options)
    best = solve_sparse_pca(gram, **options, n_init=20, random_state=0)
    A = best.decoder[0] @ best.encoder[0].conj().T
    assert np.abs(A - A.conj().T).max() > 0.1 * np.abs(A).max()
    assert np.linalg.eigvalsh(A + A.conj().T)[0] < -1e-3 * np.abs(A).max()
    assert best.objective[0] <= first.objective[0]
    # No Hermitian PSD operator of this rank near it is as good: neither its own PSD part ...
    S = gram.dense()[0]
    values, vectors = np.linalg.eigh((A + A.conj().T) / 2)
    U, sizes = vectors[:, -3:], np.maximum(values[-3:], 0)
    assert objective(S, U, U * sizes, lam, 0, "features") > 1.001 * best.objective[0]
    # ... nor the best multiple of each principal direction.
    U = np.linalg.eigh(S)[1][:, -3:]
    shares = np.linspace(0, 1, 101)
    values = [objective(S, U, U * share, lam, 0, "features") for share in shares]
    assert min(values) > 1.001 * best.objective[0]


def shrunk_component(S, u, lam, ridge):
    """The encoder column ``argmin -2 Re q^H S u + q^H (S + ridge) q + lam ||q||``."""
    values, vectors = np.linalg.eigh(S)
    pull = vectors.conj().T @ (S @ u)
    if 2 * np.linalg.norm(pull) <= lam:
        return np.zeros_like(u)

    def excess(length):
        return np.linalg.norm(pull / (values + ridge + lam / (2 * length))) - length

    top = np.linalg.norm(pull) / max(lam, 1e-300) * 1e6
    length = brentq(excess, 1e-12, min(top, 1e6), xtol=1e-15, rtol=1e-14)
    return vectors @ (pull / (values + ridge + lam / (2 * length)))


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("share", "ridge"), [(0.02, 0.0), (0.2, 1.0), (0.5, 0.0)])
def test_components_are_shrunk_pca_and_no_start_goes_lower(is_complex, share, ridge):
    rng = np.random.default_rng(7)
    basis = np.linalg.eigh(random_gram(rng, 1, 6, 15, is_complex).dense()[0])[1]
    S = (basis * [32.0, 13.0, 5.0, 2.0, 0.8, 0.3]) @ basis.conj().T  # apart: turns are few
    gram = GramTensor(S[None], thin=False)
    lam = share * critical_sparsity(gram, "components")
    solution = solve_sparse_pca(gram, n_components=3, lam=lam, ridge=ridge, sparsity="components")
    A = solution.decoder[0] @ solution.encoder[0].conj().T
    np.testing.assert_allclose(A, A.conj().T, atol=1e-12)
    assert np.linalg.eigvalsh(A)[0] > -1e-12
    assert solution.dual_gap[0] < 1e-12
    assert objective(S, solution.decoder[0], solution.encoder[0], lam, ridge, "components") == (
        pytest.approx(solution.objective[0], rel=1e-12)
    )
    ends = []
    for _ in range(4):
        U = rng.normal(size=(6, 3)) + (1j * rng.normal(size=(6, 3)) if is_complex else 0)
        U = np.linalg.qr(U)[0]
        for _ in range(100):
            Q = np.stack([shrunk_component(S, u, lam, ridge) for u in U.T], axis=1)
            # Rotated so that its columns are orthogonal, no encoder has a smaller penalty.
            Q = Q @ np.linalg.svd(Q)[2].conj().T
            left, _, right = np.linalg.svd(S @ Q, full_matrices=False)
            U = left @ right
        ends.append((objective(S, U, Q, lam, ridge, "components"), U @ Q.conj().T))
    lowest, operator = min(ends, key=lambda end: end[0])
    assert lowest >= solution.objective[0] * (1 - 1e-12)
    assert lowest == pytest.approx(solution.objective[0], rel=1e-9)
    np.testing.assert_allclose(operator, A, atol=1e-4)


def test_components_solve_the_nuclear_norm_problem():
    """``min ||X - A X||^2 + ridge ||A||^2 + lam ||A||_*``, whose optimum here has rank 3 of 5."""
    rng = np.random.default_rng(8)
    S = random_gram(rng, 1, 5, 12).dense()[0]
    values, vectors = np.linalg.eigh(S)
    lam, ridge = values[1] + values[2], 0.5
    A = cp.Variable((5, 5))
    fit = cp.sum_squares((np.eye(5) - A) @ (vectors * np.sqrt(values)))
    problem = cp.Problem(cp.Minimize(fit + ridge * cp.sum_squares(A) + lam * cp.normNuc(A)))
    problem.solve(solver=cp.CLARABEL)
    for k in (3, 5):
        solution = solve_sparse_pca(
            GramTensor(S[None], thin=False),
            n_components=k,
            lam=lam,
            ridge=ridge,
            sparsity="components",
        )
        assert solution.objective[0] == pytest.approx(problem.value, rel=1e-6)
        operator = solution.decoder[0] @ solution.encoder[0].T
        np.testing.assert_allclose(operator, A.value, atol=1e-4)
        assert np.count_nonzero(solution.encoder[0].any(axis=0)) == 3


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
def test_the_critical_sparsity_is_where_the_encoder_vanishes(sparsity, is_complex):
    rng = np.random.default_rng(9)
    for n in (4, 20):
        gram = random_gram(rng, 3, 6, n, is_complex)
        critical = critical_sparsity(gram, sparsity)
        options = {"n_components": 2, "sparsity": sparsity, "n_init": 5, "random_state": 0}
        above = solve_sparse_pca(gram, lam=1.0001 * critical, **options)
        assert not above.encoder.any()
        np.testing.assert_allclose(above.objective, gram.trace(), rtol=1e-12)
        below = solve_sparse_pca(gram, lam=0.99 * critical, **options)
        alive = below.encoder.any(axis=(1, 2))
        assert alive.sum() >= 1
        assert np.all(below.objective[alive] < gram.trace()[alive] * (1 - 1e-9))


@pytest.mark.parametrize("spec", ["dft", "dct", "haar"])
def test_the_critical_sparsity_of_coupled_slices(spec):
    rng = np.random.default_rng(10)
    _, coupling, gram = coupled_problem(rng, spec, 5, (4, 2), 12)
    critical = critical_sparsity(gram, "entries", coupling)
    full, S = unitary_matrix(coupling), coupling.orientation.expand(gram.dense())
    rows = np.linalg.norm(S, axis=2)
    loops = max(
        sum(abs(full[j, h]) * rows[j, row] for j in range(8)) for row in range(5) for h in range(8)
    )
    assert critical == pytest.approx(2 * loops, rel=1e-12)
    options = {"n_components": 2, "coupling": coupling}
    assert not solve_sparse_pca(gram, lam=1.0001 * critical, **options).encoder.any()
    below = solve_sparse_pca(gram, lam=0.99 * critical, **options)
    assert below.encoder.any()
    assert below.objective[0] < gram.trace() @ coupling.weights


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
def test_without_penalty_it_is_pca(sparsity, is_complex):
    rng = np.random.default_rng(11)
    for n, k in [(4, 3), (20, 3), (20, 6)]:
        factor = random_factor(rng, 2, 6, n, is_complex)
        solution = solve_sparse_pca(
            GramTensor(factor, thin=True), n_components=k, lam=0.0, sparsity=sparsity, n_init=3
        )
        np.testing.assert_array_equal(solution.encoder, solution.decoder)
        left, singular, _ = np.linalg.svd(factor, full_matrices=False)
        left = left[:, :, :k]
        np.testing.assert_allclose(
            solution.decoder @ np.swapaxes(solution.decoder.conj(), 1, 2),
            left @ np.swapaxes(left.conj(), 1, 2),
            atol=1e-12,
        )
        total = np.sum(singular**2, axis=1)
        rest = np.sum(singular[:, k:] ** 2, axis=1)
        np.testing.assert_allclose(solution.objective / total, rest / total, atol=1e-13)
        assert solution.dual_gap.max() < 1e-12


def test_a_ridge_alone_shrinks_pca_to_the_best_ridge_regression():
    rng = np.random.default_rng(12)
    X = random_factor(rng, 1, 5, 12)[0]
    gram = GramTensor((X @ X.T)[None], thin=False)
    ridge = 0.1 * gram.spectrum[0].max()
    solution = solve_sparse_pca(gram, n_components=2, lam=0.0, ridge=ridge)
    U, Q = solution.decoder[0], solution.encoder[0]
    np.testing.assert_allclose(Q, np.linalg.solve(X @ X.T + ridge * np.eye(5), X @ X.T @ U))
    nearly = solve_sparse_pca(gram, n_components=2, lam=1e-9, ridge=ridge, tol=1e-12)
    assert nearly.objective[0] == pytest.approx(solution.objective[0], rel=1e-9)


@pytest.mark.parametrize("sparsity", ["entries", "features"])
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_changes_nothing(sparsity, scale):
    rng = np.random.default_rng(13)
    gram = random_gram(rng, 2, 6, 15)
    lam = 0.1 * critical_sparsity(gram, sparsity)
    options = {"n_components": 2, "sparsity": sparsity, "n_init": 2, "random_state": 0}
    solution = solve_sparse_pca(gram, lam=lam, ridge=0.2, **options)
    scaled = solve_sparse_pca(
        gram.scaled(scale), lam=lam * scale**2, ridge=0.2 * scale**2, **options
    )
    np.testing.assert_allclose(scaled.encoder, solution.encoder, atol=1e-7)
    np.testing.assert_allclose(scaled.objective, solution.objective * scale**2, rtol=1e-10)


@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
def test_odd_slices_do_no_harm(sparsity):
    rng = np.random.default_rng(14)
    factor = random_factor(rng, 4, 6, 15)
    factor[0] = 0  # nothing
    factor[1, 3:] = factor[1, :3]  # each feature twice
    factor[2] = factor[2, :, :1] * factor[2, :1]  # one direction, for three components
    factor[3, 2] = 0  # a constant feature
    gram = GramTensor(factor @ np.swapaxes(factor, 1, 2), thin=False)
    for lam in (0.0, 0.05 * critical_sparsity(gram[1:2], sparsity)):
        solution = solve_sparse_pca(
            gram, n_components=3, lam=lam, sparsity=sparsity, n_init=2, tol=1e-4, random_state=0
        )
        U = solution.decoder
        gram_of_columns = np.swapaxes(U, 1, 2) @ U
        np.testing.assert_allclose(
            gram_of_columns, np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-12
        )
        assert solution.objective[0] == 0
        assert np.isfinite(solution.encoder).all()
        assert solution.converged.all()
        assert_descends(solution, gram)
        if lam > 0:
            assert not solution.encoder[0].any()
            assert not solution.encoder[3, 2].any() or sparsity == "components"


@pytest.mark.parametrize("sparsity", ["entries", "features"])
def test_blocks_and_threads_change_nothing(sparsity, monkeypatch):
    rng = np.random.default_rng(15)
    gram = random_gram(rng, 7, 6, 15)
    lam = 0.05 * critical_sparsity(gram, sparsity)
    options = {"n_components": 3, "lam": lam, "sparsity": sparsity, "n_init": 3, "random_state": 4}
    counts = []
    whole = solve_sparse_pca(gram, **options, callback=counts.append)
    assert counts == [7, 14, 21]
    monkeypatch.setattr(module, "_BLOCK_ELEMENTS", 2 * 36)
    for n_jobs in (1, 2):
        parts = solve_sparse_pca(gram, **options, n_jobs=n_jobs)
        for name in ("encoder", "decoder", "objective", "n_iter", "dual_gap"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_more_starts_are_never_worse_and_now_and_then_better():
    rng = np.random.default_rng(16)
    factor = rng.normal(size=(12, 8, 10))
    gram = GramTensor(factor @ np.swapaxes(factor, 1, 2), thin=False)
    lam = 0.1 * critical_sparsity(gram, "entries")
    one = solve_sparse_pca(gram, n_components=3, lam=lam)
    many = solve_sparse_pca(gram, n_components=3, lam=lam, n_init=8, random_state=0)
    assert np.all(many.objective <= one.objective)
    assert np.any(many.objective < one.objective * (1 - 1e-4))


@pytest.mark.parametrize("sparsity", ["entries", "features", "components"])
def test_components_are_in_order_and_in_phase(sparsity):
    rng = np.random.default_rng(17)
    gram = random_gram(rng, 3, 6, 15, is_complex=True)
    lam = 0.02 * critical_sparsity(gram, sparsity)
    solution = solve_sparse_pca(gram, n_components=3, lam=lam, sparsity=sparsity)
    for S, U, Q in zip(gram.dense(), solution.decoder, solution.encoder, strict=True):
        energy = [
            2 * np.vdot(u, S @ q).real - np.vdot(q, S @ q).real
            for u, q in zip(U.T, Q.T, strict=True)
        ]
        assert np.all(np.diff(energy) <= 0)
        for u in U.T:
            largest = u[np.abs(u).argmax()]
            assert largest.real > 0
            assert abs(largest.imag) < 1e-14


def test_bad_arguments_are_named():
    gram = GramTensor(np.eye(3)[None], thin=False)
    with pytest.raises(ValueError, match="sparsity='rows' is unknown"):
        solve_sparse_pca(gram, n_components=1, lam=0.1, sparsity="rows")
    with pytest.raises(ValueError, match=r"n_components=4 .* from 1 to 3"):
        solve_sparse_pca(gram, n_components=4, lam=0.1)
    coupling = Coupling(Orientation((3, 2), 0, make_transforms("dct", [2])))
    with pytest.raises(ValueError, match="coupling is only for sparsity"):
        critical_sparsity(gram, "features", coupling)
    skew = make_transforms(np.array([[1.0, 1.0], [0.0, 1.0]]), [2])
    with pytest.raises(ValueError, match="is not unitary"):
        Coupling(Orientation((3, 2), 0, skew))
