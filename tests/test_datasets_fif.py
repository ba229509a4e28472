"""FIF files: recordings on disk give what MNE-Python reads from them; damaged ones are refused."""

import csv
import gzip
import json
import subprocess
import sys

import numpy as np
import pytest

from tensift import GeometrySelector
from tensift.datasets import read_tensor

mne = pytest.importorskip("mne")

NAMES = ["Fp1", "STI 014", "Cz", "Pz", "Oz", "EOG 061"]
TYPES = ["eeg", "stim", "eeg", "eeg", "eeg", "eog"]
GOOD = ["Fp1", "Pz", "Oz"]
RATE = 50.0


@pytest.fixture(autouse=True)
def _quiet():
    with mne.use_log_level("ERROR"):
        yield


def recording_of(types=TYPES, times=600):
    info = mne.create_info(NAMES, RATE, types)
    values = np.random.default_rng(0).normal(size=(6, times)) * 1e-5
    raw = mne.io.RawArray(values, info)
    raw.info["bads"] = ["Cz"]
    return raw.set_annotations(mne.Annotations([2.0], [1.0], ["BAD movement"]))


def epochs_of(types=TYPES):
    codes = np.array([1, 2, 2, 7, 1, 2, 1, 1, 2, 1])
    events = np.c_[np.arange(10) * 20, np.zeros(10, int), codes]
    values = np.random.default_rng(1).normal(size=(10, 6, 15)) * 1e-5
    epochs = mne.EpochsArray(
        values, mne.create_info(NAMES, RATE, types), events=events, tmin=-0.1,
        event_id={"left": 1, "right": 2, "rest": 7},
    )  # fmt: skip
    epochs.info["bads"] = ["Cz"]
    return epochs


@pytest.fixture
def epochs_file(tmp_path):
    epochs_of().save(tmp_path / "walk-epo.fif")
    return tmp_path / "walk-epo.fif"


@pytest.fixture
def averages_file(tmp_path):
    epochs = epochs_of()
    averages = [epochs[name].average(picks="all") for name in ("left", "right")]
    mne.write_evokeds(tmp_path / "walk-ave.fif", averages)
    return tmp_path / "walk-ave.fif"


@pytest.fixture
def raw_file(tmp_path):
    recording_of().save(tmp_path / "walk_raw.fif")
    return tmp_path / "walk_raw.fif"


@pytest.fixture
def every_file(epochs_file, averages_file, raw_file):
    return [epochs_file, averages_file, raw_file]


