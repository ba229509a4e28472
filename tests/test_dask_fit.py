"""Dask arrays go into fits, paths and scores as they are, under the schedulers of one process."""

import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from tensift import SparseTensorPCA, STPCASelector, TensorPCA, stpca_path
from tensift._utils.threads import linear_algebra
from tensift.moments import Moments, _slice_blocks
from tensift.rivals import SPCAPSD
from tensift.stpca.execution import _on_dask

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 6, 5)) * RNG.uniform(0.2, 1, (6, 5)) + RNG.normal(size=(40, 1, 5))
SMALL = {"lam": 0.3, "eta": 0.2}


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


def assert_same_fit(found, expected, atol=1e-10):
    assert found.n_samples_seen_ == expected.n_samples_seen_
    assert found.feature_shape_ == expected.feature_shape_
    assert (found.lam_, found.eta_) == pytest.approx((expected.lam_, expected.eta_), rel=1e-12)
    top = max(np.abs(expected.scores_).max(), 1e-3)
    assert_allclose(found.scores_, expected.scores_, atol=atol * top)
    assert_array_equal(found.n_iter_, expected.n_iter_)
    assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    assert_allclose(found.operators_, expected.operators_, atol=atol)


def chunks_of(length, cuts):
    """Chunks that end at some of the places, empty ones where a place is given twice."""
    ends = sorted(cut % (length + 1) for cut in cuts)
    return tuple(np.diff([0, *ends, length]).tolist())


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(2, 25),
    shape=st.sampled_from([(4,), (9,), (4, 3), (9, 2), (3, 2, 2)]),
    spec=st.sampled_from(["identity", "dft", "haar", "eigen"]),
    orientation=st.integers(0, 2),
    is_complex=st.booleans(),
    solver=st.sampled_from(["paper", "exact"]),
    penalty_units=st.sampled_from(["absolute", "relative"]),
    cuts=st.lists(st.integers(0, 25), max_size=8),
    feature_cuts=st.lists(st.integers(0, 9), max_size=2),
    seed=st.integers(0, 50),
)
def test_any_chunking_equals_the_fit_in_memory(
    n, shape, spec, orientation, is_complex, solver, penalty_units, cuts, feature_cuts, seed
):
    if spec == "eigen":
        n += 20  # of fewer samples some eigenvectors are arbitrary
    rng = np.random.default_rng(seed)
    samples = 0.5 + rng.normal(size=(n, *shape)) * rng.uniform(0.2, 1, size=shape)
    if is_complex and len(shape) > 1:
        samples = samples + 1j * rng.normal(size=samples.shape)
    chunks = (chunks_of(n, cuts), *(chunks_of(length, feature_cuts) for length in shape))
    make = STPCASelector(
        1,
        basis=spec,
        orientation=orientation % len(shape),
        score_by="energy",
        solver=solver,
        penalty_units=penalty_units,
        lam=0.1,
        eta=0.05,
    )
    lazy = da.from_array(samples, chunks=chunks)
    assert_same_fit(clone(make).fit(lazy), clone(make).fit(samples))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("solver", ["paper", "exact"])
def test_schedulers_give_the_same(scheduler, solver, monkeypatch):
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 40)  # a block for every slice or two
    params = {"solver": solver, "lam": 20.0, "eta": 15.0}
    expected = STPCASelector(8, **params).fit(X)
    assert (expected.scores_ == 0).any() == (solver == "exact")
    with dask.config.set(scheduler=scheduler):
        found = STPCASelector(8, **params).fit(da.from_array(X, chunks=(7, 4, 2)))
        assert len(found._moments.blocks) > 2
        assert_same_fit(found, expected)
        assert_array_equal(found.order_, expected.order_)
        if solver == "exact":
            assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=1e-9)
            assert (found.dual_gap_ <= 1e-6).all()


def test_processes_give_the_same_and_the_same_errors():
    lazy = da.from_array(X, chunks=(15, 3, 5))
    broken = X.copy()
    broken[30, 2, 1] = np.nan
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        found = STPCASelector(5, **SMALL).fit(lazy)
        path = stpca_path(lazy, [0.1, 1.0], [0.1, 1.0])
        with pytest.raises(ValueError, match=r"^Input X contains NaN; repair or remove"):
            STPCASelector(5).fit(da.from_array(broken, chunks=(15, 3, 5)))
        assert_same_fit(found, STPCASelector(5, **SMALL).fit(X))
    assert_allclose(path.scores, stpca_path(X, [0.1, 1.0], [0.1, 1.0]).scores, atol=1e-10)


