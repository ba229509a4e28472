"""What a selector chose automatically, and what else it tried."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tensift.plotting._matplotlib import ACCENT, MUTED, new_figure, tidy
from tensift.plotting._names import plain
from tensift.stpca import AutomaticChoice, OrientationChoice, PenaltyChoice, STPCASelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ChoiceDisplay"]


class ChoiceDisplay:
    """What a selector tried and chose for parameters that are "auto".

    For penalties: the share of the common variance of features that operators explain, against the
    fraction of bounds of the critical values; at the dark dot it is that of the solution, elsewhere
    it is estimated. A line marks the target share. For orientations and bases: the share of nearest
    neighbours that the selected features keep, and how far neighbours agree on them.

    Parameters
    ----------
    choice : AutomaticChoice
        The attribute `choice_` of a fitted selector.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each thing that was chosen.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ChoiceDisplay
    >>> selector = STPCASelector(20, orientation="auto").fit(load_digits().data)
    >>> len(ChoiceDisplay.from_estimator(selector, figure=Figure()).axes_)
    2
    """

    def __init__(self, choice: AutomaticChoice) -> None:
        self.choice = choice

    @classmethod
    def from_estimator(
        cls, estimator: STPCASelector, *, figure: Figure | None = None
    ) -> ChoiceDisplay:
        """Draw what a fitted selector chose.

        Parameters
        ----------
        estimator : STPCASelector
            A fitted selector.
        figure : matplotlib Figure, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ChoiceDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator.choice_).plot(figure)

    def plot(self, figure: Figure | None = None) -> ChoiceDisplay:
        """Draw a panel for each thing that was chosen.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ChoiceDisplay
        """
        parts = [
            part for part in (self.choice.penalties, self.choice.orientation) if part is not None
        ]
        if not parts:
            raise ValueError("there is nothing to draw: no parameter of the selector is 'auto'")
        self.figure_ = new_figure(figure)
        if figure is None:
            self.figure_.set_size_inches(5.5 * len(parts), 3.8)
            self.figure_.set_layout_engine("constrained")
        self.axes_ = list(np.atleast_1d(self.figure_.subplots(1, len(parts))))
        for ax, part in zip(self.axes_, parts, strict=True):
            if isinstance(part, PenaltyChoice):
                _draw_penalties(ax, part)
            else:
                _draw_orientations(ax, part)
            ax.set_title(plain(textwrap.fill(part.reason, 62)), fontsize="small", loc="left")
            tidy(ax)
        return self


def _draw_penalties(ax: Axes, choice: PenaltyChoice) -> None:
    shares = 100 * choice.shares
    here = int(np.searchsorted(choice.tried, choice.fraction))
    ax.axhline(100 * choice.target, color=MUTED, linewidth=1)
    ax.plot(choice.tried, shares, "o-", color=ACCENT)
    ax.plot(choice.tried[here], shares[here], "o", color="0.25", zorder=3)
    ax.annotate(
        f"lam = {choice.lam:.3g}\neta = {choice.eta:.3g}",
        (choice.tried[here], shares[here]),
        (7, 5),
        textcoords="offset points",
        color="0.25",
    )
    ax.set(xscale="log", ylim=(min(0, shares.min()), 1.1 * max(100, shares.max())))
    ax.set_xlabel("penalties, as a fraction of bounds of the critical values")
    ax.set_ylabel("explained, less the penalties\n(% of the common variance)")


def _draw_orientations(ax: Axes, choice: OrientationChoice) -> None:
    of_modes = choice.names
    names = [
        f"{mode if of_modes is None else of_modes.name(mode)}, {_name(transform)}"
        for mode, transform in choice.candidates
    ]
    colors = [ACCENT if i == choice.chosen else MUTED for i in range(len(names))]
    places = np.arange(len(names))
    ax.barh(places - 0.2, choice.neighbours_kept, 0.38, color=colors)
    ax.barh(places + 0.2, choice.neighbour_agreement, 0.38, color=colors, alpha=0.5)
    ax.set_yticks(places, [plain(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlabel("neighbours kept (dark), their agreement (light)")
    ax.set_ylabel("orientation, basis")


def _name(transform: Any) -> str:
    return transform if isinstance(transform, str) else "given"
