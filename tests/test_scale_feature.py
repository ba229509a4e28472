"""scale="feature": every feature counts alike, whatever its units."""

import warnings

import numpy as np
import pytest
from sklearn import config_context

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    STPCASelector,
    collect_moments,
    stpca_path,
)
from tensift.rivals import SPCAPSD
from tensift.sources import Chunks

SHAPE = (6, 4)
CONSTANT = (5, 3)  # the element that never changes


def samples_in_units(seed=0, n=240, *, kind=float):
    """Samples with shared factors, in which every element has units of its own."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind is complex else 0)

    X = normal(n, 5) @ normal(5, 24) + 0.5 * normal(n, 24)
    X = (X + 3 * normal(24)).reshape(n, *SHAPE) * rng.uniform(0.2, 5, size=SHAPE)
    X[(slice(None), *CONSTANT)] = 7
    return X


def units_of(mode, seed=1):
    units = 10.0 ** np.random.default_rng(seed).uniform(-6, 6, size=SHAPE)
    return units if mode is None else np.broadcast_to(units.take([0], axis=1 - mode), SHAPE)


def divisors(X, mode):
    """Deviations by the plain definition; constants are divided by their size."""
    variance = np.mean(np.abs(X - X.mean(axis=0)) ** 2, axis=0)
    variance[CONSTANT] = 0
    size = np.abs(X.mean(axis=0)) ** 2
    if mode is not None:
        variance = np.broadcast_to(variance.mean(axis=1 - mode, keepdims=True), SHAPE)
        size = np.broadcast_to(size.mean(axis=1 - mode, keepdims=True), SHAPE)
    return np.sqrt(np.where(variance > 0, variance, size))


def quietly(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return work()


def chunks_of(X):
    return [X[:100], X[100:107], X[107:]]


def check_equal(fitted, truth, X, deviations):
    """Compare a fit on X with one on the samples divided by hand."""
    divided, kept = X / deviations, truth.n_features_
    np.testing.assert_allclose(fitted.scores_, truth.scores_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(fitted.order_[:kept], truth.order_[:kept])
    restored = fitted.reconstruct(fitted.transform(X)) / deviations
    np.testing.assert_allclose(restored, truth.reconstruct(truth.transform(divided)), atol=1e-8)
    mine, theirs = fitted.replacements(), truth.replacements()
    np.testing.assert_array_equal(mine.substitute, theirs.substitute)
    np.testing.assert_allclose(mine.lost, theirs.lost, atol=1e-8)
    curves = fitted.reconstruction_curve(X), truth.reconstruction_curve(divided)
    np.testing.assert_allclose(curves[0].errors, curves[1].errors, atol=1e-8)


@pytest.mark.parametrize("selection", ["geometry", "reconstruct", "top"])
@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("basis", ["identity", "random", "eigen"])
def test_equals_division_by_hand(basis, mode, selection):
    X = samples_in_units()
    deviations, units = divisors(X, mode), units_of(mode)
    options = {"selection": selection, "basis": basis, "feature_mode": mode, "random_state": 0}
    truth = quietly(lambda: STPCASelector(3, scale=None, **options).fit(X / deviations))
    selector = STPCASelector(3, scale="feature", **options)
    fitted = quietly(lambda: selector.fit(X))
    check_equal(fitted, truth, X, deviations)
    assert fitted.score(X) == pytest.approx(truth.score(X / deviations))
    inverse = fitted.inverse_transform(fitted.transform(X))
    assert set(np.unique(inverse - X * (inverse != 0))) == {0}
    # The units of a feature do not count.
    quietly(lambda: selector.fit(X * units))
    check_equal(selector, truth, X * units, deviations * units)


@pytest.mark.parametrize(
    ("basis", "mode"),
    [("identity", None), ("identity", 1), ("dct", 0), ("dct", 1), ("eigen", None)],
)
def test_sources_agree_with_the_array(basis, mode):
    da = pytest.importorskip("dask.array")
    X = samples_in_units()
    deviations = divisors(X, mode)
    options = {"basis": basis, "feature_mode": mode}
    truth = STPCASelector(3, scale=None, **options).fit(X / deviations)
    inputs = [Chunks(lambda: iter(chunks_of(X))), da.from_array(X, chunks=(77, 6, 4))]
    one_pass = basis == "identity" or mode == 0
    if one_pass:
        inputs += [iter(chunks_of(X)), collect_moments(X, basis=basis)]
        inputs += [collect_moments(da.from_array(X, chunks=(77, 6, 4)), basis=basis)]
    for given in inputs:
        fitted = STPCASelector(3, scale="feature", **options).fit(given)
        check_equal(fitted, truth, X, deviations)
        assert fitted.score(X) == pytest.approx(truth.score(X / deviations))
    if one_pass:
        stream = STPCASelector(3, scale="feature", **options)
        for chunk in chunks_of(X):
            stream.partial_fit(chunk)
        check_equal(stream, truth, X, deviations)


def test_a_memory_map_and_the_moments_of_a_user_are_not_changed(tmp_path):
    X = samples_in_units()
    np.save(tmp_path / "X.npy", X)
    moments = collect_moments(np.load(tmp_path / "X.npy", mmap_mode="r"))
    before = moments.gram().dense().copy()
    fitted = STPCASelector(3, scale="feature").fit(moments)
    check_equal(
        fitted, STPCASelector(3, scale=None).fit(X / divisors(X, None)), X, divisors(X, None)
    )
    np.testing.assert_array_equal(moments.gram().dense(), before)


@pytest.mark.parametrize("basis", ["identity", "dct"])
def test_slices_solved_in_passes(basis):
    X = np.random.default_rng(0).normal(size=(90, 40, 30)) * np.logspace(-3, 3, 1200).reshape(
        40, 30
    )
    options = {"basis": basis, "lam": 3.0, "eta": 3.0}
    truth = STPCASelector(5, scale=None, **options).fit(X / X.std(axis=0))
    with config_context(working_memory=0.5), pytest.warns(UserWarning, match="in .* blocks"):
        fitted = STPCASelector(5, scale="feature", **options).fit(
            Chunks(lambda: iter([X[:50], X[50:]]))
        )
    np.testing.assert_allclose(fitted.scores_, truth.scores_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(fitted.order_[:5], truth.order_[:5])


@pytest.mark.parametrize("mode", [None, 0])
@pytest.mark.parametrize("kind", [GeometrySelector, ColumnSubsetSelector, SPCAPSD])
def test_other_selectors(kind, mode):
    X = samples_in_units()
    deviations, units = divisors(X, mode), units_of(mode)
    truth = kind(3, scale=None, feature_mode=mode).fit(X / deviations)
    selector = kind(3, scale="feature", feature_mode=mode)
    check_equal(selector.fit(X), truth, X, deviations)
    check_equal(selector.fit(X * units), truth, X * units, deviations * units)
    if kind is GeometrySelector:
        check_equal(selector.fit(iter(chunks_of(X))), truth, X, deviations)
        check_equal(selector.fit(collect_moments(X)), truth, X, deviations)
    if kind is SPCAPSD:
        assert selector.score(X * units) == pytest.approx(truth.score(X / deviations))
    without = kind(3, scale=None, feature_mode=mode).fit(X * units)
    assert not np.array_equal(without.order_[:3], truth.order_[:3])  # what it is for


@pytest.mark.parametrize("selection", ["geometry", "reconstruct"])
def test_automatic_counts_and_orientation(selection):
    X = samples_in_units()
    options = {"selection": selection, "orientation": "auto"}
    truth = STPCASelector(scale=None, **options).fit(X / divisors(X, None))
    fitted = STPCASelector(scale="feature", **options).fit(X)
    assert fitted.n_features_ == truth.n_features_
    assert fitted.orientation_ == truth.orientation_
    chosen = (one.choice_.orientation.neighbours_kept for one in (fitted, truth))
    np.testing.assert_allclose(*chosen)


def test_path_equals_division_by_hand():
    X = samples_in_units()
    for basis in ("identity", "dct"):
        path = stpca_path(X, scale="feature", basis=basis)
        truth = stpca_path(X / divisors(X, None), scale=None, basis=basis)
        np.testing.assert_allclose(path.scores, truth.scores, rtol=1e-5, atol=1e-9)
    path = stpca_path(collect_moments(X), scale="feature")
    truth = stpca_path(X / divisors(X, None), scale=None)
    np.testing.assert_allclose(path.scores, truth.scores, rtol=1e-5, atol=1e-9)


def test_constants_score_zero_and_never_nan():
    X = samples_in_units() * 1e-3
    X[(slice(None), *CONSTANT)] = 1e15
    fitted = STPCASelector(3, scale="feature").fit(X)
    assert fitted.scores_[CONSTANT] == 0
    assert np.isfinite(fitted.scores_).all()
    for mode, index in ((0, 5), (1, 3)):
        Y = X.copy()
        np.moveaxis(Y, mode + 1, 0)[index] = -4e9
        for kind in (STPCASelector, ColumnSubsetSelector, GeometrySelector):
            found = kind(2, scale="feature", feature_mode=mode).fit(Y).scores_
            assert found[index] == 0
            assert np.isfinite(found).all()
    with pytest.raises(ValueError, match="X is constant: no feature varies"):
        STPCASelector(3, scale="feature").fit(np.full((10, *SHAPE), 3.0))


def test_complex_samples():
    X = samples_in_units(kind=complex)
    for basis in ("identity", "dft"):
        options = {"basis": basis, "score_by": "operator"}
        truth = quietly(
            lambda o=options: STPCASelector(3, scale=None, **o).fit(X / divisors(X, None))
        )
        fitted = quietly(lambda o=options: STPCASelector(3, scale="feature", **o).fit(X))
        check_equal(fitted, truth, X, divisors(X, None))


def test_deviations_and_noise_have_the_units_of_the_samples():
    X = samples_in_units()
    deviations = divisors(X, None)
    truth = GeometrySelector(4).fit(X / deviations)
    fitted = GeometrySelector(4, scale="feature").fit(X)
    kept = deviations.ravel()[fitted.get_support()]
    noise = np.array([0.1, 0.0, 0.3, 0.2])
    for mine, theirs in ((None, None), (noise * kept, noise)):
        _, error = fitted.reconstruct(fitted.transform(X), return_std=True, noise=mine)
        _, wanted = truth.reconstruct(
            truth.transform(X / deviations), return_std=True, noise=theirs
        )
        np.testing.assert_allclose(error / deviations, wanted, atol=1e-8)
    Z = fitted.transform(X)
    restored = fitted.reconstruct(Z).reshape(len(X), -1)
    np.testing.assert_array_equal(restored[:, fitted.get_support()], Z)  # exactly as given


@pytest.mark.parametrize("basis", ["identity", "dct", "eigen"])
def test_arrays_of_other_libraries(library, basis):
    X = samples_in_units()
    deviations = divisors(X, None)
    truth = STPCASelector(3, scale=None, basis=basis).fit(library.asarray(X / deviations))
    fitted = STPCASelector(3, scale="feature", basis=basis).fit(library.asarray(X))
    scores, wanted = (library.numpy(one.scores_) for one in (fitted, truth))
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-8)
    order, wanted = (library.numpy(one.order_)[:3] for one in (fitted, truth))
    np.testing.assert_array_equal(order, wanted)
    restored = fitted.reconstruct(fitted.transform(library.asarray(X)))
    wanted = truth.reconstruct(truth.transform(library.asarray(X / deviations)))
    np.testing.assert_allclose(
        library.numpy(restored) / deviations, library.numpy(wanted), atol=1e-7
    )
    assert fitted.score(library.asarray(X)) == pytest.approx(
        truth.score(library.asarray(X / deviations))
    )
    geometry = GeometrySelector(3, scale="feature").fit(library.asarray(X))
    order = GeometrySelector(3, scale="feature").fit(X).order_
    np.testing.assert_array_equal(library.numpy(geometry.order_)[:3], order[:3])


def test_single_precision_on_a_device():
    torch = pytest.importorskip("torch")
    X = samples_in_units().astype(np.float32)
    fitted = STPCASelector(3, scale="feature").fit(torch.asarray(X))
    truth = STPCASelector(3, scale="feature").fit(X)
    assert fitted.scores_.dtype == torch.float32
    np.testing.assert_allclose(fitted.scores_.numpy(), truth.scores_, rtol=1e-3, atol=1e-4)


def test_what_is_impossible_says_so():
    X = samples_in_units()
    selector = STPCASelector(3, scale="feature", basis="dct")
    with pytest.raises(ValueError, match="can be read only once"):
        selector.fit(iter(chunks_of(X)))
    with pytest.raises(ValueError, match=r"pass the samples .* or use basis='identity'"):
        selector.fit(collect_moments(X, basis="dct"))
    with pytest.raises(ValueError, match="partial_fit never sees them together"):
        selector.partial_fit(X, solve=False)
    selector.fit(X)
    with pytest.raises(ValueError, match="partial_fit never sees them together"):
        selector.partial_fit(X)
    for change in ({"scale": None}, {"scale": "max"}, {"feature_mode": 0}):
        fitted = STPCASelector(3, scale="feature", basis="dct").fit(X).set_params(**change)
        with pytest.raises(ValueError, match=r"scale or feature_mode was changed.*fit again"):
            fitted.solve()
    gram = collect_moments(X).gram()
    with pytest.raises(ValueError, match="a GramTensor does not have"):
        stpca_path(gram, scale="feature")
    with pytest.raises(ValueError, match="'scale' parameter of GeometrySelector"):
        GeometrySelector(3, scale="max").fit(X)


@pytest.mark.parametrize("score_by", ["operator", "energy"])
def test_scores_that_cannot_differ_are_said(score_by):
    X = samples_in_units()
    with pytest.warns(UserWarning, match="ordered by their index; use another basis"):
        STPCASelector(3, scale="feature", basis="dft", score_by=score_by).fit(X)


def test_fit_again_without_scale_forgets_the_deviations():
    X = samples_in_units()
    selector = STPCASelector(3, scale="feature").fit(X).set_params(scale=None).fit(X)
    plain = STPCASelector(3, scale=None).fit(X)
    np.testing.assert_array_equal(
        selector.reconstruct(X.reshape(240, -1)[:, :3]),
        plain.reconstruct(X.reshape(240, -1)[:, :3]),
    )
    assert selector.score(X) == plain.score(X)
