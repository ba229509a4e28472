"""TIFF files, written by tifffile and by Pillow, and files that lie about themselves."""

import importlib.util
import logging
import struct
import sys
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from tensift import GeometrySelector
from tensift.datasets import read_tensor

RNG = np.random.default_rng(1)
PAGES = RNG.integers(0, 256, (4, 6, 5), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (4, 6, 5, 3), dtype=np.uint8)
CUBE = RNG.integers(0, 2**16, (6, 5, 9), dtype=np.uint16)
WAVES = np.linspace(400, 1000, 9)
GEO = [(33550, "d", 3, (10.0, 10.0, 0.0), True), (33922, "d", 6, (0, 0, 0, 5, 6, 0), True)]


def refused(path, *words, error=ValueError, **options):
    with pytest.raises(error) as caught:
        read_tensor(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    for word in words:
        assert word in message
    return message


def read_or_refuse(path):
    """The dataset, or the message of the one kind of error that may come instead."""
    try:
        return read_tensor(path), ""
    except ValueError as error:
        return None, str(error)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.tif"


class TestPages:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"byteorder": ">"},
            {"bigtiff": True},
            {"compression": "zlib"},
            {"compression": "zlib", "predictor": True},
            {"tile": (16, 16)},
            {"imagej": True},
            {"metadata": None},
        ],
        ids=str,
    )
    def test_pages_are_samples(self, path, options):
        tifffile.imwrite(path, PAGES, photometric="minisblack", **options)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, PAGES)
        assert dataset.dims == ("row", "column")
        assert dataset.data.dtype.isnative

    @pytest.mark.parametrize("planar", ["contig", "separate"])
    @pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
    def test_pages_in_colour(self, path, planar, dtype):
        pixels = COLOUR.astype(dtype)
        with tifffile.TiffWriter(path) as file:
            for page in pixels:
                stored = page if planar == "contig" else np.moveaxis(page, -1, 0)
                file.write(stored, photometric="rgb", planarconfig=planar, metadata=None)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, pixels)
        assert dataset.coords["channel"].tolist() == ["red", "green", "blue"]

    @pytest.mark.parametrize("compression", ["raw", "packbits", "tiff_adobe_deflate"])
    def test_pages_written_by_pillow(self, path, compression):
        first, *others = map(Image.fromarray, PAGES)
        first.save(path, save_all=True, append_images=others, compression=compression)
        np.testing.assert_array_equal(read_tensor(path).data, PAGES)

    def test_pages_as_bands(self, path):
        tifffile.imwrite(path, PAGES, photometric="minisblack")
        dataset = read_tensor(path, sample_axis="row,column")
        np.testing.assert_array_equal(dataset.data, PAGES.reshape(4, -1).T)
        assert (dataset.dims, dataset.sample_shape) == (("page",), (6, 5))

    def test_overviews_are_no_samples(self, path):
        with tifffile.TiffWriter(path) as file:
            file.write(CUBE, photometric="minisblack", planarconfig="contig", subifds=0)
            file.write(
                CUBE[::2, ::2], photometric="minisblack", planarconfig="contig", subfiletype=1
            )
        np.testing.assert_array_equal(read_tensor(path).data, CUBE.reshape(30, 9))


