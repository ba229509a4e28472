"""Channels or bands in the order of selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tensift._utils.namespace import to_numpy
from tensift.plotting._fitted import FittedSelection
from tensift.plotting._matplotlib import ACCENT, MUTED, new_axes, tidy
from tensift.plotting._names import plain
from tensift.plotting._rules import order_in_words
from tensift.selection import TensorSelector, rank_features

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ChannelRankingDisplay"]


class ChannelRankingDisplay:
    """Channels as horizontal bars: the first to be selected on top, the kept ones coloured.

    Parameters
    ----------
    scores : array-like of shape (d,)
        One score for every channel.
    support : array-like of bool, shape (d,)
        The kept channels.
    names : sequence of str, optional
        The channels' names; by default their indices.
    title : str, default="channel"
        What a channel is called.
    ranking : array-like of int, shape (d,), optional
        Channel indices in the order of selection; by default the highest score comes first.
    selection : str, default="top"
        The rule that made the order (a selector's ``selection``), for the label of the axis.
    included, excluded : array-like of int, optional
        Channels that constraints force in or out. Their names say so; the bars of those that are
        forced out are hatched.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        The bars, in the order of selection.
    ax_ : matplotlib Axes
        Where they were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import ChannelRankingDisplay
    >>> display = ChannelRankingDisplay(
    ...     [0.2, 1.5, 0.9], [False, True, False], names=["left", "middle", "right"]
    ... ).plot(Figure().subplots())
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['middle', 'right', 'left']
    """

    def __init__(
        self,
        scores: ArrayLike,
        support: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        title: str = "channel",
        ranking: ArrayLike | None = None,
        selection: str = "top",
        included: ArrayLike = (),
        excluded: ArrayLike = (),
    ) -> None:
        self.scores = np.asarray(scores)
        self.support = np.asarray(support, dtype=bool)
        self.names = [str(i) for i in range(self.scores.size)] if names is None else list(names)
        self.title = title
        self.selection = selection
        self.included = set(np.asarray(included, dtype=int).tolist())
        self.excluded = set(np.asarray(excluded, dtype=int).tolist())
        self.ranking = rank_features(self.scores) if ranking is None else np.asarray(ranking)

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        max_bars: int = 40,
        ax: Axes | None = None,
    ) -> ChannelRankingDisplay:
        """Draw the ranking of a selector fitted with a ``feature_mode``.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector of mode features, or of vectors.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        max_bars : int, default=40
            If there are more channels, draw only the first ones.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ChannelRankingDisplay
        """
        fitted = FittedSelection.of(estimator, dims, coords)
        if fitted.scores.ndim != 1:
            raise ValueError(
                "the selector ranks elements, not channels: set its feature_mode, or use "
                "ScoreMapDisplay"
            )
        labels = [fitted.feature_names.label(0, i) for i in range(fitted.scores.size)]
        return cls(
            fitted.scores,
            fitted.support,
            names=labels,
            title=fitted.feature_names.title(0),
            ranking=to_numpy(estimator.order_),
            selection=estimator.selection,
            included=np.flatnonzero(fitted.included),
            excluded=np.flatnonzero(fitted.excluded),
        ).plot(ax, max_bars=max_bars)

    def plot(self, ax: Axes | None = None, *, max_bars: int = 40) -> ChannelRankingDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        max_bars : int, default=40
            If there are more channels, draw only the first ones.

        Returns
        -------
        ChannelRankingDisplay
        """
        shown = self.ranking[:max_bars]
        ax = new_axes(ax, (5.0, 1.2 + 0.25 * len(shown)))
        self.ax_, self.figure_ = ax, ax.figure.figure
        self.bars_ = ax.barh(
            np.arange(len(shown)),
            self.scores[shown],
            height=0.72,
            color=[ACCENT if self.support[i] else MUTED for i in shown],
        )
        for bar, i in zip(self.bars_, shown, strict=True):
            if int(i) in self.excluded:
                bar.set(facecolor="white", edgecolor=MUTED, hatch="////", linewidth=0.8)
        ax.set_yticks(np.arange(len(shown)), [plain(self._title_of(int(i))) for i in shown])
        ax.invert_yaxis()
        ax.set_ylabel(plain(self.title))
        left_out = self.scores.size - len(shown)
        note = f"\n({left_out} later channels not shown)" if left_out else ""
        ax.set_xlabel(f"score, {plain(order_in_words(self.selection))}{note}")
        tidy(ax)
        ax.spines["left"].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return self

    def _title_of(self, channel: int) -> str:
        word = "included" if channel in self.included else ""
        word = "excluded" if channel in self.excluded else word
        return f"{self.names[channel]} ({word})" if word else str(self.names[channel])
