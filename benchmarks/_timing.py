"""Time contestants on a busy machine: they take turns within one run."""

import gc
import time
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits


def one_thread():
    """Limit every linear algebra and OpenMP library to one thread within this context."""
    return threadpool_limits(limits=1)


@dataclass(frozen=True)
class Timings:
    """Seconds of every contestant, one value per round, and what each returned last."""

    seconds: dict[str, list[float]]
    returned: dict[str, object]

    @property
    def rounds(self):
        return len(next(iter(self.seconds.values())))

    def best(self, name):
        return min(self.seconds[name])

    def median(self, name):
        return float(np.median(self.seconds[name]))

    def ratio(self, slower, faster, factor=1.0):
        """Return the ratio of the medians, and the smallest and largest ratio within a round.

        `factor` multiplies the time of `slower`, if it did only part of the work.
        """
        within = factor * np.divide(self.seconds[slower], self.seconds[faster])
        of_medians = factor * self.median(slower) / self.median(faster)
        return of_medians, float(within.min()), float(within.max())


def interleave(
    functions, repeats, *, prepare=None, budget=60.0, warm_up=True, clock=time.perf_counter
):
    """Time `functions` (name to callable) in turns, for `repeats` rounds.

    A function that writes into its input has an entry in `prepare`, which makes a fresh argument
    before every call. This is not timed.

    The order is reversed in every other round, so that a slow phase of the machine affects all
    functions alike. After `budget` seconds no further round begins. Without `warm_up` the first
    call counts. `clock` may be `time.process_time`, which other programs on the machine hardly
    change.
    """
    prepare = prepare or {}

    def arguments(name):
        return (prepare[name](),) if name in prepare else ()

    returned = {}
    if warm_up:
        returned = {name: function(*arguments(name)) for name, function in functions.items()}
    seconds = {name: [] for name in functions}
    began = time.perf_counter()
    for number in range(repeats):
        names = list(functions)
        for name in names if number % 2 == 0 else reversed(names):
            given = arguments(name)
            gc.collect()
            gc.disable()
            try:
                start = clock()
                returned[name] = functions[name](*given)
                seconds[name].append(clock() - start)
            finally:
                gc.enable()
        if time.perf_counter() - began > budget:
            break
    return Timings(seconds, returned)
