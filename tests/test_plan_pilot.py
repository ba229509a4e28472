"""Pilots: what they run, on how little, and how times grow from there. No test looks at a clock."""

import math

import numpy as np
import pytest
import sklearn

from tensift import STPCASelector
from tensift.datasets import load_digits
from tensift.plan import Pilot, StoredSamples, make_job, plan_job, samples_of_file
from tensift.plan import _pilot_run as pilot_run
from tensift.plan._pilot import Pilots, run_pilot
from tensift.plan._pilot_run import PilotRun, SelectionRun, climbed, grown
from tensift.plan._samples import DrawnSamples
from tensift.sources import Chunks

RNG = np.random.default_rng(0)


def clock_of(ticks):
    """Return a clock that shows one of `ticks` after another, then stands still."""
    ticks = iter(ticks)
    now = 0.0

    def clock():
        nonlocal now
        now = next(ticks, now)
        return now

    return clock


class Watch:
    """A clock that moves only when `cost` is called."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Counted:
    """An array that counts the values that are read from it."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.most = 0

    def __getitem__(self, index):
        found = self.array[index]
        self.most = max(self.most, len(found))
        return found


# Which sizes are run


def test_times_that_would_be_too_long_are_not_tried():
    watch = Watch()
    done = []
    for size in climbed([1, 2, 4, 8], lambda size: size**3, seconds=10.0, clock=watch):
        done.append(size)
        watch.now += size**3 / 8
    # 1/8 and 1 second are spent; 8 fit into the 8.9 that are left, 64 do not.
    assert done == [1, 2, 4]


def test_the_first_size_is_always_run():
    assert list(climbed([3, 6], float, seconds=-1.0, clock=lambda: 0.0))[:1] == [3]


def test_growth_is_that_of_the_last_two_runs_within_bounds():
    powers = (2.0, 2.5, 3.0)
    assert grown({64: 1.0, 128: 8.0}, 256, powers) == (64.0, 32.0, 64.0)
    assert grown({64: 1.0, 128: 4.0}, 256, powers)[0] == 16.0
    assert grown({64: 1.0, 128: 2.0}, 256, powers)[0] == 4 * 2.0  # not less than the square
    assert grown({64: 1.0, 128: 40.0}, 256, powers)[0] == 8 * 40.0  # nor more than the cube
    assert grown({64: 3.0}, 128, powers)[0] == pytest.approx(3 * 2**2.5)
    assert grown({64: 3.0, 32: 1.0}, 64, powers) == (3.0, 3.0, 3.0)  # measured


def test_slices_grow_to_their_size_and_then_in_number():
    run = PilotRun(make_job((256, 100), 10**6), DrawnSamples((256, 100), np.dtype(float)), float)
    assert run.sizes() == [(128, 1), (256, 1), (256, 4), (256, 16), (256, 64)]
    run = PilotRun(make_job((8, 8), 1797), DrawnSamples((8, 8), np.dtype(float)), float)
    assert run.sizes() == [(8, 1), (8, 4), (8, 8)]
    # A large slice is never judged by one for which a fit does something else.
    run = PilotRun(make_job((1000,), 100), DrawnSamples((1000,), np.dtype(float)), float)
    assert run.sizes() == [(400, 1), (800, 1), (1000, 1)]


@pytest.mark.parametrize("n", [100, 999])
def test_thin_slices_stay_thin(n):
    run = PilotRun(make_job((1000,), n), DrawnSamples((1000,), np.dtype(float)), float)
    for size, slices in run.sizes():
        assert run.n_samples(size, slices) < size
    assert run.n_samples(1000, 1) == n


@pytest.mark.parametrize("n", [1000, 10**9])
def test_full_slices_stay_full(n):
    run = PilotRun(make_job((500, 3), n), DrawnSamples((500, 3), np.dtype(float)), float)
    for size, slices in run.sizes():
        assert size <= run.n_samples(size, slices) <= n
    assert run.n_samples(500, 3) * 500 * 3 <= 4 * 500**2 * 3


