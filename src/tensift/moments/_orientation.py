"""How samples become frontal slices: the orientation, and the transforms of the other modes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift._utils.namespace import (
    is_complex,
    is_device_array,
    moved_to,
    namespace_of,
    precision_of,
)
from tensift.algebra import (
    ModeTransform,
    conjugate_partners,
    make_transform,
    make_transforms,
)

__all__ = ["Orientation", "divided", "fits_bases", "make_orientation", "same_specification"]


@dataclass(frozen=True)
class Orientation:
    """The order of modes and the transforms that make frontal slices (the paper's ``D^o`` and M).

    Parameters
    ----------
    feature_shape : tuple of int
        Shape of one sample, ``(d_1, ..., d_m)``.
    mode : int
        The mode along which features predict each other; ``q = feature_shape[mode]``.
    transforms : sequence of ModeTransform
        One for every other mode, in order.
    real_data : bool, default=True
        Whether samples are real. For real samples, the DFT gives slices in complex conjugate
        pairs, and one slice of each pair is enough.
    deviations : ndarray of shape feature_shape, optional
        What samples are divided by before they are transformed (`FeatureScale`).

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transforms
    >>> from tensift.moments import Orientation
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
    deviations: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

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
        """Whether slices are real or in conjugate pairs: `from_slices` then gives real samples."""
        return self.real_data and conjugate_partners(self.transforms) is not None

    @cached_property
    def unitary_factor(self) -> float | None:
        """The c with ``||X_hat||^2 = c ||X||^2`` for all samples; None if there is no such c."""
        factors = [transform.unitary_factor for transform in self.transforms]
        return None if None in factors else math.prod(map(float, factors))  # type: ignore[arg-type]

    @cached_property
    def conjugate_of(self) -> NDArray[np.intp]:
        """The index of the complex conjugate of each slice; its own index if there is none."""
        partners = conjugate_partners(self.transforms) if self.real_data else None
        return np.arange(self.n_slices) if partners is None else partners

    @cached_property
    def kept_slices(self) -> NDArray[np.intp]:
        """The slices that are solved: one of each conjugate pair."""
        return np.flatnonzero(np.arange(self.n_slices) <= self.conjugate_of)

    @cached_property
    def multiplicity(self) -> NDArray[np.intp]:
        """How many slices each kept slice represents: 2 for a conjugate pair, else 1."""
        return np.where(self.conjugate_of[self.kept_slices] == self.kept_slices, 1, 2)

    @property
    def keeps_values(self) -> bool:
        """Whether slices are the samples themselves, with their axes permuted."""
        names = {transform.name for transform in self.transforms}
        return self.deviations is None and names <= {"identity"}

    def to_slices(self, samples: Any, only: slice | None = None) -> Any:
        """Transform samples ``(n, d_1, ..., d_m)`` into the kept slices, ``(p', q, n)``.

        Of samples on the host, `only` some of these slices may be made.
        """
        if self.deviations is not None:
            samples = divided(samples, self.deviations.reshape(samples.shape[1:]))
        if is_device_array(samples):
            return self._to_slices_on_device(samples)
        rows = np.moveaxis(samples, (0, self.mode + 1), (-2, -1))
        for axis, transform in enumerate(self.transforms):
            rows = transform.forward(rows, axis=axis)
        rows = rows.reshape(self.n_slices, len(samples), self.size)
        if len(self.kept_slices) < self.n_slices:
            rows = rows[self.kept_slices]
            rows[self.multiplicity == 1] = rows[self.multiplicity == 1].real  # remove rounding
        rows = rows if only is None else rows[only]
        # Keep features last in memory, as in the samples: this copy is the cheapest.
        return np.swapaxes(np.ascontiguousarray(rows), 1, 2)

    def in_slices(self, values: NDArray) -> NDArray:
        """Arrange values of features as those of the kept slices, ``(p', q)``, untransformed."""
        arranged = np.moveaxis(values, self.mode, -1).reshape(self.n_slices, self.size)
        return arranged[self.kept_slices]

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
        """Invert `to_slices`: from kept slices ``(p', q, n)`` to samples ``(n, d_1, ..., d_m)``."""
        rows = np.swapaxes(self.expand(slices), 1, 2)
        rows = rows.reshape(*self.other_shape, *rows.shape[1:])
        for axis, transform in enumerate(self.transforms):
            rows = transform.inverse(rows, axis=axis)
        if self.stays_real and np.iscomplexobj(rows):
            rows = rows.real
        samples = np.ascontiguousarray(np.moveaxis(rows, (-2, -1), (0, self.mode + 1)))
        return samples if self.deviations is None else samples * self.deviations

    def adjoint_of_slices(self, slices: NDArray) -> NDArray:
        """Apply ``M^H`` along every transformed mode: the adjoint of `to_slices`.

        Slices that are not kept count as zero. Kept slices ``(p', q, n)`` become tensors
        ``(n, d_1, ..., d_m)``. Their inner products with samples equal those between the slices.
        """
        rows = np.zeros((self.n_slices, *slices.shape[1:]), dtype=slices.dtype)
        rows[self.kept_slices] = slices
        rows = np.swapaxes(rows, 1, 2).reshape(*self.other_shape, slices.shape[2], self.size)
        for axis, transform in enumerate(self.transforms):
            if transform.name != "identity":
                rows = np.moveaxis(np.moveaxis(rows, axis, -1) @ transform.matrix.conj(), -1, axis)
        samples = np.ascontiguousarray(np.moveaxis(rows, (-2, -1), (0, self.mode + 1)))
        return samples if self.deviations is None else samples / self.deviations

    def expand(self, values: Any) -> Any:
        """Copy values of the kept slices, ``(p', ...)``, to all ``p`` slices.

        The partner of a kept slice gets its values, conjugated if they are complex.
        """
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
        """Sum values ``(p, q)`` of slice columns with weights ``|M|**2``, for every feature.

        With ``slice_values = ||A_j[:, l]||**2`` this is the square of the score of the authors'
        program, ``score(l, h)**2 = sum_j |M[j, h]|**2 ||A_j[:, l]||**2``: the total weight of
        feature ``(l, h)`` in all reconstructions. Modes are independent, so each has one product.
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


def divided(samples: Any, deviations: NDArray[np.float64]) -> Any:
    """Return samples, or values of features, divided by the deviations of features.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.moments import divided
    >>> divided(np.array([[2.0, 30.0], [4.0, 10.0]]), np.array([2.0, 10.0]))
    array([[1., 3.],
           [2., 1.]])
    """
    if not is_device_array(samples):
        return samples / deviations
    xp = namespace_of(samples)
    return samples / moved_to(samples, deviations, getattr(xp, precision_of(samples)))


def make_orientation(
    feature_shape: tuple[int, ...],
    mode: int,
    basis: Any,
    *,
    real: bool,
    samples: NDArray | None = None,
    correlations: Sequence[NDArray] | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> Orientation:
    """Make the transforms of all modes but `mode`; "eigen" needs samples or correlations."""
    others = [axis for axis in range(len(feature_shape)) if axis != mode]
    if not others and not isinstance(basis, str):
        raise ValueError(
            "basis has no mode to transform: samples have only one mode, the orientation; leave "
            "basis at 'identity', or give the shape of one sample as feature_shape"
        )
    transforms = make_transforms(
        basis,
        [feature_shape[axis] for axis in others],
        data=samples,
        axes=[axis + 1 for axis in others],
        correlations=correlations,
        random_state=random_state,
        name="basis",
    )
    return Orientation(feature_shape, mode, transforms, real)


def fits_bases(basis: Any, transforms: Sequence[ModeTransform]) -> bool:
    """Whether transforms agree with the parameter `basis`; names are compared, not matrices."""
    is_list = isinstance(basis, list | tuple) and not all(map(callable, basis))
    specs = list(basis) if is_list else [basis] * len(transforms)
    if len(specs) != len(transforms):
        return False
    for one, transform in zip(specs, transforms, strict=True):
        if isinstance(one, str):
            if one != transform.name:
                return False
        elif not np.array_equal(make_transform(one, transform.size).matrix, transform.matrix):
            return False
    return True


def same_specification(one: Any, other: Any) -> bool:
    """Whether two values of the parameter `basis`, or tuples of them, are equal."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_specification, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    return one is other or (isinstance(one, str | Integral) and one == other)
