"""Invertible linear maps along one mode of a tensor."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from tensift._utils.namespace import (
    in_precision,
    is_complex,
    is_device_array,
    kind_of,
    moved_to,
    namespace_of,
    precision_of,
)
from tensift.algebra._arrays import as_axis, as_floating


class ModeTransform:
    """An invertible linear map M along one mode of a tensor.

    Build one with :func:`make_transform`, which checks its arguments. A transform is immutable and
    can be pickled. Single precision input gives single precision output. Arrays of a library other
    than NumPy give arrays of that library on the same device.

    Parameters
    ----------
    matrix : ndarray of shape (size, size)
        M. The value at index j of the output is ``sum(matrix[j, h] * input[h])``.
    inverse_matrix : ndarray of shape (size, size), optional
        The inverse of M, computed if not given.
    name : str, default="matrix"
        Name of the map.

    Attributes
    ----------
    name : str
        "identity", "dft", "dct", "haar", "eigen", "random", "matrix" or "callable".
    size : int
        Length of the mode.
    is_real : bool
        True if real input gives real output.
    conjugate_symmetric : bool
        True if, for real input, output ``(-j) % size`` is the conjugate of output ``j``, as
        with the DFT. Always False for a real M.
    unitary_factor : float or None
        The c with M M^H = c I; norms in the transform domain are then ``sqrt(c)`` times those of
        the data. None if there is no such c.
    matrix, inverse_matrix : ndarray of shape (size, size)
        M and its inverse, read-only.
    energy : ndarray of shape (size, size)
        ``abs(matrix) ** 2``, read-only; exactly one everywhere for the DFT.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transform
    >>> dft = make_transform("dft", 4)
    >>> dft
    ModeTransform(name='dft', size=4)
    >>> dft.forward(np.array([1.0, 0.0, 0.0, 0.0])).real
    array([1., 1., 1., 1.])
    >>> dft.unitary_factor
    4.0
    """

    name: str
    size: int
    is_real: bool
    conjugate_symmetric: bool
    unitary_factor: float | None

    def __init__(
        self,
        matrix: NDArray[Any],
        inverse_matrix: NDArray[Any] | None = None,
        *,
        name: str = "matrix",
    ) -> None:
        matrix = as_floating(matrix, "matrix", finite=True)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise ValueError(f"matrix has shape {matrix.shape}; give a square matrix")
        if inverse_matrix is None:
            inverse_matrix = np.linalg.inv(matrix)
        self.name = name
        self.size = matrix.shape[0]
        self._matrix = _frozen(matrix)
        self._inverse_matrix = _frozen(inverse_matrix)
        self.is_real = not (np.iscomplexobj(matrix) or np.iscomplexobj(inverse_matrix))
        self.conjugate_symmetric = not self.is_real and _is_conjugate_symmetric(matrix)
        self.unitary_factor = _unitary_factor(matrix)

    def __repr__(self) -> str:
        return f"ModeTransform(name={self.name!r}, size={self.size})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_on_devices"}

    @property
    def matrix(self) -> NDArray[Any]:
        """M, of shape (size, size)."""
        return self._matrix

    @property
    def inverse_matrix(self) -> NDArray[Any]:
        """The inverse of M, of shape (size, size)."""
        return self._inverse_matrix

    @cached_property
    def energy(self) -> NDArray[np.float64]:
        """``abs(matrix) ** 2``: how much of input h goes into output j."""
        return _frozen(np.square(self.matrix.real) + np.square(self.matrix.imag))

    def moved(self, name: str, like: Any) -> Any:
        """`matrix`, `inverse_matrix` or `energy` on the device and in the precision of `like`.

        It is copied there once and kept.
        """
        precision = precision_of(like)
        kept = vars(self).setdefault("_on_devices", {})
        key = (name, str(kind_of(like)), precision)  # text, because not all devices can be hashed
        if key not in kept:
            kept[key] = in_precision(moved_to(like, getattr(self, name)), precision)
        return kept[key]

    def forward(self, x: Any, axis: int = -1) -> Any:
        """Apply M along one axis of `x`; the result may share memory with `x`.

        Examples
        --------
        >>> from tensift.algebra import make_transform
        >>> make_transform("haar", 2).forward([[3.0, 3.0], [1.0, 1.0]], axis=0)[1].round(3)
        array([1.414, 1.414])
        """
        x, axis = self._checked(x, axis)
        if is_device_array(x):
            return self._forward_on_device(x, axis)
        return self._apply_forward(x, axis)

    def inverse(self, x: Any, axis: int = -1) -> Any:
        """Apply the inverse of M along one axis of `x`; the result may share memory with `x`.

        The result is complex if M is complex: the imaginary part is never dropped here.

        Examples
        --------
        >>> from tensift.algebra import make_transform
        >>> dft = make_transform("dft", 3)
        >>> dft.inverse(dft.forward([1.0, 2.0, 3.0])).real.round(3)
        array([1., 2., 3.])
        """
        x, axis = self._checked(x, axis)
        if is_device_array(x):
            return self._inverse_on_device(x, axis)
        return self._apply_inverse(x, axis)

    def _checked(self, x: Any, axis: int) -> tuple[Any, int]:
        array = as_floating(x, "x")
        position = as_axis(axis, array.ndim, "axis")
        if array.shape[position] != self.size:
            raise ValueError(
                f"x has length {array.shape[position]} along axis {axis}, "
                f"but the {self.name} transform has size {self.size}; use one made for that length"
            )
        return array, position

    def _apply_forward(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return apply_matrix(_in_precision_of(x, self.matrix), x, axis)

    def _apply_inverse(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return apply_matrix(_in_precision_of(x, self.inverse_matrix), x, axis)

    def _forward_on_device(self, x: Any, axis: int) -> Any:
        return _apply_on_device(self.moved("matrix", x), x, axis)

    def _inverse_on_device(self, x: Any, axis: int) -> Any:
        return _apply_on_device(self.moved("inverse_matrix", x), x, axis)


class _FastTransform(ModeTransform):
    """A named transform with a fast algorithm; its matrices are built at first use."""

    is_real = True
    conjugate_symmetric = False
    unitary_factor = 1.0

    def __init__(self, size: int) -> None:
        self.size = size

    @cached_property
    def _matrix(self) -> NDArray[Any]:  # type: ignore[override]
        return _frozen(self._apply_forward(np.eye(self.size), 0))

    @cached_property
    def _inverse_matrix(self) -> NDArray[Any]:  # type: ignore[override]
        return _frozen(self._apply_inverse(np.eye(self.size), 0))


class Identity(_FastTransform):
    """M = I: the slices do not mix."""

    name = "identity"

    def _apply_forward(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return x

    _apply_inverse = _forward_on_device = _inverse_on_device = _apply_forward


class DiscreteFourier(_FastTransform):
    """The unnormalised discrete Fourier transform of ``numpy.fft.fft``."""

    name = "dft"
    is_real = False
    conjugate_symmetric = True

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.unitary_factor = float(size)

    @cached_property
    def energy(self) -> NDArray[np.float64]:
        """Exactly one everywhere: every entry of M has modulus one."""
        return _frozen(np.ones((self.size, self.size)))

    def _apply_forward(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(fft.fft(x, axis=axis))

    def _apply_inverse(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(fft.ifft(x, axis=axis))

    def _forward_on_device(self, x: Any, axis: int) -> Any:
        return namespace_of(x).fft.fft(_as_complex(x), axis=axis)

    def _inverse_on_device(self, x: Any, axis: int) -> Any:
        return namespace_of(x).fft.ifft(_as_complex(x), axis=axis)


class DiscreteCosine(_FastTransform):
    """The orthonormal discrete cosine transform of type II."""

    name = "dct"

    def _apply_forward(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(fft.dct(x, type=2, norm="ortho", axis=axis))

    def _apply_inverse(self, x: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray(fft.idct(x, type=2, norm="ortho", axis=axis))


def apply_matrix(matrix: NDArray[Any], x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Multiply `matrix` into axis `axis` of `x`."""
    if axis == x.ndim - 1:
        return np.asarray(x @ matrix.T)
    # Merging the axes before and after needs no copy if x is contiguous.
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    merged = x.reshape(int(np.prod(before)), x.shape[axis], int(np.prod(after)))
    return np.asarray((matrix @ merged).reshape(*before, matrix.shape[0], *after))


