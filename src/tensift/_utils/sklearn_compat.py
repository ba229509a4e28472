"""All names of scikit-learn that we use and that are not part of its public API.

Packages that extend scikit-learn use these names, but a release may move them. Import them only
from here, so that there is one file to repair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import ADAPTERS_MANAGER, _get_output_config
from sklearn.utils.validation import _check_feature_names_in

from tensift._utils.full_products import full_products

__all__ = [
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "check_feature_names_in",
    "fit_context",
    "fit_context_of_meta_estimator",
    "output_format",
    "output_is_frame",
    "register_output",
    "validate_parameter_constraints",
]

Method = TypeVar("Method", bound=Callable[..., Any])

check_feature_names_in = _check_feature_names_in


def fit_context(method: Method) -> Method:
    """Validate parameters before a fit, but not again in estimators that the fit calls."""
    wrapped: Method = _fit_context(prefer_skip_nested_validation=True)(full_products(method))
    return wrapped


def fit_context_of_meta_estimator(method: Method) -> Method:
    """Validate parameters before a fit; estimators inside validate their own."""
    wrapped: Method = _fit_context(prefer_skip_nested_validation=False)(method)
    return wrapped


def output_is_frame(estimator: Any) -> bool:
    """Whether ``set_output`` asks ``transform`` for a data frame."""
    return output_format(estimator) not in ("default", "xarray")


def output_format(estimator: Any) -> str:
    """Return what ``set_output`` asks ``transform`` for: "default", "xarray", "pandas", ..."""
    return str(_get_output_config("transform", estimator)["dense"])


def register_output(adapter: Any) -> None:
    """Let ``set_output`` know a further container."""
    ADAPTERS_MANAGER.register(adapter)
