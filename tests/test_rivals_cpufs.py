"""CPUFS and CPUFSnn against the published updates and brute force, and on planted features."""

import runpy
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from tensift.datasets import load_digits
from tensift.rivals import CPUFS, CPUFSnn
from tensift.rivals._cpufs_updates import CPModel
from tensift.selection import rank_features

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
plain = SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "_transcriptions_tensor.py")))
both = pytest.mark.parametrize("method", [CPUFS, CPUFSnn])
EPS = 2.0**-52


def samples_first(tensor):
    return np.moveaxis(tensor, -1, 0)


def random_start(rng, n, shape, c):
    return {
        "factors": [rng.random((size, c)) for size in shape],
        "sample_factor": rng.normal(size=(n, c)),
        "classifiers": [rng.random((c, size)) for size in shape],
    }


def planted(seed, noise=0.02, n=90):
    """Three classes that differ in a 3 x 3 block of 8 x 7 features."""
    rng = np.random.default_rng(seed)
    X = noise * rng.random((n, 8, 7))
    X[:, 1:4, 1:4] += rng.random((3, 3, 3))[np.arange(n) % 3]
    informative = np.zeros((8, 7), dtype=bool)
    informative[1:4, 1:4] = True
    return X, informative.ravel()


# The published method


@pytest.fixture
def golden_fit(published):
    start = {
        "factors": [published.matrix(6, 3, 100), published.matrix(5, 3, 200)],
        "sample_factor": published.matrix(60, 3, 300) - 0.5,
        "classifiers": [published.matrix(3, 6, 400), published.matrix(3, 5, 450)],
    }
    return CPUFS(6, n_clusters=3, init=start, step_size=1e-4, max_iter=15).fit(published.X)


def test_authors_program(golden_fit):
    assert_allclose(golden_fit.objective_, 317.51366343, atol=1e-8)
    ranking = rank_features(golden_fit.scores_, order="F")[:6]
    row, column = np.unravel_index(ranking, (6, 5))
    assert_array_equal(row + 6 * column, [21, 15, 3, 22, 27, 16])
    assert_allclose(
        golden_fit.scores_.ravel()[ranking],
        [0.28171782, 0.26542961, 0.20170941, 0.14493928, 0.13688087, 0.10856962],
        atol=1e-8,
    )


