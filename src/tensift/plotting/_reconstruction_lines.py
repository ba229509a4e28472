"""Samples, their estimates and error bands as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensift.labels import Names
from tensift.plotting._matplotlib import ACCENT, BLUE, tidy
from tensift.plotting._names import plain, set_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Lines"]

_BAND = 1.645  # deviations: 90 % of a normal distribution
_TRUTH = "0.25"
_TALLEST, _WIDTH = 10.0, 6.5  # inches
_MOST = 16  # lines of a sample


@dataclass(frozen=True)
class Lines:
    """How samples are drawn as lines: one for a sample, or one for every index of a mode.

    If a mode has more indices than fit, those are shown that are estimated worst.
    """

    names: Names
    feature_mode: int | None
    support: NDArray[np.bool_] | None

    @staticmethod
    def fit(names: Names, feature_mode: int | None) -> bool:
        """Whether samples of this kind are lines."""
        n_modes = len(names.shape)
        return n_modes == 1 or (n_modes == 2 and feature_mode is not None)

    def draw(
        self,
        figure: Figure,
        labels: Sequence[str],
        samples: NDArray,
        estimates: NDArray,
        deviations: NDArray,
    ) -> NDArray[Any]:
        """Draw one panel per sample."""
        rows = len(samples)
        along = 0 if len(self.names.shape) == 1 else 1 - int(self.feature_mode or 0)
        parts = [self._by_line(one) for one in (samples, estimates, deviations)]
        shown = self._shown(*parts)
        height = min(1.1 + 0.34 * len(shown) if len(shown) > 1 else 1.7, _TALLEST / rows)
        figure.set_size_inches(_WIDTH, rows * height + 0.6)
        axes = figure.subplots(rows, 1, squeeze=False, sharex=True)
        kept = np.zeros(parts[0].shape[1:], dtype=bool)
        if self.support is not None:
            kept = self._by_line(self.support[None])[0]
        for ax, label, *lines in zip(axes[:, 0], labels, *parts, strict=True):
            self._draw_sample(ax, shown, kept, *lines)
            ax.set_title(label.replace("\n", ", "), fontsize="small", loc="left")
            tidy(ax)
        set_ticks(axes[-1, 0].xaxis, self.names, along)
        figure.legend(
            handles=self._legend(),
            loc="outside upper center",
            ncols=4,
            frameon=False,
            fontsize="small",
        )
        return axes

    def _by_line(self, values: NDArray) -> NDArray:
        """Return samples as ``(n, lines, points)``."""
        if values.ndim == 2:
            return values[:, None, :]
        return values if self.feature_mode == 0 else np.swapaxes(values, 1, 2)

    def _shown(self, samples: NDArray, estimates: NDArray, _: NDArray) -> NDArray[np.intp]:
        errors = np.sum(np.abs(samples - estimates) ** 2, axis=(0, 2))
        return np.sort(np.argsort(-errors, kind="stable")[:_MOST])

    def _draw_sample(
        self,
        ax: Axes,
        shown: NDArray[np.intp],
        kept: NDArray[np.bool_],
        sample: NDArray,
        estimate: NDArray,
        deviation: NDArray,
    ) -> None:
        several = len(sample) > 1
        middle = np.median(sample[shown], axis=1) if several else np.zeros(1)
        away = np.abs(sample[shown] - middle[:, None])
        # Apart enough for the lines, and mostly for their bands.
        widest = max(np.percentile(away, 98), _BAND * np.percentile(deviation[shown], 90))
        step = 2.4 * float(widest) or 1.0 if several else -1.0
        points = np.arange(sample.shape[1])
        for place, line in enumerate(shown):

            def at(values: NDArray, place: int = place, line: int = line) -> NDArray:
                return place - (values[line] - middle[place]) / step

            ax.plot(points, at(sample), color=_TRUTH, linewidth=1)
            if several and kept[line].all():
                ax.plot(points, at(sample), color=BLUE, linewidth=1.4)
                continue
            low, high = at(estimate - _BAND * deviation), at(estimate + _BAND * deviation)
            ax.fill_between(points, low, high, color=ACCENT, alpha=0.25, linewidth=0)
            ax.plot(points, at(estimate), color=ACCENT, linewidth=1)
            if not several:
                here = np.flatnonzero(kept[line])
                ax.plot(here, sample[line][here], "o", color=BLUE, markersize=4, zorder=3)
        ax.margins(x=0.01)
        if several:
            self._name_lines(ax, shown)

    def _name_lines(self, ax: Axes, shown: NDArray[np.intp]) -> None:
        mode = int(self.feature_mode or 0)
        title = self.names.title(mode)
        if len(shown) < self.names.shape[mode]:
            title += f"\n(worst {len(shown)} of {self.names.shape[mode]})"
        ax.set_ylabel(plain(title))
        labels = [plain(self.names.label(mode, int(index))) for index in shown]
        ax.set_yticks(range(len(shown)), labels, fontsize="small")
        ax.set_ylim(len(shown) - 0.2, -0.8)
        ax.tick_params(axis="y", length=0)

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        single = len(self.names.shape) == 1
        kept = Line2D([], [], color=BLUE, marker="o" if single else "", label="kept")
        kept.set_linestyle("" if single else "-")
        return [
            Line2D([], [], color=_TRUTH, label="sample"),
            kept,
            Line2D([], [], color=ACCENT, label="estimate"),
            Patch(color=ACCENT, alpha=0.25, label="90 % of true values"),
        ]
