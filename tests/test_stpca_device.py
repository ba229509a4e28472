"""STPCASelector and stpca_path on arrays of other libraries, beside themselves on NumPy's.

Arrays of array-api-strict are on a device of its that nothing can be read from by accident.
"""

import copy
import os
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from tensift import ExactSolver, PaperSolver, STPCASelector, collect_moments, stpca_path
from tensift._utils.namespace import kind_of, to_numpy
from tensift.comparison import compare_selectors
from tensift.decomposition import SelectFromDecomposition, TensorPCA
from tensift.metrics import reconstruction_error
from tensift.moments import DeviceMoments, GramTensor, Moments, Orientation
from tensift.rivals import list_selectors
from tensift.stpca import SelectionPath

LIBRARIES = ["array_api_strict", "torch", "jax"]
PENALTIES = {"lam": 0.3, "eta": 0.3}
FITTED = ("scores_", "order_", "operators_", "objective_", "objective_path_", "n_iter_")
PROVEN = ("dual_objective_", "dual_gap_")


def samples(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5, 6))
    X[:, 1] += 3 * rng.normal(size=(n, 1))
    X[:, :, 2] *= 4
    return X


def tall_samples():
    """Samples with 3 slices of 30 features."""
    return samples(n=60).reshape(60, -1)[:, :, None] * np.array([1.0, 2.0, 0.5])


@pytest.fixture(params=LIBRARIES)
def there(request):
    """What moves NumPy arrays to a device."""
    library = request.param
    if library == "jax":
        jax = pytest.importorskip("jax", reason="jax is not installed")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield jax.numpy.asarray
        jax.config.update("jax_enable_x64", before)
    elif library == "torch":
        torch = pytest.importorskip("torch", reason="torch is not installed")
        yield lambda x: torch.asarray(np.array(x), device=os.environ.get("TENSIFT_DEVICE", "cpu"))
    else:
        strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
        yield lambda x: strict.asarray(x, device=strict.Device("device1"))


only_torch = pytest.mark.parametrize("there", ["torch"], indirect=True)
not_jax = pytest.mark.parametrize("there", LIBRARIES[:2], indirect=True)  # it compiles for long


def assert_same(found, expected, X, there):
    """Everything that a fit gives, of the kind of the samples and with NumPy's values."""
    kind = kind_of(there(X))
    proven = PROVEN if expected.solver == "exact" else ()
    for name in (*FITTED, *proven):
        value = getattr(found, name)
        assert kind_of(value) == kind, name
        wanted = getattr(expected, name)
        assert tuple(value.shape) == wanted.shape, name
        if name == "order_":
            np.testing.assert_array_equal(to_numpy(value), wanted)
        else:
            np.testing.assert_allclose(to_numpy(value), wanted, atol=1e-8, rtol=1e-8, err_msg=name)
    assert (found.lam_, found.eta_) == pytest.approx((expected.lam_, expected.eta_), rel=1e-6)
    kept = found.transform(there(X))
    assert kind_of(kept) == kind_of(found.get_support()) == kind
    np.testing.assert_array_equal(to_numpy(kept), expected.transform(X))
    back = found.inverse_transform(kept)
    assert kind_of(back) == kind
    np.testing.assert_array_equal(to_numpy(back), expected.inverse_transform(expected.transform(X)))
    np.testing.assert_array_equal(to_numpy(found.get_support()), expected.get_support())
    np.testing.assert_array_equal(
        to_numpy(found.get_support(indices=True)), expected.get_support(indices=True)
    )
    assert found.score(there(X)) == pytest.approx(expected.score(X), rel=1e-8)
    names = found.get_feature_names_out()
    np.testing.assert_array_equal(names, expected.get_feature_names_out())


# Fits


@pytest.mark.parametrize(
    "settings",
    [
        {"basis": "dft", "score_by": "energy"},
        {"basis": "eigen", "orientation": 1},
        {"basis": "dct", "feature_mode": 1},
        {
            "scale": None,
            "solver": PaperSolver(convention="paper", stopping="relative"),
            "lam": 5.0,
        },
    ],
    ids=["dft", "eigen", "channels", "paper"],
)
@not_jax
def test_a_fit_is_that_of_numpy(there, settings):
    X = samples()
    selector = STPCASelector(4, **{"solver": "paper"} | PENALTIES | settings)
    expected = clone(selector).fit(X)
    assert_same(selector.fit(there(X)), expected, X, there)


