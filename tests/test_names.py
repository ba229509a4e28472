"""Names of modes: titles with units, sentences, columns of tables, and what is refused."""

import re

import numpy as np
import pytest

from tensift.datasets import TensorDataset, load_digits, make_orbit, make_sea_surface, read_tensor
from tensift.labels import Names, arrays_of_names, mode_number, names_of_arrays, unlabelled

DAYS = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
FULL = Names(
    (2, 3, 2),
    ("channel", "time", "day"),
    {"channel": [b"Fz", b"Cz"], "time": [0.0, 0.125, 0.1234567], "day": DAYS},
    {"time": "s", "channel": ""},
)


def test_titles_have_units_where_there_are_coordinates():
    assert [FULL.title(mode) for mode in range(3)] == ["channel", "time (s)", "day"]
    assert [FULL.name(mode) for mode in range(3)] == ["channel", "time", "day"]
    # An axis without coordinates shows indices, which are no seconds.
    assert Names((3,), ("time",), {}, {"time": "s"}).title(0) == "time"


def test_features_in_words():
    assert FULL.describe([1, 1, 0]) == "channel Cz, time 0.125 s, day 2026-01-01"
    assert Names((2, 3)).describe([1, 2]) == "mode 0: 1, mode 1: 2"
    assert [FULL.is_scale(mode) for mode in range(3)] == [False, True, True]


def test_a_table_has_indices_and_coordinates():
    table = FULL.table([0, 11])
    assert table == {
        "channel": [0, 1],
        "time": [0, 2],
        "day": [0, 1],
        "channel_name": ["Fz", "Cz"],
        "time (s)": [0.0, 0.1234567],  # all digits, unlike the label 0.123457
        "day_name": ["2026-01-01", "2026-01-02"],
    }
    assert FULL.label(1, 2) == "0.123457"
    assert list(Names((2, 3)).table([0])) == ["mode_0", "mode_1"]


def test_columns_are_different_from_one_another():
    names = Names((2, 2, 2, 2), ("score", "a b", "a_b", "a_b_name"), {"a b": [1, 2]})
    titles = [title for pair in names.columns() for title in pair if title is not None]
    assert titles == ["score_", "a_b", "a_b_name", "a_b_", "a_b_name_"]
    assert names.columns(taken=())[0] == ("score", None)


def test_names_given_by_hand_replace_those_of_data():
    given = FULL.with_given(("electrode", "when", "day"), {"when": [1, 2, 3]})
    assert given.dims == ("electrode", "when", "day")
    assert given.label(0, 1) == "Cz"  # the coordinates stay with the mode
    assert given.title(1) == "when"  # the unit belongs to the other coordinates
    assert FULL.with_given(None, None) is FULL
    assert FULL.with_given(("a", "b", "c"), None).title(1) == "b (s)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((("a",),), "dims must name each of the 2 feature modes once; got ['a']"),
        ((("a", "a"),), "dims must name each of the 2 feature modes once"),
        ((("a", "b"), {"c": [1]}), "coords names the mode 'c', which is not in dims"),
        ((("a", "b"), {"a": [1]}), "coords['a'] must hold one value for each of the 2 indices"),
        ((("a", "b"), {"a": 1}), "coords['a'] must hold one value for each of the 2 indices"),
        ((("a", "b"), {}, {"c": "s"}), "units names the mode 'c', which is not in dims"),
        ((("a", "b"), {}, {"a": 1}), "units['a'] must be text, such as 's' or 'nm'; got 1"),
    ],
)
@pytest.mark.parametrize("kind", [Names, TensorDataset])
def test_wrong_names_are_one_clear_line(kind, arguments, words):
    fields = dict(zip(("dims", "coords", "units"), arguments, strict=False))
    first = {"shape": (2, 3)} if kind is Names else {"data": np.zeros((4, 2, 3))}
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        kind(**first, **fields)
    assert "\n" not in str(error.value)


def test_a_dataset_without_dims_has_no_units():
    with pytest.raises(ValueError, match=r"units names the mode 'time', which is not in dims \(No"):
        TensorDataset(np.zeros((4, 3)), units={"time": "s"})
    assert TensorDataset(np.zeros((4, 3))).names is None
    with pytest.raises(TypeError, match="units must be a dict with the names of modes as keys"):
        TensorDataset(np.zeros((4, 3)), dims=["time"], units="s")