def test_blas_threads_are_as_before_a_fit_in_threads():
    with threadpool_limits(2, user_api="blas"):  # of one thread, nothing could be limited
        before = linear_algebra().info()
        with dask.config.set(scheduler="threads", num_workers=4):
            STPCASelector(5, **SMALL).fit(da.from_array(X, chunks=(4, 6, 5)))
        assert linear_algebra().info() == before


@pytest.mark.parametrize("make", [SPCAPSD(5, **SMALL), TensorPCA(2), SparseTensorPCA(2)], ids=str)
def test_other_estimators(make):
    lazy = da.from_array(X, chunks=(9, 4, 2))
    found, expected = clone(make).fit(lazy), clone(make).fit(X)
    assert_allclose(found.scores_, expected.scores_, atol=1e-10)
    assert_allclose(found.transform(lazy), expected.transform(X), atol=1e-9)
    assert found.score(lazy) == pytest.approx(expected.score(X), rel=1e-10)


def test_rows_with_a_feature_shape():
    rows = X.reshape(40, -1)
    params = {**SMALL, "feature_shape": (6, 5), "basis": "haar", "feature_mode": 0}
    found = STPCASelector(2, **params).fit(da.from_array(rows, chunks=(13, 7)))
    expected = STPCASelector(2, **params).fit(rows)
    assert_same_fit(found, expected)
    kept = found.transform(da.from_array(rows, chunks=(13, 7)))
    assert_array_equal(kept, expected.transform(rows))


def test_chunks_of_unknown_length_and_without_samples():
    lazy = da.from_array(X, chunks=(7, 6, 2))
    some = lazy[lazy[:, 0, 0] > 0.9]
    assert np.isnan(some.shape[0])
    kept = X[X[:, 0, 0] > 0.9]
    assert any(len(part) == 0 for part in dask.compute(*some.to_delayed()[:, 0, 0]))
    found = STPCASelector(4, basis="eigen", **SMALL).fit(some)
    assert_same_fit(found, STPCASelector(4, basis="eigen", **SMALL).fit(kept))
    assert found.transform(some).compute().shape == (len(kept), 4)
    assert TensorPCA(2).fit(some).transform(some).compute().shape == (len(kept), 10)
    with pytest.raises(ValueError, match="X has no samples: all of its chunks are empty"):
        STPCASelector(4).fit(lazy[lazy[:, 0, 0] > 99])


@pytest.mark.parametrize("first", ["memory", "dask"])
def test_partial_fit_mixes_arrays(first):
    parts = [X[:15], da.from_array(X[15:30], chunks=(4, 6, 5)), X[30:32], X[32:]]
    parts[3] = da.from_array(parts[3], chunks=(3, 3, 5))
    if first == "dask":
        parts = [parts[1], parts[0], *parts[2:]]
    found = STPCASelector(5, basis="dct", **SMALL)
    for part in parts:
        found.partial_fit(part)
    assert_same_fit(found, STPCASelector(5, basis="dct", **SMALL).fit(X))
    with pytest.raises(ValueError, match=r"X has samples of shape \(5, 6\), but STPCASelector"):
        found.partial_fit(da.from_array(X.swapaxes(1, 2), chunks=5))
    with pytest.raises(ValueError, match="X is complex, but earlier samples are real"):
        found.partial_fit(da.from_array(X + 1j, chunks=5))
    with pytest.raises(ValueError, match="basis='eigen' is computed from all samples"):
        STPCASelector(basis="eigen").partial_fit(parts[0])
    assert found.n_samples_seen_ == 40


def test_xarray_over_dask():
    xarray = pytest.importorskip("xarray")
    named = xarray.DataArray(X, dims=("sample", "row", "band"))
    lazy = named.chunk({"sample": 9, "row": 2})
    expected = STPCASelector(5, **SMALL).fit(X)
    found = STPCASelector(5, **SMALL).fit(lazy)
    assert type(found._moments).__name__ == "DaskMoments"
    assert_same_fit(found, expected)
    kept = found.transform(lazy)
    assert isinstance(kept.data, da.Array)
    assert_array_equal(kept, expected.transform(X))
    assert_same_fit(STPCASelector(5, **SMALL).fit(named), expected)