@pytest.mark.parametrize("there", ["jax"], indirect=True)
@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"basis": "dft"}, marks=pytest.mark.slow)], ids=["", "dft"]
)
def test_a_fit_on_jax_is_that_of_numpy(there, settings):
    X = tall_samples()  # as where transfers are watched: it compiles for every shape
    selector = STPCASelector(4, score_by="energy", solver="paper", **PENALTIES, **settings)
    expected = clone(selector).fit(X)
    assert_same(selector.fit(there(X)), expected, X, there)


@pytest.mark.parametrize(
    "settings", [{"basis": "dft", "score_by": "energy"}, {"lam": 3.0, "eta": 3.0}]
)
@not_jax
def test_an_exact_fit_is_that_of_numpy(there, settings):
    X = samples()
    selector = STPCASelector(9, solver=ExactSolver(tol=1e-9), **PENALTIES | settings)
    expected = clone(selector).fit(X)
    found = selector.fit(there(X))
    assert kind_of(found.dual_gap_) == kind_of(there(X))
    assert to_numpy(found.dual_gap_).max() <= 1e-9
    # Both are within the gap of the optimum, not of one another's last digits.
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_numpy(found.objective_), expected.objective_, rtol=1e-8)
    np.testing.assert_array_equal(to_numpy(found.scores_) > 0, expected.scores_ > 0)
    np.testing.assert_array_equal(to_numpy(found.order_), expected.order_)


@not_jax
@pytest.mark.parametrize("transform", ["dft", "identity"])
def test_complex_samples(there, transform):
    X = samples() + 1j * samples(1)
    selector = STPCASelector(4, basis=transform, score_by="energy", solver="paper", **PENALTIES)
    expected = clone(selector).fit(X)
    assert_same(selector.fit(there(X)), expected, X, there)


@not_jax
def test_rows_stand_for_tensors(there):
    X = samples().reshape(40, -1)
    for settings in ({}, {"feature_shape": (5, 6), "feature_mode": 0}):
        selector = STPCASelector(2, solver="paper", **PENALTIES, **settings)
        expected = clone(selector).fit(X)
        assert_same(selector.fit(there(X)), expected, X, there)


@not_jax
def test_relative_penalties(there):
    X = samples()
    selector = STPCASelector(4, penalty_units="relative", lam=0.05, eta=0.05, solver="paper")
    expected, found = clone(selector).fit(X), selector.fit(there(X))
    assert (found.lam_, found.eta_) == pytest.approx((expected.lam_, expected.eta_), rel=2e-4)


@not_jax
def test_chunks_give_what_all_samples_give(there):
    X = samples()
    selector = STPCASelector(4, solver="paper", **PENALTIES)
    expected = clone(selector).fit(X)
    for start in range(0, 40, 20):
        selector.partial_fit(there(X[start : start + 20]))
    assert selector.n_samples_seen_ == 40
    assert_same(selector, expected, X, there)


@pytest.mark.parametrize("solver", ["paper", "exact"])
def test_numpy_through_the_code_of_devices(monkeypatch, solver):
    X = samples()
    solver = PaperSolver() if solver == "paper" else ExactSolver(tol=1e-9)
    selector = STPCASelector(
        4, selection="top", basis="dft", score_by="energy", solver=solver, **PENALTIES
    )
    expected = clone(selector).fit(X)
    monkeypatch.setattr(
        "tensift.moments._oriented.empty_moments", lambda o, _, missing: DeviceMoments(o)
    )
    found = selector.fit(X)
    assert isinstance(found._moments, DeviceMoments)
    np.testing.assert_allclose(found.scores_, expected.scores_, rtol=1e-4)
    np.testing.assert_array_equal(found.order_, expected.order_)


