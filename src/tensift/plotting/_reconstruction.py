"""Samples and their reconstructions, from a decomposition or from kept features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift._utils.namespace import to_numpy
from tensift.labels import Names
from tensift.plotting._fitted import FittedSelection, plain_samples
from tensift.plotting._fitted_decomposition import FittedDecomposition, in_percent, take_samples
from tensift.plotting._matplotlib import ACCENT, new_figure
from tensift.plotting._montage import DIFFERENCES, Montage
from tensift.plotting._names import names_for, plain
from tensift.plotting._reconstruction_lines import Lines
from tensift.selection import TensorSelector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ReconstructionDisplay"]

_FIRST = 4  # the default number of samples
_WIDTH = 1.8  # inches
_TALLEST = 10.0


class ReconstructionDisplay:
    """Samples, their reconstructions and the differences, one row per sample.

    The error of a sample is the share of its energy about the mean that is lost,
    ``||x - r||**2 / ||x - mean||**2`` for a reconstruction ``r``. All samples and reconstructions
    share one scale, and all differences another, on which zero is white.

    For a selector, the kept features are marked, and a fourth column shows the deviations of the
    estimates, on the scale of the differences. Samples of one mode and mode features of two modes
    are lines instead: the sample, its estimate and a band in which 90 % of true values lie.

    Parameters
    ----------
    samples : array-like of shape (n, d_1, ..., d_m)
        The samples. If they are complex, moduli are drawn.
    reconstructions : array-like of the same shape
        The reconstructions.
    mean : array-like of shape (d_1, ..., d_m), optional
        The mean that reconstructions add to; by default zero.
    titles : sequence of str, optional
        A name for each sample; by default its number.
    deviations : array-like of the shape of samples, optional
        The standard deviations of reconstructions.
    support : array-like of bool, of the shape of one sample, optional
        The elements that were kept.
    feature_mode : int, optional
        The mode whose indices are features, which are lines if there is one other mode.
    names : Names, optional
        The names of the modes, with coordinates and units, as fitted estimators keep them
        (``names_``).
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    errors_ : ndarray of shape (n,)
        The error of each sample.
    axes_ : ndarray of matplotlib Axes, shape (n, 3), (n, 4) or (n, 1)
        Where samples, reconstructions, differences and deviations were drawn, or the lines.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift import TensorPCA
    >>> from tensift.datasets import load_digits
    >>> from tensift.plotting import ReconstructionDisplay
    >>> X = load_digits().data
    >>> pca = TensorPCA(n_components=4, basis="dct").fit(X)
    >>> display = ReconstructionDisplay.from_estimator(pca, X, samples=[0, 1], figure=Figure())
    >>> display.errors_.round(3)
    array([0.113, 0.132])

    From 12 of 64 pixels:

    >>> from tensift import GeometrySelector
    >>> selector = GeometrySelector(n_features_to_select=12).fit(X[:1000])
    >>> display = ReconstructionDisplay.from_estimator(selector, X[1000:], figure=Figure())
    >>> display.axes_.shape
    (4, 4)
    """

    def __init__(
        self,
        samples: ArrayLike,
        reconstructions: ArrayLike,
        *,
        mean: ArrayLike | None = None,
        titles: Sequence[str] | None = None,
        deviations: ArrayLike | None = None,
        support: ArrayLike | None = None,
        feature_mode: int | None = None,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.samples = _floating(samples)
        self.reconstructions = _floating(reconstructions)
        if self.samples.ndim < 2 or not len(self.samples):
            raise ValueError(
                "samples must be one or more samples, an array of shape (n, d_1, ..., d_m); got "
                f"shape {self.samples.shape}"
            )
        if self.reconstructions.shape != self.samples.shape:
            raise ValueError(
                f"reconstructions has shape {self.reconstructions.shape}, but samples has shape "
                f"{self.samples.shape}; they must be the same"
            )
        self.mean = np.zeros(self.samples.shape[1:]) if mean is None else np.asarray(mean)
        if self.mean.shape != self.samples.shape[1:]:
            raise ValueError(
                f"mean has shape {self.mean.shape}, but samples have shape "
                f"{self.samples.shape[1:]}; they must be the same"
            )
        numbered = [f"sample {number}" for number in range(len(self.samples))]
        self.titles = numbered if titles is None else list(titles)
        if len(self.titles) != len(self.samples):
            raise ValueError(
                f"titles has {len(self.titles)} entries for {len(self.samples)} samples"
            )
        self.deviations = None if deviations is None else np.asarray(deviations, dtype=float)
        if self.deviations is not None and self.deviations.shape != self.samples.shape:
            raise ValueError(
                f"deviations has shape {self.deviations.shape}, but samples has shape "
                f"{self.samples.shape}; they must be the same"
            )
        self.support = None if support is None else np.asarray(support, dtype=bool)
        if self.support is not None and self.support.shape != self.samples.shape[1:]:
            raise ValueError(
                f"support has shape {self.support.shape}, but samples have shape "
                f"{self.samples.shape[1:]}; they must be the same"
            )
        self.feature_mode = feature_mode
        self.names = names_for(self.samples.shape[1:], names, dims, coords)
        self.errors_ = _errors(self.samples, self.reconstructions, self.mean)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        samples: Sequence[int] | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        figure: Figure | None = None,
    ) -> ReconstructionDisplay:
        """Draw samples and their reconstructions from a fitted decomposition or selector.

        Parameters
        ----------
        estimator : TensorPCA, SparseTensorPCA or TensorSelector
            A fitted decomposition, or a fitted selector.
        X : array-like of shape (n, d_1, ..., d_m), or (n, d) for rows
            Samples.
        samples : sequence of int, optional
            Which of them to draw; by default the first four.
        dims, coords
            As in the class.
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReconstructionDisplay
        """
        of_selector = isinstance(estimator, TensorSelector)
        fitted = (FittedSelection if of_selector else FittedDecomposition).of(
            estimator, dims, coords
        )
        rows: Any = to_numpy(plain_samples(estimator, X))
        if samples is None:
            samples = range(min(_FIRST, len(rows)))
        if isinstance(fitted, FittedSelection):
            return cls._of_selector(estimator, fitted, rows, samples).plot(figure)
        chosen = take_samples(rows, samples)
        coordinates = np.asarray(estimator.transform(chosen))
        restored = np.asarray(estimator.inverse_transform(coordinates))
        shape = (len(chosen), *fitted.names.shape)
        return cls(
            np.asarray(chosen).reshape(shape),
            restored.reshape(shape),
            mean=np.asarray(estimator.mean_).reshape(fitted.names.shape),
            titles=[f"sample {number}" for number in samples],
            names=fitted.names,
        ).plot(figure)

    @classmethod
    def _of_selector(
        cls,
        estimator: TensorSelector,
        fitted: FittedSelection,
        X: Any,
        samples: Sequence[int],
    ) -> ReconstructionDisplay:
        on_host = _returning_arrays(estimator.to_numpy())
        chosen = take_samples(X, samples)
        restored, deviations = on_host.reconstruct(on_host.transform(chosen), return_std=True)
        shape = (len(chosen), *fitted.names.shape)
        support = fitted.support
        if fitted.feature_mode is not None:
            others = [1] * len(fitted.names.shape)
            others[fitted.feature_mode] = -1
            support = np.broadcast_to(support.reshape(others), fitted.names.shape)
        return cls(
            np.asarray(chosen).reshape(shape),
            restored.reshape(shape),
            mean=on_host._learned_estimate(None).mean.reshape(fitted.names.shape),
            titles=[f"sample {number}" for number in samples],
            deviations=deviations.reshape(shape),
            support=support,
            feature_mode=fitted.feature_mode,
            names=fitted.names,
        )

    def plot(self, figure: Figure | None = None) -> ReconstructionDisplay:
        """Draw the rows.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty figure to draw in, which gets the size it needs; by default a new one.

        Returns
        -------
        ReconstructionDisplay
        """
        self.figure_ = figure = new_figure(figure)
        names = self.names
        figure.set_layout_engine("constrained", w_pad=0.05, h_pad=0.05)
        if self.deviations is not None and Lines.fit(names, self.feature_mode):
            lines = Lines(names, self.feature_mode, self.support)
            labels = [self._label(row) for row in range(len(self.samples))]
            values = _real(self.samples), _real(self.reconstructions), self.deviations
            self.axes_: Any = lines.draw(figure, labels, *values)
            return self
        montage = Montage.choose(names)
        rows = len(self.samples)
        titles = ["sample", "reconstruction", "difference"]
        titles += ["deviation"] * (self.deviations is not None)
        cell = min(_WIDTH, (_TALLEST - 0.8) / (rows * montage.height))
        bar_width = 0.2 if montage.is_trace else 0.9
        width = len(titles) * cell + 1.2 + bar_width
        figure.set_size_inches(width, cell * montage.height * rows + 0.8)
        self.axes_ = figure.subplots(rows, len(titles), squeeze=False)
        drawn = self._draw_rows(montage)
        for ax, title in zip(self.axes_[0], titles, strict=True):
            ax.set_title(title, fontsize="medium")
        corner = self.axes_[-1, 0]
        corner.set_xlabel(plain(montage.caption), fontsize="small", color="0.4", loc="left")
        if not montage.is_trace:
            bar = figure.colorbar(drawn, ax=list(self.axes_[:, -1]), shrink=0.8, pad=0.04)
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=0)
        return self

    def _draw_rows(self, montage: Montage) -> Any:
        samples, restored = _real(self.samples), _real(self.reconstructions)
        differences = _real(self.samples - self.reconstructions)
        both = np.concatenate([samples, restored])
        low, high = float(np.nanmin(both)), float(np.nanmax(both))  # NaN was not observed
        high = high if high > low else low + 1.0
        largest = float(np.abs(differences).max(initial=0, where=~np.isnan(differences)))
        if self.deviations is not None:
            known = ~np.isnan(self.deviations)
            largest = max(largest, float(self.deviations.max(initial=0, where=known)))
        largest = largest or 1.0
        drawn = None
        for row, axes in enumerate(self.axes_):
            montage.draw(axes[0], samples[row], low, high, "gray")
            montage.draw(axes[1], restored[row], low, high, "gray")
            axes[1].tick_params(labelleft=False)
            drawn = montage.draw(axes[2], differences[row], -largest, largest, DIFFERENCES)
            if self.deviations is not None:
                montage.draw(axes[3], self.deviations[row], -largest, largest, DIFFERENCES)
            if self.support is not None and not montage.is_trace:
                self._mark_kept(axes[0], montage)
            axes[0].set_ylabel(
                self._label(row), rotation=0, ha="right", va="center", fontsize="small"
            )
            if montage.is_trace and row < len(self.axes_) - 1:
                for ax in axes:
                    ax.tick_params(labelbottom=False)
        return drawn

    def _label(self, row: int) -> str:
        return f"{plain(self.titles[row])}\nerror {in_percent(self.errors_[row])}"

    def _mark_kept(self, ax: Any, montage: Montage) -> None:
        """Put a dot on every cell that was kept."""
        assert self.support is not None
        image = montage.image(self.support.astype(float))
        down, right = np.nonzero(np.nan_to_num(image))
        size = np.clip(1500 / max(image.shape) ** 2, 0.3, 14)
        ax.scatter(right, down, s=size, color=ACCENT, linewidths=0)


def _returning_arrays(selector: TensorSelector) -> TensorSelector:
    """Return a copy of a fitted selector whose `transform` returns arrays, not data frames."""
    other = copy(selector)
    other.__dict__.pop("_sklearn_output_config", None)  # which the copy would share
    return other.set_output(transform="default")


def _floating(values: ArrayLike) -> NDArray:
    """Convert to floats, because differences of small integers would wrap around."""
    array = np.asarray(values)
    return array.astype(float) if array.dtype.kind in "biu" else array


def _real(values: NDArray) -> NDArray:
    return np.abs(values) if np.iscomplexobj(values) else values


def _errors(samples: NDArray, restored: NDArray, mean: NDArray) -> NDArray[np.float64]:
    """The lost share of each sample's energy about the mean, of the values that were observed."""
    modes = tuple(range(1, samples.ndim))
    lost = np.nansum(np.abs(samples - restored) ** 2, axis=modes)
    energy = np.nansum(np.abs(samples - mean) ** 2, axis=modes)
    # A sample equal to the mean has no energy, so any error is infinitely large.
    beyond = np.where(lost > 0, np.inf, 0.0)
    return np.divide(lost, energy, out=beyond, where=energy > 0)
