"""How much each component explains, and how much the kept components explain together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.labels import Names
from tensift.plotting._fitted_decomposition import FittedDecomposition, in_percent
from tensift.plotting._matplotlib import ACCENT, BLUE, SCORE_MAP, new_axes, subdivide, tidy
from tensift.plotting._names import names_for, plain, set_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EnergyDisplay"]

_MOST_BARS = 60
_LOG_FROM = 50  # components
_DECADES = 6.0  # of energy that colours can show


class EnergyDisplay:
    """Energy of the components of a decomposition, and the sum of the kept ones.

    If `energy` is given, the first picture is a map of the energy of all components: one row per
    slice and one column per component, with a line behind the last kept component of each slice.
    The second picture shows the share of energy against the number of components for two rules:
    the same number from each slice, or the largest of all slices. A point shows the kept
    components.

    Without `energy`, the pictures show the shares of the kept components, their sum, and how many
    zeros their encoders have.

    Parameters
    ----------
    shares : array-like of shape (k,)
        The share of the energy that each kept component explains, in the order of coordinates.
    energy : array-like of shape (p, q), optional
        The energy of every component of every slice, in descending order in each.
    ranks : array-like of shape (d_1, ...), with p elements, optional
        How many components are kept in each slice; needed with ``energy``.
    sparsity : array-like of shape (k,), optional
        The share of zeros in the encoder of each kept component.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes across which slices are counted.
    coords : mapping of str to array-like, optional
        The names along such a mode, by the mode's name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The map of the energy (a curve if there is a single slice), or the shares.
    curve_ax_ : matplotlib Axes
        The cumulative share.
    sparsity_ax_ : matplotlib Axes or None
        The zeros.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import TensorPCA
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import EnergyDisplay
    >>> pca = TensorPCA(12, truncation="global", basis="dct").fit(load_digits().data)
    >>> display = EnergyDisplay.from_estimator(pca, ax=Figure().subplots())
    >>> [text.get_text() for text in display.curve_ax_.get_legend().get_texts()]
    ['largest first', 'as many of every slice', 'kept: 12 of 64, 52.7 %']
    """

    def __init__(
        self,
        shares: ArrayLike,
        *,
        energy: ArrayLike | None = None,
        ranks: ArrayLike | None = None,
        sparsity: ArrayLike | None = None,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.shares = np.asarray(shares, dtype=float)
        self.energy = None if energy is None else np.asarray(energy, dtype=float)
        self.ranks = None if ranks is None else np.asarray(ranks)
        self.sparsity = None if sparsity is None else np.asarray(sparsity, dtype=float)
        self._given = names, dims, coords
        if (self.energy is None) != (self.ranks is None):
            raise ValueError("give both energy and ranks, or neither")
        if (
            self.energy is not None
            and self.ranks is not None
            and (self.energy.ndim != 2 or self.ranks.size != len(self.energy))
        ):
            raise ValueError(
                f"energy has shape {self.energy.shape} and ranks {self.ranks.shape}; energy must "
                "be (p, q) for the p slices that ranks has"
            )
        if self.sparsity is not None and self.sparsity.shape != self.shares.shape:
            raise ValueError(
                f"sparsity has shape {self.sparsity.shape}, but shares has {self.shares.shape}; "
                "each kept component needs one of both"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> EnergyDisplay:
        """Draw the energy of a fitted decomposition.

        Where a sparse decomposition has its zeros in the original domain while a transform mixes
        the slices, the zeros of a component are those of all encoder columns with its number.

        Parameters
        ----------
        estimator : TensorPCA or SparseTensorPCA
            A fitted decomposition.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            The names along a mode, by the mode's name. They name slices where no transform acts
            along the mode.
        ax : matplotlib Axes, optional
            Where to draw; it is divided. By default in a new figure.

        Returns
        -------
        EnergyDisplay
        """
        fitted = FittedDecomposition.of(estimator, dims, coords)
        names = fitted.slice_names
        return cls(
            fitted.shares,
            energy=getattr(estimator, "energy_", None),
            ranks=getattr(estimator, "ranks_", None),
            sparsity=_sparsity_of_components(estimator, fitted),
            names=names,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> EnergyDisplay:
        """Draw energies and their sums.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; it is divided. By default in a new figure.

        Returns
        -------
        EnergyDisplay
        """
        self.sparsity_ax_: Axes | None = None
        if self.energy is not None and self.ranks is not None:
            from_user = new_axes(ax, (9.5, 4.0))
            self.figure_ = from_user.figure.figure
            ((self.ax_, self.curve_ax_),) = subdivide(from_user, 1, 2)
            if len(self.energy) > 1:
                self._plot_map(self.energy, self.ranks)
            else:
                self._plot_single_slice(self.energy[0], int(self.ranks.item()))
            self._plot_truncations(self.energy, self.ranks)
            return self
        rows = 2 if self.sparsity is None else 3
        from_user = new_axes(ax, (5.5, 1.9 * rows))
        self.figure_ = from_user.figure.figure
        axes = subdivide(from_user, rows, 1).ravel()
        self.ax_, self.curve_ax_ = axes[:2]
        self._plot_component_values(self.ax_, 100 * self.shares, "energy (%)")
        self._plot_component_values(self.curve_ax_, 100 * np.cumsum(self.shares), "cumulative (%)")
        if self.sparsity is not None:
            self.sparsity_ax_ = axes[2]
            self._plot_component_values(axes[2], 100 * self.sparsity, "zeros (%)")
            axes[2].set_ylim(0, 105)
        for upper in axes[:-1]:
            upper.tick_params(labelbottom=False)
        axes[-1].set_xlabel("coordinate")
        axes[-1].figure.align_ylabels(list(axes))
        return self

    # All components

    def _plot_map(self, energy: NDArray, ranks: NDArray) -> None:
        from matplotlib import patheffects
        from matplotlib.colors import LogNorm
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

        percent = 100 * energy / (energy.sum() or 1.0)
        top = float(percent.max()) or 1.0
        lowest = top * 10**-_DECADES
        shown = percent[percent > lowest]
        bottom = float(shown.min()) if shown.size else lowest
        drawn = self.ax_.imshow(
            np.maximum(percent, bottom),
            cmap=SCORE_MAP,
            norm=LogNorm(bottom if bottom < top else top / 10, top),
            aspect="auto",
            interpolation="nearest",
        )
        # A line behind the last kept component, from the upper to the lower edge of each slice.
        behind = np.repeat(ranks.ravel() - 0.5, 2)
        edges = np.repeat(np.arange(len(energy) + 1) - 0.5, 2)[1:-1]
        self.ax_.plot(
            behind,
            edges,
            color=ACCENT,
            linewidth=1.8,
            solid_joinstyle="miter",
            path_effects=[
                patheffects.withStroke(linewidth=3.6, foreground="white"),
            ],
            clip_on=False,
        )
        self.ax_.set(xlim=(-0.5, energy.shape[1] - 0.5), ylim=(len(energy) - 0.5, -0.5))
        self._name_slices(ranks.shape)
        self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        self.ax_.set_xlabel("component of the slice")
        self.ax_.set_title(
            "share of energy (%), kept left of the line",
            fontsize="medium",
            loc="left",
            color="0.25",
        )
        self.ax_.spines[:].set_visible(False)
        self.ax_.tick_params(length=0)
        bar = self.ax_.figure.colorbar(drawn, ax=self.ax_, pad=0.03)
        bar.outline.set_visible(False)
        # If the bar spans few decades, powers of ten alone would leave it without numbers.
        few = top < 1000 * bottom
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))

    def _name_slices(self, shape: tuple[int, ...]) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        names = names_for(shape, *self._given)
        if len(shape) == 1:
            set_ticks(self.ax_.yaxis, names, 0)
            return

        def name(position: float, _: Any = None) -> str:
            if position != round(position) or not 0 <= position < np.prod(shape):
                return ""
            index = np.unravel_index(round(position), shape)
            return plain(", ".join(names.label(mode, int(i)) for mode, i in enumerate(index)))

        self.ax_.yaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        self.ax_.yaxis.set_major_formatter(FuncFormatter(name))
        self.ax_.set_ylabel(plain(", ".join(names.title(mode) for mode in range(len(shape)))))

    def _plot_single_slice(self, energy: NDArray, rank: int) -> None:
        from matplotlib.ticker import MaxNLocator

        percent = 100 * energy / (energy.sum() or 1.0)
        numbers = np.arange(len(energy))
        # A log axis cannot show zero, so values are drawn at the last visible decade or above.
        bottom = (float(percent.max()) or 1.0) * 10**-_DECADES
        visible = percent > bottom
        self.ax_.plot(numbers[visible], percent[visible], color=BLUE, linewidth=1)
        kept = visible & (numbers < rank)
        self.ax_.scatter(numbers[kept], percent[kept], color=ACCENT, s=16, zorder=3, label="kept")
        self.ax_.set_yscale("log")
        self.ax_.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        self.ax_.set_xlabel("component")
        self.ax_.set_ylabel("share of energy (%)")
        self.ax_.legend(frameon=False, loc="upper right")
        tidy(self.ax_)

    def _plot_truncations(self, energy: NDArray, ranks: NDArray) -> None:
        from matplotlib.ticker import FuncFormatter

        n_slices, size = energy.shape
        total = energy.sum() or 1.0
        anywhere = 100 * np.cumsum(np.sort(energy, axis=None)[::-1]) / total
        by_slice = 100 * np.cumsum(energy.sum(axis=0)) / total
        ax = self.curve_ax_
        counts = np.arange(1, energy.size + 1)
        ax.plot(counts, anywhere, color=BLUE, linewidth=1.6, label="largest first")
        if n_slices > 1:
            ax.plot(
                n_slices * np.arange(1, size + 1),
                by_slice,
                color="0.35",
                linewidth=1.2,
                linestyle=(0, (4, 2)),
                marker="." if size <= _LOG_FROM else "",
                label="as many of every slice",
            )
        kept = np.arange(size) < ranks.reshape(-1, 1)
        n_kept, share = int(ranks.sum()), float(energy[kept].sum() / total)
        ax.plot(
            [n_kept],
            [100 * share],
            "o",
            color=ACCENT,
            markeredgecolor="white",
            markersize=9,
            zorder=4,
            label=f"kept: {n_kept} of {energy.size}, {in_percent(share)}",
        )
        if energy.size > _LOG_FROM:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_ylim(0, 104)
        ax.set_xlabel("components")
        ax.set_ylabel("share of energy (%)")
        ax.legend(frameon=False, loc="best")
        tidy(ax)

    # Kept components

    def _plot_component_values(self, ax: Axes, values: NDArray, label: str) -> None:
        from matplotlib.ticker import MaxNLocator

        positions = np.arange(values.size)
        if values.size <= _MOST_BARS:
            ax.bar(positions, values, width=0.8, color=BLUE)
        else:
            ax.stairs(values, np.arange(values.size + 1) - 0.5, fill=True, color=BLUE)
        ax.set_xlim(-0.6, max(values.size, 1) - 0.4)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.set_ylabel(label)
        tidy(ax)


def _sparsity_of_components(
    estimator: Any, fitted: FittedDecomposition
) -> NDArray[np.float64] | None:
    """The share of zeros in the encoder of every coordinate; None if it is not sparse."""
    if not hasattr(estimator, "sparsity_"):
        return None
    if np.array_equal(estimator.sparse_encoder_, estimator.encoder_):
        return estimator.sparsity_[fitted.slices, fitted.numbers]
    # The zeros are in another domain than the slices, so slices have no own share of zeros.
    return estimator.sparsity_.mean(axis=0)[fitted.numbers]
