"""Scores of channels on the head, drawn by MNE-Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import QhullError
from sklearn.utils.validation import check_is_fitted

from tensift._utils.namespace import to_numpy
from tensift.labels import CHANNEL
from tensift.plotting._matplotlib import ACCENT, SCORE_MAP, new_figure
from tensift.plotting._names import plain
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TopographyDisplay"]

_FLAT = ("eeg", "mag", "grad", "csd", "hbo", "hbr", "fnirs_cw_amplitude", "fnirs_od")
_SHOWN = 6  # names in an error message


class TopographyDisplay:
    """Topographic maps of scores: one for each type of channel, selected channels named.

    Parameters
    ----------
    scores : array-like of shape (d,)
        One score for every channel.
    support : array-like of bool of shape (d,)
        The selected channels.
    names : sequence of str
        The names of the channels.
    info : mne.Info
        Has the types and positions of these channels; it may have others, in any order.

    Attributes
    ----------
    axes_ : dict of str to matplotlib Axes
        The maps, by the type of their channels.
    figure_ : matplotlib Figure
        The figure that holds them.

    Notes
    -----
    Scores of different types are those of scaled values (`tensift.labels.Sensors`), so all maps
    have one colour scale. Planar gradiometers come in pairs at one place; there the map shows the
    larger score.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import mne
    >>> import numpy as np
    >>> from tensift import GeometrySelector
    >>> from tensift.plotting import TopographyDisplay
    >>> montage = mne.channels.make_standard_montage("biosemi16")
    >>> info = mne.create_info(montage.ch_names, sfreq=100, ch_types="eeg").set_montage(montage)
    >>> values = 1e-6 * np.random.default_rng(0).normal(size=(20, 16, 50))
    >>> epochs = mne.EpochsArray(values, info, verbose="ERROR")
    >>> selector = GeometrySelector(4, feature_mode="channel").fit(epochs)
    >>> display = TopographyDisplay.from_selector(selector, figure=plt.figure())
    >>> list(display.axes_)
    ['eeg']
    """

    def __init__(
        self, scores: ArrayLike, support: ArrayLike, names: Sequence[str], info: Any
    ) -> None:
        self.scores = np.asarray(scores, dtype=float)
        self.support = np.asarray(support, dtype=bool)
        self.names = [str(name) for name in names]
        self.info = getattr(info, "info", info)  # of a recording, too
        if not isinstance(self.info, _require_mne().Info):
            raise TypeError(
                f"info must be an mne.Info or a recording of MNE-Python; got {type(info).__name__}"
            )
        if self.scores.shape != (len(self.names),) or self.support.shape != self.scores.shape:
            raise ValueError(
                f"scores has shape {self.scores.shape} and support {self.support.shape}, but there "
                f"are {len(self.names)} names; give one of each for every channel"
            )

    @classmethod
    def from_selector(
        cls, selector: TensorSelector, info: Any = None, *, figure: Figure | None = None
    ) -> TopographyDisplay:
        """Draw the maps of a fitted selector of channels.

        Parameters
        ----------
        selector : TensorSelector
            Fitted on recordings with ``feature_mode="channel"``, or on other samples whose channels
            have names.
        info : mne.Info or a recording, optional
            Where the channels are. By default what the fitted recording knew.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        TopographyDisplay
        """
        check_is_fitted(selector)
        if not selector._has_channels():
            raise ValueError(
                "selector has no named channels as features; fit it on a recording of MNE-Python "
                "with feature_mode='channel'"
            )
        names = selector.names_
        assert names is not None
        if info is None:
            if names.sensors is None:
                raise ValueError(
                    "info is missing: selector was not fitted on a recording of MNE-Python, so "
                    "pass the info with the positions of its channels"
                )
            info = names.sensors.info
        support = to_numpy(selector.get_support())
        return cls(to_numpy(selector.scores_), support, names.coords[CHANNEL], info).plot(figure)

    def plot(self, figure: Figure | None = None) -> TopographyDisplay:
        """Draw the maps.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        TopographyDisplay
        """
        mne = _require_mne()
        places = self._places()
        types = np.array(self.info.get_channel_types(picks=places))
        flat = [kind for kind in dict.fromkeys(types.tolist()) if kind in _FLAT]
        if not flat:
            raise ValueError(
                f"info has channels of the type {str(types[0])!r} only, which lie inside of the "
                f"head; maps are of {', '.join(_FLAT[:4])} and fNIRS channels"
            )
        self.figure_ = figure = new_figure(figure)
        figure.set_layout_engine("constrained")
        figure.set_size_inches(4.2 * len(flat) + 0.8, 4.2)
        panels = figure.subplots(1, len(flat), squeeze=False)[0]
        top = float(self.scores.max()) or 1.0
        self.axes_: dict[str, Any] = {}
        for ax, kind in zip(panels, flat, strict=True):
            image = self._draw(mne, ax, np.flatnonzero(types == kind), places, kind, top)
            self.axes_[kind] = ax
        figure.colorbar(image, ax=list(panels), shrink=0.7, label="score")
        return self

    def _places(self) -> NDArray[np.intp]:
        """Return the places of the channels in `info`, after a check of their positions."""
        known = {name: place for place, name in enumerate(self.info["ch_names"])}
        missing = [name for name in self.names if name not in known]
        if missing:
            raise ValueError(
                f"info has no channel {_listed(missing)}, which the selector was fitted on; pass "
                "the info of the fitted recording"
            )
        places = np.array([known[name] for name in self.names], dtype=np.intp)
        where = np.array([self.info["chs"][place]["loc"][:3] for place in places])
        lost = ~np.isfinite(where).all(axis=1) | ~where.any(axis=1)
        if lost.any():
            without = [name for name, is_lost in zip(self.names, lost, strict=True) if is_lost]
            raise ValueError(
                f"info has no position of channel {_listed(without)} ({len(without)} of "
                f"{len(self.names)}); set a montage first, such as "
                "info.set_montage('biosemi64')"
            )
        return places

    def _draw(
        self, mne: Any, ax: Any, chosen: NDArray, places: NDArray, kind: str, top: float
    ) -> Any:
        """Draw the channels of one type, one value for each place on the head."""
        from matplotlib.patheffects import withStroke
        from matplotlib.transforms import ScaledTranslation

        where = np.array([self.info["chs"][places[c]]["loc"][:3] for c in chosen]).round(6)
        _, first, place = np.unique(where, axis=0, return_index=True, return_inverse=True)
        place = place.reshape(-1)
        scores, marked = np.zeros(len(first)), np.zeros(len(first), dtype=bool)
        np.maximum.at(scores, place, self.scores[chosen])
        np.logical_or.at(marked, place, self.support[chosen])
        titles = [
            "\n".join(self.names[c] for c in chosen[place == at] if self.support[c])
            for at in range(len(first))
        ]
        info = mne.pick_info(self.info, places[chosen[first]], copy=True, verbose="ERROR")
        if kind == "grad":
            # MNE-Python would merge pairs, which is done already; magnetometers have no pairs.
            others = dict.fromkeys(info["ch_names"], "mag")
            info.set_channel_types(others, on_unit_change="ignore", verbose="ERROR")
        marks = {"markerfacecolor": ACCENT, "markeredgecolor": "white", "markersize": 9}
        try:
            image, _ = mne.viz.plot_topomap(
                scores,
                info,
                ch_type="mag" if kind == "grad" else kind,
                names=[plain(title) for title in titles],
                mask=marked,
                mask_params=marks,
                cmap=SCORE_MAP,
                vlim=(0.0, top),
                contours=0,
                axes=ax,
                show=False,
            )
        except QhullError:
            raise ValueError(
                f"info has the {kind} channels in places that no map can be drawn between, such "
                "as all on one circle; check their positions"
            ) from None
        for text in ax.texts:  # beside their marks, and readable on every colour
            text.set(color="white", fontsize=8, va="bottom")
            text.set_path_effects([withStroke(linewidth=2, foreground="black")])
            above = ScaledTranslation(0, 5 / 72, self.figure_.dpi_scale_trans)
            text.set_transform(text.get_transform() + above)
        kept, total = int(self.support[chosen].sum()), len(chosen)
        ax.set_title(plain(f"{kind}: {kept} of {total} channels kept"))
        return image


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


def _require_mne() -> Any:
    try:
        import mne
    except ImportError:
        raise ImportError(
            'TopographyDisplay needs MNE-Python: pip install "tensift[mne,plot]"'
        ) from None
    return mne
