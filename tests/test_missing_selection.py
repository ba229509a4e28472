"""Selectors where NaN was not observed."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from tensift import Constraints, GeometrySelector, SparseTensorPCA, STPCASelector, TensorPCA
from tensift.comparison import compare_selectors
from tensift.decomposition import SelectFromDecomposition
from tensift.moments import conditional_means
from tensift.rivals import (
    ColumnSubsetSelector,
    LaplacianScore,
    PivotedCholeskySelector,
    VarianceSelector,
)
from tensift.stability import stability_selection

pytestmark = pytest.mark.filterwarnings("ignore:missing='allow'")

EVERY = [
    STPCASelector(5, missing="allow"),
    STPCASelector(5, selection="reconstruct", missing="allow"),
    STPCASelector(5, selection="top", missing="allow"),
    GeometrySelector(5, missing="allow"),
    VarianceSelector(5, missing="allow"),
    VarianceSelector(5, selection="geometry", missing="allow"),
    PivotedCholeskySelector(5, missing="allow"),
    ColumnSubsetSelector(5, missing="allow"),
]
NAMES = [f"{type(one).__name__}-{one.selection}" for one in EVERY]
every = pytest.mark.parametrize("selector", EVERY, ids=NAMES)


def factors(n=120, shape=(5, 4), rank=3, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    size = int(np.prod(shape))
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, size))
    return (X + noise * rng.normal(size=X.shape)).reshape(n, *shape)


def waves(n):
    """Smooth pictures with noise."""
    rng, places = np.random.default_rng(0), np.linspace(0, 1, 12)
    waves = np.cos(np.pi * np.outer(places, np.arange(6)))
    weights = rng.normal(size=(n, 6, 6)) / np.add.outer(np.arange(1, 7), np.arange(1, 7))
    return waves @ weights @ waves.T + 0.05 * rng.normal(size=(n, 12, 12))


def with_gaps(X, share=0.2, seed=1):
    gappy = X.copy()
    gappy[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return gappy


@every
def test_complete_data_give_the_same_bits(selector):
    X = factors()
    one, other = clone(selector).fit(X), clone(selector).set_params(missing="raise").fit(X)
    assert_array_equal(one.scores_, other.scores_)
    assert_array_equal(one.order_, other.order_)
    assert one.missing_.share == 0
    assert not hasattr(other, "missing_")


@every
@pytest.mark.parametrize("mode", [None, 1])
def test_what_was_never_observed_is_left_out(selector, mode):
    """For whole indices along a mode, the rest is the smaller tensor."""
    X = factors(shape=(6, 7))
    masked = X.copy()
    masked[:, :, [0, 3]] = np.nan
    count = 4 if mode == 1 else 9
    one = clone(selector).set_params(feature_mode=mode, n_features_to_select=count).fit(masked)
    other = clone(selector).set_params(feature_mode=mode, n_features_to_select=count)
    other = other.set_params(missing="raise").fit(np.delete(X, [0, 3], axis=2))
    numbers = np.arange(42).reshape(6, 7) if mode is None else np.arange(7)[None]
    kept = np.delete(numbers, [0, 3], axis=1).ravel()
    assert_array_equal(one.get_support(indices=True), kept[other.get_support(indices=True)])
    assert_array_equal(one.order_[:count], kept[other.order_[:count]])
    assert set(one.order_[len(kept) :]) == set(np.setdiff1d(numbers, kept))
    assert not one.scores_.ravel()[np.setdiff1d(numbers, kept)].any()


@pytest.mark.parametrize("count", [5, "auto", 0.5])
def test_elements_of_a_mask_do_not_change_the_geometry_of_others(count):
    """Scattered elements that were never observed: bit for bit the rows without them."""
    X = factors(shape=(30,))
    lost = [0, 4, 5, 29]
    masked = X.copy()
    masked[:, lost] = np.nan
    one = GeometrySelector(count, missing="allow").fit(masked.reshape(-1, 5, 6))
    other = GeometrySelector(count).fit(np.ascontiguousarray(np.delete(X, lost, axis=1)))
    kept = np.delete(np.arange(30), lost)
    assert_array_equal(one.order_[: len(kept)], kept[other.order_])
    assert_array_equal(one.scores_.ravel()[kept], other.scores_)
    assert one.n_features_ == other.n_features_
    assert_array_equal(one.selection_curve_, other.selection_curve_)


@every
def test_more_features_than_were_observed(selector):
    masked = factors()
    masked[:, 1] = np.nan
    with pytest.warns(UserWarning, match="more than the 16 features that were ever observed"):
        fitted = clone(selector).set_params(n_features_to_select=18).fit(masked)
    assert fitted.n_features_ == 16
    assert not fitted.get_support().reshape(5, 4)[1].any()
    fitted = clone(selector).set_params(n_features_to_select=0.5).fit(masked)
    assert fitted.n_features_ == 8


@every
def test_constraints_leave_out_what_was_never_observed(selector):
    masked = factors()
    masked[:, 1] = np.nan
    limits = Constraints(include=[(0, 0)], min_distance=1.5)
    fitted = clone(selector).set_params(constraints=limits).fit(masked)
    kept = fitted.get_support().reshape(5, 4)
    assert kept[0, 0]
    assert not kept[1].any()
    wrong = clone(selector).set_params(constraints=Constraints(include=[(1, 2)]))
    with pytest.raises(ValueError, match="'x1_2', which was never observed"):
        wrong.fit(masked)


def rows_with_land():
    """Rows of 20 features, of which some were never observed, and which were."""
    rows = factors().reshape(-1, 20)
    seen = ~np.isin(np.arange(20), [2, 3, 9, 17])
    rows[:, ~seen] = np.nan
    return rows, seen


@every
def test_constraints_are_those_of_data_without_what_was_never_observed(selector):
    rows, seen = rows_with_land()
    rng = np.random.default_rng(3)
    values = {
        "costs": rng.uniform(1, 3, 20),
        "positions": rng.uniform(0, 5, (20, 2)),
        "groups": rng.choice(["a", "b", "c"], 20),
    }
    bounds = {"budget": 11.0, "min_distance": 0.8, "at_least": 1, "at_most": 3}
    together = [[0, 2], [2, 5], [7, 8]]
    expected = Constraints(
        **{name: value[seen] for name, value in values.items()}, **bounds,
        include=[int(seen[:6].sum())], exclude=[0], together=[[5, 6]],
    )  # fmt: skip
    for name in ("costs", "positions"):
        values[name][~seen] = np.nan  # land has no price, and is nowhere
    given = Constraints(**values, **bounds, include=[6], exclude=[0, 3], together=together)
    fitted = clone(selector).set_params(constraints=given).fit(rows)
    without = clone(selector).set_params(constraints=expected).fit(rows[:, seen])
    assert_array_equal(fitted.get_support()[seen], without.get_support())
    assert_array_equal(fitted.order_[:16], np.flatnonzero(seen)[without.order_])
    assert_array_equal(fitted.extend(1), np.flatnonzero(seen)[without.extend(1)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exclude": [0, 2, 4]}, "14 of 16 features are not excluded"),
        ({"groups": {"a": [0, 2, 3]}, "at_least": 2}, "'a' needs at least 2 features, but has 1"),
        ({"min_distance": 25}, "at most 1 feature can be selected with it"),
        ({"costs": [1.0] * 3 + [np.nan] * 2 + [1.0] * 15}, "nan for the feature 'x4'"),
        ({"costs": {"x7": "dear"}}, "costs has 'dear' for the feature 'x7'; a cost must be a fin"),
        ({"costs": {"x7": True}}, "costs has True for the feature 'x7'"),
        ({"positions": [1.0] * 4 + [np.nan] * 16, "min_distance": 1}, "none for the feature 'x4' "
         "and 13 others"),
        ({"positions": 1j * np.ones(20)}, "positions must be real numbers"),
        ({"positions": {0: 1j, 1: 2.0}}, "positions has 1j for the feature 'x0'"),
        ({"positions": ["1"] * 20}, "positions must be real numbers"),
        ({"include": [3]}, "include has the feature 'x3', which was never observed"),
    ],
    ids=lambda one: "" if isinstance(one, str) else "-".join(one),
)  # fmt: skip
def test_messages_do_not_count_what_was_never_observed(given, message):
    rows, _ = rows_with_land()
    selector = VarianceSelector(15, missing="allow", constraints=Constraints(**given))
    with pytest.raises(ValueError, match=message):
        selector.fit(rows)


@pytest.mark.parametrize("limited", [False, True])
def test_comparisons_are_those_of_data_without_what_was_never_observed(limited):
    rows, seen = rows_with_land()
    given = [{}, {}]
    if limited:
        costs, groups = np.random.default_rng(3).uniform(1, 3, 20), np.arange(20) % 3
        costs[~seen] = np.nan
        for place, part in enumerate((np.ones(20, bool), seen)):
            own = {"costs": costs[part], "groups": groups[part], "include": [[6, 4][place]]}
            given[place] = {"constraints": Constraints(**own, budget=9.0, at_least=1)}
    few = {"n_features_to_select": 5, "n_resamples": 2, "n_seeds": 1}
    names = ["geometry", "column subset"]
    found = compare_selectors(rows, names, missing="allow", **few, **given[0])
    wanted = compare_selectors(rows[:, seen], names, **few, **given[1])
    assert (found.n_features, found.n_observed) == (20, 16)
    methods = found.methods[:-1]  # random selections differ
    for method in methods:
        assert_array_equal(found.features[method], np.flatnonzero(seen)[wanted.features[method]])
        assert found.stability[method] == wanted.stability[method]
        assert found.costs.get(method) == wanted.costs.get(method)
    assert_allclose(found.agreement[:-1, :-1], wanted.agreement[:-1, :-1])
    with pytest.raises(ValueError, match="17 is more than the 16 features of X that were ever obs"):
        compare_selectors(rows, names, 17, missing="allow")
    with pytest.raises(ValueError, match="include has the feature 'x3', which was never observed"):
        compare_selectors(rows, names, 5, missing="allow", constraints=Constraints(include=[3]))


@every
def test_counts_and_bounds_are_those_of_data_without_what_was_never_observed(selector):
    rows, seen = rows_with_land()
    auto = clone(selector).set_params(n_features_to_select="auto")
    one, other = clone(auto).fit(rows), clone(auto).fit(rows[:, seen])
    assert one.suggested_count_.reason == other.suggested_count_.reason
    assert one.suggested_count_.n_features == other.suggested_count_.n_features == 16
    found = stability_selection(selector, rows, n_resamples=4)
    wanted = stability_selection(selector, rows[:, seen], n_resamples=4)
    assert str(found) == str(wanted)
    assert found.stability == wanted.stability
    assert found.error_bound == wanted.error_bound


def test_when_all_observed_features_are_kept():
    rows, seen = rows_with_land()
    fitted = VarianceSelector(16, missing="allow").fit(rows)
    with pytest.raises(ValueError, match="k=1 is more than the 0 features that are not kept"):
        fitted.extend(1)
    with pytest.raises(ValueError, match="all features are kept"):
        fitted.replace(int(np.flatnonzero(seen)[0]))


@every
def test_scattered_gaps_change_little(selector):
    X = factors(n=400, noise=0.02)
    fitted = clone(selector).fit(with_gaps(X))
    exact = clone(selector).fit(X)
    assert_allclose(fitted.scores_, exact.scores_, atol=0.25 * exact.scores_.max())
    assert fitted.missing_.share == pytest.approx(0.2, abs=0.02)


@every
def test_transform_passes_nan_through(selector):
    X = with_gaps(factors())
    fitted = clone(selector).fit(X)
    kept = fitted.transform(X)
    assert_array_equal(kept, X.reshape(len(X), -1)[:, fitted.get_support()])
    back = fitted.inverse_transform(kept)
    assert_array_equal(fitted.transform(back), kept)
    with pytest.raises(ValueError, match="missing='allow'"):
        clone(selector).set_params(missing="raise").fit(factors()).transform(X)


def test_variances_are_those_of_observed_values():
    X = with_gaps(factors())
    fitted = VarianceSelector(3, missing="allow").fit(X)
    assert_allclose(fitted.scores_, np.nanvar(X, axis=0), rtol=1e-12)


def test_reconstruct_takes_the_conditional_mean():
    """Known values that are missing: the estimate is that of a regression on the others alone."""
    X = factors(n=300, noise=0.3)
    fitted = ColumnSubsetSelector(4, missing="allow").fit(X)
    Z = fitted.transform(X[:6])
    gappy = Z.copy()
    gappy[0, 1] = gappy[2, [0, 3]] = np.nan
    gappy[4] = np.nan
    found, deviation = fitted.reconstruct(gappy, return_std=True)
    exact, least = fitted.reconstruct(Z, return_std=True)
    assert_allclose(found[[1, 3, 5]], exact[[1, 3, 5]])
    assert_allclose(deviation[[1, 3, 5]], least[[1, 3, 5]])
    support = fitted.get_support(indices=True)
    centred = X.reshape(300, -1) - X.reshape(300, -1).mean(axis=0)
    mean = X.reshape(300, -1).mean(axis=0)
    for row, lost in ((0, [1]), (2, [0, 3]), (4, [0, 1, 2, 3])):
        seen = np.delete(support, lost)
        weights = np.linalg.lstsq(centred[:, seen], centred)[0]
        truth = mean + (X.reshape(300, -1)[row, seen] - mean[seen]) @ weights
        assert_allclose(found[row].ravel(), truth, atol=0.02)
    # Deviations are those of the regression on what is left.
    left = (
        centred
        - centred[:, np.delete(support, 1)]
        @ np.linalg.lstsq(centred[:, np.delete(support, 1)], centred)[0]
    )
    free = np.delete(np.arange(20), np.delete(support, 1))
    assert_allclose(deviation[0].ravel()[free], left.std(axis=0)[free], rtol=0.2)
    with pytest.raises(ValueError, match="missing='allow'"):
        ColumnSubsetSelector(4).fit(X).reconstruct(gappy)


def test_deviations_are_learned_where_values_were_observed():
    X = factors(n=2600, noise=0.3)
    gappy, new = X[:600].copy(), X[600:]
    gappy[:, :, 2][np.random.default_rng(0).random((600, 5)) < 0.6] = np.nan
    fitted = GeometrySelector(5, missing="allow").fit(gappy)
    found, deviation = fitted.reconstruct(fitted.transform(new), return_std=True)
    free = ~fitted.get_support().reshape(5, 4)
    errors = ((found - new) / np.where(deviation > 0, deviation, 1))[:, free]
    assert_allclose(np.sqrt(np.mean(errors**2, axis=0)), 1, atol=0.25)


def test_replacements_and_extensions_were_observed():
    masked = with_gaps(factors())
    masked[:, 1] = np.nan
    fitted = GeometrySelector(5, missing="allow").fit(masked)
    assert (fitted.replacements().substitute // 4 != 1).all()
    assert (fitted.extend(11) // 4 != 1).all()
    with pytest.raises(ValueError, match="k=12 is more than the 11 features"):
        fitted.extend(12)


def test_the_seen_samples_of_a_pickle_are_the_same():
    X = with_gaps(factors())
    fitted = GeometrySelector(5, missing="allow").fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    Z = fitted.transform(X)
    assert_array_equal(again.reconstruct(Z), fitted.reconstruct(Z))


def test_samples_without_any_value_are_not_there():
    X = with_gaps(factors())
    empty = np.insert(X, [0, 50, 120], np.nan, axis=0)
    for selector in (GeometrySelector(5, missing="allow"), STPCASelector(5, missing="allow")):
        one, other = clone(selector).fit(X), clone(selector).fit(empty)
        assert_allclose(one.scores_, other.scores_, rtol=1e-10)
        assert_array_equal(one.order_, other.order_)


def test_features_with_few_values_do_not_seem_to_agree():
    """Noise that was seen in a few samples: estimates must not make it look like structure."""
    X = factors(n=300, noise=0.1)
    X[:, 0, 0] = np.random.default_rng(5).normal(size=300)
    gappy = X.copy()
    gappy[60:, 0, 0] = np.nan
    fitted = GeometrySelector(5, missing="allow").fit(gappy)
    assert fitted.scores_[0, 0] < 0.3 * np.median(fitted.scores_)


@pytest.mark.parametrize("kind", [STPCASelector, GeometrySelector])
def test_scores_are_nearer_to_those_of_complete_samples_than_with_means(kind):
    X = waves(400)
    gappy = with_gaps(X, 0.3)
    filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=0), gappy)
    whole, plain = kind(9).fit(X).scores_, kind(9).fit(filled).scores_
    ours = kind(9, missing="allow").fit(gappy).scores_
    assert np.linalg.norm(ours - whole) < 0.7 * np.linalg.norm(plain - whole)


def test_named_samples_keep_their_gaps():
    xr = pytest.importorskip("xarray")
    X = with_gaps(factors())
    X[:, 2] = np.nan
    array = xr.DataArray(X, dims=("time", "lat", "lon"), coords={"lat": [10, 20, 30, 40, 50]})
    fitted = GeometrySelector(4, missing="allow").fit(array)
    assert fitted.transform(array).isnull().any()
    found = fitted.to_xarray()
    assert not found.selected.sel(lat=30).any()


def test_orientation_is_chosen_with_gaps():
    X = with_gaps(factors())
    fitted = STPCASelector(4, orientation="auto", basis="auto", missing="allow").fit(X)
    assert fitted.n_features_ == 4


@pytest.mark.parametrize("kind", [STPCASelector, GeometrySelector, ColumnSubsetSelector])
def test_units_of_features_do_not_count_with_gaps(kind):
    """Features are divided by the deviations of what was observed."""
    X = with_gaps(factors())
    X[:, 2, 1] = np.nan
    units = np.exp(np.random.default_rng(2).normal(size=(5, 4)))
    one = kind(5, scale="feature", missing="allow").fit(X)
    other = kind(5, scale="feature", missing="allow").fit(X * units)
    assert_allclose(one.scores_, other.scores_, rtol=1e-6)
    assert_array_equal(one.order_, other.order_)
    Z, wide = one.transform(X[:5]), other.transform(X[:5] * units)
    for a, b in zip(
        one.reconstruct(Z, return_std=True), other.reconstruct(wide, return_std=True), strict=True
    ):
        assert_allclose(a * units, b, rtol=1e-4, atol=1e-8)


def test_decompositions_with_gaps_select_features():
    X = with_gaps(factors(noise=0.02))
    X[:, 2] = np.nan
    selector = SelectFromDecomposition(TensorPCA(2, missing="allow"), 4).fit(X)
    assert not selector.get_support().reshape(5, 4)[2].any()
    assert_array_equal(selector.transform(X), X.reshape(len(X), -1)[:, selector.get_support()])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SelectFromDecomposition(TensorPCA(2), 4).fit(X)


@pytest.mark.parametrize("mode", [None, 0])
def test_errors_are_those_of_observed_values(mode):
    X = factors(n=300)
    known, new = with_gaps(X[:150]), with_gaps(X[150:])
    known[:, 0, 1] = new[:, 0, 1] = np.nan  # land
    new[:, 4, 3] = np.nan
    fitted = GeometrySelector(3, feature_mode=mode, missing="allow").fit(known)
    curve = fitted.reconstruction_curve(new, counts=[1, 3])
    mean = fitted.reconstruct(np.full_like(fitted.transform(new), np.nan)[:1])[0]
    seen = ~np.isnan(new)
    spread = np.where(seen, new - mean, 0) ** 2
    for place, count in enumerate([1, 3]):
        fitted.set_params(n_features_to_select=count)
        left = np.where(seen, new - fitted.reconstruct(fitted.transform(new)), 0) ** 2
        assert curve.errors[place] == pytest.approx(left.sum() / spread.sum())
        expected = np.where(seen.any(axis=0), left.sum(axis=0), np.nan) / seen.sum(axis=0).clip(1)
        assert_allclose(curve.element_errors[place], expected, atol=1e-12)
    chunks = fitted.reconstruction_curve(iter(np.array_split(new, 4)), counts=[1, 3])
    assert_allclose(chunks.errors, curve.errors)
    assert_allclose(chunks.element_errors, curve.element_errors)
    assert np.isnan(curve.element_shares[:, 0, 1]).all()
    with pytest.raises(ValueError, match="X has no value that is not NaN"):
        fitted.reconstruction_curve(np.full_like(new, np.nan))
    with pytest.raises(ValueError, match="missing='allow'"):
        GeometrySelector(3).fit(X).reconstruction_curve(new)


@pytest.mark.parametrize("basis", ["identity", "dct"])
def test_decompositions_say_nothing_of_what_was_never_observed(basis):
    X = factors(n=60)
    X[:, 1] = np.nan
    for make in (TensorPCA, SparseTensorPCA):
        fitted = make(2, basis=basis, missing="allow").fit(X)
        found = fitted.inverse_transform(fitted.transform(X))
        assert np.isnan(found[:, 1]).all()
        assert np.isfinite(np.delete(found, 1, axis=1)).all()


@pytest.mark.parametrize("scale", [None, "feature"])
def test_nothing_is_said_of_what_was_never_observed(scale):
    X = factors(n=200)
    X[:, 1] = np.nan
    new = X[100:]
    fitted = GeometrySelector(4, missing="allow", scale=scale).fit(X[:100])
    Z = fitted.transform(new)
    dask = pytest.importorskip("dask.array").from_array(Z, chunks=(30, 4))
    for given in (Z, dask):
        found, deviation = fitted.reconstruct(given, return_std=True)
        for one in (np.asarray(found), np.asarray(deviation)):
            assert np.isnan(one[:, 1]).all()
            assert np.isfinite(np.delete(one, 1, axis=1)).all()
    seen = np.arange(20) // 4 != 1
    without = GeometrySelector(4, scale=scale).fit(X[:100].reshape(100, -1)[:, seen])
    expected = without.reconstruct(without.transform(new.reshape(100, -1)[:, seen]))
    assert_allclose(fitted.reconstruct(Z).reshape(100, -1)[:, seen], expected)


def test_estimators_that_do_not_know_gaps_say_who_does():
    with pytest.raises(ValueError, match="GeometrySelector"):
        LaplacianScore(3).fit(with_gaps(factors()))
    with pytest.raises(ValueError, match="missing"):
        GeometrySelector(3, missing="drop").fit(factors())


def test_gaps_on_a_device_are_refused_with_what_to_do():
    torch = pytest.importorskip("torch")
    X = torch.asarray(with_gaps(factors()))
    with pytest.raises(ValueError, match="move X to the host"):
        GeometrySelector(3, missing="allow").fit(X)
    with pytest.raises(ValueError, match="missing='allow'"):
        GeometrySelector(3).fit(X)


def test_complex_samples_have_gaps_in_both_parts():
    X = factors() + 1j * factors(seed=3)
    fitted = STPCASelector(4, missing="allow").fit(with_gaps(X))
    assert fitted.n_features_ == 4
    filled = conditional_means(with_gaps(X))
    assert np.isfinite(filled).all()


@pytest.mark.parametrize("kind", [STPCASelector, GeometrySelector, VarianceSelector, TensorPCA])
def test_tags_say_that_nan_is_allowed(kind):
    assert get_tags(kind(missing="allow")).input_tags.allow_nan
    assert not get_tags(kind()).input_tags.allow_nan


@parametrize_with_checks(
    [
        STPCASelector(1, missing="allow"),
        GeometrySelector(1, missing="allow"),
        VarianceSelector(1, missing="allow"),
        PivotedCholeskySelector(1, missing="allow"),
        ColumnSubsetSelector(1, missing="allow"),
        TensorPCA(missing="allow"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
