"""How samples become frontal slices: which mode is reconstructed, and by which transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._namespace import is_complex, is_device_array, moved_to, namespace_of
from tensift.algebra import ModeTransform, conjugate_partners

__all__ = ["Orientation"]


@dataclass(frozen=True)
class Orientation:
    """The order of modes and the transforms that make frontal slices (the paper's ``D^o`` and M).

    Parameters
    ----------
    feature_shape : tuple of int
        Shape of one sample, ``(d_1, ..., d_m)``.
    mode : int
        The feature mode whose indices reconstruct one another; ``q = feature_shape[mode]``.
    transforms : sequence of ModeTransform
        One for every other mode, in order.
    real_data : bool, default=True
        Whether samples are real. Real samples under the DFT have conjugate pairs of slices, of
        which only one is then made.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.gram import Orientation
    >>> orientation = Orientation((4, 6), 0, make_transforms("dft", [6]))
    >>> orientation.n_slices, orientation.kept_slices
    (6, array([0, 1, 2, 3]))
    >>> orientation.to_slices(np.ones((10, 4, 6))).shape
    (4, 4, 10)
    """

    feature_shape: tuple[int, ...]
    mode: int
    transforms: Sequence[ModeTransform]
    real_data: bool = True

    @property
    def size(self) -> int:
        """The number of features in a slice, ``q``."""
        return self.feature_shape[self.mode]

    @cached_property
    def other_shape(self) -> tuple[int, ...]:
        """Lengths of the transformed modes."""
        return self.feature_shape[: self.mode] + self.feature_shape[self.mode + 1 :]

    @property
    def n_slices(self) -> int:
        """The number of frontal slices, ``p``."""
        return math.prod(self.other_shape)

    @cached_property
    def stays_real(self) -> bool:
        """Whether slices of the data are real, or conjugate in pairs, so that all can be undone."""
        return self.real_data and conjugate_partners(self.transforms) is not None

    @cached_property
    def unitary_factor(self) -> float | None:
        """The c with ``||X_hat||^2 = c ||X||^2`` for all samples, None if there is none."""
        factors = [transform.unitary_factor for transform in self.transforms]
        return None if None in factors else math.prod(map(float, factors))  # type: ignore[arg-type]

    @cached_property
    def conjugate_of(self) -> NDArray[np.intp]:
        """For each slice the slice that is its complex conjugate; itself where there is none."""
        partners = conjugate_partners(self.transforms) if self.real_data else None
        return np.arange(self.n_slices) if partners is None else partners

    @cached_property
    def kept_slices(self) -> NDArray[np.intp]:
        """The slices that are solved: one of each conjugate pair."""
        return np.flatnonzero(np.arange(self.n_slices) <= self.conjugate_of)

    @cached_property
    def multiplicity(self) -> NDArray[np.intp]:
        """For each kept slice how many slices it stands for: 2 for a conjugate pair, else 1."""
        return np.where(self.conjugate_of[self.kept_slices] == self.kept_slices, 1, 2)

    def to_slices(self, samples: Any) -> Any:
        """Transform samples ``(n, d_1, ..., d_m)`` into the kept slices, ``(p', q, n)``."""
        if is_device_array(samples):
            return self._to_slices_on_device(samples)
        rows = np.moveaxis(samples, (0, self.mode + 1), (-2, -1))
        for axis, transform in enumerate(self.transforms):
            rows = transform.forward(rows, axis=axis)
        rows = rows.reshape(self.n_slices, len(samples), self.size)
        if len(self.kept_slices) < self.n_slices:
            rows = rows[self.kept_slices]
            rows[self.multiplicity == 1] = rows[self.multiplicity == 1].real  # but for rounding
        # Features stay last in memory: that is how samples lie, and the copy is cheapest so.
        return np.swapaxes(np.ascontiguousarray(rows), 1, 2)

    def _to_slices_on_device(self, samples: Any) -> Any:
        xp = namespace_of(samples)
        others = [axis + 1 for axis in range(len(self.feature_shape)) if axis != self.mode]
        rows = xp.permute_dims(samples, (*others, self.mode + 1, 0))
        for axis, transform in enumerate(self.transforms):
            rows = transform.forward(rows, axis=axis)
        rows = xp.reshape(rows, (self.n_slices, self.size, samples.shape[0]))
        if len(self.kept_slices) < self.n_slices:
            rows = xp.take(rows, moved_to(rows, self.kept_slices), axis=0)
            unpaired = moved_to(rows, (self.multiplicity == 1)[:, None, None])
            rows = xp.where(unpaired, xp.astype(xp.real(rows), rows.dtype), rows)
        return rows

    def from_slices(self, slices: NDArray) -> NDArray:
        """Undo `to_slices`: kept slices ``(p', q, n)`` as samples ``(n, d_1, ..., d_m)``."""
        rows = np.swapaxes(self.expand(slices), 1, 2)
        rows = rows.reshape(*self.other_shape, *rows.shape[1:])
        for axis, transform in enumerate(self.transforms):
            rows = transform.inverse(rows, axis=axis)
        if self.stays_real and np.iscomplexobj(rows):
            rows = rows.real
        return np.ascontiguousarray(np.moveaxis(rows, (-2, -1), (0, self.mode + 1)))

    def adjoint_of_slices(self, slices: NDArray) -> NDArray:
        """Apply the adjoint of `to_slices` before it picks slices: ``M^H`` along every mode.

        Kept slices ``(p', q, n)`` become tensors ``(n, d_1, ..., d_m)`` whose inner products with
        samples are those of the slices.
        """
        rows = np.zeros((self.n_slices, *slices.shape[1:]), dtype=slices.dtype)
        rows[self.kept_slices] = slices
        rows = np.swapaxes(rows, 1, 2).reshape(*self.other_shape, slices.shape[2], self.size)
        for axis, transform in enumerate(self.transforms):
            if transform.name != "identity":
                rows = np.moveaxis(np.moveaxis(rows, axis, -1) @ transform.matrix.conj(), -1, axis)
        return np.ascontiguousarray(np.moveaxis(rows, (-2, -1), (0, self.mode + 1)))

    def expand(self, values: Any) -> Any:
        """Values of the kept slices, ``(p', ...)``, for all ``p``; complex ones are conjugated."""
        if len(self.kept_slices) == self.n_slices:
            return values
        source = np.minimum(np.arange(self.n_slices), self.conjugate_of)
        place = np.searchsorted(self.kept_slices, source)
        mirrored = source < np.arange(self.n_slices)
        if is_device_array(values):
            xp = namespace_of(values)
            full = xp.take(values, moved_to(values, place), axis=0)
            if not is_complex(full):
                return full
            mirrored = mirrored.reshape(-1, *(1,) * (values.ndim - 1))
            return xp.where(moved_to(values, mirrored), xp.conj(full), full)
        full = values[place]
        if np.iscomplexobj(full):
            full[mirrored] = full[mirrored].conj()
        return full

    def spread_over_features(self, slice_values: Any) -> Any:
        """Weigh values ``(p, q)`` of slice columns by ``|M|**2`` and lay them out as features.

        With ``slice_values = ||A_j[:, l]||**2`` this is the square of the program's score,
        ``score(l, h)**2 = sum_j |M[j, h]|**2 ||A_j[:, l]||**2``.
        """
        if is_device_array(slice_values):
            return self._spread_on_device(slice_values)
        values = slice_values.reshape(*self.other_shape, self.size)
        for axis, transform in enumerate(self.transforms):
            if transform.name != "identity":
                moved = np.moveaxis(values, axis, -1) @ transform.energy
                values = np.moveaxis(moved, -1, axis)
        return np.ascontiguousarray(np.moveaxis(values, -1, self.mode))

    def _spread_on_device(self, slice_values: Any) -> Any:
        xp = namespace_of(slice_values)
        values = xp.reshape(slice_values, (*self.other_shape, self.size))
        for axis, transform in enumerate(self.transforms):
            if transform.name != "identity":
                moved = xp.moveaxis(values, axis, -1)
                values = xp.moveaxis(xp.matmul(moved, transform.moved("energy", values)), -1, axis)
        return xp.moveaxis(values, -1, self.mode)
