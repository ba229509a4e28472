"""Choose channels of series with any selector; what aeon's class and sktime's have in common."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from numpy.typing import NDArray
from sklearn.base import clone

from tensift._utils.warnings import warn_user
from tensift.selection import GeometrySelector, TensorSelector

__all__ = ["choose_channels"]


def choose_channels(selector: Any, n_channels: Any, X: NDArray) -> Any:
    """Return a selector that was fitted on series.

    Parameters
    ----------
    selector : TensorSelector or None
        Is cloned; by default a `GeometrySelector`.
    n_channels : int, float, "auto" or None
        How many channels to keep; None for what the selector says.
    X : ndarray of shape (n_cases, n_channels, ...)
        The series. Their channels are the features.
    """
    if selector is not None and not isinstance(selector, TensorSelector):
        number = isinstance(selector, Real | str)
        hint = f"; is it the number of channels, n_channels={selector!r}?" if number else ""
        raise TypeError(
            "selector must be a selector of tensift, such as GeometrySelector(), or None; got "
            f"{selector!r}{hint}"
        )
    if selector is not None and selector.feature_mode not in (None, 0):
        raise ValueError(
            f"selector has feature_mode={selector.feature_mode!r}, but the features here are the "
            "channels; leave feature_mode out"
        )
    chosen = GeometrySelector() if selector is None else clone(selector)
    chosen.set_params(feature_mode=0)
    if n_channels is not None:
        chosen.set_params(n_features_to_select=_checked_count(n_channels, X.shape[1]))
    return chosen.fit(X)


def _checked_count(wanted: Any, there_are: int) -> Any:
    if isinstance(wanted, str) and wanted == "auto":
        return wanted
    if isinstance(wanted, Integral) and not isinstance(wanted, bool) and int(wanted) >= 1:
        if int(wanted) > there_are:
            warn_user(
                f"n_channels={wanted} is more than the {there_are} channels there are; all are kept"
            )
        return min(int(wanted), there_are)
    if isinstance(wanted, Real) and 0 < float(wanted) < 1:
        return float(wanted)
    raise ValueError(
        "n_channels must be a number of channels, a share between 0 and 1, 'auto', or None for "
        f"what the selector says; got {wanted!r}"
    )
