"""NetCDF files and Zarr stores: what xarray reads from them is what we read."""

import base64
import csv
import json
import math
import shutil
import sys

import h5py
import numpy as np
import pytest

from tensift.cli import main
from tensift.datasets import _spool, _stored, open_tensor_file, read_tensor

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
pytest.importorskip("h5netcdf")
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Zarr format 3:UserWarning"),
    pytest.mark.filterwarnings("ignore:The data type:Warning"),
]
KINDS = ("netcdf4", "netcdf3", "zarr2", "zarr3")
MONTHS = np.arange("2020-01", "2020-09", dtype="M8[M]").astype("M8[ns]")


def temperatures():
    """Eight months on a small map, with names of all kinds."""
    values = np.random.default_rng(0).normal(15, 3, (8, 3, 4))
    return xarray.Dataset(
        {
            "sst": (("time", "lat", "lon"), values, {"units": "degC"}),
        },
        coords={
            "time": MONTHS,
            "lat": ("lat", [10.0, 20.0, 30.0], {"units": "degrees_north"}),
            "lon": ("lon", [0.0, 1.0, 2.0, 3.0], {"units": "degrees_east"}),
            "season": ("time", ["cold"] * 4 + ["warm"] * 4),
            "place": ("lon", ["a", "b", "c", "d"]),
        },
    )


def write(dataset, folder, kind, **encoding):
    if kind.startswith("zarr"):
        path = folder / "a.zarr"
        dataset.to_zarr(path, mode="w", zarr_format=int(kind[-1]), encoding=encoding)
        return path
    path = folder / "a.nc"
    engine = "h5netcdf" if kind == "netcdf4" else "scipy"
    dataset.to_netcdf(path, engine=engine, encoding=encoding)
    return path


def message_of(call, error=ValueError):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


