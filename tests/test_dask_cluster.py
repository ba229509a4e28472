"""Dask arrays on a cluster of processes: what is sent, what stays, and what survives a worker."""

import gc
import logging
import os
import pickle
import signal
import time
from threading import Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import ExactSolver, STPCASelector, TensorPCA, stpca_path
from tensift.moments import Moments, _slice_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 8, 6)) * RNG.uniform(0.2, 1, (8, 6)) + RNG.normal(size=(60, 1, 6))
SMALL = {"lam": 0.3, "eta": 0.2}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each, which a nanny restarts if they die."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def small_blocks(monkeypatch):
    """A block for every slice or two: blocks are made in this process."""
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 64)


def lazy_array(chunks=(13, 5, 4)):
    return da.from_array(X, chunks=chunks)


def assert_same_fit(found, expected):
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * np.abs(expected.scores_).max())
    assert_array_equal(found.order_, expected.order_)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    assert_allclose(found.operators_, expected.operators_, atol=1e-10)


@pytest.mark.parametrize(
    "params",
    [
        {**SMALL},
        {"solver": "exact", "lam": 25.0, "eta": 20.0},
        {"basis": "eigen", **SMALL},
        {"basis": "dft", "score_by": "energy", "penalty_units": "relative", "lam": 0.1, "eta": 0.1},
    ],
    ids=["paper", "exact", "eigen", "relative"],
)
@pytest.mark.usefixtures("client", "small_blocks")
def test_fits_equal_those_in_memory(params):
    expected = STPCASelector(9, **params).fit(X)
    found = STPCASelector(9, **params).fit(lazy_array())
    assert len(found._moments.blocks) > 2
    assert_same_fit(found, expected)
    if params.get("solver") == "exact":
        assert (expected.scores_ == 0).any()


@pytest.mark.usefixtures("client", "small_blocks")
def test_the_rest_equals_what_is_in_memory():
    lazy = lazy_array()
    grid = {"lams": [0.1, 1.0, 10.0], "etas": [0.1, 1.0]}
    assert_allclose(stpca_path(lazy, **grid).scores, stpca_path(X, **grid).scores, atol=1e-10)
    found, expected = TensorPCA(2, basis="dct").fit(lazy), TensorPCA(2, basis="dct").fit(X)
    assert_allclose(found.transform(lazy).compute(), expected.transform(X), atol=1e-10)
    assert found.score(lazy) == pytest.approx(expected.score(X), rel=1e-12)
    parts = STPCASelector(5, **SMALL).partial_fit(lazy[:30]).partial_fit(X[30:40])
    parts.partial_fit(lazy[40:])
    assert_same_fit(parts, STPCASelector(5, **SMALL).fit(X))


@pytest.mark.usefixtures("client")
def test_errors_of_workers_are_those_of_a_fit_in_memory():
    broken = X.copy()
    broken[50, 2, 1] = np.nan
    with pytest.raises(ValueError, match=r"^Input X contains NaN"):
        STPCASelector(5).fit(da.from_array(broken, chunks=(13, 8, 6)))
    with pytest.raises(ValueError, match="X is constant"):
        STPCASelector(5).fit(da.ones((20, 3, 2), chunks=7))


def results_on_workers(client):
    """Tasks whose results are held, and those that wait."""
    return {
        str(key)
        for key, state in client.run_on_scheduler(_states).items()
        if state in ("memory", "processing", "waiting", "queued", "no-worker")
    }


def _states(dask_scheduler):
    return {key: task.state for key, task in dask_scheduler.tasks.items()}


def wait_until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


@pytest.mark.usefixtures("small_blocks")
def test_only_blocks_of_the_gram_tensor_stay_until_the_estimator_is_gone(client):
    fitted = STPCASelector(5, **SMALL).fit(lazy_array())
    first = {task.key for task in fitted._moments.grams}
    wait_until(lambda: results_on_workers(client) == first)
    fitted.fit(lazy_array() + 1.5)
    second = {task.key for task in fitted._moments.grams}
    assert not first & second
    wait_until(lambda: results_on_workers(client) == second)
    del fitted
    gc.collect()
    wait_until(lambda: not results_on_workers(client))


@pytest.mark.usefixtures("small_blocks")
def test_pickles_live_on_without_the_cluster(client):
    fitted = STPCASelector(5, **SMALL).fit(lazy_array())
    thawed = pickle.loads(pickle.dumps(fitted))
    assert type(thawed._moments) is Moments
    del fitted
    with dask.config.set(scheduler="synchronous"):
        assert_same_fit(thawed, STPCASelector(5, **SMALL).fit(X))


