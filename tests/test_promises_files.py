"""Files that would lose a row, reach outside themselves or hang, and inputs of the wrong kind."""

import io
import struct
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest
import scipy.io
from sklearn.base import clone

from tensift import (
    STPCASelector,
    TensorPCA,
    algebra,
    collect_moments,
    compare_selectors,
    graphs,
    metrics,
    selection,
    stability_selection,
)
from tensift.cli import main
from tensift.datasets import (
    TensorDataset,
    _stored,
    available_memory,
    header_line,
    open_tensor_file,
    read_tensor,
)
from tensift.plan import numbers_of_file
from tensift.plotting import SelectionDisplay
from tensift.rivals import SPCAFS, VarianceSelector
from tensift.sources import source_of


def refused(call, *words, error=ValueError):
    """Call, expect one line of error with all the words, and return it."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


def message_of(call):
    """Call, and return the message of its error, None without one."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


class TestHeaders:
    """The first row is a header or a sample, and never lost."""

    def table(self, tmp_path, text):
        path = tmp_path / "a.csv"
        path.write_text(text)
        return path

    @pytest.mark.parametrize("cell", ["", "NA", "nan", "?"])
    def test_a_missing_value_in_the_first_row_makes_no_header(self, tmp_path, cell):
        path = self.table(tmp_path, f"1,{cell},3\n4,5,6\n7,8,9\n")
        assert header_line(path) is None
        expected = [[1, np.nan, 3], [4, 5, 6], [7, 8, 9]]
        np.testing.assert_array_equal(read_tensor(path).data, expected)

    @pytest.mark.parametrize(
        "text",
        [
            "3x,2,3\n4,5,6\n7,8,9\n",  # a mistyped number
            "n.d.,2,3\n4,5,6\n7,8,9\n",
            "id,400,410\n1,5,6\n2,8,9\n",  # a header of wavelengths
            "3x,NA\n1,2\n3,4\n",
            "ann,1\nbob,2\n",
            "cat,NA\ndog,3\n",
            "0,1,2\n0.5,1,2\n",  # column numbers of a data frame
            ",0,1,2\n0,0.5,1,2\n",
        ],
    )
    def test_a_doubtful_first_row_is_an_error(self, tmp_path, text):
        path = self.table(tmp_path, text)
        refused(
            lambda: read_tensor(path), str(path), "line 1", "--header", "--no-header", "header="
        )

    @pytest.mark.parametrize("cell", ["1_000", "١"])
    def test_numbers_of_python_that_are_none_of_ours(self, tmp_path, cell):
        path = self.table(tmp_path, f"{cell},2\n3,4\n5,6\n")
        refused(lambda: read_tensor(path), "line 1 may be", repr(cell), "--no-header")
        path = self.table(tmp_path, f"a,b\n1,2\n{cell},4\n5,6\n")
        refused(lambda: read_tensor(path), "line 3, column 'a'", f"{cell!r} is not a number")

    def test_a_header_without_samples(self, tmp_path):
        refused(lambda: read_tensor(self.table(tmp_path, "a,b,c\n")), "no samples (shape (0, 3))")

    def test_the_user_decides(self, tmp_path):
        path = self.table(tmp_path, "3x,2,3\n4,5,6\n7,8,9\n")
        named = read_tensor(path, header=True)
        np.testing.assert_array_equal(named.data, [[4, 5, 6], [7, 8, 9]])
        assert named.coords["column"].tolist() == ["3x", "2", "3"]
        refused(lambda: read_tensor(path, header=False), "line 1, column 0", "'3x'")
        path = self.table(tmp_path, "1,2\n3,4\n")
        assert read_tensor(path, header=True).n_samples == 1
        assert read_tensor(path).n_samples == 2

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("a,b\n1,2\n", 1),
            ("\n\na,b\n1,2\n", 3),
            (",a,b\n0,1,2\n", 1),
            ("a,,c\n1,2,3\n", 1),
            ("a,3x\n1,2\n", 1),
            ("label,width\ncat,2\ndog,3\n", 1),
            ("1,2\n3,4\n", None),
            ("0,1,1\n1,0,0\n", None),
            ("0,1,2\n2,1,0\n", None),
            ("cat,2\ndog,3\ncat,4\n", None),
        ],
    )
    def test_clear_cases(self, tmp_path, text, line):
        assert header_line(self.table(tmp_path, text)) == line

    def test_a_name_over_two_lines(self, tmp_path):
        path = self.table(tmp_path, '"width\n(mm)",b\n1,2\n3,4\n')
        dataset = read_tensor(path)
        np.testing.assert_array_equal(dataset.data, [[1, 2], [3, 4]])
        assert dataset.coords["column"].tolist() == ["width\n(mm)", "b"]

    @pytest.mark.parametrize(
        ("text", "options"),
        [
            ("a,b\n1,2\n3,4,5\n", {}),
            ("a,b\n1,2,3\n4,5,6\n", {}),  # row names without a title
            ("a,b,label\n1,2,x\n3,4,y,5\n", {}),
            ("a,b\n1,2\n3,4,5\n", {"drop": ["a"]}),
        ],
    )
    def test_a_row_with_more_cells_loses_none_silently(self, tmp_path, text, options):
        path = self.table(tmp_path, text)
        refused(lambda: read_tensor(path, **options), "cells, the first row has")

    def test_info_says_which_line_is_the_header(self, tmp_path, capsys):
        path = self.table(tmp_path, "\na,b\n1,2\n3,5\n")
        assert main(["info", str(path)]) == 0
        assert "header    line 2\n" in capsys.readouterr().out
        assert main(["info", str(path), "--header", "--drop", "a"]) == 0
        out = capsys.readouterr().out
        assert "2 samples of 1" in out
        assert "--header --drop a" in out
        path = self.table(tmp_path, "1,2\n3,5\n")
        assert main(["info", str(path)]) == 0
        assert "header    none" in capsys.readouterr().out
        assert main(["info", str(path), "--no-header"]) == 0
        assert "--no-header" in capsys.readouterr().out
        path = self.table(tmp_path, "3x,2\n3,5\n1,2\n")
        assert main(["info", str(path)]) == 1
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "--no-header" in err
        assert main(["plan", "--file", str(path)]) == 1
        assert "--no-header" in capsys.readouterr().err

    def test_the_options_reach_the_record(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        rows = np.random.default_rng(0).normal(size=(40, 4))
        lines = [",".join(map(str, row)) + ",x" for row in rows]
        (tmp_path / "a.csv").write_text("id,1,2,3,text\n" + "\n".join(lines) + "\n")
        options = ["--header", "--columns", "id,1,3"]
        assert main(["select", "a.csv", "-k", "2", "--no-figure", *options]) == 0
        out = capsys.readouterr().out
        assert "read_tensor('a.csv', header=True, columns=['id', '1', '3']))" in out
        read = read_tensor("a.csv", header=True, columns=["id", "1", "3"])
        np.testing.assert_array_equal(read.data, rows[:, [0, 1, 3]])


class TestColumns:
    TEXT = "width,species,height,colour\n1,cat,2,red\n3,dog,4,blue\n"

    @pytest.fixture
    def path(self, tmp_path):
        (tmp_path / "a.csv").write_text(self.TEXT)
        return tmp_path / "a.csv"

    def test_text_columns_are_named_all_at_once(self, path):
        refused(
            lambda: read_tensor(path), "columns 'species', 'colour' hold text", "'cat' in line 2",
            "--drop", "--columns", "--labels",
        )  # fmt: skip

    def test_a_long_table_is_told_apart(self, path):
        path.write_text("trial,channel,time,Value\n1,Fz,0,0.5\n1,Cz,0,0.25\n")
        refused(
            lambda: read_tensor(path),
            "column 'channel' holds text",
            "--long trial,channel,time",
            "--drop",
        )

    @pytest.mark.parametrize(
        "options",
        [
            {"drop": ["species", "colour"]},
            {"drop": [1, 3]},
            {"columns": ["width", "height"]},
            {"columns": [0, 2]},
            {"labels": "species", "drop": ["colour"]},
        ],
    )
    def test_columns_and_drop(self, path, options):
        dataset = read_tensor(path, **options)
        np.testing.assert_array_equal(dataset.data, [[1, 2], [3, 4]])
        assert dataset.coords["column"].tolist() == ["width", "height"]

    def test_columns_keep_their_order_and_labels_without_a_header(self, tmp_path):
        (tmp_path / "b.csv").write_text("1,2,cat\n3,4,dog\n5,6,cat\n")
        dataset = read_tensor(tmp_path / "b.csv", columns=[1, 0], labels="2")
        np.testing.assert_array_equal(dataset.data, [[2, 1], [4, 3], [6, 5]])
        assert dataset.labels.tolist() == ["cat", "dog", "cat"]

    def test_wrong_columns(self, path, tmp_path):
        refused(lambda: read_tensor(path, drop=["size"]), "no column 'size' for drop", "width")
        refused(lambda: read_tensor(path, columns=[4]), "no column 4 for columns")
        refused(lambda: read_tensor(path, columns=["width", 0]), "twice")
        refused(lambda: read_tensor(path, drop=[0, 1, 2, 3]), "no column is left")
        np.save(tmp_path / "a.npy", np.ones((3, 3)))
        for option in ({"header": True}, {"columns": [0]}, {"drop": [0]}):
            refused(lambda option=option: read_tensor(tmp_path / "a.npy", **option), "tables")

    @pytest.mark.parametrize(
        ("head", "names"),
        [
            ("price; net,b", ["price; net", "b"]),
            ('"price; net",b', ["price; net", "b"]),
            ('"a\tb","c,d"', ["a\tb", "c,d"]),
            ("a, b;c", ["a, b", "c"]),
        ],
    )
    def test_names_that_hold_another_delimiter(self, tmp_path, head, names):
        mark = ";" if head.endswith(";c") else ","
        (tmp_path / "b.csv").write_text(f"{head}\n1{mark}2\n3{mark}4\n")
        dataset = read_tensor(tmp_path / "b.csv")
        np.testing.assert_array_equal(dataset.data, [[1, 2], [3, 4]])
        assert dataset.coords["column"].tolist() == names

    def test_decimal_commas(self, tmp_path):
        (tmp_path / "b.csv").write_text("a;b\n1,5;2,5\n")
        refused(lambda: read_tensor(tmp_path / "b.csv"), "decimal comma")


SECRET = np.frombuffer(b"a secret of another file, which must not be read", np.uint8)
DATA = np.random.default_rng(0).normal(size=(6, 4, 2))


def write_mat73(path, data):
    """What MATLAB 7.3 writes: HDF5 behind a header of its own, with the axes reversed."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["data"] = data.T
        file["data"].attrs["MATLAB_class"] = np.bytes_("double")
    with open(path, "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(124) + struct.pack("<H", 0x0200) + b"IM")


class TestHdf5ReachesNowhere:
    """A file gives its own bytes or an error, never those of another file, zeros or a hang."""

    @pytest.fixture
    def path(self, tmp_path):
        (tmp_path / "secret").write_bytes(SECRET.tobytes())
        with h5py.File(tmp_path / "other.h5", "w") as file:
            file["data"] = DATA
        return tmp_path / "a.h5"

    def check(self, path, *words, **options):
        refused(lambda: read_tensor(path, **options), str(path), *words)
        if "labels" not in options:
            refused(lambda: numbers_of_file(path, **options), str(path), *words)

    def test_external_storage(self, path):
        stored = [(str(path.parent / "secret"), 0, SECRET.size)]
        with h5py.File(path, "w") as file:
            file.create_dataset("x", (SECRET.size // 2, 2), "u1", external=stored)
            file.create_dataset("codes", (SECRET.size,), "u1", external=stored)
        self.check(path, "'x' keeps its values in another file", "secret")
        with h5py.File(path, "a") as file:
            file["data"] = np.ones((SECRET.size, 3))
        refused(lambda: read_tensor(path, labels="codes"), "'codes' keeps its values in another")

    def test_external_storage_in_matlab_files(self, path):
        stored = [(str(path.parent / "secret"), 0, SECRET.size)]
        path = path.with_suffix(".mat")
        write_mat73(path, data=DATA)
        with h5py.File(path, "a") as file:
            kind = file.create_dataset("tensor_type", (SECRET.size, 1), "u1", external=stored)
            kind.attrs["MATLAB_class"] = np.bytes_("char")
        assert open_tensor_file(path).tensor_type is None
        with h5py.File(path, "a") as file:
            del file["data"]
            file.create_dataset("data", (SECRET.size // 2, 2), "u1", external=stored)
        self.check(path, "'data' keeps its values in another file")

    def test_external_links(self, path):
        with h5py.File(path, "w") as file:
            file["data"] = h5py.ExternalLink("other.h5", "/data")
        self.check(path, "'data' is a link into another file", "other.h5")
        self.check(path, "'data' is a link into another file", variable="data")

    @pytest.mark.parametrize("source", ["other.h5", "missing.h5"])
    def test_virtual_datasets_of_other_files(self, path, source):
        layout = h5py.VirtualLayout(DATA.shape, "f8")
        layout[...] = h5py.VirtualSource(path.parent / source, "data", DATA.shape)
        with h5py.File(path, "w") as file:
            file.create_virtual_dataset("data", layout)
        self.check(path, "'data' takes its values from another file", source)

    @pytest.mark.parametrize("name", ["missing", "linked/data", "outside"])
    def test_virtual_datasets_of_missing_sources(self, path, name):
        layout = h5py.VirtualLayout(DATA.shape, "f8")
        layout[...] = h5py.VirtualSource(".", name, DATA.shape)
        with h5py.File(path, "w") as file:
            file["linked"] = h5py.ExternalLink("other.h5", "/")
            stored = [(str(path.parent / "secret"), 0, SECRET.size)]
            file.create_dataset("outside", (6, 8), "u1", external=stored)
            file.create_virtual_dataset("data", layout)
        self.check(path, f"'data' takes its values from {name!r}")

    def test_virtual_datasets_of_the_file_itself(self, path):
        for rows in (6, 5):
            layout = h5py.VirtualLayout(DATA.shape, "f8")
            with h5py.File(path, "w") as file:
                for row in range(rows):
                    file[f"row{row}"] = DATA[row]
                    layout[row] = h5py.VirtualSource(file[f"row{row}"])
                file.create_virtual_dataset("data", layout)
            if rows == 6:
                np.testing.assert_array_equal(read_tensor(path).data, DATA)
        self.check(path, "do not give all of its values")

    def test_virtual_datasets_whose_sources_overlap(self, path):
        """As many values as needed, but some of them twice and others never."""
        layout = h5py.VirtualLayout(DATA.shape, "f8")
        with h5py.File(path, "w") as file:
            file["half"] = DATA[:3]
            for _ in range(2):
                layout[:3] = h5py.VirtualSource(file["half"])
            file.create_virtual_dataset("data", layout)
        refused(lambda: read_tensor(path), str(path), "do not give all of its values")
        layout[3:] = h5py.VirtualSource(".", "half", DATA[:3].shape)
        with h5py.File(path, "a") as file:
            del file["data"]
            file.create_virtual_dataset("data", layout)
        np.testing.assert_array_equal(read_tensor(path).data, np.concatenate([DATA[:3]] * 2))

    @pytest.mark.parametrize("kind", ["grows", "every other row"])
    def test_virtual_datasets_of_no_fixed_blocks(self, path, kind):
        every = h5py.h5s.UNLIMITED
        with h5py.File(path, "w") as file:
            rows = file.create_dataset("rows", data=DATA[:3], maxshape=(None, 4, 2))
            layout = h5py.VirtualLayout(DATA.shape, "f8", maxshape=(None, 4, 2))
            if kind == "grows":
                layout[0:every] = h5py.VirtualSource(rows)[0:every]
            else:
                layout[::2] = h5py.VirtualSource(rows)
            file.create_virtual_dataset("data", layout)
        self.check(path, "'data' is a virtual dataset whose sources are not blocks")

    @pytest.mark.parametrize("block", [0, 512])
    def test_text_of_variable_length(self, path, block):
        words = ["a", "", "äöü", "d" * 9000, "e", "f"]
        with h5py.File(path, "w", userblock_size=block) as file:
            file["data"] = DATA
            file["labels"] = words
        assert read_tensor(path).labels.tolist() == words

    def test_damaged_text_is_refused_at_once(self, path):
        with h5py.File(path, "w") as file:
            file["data"] = DATA
            file["labels"] = ["one", "two", "three", "four", "five", "six"]
        whole = path.read_bytes()
        start = whole.index(b"GCOL")
        refusals = 0
        for place in [*range(start, start + 200), *range(start - 96, start)]:
            for value in (0, 1, 255):
                raw = bytearray(whole)
                raw[place] = value
                path.write_bytes(raw)
                message = message_of(lambda: read_tensor(path))
                refusals += message is not None
                assert message is None or "damaged" in message
        assert refusals > 50

    def test_other_values_of_variable_length_are_not_read(self, path):
        with h5py.File(path, "w") as file:
            file["data"] = DATA
            rows = file.create_dataset("rows", (6,), h5py.vlen_dtype(np.int32))
            rows[0] = [1, 2, 3]
            file["refs"] = np.array([file["data"].ref] * 6, dtype=h5py.ref_dtype)
            file.create_dataset("packed", data=["x"] * 6, compression="gzip")
        assert read_tensor(path).data.shape == DATA.shape
        assert read_tensor(path, labels="packed").labels.tolist() == ["x"] * 6
        for name in ("rows", "refs"):
            self.check(path, f"{name!r} has values of variable length", labels=name)

    def test_a_matlab_class_of_variable_length_is_not_read(self, path):
        path = path.with_suffix(".mat")
        write_mat73(path, data=DATA)
        with h5py.File(path, "a") as file:
            del file["data"].attrs["MATLAB_class"]
            file["data"].attrs["MATLAB_class"] = "double"
        self.check(path, "'data' is not an array of numbers but a unknown")


class TestForeignFiles:
    @pytest.mark.parametrize(
        ("head", "words"),
        [
            (
                b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
                "a PNG picture; one picture is not a data set",
            ),
            (b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture"),
            (b"GIF89a\x00\x01", "a GIF picture"),
            (b"BM\x00\x10\x00\x00\x00\x00\x00\x00", "a BMP picture"),
            (b"II*\x00\x08\x00", "damaged or truncated TIFF file"),
            (b"%PDF-1.7\n", "a PDF document"),
            (b"PAR1\x15\x04", "a Parquet file"),
            (b"CDF\x01" + bytes(7) + b"\x07", "damaged or truncated NetCDF 3 file"),
            (b"CDF\x05\x00\x00", "a NetCDF file of type CDF-5; convert it"),
            (b"\x1f\x8b\x08\x00", "a gzip file; unpack it"),
        ],
    )
    @pytest.mark.parametrize("suffix", ["png", "csv"])
    def test_what_a_file_is_and_what_to_do(self, tmp_path, capsys, head, words, suffix):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(head + bytes(50) * (not head.startswith(b"%PDF")))
        refused(lambda: read_tensor(path), f"{path}: ", words)
        assert main(["select", str(path), "-k", "2", "--no-figure"]) == 1
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1

    def test_columns_that_are_called_like_a_format(self, tmp_path):
        (tmp_path / "a.csv").write_text("RIFF,PAR1\n1,2\n3,4\n")
        assert read_tensor(tmp_path / "a.csv").n_samples == 2
        (tmp_path / "a.csv").write_text("CDF,PDF\n1,2\n3,4\n")
        assert read_tensor(tmp_path / "a.csv").n_samples == 2

    def test_spreadsheets(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
        refused(lambda: read_tensor(tmp_path / "a.xlsx"), "an Excel file; save the table as CSV")

    def test_folders(self, tmp_path, capsys):
        words = "a folder, not a file; name one file with all samples"
        refused(lambda: read_tensor(tmp_path), words, error=IsADirectoryError)
        assert main(["info", str(tmp_path)]) == 1
        assert words in capsys.readouterr().err

    def test_a_link_in_an_archive_is_not_followed(self, tmp_path):
        np.save(tmp_path / "secret.npy", DATA)
        link = zipfile.ZipInfo("data.npy")
        link.external_attr = 0o120777 << 16  # a symbolic link
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr(link, str(tmp_path / "secret.npy"))
        refused(lambda: read_tensor(tmp_path / "a.npz"), "damaged or truncated npz file")

    def test_what_follows_an_array_in_an_archive_is_not_unpacked(self, tmp_path, monkeypatch):
        """A few kilobytes can unpack to any number of gigabytes."""
        stream = io.BytesIO()
        np.save(stream, DATA)
        with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("data.npy", stream.getvalue() + bytes(2**26))
        unpacked = []
        read = zipfile.ZipExtFile.read

        def counted(self, n=-1):
            unpacked.append(len(found := read(self, n)))
            return found

        monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
        words = "damaged or truncated npz file (data.npy is longer than its array)"
        refused(lambda: read_tensor(tmp_path / "a.npz"), words)
        assert sum(unpacked) < 2**20


class TestTooLarge:
    """A file too large for the memory limit is not called damaged."""

    SCRIPT = """
import resource, sys
from tensift.datasets import read_tensor
from tensift.datasets import _stored
from tensift._utils.npz import read_npz
with open("/proc/self/statm") as stream:
    used = int(stream.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
for free in (None, 2**62):
    if free:
        _stored.available_memory = lambda: free
    try:
        read_tensor(sys.argv[1])
    except ValueError as error:
        print(error)
try:
    read_npz(sys.argv[1], ["data"])
except MemoryError as error:
    print(error)
"""

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
    @pytest.mark.parametrize("kind", ["npz", "mat", "h5"])
    def test_the_limit_of_the_process(self, tmp_path, kind):
        path = tmp_path / f"a.{kind}"
        values = np.zeros((2**9, 2**9, 2**7))
        if kind == "npz":
            np.savez(path, data=values)
        elif kind == "mat":
            scipy.io.savemat(path, {"data": values}, do_compression=True)
        else:
            with h5py.File(path, "w") as file:
                file.create_dataset("data", values.shape, "f8", chunks=(2**9, 2**9, 1))
        ran = subprocess.run(
            [sys.executable, "-c", self.SCRIPT, str(path)], capture_output=True, text=True
        )
        assert ran.stderr == "" or kind != "npz"
        lines = ran.stdout.splitlines()
        assert "needs 0.25 GiB, but only 0.1" in lines[0]
        assert lines[1].startswith(f"{path}: not enough memory to read it")
        if kind == "npz":
            assert lines[2] == f"not enough memory to read {path}"
        assert "damaged" not in lines[0] + lines[1]

    def test_the_limit_of_a_container(self, tmp_path, monkeypatch):
        (tmp_path / "memory.max").write_text("1000\n")
        (tmp_path / "memory.current").write_text("700\n")
        (tmp_path / "memory.stat").write_text("anon 10\ninactive_file 150\n")
        group = (tmp_path, "memory.max", "memory.current")
        monkeypatch.setattr(_stored, "_CONTROL_GROUPS", [group])
        assert available_memory() == 450
        (tmp_path / "memory.max").write_text("max\n")
        assert available_memory() > 450


class TestArraysInOtherFiles:
    """HDF5 arrays that a user opened: other files are read, but missing ones are not zeros."""

    @pytest.mark.parametrize("source", ["whole", "no file", "no dataset", "no own dataset"])
    def test_virtual_datasets(self, tmp_path, source):
        values = np.random.default_rng(0).normal(size=(60, 4, 3))
        with h5py.File(tmp_path / "part.h5", "w") as file:
            file["x" if source == "whole" else "y"] = values
        layout = h5py.VirtualLayout(values.shape, "f8")
        names = {"no file": "gone.h5", "no own dataset": "."}
        layout[...] = h5py.VirtualSource(names.get(source, "part.h5"), "x", values.shape)
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_virtual_dataset("all", layout)
        with h5py.File(tmp_path / "a.h5") as file:
            if source == "whole":
                np.testing.assert_array_equal(
                    STPCASelector(2).fit_transform(file["all"]),
                    STPCASelector(2).fit_transform(values),
                )
            else:
                refused(lambda: STPCASelector(2).fit(file["all"]), "missing", "zeros")

    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize("kind", ["virtual", "external"])
    def test_virtual_datasets_of_datasets_in_other_files(self, tmp_path, missing, kind):
        values = np.random.default_rng(0).normal(size=(60, 4, 3))
        raw = tmp_path / "raw"
        with h5py.File(tmp_path / "inner.h5", "w") as file:
            if kind == "external":
                raw.write_bytes(values.tobytes())
                stored = [(str(raw), 0, h5py.h5f.UNLIMITED)]
                file.create_dataset("x", values.shape, "f8", external=stored)
            else:
                with h5py.File(raw, "w") as other:
                    other["x"] = values
                layout = h5py.VirtualLayout(values.shape, "f8")
                layout[...] = h5py.VirtualSource("raw", "x", values.shape)
                file.create_virtual_dataset("x", layout)
        layout = h5py.VirtualLayout(values.shape, "f8")
        layout[...] = h5py.VirtualSource("inner.h5", "x", values.shape)
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_virtual_dataset("all", layout)
        if missing:
            raw.unlink()
        with h5py.File(tmp_path / "a.h5") as file:
            if missing:
                refused(lambda: STPCASelector(2).fit(file["all"]), "raw", "zeros")
            else:
                found = STPCASelector(2).fit(file["all"]).order_
                np.testing.assert_array_equal(found, STPCASelector(2).fit(values).order_)

    @pytest.mark.parametrize("length", [0, 799, 800])
    def test_external_storage(self, tmp_path, length):
        values = np.random.default_rng(0).normal(size=(20, 5))
        (tmp_path / "raw").write_bytes(values.tobytes()[:length])
        if not length:
            (tmp_path / "raw").unlink()
        with h5py.File(tmp_path / "a.h5", "w") as file:
            raw = [(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)]
            file.create_dataset("x", (20, 5), "f8", external=raw)
        with h5py.File(tmp_path / "a.h5") as file:
            if length == 800:
                assert STPCASelector(2).fit(file["x"]).n_samples_seen_ == 20
            else:
                refused(lambda: STPCASelector(2).fit(file["x"]), "raw", "zeros")


MASKED = np.ma.masked_array(np.arange(24.0).reshape(6, 4), mask=np.eye(6, 4, dtype=bool))


class TestMasks:
    """Whatever refuses NaN refuses masked values, and none is taken as it is."""

    @pytest.mark.parametrize("X", [MASKED, list(MASKED), tuple(MASKED)], ids=type)
    @pytest.mark.parametrize(
        "call",
        [
            lambda X: STPCASelector(2).fit(X),
            lambda X: VarianceSelector(2).fit(X),
            lambda X: TensorPCA(2).fit(X),
            lambda X: TensorDataset(X),
            lambda X: compare_selectors(X, n_features_to_select=2),
            lambda X: stability_selection(STPCASelector(2), X),
            lambda X: metrics.redundancy(X, [0, 1]),
            lambda X: metrics.silhouette_of_labels(X, [0, 0, 0, 1, 1, 1]),
            lambda X: metrics.reconstruction_error(X, [0, 1]),
            lambda X: metrics.alignment(X, [0, 1]),
            lambda X: metrics.neighbour_agreement(X, [0, 1]),
            lambda X: metrics.neighbours_kept(X, [0, 1]),
            lambda X: metrics.judge_selections(X, {"a": [0, 1], "b": [1, 2]}),
            lambda X: metrics.between_class_variance(X, [0, 0, 0, 1, 1, 1]),
            lambda X: metrics.proportion_correct([0], X, [0, 0, 0, 1, 1, 1]),
            lambda X: metrics.evaluate_selection(X, [0, 0, 0, 1, 1, 1], [0, 1]),
        ],
    )
    def test_samples(self, X, call):
        refused(lambda: call(X), "masked values", "fill them first")

    def test_labels_features_and_supports(self):
        X, y = MASKED.data, np.ma.masked_equal([0, 0, 0, 1, 1, 9], 9)
        features = np.ma.masked_equal([0, 1, 2], 2)
        supports = np.ma.masked_array(np.eye(4, dtype=bool), mask=np.eye(4, dtype=bool))
        for call in (
            lambda: metrics.silhouette_of_labels(X, y),
            lambda: metrics.clustering_accuracy(y, [0] * 6),
            lambda: metrics.normalized_mutual_information([0] * 6, y),
            lambda: metrics.redundancy(X, features),
            lambda: metrics.alignment(X, features),
            lambda: metrics.neighbour_agreement(X, features),
            lambda: metrics.neighbours_kept(X, features),
            lambda: metrics.selection_agreement(features, [1, 2], 4),
            lambda: metrics.selection_stability(supports),
            lambda: TensorDataset(X, labels=y),
        ):
            refused(call, "masked values")

    def test_tools_that_take_arrays(self):
        scores, X = MASKED[0], MASKED.data
        for call in (
            lambda: selection.rank_features(scores),
            lambda: selection.rank_features(scores.data, ties=scores),
            lambda: selection.suggest_count(MASKED),
            lambda: selection.feature_agreement(MASKED),
            lambda: selection.suggest_count_by_reconstruction(MASKED),
            lambda: selection.whitened_components(MASKED),
            lambda: selection.ColumnSubsetOrder(MASKED, None),
            lambda: graphs.nearest_neighbors(MASKED, 2),
            lambda: graphs.heat_kernel_graph(MASKED, 2),
            lambda: algebra.tsvdm(MASKED[:, :, None], "identity"),
            lambda: algebra.mprod(X.T[:, :, None], MASKED[:, :, None], "identity"),
        ):
            refused(call, "masked values")

    def test_an_array_whose_slices_are_masked(self):
        class Variable:
            """Like a variable of netCDF4."""

            shape, dtype = MASKED.shape, MASKED.dtype

            def __getitem__(self, key):
                return MASKED[key]

        refused(lambda: STPCASelector(2).fit(Variable()), "X[0:6] has masked values")

    def test_nothing_masked_is_welcome(self):
        X = np.ma.masked_array(np.random.default_rng(0).normal(size=(30, 4)))
        assert metrics.redundancy(X, [0, 1]) == metrics.redundancy(X.data, [0, 1])
        assert STPCASelector(2).fit(X).n_samples_seen_ == 30


class TestWrongKindsOfInput:
    @pytest.fixture
    def dataset(self, tmp_path):
        np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(40, 4, 3)))
        return read_tensor(tmp_path / "a.npy")

    def test_a_dataset_is_samples(self, dataset):
        X = dataset.data
        for estimator in (STPCASelector(3), STPCASelector(3, orientation="auto"), TensorPCA(2)):
            expected = clone(estimator).fit(X)
            found = estimator.fit(dataset)
            np.testing.assert_array_equal(found.transform(dataset), expected.transform(X))
            assert found.score(dataset) == expected.score(X)
        selector = VarianceSelector(3)
        np.testing.assert_array_equal(selector.fit_transform(dataset), selector.fit_transform(X))
        assert collect_moments(dataset).count == 40
        assert STPCASelector(3).partial_fit(dataset).partial_fit(dataset).n_samples_seen_ == 80
        assert metrics.redundancy(dataset, [0, 1]) == metrics.redundancy(X, [0, 1])
        assert (len(dataset), dataset.shape, dataset.dtype) == (40, (40, 4, 3), np.float64)

    def test_a_dataset_in_a_file_is_read_in_chunks(self, tmp_path, dataset):
        mapped = TensorDataset(np.load(tmp_path / "a.npy", mmap_mode="r"))
        assert source_of(dataset) is None
        assert source_of(mapped).n_samples == 40
        np.testing.assert_array_equal(
            STPCASelector(3).fit(mapped).order_, STPCASelector(3).fit(dataset).order_
        )

    @pytest.mark.parametrize("X", [[[1, 2], [3]], [[[1, 2], [3, 4]], [[5, 6]]], [[1, [2]], [3, 4]]])
    @pytest.mark.parametrize(
        "call",
        [
            lambda X: STPCASelector(2).fit(X),
            lambda X: STPCASelector(2, orientation="auto").fit(X),
            lambda X: VarianceSelector(2).fit(X),
            lambda X: TensorDataset(X),
            lambda X: metrics.redundancy(X, [0, 1]),
            lambda X: STPCASelector(2).fit(np.eye(4)).transform(X),
        ],
    )
    def test_ragged_lists(self, X, call):
        refused(lambda: call(X), " is ragged", "same shape")

    @pytest.mark.parametrize("X", [np.arange(5.0), [1.0, 2.0, 3.0], 3.0])
    @pytest.mark.parametrize(
        "estimator",
        [
            STPCASelector(2, orientation="auto"),
            STPCASelector(2, orientation="auto", basis="auto"),
            STPCASelector(2, basis="auto"),
            STPCASelector(2),
            TensorPCA(2),
            VarianceSelector(2),
        ],
    )
    def test_vectors(self, estimator, X):
        refused(lambda: estimator.fit(X), "samples go along the first axis", f"{np.shape(X)}")

    @pytest.mark.parametrize("selector", [STPCASelector(2), VarianceSelector(2), SPCAFS(2)])
    @pytest.mark.parametrize(("before", "after"), [(None, 0), (0, None), (0, 1)])
    def test_another_feature_mode_after_fit(self, dataset, selector, before, after):
        X = dataset.data
        selector = clone(selector).set_params(feature_mode=before).fit(X)
        kept = selector.transform(X)
        selector.set_params(feature_mode=after)
        for call in (
            lambda: selector.transform(X),
            lambda: selector.inverse_transform(kept),
            lambda: selector.get_support(),
            lambda: selector.get_support(indices=True),
            lambda: selector.get_feature_names_out(),
            lambda: SelectionDisplay.from_estimator(selector, X),
        ):
            refused(call, f"feature_mode was changed from {before} to {after}", "fit again")
        assert selector.fit(X).transform(X).shape[0] == 40
        selector.set_params(feature_mode=before).fit(X)
        np.testing.assert_array_equal(selector.transform(X), kept)
