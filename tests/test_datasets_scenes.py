"""Scenes: ENVI files, several sample axes, masks, and labels of the shape of a scene."""

import math
import os

import numpy as np
import pytest
import scipy.io
import tifffile

from tensift import STPCASelector
from tensift.datasets import _envi_files as envi_files
from tensift.datasets import files_of_input, read_tensor
from tensift.rivals import VarianceSelector

RNG = np.random.default_rng(2)
CUBE = RNG.normal(size=(6, 5, 9))
TRUTH = RNG.integers(0, 3, (6, 5))
TYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 6: "c8", 9: "c16", 12: "u2", 13: "u4",
         14: "i8", 15: "u8"}  # fmt: skip


def refused(path, *words, error=ValueError, **options):
    with pytest.raises(error) as caught:
        read_tensor(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def read_or_refuse(path):
    """The dataset, or the message of the one kind of error that may come instead."""
    try:
        return read_tensor(path), ""
    except ValueError as error:
        return None, str(error)


def write_envi(path, cube, interleave="bsq", order="<", offset=0, code=5, **fields):
    """Write a scene (row, column, band) as ENVI does."""
    orders = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}
    order_of_axes = orders.get(str(interleave).lower(), (2, 0, 1))
    stored = cube.transpose(order_of_axes).astype(np.dtype(TYPES[code]).newbyteorder(order))
    path.with_suffix(".img").write_bytes(bytes(offset) + stored.tobytes())
    header = {
        "description": "{\n a scene; with = signs,\n over lines}",
        "samples": cube.shape[1],
        "lines": cube.shape[0],
        "bands": cube.shape[2],
        "header offset": offset,
        "file type": "ENVI Standard",
        "data type": code,
        "interleave": interleave,
        "byte order": 0 if order == "<" else 1,
        **{name.replace("_", " "): value for name, value in fields.items()},
    }
    lines = [f"{name} = {value}" for name, value in header.items() if value is not None]
    path.with_suffix(".hdr").write_text("ENVI\n; a comment = 3\n\n" + "\n".join(lines) + "\n")
    return path.with_suffix(".hdr")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scene.hdr"


