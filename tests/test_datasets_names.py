"""The names in npz and HDF5 files, in the spellings that people use."""

import h5py
import numpy as np
import pytest
import scipy.io

from tensift.datasets import read_tensor

RNG = np.random.default_rng(3)
DATA = RNG.normal(size=(6, 4, 10))
NAMES = ["Fz", "Cz", "Pz", "Oz"]


def read(tmp_path, *, options=None, **arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    return read_tensor(tmp_path / "a.npz", **(options or {}))


@pytest.mark.parametrize("name", ["data", "X", "x", "x_train", "X_train", "images", "anything"])
def test_the_data(tmp_path, name):
    dataset = read(tmp_path, **{name: DATA, "weights": np.ones(3)})
    np.testing.assert_array_equal(dataset.data, DATA)


def test_a_vector_x_is_a_coordinate(tmp_path):
    np.testing.assert_array_equal(read(tmp_path, x=np.arange(3), values=DATA).data, DATA)


@pytest.mark.parametrize(
    "name", ["y", "labels", "label", "target", "targets", "gt", "scene_gt", "gnd", "Y", "Labels"]
)
def test_the_labels(tmp_path, name):
    assert read(tmp_path, data=DATA, **{name: np.arange(6)}).labels.tolist() == list(range(6))


def test_the_two_halves_of_a_set(tmp_path):
    """As Keras names them; labels follow the half that is read."""
    halves = {"x_train": DATA, "y_train": range(6), "x_test": DATA[:2], "y_test": [7, 8]}
    train = read(tmp_path, **halves)
    np.testing.assert_array_equal(train.data, DATA)
    assert train.labels.tolist() == list(range(6))
    test = read(tmp_path, options={"variable": "x_test"}, **halves)
    np.testing.assert_array_equal(test.data, DATA[:2])
    assert test.labels.tolist() == [7, 8]


def test_pictures_with_their_labels(tmp_path):
    halves = {"train_images": DATA, "train_labels": range(6), "test_images": DATA[:2]}
    train = read(tmp_path, options={"variable": "train_images"}, test_labels=[7, 8], **halves)
    assert train.labels.tolist() == list(range(6))
    test = read(tmp_path, options={"variable": "test_images"}, test_labels=[7, 8], **halves)
    assert test.labels.tolist() == [7, 8]


def test_a_matrix_with_a_capital_is_no_list_of_labels(tmp_path):
    assert read(tmp_path, X=DATA, Y=np.ones((6, 2))).labels is None
    with pytest.raises(ValueError, match="several arrays, choose one"):
        read(tmp_path, Y=DATA, M=np.ones((6, 2)))
    np.testing.assert_array_equal(read(tmp_path, Y=DATA, other=np.ones(6)).data, DATA)


def test_columns_of_a_table(tmp_path):
    """As scikit-learn names them; only rows have columns."""
    rows, names = DATA[:, :, 0], ["height", "width", "age", "weight"]
    dataset = read(tmp_path, data=rows, feature_names=names, target=range(6))
    assert dataset.dims == ("column",)
    assert dataset.coords["column"].tolist() == names
    assert read(tmp_path, data=DATA, columns=names).dims is None


def test_a_unit_in_a_name(tmp_path):
    dataset = read(tmp_path, data=DATA, dims=["place", "band"], wavelengths_nm=np.arange(10) + 400)
    assert dataset.names.title(1) == "band (nm)"


def test_the_spelling_in_lower_case_comes_first(tmp_path):
    dataset = read(tmp_path, data=DATA, Channels=list("abcd"), channels=NAMES)
    assert dataset.coords["channel"].tolist() == NAMES


def test_scikit_learns_pictures(tmp_path):
    rows = DATA.reshape(6, -1)
    dataset = read(tmp_path, data=rows, images=DATA, target=np.arange(6))
    np.testing.assert_array_equal(dataset.data, rows)
    dataset = read(tmp_path, options={"variable": "images"}, data=rows, images=DATA)
    np.testing.assert_array_equal(dataset.data, DATA)
    names = np.array([["a.png"], ["b.png"]])
    np.testing.assert_array_equal(read(tmp_path, images=names, cube=DATA).data, DATA)


@pytest.mark.parametrize("name", ["mask", "gt"])
def test_what_is_beside_data_can_be_data(tmp_path, name):
    np.testing.assert_array_equal(read(tmp_path, **{name: DATA[..., 0]}).data, DATA[..., 0])
    np.testing.assert_array_equal(read(tmp_path, cube=DATA, **{name: np.ones(6)}).data, DATA)


@pytest.mark.parametrize(
    "name", ["channels", "ch_names", "channel_names", "chans", "electrodes", "Channels", "sensors"]
)
def test_channels(tmp_path, name):
    dataset = read(tmp_path, data=DATA, **{name: NAMES})
    assert dataset.dims == ("channel", "mode 1")
    assert dataset.coords["channel"].tolist() == NAMES
    dataset = read(tmp_path, data=DATA, dims=["channels", "when"], **{name: NAMES})
    assert dataset.dims == ("channels", "when")
    assert dataset.coords["channels"].tolist() == NAMES
    # What coords_ says comes first.
    dataset = read(
        tmp_path, data=DATA, dims=["channel", "t"], coords_channel=np.arange(4), **{name: NAMES}
    )
    assert dataset.coords["channel"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "name", ["wavelengths", "wavelength", "bands", "band_names", "wl", "Wavelengths"]
)
def test_bands(tmp_path, name):
    waves = np.linspace(400, 1000, 10)
    dataset = read(tmp_path, data=DATA, options={"sample_axis": (0, 1)}, **{name: waves})
    assert dataset.dims == ("band",)
    np.testing.assert_array_equal(dataset.coords["band"], waves)


@pytest.mark.parametrize(
    "rate", ["sfreq", "fs", "Fs", "sampling_rate", "sample_rate", "srate", "FS", "sf"]
)
def test_times(tmp_path, rate):
    dataset = read(tmp_path, data=DATA, ch_names=NAMES, **{rate: 250})
    assert dataset.dims == ("channel", "time")
    np.testing.assert_allclose(dataset.coords["time"], np.arange(10) / 250)
    dataset = read(tmp_path, data=DATA, dims=["time", "channel"], **{rate: [[0.5]]})
    np.testing.assert_allclose(dataset.coords["time"], [0, 2, 4, 6])
    dataset = read(tmp_path, data=DATA, times=np.arange(10) - 3, **{rate: 250})
    assert dataset.coords["time"].tolist() == list(range(-3, 7))
    dataset = read(tmp_path, data=DATA[..., 0], ch_names=NAMES, **{rate: 250})
    assert dataset.dims == ("channel",)


@pytest.mark.parametrize("rate", [0, -1, np.nan, np.inf, 1j, [1, 2], "fast"])
def test_rates_that_are_none(tmp_path, rate):
    assert read(tmp_path, data=DATA, fs=rate).dims is None


def test_names_that_mean_something_else(tmp_path):
    assert read(tmp_path, data=DATA, channels=4).dims is None  # a count
    assert read(tmp_path, data=DATA, bands=np.ones((3, 2))).dims is None
    assert read(tmp_path, data=DATA, ch_names=NAMES[:3]).dims is None
    np.savez(tmp_path / "a.npz", data=DATA, ch_names=np.array(NAMES, dtype=object))
    assert read_tensor(tmp_path / "a.npz").dims is None  # never unpickled


def test_names_that_fit_two_modes(tmp_path):
    with pytest.warns(UserWarning, match="4 names, which fit several modes"):
        dataset = read(tmp_path, data=np.ones((3, 4, 4)), ch_names=NAMES)
    assert dataset.dims is None
    dataset = read(tmp_path, data=np.ones((3, 4, 4)), dims=["time", "channel"], ch_names=NAMES)
    assert dataset.coords["channel"].tolist() == NAMES


def test_other_formats(tmp_path):
    waves = np.linspace(400, 1000, 10)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["ch_names"], file["fs"] = DATA, NAMES, 2.0
    dataset = read_tensor(tmp_path / "a.h5")
    assert dataset.coords["channel"].tolist() == NAMES
    assert dataset.coords["time"][-1] == 4.5
    scipy.io.savemat(tmp_path / "a.mat", {"cube": DATA, "wavelengths": waves})
    dataset = read_tensor(tmp_path / "a.mat", sample_axis=(0, 1))
    np.testing.assert_array_equal(dataset.coords["band"], waves)
