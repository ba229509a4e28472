"""Samples and their reconstructions from a decomposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensift.plotting._fitted_decomposition import FittedDecomposition, in_percent, take_samples
from tensift.plotting._matplotlib import new_figure
from tensift.plotting._montage import DIFFERENCES, Montage
from tensift.plotting._names import ModeNames, plain

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
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    errors_ : ndarray of shape (n,)
        The error of each sample.
    axes_ : ndarray of matplotlib Axes, shape (n, 3)
        Where samples, reconstructions and differences were drawn.
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
    """

    def __init__(
        self,
        samples: ArrayLike,
        reconstructions: ArrayLike,
        *,
        mean: ArrayLike | None = None,
        titles: Sequence[str] | None = None,
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
        self.dims = dims
        self.coords = coords
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
        """Draw samples and their reconstructions from a fitted decomposition.

        Parameters
        ----------
        estimator : TensorPCA or SparseTensorPCA
            A fitted decomposition.
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
        fitted = FittedDecomposition.of(estimator, dims, coords)
        if samples is None:
            samples = range(min(_FIRST, len(X)))  # type: ignore[arg-type]
        chosen = take_samples(X, samples)
        coordinates = np.asarray(estimator.transform(chosen))
        restored = np.asarray(estimator.inverse_transform(coordinates))
        shape = (len(chosen), *fitted.names.shape)
        return cls(
            np.asarray(chosen).reshape(shape),
            restored.reshape(shape),
            mean=np.asarray(estimator.mean_).reshape(fitted.names.shape),
            titles=[f"sample {number}" for number in samples],
            dims=dims,
            coords=coords,
        ).plot(figure)

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
        montage = Montage.choose(ModeNames(self.samples.shape[1:], self.dims, self.coords))
        figure.set_layout_engine("constrained", w_pad=0.05, h_pad=0.05)
        rows = len(self.samples)
        cell = min(_WIDTH, (_TALLEST - 0.8) / (rows * montage.height))
        bar_width = 0.2 if montage.is_trace else 0.9
        figure.set_size_inches(3 * cell + 1.2 + bar_width, cell * montage.height * rows + 0.8)
        self.axes_: Any = figure.subplots(rows, 3, squeeze=False)
        drawn = self._draw_rows(montage)
        for ax, title in zip(
            self.axes_[0], ["sample", "reconstruction", "difference"], strict=True
        ):
            ax.set_title(title, fontsize="medium")
        corner = self.axes_[-1, 0]
        corner.set_xlabel(plain(montage.caption), fontsize="small", color="0.4", loc="left")
        if not montage.is_trace:
            bar = figure.colorbar(drawn, ax=list(self.axes_[:, 2]), shrink=0.8, pad=0.04)
            bar.outline.set_visible(False)
            bar.ax.tick_params(length=0)
        return self

    def _draw_rows(self, montage: Montage) -> Any:
        samples, restored = _real(self.samples), _real(self.reconstructions)
        differences = _real(self.samples - self.reconstructions)
        low = float(min(samples.min(), restored.min()))
        high = float(max(samples.max(), restored.max()))
        high = high if high > low else low + 1.0
        largest = float(np.abs(differences).max()) or 1.0
        drawn = None
        for row, axes in enumerate(self.axes_):
            montage.draw(axes[0], samples[row], low, high, "gray")
            montage.draw(axes[1], restored[row], low, high, "gray")
            axes[1].tick_params(labelleft=False)
            drawn = montage.draw(axes[2], differences[row], -largest, largest, DIFFERENCES)
            label = f"{plain(self.titles[row])}\nerror {in_percent(self.errors_[row])}"
            axes[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize="small")
            if montage.is_trace and row < len(self.axes_) - 1:
                for ax in axes:
                    ax.tick_params(labelbottom=False)
        return drawn


def _floating(values: ArrayLike) -> NDArray:
    """Convert to floats, because differences of small integers would wrap around."""
    array = np.asarray(values)
    return array.astype(float) if array.dtype.kind in "biu" else array


def _real(values: NDArray) -> NDArray:
    return np.abs(values) if np.iscomplexobj(values) else values


def _errors(samples: NDArray, restored: NDArray, mean: NDArray) -> NDArray[np.float64]:
    """The lost share of each sample's energy about the mean."""
    modes = tuple(range(1, samples.ndim))
    lost = np.sum(np.abs(samples - restored) ** 2, axis=modes)
    energy = np.sum(np.abs(samples - mean) ** 2, axis=modes)
    # A sample equal to the mean has no energy, so any error is infinitely large.
    beyond = np.where(lost > 0, np.inf, 0.0)
    return np.divide(lost, energy, out=beyond, where=energy > 0)