class TestEnvi:
    @pytest.mark.parametrize("interleave", ["bsq", "bil", "BIP"])
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("code", TYPES)
    def test_every_layout(self, path, interleave, order, code):
        cube = (CUBE * 50).astype(TYPES[code])
        write_envi(path, cube, interleave, order, offset=17, code=code)
        for file in (path, path.with_suffix(".img")):
            dataset = read_tensor(file)
            np.testing.assert_array_equal(dataset.data, cube.reshape(30, 9))
            assert dataset.data.dtype == TYPES[code]
        assert (dataset.dims, dataset.sample_shape, dataset.kept) == (("band",), (6, 5), None)
        np.testing.assert_array_equal(read_tensor(path, sample_axis="row").data, cube)

    def test_a_large_scene_is_mapped(self, path, monkeypatch):
        monkeypatch.setattr(envi_files, "_MAP_FROM_BYTES", 100)
        for interleave in ("bsq", "bip", "bil"):
            for order in "<>":
                data = read_tensor(write_envi(path, CUBE, interleave, order)).data
                np.testing.assert_array_equal(data, CUBE.reshape(30, 9))
                # Band by band within each line, pixels cannot be stacked without a copy.
                assert isinstance(data, np.memmap) == (interleave != "bil")
                assert VarianceSelector(3).fit(data).order_.tolist() == (
                    VarianceSelector(3).fit(CUBE.reshape(30, 9)).order_.tolist()
                )
                selector = STPCASelector(3, lam=0.1, eta=0.1).fit(data)
                expected = STPCASelector(3, lam=0.1, eta=0.1).fit(CUBE.reshape(30, 9))
                np.testing.assert_allclose(selector.scores_, expected.scores_, rtol=1e-6)

    def test_names_of_bands(self, path):
        waves = np.linspace(0.4, 2.4, 9)
        names = ", ".join(f"band {i}" for i in range(9))
        fields = {
            "wavelength": "{\n" + ",\n".join(f"{w:.3f}" for w in waves) + "}",
            "wavelength units": "Micrometers",
            "band names": "{" + names + "}",
        }
        dataset = read_tensor(write_envi(path, CUBE, **fields))
        np.testing.assert_allclose(dataset.coords["band"], waves, atol=1e-3)
        assert dataset.units == {"band": "um"}
        dataset = read_tensor(write_envi(path, CUBE, band_names="{" + names + "}"))
        assert dataset.coords["band"].tolist() == names.split(", ")
        assert dataset.units is None

    @pytest.mark.parametrize(
        ("written", "unit"),
        [("nm", "nm"), ("Nanometers", "nm"), ("microns", "um"), ("Index", None), ("", None)],
    )
    def test_units_of_wavelengths(self, path, written, unit):
        waves = "{" + ", ".join(map(str, range(400, 409))) + "}"
        write_envi(path, CUBE, wavelength=waves, wavelength_units=written)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.coords["band"], range(400, 409))
        assert dataset.units == (None if unit is None else {"band": unit})

    def test_wavelengths_in_the_names_of_bands(self, path):
        names = ", ".join(f"Band {i} ({400 + i}.5 Nanometers)" for i in range(9))
        dataset = read_tensor(write_envi(path, CUBE, band_names="{" + names + "}"))
        np.testing.assert_array_equal(dataset.coords["band"], np.arange(400.5, 409))
        assert dataset.units == {"band": "nm"}

    def test_bad_bands_are_said(self, path):
        write_envi(path, CUBE, bbl="{1, 1, 0, 1, 0, 1, 1, 1, 1}")
        with pytest.warns(UserWarning, match=r"2 of 9 bands are marked as bad.*--exclude"):
            assert read_tensor(path).feature_shape == (9,)
        write_envi(path, CUBE, bbl="{" + ", ".join("1" * 9) + "}")
        read_tensor(path)  # no warning
        write_envi(path, CUBE, bbl="{1, 0}")
        refused(path, "'bbl' has 2 entries for 9 bands")

    @pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
    def test_written_by_rasterio(self, path, interleave):
        rasterio = pytest.importorskip("rasterio")
        data = path.with_suffix(".dat")
        options = {"driver": "ENVI", "height": 6, "width": 5, "count": 9, "dtype": "float64"}
        options |= {"transform": rasterio.Affine(30, 0, 5e5, 0, -30, 5e6), "nodata": -1}
        with rasterio.open(data, "w", interleave=interleave, **options) as file:
            file.write(np.moveaxis(CUBE, -1, 0))
            file.descriptions = [f"{400 + i} nm" for i in range(9)]
        dataset = read_tensor(path, sample_axis="y,x")
        np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
        np.testing.assert_array_equal(dataset.coords["band"], np.arange(400, 409))
        turned = CUBE.transpose(1, 0, 2).reshape(30, 9)
        np.testing.assert_array_equal(read_tensor(data, sample_axis="x,y").data, turned)

    @pytest.mark.parametrize("mark", ["-9999", "nan"])
    def test_what_was_not_measured(self, path, mark):
        cube = CUBE.copy()
        cube[2, 3, 4] = cube[0] = float(mark)
        write_envi(path, cube, data_ignore_value=mark)
        dataset = read_tensor(path, labels=TRUTH)
        kept = np.ones((6, 5), bool)
        kept[0] = kept[2, 3] = False
        np.testing.assert_array_equal(dataset.data, cube[kept])
        np.testing.assert_array_equal(dataset.labels, TRUTH[kept])
        refused(path, "not measured", sample_axis="band")

    def test_where_the_numbers_are(self, path, tmp_path):
        write_envi(path, CUBE)
        numbers = path.with_suffix(".img").read_bytes()
        assert files_of_input(path) == [path, path.with_suffix(".img")]
        assert files_of_input(path.with_suffix(".img")) == [path, path.with_suffix(".img")]
        for name in ("scene", "scene.DAT", "scene.bsq"):
            path.with_suffix(".img").unlink(missing_ok=True)
            (tmp_path / name).write_bytes(numbers)
            assert read_tensor(path).n_samples == 30
            if name != "scene.bsq":
                (tmp_path / name).unlink()
        (tmp_path / "scene.img").write_bytes(numbers)
        refused(path, "several files", "scene.bsq, scene.img")
        assert read_tensor(tmp_path / "scene.img").n_samples == 30
        (tmp_path / "scene.img").unlink()
        (tmp_path / "scene.bsq").unlink()
        refused(path, "without its numbers")
        (tmp_path / "other.img").write_bytes(numbers)
        path.rename(tmp_path / "other.img.hdr")
        assert read_tensor(tmp_path / "other.img").n_samples == 30
        assert read_tensor(tmp_path / "other.img.hdr").n_samples == 30

    def test_links(self, path, tmp_path):
        place = tmp_path / "elsewhere"
        place.mkdir()
        there = write_envi(place / "scene.hdr", CUBE)
        path.symlink_to(there)
        path.with_suffix(".img").symlink_to(there.with_suffix(".img"))
        assert read_tensor(path).n_samples == 30
        path.unlink()
        path.write_text(there.read_text())
        refused(path, "not in the folder of its header")

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"samples": None}, "no 'samples'"),
            ({"bands": None}, "no 'bands'"),
            ({"data_type": None}, "no 'data type'"),
            ({"interleave": None}, "no 'interleave'"),
            ({"byte_order": None}, "no 'byte order'"),
            ({"lines": 7}, "promises"),
            ({"lines": 5}, "promises"),
            ({"lines": 0}, "'lines' must be"),
            ({"lines": -6}, "'lines' must be"),
            ({"lines": "6.0"}, "'lines' must be"),
            ({"lines": "six"}, "'lines' must be"),
            ({"lines": 10**17}, "'lines' must be"),
            ({"lines": "9" * 5000}, "'lines' must be"),
            ({"samples": 2**47, "bands": 2**47, "lines": 2**47}, "promises"),
            ({"header_offset": 10**14}, "promises"),
            ({"header_offset": -4}, "'header offset' must be"),
            ({"data_type": 7}, "unknown data type 7"),
            ({"byte_order": 2}, "byte order must be 0 or 1"),
            ({"interleave": "bxq"}, "interleave must be"),
            ({"file_compression": 1}, "compressed"),
            ({"file_type": "ENVI Spectral Library"}, "spectral library"),
            ({"wavelength": "{1, 2, 3}"}, "3 entries for 9 bands"),
            ({"wavelength": "{" + "x," * 8 + "x}"}, "must hold numbers"),
            ({"wavelength": "{" + "nan," * 8 + "1}"}, "finite"),
            ({"wavelength": "{1, 2"}, "no closing one"),
            ({"band_names": "{a, b}"}, "2 entries for 9 bands"),
            ({"data_ignore_value": "none"}, "must hold numbers"),
            ({"Lines": 8}, "'lines' is given twice"),
        ],
        ids=str,
    )
    def test_headers_that_lie(self, path, fields, words):
        write_envi(path, CUBE, **({"interleave": "bsq"} | fields))
        assert str(path.parent) in refused(path, words)
        refused(path.with_suffix(".img"), words)

    def test_truncated(self, path):
        write_envi(path, CUBE)
        header, numbers = path.read_bytes(), path.with_suffix(".img").read_bytes()
        for length in range(0, len(numbers), 97):
            path.with_suffix(".img").write_bytes(numbers[:length])
            refused(path, "promises")
        path.with_suffix(".img").write_bytes(numbers)
        for length in range(0, len(header), 3):
            path.write_bytes(header[:length])
            dataset, message = read_or_refuse(path)
            if dataset is not None:
                np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
                continue
            assert "\n" not in message
            assert str(path) in message

    def test_a_header_of_rubbish(self, path):
        write_envi(path, CUBE)
        path.write_bytes(b"ENVI\n" + os.urandom(1000))
        refused(path, "damaged or truncated ENVI header")
        path.write_bytes(b"ENVI\n" + b"a = 1\n" * (3 * 2**20))
        refused(path, "longer than any header")

    def test_another_header_beside_the_numbers(self, path):
        write_envi(path, CUBE)
        path.write_text("BYTEORDER I\nLAYOUT BIL\n")
        refused(path.with_suffix(".img"), "not a data file of a known format")


