"""STPCA-MP against explicit loops: scores, operators, conventions, symmetries, reconstruction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tensift import PaperSolver, STPCASelector
from tensift.algebra import make_transform

TOLERANCE = 1e-9


def samples(shape, n=25, *, seed=0, is_complex=False):
    rng = np.random.default_rng(seed)
    X = 0.2 + rng.normal(size=(n, *shape)) * rng.uniform(0.1, 1, size=shape)
    return X + 1j * rng.normal(size=X.shape) if is_complex else X


def assert_same_fit(selector, truth):
    top = max(truth.scores.max(), 1e-6)
    assert_allclose(selector.scores_, truth.scores, atol=TOLERANCE * top)
    assert_allclose(selector.operators_, truth.operators, atol=TOLERANCE)
    assert_array_equal(selector.n_iter_, truth.n_iter)
    assert_allclose(selector.objective_, truth.objective, rtol=TOLERANCE)
    for ours, theirs in zip(selector.objective_path_, truth.paths, strict=True):
        assert_allclose(ours[: len(theirs)], theirs, rtol=TOLERANCE)
        assert np.isnan(ours[len(theirs) :]).all()


# The authors' program stops after 100 steps, converged or not, and so do the fits compared with it.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning"
)

# Against plain transcriptions


@pytest.mark.parametrize("n", [40, 9, 5], ids=["n>q", "n=q", "n<q"])
@pytest.mark.parametrize("orientation", [0, 1])
@pytest.mark.parametrize("spec", ["identity", "dct", "eigen", "matrix", "complex matrix", "dft"])
def test_equals_the_transcription(fit_transcription, n, orientation, spec):
    X = samples((9, 9), n)
    rng = np.random.default_rng(1)
    if spec == "matrix":
        spec = M = rng.normal(size=(9, 9)) + 2 * np.eye(9)
    elif spec == "complex matrix":
        spec = M = rng.normal(size=(9, 9)) + 1j * rng.normal(size=(9, 9)) + 2 * np.eye(9)
    else:
        M = make_transform(spec, 9, data=X, axis=2 - orientation).matrix
    scores, steps, objectives = fit_transcription(X, 0.3, 0.2, orientation=orientation, M=M)
    selector = STPCASelector(
        5, orientation=orientation, basis=spec, lam=0.3, eta=0.2, solver="paper"
    )
    if isinstance(spec, str) and spec == "dft":
        with pytest.warns(UserWarning, match="same operator score"):
            selector.fit(X)
    else:
        selector.fit(X)
    assert_allclose(selector.scores_, scores, atol=TOLERANCE * scores.max())
    assert_array_equal(selector.n_iter_, steps)
    if n <= 9 or np.isrealobj(M):  # else the program logs the objective of the conjugate
        assert_allclose(selector.objective_, objectives, rtol=TOLERANCE)


@pytest.mark.parametrize("orientation", [0, 1])
@pytest.mark.parametrize("n", [30, 4])
def test_complex_tensors_equal_the_transcription(fit_transcription, brute_force, orientation, n):
    X = samples((6, 5), n, is_complex=True)
    rng = np.random.default_rng(2)
    size = X.shape[2 - orientation]
    M = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size)) + 2 * np.eye(size)
    selector = STPCASelector(
        5, orientation=orientation, basis=M, lam=0.3, eta=0.2, solver="paper"
    ).fit(X)
    scores, steps, _ = fit_transcription(X, 0.3, 0.2, orientation=orientation, M=M)
    assert_allclose(selector.scores_, scores, atol=TOLERANCE * scores.max())
    assert_array_equal(selector.n_iter_, steps)
    assert_same_fit(selector, brute_force.fit(X, 0.3, 0.2, mode=orientation, matrices=[M]))
    assert np.iscomplexobj(selector.operators_)
    assert selector.scores_.dtype == selector.objective_.dtype == float


@pytest.mark.parametrize(
    ("shape", "orientation", "specs"),
    [
        ((5,), 0, []),
        ((4, 3, 5), 0, ["dct", "haar"]),
        ((4, 3, 5), 1, ["dft", "dct"]),
        ((4, 3, 5), 2, ["dft", "dft"]),
        ((4, 3, 5), -1, ["matrix", "identity"]),
        ((4, 3, 5), -3, ["complex matrix", "dft"]),
        ((3, 2, 2, 2), 0, ["dct", "dft", "matrix"]),
        ((3, 2, 2, 2), 2, ["random", "identity", "haar"]),
        ((3, 1, 4), 0, ["dft", "dft"]),
        ((1, 4), 0, ["dct"]),
    ],
)
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.filterwarnings("ignore:with basis='dft':UserWarning")
def test_higher_orders_equal_loops_over_kronecker_matrices(
    brute_force, shape, orientation, specs, kind
):
    X = samples(shape, is_complex=kind == "complex")
    mode = orientation % len(shape)
    rng = np.random.default_rng(3)
    transforms, matrices = [], []
    random_state = np.random.RandomState(4)
    for spec, size in zip(specs, shape[:mode] + shape[mode + 1 :], strict=True):
        if "matrix" in spec:
            matrix = rng.normal(size=(size, size)) + 2 * np.eye(size)
            spec = matrix + (1j * rng.normal(size=matrix.shape) if "complex" in spec else 0)
            matrices.append(spec)
        else:
            matrices.append(make_transform(spec, size, random_state=random_state).matrix)
        transforms.append(spec)
    selector = STPCASelector(
        2,
        orientation=orientation,
        basis=transforms if transforms else "identity",
        lam=0.2,
        eta=0.1,
        feature_shape=shape,  # without it, complex rows are refused
        random_state=np.random.RandomState(4),
        solver="paper",
    ).fit(X)
    assert selector.scores_.shape == shape
    assert_same_fit(selector, brute_force.fit(X, 0.2, 0.1, mode=mode, matrices=matrices))


def test_one_specification_goes_to_every_other_mode(brute_force):
    X = samples((3, 4, 2))
    matrices = [make_transform("dct", size).matrix for size in (3, 2)]
    selector = STPCASelector(2, orientation=1, basis="dct", lam=0.2, eta=0.1, solver="paper").fit(X)
    assert_same_fit(selector, brute_force.fit(X, 0.2, 0.1, mode=1, matrices=matrices))


# Conventions


@pytest.mark.parametrize("n", [25, 4], ids=["n>q", "n<q"])
@pytest.mark.parametrize("spec", ["identity", "dct", "complex matrix"])
def test_convention_of_the_paper(brute_force, n, spec):
    """1e-2 under the root, ridge 1e-3 whatever the shape, squared scores, no conjugate."""
    X = samples((6, 4), n)
    if spec == "complex matrix":
        rng = np.random.default_rng(7)
        spec = matrix = rng.normal(size=(4, 4)) + 1j * rng.normal(size=(4, 4)) + 2 * np.eye(4)
    else:
        matrix = make_transform(spec, 4).matrix
    convention = {"ridge": 1e-3, "smoothing": 1e-2, "watch_conjugate": False}
    truth = brute_force.fit(X, 0.3, 0.2, matrices=[matrix], **convention)
    selector = STPCASelector(
        2, basis=spec, lam=0.3, eta=0.2, solver=PaperSolver(convention="paper")
    ).fit(X)
    truth.scores = truth.scores**2
    assert_same_fit(selector, truth)
    program = STPCASelector(2, basis=spec, lam=0.3, eta=0.2, solver="paper").fit(X)
    assert np.abs(np.sqrt(selector.scores_) - program.scores_).max() > 1e-6


@pytest.mark.parametrize(("n", "ridge"), [(8, 1e-3), (7, 1e-3), (6, 1e-2), (5, 1e-2)])
def test_program_has_a_larger_ridge_unless_samples_outnumber_features(brute_force, n, ridge):
    X = samples((6, 4), n)
    selector = STPCASelector(2, lam=0.1, eta=0.1, solver="paper").fit(X)
    assert_same_fit(selector, brute_force.fit(X, 0.1, 0.1, ridge=ridge))


def test_scale_divides_by_the_largest_absolute_value(brute_force):
    X = 50 * samples((5, 4))
    X[3, 2, 1] = -300
    plain = STPCASelector(2, lam=0.3, eta=0.2, scale=None, solver="paper").fit(X)
    assert_same_fit(plain, brute_force.fit(X, 0.3, 0.2, scale=False))
    scaled = STPCASelector(2, lam=0.3, eta=0.2, solver="paper").fit(X)
    by_hand = STPCASelector(2, lam=0.3, eta=0.2, scale=None, solver="paper").fit(X / 300)
    assert_allclose(scaled.scores_, by_hand.scores_, atol=1e-9)
    assert np.abs(scaled.scores_ - plain.scores_).max() > 1e-2
    for factor in (1e-8, 1e8):
        again = STPCASelector(2, lam=0.3, eta=0.2, solver="paper").fit(factor * X)
        assert_allclose(again.scores_, scaled.scores_, atol=1e-9)


def test_relative_stopping_is_a_share_of_the_objective(brute_force):
    X = samples((5, 4))
    selector = STPCASelector(
        2, lam=0.3, eta=0.2, solver=PaperSolver(tol=1e-3, stopping="relative")
    ).fit(X)
    assert_same_fit(selector, brute_force.fit(X, 0.3, 0.2, tol=1e-3, share=True))


@pytest.mark.parametrize("params", [{"tol": 1e-9}, {"tol": 1e-2}, {"max_iter": 1}, {"max_iter": 3}])
def test_tolerance_and_steps_are_passed_on(brute_force, params):
    X = samples((5, 4))
    selector = STPCASelector(2, lam=0.3, eta=0.2, solver=PaperSolver(**params)).fit(X)
    assert_same_fit(selector, brute_force.fit(X, 0.3, 0.2, **params))


@pytest.mark.parametrize(("lam", "eta"), [(0, 0), (0, 0.5), (0.5, 0), (0.0, 1e3), (1e3, 0.0)])
def test_penalties_may_be_zero(brute_force, lam, eta):
    X = samples((5, 4))
    selector = STPCASelector(2, lam=lam, eta=eta, solver="paper").fit(X)
    assert_same_fit(selector, brute_force.fit(X, lam, eta))


def test_a_slice_without_variance_scores_zero():
    X = samples((5, 4))
    X[:, :, 2] = 0.7
    selector = STPCASelector(2, lam=0.1, eta=0.1, solver="paper").fit(X)
    assert_array_equal(selector.scores_[:, 2], np.zeros(5))
    assert selector.scores_[:, [0, 1, 3]].min() > 0
    for lam, eta in ((0, 0), (1, 0), (0, 1)):
        again = STPCASelector(2, lam=lam, eta=eta, solver="paper").fit(X)
        assert np.isfinite(again.scores_).all()
        assert_allclose(again.scores_[:, 2], 0, atol=1e-12)


@pytest.mark.parametrize("jobs", [2, -1])
def test_threads_do_not_change_one_bit(jobs):
    X = samples((32, 150), 60)
    one = STPCASelector(2, lam=0.3, eta=0.2, basis="dct", solver="paper").fit(X)
    more = STPCASelector(2, lam=0.3, eta=0.2, basis="dct", n_jobs=jobs, solver="paper").fit(X)
    assert_array_equal(more.scores_, one.scores_)
    assert_array_equal(more.operators_, one.operators_)
    assert_array_equal(more.objective_path_, one.objective_path_)


@pytest.mark.parametrize("spec", ["identity", "dct", "random"])
def test_fitting_twice_gives_the_same_bits(spec):
    X = samples((6, 5))
    first, second = (
        STPCASelector(2, basis=spec, lam=0.3, eta=0.2, random_state=0, solver="paper").fit(X)
        for _ in range(2)
    )
    assert_array_equal(first.scores_, second.scores_)
    assert_array_equal(first.order_, second.order_)


def test_the_random_transform_follows_its_seed():
    X = samples((6, 5))

    def scores(seed):
        selector = STPCASelector(
            2, basis="random", lam=0.3, eta=0.2, random_state=seed, solver="paper"
        )
        return selector.fit(X).scores_

    assert np.abs(scores(0) - scores(1)).max() > 1e-3
    assert_array_equal(scores(np.random.RandomState(0)), scores(0))


# Scores and ranking


@pytest.mark.parametrize("shape", [(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2)])
def test_feature_mode_sums_the_scores_over_every_other_mode(shape):
    X = samples(shape)
    elements = STPCASelector(1, lam=0.3, eta=0.2, solver="paper").fit(X)
    for mode in range(len(shape)):
        for signed in (mode, mode - len(shape)):
            selector = STPCASelector(
                1, selection="top", lam=0.3, eta=0.2, feature_mode=signed, solver="paper"
            )
            selector.fit(X)
            expected = np.zeros(shape[mode])
            for index in np.ndindex(*shape):
                expected[index[mode]] += elements.scores_[index]
            assert_allclose(selector.scores_, expected, rtol=1e-12)
            assert_array_equal(selector.order_, np.argsort(-expected, kind="stable"))
            assert_array_equal(selector.operators_, elements.operators_)


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("convention", ["program", "paper"])
def test_energy_score_is_operator_score_times_standard_deviation(kind, convention):
    X = samples((5, 4), is_complex=kind == "complex")
    solver = PaperSolver(convention=convention)
    params = {"lam": 0.3, "eta": 0.2, "basis": "dct", "solver": solver}
    operator = STPCASelector(1, **params).fit(X)
    energy = STPCASelector(1, score_by="energy", **params).fit(X)
    assert_allclose(energy.scores_, operator.scores_ * X.std(axis=0), rtol=1e-12)
    channels = STPCASelector(1, score_by="energy", feature_mode=1, **params).fit(X)
    assert_allclose(channels.scores_, energy.scores_.sum(axis=0), rtol=1e-12)


def test_under_the_dft_rows_are_constant_and_ordered_by_standard_deviation():
    X = samples((5, 8))
    with pytest.warns(UserWarning, match="basis='dft'.*score_by='energy'"):
        selector = STPCASelector(
            3, selection="top", basis="dft", lam=0.3, eta=0.2, solver="paper"
        ).fit(X)
    assert_array_equal(selector.scores_, np.repeat(selector.scores_[:, :1], 8, axis=1))
    spread = X.std(axis=0)
    expected = sorted(
        np.ndindex(5, 8), key=lambda index: (-selector.scores_[index], -spread[index])
    )
    assert_array_equal(selector.order_, [8 * row + column for row, column in expected])
    energy = STPCASelector(3, basis="dft", lam=0.3, eta=0.2, score_by="energy", solver="paper").fit(
        X
    )
    assert len(np.unique(energy.scores_)) == 40


def test_the_warning_comes_once_and_points_at_the_callers_line():
    X = samples((5, 8))
    with pytest.warns(UserWarning, match="same operator score") as caught:
        STPCASelector(3, basis="dft", solver="paper").fit(X)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "params",
    [
        {"basis": "dft", "score_by": "energy"},
        {"basis": "dft", "feature_mode": 0},
        {"basis": "dct"},
        {"basis": "identity"},
    ],
)
def test_no_warning_where_scores_tell_features_apart(params):
    STPCASelector(3, lam=0.3, eta=0.2, solver="paper", **params).fit(samples((5, 8)))


def test_a_transform_of_length_one_is_no_reason_to_warn():
    STPCASelector(1, basis="dft", lam=0.3, eta=0.2, solver="paper").fit(samples((5, 1)))


def test_equal_scores_are_ordered_by_spread_then_by_index():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3, 4)) * np.array([1.0, 3.0, 2.0])[:, None]
    X[:, :, 3] = X[:, :, 1]  # equal spreads too
    selector = STPCASelector(2, selection="top", lam=1e7, eta=1e7, solver="paper").fit(X)
    assert_array_equal(selector.scores_, np.zeros((3, 4)))
    spread = X.std(axis=0).ravel()
    expected = sorted(range(12), key=lambda flat: (-spread[flat], flat))
    assert_array_equal(selector.order_, expected)
    assert expected.index(5) + 1 == expected.index(7)


# Symmetries


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 200), spec=st.sampled_from(["identity", "dct", "haar"]))
def test_the_order_of_samples_does_not_matter(seed, spec):
    X = samples((5, 4), seed=seed)
    shuffled = X[np.random.default_rng(seed).permutation(len(X))]
    one = STPCASelector(1, basis=spec, lam=0.3, eta=0.2, solver="paper").fit(X)
    other = STPCASelector(1, basis=spec, lam=0.3, eta=0.2, solver="paper").fit(shuffled)
    assert_allclose(other.scores_, one.scores_, atol=TOLERANCE)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 200), orientation=st.integers(0, 1))
def test_permuting_features_permutes_the_scores(seed, orientation):
    X = samples((5, 4), seed=seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(5), rng.permutation(4)
    one = STPCASelector(1, orientation=orientation, lam=0.3, eta=0.2, solver="paper").fit(X)
    other = STPCASelector(1, orientation=orientation, lam=0.3, eta=0.2, solver="paper")
    other.fit(X[:, rows][:, :, columns])
    assert_allclose(other.scores_, one.scores_[rows][:, columns], atol=TOLERANCE)


def test_turning_samples_is_the_same_as_the_other_orientation():
    X = samples((5, 4, 3))
    for axes in [(1, 0, 2), (2, 1, 0), (1, 2, 0)]:
        turned = X.transpose(0, *(axis + 1 for axis in axes))
        for mode in range(3):
            one = STPCASelector(1, orientation=axes[mode], lam=0.3, eta=0.2, solver="paper").fit(X)
            other = STPCASelector(1, orientation=mode, lam=0.3, eta=0.2, solver="paper").fit(turned)
            assert_allclose(other.scores_, one.scores_.transpose(axes), atol=TOLERANCE)


def test_adding_a_constant_to_a_feature_changes_nothing_without_scaling():
    X = samples((5, 4))
    one = STPCASelector(1, scale=None, lam=0.3, eta=0.2, solver="paper").fit(X)
    other = STPCASelector(1, scale=None, lam=0.3, eta=0.2, solver="paper").fit(
        X + np.arange(20.0).reshape(5, 4)
    )
    assert_allclose(other.scores_, one.scores_, atol=TOLERANCE)


# Reconstruction of held-out samples


@pytest.mark.parametrize("spec", ["identity", "dct", "dft", "complex matrix"])
@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("orientation", [0, 1])
def test_score_method_is_the_share_of_energy_reconstructed(brute_force, spec, kind, orientation):
    X = samples((5, 6), 30, is_complex=kind == "complex")
    train, test = X[:20], X[20:]
    size = X.shape[2 - orientation]
    if spec == "complex matrix":
        rng = np.random.default_rng(6)
        spec = matrix = rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))
    else:
        matrix = make_transform(spec, size).matrix
    selector = STPCASelector(
        1, orientation=orientation, basis=spec, lam=0.3, eta=0.2, score_by="energy", solver="paper"
    ).fit(train)
    slices = brute_force.slices(test - train.mean(axis=0), orientation, [matrix])
    lost = sum(
        np.linalg.norm(block - operator @ block) ** 2
        for block, operator in zip(slices, selector.operators_, strict=True)
    )
    expected = 1 - lost / np.linalg.norm(slices) ** 2
    assert selector.score(test) == pytest.approx(expected, abs=1e-12)
    assert isinstance(selector.score(test), float)
    assert selector.score(test) <= 1


def test_score_method_falls_with_the_penalties():
    X = samples((5, 6), 30)
    found = [
        STPCASelector(1, lam=lam, eta=lam, solver="paper").fit(X).score(X)
        for lam in (0, 0.1, 1, 10, 1e6)
    ]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.99
    assert found[-1] == 0


# Faces


def test_fitted_attributes():
    X = samples((5, 6), 30)
    selector = STPCASelector(3, orientation=-1, lam=0.3, eta=0.2, solver="paper").fit(X)
    assert selector.n_samples_seen_ == 30
    assert selector.feature_shape_ == (5, 6)
    assert selector.n_features_in_ == 30
    assert selector.orientation_ == 1
    assert selector.operators_.shape == (5, 6, 6)
    assert selector.objective_.shape == selector.n_iter_.shape == (5,)
    assert selector.objective_path_.shape == (5, selector.n_iter_.max())
    assert_array_equal(np.sort(selector.order_), np.arange(30))
    assert (selector.scores_ >= 0).all()


def test_progress_goes_to_standard_error_and_only_when_asked(capfd, monkeypatch):
    import tensift.stpca._selector as module

    progress_bar = module.progress_bar
    monkeypatch.setattr(module, "progress_bar", lambda *args: progress_bar(*args, delay=0.0))
    X = samples((32, 150), 60)
    STPCASelector(1, lam=0.3, eta=0.2, solver="paper").fit(X)
    assert capfd.readouterr() == ("", "")
    STPCASelector(1, lam=0.3, eta=0.2, verbose=True, solver="paper").fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith(f"solving slices [{'#' * 30}] 150/150")
