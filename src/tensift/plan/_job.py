"""A job as numbers: count what is stored, moved and multiplied."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.algebra import TRANSFORM_NAMES, make_transforms
from tensift.labels import Names, mode_number
from tensift.moments import Orientation
from tensift.plan._units import as_count, as_shape
from tensift.sources import stride_of
from tensift.stpca import STPCASelector

__all__ = ["Job", "make_job"]

# From how many features, and features per sample, solvers work with thin factors.
_STAYS_THIN = {"paper": (400, 10), "exact": (128, 4)}
_COMPLEX_FLOPS = 4  # times those of a real product


@dataclass(frozen=True)
class Job:
    """The samples and what to do with them, as `make_job` describes it.

    ``bases`` has one name for every mode but the orientation. ``cells`` is the number of pairs of
    penalties of a path, or None for a fit.

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
    cells: int | None
    lam: float | str
    eta: float | str
    selection: str
    n_features_to_select: float | str
    names: Names | None = None

    @property
    def title(self) -> str:
        """The orientation in words: its number, and its name if it has one."""
        named = "" if self.names is None else f" ({self.names.name(self.orientation)})"
        return f"{self.orientation}{named}"

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
        return (self.cells or 1) * self.kept * self.q * 8

    @property
    def stays_thin(self) -> bool:
        """Whether the solver works with thin factors too, and never with ``q x q`` matrices."""
        least, per_sample = _STAYS_THIN[self.solver]
        return self.thin and self.q >= max(least, per_sample * self.samples)

    @property
    def operator_bytes(self) -> int:
        """Bytes of one operator for every slice: full matrices, or factors of low rank."""
        columns = min(self.q, self.samples) if self.stays_thin else self.q
        return self.kept * self.q * columns * self.number_bytes

    @property
    def is_identity(self) -> bool:
        """Whether no mode is transformed."""
        return set(self.bases) <= {"identity"}

    @property
    def chooses_penalties(self) -> bool:
        """Whether a fit has to choose at least one penalty."""
        return self.cells is None and "auto" in (self.lam, self.eta)

    @property
    def selects(self) -> bool:
        """Whether a selection looks at samples, in addition to the scores."""
        by_scores = self.selection == "top" and self.n_features_to_select != "auto"
        return self.cells is None and not by_scores

    @property
    def keeps_samples(self) -> bool:
        """Whether a few samples are kept; a path keeps none."""
        return self.cells is None

    @cached_property
    def looked_at(self) -> int:
        """The number of samples that are kept for the selection and for `reconstruct`."""
        return -(-self.samples // stride_of(self.samples, math.prod(self.shape)))

    @property
    def looked_at_bytes(self) -> int:
        """Bytes of the samples that are kept for the selection, in double precision."""
        return self.looked_at * self.elements * (8 if self.real_data else 16)

    @property
    def share_selected(self) -> float:
        """The share of the features to select; 1 if their number is chosen automatically."""
        if self.n_features_to_select == "auto":
            return 1.0
        wanted = float(self.n_features_to_select)
        return wanted if wanted < 1 else min(1.0, wanted / self.elements)

    def make_orientation(self, samples: NDArray) -> Orientation:
        """Return how samples become slices; "eigen" looks at some samples."""
        names = ["random" if name == "matrix" else name for name in self.bases]
        axes = [axis + 1 for axis in self._other_modes(self.orientation)]
        transforms = make_transforms(names, self.others, data=samples, axes=axes, random_state=0)
        return Orientation(self.shape, self.orientation, transforms, self.real_data)

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
    orientation: int | str = 0,
    basis: str | Sequence[str] = "identity",
    solver: str = "exact",
    dtype: object = "float64",
    grid: int | None = None,
    names: Names | None = None,
    **settings: Any,
) -> Job:
    """Describe a job, and check its numbers.

    Parameters
    ----------
    shape : sequence of int, or str
        The shape of one sample, such as ``(64, 64)`` or ``"64,64"``.
    samples : int
        The number of samples.
    orientation : int or str, default=0
        The mode along which features predict each other, by number or by name.
    basis : str or sequence of str, default="identity"
        The basis of all other modes, or one for each: a name, or "matrix".
    solver : {"exact", "paper"}, default="exact"
        The solver.
    dtype : dtype, default="float64"
        The type of the stored samples.
    grid : int or None, default=None
        The number of pairs of penalties of a path (`tensift.stpca_path`). None for a fit.
    names : Names, optional
        The names of the modes; names of another shape are not used.
    **settings
        The parameters ``lam``, ``eta``, ``selection`` and ``n_features_to_select`` of a fit, as
        in `STPCASelector`, with the same defaults.

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
    names = names if names is not None and names.shape == shape else None
    mode = mode_number("orientation", orientation, len(shape), names)
    if solver not in ("paper", "exact"):
        raise ValueError(f"solver must be 'paper' or 'exact'; got {solver!r}")
    try:
        stored = np.dtype(dtype)  # type: ignore[call-overload]
    except TypeError:
        stored = np.dtype(object)
    if stored.kind not in "biufc":
        raise ValueError(f"dtype must be the name of a number type, such as float32; got {dtype!r}")
    return Job(
        shape=shape,
        samples=samples,
        orientation=mode,
        bases=_basis_names(basis, len(shape) - 1),
        solver=solver,
        dtype=stored,
        cells=None if grid is None else as_count(grid, "grid"),
        names=names,
        **_settings(settings),
    )


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a fit, checked as `STPCASelector` checks them."""
    parameters = inspect.signature(STPCASelector).parameters
    settings = {
        name: parameters[name].default
        for name in ("lam", "eta", "selection", "n_features_to_select")
    }
    unknown = given.keys() - settings.keys()
    if unknown:
        raise TypeError(f"{min(unknown)} is not a setting of a plan; use {', '.join(settings)}")
    settings |= given
    STPCASelector(**settings)._validate_params()
    return settings


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