class TestSeveralSampleAxes:
    @pytest.mark.parametrize("axes", [(0, 1), (1, 0), (1, 2), (2, 0), (-3, -2), [0, 1]])
    def test_axes_are_stacked_in_their_order(self, tmp_path, axes):
        np.save(tmp_path / "a.npy", CUBE)
        dataset = read_tensor(tmp_path / "a.npy", sample_axis=axes)
        first, second = (axis % 3 for axis in axes)
        (last,) = {0, 1, 2} - {first, second}
        i, j = 2, 3
        index = [0, 0, 0]
        index[first], index[second], index[last] = i, j, slice(None)
        np.testing.assert_array_equal(dataset.data[i * CUBE.shape[second] + j], CUBE[tuple(index)])
        assert dataset.sample_shape == (CUBE.shape[first], CUBE.shape[second])
        restored = dataset.unstack(dataset.data)
        np.testing.assert_array_equal(np.moveaxis(restored, (0, 1, 2), (first, second, last)), CUBE)

    def test_names(self, tmp_path):
        arrays = {"dims": ["y", "x", "band"], "coords_band": np.arange(9) * 10}
        np.savez(tmp_path / "a.npz", data=CUBE, **arrays)
        for axis in ("y,x", ("y", "x"), ["y", 1], "0, x"):
            dataset = read_tensor(tmp_path / "a.npz", sample_axis=axis)
            np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
            assert dataset.dims == ("band",)
            np.testing.assert_array_equal(dataset.coords["band"], np.arange(9) * 10)
        # Without a choice, the first axis counts the samples.
        assert read_tensor(tmp_path / "a.npz").dims == ("x", "band")
        np.savez(tmp_path / "b.npz", data=CUBE, dims=["x", "band"])
        assert read_tensor(tmp_path / "b.npz").dims == ("x", "band")
        assert read_tensor(tmp_path / "b.npz", sample_axis=(0, 1)).dims == ("band",)
        assert read_tensor(tmp_path / "b.npz", sample_axis="sample,x").dims == ("band",)
        assert read_tensor(tmp_path / "b.npz", sample_axis=2).dims == ("x", "band")

    @pytest.mark.parametrize(
        ("axis", "words"),
        [
            ((0, 0), "each axis once"),
            ((0, -3), "each axis once"),
            ((), "each axis once"),
            ((0, 1, 2), "takes all axes"),
            ((0, 3), "sample_axis=3 is out of range"),
            ("y,x", "no axis 'y' for sample_axis (the file does not name its axes)"),
            ("", "no axis ''"),
        ],
    )
    def test_wrong_axes(self, tmp_path, axis, words):
        np.save(tmp_path / "a.npy", CUBE)
        refused(tmp_path / "a.npy", words, sample_axis=axis)

    def test_names_that_are_not_there(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=CUBE, dims=["y", "x", "band"])
        refused(tmp_path / "a.npz", "no axis 'z'", "the axes are y, x, band", sample_axis="z,y")

    def test_a_mapped_cube_stays_on_disk(self, tmp_path, monkeypatch):
        monkeypatch.setattr("tensift.datasets._numpy_files._MAP_FROM_BYTES", 100)
        np.save(tmp_path / "a.npy", CUBE)
        data = read_tensor(tmp_path / "a.npy", sample_axis=(0, 1)).data
        assert isinstance(data, np.memmap)
        np.testing.assert_array_equal(data, CUBE.reshape(30, 9))
        copied = read_tensor(tmp_path / "a.npy", sample_axis=(0, 2)).data
        assert not isinstance(copied, np.memmap)
        np.testing.assert_array_equal(copied, CUBE.transpose(0, 2, 1).reshape(54, 5))
        monkeypatch.setattr("tensift.datasets._sample_axes.available_memory", lambda: 100)
        refused(tmp_path / "a.npy", "a copy needs", sample_axis=(0, 2))


