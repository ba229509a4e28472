"""Measure the rates of this machine, by timing the library's own code on small data."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tensift._utils.threads import one_library_thread
from tensift.algebra import make_transform, make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.plan._machine import Curve, Machine, SolveRates
from tensift.solvers import SliceProblems, solve_exact, solve_paper

__all__ = ["calibrate", "example_machine"]

Clock = Callable[[], float]

_MOMENT_SIZES, _MOMENT_SLICES, _MOMENT_VALUES = (4, 16, 64, 256), 16, 2**20
_MATRIX_SIZES = (8, 64, 256)
_SOLVE_SIZES, _SAMPLES_A_SIZE = (8, 32, 96, 256), 4
_STEPS = (3, 9)  # time both: the difference gives the cost of a step, the rest is setup
_BYTES = 2**26  # copied, and read from disk
_REPEATS, _ENOUGH = 5, 0.2  # time each piece of work this often, or until these seconds are over
_LONG = 0.1  # seconds; a run this long needs no warm-up
_SLICES, _BLOCK_ELEMENTS = 64, 40_000  # largest block to time: enough to see the cost of a slice
_TINY = 1e-9  # seconds; the least time of anything
_READ_COST = 2e-10  # seconds per byte, if it cannot be measured
_RESIDENT = 150e6  # bytes, if the system does not report it


def calibrate(clock: Clock | None = None, wall_clock: Clock = time.perf_counter) -> Machine:
    """Measure the rates of this machine, in about ten seconds.

    Every rate is the median of a few runs of the library's own code on one core: adding samples
    to moments, and both solvers with a fixed number of steps. Computations are timed by the
    processor time of this process, so that other work on the machine does not count. Reading is
    timed by the wall clock.

    Parameters
    ----------
    clock : callable, optional
        Returns seconds, for computations. By default the processor time, or the wall clock if
        the processor time is too coarse.
    wall_clock : callable
        Returns seconds, for reading.

    Returns
    -------
    Machine

    Examples
    --------
    >>> from tensift.plan import calibrate
    >>> machine = calibrate()                                           # doctest: +SKIP
    >>> machine.moments["real"](64)                                     # doctest: +SKIP
    6.5e-09
    """
    clock = _processor_clock() if clock is None else clock
    resident = _resident_bytes()
    read_bandwidth, read_cost = _reading(clock, wall_clock)
    with one_library_thread():
        return Machine(
            moments={
                "real": _moments_curve(clock, "identity", np.dtype(np.float32)),
                "complex": _moments_curve(clock, "identity", np.dtype(np.complex64)),
                "dft": _moments_curve(clock, "dft", np.dtype(np.float32)),
            },
            fast_transform=_transform_seconds(clock, "dct", 64),
            matrix_transform=Curve(
                _MATRIX_SIZES,
                tuple(_transform_seconds(clock, "random", size) for size in _MATRIX_SIZES),
                growth=1.0,
            ),
            solve={
                f"{solver} {kind}": _solve_rates(clock, solver, kind == "complex")
                for solver in ("paper", "exact")
                for kind in ("real", "complex")
            },
            copy_bandwidth=_copy_bandwidth(clock),
            read_bandwidth=read_bandwidth,
            read_cost=read_cost,
            resident=resident,
            cores=_n_cores(),
        )


def example_machine() -> Machine:
    """Return a machine with round numbers, about a 2022 server core, for examples and tests.

    Examples
    --------
    >>> from tensift.plan import example_machine
    >>> example_machine().cores
    2
    """
    moments = {
        "real": (8e-9, 6e-9, 8e-9, 20e-9),
        "complex": (20e-9, 18e-9, 28e-9, 80e-9),
        "dft": (25e-9, 20e-9, 25e-9, 50e-9),
    }
    steps = {
        "paper real": (1e-5, 6e-5, 6e-4, 7e-3),
        "paper complex": (2e-5, 15e-5, 16e-4, 20e-3),
        "exact real": (2e-5, 1.2e-4, 1.4e-3, 18e-3),
        "exact complex": (5e-5, 3e-4, 4e-3, 55e-3),
    }
    return Machine(
        moments={name: Curve(_MOMENT_SIZES, times, 1.0) for name, times in moments.items()},
        fast_transform=6e-9,
        matrix_transform=Curve(_MATRIX_SIZES, (4e-9, 8e-9, 20e-9), 1.0),
        solve={
            name: SolveRates(
                Curve(_SOLVE_SIZES, tuple(3 * second for second in times), 3.0),
                Curve(_SOLVE_SIZES, times, 3.0),
                block_setup=5e-4,
                block_step=3e-4,
            )
            for name, times in steps.items()
        },
        copy_bandwidth=8e9,
        read_bandwidth=1e9,
        read_cost=_READ_COST,
        resident=_RESIDENT,
        cores=2,
    )


def median_seconds(work: Callable[[], object], clock: Clock) -> float:
    """Return the median over a few runs, fewer if they are long. A short first run is warm-up."""
    seconds: list[float] = []
    for number in range(_REPEATS + 1):
        before = clock()
        work()
        seconds.append(clock() - before)
        if number and sum(seconds) > _ENOUGH:
            break
    runs = seconds if seconds[0] > _LONG else seconds[1:]
    return max(statistics.median(runs), _TINY)


def _processor_clock() -> Clock:
    # Windows counts processor time in steps of 16 ms, longer than most of what is timed here.
    coarse = time.get_clock_info("process_time").resolution > 1e-4
    return time.perf_counter if coarse else time.process_time


def _moments_curve(clock: Clock, transform: str, dtype: np.dtype) -> Curve:
    """Measure the seconds per value that is added to the Gram tensor."""
    seconds = []
    for size in _MOMENT_SIZES:
        shape = (size, _MOMENT_SLICES)
        n = max(_MOMENT_VALUES // (size * _MOMENT_SLICES), 2 * size)
        chunk = np.random.default_rng(0).standard_normal((n, *shape)).astype(dtype)
        transforms = make_transforms(transform, [_MOMENT_SLICES])
        orientation = Orientation(shape, 0, transforms, real_data=dtype.kind != "c")
        orientation.kept_slices  # noqa: B018  (computed once, so not timed)
        taken = median_seconds(partial(_add_to_moments, chunk, orientation), clock)
        seconds.append(taken / chunk.size)
    return Curve(_MOMENT_SIZES, tuple(seconds), growth=1.0)


def _add_to_moments(chunk: NDArray, orientation: Orientation) -> None:
    Moments(orientation).update(chunk)


def _transform_seconds(clock: Clock, name: str, size: int) -> float:
    values = np.random.default_rng(0).standard_normal((size, 64, max(16, 2**12 // size)))
    transform = make_transform(name, size, random_state=0)
    return median_seconds(lambda: transform.forward(values, axis=0), clock) / values.size


def _solve_rates(clock: Clock, solver: str, complex_slices: bool) -> SolveRates:
    """Measure rates per slice with full blocks, and the overhead per block with one slice."""
    grams = [_sample_gram(size, complex_slices) for size in _SOLVE_SIZES]
    lone = _setup_and_step(clock, solver, grams[0][:1])
    blocks = [_setup_and_step(clock, solver, gram) for gram in grams]
    # For one small slice, nearly all of the time is overhead of the block.
    block_setup, block_step = (
        max(one - all_ / grams[0].n_slices, _TINY)
        for one, all_ in zip(lone, blocks[0], strict=True)
    )
    setups, steps = [], []
    for gram, (setup, step) in zip(grams, blocks, strict=True):
        setups.append(max(setup - block_setup, _TINY) / gram.n_slices)
        steps.append(max(step - block_step, step / 4) / gram.n_slices)
    return SolveRates(
        setup=Curve(_SOLVE_SIZES, tuple(setups), growth=3.0),
        step=Curve(_SOLVE_SIZES, tuple(steps), growth=3.0),
        block_setup=block_setup,
        block_step=block_step,
    )


def _setup_and_step(clock: Clock, solver: str, gram: GramTensor) -> tuple[float, float]:
    """Measure the seconds of the setup and of one step, for all slices together."""
    taken = []
    for steps in _STEPS:

        def work(steps: int = steps) -> None:
            fresh = GramTensor(gram.array, gram.thin)  # without the spectrum of the last run
            if solver == "exact":
                problems = SliceProblems(fresh, lam=10.0, eta=10.0, ridge=1e-3)
                solve_exact(problems, tol=0.0, max_iter=steps)
            else:
                problems = SliceProblems(fresh, lam=10.0, eta=10.0)
                solve_paper(problems, ridge=1e-3, tol=0.0, max_iter=steps)

        taken.append(median_seconds(work, clock))
    few, many = _STEPS
    # Because of noise, more steps may look cheaper than fewer: bound the step from below.
    step = max((taken[1] - taken[0]) / (many - few), taken[1] / (2 * many))
    return max(taken[0] - few * step, _TINY), step


def _sample_gram(size: int, complex_slices: bool) -> GramTensor:
    """Make one block of Gram matrices, from smooth samples with some noise."""
    slices = max(1, min(_SLICES, _BLOCK_ELEMENTS // size**2))
    rng = np.random.default_rng(size)
    n = _SAMPLES_A_SIZE * size

    def draw() -> NDArray:
        smooth = rng.standard_normal((slices, size, n))
        for _ in range(2):
            smooth[:, 1:] = 0.6 * smooth[:, 1:] + 0.4 * smooth[:, :-1]
        return smooth + 0.1 * rng.standard_normal((slices, size, n))

    samples = draw() + 1j * draw() if complex_slices else draw()
    samples *= np.sqrt(1000 / n) / 4  # like a thousand samples with values up to about 1
    return GramTensor(samples @ samples.conj().swapaxes(1, 2), thin=False)


def _copy_bandwidth(clock: Clock) -> float:
    values = np.zeros(_BYTES // 8)
    total = np.zeros_like(values)

    def work() -> None:
        np.add(total, values, out=total)

    return _BYTES / median_seconds(work, clock)


def _reading(clock: Clock, wall_clock: Clock) -> tuple[float | None, float]:
    """Measure bytes per second read from the disk of temporary files, and core seconds per byte.

    The rate is None if the system cannot be told to drop the file from its cache.
    """
    if not hasattr(os, "posix_fadvise"):
        return None, _READ_COST
    block = np.random.default_rng(0).bytes(2**22)
    buffer = bytearray(2**22)
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix="tensift-", buffering=0) as file:
        for _ in range(_BYTES // len(block)):
            file.write(block)
        os.fsync(file.fileno())
        rates, costs = [], []
        for _ in range(3):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            file.seek(0)
            before, cost = wall_clock(), clock()
            while file.readinto(buffer):
                pass
            rates.append(_BYTES / max(wall_clock() - before, _TINY))
            costs.append(max(clock() - cost, _TINY) / _BYTES)
        return statistics.median(rates), statistics.median(costs)
    return None, _READ_COST


def _resident_bytes() -> float:
    with suppress(OSError, ValueError, IndexError), open("/proc/self/statm") as stream:
        return float(int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    return _RESIDENT


def _n_cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