class TestScenes:
    @pytest.mark.parametrize("planar", ["contig", "separate"])
    @pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"tile": (16, 16)}], ids=str)
    def test_bands(self, path, planar, options):
        stored = CUBE if planar == "contig" else np.moveaxis(CUBE, -1, 0)
        tifffile.imwrite(path, stored, photometric="minisblack", planarconfig=planar, **options)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
        assert (dataset.dims, dataset.sample_shape) == (("band",), (6, 5))
        by_row = read_tensor(path, sample_axis="row")
        np.testing.assert_array_equal(by_row.data, CUBE)
        assert by_row.dims == ("column", "band")

    def test_three_bands_with_a_map_are_a_scene(self, path):
        tifffile.imwrite(path, COLOUR[0], photometric="rgb", extratags=GEO)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, COLOUR[0].reshape(30, 3))
        assert dataset.dims == ("band",)

    @pytest.mark.parametrize("picture", [PAGES[0], COLOUR[0]], ids=["grey", "colour"])
    def test_one_picture_is_no_data_set(self, path, picture):
        tifffile.imwrite(path, picture)
        refused(path, "one picture is not a data set", "--sample-axis 0,1")
        dataset = read_tensor(path, sample_axis=(0, 1))
        np.testing.assert_array_equal(dataset.data, picture.reshape(30, -1))

    @pytest.mark.parametrize(("mark", "dtype"), [("-9999", "f4"), ("7", "u2"), ("nan ", "f8")])
    def test_nodata(self, path, mark, dtype):
        scene = CUBE.astype(dtype)
        scene[scene == 7] = 8
        scene[2, 3] = scene[4, 1, 0] = float(mark)
        tags = [*GEO, (42113, "s", 0, mark, True)]
        tifffile.imwrite(
            path, scene, photometric="minisblack", planarconfig="contig", extratags=tags
        )
        dataset = read_tensor(path)
        kept = np.ones((6, 5), bool)
        kept[2, 3] = kept[4, 1] = False
        np.testing.assert_array_equal(dataset.data, scene[kept])
        np.testing.assert_array_equal(dataset.kept, np.flatnonzero(kept))
        found = dataset.unstack(dataset.data[:, 0])
        np.testing.assert_array_equal(np.isnan(found), ~kept)
        np.testing.assert_array_equal(found[kept], scene[kept][:, 0])
        refused(path, "were not measured", "--nodata", sample_axis=0)

    def test_a_mask_in_the_file(self, path):
        mask = RNG.random((6, 5)) < 0.7
        with tifffile.TiffWriter(path) as file:
            options = {"photometric": "minisblack", "planarconfig": "contig", "metadata": None}
            file.write(CUBE, **options)
            file.write(mask, photometric=4, subfiletype=4, metadata=None)
        for options in ({}, {"mask": "mask"}):
            np.testing.assert_array_equal(read_tensor(path, **options).data, CUBE[mask])
        every = read_tensor(path, mask=np.ones((6, 5), bool))
        np.testing.assert_array_equal(every.data, CUBE.reshape(30, 9))
        np.testing.assert_array_equal(read_tensor(path, sample_axis=0).data, CUBE)

    def test_nothing_left(self, path):
        tags = [*GEO, (42113, "s", 0, "7", True)]
        tifffile.imwrite(path, np.full((6, 5), 7, "u1"), extratags=tags)
        refused(path, "no sample is left")


def gdal_tag(*items):
    """The metadata of GDAL as an extra tag: names and values, and attributes by turns."""
    lines = []
    for name, value, *more in items:
        attributes = "".join(
            f' {key}="{text}"' for key, text in zip(more[::2], more[1::2], strict=True)
        )
        lines.append(f'<Item name="{name}"{attributes}>{value}</Item>')
    return (42112, "s", 0, f"<GDALMetadata>{''.join(lines)}</GDALMetadata>", True)


