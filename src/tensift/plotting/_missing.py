"""Where values are missing: which elements, and which samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tensift.labels import Names, unlabelled
from tensift.plotting._matplotlib import BLUE, new_axes, subdivide, tidy
from tensift.plotting._score_map import ScoreMapDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MissingDisplay"]

_RATIO = (3.0, 1.0)  # heights of the map and of the line of the samples


class MissingDisplay:
    """The share of samples that lack each element, and the share of elements each sample lacks.

    Parameters
    ----------
    elements : array-like of shape (d_1, ..., d_m)
        For every element, the share of the samples that lack it.
    samples : array-like of shape (n,), optional
        For every sample, the share of its elements that are missing.
    names : tensift.labels.Names, optional
        The names of the modes; then leave out `dims` and `coords`.
    dims : sequence of str, optional
        The names of the modes.
    coords : mapping of str to array-like, optional
        The names along a mode, by the mode's name.

    Attributes
    ----------
    ax_ : matplotlib Axes, or ndarray of Axes for three or more modes
        The map of the elements.
    samples_ax_ : matplotlib Axes or None
        The line of the samples.
    figure_ : matplotlib Figure
        The figure that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from tensift.plotting import MissingDisplay
    >>> X = np.ones((10, 4, 5))
    >>> X[:5, 2] = np.nan
    >>> display = MissingDisplay.from_samples(X, ax=Figure().subplots())
    >>> float(display.elements[2, 0]), float(display.samples[0])
    (0.5, 0.25)
    """

    def __init__(
        self,
        elements: ArrayLike,
        samples: ArrayLike | None = None,
        *,
        names: Names | None = None,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
    ) -> None:
        self.elements = np.asarray(elements, dtype=float)
        self.samples = None if samples is None else np.asarray(samples, dtype=float)
        self.names = names
        self.dims = dims
        self.coords = coords

    @classmethod
    def from_samples(
        cls,
        X: ArrayLike,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> MissingDisplay:
        """Draw what is missing in samples in memory.

        Parameters
        ----------
        X : array-like of shape (n, d_1, ..., d_m)
            Samples; NaN stands for a value that is missing.
        dims : sequence of str, optional
            The names of the modes of a sample.
        coords : mapping of str to array-like, optional
            The names along a mode, by the mode's name.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        MissingDisplay
        """
        missing = np.isnan(np.asarray(unlabelled(X).samples))
        if missing.ndim < 2 or not missing.size:
            raise ValueError(f"X has shape {missing.shape}; samples go along the first axis")
        within = tuple(range(1, missing.ndim))
        display = cls(missing.mean(axis=0), missing.mean(axis=within), dims=dims, coords=coords)
        return display.plot(ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        dims: Sequence[str] | None = None,
        coords: Mapping[str, Any] | None = None,
        ax: Axes | None = None,
    ) -> MissingDisplay:
        """Draw what was missing in the samples of an estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted with ``missing="allow"``.
        dims, coords, ax
            As in `from_samples`. The samples may have had names, which are the default.

        Returns
        -------
        MissingDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "missing_"):
            raise ValueError(
                f"{type(estimator).__name__} does not know what was missing; fit it with "
                "missing='allow'"
            )
        found, names = estimator.missing_, estimator.names_
        shares = 1 - found.observed / found.n_samples
        if dims is None and coords is None:
            return cls(shares, names=names).plot(ax)
        return cls(shares, dims=dims, coords=coords).plot(ax)

    def plot(self, ax: Axes | None = None) -> MissingDisplay:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        MissingDisplay
        """
        ax = new_axes(ax, (6.0, 5.0))
        self.figure_ = ax.figure.figure
        self.samples_ax_ = None
        if self.samples is not None:
            ax, self.samples_ax_ = subdivide(ax, 2, 1, _RATIO)[:, 0]
            self.samples_ax_.plot(self.samples, color=BLUE, linewidth=1, drawstyle="steps-mid")
            self.samples_ax_.set(xlabel="sample", ylabel="share missing", ylim=(0, 1.02))
            tidy(self.samples_ax_)
        drawn = ScoreMapDisplay(
            self.elements,
            names=self.names,
            dims=self.dims,
            coords=self.coords,
            quantity="share missing",
        ).plot(ax)
        self.ax_ = drawn.ax_
        return self
