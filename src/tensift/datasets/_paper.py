"""Read the paper's datasets from the user's files; we may not distribute them."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tensift.datasets._dataset import TensorDataset
from tensift.datasets._read import read_tensor

__all__ = ["fetch_paper", "list_paper"]


@dataclass(frozen=True)
class _PaperFile:
    file: str
    shape: tuple[int, int, int]
    sha256: str
    dims: tuple[str, str]
    feature_mode: int | None = None
    # Pairs of a mode and the array in the file that names its indices.
    names: tuple[tuple[str, str], ...] = ()
    hertz: float | None = None  # of the last mode, if it is time


_PIXELS = ("row", "column")
_SERIES = ("channel", "time")
_PAPER_FILES = {
    "Array": _PaperFile(
        "array_signal.mat",
        (100, 10, 10),
        "57f874a3af9c7dd2b160e158ef0ca6ed615977e2c46d5cb8e086b1fe15fdad47",
        _PIXELS,
    ),
    "ASCH": _PaperFile(
        "ASCH.mat",
        (84, 16, 640),
        "e28be528d89ca363f4347264460fe1acdd82909db4f6c077e56f3112ba8964c9",
        _SERIES,
        feature_mode=0,
    ),
    "BreastMNIST": _PaperFile(
        "BreastMNIST.mat",
        (156, 28, 28),
        "200d33ab733d975be9c05edb7f4b949fc9c34b247213b5fb7f5143390c0ada5a",
        _PIXELS,
    ),
    "COIL20": _PaperFile(
        "COIL20.mat",
        (1440, 32, 32),
        "ff6aec1a4d0ae34bdddd31b87c84c26c739f6ea003391f265e8cbffcf5df43de",
        _PIXELS,
    ),
    "Imm40": _PaperFile(
        "Imm40.mat",
        (240, 32, 32),
        "a88eefc7e4709cdb36cef45792f26a98197189631f362145ca8cb1d72b16515b",
        _PIXELS,
    ),
    "JAFFE": _PaperFile(
        "JAFFE.mat",
        (213, 64, 64),
        "ad6c5f1bc0016d0f18769c82d038d7a37360d15964d336ad7c254ac19a87caa4",
        _PIXELS,
    ),
    "Orbit": _PaperFile(
        "3D orbits.mat",
        (100, 9, 41),
        "e51353004139572051acffd4b6529b58908c993a9fd20ae7835852d596dc12f2",
        _SERIES,
        feature_mode=0,
    ),
    "PIE": _PaperFile(
        "PIE.mat",
        (1166, 32, 32),
        "bfd017c423768652a00dfb7e6d4c82e67faa300d3907f98d4a4114f47d92ab86",
        _PIXELS,
    ),
    "UCIDSA": _PaperFile(
        "UCIDSA.npz",
        (152, 45, 125),
        "360250f0f25ff75b7b6e2a94929df5e350832fe75fb9b960c61b6015af5484fc",
        _SERIES,
        feature_mode=0,
        names=(("channel", "channels"),),
        hertz=25.0,
    ),
    "UCIHAR_rebuilt_from_HAPT": _PaperFile(
        "UCIHAR_rebuilt_from_HAPT.npz",
        (273, 561, 9),
        "34a9e8beb65ea0c1367987c38a061bd2f7279571f45808d3e493d296d6a21e70",
        ("feature", "subject"),
        feature_mode=0,
        names=(("feature", "features"), ("subject", "subjects")),
    ),
    "USPS": _PaperFile(
        "USPS.npz",
        (9298, 16, 16),
        "f457bd188eeeb80b9f5a36c2bb3d0088d66dccaa6edfcc9db5d7eb03bbc45bdf",
        _PIXELS,
    ),
}


def list_paper() -> dict[str, tuple[int, ...]]:
    """Return the names and shapes of the paper's datasets, for :func:`fetch_paper`.

    Returns
    -------
    dict of str to tuple of int
        Name and shape ``(n, d_1, d_2)``.

    Examples
    --------
    >>> from tensift.datasets import list_paper
    >>> list_paper()["Orbit"]
    (100, 9, 41)
    """
    return {name: entry.shape for name, entry in _PAPER_FILES.items()}


def fetch_paper(name: str) -> TensorDataset:
    """Read one of the paper's datasets from your own copy.

    It searches the folder in the environment variable ``TENSIFT_DATA``, then the cache folder:
    ``TENSIFT_CACHE``, or the usual place of the system (``~/.cache/tensift`` on Linux). The
    SHA-256 of the file must be that of the file with which the library was tested.

    Parameters
    ----------
    name : str
        A name from :func:`list_paper`, in upper or lower case. ``UCIHAR_rebuilt_from_HAPT`` is
        computed from raw recordings of the same people. It is close to the paper's UCIHAR, but
        not equal.

    Returns
    -------
    TensorDataset
        The data as stored, samples first. Slice-wise datasets have ``feature_mode=0``.

    Raises
    ------
    FileNotFoundError
        If the file is in neither folder. The message says where to put it.
    ValueError
        If the name is unknown or the file is not the expected one.

    Examples
    --------
    >>> from tensift.datasets import fetch_paper
    >>> fetch_paper("MNIST")
    Traceback (most recent call last):
        ...
    ValueError: unknown dataset 'MNIST'; known: Array, ASCH, BreastMNIST, ...
    """
    known = {key.casefold(): key for key in _PAPER_FILES}
    if not isinstance(name, str) or name.casefold() not in known:
        raise ValueError(f"unknown dataset {name!r}; known: {', '.join(_PAPER_FILES)}")
    name = known[name.casefold()]
    entry = _PAPER_FILES[name]
    path = _find(name, entry.file)
    _check_sha256(path, entry.sha256)
    dataset = read_tensor(path, sample_axis=-1)
    coords: dict[str, np.ndarray] = {}
    if entry.names:
        with np.load(path, allow_pickle=False) as arrays:
            coords = {dim: arrays[key] for dim, key in entry.names}
    if entry.hertz is not None:
        coords["time"] = np.arange(dataset.feature_shape[-1]) / entry.hertz
    return replace(
        dataset,
        name=name,
        feature_mode=entry.feature_mode,
        dims=entry.dims,
        coords=coords or None,
        units=None if entry.hertz is None else {"time": "s"},
    )


def _find(name: str, file: str) -> Path:
    folders = [_cache_folder()]
    if os.environ.get("TENSIFT_DATA"):
        folders.insert(0, Path(os.environ["TENSIFT_DATA"]))
    for folder in folders:
        if (folder / file).is_file():
            return folder / file
    raise FileNotFoundError(
        f"{name} is not distributed with tensift; put its file {file!r} into {folders[-1]}, or "
        "set the environment variable TENSIFT_DATA to the folder that contains it"
    )


def _cache_folder() -> Path:
    if os.environ.get("TENSIFT_CACHE"):
        return Path(os.environ["TENSIFT_CACHE"])
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "tensift"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "tensift"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "tensift"


def _check_sha256(path: Path, expected: str) -> None:
    with open(path, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise ValueError(
            f"{path}: not the expected file (SHA-256 {found[:12]}..., expected {expected[:12]}...)"
        )
