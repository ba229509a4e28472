"""What is lost if a kept feature fails, and what comes closest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tensift.labels import Names
from tensift.plotting._fitted import FittedSelection
from tensift.plotting._matplotlib import ACCENT, BLUE, MUTED, SCORE_MAP, new_figure, tidy
from tensift.plotting._montage import Montage
from tensift.plotting._names import names_for, plain, set_ticks
from tensift.selection import Replacements, TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ReplacementDisplay"]

_MOST = 20  # bars
_NOT_KEPT = 0.92  # a grey


class ReplacementDisplay:
    """How much is lost if a kept feature fails: a map of them, and a list with substitutes.

    On the map, kept features have the colour of what is lost if nothing takes their place. The
    list begins with the largest loss. A dot on a bar shows what is lost with the best substitute,
    which is named behind the arrow.

    Parameters
    ----------
    replacements : Replacements
        What `TensorSelector.replacements` returns.
    shape : tuple of int
        The shape of all features: that of a sample, or ``(d_k,)`` for mode features.
    most : int, default=20
        The largest number of features in the list.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes of the features.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (2,)
        Where the map and the list were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import GeometrySelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ReplacementDisplay
    >>> selector = GeometrySelector(n_features_to_select=10).fit(load_digits().data)
    >>> display = ReplacementDisplay.from_estimator(selector, figure=Figure())
    >>> display.axes_[1].get_xlabel()
    'alignment lost (%)'
    """

    def __init__(
        self,
        replacements: Replacements,
        shape: Sequence[int],
        *,
        most: int = _MOST,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(replacements, Replacements):
            raise TypeError(
                "replacements must be what the method replacements of a selector returns, got "
                f"{type(replacements).__name__}"
            )
        if most < 1:
            raise ValueError(f"most must be at least 1, got {most}")
        self.replacements = replacements
        self.shape = tuple(int(length) for length in shape)
        size = int(np.prod(self.shape))
        if len(replacements) and replacements.feature[-1] >= size:
            raise ValueError(
                f"shape={self.shape} has {size} features, but feature {replacements.feature[-1]} "
                "is kept; give the shape of all features"
            )
        self.most = most
        self.names = names_for(self.shape, names, dims, coords)

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        *,
        most: int = _MOST,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> ReplacementDisplay:
        """Draw what a fitted selector loses with each of its features.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        most : int, default=20
            The largest number of features in the list.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReplacementDisplay
        """
        names = FittedSelection.of(estimator, dims, coords).feature_names
        found = estimator.replacements()
        return cls(found, names.shape, most=most, names=names).plot(figure)

    def plot(self, figure: Figure | None = None) -> ReplacementDisplay:
        """Draw the map and the list.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReplacementDisplay
        """
        self.figure_ = figure = new_figure(figure)
        names = self.names
        figure.set_layout_engine("constrained")
        listed = min(len(self.replacements), self.most)
        figure.set_size_inches(9.0, max(3.2, 0.9 + 0.24 * listed))
        self.axes_: Any = figure.subplots(1, 2)
        if len(self.shape) == 1:
            self._draw_row(self.axes_[0], names)
        else:
            self._draw_map(self.axes_[0], names)
        self._draw_list(self.axes_[1], names, listed)
        return self

    def _label(self) -> str:
        return f"{self.replacements.measure} lost (%)"

    def _draw_map(self, ax: Axes, names: Names) -> None:
        montage = Montage.choose(names)
        kept = np.full(self.shape, np.nan)
        kept.flat[self.replacements.feature] = 100 * self.replacements.lost
        image = montage.image(kept)
        outside = np.isnan(montage.image(np.zeros(self.shape)))  # between tiles
        cells = np.ma.masked_where(outside, np.full(image.shape, _NOT_KEPT))
        aspect: Literal["equal", "auto"] = "equal" if montage.square_cells else "auto"
        ax.imshow(cells, cmap="gray", vmin=0, vmax=1, aspect=aspect, interpolation="nearest")
        low, high = self._range()
        drawn = ax.imshow(
            np.ma.masked_invalid(image),
            cmap=SCORE_MAP,
            vmin=low,
            vmax=high,
            aspect=aspect,
            interpolation="nearest",
        )
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        ax.set_xlabel(plain(montage.caption), fontsize="small", color="0.4", loc="left")
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.85, pad=0.02, label=self._label())
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)

    def _draw_row(self, ax: Axes, names: Names) -> None:
        lost = 100 * self.replacements.lost
        ax.bar(self.replacements.feature, lost, width=0.9, color=ACCENT)
        ax.axhline(0, color=MUTED, linewidth=0.8)
        ax.set_xlim(-0.7, self.shape[0] - 0.3)
        set_ticks(ax.xaxis, names, 0)
        ax.set_ylabel(self._label())
        tidy(ax)

    def _range(self) -> tuple[float, float]:
        lost = 100 * self.replacements.lost[np.isfinite(self.replacements.lost)]
        low = min(0.0, float(lost.min(initial=0.0)))
        high = float(lost.max(initial=0.0))
        return low, high if high > low else low + 1.0

    def _draw_list(self, ax: Axes, names: Names, listed: int) -> None:
        found = self.replacements
        order = np.argsort(-np.nan_to_num(found.lost), kind="stable")[:listed]
        places = np.arange(listed)
        ax.barh(places, 100 * found.lost[order], height=0.7, color=ACCENT, label="without it")
        ax.plot(
            100 * found.lost_with_substitute[order],
            places,
            "o",
            color=BLUE,
            markersize=5,
            label="with the substitute",
        )
        ax.axvline(0, color=MUTED, linewidth=0.8, zorder=0)
        ax.set_yticks(places, [self._name(names, int(k)) for k in order], fontsize="small")
        ax.set_ylim(listed - 0.4, -0.6)
        label = self._label()
        if listed < len(found):
            label += f", the {listed} largest of {len(found)}"
        ax.set_xlabel(label)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize="small", frameon=False)
        tidy(ax)
        ax.tick_params(axis="y", length=0)

    def _name(self, names: Names, place: int) -> str:
        one = self.replacements[place]
        words = [self._short(names, one.feature)]
        if one.substitute >= 0:
            words.append(self._short(names, one.substitute))
        return plain(" → ".join(words))

    def _short(self, names: Names, feature: int) -> str:
        index = np.unravel_index(feature, self.shape)
        words = [names.label(mode, int(at)) for mode, at in enumerate(index)]
        return words[0] if len(words) == 1 else f"({', '.join(words)})"
