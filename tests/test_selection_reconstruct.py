"""Samples back from kept features, against explicit formulas, loops and other libraries."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    SelectFromDecomposition,
    STPCASelector,
    TensorPCA,
    collect_moments,
)
from tensift.moments import Moments
from tensift.rivals import AllFeatures, LaplacianScore, RandomSelector, VarianceSelector
from tensift.selection._linear_estimate import LinearEstimate
from tensift.sources import Chunks


def gaussian(rng, n, d, rank=6, noise=0.3, kind=float):
    """Samples of a few factors, noise and a mean."""
    factors = rng.normal(size=(rank, d)) + (
        1j * rng.normal(size=(rank, d)) if kind is complex else 0
    )
    left = rng.normal(size=(n, rank))
    rest = rng.normal(size=(n, d))
    if kind is complex:
        left, rest = left + 1j * rng.normal(size=(n, rank)), rest + 1j * rng.normal(size=(n, d))
    return 5 + left @ factors + noise * rest


def known_and_others(rng, d, k):
    known = np.sort(rng.choice(d, k, replace=False))
    return known, np.setdiff1d(np.arange(d), known)


@pytest.mark.parametrize(("n", "k"), [(40, 3), (40, 12), (40, 39), (40, 60), (8, 30)])
@pytest.mark.parametrize("kind", [float, complex])
def test_the_estimate_is_ridge_regression_with_the_best_gcv_ridge(n, k, kind):
    rng = np.random.default_rng(n + k)
    X, new = (gaussian(rng, m, 80, kind=kind) for m in (n, 7))
    known, others = known_and_others(rng, 80, k)
    estimate = LinearEstimate(X, known)
    Z, F = X[:, known] - X[:, known].mean(axis=0), X - X.mean(axis=0)

    def weights(ridge):
        return np.linalg.solve(Z.conj().T @ Z + ridge * np.eye(k), Z.conj().T @ F)

    def gcv(ridge):
        hat = Z @ np.linalg.solve(Z.conj().T @ Z + ridge * np.eye(k), Z.conj().T)
        left = np.linalg.norm((F - hat @ F)[:, others]) ** 2
        freedom = n - 1 - 1.4 * np.trace(hat).real
        return left / freedom**2 if freedom > 0 else np.inf

    values = np.linalg.svd(Z, compute_uv=False) ** 2
    grid = values[values > 1e-20 * values[0]].mean() * 10 ** np.arange(-8, 4.1, 0.25)
    best = min(map(gcv, grid))
    assert gcv(estimate.ridge) <= best * (1 + 1e-6)
    assert any(np.isclose(estimate.ridge, grid))
    expected = X.mean(axis=0) + (new[:, known] - X[:, known].mean(axis=0)) @ weights(estimate.ridge)
    found = estimate.of(new[:, known])
    assert np.allclose(found[:, others], expected[:, others], rtol=1e-8)
    assert np.array_equal(found[:, known], new[:, known])


def test_the_same_predictions_as_scikit_learn_and_nearly_its_leave_one_out_error():
    rng = np.random.default_rng(0)
    X, new = gaussian(rng, 50, 40, noise=1), gaussian(rng, 9, 40)
    known, others = known_and_others(rng, 40, 10)
    estimate = LinearEstimate(X, known)
    ridge = Ridge(estimate.ridge).fit(X[:, known], X[:, others])
    assert np.allclose(estimate.of(new[:, known])[:, others], ridge.predict(new[:, known]))
    grid = estimate.ridge * 10 ** np.arange(-4, 4.1, 0.25)
    chosen = RidgeCV(grid).fit(X[:, known], X[:, others])
    ours = RidgeCV([estimate.ridge]).fit(X[:, known], X[:, others])
    assert -ours.best_score_ <= -chosen.best_score_ * 1.02


@pytest.mark.parametrize(("n", "k"), [(12, 3), (12, 11), (12, 20)])
@pytest.mark.parametrize("kind", [float, complex])
def test_deviations_give_left_out_errors_a_mean_square_of_one(n, k, kind):
    rng = np.random.default_rng(k)
    X = gaussian(rng, n, 30, kind=kind)
    known, others = known_and_others(rng, 30, k)
    estimate = LinearEstimate(X, known)
    units = np.zeros(30)
    for i in range(n):
        rest = np.delete(X, i, axis=0)
        Z, F = rest[:, known] - rest[:, known].mean(axis=0), rest - rest.mean(axis=0)
        inner = Z.conj().T @ Z + estimate.ridge * np.eye(k)
        z = X[i, known] - rest[:, known].mean(axis=0)
        error = X[i] - rest.mean(axis=0) - z @ np.linalg.solve(inner, Z.conj().T @ F)
        leverage = 1 / (n - 1) + (z @ np.linalg.solve(inner, z.conj())).real
        units += np.abs(error) ** 2 / (1 + leverage) / n
    assert np.allclose(units[others], estimate.deviation[others] ** 2, rtol=1e-6)
    assert (estimate.deviation[known] == 0).all()


@pytest.mark.parametrize("k", [4, 25])
def test_deviations_of_new_samples_grow_with_their_leverage(k):
    rng = np.random.default_rng(1)
    X, new = gaussian(rng, 20, 30), gaussian(rng, 5, 30)
    known, others = known_and_others(rng, 30, k)
    estimate = LinearEstimate(X, known)
    Z = X[:, known] - X[:, known].mean(axis=0)
    z = new[:, known] - X[:, known].mean(axis=0)
    inner = Z.T @ Z + estimate.ridge * np.eye(k)
    leverage = 1 / 20 + np.einsum("ij,ij->i", z, np.linalg.solve(inner, z.T).T)
    expected = np.sqrt(1 + leverage)[:, None] * estimate.deviation
    found = estimate.of(new[:, known], return_std=True)[1]
    assert np.allclose(found[:, others], expected[:, others], rtol=1e-7)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("k", [5, 26])
def test_noise_is_a_penalty_in_an_explicit_ridge_regression(k, equal):
    rng = np.random.default_rng(2)
    n = 20
    X, new = gaussian(rng, n, 40), gaussian(rng, 6, 40)
    known, others = known_and_others(rng, 40, k)
    noise = np.full(k, 0.7) if equal else rng.uniform(0.2, 1, k)
    estimate = LinearEstimate(X, known, noise)
    Z, F = X[:, known] - X[:, known].mean(axis=0), X - X.mean(axis=0)
    z = new[:, known] - X[:, known].mean(axis=0)
    found, deviation = estimate.of(new[:, known], return_std=True)
    for columns, ridge in [(others, estimate.ridge), (known, 0.0)]:
        penalty = (n - 1) * noise**2 + ridge
        inverse = np.linalg.inv(Z.T @ Z + np.diag(penalty))
        weights = inverse @ Z.T @ F[:, columns]
        assert np.allclose(found[:, columns], X.mean(axis=0)[columns] + z @ weights)
        hat = 1 / n + np.einsum("ij,jk,ik->i", Z, inverse, Z)
        left_out = (F[:, columns] - Z @ weights) / (1 - hat)[:, None]
        extra = np.trace(inverse @ np.diag(noise**2))
        expected = left_out**2 + noise**2 @ weights**2
        unit = (expected / (1 / (1 - hat) + extra)[:, None]).mean(axis=0)
        leverage = 1 / n + np.einsum("ij,jk,ik->i", z, inverse, z)
        assert np.allclose(deviation[:, columns] ** 2, np.outer(1 + leverage, unit))


def test_of_many_samples_it_is_the_conditional_distribution_of_a_gaussian():
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(4, 12))
    covariance = factors.T @ factors + 0.2 * np.eye(12)
    X = rng.multivariate_normal(np.arange(12), covariance, size=200_000)
    new = rng.multivariate_normal(np.arange(12), covariance, size=50)
    known, others = np.array([0, 3, 5, 8]), np.array([1, 2, 4, 6, 7, 9, 10, 11])
    noise = np.array([0.5, 1.0, 0.2, 2.0])
    for sigma in (None, noise):
        wanted = others if sigma is None else np.arange(12)
        measured = covariance[np.ix_(known, known)] + (0 if sigma is None else np.diag(sigma**2))
        shared = covariance[np.ix_(known, wanted)]
        weights = np.linalg.solve(measured, shared)
        expected = wanted + (new[:, known] - known) @ weights
        variance = np.diag(covariance)[wanted] - np.einsum("ij,ij->j", shared, weights)
        found, deviation = LinearEstimate(X, known, sigma).of(new[:, known], return_std=True)
        assert np.allclose(found[:, wanted], expected, atol=0.05)
        assert np.allclose(deviation[:, wanted] ** 2, variance, rtol=0.03)


@pytest.mark.parametrize("n", [60, 200, 1000])
@pytest.mark.parametrize("share", [3, 0.2, 0.95, 1.5])
@pytest.mark.parametrize("noise", [None, 0.5])
def test_intervals_of_90_percent_cover_90_percent(n, share, noise):
    rng = np.random.default_rng(n)
    k = share if share == 3 else int(share * n)
    d = k + 200
    factors = rng.normal(size=(10, d))
    X, new = (rng.normal(size=(m, 10)) @ factors + 0.4 * rng.normal(size=(m, d)) for m in (n, 300))
    known, others = known_and_others(rng, d, k)
    measured = new[:, known] + (noise or 0) * rng.normal(size=(300, k))
    estimate = LinearEstimate(X, known, None if noise is None else np.full(k, noise))
    found, deviation = estimate.of(measured, return_std=True)
    inside = np.abs(found - new) <= 1.645 * deviation
    assert 0.85 < inside[:, others].mean() < 0.95
    if noise is not None:
        assert 0.85 < inside[:, known].mean() < 0.95
        better = np.mean((found - new)[:, known] ** 2)
        assert better < 0.95 * noise**2  # neighbours take noise away


@pytest.mark.parametrize("n", [40, 80, 300])
@pytest.mark.parametrize("make", [GeometrySelector, ColumnSubsetSelector])
def test_intervals_of_features_chosen_on_the_same_samples_cover_90_percent(make, n):
    shares = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factors = rng.normal(size=(5, 40))
        X, new = (
            rng.normal(size=(m, 5)) @ factors + rng.normal(size=(m, 40)) / 2 for m in (n, 300)
        )
        selector = make(6).fit(X)
        found, deviation = selector.reconstruct(selector.transform(new), return_std=True)
        inside = np.abs(found - new) <= 1.645 * deviation
        shares.append(inside[:, ~selector.get_support()].mean())
    assert 0.85 < np.mean(shares) < 0.95


def test_more_noise_means_more_deviation_up_to_that_of_the_mean():
    rng = np.random.default_rng(4)
    X = gaussian(rng, 300, 20)
    known = np.arange(5)
    deviations = [
        LinearEstimate(X, known, np.full(5, noise)).deviation for noise in (0.01, 0.5, 5.0, 1e4)
    ]
    assert (np.diff(deviations, axis=0) > 0).all()
    assert np.allclose(deviations[-1], X.std(axis=0), rtol=0.01)
    exact = LinearEstimate(X, known)
    tiny = LinearEstimate(X, known, np.full(5, 1e-7))
    assert np.allclose(tiny.deviation, exact.deviation, atol=1e-6)
    values = X[:3, :5]
    assert np.allclose(tiny.of(values), exact.of(values), atol=1e-5)


def test_where_noise_is_zero_values_come_back_as_given():
    rng = np.random.default_rng(5)
    X = gaussian(rng, 100, 20)
    estimate = LinearEstimate(X, np.array([2, 4, 7]), np.array([0.0, 1.0, 0.0]))
    found, deviation = estimate.of(X[:9, [2, 4, 7]], return_std=True)
    assert np.array_equal(found[:, [2, 7]], X[:9, [2, 7]])
    assert (deviation[:, [2, 7]] == 0).all()
    assert (deviation[:, 4] > 0).all()


@pytest.mark.parametrize("size", [1e-90, 1e-3, 1e90])
def test_units_change_only_units(size):
    rng = np.random.default_rng(6)
    X, new = gaussian(rng, 30, 12), gaussian(rng, 4, 12)
    known = np.array([1, 4])
    found, deviation = LinearEstimate(size * X, known).of(size * new[:, known], return_std=True)
    expected, spread = LinearEstimate(X, known).of(new[:, known], return_std=True)
    assert np.allclose(found / size, expected)
    assert np.allclose(deviation / size, spread)


def test_collinear_and_constant_values_and_values_that_are_all_constant():
    rng = np.random.default_rng(7)
    X = gaussian(rng, 50, 10)
    X[:, 3] = 0.1
    X[:, 4] = 2 * X[:, 1] - X[:, 2]
    with_copies = LinearEstimate(X, np.array([1, 2, 3, 4]))
    found, deviation = with_copies.of(X[:6, [1, 2, 3, 4]], return_std=True)
    Z = X[:, [1, 2, 4]] - X[:, [1, 2, 4]].mean(axis=0)
    F = X - X.mean(axis=0)
    weights = np.linalg.solve(Z.T @ Z + with_copies.ridge * np.eye(3), Z.T @ F)
    expected = X.mean(axis=0) + Z[:6] @ weights
    assert np.allclose(found[:, [0, *range(5, 10)]], expected[:, [0, *range(5, 10)]])
    assert np.isfinite(deviation).all()
    assert deviation.max() < 10
    # A value that never changed has no leverage when it does.
    changed = X[:6, [1, 2, 3, 4]] + [0, 0, 1, 0]
    again, the_same = with_copies.of(changed, return_std=True)
    assert np.array_equal(deviation, the_same)
    assert np.allclose(again[:, 5:], found[:, 5:])

    nothing = LinearEstimate(X, np.array([3]))
    found, deviation = nothing.of(np.full((2, 1), 0.1), return_std=True)
    assert np.allclose(found, X.mean(axis=0))
    variance = X.var(axis=0, ddof=1) * (1 + 1 / 50)
    assert np.allclose(deviation**2, np.where(np.arange(10) == 3, 0, variance), atol=1e-12)


def test_what_depends_on_the_known_values_exactly_is_exact():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 30))
    found, deviation = LinearEstimate(X, np.array([0, 5, 9, 11])).of(
        X[:, [0, 5, 9, 11]], return_std=True
    )
    assert np.allclose(found, X, atol=1e-6)
    assert deviation.max() < 1e-6


def test_every_library_gives_the_same(library):
    rng = np.random.default_rng(9)
    X, new = gaussian(rng, 40, 15), gaussian(rng, 4, 15)
    known = np.array([0, 3, 9])
    for noise in (None, np.array([0.1, 0.2, 0.3])):
        expected = LinearEstimate(X, known, noise).of(new[:, known], return_std=True)
        estimate = LinearEstimate(library.asarray(X), library.asarray(known), noise)
        found = estimate.of(library.asarray(new[:, known]), return_std=True)
        for one, other in zip(found, expected, strict=True):
            assert np.allclose(library.numpy(one), other, rtol=1e-6)
        on_host = estimate.to_numpy().of(new[:, known])
        assert isinstance(on_host, np.ndarray)
        assert np.allclose(on_host, expected[0])


# Selectors


def tensors(n=90, shape=(5, 6), seed=0, kind=float):
    rng = np.random.default_rng(seed)
    return gaussian(rng, n, int(np.prod(shape)), kind=kind).reshape(n, *shape)


SELECTORS = [
    GeometrySelector(4),
    STPCASelector(4, selection="top"),
    STPCASelector(4, selection="geometry"),
    STPCASelector(4, selection="reconstruct"),
    ColumnSubsetSelector(4),
    VarianceSelector(4),
    LaplacianScore(4),
    RandomSelector(4, random_state=0),
    AllFeatures(),
    SelectFromDecomposition(TensorPCA(2), 4),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=repr)
def test_every_selector_restores_samples_in_their_own_units(selector):
    X = 100 * tensors()
    fitted = clone(selector).fit(X[:60])
    Z = fitted.transform(X[60:])
    found, deviation = fitted.reconstruct(Z, return_std=True)
    assert found.shape == deviation.shape == (30, 5, 6)
    mask = fitted.get_support()
    expected = LinearEstimate(X[:60].reshape(60, 30), np.flatnonzero(mask)).of(Z)
    assert np.allclose(found.reshape(30, 30), expected)
    assert np.array_equal(found.reshape(30, 30)[:, mask], Z)
    assert (deviation.reshape(30, 30)[:, mask] == 0).all()
    assert np.array_equal(fitted.reconstruct(Z), found)
    copied = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copied.reconstruct(Z), found)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("kind", [float, complex])
def test_mode_features_predict_with_all_their_elements(mode, kind):
    X = tensors(kind=kind)
    selector = GeometrySelector(2, feature_mode=mode).fit(X[:60])
    Z = selector.transform(X[60:])
    support = selector.get_support(indices=True)
    elements = np.sort(np.take(np.arange(30).reshape(5, 6), support, axis=mode).ravel())
    flat = X.reshape(90, 30)
    expected = LinearEstimate(flat[:60], elements).of(flat[60:, elements], return_std=True)
    found = selector.reconstruct(Z, return_std=True)
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one.reshape(30, 30), other)
    noise = np.array([0.5, 2.0])
    each = np.take(
        np.broadcast_to(
            np.expand_dims(np.eye(X.shape[mode + 1])[support].T @ noise, 1 - mode), (5, 6)
        ).ravel(),
        elements,
    )
    expected = LinearEstimate(flat[:60], elements, each).of(flat[60:, elements])
    assert np.allclose(selector.reconstruct(Z, noise=noise).reshape(30, 30), expected)


def test_rows_in_rows_out():
    X = tensors()
    flat = X.reshape(90, 30)
    for mode in (None, 0):
        by_tensor = GeometrySelector(3, feature_mode=mode).fit(X[:60])
        by_row = GeometrySelector(3, feature_mode=mode, feature_shape=(5, 6)).fit(flat[:60])
        expected = by_tensor.reconstruct(by_tensor.transform(X[60:]))
        Z = by_row.transform(flat[60:])
        found = by_row.reconstruct(Z)
        assert found.shape == (30, 30)
        assert np.allclose(found, expected.reshape(30, 30))
        assert by_row.reconstruct(iter([Z])).shape == (30, 30)


def test_data_frames_that_transform_returned_can_be_restored():
    pytest.importorskip("pandas")
    X = tensors().reshape(90, 30)
    selector = VarianceSelector(5).fit(X)
    expected = selector.reconstruct(selector.transform(X))
    frame = selector.set_output(transform="pandas").transform(X)
    assert np.array_equal(selector.reconstruct(frame), expected)


def test_another_count_after_fit_gets_another_estimate():
    X = tensors()
    selector = VarianceSelector(3).fit(X)
    selector.reconstruct(selector.transform(X))
    selector.set_params(n_features_to_select=8)
    found = selector.reconstruct(selector.transform(X))
    expected = VarianceSelector(8).fit(X)
    assert np.array_equal(found, expected.reconstruct(expected.transform(X)))
    with pytest.raises(
        ValueError, match=r"Z has samples of shape \(3,\), but transform returns \(8"
    ):
        selector.reconstruct(X.reshape(90, 30)[:, :3])


def test_another_noise_and_another_fit_get_another_estimate():
    X, other = tensors(), 3 * tensors(seed=1)
    selector = STPCASelector(4, selection="top").fit(X)
    Z = selector.transform(X)
    exact, noisy = selector.reconstruct(Z), selector.reconstruct(Z, noise=1.0)
    assert not np.allclose(exact, noisy)
    assert np.array_equal(selector.reconstruct(Z), exact)
    assert np.array_equal(selector.reconstruct(Z, noise=[1.0] * 4), noisy)
    assert np.array_equal(selector.reconstruct(Z, noise=0), exact)
    for one in (selector, selector.fit(other), selector.partial_fit(X)):
        again = clone(one).fit(np.concatenate([other, X]) if one.n_samples_seen_ == 180 else other)
    Z = selector.transform(X)
    assert np.allclose(selector.reconstruct(Z), again.reconstruct(Z))


@pytest.mark.parametrize("selector", [GeometrySelector(4), VarianceSelector(4), STPCASelector(4)])
def test_writing_to_the_fitted_array_changes_nothing(selector):
    X = tensors()
    expected = clone(selector).fit(X.copy())
    mine = X.copy()
    fitted = clone(selector).fit(mine)
    Z = fitted.transform(X)
    mine[:] = 0
    assert np.array_equal(fitted.reconstruct(Z), expected.reconstruct(Z))
    assert fitted.replacements().to_rows() == expected.replacements().to_rows()


@pytest.mark.parametrize("kind", [float, complex])
def test_dask_arrays_iterators_and_files(tmp_path, kind):
    da = pytest.importorskip("dask.array")
    X = tensors(kind=kind)
    selector = GeometrySelector(4).fit(X)
    Z = selector.transform(X)
    expected = selector.reconstruct(Z, return_std=True)
    lazy = selector.reconstruct(selector.transform(da.from_array(X, chunks=(20, 5, 6))), True)
    assert all(isinstance(one, da.Array) for one in lazy)
    np.save(tmp_path / "z.npy", Z)
    memmap = np.load(tmp_path / "z.npy", mmap_mode="r")
    for found in (
        [one.compute() for one in lazy],
        selector.reconstruct(iter(np.array_split(Z, 4)), True),
        selector.reconstruct(memmap, True),
    ):
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            assert np.allclose(one, other)
    names = [selector.reconstruct(da.from_array(Z, chunks=20, name="z")).name for _ in range(2)]
    assert names[0] == names[1]


def test_the_same_from_arrays_files_iterators_dask_and_moments(tmp_path):
    da = pytest.importorskip("dask.array")
    X = tensors()
    np.save(tmp_path / "x.npy", X)
    expected = GeometrySelector(4).fit(X)
    Z = expected.transform(X)
    kinds = (
        np.load(tmp_path / "x.npy", mmap_mode="r"),
        iter(np.array_split(X, 5)),
        Chunks(lambda: iter(np.array_split(X, 5))),
        da.from_array(X, chunks=(20, 5, 6)),
        collect_moments(X),
    )
    for samples in kinds:
        fitted = GeometrySelector(4).fit(samples)
        assert np.allclose(fitted.reconstruct(Z), expected.reconstruct(Z))
    top = STPCASelector(4, selection="top").fit(iter(np.array_split(X, 5)))
    whole = STPCASelector(4, selection="top").fit(X)
    assert np.allclose(top.reconstruct(Z), whole.reconstruct(Z))


def test_on_a_device(library):
    X = tensors()
    expected = GeometrySelector(4).fit(X)
    Z = expected.transform(X)
    fitted = GeometrySelector(4).fit(library.asarray(X))
    found, deviation = fitted.reconstruct(fitted.transform(library.asarray(X)), return_std=True)
    assert type(found) is type(library.asarray(X))
    wanted = expected.reconstruct(Z, return_std=True)
    assert np.allclose(library.numpy(found), wanted[0], rtol=1e-5)
    assert np.allclose(library.numpy(deviation), wanted[1], rtol=1e-4)
    on_host = fitted.to_numpy()
    assert np.allclose(on_host.reconstruct(Z), wanted[0], rtol=1e-5)
    curve = fitted.reconstruction_curve(library.asarray(X))
    assert np.allclose(curve.errors, expected.reconstruction_curve(X).errors, rtol=1e-4)
    by_mode = GeometrySelector(2, feature_mode=1).fit(library.asarray(X))
    host = GeometrySelector(2, feature_mode=1).fit(X)
    found = by_mode.reconstruct(by_mode.transform(library.asarray(X)), noise=[0.1, 0.2])
    wanted = host.reconstruct(host.transform(X), noise=[0.1, 0.2])
    assert np.allclose(library.numpy(found), wanted, rtol=1e-5)
    if library.name != "numpy":
        with pytest.raises(ValueError, match="to_numpy"):
            fitted.reconstruct(Z)


def test_small_integers_are_kept_as_they_are():
    X = np.random.default_rng(0).integers(0, 255, size=(300, 4, 5)).astype(np.uint8)
    selector = GeometrySelector(4).fit(X)
    assert selector._samples.held().dtype == np.uint8
    expected = GeometrySelector(4).fit(X.astype(float))
    Z = selector.transform(X)
    assert np.array_equal(selector.reconstruct(Z), expected.reconstruct(Z))


def test_errors_say_what_is_wrong():
    X = tensors()
    with pytest.raises(ValueError, match="not fitted"):
        GeometrySelector(4).reconstruct(X)
    selector = GeometrySelector(4).fit(X)
    Z = selector.transform(X)
    for wrong, message in [
        ({"noise": -1}, "noise is a standard deviation .* got -1"),
        ({"noise": [1, 1, 1]}, r"noise has shape \(3,\), but 4 features are kept"),
        ({"noise": [1, 1, 1, np.nan]}, "noise is a standard deviation"),
        ({"noise": np.inf}, "noise is a standard deviation"),
        ({"noise": "much"}, "noise must be a number or 4 numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            selector.reconstruct(Z, **wrong)
    for shaped in (Z[:, :3], X, iter([Z[:, :3]])):
        with pytest.raises(ValueError, match=r"Z has samples of shape .* transform returns \(4,\)"):
            selector.reconstruct(shaped)
    with pytest.raises(ValueError, match="Z is complex"):
        selector.reconstruct(Z + 0j)
    with pytest.raises(ValueError, match="Input Z contains NaN"):
        selector.reconstruct(np.full_like(Z, np.nan))


def test_merged_moments_have_no_samples_to_learn_from():
    X = tensors()
    one, other = collect_moments(X[:40]), collect_moments(X[40:])
    merged = Moments(one.orientation).merge(one).merge(other)
    selector = STPCASelector(4, selection="top", lam=1, eta=1).fit(merged)
    with pytest.raises(
        ValueError, match="reconstruct looks at samples, but STPCASelector has none"
    ):
        selector.reconstruct(selector.transform(X))
    for call in (selector.replacements, lambda: selector.extend(1), lambda: selector.replace(0)):
        with pytest.raises(ValueError, match="looks at samples, but STPCASelector has none"):
            call()


# The curve


@pytest.mark.parametrize("mode", [None, 1])
@pytest.mark.parametrize("kind", [float, complex])
def test_the_curve_is_the_error_of_explicit_predictions(mode, kind):
    X = tensors(kind=kind)
    learned, new = X[:60], X[60:]
    selector = GeometrySelector(3, feature_mode=mode).fit(learned)
    curve = selector.reconstruction_curve(new)
    assert curve.counts.tolist() == [1, 2, 3]
    away = np.abs(new - learned.mean(axis=0)) ** 2
    assert np.allclose(curve.element_variances, away.mean(axis=0))
    for place, count in enumerate(curve.counts):
        selector.set_params(n_features_to_select=int(count))
        left = np.abs(new - selector.reconstruct(selector.transform(new))) ** 2
        assert np.allclose(curve.element_errors[place], left.mean(axis=0), atol=1e-12)
        assert np.isclose(curve.errors[place], left.sum() / away.sum())
    assert np.allclose(curve.element_shares, curve.element_errors / curve.element_variances)
    assert curve.to_rows()[0] == {"n_features": 1, "error": curve.errors[0]}


def test_the_curve_of_counts_and_of_samples_in_chunks():
    da = pytest.importorskip("dask.array")
    X = tensors()
    selector = VarianceSelector(2).fit(X[:60])
    curve = selector.reconstruction_curve(X[60:], counts=[1, 30])
    assert curve.errors[1] == 0
    assert curve.n_samples == 30
    for source in (iter(np.array_split(X[60:], 3)), da.from_array(X[60:], chunks=(7, 5, 6))):
        found = selector.reconstruction_curve(source, counts=[1, 30])
        assert np.allclose(found.errors, curve.errors)
        assert found.n_samples == 30
    for counts in ([], [0], [2, 1], [31], [1.5], "x"):
        with pytest.raises(ValueError, match="counts must"):
            selector.reconstruction_curve(X, counts=counts)


def test_elements_that_are_constant_have_no_share():
    X = tensors()
    X[:, 0, 0] = 3
    curve = VarianceSelector(2).fit(X[:60]).reconstruction_curve(X[60:])
    assert np.isnan(curve.element_shares[:, 0, 0]).all()
    assert (curve.element_errors[:, 0, 0] == 0).all()
