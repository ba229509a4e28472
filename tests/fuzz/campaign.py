"""Run cases until the time is up, and tell which of them failed and how to repeat them."""

import contextlib
import faulthandler
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import api, concurrency, files, signals, streams

# The check of each area, and its share of the time. A check gets a random generator and an empty
# folder, and raises an exception if something that must hold does not.
AREAS = {
    "api": (api.check_case, 0.4),
    "files": (files.check_case, 0.25),
    "streams": (streams.check_case, 0.15),
    "concurrency": (concurrency.check_case, 0.1),
    "signals": (signals.check_case, 0.1),
}
LIMIT_SECONDS = 30.0
_MEMORY_BYTES = 12 * 2**30


class TooSlow(BaseException):
    """A case took longer than it may. No Exception, so that no case handles it."""


@dataclass(frozen=True)
class Failure:
    """A case for which something does not hold."""

    area: str
    seed: int
    case: int
    reason: str
    details: str

    @property
    def command(self):
        return f"python -m tests.fuzz --area {self.area} --seed {self.seed} --case {self.case}"


def generator_of(area, seed, case):
    """Random numbers that depend on nothing but the case."""
    return np.random.default_rng([*area.encode(), seed, case])


def run_case(area, seed, case, limit=None):
    """Run one case; return None or its `Failure`."""
    check, _ = AREAS[area]
    with tempfile.TemporaryDirectory(prefix="tensift-fuzz-") as folder:
        try:
            with _time_limit(limit):
                check(generator_of(area, seed, case), Path(folder))
        except (Exception, TooSlow) as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            reason = kind + " ".join(str(error).split())
            return Failure(area, seed, case, reason, traceback.format_exc())
    return None


@contextlib.contextmanager
def _time_limit(seconds):
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number, frame):
        raise TooSlow(f"the case takes more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # Compiled code that never returns to Python is ended with the whole process. It is told on the
    # descriptor of standard error: `sys.stderr` may be an object without one.
    faulthandler.dump_traceback_later(10 * seconds, exit=True, file=2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory():
    """Let a damaged file that asks for too much memory fail here, not on the whole machine."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, hard))


def run_campaign(areas, seed, seconds, limit=LIMIT_SECONDS):
    """Run all areas for their share of the time; print a table; return the exit status."""
    total = sum(AREAS[area][1] for area in areas)
    rows, failures = [], []
    for area in areas:
        begun = time.monotonic()
        until = begun + seconds * AREAS[area][1] / total
        case, found = 0, []
        while case == 0 or time.monotonic() < until:
            _say(f"{area} {case}")
            failure = run_case(area, seed, case, limit)
            if failure:
                found.append(failure)
            case += 1
        rows.append((area, str(case), str(len(found)), f"{time.monotonic() - begun:.0f}"))
        failures += found
    _say("")
    print(table(rows, failures))
    return 1 if failures else 0


def _say(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def table(rows, failures):
    """What was run, and every failure with the line that repeats it."""
    title = ("area", "cases", "failures", "seconds")
    lines = [f"{area:<12} {n:>7} {bad:>9} {took:>8}" for area, n, bad, took in (title, *rows)]
    for failure in failures:
        lines += ["", f"{failure.area} {failure.case}: {failure.reason}", f"  {failure.command}"]
    return "\n".join(lines)


def repeat(area, seed, case, limit=LIMIT_SECONDS):
    """Run one case again, and print the whole error."""
    failure = run_case(area, seed, case, limit)
    print(failure.details if failure else f"{area} {case}: nothing is wrong")
    return 1 if failure else 0