def test_dask_is_not_imported_for_others():
    code = (
        "import sys, numpy as np, tensift\n"
        "X = np.random.default_rng(0).normal(size=(9, 3, 2))\n"
        "tensift.STPCASelector(2, lam=0.1, eta=0.1).fit(X).transform(X)\n"
        "assert not {'dask', 'distributed', 'xarray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# What comes out


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (STPCASelector(7, **SMALL), (7,)),
        (STPCASelector(2, feature_mode=1, **SMALL), (6, 2)),
        (TensorPCA(2, basis="dft", whiten=True), (10,)),
    ],
    ids=["elements", "bands", "components"],
)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_transform_is_lazy(make, shape, dtype):
    samples = (10 * X).astype(dtype)
    fitted = clone(make).fit(samples)
    computed = []

    def watched(block):
        computed.append(block.shape)
        return block

    lazy = da.from_array(samples, chunks=(11, 6, 5)).map_blocks(watched, dtype=dtype, meta=samples)
    found = fitted.transform(lazy)
    assert computed == []
    assert isinstance(found, da.Array)
    assert found.shape == (40, *shape)
    assert found.chunks == ((11, 11, 11, 7), *((length,) for length in shape))
    expected = fitted.transform(samples)
    assert found.dtype == expected.dtype
    assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-12)
    assert len(computed) == 4


def test_transform_refuses_what_it_would_in_memory():
    fitted = STPCASelector(4, **SMALL).fit(X)
    with pytest.raises(ValueError, match=r"X has samples of shape \(6,\), but STPCASelector"):
        fitted.transform(da.zeros((4, 6)))
    broken = fitted.transform(da.full((4, 6, 5), np.nan))
    with pytest.raises(ValueError, match="X contains NaN"):
        broken.compute()
    with pytest.raises(ValueError, match="set_output asks for a data frame, but Dask arrays"):
        fitted.set_output(transform="pandas").transform(da.zeros((4, 6, 5)))
    with pytest.raises(ValueError, match="X is complex, but earlier samples are real"):
        TensorPCA(2).fit(X).transform(da.zeros((4, 6, 5), dtype=complex))


def test_score_of_samples_that_do_not_vary():
    fitted = STPCASelector(4, **SMALL).fit(X)
    same = da.from_array(np.broadcast_to(fitted._moments.mean, (8, 6, 5)), chunks=3)
    with pytest.raises(ValueError, match="nothing to reconstruct"):
        fitted.score(same)


# Errors


