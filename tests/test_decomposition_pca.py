"""TensorPCA against the T-SVDM, scikit-learn's PCA and brute force."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA

from tensift import TensorPCA
from tensift.algebra import make_transforms, tsvdm
from tensift.datasets import load_digits

TRANSFORMS = ["identity", "dft", "dct", "haar", "eigen", "random"]


def samples(shape, seed=0, *, decay=0.6, complex_data=False):
    """Correlated samples whose spectrum falls off, about a mean that is not zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    if complex_data:
        X = X + 1j * rng.normal(size=shape)
    for axis in range(1, len(shape)):
        mix = rng.normal(size=(shape[axis],) * 2) * decay ** np.arange(shape[axis])
        X = np.moveaxis(np.moveaxis(X, axis, -1) @ mix, -1, axis)
    return X + 3 * rng.normal(size=shape[1:])


def reconstruction(pca, X):
    return pca.inverse_transform(pca.transform(X))


def truncated_tsvdm(X, mode, transforms, **how):
    """The truncated T-SVDM of centred samples, laid out as samples."""
    mean = X.mean(axis=0)
    oriented = np.moveaxis(X - mean, (mode + 1, 0), (0, 1))
    result = tsvdm(oriented, transforms, **how)
    return np.moveaxis(result.reconstruct(), (0, 1), (mode + 1, 0)) + mean, result


# The T-SVDM


@pytest.mark.parametrize("complex_data", [False, True])
@pytest.mark.parametrize("transform", [*TRANSFORMS, ["dft", "dct"]])
@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("n", [40, 5])
def test_equals_the_truncated_tsvdm_at_every_rank(transform, rank, n, complex_data):
    X = samples((n, 4, 5, 3), complex_data=complex_data)
    for mode in range(3):
        pca = TensorPCA(rank, orientation=mode, basis=transform, random_state=0).fit(X)
        transforms = pca._moments.orientation.transforms
        expected, _ = truncated_tsvdm(X, mode, transforms, rank=min(rank, X.shape[mode + 1]))
        assert_allclose(reconstruction(pca, X), expected, atol=1e-10 * np.abs(X).max())


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("share", [0.3, 0.8, 0.99])
def test_a_global_share_equals_the_tsvdm_by_energy(transform, share):
    X = samples((40, 6, 5))
    pca = TensorPCA(share, truncation="global", basis=transform, random_state=0).fit(X)
    transforms = pca._moments.orientation.transforms
    expected, result = truncated_tsvdm(X, 0, transforms, energy=share)
    assert_array_equal(pca.ranks_, result.ranks)
    assert_allclose(reconstruction(pca, X), expected, atol=1e-10 * np.abs(X).max())
    assert pca.score(X) >= share


@pytest.mark.parametrize("rank", [None, 1, 3])
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_digits_equal_the_truncated_tsvdm(transform, rank):
    """Real images: some slices are constant, others nearly rank-deficient."""
    X = load_digits().data
    pca = TensorPCA(rank, basis=transform, random_state=0).fit(X)
    expected, _ = truncated_tsvdm(X, 0, pca._moments.orientation.transforms, rank=rank)
    assert_allclose(reconstruction(pca, X), expected, atol=1e-10 * X.max())


def test_singular_values_down_to_rounding_are_resolved_by_fit():
    """Twelve decades of singular values: far below what a Gram matrix can hold."""
    rng = np.random.default_rng(0)
    left, _ = np.linalg.qr(rng.normal(size=(60, 13)))
    right, _ = np.linalg.qr(rng.normal(size=(13, 13)))
    X = (left - left.mean(axis=0)) * 10.0 ** -np.arange(13) @ right.T
    for rank in (3, 6, 9, 12):
        expected, _ = truncated_tsvdm(X, 0, [], rank=rank)
        pca = TensorPCA(rank).fit(X)
        assert_allclose(reconstruction(pca, X), expected, atol=1e-13)


