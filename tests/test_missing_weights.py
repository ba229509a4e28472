"""Weights of samples of which some values are missing: a weight of 3 is like three copies."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from tensift import (
    ColumnSubsetSelector,
    GeometrySelector,
    STPCASelector,
    collect_moments,
    stpca_path,
)
from tensift.comparison import compare_selectors
from tensift.decomposition import TensorPCA
from tensift.moments import conditional_means
from tensift.rivals import PivotedCholeskySelector, VarianceSelector
from tensift.stability import select_by_group, stability_selection

SHAPE = (3, 4)


def make(n=90, seed=0, *, kind=float):
    """Samples of a few factors, with gaps, a sample without values and one element never seen."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 3)) + (1j * rng.normal(size=(n, 3)) if kind is complex else 0)
    X = (factors @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(n, 12))).reshape(n, *SHAPE)
    X[rng.random(X.shape) < 0.15] = np.nan
    X[:, 1, 2] = np.nan
    X[5] = np.nan
    weights = rng.integers(0, 4, n)
    return X, weights, np.repeat(X, weights, axis=0)


SELECTORS = [
    STPCASelector(4, missing="allow"),
    STPCASelector(4, missing="allow", selection="geometry"),
    STPCASelector(4, missing="allow", scale="feature"),
    STPCASelector(4, missing="allow", basis="dct"),
    STPCASelector(2, missing="allow", feature_mode=1),
    GeometrySelector(4, missing="allow"),
    GeometrySelector(4, missing="allow", scale="feature"),
    GeometrySelector(2, missing="allow", feature_mode=0),
    ColumnSubsetSelector(4, missing="allow"),
    ColumnSubsetSelector(4, missing="allow", scale="feature"),
    PivotedCholeskySelector(4, missing="allow"),
    VarianceSelector(4, missing="allow"),
    VarianceSelector(4, missing="allow", selection="reconstruct"),
]


@pytest.mark.parametrize("selector", SELECTORS, ids=str)
def test_weights_are_copies(selector):
    X, weights, copies = make()
    weighted = clone(selector).fit(X, sample_weight=weights)
    repeated = clone(selector).fit(copies)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(weighted.get_support(), repeated.get_support())
    new = X[:6]
    for one, other in zip(
        weighted.reconstruct(weighted.transform(new), return_std=True),
        repeated.reconstruct(repeated.transform(new), return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("selector", [SELECTORS[0], SELECTORS[5]], ids=str)
def test_weights_change_the_result(selector):
    """The tests above would pass if weights were left out of both."""
    X, weights, _ = make()
    weighted = clone(selector).fit(X, sample_weight=weights)
    plain = clone(selector).fit(X[weights > 0])
    assert not np.allclose(weighted.scores_, plain.scores_, rtol=1e-3)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("n", [9, 200], ids=["thin", "dense"])
def test_moments_of_weights_are_those_of_copies(n, kind):
    X, weights, copies = make(n, kind=kind)
    weighted = collect_moments(X, missing="allow", sample_weight=weights)
    repeated = collect_moments(copies, missing="allow")
    assert weighted.total == repeated.total == repeated.count
    some = ~np.isnan(X).reshape(n, -1).all(axis=1)
    assert weighted.count == np.count_nonzero((weights > 0) & some)
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.spread(), repeated.spread())
    np.testing.assert_allclose(
        weighted.gram().dense(), repeated.gram().dense(), rtol=1e-9, atol=1e-9
    )
    # Counts stay counts of samples.
    used = X[weights > 0]
    np.testing.assert_array_equal(weighted.missing.observed, (~np.isnan(used)).sum(axis=0))


def test_mean_and_variance_by_hand():
    X = np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, np.nan], [2.0, 3.0]])
    weights = np.array([0.5, 2.0, 1.5, 1.0])
    moments = collect_moments(X, missing="allow", sample_weight=weights)
    for column in range(2):
        seen = ~np.isnan(X[:, column])
        mean = np.average(X[seen, column], weights=weights[seen])
        variance = np.average((X[seen, column] - mean) ** 2, weights=weights[seen])
        assert moments.mean[column] == pytest.approx(mean)
        assert moments.spread()[column] ** 2 == pytest.approx(variance)