class TestWrittenByRasterio:
    """Scenes as GDAL writes them."""

    def write(self, path, cube, *, names=None, tags=None, of_bands=(), mask=None, **options):
        rasterio = pytest.importorskip("rasterio")
        rows, columns, bands = cube.shape
        place = rasterio.Affine(30, 0, 5e5, 0, -30, 5e6)
        options = {"driver": "GTiff", "crs": "EPSG:32633", "transform": place, **options}
        with rasterio.open(
            path, "w", height=rows, width=columns, count=bands, dtype=cube.dtype, **options
        ) as file:
            file.write(np.moveaxis(cube, -1, 0))
            if names is not None:
                file.descriptions = names
            if tags is not None:
                file.update_tags(**tags)
            for band, found in enumerate(of_bands, start=1):
                file.update_tags(band, **found)
            if mask is not None:
                file.write_mask(mask)

    @pytest.mark.parametrize(
        "dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "c8", "c16", "i8", "u8"]
    )
    def test_types(self, path, dtype):
        cube = (CUBE % 100).astype(dtype)
        self.write(path, cube)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, cube.reshape(30, 9))
        assert dataset.data.dtype == dtype
        assert (dataset.dims, dataset.sample_shape) == (("band",), (6, 5))

    @pytest.mark.parametrize("layout", [{}, {"tiled": True, "blockxsize": 16, "blockysize": 16}])
    @pytest.mark.parametrize("interleave", ["pixel", "band"])
    @pytest.mark.parametrize(
        "packing",
        [
            {"compress": "deflate"},
            {"compress": "deflate", "predictor": 2},
            {"compress": "packbits"},
            {"compress": "lzw"},
            {"compress": "lzw", "predictor": 2},
        ],
        ids=str,
    )
    def test_packed_and_tiled(self, path, packing, interleave, layout):
        pytest.importorskip("rasterio")
        if packing["compress"] == "lzw":
            pytest.importorskip("imagecodecs")
        cube = np.tile(CUBE, (4, 5, 1))  # several tiles, not all of them full
        self.write(path, cube, interleave=interleave, **packing, **layout)
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, cube.reshape(-1, 9))

    @pytest.mark.parametrize("compress", ["lzw", "zstd", "lerc"])
    def test_packings_that_are_not_read_say_so(self, path, compress):
        self.write(path, CUBE.astype("f4"), compress=compress)
        if compress == "lzw" and importlib.util.find_spec("imagecodecs") is not None:
            pytest.skip("imagecodecs is installed, so LZW is read")
        refused(path, "save the file without compression")

    @pytest.mark.parametrize(
        ("of_bands", "tags", "names", "waves", "unit"),
        [
            ([{"wavelength": f"{w}", "wavelength_units": "Nanometers"} for w in WAVES], {}, None,
             WAVES, "nm"),
            ([{"WAVELENGTH": f"{w / 1000}"} for w in WAVES], {"wavelength_units": "Micrometers"},
             [f"B{i}" for i in range(9)], WAVES / 1000, "um"),
            ([{"ns": "IMAGERY", "CENTRAL_WAVELENGTH_UM": f"{w / 1000}"} for w in WAVES], {}, None,
             WAVES / 1000, "um"),
            ([], {"wavelength": "{" + ", ".join(map(str, WAVES)) + "}"}, None, WAVES, None),
            ([], {}, [f"Band {i} ({w} Nanometers)" for i, w in enumerate(WAVES)], WAVES, "nm"),
            ([], {}, [f"{w / 1000} µm" for w in WAVES], WAVES / 1000, "um"),
        ],
    )  # fmt: skip
    def test_wavelengths(self, path, of_bands, tags, names, waves, unit):
        self.write(path, CUBE, of_bands=of_bands, tags=tags, names=names)
        dataset = read_tensor(path)
        np.testing.assert_allclose(dataset.coords["band"], waves)
        assert dataset.units == (None if unit is None else {"band": unit})
        by_row = read_tensor(path, sample_axis="y")
        assert by_row.dims == ("column", "band")
        np.testing.assert_allclose(by_row.coords["band"], waves)

    def test_names_of_bands(self, path):
        names = ["blue", "green", "500 nm", *(f"B{i}" for i in range(6))]  # no unit for all
        self.write(path, CUBE, names=names)
        dataset = read_tensor(path)
        assert dataset.coords["band"].tolist() == names
        assert dataset.units is None
        # A name for one band only is none.
        self.write(path, CUBE, of_bands=[{"wavelength": "400"}])
        assert read_tensor(path).coords is None

    def test_units_reach_the_selector(self, path):
        pytest.importorskip("xarray")
        bands = [{"wavelength": f"{w}", "wavelength_units": "nm"} for w in WAVES]
        self.write(path, CUBE.astype("f4"), of_bands=bands)
        found = GeometrySelector(3).fit(read_tensor(path)).to_xarray()
        assert found.band.attrs["units"] == "nm"
        np.testing.assert_allclose(found.band, WAVES)

    @pytest.mark.parametrize("nodata", [-9999.0, np.nan])
    def test_nodata(self, path, nodata):
        cube, kept = CUBE.astype("f4"), np.ones((6, 5), bool)
        cube[2, 3] = cube[4, 1, 0] = nodata
        kept[2, 3] = kept[4, 1] = False
        self.write(path, cube, nodata=nodata)
        np.testing.assert_array_equal(read_tensor(path).data, cube[kept])

    @pytest.mark.parametrize("inside", ["YES", "NO"])
    def test_masks(self, path, inside):
        rasterio = pytest.importorskip("rasterio")
        kept = RNG.random((6, 5)) < 0.7
        truth = RNG.integers(0, 3, (6, 5), dtype="u1")
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=inside):
            self.write(path, CUBE, mask=kept)
            self.write(path.with_name("gt.tif"), truth[..., None], mask=kept)
        beside = path.with_name("a.tif.msk")
        assert beside.exists() == (inside == "NO")
        np.testing.assert_array_equal(read_tensor(path).data, CUBE[kept])
        # A ground truth with a mask is still one array of labels.
        dataset = read_tensor(path, labels=path.with_name("gt.tif"), drop_label=0)
        np.testing.assert_array_equal(dataset.labels, truth[kept & (truth > 0)])

    def test_a_mask_of_another_scene(self, path):
        self.write(path, CUBE)
        beside = path.with_name("a.tif.msk")
        tifffile.imwrite(beside, np.ones((4, 5), bool))
        refused(path, f"{beside}: a mask with 4 x 5 pixels")
        beside.write_bytes(b"nothing")
        refused(path, f"{beside}: damaged")

    def test_scales_that_differ(self, path):
        rasterio = pytest.importorskip("rasterio")
        self.write(path, CUBE)
        with rasterio.open(path, "r+") as file:
            file.scales = [1e-4] * 9
        np.testing.assert_array_equal(read_tensor(path).data, CUBE.reshape(30, 9))
        with rasterio.open(path, "r+") as file:
            file.scales = [1e-4] * 8 + [1e-2]
        refused(path, "different scales, from 0.0001 to 0.01", "gdal_translate -unscale")


