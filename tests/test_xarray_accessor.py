"""The accessor ``.tensift`` and results as Datasets: equal to the arrays, with the coordinates."""

import subprocess
import sys

import numpy as np
import pytest

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    compare_selectors,
    stability_selection,
    stpca_path,
)
from tensift.rivals import VarianceSelector

xarray = pytest.importorskip("xarray")
accessor = pytest.importorskip("tensift.xarray")


@pytest.fixture(scope="module")
def recording():
    values = np.random.default_rng(0).normal(size=(40, 4, 6)) * np.array([1, 4, 2, 3])[:, None]
    return xarray.DataArray(
        values,
        dims=("trial", "channel", "time"),
        coords={
            "channel": ["Fz", "Cz", "Pz", "Oz"],
            "time": ("time", np.arange(6) / 10, {"units": "s"}),
            "task": ("trial", ["left", "right"] * 20),
        },
        name="eeg",
    )


@pytest.mark.parametrize("method", ["geometry", "stpca", "variance", "column subset"])
@pytest.mark.parametrize("mode", [None, "channel"])
def test_select_and_scores_are_those_of_the_selector(recording, method, mode):
    number = None if mode is None else 0
    kind = type(accessor.TensiftAccessor(recording).fit(VarianceSelector(2)))
    assert kind is VarianceSelector
    kept = recording.tensift.select(2, method=method, feature_mode=mode)
    scores = recording.tensift.scores(2, method=method, feature_mode=mode)
    from tensift.comparison import find_selector

    plain = find_selector(method).selector(2, feature_mode=number).fit(recording.values)
    np.testing.assert_array_equal(scores.values, plain.scores_)
    np.testing.assert_array_equal(kept.values, plain.transform(recording.values))
    if mode == "channel":
        assert kept.identical(recording.isel(channel=plain.get_support(indices=True)))
        assert scores.channel.equals(recording.channel)
    else:
        assert kept.dims == ("trial", "feature")
        assert scores.time.attrs == {"units": "s"}


@pytest.mark.parametrize("method", ["geometry", "variance"])
def test_any_dimensions_may_count_samples(method):
    values = np.random.default_rng(1).normal(size=(5, 6, 7)) * np.arange(1, 8)
    scene = xarray.DataArray(values, dims=("y", "x", "band"), coords={"band": 400.0 + np.arange(7)})
    plain = scene.tensift.fit(
        VarianceSelector(3) if method == "variance" else GeometrySelector(3), sample_dim=("y", "x")
    )
    truth = type(plain)(3).fit(values.reshape(30, 7))
    np.testing.assert_array_equal(plain.order_, truth.order_)
    turned = scene.transpose("band", "x", "y")
    kept = turned.tensift.select(3, method=method, sample_dim=["y", "x"])
    assert kept.identical(turned.isel(band=truth.get_support(indices=True)))


def test_a_selector_of_the_user_is_not_changed(recording):
    selector = GeometrySelector(2, feature_mode="time")
    fitted = recording.tensift.fit(selector, sample_dim="channel")
    assert fitted is not selector
    assert not hasattr(selector, "order_")
    assert selector.sample_dim is None
    assert fitted.feature_shape_ == (40, 6)


def test_dask_stays_lazy(recording):
    dask = pytest.importorskip("dask.array")
    lazy = recording.chunk(trial=10)
    kept = lazy.tensift.select(2, feature_mode="channel")
    assert isinstance(kept.data, dask.Array)
    truth = recording.tensift.select(2, feature_mode="channel")
    assert kept.compute().identical(truth)


