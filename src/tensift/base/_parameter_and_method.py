"""An attribute that is a constructor parameter and a method at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ParameterAndMethod"]


class ParameterAndMethod:
    """Store what is assigned as a parameter, and give the method to whoever reads.

    STPCA-MP is parametrised by a transform M and a definition of the score, and scikit-learn has
    methods ``transform`` and ``score``. Both are the names users look for, so neither gives way:
    assignment (the constructor, ``set_params``, ``clone``) stores the parameter in the instance,
    where ``get_params`` finds it, and reading gives the bound method.
    """

    def __init__(self, name: str, method: Callable[..., Any]) -> None:
        self.name = name
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.method if instance is None else self.method.__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self.name] = value
