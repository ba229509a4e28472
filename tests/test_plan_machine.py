"""Rates of a machine: measured with clocks whose truth is known, and kept safely."""

import json
import os
import pickle
import sys

import numpy as np
import pytest

from tensift.plan import (
    Curve,
    Machine,
    SolveRates,
    _cache,
    _calibration,
    cache_file,
    example_machine,
    this_machine,
)
from tensift.plan import calibrate as measure_machine


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tensift" / "machine.json"


class Costs:
    """A machine on which everything costs what it says, and a clock that knows."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(_calibration, "_add_to_moments", self.moments)
        monkeypatch.setattr(_calibration, "solve_paper", self.paper)
        monkeypatch.setattr(_calibration, "solve_exact", self.exact)

    def moments(self, chunk, orientation):
        kind = 3e-9 if np.iscomplexobj(chunk) else 1e-9
        self.now += chunk.size * (kind + 2e-10 * orientation.size)

    def paper(self, problems, *, ridge, tol, max_iter):
        self.solve(problems, max_iter, 1.0)

    def exact(self, problems, *, tol, max_iter):
        self.solve(problems, max_iter, 2.0)

    def solve(self, problems, steps, factor):
        gram = problems.gram
        q, s = gram.size, gram.n_slices
        factor *= 3.0 if np.iscomplexobj(gram.array) else 1.0
        self.now += 1e-3 + steps * 2e-4 + factor * s * (1e-6 * q**2 + steps * 1e-8 * q**3)

    def clock(self):
        return self.now


def test_known_costs_are_recovered(monkeypatch):
    costs = Costs(monkeypatch)
    machine = measure_machine(clock=costs.clock)
    for q in (4, 64, 256):
        assert machine.moments["real"](q) == pytest.approx(1e-9 + 2e-10 * q)
        assert machine.moments["complex"](q) == pytest.approx(3e-9 + 2e-10 * q)
    assert machine.moments["real"](512) == pytest.approx(2 * machine.moments["real"](256))
    for name, factor in (("paper real", 1), ("exact real", 2), ("paper complex", 3)):
        rates = machine.solve[name]
        assert rates.block_setup == pytest.approx(1e-3, rel=0.05)
        assert rates.block_step == pytest.approx(2e-4, rel=0.05)
        for q in (32, 96, 256):
            assert rates.step(q) == pytest.approx(factor * 1e-8 * q**3, rel=0.05)
            assert rates.setup(q) == pytest.approx(factor * 1e-6 * q**2, rel=0.05)


def clock_of(durations):
    times = [0.0]
    for duration in durations:
        times += [times[-1], times[-1] + duration]
    return iter(times[1:]).__next__


def test_an_outlier_changes_nothing():
    # The first run warms up; of the five that count, one meets a busy machine.
    durations = [0.03, 0.01, 0.011, 0.09, 0.01, 0.01]
    assert _calibration.median_seconds(lambda: None, clock_of(durations)) == pytest.approx(0.01)


def test_long_work_is_not_repeated_often():
    runs = []
    durations = [0.5, 0.7]
    seconds = _calibration.median_seconds(lambda: runs.append(1), clock_of(durations))
    assert len(runs) == 2
    assert seconds == pytest.approx(0.6)


def test_a_clock_that_stands_still_gives_no_zero_rates(monkeypatch):
    Costs(monkeypatch)  # which nobody asks what time it is
    machine = measure_machine(clock=lambda: 0.0, wall_clock=lambda: 0.0)
    assert Machine.from_dict(machine.to_dict()) == machine  # refuses rates of zero


def test_a_curve_passes_through_its_points():
    curve = Curve((4, 16, 64), (1.0, 2.0, 16.0), growth=3.0)
    assert [curve(size) for size in (1, 4, 16, 64, 128)] == [1.0, 1.0, 2.0, 16.0, 128.0]
    assert curve(8) == pytest.approx(np.sqrt(2))
    values = [curve(size) for size in range(1, 300)]
    assert values == sorted(values)


def test_seconds_of_blocks():
    rates = SolveRates(Curve((10,), (2.0,), 3.0), Curve((10,), (1.0,), 3.0), 100.0, 10.0)
    # 3 blocks of 100 + 5 * 10, 7 slices of 2 + 5 * 1.
    assert rates.seconds(10, slices=7, steps=5, blocks=3) == 3 * 150 + 7 * 7


def test_round_trip(cache):
    said = []
    machine = this_machine(measure=example_machine, say=said.append)
    assert said == ["measuring this machine, about ten seconds (once)"]
    assert cache_file() == cache
    assert os.listdir(cache.parent) == ["machine.json"]

    def never():
        raise AssertionError

    assert this_machine(measure=never) == machine == example_machine()


def test_renewal(cache):
    this_machine(measure=example_machine)
    calls = []

    def again():
        calls.append(1)
        return example_machine()

    this_machine(measure=again)
    this_machine(measure=again, renew=True)
    assert len(calls) == 1


def damaged(kept):
    """Files that are not what was written."""
    text = json.dumps(kept)
    yield b""
    yield b"\xff\xfe\x00garbage"
    yield text[: len(text) // 2].encode()
    yield pickle.dumps(kept)
    yield b"[" * 100_000
    yield b"[1, 2, 3]"
    for path, value in (
        (("version",), 0),
        (("of", "numpy"), "0.1"),
        (("of", "node"), "elsewhere"),
        (("rates",), None),
        (("rates", "resident"), "large"),
        (("rates", "copy_bandwidth"), -1.0),
        (("rates", "fast_transform"), float("nan")),
        (("rates", "cores"), True),
        (("rates", "moments", "real", "seconds"), [1.0]),
        (("rates", "moments", "real", "sizes"), [4, 4, 64, 256]),
        (("rates", "solve"), {}),
    ):
        changed = json.loads(text)
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        yield json.dumps(changed).encode()


def test_damaged_files_are_replaced(cache):
    this_machine(measure=example_machine)
    good = cache.read_bytes()
    for content in damaged(json.loads(good)):
        cache.write_bytes(content)
        said = []
        assert this_machine(measure=example_machine, say=said.append) == example_machine()
        assert len(said) == 2, content[:60]
        assert "measuring again" in said[0]
        assert cache.read_bytes() == good
        assert os.listdir(cache.parent) == ["machine.json"]


def test_no_place_to_keep_them(cache):
    cache.parent.write_text("a file where the folder should be")
    said = []
    assert this_machine(measure=example_machine, say=said.append) == example_machine()
    assert "cannot store the measured rates" in said[-1]


def test_a_failing_write_leaves_nothing(cache, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_cache.os, "replace", fail)
    said = []
    this_machine(measure=example_machine, say=said.append)
    assert "No space left" in said[-1]
    assert os.listdir(cache.parent) == []


def test_folders_of_other_systems(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_file() == tmp_path / "local" / "tensift" / "machine.json"
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_file() == tmp_path / "xdg" / "tensift" / "machine.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_file() == tmp_path / ".cache" / "tensift" / "machine.json"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_file() == tmp_path / "Library" / "Caches" / "tensift" / "machine.json"


@pytest.mark.slow
def test_this_machine_can_be_measured():
    machine = measure_machine()
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine
    # A product of matrices of order 256 is no faster than a petaflop, no slower than a megaflop.
    assert 256 / 1e15 < machine.moments["real"](256) < 256 / 1e6
    for rates in machine.solve.values():
        assert rates.step(256) > 10 * rates.step(32)
