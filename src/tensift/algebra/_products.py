"""The star-M product, and the transpose, identity, inverse and orthogonality that belong to it.

A tensor has shape ``(d_0, d_1, d_2, ..., d_{m-1})``. Its frontal slices are the matrices on the
first two axes, one for each index along the others. Modes 2, 3, ... are transformed. A matrix has
no transformed mode; for it, all of this is ordinary matrix algebra.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.algebra._arrays import as_floating, as_size
from tensift.algebra._specs import has_name, make_transforms
from tensift.algebra._transforms import ModeTransform, conjugate_partners


def to_transform_domain(A: Any, transform: Any) -> NDArray[Any]:
    """Apply the transforms along modes 2, 3, ... of a tensor.

    Parameters
    ----------
    A : array-like of shape (d_0, d_1, d_2, ...)
        The tensor.
    transform : specification or list of specifications
        As for :func:`make_transforms`, for modes 2, 3, ... A list of ModeTransform works, too.
        Build "eigen" and "random" with :func:`make_transforms` first, because they would differ
        from call to call.

    Returns
    -------
    ndarray of the shape of `A`
        Â = A x_3 M_1 x_4 M_2 ... in the paper's notation. It may share memory with `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import to_transform_domain
    >>> to_transform_domain(np.ones((1, 1, 4)), "dft").real
    array([[[4., 0., 0., 0.]]])
    """
    tensor = as_tensor(A, "A")
    return forward(tensor, resolve(transform, tensor.shape[2:]))


def from_transform_domain(A_hat: Any, transform: Any) -> NDArray[Any]:
    """Undo :func:`to_transform_domain`.

    Parameters
    ----------
    A_hat : array-like of shape (d_0, d_1, d_2, ...)
        The tensor in the transform domain.
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.

    Returns
    -------
    ndarray of the shape of `A_hat`
        Complex if an inverse transform is complex: the imaginary part is never dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import from_transform_domain
    >>> from_transform_domain(np.ones((1, 1, 4)), "dft").real
    array([[[1., 0., 0., 0.]]])
    """
    tensor = as_tensor(A_hat, "A_hat")
    return backward(tensor, resolve(transform, tensor.shape[2:]))


def facewise_product(A: Any, B: Any) -> NDArray[Any]:
    """Multiply corresponding frontal slices of two tensors.

    Parameters
    ----------
    A : array-like of shape (d, m, ...)
        The left factor.
    B : array-like of shape (m, l, ...)
        The right factor, with the same trailing lengths.

    Returns
    -------
    ndarray of shape (d, l, ...)

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import facewise_product
    >>> facewise_product(np.ones((2, 3, 4)), np.ones((3, 1, 4)))[:, 0, 0]
    array([3., 3.])
    """
    left, right = as_tensor(A, "A"), as_tensor(B, "B")
    _check_factors(left, right)
    return from_stack(to_stack(left) @ to_stack(right))


def mprod(A: Any, B: Any, transform: Any) -> NDArray[Any]:
    """Multiply two tensors with the star-M product (the paper's Algorithm 2).

    Transform modes 2, 3, ... of both tensors, multiply the frontal slices, and transform back.

    Parameters
    ----------
    A : array-like of shape (d, m, ...)
        The left factor.
    B : array-like of shape (m, l, ...)
        The right factor, with the same trailing lengths.
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.

    Returns
    -------
    ndarray of shape (d, l, ...)
        Real if both factors are real and every transform is real or conjugate symmetric, like the
        DFT. The exact product is then real, so its imaginary part is rounding and is dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import mprod
    >>> a = np.array([[[1.0, 2.0, 0.0]]])
    >>> shift = np.array([[[0.0, 1.0, 0.0]]])
    >>> mprod(a, shift, "dft").round(3) + 0.0    # circular convolution of the tubes
    array([[[0., 1., 2.]]])
    """
    left, right = as_tensor(A, "A"), as_tensor(B, "B")
    _check_factors(left, right)
    transforms = resolve(transform, left.shape[2:])
    product = to_stack(forward(left, transforms)) @ to_stack(forward(right, transforms))
    return backward(from_stack(product), transforms, real=stays_real(transforms, left, right))


def conjugate_transpose(A: Any, transform: Any) -> NDArray[Any]:
    """Return A^H: every frontal slice is conjugate-transposed in the transform domain.

    Parameters
    ----------
    A : array-like of shape (d, m, ...)
        The tensor.
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.

    Returns
    -------
    ndarray of shape (m, d, ...)
        Real under the conditions of :func:`mprod`.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import conjugate_transpose
    >>> tube = np.array([[[1.0, 2.0, 3.0]]])
    >>> conjugate_transpose(tube, "dft").round(3)    # under the DFT slices 1, 2, ... reverse
    array([[[1., 3., 2.]]])
    """
    tensor = as_tensor(A, "A")
    transforms = resolve(transform, tensor.shape[2:])
    if all(one.is_real for one in transforms):  # conjugation commutes with every real M
        return np.asarray(tensor.conj().swapaxes(0, 1))
    transposed = forward(tensor, transforms).conj().swapaxes(0, 1)
    return backward(transposed, transforms, real=stays_real(transforms, tensor))


def identity_tensor(size: int, mode_sizes: Sequence[int], transform: Any) -> NDArray[Any]:
    """Return the identity of the star-M product.

    Every frontal slice is the identity matrix in the transform domain.

    Parameters
    ----------
    size : int
        Length of the first two modes.
    mode_sizes : sequence of int
        Lengths of modes 2, 3, ...
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.

    Returns
    -------
    ndarray of shape ``(size, size, *mode_sizes)``

    Examples
    --------
    >>> from tensift.algebra import identity_tensor
    >>> identity_tensor(2, [3], "dft")[:, :, 0]
    array([[1., 0.],
           [0., 1.]])
    """
    size = as_size(size, "size")
    sizes = tuple(as_size(one, "mode_sizes") for one in mode_sizes)
    transforms = resolve(transform, sizes)
    tube = backward(np.ones((1, 1, *sizes)), transforms, real=stays_real(transforms))
    return np.eye(size).reshape(size, size, *(1 for _ in sizes)) * tube


def inverse_tensor(A: Any, transform: Any) -> NDArray[Any]:
    """Return the tensor B with A * B = B * A = I under the star-M product.

    Parameters
    ----------
    A : array-like of shape (d, d, ...)
        The tensor.
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.

    Returns
    -------
    ndarray of the shape of `A`
        Real under the conditions of :func:`mprod`.

    Raises
    ------
    ValueError
        If a frontal slice is singular to working precision in the transform domain.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import identity_tensor, inverse_tensor
    >>> bool(np.allclose(inverse_tensor(2 * identity_tensor(3, [4], "dct"), "dct"),
    ...                  identity_tensor(3, [4], "dct") / 2))
    True
    """
    tensor = as_tensor(A, "A")
    if tensor.shape[0] != tensor.shape[1]:
        raise ValueError(
            f"A has shape {tensor.shape}; only tensors with square slices have an inverse"
        )
    transforms = resolve(transform, tensor.shape[2:])
    slices = to_stack(forward(tensor, transforms))
    singular_values = np.linalg.svd(slices, compute_uv=False)
    smallest, largest = singular_values[..., -1], singular_values[..., 0]
    singular = smallest <= len(tensor) * np.finfo(tensor.dtype).eps * largest
    if singular.any():
        index = tuple(int(i) for i in np.argwhere(singular)[0])
        raise ValueError(
            f"A has no inverse: its transform-domain slice {index} is singular "
            f"(singular values from {largest[index]:.2g} down to {smallest[index]:.2g}; "
            f"{singular.sum()} of {singular.size} slices are); "
            "give a tensor whose slices all have full rank"
        )
    inverse = from_stack(np.linalg.inv(slices))
    return backward(inverse, transforms, real=stays_real(transforms, tensor))


def is_orthogonal(
    A: Any, transform: Any, *, columns_only: bool = False, tol: float | None = None
) -> bool:
    """Tell whether a tensor is star-M orthogonal (unitary, if complex).

    Parameters
    ----------
    A : array-like of shape (d, m, ...)
        The tensor.
    transform : specification or list of specifications
        As for :func:`to_transform_domain`.
    columns_only : bool, default=False
        False: test A^H * A = A * A^H = I, which only a tensor with square slices can satisfy.
        True: test A^H * A = I only, that is, whether the lateral slices are orthonormal. A tall
        tensor can satisfy this, too.
    tol : float, optional
        Largest deviation allowed in any entry of any transform-domain slice. By default the
        square root of machine epsilon, in the precision of `A`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from tensift.algebra import identity_tensor, is_orthogonal
    >>> eye = identity_tensor(3, [4], "dct")
    >>> is_orthogonal(eye, "dct"), is_orthogonal(2 * eye, "dct")
    (True, False)
    >>> tall = eye[:, :2]
    >>> is_orthogonal(tall, "dct"), is_orthogonal(tall, "dct", columns_only=True)
    (False, True)
    """
    tensor = as_tensor(A, "A")
    transforms = resolve(transform, tensor.shape[2:])
    if tol is None:
        tol = float(np.sqrt(np.finfo(tensor.dtype).eps))
    if not columns_only and tensor.shape[0] != tensor.shape[1]:
        return False
    slices = to_stack(forward(tensor, transforms))
    # For square slices A^H A = I implies A A^H = I.
    deviation = slices.conj().swapaxes(-1, -2) @ slices - np.eye(tensor.shape[1])
    return bool(np.abs(deviation).max() <= tol)


def as_tensor(A: Any, name: str) -> NDArray[Any]:
    """Return a finite, non-empty array with at least the two axes of a frontal slice."""
    tensor = as_floating(A, name, finite=True)
    if tensor.ndim < 2:
        raise ValueError(
            f"{name} has {tensor.ndim} axes; the first two hold the frontal slices, so give a "
            "tensor with three or more axes (or a matrix)"
        )
    if tensor.size == 0:
        raise ValueError(f"{name} has shape {tensor.shape}; every length must be at least 1")
    return tensor


def resolve(transform: Any, sizes: Sequence[int]) -> list[ModeTransform]:
    """Return the transforms of modes 2, 3, ...; refuse those that vary from call to call."""
    for name in ("eigen", "random"):
        if has_name(transform, name):
            raise ValueError(
                f"transform={name!r} would differ from call to call; "
                "build it once with make_transforms and pass the result"
            )
    return make_transforms(transform, sizes)


def forward(tensor: NDArray[Any], transforms: Sequence[ModeTransform]) -> NDArray[Any]:
    """Apply the transforms to modes 2, 3, ..."""
    for axis, transform in enumerate(transforms, start=2):
        tensor = transform.forward(tensor, axis)
    return tensor


def backward(
    tensor: NDArray[Any], transforms: Sequence[ModeTransform], *, real: bool = False
) -> NDArray[Any]:
    """Apply the inverse transforms; with `real`, drop the imaginary part, which is rounding."""
    for axis, transform in enumerate(transforms, start=2):
        tensor = transform.inverse(tensor, axis)
    return np.ascontiguousarray(tensor.real) if real else tensor


def stays_real(transforms: Sequence[ModeTransform], *tensors: NDArray[Any]) -> bool:
    """Tell whether slice-by-slice work on these tensors gives a real tensor."""
    return conjugate_partners(transforms) is not None and not any(map(np.iscomplexobj, tensors))


def to_stack(tensor: NDArray[Any]) -> NDArray[Any]:
    """Move the frontal slices to the last two axes, as NumPy's linear algebra expects them."""
    return np.moveaxis(tensor, (0, 1), (-2, -1))


def from_stack(stack: NDArray[Any]) -> NDArray[Any]:
    """Undo :func:`to_stack`."""
    return np.moveaxis(stack, (-2, -1), (0, 1))


def _check_factors(left: NDArray[Any], right: NDArray[Any]) -> None:
    if left.shape[1:2] + left.shape[2:] != right.shape[:1] + right.shape[2:]:
        raise ValueError(
            f"A has shape {left.shape} and B has shape {right.shape}; the second length of A must "
            "equal the first of B, and all further lengths must be equal"
        )
