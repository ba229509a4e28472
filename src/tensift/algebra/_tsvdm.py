"""The singular value decomposition of tensors under the star-M product."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.algebra._arrays import as_size
from tensift.algebra._products import (
    as_tensor,
    backward,
    conjugate_transpose,
    forward,
    from_stack,
    mprod,
    resolve,
    stays_real,
    to_stack,
)
from tensift.algebra._specs import has_name, make_transforms
from tensift.algebra._transforms import ModeTransform, conjugate_partners


@dataclass(frozen=True, eq=False, repr=False)
class TSVDM:
    """A = U * S * V^H under the star-M product, as :func:`tsvdm` returns it.

    Attributes
    ----------
    U : ndarray of shape (d_0, k, d_2, ...)
        Left factor.
    S : ndarray of shape (k, k, d_2, ...)
        Core, with diagonal frontal slices. Shape (d_0, d_1, d_2, ...) with full matrices.
    V : ndarray of shape (d_1, k, d_2, ...)
        Right factor.
    singular_values : ndarray of shape (min(d_0, d_1), d_2, ...)
        All singular values of the transform-domain slices, also those cut off, descending along
        the first axis.
    ranks : ndarray of shape (d_2, ...)
        The number of singular values of each slice that the factors hold: the multirank.
    transforms : list of ModeTransform
        The transforms along modes 2, 3, ...

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import tsvdm
    >>> A = np.random.default_rng(0).normal(size=(4, 3, 5))
    >>> tsvdm(A, "dct", rank=2)
    TSVDM(shape=(4, 3, 5), transforms=['dct'], ranks=2 to 2 of 3)
    """

    U: NDArray[Any]
    S: NDArray[Any]
    V: NDArray[Any]
    singular_values: NDArray[Any]
    ranks: NDArray[np.intp]
    transforms: list[ModeTransform]

    def __repr__(self) -> str:
        shape = (self.U.shape[0], self.V.shape[0], *self.U.shape[2:])
        return (
            f"TSVDM(shape={shape}, transforms={[one.name for one in self.transforms]}, "
            f"ranks={self.ranks.min()} to {self.ranks.max()} of {len(self.singular_values)})"
        )

    def reconstruct(self) -> NDArray[Any]:
        """Return U * S * V^H.

        Examples
        --------
        >>> import numpy as np
        >>> from tensift.algebra import tsvdm
        >>> A = np.random.default_rng(0).normal(size=(4, 3, 5))
        >>> bool(np.allclose(tsvdm(A, "dft").reconstruct(), A))
        True
        """
        left = mprod(self.U, self.S, self.transforms)
        return mprod(left, conjugate_transpose(self.V, self.transforms), self.transforms)


def tsvdm(
    A: Any,
    transform: Any,
    *,
    full_matrices: bool = False,
    rank: int | Sequence[int] | NDArray[Any] | None = None,
    energy: float | None = None,
) -> TSVDM:
    """Decompose a tensor as A = U * S * V^H under the star-M product.

    It computes the SVD of every frontal slice in the transform domain and transforms the factors
    back. With the DFT this is the T-SVD. Without truncation, the product equals A up to rounding,
    and U and V have orthonormal lateral slices.

    Truncation keeps the leading singular values of each slice. If every transform is a multiple of
    a unitary matrix (``unitary_factor`` is not None), the result is the tensor nearest to A among
    those whose slices have the same ranks. The squared error is then the sum of squares of the
    singular values cut off, divided by the product of the unitary factors (Eckart-Young).

    Parameters
    ----------
    A : array-like of shape (d_0, d_1, d_2, ...)
        The tensor.
    transform : specification or list of specifications
        As for :func:`make_transforms`, for modes 2, 3, ... "eigen" is computed from `A`. Build
        "random" with :func:`make_transforms` first.
    full_matrices : bool, default=False
        True: U and V have square slices, and S has the shape of `A`. This cannot be combined with
        truncation. False: U, S and V hold k = min(d_0, d_1) components, or fewer if truncated.
    rank : int or array-like of int, optional
        Keep this many singular values in each slice: one number from 1 to min(d_0, d_1), or one
        for each slice, from 0, as an array of shape (d_2, ...) or flat in C order.
    energy : float, optional
        A share in (0, 1]. Keep the largest singular values of all slices taken together: as few
        as make up this share of the sum of all squares. Equal values are kept or cut together.
        Slices may then differ in rank, and some may lose all their values.

    Returns
    -------
    TSVDM
        If slices have different ranks, k is the largest one. In the transform domain, columns of
        U and V and entries of S beyond the rank of a slice are zero. The factors are real if A is
        real, every transform is real or conjugate symmetric (like the DFT), and `rank` is the same
        for conjugate slices.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import is_orthogonal, tsvdm
    >>> A = np.random.default_rng(0).normal(size=(4, 3, 5))
    >>> svd = tsvdm(A, "dft")
    >>> svd.U.shape, svd.S.shape, svd.V.shape, is_orthogonal(svd.U, "dft", columns_only=True)
    ((4, 3, 5), (3, 3, 5), (3, 3, 5), True)
    >>> short = tsvdm(A, "dft", energy=0.8)
    >>> short.ranks
    array([2, 1, 2, 2, 1])
    >>> error = np.sum((short.reconstruct() - A) ** 2) / np.sum(A**2)
    >>> bool(error <= 0.2)
    True
    """
    tensor = as_tensor(A, "A")
    if rank is not None and energy is not None:
        raise ValueError("rank and energy both say where to cut; give one of them")
    if full_matrices and (rank is not None or energy is not None):
        raise ValueError("full_matrices=True keeps everything; drop it, or drop rank and energy")
    largest_rank, sizes = min(tensor.shape[:2]), tensor.shape[2:]
    fixed_ranks = None if rank is None else _checked_ranks(rank, largest_rank, sizes)
    if energy is not None and not (isinstance(energy, Real) and 0 < energy <= 1):
        raise ValueError(f"energy={energy!r} is not a share; give a number above 0, at most 1")

    if has_name(transform, "random"):
        transforms = resolve(transform, sizes)
    else:
        transforms = make_transforms(transform, sizes, data=tensor, axes=range(2, tensor.ndim))
    real = stays_real(transforms, tensor)
    partners = conjugate_partners(transforms) if real else None
    slices = to_stack(forward(tensor, transforms)).reshape(-1, *tensor.shape[:2])
    u, s, vh = _slice_svd(slices, partners, full_matrices)

    if fixed_ranks is not None:
        ranks = fixed_ranks
        real = real and (partners is None or bool((ranks[partners] == ranks).all()))
    elif energy is not None:
        ranks = _ranks_by_energy(s, energy)
    else:
        ranks = np.full(len(s), largest_rank)
    kept = np.arange(largest_rank) < ranks[:, None]
    core = np.where(kept, s, 0)
    if full_matrices:
        left, middle, right = u, np.zeros(slices.shape, dtype=s.dtype), vh.conj().swapaxes(1, 2)
    else:
        k = int(ranks.max())
        kept, core = kept[:, :k], core[:, :k]
        left = u[:, :, :k] * kept[:, None, :]
        right = vh[:, :k].conj().swapaxes(1, 2) * kept[:, None, :]
        middle = np.zeros((len(s), k, k), dtype=s.dtype)
    diagonal = np.arange(core.shape[1])
    middle[:, diagonal, diagonal] = core

    def to_tensor(stack: NDArray[Any]) -> NDArray[Any]:
        hat = from_stack(stack.reshape(*sizes, *stack.shape[1:]))
        return backward(hat, transforms, real=real)

    return TSVDM(
        U=to_tensor(left),
        S=to_tensor(middle),
        V=to_tensor(right),
        singular_values=np.moveaxis(s.reshape(*sizes, -1), -1, 0),
        ranks=ranks.reshape(sizes),
        transforms=transforms,
    )


def _slice_svd(
    slices: NDArray[Any], partners: NDArray[np.intp] | None, full_matrices: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Decompose every slice; of a conjugate pair only one, so that the factors are conjugate."""
    if partners is None or not np.iscomplexobj(slices):
        return np.linalg.svd(slices, full_matrices=full_matrices)
    index = np.arange(len(slices))
    own, first = np.flatnonzero(partners == index), np.flatnonzero(index < partners)
    real = np.linalg.svd(slices[own].real, full_matrices=full_matrices)
    paired = np.linalg.svd(slices[first], full_matrices=full_matrices)
    factors = []
    for own_part, first_part in zip(real, paired, strict=True):
        factor = np.empty((len(slices), *own_part.shape[1:]), dtype=first_part.dtype)
        factor[own] = own_part
        factor[first] = first_part
        factor[partners[first]] = first_part.conj()
        factors.append(factor)
    return factors[0], factors[1], factors[2]


