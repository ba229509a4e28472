"""Passes over samples that go on after an interruption, from a file."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift._checkpoint import Checkpoint
from tensift._npz import read_npz
from tensift.gram import Moments

if TYPE_CHECKING:
    from tensift.sources._chunks import Chunk, ChunkedSource

__all__ = ["PassCheckpoint"]


class PassCheckpoint(Checkpoint):
    """How far passes over samples are, and what is known by then.

    The file is replaced every few seconds by one that holds the moments of all chunks so far. It
    holds the correlations of modes, too, if a transform is made of them.

    Parameters
    ----------
    path : path-like
        The file.
    fingerprint : str
        Of the samples and the parameters; a file with another one is refused.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._held: dict[str, NDArray] = {}
        self._moments: Moments | None = None
        self._seen = hashlib.sha256()
        super().__init__(path, fingerprint, {"names": np.array([], str)})

    def _load(self) -> None:
        self.arrays = {}
        super()._load()
        (names,) = read_npz(self.path, ["names"]).values()
        if names.ndim != 1 or names.dtype.kind != "U":
            raise ValueError(f"checkpoint {self.path} is damaged: its list of arrays is none")
        self._held = read_npz(self.path, names.tolist())
        self._keep(self._held)

    def _keep(self, arrays: dict[str, NDArray]) -> None:
        names = [name for name in arrays if name != "names"]
        self.arrays = {**{name: arrays[name] for name in names}, "names": np.array(names, str)}

    def correlations(self, modes: list[int]) -> list[NDArray] | None:
        """Correlations of modes that are known already."""
        names = [f"correlation_{mode}" for mode in modes]
        return [self._held[name] for name in names] if names[0] in self._held else None

    def keep_correlations(self, modes: list[int], found: list[NDArray]) -> None:
        """Write down the correlations of modes."""
        known = zip(modes, found, strict=True)
        self._keep({f"correlation_{mode}": values for mode, values in known})
        self._changed = True
        self.write()

    def begin_moments(self, moments: Moments, source: ChunkedSource) -> int:
        """Put what is known into blank moments; the sample to go on from."""
        self._moments = moments
        if "scatter" not in self._held:
            return 0
        held = self._held
        blank = {"scatter": moments.blank_scatter(), "squares": moments._squares}
        for name, array in blank.items():
            if held[name].shape != array.shape or held[name].dtype != array.dtype:
                raise ValueError(f"checkpoint {self.path} is damaged: array {name!r} does not fit")
        moments._scatter = held.pop("scatter")
        moments._squares, moments.mean = held["squares"], held["mean"]
        moments.count, moments.peak = int(held["count"]), float(held["peak"])
        if source.n_samples is None:
            self._check_seen(source, moments.count, str(held["seen"]))
        return moments.count

    def _check_seen(self, source: ChunkedSource, count: int, expected: str) -> None:
        """Read what can only be read in order up to the place to go on from, and compare."""
        for chunk in source.skipped(count):  # type: ignore[attr-defined]
            self.note(chunk)
        if self._seen.hexdigest() != expected:
            raise ValueError(
                f"checkpoint {self.path} is of other data: the first {count} samples are not "
                "those that it was made from; remove it, or give another file"
            )

    def note(self, chunk: Chunk) -> None:
        """Remember what a chunk looks like."""
        self._seen.update(repr(chunk.samples.shape).encode())
        for row in (chunk.samples[0], chunk.samples[-1]):
            self._seen.update(np.ascontiguousarray(row).tobytes())

    def after_chunks(self) -> None:
        """Say that the moments are complete so far; they are written if it is time."""
        self._collect()
        self.update()

    def finish(self) -> None:
        """Write what is known in the end."""
        self._collect()
        self.write()

    def _collect(self) -> None:
        moments: Any = self._moments
        if moments._scatter is None:
            return  # fewer samples than features of a slice: they are soon read again
        kept = {name: array for name, array in self.arrays.items() if "correlation" in name}
        state = {
            "scatter": moments._scatter,
            "squares": moments._squares,
            "mean": moments.mean,
            "count": np.array(moments.count),
            "peak": np.array(moments.peak),
            "seen": np.array(self._seen.hexdigest()),
        }
        self._keep({**kept, **state})
        self._changed = True
