"""The datasets of the paper's experiments, and those that replace them in a quick run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from tensift.datasets import (
    TensorDataset,
    fetch_paper,
    list_paper,
    load_digits,
    make_array,
    make_orbit,
)

__all__ = ["PAPER_SETS", "STAND_INS", "PaperSet", "list_sets", "load_set"]

_PIXELS = (50, 100, 150, 200, 250, 300)


@dataclass(frozen=True)
class PaperSet:
    """A dataset and how the paper uses it.

    `counts` are the numbers of features that the paper selects. `orientation` is that of the
    authors' program. `printed` is what the paper prints: (features, samples, classes). `by_mode`
    says that features are the indices of a mode (the paper's slice-wise data); they are judged by
    POC instead of clustering. `exchanged` says that the two modes of our file are swapped, so
    `orientation` is not the number in the authors' program. `note` says how our file differs from
    the authors'.
    """

    name: str
    counts: tuple[int, ...]
    orientation: int
    printed: tuple[tuple[int, int], int, int] | None = None
    by_mode: bool = False
    exchanged: bool = False
    file: str = ""
    note: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """How a selection of its features is judged."""
        return ("poc",) if self.by_mode else ("acc", "nmi", "silhouette")

    def why_missing(self) -> str:
        """Why it cannot be loaded; empty if it can."""
        try:
            load_set(self.name)
        except (OSError, ValueError) as error:
            return str(error)
        return ""


_UNKNOWN_FILE = "no file of it is known to this library"
PAPER_SETS = (
    PaperSet("PIE", _PIXELS, 0, ((32, 32), 1166, 53)),
    PaperSet("COIL20", _PIXELS, 0, ((32, 32), 1440, 20)),
    PaperSet("JAFFE", _PIXELS, 0, ((64, 64), 213, 7)),
    PaperSet("BreastMNIST", _PIXELS, 0, ((28, 28), 156, 2)),
    PaperSet("Imm40", _PIXELS, 1, ((32, 32), 240, 40)),
    PaperSet(
        "USPS",
        (10, 30, 50, 70, 90, 110),
        0,
        ((16, 16), 9298, 10),
        exchanged=True,
        note="other pixel values than the authors' (the silhouette of all features differs); and "
        "upright, while theirs seem to be transposed: their Dir2 is Dir1 here",
    ),
    PaperSet(
        "UCIDSA",
        (15,),
        0,
        ((45, 125), 152, 19),
        by_mode=True,
        note="we inferred which segments the authors used",
    ),
    PaperSet(
        "UCIHAR",
        (100,),
        1,
        ((561, 9), 273, 6),
        by_mode=True,
        file="UCIHAR_rebuilt_from_HAPT",
        note="computed again from raw recordings of the same people",
    ),
    PaperSet("UMCS", (15,), 0, ((65, 125), 174, 2), by_mode=True),
    PaperSet("ASCH", (6,), 1, ((16, 640), 84, 2), by_mode=True),
    PaperSet("Orbit", (3,), 1, ((9, 41), 100, 2), by_mode=True),
    PaperSet("Array", (4,), 0, ((10, 10), 100, 2)),
)
# Each takes a few seconds, and needs no download.
STAND_INS = (
    PaperSet("Digits", (10, 20, 30), 0, note="300 of scikit-learn's digits"),
    PaperSet("Generated Array", (4, 10, 20), 0, note="as the paper describes Array"),
    PaperSet("Generated Orbit", (3,), 0, by_mode=True, note="as the paper describes Orbit"),
)


def list_sets() -> list[str]:
    """The names of all datasets, and of those for quick runs."""
    return [one.name for one in (*PAPER_SETS, *STAND_INS)]


@cache
def load_set(name: str) -> TensorDataset:
    """The data of a dataset, read or generated once per process.

    Raises
    ------
    FileNotFoundError
        If its file is missing; the message says where to put it.
    """
    if name == "Digits":
        digits = load_digits()
        assert digits.labels is not None
        return replace(digits, data=digits.data[:300], labels=digits.labels[:300])
    if name == "Generated Array":
        return make_array(random_state=0)
    if name == "Generated Orbit":
        return make_orbit(random_state=0)
    entry = next(one for one in PAPER_SETS if one.name == name)
    file = entry.file or name
    if file not in list_paper():
        raise FileNotFoundError(f"{name}: {_UNKNOWN_FILE}")
    return fetch_paper(file)
