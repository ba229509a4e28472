"""The few samples that a selector may look at are the same ones however samples come."""

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tensift import STPCASelector, TensorPCA, collect_moments, stpca_path
from tensift._utils.namespace import is_device_array, to_numpy
from tensift.moments import OrientedEstimator
from tensift.sources import Chunks, _even_subsample, even_subsample
from tensift.sources._even_subsample import EvenSubsample, most_rows, stride_of

N = 150
X = np.random.default_rng(0).normal(size=(N, 6, 5)) + 3


class Looks(OrientedEstimator):
    """Learns nothing but the rows that it may look at."""

    _takes_device_arrays = True
    _solves_in_passes = True

    def __init__(self, wanted=True, basis="identity", feature_shape=None):
        self.wanted = wanted
        self.basis = basis
        self.feature_shape = feature_shape
        self.orientation = 0
        self.random_state = None

    def _needs_subsample(self):
        return self.wanted

    def _solve(self, samples):
        kept = self._moments.subsample
        self.rows_ = None if kept is None else kept.rows()


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    """At most 20 rows, so that small data are thinned."""
    for name, count in (("_FEWEST", 1), ("_ENOUGH", 20), ("_MOST", 20)):
        monkeypatch.setattr(_even_subsample, name, count)


EXPECTED = X[::8]  # 150 / 8 are 19 rows; 150 / 4 would be 38


def test_the_rule():
    for d in (1, 30, 10**4, 10**7):
        most = most_rows(d)
        for n in [*range(1, 100), 2048, 2049, 10**6]:
            stride = next(s for s in (2**k for k in range(40)) if -(-n // s) <= most)
            assert stride_of(n, d) == stride


@pytest.mark.parametrize(
    ("d", "most"),
    [
        (1, 2048),
        (2**14, 2048),
        (2**15, 1024),
        (2**17, 512),
        (2**18, 256),
        (2**19, 128),
        (10**7, 64),
    ],
)
def test_how_many_are_kept(monkeypatch, d, most):
    monkeypatch.undo()
    assert most_rows(d) == most


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.complex64, bool])
def test_rows_of_arrays_are_in_double_precision(dtype):
    samples = X.astype(dtype)
    found = even_subsample(samples)
    assert found.dtype == (np.complex128 if dtype == np.complex64 else np.float64)
    assert_array_equal(found, samples[::8])


def test_few_samples_are_not_copied():
    assert np.may_share_memory(even_subsample(X[:20]), X)


@settings(max_examples=60, deadline=None)
@given(lengths=st.lists(st.integers(0, 60), min_size=1, max_size=12), as_rows=st.booleans())
def test_any_chunking_keeps_the_same(lengths, as_rows):
    samples = np.random.default_rng(1).normal(size=(sum(lengths), 3, 2)).astype(np.float32)
    kept = EvenSubsample((3, 2))
    start = 0
    for length in lengths:
        chunk = samples[start : start + length].copy()
        kept.add(chunk.reshape(length, 6) if as_rows else chunk)
        chunk[...] = np.nan  # whoever gives chunks may use their memory again
        start += length
    assert kept.count == len(samples)
    if len(samples):
        assert_array_equal(kept.rows(), even_subsample(samples))


# Samples that are not in memory


def generated(length=8):
    return (X[k : k + length] for k in range(0, N, length))


