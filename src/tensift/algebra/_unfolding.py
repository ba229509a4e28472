"""Unfolding a tensor into a matrix along a mode, and multiplying a matrix into a mode."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensift.algebra._arrays import as_axis, as_floating, as_size
from tensift.algebra._transforms import apply_matrix


def unfold(tensor: Any, mode: int) -> NDArray[Any]:
    """Rearrange a tensor into the matrix X_(mode) of its fibres along `mode`.

    Row i holds the entries whose index along `mode` is i. Along the columns the first of the
    remaining indices varies fastest, as in the paper's n-mode unfolding.

    Parameters
    ----------
    tensor : array-like of shape (d_0, ..., d_{m-1})
        The tensor.
    mode : int
        The mode, counted from 0.

    Returns
    -------
    ndarray of shape (d_mode, product of the other lengths)

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import unfold
    >>> unfold(np.arange(8.0).reshape(2, 2, 2), 1)
    array([[0., 4., 1., 5.],
           [2., 6., 3., 7.]])
    """
    array = as_floating(tensor, "tensor")
    mode = as_axis(mode, array.ndim, "mode")
    return np.moveaxis(array, mode, 0).reshape(array.shape[mode], -1, order="F")


def fold(matrix: Any, mode: int, shape: Sequence[int]) -> NDArray[Any]:
    """Undo :func:`unfold`.

    Parameters
    ----------
    matrix : array-like of shape (d_mode, product of the other lengths)
        The unfolded tensor.
    mode : int
        The mode along which it was unfolded, counted from 0.
    shape : sequence of int
        Shape of the tensor.

    Returns
    -------
    ndarray of shape `shape`

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import fold, unfold
    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> bool((fold(unfold(x, 2), 2, x.shape) == x).all())
    True
    """
    array = as_floating(matrix, "matrix")
    sizes = [as_size(size, "shape") for size in shape]
    mode = as_axis(mode, len(sizes), "mode")
    others = sizes[:mode] + sizes[mode + 1 :]
    expected = (sizes[mode], int(np.prod(others)))
    if array.shape != expected:
        raise ValueError(
            f"matrix has shape {array.shape}, but a tensor of shape {tuple(sizes)} "
            f"unfolded along mode {mode} has shape {expected}"
        )
    return np.moveaxis(array.reshape(sizes[mode], *others, order="F"), 0, mode)


def mode_product(tensor: Any, matrix: Any, mode: int) -> NDArray[Any]:
    """Multiply a matrix into one mode of a tensor: Y_(mode) = matrix @ X_(mode).

    Parameters
    ----------
    tensor : array-like of shape (d_0, ..., d_{m-1})
        The tensor X.
    matrix : array-like of shape (r, d_mode)
        The matrix.
    mode : int
        The mode, counted from 0.

    Returns
    -------
    ndarray
        The shape of `tensor` with length r along `mode`.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import mode_product
    >>> mode_product(np.ones((2, 3, 4)), np.ones((1, 3)), 1).shape
    (2, 1, 4)
    """
    array = as_floating(tensor, "tensor")
    factor = as_floating(matrix, "matrix")
    mode = as_axis(mode, array.ndim, "mode")
    if factor.ndim != 2 or factor.shape[1] != array.shape[mode]:
        raise ValueError(
            f"matrix has shape {factor.shape}, but mode {mode} of the tensor has length "
            f"{array.shape[mode]}; give a matrix with {array.shape[mode]} columns"
        )
    return apply_matrix(factor, array, mode)
