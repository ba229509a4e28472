"""The patterns from which a decomposition builds samples."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tensift.labels import Names
from tensift.plotting._fitted_decomposition import FittedDecomposition, in_percent
from tensift.plotting._matplotlib import new_figure
from tensift.plotting._montage import DIFFERENCES, Montage
from tensift.plotting._names import names_for, plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ComponentsDisplay"]

_FIRST = 8  # the default number of patterns
_MOST_IN_A_ROW = 5
_WIDTH = 1.8  # inches
_LETTERS = 27  # characters that fit above a picture


class ComponentsDisplay:
    """Patterns as small pictures: what coordinates add to reconstructions or read from samples.

    Patterns of one mode are traces and those of two are images. Of more modes, the two longest
    are the axes of images, which are laid out as tiles. Zero is white and the scale is symmetric
    about it. The sign of a pattern is arbitrary; that of its coordinate changes with it.

    In a sparse decomposition, what coordinates read is sparse, but what they add is not.

    Parameters
    ----------
    components : array-like of shape (k, d_1, ..., d_m)
        The patterns. If they are complex, the real part is drawn.
    titles : sequence of str, optional
        A title for each pattern; by default its number.
    common_scale : bool, default=False
        Whether a colour or a height means the same value in all patterns. If not, every pattern
        is scaled to its own largest value.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (k,)
        Where the patterns were drawn.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import TensorPCA
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ComponentsDisplay
    >>> digits = load_digits()
    >>> pca = TensorPCA(12, truncation="global", basis="dct").fit(digits)
    >>> display = ComponentsDisplay.from_estimator(
    ...     pca, coordinates=[0, 1], figure=Figure()
    ... )
    >>> print(display.axes_[0].get_title())
    column (dct) 4, no. 0
    8.3 % of energy
    """

    def __init__(
        self,
        components: ArrayLike,
        *,
        titles: Sequence[str] | None = None,
        common_scale: bool = False,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.components = np.asarray(components)
        if self.components.ndim < 2 or not len(self.components):
            raise ValueError(
                "components must be one or more patterns, an array of shape (k, d_1, ..., d_m); "
                f"got shape {self.components.shape}"
            )
        numbered = [str(number) for number in range(len(self.components))]
        self.titles = numbered if titles is None else list(titles)
        if len(self.titles) != len(self.components):
            raise ValueError(
                f"titles has {len(self.titles)} entries for {len(self.components)} components"
            )
        self.common_scale = common_scale
        self.names = names_for(self.components.shape[1:], names, dims, coords)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        coordinates: Sequence[int] | None = None,
        weights: bool = False,
        common_scale: bool = False,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> ComponentsDisplay:
        """Draw patterns of a fitted decomposition.

        Titles give the slice that a pattern comes from, its number there and its share of the
        energy.

        Parameters
        ----------
        estimator : TensorPCA or SparseTensorPCA
            A fitted decomposition.
        coordinates : sequence of int, optional
            Which patterns to draw, as columns of what ``transform`` returns; by default the first
            eight, or all if there are fewer.
        weights : bool, default=False
            False: what one unit of each coordinate adds to a reconstruction, ``components_``.
            True: the weights of the elements of a sample in each coordinate, ``weights_``.
        common_scale, dims, coords
            As in the class.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ComponentsDisplay
        """
        fitted = FittedDecomposition.of(estimator, dims, coords)
        if fitted.n_coordinates == 0:
            raise ValueError("the decomposition keeps no component, so there is nothing to draw")
        if coordinates is None:
            coordinates = range(min(_FIRST, fitted.n_coordinates))
        shown = fitted.check_coordinates(coordinates)
        patterns = estimator.weights_ if weights else estimator.components_
        components = np.asarray(patterns)[shown]
        return cls(
            components.reshape(len(shown), *fitted.names.shape),
            titles=[
                f"{fitted.describe(k)}\n{in_percent(fitted.shares[k])} of energy" for k in shown
            ],
            common_scale=common_scale,
            names=fitted.names,
        ).plot(figure)

    def plot(self, figure: Figure | None = None) -> ComponentsDisplay:
        """Draw the patterns.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ComponentsDisplay
        """
        self.figure_ = figure = new_figure(figure)
        montage = Montage.choose(self.names)
        figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
        count = len(self.components)
        rows = math.ceil(count / _MOST_IN_A_ROW)
        columns = math.ceil(count / rows)
        titles = [_wrap(title) for title in self.titles]
        title_height = 0.17 * max(title.count("\n") + 1 for title in titles)
        height = _WIDTH * montage.height + title_height + (0.3 if montage.is_trace else 0.1)
        bar_width = 0.2 if montage.is_trace else 1.0
        figure.set_size_inches(max(_WIDTH * columns + bar_width, 3.4), height * rows + 0.3)
        grid = figure.subplots(rows, columns, squeeze=False)
        for unused in grid.ravel()[count:]:
            unused.remove()
        self.axes_: Any = grid.ravel()[:count]
        drawn = self._draw_patterns(montage, titles)
        where = self.axes_[(rows - 1) * columns]
        where.set_xlabel(plain(montage.caption), fontsize="small", color="0.4", loc="left")
        if not montage.is_trace:
            self._add_colorbar(drawn)
        return self

    def _draw_patterns(self, montage: Montage, titles: list[str]) -> Any:
        patterns = self.components.real
        largest = float(np.abs(patterns).max())
        drawn = None
        for ax, title, pattern in zip(self.axes_, titles, patterns, strict=True):
            top = (largest if self.common_scale else float(np.abs(pattern).max())) or 1.0
            drawn = montage.draw(ax, pattern, -top, top, DIFFERENCES)
            ax.set_title(plain(title), fontsize="small")
            if montage.is_trace and not self.common_scale:
                ax.set_yticks([0])
        return drawn

    def _add_colorbar(self, drawn: Any) -> None:
        bar = self.figure_.colorbar(drawn, ax=list(self.axes_), shrink=0.8, pad=0.02)
        label = "value" if self.common_scale else "value, of each\npattern's largest"
        bar.set_label(label, fontsize="small")
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0)
        if not self.common_scale:
            low, high = drawn.get_clim()
            bar.set_ticks([low, 0, high], labels=["−1", "0", "1"])


def _wrap(title: str) -> str:
    """Break text into lines that do not run into the next title."""
    return "\n".join(textwrap.fill(line, _LETTERS) for line in title.splitlines())
