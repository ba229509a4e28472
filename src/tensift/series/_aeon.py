"""A channel selector of aeon. This file imports aeon; it is loaded when its name is used."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift.selection import TensorSelector
from tensift.series._choose import choose_channels

try:
    from aeon.transformations.collection.channel_selection.base import BaseChannelSelector
    from aeon.utils.validation.collection import is_equal_length
except ImportError:
    raise ImportError(
        "ChannelSelector needs aeon; install it with pip install tensift[aeon]"
    ) from None

__all__ = ["ChannelSelector"]


class ChannelSelector(BaseChannelSelector):
    """Choose channels of a collection of series, without labels: a channel selector of aeon.

    It can be put wherever aeon has its own channel selectors, for example before a classifier in a
    pipeline.

    Parameters
    ----------
    selector : TensorSelector, default=None
        The selector that chooses; by default ``GeometrySelector()``. It is not changed.
    n_channels : int, float, "auto" or None, default=None
        How many channels to keep: a number, a share between 0 and 1, or "auto" if the selector can
        choose the number. None: what the selector says (``n_features_to_select``).

    Attributes
    ----------
    channels_selected_ : list of int
        The selected channels, increasing.
    selector_ : TensorSelector
        The fitted selector. Its ``scores_`` and ``order_`` are those of all channels.

    See Also
    --------
    tensift.series.SktimeChannelSelector : The same for sktime.

    Notes
    -----
    All series must have the same length. If they have not, pad or truncate them first, with
    aeon's ``Padder`` or ``Truncator``.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.series import ChannelSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 6, 50))
    >>> X[:, [2, 4]] += 3 * rng.normal(size=(40, 1, 1)) * np.sin(np.arange(50) / 4)
    >>> selector = ChannelSelector(n_channels=2)
    >>> selector.fit_transform(X).shape
    (40, 2, 50)
    >>> selector.channels_selected_
    [2, 4]
    """

    _tags: ClassVar[dict[str, Any]] = {
        "capability:multivariate": True,
        "requires_y": False,
        "X_inner_type": "numpy3D",
    }

    def __init__(
        self, selector: TensorSelector | None = None, n_channels: int | float | str | None = None
    ) -> None:
        self.selector = selector
        self.n_channels = n_channels
        super().__init__()

    def _check_X(self, X: Any) -> Any:
        """Let aeon check a collection; before, say what to do about series of unequal length."""
        if not is_equal_length(X):
            raise ValueError(
                "X has series of different lengths; make them equal first, with aeon's Padder() or "
                "Truncator() as an earlier step of the pipeline"
            )
        return super()._check_X(X)

    def _fit(self, X: NDArray, y: Any = None) -> ChannelSelector:
        """Choose channels; labels are not looked at."""
        self.selector_ = choose_channels(self.selector, self.n_channels, X)
        self.channels_selected_ = np.flatnonzero(self.selector_.get_support()).tolist()
        return self

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for aeon's own checks of estimators."""
        from tensift.rivals import VarianceSelector

        return [{}, {"selector": VarianceSelector(), "n_channels": 1}]