def test_without_truncation_nothing_is_lost():
    for shape in [(30, 4, 5), (4, 6, 5), (30, 7), (10, 3, 4, 2)]:
        X = samples(shape)
        for transform in TRANSFORMS if len(shape) > 2 else ["identity"]:
            pca = TensorPCA(basis=transform, random_state=0).fit(X)
            assert_allclose(reconstruction(pca, X), X, atol=1e-12 * np.abs(X).max())
            assert pca.score(X) == pytest.approx(1, abs=1e-12)


# PCA


def test_one_feature_mode_is_pca():
    X = samples((50, 8))
    ours, theirs = TensorPCA(3).fit(X), PCA(3, svd_solver="full").fit(X)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    assert_allclose(ours.components_, theirs.components_ * signs[:, None], atol=1e-10)
    assert_allclose(ours.transform(X), theirs.transform(X) * signs, atol=1e-10)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert_allclose(reconstruction(ours, X), theirs.inverse_transform(theirs.transform(X)))
    white = TensorPCA(3, whiten=True).fit(X)
    whitened = PCA(3, whiten=True, svd_solver="full").fit_transform(X) * signs
    assert_allclose(white.transform(X), whitened, atol=1e-10)
    assert_allclose(reconstruction(white, X), reconstruction(ours, X), atol=1e-12)


def test_the_share_of_pca_is_that_of_a_slice():
    X = samples((50, 8))
    for share in (0.2, 0.7, 0.95, 0.999):
        theirs = PCA(share, svd_solver="full").fit(X).n_components_
        assert TensorPCA(share).fit(X).n_components_ == theirs
        assert TensorPCA(share, truncation="global").fit(X).n_components_ == theirs


def test_every_slice_is_its_own_pca():
    X = samples((50, 6, 4))
    pca = TensorPCA(2).fit(X)
    for j in range(4):
        theirs = PCA(2, svd_solver="full").fit(X[:, :, j])
        expected = theirs.inverse_transform(theirs.transform(X[:, :, j]))
        assert_allclose(reconstruction(pca, X)[:, :, j], expected, atol=1e-10)
        assert_allclose(pca.energy_[j, :2] / 49, theirs.explained_variance_)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_error_is_never_above_that_of_pca_on_unfolded_data(transform, seed):
    """At equal rank: PCA of whole samples, and of the fibres of all samples together.

    Both keep k directions. Projecting each slice on its own k directions includes either.
    """
    rng = np.random.default_rng(seed)
    n, *shape = rng.integers(2, 9, size=rng.integers(3, 5))
    X = samples((n, *shape), seed, decay=rng.uniform(0.3, 1))
    mode = int(rng.integers(len(shape)))
    centred = X - X.mean(axis=0)
    fibres = np.moveaxis(centred, mode + 1, 0).reshape(shape[mode], -1)
    wholes = centred.reshape(n, -1)
    for rank in range(1, min(shape[mode], n) + 1):
        pca = TensorPCA(rank, orientation=mode, basis=transform, random_state=0).fit(X)
        error = np.sum((reconstruction(pca, X) - X) ** 2)
        for matrix in (fibres, wholes):
            tail = np.sum(np.linalg.svd(matrix, compute_uv=False)[rank:] ** 2)
            assert error <= tail + 1e-10 * np.sum(centred**2)


# Truncation


def energies_of(pca):
    return pca.explained_variance_ * (pca.n_samples_seen_ - 1)


@pytest.mark.parametrize("transform", ["identity", "dct", "dft", ["dft", "dft"]])
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 7, 12])
def test_no_choice_of_ranks_beats_the_global_budget(transform, budget):
    """All multiranks within the budget that treat conjugate slices alike, one by one."""
    X = samples((30, 2, 3, 2) if isinstance(transform, list) else (30, 3, 4), seed=budget)
    pca = TensorPCA(budget, truncation="global", basis=transform).fit(X)
    partners = pca._moments.orientation.conjugate_of
    q, p = X.shape[1], len(partners)
    best = 0.0
    for ranks in itertools.product(range(q + 1), repeat=p):
        ranks = np.array(ranks)
        if ranks.sum() <= budget and (ranks[partners] == ranks).all():
            best = max(best, sum(pca.energy_[j, : ranks[j]].sum() for j in range(p)))
    assert pca.n_components_ <= budget
    assert energies_of(pca).sum() == pytest.approx(
        best / (pca._moments.orientation.unitary_factor or 1)
    )


