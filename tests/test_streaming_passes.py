"""Gram matrices that are too many for memory: the same results, block after block."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector, TensorPCA, stpca_path
from tensift.algebra import make_transforms
from tensift.moments import Orientation, SamplesInMemory, _factors_in_passes
from tensift.moments._factors_in_passes import FactorsInPasses
from tensift.moments._in_passes import MomentsInPasses, passes_for
from tensift.rivals import SPCAPSD
from tensift.sources import Chunks

X = np.random.default_rng(0).normal(size=(60, 14, 12)) * np.linspace(0.05, 2, 12) + 1
SLICE = 4 * 14 * 14 * 8 / 2**20  # MiB of working memory that a slice takes

pytestmark = pytest.mark.filterwarnings("ignore:the Gram matrices of X take:UserWarning")


class Counted:
    """Rows that count how often all of them were read."""

    def __init__(self, array):
        self._array, self.shape, self.dtype, self.passes = array, array.shape, array.dtype, 0

    def __getitem__(self, rows):
        self.passes += rows.start == 0
        return self._array[rows]


def in_blocks(n_slices):
    return sklearn.config_context(working_memory=n_slices * SLICE)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"basis": "dct", "orientation": 1},
        {"basis": "dft", "score_by": "energy"},
        {"basis": "eigen", "feature_mode": 0},
        {"solver": "exact", "lam": 0.5, "eta": 0.5},
        {"solver": "exact", "penalty_units": "relative", "lam": 0.02, "eta": 0.02},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*features have a score of zero:UserWarning")
def test_the_same_results_as_in_memory(options):
    expected = STPCASelector(10, **options).fit(X)
    for data in (Counted(X), Chunks(lambda: iter(np.split(X, 4)))):
        with in_blocks(5):
            found = STPCASelector(10, n_jobs=2, **options).fit(data)
        assert isinstance(found._moments, MomentsInPasses)
        scores = expected.scores_
        assert_allclose(found.scores_, scores, atol=1e-10 * scores.max())
        assert_array_equal(found.order_, expected.order_)
        assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
        assert_array_equal(found.n_iter_, expected.n_iter_)
        assert found.lam_ == pytest.approx(expected.lam_, rel=1e-12)
        if "solver" in options:
            assert found.dual_gap_.max() <= 1e-6
        assert_array_equal(found.transform(X), expected.transform(X))


def test_one_pass_for_every_block():
    for n_slices, passes in [(12, 1), (6, 2), (5, 3), (1, 12)]:
        data = Counted(X)
        with in_blocks(n_slices):
            STPCASelector(10, lam=10, eta=10, solver="paper").fit(data)
        assert data.passes == passes


def test_zeros_of_the_exact_solver_are_ordered_as_in_memory_and_said_to_cost_passes():
    options = {"selection": "top", "lam": 20.0, "eta": 20.0}
    expected = STPCASelector(10, **options).fit(X)
    assert np.count_nonzero(expected.scores_ == 0) > 10
    with in_blocks(5), pytest.warns(UserWarning, match=r"\d+ features have a score of zero.*again"):
        found = STPCASelector(10, **options).fit(Counted(X))
    assert_array_equal(found.order_, expected.order_)


def test_operators_are_refused_with_the_reason():
    with in_blocks(5):
        found = STPCASelector(10, lam=10, eta=10, solver="paper").fit(Counted(X))
    assert not hasattr(found, "operators_")
    with pytest.raises(AttributeError, match=r"operators_ not kept.*working_memory"):
        found.operators_  # noqa: B018
    with pytest.raises(ValueError, match=r"operators not kept.*working_memory"):
        found.score(X)
    with pytest.raises(ValueError, match="start again with a clone"):
        found.partial_fit(X)
    loaded = pickle.loads(pickle.dumps(found))
    assert_array_equal(loaded.scores_, found.scores_)
    assert loaded._moments.source is None
    assert_array_equal(found.fit(X).operators_.shape, (12, 14, 14))


@pytest.mark.filterwarnings("default:the Gram matrices of X take:UserWarning")
def test_more_passes_are_never_silent():
    with (
        in_blocks(5),
        pytest.warns(UserWarning, match=r"3 blocks, with one pass .* working_memory to 1"),
    ):
        STPCASelector(10, lam=10, eta=10, solver="paper").fit(Counted(X))
    with in_blocks(5), pytest.warns(UserWarning, match="X can be read only once"):
        found = STPCASelector(10, lam=10, eta=10, solver="paper").fit(iter([X]))
    expected = STPCASelector(10, lam=10, eta=10, solver="paper").fit(X)
    assert_allclose(found.operators_, expected.operators_, atol=1e-10)


def test_paths_too(tmp_path):
    grid = [0.1, 10.0, 1.0], [1.0, 5.0]
    expected = stpca_path(X, *grid)
    data = Counted(X)
    file = tmp_path / "path.npz"
    with in_blocks(5):
        found = stpca_path(data, *grid, checkpoint=file)
        assert data.passes == 3
        again = stpca_path(data, *grid, checkpoint=file)
        assert data.passes == 4  # the first block, to know the data again
        with pytest.raises(ValueError, match="other data"):
            stpca_path(Counted(X + 1), *grid, checkpoint=file)
    for name in ("scores", "objective", "dual_objective"):
        values = getattr(expected, name)
        atol = 1e-10 * np.abs(values).max()
        assert_allclose(getattr(found, name), values, rtol=0, atol=atol)
        assert_array_equal(getattr(again, name), getattr(found, name))
    assert_array_equal(found.n_iter, expected.n_iter)


def test_fewer_samples_than_features_of_a_slice():
    wide = np.random.default_rng(1).normal(size=(6, 80, 5))
    expected = STPCASelector(10).fit(wide)
    with sklearn.config_context(working_memory=2 * 4 * 80 * 6 * 8 / 2**20):
        found = STPCASelector(10).fit(Counted(wide))
    assert len(found._moments.blocks) == 3
    assert_allclose(found.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_arrays_in_memory_may_take_their_own_size_again():
    with in_blocks(5):
        assert STPCASelector(10, lam=10, eta=10, solver="paper").fit(X).operators_.shape == (
            12,
            14,
            14,
        )
        few = STPCASelector(10, lam=10, eta=10, solver="paper").fit(X[:20])
    assert len(few._moments.blocks) > 1
    expected = STPCASelector(10, lam=10, eta=10, solver="paper").fit(X[:20])
    assert_allclose(few.scores_, expected.scores_, atol=1e-10 * expected.scores_.max())


def test_who_cannot_solve_in_blocks_does_as_ever():
    with sklearn.config_context(working_memory=1e-3):
        assert TensorPCA(2).fit(X).components_.shape[1:] == (14, 12)
        assert SPCAPSD(2, solver="exact").fit(X).operators_.shape == (1, 168, 168)


def test_blocks_cover_all_slices_evenly():
    selector = STPCASelector(1).fit(X)
    orientation = selector._moments.orientation
    with in_blocks(5):
        blocks = passes_for(orientation, 60, rereadable=True)
    assert [(block.start, block.stop) for block in blocks] == [(0, 4), (4, 8), (8, 12)]
    assert passes_for(orientation, 60, rereadable=True) is None


def few(n=9, complex_values=False):
    rng = np.random.default_rng(1)
    samples = rng.normal(size=(n, 14, 4, 3)) * np.linspace(0.1, 2, 3) + 5
    return samples + 1j * rng.normal(size=samples.shape) if complex_values else samples


ORDERS_ZEROS = "ignore:.*features have a score of zero:UserWarning"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings(ORDERS_ZEROS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"orientation": 0, "basis": ["dct", "identity"]},
        {"basis": "dft", "lam": 0.3, "eta": 0.2, "score_by": "energy"},
        {"scale": "feature"},
        {"complex_values": True, "lam": 0.3, "eta": 0.2},
    ],
    ids=str,
)
def test_factors_of_samples_in_memory_are_cut_out_of_them(options, weighted):
    options = dict(options)
    samples = few(complex_values=options.pop("complex_values", False))
    weights = np.random.default_rng(2).integers(1, 3, len(samples)).astype(float)
    weights = weights if weighted else None
    expected = STPCASelector(10, selection="top", **options).fit(samples, sample_weight=weights)
    for n_jobs in (1, 2):
        with sklearn.config_context(working_memory=0.02):
            found = STPCASelector(10, selection="top", n_jobs=n_jobs, **options)
            found.fit(samples, sample_weight=weights)
        assert isinstance(found._moments, FactorsInPasses)
        assert len(found._moments.blocks) > 1
        largest = expected.scores_.max()
        assert_allclose(found.scores_, expected.scores_, atol=1e-9 * largest)
        assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
        for name in ("count", "total", "peak"):
            assert getattr(found._moments, name) == getattr(expected._moments, name)
        assert_allclose(found._moments.mean, expected._moments.mean, rtol=1e-12)
        assert_allclose(found._moments.spread(), expected._moments.spread(), rtol=1e-10)


@pytest.mark.filterwarnings(ORDERS_ZEROS)
def test_cut_factors_do_not_depend_on_workers_and_are_dropped_after_the_fit(monkeypatch):
    monkeypatch.setattr(_factors_in_passes, "_VALUES", 100)
    fitted = []
    for n_jobs in (1, 3):
        with sklearn.config_context(working_memory=0.02):
            fitted.append(STPCASelector(10, selection="top", n_jobs=n_jobs).fit(few()))
    assert_array_equal(fitted[0].scores_, fitted[1].scores_)
    assert_array_equal(fitted[0].objective_path_, fitted[1].objective_path_)
    with pytest.raises(ValueError, match="the samples not kept"):
        fitted[0]._moments.gram_of(slice(0, 1))


def test_cut_factors_are_those_of_the_centred_samples():
    samples = few()
    orientation = Orientation((14, 4, 3), 0, make_transforms("identity", [4, 3]))
    moments = FactorsInPasses(SamplesInMemory(samples), orientation, [slice(0, 5), slice(5, 12)])
    centred = (samples - samples.mean(axis=0)).reshape(9, 14, 12)
    for number, gram in moments.grams():
        block = moments.blocks[number]
        expected = np.einsum("nqp,nrp->pqr", centred[:, :, block], centred[:, :, block])
        assert gram.thin
        assert_allclose(gram.dense(), expected, atol=1e-12)
