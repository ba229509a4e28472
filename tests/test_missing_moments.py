"""Moments where NaN was not observed: loops over pairs say what they must be."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift import ExactSolver, STPCASelector, TensorPCA, collect_moments, stpca_path
from tensift.algebra import make_transforms
from tensift.moments import (
    Moments,
    ObservedMoments,
    Orientation,
    _observed_moments,
    conditional_means,
)
from tensift.sources import Chunks

pytestmark = pytest.mark.filterwarnings("ignore:missing='allow'")


def with_gaps(shape, share=0.3, seed=0, is_complex=False):
    rng = np.random.default_rng(seed)
    X = 5 + rng.normal(size=shape) @ rng.normal(size=(shape[-1], shape[-1]))
    if is_complex:
        X = X + 1j * rng.normal(size=shape)
    X[rng.random(shape) < share] = np.nan
    return X


def oriented(shape, mode=0):
    others = [length for axis, length in enumerate(shape) if axis != mode]
    return Orientation(shape, mode, make_transforms("identity", others))


def mean_of(values):
    return values.mean() if values.size else 0.0


def by_pairs(X, mode):
    """Gram matrices ``(p, q, q)`` by loops: correlations of pairs times deviations, clipped."""
    X = X[~np.isnan(X).reshape(len(X), -1).all(axis=1)]
    slices = np.moveaxis(X, mode + 1, -1).reshape(len(X), -1, X.shape[mode + 1])
    found = np.zeros((slices.shape[1], slices.shape[2], slices.shape[2]), X.dtype)
    for j, matrix in enumerate(found):
        for a in range(len(matrix)):
            for b in range(len(matrix)):
                one, other = slices[:, j, a], slices[:, j, b]
                has_a, has_b = ~np.isnan(one), ~np.isnan(other)
                x = one[has_a & has_b] - mean_of(one[has_a])
                y = other[has_a & has_b] - mean_of(other[has_b])
                lengths = np.linalg.norm(x) * np.linalg.norm(y)
                spread = one[has_a].std() * other[has_b].std() if lengths else 0.0
                matrix[a, b] = (x @ y.conj()) / lengths * spread if lengths else 0.0
        values, vectors = np.linalg.eigh(matrix)
        matrix[...] = (vectors * np.maximum(values, 0)) @ vectors.conj().T
    return len(X) * found


@pytest.mark.parametrize("is_complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("n", [4, 40], ids=["n<q", "n>q"])
def test_moments_equal_loops_over_pairs(n, mode, is_complex):
    X = with_gaps((n, 6, 3), is_complex=is_complex)
    X[:, 1, 2] = np.nan  # never observed
    X[2] = np.nan  # no value at all
    orientation = Orientation(
        (6, 3), mode, make_transforms("identity", [(6, 3)[1 - mode]]), not is_complex
    )
    moments = ObservedMoments(orientation).update(X)
    assert moments.count == n - 1
    assert_array_equal(moments.observed, (~np.isnan(X)).sum(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of features without a value
        assert_allclose(moments.mean, np.nan_to_num(np.nanmean(X, axis=0)), atol=1e-12)
        assert_allclose(moments.spread(), np.nan_to_num(np.nanstd(X, axis=0)), atol=1e-12)
    assert_allclose(moments.gram().dense(), by_pairs(X, mode), atol=1e-9)


def test_what_is_clipped_is_the_negative_part():
    X = with_gaps((8, 12, 1), share=0.5)
    moments = ObservedMoments(oriented((12, 1))).update(X)
    values = np.linalg.eigvalsh(moments.gram().dense()[0])
    assert values.min() > -1e-10
    assert moments.missing.clipped > 0.01
    complete = np.nan_to_num(X)
    assert ObservedMoments(oriented((12, 1))).update(complete).missing.clipped == 0


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(3, 30),
    shape=st.sampled_from([(4,), (9,), (4, 3), (3, 2, 2)]),
    mode=st.integers(0, 2),
    share=st.sampled_from([0.0, 0.05, 0.4]),
    is_complex=st.booleans(),
    cuts=st.lists(st.integers(0, 30), max_size=6),
    seed=st.integers(0, 50),
)
def test_chunks_and_merging_give_the_same(n, shape, mode, share, is_complex, cuts, seed):
    X = with_gaps((n, *shape), share, seed, is_complex)
    X.reshape(n, -1)[:, seed % 4] = np.nan
    mode = mode % len(shape)
    others = [length for axis, length in enumerate(shape) if axis != mode]
    orientation = Orientation(shape, mode, make_transforms("identity", others), not is_complex)
    whole = ObservedMoments(orientation).update(X)
    parts = np.split(X, sorted({cut % n for cut in cuts} - {0}))
    streamed, merged = ObservedMoments(orientation), ObservedMoments(orientation)
    for part in parts:
        streamed.update(part)
        merged.merge(ObservedMoments(orientation).update(part))
    for found in (streamed, merged):
        assert found.count == whole.count
        assert_array_equal(found.observed, whole.observed)
        assert_allclose(found.mean, whole.mean, atol=1e-10)
        assert_allclose(found.spread(), whole.spread(), atol=1e-10)
        if whole.count:
            top = max(1, np.abs(whole.gram().dense()).max())
            assert_allclose(found.gram().dense(), whole.gram().dense(), atol=1e-10 * top)


def test_moments_that_know_gaps_take_in_those_that_do_not():
    X = with_gaps((40, 5, 4))
    complete = np.nan_to_num(X)
    one = ObservedMoments(oriented((5, 4))).update(X)
    one.merge(Moments(oriented((5, 4))).update(complete))
    both = ObservedMoments(oriented((5, 4))).update(np.concatenate([X, complete]))
    assert_allclose(one.gram().dense(), both.gram().dense(), atol=1e-9)
    with pytest.raises(ValueError, match="add these to the other ones"):
        Moments(oriented((5, 4))).update(complete).merge(one)


def test_large_masked_samples_are_summed_up_in_blocks(monkeypatch):
    X = np.nan_to_num(with_gaps((90, 5, 4)))
    X[:, 1] = np.nan
    whole = ObservedMoments(oriented((5, 4))).update(X)
    monkeypatch.setattr(_observed_moments, "_BLOCK_BYTES", 8 * 20 * 7)
    blocks = ObservedMoments(oriented((5, 4))).update(X)
    assert_allclose(blocks.gram().dense(), whole.gram().dense(), atol=1e-10)
    assert blocks.count == 90


def test_without_gaps_moments_are_those_of_complete_samples_bit_for_bit():
    X = np.nan_to_num(with_gaps((30, 5, 4)))
    for samples in (X, X[:3]):
        one = ObservedMoments(oriented((5, 4))).update(samples)
        other = Moments(oriented((5, 4))).update(samples)
        assert_array_equal(one.gram().array, other.gram().array)
        assert_array_equal(one.mean, other.mean)
        assert_array_equal(one.spread(), other.spread())
        assert one.peak == other.peak


def test_a_shift_far_from_zero_costs_no_digits():
    X = with_gaps((50, 4, 2), share=0.2)
    far = X + 1e7
    one, other = (ObservedMoments(oriented((4, 2))).update(samples) for samples in (X, far))
    assert_allclose(one.gram().dense(), other.gram().dense(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("solver", [ExactSolver(tol=1e-11, max_iter=5000), "paper"])
@pytest.mark.parametrize("mode", [0, 1])
def test_slices_without_what_was_never_observed(solver, mode):
    """A mask over whole rows and columns: results are those of the smaller tensor."""
    X = np.nan_to_num(with_gaps((40, 6, 5)))
    rows, columns = [0, 1, 3, 4], [1, 2, 4]
    masked = np.full_like(X, np.nan)
    masked[np.ix_(range(40), rows, columns)] = X[np.ix_(range(40), rows, columns)]
    smaller = np.ascontiguousarray(X[:, rows][:, :, columns])
    params = {"lam": 0.3, "eta": 0.2, "solver": solver, "selection": "top", "orientation": mode}
    one = STPCASelector(4, missing="allow", **params).fit(masked)
    other = STPCASelector(4, **params).fit(smaller)
    assert_allclose(one.scores_[np.ix_(rows, columns)], other.scores_, atol=1e-5)
    lost = np.ones((6, 5), dtype=bool)
    lost[np.ix_(rows, columns)] = False
    assert not one.scores_[lost].any()
    assert_array_equal(one.missing_.never, lost)
    kept = np.zeros((6, 5), dtype=bool)
    kept[np.ix_(rows, columns)] = other.get_support().reshape(4, 3)
    assert_array_equal(one.get_support(), kept.ravel())
    assert set(one.order_[-lost.sum() :]) == set(np.flatnonzero(lost))


def test_a_path_leaves_out_what_was_never_observed():
    X = np.nan_to_num(with_gaps((40, 5, 3)))
    masked = X.copy()
    masked[:, 2] = np.nan
    solver = ExactSolver(tol=1e-11, max_iter=5000)
    one = stpca_path(masked, [0.1, 1], [0.1, 1], solver=solver, missing="allow")
    other = stpca_path(np.delete(X, 2, axis=1), [0.1, 1], [0.1, 1], solver=solver)
    assert_allclose(np.delete(one.scores, 2, axis=2), other.scores, atol=1e-5)
    assert not one.scores[:, :, 2].any()


def from_file(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def chunks_of(X, _):
    return Chunks(lambda: iter(np.array_split(X, 5)))


def iterator_of(X, _):
    return iter(np.array_split(X, 7))


@pytest.mark.parametrize("make", [from_file, chunks_of, iterator_of])
@pytest.mark.parametrize("selection", ["geometry", "reconstruct", "top"])
def test_streams_equal_arrays(make, selection, tmp_path):
    X = with_gaps((60, 5, 4), share=0.2)
    X[:, 3, 1] = np.nan
    params = {"lam": 0.3, "eta": 0.2, "selection": selection, "missing": "allow"}
    memory = STPCASelector(6, **params).fit(X)
    stream = STPCASelector(6, **params).fit(make(X, tmp_path))
    assert_allclose(stream.scores_, memory.scores_, atol=1e-8)
    assert_allclose(stream._moments.gram().dense(), memory._moments.gram().dense(), atol=1e-10)
    assert_array_equal(stream.order_, memory.order_)
    parts = STPCASelector(6, **params)
    for part in np.array_split(X, 6):
        parts.partial_fit(part, solve=False)
    assert_array_equal(parts.solve().order_, memory.order_)


def test_dask_equals_arrays():
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    X = with_gaps((60, 5, 4), share=0.2)
    params = {"lam": 0.3, "eta": 0.2, "missing": "allow"}
    memory = STPCASelector(6, **params).fit(X)
    with dask.config.set(scheduler="synchronous"):
        lazy = STPCASelector(6, **params).fit(da.from_array(X, chunks=(17, 5, 4)))
        kept = lazy.transform(da.from_array(X, chunks=(17, 5, 4))).compute()
    assert_allclose(lazy._moments.gram().dense(), memory._moments.gram().dense(), atol=1e-10)
    assert_array_equal(lazy.order_, memory.order_)
    assert_array_equal(kept, memory.transform(X))


def test_collected_moments_know_what_is_missing():
    X = with_gaps((60, 5, 4), share=0.2)
    moments = collect_moments(X, missing="allow")
    fitted = STPCASelector(6, lam=0.3, eta=0.2).fit(moments)
    direct = STPCASelector(6, lam=0.3, eta=0.2, missing="allow").fit(X)
    assert_array_equal(fitted.order_, direct.order_)
    assert fitted.missing_.share == pytest.approx(np.isnan(X).mean())


def test_passes_over_blocks_of_slices_equal_one_pass():
    from sklearn import config_context

    X = with_gaps((300, 30, 40), share=0.05)
    params = {"lam": 0.3, "eta": 0.2, "selection": "top", "missing": "allow"}
    whole = STPCASelector(9, **params).fit(X)
    chunks = Chunks(lambda: iter(np.array_split(X, 3)))
    with config_context(working_memory=1), pytest.warns(UserWarning, match="blocks"):
        blocks = STPCASelector(9, **params).fit(chunks)
    assert_allclose(blocks.scores_, whole.scores_, atol=1e-8)


def test_other_bases_fill_arrays_and_refuse_streams():
    X = with_gaps((60, 5, 4), share=0.1)
    fitted = STPCASelector(6, basis="dct", lam=0.3, eta=0.2, missing="allow").fit(X)
    filled = STPCASelector(6, basis="dct", lam=0.3, eta=0.2).fit(conditional_means(X))
    assert_allclose(fitted.scores_, filled.scores_, atol=1e-12)
    assert fitted.missing_.share == pytest.approx(np.isnan(X).mean())
    with pytest.raises(ValueError, match="basis='dct' would mix"):
        STPCASelector(6, basis="dct", missing="allow").fit(iter([X]))
    chunks = Chunks(lambda: iter([X]))
    with pytest.raises(ValueError, match="basis='eigen'"):
        STPCASelector(6, basis="eigen", missing="allow").fit(chunks)


@pytest.mark.parametrize("basis", ["identity", "dct"])
def test_tensor_pca_restores_coordinates_of_samples_with_gaps(basis):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 2)) @ rng.normal(size=(2, 24))).reshape(300, 6, 4)
    X += 1e-3 * rng.normal(size=X.shape)
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.2] = np.nan
    pca = TensorPCA(2, basis=basis, missing="allow").fit(gappy)
    exact = pca.transform(X)
    found = pca.transform(gappy)
    assert np.abs(found - exact).mean() < 0.05 * np.abs(exact).mean()
    assert_array_equal(found, pca.transform(Chunks(lambda: iter([gappy]))))
    with pytest.raises(ValueError, match="score samples without NaN"):
        pca.score(gappy)


def test_conditional_means_of_a_model_that_holds():
    """Three factors: the estimates are nearly as good as those of the true parameters."""
    rng = np.random.default_rng(0)
    weights, noise = rng.normal(size=(20, 3)), 0.1
    X = 7 + rng.normal(size=(500, 3)) @ weights.T + noise * rng.normal(size=(500, 20))
    gappy = X.copy()
    gappy[rng.random(X.shape) < 0.3] = np.nan
    gaps = np.isnan(gappy)
    found = conditional_means(gappy)
    assert_array_equal(found[~gaps], gappy[~gaps])
    best = np.zeros_like(X)
    for i, row in enumerate(gappy):
        seen = ~gaps[i]
        inner = weights[seen] @ weights[seen].T + noise**2 * np.eye(seen.sum())
        best[i] = 7 + weights @ weights[seen].T @ np.linalg.solve(inner, row[seen] - 7)
    error, least = (np.sqrt(np.mean((one - X)[gaps] ** 2)) for one in (found, best))
    assert error < 1.15 * least


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.fill(np.nan), "no value that is not NaN"),
        (lambda X: X[1:].fill(np.nan), "only 1 sample"),
        (lambda X: X[2, 1].fill(np.inf), "infinity"),
    ],
    ids=["everything", "one sample", "infinity"],
)
@pytest.mark.parametrize("kind", ["array", "iterator"])
def test_hostile_input_is_refused_in_one_line(change, message, kind):
    X = np.random.default_rng(0).normal(size=(20, 4, 3))
    change(X)
    given = X if kind == "array" else iter([X[:7], X[7:]])
    with pytest.raises(ValueError, match=message) as error:
        STPCASelector(2, missing="allow").fit(given)
    assert "\n" not in str(error.value)


def test_each_feature_observed_once():
    X = np.full((4, 4), np.nan)
    np.fill_diagonal(X, 1.0)
    with pytest.raises(ValueError, match="observed more than once"):
        STPCASelector(2, missing="allow").fit(X)


def test_integers_are_complete():
    X = np.random.default_rng(0).integers(0, 9, size=(30, 4, 3))
    one, other = (STPCASelector(3, missing=m).fit(X) for m in ("raise", "allow"))
    assert_array_equal(one.order_, other.order_)
    assert other.missing_.share == 0


def test_the_default_names_the_parameter():
    X = with_gaps((20, 4, 3))
    for samples in (X, iter([X])):
        with pytest.raises(ValueError, match="missing='allow'"):
            STPCASelector(2).fit(samples)
    with pytest.raises(ValueError, match="checkpoint cannot be used with missing='allow'"):
        collect_moments(X, missing="allow", checkpoint="x.npz")


@pytest.mark.filterwarnings("default:missing='allow'")
def test_warnings_name_what_is_hardly_known():
    X = np.random.default_rng(0).normal(size=(40, 4))
    few = X.copy()
    few[3:, 2] = np.nan
    with pytest.warns(UserWarning, match="feature 2 observed fewer than 5 times"):
        STPCASelector(2, missing="allow").fit(few)
    apart = X.copy()
    apart[:20, 1] = apart[20:, 3] = np.nan
    with pytest.warns(UserWarning, match="feature 1 and feature 3 were never observed together"):
        STPCASelector(2, missing="allow").fit(apart)