def _apply_on_device(matrix: Any, x: Any, axis: int) -> Any:
    """Multiply `matrix` into axis `axis` of a device array of the same precision."""
    xp = namespace_of(x)
    if is_complex(matrix) or is_complex(x):
        matrix, x = _as_complex(matrix), _as_complex(x)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    merged = xp.reshape(x, (math.prod(before), x.shape[axis], math.prod(after)))
    return xp.reshape(xp.matmul(matrix, merged), (*before, matrix.shape[0], *after))


def _as_complex(x: Any) -> Any:
    xp = namespace_of(x)
    name = "complex64" if precision_of(x) == "float32" else "complex128"
    return xp.astype(x, getattr(xp, name), copy=False)


def conjugate_partners(transforms: Sequence[ModeTransform]) -> NDArray[np.intp] | None:
    """Return, for each transform-domain slice of real data, the slice that is its conjugate.

    Slices are numbered in C order over the transformed modes. A slice that is its own partner is
    real. This halves the work on real data: process one slice of each pair and conjugate the
    result for the other.

    Parameters
    ----------
    transforms : sequence of ModeTransform
        One for each transformed mode.

    Returns
    -------
    ndarray of shape (p,) or None
        p is the product of the sizes. None if some transform is complex without conjugate
        symmetry: slices of real data then have no partners.

    Examples
    --------
    >>> from tensift.algebra import conjugate_partners, make_transforms
    >>> conjugate_partners(make_transforms("dft", [5]))
    array([0, 4, 3, 2, 1])
    >>> conjugate_partners(make_transforms(["identity", "dft"], [2, 3]))
    array([0, 2, 1, 3, 5, 4])
    """
    partners = np.zeros(1, dtype=np.intp)
    for transform in transforms:
        if not (transform.is_real or transform.conjugate_symmetric):
            return None
        index = np.arange(transform.size)
        if transform.conjugate_symmetric:
            index = -index % transform.size
        partners = (partners[:, None] * transform.size + index).ravel()
    return partners


def _in_precision_of(x: NDArray[Any], matrix: NDArray[Any]) -> NDArray[Any]:
    if np.finfo(x.dtype).dtype == np.float32:
        return matrix.astype(np.complex64 if np.iscomplexobj(matrix) else np.float32)
    return matrix


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only contiguous copy."""
    copy = np.array(array, order="C")
    copy.flags.writeable = False
    return copy


def _is_conjugate_symmetric(matrix: NDArray[Any]) -> bool:
    mirrored = matrix[-np.arange(len(matrix)) % len(matrix)]
    return bool(np.abs(mirrored - matrix.conj()).max() <= 1e-12 * np.abs(matrix).max())


def _unitary_factor(matrix: NDArray[Any]) -> float | None:
    gram = matrix @ matrix.conj().T
    factor = float(np.trace(gram).real) / len(matrix)
    is_multiple = np.abs(gram - factor * np.eye(len(matrix))).max() <= 1e-12 * len(matrix) * factor
    return factor if is_multiple else None