def _ranks_by_energy(s: NDArray[Any], share: float) -> NDArray[np.intp]:
    relative = s.astype(np.float64) / max(float(s.max()), np.finfo(np.float64).tiny)
    descending = np.sort(relative, axis=None)[::-1]
    cumulative = np.cumsum(descending**2)
    threshold = descending[np.searchsorted(cumulative, share * cumulative[-1])]
    return np.asarray((relative >= threshold).sum(axis=1))


def _checked_ranks(rank: Any, largest: int, sizes: tuple[int, ...]) -> NDArray[np.intp]:
    count = int(np.prod(sizes))
    if np.ndim(rank) == 0:
        if as_size(rank, "rank") > largest:
            raise ValueError(f"rank={rank} is too large; the slices have rank at most {largest}")
        return np.full(count, int(rank), dtype=np.intp)
    ranks = np.asarray(rank)
    if ranks.shape not in (sizes, (count,)) or ranks.dtype.kind not in "iu":
        raise ValueError(
            f"rank has shape {ranks.shape} and dtype {ranks.dtype}; give one integer, or one for "
            f"each of the {count} slices in shape {sizes}"
        )
    if ranks.min() < 0 or ranks.max() > largest or ranks.max() == 0:
        raise ValueError(
            f"rank runs from {ranks.min()} to {ranks.max()}; give integers from 0 to {largest}, "
            "not all zero"
        )
    return ranks.reshape(count).astype(np.intp)