@not_jax
def test_integers_and_single_precision(there):
    X = np.round(20 * samples())
    expected = STPCASelector(4, solver="paper", **PENALTIES).fit(X)
    found = STPCASelector(4, solver="paper", **PENALTIES).fit(there(X.astype(np.int64)))
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, atol=1e-10)
    single = STPCASelector(4, solver="paper", **PENALTIES).fit(there(X.astype(np.float32)))
    for name in ("scores_", "operators_", "objective_", "objective_path_"):
        assert to_numpy(getattr(single, name)).dtype == np.float32, name
    np.testing.assert_allclose(to_numpy(single.scores_), expected.scores_, atol=1e-3)
    np.testing.assert_array_equal(to_numpy(single.order_)[:4], expected.order_[:4])
    assert to_numpy(single.transform(there(X.astype(np.float32)))).dtype == np.float32


@only_torch
def test_of_single_precision_the_optimum_is_proven_in_double(there):
    X = samples().astype(np.float32)
    expected = STPCASelector(4, solver="exact", **PENALTIES).fit(X)
    found = STPCASelector(4, solver="exact", **PENALTIES).fit(there(X))
    for name in ("scores_", "operators_"):
        assert to_numpy(getattr(found, name)).dtype == np.float32, name
    for name in ("objective_", "objective_path_", "dual_objective_", "dual_gap_"):
        assert to_numpy(getattr(found, name)).dtype == np.float64, name
    assert to_numpy(found.dual_gap_).max() <= 1e-6
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, atol=1e-3)
    path = stpca_path(there(X), [0.3], [0.3], penalty_units="absolute")
    assert to_numpy(path.scores).dtype == np.float32
    np.testing.assert_allclose(to_numpy(path.scores)[0, 0], expected.scores_, atol=1e-3)


def check_without_double_precision(there):
    X = samples()
    expected = STPCASelector(4, solver="paper", **PENALTIES).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = STPCASelector(4, solver="paper", **PENALTIES).fit(there(X))
    assert to_numpy(found.scores_).dtype == np.float32
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, atol=1e-3)
    with pytest.raises(ValueError, match=r"values above 1e\+12"):
        found.fit(there(1e15 * X))
    with pytest.raises(ValueError, match="double precision"):
        STPCASelector(4, solver="exact").fit(there(X))


def test_devices_without_double_precision():
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    device = strict.Device("no_float64")
    check_without_double_precision(lambda x: strict.asarray(x.astype(np.float32), device=device))


@pytest.mark.slow
def test_jax_as_it_comes():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    with jax.enable_x64(False):
        check_without_double_precision(jax.numpy.asarray)


# Nothing is moved that was not asked for, but a few numbers for every slice that say when it is
# done. Of the samples here, anything that has a number for every feature has more than these.

FEW = 8 * 3


@only_torch
def test_torch_moves_nothing_to_the_host(there, monkeypatch):
    torch = pytest.importorskip("torch")
    X = there(tall_samples())

    def guarded(function):
        def call(x, *args, **kwargs):
            assert x.numel() <= FEW, "moved to the host"
            return function(x, *args, **kwargs)

        return call

    for name in ("cpu", "numpy", "__array__", "tolist", "__dlpack__"):
        monkeypatch.setattr(torch.Tensor, name, guarded(getattr(torch.Tensor, name)))
    for settings in ({"basis": "dft", "score_by": "energy"}, {"solver": "exact", "lam": 3.0}):
        settings = {"solver": "paper", "selection": "top"} | PENALTIES | settings
        selector = STPCASelector(4, **settings).fit(X)
        selector.partial_fit(X).inverse_transform(selector.transform(X))
        selector.score(X)
        selector.get_support(indices=True)
    path = stpca_path(X, [0.1, 1.0], [0.1], penalty_units="relative")
    path.ranking(1, 0)
    with pytest.raises(AssertionError, match="moved to the host"):
        selector.to_numpy()


@pytest.mark.parametrize("there", ["jax"], indirect=True)
def test_jax_moves_nothing_to_the_host(there, monkeypatch):
    jax = pytest.importorskip("jax")
    X = there(tall_samples())

    def guarded(function):
        def call(x, *args, **kwargs):
            assert not (isinstance(x, jax.Array) and x.size > FEW), "moved to the host"
            return function(x, *args, **kwargs)

        return call

    for name in ("asarray", "array", "asanyarray", "ascontiguousarray", "from_dlpack"):
        monkeypatch.setattr(np, name, guarded(getattr(np, name)))
    selector = STPCASelector(4, solver="paper", selection="top", **PENALTIES).fit(X)
    selector.inverse_transform(selector.transform(X))
    with pytest.raises(AssertionError, match="moved to the host"):
        selector.to_numpy()