def test_weights_far_below_one_only_scale():
    X, weights, _ = make()
    weights = weights + 1.0
    large = collect_moments(X, missing="allow", sample_weight=weights)
    small = collect_moments(X, missing="allow", sample_weight=1e-6 * weights)
    np.testing.assert_allclose(small.mean, large.mean)
    np.testing.assert_allclose(small.spread(), large.spread())
    np.testing.assert_allclose(small.gram().dense(), 1e-6 * large.gram().dense(), atol=1e-12)
    assert small.missing.fewest_together == large.missing.fewest_together > 0


@pytest.mark.parametrize("by", ["chunks", "partial_fit", "iterator", "dask", "moments", "path"])
def test_all_ways_in_agree(by, tmp_path):
    X, weights, _ = make()
    wanted = STPCASelector(4, missing="allow").fit(X, sample_weight=weights)
    selector = STPCASelector(4, missing="allow")
    if by == "chunks":
        np.save(tmp_path / "x.npy", X)
        stored = np.load(tmp_path / "x.npy", mmap_mode="r")
        selector.fit(stored, sample_weight=weights)
    elif by == "partial_fit":
        for part in (slice(0, 1), slice(1, 40), slice(40, None)):
            selector.partial_fit(X[part], sample_weight=weights[part], solve=False)
        selector.solve()
    elif by == "iterator":
        selector.fit(iter([X[:30], X[30:]]), sample_weight=weights)
    elif by == "dask":
        array = pytest.importorskip("dask.array").from_array(X, chunks=(25, *SHAPE))
        selector.fit(array, sample_weight=weights)
    elif by == "moments":
        selector.fit(collect_moments(X, missing="allow", sample_weight=weights))
    else:
        path = stpca_path(X, lams=[0.1], etas=[0.1], missing="allow", sample_weight=weights)
        same = clone(selector).set_params(lam=0.1, eta=0.1).fit(X, sample_weight=weights)
        np.testing.assert_allclose(path.scores[0, 0], same.scores_, rtol=1e-6, atol=1e-9)
        return
    np.testing.assert_allclose(selector.scores_, wanted.scores_, rtol=1e-7, atol=1e-10)
    np.testing.assert_array_equal(selector.missing_.observed, wanted.missing_.observed)


@pytest.mark.parametrize(
    "selector",
    [STPCASelector(4), GeometrySelector(4), ColumnSubsetSelector(4), VarianceSelector(4)],
    ids=str,
)
def test_without_gaps_allowing_them_changes_nothing(selector):
    X, weights, _ = make()
    X = np.nan_to_num(X)
    plain = clone(selector).fit(X, sample_weight=weights)
    allowed = clone(selector).set_params(missing="allow").fit(X, sample_weight=weights)
    np.testing.assert_array_equal(plain.scores_, allowed.scores_)
    np.testing.assert_array_equal(plain.order_, allowed.order_)


@pytest.mark.parametrize("selector", [STPCASelector(4), GeometrySelector(4)], ids=str)
def test_samples_of_weight_zero_are_left_out_before_gaps_are_counted(selector):
    X, _, _ = make()
    X[:10, 1, 2] = np.arange(10.0)
    weights = np.ones(len(X))
    weights[:10] = 0
    fitted = selector.set_params(missing="allow").fit(X, sample_weight=weights)
    np.testing.assert_array_equal(np.argwhere(fitted.missing_.never), [[1, 2]])
    assert not fitted.get_support()[1 * 4 + 2]


def test_groups_count_equally_whatever_their_gaps():
    X, _, _ = make()
    groups = np.repeat(["a", "b"], [60, 30])
    by_groups = STPCASelector(4, missing="allow").fit(X, groups=groups)
    by_hand = STPCASelector(4, missing="allow").fit(X, None, np.repeat([0.75, 1.5], [60, 30]))
    np.testing.assert_allclose(by_groups.scores_, by_hand.scores_)
    found = GeometrySelector("auto", missing="allow").fit(X, groups=groups)
    assert 1 <= found.suggested_count_.count <= 11


@pytest.mark.parametrize("selector", [STPCASelector(4), GeometrySelector(4)], ids=str)
def test_nan_in_weights_is_an_error(selector):
    X, weights, _ = make()
    weights = weights.astype(float)
    weights[3] = np.nan
    with pytest.raises(ValueError, match="sample_weight has NaN at sample 3"):
        selector.set_params(missing="allow").fit(X, sample_weight=weights)