def refused(path, *words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_tensor(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    for word in words:
        assert word in message


def test_epochs_and_their_events(epochs_file):
    stored = mne.read_epochs(epochs_file)
    found = read_tensor(epochs_file)
    np.testing.assert_array_equal(found.data, stored.get_data(picks=GOOD))
    assert found.dims == ("channel", "time")
    assert found.names.title(1) == "time (s)"
    assert list(found.coords["channel"]) == GOOD
    np.testing.assert_array_equal(found.coords["time"], stored.times)
    names = {1: "left", 2: "right", 7: "rest"}
    assert list(found.labels) == [names[code] for code in stored.events[:, 2]]


def test_averages_and_their_comments(averages_file):
    stored = mne.read_evokeds(averages_file)
    found = read_tensor(averages_file)
    truth = [one.copy().pick(GOOD).data for one in stored]
    np.testing.assert_array_equal(found.data, truth)
    assert list(found.labels) == [one.comment for one in stored]


def test_times_without_bad_segments(raw_file):
    stored = mne.io.read_raw_fif(raw_file)
    found = read_tensor(raw_file)
    truth = stored.get_data(picks=GOOD, reject_by_annotation="omit").T
    assert len(truth) == 550
    np.testing.assert_array_equal(found.data, truth)
    assert found.dims == ("channel",)
    assert found.labels is None


def test_content_decides_and_not_the_name(epochs_file, tmp_path):
    other = tmp_path / "anything.fif"
    other.write_bytes(epochs_file.read_bytes())
    np.testing.assert_array_equal(read_tensor(other).data, read_tensor(epochs_file).data)


def test_a_selection_is_that_of_the_recording(epochs_file):
    """Also with several types of channels, whose units must not decide."""
    for types in (TYPES, ["mag", "stim", "eeg", "eeg", "grad", "eog"]):
        epochs_of(types).save(epochs_file, overwrite=True)
        stored = mne.read_epochs(epochs_file)
        stored.info["bads"] = ["Cz"]
        ours = GeometrySelector(2, feature_mode=0).fit(read_tensor(epochs_file))
        truth = GeometrySelector(2, feature_mode="channel").fit(stored)
        np.testing.assert_allclose(ours.scores_, truth.scores_, rtol=1e-9)
        np.testing.assert_array_equal(ours.order_, truth.order_)


def test_labels_may_be_given(epochs_file, tmp_path):
    (tmp_path / "labels.txt").write_text("\n".join("abcdefghij"))
    assert list(read_tensor(epochs_file, labels=tmp_path / "labels.txt").labels) == [*"abcdefghij"]
    assert len(read_tensor(epochs_file, drop_label="rest").data) == 9


def command(*words, folder):
    return subprocess.run(
        [sys.executable, "-m", "tensift.cli", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_info_on_the_command_line(every_file, tmp_path):
    for path in every_file:
        done = command("info", path, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "channel, length 3: Fp1, Pz, Oz" in done.stdout
        assert not done.stderr
    done = command("info", every_file[0], folder=tmp_path)
    assert "3 classes: left (5), rest (1), right (4)" in done.stdout
    epochs_of(["mag", "stim", "eeg", "eeg", "grad", "eog"]).save(every_file[0], overwrite=True)
    done = command("info", every_file[0], folder=tmp_path)
    assert "each type of channel (mag, eeg, grad) is divided by its spread" in done.stdout


def test_select_on_the_command_line(epochs_file, tmp_path):
    done = command(
        "select", epochs_file, "--feature-mode", "channel", "-k", 2, "--report", "-o", "out",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out" / "ranking.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["channel_name"] for row in rows} == set(GOOD)
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(json.dumps(name) in page for name in GOOD)


def test_a_misspelt_mode_is_one_clear_line(epochs_file, tmp_path):
    done = command("select", epochs_file, "--feature-mode", "chanel", folder=tmp_path)
    assert done.returncode == 1
    assert "'chanel' is not a feature mode" in done.stderr
    assert "did you mean 'channel'?" in done.stderr


def test_truncated_files_are_one_clear_line(every_file, tmp_path):
    for path in every_file:
        whole = path.read_bytes()
        part = tmp_path / f"part-{path.name}"
        for length in [13, *np.linspace(20, len(whole) - 1, 15).astype(int), len(whole) - 16]:
            part.write_bytes(whole[:length])
            refused(part)


def test_broken_files_are_read_or_refused(every_file, tmp_path):
    rng = np.random.default_rng(3)
    for path in every_file:
        whole = path.read_bytes()
        broken = tmp_path / f"broken-{path.name}"
        for _ in range(25):
            content = bytearray(whole)
            for place in rng.integers(12, len(content), 3):
                content[place] = rng.integers(256)
            broken.write_bytes(content)
            try:
                assert read_tensor(broken).data.ndim > 1
            except ValueError as error:
                assert str(error).startswith(str(broken))  # noqa: PT017
                assert "\n" not in str(error)  # noqa: PT017


def test_loops_of_tags_end(tmp_path):
    start = (100).to_bytes(4) + (31).to_bytes(4) + (20).to_bytes(4)
    (tmp_path / "loop.fif").write_bytes(
        start + (4).to_bytes(4) + bytes(20) + start + (4).to_bytes(4)
    )
    refused(tmp_path / "loop.fif", "damaged or truncated")


def test_files_of_other_kinds_say_what_they_are(tmp_path, epochs_file):
    events = np.array([[1, 0, 1], [2, 0, 1]])
    mne.write_events(tmp_path / "a-eve.fif", events)
    refused(tmp_path / "a-eve.fif", "without a whole recording", "events")
    (tmp_path / "a-epo.fif.gz").write_bytes(gzip.compress(epochs_file.read_bytes()))
    refused(tmp_path / "a-epo.fif.gz", "gzip", "unpack it first")


def test_a_file_without_data_channels_says_so(tmp_path):
    info = mne.create_info(NAMES, RATE, "misc")
    mne.io.RawArray(np.ones((6, 100)), info).save(tmp_path / "a_raw.fif")
    refused(tmp_path / "a_raw.fif", "no data channels", "misc")


def test_a_missing_package_says_what_to_install(epochs_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(
        ImportError, match=r'FIF files need MNE-Python: pip install "tensift\[mne\]"'
    ):
        read_tensor(epochs_file)
