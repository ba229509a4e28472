"""Folders of TIFF patches with many bands: the numbers of each file, and their names."""

import numpy as np
import pytest

from tensift.cli import main
from tensift.datasets import read_tensor

tifffile = pytest.importorskip("tifffile")
pytest.importorskip("PIL")
RNG = np.random.default_rng(6)
PATCHES = RNG.integers(0, 2**14, (6, 8, 9, 13), dtype=np.uint16)


def write(folder, patches=PATCHES, planar=False, places="p{}.tif"):
    for k, patch in enumerate(patches):
        path = folder / places.format(k)
        path.parent.mkdir(exist_ok=True)
        given = np.moveaxis(patch, -1, 0) if planar else patch
        layout = "separate" if planar else "contig"
        tifffile.imwrite(path, given, photometric="minisblack", planarconfig=layout)


@pytest.mark.parametrize("planar", [False, True])
def test_each_file_is_a_sample(tmp_path, planar, capsys):
    write(tmp_path, planar=planar)
    found = read_tensor(tmp_path)
    np.testing.assert_array_equal(found.data, PATCHES)
    assert found.dims == ("row", "column", "band")
    assert main(["info", str(tmp_path)]) == 0
    assert "every band is a feature" in capsys.readouterr().out


def test_subfolders_are_labels(tmp_path):
    write(tmp_path, PATCHES[:2], places="forest/{}.tif")
    write(tmp_path, PATCHES[2:], places="water/{}.tif")
    found = read_tensor(tmp_path)
    np.testing.assert_array_equal(found.data, PATCHES)
    assert list(found.labels) == ["forest"] * 2 + ["water"] * 4


@pytest.mark.filterwarnings("ignore:Use `@` matmul:PendingDeprecationWarning")
def test_wavelengths_written_by_rasterio(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    waves = np.linspace(443, 2190, 13).round()

    def patch(path, waves):
        profile = {"driver": "GTiff", "height": 8, "width": 9, "count": 13, "dtype": "uint16"}
        place = rasterio.transform.from_origin(500000, 5000000, 10, 10)
        with rasterio.open(path, "w", crs="EPSG:32633", transform=place, **profile) as scene:
            scene.write(np.moveaxis(PATCHES[0], -1, 0))
            for band, wave in enumerate(waves, start=1):
                scene.update_tags(band, wavelength=str(wave), wavelength_units="nm")

    for k in range(2):
        patch(tmp_path / f"{k}.tif", waves)
    found = read_tensor(tmp_path)
    np.testing.assert_array_equal(found.coords["band"], waves)
    assert found.names.title(2) == "band (nm)"
    patch(tmp_path / "2.tif", waves[::-1])
    with pytest.raises(
        ValueError, match=r"2\.tif: band 0 is 2190\.0, but 443\.0 in 0\.tif; give all"
    ):
        read_tensor(tmp_path)


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (PATCHES[0, :7], "7 x 9 pixels in 13 bands, uint16, but p0.tif has 8 x 9 pixels in 13"),
        (PATCHES[0, ..., :12], "in 12 bands"),
        (PATCHES[0].astype(np.float32), "float32"),
        (PATCHES[0, ..., :5].transpose(2, 0, 1), "several pages among patches"),
    ],
)
def test_odd_files_are_named(tmp_path, odd, words):
    write(tmp_path, PATCHES[:3])
    layout = None if len(odd) == 5 else "contig"
    tifffile.imwrite(tmp_path / "p9.tif", odd, photometric="minisblack", planarconfig=layout)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_tensor(tmp_path)
    assert "p9.tif" in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_files_are_named(tmp_path):
    write(tmp_path, PATCHES[:3])
    whole = (tmp_path / "p1.tif").read_bytes()
    (tmp_path / "p1.tif").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"p1\.tif: damaged or truncated TIFF"):
        read_tensor(tmp_path)
