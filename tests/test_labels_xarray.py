"""DataArrays in, DataArrays out: values equal those of arrays, coordinates those of xarray."""

import pickle

import numpy as np
import pytest
from sklearn import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    SparseTensorPCA,
    STPCASelector,
    TensorPCA,
    collect_moments,
    stpca_path,
)
from tensift.labels import Names, unlabelled
from tensift.rivals import LaplacianScore, VarianceSelector

xarray = pytest.importorskip("xarray")
pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def field():
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(5, 5))
    values = np.einsum("ncx,cd->ndx", rng.normal(size=(60, 5, 6)), mix)
    return xarray.DataArray(
        values,
        dims=("time", "channel", "x"),
        coords={
            "time": np.arange("2020-01-01", "2020-03-01", dtype="M8[D]").astype("M8[ns]"),
            "season": ("time", ["dry"] * 30 + ["wet"] * 30),
            "channel": list("abcde"),
            "height": (("channel", "x"), rng.normal(size=(5, 6))),
        },
        name="wind",
        attrs={"units": "m/s"},
    )


SELECTORS = [
    STPCASelector(4, lam=0.1, eta=0.1),
    GeometrySelector(4),
    ColumnSubsetSelector(4),
    VarianceSelector(4),
    LaplacianScore(4),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("mode", [None, "channel", "x"])
def test_a_selection_is_that_of_the_array_and_carries_the_names(selector, mode, field):
    number = None if mode is None else field.dims.index(mode) - 1
    if mode is not None:
        selector = clone(selector).set_params(n_features_to_select=2)
    named = clone(selector).set_params(feature_mode=mode).fit(field)
    plain = clone(selector).set_params(feature_mode=number).fit(field.values)
    np.testing.assert_array_equal(named.scores_, plain.scores_)
    np.testing.assert_array_equal(named.order_, plain.order_)
    kept = named.transform(field)
    np.testing.assert_array_equal(kept.values, plain.transform(field.values))
    indices = named.get_support(indices=True)
    if mode is not None:
        assert kept.identical(field.isel({mode: indices}))
    else:
        channel, x = np.unravel_index(indices, (5, 6))
        truth = field.isel(
            channel=xarray.DataArray(channel, dims="feature"),
            x=xarray.DataArray(x, dims="feature"),
        )
        np.testing.assert_array_equal(kept.values, truth.values)
        assert kept.dims == ("time", "feature")
        for name in ("channel", "height", "season", "time"):
            assert kept.coords[name].variable.equals(truth.coords[name].variable)
        np.testing.assert_array_equal(kept.coords["x"], x)  # it had no coordinates of its own
        assert kept.attrs == field.attrs
        assert kept.name == field.name


def test_results_as_a_dataset(field):
    selector = GeometrySelector(2, feature_mode="channel").fit(field)
    found = selector.to_xarray()
    np.testing.assert_array_equal(found.score, selector.scores_)
    np.testing.assert_array_equal(found.selected, selector.get_support())
    assert list(found.channel.values[np.argsort(found["rank"].values)]) == [
        "abcde"[j] for j in selector.order_
    ]
    whole = GeometrySelector(3).fit(field).to_xarray()
    assert whole.score.dims == ("channel", "x")
    assert whole.coords["height"].equals(field.coords["height"])
    unnamed = GeometrySelector(3).fit(field.values).to_xarray()
    assert unnamed.score.dims == ("mode_0", "mode_1")


def test_names_of_features(field):
    channels = GeometrySelector(2, feature_mode="channel").fit(field)
    kept = channels.transform(field).channel.values
    assert list(channels.get_feature_names_out()) == list(kept)
    elements = GeometrySelector(2).fit(field)
    for name, index in zip(
        elements.get_feature_names_out(), elements.get_support(indices=True), strict=True
    ):
        assert name == f"channel={'abcde'[index // 6]},x={index % 6}"


@pytest.mark.parametrize("order", [("x", "time", "channel"), ("channel", "x", "time")])
def test_dimensions_may_come_in_any_order(order, field):
    turned = field.transpose(*order)
    selector = GeometrySelector(2, feature_mode="channel", sample_dim="time").fit(turned)
    plain = GeometrySelector(2, feature_mode="channel").fit(field)
    np.testing.assert_allclose(selector.scores_, plain.scores_, rtol=1e-9)
    indices = selector.get_support(indices=True)
    assert selector.transform(turned).identical(turned.isel(channel=indices))
    assert plain.transform(turned).identical(turned.isel(channel=indices))


def test_pixels_of_a_scene_are_samples():
    rng = np.random.default_rng(1)
    scene = xarray.DataArray(
        rng.normal(size=(7, 8, 2)) @ rng.normal(size=(2, 9)) + rng.normal(size=(7, 8, 9)),
        dims=("y", "x", "band"),
        coords={"band": np.linspace(400.0, 800.0, 9), "y": np.arange(7) * 10.0},
    )
    scene.band.attrs["units"] = "nm"
    selector = GeometrySelector(3, sample_dim=("y", "x")).fit(scene)
    plain = GeometrySelector(3).fit(scene.values.reshape(56, 9))
    np.testing.assert_array_equal(selector.order_, plain.order_)
    kept = selector.transform(scene)
    assert kept.identical(scene.isel(band=selector.get_support(indices=True)))
    assert selector.names_.units == {"band": "nm"}
    assert list(selector.get_feature_names_out()) == [f"band={b:g}" for b in kept.band.values]
    # Other scenes have other pixels.
    other = scene.isel(y=slice(0, 3))
    assert selector.transform(other).sizes == {"y": 3, "x": 8, "band": 3}
    back = selector.inverse_transform(kept)
    assert back.dims == ("y", "x", "band")
    np.testing.assert_array_equal(back.sel(band=kept.band), kept)
    assert back.band.equals(scene.band)


@pytest.mark.parametrize("mode", [None, "channel"])
def test_whole_samples_have_their_names_back(mode, field):
    selector = ColumnSubsetSelector(3, feature_mode=mode).fit(field)
    kept = selector.transform(field)
    plain = selector.transform(field.values)
    whole = selector.inverse_transform(kept)
    np.testing.assert_array_equal(whole, selector.inverse_transform(plain))
    values, deviations = selector.reconstruct(kept, return_std=True)
    for one in (whole, values, deviations):
        assert one.dims == field.dims
        for name in ("time", "season", "channel", "height"):
            assert one.coords[name].equals(field.coords[name])
    for ours, theirs in zip(
        (values, deviations), selector.reconstruct(plain, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_lazy_values_stay_lazy_and_give_the_same(field):
    lazy = field.chunk({"time": 20})
    plain = STPCASelector(4, lam=0.1, eta=0.1).fit(field)
    selector = STPCASelector(4, lam=0.1, eta=0.1).fit(lazy)
    np.testing.assert_allclose(selector.scores_, plain.scores_, rtol=1e-9)
    kept = selector.transform(lazy)
    assert kept.chunks is not None
    xarray.testing.assert_allclose(kept.compute(), plain.transform(field))


def test_files_are_read_in_chunks(field, tmp_path):
    pytest.importorskip("h5netcdf")
    field.to_netcdf(tmp_path / "wind.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "wind.nc", engine="h5netcdf") as stored:
        array = stored["wind"]
        assert not array.variable._in_memory
        selector = STPCASelector(2, lam=0.1, eta=0.1, feature_mode="channel").fit(array)
        assert not array.variable._in_memory
        plain = STPCASelector(2, lam=0.1, eta=0.1, feature_mode="channel").fit(field)
        np.testing.assert_allclose(selector.scores_, plain.scores_, rtol=1e-9)
        assert list(selector.get_feature_names_out()) == list(plain.get_feature_names_out())
        assert list(selector.transform(array).channel.values) == list(
            plain.transform(field).channel.values
        )


def test_multi_indexes_and_names_that_are_no_strings_survive():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    sites = pandas.MultiIndex.from_product([["north", "south"], [1, 2, 3]], names=["side", "no"])
    days = pandas.MultiIndex.from_product([[2020, 2021], range(20)], names=["year", "day"])
    array = xarray.DataArray(rng.normal(size=(40, 6, 4)), dims=("when", "site", 3))
    array = array.assign_coords(xarray.Coordinates.from_pandas_multiindex(sites, "site"))
    array = array.assign_coords(xarray.Coordinates.from_pandas_multiindex(days, "when"))
    selector = GeometrySelector(2, feature_mode="site").fit(array)
    kept = selector.transform(array)
    assert kept.identical(array.isel(site=selector.get_support(indices=True)))
    assert selector.get_feature_names_out()[0] in {f"{s}/{k}" for s, k in sites}
    elements = GeometrySelector(5).fit(array)
    found = elements.transform(array)
    site, other = np.unravel_index(elements.get_support(indices=True), (6, 4))
    assert list(found.coords["side"].values) == [sites[k][0] for k in site]
    np.testing.assert_array_equal(found.coords[3].values, other)
    assert list(found.indexes["when"]) == list(days)
    assert elements.to_xarray().score.dims == ("site", 3)


def test_datasets_pick_their_variable_or_stack_several(field):
    one = field.to_dataset()
    selector = VarianceSelector(3).fit(one)
    np.testing.assert_array_equal(selector.order_, VarianceSelector(3).fit(field).order_)
    both = xarray.Dataset({"wind": field, "rain": 2 * field, "note": ("time", ["-"] * 60)})
    channels = VarianceSelector(1, feature_mode="variable").fit(both)
    assert list(channels.get_feature_names_out()) == ["rain"]
    assert channels.transform(both).sizes["variable"] == 1
    uneven = xarray.Dataset({"wind": field, "mean": field.mean("x")})
    with pytest.raises(ValueError, match=r"X is a Dataset whose variables have different dim"):
        VarianceSelector(1).fit(uneven)
    with pytest.raises(ValueError, match="without a variable of numbers"):
        VarianceSelector(1).fit(both[["note"]])


def test_decompositions_return_labelled_coordinates(field):
    for pca in (TensorPCA(3, truncation="global"), SparseTensorPCA(2, lam=0.01)):
        plain = clone(pca).fit(field.values)
        pca.fit(field)
        found = pca.transform(field)
        assert found.dims == ("time", "component")
        assert found.time.equals(field.time)
        np.testing.assert_array_equal(found, plain.transform(field.values))
        back = pca.inverse_transform(found)
        assert back.dims == field.dims
        assert back.channel.equals(field.channel)
        np.testing.assert_array_equal(pca.to_xarray().components, plain.components_)
        assert pca.score(field) == plain.score(field.values)


def test_orientation_by_name(field):
    named = STPCASelector(4, orientation="x", lam=0.1, eta=0.1).fit(field)
    plain = STPCASelector(4, orientation=1, lam=0.1, eta=0.1).fit(field.values)
    assert named.orientation_ == 1
    np.testing.assert_array_equal(named.scores_, plain.scores_)
    path = stpca_path(field, [0.1], [0.1], orientation="x", feature_mode="channel")
    assert path.scores.shape == (1, 1, 5)


def test_names_travel_with_moments_and_streams(field):
    moments = collect_moments(field, sample_dim="time")
    selector = GeometrySelector(2, feature_mode="channel").fit(moments)
    assert selector.names_.dims == ("channel", "x")
    stream = STPCASelector(2, lam=0.1, eta=0.1, feature_mode="channel")
    stream.partial_fit(field[:30]).partial_fit(field[30:].transpose("x", "time", "channel"))
    whole = STPCASelector(2, lam=0.1, eta=0.1, feature_mode="channel").fit(field)
    np.testing.assert_allclose(stream.scores_, whole.scores_, rtol=1e-9)
    assert stream.transform(field).identical(whole.transform(field))
    copy = pickle.loads(pickle.dumps(stream))
    assert copy.transform(field).identical(whole.transform(field))


def test_a_second_fit_forgets_the_names(field):
    selector = GeometrySelector(2).fit(field)
    selector.fit(field.values)
    assert selector.names_ is None
    assert isinstance(selector.transform(field.values), np.ndarray)
    assert selector.get_feature_names_out()[0].startswith("x")


def test_set_output_makes_data_arrays(field):
    selector = GeometrySelector(2, feature_mode=0).set_output(transform="xarray")
    plain = selector.fit(field.values).transform(field.values)
    assert plain.dims == ("sample", "mode_0", "mode_1")
    named = selector.fit(field).transform(field)
    assert named.identical(field.isel(channel=selector.get_support(indices=True)))
    rows = field.isel(x=0, drop=True).values
    chain = make_pipeline(StandardScaler(), GeometrySelector(2)).set_output(transform="xarray")
    found = chain.fit_transform(rows)
    assert found.dims[0] == "sample"
    assert found.shape == (60, 2)
    frames = GeometrySelector(2).set_output(transform="pandas").fit(field.isel(x=0, drop=True))
    frame = frames.transform(field.isel(x=0, drop=True))
    assert list(frame.columns) == list(frames.get_feature_names_out())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sample_dim": "tiem"}, r"sample_dim='tiem' is not among the dimensions of X"),
        ({"sample_dim": ("time", "time")}, "must name some of the dimensions"),
        ({"sample_dim": ("time", "channel", "x")}, "leave at least one for features"),
        ({"feature_mode": "chanel"}, r"not a feature mode.*did you mean 'channel'"),
        ({"feature_mode": "time"}, r"feature_mode='time' is not a feature mode"),
        ({"orientation": "y"}, r"orientation='y' is not a feature mode"),
    ],
)
def test_misspelt_dimensions_are_one_clear_line(parameters, message, field):
    with pytest.raises(ValueError, match=message):
        STPCASelector(2, **parameters).fit(field)


def test_names_that_do_not_fit_are_one_clear_line(field):
    selector = GeometrySelector(2, feature_mode="channel").fit(field)
    with pytest.raises(ValueError, match="fitted samples have the feature dimension 'x'"):
        selector.transform(field.rename(x="z"))
    with pytest.raises(ValueError, match=r"X\.expand_dims"):
        selector.transform(field[0])
    with pytest.raises(ValueError, match="X has 'e' at place 0 of 'channel'"):
        selector.transform(field[:, ::-1])
    with pytest.raises(ValueError, match="pass what transform returns"):
        selector.inverse_transform(field.isel(x=0))
    with pytest.raises(ValueError, match="sample_dim='time' names a dimension, but X has no names"):
        GeometrySelector(2, sample_dim="time").fit(field.values)
    with pytest.raises(ValueError, match="feature_mode='channel' must be a number from 0"):
        GeometrySelector(2, feature_mode="channel").fit(field.values)


def test_bad_values_are_refused_as_in_arrays(field):
    broken = field.copy()
    broken[3, 2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        GeometrySelector(2).fit(broken)
    with pytest.raises(ValueError, match="NaN"):
        GeometrySelector(2).fit(field).transform(broken)


def test_names_say_what_does_not_fit():
    with pytest.raises(ValueError, match="dims must name each of the 2 feature modes"):
        Names((2, 3), ("a",))
    assert unlabelled(np.zeros((3, 2))).names is None