@pytest.mark.filterwarnings("ignore:the Gram matrices of X take", "ignore:.*score of zero")
def test_a_fit_of_thin_slices_is_what_is_run(monkeypatch):
    fitted = []

    def fit(self, X, n_features, n_samples):
        if not isinstance(X, Chunks):
            fitted.append((X.gram().thin, X.gram().array.shape, n_features))
        return STPCASelector(3, selection="top", lam=1, eta=1).fit(X)

    monkeypatch.setattr(PilotRun, "_fit", fit)
    job = make_job((40, 3), 10)
    PilotRun(job, DrawnSamples((40, 3), np.dtype(float)), float).measure(1.0)
    assert fitted[0] == (True, (1, 40, 10), 40)
    assert fitted[1] == (True, (3, 40, 10), 120)


# What is run on


def test_few_of_the_users_samples_are_looked_at():
    X = Counted(np.broadcast_to(RNG.normal(size=(1, 64, 64)), (10**6, 64, 64)))
    samples = StoredSamples(X)
    job = make_job((64, 64), 10**6)
    assert samples.most(job) <= 2**25 // 64**2
    run = PilotRun(job, samples, float)
    n_samples = max(run.n_samples(*sizes) for sizes in run.sizes())
    assert n_samples <= 2**25 // 64**2
    assert samples.slices(job, n_samples, 64, 2).shape == (n_samples, 64, 2)
    assert X.most <= 2**22 // 64**2  # at a time
    assert SelectionRun(job, samples, float)._rows(1.0).shape == (job.looked_at, 64**2, 1)


@pytest.mark.parametrize("basis", ["identity", "dft", "dct", "haar", "matrix"])
@pytest.mark.parametrize("mode", [0, 1])
def test_slices_of_samples_are_those_of_a_fit(basis, mode):
    X = RNG.normal(size=(30, 4, 6))
    job = make_job((4, 6), 30, orientation=mode, basis=basis)
    found = StoredSamples(X).slices(job, 30, job.q, job.kept)
    wanted = job.make_orientation(X).to_slices(X)  # (kept, q, n)
    assert np.allclose(found, np.transpose(wanted, (2, 1, 0)))
    some = StoredSamples(X).slices(job, 10, 2, 2)
    assert some.shape == (10, 2, 2)
    assert np.isin(some.round(9), wanted.round(9)).all()


def test_samples_are_evenly_spaced():
    X = np.arange(1000.0)[:, None] * np.ones((1, 3))
    assert StoredSamples(X).rows(10)[:, 0].tolist() == list(range(0, 1000, 100))
    assert StoredSamples(X).rows(5000).shape == (1000, 3)
    assert StoredSamples(X).table(10, 2)[:, :, 0].tolist() == [[x, x] for x in range(0, 1000, 100)]


def test_samples_that_no_fit_takes_are_replaced():
    X = np.ones((50, 6, 4))
    with pytest.raises(ValueError, match="constant"):
        STPCASelector().fit(X)
    plan = plan_job(data=X, seconds=0.01)
    assert "random samples, because with yours a fit fails: X is constant" in plan.notes[0]
    assert plan.seconds > 0
    X = RNG.normal(size=(50, 6, 4))
    X[:, 2, 2] = np.nan
    assert "NaN" in plan_job(data=X, seconds=0.01).notes[0]


def test_files_are_mapped_or_loaded(tmp_path):
    X = RNG.normal(size=(50, 4, 3))
    np.savez(tmp_path / "x.npz", data=X)
    found = samples_of_file(tmp_path / "x.npz", clock=clock_of([0.0, 2.0]))
    assert np.array_equal(found.array, X)
    assert found.seconds_per_byte(float) == pytest.approx(2.0 / X.nbytes)
    assert found.in_memory
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    assert samples_of_file(tmp_path / "x.csv", drop=["a"]).shape == (1,)
    shape = (10**6, 64, 64)
    with open(tmp_path / "large.npy", "wb") as stream:  # a hole: no more on disk than its header
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.truncate(stream.tell() + 4 * math.prod(shape))
    found = samples_of_file(tmp_path / "large.npy")
    assert isinstance(found.array, np.memmap)
    assert not found.in_memory
    assert found.rows(3).shape == (3, 64, 64)


