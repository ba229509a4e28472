"""Long tables in text files: a line per value, or per time, becomes the tensor it was made from."""

import csv

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tensift.cli import main
from tensift.datasets import keys_of_long_table, read_tensor

CHANNELS = ["wrist x", "ankle", "chest, left"]
KEYS = ["trial", "channel", "time"]


def write(path, columns, delimiter=","):
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream, delimiter=delimiter)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return path


def columns_of(tensor, order):
    trial, channel, time = np.indices(tensor.shape).reshape(3, -1)[:, order]
    return {
        "trial": [f"s{100 - k}" for k in trial],
        "time": (time / 4).tolist(),
        "channel": [CHANNELS[k] for k in channel],
        "value": tensor.ravel()[order].tolist(),
        "state": [("rest", "move")[k % 2] for k in trial],
        "person": (trial // 2).tolist(),
    }


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**16), delimiter=st.sampled_from([",", "\t", ";"]))
def test_a_line_per_value_in_any_order(seed, delimiter, tmp_path_factory):
    rng = np.random.default_rng(seed)
    tensor = rng.normal(size=(rng.integers(1, 5), 3, rng.integers(1, 6)))
    columns = columns_of(tensor, rng.permutation(tensor.size))
    path = write(tmp_path_factory.mktemp("long") / "a.csv", columns, delimiter)
    found = read_tensor(path, long=KEYS, labels="state", groups="person")
    samples = [100 - int(name[1:]) for name in dict.fromkeys(columns["trial"])]
    channels = [CHANNELS.index(name) for name in dict.fromkeys(columns["channel"])]
    assert_array_equal(found.data, tensor[samples][:, channels])
    assert found.dims == ("channel", "time")
    assert found.coords["channel"].tolist() == [CHANNELS[k] for k in channels]
    assert_array_equal(found.coords["time"], np.arange(tensor.shape[2]) / 4)
    assert list(found.labels) == [("rest", "move")[k % 2] for k in samples]
    assert list(found.groups) == [k // 2 for k in samples]


def test_a_line_per_time_and_a_column_per_channel(tmp_path):
    tensor = np.random.default_rng(1).normal(size=(4, 3, 5))
    trial, time = np.indices((4, 5)).reshape(2, -1)
    stamps = [f"2024-03-0{9 - k} 10:00:00.25" for k in time]  # backwards
    values = dict(zip(CHANNELS, tensor.transpose(1, 0, 2).reshape(3, -1).tolist(), strict=True))
    path = write(tmp_path / "a.csv", {"id": trial.tolist(), "when": stamps, **values})
    found = read_tensor(path, long=["id", "when"])
    assert_array_equal(found.data, tensor[:, :, ::-1])
    assert found.dims == ("variable", "when")
    assert found.coords["variable"].tolist() == CHANNELS
    first = np.datetime64("2024-03-05T10:00:00.250")
    assert_array_equal(found.coords["when"], first + np.arange(5) * np.timedelta64(1, "D"))
    assert_array_equal(read_tensor(path, long=[0, 1], columns=[3]).data, tensor[:, 1, ::-1])
    fewer = read_tensor(path, long=["id", "when"], drop=["ankle"])
    assert_array_equal(fewer.data, tensor[:, [0, 2], ::-1])


def test_units_in_names_of_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("trial,time (s),band [nm],value (g)\n1,0.5,400,2\n1,0.5,500,3\n")
    for keys in (["trial", "time", "band"], ["trial", "time (s)", "band [nm]"]):
        found = read_tensor(path, long=keys)
        assert found.dims == ("time", "band")
        assert [found.names.title(mode) for mode in (0, 1)] == ["time (s)", "band (nm)"]
    path.write_text("trial,time (s),time (min),value\n1,30,0.5,2\n")
    found = read_tensor(path, long=["trial", "time (s)", "time (min)"])
    assert found.dims == ("time (s)", "time (min)")
    with pytest.raises(ValueError, match="no column 'time' for long"):
        read_tensor(path, long=["trial", "time"])


def test_no_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("7,0,1.5\n7,1,2.5\n3,1,4.5\n3,0,3.5\n")
    found = read_tensor(path, long=[0, 1])
    assert_array_equal(found.data, [[1.5, 2.5], [3.5, 4.5]])
    assert found.dims == ("column 1",)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("t,c,value\n1,a,0\n1,b,1\n2,a,2\n", ["t", "c"], "it has t=2, c=b nowhere; add the value"),
        ("t,c,value\n1,a,0\n1,a,1\n", ["t", "c"], "it has t=1, c=a more than once"),
        ("t,c,value\n1,a,0\n", ["t", "chanel"], "no column 'chanel' for long (columns: t, c"),
        ("t,c,value\n1,a,0\n", ["t", "t"], "long names a column twice"),
        ("t,c,value\n1,a,0\n", ["t", "c", "value"], "not those of values"),
        ("t,c,value\n1,a,0\n\n1,,0\n", ["t", "c"], "line 4, column 'c': the cell is empty"),
        ("t,c,value\n1,0,x\n1,1,y\n", ["t", "c"], "column 'value' holds text ('x' in line 2)"),
        ("t,c,value\n1,0,2\n", "t,c", "must be a list of columns, the sample first"),
        ("t,c,value,label\n1,0,2,u\n1,1,2,v\n", ["t", "c"], "labels differ within the sample t=1"),
        ("t,variable,a,b\n1,0,2,3\n", ["t", "variable"], "rename the column"),
    ],
)
def test_what_cannot_be_a_tensor_is_said_in_one_line(tmp_path, text, options, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_tensor(path, long=options)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_options(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,c,value\n1,0,2\n1,1,2\n")
    with pytest.raises(ValueError, match="sample_axis=1 was given, but long names the sample"):
        read_tensor(path, long=["t", "c"], sample_axis=1)
    np.save(tmp_path / "a.npy", np.zeros((3, 4)))
    with pytest.raises(ValueError, match="long is for tables in text files; this is npy"):
        read_tensor(tmp_path / "a.npy", long=["t", "c"])


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["channel", "Time", "Trial", "Value", "label"], ["Trial", "channel", "Time"]),
        (["who", "what", "value"], ["who", "what"]),
        (["trial", "time (s)", "Value [g]"], ["trial", "time"]),
        (["subject", "sex", "sensor", "value"], ["subject", "sensor"]),
        (["time", "value"], []),
        (["height", "weight"], []),
    ],
)
def test_which_columns_may_be_places(names, keys):
    assert keys_of_long_table(names) == keys