@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
@only_torch
def test_nothing_is_moved_for_each_pick(there, monkeypatch, rule):
    """Similarities of samples and numbers about features are moved once, not for each pick."""
    torch = pytest.importorskip("torch")
    X = there(tall_samples())
    moved = []
    for name in ("cpu", "numpy", "__array__", "tolist", "__dlpack__", "item", "__int__"):
        original = getattr(torch.Tensor, name)

        def watched(x, *args, original=original, **kwargs):
            moved.append(x.numel())
            return original(x, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, watched)
    counts = []
    for count in (2, 20):
        moved.clear()
        STPCASelector(count, solver="paper", selection=rule, **PENALTIES).fit(X)
        counts.append(len(moved))
        assert max(moved, default=0) <= 60**2 < X.numel()  # similarities of 60 samples at most
    assert counts[0] == counts[1]


# What is refused


@only_torch
def test_samples_of_another_kind_than_fitted(there):
    X = samples()
    on_device, on_host = (
        STPCASelector(4, solver="paper", **PENALTIES).fit(x) for x in (there(X), X)
    )
    for call in (on_device.transform, on_device.score, on_device.partial_fit):
        with pytest.raises(ValueError, match="was fitted on a torch array"):
            call(X)
    with pytest.raises(ValueError, match="fitted on a torch array"):
        on_device.inverse_transform(np.ones((2, 4)))
    for call in (on_host.transform, on_host.score, on_host.partial_fit, on_host.inverse_transform):
        with pytest.raises(ValueError, match=r"fitted on NumPy arrays; pass X\.cpu\(\)\.numpy\(\)"):
            call(there(X))


def test_samples_on_another_device_than_fitted():
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    one, other = (strict.asarray(samples(), device=strict.Device(f"device{k}")) for k in (1, 2))
    selector = STPCASelector(4, solver="paper", **PENALTIES).fit(one)
    with pytest.raises(ValueError, match=r"X is a array_api_strict array on .*device2"):
        selector.transform(other)


@only_torch
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X * float("nan"), "contains NaN"),
        (lambda X: X / 0, "contains infinity"),
        (lambda X: X * 0 + 1, "X is constant"),
        (lambda X: X[:1], "minimum of 2"),
        (lambda X: X[:, :0], "mode of length zero"),
        (lambda X: X[0, 0], "at least two axes"),
        (lambda X: X[:, 0] + 0j, "Complex data not supported"),
        (lambda X: X * 1e200, "too large for sums of squares"),
        (lambda X: X * 1e-200, "too small for sums of squares"),
        (lambda X: X.half(), "dtype torch.float16; pass float32"),
        (lambda X: X.requires_grad_(), r"X\.detach\(\)"),
    ],
)
def test_bad_samples(there, change, message):
    with pytest.raises(ValueError, match=message):
        STPCASelector(4, solver="paper", **PENALTIES).fit(change(there(samples())))


@only_torch
def test_single_precision_has_a_range(there):
    X = (samples() * 1e9).astype(np.float32)
    with pytest.raises(ValueError, match="range of single precision; use scale='max'"):
        STPCASelector(4, scale=None, solver="paper").fit(there(X))
    expected = STPCASelector(4, solver="paper", **PENALTIES).fit(X)
    found = STPCASelector(4, solver="paper", **PENALTIES).fit(there(X))
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, atol=1e-3)


@only_torch
def test_other_estimators_say_what_to_do(there):
    X = there(samples())
    for info in list_selectors():
        if info.name not in ("STPCASelector", "GeometrySelector"):
            with pytest.raises(ValueError, match=r"NumPy arrays only; pass X\.cpu\(\)\.numpy\(\)"):
                info.make(n_features_to_select=3).fit(X)
    fitted = TensorPCA().fit(samples())
    calls = [TensorPCA().fit, SelectFromDecomposition(TensorPCA()).fit, fitted.transform]
    calls += [fitted.inverse_transform, lambda X: compare_selectors(X, n_features_to_select=3)]
    calls += [lambda X: reconstruction_error(X, [0, 1])]
    for call in calls:
        with pytest.raises(ValueError, match=r"NumPy arrays only; pass X\.cpu\(\)\.numpy\(\)"):
            call(X)