@pytest.mark.parametrize(
    ("lazy", "message"),
    [
        (da.full((9, 3, 2), np.inf, chunks=2), "X contains infinity"),
        (da.full((9, 3, 2), 1e200, chunks=2), "X (has|contains) values above 1e\\+100"),
        (da.ones((9, 3, 2), chunks=2), "X is constant"),
        (da.ones((1, 3, 2), chunks=2), "1 sample seen so far; at least 2"),
        (da.ones((9, 3, 2), chunks=2, dtype="M8[s]"), "dtype datetime64.*not numeric"),
        (da.ones(9, chunks=2), r"X has shape \(9,\); it needs at least two axes"),
        (da.ones((9, 0, 2)), "X has a mode of length zero"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_name_the_argument(lazy, message):
    with pytest.raises(ValueError, match=message):
        STPCASelector(2).fit(lazy)


def test_features_of_unknown_number():
    lazy = da.from_array(X[:, :, 0], chunks=5)
    with pytest.raises(ValueError, match=r"modes of unknown length.*compute_chunk_sizes"):
        STPCASelector(2).fit(lazy[:, lazy[0] > 0])


def test_masked_values_are_refused():
    masked = da.ma.masked_greater(da.from_array(X, chunks=8), 1.0)
    with pytest.raises(ValueError, match="X has masked values"):
        STPCASelector(2).fit(masked)


# Chunks, tasks and their names


def test_split_features_do_not_make_chunks_larger_than_configured():
    from tensift.sources._dask import DaskSource

    lazy = da.zeros((1000, 10, 10), chunks=(1000, 5, 5))
    with dask.config.set({"array.chunk-size": "80 kB"}):
        whole = DaskSource(lazy).array
    assert whole.chunks == ((100,) * 10, (10,), (10,))
    kept = da.zeros((1000, 10, 10), chunks=(500, 10, 10))
    assert DaskSource(kept).array is kept


NAMES = """
import dask.array as da, numpy as np
from functools import partial
from tensift.algebra import make_transforms
from tensift.moments._chunk_measures import moments_of_chunk
from tensift.moments import Orientation
from tensift.stpca.execution._on_dask import DaskExecutor, solve_block
from tensift.solvers import SliceSolver
from tensift.sources._dask import DaskSource
from tensift.moments._dask_moments import DaskMoments, merged

def names(kind, lam):
    X = np.random.default_rng(0).normal(size=(20, 4, 3))
    orientation = Orientation((4, 3), 0, make_transforms(kind, [3]))
    orientation.to_slices(X)  # fills what is computed once
    measure = partial(moments_of_chunk, orientation=orientation)
    root = DaskSource(da.from_array(X, chunks=6)).reduction(measure, merged, "moments")
    solver = SliceSolver("paper", tol=1e-5, max_iter=10, ridge=1e-3)
    moments = DaskMoments(root)
    work = partial(solve_block, solver=solver, lam=lam, eta=1.0, factor=1.0)
    tasks = DaskExecutor(moments, 1.0)._on_blocks(work)
    return sorted(map(str, root.dask)) + [task.key for task in tasks]
"""


def test_names_of_tasks_depend_on_data_and_parameters_alone():
    scope = {}
    exec(NAMES, scope)
    here = scope["names"]("dct", 1.0)
    code = NAMES + "print(names('dct', 1.0))"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert eval(there.stdout) == here
    other_penalty, other_transform = scope["names"]("dct", 2.0), scope["names"]("haar", 1.0)
    assert other_penalty[:-1] == here[:-1]
    assert other_penalty[-1] != here[-1]
    assert not {name for name in other_transform if "array" not in name} & set(here)


def moments_in(result):
    """The moments that a task gave, alone or beside samples that were picked out."""
    return getattr(result, "moments", result)


def test_tasks_change_nothing_that_they_are_given():
    from dask.callbacks import Callback

    given_to = {}

    class Frozen(Callback):
        """Every value is pickled when it is made; none may differ when all is done."""

        def _posttask(self, key, result, dsk, state, worker):
            given_to[key] = (result, pickle.dumps(result))

    with Frozen():
        found = STPCASelector(8, solver="exact", lam=20.0, eta=15.0)
        found.fit(da.from_array(X, chunks=(3, 6, 5)))
        stpca_path(da.from_array(X, chunks=(7, 6, 5)), [0.1, 1.0], [0.1, 1.0])
    assert len(given_to) > 30
    kept = [
        (moments, moments_in(pickle.loads(before)))
        for result, before in given_to.values()
        if isinstance(moments := moments_in(result), Moments)
    ]
    assert len(kept) > 20
    for result, then in kept:
        assert result.count == then.count
        assert len(result._columns) == len(then._columns)
        assert_array_equal(result.gram().array, then.gram().array)


# Paths


def test_paths_equal_those_in_memory(monkeypatch):
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 40)
    lazy = da.from_array(X, chunks=(7, 4, 2))
    for options in (
        {"solver": "exact", "penalty_units": "relative", "lams": [0.2, 0.05, 0.5]},
        {"solver": "paper", "basis": "dft", "score_by": "energy", "lams": [1.0, 0.1]},
    ):
        found = stpca_path(lazy, etas=[0.1, 0.4], **options)
        expected = stpca_path(X, etas=[0.1, 0.4], **options)
        for name in ("scores", "objective", "dual_objective"):
            assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-10)
        assert_array_equal(found.n_iter, expected.n_iter)


def test_path_goes_on_from_its_checkpoint(monkeypatch, tmp_path):
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 40)
    file, lazy = tmp_path / "path.npz", da.from_array(X, chunks=(7, 6, 5))
    solved = []
    original = _on_dask.solve_row

    def watched(*arguments):
        solved.append(len(solved))
        if len(solved) == 5:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(_on_dask, "solve_row", watched)
    grid = {"lams": [0.1, 1.0], "etas": [0.1, 1.0, 3.0]}
    with pytest.raises(KeyboardInterrupt):
        stpca_path(lazy, **grid, checkpoint=file)
    found = stpca_path(lazy, **grid, checkpoint=file)
    n_rows = 3 * len(STPCASelector(1, **SMALL).fit(lazy)._moments.blocks)
    assert n_rows > 8
    assert len(solved) == n_rows + 1  # four kept, one lost
    assert_array_equal(found.scores, stpca_path(lazy, **grid).scores)
    with pytest.raises(ValueError, match="was made with other data"):
        stpca_path(lazy + 1e-3 * lazy**2, **grid, checkpoint=file)


