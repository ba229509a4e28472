"""Folders of pictures, written by Pillow, and folders that only look like them."""

import os
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from tensift.datasets import files_of_input, open_tensor_file, read_tensor

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (3, 6, 5), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (3, 6, 5, 3), dtype=np.uint8)


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


def write(folder, pictures, suffix="png", names=None, **options):
    folder.mkdir(exist_ok=True)
    names = names or [f"shot{place}" for place in range(len(pictures))]
    for name, pixels in zip(names, pictures, strict=True):
        Image.fromarray(pixels).save(folder / f"{name}.{suffix}", **options)
    return folder


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "pictures"


class TestPictures:
    @pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "TIFF", "PNG"])
    def test_grey(self, folder, suffix):
        dataset = read_tensor(write(folder, GREY, suffix))
        np.testing.assert_array_equal(dataset.data, GREY)
        assert dataset.data.dtype == np.uint8
        assert dataset.dims == ("row", "column")
        assert (dataset.coords, dataset.labels, dataset.name) == (None, None, "pictures")

    @pytest.mark.parametrize("suffix", ["png", "bmp", "tiff"])
    def test_colour(self, folder, suffix):
        dataset = read_tensor(write(folder, COLOUR, suffix))
        np.testing.assert_array_equal(dataset.data, COLOUR)
        assert dataset.dims == ("row", "column", "channel")
        assert dataset.coords["channel"].tolist() == ["red", "green", "blue"]

    def test_jpeg_as_pillow_decodes_it(self, folder):
        write(folder, COLOUR, "jpg")
        expected = [np.asarray(Image.open(folder / f"shot{i}.jpg")) for i in range(3)]
        np.testing.assert_array_equal(read_tensor(folder).data, expected)

    @pytest.mark.parametrize(
        ("shape", "dtype", "suffix"),
        [
            ((3, 6, 5, 4), "u1", "png"),
            ((3, 6, 5), "u2", "png"),
            ((3, 6, 5), "u2", "tif"),
            ((3, 6, 5), "f4", "tif"),
            ((3, 6, 5), "i4", "tif"),
            ((3, 6, 5, 2), "u1", "png"),
        ],
    )
    def test_other_modes(self, folder, shape, dtype, suffix):
        pixels = RNG.integers(0, 255, shape).astype(dtype)
        folder.mkdir()
        for place, one in enumerate(pixels):
            Image.fromarray(one).save(folder / f"{place}.{suffix}")
        dataset = read_tensor(folder)
        np.testing.assert_array_equal(dataset.data, pixels)
        assert dataset.data.dtype == dtype
        if len(shape) == 4:
            assert dataset.coords["channel"][-1] == "alpha"

    def test_black_and_white_and_palettes(self, folder):
        bits = GREY[0] > 128
        write(folder, [bits])
        np.testing.assert_array_equal(read_tensor(folder).data[0], np.where(bits, 255, 0))
        palette = Image.fromarray(COLOUR[0]).quantize(4)
        palette.save(folder / "shot0.png")
        np.testing.assert_array_equal(
            read_tensor(folder).data[0], np.asarray(palette.convert("RGB"))
        )

    def test_natural_order_and_what_is_ignored(self, folder):
        write(folder, GREY, names=["shot10", "Shot2", "shot1"])
        (folder / ".hidden.png").write_bytes(b"no picture")
        (folder / "notes.txt").write_text("not a picture")
        (folder / "archive.png").mkdir()
        write(folder / "sub", GREY[:1])
        np.testing.assert_array_equal(read_tensor(folder).data, GREY[[2, 1, 0]])
        names = [file.name for file in files_of_input(folder)]
        assert names == ["shot1.png", "Shot2.png", "shot10.png"]

    def test_subfolders_are_labels(self, folder):
        folder.mkdir()
        write(folder / "class10", GREY[:1])
        write(folder / "class2", GREY[1:])
        (folder / "empty").mkdir()
        (folder / ".git").mkdir()
        (folder / "readme.md").write_text("about these pictures")
        dataset = read_tensor(folder)
        np.testing.assert_array_equal(dataset.data, GREY[[1, 2, 0]])
        assert dataset.labels.tolist() == ["class2", "class2", "class10"]
        assert read_tensor(folder, labels=[5, 6, 7]).labels.tolist() == [5, 6, 7]

    def test_subfolders_of_subfolders(self, folder):
        for place, label in enumerate(("train/cat", "train/dog", "bird")):
            (folder / label).mkdir(parents=True)
            write(folder / label, GREY[[place]])
            (folder / label / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
        write(folder / "bird" / "thumbnails", GREY[:1, :2])  # beside pictures: not read
        (folder / "train" / "again").symlink_to(folder)
        dataset = read_tensor(folder)
        np.testing.assert_array_equal(dataset.data, GREY[[2, 0, 1]])
        assert dataset.labels.tolist() == ["bird", "train/cat", "train/dog"]

    def test_pictures_are_turned_as_viewers_show_them(self, folder):
        write(folder, COLOUR[:1])
        exif = Image.Exif()
        exif[0x0112] = 6  # the right side of the scene is up
        turned = Image.fromarray(np.rot90(COLOUR[1]))
        turned.save(folder / "shot1.png", exif=exif)
        np.testing.assert_array_equal(read_tensor(folder).data, COLOUR[:2])

    def test_headers_are_read_without_decoding(self, folder, monkeypatch):
        write(folder, COLOUR)

        def load(self):
            raise AssertionError("decoded")

        monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
        assert open_tensor_file(folder).arrays["data"].shape == COLOUR.shape

    def test_every_pixel_a_sample(self, folder):
        dataset = read_tensor(write(folder, GREY), sample_axis="row,column")
        np.testing.assert_array_equal(dataset.data, GREY.reshape(3, -1).T)
        assert dataset.dims == ("picture",)
        assert dataset.sample_shape == (6, 5)


class TestFoldersThatLie:
    def test_without_pictures(self, folder):
        folder.mkdir()
        refused(
            folder,
            "a folder of pictures (PNG, JPEG, TIFF, BMP): this one has none",
            error=IsADirectoryError,
        )
        (folder / "a.txt").write_text("1,2")
        (folder / "sub" / "deeper").mkdir(parents=True)
        refused(
            folder,
            "a folder of pictures (PNG, JPEG, TIFF, BMP): this one has none",
            error=IsADirectoryError,
        )

    @pytest.mark.parametrize("suffix", ["gif", "webp", "HEIC"])
    def test_pictures_of_other_kinds_are_not_left_out_in_silence(self, folder, suffix):
        write(folder, GREY)
        (folder / f"shot3.{suffix}").write_bytes(b"whatever it is")
        message = refused(folder, "a picture of a kind that is not read; convert it to PNG")
        assert message.startswith(str(folder / f"shot3.{suffix}: "))

    @pytest.mark.parametrize(
        ("other", "words"),
        [
            (GREY[0, :4], ("4 x 5 pixels, grey", "shot0.png has 6 x 5 pixels, grey")),
            (COLOUR[0], ("6 x 5 pixels, colour", "shot0.png has 6 x 5 pixels, grey")),
        ],
    )
    def test_the_first_that_differs(self, folder, other, words):
        write(folder, [*GREY, other, other])
        message = refused(folder, *words, "resize, crop or convert", "(and 1 more that differ)")
        assert message.startswith(str(folder / "shot3.png: "))

    def test_the_one_that_differs_is_named_even_if_it_is_the_first(self, folder):
        write(folder, [GREY[0, :4], *GREY])
        message = refused(folder, "4 x 5 pixels, grey, but shot1.png has 6 x 5 pixels, grey")
        assert message.startswith(str(folder / "shot0.png: "))

    def test_no_picture(self, folder):
        write(folder, GREY)
        (folder / "shot1.png").write_text("1,2,3\n")
        assert str(folder / "shot1.png") in refused(folder, "although its name says so")
        (folder / "shot1.png").write_bytes(b"")
        refused(folder, "although its name says so")
        # Pillow would start Ghostscript for these.
        (folder / "shot1.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 5 6\n")
        refused(folder, "although its name says so")
        (folder / "shot1.png").write_bytes(b"GIF89a" + bytes(100))
        refused(folder, "although its name says so")

    @pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "jpg"])
    def test_truncated(self, folder, suffix):
        write(folder, COLOUR, suffix)
        path = folder / f"shot1.{suffix}"
        whole, expected = path.read_bytes(), read_tensor(folder).data
        n_refused = 0
        for length in range(0, len(whole), max(1, len(whole) // 60)):
            path.write_bytes(whole[:length])
            dataset, message = read_or_refuse(folder)
            if dataset is not None:
                np.testing.assert_array_equal(dataset.data, expected)
                continue
            n_refused += 1
            assert message.startswith(str(path))
            assert "\n" not in message
        assert n_refused > 20

    def test_decompression_bombs(self, folder):
        """Headers that promise more pixels than memory holds, in a few bytes."""
        write(folder, GREY[:1])
        whole = (folder / "shot0.png").read_bytes()

        def lie(width, height):
            head = b"IHDR" + struct.pack(">II", width, height) + whole[24:29]
            return whole[:12] + head + struct.pack(">I", zlib.crc32(head)) + whole[33:]

        (folder / "shot0.png").write_bytes(lie(2**30, 2**30))
        refused(folder, "bomb")
        (folder / "shot0.png").write_bytes(lie(10**4, 10**4))  # Pillow only warns of this one
        refused(folder, "damaged or truncated picture")

    def test_more_than_the_memory(self, folder, monkeypatch):
        write(folder, GREY)
        monkeypatch.setattr("tensift.datasets._stored.available_memory", lambda: 80)
        refused(folder, "GiB are free")

    def test_links(self, folder, tmp_path):
        write(folder, GREY)
        outside = write(tmp_path / "private", GREY[:1])
        (folder / "shot3.png").symlink_to(folder / "shot0.png")
        assert read_tensor(folder).n_samples == 4
        (folder / "shot3.png").unlink()
        (folder / "shot3.png").symlink_to(outside / "shot0.png")
        refused(folder, "a link out of the folder")
        (folder / "shot3.png").unlink()
        (folder / "shot3.png").symlink_to("nowhere.png")
        refused(folder, "leads nowhere")
        (folder / "shot3.png").unlink()
        (tmp_path / "link").symlink_to(folder)
        assert read_tensor(tmp_path / "link").n_samples == 3
        inside = tmp_path / "classes"
        inside.mkdir()
        (inside / "a").symlink_to(outside)
        refused(inside, "a link out of the folder")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_pipes_do_not_hang(self, folder):
        write(folder, GREY)
        os.mkfifo(folder / "shot3.png")
        refused(folder, "not a regular file")

    def test_sixteen_bits_of_colour_are_not_cut_to_eight(self, folder):
        import tifffile

        folder.mkdir()
        pixels = RNG.integers(0, 2**16, (6, 5, 3), dtype=np.uint16)
        tifffile.imwrite(folder / "a.tif", pixels, photometric="rgb")
        refused(folder, "more than 8 bits per channel")
        (folder / "a.tif").unlink()
        lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

        def chunk(kind, content):
            body = kind + content
            return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 6, 16, 2, 0, 0, 0))
        png = head + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
        (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + png)
        refused(folder, "more than 8 bits per channel")

    def test_pages_and_unknown_modes(self, folder):
        import tifffile

        folder.mkdir()
        tifffile.imwrite(folder / "a.tif", GREY, photometric="minisblack")
        refused(folder, "3 pages", "name this file alone")
        Image.fromarray(COLOUR[0]).convert("LAB").save(folder / "a.tif")
        refused(folder, "mode LAB")

    def test_nothing_is_logged(self, folder, caplog):
        write(folder, COLOUR[:1], "tif")
        path = folder / "shot0.tif"
        raw = path.read_bytes()
        samples = struct.pack("<HHIHH", 277, 3, 1, 3, 0)  # the tag of samples per pixel
        assert samples in raw
        path.write_bytes(raw.replace(samples, struct.pack("<HHIHH", 277, 3, 1, 9999, 0)))
        refused(folder, "although its name says so")
        assert not caplog.records

    def test_without_pillow(self, folder, monkeypatch):
        write(folder, GREY)
        monkeypatch.setitem(sys.modules, "PIL", None)
        monkeypatch.setitem(sys.modules, "PIL.ExifTags", None)
        refused(folder, 'pip install "tensift[images]"', error=ImportError)

    def test_options_that_do_not_fit(self, folder):
        write(folder, GREY)
        refused(folder, "header is for tables", header=True)
        refused(folder, "no array 'x'", variable="x")
        refused(folder, "2 labels for 3 samples", labels=[1, 2])
        assert open_tensor_file(folder).arrays["data"].shape == (3, 6, 5)
