"""A transformer of sktime. This file imports sktime; it is loaded when its name is used."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensift.selection import TensorSelector
from tensift.series._choose import choose_channels

try:
    from sktime.transformations.base import BaseTransformer
except ImportError:
    raise ImportError(
        "SktimeChannelSelector needs sktime; install it with pip install tensift[sktime]"
    ) from None

__all__ = ["SktimeChannelSelector"]


class SktimeChannelSelector(BaseTransformer):
    """Choose channels of a panel of series, without labels: a transformer of sktime.

    Panels in any format of sktime are taken and returned, with the names of their channels. In a
    single series the points in time are the samples.

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
    channels_selected_idx_ : list
        Their names; the same numbers if the channels have no names.
    selector_ : TensorSelector
        The fitted selector. Its ``scores_`` and ``order_`` are those of all channels.

    See Also
    --------
    tensift.series.ChannelSelector : The same for aeon.

    Notes
    -----
    To fit, all series must have the same length. If they have not, pad or truncate them first, with
    sktime's ``PaddingTransformer`` or ``TruncationTransformer``.

    Examples
    --------
    >>> import numpy as np
    >>> from tensift.series import SktimeChannelSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 6, 50))
    >>> X[:, [2, 4]] += 3 * rng.normal(size=(40, 1, 1)) * np.sin(np.arange(50) / 4)
    >>> selector = SktimeChannelSelector(n_channels=2)
    >>> selector.fit_transform(X).shape
    (40, 2, 50)
    >>> selector.channels_selected_
    [2, 4]
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The tensift developers"],
        "maintainers": ["The tensift developers"],
        "scitype:transform-input": "Series",
        "scitype:transform-output": "Series",
        "scitype:instancewise": False,
        "X_inner_mtype": ["pd-multiindex", "numpy3D", "pd.DataFrame"],
        "y_inner_mtype": "None",
        "capability:multivariate": True,
        "capability:unequal_length": False,
        "capability:categorical_in_X": False,
        "transform-returns-same-time-index": True,
        "skip-inverse-transform": True,
        "fit_is_empty": False,
    }

    def __init__(
        self, selector: TensorSelector | None = None, n_channels: int | float | str | None = None
    ) -> None:
        self.selector = selector
        self.n_channels = n_channels
        super().__init__()

    def _fit(self, X: Any, y: Any = None) -> SktimeChannelSelector:
        """Choose channels; labels are not looked at."""
        self.selector_ = choose_channels(self.selector, self.n_channels, _samples(X))
        self.channels_selected_ = np.flatnonzero(self.selector_.get_support()).tolist()
        self._names = None if isinstance(X, np.ndarray) else list(X.columns)
        names = range(X.shape[1]) if self._names is None else self._names
        self.channels_selected_idx_ = [names[channel] for channel in self.channels_selected_]
        return self

    def _transform(self, X: Any, y: Any = None) -> Any:
        """Keep the selected channels: by name, or by number if there are no names."""
        if self._names is not None and not isinstance(X, np.ndarray):
            missing = [name for name in self._names if name not in X.columns]
            if missing:
                raise ValueError(
                    f"X has no channel {missing[0]!r}, which the fitted series have; its channels "
                    f"are {list(X.columns)}"
                )
            return X[self.channels_selected_idx_]
        fitted = len(self.selector_.scores_)
        if X.shape[1] != fitted:
            raise ValueError(f"X has {X.shape[1]} channels, but the fitted series have {fitted}")
        if isinstance(X, np.ndarray):
            return X[:, self.channels_selected_]
        return X.iloc[:, self.channels_selected_]

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Return parameters for sktime's own checks of estimators.

        Parameters
        ----------
        parameter_set : str, default="default"
            There is only one set.

        Returns
        -------
        list of dict
        """
        from tensift.rivals import VarianceSelector

        return [{}, {"selector": VarianceSelector(), "n_channels": 1}]


def _samples(X: Any) -> NDArray:
    """Return series as an array (samples, channels, times); of a single one (times, channels)."""
    if isinstance(X, np.ndarray):
        return X if len(X) > 1 else X[0].T
    if X.index.nlevels == 1:
        return X.to_numpy()
    lengths = X.groupby(level=0, sort=False).size()
    if lengths.nunique() > 1:
        raise ValueError(
            f"X has series of different lengths, {lengths.min()} to {lengths.max()}; make them "
            "equal first, with sktime's PaddingTransformer() or TruncationTransformer() as an "
            "earlier step of the pipeline"
        )
    values = X.to_numpy().reshape(len(lengths), -1, X.shape[1])
    return np.swapaxes(values, 1, 2) if len(values) > 1 else values[0]