@only_torch
def test_moments_and_iterators(there):
    X = samples()
    moments = collect_moments(there(X), basis="dct")
    expected = STPCASelector(4, basis="dct", solver="paper", **PENALTIES).fit(X)
    found = STPCASelector(4, solver="paper", **PENALTIES).fit(moments)
    np.testing.assert_allclose(to_numpy(found.scores_), expected.scores_, atol=1e-8)
    with pytest.raises(ValueError, match="checkpoint cannot be used with X on a device"):
        collect_moments(there(X), checkpoint="moments.npz")
    with pytest.raises(ValueError, match=r"pass X\.to_numpy\(\) to TensorPCA"):
        TensorPCA().fit(moments)
    assert TensorPCA().fit(moments.to_numpy()).mean_.shape == (5, 6)
    with pytest.raises(ValueError, match="chunk 0 of X is a torch array"):
        STPCASelector(4, solver="paper").fit(iter([there(X)]))


# scikit-learn's habits


@only_torch
def test_clones_pipelines_and_data_frames(there):
    X = there(samples())
    kind = kind_of(X)
    pipeline = make_pipeline(
        STPCASelector(20, solver="paper", **PENALTIES),
        STPCASelector(5, solver="paper", **PENALTIES),
    )
    out = pipeline.fit_transform(X)
    assert kind_of(out) == kind
    assert tuple(out.shape) == (40, 5)
    assert kind_of(clone(pipeline).fit(X).transform(X)) == kind
    with pytest.raises(ValueError, match="set_output"):
        STPCASelector(4, solver="paper", **PENALTIES).set_output(transform="pandas").fit_transform(
            X
        )


@only_torch
def test_pickles_and_copies(there):
    X = there(samples())
    selector = STPCASelector(4, basis="dct", solver="paper", **PENALTIES).fit(X)
    for other in (pickle.loads(pickle.dumps(selector)), copy.deepcopy(selector)):
        np.testing.assert_array_equal(to_numpy(other.transform(X)), to_numpy(selector.transform(X)))


@not_jax
def test_on_the_host_a_fitted_selector_goes_on(there):
    X = samples()
    selector = STPCASelector(4, solver="paper", **PENALTIES).fit(there(X))
    host = selector.to_numpy()
    assert kind_of(selector.scores_) is not None
    for name in FITTED:
        assert isinstance(getattr(host, name), np.ndarray), name
        np.testing.assert_array_equal(getattr(host, name), to_numpy(getattr(selector, name)))
    np.testing.assert_array_equal(host.transform(X), to_numpy(selector.transform(there(X))))
    assert host.score(X) == pytest.approx(selector.score(there(X)), rel=1e-8)
    more = samples(1)
    expected = STPCASelector(4, solver="paper", **PENALTIES).fit(np.concatenate([X, more]))
    np.testing.assert_allclose(host.partial_fit(more).scores_, expected.scores_, atol=1e-8)


@only_torch
def test_gradients_flow_through_the_selected_features(there):
    X = there(samples())
    selector = STPCASelector(4, solver="paper", **PENALTIES).fit(X)
    leaf = X.clone().requires_grad_()
    selector.transform(leaf).sum().backward()
    support = to_numpy(selector.get_support()).reshape(5, 6)
    np.testing.assert_array_equal(to_numpy(leaf.grad), np.broadcast_to(support, (40, 5, 6)) * 1.0)


# Paths


