"""What is read in chunks and what is an array in memory; and what is wrong with either."""

import os
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift import SparseTensorPCA, STPCASelector, TensorPCA, collect_moments, stpca_path
from tensift.rivals import SPCAPSD
from tensift.sources import Chunks, Source, source_of
from tensift.sources._chunks import StoredSource
from tensift.sources._prefetch import prefetch
from tensift.sources._rows import FileReader, SlicingReader

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")

X = np.random.default_rng(0).normal(size=(90, 6, 5)) * np.linspace(0.2, 2, 30).reshape(6, 5) + 3


class Lazy:
    """Anything that has a shape and a type, and gives rows when it is sliced."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.asked = []

    def __getitem__(self, rows):
        self.asked.append((rows.start, rows.stop))
        return self._array[rows]


class Again:
    """Gives its chunks again and again."""

    def __init__(self, chunks):
        self._chunks = chunks

    def __iter__(self):
        return iter(self._chunks)


def mapped(path, array, order="C"):
    np.save(path, np.asarray(array, order=order))
    return np.load(path, mmap_mode="r")


def hdf5(path, array, chunks=None):
    file = h5py.File(path, "w")
    return file.create_dataset("X", data=array, chunks=chunks)


def zarr_array(path, array, chunks, zarr_format=3):
    stored = zarr.create_array(
        str(path), shape=array.shape, chunks=chunks, dtype=array.dtype, zarr_format=zarr_format
    )
    stored[...] = array
    return stored


def pieces(array, lengths):
    ends = np.cumsum(lengths)[:-1]
    return np.split(array, ends)


# Who is a source


@pytest.fixture
def stored(tmp_path):
    """Every kind of source that holds the same samples; generators anew each time."""
    return {
        "memory map": mapped(tmp_path / "x.npy", X),
        "view of a map": mapped(tmp_path / "y.npy", np.concatenate([X[:5], X]))[5:],
        "array on a map": np.asarray(mapped(tmp_path / "x.npy", X)),
        "map in Fortran's order": mapped(tmp_path / "f.npy", X, "F"),
        "map of changes": np.load(tmp_path / "x.npy", mmap_mode="c"),
        "reversed map": mapped(tmp_path / "r.npy", X[:, ::-1])[:, ::-1],
        "HDF5": hdf5(tmp_path / "a.h5", X),
        "HDF5 in chunks": hdf5(tmp_path / "b.h5", X, (7, 2, 5)),
        "HDF5 across samples": hdf5(tmp_path / "c.h5", X, (90, 1, 1)),
        "Zarr": zarr_array(tmp_path / "a.zarr", X, (16, 3, 5)),
        "Zarr of format 2": zarr_array(tmp_path / "b.zarr", X, (16, 6, 5), 2),
        "lazy": Lazy(X),
        "iterable": Again(pieces(X, [1, 40, 9, 40])),
        "Chunks": Chunks(lambda: (X[k : k + 8] for k in range(0, 90, 8))),
    }


KINDS = ["memory map", "view of a map", "array on a map", "map in Fortran's order"]
KINDS += ["map of changes", "reversed map", "HDF5", "HDF5 in chunks", "HDF5 across samples"]
KINDS += ["Zarr", "Zarr of format 2", "lazy", "iterable", "Chunks"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_read_in_chunks_and_gives_the_fit_in_memory(stored, kind):
    source = source_of(stored[kind])
    assert isinstance(source, Source)
    assert source.sample_shape == (6, 5)
    assert source.dtype == np.float64
    with sklearn.config_context(working_memory=0.2):
        for transform in ("identity", "dct", "eigen"):
            expected = STPCASelector(5, basis=transform).fit(X)
            found = STPCASelector(5, basis=transform, n_jobs=2).fit(stored[kind])
            assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())
            assert_array_equal(found.order_, expected.order_)
            assert found.n_samples_seen_ == 90
        assert_array_equal(found.transform(stored[kind]), expected.transform(X))
        assert found.score(stored[kind]) == pytest.approx(expected.score(X), rel=1e-10)


def test_contiguous_maps_are_read_as_files(stored):
    for kind in ("memory map", "view of a map", "array on a map"):
        assert isinstance(source_of(stored[kind]).reader, FileReader), kind
    for kind in ("map in Fortran's order", "map of changes", "reversed map"):
        assert not isinstance(source_of(stored[kind]).reader, FileReader), kind


def test_a_generator_is_read_once():
    found = STPCASelector(5).fit(chunk for chunk in pieces(X, [30, 30, 30]))
    expected = STPCASelector(5).fit(X)
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def arrays_in_memory():
    yield "ndarray", X
    yield "view", X[1:, ::-1]
    yield "list", X.tolist()
    yield "list of arrays", list(X)
    yield "tuple", tuple(X)
    yield "masked", np.ma.masked_array(X)
    yield "data frame", pd.DataFrame(X.reshape(90, -1))
    yield "series", pd.Series(X[:, 0, 0])
    yield "sparse matrix", scipy.sparse.csr_matrix(X.reshape(90, -1))
    yield "sparse array", scipy.sparse.csr_array(X.reshape(90, -1))
    yield "text", "x.npy"
    yield "bytes", b"x.npy"
    yield "dict", {"X": X}
    yield "set", {1, 2}
    yield "nothing", None
    yield "number", 3.0
    for module in ("torch", "jax.numpy", "array_api_strict"):
        try:
            library = __import__(module, fromlist=["asarray"])
        except ImportError:
            continue
        yield module, library.asarray(X)
    try:
        import xarray
    except ImportError:
        return
    yield "xarray", xarray.DataArray(X)


@pytest.mark.parametrize("name", [name for name, _ in arrays_in_memory()])
def test_what_is_in_memory_is_no_source(name):
    assert source_of(dict(arrays_in_memory())[name]) is None


def test_an_xarray_that_is_not_loaded_is_a_source(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    xarray.DataArray(X, name="X").to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with xarray.open_dataarray(tmp_path / "x.nc", engine="h5netcdf") as opened:
        assert source_of(opened) is not None


# Results do not depend on chunks


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    memory=st.floats(1e-3, 1),
    basis=st.sampled_from(["identity", "dft", "haar"]),
    orientation=st.integers(0, 1),
    dtype=st.sampled_from(["f4", "f8", "i2", ">f8", "c8"]),
)
def test_any_chunks_give_the_same(lengths, memory, basis, orientation, dtype):
    n = sum(lengths)
    if n < 2:
        return
    data = (10 * X[:n]).astype(dtype) if n <= 90 else np.tile(10 * X, (5, 1, 1))[:n].astype(dtype)
    options = {"orientation": orientation, "basis": basis, "score_by": "energy"}
    expected = STPCASelector(3, **options).fit(data)
    with sklearn.config_context(working_memory=memory * 0.05 + 0.02):
        chunks = STPCASelector(3, **options).fit(iter(pieces(data, lengths)))
    with sklearn.config_context(working_memory=memory * 0.05):
        rows = collect_moments(Lazy(data), orientation, basis)
    top = expected.scores_.max()
    assert_allclose(chunks.scores_, expected.scores_, atol=1e-10 * top)
    centred = data.astype(complex if dtype == "c8" else float)
    centred = centred - centred.mean(axis=0)
    assert_allclose(rows.spread(), np.sqrt(np.mean(np.abs(centred) ** 2, axis=0)), rtol=1e-10)
    slices = rows.orientation.to_slices(centred)
    gram = slices @ np.conj(np.swapaxes(slices, 1, 2))
    assert_allclose(rows.gram().dense(), gram, atol=1e-11 * np.abs(gram).max())


@pytest.mark.parametrize("transform", ["identity", "dct"])
def test_workers_change_no_bit(tmp_path, transform):
    data = np.random.default_rng(1).normal(size=(700, 40, 30)).astype(np.float32)
    file = mapped(tmp_path / "x.npy", data)
    with sklearn.config_context(working_memory=20):
        one, two, five = (collect_moments(file, 0, transform, n_jobs=n) for n in (1, 2, 5))
    for other in (two, five):
        for name in ("mean", "_squares", "_scatter"):
            assert_array_equal(getattr(other, name), getattr(one, name))


def test_single_precision_is_summed_in_double(tmp_path):
    """A mean of 1000 and a spread of 1e-3: sums in single precision would have no digit."""
    rng = np.random.default_rng(2)
    data = (1000 + np.round(rng.normal(size=(3000, 4, 3)) * 16) / 16384).astype(np.float32)
    moments = collect_moments(mapped(tmp_path / "x.npy", data))
    double = data.astype(np.longdouble)
    double -= double.mean(axis=0)
    exact = np.einsum("nlj,nmj->jlm", double, double).astype(float)
    assert_allclose(moments.gram().dense(), exact, atol=1e-9 * np.abs(exact).max())


# Every estimator takes them


@pytest.mark.parametrize("kind", ["memory map", "HDF5 in chunks", "iterable"])
def test_all_oriented_estimators_take_them(stored, kind):
    for estimator in (TensorPCA(3), SparseTensorPCA(2, lam=0.01), SPCAPSD(5)):
        expected = estimator.fit(X)
        scores, coordinates = expected.scores_.copy(), expected.transform(X)
        found = estimator.fit(stored[kind])
        assert_allclose(found.scores_, scores, atol=1e-8 * scores.max())
        assert_allclose(np.abs(found.transform(stored[kind])), np.abs(coordinates), atol=1e-7)
    path, expected = stpca_path(stored[kind], [1, 10], [1]), stpca_path(X, [1, 10], [1])
    assert_allclose(path.scores, expected.scores, atol=1e-10 * expected.scores.max())


def test_partial_fit_takes_them_too(stored):
    expected = STPCASelector(5).fit(np.concatenate([X, X[:20], X]))
    found = STPCASelector(5).partial_fit(stored["memory map"]).partial_fit(X[:20])
    found.partial_fit(iter([X]))
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_moments_stand_for_samples(stored):
    moments = collect_moments(stored["HDF5"], 1, "dct")
    before = moments.count, moments.mean.copy(), moments.gram().array.copy()
    expected = STPCASelector(5, selection="top", orientation=1, basis="dct").fit(X)
    for same in (
        {},
        {"orientation": 1, "basis": "dct"},
        {"orientation": -1, "basis": "dct"},
    ):
        found = STPCASelector(5, selection="top", **same).fit(moments)
        assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())
        assert_array_equal(found.transform(X), expected.transform(X))
    found.partial_fit(X)
    assert found.n_samples_seen_ == 180
    assert (moments.count, moments.mean.tolist()) == (before[0], before[1].tolist())
    assert_array_equal(moments.gram().array, before[2])
    pca = TensorPCA(2).fit(moments)
    assert_allclose(pca.scores_, TensorPCA(2, orientation=1, basis="dct").fit(X).scores_)
    for wrong in ({"orientation": 0, "basis": "dct"}, {"orientation": 1, "basis": "haar"}):
        with pytest.raises(ValueError, match=r"X.* is Moments"):
            STPCASelector(5, **wrong).fit(moments)
    with pytest.raises(ValueError, match="SPCAPSD flattens"):
        SPCAPSD(5).fit(moments)


def test_rows_take_their_shape_from_the_parameter(tmp_path):
    rows = mapped(tmp_path / "rows.npy", X.reshape(90, 30))
    found = STPCASelector(5, feature_shape=(6, 5)).fit(rows)
    expected = STPCASelector(5, feature_shape=(6, 5)).fit(X.reshape(90, 30))
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())
    assert found.transform(rows).shape == (90, 5)


# How chunks are cut


def test_chunks_follow_those_that_are_stored_and_the_memory_allowed(tmp_path):
    data = hdf5(tmp_path / "x.h5", np.zeros((1000, 4, 8)), (30, 4, 8))
    row = 4 * 8 * 8
    for rows, expected in [(100, 90), (30, 30), (10, 30), (1, 1)]:
        with sklearn.config_context(working_memory=32 * rows * row / 2**20):
            assert source_of(data).length == expected


def test_one_chunk_is_read_ahead_and_no_more():
    lazy = Lazy(X)
    with sklearn.config_context(working_memory=32 * 10 * 30 * 8 / 2**20):
        chunks = prefetch(StoredSource(SlicingReader(lazy)).chunks())
        for number in range(3):
            next(chunks)
            for _ in range(200):
                if len(lazy.asked) >= number + 3:
                    break
                threading.Event().wait(0.01)
            threading.Event().wait(0.05)
            assert len(lazy.asked) == number + 3  # in use, waiting, and one that has no place yet
        chunks.close()
    assert not [t for t in threading.enumerate() if t.name == "tensift-read-ahead"]


def test_a_generator_may_fill_the_same_array_again():
    def chunks():
        buffer = np.empty((10, 6, 5))
        for k in range(0, 90, 10):
            buffer[...] = X[k : k + 10]
            yield buffer
            buffer[...] = np.nan

    with sklearn.config_context(working_memory=0.01):
        found = STPCASelector(5).fit(chunks())
    expected = STPCASelector(5).fit(X)
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_progress_in_bytes_is_shown(tmp_path, capsys, monkeypatch):
    from tensift._utils import progress

    monkeypatch.setattr(progress.time, "monotonic", iter(np.arange(0.0, 1e4)).__next__)
    with sklearn.config_context(working_memory=32 * 9 * 240 / 2**20):
        collect_moments(mapped(tmp_path / "x.npy", X), verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert "of 21.6 kB (90 samples)" in lines[-1]
    assert "bytes/s, 0 s left" in lines[-1] or "kB/s, 0 s left" in lines[-1]


# What is wrong


def spoilt(value):
    data = X.copy()
    data[37, 2, 1] = value
    return data


@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity"), (1e120, "1e")]
)
@pytest.mark.parametrize("transform", ["identity", "dct", "eigen"])
def test_values_that_cannot_be_used_are_located(value, what, transform):
    with (
        sklearn.config_context(working_memory=32 * 10 * 240 / 2**20),
        pytest.raises(ValueError, match=rf"X contains .*{what}.*sample 37 .*samples 30 to 39"),
    ):
        STPCASelector(5, basis=transform).fit(Lazy(spoilt(value)))


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([], "yielded no chunk"),
        ([X, X[:, :5]], r"chunk 1 of X has samples of shape \(5, 5\).*\(6, 5\)"),
        ([X, X + 1j], "chunk 1 of X is complex"),
        ([X, X.astype(str)], "chunk 1 of X: .*not numeric"),
        ([X.astype(object)], "chunk 0 of X: .*not numeric"),
        ([X, (X, 1)], "chunk 1 of X is a tuple"),
        ([X, "text"], "chunk 1 of X is a str"),
        ([X, [[1, 2], [3]]], "chunk 1 of X is not an array"),
        ([X, np.ma.masked_greater(X, 3)], "chunk 1 of X has masked"),
        ([X[0]], r"shape \(5,\)|1 sample|constant|chunk"),
        ([X[:1]], "1 sample seen"),
        ([X[:0]], "no samples|no sample seen"),
        ([np.zeros((4, 0, 2))], "length zero"),
        ([np.float64(3)], "chunk 0 of X"),
    ],
)
def test_chunks_that_do_not_fit_are_refused(chunks, message):
    if message.startswith(r"shape \(5,\)"):
        chunks = [X[0][0]]
        message = "chunk 0 of X"
    with pytest.raises(ValueError, match=message):
        STPCASelector(5).fit(iter(chunks))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (X.astype(str), "not numeric"),
        (np.zeros(5), "at least two axes"),
        (np.zeros((0, 3, 2)), "no samples"),
        (np.zeros((5, 0)), "length zero"),
        (X.reshape(90, -1) + 1j, "Complex data not supported"),
    ],
)
def test_stored_arrays_that_hold_no_samples_are_refused(array, message):
    with pytest.raises(ValueError, match=message):
        STPCASelector(5).fit(Lazy(array))


def test_an_iterator_cannot_be_read_twice():
    with pytest.raises(ValueError, match=r"reads the samples twice.*tensift\.sources\.Chunks"):
        STPCASelector(5, basis="eigen").fit(iter([X]))
    used = iter([X])
    selector = STPCASelector(5).fit(used)
    with pytest.raises(ValueError, match="read before"):
        selector.transform(used)
    with pytest.raises(TypeError, match="needs a function"):
        Chunks([X])


def test_errors_of_an_iterator_are_its_own():
    def chunks():
        yield X
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        STPCASelector(5).fit(chunks())


def test_a_file_that_shrinks_is_an_error_and_not_the_end(tmp_path):
    path = tmp_path / "x.npy"
    data = mapped(path, X)
    os.truncate(path, path.stat().st_size - 1000)
    with pytest.raises(ValueError, match="truncated"):
        STPCASelector(5).fit(data)
    data = mapped(tmp_path / "y.npy", X)
    source = source_of(data)
    os.truncate(tmp_path / "y.npy", 128 + 50 * 240 + 3)
    with pytest.raises(ValueError, match=r"y.npy ends in sample 50 of 90"):
        STPCASelector(5).fit(source)


def test_a_file_that_was_replaced_is_not_taken_for_the_one_that_was_mapped(tmp_path):
    data = mapped(tmp_path / "x.npy", X)
    np.save(tmp_path / "other.npy", 2 * X)
    os.replace(tmp_path / "other.npy", tmp_path / "x.npy")
    found = STPCASelector(5, scale=None).fit(data)
    expected = STPCASelector(5, scale=None).fit(X)
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_changes_of_ones_own_stay(tmp_path):
    mapped(tmp_path / "x.npy", X)
    data = np.load(tmp_path / "x.npy", mmap_mode="c")
    data[3] += 1
    with sklearn.config_context(working_memory=0.1):
        found = STPCASelector(5).fit(data)
    changed = X.copy()
    changed[3] += 1
    assert_array_equal(data, changed)
    expected = STPCASelector(5).fit(changed)
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_an_impossible_feature_mode_is_known_before_samples_are_read():
    lazy = Lazy(X)
    with pytest.raises(ValueError, match="feature_mode"):
        STPCASelector(5, feature_mode=7).fit(lazy)
    assert not lazy.asked
