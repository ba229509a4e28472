"""The authors' iteration in the array API, against the solver on NumPy arrays."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from tensift.moments import GramTensor
from tensift.solvers import SliceProblems, Solution, solve_paper
from tensift.solvers.on_device import _paper, solve_paper_on_device

EPS = float(np.finfo(float).eps)
PROGRAM = {"ridge": 1e-3, "smoothing": EPS, "watch_conjugate": True}


def _factors(p, q, n, *, is_complex=False, seed=0):
    """Smooth random profiles with noise, centred: correlated features as images have them."""
    rng = np.random.default_rng(seed)
    X = gaussian_filter1d(rng.standard_normal((p, q, n)), 2, axis=1)
    if is_complex:
        X = X + 1j * gaussian_filter1d(rng.standard_normal((p, q, n)), 2, axis=1)
    X = (X + 0.1 * rng.standard_normal((p, q, n))) * rng.uniform(0.2, 1, (p, 1, 1))
    return X - X.mean(axis=2, keepdims=True)


def _gram(*shape, **options):
    X = _factors(*shape, **options)
    return X @ X.conj().swapaxes(1, 2)


def _problems(gram, lam, eta, library=None, *, thin=False):
    make = np.asarray if library is None else library.asarray
    lam, eta = (make(w) if isinstance(w, np.ndarray) else w for w in (lam, eta))
    return SliceProblems(GramTensor(make(gram), thin=thin), lam, eta)


def _check(found, expected, library=None, atol=1e-7):
    as_numpy = np.asarray if library is None else library.numpy
    np.testing.assert_array_equal(as_numpy(found.n_iter), expected.n_iter)
    np.testing.assert_array_equal(as_numpy(found.converged), expected.converged)
    np.testing.assert_allclose(as_numpy(found.norms), expected.norms, atol=atol)
    np.testing.assert_allclose(as_numpy(found.operators), expected.operators, atol=atol)
    np.testing.assert_allclose(
        as_numpy(found.objective_path), expected.objective_path, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(as_numpy(found.objective), expected.objective, 1e-7, 1e-9)


@pytest.mark.parametrize("is_complex", [False, True])
def test_every_library_takes_the_same_steps(library, is_complex):
    if library.name == "jax" and is_complex:
        pytest.skip("JAX compiles every function anew; its complex numbers are tried in _sign")
    gram = _gram(5, 6, 30, is_complex=is_complex)
    problems = _problems(gram, 2.0, 1.0, library)
    found = solve_paper_on_device(problems, **PROGRAM)
    assert type(found.operators) is type(problems.gram.array)
    assert type(found.objective_path) is type(problems.gram.array)
    _check(found, solve_paper(_problems(gram, 2.0, 1.0), **PROGRAM), library)


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(
    ("lam", "eta"), [(1, 1), (10, 1), (1, 10), (100, 0.1), (0.01, 100), (5, 1e4), (0.1, 0.1)]
)
def test_steps_are_those_of_the_other_solver(lam, eta, is_complex):
    gram = _gram(24, 16, 60, is_complex=is_complex)
    expected = solve_paper(_problems(gram, lam, eta), **PROGRAM)
    _check(solve_paper_on_device(_problems(gram, lam, eta), **PROGRAM), expected)


@pytest.mark.parametrize(
    "options",
    [
        {"ridge": 1e-3, "smoothing": 1e-2, "relative": True},
        {"ridge": 1e-2, "tol": 1e-3},
        {"ridge": 1e-3, "max_iter": 7},
        {"ridge": 1e-3, "max_iter": 1},
    ],
)
def test_options_mean_the_same(options):
    gram = _gram(12, 10, 40)
    expected = solve_paper(_problems(gram, 3.0, 1.0), **options)
    _check(solve_paper_on_device(_problems(gram, 3.0, 1.0), **options), expected)


def test_slices_have_penalties_of_their_own(monkeypatch):
    monkeypatch.setattr(_paper, "_SMALL", 0)
    gram, rng = _gram(16, 8, 40), np.random.default_rng(0)
    lam, eta = 10 ** rng.uniform(-2, 1, 16), 10 ** rng.uniform(-2, 1, 16)
    expected = solve_paper(_problems(gram, lam, eta), **PROGRAM)
    assert len(set(expected.n_iter)) > 4  # so the stack is halved more than once
    _check(solve_paper_on_device(_problems(gram, lam, eta), **PROGRAM), expected)


def test_thin_factors_are_taken_too():
    factors = _factors(6, 12, 5)
    expected = solve_paper(_problems(factors, 1.0, 0.5, thin=True), ridge=1e-2)
    found = solve_paper_on_device(_problems(factors, 1.0, 0.5, thin=True), ridge=1e-2)
    _check(found, expected, atol=1e-6)


def test_slices_of_zeros_and_of_one_feature():
    gram = _gram(4, 1, 20)
    gram[1] = 0
    expected = solve_paper(_problems(gram, 0.5, 0.5), **PROGRAM)
    _check(solve_paper_on_device(_problems(gram, 0.5, 0.5), **PROGRAM), expected)


@pytest.mark.parametrize("size", [1e8, 1e10])
def test_matrices_without_an_inverse_are_refused(library, size):
    factors = _factors(5, 6, 30)
    factors[:, 3:] = factors[:, :3]
    gram = size**2 * (factors @ factors.swapaxes(1, 2))
    with pytest.raises(np.linalg.LinAlgError):
        solve_paper_on_device(_problems(gram, 1.0, 1.0, library), **PROGRAM)


def test_single_precision_is_near(library):
    if library.name == "jax":
        pytest.skip("JAX compiles every function anew; its single precision is tried in _sign")
    gram = _gram(5, 6, 30)
    expected = solve_paper(_problems(gram, 2.0, 1.0), ridge=1e-3, relative=True)
    problems = _problems(gram.astype(np.float32), 2.0, 1.0, library)
    found = solve_paper_on_device(problems, ridge=1e-3, relative=True)
    assert found.norms.dtype == problems.gram.array.dtype
    np.testing.assert_allclose(library.numpy(found.norms), expected.norms, atol=2e-3)


def test_the_number_of_finished_slices_is_told():
    told = []
    solve_paper_on_device(_problems(_gram(20, 8, 40), 3.0, 1.0), **PROGRAM, callback=told.append)
    assert told == sorted(told)
    assert told[-1] == 20
    assert len(told) > 1


def test_failed_products_are_replaced_and_reported(monkeypatch, library):
    if library.name == "jax":
        pytest.skip("JAX compiles every function anew; its steps are tried elsewhere")
    gram = _gram(5, 6, 30)
    right = _paper.psd_part

    def broken(matrices, accuracy):
        # Two slices get what is no projection: one is off, one is not even a number.
        found = library.numpy(right(matrices, accuracy)).copy()
        found[1] *= 1.01
        found[3] = np.nan
        return library.asarray(found)

    monkeypatch.setattr(_paper, "psd_part", broken)
    with pytest.warns(UserWarning, match="made by the library's own eigh"):
        found = solve_paper_on_device(_problems(gram, 2.0, 1.0, library), **PROGRAM)
    _check(found, solve_paper(_problems(gram, 2.0, 1.0), **PROGRAM), library)


def test_solutions_of_any_library_are_joined(library):
    path = np.array([[5.0, 3.0, np.nan], [4.0, 3.5, 3.4]])

    def solution(path, dual):
        arrays = np.zeros((2, 1, 1)), path, np.array([True, False]), dual
        return Solution(*(library.asarray(array) for array in arrays))

    one, other = solution(path, np.array([2.9, 3.4])), solution(path[:, :2], np.array([2.0, 2.0]))
    joined = Solution.concatenate([one, solution(np.array([[1.0], [2.0]]), other.dual)])
    assert joined.objective_path.shape == (4, 3)
    assert library.numpy(joined.n_iter).tolist() == [2, 3, 1, 1]
    assert library.numpy(joined.objective).tolist() == [3.0, 3.4, 1.0, 2.0]
    np.testing.assert_allclose(library.numpy(joined.dual_gap), [0.1 / 3, 0, -1, 0], atol=1e-15)
    assert library.numpy(joined.converged).tolist() == [True, False, True, False]


def test_objectives_of_any_library(library):
    rng = np.random.default_rng(0)
    for thin in (False, True):
        array = rng.standard_normal((3, 4, 2 if thin else 4)) * (1 + 1j)
        array = array if thin else array @ array.conj().swapaxes(1, 2)
        draw = rng.standard_normal((3, 4, 4)) + 1j * rng.standard_normal((3, 4, 4))
        operators = draw @ draw.conj().swapaxes(1, 2)
        lam = np.array([0.1, 1.0, 3.0])
        expected = SliceProblems(GramTensor(array, thin), lam, 0.5, 0.2).value(operators)
        problems = SliceProblems(
            GramTensor(library.asarray(array), thin), library.asarray(lam), 0.5, 0.2
        )
        found = problems.value(library.asarray(operators))
        np.testing.assert_allclose(library.numpy(found), expected, rtol=1e-12)