class TestMetadataThatLie:
    def write(self, path, tag):
        tifffile.imwrite(
            path, CUBE, photometric="minisblack", planarconfig="contig", extratags=[*GEO, tag]
        )

    @pytest.mark.parametrize(
        "text",
        [
            "<GDALMetadata><Item name='a'>",
            "nothing of the kind",
            '<!DOCTYPE a [<!ENTITY b "bbbb">]><GDALMetadata><Item name="x">&b;</Item>'
            "</GDALMetadata>",
        ],
    )
    def test_no_xml(self, path, text):
        self.write(path, (42112, "s", 0, text, True))
        refused(path, "metadata of GDAL")

    @pytest.mark.parametrize(
        "items",
        [
            [("wavelength", "nan", "sample", str(i)) for i in range(9)],
            [("wavelength", "400, 500")],
            [("wavelength", "x", "sample", str(i)) for i in range(9)],
            [("DESCRIPTION", "a", "sample", "99999999999", "role", "description")],
            [("SCALE", "x", "sample", "0", "role", "scale")],
        ],
    )
    def test_names_without_sense_are_left_out(self, path, items):
        self.write(path, gdal_tag(*items))
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, CUBE.reshape(30, 9))
        assert dataset.coords is None


class TestFilesThatLie:
    def test_truncated(self, path):
        for options in ({}, {"compression": "zlib"}):
            tifffile.imwrite(path, PAGES, photometric="minisblack", **options)
            whole = path.read_bytes()
            n_refused = 0
            for length in range(1, len(whole), max(1, len(whole) // 80)):
                path.write_bytes(whole[:length])
                dataset, message = read_or_refuse(path)
                if dataset is not None:
                    np.testing.assert_array_equal(dataset.data, PAGES)
                    continue
                n_refused += 1
                assert "\n" not in message
                assert message.startswith(str(path))
            assert n_refused > 50

    def test_damaged_bytes(self, path):
        tifffile.imwrite(path, PAGES, photometric="minisblack", compression="zlib")
        whole = path.read_bytes()
        rng = np.random.default_rng(0)
        n_refused = 0
        for _ in range(200):
            raw = bytearray(whole)
            for place in rng.integers(0, min(len(raw), 600), 2):
                raw[place] = rng.integers(0, 256)
            path.write_bytes(raw)
            dataset, message = read_or_refuse(path)
            if dataset is None:
                n_refused += 1
                assert "\n" not in message
                assert str(path) in message
        assert n_refused > 20

    def tag(self, path, number, value, code="<I"):
        """Overwrite the value of a tag of the first page."""
        raw = bytearray(path.read_bytes())
        start = struct.unpack_from("<I", raw, 4)[0]
        for entry in range(struct.unpack_from("<H", raw, start)[0]):
            place = start + 2 + 12 * entry
            if struct.unpack_from("<H", raw, place)[0] == number:
                struct.pack_into(code, raw, place + 8, value)
        path.write_bytes(raw)

    @pytest.mark.parametrize(("width", "height"), [(2**31 - 1, 2**31 - 1), (50_000, 50_000)])
    def test_huge_sizes(self, path, width, height):
        for options in ({}, {"compression": "zlib"}):
            tifffile.imwrite(path, CUBE, planarconfig="contig", metadata=None, **options)
            self.tag(path, 256, width)
            self.tag(path, 257, height)
            refused(path)

    def test_pixels_outside_of_the_file(self, path):
        tifffile.imwrite(path, CUBE, planarconfig="contig", metadata=None)
        self.tag(path, 273, 2**31)
        refused(path, "lie outside of the file")
        tifffile.imwrite(path, CUBE, planarconfig="contig", metadata=None)
        self.tag(path, 279, 100)
        refused(path, "fewer pixels than its header says")

    def test_a_loop_of_pages(self, path):
        tifffile.imwrite(path, PAGES, photometric="minisblack", metadata=None)
        raw = bytearray(path.read_bytes())
        start = struct.unpack_from("<I", raw, 4)[0]
        n_tags = struct.unpack_from("<H", raw, start)[0]
        struct.pack_into("<I", raw, start + 2 + 12 * n_tags, start)
        path.write_bytes(raw)
        refused(path)

    def test_bombs(self, path):
        """A strip of zeros that unpacks to a thousand times its size."""
        tifffile.imwrite(path, CUBE, planarconfig="contig", metadata=None, compression="zlib")
        raw = path.read_bytes()
        strip = zlib.compress(bytes(2**28), 9)
        path.write_bytes(raw + strip)
        self.tag(path, 273, len(raw))
        self.tag(path, 279, len(strip))
        refused(path, "bomb")

    def test_pages_that_differ(self, path):
        with tifffile.TiffWriter(path) as file:
            for page in (PAGES[0], PAGES[1], PAGES[2, :4]):
                file.write(page, metadata=None)
        refused(path, "page 2 has 4 x 5 pixels", "first has 6 x 5")

    def test_compressions_that_need_more(self, path):
        Image.fromarray(PAGES[0]).save(path, compression="tiff_lzw")
        pytest.importorskip("PIL.features")
        if "imagecodecs" not in sys.modules:
            refused(path, "imagecodecs")
        Image.fromarray(PAGES[0]).save(path, compression="jpeg")
        refused(path, "packed by JPEG")

    def test_stacks_without_pages(self, path):
        tifffile.imwrite(path, PAGES[0], description="ImageJ=1.53\nimages=9\n", metadata=None)
        refused(path, "9 pictures")

    def test_the_log_is_left_alone(self, path, caplog):
        path.write_bytes(b"II*\x00\x08\x00\x00\x00" + bytes(50))
        with caplog.at_level(logging.DEBUG):
            refused(path)
        assert not caplog.records
        assert not logging.getLogger("tifffile").filters

    def test_without_tifffile(self, path, monkeypatch):
        tifffile.imwrite(path, PAGES, photometric="minisblack")
        monkeypatch.setitem(sys.modules, "tifffile", None)
        refused(path, 'pip install "tensift[images]"', error=ImportError)