def test_conditional_means_of_weights_are_those_of_copies():
    X, weights, copies = make()
    some = ~np.isnan(X).reshape(len(X), -1).all(axis=1) & (weights > 0)
    filled = conditional_means(X[some], weights[some])
    copied = conditional_means(copies)
    first = np.cumsum(weights)[some] - weights[some]
    np.testing.assert_allclose(copied[first], filled, rtol=1e-7, atol=1e-9)
    # Copies stay copies, to the last bit.
    ends = np.cumsum(weights)[some] - 1
    np.testing.assert_array_equal(copied[first], copied[ends])


def test_components_are_those_of_copies():
    X, weights, copies = make()
    weighted = TensorPCA(3, missing="allow").fit(X, sample_weight=weights)
    repeated = TensorPCA(3, missing="allow").fit(copies)
    one, other = weighted.components_, repeated.components_
    for a, b in zip(one.reshape(3, -1), other.reshape(3, -1), strict=True):
        assert abs(a @ b) == pytest.approx(np.linalg.norm(a) * np.linalg.norm(b), rel=1e-6)


def test_resamples_and_comparisons_take_both():
    X, weights, _ = make()
    weights = weights + 1
    groups = np.arange(len(X)) % 6
    stable = stability_selection(
        GeometrySelector(3, missing="allow"), X, n_resamples=4, sample_weight=weights
    )
    assert stable.probabilities.ravel()[6] == 0
    by_group = select_by_group(GeometrySelector(3, missing="allow"), X, groups)
    assert not by_group.supports[:, 6].any()
    found = compare_selectors(
        X,
        ["GeometrySelector"],
        3,
        n_resamples=2,
        missing="allow",
        sample_weight=weights,
        groups=groups,
    )
    assert any("values are missing" in note for note in found.notes)


@pytest.mark.parametrize("weighted", [False, True])
def test_dask_keeps_the_same_samples(weighted):
    """A sample without any value is read, too, so those after it keep their places."""
    X, weights, _ = make()
    given = {"missing": "allow"} | ({"sample_weight": weights} if weighted else {})
    array = pytest.importorskip("dask.array").from_array(X, chunks=(25, *SHAPE))
    found, wanted = (collect_moments(one, **given).subsample for one in (array, X))
    assert found.count == wanted.count
    np.testing.assert_array_equal(found.rows(), wanted.rows())


def test_groups_without_any_value_of_a_feature_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    people = np.repeat(["anna", "bert", "carl", "dora"], 20)
    X[np.isin(people, ["bert", "carl"]), 4] = np.nan
    X[people == "anna", 1] = np.nan
    X[60:70, 2] = np.nan
    message = "no value of feature 1 in group anna; no value of feature 4 in groups bert, carl"
    allow = {"missing": "allow"}
    calls = [
        lambda: GeometrySelector(2, **allow).fit(X, groups=people),
        lambda: STPCASelector(2, **allow).fit(X, groups=people),
        lambda: VarianceSelector(2, **allow).fit(X, groups=people),
        lambda: TensorPCA(2, **allow).fit(X, groups=people),
        lambda: select_by_group(VarianceSelector(2, **allow), X, people),
        lambda: stability_selection(
            VarianceSelector(2, **allow), X, groups=people, n_resamples=2
        ),
        lambda: compare_selectors(X, ["geometry"], 2, groups=people, n_resamples=2, **allow),
    ]  # fmt: skip
    for call in calls:
        with pytest.warns(UserWarning, match=message):
            call()


def test_groups_of_named_and_mode_features():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["hot", "cold", "wet"])
    frame.loc[:19, "cold"] = None
    days = ["mon"] * 20 + ["tue"] * 20
    with pytest.warns(UserWarning, match="no value of feature cold in group mon"):
        GeometrySelector(2, missing="allow").fit(frame, groups=days)
    X = rng.normal(size=(40, 3, 5))
    X[:20, 1] = np.nan
    X[:20, 2, :4] = np.nan
    with pytest.warns(UserWarning, match="no value of feature 1 in group mon. Only"):
        GeometrySelector(2, missing="allow", feature_mode=0).fit(X, groups=days)
    X[20:, 1] = np.nan  # nobody has it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GeometrySelector(2, missing="allow", feature_mode=0).fit(X, groups=days)
    X[20:] = np.nan
    with pytest.warns(UserWarning, match="no value at all in group tue"):
        GeometrySelector(2, missing="allow", feature_mode=0).fit(X, groups=days)
    everywhere = rng.normal(size=(40, 9))
    for column in range(5):
        everywhere[:20, column] = np.nan
    with pytest.warns(UserWarning, match="feature 2 in group mon; 2 more features without a value"):
        VarianceSelector(2, missing="allow").fit(everywhere, groups=days)