def _clear_received(dask_worker):
    dask_worker.transfer_incoming_log.clear()


def _received(dask_worker):
    return [
        (str(key), size)
        for transfer in dask_worker.transfer_incoming_log
        for key, size in transfer["keys"].items()
    ]


def test_a_path_sends_the_gram_tensor_once(client, monkeypatch):
    """Of a block, no worker is given more than one copy, however many rows it solves."""
    size, n_etas = 40, 12
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 2 * size**2)
    samples = da.from_array(RNG.normal(size=(200, size, 6)), chunks=(50, size, 6))
    moments = STPCASelector(1, lam=1.0, eta=1.0).fit(samples)._moments
    n_blocks = len(moments.blocks)
    assert n_blocks >= 3
    client.run(_clear_received)
    with distributed.get_task_stream(client) as stream:
        stpca_path(
            moments, [1.0, 3.0, 10.0], np.geomspace(0.1, 10, n_etas), solver=ExactSolver(tol=1e-3)
        )
    solved = [record["worker"] for record in stream.data if "solve_rows" in str(record["key"])]
    assert len(solved) == n_etas * n_blocks
    assert len(set(solved)) == 2
    moved = 0
    for received in client.run(_received).values():
        blocks = [key for key, _ in received if "gram_of" in key or "prepared" in key]
        assert len(blocks) == len(set(blocks)), "a block came twice"
        moved += len(blocks)
        # Nothing else that a path sends is of the size of a block.
        assert sum(size for key, size in received if key not in blocks) < 8 * size**2
    assert 0 < moved <= 2 * n_blocks < len(solved)


def test_progress_comes_as_rows_are_done(client, small_blocks):
    from tensift.solvers import SliceSolver
    from tensift.stpca.execution._on_dask import DaskExecutor

    moments = STPCASelector(1, **SMALL).fit(lazy_array())._moments
    told = []
    solver = SliceSolver("paper", tol=1e-5, max_iter=20, ridge=1e-3)
    slices = DaskExecutor(moments, 1.0)
    slices.solve(solver, 1.0, 1.0, callback=told.append)
    assert told == sorted(told)
    assert len(told) == len(moments.blocks) > 2
    assert told[-1] == slices.n_slices == 6
    told.clear()
    slices.path(solver, np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0]), callback=told.append)
    assert len(told) == 3 * len(moments.blocks)
    assert told[-1] == 36


# Workers that die


def slow_block(block, seconds):
    time.sleep(seconds)
    return block


def killed(client, when):
    """Kill a worker as soon as `when` holds; gives the thread that does, and what it killed."""
    victims = []

    def kill():
        wait_until(when)
        address, pid = next(iter(client.run(os.getpid).items()))
        os.kill(pid, signal.SIGKILL)
        victims.append((address, pid, time.monotonic()))

    thread = Thread(target=kill)
    thread.start()
    return thread, victims


def test_a_worker_killed_while_moments_are_taken_changes_nothing(client):
    lazy = da.from_array(X, chunks=(3, 8, 6)).map_blocks(slow_block, 0.15, dtype=float)

    def some_are_done():
        states = client.run_on_scheduler(_states)
        done = [
            key
            for key, state in states.items()
            if "reading-samples" in str(key) and state == "memory"
        ]
        return len(done) >= 1  # more may be merged before anybody looks

    before = set(client.run(os.getpid).values())
    thread, victims = killed(client, some_are_done)
    found = STPCASelector(5, **SMALL).fit(lazy)
    ended = time.monotonic()
    thread.join()
    assert victims[0][2] < ended, "it was killed when all was over"
    assert_same_fit(found, STPCASelector(5, **SMALL).fit(X))
    client.wait_for_workers(2)
    assert set(client.run(os.getpid).values()) != before


@pytest.mark.slow
@pytest.mark.usefixtures("small_blocks")
def test_gram_blocks_that_die_with_their_workers_are_made_anew(client):
    found = STPCASelector(5, **SMALL).fit(lazy_array())
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    grid = {"lams": [0.1, 1.0], "etas": [0.1, 1.0, 2.0]}
    path = stpca_path(found._moments, **grid)
    assert_allclose(path.scores, stpca_path(X, **grid).scores, atol=1e-10)
    assert_same_fit(found, STPCASelector(5, **SMALL).fit(X))
