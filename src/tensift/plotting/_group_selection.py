"""Which features each group of samples keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.namespace import to_numpy
from tensift.plotting._matplotlib import ACCENT, BLUE, MUTED, new_axes, subdivide, tidy
from tensift.plotting._names import MOST_NAMED_TICKS, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["GroupSelectionDisplay"]

_ABOVE, _BELOW = 0.6, 1.3  # inches for the title, and for the names of features
_BARS = 1.1
_ROW, _COLUMN = 0.24, 0.2
_LEAST_WIDTH, _MOST_WIDTH = 6.5, 14.0


class GroupSelectionDisplay:
    """Groups as rows, features as columns: a cell is filled if that group alone keeps the feature.

    The bars above are the share of the groups that keep a feature. Features that are kept for all
    groups together have coloured bars and names. Those that most groups keep come first.

    Parameters
    ----------
    supports : array-like of bool, shape (n_groups, n_features)
        The features that are kept for each group alone.
    together : array-like of bool, shape (n_features,)
        Those that are kept for all groups together.
    groups : sequence of str, optional
        The names of the groups; by default their numbers.
    names : sequence of str, optional
        The names of the features; by default their indices.
    order : array-like of int, shape (n_features,), optional
        All features, best first. It orders features that equally many groups keep.
    title : str, optional
        The title; by default how many features all groups keep.

    Attributes
    ----------
    features_ : ndarray of int
        The features that are drawn, from left to right.
    image_ : matplotlib AxesImage
        The cells.
    bars_ : matplotlib BarContainer
        The shares.
    ax_, bar_ax_ : matplotlib Axes
        Where the cells and the bars were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import GroupSelectionDisplay
    >>> display = GroupSelectionDisplay(
    ...     [[True, True, False], [False, True, False]], [False, True, True],
    ...     groups=["anna", "bert"], names=["left", "middle", "right"],
    ... ).plot(Figure().subplots())
    >>> display.features_, [float(bar.get_height()) for bar in display.bars_]
    (array([1, 0, 2]), [1.0, 0.5, 0.0])
    """

    def __init__(
        self,
        supports: ArrayLike,
        together: ArrayLike,
        *,
        groups: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
        order: ArrayLike | None = None,
        title: str | None = None,
    ) -> None:
        self.supports = np.asarray(to_numpy(supports), dtype=bool)
        self.together = np.asarray(to_numpy(together), dtype=bool)
        if self.supports.ndim != 2 or self.supports.shape[1:] != self.together.shape:
            raise ValueError(
                f"supports has shape {self.supports.shape} and together {self.together.shape}; "
                "give one row for each group, with one value for each feature"
            )
        n_groups, n_features = self.supports.shape
        self.groups = _checked("groups", groups, n_groups)
        self.names = _checked("names", names, n_features)
        given = np.arange(n_features) if order is None else np.asarray(to_numpy(order))
        if sorted(given.tolist()) != list(range(n_features)):
            raise ValueError(f"order must hold each of the {n_features} features once")
        self.order: NDArray[np.intp] = given
        self.title = title

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of the groups that keep each feature."""
        shares: NDArray[np.float64] = self.supports.mean(axis=0)
        return shares

    def plot(self, ax: Axes | None = None, *, max_features: int = 60) -> GroupSelectionDisplay:
        """Draw the cells, and the bars above them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        max_features : int, default=60
            The largest number of features to draw. Those that no group keeps, alone or together,
            are left out.

        Returns
        -------
        GroupSelectionDisplay
        """
        shares = self.shares[self.order]
        ranked = self.order[np.lexsort((~self.together[self.order], -shares))]
        kept = (self.shares > 0) | self.together
        wanted = ranked[kept[ranked]] if kept.any() else ranked
        if len(wanted) < len(ranked) and len(ranked) <= MOST_NAMED_TICKS:
            wanted = ranked  # so few that all can be shown
        self.features_ = shown = wanted[:max_features]
        rows, columns = len(self.groups), len(shown)
        width = min(max(1.5 + _COLUMN * columns, _LEAST_WIDTH), _MOST_WIDTH)
        height = _ABOVE + _BARS + _ROW * rows + _BELOW
        ratio = [_BARS, max(_ROW * rows, 2 * _ROW)]
        panels = subdivide(new_axes(ax, (width, height)), 2, 1, ratio)[:, 0]
        self.bar_ax_, self.ax_ = panels
        self.figure_ = self.ax_.figure.figure
        self._draw_bars()
        self._draw_cells(len(wanted) - columns)
        return self

    def _draw_bars(self) -> None:
        ax, shown = self.bar_ax_, self.features_
        self.bars_ = ax.bar(
            np.arange(len(shown)),
            self.shares[shown],
            width=0.8,
            color=[ACCENT if self.together[feature] else MUTED for feature in shown],
        )
        ax.set_xlim(-0.5, len(shown) - 0.5)
        ax.set_ylim(0, 1.02)
        ax.set_xticks([])
        ax.set_ylabel("share\nof groups")
        ax.set_title(
            self._headline() if self.title is None else plain(self.title),
            loc="left",
            fontweight="bold",
        )
        tidy(ax)

    def _draw_cells(self, n_hidden: int) -> None:
        from matplotlib.colors import ListedColormap

        ax, shown = self.ax_, self.features_
        # 0: not kept, 1: kept by the group, 2: kept by the group and by all together.
        values = self.supports[:, shown] * (1 + self.together[shown])
        self.image_ = ax.imshow(
            values,
            cmap=ListedColormap(["#f2f3f5", BLUE, ACCENT]),
            vmin=0,
            vmax=2,
            aspect="auto",
            interpolation="nearest",
        )
        for place in range(len(shown) - 1):
            ax.axvline(place + 0.5, color="white", linewidth=1)
        for place in range(len(self.groups) - 1):
            ax.axhline(place + 0.5, color="white", linewidth=1)
        named = len(self.groups) <= 2 * MOST_NAMED_TICKS
        if named:
            ax.set_yticks(np.arange(len(self.groups)), [plain(name) for name in self.groups])
        else:
            ax.set_ylabel(f"{len(self.groups)} groups")
        texts = [plain(self.names[feature]) for feature in shown]
        rotation = 90 if len(shown) > 12 or max(map(len, texts)) > 3 else 0
        ax.set_xticks(np.arange(len(shown)), texts, rotation=rotation, fontsize="small")
        for label, feature in zip(ax.get_xticklabels(), shown, strict=True):
            if self.together[feature]:
                label.set(color=ACCENT, fontweight="bold")
        note = "coloured: kept for all groups together"
        if n_hidden:
            note += f" ({n_hidden} later features not shown)"
        ax.set_xlabel(note, fontsize="small", color="0.35")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)

    def _headline(self) -> str:
        everyone = int(np.count_nonzero(self.supports.all(axis=0)))
        some = int(np.count_nonzero(self.supports.any(axis=0))) - everyone
        return f"{everyone} features serve all {len(self.groups)} groups, {some} only some"


def _checked(name: str, given: Sequence[str] | None, count: int) -> list[str]:
    """Return one name for each of `count` rows or columns."""
    if given is None:
        return [str(number) for number in range(count)]
    names = [str(one) for one in given]
    if len(names) != count:
        raise ValueError(f"{name} has {len(names)} names, but there are {count}")
    return names