def captured_tasks(monkeypatch, scheduler):
    """The tasks of a path, none of which is run."""
    lazy = da.from_array(X, chunks=(40, 6, 5))
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 40)
    taken = []

    def gather(tasks, store=None):
        taken.extend(tasks)
        raise InterruptedError

    moments = STPCASelector(1, **SMALL).fit(lazy)._moments
    monkeypatch.setattr(_on_dask, "gather_results", gather)
    with dask.config.set(scheduler=scheduler), pytest.raises(InterruptedError):
        stpca_path(moments, np.geomspace(0.1, 10, 9), np.geomspace(0.1, 10, 8))
    return moments, taken


def test_rows_share_one_prepared_block_and_hold_no_matrices(monkeypatch):
    moments, tasks = captured_tasks(monkeypatch, "synchronous")
    n_blocks = len(moments.blocks)
    assert n_blocks > 1
    assert len(tasks) == 8 * n_blocks
    of_blocks = {}
    for task in tasks:
        graph = dict(task.dask)
        (prepared,) = [key for key in graph if "prepared" in str(key)]
        of_blocks.setdefault(prepared, []).append(task.key)
        # A row comes as its penalties and solver, not with the numbers of its block.
        assert len(pickle.dumps(graph[task.key])) < 2000
    assert sorted(map(len, of_blocks.values())) == [8] * n_blocks


def test_processes_take_a_block_once(monkeypatch):
    moments, tasks = captured_tasks(monkeypatch, "processes")
    assert len(tasks) == len(moments.blocks)


# Fitted estimators


def test_pickles_hold_ordinary_moments_and_operators_are_still_there(monkeypatch):
    fitted = STPCASelector(5, **SMALL).fit(da.from_array(X, chunks=(9, 6, 5)))
    thawed = pickle.loads(pickle.dumps(fitted))
    assert type(thawed._moments) is Moments
    with monkeypatch.context() as patch:
        patch.setattr(dask, "compute", None)  # nothing of Dask is needed any more
        assert_same_fit(thawed, STPCASelector(5, **SMALL).fit(X))
        thawed.partial_fit(X)
        assert thawed.n_samples_seen_ == 80
    assert not hasattr(clone(fitted), "scores_")


def test_operators_are_solved_again_only_if_read(monkeypatch):
    solved = []
    original = _on_dask._solved

    def watched(*arguments, **settings):
        solved.append(1)
        return original(*arguments, **settings)

    monkeypatch.setattr(_on_dask, "_solved", watched)
    fitted = STPCASelector(5, **SMALL).fit(da.from_array(X, chunks=(9, 6, 5)))
    assert fitted.order_.size == 30
    assert len(solved) == 1
    assert fitted.operators_ is fitted.operators_
    assert len(solved) == 2


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_progress(capsys, monkeypatch, scheduler):
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 40)
    told = {}

    def bar(title, total, **_):
        told[title] = []
        return lambda done: told[title].append((done, total))

    import tensift.sources._dask
    import tensift.stpca._path
    import tensift.stpca._selector

    for module in (tensift.stpca._path, tensift.stpca._selector, tensift.sources._dask):
        monkeypatch.setattr(module, "progress_bar", bar)
    lazy = da.from_array(X, chunks=(8, 6, 5))
    with dask.config.set(scheduler=scheduler):
        STPCASelector(5, basis="eigen", verbose=True, **SMALL).fit(lazy)
        assert told["correlating modes"] == [(done, 5) for done in range(1, 6)]
        assert told["reading samples"] == told["correlating modes"]
        assert told["solving slices"][-1] == (5, 5)
        stpca_path(lazy, [0.1, 1.0], [0.1, 1.0, 2.0], verbose=True)
    counts = [done for done, _ in told["solving slices"]]
    assert counts == sorted(counts)
    assert told["solving slices"][-1] == (30, 30)
    assert len(counts) > 5
