"""Check what users pass, and turn it into arrays that the algebra can work on."""

from typing import Any

import numpy as np

from tensift._utils.arrays import refuse_masked
from tensift._utils.namespace import is_device_array, namespace_of, widest_precision

_NOT_FINITE = "{name} contains NaN or infinity; give finite numbers only"
_KEPT = (np.float32, np.float64, np.complex64, np.complex128)


def as_floating(x: Any, name: str, *, finite: bool = False) -> Any:
    """Return `x` as a float or complex array, copying only if its type has to change.

    Single and double precision are kept, and real stays real. Other numbers become double
    precision. With `finite`, NaN and infinity raise an error. Device arrays stay on their device.
    """
    if is_device_array(x):
        array = floating_on_device(x, name)
        xp = namespace_of(array)
        if finite and not xp.all(xp.isfinite(array)):
            raise ValueError(_NOT_FINITE.format(name=name))
        return array
    refuse_masked(x, name)
    array = np.asarray(x)
    if array.dtype.kind not in "buifc":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}; convert it first")
    if array.dtype.type not in _KEPT:
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if finite and not np.isfinite(array).all():
        raise ValueError(_NOT_FINITE.format(name=name))
    return array


def floating_on_device(x: Any, name: str) -> Any:
    """Return a device array in single or double precision; integers become floats."""
    xp = namespace_of(x)
    if x.dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128):
        return x
    if xp.isdtype(x.dtype, ("bool", "integral")):
        return xp.astype(x, getattr(xp, widest_precision(x)))
    raise ValueError(f"{name} has dtype {x.dtype}; pass float32, float64, or complex numbers")


def as_size(value: Any, name: str) -> int:
    """Return `value` as a positive Python int."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_integer or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)


def as_axis(axis: Any, ndim: int, name: str) -> int:
    """Return `axis` as an index from 0; a negative `axis` counts from the end."""
    is_integer = isinstance(axis, int | np.integer) and not isinstance(axis, bool)
    if not is_integer or not -ndim <= axis < ndim:
        raise ValueError(
            f"{name}={axis!r} is not an axis of an array with {ndim} axes; "
            f"give an integer from {-ndim} to {ndim - 1}"
        )
    return int(axis) % ndim
