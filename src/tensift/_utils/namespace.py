"""Arrays of other libraries than NumPy: find their library and device, and move them.

NumPy arrays use NumPy code everywhere. Arrays of other libraries use code written with the
functions of the array API standard, which `array_api_compat` provides. We call them device arrays,
whether they are on an accelerator or on the processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_cupy_array,
    is_dask_array,
    is_jax_array,
    is_pydata_sparse_array,
    is_torch_array,
    to_device,
)
from array_api_compat import device as device_of
from numpy.typing import NDArray

__all__ = [
    "Kind",
    "check_same_kind",
    "device_of",
    "in_precision",
    "indices_like",
    "is_complex",
    "is_device_array",
    "kind_of",
    "moved_or_same",
    "moved_to",
    "namespace_of",
    "precision_of",
    "refuse_device_array",
    "to_numpy",
    "widened",
    "widest_precision",
]

_COMPLEX = {"float32": "complex64", "float64": "complex128"}


def is_device_array(x: Any) -> bool:
    """Whether `x` is an array of another library than NumPy that follows the array API standard."""
    if type(x) is np.ndarray:
        return False  # the most frequent case, so it is checked first
    if isinstance(x, np.ndarray | np.generic | list | tuple):
        return False
    return is_array_api_obj(x) and not (is_dask_array(x) or is_pydata_sparse_array(x))


def namespace_of(*arrays: Any) -> Any:
    """The functions of the array API standard for these arrays."""
    return array_namespace(*arrays)


@dataclass(frozen=True)
class Kind:
    """The library and the device of an array."""

    library: str
    device: Any

    def __str__(self) -> str:
        return f"{self.library} array on {self.device}"


def kind_of(x: Any) -> Kind | None:
    """The kind of a device array; None for NumPy arrays and what NumPy converts."""
    if not is_device_array(x):
        return None
    library = array_namespace(x).__name__.removeprefix("array_api_compat.").split(".")[0]
    return Kind(library, device_of(x))


def check_same_kind(x: Any, fitted: Kind | None, who: str) -> None:
    """Raise an error if the library or device of `x` is not the one `who` was fitted on."""
    given = kind_of(x)
    if given == fitted:
        return
    if fitted is None:
        raise ValueError(
            f"X is a {given}, but {who} was fitted on NumPy arrays; pass {_way_to_numpy(x)}, or "
            "fit it on arrays of that kind"
        )
    what = "not an array of that kind" if given is None else f"a {given}"
    raise ValueError(
        f"X is {what}, but {who} was fitted on a {fitted}; arrays are not moved silently: move X "
        "there, or call to_numpy() on the fitted selector to use NumPy arrays"
    )


def refuse_device_array(x: Any, who: str) -> None:
    """Raise an error for device arrays, in code that works on NumPy arrays only."""
    given = kind_of(x)
    if given is not None:
        raise ValueError(
            f"X is a {given}, but {who} works on NumPy arrays only; pass {_way_to_numpy(x)}"
        )


def _way_to_numpy(x: Any) -> str:
    if is_torch_array(x):
        return "X.cpu().numpy()"
    return "X.get()" if is_cupy_array(x) else "numpy.asarray(X)"


def to_numpy(x: Any) -> Any:
    """Copy a device array to a NumPy array; return anything else unchanged.

    Use it only for what the user asked for: a picture, a file, a fitted selector on the host.
    """
    if not is_device_array(x):
        return x
    if is_torch_array(x):
        return to_device(x.detach(), "cpu").resolve_conj().numpy().copy()
    if is_cupy_array(x):
        return to_device(x, "cpu")
    return np.array(np.asarray(x) if is_jax_array(x) else _from_dlpack(x))


def _from_dlpack(x: Any) -> NDArray:
    """An array of a library that only speaks DLPack, on the host."""
    try:
        return np.from_dlpack(x, device="cpu")
    except TypeError:  # NumPy 2.0 does not take the keyword, nor read-only arrays
        return np.from_dlpack(array_namespace(x).asarray(x, copy=True))


def moved_to(like: Any, values: NDArray, dtype: Any = None) -> Any:
    """Copy values from the host to the device of `like`; meant for small constants."""
    xp = array_namespace(like)
    # Copy, because some libraries share memory with NumPy or warn about read-only arrays.
    values = np.array(values)
    if values.dtype.kind in "fc" and widest_precision(like) == "float32":
        values = values.astype(np.complex64 if values.dtype.kind == "c" else np.float32)
    moved = xp.asarray(values, device=device_of(like))
    return moved if dtype is None else xp.astype(moved, dtype)


def moved_or_same(like: Any, values: NDArray[Any]) -> Any:
    """Copy values to the device and precision of `like`, if it is not a NumPy array."""
    return moved_to(like, values, like.dtype) if is_device_array(like) else values


def indices_like(like: Any, indices: NDArray[Any]) -> Any:
    """Copy indices to the device of `like`, if it is not a NumPy array."""
    return moved_to(like, indices) if is_device_array(like) else indices


def is_complex(x: Any) -> bool:
    """Whether an array of any library is complex."""
    if not is_device_array(x):
        return np.iscomplexobj(x)
    return bool(array_namespace(x).isdtype(x.dtype, "complex floating"))


def widest_precision(x: Any) -> str:
    """Return "float64" if the device of `x` has it, else "float32"."""
    info = array_namespace(x).__array_namespace_info__()
    known = info.dtypes(device=device_of(x), kind="real floating")
    return "float64" if "float64" in known else "float32"


def precision_of(x: Any) -> str:
    """The precision of results for `x`: its own, or the widest one if it has integers."""
    xp = array_namespace(x)
    if x.dtype in (xp.float32, xp.complex64):
        return "float32"
    return widest_precision(x)


def in_precision(x: Any, precision: str) -> Any:
    """Convert an array to a precision; real stays real, and complex stays complex."""
    xp = array_namespace(x)
    name = _COMPLEX[precision] if is_complex(x) else precision
    return xp.astype(x, getattr(xp, name), copy=False)


def widened(x: Any) -> Any:
    """Convert an array to the widest precision of its device."""
    return in_precision(x, widest_precision(x))
