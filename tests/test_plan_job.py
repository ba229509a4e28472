"""Counts of a job, beside the arrays and loops they count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensift import STPCASelector
from tensift._utils.units import format_bytes
from tensift.algebra import make_transforms
from tensift.moments import GramTensor, Moments, Orientation
from tensift.plan import Job, make_job, sampling_error
from tensift.plan._memory import solve_blocks
from tensift.plan._units import (
    as_bytes,
    as_count,
    as_rate,
    as_shape,
    format_amount,
    format_seconds,
)
from tensift.solvers._workers import blocks_of
from tensift.sources import EvenSubsample

RNG = np.random.default_rng(0)
SHAPES = [((6,), 0), ((6, 5), 0), ((6, 5), 1), ((3, 4, 5), 1), ((2, 1, 6), 2), ((4, 4, 2), 0)]


def orientation_of(job):
    transforms = make_transforms(list(job.bases), job.others, random_state=0)
    return Orientation(job.shape, job.orientation, transforms, job.real_data)


@pytest.mark.parametrize(("shape", "mode"), SHAPES)
@pytest.mark.parametrize("transform", ["identity", "dft", "dct", "random"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("n", [3, 40])
def test_counts_are_those_of_the_arrays(shape, mode, transform, dtype, n):
    job = make_job(shape, n, orientation=mode, basis=transform, dtype=dtype)
    X = RNG.normal(size=(n, *shape)).astype(dtype)
    orientation = orientation_of(job)
    slices = orientation.to_slices(X.astype(complex if not job.real_data else float))
    assert slices.shape == (job.kept, job.q, n)
    assert np.iscomplexobj(slices) == job.complex_slices
    assert job.p == orientation.n_slices
    assert job.stored_bytes == X.nbytes
    moments = Moments(orientation).update(X)
    gram = moments.gram()
    assert gram.thin == job.thin
    if not job.thin:
        assert gram.array.nbytes == job.gram_bytes
        multiplications = sum(1 for _ in range(job.kept) for _ in np.ndindex(job.q, job.q, n))
        flops_of_one = 8 if job.complex_slices else 2  # a product and a sum
        assert job.product_flops == flops_of_one * multiplications


def test_mixed_transforms_of_conjugate_pairs():
    for names in (["dft", "dct"], ["identity", "dft"], ["dft", "dft"]):
        for shape in ((3, 4, 5), (3, 1, 6), (2, 7, 4)):
            job = make_job(shape, 50, basis=names)
            assert job.kept == len(orientation_of(job).kept_slices)


def test_blocks_are_those_of_the_solvers():
    for p, q in [(1, 5), (7, 100), (64, 64), (500, 40), (30, 400), (3, 2000)]:
        gram = GramTensor(np.broadcast_to(0.0, (p, q, q)), thin=False)
        assert solve_blocks(make_job((q, p), 10**4)) == len(blocks_of(gram))


def test_another_orientation_takes_the_transforms_along():
    job = make_job((3, 4, 5), 10, orientation=0, basis=["dft", "haar"])
    assert job.oriented(1).bases == ("dft", "haar")  # the one of mode 1 goes to mode 0
    assert job.oriented(2).bases == ("haar", "dft")
    assert job.oriented(0) == job
    assert job.oriented(2).q == 5


@given(st.integers(2, 10**7), st.integers(1, 500), st.integers(1, 500))
def test_counts_go_up_with_every_size(n, q, p):
    def sizes(job: Job):
        return job.stored_bytes, job.product_flops, job.gram_bytes, job.norms_bytes

    one = sizes(make_job((q, p), n))
    for larger in (make_job((q, p), 2 * n), make_job((q, 2 * p), n)):
        assert all(b >= a for a, b in zip(one, sizes(larger), strict=True))


def test_sampling_error_beside_white_noise():
    q, n = 60, 3000
    worst = [
        np.abs(np.linalg.eigvalsh(X.T @ X / n) - 1).max()
        for X in np.random.default_rng(1).normal(size=(8, n, q))
    ]
    assert np.mean(worst) == pytest.approx(sampling_error(q, n), rel=0.1)


def test_sampling_error_of_few_directions_is_smaller():
    q, n = 60, 3000
    X = np.random.default_rng(1).normal(size=(n, q)) * np.where(np.arange(q) < 3, 1.0, 0.05)
    error = np.linalg.norm(X.T @ X / n - np.diag(np.where(np.arange(q) < 3, 1, 0.05**2)), 2)
    assert error < 0.5 * sampling_error(q, n)


@pytest.mark.parametrize(
    ("text", "value"),
    [("4GB", 4e9), ("512MiB", 512 * 2**20), ("4e9", 4e9), ("1.5 TB", 1.5e12), ("100", 100),
     ("2kB", 2000), ("7B", 7), ("3G", 3e9), ("1KiB", 1024)],
)  # fmt: skip
def test_sizes(text, value):
    assert as_bytes(text, "memory") == value


@pytest.mark.parametrize(
    "text", ["", "GB", "-4GB", "4XB", "4GBs", "nan", "0", "1..2GB", "1e40", "4 5"]
)
def test_no_sizes(text):
    with pytest.raises(ValueError, match="memory must be"):
        as_bytes(text, "memory")


def test_rates():
    assert as_rate("500", "r") == as_rate(500, "r") == as_rate("0.5GB/s", "r") == 5e8
    assert as_rate("1e3 MB/s", "r") == 1e9
    for text in ("0", "-1", "fast", "", "3 parsecs"):
        with pytest.raises(ValueError, match="r must be a rate"):
            as_rate(text, "r")


def test_shapes():
    assert as_shape("64,32") == as_shape("64 x 32") == as_shape((64, 32)) == (64, 32)
    assert as_shape("7") == as_shape(7) == (7,)
    for bad in ("", "64,,3", "64,0", "64,-3", "6.5,2", "a", (3, None), "1e17,1e17"):
        with pytest.raises(ValueError, match="shape"):
            as_shape(bad)


def test_counts_in_words():
    assert as_count("1e6", "n") == 10**6
    for bad in ("1.5", "many", None, "0", "-2", "inf", "nan", "1e19"):
        with pytest.raises(ValueError, match="n must be"):
            as_count(bad, "n")
    assert [format_seconds(t) for t in (0, 2e-5, 0.5, 90, 6000, 9e4, 1e6, 1e9)] == [
        "0 s", "20 us", "500 ms", "90 s", "100 min", "25 h", "11.6 days", "31.7 years",
    ]  # fmt: skip
    assert [format_bytes(b) for b in (12, 1500, 999.9e6, 2.62e14, 5e16)] == [
        "12 bytes", "1.5 kB", "1 GB", "262 TB", "50 PB",
    ]  # fmt: skip
    assert [format_amount(c) for c in (12, 12345, 1e9)] == ["12", "12 345", "1e+09"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"orientation": 2}, "orientation=2 is not a mode"),
        ({"basis": "fft"}, "basis must be one of identity, dft"),
        ({"basis": ["dft", "dct"]}, "2 names, but there are 1 other modes"),
        ({"solver": "fast"}, "solver must be 'paper' or 'exact'"),
        ({"dtype": "text"}, "dtype must be the name of a number type"),
        ({"dtype": "datetime64"}, "dtype must be the name of a number type"),
        ({"grid": 0}, "grid must be from 1"),
        ({"lam": -1.0}, "'lam' parameter"),
        ({"selection": "best"}, "'selection' parameter"),
        ({"n_features_to_select": 1.5}, "'n_features_to_select' parameter"),
        ({"samples": 1}, "samples must be from 2"),
        ({"shape": ()}, "shape must have a length"),
    ],
)
def test_bad_numbers(change, words):
    with pytest.raises(ValueError, match=words):
        make_job(**{"shape": (6, 5), "samples": 100, **change})


def test_settings_are_those_of_the_selector():
    job, default = make_job((6, 5), 100), STPCASelector()
    for name in ("lam", "eta", "selection", "n_features_to_select", "solver"):
        assert getattr(job, name) == getattr(default, name)
    with pytest.raises(TypeError, match="alpha is not a setting of a plan"):
        make_job((6, 5), 100, alpha=3)


@pytest.mark.parametrize("n", [10, 5000, 10**5])
def test_as_many_samples_are_looked_at_as_are_kept(n):
    job = make_job((6, 5), n)
    kept = EvenSubsample((6, 5))
    kept.add(np.zeros((n, 6, 5)))
    assert job.looked_at == len(kept.rows())
    assert job.looked_at_bytes == kept.rows().nbytes
    assert job.selects
    assert not make_job((6, 5), n, selection="top", n_features_to_select=3).selects
    assert not make_job((6, 5), n, grid=25).selects
    assert make_job((6, 5), n, n_features_to_select=15).share_selected == 0.5