def test_reading_is_timed_on_the_first_samples(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5000, 64, 8), np.float32))
    found = StoredSamples(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert found.seconds_per_byte(clock_of([0.0, 1.0, 3.0])) == pytest.approx(
        2.0 / (5000 * 64 * 8 * 4)
    )
    assert StoredSamples(np.zeros((5, 4))).seconds_per_byte(clock_of([0.0, 1.0, 3.0])) == 0
    assert (
        DrawnSamples((4, 3), np.dtype("int16")).seconds_per_byte(float) == 0
    )  # a clock that stands


# What is measured


def test_a_clock_that_stands_still_gives_a_plan():
    plan = plan_job(
        (12, 5), 300, seconds=0.5, pilot=Pilots(DrawnSamples((12, 5), np.float32), 1.0, float)
    )
    assert plan.seconds > 0


def test_the_whole_job_is_run_if_time_allows():
    X = load_digits().data
    pilot = run_pilot(make_job(X.shape[1:], len(X)), StoredSamples(X), seconds=1000, clock=float)
    assert (pilot.samples, pilot.slices, pilot.size) == (1797, 8, 8)
    assert pilot.solve_range[0] == pytest.approx(pilot.solve)
    assert pilot.selection_range == (pilot.selection, pilot.selection)
    assert pilot.read == 0


@pytest.mark.filterwarnings("ignore:the Gram matrices of X take", "ignore:.*score of zero")
@pytest.mark.parametrize("n_blocks", [2, 3])
def test_rounds_are_the_passes_of_a_fit(n_blocks):
    X = load_digits().data
    job = make_job(X.shape[1:], len(X))
    rounds, _ = PilotRun(job, StoredSamples(X), float)._in_passes()
    passes = 0

    def chunks():
        nonlocal passes
        passes += 1
        yield X

    memory = 4 * 8 * 64 * -(-8 // n_blocks) / 2**20
    with sklearn.config_context(working_memory=memory):
        selector = STPCASelector(64, selection="top").fit(Chunks(chunks))
    assert len(selector._moments.blocks) == n_blocks
    # All slices of these samples are in the run; but slices that need no more rounds leave blocks.
    assert passes / n_blocks == pytest.approx(rounds, rel=0.4 if n_blocks > 2 else 0)


def test_methods_share_what_they_have_in_common(monkeypatch):
    selections = []
    monkeypatch.setattr(SelectionRun, "_select", lambda self, X: selections.append(X.shape))
    plan = plan_job((12, 5), 300, seconds=0.1)
    assert len(plan.orientations) == 2
    found = plan.pilots._done.values()
    assert len(found) == 2
    assert len({(pilot.selection, pilot.read, pilot.add) for pilot in found}) == 1
    assert selections[-1][0] <= 300
    again = len(selections)
    plan.pilots(plan.chosen.job)
    assert len(selections) == again


def test_the_selection_is_that_of_a_default_fit(monkeypatch):
    seen = []
    original = pilot_run._ByDeviation.fit

    def fit(self, X):
        seen.append((self.n_features_to_select, self.selection))
        return original(self, X)

    monkeypatch.setattr(pilot_run._ByDeviation, "fit", fit)
    X = load_digits().data
    default = STPCASelector()
    run_pilot(make_job(X.shape[1:], len(X)), StoredSamples(X), seconds=0.1)
    assert set(seen) == {(default.n_features_to_select, default.selection)}
    seen.clear()
    job = make_job(X.shape[1:], len(X), n_features_to_select=16, selection="top")
    assert run_pilot(job, StoredSamples(X), seconds=0.1).selection == 0
    assert not seen
    job = make_job(X.shape[1:], len(X), n_features_to_select=16)
    run_pilot(job, StoredSamples(X), seconds=0.1)
    assert set(seen) == {(0.25, default.selection)}


def test_given_penalties_shrink_with_the_samples(monkeypatch):
    seen = []
    original = STPCASelector.fit

    def fit(self, X, y=None):
        seen.append((self.lam, self.eta))
        return original(self, X)

    monkeypatch.setattr(STPCASelector, "fit", fit)
    job = make_job((8, 4), 10**9, lam=10.0, selection="top", n_features_to_select=3)
    run_pilot(job, DrawnSamples((8, 4), np.dtype(float)), seconds=0.01)
    n_samples = 2**20 // 8
    assert (10.0 * n_samples / 1e9, "auto") in seen


@pytest.mark.parametrize("grid", [1, 25, 400])
def test_a_path_is_run_for_a_path(grid):
    job = make_job((8, 4), 200, grid=grid)
    pilot = run_pilot(job, seconds=0.05)
    assert pilot.rounds == 1
    assert pilot.selection == 0
    assert isinstance(pilot, Pilot)
