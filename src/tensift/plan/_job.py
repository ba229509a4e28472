"""A job as numbers: count what is stored, moved and multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensift._utils.modes import resolve_mode
from tensift.algebra import TRANSFORM_NAMES
from tensift.plan._units import as_count, as_shape

__all__ = ["Job", "make_job"]

_COMPLEX_FLOPS = 4  # times those of a real product


@dataclass(frozen=True)
class Job:
    """The samples and what to do with them.

    Parameters
    ----------
    shape : tuple of int
        The shape of one sample.
    samples : int
        The number of samples.
    orientation : int
        The mode along which features predict each other.
    bases : tuple of str
        The name of the basis of every other mode, in order.
    solver : {"paper", "exact"}
        The solver.
    dtype : dtype
        The type of the stored samples.
    cells : int
        The number of pairs of penalties: 1 for a fit, the number of cells for a path.
    steps : float or None
        The steps per slice at one pair of penalties; None for the usual number.

    Examples
    --------
    >>> from tensift.plan import make_job
    >>> job = make_job((64, 64), 1_000_000, basis="dft")
    >>> job.q, job.p, job.kept, job.gram_bytes
    (64, 64, 33, 2162688)
    """

    shape: tuple[int, ...]
    samples: int
    orientation: int
    bases: tuple[str, ...]
    solver: str
    dtype: np.dtype
    cells: int = 1
    steps: float | None = None

    @property
    def q(self) -> int:
        """The number of features in a slice."""
        return self.shape[self.orientation]

    @property
    def p(self) -> int:
        """The number of slices."""
        return math.prod(self.shape) // self.q

    @property
    def elements(self) -> int:
        """The number of values in a sample."""
        return math.prod(self.shape)

    @cached_property
    def others(self) -> tuple[int, ...]:
        """The lengths of the transformed modes."""
        return self.shape[: self.orientation] + self.shape[self.orientation + 1 :]

    @property
    def real_data(self) -> bool:
        """Whether samples are real."""
        return self.dtype.kind != "c"

    @property
    def complex_slices(self) -> bool:
        """Whether slices are complex."""
        return not self.real_data or "dft" in self.bases

    @property
    def kept(self) -> int:
        """The number of slices that are solved: one of each conjugate pair."""
        if not self.real_data or "dft" not in self.bases:
            return self.p
        # A slice is its own conjugate if this holds for its index along every mode with a DFT:
        # it is 0, or half of an even length.
        own = [
            2 - size % 2 if name == "dft" else size
            for name, size in zip(self.bases, self.others, strict=True)
        ]
        return (self.p + math.prod(min(o, s) for o, s in zip(own, self.others, strict=True))) // 2

    @property
    def number_bytes(self) -> int:
        """Bytes of one value of a slice, in double precision."""
        return 16 if self.complex_slices else 8

    @property
    def sample_bytes(self) -> int:
        """Bytes of a stored sample."""
        return self.elements * self.dtype.itemsize

    @property
    def stored_bytes(self) -> int:
        """Bytes of all stored samples."""
        return self.samples * self.sample_bytes

    @property
    def thin(self) -> bool:
        """Whether there are fewer samples than features in a slice; then factors are stored."""
        return self.samples < self.q

    @property
    def gram_bytes(self) -> int:
        """Bytes of the Gram tensor, or of its factors."""
        return self.kept * self.q * min(self.q, self.samples) * self.number_bytes

    @property
    def product_flops(self) -> int:
        """Operations that make the Gram tensor: ``2 n p q^2``, four times that if complex."""
        if self.thin:
            return 0
        flops = 2 * self.samples * self.kept * self.q**2
        return flops * _COMPLEX_FLOPS if self.complex_slices else flops

    @property
    def data_passes(self) -> int:
        """Passes over the samples if the Gram tensor fits into memory: two for "eigen"."""
        return 2 if "eigen" in self.bases else 1

    @property
    def norms_bytes(self) -> int:
        """Bytes of the column norms of all cells."""
        return self.cells * self.kept * self.q * 8

    def oriented(self, mode: int) -> Job:
        """Return the same job at another orientation; every mode keeps its basis."""
        names = dict(zip(self._other_modes(self.orientation), self.bases, strict=True))
        taken = names.get(mode, "identity")
        # The mode that was not transformed before gets the basis of the new orientation.
        bases = tuple(names.get(other, taken) for other in self._other_modes(mode))
        return replace(self, orientation=mode, bases=bases)

    def _other_modes(self, mode: int) -> list[int]:
        return [other for other in range(len(self.shape)) if other != mode]


def make_job(
    shape: Sequence[int] | str,
    samples: float,
    *,
    orientation: int = 0,
    basis: str | Sequence[str] = "identity",
    solver: str = "paper",
    dtype: object = "float64",
    grid: int = 1,
    steps: float | None = None,
) -> Job:
    """Describe a job, and check its numbers.

    Parameters
    ----------
    shape : sequence of int, or str
        The shape of one sample, such as ``(64, 64)`` or ``"64,64"``.
    samples : int
        The number of samples.
    orientation : int, default=0
        The mode along which features predict each other.
    basis : str or sequence of str, default="identity"
        The basis of all other modes, or one for each: a name, or "matrix".
    solver : {"paper", "exact"}, default="paper"
        The solver.
    dtype : dtype, default="float64"
        The type of the stored samples.
    grid : int, default=1
        The number of pairs of penalties that are solved.
    steps : float or None, default=None
        The steps per slice, if you know them.

    Returns
    -------
    Job

    Examples
    --------
    >>> from tensift.plan import make_job
    >>> make_job("128, 8", 1e6, orientation=1).q
    8
    """
    shape = as_shape(shape)
    samples = as_count(samples, "samples", least=2)
    mode = resolve_mode("orientation", orientation, len(shape))
    if solver not in ("paper", "exact"):
        raise ValueError(f"solver must be 'paper' or 'exact'; got {solver!r}")
    try:
        stored = np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        raise ValueError(
            f"dtype must be the name of a number type, such as float32; got {dtype!r}"
        ) from None
    if stored.kind not in "biufc":
        raise ValueError(f"dtype must be the name of a number type, such as float32; got {dtype!r}")
    if steps is not None and not 0 < float(steps) <= 1e6:
        raise ValueError(f"steps must be a number above 0 and at most 1e6; got {steps!r}")
    return Job(
        shape=shape,
        samples=samples,
        orientation=mode,
        bases=_basis_names(basis, len(shape) - 1),
        solver=solver,
        dtype=stored,
        cells=as_count(grid, "grid"),
        steps=None if steps is None else float(steps),
    )


def _basis_names(basis: str | Sequence[str], n_modes: int) -> tuple[str, ...]:
    names = [basis] * n_modes if isinstance(basis, str) else list(basis)
    if not isinstance(basis, str) and len(names) == 1:
        names *= n_modes
    known = (*TRANSFORM_NAMES, "matrix")
    for name in [basis] if isinstance(basis, str) else names:
        if name not in known:
            raise ValueError(f"basis must be one of {', '.join(known)}; got {name!r}")
    if len(names) != n_modes:
        raise ValueError(
            f"basis has {len(names)} names, but there are {n_modes} other modes; give one name for "
            "all, or one for each"
        )
    return tuple(names)
