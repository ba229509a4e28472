"""Where the paper's data are, and plain truths that share no code with the library."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn

from tensift._utils.namespace import to_numpy
from tensift.datasets import fetch_paper

ROOT = Path(__file__).resolve().parents[1]
SKLEARN = tuple(map(int, sklearn.__version__.split(".")[:2]))

if SKLEARN < (1, 7):
    # There the checks of estimators can be imported only with this variable set. SciPy has been
    # imported before, without it, so that nothing else changes.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPY_ARRAY_API", "1")
        import sklearn.utils.estimator_checks


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the paper's datasets: TENSIFT_DATA, or ../shared/data beside the repo."""
    folder = Path(os.environ.get("TENSIFT_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the paper's datasets are not in {folder}; set TENSIFT_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def golden_folder(data_folder):
    """The folder with score maps of the authors' program, beside the datasets."""
    folder = data_folder.parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"the authors' score maps are not in {folder}, beside the datasets")
    return folder


@pytest.fixture(scope="session")
def paper_dataset(data_folder):
    """Return a dataset of the paper by name; skip if its file is missing."""

    @cache
    def fetch(name):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TENSIFT_DATA", str(data_folder))
            try:
                return fetch_paper(name)
            except FileNotFoundError as error:
                pytest.skip(str(error))

    return fetch


DEVICE = os.environ.get("TENSIFT_DEVICE", "cpu")  # where PyTorch's arrays are; "cuda" is another
LIBRARIES = (
    "numpy",
    "array_api_strict",
    "torch",
    pytest.param("jax", marks=pytest.mark.slow),  # which compiles every function for every shape
    *(["cupy"] if DEVICE != "cpu" else []),
)


@pytest.fixture(params=LIBRARIES)
def library(request):
    """A library of the array API: its `name`, `asarray(values)` and `numpy(array)`.

    Where TENSIFT_DEVICE is "cuda", PyTorch's arrays are there, and CuPy's are tried, too.
    """
    name = request.param
    module = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "torch":
        make = partial(module.asarray, device=DEVICE)
    else:
        make = module.numpy.asarray if name == "jax" else module.asarray
    before = name == "jax" and module.config.jax_enable_x64
    if name == "jax":
        module.config.update("jax_enable_x64", True)
    yield SimpleNamespace(name=name, asarray=make, numpy=to_numpy)
    if name == "jax":
        module.config.update("jax_enable_x64", before)


@pytest.fixture(scope="session")
def fit_transcription():
    """The authors' algorithm written down plainly, which shares no code with the library."""
    path = ROOT / "benchmarks" / "transcription.py"
    spec = importlib.util.spec_from_file_location("transcription", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.fit_transcription


@pytest.fixture(scope="session")
def brute_force():
    """Slices, Algorithm 1 and scores by explicit matrices and loops, for any order of tensor."""
    return SimpleNamespace(
        slices=_slices,
        solve=_solve,
        objective=_objective,
        scores=_scores,
        fit=_fit,
        kronecker=_kronecker,
    )


@pytest.fixture(scope="session")
def assert_estimator_checks_pass():
    """All of scikit-learn's checks, none skipped, with warnings as errors.

    In a process of its own: one check runs only if SCIPY_ARRAY_API is set before SciPy is imported.
    `estimators` are expressions in the names of `tensift` and `tensift.rivals`; `documented` are
    the warnings that they may issue.
    """

    def check(estimators, documented):
        done = subprocess.run(
            [sys.executable, "-c", _RUN_CHECKS, json.dumps(list(estimators)), *documented],
            env={**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        outcome = dict(map(json.loads, done.stdout.splitlines()))
        assert list(outcome) == list(estimators)
        for found in outcome.values():
            assert len(found) >= (47 if SKLEARN >= (1, 7) else 46)
            if SKLEARN >= (1, 9):  # before, only for those that say that they support it
                assert "check_array_api_input" in {name for name, *_ in found}
            assert [row for row in found if row[1] != "passed"] == []

    return check


_RUN_CHECKS = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
import tensift, tensift.rivals
warnings.simplefilter("error")
for message in sys.argv[2:]:
    warnings.filterwarnings("ignore", message, UserWarning)
doors = (tensift, tensift.rivals)
names = {name: getattr(door, name) for door in doors for name in door.__all__}
for estimator in json.loads(sys.argv[1]):
    found = check_estimator(eval(estimator, names), on_fail=None, on_skip=None)
    rows = [[r["check_name"], r["status"], repr(r["exception"])] for r in found]
    print(json.dumps([estimator, rows]))
"""


@pytest.fixture(scope="session")
def published():
    """The input for which outputs of the authors' programs of other methods are known.

    60 samples ``X`` of shape (6, 5) in three classes that differ in the first two rows, and
    matrices to start from, all made by a formula. Features are counted by columns there.
    """
    k, i, j = np.ogrid[1:61, 1:7, 1:6]
    X = 0.5 * _hashed(i, j, k) + (i <= 2) * _hashed(i, j, 1000 + (k - 1) % 3)
    X /= X.max()
    np.testing.assert_allclose(X[:3, 0, 0], [0.24645819, 0.69338203, 0.28316080], atol=1e-8)
    np.testing.assert_allclose(X.sum(), 542.14630930, atol=1e-7)
    return SimpleNamespace(X=X, matrix=_hashed_matrix, row_major=_row_major, by_columns=_by_columns)


def _hashed(a, b, c):
    """Numbers in [0, 1) that look random and are the same everywhere."""
    value = np.sin(12.9898 * a + 78.233 * b + 37.719 * c) * 43758.5453
    return value - np.floor(value)


def _hashed_matrix(rows, columns, offset):
    i, j = np.ogrid[1 : rows + 1, 1 : columns + 1]
    return _hashed(i, j, offset)


def _row_major(matrix):
    """A matrix with a row for each of the 6 x 5 features, from counting by columns to by rows."""
    return matrix.reshape(5, 6, -1).swapaxes(0, 1).reshape(30, -1)


def _by_columns(indices):
    """Indices of the 6 x 5 features, from counting by rows to counting by columns."""
    rows, columns = np.divmod(indices, 5)
    return rows + 6 * columns


def _kronecker(matrices):
    product = np.eye(1)
    for matrix in matrices:
        product = np.kron(product, matrix)
    return product


def _slices(X, mode, matrices):
    """Slices (p, q, n) of samples: one Kronecker matrix for all other modes, one element a time."""
    kronecker = _kronecker(matrices)
    n, q, p = len(X), X.shape[mode + 1], len(kronecker)
    slices = np.zeros((p, q, n), dtype=np.result_type(kronecker, X, float))
    for i in range(n):
        for feature in range(q):
            fibre = X[i].take(feature, axis=mode).ravel()
            for j in range(p):
                slices[j, feature, i] = np.sum(kronecker[j] * fibre)
    return slices


def _solve(
    slice_,
    lam,
    eta,
    *,
    ridge,
    smoothing=2.0**-52,
    tol=1e-5,
    max_iter=100,
    share=False,
    watch_conjugate=False,
):
    """Algorithm 1 on the samples of one slice (q, n): operator and the objective of each step.

    With `share` the tolerance is a share of the objective; with `watch_conjugate` the objective
    that decides when to stop is that of the conjugate operator, as in the authors' program.
    """
    S = slice_ @ slice_.conj().T
    eye = np.eye(len(S))
    A, path, watched = 0.5 * eye, [], []
    for _ in range(max_iter):
        W = np.diag(1 / (2 * np.sqrt(np.linalg.norm(A, axis=0) ** 2 + smoothing)))
        A = (S - eta / 2 * eye) @ np.linalg.inv(S + lam * W + ridge * eye)
        values, vectors = np.linalg.eigh((A + A.conj().T) / 2)
        A = vectors @ np.diag(np.maximum(values, 0)) @ vectors.conj().T
        path.append(_objective(slice_, A, lam, eta))
        watched.append(_objective(slice_, A.conj() if watch_conjugate else A, lam, eta))
        allowed = tol * abs(watched[-1]) if share else tol
        if len(watched) > 1 and abs(watched[-1] - watched[-2]) < allowed:
            break
    return A, path


def _objective(slice_, A, lam, eta):
    return (
        np.linalg.norm(slice_ - A @ slice_) ** 2
        + lam * np.linalg.norm(A, axis=0).sum()
        + eta * np.trace(A).real
    )


def _scores(operators, mode, matrices, shape):
    """score(l, h)^2 = sum_j |M[j, h]|^2 ||A_j[:, l]||^2, h over the other modes, by loops."""
    kronecker = _kronecker(matrices)
    others = shape[:mode] + shape[mode + 1 :]
    squares = np.zeros(shape)
    for feature in range(shape[mode]):
        for h, place in enumerate(np.ndindex(*others)):
            total = 0.0
            for j, operator in enumerate(operators):
                total += abs(kronecker[j, h]) ** 2 * np.sum(np.abs(operator[:, feature]) ** 2)
            squares[(*place[:mode], feature, *place[mode:])] = total
    return np.sqrt(squares)


def _fit(X, lam, eta, *, mode=0, matrices=None, scale=True, **solver):
    """Score map, operators, steps and objectives as the authors' program has them, any order."""
    X = X / np.abs(X).max() if scale else X
    shape = X.shape[1:]
    if matrices is None:
        matrices = [np.eye(d) for axis, d in enumerate(shape) if axis != mode]
    many_samples = shape[mode] < len(X)
    solver = {"ridge": 1e-3 if many_samples else 1e-2, "watch_conjugate": many_samples, **solver}
    solved = [
        _solve(slice_, lam, eta, **solver) for slice_ in _slices(X - X.mean(axis=0), mode, matrices)
    ]
    operators = np.array([operator for operator, _ in solved])
    return SimpleNamespace(
        scores=_scores(operators, mode, matrices, shape),
        operators=operators,
        n_iter=np.array([len(path) for _, path in solved]),
        objective=np.array([path[-1] for _, path in solved]),
        paths=[path for _, path in solved],
    )
