"""How long each stage of a job will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tensift.plotting._matplotlib import MUTED, PALETTE, new_axes, subdivide, tidy
from tensift.plotting._names import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tensift.plan import Estimate, Plan

__all__ = ["PlanDisplay"]

_STAGES = ("read", "transform", "moments", "merge", "solve", "select", "cluster")
_COLOURS = dict(zip(_STAGES, (*PALETTE, MUTED), strict=True))


class PlanDisplay:
    """Stacked bars of the stages, for every orientation and for growing numbers of workers.

    Bars of workers show the summed time of all workers. Without overhead, all bars would be as long
    as that of one worker. The elapsed time is written behind each bar.

    Parameters
    ----------
    orientations, workers : mapping of str to mapping
        The label of every bar, and the elapsed seconds of every stage.
    counts : sequence of int
        The number of workers of every bar of `workers`.
    chosen : tuple of str
        The labels of the bars that the user asked for, in bold.
    title : str
        The title of the figure.

    Attributes
    ----------
    ax_, workers_ax_ : matplotlib Axes
        The bars of orientations, and those of workers.
    figure_ : matplotlib Figure
        The figure that holds both.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from tensift.plan import example_pilot, plan_job
    >>> from tensift.plotting import PlanDisplay
    >>> plan = plan_job((64, 32), 1e6, pilot=example_pilot)
    >>> display = PlanDisplay.from_plan(plan, ax=Figure().subplots())
    >>> list(display.orientations)
    ['0 (q = 64)', '1 (q = 32)']
    """

    def __init__(
        self,
        orientations: Mapping[str, Mapping[str, float]],
        workers: Mapping[str, Mapping[str, float]],
        counts: Sequence[int],
        *,
        chosen: tuple[str, ...] = (),
        title: str = "",
    ) -> None:
        self.orientations = orientations
        self.workers = workers
        self.counts = counts
        self.chosen = chosen
        self.title = title

    @classmethod
    def from_plan(cls, plan: Plan, *, ax: Axes | None = None) -> PlanDisplay:
        """Draw a plan.

        Parameters
        ----------
        plan : Plan
            As `tensift.plan.plan_job` returns it.
        ax : matplotlib Axes, optional
            Where to draw; it is divided in two. By default in a new figure.

        Returns
        -------
        PlanDisplay
        """
        job, layout = plan.chosen.job, plan.chosen.layout
        display = cls(
            {_mode(each): _stages(each) for each in plan.orientations},
            {str(each.layout.workers): _stages(each) for each in plan.scaling},
            [each.layout.workers for each in plan.scaling],
            chosen=(_mode(plan.chosen), str(layout.workers)),
            title=f"{job.samples:.3g} samples of {' x '.join(map(str, job.shape))}, {job.solver}",
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> PlanDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; it is divided in two. By default in a new figure.

        Returns
        -------
        PlanDisplay
        """
        rows = len(self.orientations) + len(self.workers)
        from_user = new_axes(ax, (7.0, 1.6 + 0.32 * rows))
        self.figure_ = from_user.figure.figure
        heights = [len(self.orientations) + 1, len(self.workers) + 1]
        (self.ax_,), (self.workers_ax_,) = subdivide(from_user, 2, 1, height_ratios=heights)
        self._bars(self.ax_, self.orientations, [1] * len(self.orientations))
        self.ax_.set_ylabel("orientation")
        self.ax_.set_title(plain(self.title), loc="left", fontsize=10)
        self._bars(self.workers_ax_, self.workers, self.counts)
        self.workers_ax_.set_ylabel("workers")
        self.workers_ax_.set_xlabel("time of all workers together")
        handles, labels = self.ax_.get_legend_handles_labels()
        self.figure_.legend(
            handles, labels, ncols=len(labels), loc="outside lower center", frameon=False,
            fontsize=8, handlelength=1, columnspacing=1,
        )  # fmt: skip
        return self

    def _bars(
        self, ax: Axes, bars: Mapping[str, Mapping[str, float]], counts: Sequence[int]
    ) -> None:
        from tensift.plan import format_seconds

        totals = [sum(stages.values()) for stages in bars.values()]
        lengths = [total * count for total, count in zip(totals, counts, strict=True)]
        unit, name = _unit(max(lengths, default=1.0))
        ends = [0.0] * len(bars)
        for stage in _STAGES:
            values = [
                stages.get(stage, 0.0) * count / unit
                for stages, count in zip(bars.values(), counts, strict=True)
            ]
            ax.barh(range(len(bars)), values, left=ends, color=_COLOURS[stage], label=stage)
            ends = [end + value for end, value in zip(ends, values, strict=True)]
        for row, (end, total) in enumerate(zip(ends, totals, strict=True)):
            ax.annotate(
                format_seconds(total), (end, row), xytext=(4, 0), textcoords="offset points",
                va="center", fontsize=8,
            )  # fmt: skip
        ax.set_yticks(range(len(bars)), [plain(name) for name in bars])
        for name, label in zip(bars, ax.get_yticklabels(), strict=True):
            if name in self.chosen:
                label.set_fontweight("bold")
        ax.invert_yaxis()
        ax.set_xlim(0, 1.18 * max(ends, default=1.0) or 1.0)
        ax.xaxis.set_major_formatter(f"{{x:g}} {name}")
        tidy(ax)


def _mode(each: Estimate) -> str:
    name = "" if each.job.names is None else f"{each.job.names.name(each.job.orientation)}, "
    return f"{each.job.orientation} ({name}q = {each.job.q})"


def _stages(each: Estimate) -> dict[str, float]:
    """Return the seconds of every stage; reading counts as far as nothing else is done then."""
    seconds = {stage.name: stage.seconds for stage in each.stages}
    seconds["read"] -= each.overlap
    return seconds


def _unit(seconds: float) -> tuple[float, str]:
    units: list[tuple[float, str]] = [(86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s")]
    return next(((size, name) for size, name in units if seconds >= 2 * size), (1e-3, "ms"))
