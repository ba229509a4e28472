"""All features, variance, chance, and SPCA-PSD as the one-mode case of STPCA-MP."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import PaperSolver, STPCASelector
from tensift.moments import GramTensor
from tensift.rivals import SPCAPSD, AllFeatures, RandomSelector, VarianceSelector
from tensift.selection import rank_features
from tensift.solvers import SliceProblems, Solution, solve_paper

SIMPLE = [AllFeatures, VarianceSelector, RandomSelector]


@pytest.fixture
def X():
    """Samples (4, 3) whose element (2, 1) is constant."""
    samples = np.random.default_rng(0).normal(size=(30, 4, 3)) * np.arange(1, 13).reshape(4, 3)
    samples[:, 2, 1] = 0.7
    return samples


# All features


@pytest.mark.parametrize("wanted", [None, 1, 0.5, 12, 400])
def test_all_features_keeps_everything_whatever_is_wanted(X, wanted):
    selector = AllFeatures(wanted).fit(X)
    assert_array_equal(selector.transform(X), X.reshape(30, 12))
    assert selector.get_support().all()
    assert_array_equal(selector.inverse_transform(selector.transform(X)), X)
    assert_array_equal(selector.order_, [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 7])
    channels = AllFeatures(wanted, feature_mode=1).fit(X)
    assert_array_equal(channels.transform(X), X)
    assert_array_equal(channels.scores_, [4, 3, 4])


@pytest.mark.parametrize("wanted", [0, -3, 1.5, "all"])
def test_all_features_still_refuses_what_is_no_number_of_features(X, wanted):
    with pytest.raises(ValueError, match="n_features_to_select"):
        AllFeatures(wanted).fit(X)


# Variance


def test_variance_is_that_of_numpy(X):
    selector = VarianceSelector(3).fit(X)
    assert_allclose(selector.scores_, X.var(axis=0), rtol=1e-13, atol=1e-30)
    assert_array_equal(selector.order_, np.argsort(-X.var(axis=0), axis=None, kind="stable"))
    assert selector.scores_[2, 1] == 0
    assert selector.order_[-1] == 7
    by_mode = VarianceSelector(2, feature_mode=0).fit(X)
    assert_allclose(by_mode.scores_, X.var(axis=0).sum(axis=1))


@pytest.mark.parametrize("factor", [1e-140, 1e-3, 1e90])
def test_variance_ranks_in_any_units(X, factor):
    expected = VarianceSelector(3).fit(X).order_
    assert_array_equal(VarianceSelector(3).fit(factor * X).order_, expected)


def test_variance_of_single_precision_is_taken_in_double():
    rows = (1000 + np.arange(8)[:, None] * [1e-3, 1, 2]).astype(np.float32)
    found = VarianceSelector(1).fit(rows).scores_
    assert_allclose(found, rows.astype(float).var(axis=0), rtol=1e-9)


@pytest.mark.parametrize("selector", SIMPLE)
def test_complex_samples_are_welcome(X, selector):
    samples = X * np.exp(1j * np.arange(30))[:, None, None]
    fitted = selector(3).fit(samples)
    kept = samples.reshape(30, 12)[:, fitted.get_support()]
    assert_array_equal(fitted.transform(samples), kept)
    if selector is VarianceSelector:
        centred = samples - samples.mean(axis=0)
        assert_allclose(fitted.scores_, np.mean(np.abs(centred) ** 2, axis=0))


# Chance


def test_every_order_of_varying_features_is_as_likely(X):
    """400 seeds: each of 11 features is first 36.4 times on average, with deviation 5.8."""
    firsts = np.zeros(12)
    for seed in range(400):
        ranking = RandomSelector(3, random_state=seed).fit(X).order_
        assert_array_equal(np.sort(ranking), np.arange(12))
        assert ranking[-1] == 7
        firsts[ranking[0]] += 1
    assert firsts[7] == 0
    assert np.all(np.abs(np.delete(firsts, 7) - 400 / 11) < 4 * 5.8)


def test_mode_features_are_drawn_alike_even_if_few_of_their_elements_vary(X):
    """The sum of many uniform scores would nearly always beat one; 300 draws, deviation 8.7."""
    samples = X.copy()
    samples[:, :, 1] = samples[0, :, 1]
    samples[:, 0, 1] = X[:, 0, 1]
    firsts = [
        RandomSelector(1, feature_mode=1, random_state=seed).fit(samples).order_[0] == 1
        for seed in range(300)
    ]
    assert abs(np.sum(firsts) - 100) < 35


def test_seeds_decide(X):
    one, same, other = (RandomSelector(3, random_state=seed).fit(X) for seed in (1, 1, 2))
    assert_array_equal(one.scores_, same.scores_)
    assert not np.array_equal(one.scores_, other.scores_)
    state = np.random.RandomState(1)
    first, second = (RandomSelector(3, random_state=state).fit(X) for _ in range(2))
    assert_array_equal(first.scores_, one.scores_)
    assert not np.array_equal(first.scores_, second.scores_)


# SPCA-PSD


def test_golden_output_of_the_authors_program(published):
    """Iterations, objective and best features of their SPCA-PSD, from the start given to it."""
    centred = (published.X - published.X.mean(axis=0)).transpose(0, 2, 1).reshape(60, 30)
    start = Solution(np.diag(np.linspace(0.1, 1, 30))[None], np.zeros((1, 1)), np.array([True]))
    gram = GramTensor((centred.T @ centred)[None], thin=False)
    solution = solve_paper(SliceProblems(gram, lam=0.5, eta=0.5), ridge=1e-3, start=start)
    assert solution.n_iter[0] == 12
    assert_allclose(solution.objective[0], 17.04853450, atol=5e-9)
    best = rank_features(np.linalg.norm(solution.operators[0], axis=0))
    assert_array_equal(best[:6], [19, 18, 24, 1, 7, 13])


def test_selector_finds_the_features_of_the_authors_program(published):
    """From another start the iteration ends within its tolerance of the same objective."""
    selector = SPCAPSD(6, lam=0.5, eta=0.5).fit(published.X)
    assert_array_equal(published.by_columns(selector.order_[:6]), [19, 18, 24, 1, 7, 13])
    assert_allclose(selector.objective_, 17.04853450, atol=1e-5)
    exact = SPCAPSD(6, lam=0.5, eta=0.5, solver="exact").fit(published.X)
    assert exact.objective_ < selector.objective_
    assert exact.dual_gap_ <= 1e-6


CASES = [
    {"lam": 10, "eta": 10, "solver": "paper"},
    {"lam": 0.1, "eta": 0.3, "solver": "paper"},
    {"lam": 0.5, "eta": 0.1, "solver": PaperSolver(convention="paper")},
    {
        "lam": 0.2,
        "eta": 0.2,
        "penalty_units": "relative",
        "solver": PaperSolver(stopping="relative"),
    },
    {"lam": 1.0, "eta": 1.0, "solver": "exact"},
    {"lam": 0.3, "eta": 0.3, "scale": None, "solver": PaperSolver(tol=1e-3, max_iter=7)},
]
STOPPED_EARLY = "ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning"


@pytest.mark.filterwarnings(STOPPED_EARLY)
@pytest.mark.parametrize("params", CASES)
@pytest.mark.parametrize("n", [40, 7])
def test_it_is_stpca_with_one_mode(params, n):
    """On flattened samples, with more samples than features and with fewer."""
    X = np.random.default_rng(n).normal(size=(n, 3, 2, 2)).cumsum(axis=1)
    rows = X.reshape(n, 12)
    stpca = STPCASelector(4, selection="top", **params).fit(rows)
    for samples, shape in [(rows, None), (X, None), (rows, (3, 2, 2)), (X, (3, 2, 2))]:
        selector = SPCAPSD(4, **params, feature_shape=shape).fit(samples)
        assert_array_equal(selector.scores_.ravel(), stpca.scores_)
        assert_array_equal(selector.order_, stpca.order_)
        assert_array_equal(selector.operators_, stpca.operators_)
        assert selector.objective_ == stpca.objective_[0]
        assert selector.n_iter_ == stpca.n_iter_[0]
        assert_array_equal(selector.objective_path_, stpca.objective_path_[0])
        assert selector.score(samples) == pytest.approx(stpca.score(rows))
        if params.get("solver") == "exact":
            assert selector.dual_gap_ == stpca.dual_gap_[0]
    assert selector.scores_.shape == (3, 2, 2)


def test_it_is_stpca_on_tensors_whose_other_modes_have_one_index(published):
    """With a single slice the tensor method has nothing else to do, whatever its transform."""
    rows = published.X.reshape(60, 30)
    flat = SPCAPSD(5, lam=0.5, eta=0.5).fit(rows)
    for transform in ("identity", "dct", "dft"):
        tensor = STPCASelector(5, lam=0.5, eta=0.5, orientation=1, basis=transform, solver="paper")
        tensor.fit(rows[:, None, :, None])
        assert_allclose(tensor.scores_.ravel(), flat.scores_, atol=1e-12)


def test_stpca_is_spca_psd_on_every_slice(published):
    """Without a transform, STPCA-MP is its forerunner on each column of the samples alone."""
    X = published.X / np.abs(published.X).max()
    tensor = STPCASelector(5, lam=0.5, eta=0.5, scale=None, solver="paper").fit(X)
    for j in range(5):
        column = SPCAPSD(5, lam=0.5, eta=0.5, scale=None).fit(X[:, :, j])
        assert_allclose(tensor.scores_[:, j], column.scores_, atol=1e-12)
        assert tensor.n_iter_[j] == column.n_iter_
        assert_allclose(tensor.objective_[j], column.objective_)


@pytest.mark.parametrize("n", [40, 8])
def test_spca_psd_equals_plain_matrices(brute_force, n):
    X = np.random.default_rng(1).normal(size=(n, 4, 3)).cumsum(axis=2)
    truth = brute_force.fit(X.reshape(n, 12), 0.5, 0.4, mode=0, matrices=[])
    selector = SPCAPSD(4, lam=0.5, eta=0.4).fit(X)
    assert_allclose(selector.scores_.ravel(), truth.scores, atol=1e-9)
    assert_allclose(selector.objective_path_, truth.paths[0], rtol=1e-9)
    assert selector.n_iter_ == truth.n_iter[0]
    by_mode = SPCAPSD(2, lam=0.5, eta=0.4, feature_mode=0).fit(X)
    assert_allclose(by_mode.scores_, truth.scores.reshape(4, 3).sum(axis=1), atol=1e-9)
    assert by_mode.transform(X).shape == (n, 2, 3)


def test_spca_psd_sees_what_slices_hide():
    """Two equal features in different columns: only one operator on all of them joins the two."""
    rng = np.random.default_rng(2)
    X = 0.3 * rng.normal(size=(80, 3, 3))
    X[:, 0, 0] = X[:, 2, 2] = rng.normal(size=80)
    operator = SPCAPSD(2, lam=1.0, eta=1.0).fit(X).operators_[0]
    assert operator[0, 8] > 0.2


def test_spca_psd_streams(published):
    whole = SPCAPSD(5, lam=0.5, eta=0.5).fit(published.X)
    parts = SPCAPSD(5, lam=0.5, eta=0.5)
    for start in range(0, 60, 13):
        parts.partial_fit(published.X[start : start + 13])
    assert_allclose(parts.scores_, whole.scores_, atol=1e-9)
    assert isinstance(parts.objective_, float)
    assert isinstance(parts.n_iter_, int)
    assert parts.n_samples_seen_ == 60


@pytest.mark.filterwarnings(STOPPED_EARLY)
def test_spca_psd_of_complex_samples(published):
    """Turning the phase of a whole feature changes no column norm."""
    phases = np.exp(1j * np.arange(30).reshape(6, 5))
    solver = PaperSolver(tol=0, max_iter=20)
    real = SPCAPSD(5, lam=0.5, eta=0.5, solver=solver).fit(published.X)
    turned = SPCAPSD(5, lam=0.5, eta=0.5, solver=solver).fit(published.X * phases)
    assert_allclose(turned.scores_, real.scores_, atol=1e-9)
