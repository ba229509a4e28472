"""Checkpoints: continue a pass over samples that was interrupted."""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.checkpoint import Checkpoint
from tensift._utils.npz import read_npz
from tensift.moments._moments import Moments
from tensift.sources import Chunk, ChunkedSource, EvenSubsample

__all__ = ["PassCheckpoint"]


class PassCheckpoint(Checkpoint):
    """A file with the state of a pass over samples.

    It is replaced every few seconds and holds the moments of all chunks so far. If the basis is
    computed from the data, it also holds the self-correlations of the modes.

    Parameters
    ----------
    path : path-like
        The file.
    fingerprint : str
        A digest of the samples and the parameters; a file with another one is refused.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: str) -> None:
        self._held: dict[str, NDArray] = {}
        self._moments: Moments | None = None
        self._subsample: EvenSubsample | None = None
        self._seen = hashlib.sha256()
        self._read = 0
        super().__init__(path, fingerprint, {"names": np.array([], str)})

    def _load(self) -> None:
        self.arrays = {}
        super()._load()
        (names,) = read_npz(self.path, ["names"]).values()
        if names.ndim != 1 or names.dtype.kind != "U":
            raise ValueError(
                f"checkpoint {self.path} is damaged: its list of arrays cannot be read; remove it"
            )
        self._held = read_npz(self.path, names.tolist())
        self._keep(self._held)

    def _keep(self, arrays: dict[str, NDArray]) -> None:
        names = [name for name in arrays if name != "names"]
        self.arrays = {**{name: arrays[name] for name in names}, "names": np.array(names, str)}

    def correlations(self, modes: list[int]) -> list[NDArray] | None:
        """Return the self-correlations of modes if the file has them, else None."""
        names = [f"correlation_{mode}" for mode in modes]
        return [self._held[name] for name in names] if names[0] in self._held else None

    def keep_correlations(self, modes: list[int], found: list[NDArray]) -> None:
        """Write the self-correlations of modes."""
        known = zip(modes, found, strict=True)
        self._keep({f"correlation_{mode}": values for mode, values in known})
        self._changed = True
        self.write()

    def begin_moments(
        self, moments: Moments, subsample: EvenSubsample | None, source: ChunkedSource
    ) -> int:
        """Restore empty moments and subsample; return the index of the sample to continue from."""
        self._moments, self._subsample = moments, subsample
        if "scatter" not in self._held:
            return 0
        held = self._held
        blank = {"scatter": moments.blank_scatter(), "squares": moments._squares}
        for name, array in blank.items():
            if held[name].shape != array.shape or held[name].dtype != array.dtype:
                raise ValueError(
                    f"checkpoint {self.path} is damaged: array {name!r} does not fit; remove it"
                )
        moments._scatter = held.pop("scatter")
        moments._squares, moments.mean = held["squares"], held["mean"]
        moments.count, moments.peak = int(held["count"]), float(held["peak"])
        moments.total = held["total"].item()
        if subsample is not None:
            subsample.restore(held, moments.count)
            del held["subsample"]
        read = self._read = int(held["read"])
        if source.n_samples is None:
            self._check_seen(source, read, str(held["seen"]))
        return read

    def _check_seen(self, source: ChunkedSource, count: int, expected: str) -> None:
        """Read an iterator up to the sample to continue from, and compare with the file."""
        for chunk in source.read_until(count):  # type: ignore[attr-defined]
            self.note(chunk)
        if self._seen.hexdigest() != expected:
            raise ValueError(
                f"checkpoint {self.path} is of other data: its first {count} samples differ from "
                "those of X; remove it, or give another file"
            )

    def note(self, chunk: Chunk) -> None:
        """Add the shape, first and last sample of a chunk to the digest of what was read."""
        self._read = chunk.stop
        self._seen.update(repr(chunk.samples.shape).encode())
        for row in (chunk.samples[0], chunk.samples[-1]):
            self._seen.update(np.ascontiguousarray(row).tobytes())

    def after_chunks(self) -> None:
        """Record the moments so far, and write the file if the interval has passed."""
        self._collect()
        self.update()

    def finish(self) -> None:
        """Write the final moments."""
        self._collect()
        self.write()

    def _collect(self) -> None:
        moments: Any = self._moments
        if moments._scatter is None:
            return  # fewer samples than features in a slice: cheap to read again
        kept = {name: array for name, array in self.arrays.items() if "correlation" in name}
        state = {
            "scatter": moments._scatter,
            "squares": moments._squares,
            "mean": moments.mean,
            "count": np.array(moments.count),
            "total": np.array(moments.total),
            "read": np.array(self._read),
            "peak": np.array(moments.peak),
            "seen": np.array(self._seen.hexdigest()),
        }
        if self._subsample is not None:
            state |= self._subsample.state()
        self._keep({**kept, **state})
        self._changed = True
