"""Samples as points, by two coordinates of a decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.labels import Names
from tensift.plotting._fitted import plain_samples
from tensift.plotting._fitted_decomposition import FittedDecomposition, in_percent
from tensift.plotting._matplotlib import BLUE, MUTED, PALETTE, SCORE_MAP, new_axes, tidy
from tensift.plotting._montage import Montage
from tensift.plotting._names import in_legend, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ComponentMapDisplay"]

_MARKERS = ("o", "^", "s", "D")
_MOST_CLASSES = len(_MARKERS) * len(PALETTE)
_MOST_NUMBERS = 12  # so many different numbers are still classes, not a scale
_THUMBNAIL = 26.0  # points
_APART = 1.1  # the smallest distance of thumbnails, in their widths or heights


class ComponentMapDisplay:
    """Samples as points in the plane of two coordinates.

    Both axes have the same scale, so distances in the plane can be compared.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        The two coordinates of each sample.
    labels : array-like of shape (n,), optional
        Colours the points; their positions do not depend on it. Up to 12 different numbers,
        or 24 different names, are classes with a colour and a shape each; more numbers are a
        scale of colours.
    samples : array-like of shape (n, d_1, ..., d_m), optional
        The samples themselves, for thumbnails.
    axis_titles : pair of str, default=("coordinate 0", "coordinate 1")
        What the coordinates are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the points were drawn.
    thumbnails_ : ndarray of int
        The samples drawn as thumbnails.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import TensorPCA
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ComponentMapDisplay
    >>> digits = load_digits()
    >>> pca = TensorPCA(2, basis="dct").fit(digits)
    >>> display = ComponentMapDisplay.from_estimator(
    ...     pca, digits, labels=digits.labels, ax=Figure().subplots()
    ... )
    >>> display.ax_.get_xlabel()
    'coordinate 0: column (dct) 4, no. 0 (8.3 %)'
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        samples: ArrayLike | None = None,
        axis_titles: Sequence[str] = ("coordinate 0", "coordinate 1"),
    ) -> None:
        self.points = np.asarray(points)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise ValueError(f"points must have shape (n, 2), got {self.points.shape}")
        if np.iscomplexobj(self.points):
            raise ValueError("points are complex and cannot be drawn in a plane; pass real ones")
        self.labels = None if labels is None else _check_labels(labels, len(self.points))
        self.samples = None if samples is None else np.asarray(samples)
        if self.samples is not None and len(self.samples) != len(self.points):
            raise ValueError(
                f"samples has {len(self.samples)} entries for {len(self.points)} points"
            )
        self.axis_titles = tuple(axis_titles)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        coordinates: Sequence[int] = (0, 1),
        labels: ArrayLike | None = None,
        thumbnails: int = 0,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> ComponentMapDisplay:
        """Draw samples at their coordinates in a fitted decomposition.

        Axis labels give the slice of a coordinate, its number there and its share of the energy.

        Parameters
        ----------
        estimator : TensorPCA or SparseTensorPCA
            A fitted decomposition.
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples.
        coordinates : pair of int, default=(0, 1)
            Which columns of ``estimator.transform(X)`` go along the two axes.
        labels : array-like of shape (n,), optional
            As in the class.
        thumbnails : int, default=0
            Draw up to this many samples of two or more modes as small pictures, far apart.
        dims : sequence of str, optional
            Other names of the modes of a sample than those of the fitted samples.
        coords : mapping of str to array-like, optional
            Other names along a mode, by the mode's name.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ComponentMapDisplay
        """
        fitted = FittedDecomposition.of(estimator, dims, coords)
        shown = fitted.check_coordinates(coordinates)
        if len(shown) != 2:
            raise ValueError(f"coordinates must be two numbers, got {len(shown)}")
        X = plain_samples(estimator, X)
        points = np.asarray(estimator.transform(X))[:, shown]
        samples = None
        if thumbnails:
            samples = np.asarray(X).reshape(len(points), *fitted.names.shape)
        return cls(
            points,
            labels=labels,
            samples=samples,
            axis_titles=[
                f"coordinate {k}: {fitted.describe(k)} ({in_percent(fitted.shares[k])})"
                for k in shown
            ],
        ).plot(ax, thumbnails=thumbnails)

    def plot(self, ax: Axes | None = None, *, thumbnails: int = 0) -> ComponentMapDisplay:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        thumbnails : int, default=0
            Draw up to this many samples of two or more modes as small pictures, far apart.

        Returns
        -------
        ComponentMapDisplay
        """
        if thumbnails < 0:
            raise ValueError(f"thumbnails must be 0 or more, got {thumbnails}")
        if thumbnails and (self.samples is None or self.samples.ndim < 3):
            raise ValueError("thumbnails need samples of two or more modes")
        ax = new_axes(ax, (6.4, 5.2))
        self.ax_, self.figure_ = ax, ax.figure.figure
        self.thumbnails_ = np.zeros(0, dtype=np.intp)
        for draw_line in (ax.axhline, ax.axvline):
            draw_line(0, color="0.88", linewidth=0.8, zorder=0)
        colours = self._plot_points()
        ax.margins(0.08 if thumbnails else 0.04)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(plain(self.axis_titles[0]))
        ax.set_ylabel(plain(self.axis_titles[1]))
        tidy(ax)
        if thumbnails and self.samples is not None:
            self._plot_thumbnails(self.samples, thumbnails, colours)
        return self

    def _plot_points(self) -> list[Any]:
        """Draw all points; return the colour of each."""
        x, y = self.points.T
        # Many points overlap. Small and translucent ones show the density.
        size = float(np.clip(9000 / max(len(x), 1), 6, 26))
        style: dict[str, Any] = {"s": size, "linewidths": 0, "alpha": 0.8}
        if self.labels is None:
            self.ax_.scatter(x, y, color=BLUE, **style)
            return [MUTED] * len(x)
        classes, codes = np.unique(self.labels, return_inverse=True)
        if self.labels.dtype.kind in "iuf" and len(classes) > _MOST_NUMBERS:
            drawn = self.ax_.scatter(x, y, c=self.labels, cmap=SCORE_MAP, **{**style, "alpha": 1})
            bar = self.ax_.figure.colorbar(
                drawn, ax=self.ax_, label="label (only for colour)", pad=0.02
            )
            bar.outline.set_visible(False)
            return list(drawn.to_rgba(self.labels))
        looks = [(colour, marker) for marker in _MARKERS for colour in PALETTE]
        for code, name in enumerate(classes):
            colour, marker = looks[code]
            own = codes == code
            text = f"{name:g}" if self.labels.dtype.kind == "f" else str(name)
            label = in_legend(text)
            self.ax_.scatter(x[own], y[own], color=colour, marker=marker, label=label, **style)
        legend = self.ax_.legend(
            title="label (only for colour)",
            title_fontsize="small",
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
            handletextpad=0.2,
        )
        for handle in legend.legend_handles:
            if handle is not None:
                handle.set_alpha(1)
                handle.set_sizes([26])  # type: ignore[attr-defined]
        return [looks[code][0] for code in codes]

    def _plot_thumbnails(self, samples: NDArray, count: int, colours: list[Any]) -> None:
        from matplotlib.colors import Normalize
        from matplotlib.offsetbox import AnnotationBbox, OffsetImage

        values = np.abs(samples) if np.iscomplexobj(samples) else samples
        montage = Montage.choose(Names(samples.shape[1:]))
        first = montage.thumbnail(values[0])
        zoom = _THUMBNAIL / max(first.shape)
        width, height = zoom * first.shape[1] + 4, zoom * first.shape[0] + 4
        # The positions of points on the page are known only after the layout.
        self.figure_.draw_without_rendering()
        on_page = self.ax_.transData.transform(self.points) * 72 / self.figure_.dpi
        self.thumbnails_ = _far_apart(on_page / [width, height], count)
        norm = Normalize(float(values.min()), float(values.max()))
        for index in self.thumbnails_:
            image = OffsetImage(
                montage.thumbnail(values[index]),
                zoom=zoom,
                cmap="gray",
                norm=norm,
                interpolation="nearest",
            )
            self.ax_.add_artist(
                AnnotationBbox(
                    image,
                    tuple(self.points[index]),
                    pad=0.1,
                    bboxprops={"edgecolor": colours[index], "linewidth": 1.5},
                )
            )


def _check_labels(labels: ArrayLike, n_points: int) -> NDArray:
    """One label for each point, few enough to tell apart."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise ValueError(
            f"labels has shape {array.shape}, but there are {n_points} samples; give one label "
            "for each"
        )
    if array.dtype.kind == "O":
        array = array.astype(str)
    if array.dtype.kind not in "iuf" and len(np.unique(array)) > _MOST_CLASSES:
        raise ValueError(
            f"labels has {len(np.unique(array))} different names, and more than {_MOST_CLASSES} "
            "cannot be told apart; join some, or leave labels out"
        )
    return array


def _far_apart(points: NDArray, count: int) -> NDArray[np.intp]:
    """Up to `count` points, each the farthest from those before; their boxes do not overlap.

    Boxes that are apart along one axis do not overlap, so the larger of both distances counts.
    """
    centre = np.median(points, axis=0)
    chosen: list[int] = []
    nearest = np.abs(points - centre).max(axis=1)
    while len(chosen) < min(count, len(points)):
        index = int(np.argmax(nearest))
        if chosen and nearest[index] < _APART:
            break
        chosen.append(index)
        distance = np.abs(points - points[index]).max(axis=1)
        nearest = distance if len(chosen) == 1 else np.minimum(nearest, distance)
    return np.array(chosen, dtype=np.intp)
