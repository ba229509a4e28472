"""A job by its numbers alone: what is stored, moved and multiplied, by counting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tensift._modes import resolve_mode
from tensift.algebra._specs import TRANSFORM_NAMES
from tensift.plan._units import as_count, as_shape

__all__ = ["Job", "make_job"]

_COMPLEX_FLOPS = 4  # times those of a real product


@dataclass(frozen=True)
class Job:
    """Samples and what is to be done with them.

    Parameters
    ----------
    shape : tuple of int
        The shape of one sample.
    samples : int
        How many there are.
    orientation : int
        The mode that is reconstructed.
    transforms : tuple of str
        A name for every other mode, in order.
    solver : {"paper", "exact"}
        Which solver.
    dtype : dtype
        Of the stored samples.
    cells : int
        Pairs of penalties: 1 for a fit, the number of cells for a path.
    steps : float or None
        Of a slice at one pair of penalties; None if what is usual is to be assumed.

    Examples
    --------
    >>> from tensift.plan import make_job
    >>> job = make_job((64, 64), 1_000_000, transform="dft")
    >>> job.q, job.p, job.kept, job.gram_bytes
    (64, 64, 33, 2162688)
    """

    shape: tuple[int, ...]
    samples: int
    orientation: int
    transforms: tuple[str, ...]
    solver: str
    dtype: np.dtype
    cells: int = 1
    steps: float | None = None

    @property
    def q(self) -> int:
        """Features of a slice."""
        return self.shape[self.orientation]

    @property
    def p(self) -> int:
        """Slices."""
        return math.prod(self.shape) // self.q

    @property
    def elements(self) -> int:
        """Values of a sample."""
        return math.prod(self.shape)

    @cached_property
    def others(self) -> tuple[int, ...]:
        """Lengths of the transformed modes."""
        return self.shape[: self.orientation] + self.shape[self.orientation + 1 :]

    @property
    def real_data(self) -> bool:
        """Whether samples are real."""
        return self.dtype.kind != "c"

    @property
    def complex_slices(self) -> bool:
        """Whether slices are complex."""
        return not self.real_data or "dft" in self.transforms

    @property
    def kept(self) -> int:
        """Slices that are solved: of each conjugate pair one."""
        if not self.real_data or "dft" not in self.transforms:
            return self.p
        # A slice is its own partner if its index is under every DFT: 0, and half an even length.
        own = [
            2 - size % 2 if name == "dft" else size
            for name, size in zip(self.transforms, self.others, strict=True)
        ]
        return (self.p + math.prod(min(o, s) for o, s in zip(own, self.others, strict=True))) // 2

    @property
    def number_bytes(self) -> int:
        """Of one value of a slice, in double precision."""
        return 16 if self.complex_slices else 8

    @property
    def sample_bytes(self) -> int:
        """Of a sample, where it lies."""
        return self.elements * self.dtype.itemsize

    @property
    def stored_bytes(self) -> int:
        """Of all samples, where they lie."""
        return self.samples * self.sample_bytes

    @property
    def thin(self) -> bool:
        """Whether there are fewer samples than features of a slice, which are kept as factors."""
        return self.samples < self.q

    @property
    def gram_bytes(self) -> int:
        """Of the Gram tensor, or of its factors."""
        return self.kept * self.q * min(self.q, self.samples) * self.number_bytes

    @property
    def product_flops(self) -> int:
        """Of the products that make the Gram tensor: ``2 n p q^2``, four times that if complex."""
        if self.thin:
            return 0
        flops = 2 * self.samples * self.kept * self.q**2
        return flops * _COMPLEX_FLOPS if self.complex_slices else flops

    @property
    def data_passes(self) -> int:
        """How often the samples are looked at if the Gram tensor fits: twice for "eigen"."""
        return 2 if "eigen" in self.transforms else 1

    @property
    def norms_bytes(self) -> int:
        """Of the column norms of all cells."""
        return self.cells * self.kept * self.q * 8

    def oriented(self, mode: int) -> Job:
        """The same job at another orientation; transforms stay with their modes if they differ."""
        names = dict(zip(self._other_modes(self.orientation), self.transforms, strict=True))
        taken = names.get(mode, "identity")
        # The mode that is transformed now instead gets the transform that has become free.
        transforms = tuple(names.get(other, taken) for other in self._other_modes(mode))
        return replace(self, orientation=mode, transforms=transforms)

    def _other_modes(self, mode: int) -> list[int]:
        return [other for other in range(len(self.shape)) if other != mode]


def make_job(
    shape: Sequence[int] | str,
    samples: float,
    *,
    orientation: int = 0,
    transform: str | Sequence[str] = "identity",
    solver: str = "paper",
    dtype: object = "float64",
    grid: int = 1,
    steps: float | None = None,
) -> Job:
    """Check the numbers of a job.

    Parameters
    ----------
    shape : sequence of int, or str
        The shape of one sample, such as ``(64, 64)`` or ``"64,64"``.
    samples : int
        How many there are.
    orientation : int, default=0
        The mode that is reconstructed.
    transform : str or sequence of str, default="identity"
        The transform of all other modes, or one for each: a name, or "matrix".
    solver : {"paper", "exact"}, default="paper"
        Which solver.
    dtype : dtype, default="float64"
        Of the stored samples.
    grid : int, default=1
        How many pairs of penalties are solved.
    steps : float or None, default=None
        Steps of a slice, where they are known.

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
            f"dtype must name a kind of number, such as float32; got {dtype!r}"
        ) from None
    if stored.kind not in "biufc":
        raise ValueError(f"dtype must name a kind of number, such as float32; got {dtype!r}")
    if steps is not None and not 0 < float(steps) <= 1e6:
        raise ValueError(f"steps must be a number above 0, at most 1e6; got {steps!r}")
    return Job(
        shape=shape,
        samples=samples,
        orientation=mode,
        transforms=_transforms(transform, len(shape) - 1),
        solver=solver,
        dtype=stored,
        cells=as_count(grid, "grid"),
        steps=None if steps is None else float(steps),
    )


def _transforms(transform: str | Sequence[str], n_modes: int) -> tuple[str, ...]:
    names = [transform] * n_modes if isinstance(transform, str) else list(transform)
    if not isinstance(transform, str) and len(names) == 1:
        names *= n_modes
    known = (*TRANSFORM_NAMES, "matrix")
    for name in [transform] if isinstance(transform, str) else names:
        if name not in known:
            raise ValueError(f"transform must be one of {', '.join(known)}; got {name!r}")
    if len(names) != n_modes:
        raise ValueError(
            f"transform has {len(names)} names for {n_modes} other modes; give one, or one each"
        )
    return tuple(names)
