"""The link between slices when the penalty is on entries of the original domain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tensift._utils.computed_once import computed_once
from tensift.moments import Orientation

__all__ = ["Coupling"]


@dataclass(frozen=True)
class Coupling:
    """The unitary map between kept slices, ``(p', ...)``, and the original domain, ``(p, ...)``.

    It applies the transforms of an orientation, divided by the square roots of their unitary
    factors. Use it with the Gram tensor of the data divided by `scale`.

    Parameters
    ----------
    orientation : Orientation
        Its transforms must be unitary up to a factor.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.moments import Orientation
    >>> from tensift.solvers import Coupling
    >>> coupling = Coupling(Orientation((3, 4), 0, make_transforms("dft", [4])))
    >>> coupling.scale, coupling.weights
    (2.0, array([1, 2, 1]))
    >>> values = np.arange(12.0).reshape(4, 3)
    >>> slices = coupling.to_slices(values)
    >>> slices.shape, bool(np.allclose(coupling.to_original(slices), values))
    ((3, 3), True)
    """

    orientation: Orientation

    def __post_init__(self) -> None:
        for transform in self.orientation.transforms:
            if transform.unitary_factor is None:
                raise ValueError(
                    f"the {transform.name} transform of size {transform.size} is not unitary up to "
                    "a factor, which sparse entries need; use identity, dft, dct, haar or eigen"
                )

    @computed_once
    def scale(self) -> float:
        """The factor by which the transforms multiply norms."""
        return math.sqrt(self.orientation.unitary_factor or 0.0)

    @property
    def weights(self) -> NDArray[np.intp]:
        """How many slices each kept slice represents, ``(p',)``."""
        return self.orientation.multiplicity

    def to_original(self, slices: NDArray) -> NDArray:
        """Map kept slices, ``(p', ...)``, to the original domain, ``(p, ...)``."""
        values = self._unfolded(self.orientation.expand(slices))
        for axis, transform in enumerate(self.orientation.transforms):
            values = transform.inverse(values, axis=axis)
        values = (values.real if self.orientation.stays_real else values) * self.scale
        return values.reshape(self.orientation.n_slices, *slices.shape[1:])

    def to_slices(self, values: NDArray) -> NDArray:
        """Map values in the original domain, ``(p, ...)``, to kept slices, ``(p', ...)``."""
        slices = self._unfolded(values)
        for axis, transform in enumerate(self.orientation.transforms):
            slices = transform.forward(slices, axis=axis)
        slices = slices.reshape(values.shape) / self.scale
        kept = self.orientation.kept_slices
        return slices if len(kept) == len(slices) else slices[kept]

    def reach(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest moduli in the original domain, ``(p, ...)``, of slices with given moduli.

        They are ``sum_j |M[j, h]| sizes[j]``, reached when the phases of all slices agree at ``h``.
        """
        values = self._unfolded(self.orientation.expand(sizes))
        for axis, transform in enumerate(self.orientation.transforms):
            moved = np.moveaxis(values, axis, -1) @ np.sqrt(transform.energy)
            values = np.moveaxis(moved, -1, axis)
        return values.reshape(self.orientation.n_slices, *sizes.shape[1:]) / self.scale

    def phases(self, position: int) -> NDArray:
        """Phases for which the kept slices add up at one `position` of the original domain."""
        unit = np.zeros((self.orientation.n_slices, 1))
        unit[position] = 1
        column = self.to_slices(unit)[:, 0]
        size = np.abs(column)
        zero = size <= np.finfo(float).eps
        return np.where(zero, 1, column / np.where(zero, 1, size))

    def _unfolded(self, values: NDArray) -> NDArray:
        return values.reshape(*self.orientation.other_shape, *values.shape[1:])
