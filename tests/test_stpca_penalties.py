"""Penalties as fractions of their critical values, in fits and in paths."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tensift import STPCASelector, stpca_path
from tensift.datasets import load_digits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5, 6)) * RNG.uniform(0.2, 1, (5, 6)) + RNG.normal(size=(30, 1, 6))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("params", [{}, {"basis": "dft", "score_by": "energy"}], ids=str)
def test_fractions_that_sum_to_one_leave_nothing_and_less_leaves_something(share, params):
    params = {"solver": "exact", "penalty_units": "relative", **params}
    none = STPCASelector(1, lam=share, eta=1 - share, **params).fit(X)
    assert (none.scores_ == 0).all()
    more = STPCASelector(1, lam=1.0, eta=1.0, **params).fit(X)
    assert (more.scores_ == 0).all()
    if share in (0, 1):  # a critical value is the smallest of its kind
        some = STPCASelector(1, lam=0.99 * share, eta=0.99 * (1 - share), **params).fit(X)
        assert some.scores_.max() > 0


def test_critical_values_are_those_of_the_scaled_slices():
    scaled = (X - X.mean(axis=0)) / np.abs(X).max()
    largest = max(np.linalg.norm(scaled[:, :, j], 2) ** 2 for j in range(6))
    selector = STPCASelector(1, penalty_units="relative", lam=0.2, eta=0.25).fit(X)
    assert_allclose(selector.eta_, 0.25 * 2 * largest)
    whole = STPCASelector(1, solver="exact", lam=selector.lam_, eta=selector.eta_).fit(X)
    same = STPCASelector(1, solver="exact", penalty_units="relative", lam=0.2, eta=0.25).fit(X)
    assert_array_equal(whole.scores_, same.scores_)
    parts = STPCASelector(1, penalty_units="relative", lam=0.2, eta=0.25)
    parts.partial_fit(X[:9]).partial_fit(X[9:])
    assert_allclose(parts.lam_, selector.lam_, rtol=1e-4)
    path = stpca_path(X, [0.2, 0.1], [0.25], penalty_units="relative")
    assert_array_equal(path.etas, [selector.eta_])
    assert_array_equal(path.lams[0], selector.lam_)
    assert_allclose(path.scores[0, 0], same.scores_, atol=0.02 * same.scores_.max())
    plain = STPCASelector(1, lam=3, eta=10).fit(X)
    assert (plain.lam_, plain.eta_) == (3.0, 10.0)


def test_fractions_do_not_depend_on_the_scale_of_the_data():
    """Up to the ridge, which is absolute: here it is 1e-10 of the data and less."""
    large = 1e4 * X
    params = {"solver": "exact", "penalty_units": "relative", "scale": None}
    for lam, eta in ((0.1, 0.1), (0.01, 0.3), (0.5, 0.2)):
        one = STPCASelector(1, lam=lam, eta=eta, **params).fit(large)
        other = STPCASelector(1, lam=lam, eta=eta, **params).fit(1000 * large)
        assert_allclose(other.lam_, 1e6 * one.lam_, rtol=1e-6)
        assert_allclose(other.scores_, one.scores_, atol=1e-6)
        assert_array_equal(other.order_, one.order_)


def test_fractions_above_one_are_refused_with_advice():
    advice = (
        "at most 1 with penalty_units='relative'.*got 10; try 0.1, or use penalty_units='absolute'"
    )
    for call in (
        STPCASelector(1, penalty_units="relative", lam=10, eta=10).fit,
        STPCASelector(1, penalty_units="relative", lam=10, eta=10).partial_fit,
    ):
        with pytest.raises(ValueError, match=f"lam must be {advice}"):
            call(X)
    with pytest.raises(ValueError, match=f"eta must be {advice}"):
        STPCASelector(1, penalty_units="relative", lam=0.1, eta=10).fit(X)
    with pytest.raises(ValueError, match="lams must be at most 1"):
        stpca_path(X, [0.1, 2], penalty_units="relative")
    with pytest.raises(ValueError, match="etas must be at most 1"):
        stpca_path(X, etas=[1.01], penalty_units="relative")


def test_the_default_fractions_run_from_dense_to_nothing():
    path = stpca_path(load_digits().data, penalty_units="relative")
    kept = np.count_nonzero(path.scores, axis=(2, 3))
    assert 50 < kept[0, 0] <= 61
    assert 30 < kept[3, 3] < 50
    assert kept[4, 4] == 0
