"""The table of inputs (docs/inputs.md): every row selects what its plain array selects, by name.

A row is a function that gives what a user passes, the array that it is, and the names to expect.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from tensift import GeometrySelector, STPCASelector, collect_moments
from tensift.datasets import TensorDataset, from_long_frame, read_tensor
from tensift.rivals import VarianceSelector
from tensift.sources import Chunks

PAGE = Path(__file__).parents[1] / "docs" / "inputs.md"
RNG = np.random.default_rng(5)
# 24 recordings of 4 channels at 6 times.
CHANNELS = ["Fz", "Cz", "Pz", "Oz"]
TIMES = np.arange(6) / 10
SERIES = RNG.normal(size=(24, 2, 6)).repeat(2, axis=1) + RNG.normal(size=(24, 4, 6))
SERIES *= np.array([1.0, 1.5, 0.5, 2.0])[:, None]
# A scene of 6 x 5 pixels in 7 bands.
BANDS = np.linspace(450, 750, 7)
SCENE = RNG.normal(size=(6, 5, 2)) @ RNG.normal(size=(2, 7)) + RNG.normal(size=(6, 5, 7))
PIXELS = SCENE.reshape(30, 7)
CLASSES = RNG.integers(0, 3, (6, 5))
# 12 grey pictures.
PICTURES = RNG.integers(0, 256, (12, 4, 5), dtype=np.uint8)
TABLE = RNG.normal(size=(20, 5))
COLUMNS = ["height", "width", "depth", "weight", "age"]

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Zarr format 3:UserWarning"),
    pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


@dataclass
class Case:
    """What a user passes, and what must come out.

    `names` are those of all features, None for features without names. `options` are parameters of
    the selector, `plain` those for the array where they differ.
    """

    given: Any
    array: np.ndarray
    names: list[str] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    plain: dict[str, Any] = field(default_factory=dict)
    kind: Any = GeometrySelector
    count: int = 2


ROWS: dict[str, Callable[..., Case]] = {}
WRONG: dict[str, Callable[..., tuple[Callable[[], Any], str]]] = {}


def row(title):
    """Note the function of a row of the table."""

    def noted(function):
        ROWS[title] = function
        return function

    return noted


def wrong(title):
    """Note a function that gives a call that cannot work, and words of its error."""

    def noted(function):
        WRONG[title] = function
        return function

    return noted


def channels(given, array=SERIES, mode="channel", **options):
    """A case whose features are the channels of a recording."""
    return Case(given, array, CHANNELS, {"feature_mode": mode, **options}, {"feature_mode": 0})


def bands(given, **options):
    """A case whose features are the bands of a scene, and whose samples are pixels."""
    return Case(given, PIXELS, [f"band={one:g}" for one in BANDS], options)


# Arrays in memory


@row("NumPy array")
def numpy_array(folder):
    return Case(SERIES, SERIES, options={"feature_mode": 0})


@wrong("NumPy array")
def numpy_array_of_text(folder):
    return lambda: GeometrySelector(2).fit(np.array([["a", "b"], ["c", "d"]])), "a"


@row("list")
def nested_list(folder):
    return Case(TABLE.tolist(), TABLE)


@wrong("list")
def ragged_list(folder):
    return lambda: GeometrySelector(2).fit([[1, 2], [3]]), "X is ragged"


@row("torch tensor")
def torch_tensor(folder):
    torch = pytest.importorskip("torch")
    return Case(torch.asarray(SERIES), SERIES, options={"feature_mode": 1})


@wrong("torch tensor")
def torch_tensor_with_nan(folder):
    torch = pytest.importorskip("torch")
    tensor = torch.asarray(SERIES).clone()
    tensor[3, 0, 0] = torch.nan
    return lambda: GeometrySelector(2).fit(tensor), "NaN"


@row("TensorDataset")
def dataset(folder):
    return channels(TensorDataset(SERIES, dims=("channel", "time"), coords={"channel": CHANNELS}))


@wrong("TensorDataset")
def dataset_with_wrong_names(folder):
    return lambda: TensorDataset(SERIES, dims=("channel",)), "dims must name each of the 2"


@row("Moments")
def moments(folder):
    return Case(collect_moments(SERIES), SERIES, kind=STPCASelector, options={"feature_mode": 0})


@wrong("Moments")
def moments_for_a_method_that_needs_samples(folder):
    return lambda: VarianceSelector(2).fit(
        collect_moments(SERIES)
    ), "VarianceSelector needs samples"


# Frames


@row("pandas frame")
def pandas_frame(folder):
    pandas = pytest.importorskip("pandas")
    return Case(pandas.DataFrame(TABLE, columns=COLUMNS), TABLE, COLUMNS)


@wrong("pandas frame")
def pandas_frame_with_text(folder):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"name": ["a", "b"], "height": [1.8, 1.7]})
    return lambda: GeometrySelector(1).fit(frame), "columns that are not numbers: 'name' (text)"


@row("polars frame")
def polars_frame(folder):
    polars = pytest.importorskip("polars")
    return Case(polars.DataFrame(TABLE, schema=COLUMNS), TABLE, COLUMNS)


@wrong("polars frame")
def lazy_polars_frame(folder):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TABLE, schema=COLUMNS).lazy()
    return lambda: GeometrySelector(1).fit(frame), "pass X.collect()"


def long_pandas_frame():
    pandas = pytest.importorskip("pandas")
    trial, channel, time = (place.ravel() for place in np.indices(SERIES.shape))
    columns = {"trial": trial, "channel": np.array(CHANNELS)[channel], "time": TIMES[time]}
    return pandas.DataFrame({**columns, "value": SERIES.ravel()})


@row("long frame")
def long_frame(folder):
    frame = long_pandas_frame()
    dims = ["channel", "time"]
    return channels(from_long_frame(frame, sample="trial", dims=dims, value="value"))


@wrong("long frame")
def long_frame_with_a_row_missing(folder):
    frame = long_pandas_frame().drop(index=5)
    options = {"sample": "trial", "dims": ["channel", "time"], "value": "value"}
    return lambda: from_long_frame(frame, **options), "has trial=0, channel=Fz, time=0.5 nowhere"


# xarray


def data_array():
    xarray = pytest.importorskip("xarray")
    coords = {"channel": CHANNELS, "time": TIMES}
    return xarray.DataArray(SERIES, dims=("trial", "channel", "time"), coords=coords)


@row("DataArray")
def xarray_data_array(folder):
    return channels(data_array().transpose("channel", "time", "trial"), sample_dim="trial")


@wrong("DataArray")
def data_array_with_a_wrong_dimension(folder):
    selector = GeometrySelector(2, sample_dim="trails")
    return lambda: selector.fit(data_array()), "sample_dim='trails' is not among the dimensions"


@row("DataArray on Dask")
def xarray_on_dask(folder):
    pytest.importorskip("dask.array")
    return channels(data_array().chunk(trial=7))


@wrong("DataArray on Dask")
def xarray_on_dask_with_a_wrong_mode(folder):
    pytest.importorskip("dask.array")
    array = data_array().chunk(trial=7)
    return (
        lambda: GeometrySelector(2, feature_mode="chanel").fit(array),
        "did you mean 'channel'",
    )


@row("Dataset")
def xarray_dataset(folder):
    xarray = pytest.importorskip("xarray")
    coords = {"time": TIMES}
    parts = {name: (("trial", "time"), SERIES[:, k]) for k, name in enumerate(CHANNELS)}
    return channels(xarray.Dataset(parts, coords), mode="variable")


@wrong("Dataset")
def dataset_of_different_dimensions(folder):
    xarray = pytest.importorskip("xarray")
    parts = {"a": (("trial", "time"), SERIES[:, 0]), "b": (("trial",), SERIES[:, 0, 0])}
    return lambda: GeometrySelector(2).fit(xarray.Dataset(parts)), "different dimensions: a"


# Larger than memory


@row("memory map")
def memory_map(folder):
    np.save(folder / "a.npy", SERIES)
    return Case(np.load(folder / "a.npy", mmap_mode="r"), SERIES, options={"feature_mode": 0})


@wrong("memory map")
def memory_map_that_became_shorter(folder):
    np.save(folder / "a.npy", SERIES)
    mapped = np.load(folder / "a.npy", mmap_mode="r")
    os.truncate(folder / "a.npy", 1000)
    return lambda: GeometrySelector(2).fit(mapped), "a.npy is truncated"


@row("HDF5 dataset")
def hdf5_dataset(folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "a.h5", "w")
    return Case(file.create_dataset("x", data=SERIES), SERIES, options={"feature_mode": 0})


@wrong("HDF5 dataset")
def hdf5_dataset_of_text(folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "a.h5", "w")
    names = file.create_dataset("x", data=np.array([["a"], ["b"]], dtype="S1"))
    return lambda: GeometrySelector(2).fit(names), "not numeric; pass numbers"


@row("Zarr array")
def zarr_array(folder):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(folder / "a.zarr", data=SERIES)
    return Case(stored, SERIES, options={"feature_mode": 0})


@wrong("Zarr array")
def zarr_array_with_one_axis(folder):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(folder / "a.zarr", data=SERIES[:, 0, 0])
    return lambda: GeometrySelector(2).fit(stored), "X has shape (24,); it needs at least two axes"


@row("Dask array")
def dask_array(folder):
    dask = pytest.importorskip("dask.array")
    return Case(dask.from_array(SERIES, chunks=(7, 4, 6)), SERIES, options={"feature_mode": 0})


@wrong("Dask array")
def dask_array_with_one_axis(folder):
    dask = pytest.importorskip("dask.array")
    array = dask.from_array(SERIES[:, 0, 0], chunks=7)
    return lambda: GeometrySelector(2).fit(array), "X has shape (24,)"


@row("iterator of chunks, Chunks")
def iterator(folder):
    return Case(Chunks(lambda: (SERIES[k : k + 5] for k in range(0, 24, 5))), SERIES)


@wrong("iterator of chunks, Chunks")
def iterator_that_changes_its_shape(folder):
    chunks = iter([SERIES, SERIES[:, :3]])
    return lambda: GeometrySelector(2).fit(chunks), "shape"


@row("torch Dataset")
def torch_dataset(folder):
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.asarray(SERIES), torch.arange(24))
    return Case(pairs, SERIES, options={"feature_mode": 0})


@wrong("torch Dataset")
def torch_dataset_of_two_shapes(folder):
    torch = pytest.importorskip("torch")
    tensors = torch.asarray(SERIES)
    short = torch.utils.data.TensorDataset(tensors[:, :3])
    both = torch.utils.data.ConcatDataset([torch.utils.data.TensorDataset(tensors), short])
    return lambda: GeometrySelector(2).fit(both), "shape"


@row("DataLoader")
def data_loader(folder):
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.asarray(SERIES), torch.arange(24))
    loader = torch.utils.data.DataLoader(pairs, batch_size=5, shuffle=True)
    return Case(loader, SERIES, options={"feature_mode": 0})


@wrong("DataLoader")
def empty_data_loader(folder):
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader([], batch_size=5)
    return lambda: GeometrySelector(2).fit(loader), "X"


# Recordings


def recording(folder):
    mne = pytest.importorskip("mne")
    info = mne.create_info(CHANNELS, 10.0, "eeg")
    return mne, mne.EpochsArray(SERIES * 1e-6, info, tmin=0.0, verbose="ERROR")


@row("MNE Epochs")
def epochs(folder):
    _, found = recording(folder)
    return channels(found)


@wrong("MNE Epochs")
def epochs_with_a_sample_dim(folder):
    _, found = recording(folder)
    selector = GeometrySelector(2, sample_dim="epoch")
    return lambda: selector.fit(found), "sample_dim='epoch' is for xarray"


@row("MNE Evoked")
def evoked(folder):
    mne, found = recording(folder)
    return channels([mne.EvokedArray(one, found.info, tmin=0.0) for one in found.get_data()])


@wrong("MNE Evoked")
def one_evoked(folder):
    mne, found = recording(folder)
    one = mne.EvokedArray(SERIES[0], found.info)
    return lambda: GeometrySelector(2).fit(one), "pass a list of them"


@row("MNE Raw")
def raw(folder):
    mne, found = recording(folder)
    times = np.concatenate(list(SERIES), axis=1)
    made = mne.io.RawArray(times * 1e-6, found.info, verbose="ERROR")
    return Case(made, times.T, CHANNELS)


@wrong("MNE Raw")
def raw_without_a_fitted_channel(folder):
    mne, found = recording(folder)
    made = mne.io.RawArray(SERIES[0] * 1e-6, found.info, verbose="ERROR")
    selector = GeometrySelector(4).fit(made)
    other = made.copy().drop_channels(["Cz"])
    return lambda: selector.transform(other), "X has no channel Cz"


@row(".fif file")
def fif_file(folder):
    _, found = recording(folder)
    found.save(folder / "a-epo.fif", fmt="double", verbose="ERROR")
    return channels(read_tensor(folder / "a-epo.fif"))


@wrong(".fif file")
def damaged_fif_file(folder):
    _, found = recording(folder)
    found.save(folder / "a-epo.fif", verbose="ERROR")
    os.truncate(folder / "a-epo.fif", 3000)
    return lambda: read_tensor(folder / "a-epo.fif"), "a-epo.fif"


# Collections of series


@row("aeon collection")
def aeon_collection(folder):
    series = pytest.importorskip("tensift.series")
    pytest.importorskip("aeon")
    found = series.ChannelSelector(GeometrySelector(2)).fit(SERIES)
    return Case(found.selector_, SERIES, options={"feature_mode": 0})


@wrong("aeon collection")
def aeon_collection_of_unequal_length(folder):
    series = pytest.importorskip("tensift.series")
    pytest.importorskip("aeon")
    unequal = [SERIES[0], SERIES[1][:, :3]]
    selector = series.ChannelSelector(GeometrySelector(2))
    return lambda: selector.fit(unequal), "X has series of different lengths"


@row("sktime panel")
def sktime_panel(folder):
    series = pytest.importorskip("tensift.series")
    pytest.importorskip("sktime")
    from sktime.datatypes import convert_to

    panel = convert_to(SERIES, "pd-multiindex")
    found = series.SktimeChannelSelector(GeometrySelector(2)).fit(panel)
    return Case(found.selector_, SERIES, options={"feature_mode": 0})


@wrong("sktime panel")
def sktime_panel_of_unequal_length(folder):
    series = pytest.importorskip("tensift.series")
    pytest.importorskip("sktime")
    from sktime.datatypes import convert_to

    panel = convert_to(SERIES, "pd-multiindex").iloc[:-2]
    selector = series.SktimeChannelSelector(GeometrySelector(2))
    return lambda: selector.fit(panel), "length"


# Files


@row(".npy file")
def npy_file(folder):
    np.save(folder / "a.npy", SERIES)
    return Case(read_tensor(folder / "a.npy"), SERIES, options={"feature_mode": 0})


@wrong(".npy file")
def npy_file_of_objects(folder):
    np.save(folder / "a.npy", np.array([{}, {}], dtype=object), allow_pickle=True)
    return lambda: read_tensor(folder / "a.npy"), "a.npy"


@row(".npz file")
def npz_file(folder):
    np.savez(folder / "a.npz", x_train=SERIES, y_train=np.arange(24), ch_names=CHANNELS, fs=10)
    found = read_tensor(folder / "a.npz")
    assert found.labels.tolist() == list(range(24))
    np.testing.assert_allclose(found.coords["time"], TIMES)
    return channels(found)


@wrong(".npz file")
def npz_file_of_several_tensors(folder):
    np.savez(folder / "a.npz", one=SERIES, two=SERIES)
    return lambda: read_tensor(
        folder / "a.npz"
    ), "choose one with variable= (--variable): one (24, 4, 6), two"


@row(".mat file")
def mat_file(folder):
    scipy.io.savemat(folder / "a.mat", {"eeg": SERIES.transpose(1, 2, 0), "sfreq": 10.0})
    found = read_tensor(folder / "a.mat")  # samples are last in MATLAB
    assert found.dims == ("mode 0", "time")
    return Case(found, SERIES, options={"feature_mode": 0})


@wrong(".mat file")
def damaged_mat_file(folder):
    scipy.io.savemat(folder / "a.mat", {"eeg": SERIES})
    os.truncate(folder / "a.mat", 500)
    return lambda: read_tensor(folder / "a.mat"), "damaged or truncated MATLAB file"


@row("MATLAB scene with ground truth")
def matlab_scene(folder):
    scipy.io.savemat(folder / "scene.mat", {"scene": SCENE, "wavelengths": BANDS})
    scipy.io.savemat(folder / "scene_gt.mat", {"scene_gt": CLASSES})
    truth = folder / "scene_gt.mat"
    options = {"sample_axis": (0, 1), "labels": truth, "drop_label": 0}
    found = read_tensor(folder / "scene.mat", **options)
    kept = CLASSES.ravel() != 0
    np.testing.assert_array_equal(found.labels, CLASSES.ravel()[kept])
    return Case(found, PIXELS[kept], [f"band={one:g}" for one in BANDS])


@wrong("MATLAB scene with ground truth")
def matlab_scene_without_its_axes(folder):
    scipy.io.savemat(folder / "scene.mat", {"scene": SCENE})
    return (
        lambda: read_tensor(folder / "scene.mat", labels=CLASSES),
        "pass sample_axis=(0, 1) (--sample-axis 0,1) if every pixel is a sample",
    )


@row("HDF5 file")
def hdf5_file(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file["images"], file["chans"], file["sfreq"] = SERIES, CHANNELS, 10.0
        file["target"] = np.arange(24)
    found = read_tensor(folder / "a.h5")
    assert found.labels.tolist() == list(range(24))
    return channels(found)


@wrong("HDF5 file")
def hdf5_file_of_nothing(folder):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folder / "a.h5", "w") as file:
        file["names"] = CHANNELS
    return lambda: read_tensor(folder / "a.h5"), "no array of numbers; the file holds names"


@row("NetCDF file")
def netcdf_file(folder):
    pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    data_array().to_dataset(name="eeg").to_netcdf(folder / "a.nc", engine="h5netcdf")
    return channels(read_tensor(folder / "a.nc", sample_axis="trial"))


@wrong("NetCDF file")
def netcdf_file_with_a_wrong_axis(folder):
    pytest.importorskip("xarray")
    data_array().to_dataset(name="eeg").to_netcdf(folder / "a.nc", engine="scipy")
    call = lambda: read_tensor(folder / "a.nc", sample_axis="trails")  # noqa: E731
    return call, "no axis 'trails' for sample_axis (the axes are trial, channel, time)"


@row("Zarr store")
def zarr_store(folder):
    pytest.importorskip("xarray")
    pytest.importorskip("zarr")
    data_array().to_dataset(name="eeg").to_zarr(folder / "a.zarr", zarr_format=2)
    return channels(read_tensor(folder / "a.zarr"))


@wrong("Zarr store")
def damaged_zarr_store(folder):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(folder / "a.zarr", data=SERIES)
    (folder / "a.zarr" / "zarr.json").write_text("{")
    return lambda: read_tensor(folder / "a.zarr"), "damaged or truncated Zarr file"


@row("CSV table")
def csv_table(folder):
    lines = [",".join([*COLUMNS, "label"])]
    lines += [",".join([*map(repr, map(float, one)), "x"]) for one in TABLE]
    (folder / "a.csv").write_text("\n".join(lines) + "\n")
    found = read_tensor(folder / "a.csv")
    assert set(found.labels) == {"x"}
    return Case(found, TABLE, COLUMNS)


@wrong("CSV table")
def csv_table_with_text(folder):
    (folder / "a.csv").write_text("a,b\n1,2\n3,four\n")
    return lambda: read_tensor(folder / "a.csv"), "line 3, column 'b': 'four' is not a number"


@row("long CSV table")
def long_csv_table(folder):
    frame = long_pandas_frame()
    frame.to_csv(folder / "a.csv", index=False)
    return channels(read_tensor(folder / "a.csv", long=["trial", "channel", "time"]))


@wrong("long CSV table")
def long_csv_table_with_a_line_missing(folder):
    long_pandas_frame().drop(index=5).to_csv(folder / "a.csv", index=False)
    return (
        lambda: read_tensor(folder / "a.csv", long=["trial", "channel", "time"]),
        "it has trial=0, channel=Fz, time=0.5 nowhere",
    )


@row("folder of pictures")
def folder_of_pictures(folder):
    image = pytest.importorskip("PIL.Image")
    for place, pixels in enumerate(PICTURES):
        image.fromarray(pixels).save(folder / f"{place}.png")
    names = [f"row={i},column={j}" for i in range(4) for j in range(5)]
    return Case(read_tensor(folder), PICTURES, names)


@wrong("folder of pictures")
def pictures_of_two_sizes(folder):
    image = pytest.importorskip("PIL.Image")
    for place, pixels in enumerate(PICTURES):
        image.fromarray(pixels[: 3 if place == 7 else 4]).save(folder / f"{place}.png")
    return lambda: read_tensor(folder), "7.png: 3 x 5 pixels, grey, but 0.png has 4 x 5 pixels"


@row("multi-page TIFF")
def pages(folder):
    tifffile = pytest.importorskip("tifffile")
    with tifffile.TiffWriter(folder / "a.tif") as file:
        for pixels in PICTURES:
            file.write(pixels)
    names = [f"row={i},column={j}" for i in range(4) for j in range(5)]
    return Case(read_tensor(folder / "a.tif"), PICTURES, names)


@wrong("multi-page TIFF")
def one_page(folder):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "a.tif", PICTURES[0])
    return lambda: read_tensor(folder / "a.tif"), "one picture is not a data set"


@row("GeoTIFF")
def geotiff(folder):
    rasterio = pytest.importorskip("rasterio")
    profile = {"driver": "GTiff", "height": 6, "width": 5, "count": 7, "dtype": "float64"}
    place = rasterio.transform.from_origin(500000, 4649776, 30, 30)
    with rasterio.open(
        folder / "a.tif", "w", crs="EPSG:32633", transform=place, **profile
    ) as scene:
        scene.write(SCENE.transpose(2, 0, 1))
    found = read_tensor(folder / "a.tif")
    assert found.sample_shape == (6, 5)
    return Case(found, PIXELS, [f"band={k}" for k in range(7)])


@wrong("GeoTIFF")
def geotiff_that_ends_early(folder):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "a.tif", SCENE, photometric="minisblack", planarconfig="contig")
    os.truncate(folder / "a.tif", 700)
    return lambda: read_tensor(folder / "a.tif"), "a.tif"


@row("ENVI scene")
def envi_scene(folder):
    (folder / "a.img").write_bytes(SCENE.transpose(2, 0, 1).tobytes())
    waves = ", ".join(map(str, BANDS))
    (folder / "a.hdr").write_text(
        "ENVI\nsamples = 5\nlines = 6\nbands = 7\ndata type = 5\ninterleave = bsq\n"
        f"byte order = 0\nwavelength = {{{waves}}}\n"
    )
    return bands(read_tensor(folder / "a.hdr"))


@wrong("ENVI scene")
def envi_scene_without_numbers(folder):
    (folder / "a.hdr").write_text(
        "ENVI\nsamples = 5\nlines = 6\nbands = 7\ndata type = 5\ninterleave = bsq\nbyte order = 0\n"
    )
    return lambda: read_tensor(folder / "a.hdr"), "a.hdr"


# What the rows promise


def fitted(case, given, options):
    count = {"n_features_to_select": case.count}
    if case.kind is STPCASelector:
        count |= {"selection": "top", "lam": 0.1, "eta": 0.1}
    return case.kind(**count, **options).fit(given)


@pytest.mark.parametrize("title", ROWS)
def test_a_row_selects_what_its_array_selects(title, tmp_path):
    case = ROWS[title](tmp_path)
    found = case.given
    if not hasattr(found, "order_"):  # adapters of other libraries have fitted already
        found = fitted(case, case.given, case.options)
    truth = fitted(case, case.array, case.plain or case.options)
    np.testing.assert_array_equal(np.asarray(found.order_), truth.order_)
    scale = np.abs(truth.scores_).max()
    np.testing.assert_allclose(np.asarray(found.scores_), truth.scores_, atol=1e-6 * scale)
    if case.names is not None:
        kept = truth.get_support(indices=True)
        assert list(found.get_feature_names_out()) == [case.names[k] for k in kept]


@pytest.mark.parametrize("title", WRONG)
def test_what_cannot_work_is_said_in_one_line(title, tmp_path):
    call, words = WRONG[title](tmp_path)
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    message = str(caught.value)
    assert words in message
    assert "\n" not in message


def rows_of_page():
    """The first cells of the tables that begin with "what you pass"."""
    tables = re.findall(
        r"^\| what you pass .*\n\|-.*\n((?:\|.*\n)+)", PAGE.read_text(), re.MULTILINE
    )
    lines = "".join(tables).splitlines()
    return [line.split(" | ")[0].removeprefix("| ").replace("`", "") for line in lines]


def test_the_page_has_all_rows_and_no_others():
    assert sorted(rows_of_page()) == sorted(ROWS)
    assert sorted(WRONG) == sorted(ROWS)