def test_a_global_budget_never_loses_to_the_same_number_in_equal_ranks():
    X = samples((40, 6, 5), decay=0.4)
    for rank in range(1, 6):
        for transform in TRANSFORMS:
            equal = TensorPCA(rank, basis=transform, random_state=0).fit(X)
            budget = TensorPCA(
                equal.n_components_, truncation="global", basis=transform, random_state=0
            ).fit(X)
            assert budget.n_components_ <= equal.n_components_
            assert budget.score(X) >= equal.score(X) - 1e-12


def test_a_share_in_each_slice_is_the_fewest_that_hold_it():
    X = samples((40, 6, 5))
    pca = TensorPCA(0.7, basis="dct").fit(X)
    for rank, energy in zip(pca.ranks_, pca.energy_, strict=True):
        held = np.cumsum(energy) / energy.sum()
        assert held[rank - 1] >= 0.7
        assert rank == 1 or held[rank - 2] < 0.7


def test_conjugate_pairs_share_what_the_budget_has():
    """Of a white signal under the DFT all components are alike: odd budgets still stay real."""
    X = np.random.default_rng(0).normal(size=(300, 1, 7))
    for budget in range(1, 8):
        pca = TensorPCA(budget, truncation="global", basis="dft").fit(X)
        Z = pca.transform(X)
        assert Z.dtype == float
        assert Z.shape == (300, budget)  # slice 0 stands alone and can take the odd place
        assert_array_equal(pca.ranks_[1:], pca.ranks_[:0:-1])


def test_more_components_than_there_are_is_said_and_all_are_kept():
    X = samples((30, 4, 3))
    with pytest.warns(UserWarning, match="n_components=9 is more than the 4 components"):
        assert TensorPCA(9).fit(X).n_components_ == 12
    with pytest.warns(UserWarning, match="n_components=13 is more than the 12 components"):
        assert TensorPCA(13, truncation="global").fit(X).n_components_ == 12


def test_constant_and_deficient_slices_keep_what_they_have():
    X = samples((30, 4, 5))
    X[:, :, 1] = 0.1
    X[:, :, 3] = X[:, :1, 3] * np.arange(1, 5)
    pca = TensorPCA(3).fit(X)
    assert_array_equal(pca.ranks_, [3, 0, 3, 1, 3])
    assert pca.n_components_ == 10
    assert np.isfinite(TensorPCA(3, whiten=True).fit(X).transform(X)).all()
    assert_allclose(reconstruction(pca, X)[:, :, 1], 0.1, atol=1e-14)


# Coordinates


@pytest.mark.parametrize("transform", [*TRANSFORMS, ["dft", "haar"], 3 * np.eye(3)])
@pytest.mark.parametrize("complex_data", [False, True])
def test_coordinates_are_orthonormal_for_unitary_transforms(transform, complex_data):
    shape = (40, 4, 3, 2) if isinstance(transform, list) else (40, 4, 3)
    X = samples(shape, complex_data=complex_data)
    pca = TensorPCA(2, basis=transform, random_state=0).fit(X)
    patterns = pca.components_.reshape(pca.n_components_, -1)
    assert_allclose(patterns @ patterns.conj().T, np.eye(len(patterns)), atol=1e-12)
    centred = (X - pca.mean_).reshape(40, -1)
    assert_allclose(pca.transform(X), centred @ patterns.conj().T, atol=1e-11)
    assert np.iscomplexobj(pca.transform(X)) == complex_data
    assert_allclose(
        reconstruction(pca, X),
        (centred @ patterns.conj().T @ patterns).reshape(X.shape) + pca.mean_,
        atol=1e-11,
    )


