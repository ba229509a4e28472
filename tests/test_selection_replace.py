"""What a kept feature is worth, by whole n x n matrices for every candidate."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from tensift import ColumnSubsetSelector, GeometrySelector, STPCASelector
from tensift.rivals import AllFeatures, LaplacianScore, RandomSelector, VarianceSelector
from tensift.selection import Replacement, Replacements
from tensift.selection._agreement import standard_error
from tensift.selection._geometry import Geometry
from tensift.selection._kept_sets import (
    AlignedSet,
    ExplainingSet,
    best_additions,
    best_feature,
)

RIDGE = 1e-2  # the share of the mean energy of an element, as in the docs of ColumnSubsetOrder


def faces(n=60, shape=(4, 5), seed=0, is_complex=False):
    """Samples of four groups, with light of their own and noise."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 4, n)
    X = 2 * rng.normal(size=(4, *shape))[groups]
    X = X + 3 * rng.normal(size=(n,) + (1,) * len(shape)) + rng.normal(size=(n, *shape))
    if is_complex:
        X = X + 1j * rng.normal(size=X.shape)
    return X * rng.uniform(0.3, 3, size=shape)


def columns_of(X, mode):
    """One centred matrix (n, t) for each feature."""
    X = X - X.mean(axis=0)
    if mode is None:
        return [column[:, None] for column in X.reshape(len(X), -1).T]
    return [np.take(X, j, axis=mode + 1).reshape(len(X), -1) for j in range(X.shape[mode + 1])]


class Alignment:
    """The ratio that the rule increases, with whole K_j and T."""

    def __init__(self, X, mode, scores):
        geometry = Geometry(X, mode)
        columns = columns_of(X, mode)
        if np.iscomplexobj(X):
            columns = [np.hstack([c.real, c.imag]) for c in columns]
        self.K = [c @ c.T / np.sqrt(np.mean(np.sum(c**2, axis=1))) for c in columns]
        target = geometry.target @ geometry.target.T
        weights = np.maximum(geometry.agreement, 0.02 * geometry.agreement.max()) ** 2
        if scores is not None:
            weights = weights * np.sqrt(np.maximum(scores.ravel(), 0.02 * scores.max()))
        self.gains = [w * np.sum(k * target) for w, k in zip(weights, self.K, strict=True)]
        self.kappa = np.mean([np.sum(k**2) for k in self.K])
        self.structured = geometry.agreement > standard_error(len(X))
        self.weights = np.ones(len(self.K))

    def of(self, chosen):
        total = sum((self.K[i] for i in chosen), np.zeros_like(self.K[0]))
        above = sum(self.gains[i] for i in chosen)
        return above / np.sqrt(np.sum(total**2) + self.kappa)

    def merit(self, chosen, j):
        return self.of([*chosen, j])

    def candidates(self, free):
        return [j for j in free if self.structured[j]] or free


class Explained:
    """The share of the variance that ridge regression explains."""

    def __init__(self, X, mode, scores):
        self.columns = columns_of(X, mode)
        self.all = np.hstack(self.columns)
        self.energy = np.linalg.norm(self.all) ** 2
        self.ridge = RIDGE * self.energy / self.all.shape[1]
        self.weights = np.ones(len(self.columns)) if scores is None else np.sqrt(scores.ravel())

    def of(self, chosen):
        if not chosen:
            return 0.0
        known = np.hstack([self.columns[j] for j in chosen])
        gram = known @ known.conj().T
        hat = gram @ np.linalg.inv(gram + self.ridge * np.eye(len(gram)))
        return np.trace(self.all.conj().T @ hat @ self.all).real / self.energy

    def merit(self, chosen, j):
        return self.weights[j] * (self.of([*chosen, j]) - self.of(chosen))

    def candidates(self, free):
        return free


def best_by_definition(truth, chosen, taken, size):
    free = truth.candidates([j for j in range(size) if j not in taken])
    return max(free, key=lambda j: truth.merit(chosen, j))