def test_commands_take_long_tables(tmp_path, capsys, monkeypatch):
    """`info` proposes the option, and the command that it proposes keeps the names."""
    monkeypatch.chdir(tmp_path)
    tensor = np.random.default_rng(2).normal(size=(12, 3, 5))
    columns = columns_of(tensor, np.arange(tensor.size))
    write(tmp_path / "a.csv", {name: columns[name] for name in [*KEYS, "value"]})
    assert main(["info", "a.csv"]) == 1
    assert "--long trial,channel,time" in capsys.readouterr().err
    assert main(["info", "a.csv", "--long", "trial,channel,time"]) == 0
    shown = capsys.readouterr().out
    assert "12 samples of 3 channels, each with 5 values; every channel is a feature" in shown
    command = next(line for line in shown.splitlines() if line.startswith("try"))
    words = command.split()[2:]
    assert words[-2:] == ["--long", "trial,channel,time"]
    assert main([*words, "-o", "out"]) == 0
    shown = capsys.readouterr().out
    assert "long=['trial', 'channel', 'time']" in shown
    assert "channel_name" in (tmp_path / "out" / "ranking.csv").read_text().splitlines()[0]
    assert main(["plan", "--file", "a.csv", "--long", "trial,channel,time"]) == 0
    assert "12 samples of 3 x 5" in capsys.readouterr().out


def test_numbers_alone_may_be_a_long_table_too(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text(
        "trial,time,value\n" + "".join(f"{i},{j},{i * j}\n" for i in (1, 2) for j in (3, 4))
    )
    assert main(["info", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "guess     a line per value: each belongs to a trial, at a time" in shown
    assert "--long trial,time" in shown