@pytest.mark.parametrize("transform", [*TRANSFORMS, ["dft", "dft"], "skew", "complex"])
@pytest.mark.parametrize("complex_data", [False, True])
def test_weights_read_coordinates_off_samples(transform, complex_data):
    rng = np.random.default_rng(1)
    X = samples((40, 4, 5, 3) if isinstance(transform, list) else (40, 4, 5), 2)
    if complex_data:
        X = X + 1j * X[::-1] ** 2
    if isinstance(transform, str) and transform in ("skew", "complex"):
        matrix = rng.normal(size=(5, 5))
        transform = matrix if transform == "skew" else matrix + 1j * rng.normal(size=(5, 5))
    pca = TensorPCA(2, basis=transform, random_state=0).fit(X)
    rows = pca.weights_.reshape(pca.n_components_, -1)
    Z = pca.transform(X)
    assert_allclose((X - pca.mean_).reshape(40, -1) @ rows.T, Z, atol=1e-10 * np.abs(Z).max())
    assert rows.dtype == Z.dtype


@pytest.mark.parametrize("transform", [*TRANSFORMS, "skew", "complex"])
def test_energies_are_what_coordinates_carry_and_add_up(transform):
    X = samples((40, 4, 3))
    rng = np.random.default_rng(1)
    if transform == "skew":
        transform = rng.normal(size=(3, 3))
    elif transform == "complex":
        transform = np.linalg.qr(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))[0]
    pca = TensorPCA(2, basis=transform, random_state=0).fit(X)
    Z = pca.transform(X)
    of_pairs = np.bincount(
        pca.component_numbers_ * 3
        + np.minimum(
            pca.component_slices_, pca._moments.orientation.conjugate_of[pca.component_slices_]
        ),
        weights=np.sum(np.abs(Z) ** 2, axis=0),
    )
    explained = np.bincount(
        pca.component_numbers_ * 3
        + np.minimum(
            pca.component_slices_, pca._moments.orientation.conjugate_of[pca.component_slices_]
        ),
        weights=energies_of(pca),
    )
    assert_allclose(of_pairs, explained)
    assert (np.diff(pca.explained_variance_) <= 0).all()
    assert pca.explained_variance_ratio_.sum() == pytest.approx(pca.score(X))
    assert pca.score(X) < 1


def test_slices_and_numbers_tell_where_a_component_is_from():
    X = samples((40, 4, 3, 5))
    pca = TensorPCA(2, orientation=1, basis="identity").fit(X)
    other = [(a, b) for a in range(4) for b in range(5)]
    for pattern, j, number in zip(
        pca.components_, pca.component_slices_, pca.component_numbers_, strict=True
    ):
        a, b = other[j]
        expected = np.zeros((4, 3, 5))
        expected[a, :, b] = pca.decoder_[j, :, number]
        assert_allclose(pattern, expected, atol=1e-14)


def test_peaks_of_components_are_real_and_positive():
    X = samples((40, 5, 6), complex_data=True)
    pca = TensorPCA(3, basis="dft").fit(X)
    peaks = np.take_along_axis(
        pca.decoder_, np.abs(pca.decoder_).argmax(axis=1)[:, None, :], axis=1
    )
    assert_allclose(peaks.imag, 0, atol=1e-14)
    assert (peaks.real > 0).all()


def test_whitened_coordinates_have_unit_variance():
    X = samples((60, 4, 5))
    for transform in ("identity", "dct", "haar"):
        white = TensorPCA(3, basis=transform, whiten=True).fit(X)
        Z = white.transform(X)
        assert_allclose(Z.var(axis=0, ddof=1), 1)
        for j in range(5):
            own = Z[:, white.component_slices_ == j]
            assert_allclose(np.cov(own.T), np.eye(3), atol=1e-10)
        plain = TensorPCA(3, basis=transform).fit(X)
        assert_allclose(reconstruction(white, X), reconstruction(plain, X), atol=1e-11)
        assert_allclose(white.components_, plain.components_)
    white = TensorPCA(3, basis="dft", whiten=True).fit(X)
    Z = white.transform(X)
    pair = np.minimum(white.component_slices_, -white.component_slices_ % 5)
    for j, number in itertools.product(range(3), range(3)):
        own = Z[:, (pair == j) & (white.component_numbers_ == number)]
        assert own.var(axis=0, ddof=1).mean() == pytest.approx(1)


