"""TIFF stacks of times, slices and channels: the array that tifffile itself reads."""

import json

import numpy as np
import pytest

from tensift.datasets import read_tensor

tifffile = pytest.importorskip("tifffile")
RNG = np.random.default_rng(4)
OME = (
    '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">'
    '<Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="{order}" Type="uint8" SizeX="5" '
    'SizeY="6" SizeZ="1" SizeC="{channels}" SizeT="{times}">{where}</Pixels></Image></OME>'
)


def numbers(*shape):
    return RNG.integers(0, 256, (*shape, 6, 5), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["a.tif", "a.ome.tif", "imagej"])
@pytest.mark.parametrize(
    ("axes", "sizes", "samples", "dims"),
    [
        ("TCYX", (4, 3), 0, ("channel",)),
        ("TZCYX", (4, 2, 3), 0, ("slice", "channel")),
        ("ZCYX", (4, 3), 0, ("channel",)),
        ("TZYX", (4, 3), 0, ("slice",)),
        ("CTYX", (3, 4), 1, ("channel",)),
        ("CYX", (3,), 0, ()),
    ],
)
def test_stacks(tmp_path, kind, axes, sizes, samples, dims):
    if kind == "imagej" and axes == "CTYX":
        pytest.skip("ImageJ has times first")
    path = tmp_path / ("a.tif" if kind == "imagej" else kind)
    options = {"imagej": True} if kind == "imagej" else {"photometric": "minisblack"}
    written = numbers(*sizes)
    tifffile.imwrite(path, written, metadata={"axes": axes}, **options)
    truth = tifffile.imread(path)
    found = read_tensor(path)
    np.testing.assert_array_equal(truth, written)
    np.testing.assert_array_equal(found.data, np.moveaxis(truth, samples, 0))
    assert found.dims == (*dims, "row", "column")


@pytest.mark.parametrize("planar", [False, True])
def test_stacks_in_colour(tmp_path, planar):
    written = RNG.integers(0, 256, (4, 2, 6, 5, 3), dtype=np.uint8)
    layout = {"planarconfig": "separate" if planar else "contig", "photometric": "rgb"}
    given = np.moveaxis(written, -1, 2) if planar else written
    tifffile.imwrite(tmp_path / "a.tif", given, **layout)
    found = read_tensor(tmp_path / "a.tif")
    np.testing.assert_array_equal(found.data, written)
    assert found.dims == ("plane", "row", "column", "channel")


def test_the_axis_of_the_samples_can_be_chosen(tmp_path):
    written = numbers(4, 3)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, written, photometric="minisblack", metadata={"axes": "TCYX"})
    found = read_tensor(path, sample_axis="channel")
    np.testing.assert_array_equal(found.data, written.swapaxes(0, 1))
    assert found.dims == ("time", "row", "column")
    found = read_tensor(path, sample_axis=("time", "channel"))
    np.testing.assert_array_equal(found.data, written.reshape(12, 6, 5))


def plane(time, channel, page):
    return f'<TiffData FirstT="{time}" FirstC="{channel}" IFD="{page}" PlaneCount="1"/>'


@pytest.mark.parametrize("order", ["XYCZT", "XYTZC"])
def test_orders_of_ome(tmp_path, order):
    """The first letter after the pixels changes fastest from page to page."""
    written = numbers(6)
    places = [(t, c) for t in range(3) for c in range(2)]
    if order == "XYTZC":
        places = [(t, c) for c in range(2) for t in range(3)]
    where = "".join(plane(t, c, page) for page, (t, c) in enumerate(places))
    text = OME.format(order=order, channels=2, times=3, where=where)
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, written, photometric="minisblack", description=text, metadata=None)
    found = read_tensor(path)
    assert found.data.shape == (3, 2, 6, 5)
    for page, (time, channel) in enumerate(places):
        np.testing.assert_array_equal(found.data[time, channel], written[page])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps({"shape": [9, 6, 5], "truncated": True}), "9 pictures, of which 6 have a page"),
        (json.dumps({"shape": [2, 2, 6, 5]}), "several stacks in one file: the first has 4 of 6"),
        ("ImageJ=1.53\nimages=6\nchannels=2\nframes=2\n", "several stacks in one file"),
        (OME.format(order="XYCZT", channels=2, times=5, where=""), "10 pictures, of which 6"),
        (OME.format(order="XYCZT", channels=2, times=3, where=plane(1, 0, 0)), "OME pages in an"),
        (OME.format(order="XYCZT", channels=2, times=3, where=plane("x", 0, 0)), "OME pages in an"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(tmp_path, text, words):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, numbers(6), photometric="minisblack", description=text, metadata=None)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_tensor(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"shape": [2, 3',
        '{"shape": "many"}',
        '{"shape": [2, 3, 7, 5]}',
        '{"shape": [-2, -3, 6, 5]}',
        '{"shape": [null, 3, 6, 5]}',
        '{"shape": [1e999, 6, 5]}',
        '{"shape":' + "[" * 100_000,
        "ImageJ=1.53\nchannels=99999999999999999999\n",
        OME.format(order="XYCZQ", channels=2, times=3, where=""),
        OME.format(order="XYCZT", channels="-2", times="many", where=""),
        "<OME></OME>",
    ],
    ids=range(11),
)
def test_descriptions_without_sense_are_left_alone(tmp_path, text):
    path, written = tmp_path / "a.tif", numbers(6)
    tifffile.imwrite(path, written, photometric="minisblack", description=text, metadata=None)
    found = read_tensor(path)
    np.testing.assert_array_equal(found.data, written)
    assert found.dims == ("row", "column")
