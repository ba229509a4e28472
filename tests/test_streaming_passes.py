"""Gram matrices that are too many for memory: the same results, block after block."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector, TensorPCA, stpca_path
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