def outcome(call):
    """Return the message of an error of a reader, None without an error."""
    try:
        call()
    except (ValueError, OSError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", KINDS)
class TestNames:
    def test_values_dimensions_and_coordinates(self, tmp_path, kind):
        dataset = temperatures()
        found = read_tensor(write(dataset, tmp_path, kind))
        np.testing.assert_array_equal(found.data, dataset.sst.values)
        assert found.dims == ("lat", "lon")
        for dim in found.dims:
            np.testing.assert_array_equal(found.coords[dim], dataset[dim].values)
        assert found.labels is None

    def test_units(self, tmp_path, kind):
        path = write(temperatures(), tmp_path, kind)
        stored = open_tensor_file(path).arrays["sst"]
        assert stored.axes == ("time", "lat", "lon")
        assert dict(stored.units) == {"lat": "degrees_north", "lon": "degrees_east"}

    def test_samples_by_name(self, tmp_path, kind):
        dataset = temperatures()
        path = write(dataset, tmp_path, kind)
        for axes in (("lon", "lat"), "lon,lat"):
            found = read_tensor(path, sample_axis=axes)
            truth = dataset.sst.transpose("lon", "lat", "time").values.reshape(12, 8)
            np.testing.assert_array_equal(found.data, truth)
            assert found.sample_shape == (4, 3)
        assert found.dims == ("time",)
        np.testing.assert_array_equal(found.coords["time"], MONTHS)

    def test_labels_along_the_samples(self, tmp_path, kind):
        dataset = temperatures()
        dataset["labels"] = ("time", np.arange(8) % 3)
        path = write(dataset, tmp_path, kind)
        assert read_tensor(path).labels.tolist() == (np.arange(8) % 3).tolist()
        assert read_tensor(path, labels="season").labels.tolist() == ["cold"] * 4 + ["warm"] * 4
        by_place = read_tensor(path, sample_axis="lon", labels="place")
        assert by_place.labels.tolist() == ["a", "b", "c", "d"]
        assert read_tensor(path, sample_axis="lon").labels is None

    def test_labels_of_pixels_are_found_by_their_dimensions(self, tmp_path, kind):
        """A map that is stored as (x, y) for a scene (y, x, band), both of equal length."""
        dataset = temperatures().isel(lon=slice(3))
        values = np.arange(9).reshape(3, 3)
        dataset["labels"] = (("lon", "lat"), values)
        dataset["land"] = (("lon", "lat"), (values % 4 != 3).astype("i1"))
        path = write(dataset, tmp_path, kind)
        found = read_tensor(path, variable="sst", sample_axis="lat,lon")
        assert found.labels.tolist() == values.T.ravel().tolist()
        part = read_tensor(path, variable="sst", sample_axis="lat,lon", mask="land")
        assert part.labels.tolist() == [k for k in values.T.ravel() if k % 4 != 3]
        assert read_tensor(path, variable="sst").labels is None  # they are not along time

    def test_dimensions_called_x_and_y_are_no_data_and_no_labels(self, tmp_path, kind):
        dataset = temperatures().rename(lat="y", lon="x")
        path = write(dataset, tmp_path, kind)
        found = read_tensor(path, sample_axis="y,x")
        np.testing.assert_array_equal(found.data, dataset.sst.values.reshape(8, 12).T)
        assert found.labels is None

    def test_packed_values_and_marks_are_decoded(self, tmp_path, kind):
        dataset = temperatures()
        dataset["sst"][2, 1, 1] = np.nan
        packing = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -9999}
        path = write(dataset, tmp_path, kind, sst=packing)
        found = read_tensor(path)
        np.testing.assert_allclose(found.data, dataset.sst.values, atol=0.00501)
        assert np.isnan(found.data).sum() == 1
        whole = read_tensor(path, nodata=np.nan)
        assert whole.n_samples == 7
        assert 2 not in whole.kept
        marked = {"dtype": "f4", "_FillValue": 1e20}
        path = write(dataset, tmp_path, kind, sst=marked)
        np.testing.assert_allclose(read_tensor(path).data, dataset.sst.values, rtol=1e-7)

    def test_whole_numbers_without_marks_stay_as_they_are(self, tmp_path, kind):
        counts = xarray.Dataset({"n": (("time", "lat"), np.arange(12, dtype="i4").reshape(4, 3))})
        found = read_tensor(write(counts, tmp_path, kind))
        assert found.data.dtype == np.int32
        np.testing.assert_array_equal(found.data, counts.n.values)
        assert found.dims == ("lat",)
        assert found.coords is None

    def test_several_variables_are_listed(self, tmp_path, kind):
        dataset = temperatures()
        dataset["wind"] = dataset.sst * 2
        path = write(dataset, tmp_path, kind)
        message = message_of(lambda: read_tensor(path))
        assert "several arrays" in message
        assert "sst (8, 3, 4)" in message
        assert "wind (8, 3, 4)" in message
        assert "time" not in message
        np.testing.assert_array_equal(read_tensor(path, variable="wind").data, dataset.wind.values)
        assert "no array 'winds'" in message_of(lambda: read_tensor(path, variable="winds"))

    def test_an_axis_that_is_not_there(self, tmp_path, kind):
        path = write(temperatures(), tmp_path, kind)
        message = message_of(lambda: read_tensor(path, sample_axis="tme"))
        assert "the axes are time, lat, lon" in message

    def test_commands(self, tmp_path, capsys, kind):
        path = write(temperatures(), tmp_path, kind)
        assert main(["info", str(path), "--sample-axis", "time"]) == 0
        assert "8 maps of 3 x 4 places" in capsys.readouterr().out
        assert main(["info", str(path), "--sample-axis", "lat,lon"]) == 0
        assert "2020-01-01, 2020-02-01" in capsys.readouterr().out
        out = tmp_path / "out"
        words = ["select", str(path), "-k", "2", "--labels", "season", "--method", "geometry"]
        assert main([*words, "--no-figure", "--report", "-o", str(out)]) == 0
        with open(out / "ranking.csv", newline="") as stream:
            best = next(csv.DictReader(stream))
        row, column = int(best["lat"]), int(best["lon"])
        assert int(best["index"]) == 4 * row + column
        assert float(best["lat (degrees_north)"]) == 10 + 10 * row
        assert float(best["lon (degrees_east)"]) == column
        words = ["compare", str(path), "-k", "2", "--methods", "variance"]
        assert main([*words, "-o", str(tmp_path / "compared")]) == 0
        assert main(["report", str(path), "-k", "2", "-o", str(tmp_path / "r.html")]) == 0
        assert main(["plan", "--file", str(path)]) == 0
        assert "8 samples of 3 x 4" in capsys.readouterr().out

    def test_a_file_larger_than_memory(self, tmp_path, monkeypatch, kind):
        dataset = temperatures()
        packing = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9999}
        path = write(dataset, tmp_path, kind, sst=packing)
        truth = read_tensor(path).data
        size = truth.nbytes
        for module in (_stored, _spool):
            monkeypatch.setattr(module, "available_memory", lambda: size - 1)
        monkeypatch.setattr(_spool, "_CHUNK_BYTES", 3 * truth[0].nbytes)
        monkeypatch.setattr(_spool.tempfile, "tempdir", str(tmp_path))
        found = read_tensor(path).data
        assert isinstance(found, np.memmap)
        np.testing.assert_array_equal(found, truth)
        assert len(list(tmp_path.glob("tensift-*.raw"))) == 1
        del found
        assert not list(tmp_path.glob("tensift-*.raw"))
        full = shutil.disk_usage(tmp_path)._replace(free=size - 1)
        monkeypatch.setattr(_spool.shutil, "disk_usage", lambda folder: full)
        assert "set TMPDIR" in message_of(lambda: read_tensor(path))

    def test_damaged_files_are_refused_in_one_line(self, tmp_path, kind):
        path = write(temperatures(), tmp_path, kind)
        files = [path] if path.is_file() else sorted(f for f in path.rglob("*") if f.is_file())
        random = np.random.default_rng(0)
        refusals = 0
        for _ in range(150):
            file = files[random.integers(len(files))]
            whole = file.read_bytes()
            raw = bytearray(whole[: random.integers(len(whole)) + 1])
            if random.random() < 0.7:
                raw = bytearray(whole)
                for place in random.integers(0, len(raw), 4):
                    raw[place] = random.choice([0, 1, 255])
            file.write_bytes(raw)
            message = outcome(lambda: read_tensor(path, labels="season"))
            assert message is None or ("\n" not in message and str(path) in message)
            refusals += message is not None
            file.write_bytes(whole)
        assert refusals > 20

    def test_xarray_missing(self, tmp_path, monkeypatch, kind):
        dataset = temperatures()
        dataset["area"] = (("lat", "lon"), np.ones((3, 4)))
        plain = write(dataset.drop_vars("time"), tmp_path, kind, sst={"_FillValue": None})
        monkeypatch.setitem(sys.modules, "xarray", None)
        np.testing.assert_array_equal(read_tensor(plain, variable="sst").data, dataset.sst.values)
        monkeypatch.undo()
        path = write(
            dataset, tmp_path, kind, sst={"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9}
        )
        monkeypatch.setitem(sys.modules, "xarray", None)
        message = message_of(lambda: read_tensor(path, variable="sst"))
        assert "packed as in NetCDF; to read them, install xarray: pip install" in message
        message = message_of(lambda: read_tensor(path, variable="area", labels="time"), ImportError)
        assert 'holds dates; to read them, install xarray: pip install "tensift' in message


class TestNetcdf:
    def test_netcdf4_packages_missing(self, tmp_path, monkeypatch):
        path = write(temperatures(), tmp_path, "netcdf4")
        monkeypatch.setitem(sys.modules, "h5py", None)
        message = message_of(lambda: read_tensor(path), ImportError)
        assert 'pip install "tensift[hdf5]"' in message

    def test_names_of_h5py(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["recordings"] = np.arange(24.0).reshape(4, 3, 2)
            file["electrode"] = np.array(["Fz", "Cz", "Pz"], dtype="S2")
            file["when"] = [0.0, 0.5]
            file["when"].attrs["units"] = "s"
            file["trial"] = np.arange(4)
            for axis, name in enumerate(("trial", "electrode", "when")):
                file[name].make_scale(name)
                file["recordings"].dims[axis].attach_scale(file[name])
        found = read_tensor(tmp_path / "a.h5")
        assert found.dims == ("electrode", "when")
        assert found.coords["electrode"].tolist() == ["Fz", "Cz", "Pz"]
        assert found.coords["when"].tolist() == [0.0, 0.5]
        stored = open_tensor_file(tmp_path / "a.h5").arrays["recordings"]
        assert dict(stored.units) == {"when": "s"}

    def test_groups(self, tmp_path):
        path = tmp_path / "a.nc"
        temperatures().to_netcdf(path, engine="h5netcdf", group="model")
        found = read_tensor(path)
        assert found.dims == ("lat", "lon")
        assert found.coords["lat"].tolist() == [10, 20, 30]

    def test_text_of_variable_length_along_a_growing_dimension(self, tmp_path):
        path = tmp_path / "a.nc"
        temperatures().to_netcdf(path, engine="h5netcdf", unlimited_dims=["time", "lon"])
        found = read_tensor(path, labels="season")
        assert found.labels.tolist() == ["cold"] * 4 + ["warm"] * 4

    def test_damaged_heaps_are_refused_before_hdf5_hangs_on_them(self, tmp_path):
        """HDF5 loops forever where free space of no size lies within a heap."""
        path = write(temperatures(), tmp_path, "netcdf4")
        raw = bytearray(path.read_bytes())
        heap = raw.index(b"GCOL")
        raw[heap + 16 : heap + 32] = bytes(16)
        path.write_bytes(raw)
        assert "damaged or truncated HDF5 file" in message_of(lambda: read_tensor(path))

    def test_large_arrays_in_one_piece_are_mapped(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tensift.datasets._hdf5_files.MAP_FROM_BYTES", 64)
        dataset = temperatures()
        path = write(dataset, tmp_path, "netcdf4", sst={"_FillValue": None})
        found = read_tensor(path)
        assert isinstance(found.data, np.memmap)
        np.testing.assert_array_equal(found.data, dataset.sst.values)
        with h5py.File(tmp_path / "b.h5", "w", userblock_size=512) as file:
            file["data"] = dataset.sst.values
        found = read_tensor(tmp_path / "b.h5")
        assert isinstance(found.data, np.memmap)
        np.testing.assert_array_equal(found.data, dataset.sst.values)

    def test_dates_of_other_calendars(self, tmp_path):
        with h5py.File(tmp_path / "a.nc", "w") as file:
            file["x"] = np.ones((3, 2))
            file["time"] = [0.0, 30.0]
            file["time"].attrs["units"] = np.bytes_("days since 2000-01-30")
            file["time"].attrs["calendar"] = np.bytes_("360_day")
            file["time"].make_scale("time")
            file["x"].dims[1].attach_scale(file["time"])
            file["n"] = np.arange(3)
            file["n"].make_scale("n")
            file["x"].dims[0].attach_scale(file["n"])
        try:
            import cftime  # noqa: F401
        except ImportError:
            assert "pip install cftime" in message_of(lambda: read_tensor(tmp_path / "a.nc"))
        else:
            found = read_tensor(tmp_path / "a.nc").coords["time"]
            assert found.tolist() == ["2000-01-30T00:00:00", "2000-02-30T00:00:00"]


class TestZarr:
    @pytest.mark.parametrize("version", [2, 3])
    def test_one_array_without_names(self, tmp_path, version):
        values = np.arange(24.0).reshape(4, 3, 2)
        array = zarr.create_array(
            tmp_path / "a.zarr",
            shape=values.shape,
            chunks=(3, 2, 2),
            dtype=float,
            zarr_format=version,
        )
        array[:] = values
        found = read_tensor(tmp_path / "a.zarr")
        np.testing.assert_array_equal(found.data, values)
        assert found.dims is None
        assert (found.data == 0).sum() == 1  # zero is a value, although empty chunks are zero too

    def test_groups(self, tmp_path):
        root = zarr.open_group(tmp_path / "a.zarr", mode="w")
        root.create_array("subject/eeg", data=np.ones((4, 3, 2)))
        root.create_array("subject/y", data=np.array([0, 0, 1, 1]))
        found = read_tensor(tmp_path / "a.zarr", labels="subject/y")
        assert found.data.shape == (4, 3, 2)
        assert found.labels.tolist() == [0, 0, 1, 1]

    def test_zarr_missing(self, tmp_path, monkeypatch):
        path = write(temperatures(), tmp_path, "zarr3")
        monkeypatch.setitem(sys.modules, "zarr", None)
        message = message_of(lambda: read_tensor(path), ImportError)
        assert 'pip install "tensift[zarr]"' in message

    def test_links_out_of_the_store(self, tmp_path):
        path = write(temperatures(), tmp_path, "zarr3")
        chunk = next(f for f in (path / "sst" / "c").rglob("*") if f.is_file())
        shutil.move(chunk, tmp_path / "secret")
        chunk.symlink_to(tmp_path / "secret")
        assert "a link out of the store" in message_of(lambda: read_tensor(path))

    @pytest.mark.parametrize("version", [2, 3])
    def test_nothing_is_unpickled(self, tmp_path, version):
        path = write(temperatures(), tmp_path, f"zarr{version}")
        shutil.rmtree(path / "place")
        about_path = path / "sst" / (".zarray" if version == 2 else "zarr.json")
        about = json.loads(about_path.read_text())
        if version == 2:
            about["filters"] = [{"id": "pickle", "protocol": 5}]
        else:
            about["codecs"] = [
                {
                    "name": "sharding_indexed",
                    "configuration": {
                        "codecs": [{"name": "numcodecs.pickle", "configuration": {"protocol": 5}}]
                    },
                }
            ]
        about_path.write_text(json.dumps(about))
        (path / ".zmetadata").unlink(missing_ok=True)
        message = message_of(lambda: read_tensor(path, variable="sst"))
        assert "is packed by the codec 'pickle', which is not read" in message

    def test_marks_of_version_3_are_text(self, tmp_path):
        """xarray writes the mark of a float array as base64."""
        dataset = temperatures()
        dataset["sst"][0, 0, 0] = np.nan
        path = write(dataset, tmp_path, "zarr3", sst={"_FillValue": -99.0})
        written = json.loads((path / "sst" / "zarr.json").read_text())["attributes"]["_FillValue"]
        assert np.frombuffer(base64.b64decode(written))[0] == -99.0
        assert math.isnan(read_tensor(path).data[0, 0, 0])
