"""The datasets of the study, and the numbers of features selected on each."""

import hashlib
import os
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from benchmarks._data import published, read_only
from tensift.datasets import load_digits

PIXELS = (50, 100, 200)
SHARES = (1 / 10, 1 / 5, 1 / 3)  # of the features, if there are few
SEEN, FIRST_ROUND, UNSEEN = "yes", "first round", "no"


@dataclass(frozen=True)
class Subject:
    """A dataset of the study.

    `every` keeps only every n-th sample. `tuned` says whether its labels were used to set the
    constants of our own method.
    """

    name: str
    file: str
    counts: tuple[int, ...] | None = None
    every: int = 1
    tuned: str = SEEN


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject("Imm40", "Imm40", PIXELS),
        Subject("JAFFE", "JAFFE", PIXELS),
        Subject("BreastMNIST", "BreastMNIST", PIXELS),
        Subject("COIL20", "COIL20", PIXELS),
        Subject("PIE", "PIE", PIXELS),
        Subject("USPS", "USPS", (25, 50, 100), every=5),
        Subject("digits", "", (8, 16, 32), tuned=FIRST_ROUND),
        Subject("Array", "Array", tuned=UNSEEN),
        Subject("Orbit", "Orbit"),
        Subject("ASCH", "ASCH"),
        Subject("UCIDSA", "UCIDSA"),
        Subject("UCIHAR", "UCIHAR_rebuilt_from_HAPT"),
    )
}


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
    """Return samples and labels of a dataset, or None if its file is missing."""
    subject = SUBJECTS[name]
    dataset = published(subject.file) if subject.file else load_digits()
    if dataset is None:
        return None
    data = read_only(np.array(dataset.data[:: subject.every], dtype=np.float64))
    labels = np.unique(dataset.labels[:: subject.every], return_inverse=True)[1]
    samples = Samples(data, dataset.feature_mode, int(labels.max()) + 1, subject.counts or ())
    if subject.counts is None:
        counts = tuple(sorted({max(2, round(share * samples.n_features)) for share in SHARES}))
        samples = Samples(data, dataset.feature_mode, samples.n_classes, counts)
    return samples, labels


def wanted_subjects():
    """Return the names of the sets of this run: all available ones, or those asked for."""
    asked = [name for name in os.environ.get("LABEL_FREE_SETS", "").split(",") if name]
    unknown = [name for name in asked if name not in SUBJECTS]
    if unknown:
        raise SystemExit(f"LABEL_FREE_SETS: no set {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    return [name for name in SUBJECTS if (not asked or name in asked) and load_subject(name)]
