"""The paper's files: found, checked, and read into the right orientation."""

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from tensift.datasets import fetch_paper, list_paper

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("TENSIFT_DATA") or DEFAULT)
SLICE_WISE = {"Orbit", "ASCH", "UCIDSA", "UCIHAR_rebuilt_from_HAPT"}
N_CLASSES = {
    "Array": 2, "ASCH": 2, "BreastMNIST": 2, "COIL20": 20, "Imm40": 40, "JAFFE": 7, "Orbit": 2,
    "PIE": 53, "UCIDSA": 19, "UCIHAR_rebuilt_from_HAPT": 6, "USPS": 10,
}  # fmt: skip


@pytest.fixture
def empty_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("TENSIFT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TENSIFT_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("name", sorted(N_CLASSES))
def test_every_set_is_as_the_paper_lists_it(monkeypatch, name):
    if not FOLDER.is_dir():
        pytest.skip(f"the paper's datasets are not in {FOLDER} (set TENSIFT_DATA)")
    monkeypatch.setenv("TENSIFT_DATA", str(FOLDER))
    dataset = fetch_paper(name)
    assert dataset.name == name
    assert dataset.data.shape == list_paper()[name]
    assert dataset.n_classes == N_CLASSES[name]
    assert dataset.feature_mode == (0 if name in SLICE_WISE else None)
    assert np.isfinite(dataset.data).all()


def test_values_are_the_files_own(monkeypatch):
    if not FOLDER.is_dir():
        pytest.skip(f"the paper's datasets are not in {FOLDER} (set TENSIFT_DATA)")
    monkeypatch.setenv("TENSIFT_DATA", str(FOLDER))
    stored = scipy.io.loadmat(FOLDER / "Imm40.mat")
    dataset = fetch_paper("imm40")
    np.testing.assert_array_equal(dataset.data[17], stored["data"][:, :, 17])
    np.testing.assert_array_equal(dataset.labels, stored["label"].ravel())
    assert fetch_paper("Orbit").informative.tolist() == [6, 7, 8]
    assert fetch_paper("UCIDSA").coords["channel"][0] == "T_xacc"
    assert len(fetch_paper("UCIHAR_rebuilt_from_HAPT").coords["feature"]) == 561


def test_names():
    assert set(list_paper()) == set(N_CLASSES)
    with pytest.raises(ValueError, match="unknown dataset 'UMCS'; known: Array, ASCH"):
        fetch_paper("UMCS")


def test_a_missing_file_says_what_to_put_where(empty_folders):
    with pytest.raises(FileNotFoundError, match="TENSIFT_DATA") as caught:
        fetch_paper("Orbit")
    message = str(caught.value)
    assert "3D orbits.mat" in message
    assert str(empty_folders / "cache") in message
    assert "\n" not in message


@pytest.mark.parametrize("folder", ["data", "cache"])
def test_a_wrong_file_is_refused_in_either_folder(empty_folders, folder):
    (empty_folders / folder).mkdir()
    (empty_folders / folder / "PIE.mat").write_bytes(b"abc")
    # SHA-256 of "abc" is a published test vector: ba7816bf 8f01...
    with pytest.raises(ValueError, match=r"SHA-256 ba7816bf8f01\.\.\., expected bfd017c42376"):
        fetch_paper("PIE")


def test_the_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    for name in ("TENSIFT_DATA", "TENSIFT_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    for platform, part in (("linux", "xdg"), ("darwin", "Library"), ("win32", "local")):
        monkeypatch.setattr("sys.platform", platform)
        with pytest.raises(FileNotFoundError, match=part):
            fetch_paper("USPS")
