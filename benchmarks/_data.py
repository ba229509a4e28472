"""The paper's data, or random data of the same shape if a file is missing."""

import os
from functools import cache
from pathlib import Path

import numpy as np

from tensift.datasets import fetch_paper, list_paper

ROOT = Path(__file__).resolve().parents[1]


@cache
def load(name):
    """Return read-only float64 samples of a dataset of the paper, and where they came from."""
    dataset = published(name)
    if dataset is not None:
        return read_only(np.array(dataset.data, dtype=np.float64)), "published file"
    return read_only(smooth_field(list_paper()[name])), "generated"


def read_only(array):
    """Make an array read-only: contestants share it, so none may change it."""
    array.flags.writeable = False
    return array


@cache
def published(name):
    """Return a dataset of the paper from the user's copy, or None.

    The folder is `TENSIFT_DATA`, otherwise `../shared/data` beside the repository.
    """
    beside = ROOT.parent / "shared" / "data"
    if not os.environ.get("TENSIFT_DATA") and beside.is_dir():
        os.environ["TENSIFT_DATA"] = str(beside)
    try:
        return fetch_paper(name)
    except FileNotFoundError:
        return None


def smooth_field(shape, *, decay=1.5, seed=0):
    """Make random fields `(n, d_1, ..., d_m)` in [0, 1].

    Frequency f has amplitude (1 + f)**-decay, as in natural images and slow signals. So the Gram
    matrices of the slices have a few large eigenvalues and a long tail, like those of the paper's
    data.
    """
    rng = np.random.default_rng(seed)
    axes = tuple(range(1, len(shape)))
    frequencies = np.meshgrid(*(size * np.fft.fftfreq(size) for size in shape[1:]), indexing="ij")
    amplitude = (1 + np.sqrt(sum(f**2 for f in frequencies))) ** -decay
    field = np.fft.ifftn(np.fft.fftn(rng.normal(size=shape), axes=axes) * amplitude, axes=axes).real
    field -= field.min()
    return field / field.max()