@not_jax
@pytest.mark.parametrize("solver", ["paper", "exact"])
def test_a_path_is_that_of_numpy(there, solver, tmp_path):
    X = samples()
    grid = {"lams": [1.0, 0.1], "etas": [0.5, 2.0], "basis": "dft"}
    grid["solver"] = PaperSolver() if solver == "paper" else ExactSolver(tol=1e-9)
    expected = stpca_path(X, **grid, score_by="energy")
    found = stpca_path(there(X), **grid, score_by="energy")
    assert repr(found) == repr(expected)
    kind = kind_of(there(X))
    arrays = dict(vars(found))
    assert arrays.pop("names") is None
    assert arrays.pop("tol") == expected.tol
    for name, value in arrays.items():
        assert kind_of(value) == kind, name
        wanted = getattr(expected, name)
        assert tuple(value.shape) == wanted.shape, name
        if solver == "paper" or name in ("lams", "etas", "spread"):
            np.testing.assert_allclose(to_numpy(value), wanted, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(to_numpy(found.scores), expected.scores, atol=1e-4)
    np.testing.assert_allclose(to_numpy(found.objective), expected.objective, rtol=1e-8)
    for cell in ((0, 0), (1, 1)):
        ranking = found.ranking(*cell)
        assert kind_of(ranking) == kind
        np.testing.assert_array_equal(to_numpy(ranking), expected.ranking(*cell))
    found.save(tmp_path / "path.npz")
    loaded = SelectionPath.load(tmp_path / "path.npz")
    np.testing.assert_array_equal(loaded.scores, to_numpy(found.scores))


@only_torch
def test_paths_of_moments_and_gram_matrices(there):
    X = samples()
    expected = stpca_path(X, [0.5], [0.5], solver="paper")
    moments = STPCASelector(1, solver="paper").fit(there(X))._moments
    assert isinstance(moments, Moments)
    found = stpca_path(moments, [0.5], [0.5], solver="paper")
    np.testing.assert_allclose(to_numpy(found.scores), expected.scores, atol=1e-8)
    gram = Moments(Orientation((5, 6), 0, moments.orientation.transforms)).update(X).gram()
    expected = stpca_path(gram, [9.0], [9.0], solver="paper")
    there_gram = GramTensor(there(gram.array), gram.thin)
    found = stpca_path(there_gram, [9.0], [9.0], solver="paper")
    np.testing.assert_allclose(to_numpy(found.scores), expected.scores, atol=1e-8)
    np.testing.assert_allclose(to_numpy(found.spread), expected.spread, rtol=1e-12)
    with pytest.raises(ValueError, match="checkpoint cannot be used on a device"):
        stpca_path(there_gram, [9.0], [9.0], checkpoint="path.npz")
    with pytest.raises(ValueError, match="Hermitian"):
        stpca_path(GramTensor(there(gram.array + np.triu(np.ones((5, 5)))), False), [9.0], [9.0])


# Pictures and reports


@only_torch
def test_pictures_and_reports_are_those_of_numpy(there):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib.figure import Figure

    from tensift.plotting import PathDisplay, SelectionDisplay
    from tensift.report import make_report

    X = samples()
    for settings in ({}, {"feature_mode": 1}):
        selector = STPCASelector(4, solver="paper", **PENALTIES, **settings)
        expected = SelectionDisplay.from_estimator(clone(selector).fit(X), X, figure=Figure())
        found = SelectionDisplay.from_estimator(selector.fit(there(X)), there(X), figure=Figure())
        for one, other in zip(found.displays_, expected.displays_, strict=True):
            assert type(one) is type(other)
            for name, value in vars(other).items():
                if isinstance(value, np.ndarray) and value.dtype.kind in "fib":
                    np.testing.assert_allclose(getattr(one, name), value, atol=1e-8)
    path = stpca_path(there(X), [0.1, 1.0], [0.1], solver="paper")
    assert PathDisplay.from_path(path, figure=Figure()).axes_.shape == (2, 1)
    page = make_report(selector, there(X))
    assert page.startswith("<!doctype html>")
    assert len(page) == pytest.approx(len(make_report(clone(selector).fit(X), X)), rel=1e-2)


# The guide


@only_torch
def test_the_guide_runs(there):
    torch = pytest.importorskip("torch")
    page = Path(__file__).parents[1] / "docs" / "accelerators.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    torch.manual_seed(0)
    names = {}
    for block in blocks:
        exec(block.replace('device="cuda"', f"device={str(there(np.ones(1)).device)!r}"), names)
    assert tuple(names["kept"].shape) == (2000, 50)
    assert isinstance(names["on_host"].scores_, np.ndarray)
    assert names["on_host"].scores_.shape == (32, 24)
    assert len(blocks) == 3