def selectors(mode):
    return [
        (GeometrySelector(3, feature_mode=mode), Alignment, False),
        (STPCASelector(3, feature_mode=mode, lam=0.1, eta=0.1), Alignment, True),
        (ColumnSubsetSelector(3, feature_mode=mode), Explained, False),
        (VarianceSelector(3, feature_mode=mode), Explained, False),
        (VarianceSelector(3, feature_mode=mode, selection="reconstruct"), Explained, True),
        (VarianceSelector(3, feature_mode=mode, selection="geometry"), Alignment, True),
        (RandomSelector(3, feature_mode=mode, random_state=0), Explained, False),
    ]


@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("mode", [None, 0, 1])
@pytest.mark.parametrize("is_complex", [False, True])
def test_losses_and_substitutes_are_those_of_the_definition(place, mode, is_complex):
    X = faces(is_complex=is_complex)
    selector, truth, scored = selectors(mode)[place]
    selector.fit(X)
    size = selector.order_.shape[0]
    exact = truth(X, mode, selector.scores_ if scored else None)
    kept = selector.get_support(indices=True).tolist()
    found = selector.replacements()
    whole = exact.of(kept)
    for one, feature in zip(found, kept, strict=True):
        others = [j for j in kept if j != feature]
        substitute = best_by_definition(exact, others, kept, size)
        assert one.feature == feature
        assert one.substitute == substitute
        assert_allclose(one.lost, 1 - exact.of(others) / whole, atol=1e-9)
        with_it = 1 - exact.of([*others, substitute]) / whole
        assert_allclose(one.lost_with_substitute, with_it, atol=1e-9)
        alone = selector.replace(feature)
        assert isinstance(alone, Replacement)
        assert_allclose(alone, one)
    assert found.measure == ("alignment" if truth is Alignment else "explained variance")
    chosen = list(kept)
    for pick in selector.extend(min(3, size - 3)):
        assert pick == best_by_definition(exact, chosen, chosen, size)
        chosen.append(int(pick))


@pytest.mark.parametrize(
    "selector", [GeometrySelector(4), STPCASelector(4), ColumnSubsetSelector(4)]
)
@pytest.mark.parametrize("rule", ["geometry", "reconstruct"])
def test_additions_go_on_as_the_rule_does(selector, rule):
    if isinstance(selector, STPCASelector):
        selector = clone(selector).set_params(selection=rule, lam=0.1, eta=0.1)
    X = faces()
    few = clone(selector).fit(X)
    many = clone(selector).set_params(n_features_to_select=9).fit(X)
    before = pickle.dumps(few)
    assert_array_equal(few.extend(5), many.order_[4:9])
    assert pickle.dumps(few) == before  # nothing changed


def test_a_mask_says_what_may_be_picked():
    X = faces()
    geometry = Geometry(X, None)
    for kept in (AlignedSet(geometry, None, [0, 7]), ExplainingSet(X, None, None, [0, 7])):
        free = best_additions(kept, [0, 7], 20)
        assert sorted(free) == [j for j in range(20) if j not in (0, 7)]
        allowed = np.ones(20, dtype=bool)
        allowed[free[0]] = False
        assert best_feature(kept, [0, 7], allowed) != free[0]
        allowed[:] = False
        assert best_feature(kept, [0, 7], allowed) is None
        allowed[[0, 12]] = True
        assert best_additions(kept, [0, 7], 5, allowed) == [12]
        assert not allowed[1:12].any()  # masks are not written to


def test_out_and_in_again_is_the_same_set():
    X = faces()
    for kept in (
        AlignedSet(Geometry(X, None), None, [1, 5, 11]),
        ExplainingSet(X, None, None, [1, 5, 11]),
    ):
        again = kept.without(5).without(1).with_feature(5).with_feature(1)
        assert_allclose(again.value, kept.value)
        assert_allclose(again.values_with(), kept.values_with())
        assert_allclose(kept.without(5).values_with()[5], kept.value)


