"""Products of matrices in the precision of the matrices."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

__all__ = ["full_products"]

Function = TypeVar("Function", bound=Callable[..., Any])


def full_products(function: Function) -> Function:
    """Compute all products of JAX in `function` in the precision of their factors.

    On NVIDIA GPUs, JAX rounds float32 to TF32 otherwise, which has three digits: iterations that
    need more end in NaN. Other libraries do so only if they are asked to.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        jax = sys.modules.get("jax")
        if jax is None:
            return function(*args, **kwargs)
        with jax.default_matmul_precision("highest"):
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]
