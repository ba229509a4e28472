"""Run the library for a second or two on a few samples and slices, and time its parts."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from tensift.moments import GRAM_COPIES, collect_moments
from tensift.plan._job import Job
from tensift.plan._samples import PilotSamples
from tensift.selection import TensorSelector
from tensift.sources import Chunks, SampleWeights
from tensift.stpca import STPCASelector, stpca_path

__all__ = ["PilotRun", "SelectionRun"]

Clock = Callable[[], float]
Size = TypeVar("Size")

# Features of a slice in the first run; later runs double them. From 400 on the paper's solver may
# work with thin factors. So larger slices are not judged by such small ones.
_FIRST_SIZE, _FIRST_LARGE_SIZE, _SMALL = 128, 400, 256
_IN_PASSES = 64, 8  # features of a slice, and slices, in the run that counts passes
_MORE_SLICES = 4  # factor between the slices of two runs
_MOST_GRAM = 2**22  # elements of the Gram matrices of a run
_VALUES = 2**20  # values of a run, if there are as many
_ROWS_A_FEATURE = 4  # at least so many samples for each feature of a slice
_FEWEST_ROWS = 16
_GRID_SIDE = 5  # of the default grid of a path
_TRANSFORMED = 2**20  # values that are transformed for timing
_ADDED = 2**21  # numbers that are added for timing
_LARGEST_SHARE = 32  # a selection is first run with so many times fewer samples and features
_SHORT = 0.3  # seconds; selections up to this long are run again to see their memory
# Powers of the size by which times grow: least, usual, most. A step of a solver takes products and
# decompositions of q x q matrices. A selection takes products of n x d matrices, and n and d shrink
# together.
_GROWTH = {
    "product": (1.0, 1.5, 2.0),
    "solve": (2.0, 2.7, 3.0),
    "selection": (2.0, 2.5, 3.0),
}
_TINY = 1e-9  # seconds; the least time of anything


class PilotRun:
    """Times the parts of a fit that depend on orientation, basis and solver."""

    def __init__(self, job: Job, samples: PilotSamples, clock: Clock) -> None:
        self.job, self.samples, self.clock = job, samples, clock

    def measure(self, seconds: float) -> dict[str, Any]:
        """Return fields of a `Pilot`, measured in about `seconds`."""
        STPCASelector().fit(np.random.default_rng(0).normal(size=(32, 4, 3)))  # load everything
        q = self.job.q
        products: dict[float, float] = {}
        solves: dict[float, float] = {}
        largest: dict[str, int] = {}
        for size, slices in climbed(self.sizes(), _work_of_slices, seconds, self.clock):
            n_samples, on_moments, on_solving = self._fit_slices(size, slices)
            products[size] = on_moments / (n_samples * slices)
            solves[size] = on_solving / slices
            largest = {"samples": n_samples, "slices": slices, "size": size}
        solve, *solve_range = grown(solves, q, _GROWTH["solve"])
        rounds, in_passes = self._in_passes()
        return {
            "transform": self._seconds_per_transform(),
            "product": grown(products, q, _GROWTH["product"])[0],
            "solve": solve,
            "solve_range": tuple(solve_range),
            "solve_in_passes": max(solve, in_passes),
            "rounds": rounds,
            **largest,
        }

    def sizes(self) -> list[tuple[int, int]]:
        """Return features of a slice and slices of all runs: larger slices first, then more."""
        q, kept = self.job.q, self.job.kept
        sizes, size = [], min(q, _FIRST_SIZE if q <= _SMALL else _FIRST_LARGE_SIZE)
        while size < q:
            sizes.append((size, 1))
            size = min(2 * size, q)
            if self.n_samples(size, 1) < size and not self.job.thin:
                return sizes  # so few samples may be looked at that slices would be thin
        slices = 1
        sizes.append((q, slices))
        while slices < kept and _MORE_SLICES * slices * q**2 <= _MOST_GRAM:
            slices = min(_MORE_SLICES * slices, kept)
            sizes.append((q, slices))
        return sizes

    def n_samples(self, size: int, slices: int) -> int:
        """Return the number of samples of a run; thin slices stay as thin as they are."""
        n = self.job.samples
        if n < self.job.q:
            wanted = max(_FEWEST_ROWS, n * size // self.job.q)
        else:
            wanted = max(_ROWS_A_FEATURE * size, _VALUES // (size * slices))
        return min(n, wanted, self.samples.most(self.job))

    def _fit_slices(self, size: int, slices: int) -> tuple[int, float, float]:
        """Return the samples of a run, and seconds for moments and for solving."""
        X = self.samples.slices(self.job, self.n_samples(size, slices), size, slices)
        on_moments, moments = self._timed(lambda: collect_moments(X))
        solving, _ = self._timed(lambda: self._fit(moments, size * slices, len(X)))
        cells = self.job.cells or 1
        return len(X), on_moments, solving * cells / _side(cells) ** 2

    def _fit(self, X: Any, n_features: int, n_samples: int) -> None:
        """Fit as the job does, but select by scores alone: selections are timed elsewhere."""
        job = self.job
        scale = n_samples / job.samples  # the Gram matrices of fewer samples are smaller
        if job.cells is not None:
            grid = scale * np.logspace(-2, 2, _side(job.cells))
            stpca_path(X, grid, grid, solver=job.solver)
            return
        lam, eta = (one if isinstance(one, str) else scale * one for one in (job.lam, job.eta))
        wanted = job.share_selected if job.share_selected < 1 else n_features
        STPCASelector(wanted, selection="top", lam=lam, eta=eta, solver=job.solver).fit(X)

    def _in_passes(self) -> tuple[float, float]:
        """Return how often a fit in passes asks for a Gram matrix, and its seconds per slice.

        Some slices are fitted in so little memory that two passes are needed. Passes are counted.
        """
        if self.job.cells is not None or self.job.kept == 1:
            return 1.0, 0.0
        size, slices = min(self.job.q, _IN_PASSES[0]), min(self.job.kept, _IN_PASSES[1])
        X = self.samples.slices(self.job, self.n_samples(size, slices), size, slices)
        passes = 0

        def chunks() -> Iterator[NDArray]:
            nonlocal passes
            passes += 1
            yield X

        half = -(-slices // 2) * GRAM_COPIES * size**2 * self.job.number_bytes
        with config_context(working_memory=half / 2**20):
            taken, _ = self._timed(lambda: self._fit(Chunks(chunks), slices * size, len(X)))
        if self.job.q > _SMALL:  # which takes no longer in passes than at once
            return passes / 2, 0.0
        return passes / 2, grown({size: taken / slices}, self.job.q, _GROWTH["solve"])[0]

    def _seconds_per_transform(self) -> float:
        """Return the seconds per sample to transform it and to arrange it in slices."""
        job = self.job
        rows = self.samples.rows(max(2, min(job.samples, _TRANSFORMED // job.elements)))
        rows = rows.astype(float if job.real_data else complex)
        on_making, orientation = self._timed(lambda: job.make_orientation(rows))
        taken, _ = self._timed(lambda: orientation.to_slices(rows))
        if "eigen" in job.bases:  # which is made from all samples
            taken += on_making
        return taken / len(rows)

    def seconds_per_added_byte(self) -> float:
        """Return the seconds per byte when one array is added to another."""
        total, other = np.zeros(_ADDED), np.ones(_ADDED)
        total += other  # the system hands out memory on first use
        return self._timed(lambda: np.add(total, other, out=total))[0] / total.nbytes

    def _timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        return timed(work, self.clock)


class SelectionRun:
    """Times the selection among features that have scores, which looks at some samples.

    Samples and features shrink together, so that time and memory grow by a power of the size.
    """

    def __init__(self, job: Job, samples: PilotSamples, clock: Clock) -> None:
        self.job, self.samples, self.clock = job, samples, clock

    def measure(self, seconds: float) -> dict[str, Any]:
        """Return fields of a `Pilot`, measured in about `seconds`."""
        if not self.job.selects:
            return {"selection": 0.0, "selection_range": (0.0, 0.0), "selection_memory": 0.0}
        times: dict[float, float] = {}
        for share in climbed(self.shares(), lambda share: share**3, seconds, self.clock):
            X = self._rows(share)
            times[share], _ = timed(lambda: self._select(X), self.clock)  # noqa: B023
        selection, *selection_range = grown(times, 1.0, _GROWTH["selection"])
        short = [share for share, taken in times.items() if taken <= _SHORT]
        share = max(short, default=min(times))
        return {
            "selection": selection,
            "selection_range": tuple(selection_range),
            "selection_memory": self._memory(self._rows(share)) / share**2,
        }

    def shares(self) -> list[float]:
        """Return the shares of samples and of features in all runs, increasing."""
        most = min(self.job.looked_at / _FEWEST_ROWS, self.job.elements / _FEWEST_ROWS)
        divisors = [_LARGEST_SHARE >> k for k in range(_LARGEST_SHARE.bit_length())]
        return [1 / divisor for divisor in divisors if divisor <= max(most, 1)]

    def _rows(self, share: float) -> NDArray:
        n_samples = min(self.job.looked_at, self.samples.most(self.job))
        table = self.samples.table(
            max(2, round(share * n_samples)), max(1, round(share * self.job.elements))
        )
        return table.astype(np.result_type(table, np.float64), copy=False)  # as fits keep them

    def _select(self, X: NDArray) -> None:
        share = self.job.share_selected
        wanted = share if share < 1 else X.shape[1]
        if self.job.n_features_to_select == "auto":
            wanted = "auto"
        _ByDeviation(wanted, selection=self.job.selection).fit(X)

    def _memory(self, X: NDArray) -> float:
        """Return the bytes that a selection allocates at its peak."""
        ours = not tracemalloc.is_tracing()
        if ours:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            self._select(X)
            return float(tracemalloc.get_traced_memory()[1] - before)
        finally:
            if ours:
                tracemalloc.stop()


class _ByDeviation(TensorSelector):
    """Selects as `STPCASelector` does, with scores that cost nothing."""

    def __init__(self, n_features_to_select: Any, selection: str) -> None:
        self.n_features_to_select, self.selection = n_features_to_select, selection
        self.feature_mode = self.feature_shape = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Score features by their standard deviation, and select among them."""
        samples = self._validate_samples(X, reset=True)
        deviations = samples.std(axis=0)
        self._set_scores(deviations, deviations, samples)
        return self

    def _keep_samples(self, samples: Any, weights: SampleWeights | None = None) -> None:
        """Keep nothing: the samples are in the moments, and are counted elsewhere."""