def test_a_copy_replaces_its_original_without_loss():
    X = faces().reshape(60, 20)
    order = ColumnSubsetSelector(4).fit(X).order_
    first, last = int(order[0]), int(order[-1])
    X[:, last] = X[:, first]
    selector = ColumnSubsetSelector(4).fit(X)
    (kept,) = set(selector.get_support(indices=True).tolist()) & {first, last}  # never both
    found = selector.replace(kept)
    assert {found.feature, found.substitute} == {first, last}
    assert found.lost > 0.01
    assert abs(found.lost_with_substitute) < 1e-9


def test_the_only_feature_is_all_there_is_to_lose():
    for selector in (GeometrySelector(1), VarianceSelector(1)):
        (found,) = selector.fit(faces()).replacements()
        assert found.lost == pytest.approx(1)


def test_with_all_features_kept_there_is_no_substitute():
    selector = AllFeatures().fit(faces())
    found = selector.replacements()
    assert (found.substitute == -1).all()
    assert len(found) == 20
    assert_array_equal(found.lost, found.lost_with_substitute)
    assert found.to_rows()[0]["substitute"] is None
    with pytest.raises(ValueError, match="all features are kept"):
        selector.replace(3)
    with pytest.raises(ValueError, match="k=1 is more than the 0 features"):
        selector.extend(1)


def test_a_table_is_a_sequence():
    found = GeometrySelector(5).fit(faces()).replacements()
    assert isinstance(found, Replacements)
    assert len(found) == 5
    assert found[-1] == list(found)[-1]
    assert found[1:3] == [found[1], found[2]]
    assert found.to_rows()[0] == found[0]._asdict()
    assert all(type(value) in (int, float) for value in found[0])
    assert_array_equal(found.feature, np.sort(found.feature))
    with pytest.raises(IndexError):
        found[5]


def test_features_that_hardly_vary_are_worth_nothing():
    X = faces()
    X[:, 0, 0] = 7
    for selector in (GeometrySelector(20), VarianceSelector(20)):
        found = selector.fit(X).replacements()
        assert found.feature[0] == 0
        assert found.lost[0] == pytest.approx(0, abs=1e-12)
    assert GeometrySelector(17).fit(X).extend(3)[-1] == 0  # picked last


def test_on_every_library(library):
    X = faces()
    for make in (lambda: GeometrySelector(4), lambda: STPCASelector(4, selection="reconstruct")):
        expected, fitted = make().fit(X), make().fit(library.asarray(X))
        one, other = expected.replacements(), fitted.replacements()
        assert_array_equal(one.feature, other.feature)
        assert_array_equal(one.substitute, other.substitute)
        assert_allclose(one.lost, other.lost, atol=1e-6)
        assert_array_equal(expected.extend(3), fitted.extend(3))


def test_rivals_that_scale_samples_judge_the_samples_as_given():
    X = faces()
    one = LaplacianScore(4).fit(X)
    other = VarianceSelector(4).fit(X)
    other.order_ = one.order_
    assert_allclose(one.replacements().lost, other.replacements().lost)


def test_errors_say_what_is_wrong():
    X = faces()
    selector = GeometrySelector(4).fit(X)
    left = int(np.flatnonzero(~selector.get_support())[0])
    for wrong in (left, -1, 20, 1.5, True, None):
        with pytest.raises(ValueError, match=f"feature={wrong!r} is not kept"):
            selector.replace(wrong)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="k must be a positive whole number"):
            selector.extend(wrong)
    with pytest.raises(ValueError, match="k=17 is more than the 16 features that are not kept"):
        selector.extend(17)
    for call in ("replacements", "extend", "replace"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(GeometrySelector(4), call)(*([1] if call != "replacements" else []))


def test_constant_samples_have_nothing_to_lose():
    selector = VarianceSelector(2).fit(faces())
    selector._keep_samples(np.ones((9, 4, 5)))
    for rule in ("top", "geometry"):
        selector.set_params(selection=rule)
        with pytest.raises(ValueError, match="constant"):
            selector.replacements()
