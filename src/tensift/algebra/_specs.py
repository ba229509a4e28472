"""From what a user writes for `basis` or `transform` to a checked transform for each mode."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tensift._utils.namespace import is_device_array, kind_of
from tensift.algebra._arrays import as_axis, as_floating, as_size
from tensift.algebra._bases import eigen_basis, haar_basis, random_basis, self_correlation
from tensift.algebra._transforms import DiscreteCosine, DiscreteFourier, Identity, ModeTransform

_FAST = {cls.name: cls for cls in (Identity, DiscreteFourier, DiscreteCosine)}
TRANSFORM_NAMES = (*_FAST, "haar", "eigen", "random")

# With a larger condition number, a round trip keeps fewer than about six digits.
_LARGEST_CONDITION = 1e10
_ROUND_TRIP_TOLERANCE = 1e-6
_LARGEST_SCALE = 1e50


def make_transform(
    spec: Any,
    size: int,
    *,
    data: Any = None,
    axis: int | None = None,
    random_state: Any = None,
) -> ModeTransform:
    """Build the transform along one mode.

    Parameters
    ----------
    spec : str, ndarray, pair of callables or ModeTransform
        One of

        - "identity": M = I;
        - "dft": the unnormalised DFT of ``numpy.fft.fft``;
        - "dct": the orthonormal discrete cosine transform of type II;
        - "haar": the orthonormal Haar basis of piecewise constant vectors. If a length is odd, its
          left half gets the extra element, so any `size` works;
        - "eigen": M = V^H, where V holds the eigenvectors of the uncentred self-correlation
          X_(k) X_(k)^H of mode `axis` of `data`, in descending order of eigenvalue. The entry of
          largest modulus in each eigenvector is real and positive;
        - "random": a random orthogonal matrix drawn with `random_state`;
        - an invertible ndarray of shape (size, size);
        - a pair ``(forward, inverse)`` of linear callables that act along the last axis of an
          array. They are called only here, to compute their matrices;
        - a ModeTransform, returned as it is.
    size : int
        Length of the mode.
    data : array-like, optional
        Used by "eigen" only.
    axis : int, optional
        The axis of `data` that is the mode. Used by "eigen" only.
    random_state : int, RandomState instance or None, default=None
        Used by "random" only. Pass an int for the same matrix every time.

    Returns
    -------
    ModeTransform

    Raises
    ------
    ValueError
        If `spec` is not one of these, does not fit `size`, or is not invertible in practice.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.algebra import make_transform
    >>> make_transform("haar", 3).matrix.round(3)
    array([[ 0.577,  0.577,  0.577],
           [ 0.408,  0.408, -0.816],
           [ 0.707, -0.707,  0.   ]])
    >>> pair = make_transform((np.fft.fft, np.fft.ifft), 8)
    >>> pair.name, pair.conjugate_symmetric, round(pair.unitary_factor)
    ('callable', True, 8)
    """
    size = as_size(size, "size")
    random_state = check_random_state(random_state)
    return _make(spec, size, "transform", data, axis, random_state)


def make_transforms(
    spec: Any,
    sizes: Sequence[int],
    *,
    data: Any = None,
    axes: Sequence[int] | None = None,
    correlations: Sequence[NDArray[Any]] | None = None,
    random_state: Any = None,
    name: str = "transform",
) -> list[ModeTransform]:
    """Build the transforms along several modes.

    Parameters
    ----------
    spec : specification or list of specifications
        One specification of :func:`make_transform` for all modes, or a list or tuple with one for
        each mode. A tuple of two callables is one ``(forward, inverse)`` pair.
    sizes : sequence of int
        Lengths of the modes.
    data : array-like, optional
        Used by "eigen" only.
    axes : sequence of int, optional
        The axes of `data` that are the modes. By default its last ``len(sizes)`` axes.
    correlations : sequence of ndarray, optional
        Used in place of `data`: the uncentred self-correlation X_(k) X_(k)^H of each mode. It can
        be summed up chunk by chunk if the data do not fit into memory.
    random_state : int, RandomState instance or None, default=None
        Used by "random" only; each mode gets its own matrix.
    name : str, default="transform"
        The name of the parameter in error messages.

    Returns
    -------
    list of ModeTransform

    Examples
    --------
    >>> from tensift.algebra import make_transforms
    >>> make_transforms("dct", [3, 4])
    [ModeTransform(name='dct', size=3), ModeTransform(name='dct', size=4)]
    >>> make_transforms(["identity", "dft"], [3, 4])
    [ModeTransform(name='identity', size=3), ModeTransform(name='dft', size=4)]
    """
    sizes = [as_size(size, "sizes") for size in sizes]
    if axes is None:
        axes = range(-len(sizes), 0)
    if len(axes) != len(sizes):
        raise ValueError(f"axes has {len(axes)} entries for {len(sizes)} sizes; give one for each")
    if _is_list_of_specs(spec):
        if len(spec) != len(sizes):
            raise ValueError(
                f"{name} lists {len(spec)} specifications, but {len(sizes)} modes are "
                "transformed; give one for each of those modes, or a single one for all"
            )
        specs = list(spec)
        labels = [f"{name}[{i}]" for i in range(len(specs))]
    else:
        _check_kind(spec, name)
        specs, labels = [spec] * len(sizes), [name] * len(sizes)
    random_state = check_random_state(random_state)
    known = [None] * len(sizes) if correlations is None else correlations
    return [
        _make(one, size, label, data, axis, random_state, correlation)
        for one, size, label, axis, correlation in zip(
            specs, sizes, labels, axes, known, strict=True
        )
    ]


def is_data_driven(spec: Any) -> bool:
    """Tell whether a specification needs data, that is, whether it contains "eigen".

    Examples
    --------
    >>> from tensift.algebra import is_data_driven
    >>> is_data_driven("dft"), is_data_driven(["dft", "eigen"])
    (False, True)
    """
    return has_name(spec, "eigen")


def has_name(spec: Any, name: str) -> bool:
    """Tell whether a specification is `name` or lists it."""
    if _is_list_of_specs(spec):
        return any(has_name(one, name) for one in spec)
    return isinstance(spec, str) and spec == name


def _is_pair(spec: Any) -> bool:
    return isinstance(spec, tuple | list) and len(spec) == 2 and all(map(callable, spec))


def _is_list_of_specs(spec: Any) -> bool:
    return isinstance(spec, tuple | list) and not _is_pair(spec)


def _is_matrix(spec: Any) -> bool:
    return hasattr(spec, "__array__")


def _check_kind(spec: Any, label: str) -> None:
    choices = (
        f"use one of {', '.join(map(repr, TRANSFORM_NAMES))}, an invertible square ndarray "
        "or a (forward, inverse) pair of callables"
    )
    if isinstance(spec, str):
        if spec not in TRANSFORM_NAMES:
            raise ValueError(f"{label}={spec!r} is not a known transform; {choices}")
    elif is_device_array(spec):
        raise ValueError(
            f"{label} is a {kind_of(spec)}, but transforms are always made on the host; pass the "
            "matrix as a NumPy array"
        )
    elif not (isinstance(spec, ModeTransform) or _is_pair(spec) or _is_matrix(spec)):
        raise ValueError(f"{label} is a {type(spec).__name__}, not a transform; {choices}")


def _make(
    spec: Any,
    size: int,
    label: str,
    data: Any,
    axis: int | None,
    random_state: np.random.RandomState,
    correlation: NDArray[Any] | None = None,
) -> ModeTransform:
    _check_kind(spec, label)
    if isinstance(spec, ModeTransform):
        if spec.size != size:
            raise ValueError(
                f"{label} has size {spec.size}, but the mode has length {size}; "
                "make one for that length"
            )
        return spec
    if isinstance(spec, str):
        if spec in _FAST:
            return _FAST[spec](size)
        if spec == "haar":
            basis = haar_basis(size)
        elif spec == "random":
            basis = random_basis(size, random_state)
        else:
            if correlation is None:
                correlation = _scaled_correlation(*_checked_data(data, axis, size, label))
            basis = eigen_basis(correlation)
        return ModeTransform(basis, basis.conj().T, name=spec)
    if _is_pair(spec):
        return _from_callables(spec[0], spec[1], size, label)
    return _from_matrix(spec, size, label)


def _checked_data(data: Any, axis: int | None, size: int, label: str) -> tuple[Any, int]:
    if data is None or axis is None:
        raise ValueError(f"{label}='eigen' is computed from data; give data and its axis")
    array = as_floating(data, "data", finite=True)
    position = as_axis(axis, array.ndim, "axis")
    if array.shape[position] != size:
        raise ValueError(
            f"data has length {array.shape[position]} along axis {axis}, but the mode has length "
            f"{size}; give the axis of data that is this mode"
        )
    if 0 in array.shape:
        raise ValueError(f"{label}='eigen' is computed from data, but data is empty")
    return array, position


def _scaled_correlation(data: NDArray[Any], axis: int) -> NDArray[Any]:
    """The self-correlation of data divided by their peak: same eigenvectors, no overflow."""
    if is_device_array(data):
        correlation = self_correlation(data, axis)
        return correlation / (np.abs(correlation).max() or 1.0)
    peak = np.abs(data).max()
    return self_correlation(data / peak if peak > 0 else data, axis)


def _from_matrix(spec: Any, size: int, label: str) -> ModeTransform:
    matrix = _simplified(as_floating(spec, label, finite=True))
    if matrix.shape != (size, size):
        raise ValueError(
            f"{label} has shape {matrix.shape}, but the mode has length {size}; "
            f"give a matrix of shape ({size}, {size})"
        )
    _check_condition(matrix, label)
    return ModeTransform(matrix)


def _from_callables(
    forward: Callable[..., Any], inverse: Callable[..., Any], size: int, label: str
) -> ModeTransform:
    # Applied to the rows of the identity, a map returns the columns of its matrix as rows.
    identity = np.eye(size)
    matrix = _simplified(_call(forward, identity, f"{label}[0] (forward)").T)
    probe = np.random.RandomState(0).standard_normal((3, size))
    image = probe @ matrix.T
    _check_linear(forward, probe, image, f"{label}[0] (forward)")
    _check_condition(matrix, f"the matrix of {label}[0] (forward)")

    identity = identity.astype(matrix.dtype)
    inverse_matrix = _simplified(_call(inverse, identity, f"{label}[1] (inverse)").T)
    _check_linear(inverse, image, image @ inverse_matrix.T, f"{label}[1] (inverse)")
    error = np.abs(inverse_matrix @ matrix - np.eye(size)).max()
    if error > _ROUND_TRIP_TOLERANCE:
        raise ValueError(
            f"{label}[1] (inverse) does not undo {label}[0] (forward): the round trip changes unit "
            f"vectors by up to {error:.2g}; give the inverse map (complex if forward is complex)"
        )
    return ModeTransform(matrix, inverse_matrix, name="callable")


def _call(function: Callable[..., Any], x: NDArray[Any], label: str) -> NDArray[Any]:
    try:
        output = function(x.copy())
    except Exception as error:
        raise ValueError(
            f"{label} failed on an array of shape {x.shape}: {error}; "
            "it must act along the last axis and keep the shape"
        ) from error
    result = as_floating(output, f"the result of {label}", finite=True)
    if result.shape != x.shape:
        raise ValueError(
            f"{label} turned shape {x.shape} into {result.shape}; "
            "it must act along the last axis and keep the shape"
        )
    return result.astype(np.complex128 if np.iscomplexobj(result) else np.float64)


def _check_linear(
    function: Callable[..., Any], x: NDArray[Any], expected: NDArray[Any], label: str
) -> None:
    error = np.abs(_call(function, x, label) - expected).max()
    if error > _ROUND_TRIP_TOLERANCE * np.abs(expected).max():
        raise ValueError(
            f"{label} is not linear along the last axis (off by {error:.2g} on a test input); "
            "give a linear map without offset that treats every row alike"
        )


def _simplified(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the matrix in double precision, real if all its imaginary parts are zero."""
    if np.iscomplexobj(matrix):
        return matrix.astype(np.complex128) if matrix.imag.any() else matrix.real.astype(float)
    return matrix.astype(np.float64)


def _check_condition(matrix: NDArray[Any], label: str) -> None:
    singular_values = np.linalg.svd(matrix, compute_uv=False)
    smallest, largest = singular_values[-1], singular_values[0]
    condition = largest / smallest if smallest > 0 else np.inf
    if condition > _LARGEST_CONDITION:
        raise ValueError(
            f"{label} is singular or close to it (condition number {condition:.2g}, at most "
            f"{_LARGEST_CONDITION:.0e} is usable); give an invertible, well-conditioned matrix"
        )
    if not 1 / _LARGEST_SCALE <= largest <= _LARGEST_SCALE:
        raise ValueError(
            f"{label} multiplies norms by {largest:.0e}, and sums of squares would overflow or "
            "underflow; divide it by that number"
        )