class TestMasks:
    MASK = RNG.random((6, 5)) < 0.6

    @pytest.fixture
    def cube(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=CUBE, valid=self.MASK, gt=TRUTH)
        return tmp_path / "a.npz"

    def check(self, dataset, kept):
        np.testing.assert_array_equal(dataset.data, CUBE[kept])
        np.testing.assert_array_equal(dataset.kept, np.flatnonzero(kept))
        assert dataset.sample_shape == (6, 5)
        restored = dataset.unstack(dataset.data[:, 4])
        np.testing.assert_array_equal(restored[kept], CUBE[kept][:, 4])
        assert np.isnan(restored[~kept]).all()

    def test_every_way_to_give_a_mask(self, cube, tmp_path):
        np.save(tmp_path / "valid.npy", self.MASK.astype("u1"))
        for mask in ("valid", self.MASK, self.MASK.tolist(), tmp_path / "valid.npy",
                     f"{cube}:valid", self.MASK.ravel()):  # fmt: skip
            self.check(read_tensor(cube, sample_axis=(0, 1), mask=mask), self.MASK)

    def test_axes_in_another_order(self, cube):
        dataset = read_tensor(cube, sample_axis=(1, 0), mask="valid")
        np.testing.assert_array_equal(dataset.data, CUBE.swapaxes(0, 1)[self.MASK.T])
        np.testing.assert_array_equal(dataset.labels, TRUTH.T[self.MASK.T])

    def test_with_nodata_and_labels(self, tmp_path):
        cube = CUBE.copy()
        cube[1, 1, 3] = -1e9
        np.savez(tmp_path / "a.npz", data=cube, valid=self.MASK, gt=TRUTH)
        kept = self.MASK & (TRUTH != 0)
        kept[1, 1] = False
        dataset = read_tensor(
            tmp_path / "a.npz", sample_axis=(0, 1), mask="valid", nodata=-1e9, drop_label="0"
        )
        self.check(dataset, kept)
        np.testing.assert_array_equal(dataset.labels, TRUTH[kept])

    def test_plain_samples(self, tmp_path):
        np.save(tmp_path / "a.npy", CUBE)
        mask = np.arange(6) % 2 == 0
        dataset = read_tensor(tmp_path / "a.npy", mask=mask)
        np.testing.assert_array_equal(dataset.data, CUBE[::2])
        np.testing.assert_array_equal(dataset.unstack([1, 2, 3], 0), [1, 0, 2, 0, 3, 0])
        nan = CUBE.copy()
        nan[3, 2, 1] = np.nan
        np.save(tmp_path / "b.npy", nan)
        assert read_tensor(tmp_path / "b.npy", nodata=math.nan).kept.tolist() == [0, 1, 2, 4, 5]
        (tmp_path / "a.csv").write_text("a,b,label\n1,2,u\n-1,3,v\n4,5,w\n")
        dataset = read_tensor(tmp_path / "a.csv", nodata=-1, drop_label="w")
        np.testing.assert_array_equal(dataset.data, [[1, 2]])
        assert dataset.labels.tolist() == ["u"]

    def test_wrong_masks(self, cube):
        options = {"sample_axis": (0, 1)}
        refused(cube, "True (1) where", mask="gt", **options)
        words = ("30 mask values for 6 samples", "sample_axis=(0, 1)")
        refused(cube, *words, mask="valid", labels=np.arange(6))
        refused(cube, "mask values for 30 samples", "(5, 6)", mask=self.MASK.T, **options)
        refused(cube, "neither an array in the file nor a file of mask", mask="none", **options)
        refused(cube, "no sample is left", mask=np.zeros((6, 5), bool), **options)
        np.savez(cube, data=CUBE)
        refused(cube, "drop_label=0 needs labels", drop_label=0, **options)


