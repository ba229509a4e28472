"""The selected features, marked on a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.namespace import is_device_array, to_numpy
from tensift.labels import Names
from tensift.plotting._fitted import FittedSelection, plain_samples
from tensift.plotting._limit_marks import mark_image
from tensift.plotting._matplotlib import ACCENT, MUTED, new_axes, tidy
from tensift.plotting._names import MOST_NAMED_TICKS, names_for, plain, set_ticks
from tensift.plotting._panels import Panels, figure_size
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SelectedFeaturesDisplay"]

_OUTLINED_UP_TO = 64  # cells per side; in larger images, outlines would hide the cells
_TINT = 0.6


class SelectedFeaturesDisplay:
    """A sample with its selected features marked.

    Element features are marked on the sample: cells of an image tinted and outlined, points of a
    vector dotted. Mode features (channels) are traces, the kept ones coloured, the others grey.

    Parameters
    ----------
    sample : array-like of shape (d_1, ..., d_m)
        One sample. If it is complex, the modulus is drawn.
    support : array-like of bool, of the shape of the sample or (d_k,)
        The selected elements, or the selected indices along ``feature_mode``.
    feature_mode : int, optional
        The mode whose indices are the features; by default every element is one.
    scores : array-like of the shape of support, optional
        If a sample has too many images, those with the highest scores are shown.
    included, excluded : array-like of bool, of the shape of support, optional
        Elements that constraints force in, which get a dot, or out, which are greyed. Traces of
        channels are not marked.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    ax_ : matplotlib Axes, or ndarray of Axes for element features of three or more modes
        Where the sample was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import STPCASelector
    >>> from tensift.datasets import make_orbit
    >>> from tensift.plotting import SelectedFeaturesDisplay
    >>> X = make_orbit(random_state=0).data
    >>> selector = STPCASelector(n_features_to_select=3, feature_mode=0).fit(X)
    >>> display = SelectedFeaturesDisplay.from_estimator(selector, X, ax=Figure().subplots())
    >>> len(display.ax_.lines)
    9
    """

    def __init__(
        self,
        sample: ArrayLike,
        support: ArrayLike,
        *,
        feature_mode: int | None = None,
        scores: ArrayLike | None = None,
        included: ArrayLike | None = None,
        excluded: ArrayLike | None = None,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.sample = np.asarray(sample)
        self.support = np.asarray(support, dtype=bool)
        self.feature_mode = feature_mode
        self.scores = self.support.astype(float) if scores is None else np.asarray(scores)
        none = np.zeros(self.support.shape, dtype=bool)
        self.included = none if included is None else np.asarray(included, dtype=bool)
        self.excluded = none if excluded is None else np.asarray(excluded, dtype=bool)
        self.names = names_for(self.sample.shape, names, dims, coords)

    @classmethod
    def from_estimator(
        cls,
        estimator: TensorSelector,
        X: ArrayLike,
        *,
        sample: int = 0,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> SelectedFeaturesDisplay:
        """Mark what a fitted selector keeps on one of the samples.

        Parameters
        ----------
        estimator : TensorSelector
            A fitted selector.
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples.
        sample : int, default=0
            Which of the samples to draw.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectedFeaturesDisplay
        """
        fitted = FittedSelection.of(estimator, dims, coords)
        X = plain_samples(estimator, X)
        samples: Any = X if hasattr(X, "shape") else np.asarray(X)
        if not -samples.shape[0] <= sample < samples.shape[0]:
            raise ValueError(f"sample={sample} is not one of the {samples.shape[0]} samples in X")
        one = to_numpy(samples[sample, ...]) if is_device_array(samples) else samples[sample]
        one = np.asarray(one)
        if one.size != np.prod(fitted.names.shape):
            raise ValueError(
                f"X has samples of shape {one.shape}, but the selector was fitted on samples of "
                f"shape {fitted.names.shape}"
            )
        return cls(
            one.reshape(fitted.names.shape),
            fitted.support,
            feature_mode=fitted.feature_mode,
            scores=fitted.scores,
            included=fitted.included,
            excluded=fitted.excluded,
            names=fitted.names,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> SelectedFeaturesDisplay:
        """Draw the sample and mark the selected features.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        SelectedFeaturesDisplay
        """
        names = self.names
        values = np.abs(self.sample) if np.iscomplexobj(self.sample) else self.sample
        by_element = self.feature_mode is None
        panels = Panels.choose(self.scores, names) if by_element and values.ndim > 1 else None
        ax = new_axes(ax, figure_size(panels))
        self.figure_ = ax.figure.figure
        self.ax_: Any = ax
        if panels is not None:
            self._plot_images(ax, values, panels)
        elif values.ndim == 1:
            self._plot_vector(values, names)
        else:
            self._plot_traces(values, names)
        return self

    def _plot_images(self, ax: Axes, values: NDArray, panels: Panels) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgb

        # Only light grey, because the tint is hard to see on dark grey.
        pale = LinearSegmentedColormap.from_list("pale", ["0.55", "1.0"])
        axes = panels.axes(ax)
        low, high = float(np.min(values)), float(np.max(values))
        parts = (values, self.support, self.included, self.excluded)
        drawn = zip(axes, *(panels.images(part) for part in parts), strict=True)
        for panel, image, mask, included, excluded in drawn:
            panel.imshow(
                image,
                cmap=pale,
                vmin=low,
                vmax=high,
                aspect=panels.aspect,
                interpolation="nearest",
            )
            tint = np.empty((*mask.shape, 4))
            tint[..., :3] = to_rgb(ACCENT)
            tint[..., 3] = _TINT * mask
            panel.imshow(tint, aspect=panels.aspect, interpolation="nearest")
            if max(mask.shape) <= _OUTLINED_UP_TO:
                _outline(panel, mask)
            mark_image(panel, included, excluded, panels.aspect)
        self.ax_ = axes[0] if panels.n_images == 1 else np.array(axes, dtype=object)

    def _plot_vector(self, values: NDArray, names: Names) -> None:
        positions = np.arange(values.size)
        self.ax_.plot(positions, values, color=MUTED, linewidth=1, zorder=1)
        kept = np.flatnonzero(self.support)
        self.ax_.scatter(kept, values[kept], s=14, color=ACCENT, zorder=2, label="kept")
        set_ticks(self.ax_.xaxis, names, 0)
        self.ax_.set_ylabel("value")
        tidy(self.ax_)

    def _plot_traces(self, values: NDArray, names: Names) -> None:
        """One trace per channel, stacked from the top, all on one scale."""
        mode = int(self.feature_mode or 0)
        others = [m for m in range(values.ndim) if m != mode]
        # A trace runs along the last other mode; the remaining modes are averaged.
        averaged = tuple(others[:-1])
        traces = values.mean(axis=averaged) if averaged else values
        traces = traces if mode < others[-1] else traces.T
        centred = traces - np.median(traces, axis=1, keepdims=True)
        step = 2.2 * float(np.percentile(np.abs(centred), 98)) or 1.0
        positions = np.arange(traces.shape[1])
        width = 1.4 if len(traces) <= 40 else 0.7
        for index, trace in enumerate(centred):
            kept = self.support[index]
            self.ax_.plot(
                positions,
                index - trace / step,
                color=ACCENT if kept else MUTED,
                linewidth=width,
                zorder=3 if kept else 2,
            )
        set_ticks(self.ax_.xaxis, names, others[-1])
        set_ticks(self.ax_.yaxis, names, mode, most=MOST_NAMED_TICKS)
        if averaged:
            across = " and ".join(names.name(m) for m in averaged)
            self.ax_.set_xlabel(plain(f"{names.title(others[-1])} (mean over {across})"))
        self.ax_.set_ylim(len(traces) - 0.3, -0.7)
        self.ax_.margins(x=0)
        tidy(self.ax_)
        self.ax_.spines["left"].set_visible(False)
        self.ax_.tick_params(axis="y", length=0)


def _outline(ax: Axes, mask: NDArray[np.bool_]) -> None:
    """Draw the border between marked and other cells."""
    from matplotlib.collections import LineCollection

    framed = np.pad(mask, 1)
    upright = np.argwhere(framed[:, 1:] != framed[:, :-1])
    level = np.argwhere(framed[1:] != framed[:-1])
    segments = [[(c - 0.5, r - 1.5), (c - 0.5, r - 0.5)] for r, c in upright]
    segments += [[(c - 1.5, r - 0.5), (c - 0.5, r - 0.5)] for r, c in level]
    # Without clipping, lines along the image's edge keep their full width.
    ax.add_collection(
        LineCollection(segments, colors=ACCENT, linewidths=1.6, capstyle="round", clip_on=False)
    )