class Counted:
    """Can be sliced like a file, and counts what is asked for."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.read = 0

    def __getitem__(self, rows):
        self.read += rows.stop - rows.start
        return self._array[rows]


def mapped(folder, array=X):
    np.save(folder / "x.npy", array)
    return np.load(folder / "x.npy", mmap_mode="r")


def hdf5(folder):
    h5py = pytest.importorskip("h5py")
    return h5py.File(folder / "x.h5", "w").create_dataset("X", data=X, chunks=(7, 2, 5))


def zarr_array(folder):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(
        str(folder / "x.zarr"), shape=X.shape, chunks=(16, 3, 5), dtype=float
    )
    stored[...] = X
    return stored


def dask_array(chunks=((1, 0, 70, 79), 3, 5), array=X):
    return pytest.importorskip("dask.array").from_array(array, chunks=chunks)


def unknown_lengths(chunks=13):
    """A Dask array of the same samples, of which nobody knows how many there are."""
    padded = np.concatenate([X[:4], X])
    array = dask_array((chunks, -1, -1), padded)
    return array[dask_array(chunks, np.arange(len(padded)) >= 4)]


KINDS = {
    "array": lambda folder: X,
    "list": lambda folder: X.tolist(),
    "map": mapped,
    "map in single precision": lambda folder: mapped(folder, X.astype(np.float32)),
    "map in Fortran's order": lambda folder: mapped(folder, np.asfortranarray(X)),
    "HDF5": hdf5,
    "Zarr": zarr_array,
    "generator": lambda folder: generated(),
    "generator of samples": lambda folder: generated(1),
    "Chunks": lambda folder: Chunks(generated),
    "Dask": lambda folder: dask_array(),
    "Dask of unknown lengths": lambda folder: unknown_lengths(),
    "Dask of rows": lambda folder: dask_array((11, 30), X.reshape(N, 30)),
}


@pytest.mark.parametrize("memory", [0.1, 1024])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_rows(kind, memory, tmp_path):
    expected = EXPECTED.astype(np.float32) if kind == "map in single precision" else EXPECTED
    shape = (6, 5) if kind == "Dask of rows" else None
    with sklearn.config_context(working_memory=memory):  # 0.1: chunks of 13 samples
        fitted = Looks(feature_shape=shape).fit(KINDS[kind](tmp_path))
        assert fitted.rows_.dtype == np.float64
        assert_array_equal(fitted.rows_, expected)
        (tmp_path / "more").mkdir()
        more = Looks(feature_shape=shape)
        more.partial_fit(X[:5].astype(expected.dtype))
        more.partial_fit(KINDS[kind](tmp_path / "more"))
        again = np.concatenate([X[:5], X])[::8]
        assert_array_equal(more.rows_, again.astype(expected.dtype))


@pytest.mark.parametrize("make", [dask_array, unknown_lengths])
def test_threads(make):
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="threads", num_workers=2):
        assert_array_equal(Looks().fit(make()).rows_, EXPECTED)


@pytest.mark.slow
@pytest.mark.parametrize("make", [dask_array, unknown_lengths])
def test_processes(make):
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="processes", num_workers=1):
        assert_array_equal(Looks().fit(make()).rows_, EXPECTED)


def test_a_cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        for make in (dask_array, unknown_lengths):
            assert_array_equal(Looks().fit(make()).rows_, EXPECTED)


@settings(max_examples=20, deadline=None)
@given(
    ends=st.lists(st.integers(0, N), max_size=6), unknown=st.booleans(), before=st.integers(0, 9)
)
def test_any_chunks_of_dask(ends, unknown, before):
    dask = pytest.importorskip("dask")
    lengths = tuple(np.diff([0, *sorted(ends), N]).tolist())
    looks = Looks()
    with dask.config.set(scheduler="synchronous"):
        if before:
            looks.partial_fit(X[:before])
        looks.partial_fit(
            unknown_lengths((4, *lengths)) if unknown else dask_array((lengths, 2, 5))
        )
        assert_array_equal(looks.rows_, np.concatenate([X[:before], X])[::8])


def test_chunks_of_dask_are_made_once():
    da = pytest.importorskip("dask.array")
    made = []

    def make(block_info=None):
        (first, last), *_ = block_info[None]["array-location"]
        made.append(first)
        return X[first:last]

    array = da.map_blocks(make, chunks=((50,) * 3, 6, 5), dtype=float, meta=np.empty((0, 0, 0)))
    assert_array_equal(Looks().fit(array).rows_, EXPECTED)
    assert sorted(made) == [0, 50, 100]


def test_samples_are_read_once():
    stored = Counted(X)
    assert_array_equal(Looks().fit(stored).rows_, EXPECTED)
    assert stored.read == N
    passes = []

    def make():
        passes.append(1)
        return generated()

    assert_array_equal(Looks().fit(Chunks(make)).rows_, EXPECTED)
    assert len(passes) == 1


def test_gram_matrices_in_blocks(tmp_path):
    with (
        sklearn.config_context(working_memory=0.002),
        pytest.warns(UserWarning, match="blocks, with one pass over X for each"),
    ):
        fitted = Looks().fit(mapped(tmp_path))
    assert_array_equal(fitted.rows_, EXPECTED)


def test_a_transform_made_of_the_samples_does_not_count_them_twice(tmp_path):
    assert_array_equal(Looks(basis="eigen").fit(mapped(tmp_path)).rows_, EXPECTED)


def test_nothing_is_kept_where_nothing_is_wanted(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError

    for name in ("add", "add_rows"):
        monkeypatch.setattr(EvenSubsample, name, fail)
    for samples in (mapped(tmp_path), generated(), dask_array(), unknown_lengths()):
        assert Looks(wanted=False).fit(samples).rows_ is None
    assert Looks(wanted=False).partial_fit(X).rows_ is None
    TensorPCA(2).fit(mapped(tmp_path))
    stpca_path(mapped(tmp_path), [1.0], [1.0])


@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "single" not in kind])
def test_a_selector_chooses_the_same_features(kind, rule, tmp_path):
    shape = (6, 5) if kind == "Dask of rows" else None
    selector = STPCASelector(9, selection=rule, lam=1, eta=1, feature_shape=shape)
    expected = clone(selector).fit(X).order_
    assert_array_equal(selector.fit(KINDS[kind](tmp_path)).order_, expected)
    streamed = clone(selector)
    for chunk in generated(31):
        streamed.partial_fit(chunk)
    assert_array_equal(streamed.order_, expected)


# Samples that come bit by bit


def test_only_moments_have_no_rows():
    assert_array_equal(Looks().fit(collect_moments(X)).rows_, EXPECTED)
    twice = Looks().fit(collect_moments(X)).partial_fit(X)
    assert_array_equal(twice.rows_, np.concatenate([X, X])[::16])
    merged = collect_moments(X[:40]).merge(collect_moments(X[40:]))
    assert Looks().fit(merged).rows_ is None
    assert_array_equal(Looks().fit(X).partial_fit(X).rows_, np.concatenate([X, X])[::16])


def test_rows_of_some_samples_only_are_none():
    looks = Looks(wanted=False).partial_fit(X[:9])
    assert looks.set_params(wanted=True).partial_fit(X[9:]).rows_ is None
    looks = Looks().partial_fit(X[:9])
    looks.set_params(wanted=False).partial_fit(X[9:20])
    assert looks.set_params(wanted=True).partial_fit(X[20:]).rows_ is None


def test_partial_fit_goes_on_after_results_a_pickle_and_a_fit():
    looks = Looks().partial_fit(X[:33])
    assert_array_equal(looks.rows_, X[:33:2])
    looks = pickle.loads(pickle.dumps(looks)).partial_fit(X[33:77])
    assert_array_equal(looks.rows_, X[:77:4])
    assert not hasattr(clone(looks), "rows_")
    assert_array_equal(looks.partial_fit(generated(9)).rows_, np.concatenate([X[:77], X])[::16])
    assert_array_equal(looks.fit(X[:40]).rows_, X[:40:2])


def test_unusable_samples_leave_no_trace():
    looks = Looks().partial_fit(X[:33])
    broken = X[33:].copy()
    broken[-1] = np.nan
    for wrong in (broken, iter([X[33:50], broken])):
        with pytest.raises(ValueError, match="NaN"):
            looks.partial_fit(wrong)
    assert_array_equal(looks.partial_fit(X[33:]).rows_, EXPECTED)


def test_real_samples_after_complex_ones():
    mixed = X.astype(complex)
    mixed[:50] += 1j
    looks = Looks().partial_fit(mixed[:50]).partial_fit(X[50:])
    assert looks.rows_.dtype == np.complex128
    assert_array_equal(looks.rows_, mixed[::8])


# On a device


@pytest.mark.parametrize("library", ["torch", "array_api_strict", "jax.numpy"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_rows_stay_on_the_device(library, dtype):
    xp = pytest.importorskip(library)
    on_host = (10 * X).astype(dtype)
    samples = xp.asarray(on_host)
    kept = EvenSubsample((6, 5))
    for start, stop in [(0, 7), (7, 8), (8, 100), (100, 101), (101, N)]:
        kept.add(xp.reshape(samples[start:stop, ...], (stop - start, 30)))
    for rows in (even_subsample(samples), kept.rows()):
        assert is_device_array(rows)
        assert rows.dtype == samples.dtype or dtype == np.int32
        assert "float" in str(rows.dtype) or dtype == np.complex64
        assert_array_equal(to_numpy(rows), on_host[::8])
    assert_array_equal(kept.to_numpy().rows(), on_host[::8])


def test_fits_on_a_device():
    torch = pytest.importorskip("torch")
    samples = torch.asarray(X)
    assert_array_equal(to_numpy(Looks().fit(samples).rows_), EXPECTED)
    looks = Looks().partial_fit(samples[:7]).partial_fit(samples[7:])
    assert is_device_array(looks.rows_)
    assert_array_equal(to_numpy(looks.rows_), EXPECTED)


def test_every_way_in_selects_the_same_features(tmp_path):
    """Moments and checkpoints carry the samples that selection looks at."""
    selector = STPCASelector(9, lam=0.5, eta=0.5)
    expected = clone(selector).fit(X)
    assert_array_equal(clone(selector).fit(collect_moments(X)).order_[:9], expected.order_[:9])
    file = tmp_path / "kept.npz"
    for _ in range(2):  # the second time from the file alone
        moments = collect_moments(X, checkpoint=file)
        assert_array_equal(clone(selector).fit(moments).order_, expected.order_)
        assert_array_equal(moments.subsample.rows(), EXPECTED)
    loaded = pickle.loads(pickle.dumps(moments))
    assert_array_equal(clone(selector).fit(loaded).order_, expected.order_)
    on_dask = clone(selector).fit(collect_moments(dask_array()))
    assert_array_equal(on_dask.order_[:9], expected.order_[:9])
    auto = STPCASelector("auto", lam=0.5, eta=0.5)
    assert clone(auto).fit(moments).n_features_ == auto.fit(X).n_features_