def climbed(
    sizes: list[Size], work: Callable[[Size], float], seconds: float, clock: Clock
) -> Iterator[Size]:
    """Yield the first size, and more until one would take longer than what is left of `seconds`.

    The caller's work on a size is timed. Times are expected to grow like `work`.
    """
    start = clock()
    taken, done = 0.0, 0.0
    for size in sizes:
        before = clock()
        if done and taken * work(size) / done > seconds - (before - start):
            return
        yield size
        taken, done = clock() - before, work(size)


def grown(
    times: dict[float, float], size: float, powers: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the time at `size`, and what it would be if it grew slowly or fast.

    Beyond the largest measured size, times grow with a power of the size: the one between the two
    largest measured sizes, but at least the first of `powers` and at most the last. If only one
    size was measured, the power is the one in the middle.
    """
    known = sorted(times)
    largest = known[-1]
    last, ratio = times[largest], size / largest
    least, power, most = powers
    if len(known) > 1:
        power = math.log(last / times[known[-2]]) / math.log(largest / known[-2])
    power = min(max(power, least), most)
    return last * ratio**power, last * ratio**least, last * ratio**most


def timed(work: Callable[[], Any], clock: Clock) -> tuple[float, Any]:
    """Return the seconds that some work takes, and its result."""
    before = clock()
    result = work()
    return max(clock() - before, _TINY), result


def _work_of_slices(sizes: tuple[int, int]) -> float:
    size, slices = sizes
    return size**3 * slices


def _side(cells: int) -> int:
    """Return the side of the square grid that stands for a path of so many cells."""
    return max(1, min(_GRID_SIDE, math.isqrt(cells)))