@both
@pytest.mark.parametrize(("shape", "n"), [((5, 4), 30), ((4, 6), 11), ((9, 8), 20)])
@pytest.mark.parametrize("seed", [0, 1])
def test_transcription(method, shape, n, seed):
    """Both ways to compute gradients: by the Gram matrix, and with many features by the data."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, *shape)) / 2
    start = random_start(rng, n, shape, 3)
    weights = {"mu": 2.0, "alpha": 0.5, "beta": 0.3}
    fitted = method(
        5,
        n_clusters=3,
        n_neighbors=4,
        init=start,
        step_size=1e-3,
        max_iter=8,
        scale=None,
        **weights,
    ).fit(X)
    truth = plain.cpufs(
        np.moveaxis(X, 0, -1),
        *start["factors"],
        start["sample_factor"],
        *start["classifiers"],
        **weights,
        theta=1e-3,
        iterations=8,
        k=4,
        nonnegative=method is CPUFSnn,
    )
    for name, got in zip("ABUV", fitted.factors_ + fitted.classifiers_, strict=True):
        assert_allclose(got, truth[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert_allclose(fitted.sample_factor_, truth["C"], atol=1e-12)
    assert_allclose(fitted.pseudo_labels_, truth["F"], atol=1e-12)
    assert_allclose(fitted.objective_path_, truth["path"], rtol=1e-11)
    assert_allclose(fitted.scores_, plain.cpufs_scores(truth["U"], truth["V"]), rtol=1e-9)


def brute_force(X, start, *, mu, alpha, beta, theta, iterations, nonnegative, eta=1e5):
    """The updates for samples of any order, by contractions of whole tensors."""
    m = X.ndim - 1
    letters = "ijlm"[:m]
    factors, C, classifiers = map(
        list, (start["factors"], [start["sample_factor"]], start["classifiers"])
    )
    C, F, classifiers = C[0], np.maximum(C[0], 0), [U.T for U in classifiers]
    L = plain.heat_kernel_laplacian(np.moveaxis(X, 0, -1).reshape(-1, 1, len(X)))

    def combined(matrices):
        return np.einsum(",".join(x + "r" for x in letters) + f"->{letters}r", *matrices)

    def without(tensor, matrices, mode, signature):
        others = [axis for axis in range(m) if axis != mode]
        parts = "".join(f",{letters[axis]}r" for axis in others)
        return np.einsum(
            f"{signature}{parts}->{letters[mode]}r", tensor, *(matrices[axis] for axis in others)
        )

    path = []
    for _ in range(iterations):
        for mode in range(m):
            model = np.einsum(f"{letters}r,nr->n{letters}", combined(factors), C)
            pull, push = (
                without(
                    np.einsum(f"n{letters},nr->{letters}r", data, C), factors, mode, letters + "r"
                )
                for data in (X, model)
            )
            factors[mode] = factors[mode] * pull / (push + EPS)
        images = np.einsum(f"n{letters},{letters}r->nr", X, combined(factors))
        P, _, Rt = np.linalg.svd(2 * images - mu * L @ F + 2 * eta * F, full_matrices=False)
        C = P @ Rt
        H = np.einsum(f"n{letters},{letters}r->nr", X, combined(classifiers))
        F = (alpha * H + eta * C - mu / 2 * L @ C) / (alpha + eta)
        F = np.maximum(F, EPS if nonnegative else 0)
        for mode in list(range(m)) * 3:
            W = combined(classifiers)
            H = np.einsum(f"n{letters},{letters}r->nr", X, W)
            slope = 2 * alpha * np.einsum(f"n{letters},nr->{letters}r", X, H - F)
            slope += beta * W / (np.sqrt((W**2).sum(axis=-1, keepdims=True)) + EPS)
            updated = classifiers[mode] - theta * without(slope, classifiers, mode, letters + "r")
            classifiers[mode] = np.maximum(updated, 0) if nonnegative else updated
        W = combined(classifiers)
        H = np.einsum(f"n{letters},{letters}r->nr", X, W)
        model = np.einsum(f"{letters}r,nr->n{letters}", combined(factors), C)
        path.append(
            np.sum((X - model) ** 2)
            + mu * np.trace(C.T @ L @ F)
            + alpha * np.sum((H - F) ** 2)
            + beta * np.sqrt((W**2).sum(axis=-1)).sum()
            + eta * np.sum((C - F) ** 2)
        )
    return (combined(classifiers) ** 2).sum(axis=-1), path


@both
@pytest.mark.parametrize("shape", [(7,), (40,), (4, 3), (3, 4, 2), (2, 3, 2, 2)])
def test_any_order_against_brute_force(method, shape):
    rng = np.random.default_rng(len(shape))
    X = rng.random((15, *shape))
    start = random_start(rng, 15, shape, 2)
    weights = {"mu": 0.7, "alpha": 1.5, "beta": 0.4}
    fitted = method(
        2, n_clusters=2, init=start, step_size=1e-3, max_iter=6, scale=None, **weights
    ).fit(X)
    scores, path = brute_force(
        X, start, theta=1e-3, iterations=6, nonnegative=method is CPUFSnn, **weights
    )
    assert_allclose(fitted.scores_, scores, rtol=1e-9)
    assert_allclose(fitted.objective_path_, path, rtol=1e-10)


def test_step_size_is_the_first_that_lowers_the_objective_of_a_random_start(published):
    X = np.moveaxis(published.X, 0, -1)
    rows, L = samples_first(X).reshape(60, 30), plain.heat_kernel_laplacian(X)
    model = CPModel(rows, (6, 5), L, 3, mu=1, alpha=2.0, beta=0.5, eta=1e5, nonnegative=True)
    step = model.search_step_size(np.random.RandomState(3))

    draws = np.random.RandomState(3)
    for halvings in range(60):
        _, _, U, V = (draws.uniform(size=(3, size)) for size in (6, 5, 6, 5))
        F = np.maximum(draws.normal(size=(60, 3)), 0)

        def objective(U, V, F=F):
            error = np.sum((plain.classifier_outputs(X, U, V) - F) ** 2)
            return 2.0 * error + 0.5 * plain.group_norms(U, V).sum()

        moved = plain.classifier_step(X, F, U, V, 2.0, 0.5, 0.5**halvings)
        if objective(*moved) < objective(U, V):
            break
    assert 0 < halvings < 59
    assert step == 0.5**halvings


@both
def test_diverging_runs_begin_anew_with_half_the_step(method):
    rng = np.random.default_rng(0)
    X = rng.random((20, 4, 3))
    settings = {"n_clusters": 2, "init": random_start(rng, 20, (4, 3), 2), "max_iter": 60}
    fitted = method(3, step_size=64.0, **settings).fit(X)
    assert fitted.step_size_ < 64
    assert np.log2(fitted.step_size_) % 1 == 0
    assert np.isfinite(fitted.scores_).all()
    again = method(3, step_size=fitted.step_size_, **settings).fit(X)
    assert again.step_size_ == fitted.step_size_
    assert_array_equal(again.scores_, fitted.scores_)


def test_data_on_which_every_run_diverges():
    X = 1e60 * np.random.default_rng(0).random((20, 4, 3))
    with pytest.raises(ValueError, match=r"every run diverged.*scale='max'"):
        CPUFS(3, n_clusters=2, scale=None, random_state=0, max_iter=5).fit(X)


# The objective


@both
def test_objective_falls_with_small_steps(published, method):
    X = published.X
    for seed in range(3):
        path = method(6, n_clusters=3, max_iter=100, random_state=seed).fit(X).objective_path_
        assert len(path) == 100
        assert np.diff(path).max() <= 1e-12 * path[0]


@both
@pytest.mark.parametrize("name", ["digits", "Imm40"])
def test_objective_falls_on_real_data(method, name, request):
    dataset = load_digits() if name == "digits" else request.getfixturevalue("paper_dataset")(name)
    path = method(20, max_iter=15, random_state=0).fit(dataset.data[:200]).objective_path_
    assert np.diff(path).max() <= 1e-12 * path[0]
    assert path[-1] < path[0] / 2


def test_fixed_steps_do_not_guarantee_descent():
    """Near a feature that vanishes, a step of fixed length goes back and forth across the kink."""
    X, _ = planted(3, noise=0.3)
    path = CPUFSnn(9, n_clusters=3, beta=10.0, random_state=3).fit(X).objective_path_
    rises = np.diff(path) > 1e-9 * path[1:]
    assert 20 < rises.sum() < 480
    assert path[-1] < path[0] / 10


@both
def test_early_stopping(published, method):
    X = published.X
    method = method(6, n_clusters=3, random_state=0)
    full = method.fit(X)
    assert full.n_iter_ == len(full.objective_path_) == 500
    path = full.objective_path_
    share = np.abs(np.diff(path)) / path[1:]
    early = clone(method).set_params(tol=1e-3).fit(X)
    assert early.n_iter_ == 2 + np.argmax(share <= 1e-3)
    assert_array_equal(early.objective_path_, path[: early.n_iter_])
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        clone(method).set_params(tol=1e-9, max_iter=3).fit(X)


# Selection


@both
def test_planted_features(method):
    """9 of 56 features, five problems: chance hits 7.2 of 45, and 15 with probability 0.002."""
    hits = 0
    for seed in range(5):
        X, informative = planted(seed)
        selector = method(9, n_clusters=3, n_init=3, random_state=seed, max_iter=200).fit(X)
        hits += informative[selector.order_[:9]].sum()
    assert hits >= 15


def test_averaged_runs_agree_better_than_single_ones():
    X, _ = planted(0)

    def overlap(n_init):
        selector = CPUFSnn(9, n_clusters=3, n_init=n_init, max_iter=200)
        tops = [set(selector.set_params(random_state=s).fit(X).order_[:9]) for s in range(3)]
        return np.mean([len(one & other) for one, other in combinations(tops, 2)])

    assert overlap(8) > overlap(1) + 1


def test_scores_of_several_runs():
    X, _ = planted(0)
    several = CPUFS(9, n_clusters=3, n_init=3, max_iter=20, random_state=1).fit(X)
    assert several.run_scores_.shape == (3, 8, 7)
    shares = [scores / scores.sum() for scores in several.run_scores_]
    assert_allclose(several.scores_, np.mean(shares, axis=0), rtol=1e-12)
    U, V = several.classifiers_
    own = plain.cpufs_scores(U, V)
    assert sum(np.allclose(scores, own, rtol=1e-12) for scores in several.run_scores_) == 1
    one = CPUFS(9, n_clusters=3, max_iter=20, random_state=1).fit(X)
    assert_array_equal(one.scores_, one.run_scores_[0])
    assert one.objective_ >= several.objective_


@both
def test_the_seed_decides(method):
    X, _ = planted(0)
    one, same, other = (
        method(9, n_clusters=3, max_iter=5, random_state=seed).fit(X).scores_ for seed in (0, 0, 1)
    )
    assert_array_equal(one, same)
    assert not np.allclose(one, other, rtol=0.01)


def test_nonnegative_classifiers():
    X, _ = planted(1)
    free, positive = (
        method(9, n_clusters=3, random_state=0, max_iter=50).fit(X) for method in (CPUFS, CPUFSnn)
    )
    assert min(U.min() for U in free.classifiers_) < 0
    assert min(U.min() for U in positive.classifiers_) == 0
    assert free.pseudo_labels_.min() == 0
    assert positive.pseudo_labels_.min() == EPS
    assert not np.array_equal(free.order_[:9], positive.order_[:9])


def test_a_classifier_dies_when_it_is_zero_in_both_modes():
    X, _ = planted(1)
    start = random_start(np.random.default_rng(0), len(X), (8, 7), 3)
    start["classifiers"][0][:] = 0
    selector = CPUFSnn(9, n_clusters=3, init=start, step_size=1e-3, max_iter=5)
    assert selector.fit(X).scores_.any()
    start["classifiers"][1][:] = 0
    assert not selector.fit(X).scores_.any()
    assert_array_equal(selector.order_, rank_features(X.std(axis=0)))


@both
def test_constant_features_come_last(method):
    X, _ = planted(2)
    X[:, 2, 2] = 0.7
    X[:, 5, :] = 0
    selector = method(9, n_clusters=3, random_state=0, max_iter=20).fit(X)
    assert set(selector.order_[-8:]) == {2 * 7 + 2, *range(35, 42)}
    assert selector.scores_[2, 2] == 0


@both
def test_shapes_scale_and_features_of_a_mode(method):
    X, _ = planted(0)
    method = method(5, n_clusters=3, random_state=0, max_iter=10)
    tensor = clone(method).fit(X)
    rows = clone(method).set_params(feature_shape=(8, 7)).fit(X.reshape(len(X), -1))
    assert_array_equal(rows.scores_, tensor.scores_)
    assert_allclose(clone(method).fit(1000 * X).scores_, tensor.scores_, rtol=1e-6)
    assert not np.allclose(clone(method).set_params(scale=None).fit(X / 7).scores_, tensor.scores_)
    for mode in (0, 1):
        slices = clone(method).set_params(feature_mode=mode).fit(X)
        assert_allclose(slices.scores_, tensor.scores_.sum(axis=1 - mode), rtol=1e-12)
    assert tensor.transform(X).shape == (90, 5)
    flat = clone(method).fit(X.reshape(len(X), -1))
    assert not np.allclose(flat.scores_, tensor.scores_.ravel()), "one mode is another model"


# Bad input


def test_negative_data():
    X, _ = planted(0)
    with pytest.warns(UserWarning, match="negative values.*subtract the smallest") as caught:
        selector = CPUFS(9, n_clusters=3, max_iter=30, random_state=0).fit(X - 0.3)
    assert len(caught) == 1
    assert min(factor.min() for factor in selector.factors_) < 0
    path = selector.objective_path_
    assert np.diff(path)[1:].max() <= 1e-12 * path[0], "least squares do not need signs"


@both
def test_reduced_numbers(method):
    X = np.random.default_rng(0).random((4, 3, 2))
    with pytest.warns(UserWarning, match="is more than") as caught:
        fitted = method(2, max_iter=3, random_state=0).fit(X)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == 2
    assert "n_clusters=10 is more than the 4 samples" in messages[0]
    assert "n_neighbors=5 is more than the 3 other samples" in messages[1]
    assert fitted.sample_factor_.shape == (4, 4)


X = np.random.default_rng(0).random((12, 3, 2))


@pytest.mark.parametrize(
    ("parameters", "data", "message"),
    [
        ({}, X + 1j, "complex"),
        ({}, np.ones((12, 3, 2)), "X is constant"),
        ({}, X[:1], "minimum of 2"),
        ({"eta": 0}, X, "eta"),
        ({"step_size": 0}, X, "step_size"),
        ({"n_clusters": 0}, X, "n_clusters"),
        ({"init": {"factors": []}}, X, "init must have the keys"),
        ({"init": random_start(np.random.default_rng(0), 12, (3, 3), 2)}, X, r"init\['factors'\]"),
        ({"init": random_start(np.random.default_rng(0), 11, (3, 2), 2)}, X, "sample_factor"),
        (
            {"init": random_start(np.random.default_rng(0), 12, (3, 2), 2), "n_init": 2},
            X,
            "n_init=2",
        ),
    ],
)
def test_errors(parameters, data, message):
    with pytest.raises(ValueError, match=message):
        CPUFS(2, **{"n_clusters": 2, "max_iter": 2, **parameters}).fit(data)


def test_start_with_nan():
    start = random_start(np.random.default_rng(0), 12, (3, 2), 2)
    start["classifiers"][1][0, 0] = np.nan
    with pytest.raises(ValueError, match=r"init\['classifiers'\] has NaN"):
        CPUFS(2, n_clusters=2, init=start).fit(X)


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr(
        "tensift.rivals._cpufs.progress_bar",
        lambda title, total: lambda done: print(done, total),
    )
    CPUFS(2, n_clusters=2, n_init=2, max_iter=3, step_size=1e-3, verbose=True).fit(X)
    assert capsys.readouterr().out.splitlines() == [f"{k} 6" for k in range(1, 7)]
