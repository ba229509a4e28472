"""Readers: round trips in every format, and files that lie, end early or carry pickles."""

import pickle
import re
import struct
import warnings
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tensift.datasets import _numpy_files as numpy_files
from tensift.datasets import read_tensor

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(6, 4, 5))
LABELS = np.array([1, 1, 2, 2, 3, 3])


def write_mat73(path, **arrays):
    """What MATLAB 7.3 writes: HDF5 behind a 512-byte header, with the axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in arrays.items():
            if isinstance(value, str):
                codes = np.array([[ord(letter)] for letter in value], dtype=np.uint16)
                file[name] = codes
                file[name].attrs["MATLAB_class"] = np.bytes_("char")
                continue
            value = np.asarray(value)
            if value.dtype.kind == "c":
                pairs = np.empty(value.shape, dtype=[("real", "f8"), ("imag", "f8")])
                pairs["real"], pairs["imag"] = value.real, value.imag
                value = pairs
            file[name] = value.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
    header = (
        b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + struct.pack("<H", 0x0200) + b"IM"
    )
    with open(path, "r+b") as stream:
        stream.write(header)


class TestRoundTrips:
    def test_npy(self, tmp_path):
        np.save(tmp_path / "a.npy", DATA)
        dataset = read_tensor(tmp_path / "a.npy", labels=LABELS)
        np.testing.assert_array_equal(dataset.data, DATA)
        np.testing.assert_array_equal(dataset.labels, LABELS)
        assert dataset.name == "a"

    def test_npy_in_fortran_order_and_another_sample_axis(self, tmp_path):
        np.save(tmp_path / "a.npy", np.asfortranarray(np.moveaxis(DATA, 0, 1)))
        np.testing.assert_array_equal(read_tensor(tmp_path / "a.npy", sample_axis=1).data, DATA)

    def test_a_large_npy_is_mapped_read_only(self, tmp_path, monkeypatch):
        monkeypatch.setattr(numpy_files, "_MAP_FROM_BYTES", 100)
        np.save(tmp_path / "a.npy", DATA)
        data = read_tensor(tmp_path / "a.npy").data
        assert isinstance(data, np.memmap)
        assert not data.flags.writeable
        np.testing.assert_array_equal(data, DATA)

    @pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
    def test_npz_with_every_name(self, tmp_path, save):
        save(
            tmp_path / "a.npz",
            data=DATA,
            labels=["x", "x", "y", "y", "z", "z"],
            dims=["channel", "time"],
            coords_channel=["p", "q", "r", "s"],
            feature_mode=0,
            informative=[1, 3],
        )
        dataset = read_tensor(tmp_path / "a.npz")
        np.testing.assert_array_equal(dataset.data, DATA)
        assert dataset.labels.tolist() == ["x", "x", "y", "y", "z", "z"]
        assert dataset.dims == ("channel", "time")
        assert dataset.coords["channel"].tolist() == ["p", "q", "r", "s"]
        assert dataset.feature_mode == 0
        assert dataset.informative.tolist() == [1, 3]

    @pytest.mark.parametrize("name", ["X", "anything"])
    def test_npz_finds_the_only_tensor(self, tmp_path, name):
        np.savez(tmp_path / "a.npz", **{name: DATA, "y": LABELS, "weights": np.ones(3)})
        dataset = read_tensor(tmp_path / "a.npz")
        np.testing.assert_array_equal(dataset.data, DATA)
        np.testing.assert_array_equal(dataset.labels, LABELS)

    def test_npz_named_variable_and_labels(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=np.zeros((2, 2)), other=DATA, kinds=LABELS)
        dataset = read_tensor(tmp_path / "a.npz", variable="other", labels="kinds")
        np.testing.assert_array_equal(dataset.data, DATA)
        np.testing.assert_array_equal(dataset.labels, LABELS)

    @pytest.mark.parametrize("compressed", [True, False])
    @pytest.mark.parametrize(
        "values",
        [DATA, DATA + 2j, DATA.astype(np.float32), (DATA * 50).astype(np.int16), DATA > 0],
        ids=["double", "complex", "single", "int16", "logical"],
    )
    def test_the_papers_mat_layout(self, tmp_path, compressed, values):
        stored = {
            "data": np.moveaxis(values, 0, -1),
            "label": LABELS[:, None],
            "tensor_type": "tube-wise",
            "DiscFea": np.array([[2, 5]], dtype=np.uint8),
            "tensor_size": np.array([[4, 5]], dtype=np.uint8),
        }
        scipy.io.savemat(tmp_path / "a.mat", stored, do_compression=compressed)
        dataset = read_tensor(tmp_path / "a.mat")
        np.testing.assert_array_equal(dataset.data, values)
        np.testing.assert_array_equal(dataset.labels, LABELS)
        assert dataset.feature_mode is None
        # Counted from 1 down the columns of a 4 x 5 sample: (1, 0) and (0, 1).
        assert dataset.informative.tolist() == [5, 1]

    def test_slice_wise_mat(self, tmp_path):
        stored = {"data": np.moveaxis(DATA, 0, -1), "tensor_type": "slice-wise", "DiscFea": [[2]]}
        scipy.io.savemat(tmp_path / "a.mat", stored)
        dataset = read_tensor(tmp_path / "a.mat")
        assert dataset.feature_mode == 0
        assert dataset.informative.tolist() == [1]

    def test_big_endian_mat_written_by_hand(self, tmp_path):
        values = np.arange(6.0)
        body = struct.pack(">IIII", 6, 8, 6, 0)  # array flags: class double
        body += struct.pack(">IIii", 5, 8, 2, 3)  # dimensions
        body += struct.pack(">HH4s", 1, 1, b"q")  # a name, packed into its tag
        body += struct.pack(">II", 9, 48) + values.astype(">f8").tobytes()
        header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack(">H", 0x0100) + b"MI"
        (tmp_path / "a.mat").write_bytes(header + struct.pack(">II", 14, len(body)) + body)
        dataset = read_tensor(tmp_path / "a.mat")
        np.testing.assert_array_equal(dataset.data, values.reshape(3, 2))
        assert scipy.io.loadmat(tmp_path / "a.mat")["q"].tolist() == [[0, 2, 4], [1, 3, 5]]

    def test_mat_agrees_with_scipy_when_several_variables_stand_before(self, tmp_path):
        stored = {
            "aaa": {"field": np.ones((2, 2))},
            "cells": np.array([1, "two"], dtype=object),
            "data": np.moveaxis(DATA, 0, -1),
            "text": "words",
        }
        scipy.io.savemat(tmp_path / "a.mat", stored, do_compression=True)
        expected = np.moveaxis(scipy.io.loadmat(tmp_path / "a.mat")["data"], -1, 0)
        np.testing.assert_array_equal(read_tensor(tmp_path / "a.mat").data, expected)

    @pytest.mark.parametrize("values", [DATA, DATA - 1j], ids=["double", "complex"])
    def test_mat73_turns_the_axes_back(self, tmp_path, values):
        write_mat73(
            tmp_path / "a.mat",
            data=np.moveaxis(values, 0, -1),
            label=LABELS[:, None],
            tensor_type="slice-wise",
        )
        dataset = read_tensor(tmp_path / "a.mat")
        np.testing.assert_array_equal(dataset.data, values)
        np.testing.assert_array_equal(dataset.labels, LABELS)
        assert dataset.feature_mode == 0

    def test_plain_hdf5_is_samples_first(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["group/values"] = DATA
            file["labels"] = ["a", "a", "b", "b", "c", "c"]
            file["dims"] = ["row", "column"]
        dataset = read_tensor(tmp_path / "a.h5")
        np.testing.assert_array_equal(dataset.data, DATA)
        assert dataset.labels.tolist() == ["a", "a", "b", "b", "c", "c"]
        assert dataset.dims == ("row", "column")

    @pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
    def test_text_with_a_header(self, tmp_path, suffix, mark):
        path = tmp_path / f"a.{suffix}"
        rows = [["width", "label", "height"], ["1", "cat", "2.5"], ["3e2", "dog", "-4"]]
        path.write_text("".join(mark.join(row) + "\n" for row in rows), encoding="utf-8-sig")
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, [[1, 2.5], [300, -4]])
        assert dataset.labels.tolist() == ["cat", "dog"]
        assert dataset.coords["column"].tolist() == ["width", "height"]

    def test_text_without_a_header(self, tmp_path):
        (tmp_path / "a.txt").write_text("1 2 3\n4 5 6\n")
        dataset = read_tensor(tmp_path / "a.txt")
        np.testing.assert_array_equal(dataset.data, [[1, 2, 3], [4, 5, 6]])
        assert dataset.dims is None

    def test_text_with_a_named_label_column_and_quotes(self, tmp_path):
        (tmp_path / "a.csv").write_text('"a, b",class\n"1",7\n2,8\n')
        dataset = read_tensor(tmp_path / "a.csv", labels="class")
        np.testing.assert_array_equal(dataset.data, [[1], [2]])
        assert dataset.labels.tolist() == [7, 8]
        assert dataset.coords["column"].tolist() == ["a, b"]

    def test_labels_from_a_file_of_their_own(self, tmp_path):
        np.save(tmp_path / "a.npy", DATA)
        np.save(tmp_path / "labels.npy", LABELS)
        (tmp_path / "labels.txt").write_text("a\na\nb\nb\nc\nc\n")
        read = read_tensor(tmp_path / "a.npy", labels=tmp_path / "labels.npy")
        np.testing.assert_array_equal(read.labels, LABELS)
        read = read_tensor(tmp_path / "a.npy", labels=str(tmp_path / "labels.txt"))
        assert read.labels.tolist() == ["a", "a", "b", "b", "c", "c"]

    def test_content_decides_not_the_suffix(self, tmp_path):
        scipy.io.savemat(tmp_path / "a.mat", {"data": np.moveaxis(DATA, 0, -1)})
        (tmp_path / "a.mat").rename(tmp_path / "a.npy")
        np.testing.assert_array_equal(read_tensor(tmp_path / "a.npy").data, DATA)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_cells_without_a_value_are_nan(tmp_path, mark):
    rows = [
        ["a", "b", "c", "site"],
        ["1.5", "", "NA", "x"],
        ["2", " 4 ", "n/a", "NA"],
        ["nan", '""', "null", "y"],
        ["-3e2", "?", "None", "y"],
        ["", "7", "-", "x"],
    ]
    (tmp_path / "t.csv").write_text("\n".join(mark.join(row) for row in rows))
    found = read_tensor(tmp_path / "t.csv", groups="site")
    gap = np.nan
    expected = [[1.5, gap, gap], [2, 4, gap], [gap, gap, gap], [-300, gap, gap], [gap, 7, gap]]
    np.testing.assert_array_equal(found.data, expected)
    assert list(found.coords["column"]) == ["a", "b", "c"]
    assert list(found.groups) == ["x", "NA", "y", "y", "x"]
    rows[2][3] = ""
    (tmp_path / "t.csv").write_text("\n".join(mark.join(row) for row in rows))
    with pytest.raises(ValueError, match="line 3 has nothing in column 'site', which is for gro"):
        read_tensor(tmp_path / "t.csv", groups="site")
    (tmp_path / "numbers.csv").write_text("1,2\n3,\n,6\n")
    numbers = read_tensor(tmp_path / "numbers.csv").data
    np.testing.assert_array_equal(numbers, [[1, 2], [3, gap], [gap, 6]])


def check_refused(path, match, error=ValueError, **options):
    with pytest.raises(error, match=match) as caught:
        read_tensor(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message


class TestRefusals:
    def test_missing(self, tmp_path):
        check_refused(tmp_path / "no.npy", "no such file", FileNotFoundError)

    def test_folder(self, tmp_path):
        check_refused(tmp_path, "a folder", IsADirectoryError)

    @pytest.mark.parametrize("suffix", ["npy", "npz", "mat", "h5", "csv", "tsv"])
    def test_empty(self, tmp_path, suffix):
        (tmp_path / f"a.{suffix}").touch()
        check_refused(tmp_path / f"a.{suffix}", "empty")

    def test_object_array_is_never_unpickled(self, tmp_path):
        marker = tmp_path / "executed"
        np.save(tmp_path / "a.npy", np.array([[_Touch(marker)]], dtype=object))
        np.savez(tmp_path / "a.npz", data=np.array([[_Touch(marker)]], dtype=object))
        np.savez(tmp_path / "b.npz", data=DATA, labels=np.array([_Touch(marker)] * 6))
        check_refused(tmp_path / "a.npy", "never unpickled")
        check_refused(tmp_path / "a.npz", "never unpickled")
        check_refused(tmp_path / "b.npz", "neither numbers nor text")
        assert not marker.exists()

    def test_plain_pickle(self, tmp_path):
        marker = tmp_path / "executed"
        (tmp_path / "a.npy").write_bytes(pickle.dumps(_Touch(marker)))
        check_refused(tmp_path / "a.npy", "never loaded")
        assert not marker.exists()

    def test_text_under_a_binary_name(self, tmp_path):
        (tmp_path / "a.npy").write_text("1,2\n3,4\n")
        check_refused(tmp_path / "a.npy", "known format")

    def test_binary_rubbish(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(b"\x00\x01\x02" * 100)
        check_refused(tmp_path / "a.csv", "known format")
        (tmp_path / "b.csv").write_bytes(b"1,2\n\xff\xfe,3\n")
        check_refused(tmp_path / "b.csv", "UTF-8|utf-8")

    @pytest.mark.parametrize(
        ("text", "match"),
        [
            ("1,2\n3,four\n", "four"),
            (
                "a,b\n1,\n2,x\n,3\n,4\n",
                "line 3, column 'b': 'x' is not a number; mend",
            ),
            ("a,b\n1,\n2,x\n,y\n", "column 'b' holds text ('x' in line 3)"),
            ("1,2\n3\n", "not a table"),
            ("a,b\n", "no samples"),
            ("a,b\n1,2\n3,4,5\n6\n", "not a table"),
        ],
    )
    def test_text_that_is_no_table(self, tmp_path, text, match):
        (tmp_path / "a.csv").write_text(text)
        check_refused(tmp_path / "a.csv", re.escape(match))

    def test_text_options(self, tmp_path):
        (tmp_path / "a.csv").write_text("a,b\n1,2\n")
        check_refused(tmp_path / "a.csv", "columns: a, b", labels="c")
        check_refused(tmp_path / "a.csv", "one table", variable="a")
        check_refused(tmp_path / "a.csv", "2 labels for 1 samples", labels=[0, 1])

    def test_no_array(self, tmp_path):
        np.savez(tmp_path / "a.npz", words=["a", "b"])
        check_refused(tmp_path / "a.npz", "no array of numbers; the file holds words")
        with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive:
            archive.writestr("readme.txt", "nothing here")
        check_refused(tmp_path / "b.npz", "no array of numbers")
        scipy.io.savemat(tmp_path / "a.mat", {"words": "text", "scalar": 3.0})
        check_refused(tmp_path / "a.mat", "no array of numbers")

    def test_several_arrays_are_listed(self, tmp_path):
        np.savez(tmp_path / "a.npz", one=DATA, two=DATA[:, 0])
        check_refused(
            tmp_path / "a.npz", r"variable= \(--variable\): one \(6, 4, 5\), two \(6, 5\)"
        )

    def test_wrong_variable(self, tmp_path):
        np.savez(tmp_path / "a.npz", one=DATA, two=["x"])
        check_refused(
            tmp_path / "a.npz", "no array 'three'; the file holds one, two", variable="three"
        )
        check_refused(tmp_path / "a.npz", "not an array of numbers", variable="two")

    def test_labels_of_the_wrong_length(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=DATA, labels=[1, 2, 3, 4])
        check_refused(tmp_path / "a.npz", "4 labels for 6 samples.*pass sample_axis=1")
        check_refused(tmp_path / "a.npz", "2 labels for 6 samples", labels=[1, 2])
        check_refused(tmp_path / "a.npz", "neither an array in the file", labels="kinds")

    @pytest.mark.parametrize("shape", [(), (5,), (0, 3, 3), (3, 0)])
    def test_shapes_that_are_no_tensor(self, tmp_path, shape):
        np.save(tmp_path / "a.npy", np.zeros(shape))
        check_refused(tmp_path / "a.npy", "axes|is empty")

    def test_sample_axis_out_of_range(self, tmp_path):
        np.save(tmp_path / "a.npy", DATA)
        check_refused(tmp_path / "a.npy", "sample_axis=3", sample_axis=3)

    def test_record_arrays(self, tmp_path):
        np.save(tmp_path / "a.npy", np.zeros((2, 2), dtype=[("a", "f8")]))
        check_refused(tmp_path / "a.npy", "not an array of numbers")

    def test_names_that_do_not_fit(self, tmp_path):
        np.savez(tmp_path / "a.npz", data=DATA, dims=["row"])
        check_refused(tmp_path / "a.npz", "dims must name each of the 2")
        np.savez(tmp_path / "b.npz", data=DATA, dims=["a", "b"], coords_a=["x"])
        check_refused(tmp_path / "b.npz", "coords")
        np.savez(tmp_path / "c.npz", data=DATA, feature_mode=2)
        check_refused(tmp_path / "c.npz", "feature_mode")
        scipy.io.savemat(tmp_path / "a.mat", {"data": DATA, "DiscFea": [[99]]})
        check_refused(tmp_path / "a.mat", "DiscFea")

    def test_h5py_missing(self, tmp_path, monkeypatch):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["data"] = DATA
        monkeypatch.setitem(__import__("sys").modules, "h5py", None)
        check_refused(tmp_path / "a.h5", r"pip install \"tensift\[hdf5\]\"", ImportError)


class TestFilesThatLie:
    """Headers that promise more than any memory holds: refused before allocation."""

    HUGE = (2**20, 2**20, 2**10)

    def huge_header(self):
        from io import BytesIO

        stream = BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": self.HUGE}
        np.lib.format.write_array_header_1_0(stream, header)
        return stream.getvalue()

    def test_npy(self, tmp_path):
        (tmp_path / "a.npy").write_bytes(self.huge_header() + bytes(1000))
        check_refused(tmp_path / "a.npy", "truncated")

    def test_npz(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.npy", self.huge_header() + bytes(10**6))
        check_refused(tmp_path / "a.npz", "GiB")

    def test_npz_whose_member_is_shorter_than_its_header_says(self, tmp_path):
        from io import BytesIO

        stream = BytesIO()
        np.save(stream, DATA)
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("data.npy", stream.getvalue()[:-8])
        check_refused(tmp_path / "a.npz", "damaged or truncated npz")

    def test_mat(self, tmp_path):
        scipy.io.savemat(tmp_path / "a.mat", {"data": DATA})
        raw = (tmp_path / "a.mat").read_bytes()
        lie = raw.replace(struct.pack("<3i", 6, 4, 5), struct.pack("<3i", 2**30, 2**20, 5))
        assert lie != raw
        (tmp_path / "a.mat").write_bytes(lie)
        check_refused(tmp_path / "a.mat", "GiB")

    def test_hdf5_that_is_all_fill_value(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("data", shape=self.HUGE, chunks=(16, 16, 16), dtype="f8")
        check_refused(tmp_path / "a.h5", "GiB")


def _files(folder):
    np.save(folder / "a.npy", DATA)
    np.savez(folder / "a.npz", data=DATA, labels=LABELS)
    np.savez_compressed(folder / "b.npz", data=DATA, labels=LABELS)
    stored = {
        "data": np.moveaxis(DATA, 0, -1),
        "label": LABELS[:, None],
        "tensor_type": "tube-wise",
    }
    scipy.io.savemat(folder / "a.mat", stored)
    scipy.io.savemat(folder / "b.mat", stored, do_compression=True)
    with h5py.File(folder / "a.h5", "w") as file:
        file["data"] = DATA
    write_mat73(folder / "c.mat", data=np.moveaxis(DATA, 0, -1))
    return ["a.npy", "a.npz", "b.npz", "a.mat", "b.mat", "a.h5", "c.mat"]


NAMES = ["a.npy", "a.npz", "b.npz", "a.mat", "b.mat", "a.h5", "c.mat"]


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert _files(folder) == NAMES
    return {name: (folder / name).read_bytes() for name in NAMES}


def read_or_refuse(path):
    """The dataset, or the message of the one kind of error that may come instead."""
    try:
        return read_tensor(path), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("name", NAMES)
def test_every_truncation_is_refused_or_harmless(tmp_path, whole_files, name):
    """A file cut anywhere is refused in one line, or still gives the data it was written with."""
    whole = whole_files[name]
    path = tmp_path / name
    step = max(1, len(whole) // 150)
    refused = 0
    for length in range(0, len(whole), step):
        path.write_bytes(whole[:length])
        dataset, message = read_or_refuse(path)
        if dataset is None:
            refused += 1
            assert "\n" not in message
            assert str(path) in message
        else:
            np.testing.assert_array_equal(dataset.data, DATA)
    assert refused > 0


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "b.npz", "a.mat", "b.mat"])
@given(data=st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_corrupted_bytes_raise_value_errors_only(tmp_path, whole_files, name, data):
    raw = bytearray(whole_files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, min(len(raw), 500) - 1))] = data.draw(st.integers(0, 255))
    path = Path(tmp_path) / name
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dataset, message = read_or_refuse(path)
    if dataset is None:
        assert "\n" not in message
        assert str(path) in message


class _Touch:
    """Creates a file when unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)