def test_names_of_a_dataset_pass_through_the_door():
    series = TensorDataset(
        np.zeros((4, 3)), dims=["time"], coords={"time": [0, 1, 2]}, units={"time": "s"}
    )
    found = unlabelled(series)
    assert found.names.title(0) == "time (s)"
    assert unlabelled(found).names is found.names
    np.testing.assert_array_equal(np.asarray(found), series.data)


def test_modes_by_number_and_by_name():
    assert mode_number("orientation", "time", 3, FULL) == 1
    assert mode_number("orientation", -1, 3, FULL) == 2
    with pytest.raises(ValueError, match=r"feature_mode='tiem' is not .* did you mean 'time'\?"):
        mode_number("feature_mode", "tiem", 3, FULL)
    with pytest.raises(ValueError, match="feature_mode='time' must be a number from 0 to 2"):
        mode_number("feature_mode", "time", 3, None)


def test_names_as_arrays_and_back():
    arrays = arrays_of_names(FULL)
    assert all(not array.dtype.hasobject for array in arrays.values())
    again = names_of_arrays(FULL.shape, arrays)
    for mode in range(3):
        assert again.title(mode) == FULL.title(mode)
        assert again.cells(mode) == FULL.cells(mode)
    tuples = Names((2,), ("both",), {"both": [("a", 1), ("b", 2)]})
    assert names_of_arrays((2,), arrays_of_names(tuples)).cells(0) == ["a/1", "b/2"]
    with pytest.raises(ValueError, match="for each of the 2 modes"):
        names_of_arrays((2, 3), arrays)


def test_what_comes_with_tensift_has_names():
    assert load_digits().names.dims == ("row", "column")
    assert make_orbit(random_state=0).names.dims == ("channel", "time")
    sea = make_sea_surface(20, random_state=0)
    assert [sea.names.title(mode) for mode in range(2)] == ["latitude (°)", "longitude (°)"]


# Units in files


def test_units_in_npz_and_hdf5(tmp_path):
    arrays = {
        "data": np.zeros((4, 2, 3)), "dims": ["channel", "band"],
        "coords_band": [400, 500, 600], "units_band": "nm",
    }  # fmt: skip
    np.savez(tmp_path / "a.npz", **arrays)
    assert read_tensor(tmp_path / "a.npz").units == {"band": "nm"}
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, values in arrays.items():
            file[name] = values
    assert read_tensor(tmp_path / "a.h5").units == {"band": "nm"}
    np.savez(tmp_path / "a.npz", **{**arrays, "units_band": [1, 2]})
    with pytest.raises(ValueError, match="'units_band' must be one text, such as 's' or 'nm'"):
        read_tensor(tmp_path / "a.npz")


def test_times_of_a_sampling_rate_are_seconds(tmp_path):
    np.savez(tmp_path / "a.npz", data=np.zeros((4, 2, 3)), sfreq=250, ch_names=["a", "b"])
    found = read_tensor(tmp_path / "a.npz")
    assert found.units == {"time": "s"}
    assert found.names.title(1) == "time (s)"
    # Times that are in the file may have any unit.
    np.savez(tmp_path / "a.npz", data=np.zeros((4, 2, 3)), times=[0, 1, 2], ch_names=["a", "b"])
    assert read_tensor(tmp_path / "a.npz").units is None
    # A unit that the file gives comes first.
    np.savez(tmp_path / "a.npz", data=np.zeros((4, 2, 3)), fs=2, units_time="h")
    assert read_tensor(tmp_path / "a.npz").units == {"time": "h"}


@pytest.mark.parametrize(
    ("written", "unit"),
    [
        ("Nanometers", {"band": "nm"}),
        ("micrometers", {"band": "um"}),
        ("Unknown", None),
        (None, None),
    ],
)
def test_units_of_wavelengths(tmp_path, written, unit):
    header = "ENVI\nsamples = 2\nlines = 2\nbands = 3\ndata type = 4\nbyte order = 0\n"
    header += "interleave = bip\nwavelength = {0.4, 0.5, 0.6}\n"
    header += f"wavelength units = {written}\n" if written else ""
    (tmp_path / "scene.hdr").write_text(header)
    (tmp_path / "scene.img").write_bytes(np.zeros(12, "<f4").tobytes())
    assert read_tensor(tmp_path / "scene.hdr").units == unit