class TestGroundTruth:
    def test_two_matlab_files(self, tmp_path):
        scipy.io.savemat(tmp_path / "Pines.mat", {"pines_corrected": CUBE})
        scipy.io.savemat(tmp_path / "Pines_gt.mat", {"pines_gt": TRUTH})
        scipy.io.savemat(tmp_path / "both.mat", {"pines_gt": TRUTH, "other": CUBE})
        for labels in ("Pines_gt.mat", "Pines_gt.mat:pines_gt", "both.mat:pines_gt"):
            dataset = read_tensor(
                tmp_path / "Pines.mat", sample_axis=(0, 1), labels=str(tmp_path / labels)
            )
            np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
            np.testing.assert_array_equal(dataset.labels, TRUTH.ravel())
        dataset = read_tensor(
            tmp_path / "Pines.mat", sample_axis="0,1", labels=tmp_path / "Pines_gt.mat",
            drop_label=0,
        )  # fmt: skip
        np.testing.assert_array_equal(dataset.data, CUBE[TRUTH != 0])
        np.testing.assert_array_equal(dataset.unstack(dataset.labels, 0), TRUTH)
        # The file of labels alone is an array like any other.
        assert read_tensor(tmp_path / "Pines_gt.mat", sample_axis=0).shape == (6, 5)

    def test_one_matlab_file(self, tmp_path):
        scipy.io.savemat(tmp_path / "a.mat", {"scene": CUBE, "scene_gt": TRUTH})
        np.testing.assert_array_equal(
            read_tensor(tmp_path / "a.mat", sample_axis=(0, 1)).labels, TRUTH.ravel()
        )
        refused(tmp_path / "a.mat", "30 labels for 9 samples", "--sample-axis 0,1")
        scipy.io.savemat(tmp_path / "b.mat", {"scene": CUBE, "classes": TRUTH})
        refused(tmp_path / "b.mat", "several arrays", sample_axis=(0, 1))
        np.testing.assert_array_equal(
            read_tensor(tmp_path / "b.mat", sample_axis=(0, 1), labels="classes").labels,
            TRUTH.ravel(),
        )

    def test_maps_that_are_scenes_of_one_band(self, path, tmp_path):
        write_envi(path, CUBE)
        tifffile.imwrite(tmp_path / "truth.tif", TRUTH.astype("u1"))
        write_envi(tmp_path / "classes.hdr", TRUTH[..., None], code=1)
        for labels in ("truth.tif", "classes.hdr", "classes.img"):
            found = read_tensor(path, labels=tmp_path / labels).labels
            np.testing.assert_array_equal(found, TRUTH.ravel())
        valid = (TRUTH > 0).astype("u1")
        tifffile.imwrite(tmp_path / "valid.tif", valid)
        found = read_tensor(path, mask=tmp_path / "valid.tif")
        np.testing.assert_array_equal(found.data, CUBE[TRUTH > 0])

    def test_wrong_files_of_labels(self, tmp_path):
        np.save(tmp_path / "a.npy", CUBE)
        np.savez(tmp_path / "two.npz", one=TRUTH, two=TRUTH)
        (tmp_path / "labels.txt").write_text("a\nb\n")
        options = {"sample_axis": (0, 1)}
        refused(tmp_path / "a.npy", "has 2 (one, two)", labels=tmp_path / "two.npz", **options)
        missing = f"{tmp_path / 'two.npz'}:three"
        refused(tmp_path / "a.npy", "no array 'three' for labels", labels=missing, **options)
        words = f"{tmp_path / 'labels.txt'}:a"
        refused(tmp_path / "a.npy", "leave out ':a'", labels=words, **options)
        refused(tmp_path / "a.npy", "neither an array", labels="no.npz:one", **options)
