"""Penalties, orientation and transform that are chosen without labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tensift import STPCASelector, collect_moments
from tensift.datasets import load_digits, make_orbit
from tensift.metrics import judge_selections, neighbour_agreement, neighbours_kept
from tensift.moments import GramTensor
from tensift.solvers import critical_penalties
from tensift.stpca.execution._executor import LocalExecutor

DIGITS = load_digits()
RNG = np.random.default_rng(0)


def smooth(n=40, shape=(6, 5), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, *shape))
    for axis in range(1, X.ndim):
        X = np.cumsum(X, axis=axis)
    return X


def executor_for(selector, X):
    """Centred slices ``(q, n)`` under the identity, scaled as the selector scales."""
    samples = X / np.abs(X).max()
    samples = samples - samples.mean(axis=0)
    slices = np.moveaxis(samples, 1 + selector.orientation_, 1)
    slices = slices.reshape(len(X), slices.shape[1], -1)
    return [slices[:, :, j].T for j in range(slices.shape[2])]


def shared_energy(slices):
    """What regressions of every feature on the others of its slice explain, by their degrees."""
    shared = 0.0
    for Xj in slices:
        q, n = Xj.shape
        for row in range(q):
            own, others = Xj[row], np.delete(Xj, row, axis=0).T
            if n <= q:
                shared += own @ own
                continue
            left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
            shared += max(0.0, own @ own - left @ left * (n - 1) / (n - q))
    return shared


def share_explained(selector, X):
    """Return the explained variance divided by the shared variance, by definition."""
    slices = executor_for(selector, X)
    objective = energy = 0.0
    for A, Xj in zip(selector.operators_, slices, strict=True):
        energy += np.sum(Xj**2)
        objective += np.sum((Xj - A @ Xj) ** 2)
        objective += selector.lam_ * np.linalg.norm(A, axis=0).sum()
        objective += selector.eta_ * np.trace(A)
    return (energy - objective) / max(shared_energy(slices), 0.1 * energy)


@pytest.mark.parametrize("solver", ["paper", "exact"])
@pytest.mark.parametrize("orientation", [0, 1])
@pytest.mark.parametrize("X", [DIGITS.data[::4], smooth(), smooth(8, (12, 3))])
def test_operators_explain_nine_tenths_of_what_is_shared(X, orientation, solver):
    selector = STPCASelector(5, orientation=orientation, solver=solver).fit(X)
    assert share_explained(selector, X) == pytest.approx(0.9, abs=0.035)
    choice = selector.choice_.penalties
    assert choice.shares[choice.tried.searchsorted(choice.fraction)] == pytest.approx(
        share_explained(selector, X), abs=2e-3
    )
    assert np.all(np.diff(choice.shares) < 0)  # never more under larger penalties
    assert (choice.lam, choice.eta) == (selector.lam_, selector.eta_)
    assert len(choice.tried) <= 12
    given = STPCASelector(
        5, orientation=orientation, solver=solver, lam=selector.lam_, eta=selector.eta_
    ).fit(X)
    assert_array_equal(given.scores_, selector.scores_)
    assert_array_equal(given.order_, selector.order_)
    assert str(given.choice_) == "nothing was chosen automatically"


def test_noise_of_their_own_is_not_for_operators_to_explain():
    """Three channels that move together among six that move alone are what is selected."""
    for seed in range(4):
        orbit = make_orbit(random_state=seed)
        for transform in ("identity", "dct"):
            top = STPCASelector(3, feature_mode=0, basis=transform, selection="top").fit(orbit.data)
            assert_array_equal(top.get_support(indices=True), orbit.informative)
            geometry = STPCASelector(2, feature_mode=0, basis=transform).fit(orbit.data)
            assert set(geometry.get_support(indices=True)) < set(orbit.informative)


def test_where_nothing_is_shared_features_are_explained_singly():
    X = np.random.default_rng(0).normal(size=(4000, 6)) * [1, 2, 3, 4, 5, 6]
    selector = STPCASelector(2, selection="top").fit(X)
    assert selector.choice_.penalties.shared == 0.1
    assert selector.scores_.max() > 1e-3
    assert_array_equal(selector.get_support(indices=True), [4, 5])


def test_labels_change_nothing():
    X, labels = DIGITS.data[:300], DIGITS.labels[:300]
    auto = STPCASelector(20, orientation="auto", basis="auto")
    fitted = [clone(auto).fit(X, y) for y in (None, labels, RNG.permutation(labels))]
    for other in fitted[1:]:
        assert_array_equal(other.order_, fitted[0].order_)
        assert str(other.choice_) == str(fitted[0].choice_)


def test_penalties_grow_with_the_square_of_the_scale():
    X = smooth()
    one = STPCASelector(5, scale=None, solver="exact").fit(X)
    # 1024 scales without rounding; penalties have three digits of their own.
    other = STPCASelector(5, scale=None, solver="exact").fit(1024 * X)
    assert other.lam_ / one.lam_ == pytest.approx(1024**2, rel=0.02)
    assert_array_equal(other.get_support(), one.get_support())


def test_one_penalty_can_be_given():
    X = smooth()
    selector = STPCASelector(5, lam=0.2).fit(X)
    assert selector.lam_ == 0.2
    assert share_explained(selector, X) == pytest.approx(0.9, abs=0.035)
    assert "lam" not in selector.choice_.penalties.reason
    selector = STPCASelector(5, eta=0.005, penalty_units="relative", solver="exact").fit(X)
    assert share_explained(selector, X) == pytest.approx(0.9, abs=0.035)
    assert "eta" not in selector.choice_.penalties.reason


def test_a_penalty_that_leaves_nothing_to_choose_is_said():
    selector = STPCASelector(5, lam=1e6, solver="exact").fit(smooth())
    assert "no smaller fraction" in selector.choice_.penalties.reason
    assert selector.eta_ == selector.choice_.penalties.eta


def test_chunks_give_the_penalties_of_all_samples():
    X = smooth(60)
    whole = STPCASelector(5).fit(X)
    chunked = STPCASelector(5)
    for chunk in np.array_split(X, 7):
        chunked.partial_fit(chunk)
    assert (chunked.lam_, chunked.eta_) == (whole.lam_, whole.eta_)
    assert_allclose(chunked.scores_, whole.scores_, rtol=1e-8, atol=1e-10)
    assert chunked.choice_.penalties.fraction == whole.choice_.penalties.fraction


def test_penalties_are_set_anew_by_every_fit():
    selector = STPCASelector(5).fit(smooth())
    first = selector.lam_
    selector.partial_fit(100 * smooth(seed=1))
    assert selector.lam_ != first


@pytest.mark.parametrize("feature_mode", [None, 1])
@pytest.mark.parametrize("rule", ["geometry", "top"])
def test_the_orientation_that_is_kept_keeps_samples_recognisable(feature_mode, rule):
    X = smooth(50, (6, 7)) * np.linspace(1, 3, 7)
    settings = {"feature_mode": feature_mode, "selection": rule}
    selector = STPCASelector(4, orientation="auto", **settings).fit(X)
    choice = selector.choice_.orientation
    assert choice.candidates == [(0, "identity"), (1, "identity")]
    kept = [
        STPCASelector(4, orientation=mode, **settings).fit(X).get_support(indices=True)
        for mode in (0, 1)
    ]
    for mode in (0, 1):
        found = neighbours_kept(X, kept[mode], feature_mode=feature_mode)
        assert choice.neighbours_kept[mode] == pytest.approx(found)
        found = neighbour_agreement(X, kept[mode], feature_mode=feature_mode)
        assert choice.neighbour_agreement[mode] == pytest.approx(found)
    assert choice.chosen == judge_selections(X, kept, feature_mode=feature_mode).best
    assert selector.orientation_ == choice.candidates[choice.chosen][0]
    alone = STPCASelector(4, orientation=selector.orientation_, **settings).fit(X)
    assert_array_equal(alone.order_, selector.order_)
    assert (alone.lam_, alone.eta_) == (selector.lam_, selector.eta_)
    assert selector.get_params()["orientation"] == "auto"


def test_transforms_are_tried_along_all_other_modes():
    X = smooth(30, (4, 3, 4))
    selector = STPCASelector(4, orientation=1, basis="auto", lam=1, eta=1).fit(X)
    names = [transform for _, transform in selector.choice_.orientation.candidates]
    assert names == ["identity", "dct", "haar", "eigen"]
    chosen = names[selector.choice_.orientation.chosen]
    alone = STPCASelector(4, orientation=1, basis=chosen, lam=1, eta=1).fit(X)
    assert_array_equal(alone.scores_, selector.scores_)
    rows = STPCASelector(4, orientation="auto", basis="auto").fit(X.reshape(30, -1))
    assert rows.choice_.orientation.candidates == [(0, "identity")]


def test_rows_with_a_shape_try_its_modes():
    X = smooth(30, (4, 5))
    rows = STPCASelector(4, orientation="auto", feature_shape=(4, 5)).fit(X.reshape(30, -1))
    tensors = STPCASelector(4, orientation="auto").fit(X)
    assert_array_equal(rows.order_, tensors.order_)


def test_what_needs_all_samples_is_refused_without_them():
    X = smooth()
    auto = STPCASelector(4, orientation="auto")
    with pytest.raises(ValueError, match=r"orientation='auto'.*partial_fit.*use fit"):
        auto.partial_fit(X)
    with pytest.raises(ValueError, match=r"'auto' need samples, but X is Moments"):
        auto.fit(collect_moments(X))
    with pytest.raises(ValueError, match="several times, but X is an iterator"):
        auto.fit(iter([X[:20], X[20:]]))
    with pytest.raises(ValueError, match=r"lam.*'auto'"):
        STPCASelector(4, lam="automatic").fit(X)
    with pytest.raises(ValueError, match="minimum of 2"):
        auto.fit(X[:1])


def test_wherever_slices_are_the_same_penalties_are_chosen():
    dask_array = pytest.importorskip("dask.array")
    X = smooth(40, (6, 5))
    whole = STPCASelector(4).fit(X)
    lazy = STPCASelector(4).fit(dask_array.from_array(X, chunks=(7, 6, 5)))
    assert (lazy.lam_, lazy.eta_) == (whole.lam_, whole.eta_)
    assert_allclose(lazy.choice_.penalties.shares, whole.choice_.penalties.shares, rtol=1e-9)
    xp = pytest.importorskip("array_api_strict")
    device = STPCASelector(4, orientation="auto").fit(xp.asarray(X))
    on_host = STPCASelector(4, orientation="auto").fit(X)
    assert device.orientation_ == on_host.orientation_
    assert device.lam_ == on_host.lam_


@pytest.mark.parametrize("n", [5, 40])
@pytest.mark.parametrize("kind", [float, complex])
def test_bounds_of_the_critical_penalties_of_large_slices(n, kind):
    """What stands for the critical lam of large slices is above it, and eta is exact."""
    rng = np.random.default_rng(n)
    factor = rng.normal(size=(2, 12, n)).astype(kind)
    if kind is complex:
        factor += 1j * rng.normal(size=factor.shape)
    thin = GramTensor(factor, thin=True)
    dense = GramTensor(thin.dense(), thin=False)
    critical = critical_penalties(dense)
    longest = max(np.linalg.norm(S[:, c]) for S in dense.array for c in range(12))
    for gram in (thin, dense):
        bounds = LocalExecutor(gram).bounds()
        assert bounds.lam == pytest.approx(2 * longest)
        assert bounds.eta == pytest.approx(critical.eta)
        assert critical.lam <= bounds.lam * (1 + 1e-9)


def test_large_slices_take_bounds():
    X = smooth(20, (300,))
    selector = STPCASelector(5).fit(X)
    choice = selector.choice_.penalties
    (slices,) = executor_for(selector, X)
    gram = slices @ slices.T
    longest, largest = np.linalg.norm(gram, axis=0).max(), np.linalg.eigvalsh(gram).max()
    assert choice.lam == pytest.approx(2 * choice.fraction * longest, rel=0.006)  # three digits
    assert choice.eta == pytest.approx(2 * choice.fraction * largest, rel=0.006)
    shares = dict(zip(choice.tried, choice.shares, strict=True))
    assert shares[choice.fraction] == pytest.approx(0.9, abs=0.03)