def test_held_out_samples_are_projected_not_fitted():
    X, new = samples((50, 4, 5), 0), samples((7, 4, 5), 0)
    pca = TensorPCA(2, basis="dct").fit(X)
    basis = pca.components_.reshape(pca.n_components_, -1)
    centred = (new - X.mean(axis=0)).reshape(7, -1)
    assert_allclose(pca.transform(new), centred @ basis.T, atol=1e-11)
    lost = np.sum((centred - centred @ basis.T @ basis) ** 2)
    assert pca.score(new) == pytest.approx(1 - lost / np.sum(centred**2))


def test_scores_are_the_weights_of_features_in_coordinates(brute_force):
    X = samples((40, 4, 3, 2))
    pca = TensorPCA(2, orientation=1, basis=["dct", "haar"]).fit(X)
    operators = [u @ u.conj().T for u in pca.decoder_]
    matrices = [make_transforms("dct", [4])[0].matrix, make_transforms("haar", [2])[0].matrix]
    assert_allclose(pca.scores_, brute_force.scores(operators, 1, matrices, (4, 3, 2)))
    assert_array_equal(np.sort(pca.order_), np.arange(24))
    assert (np.diff(pca.scores_.ravel()[pca.order_]) <= 1e-12).all()


# Higher order


@pytest.mark.parametrize("mode", range(4))
def test_slices_of_fifth_order_tensors_equal_brute_force(brute_force, mode):
    """Four feature modes, a transform for each other one, against Kronecker matrices."""
    X = samples((20, 2, 3, 2, 3), seed=mode)
    specs = ["dct", "dft", "haar"]
    others = [d for axis, d in enumerate(X.shape[1:]) if axis != mode]
    matrices = [make_transforms(s, [d])[0].matrix for s, d in zip(specs, others, strict=True)]
    pca = TensorPCA(2, orientation=mode, basis=specs).fit(X)
    slices = brute_force.slices(X - X.mean(axis=0), mode, matrices)
    kept = np.empty_like(slices)
    for j, slice_ in enumerate(slices):
        u, s, _ = np.linalg.svd(slice_, full_matrices=False)
        kept[j] = u[:, :2] @ u[:, :2].conj().T @ slice_
        assert_allclose(pca.energy_[j], s**2, atol=1e-10 * s[0] ** 2)
    inverse = np.linalg.inv(brute_force.kronecker(matrices))
    back = np.einsum("hj,jqn->nqh", inverse, kept).reshape(20, X.shape[mode + 1], *others)
    expected = np.moveaxis(back, 1, mode + 1) + X.mean(axis=0)
    assert_allclose(expected.imag, 0, atol=1e-12)
    assert_allclose(reconstruction(pca, X), expected.real, atol=1e-11)


# Streams


@pytest.mark.parametrize("transform", ["identity", "dft", ["dct", "haar"]])
@pytest.mark.parametrize("sizes", [(20, 20), (1, 39), (3, 4, 33), (1,) * 40])
def test_a_stream_ends_where_a_fit_does(transform, sizes):
    X = samples((40, 5, 4, 2))
    pca = TensorPCA(2, basis=transform)
    for chunk in np.split(X, np.cumsum(sizes)[:-1]):
        pca.partial_fit(chunk)
    whole = TensorPCA(2, basis=transform).fit(X)
    assert pca.n_samples_seen_ == 40
    assert_allclose(pca.transform(X), whole.transform(X), atol=1e-9)
    assert_allclose(pca.explained_variance_, whole.explained_variance_)
    assert_allclose(pca.mean_, X.mean(axis=0))


def test_results_of_a_stream_follow_new_chunks():
    X = samples((60, 5, 4))
    pca = TensorPCA(3, basis="dct").partial_fit(X[:30])
    first = pca.transform(X)
    assert_allclose(first, TensorPCA(3, basis="dct").fit(X[:30]).transform(X), atol=1e-9)
    pca.partial_fit(X[30:])
    assert_allclose(pca.transform(X), TensorPCA(3, basis="dct").fit(X).transform(X), atol=1e-9)
    assert np.abs(pca.transform(X) - first).max() > 1e-3