def test_what_does_not_fit_is_refused_in_one_line(recording):
    def message(call, error):
        with pytest.raises(error) as caught:
            call()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    found = message(lambda: recording.tensift.select(2, feature_mode="chanel"), ValueError)
    assert "did you mean 'channel'" in found
    found = message(lambda: recording.tensift.select(2, method="geometri"), ValueError)
    assert "did you mean GeometrySelector" in found
    found = message(lambda: recording.tensift.select(2, method="variance", lam=1), TypeError)
    assert "VarianceSelector has no parameter 'lam'; it has" in found
    found = message(lambda: recording.tensift.select(2, method=GeometrySelector(2)), TypeError)
    assert ".tensift.fit(selector)" in found
    found = message(lambda: recording.tensift.fit(GeometrySelector), TypeError)
    assert "such as GeometrySelector(20)" in found
    found = message(lambda: recording.tensift.select(2, sample_dim="trials"), ValueError)
    assert "sample_dim='trials' is not among the dimensions" in found


def test_xarray_missing():
    code = "import sys; sys.modules['xarray'] = None\nimport tensift.xarray"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = ran.stderr.strip().splitlines()[-1]
    words = "ImportError: tensift.xarray needs xarray; install it with pip install tensift[xarray]"
    assert last == words


def test_results_of_a_path(recording):
    path = stpca_path(recording, lams=[0.1, 1], etas=[0.1, 1, 10], feature_mode="channel")
    found = path.to_xarray()
    assert found.score.dims == ("lam", "eta", "channel")
    for i, lam in enumerate(path.lams):
        one = found.score.sel(lam=lam, eta=10)
        np.testing.assert_array_equal(one.values, path.scores[i, 2])
    assert found.channel.equals(recording.channel.drop_attrs())
    np.testing.assert_array_equal(found.dual_gap, path.dual_gap)
    assert found.dual_gap.dims == ("lam", "eta", "slice")
    unnamed = stpca_path(recording.values, lams=[1], etas=[1]).to_xarray()
    assert unnamed.spread.dims == ("mode_0", "mode_1")


@pytest.mark.parametrize("mode", [None, "channel"])
def test_results_of_a_stability_selection(recording, mode):
    found = stability_selection(GeometrySelector(2, feature_mode=mode), recording, n_resamples=4)
    named = found.to_xarray()
    assert named.probability.dims == (("channel", "time") if mode is None else ("channel",))
    np.testing.assert_array_equal(named.probability, found.probabilities)
    np.testing.assert_array_equal(named.selected, found.support)
    best = named.probability.values.ravel()[np.argsort(named["rank"].values.ravel())]
    assert (np.diff(best) <= 0).all()
    assert int(named.kept_on_all.sum()) == 2
    assert named.channel.values.tolist() == ["Fz", "Cz", "Pz", "Oz"]
    assert named.attrs["threshold"] == found.threshold


@pytest.mark.parametrize("mode", [None, "channel"])
def test_results_of_a_comparison(recording, mode):
    found = compare_selectors(recording, ["geometry"], 2, feature_mode=mode, n_resamples=2)
    named = found.to_xarray()
    assert named.selector.values.tolist() == list(found.methods)
    for method in found.methods:
        one = named.sel(selector=method)
        np.testing.assert_array_equal(one.score, found.scores[method])
        order = np.argsort(one["rank"].values.ravel())
        np.testing.assert_array_equal(order, found.orders[method])
        np.testing.assert_array_equal(
            np.flatnonzero(one.selected.values), np.sort(found.features[method])
        )
        assert float(one.neighbours_kept) == found.mean("neighbours_kept", method)
    assert named.channel.values.tolist() == ["Fz", "Cz", "Pz", "Oz"]


def test_results_of_a_reconstruction_curve(recording):
    selector = ColumnSubsetSelector(3, feature_mode="channel").fit(recording[:30])
    curve = selector.reconstruction_curve(recording[30:])
    found = curve.to_xarray()
    assert found.element_error.dims == ("n_features", "channel", "time")
    for count, error in zip(curve.counts, curve.errors, strict=True):
        assert float(found.error.sel(n_features=count)) == error
    kept = recording.channel.values[selector.order_[:1]]
    assert float(found.element_error.sel(n_features=1, channel=kept).max()) < 1e-20
    plain = (
        ColumnSubsetSelector(3)
        .fit(recording.values[:30])
        .reconstruction_curve(recording.values[30:])
    )
    assert plain.to_xarray().element_variance.dims == ("mode_0", "mode_1")
