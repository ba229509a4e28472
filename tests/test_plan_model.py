"""Times and memory of plans: by hand, beside real allocations, and the right way round."""

import json
import math
import re
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

from tensift import ExactSolver, PaperSolver, STPCASelector, collect_moments
from tensift.moments import GramTensor
from tensift.plan import (
    Layout,
    StoredSamples,
    estimate,
    example_pilot,
    make_job,
    numbers_of_file,
    plan_job,
)
from tensift.plan._advice import useful_workers
from tensift.plan._memory import memory_of, passes_of, working_memory_for
from tensift.plan._pilot import run_pilot
from tensift.solvers._span import fits_span
from tensift.solvers._wide import is_wide
from tensift.sources import Chunks, source_of

TOP = {"selection": "top", "n_features_to_select": 20, "lam": 10.0, "eta": 10.0}


def unit_pilot(job, **changes):
    """Every measurement a round number, so that times can be worked out by hand."""
    numbers = {"read": 1e-9, "transform": 1e-6, "product": 1e-6, "add": 1e-9, "solve": 0.1,
               "rounds": 3.0, "selection": 7.0, "selection_memory": 1e6}  # fmt: skip
    return replace(example_pilot(job), **(numbers | changes))


def stages(job, layout=None, **changes):
    found = estimate(job, layout or Layout(), unit_pilot(job, **changes))
    assert found.seconds == pytest.approx(
        sum(stage.seconds for stage in found.stages) - found.overlap
    )
    return {stage.name: stage.seconds for stage in found.stages} | {"overlap": found.overlap}


def test_stages_by_hand():
    job = make_job((50, 20), 10**5, dtype="float32")
    found = stages(job)
    assert found["moments"] == pytest.approx(1e5 * 20 * 1e-6)
    assert found["read"] == pytest.approx(1e5 * 1000 * 4 * 1e-9)
    assert found["overlap"] == found["read"]  # while the last chunk is worked on
    slow = stages(job, Layout(read_bandwidth=1e6))
    assert slow["read"] == pytest.approx(1e5 * 1000 * 4 / 1e6)
    assert slow["overlap"] == slow["moments"]  # while the next chunk is read
    assert found["solve"] == pytest.approx(20 * 0.1)
    assert found["select"] == 7.0
    assert found["transform"] == 0
    assert not {"merge", "cluster"} & found.keys()


def test_times_are_linear_in_samples_and_slices():
    one = stages(make_job((50, 20), 10**6))
    ten = stages(make_job((50, 20), 10**7))
    wide = stages(make_job((50, 200), 10**6))
    for name in ("read", "moments"):
        assert ten[name] == pytest.approx(10 * one[name])
        assert wide[name] == pytest.approx(10 * one[name])
    assert ten["solve"] == one["solve"]
    assert wide["solve"] == pytest.approx(10 * one["solve"])


def test_transforms_by_hand():
    job = make_job((6, 5, 4), 1000, basis=["haar", "dct"])
    assert stages(job)["transform"] == pytest.approx(1000 * 1e-6)
    # A look more at the data.
    once, twice = (make_job((6, 5, 4), 1000, basis=name) for name in ("random", "eigen"))
    assert stages(twice)["read"] == pytest.approx(2 * stages(once)["read"])
    assert stages(twice)["transform"] == pytest.approx(2 * stages(once)["transform"])


def test_passes_read_again_for_every_block_and_every_round():
    job = make_job((512, 512), 10**5)
    often = estimate(job, Layout(working_memory=1e9), unit_pilot(job))
    once = estimate(job, Layout(working_memory=1e12), unit_pilot(job))
    assert (once.passes, often.passes) == (1, 5)
    (read, transform, moments), (read_5, transform_5, moments_5) = (
        [stage.seconds for stage in each.stages[:3]] for each in (once, often)
    )
    assert read_5 == pytest.approx(3 * 5 * read)
    assert (transform, transform_5) == (0, pytest.approx(3 * 5 * 1e5 * 1e-6))
    assert moments_5 == pytest.approx(3 * moments)
    assert often.memory.total < once.memory.total


def test_short_chunks_add_to_the_gram_tensor_more_often():
    job = make_job((50, 20), 10**5)
    long, short = (stages(job, Layout(cluster=True, chunk=chunk))["moments"] for chunk in (100, 10))
    assert short - long == pytest.approx((1e4 - 1e3) * 20 * 50**2 * 8 * 1e-9)
    # One process waits until there are enough.
    long, short = (stages(job, Layout(chunk=chunk))["moments"] for chunk in (100, 10))
    assert short == long


@pytest.mark.parametrize(("selection", "halves"), [("geometry", 2), ("reconstruct", 1)])
def test_threads_of_one_process_share_the_halves_of_samples(selection, halves):
    job = make_job((50, 20), 10**5, selection=selection)
    assert stages(job)["select"] == 7.0
    assert stages(job, Layout(cores=4))["select"] == 7.0 / halves
    assert stages(job, Layout(cluster=True, cores=4))["select"] == 7.0


def test_arrays_in_memory_are_not_read():
    job = make_job((50, 20), 10**5)
    found = stages(job, Layout(in_memory=True))
    assert found["read"] == found["overlap"] == 0
    # A file that is loaded is read once, before anything else begins.
    loaded = stages(job, Layout(in_memory=True, loaded=True))
    assert loaded["read"] == pytest.approx(1e5 * 1000 * 8 * 1e-9)
    assert loaded["overlap"] == 0


def test_a_cluster_by_hand():
    job = make_job((50, 20), 10**6, dtype="float32")
    layout = Layout(workers=4, network=1e8, chunk=10**5)
    found = stages(job, layout)
    assert found["read"] == pytest.approx(3 * 1e5 * 1000 * 4 / 1e9)  # ten chunks: three rounds
    assert found["moments"] == pytest.approx(3 * 1e5 * 20 * 1e-6)
    assert found["overlap"] == 0  # workers of one core first read, then compute
    gram = 20 * 2500 * 8
    alone, between = 9 * 2 * gram / 1e9 / 4, 2 * (2 * gram / 1e9 + gram / 1e8)
    assert found["merge"] == pytest.approx(alone + between)
    # The scheduler is done before the workers are; Gram matrices out, column norms back; 30 tasks
    # for chunks, and two for the only block in each of three rounds.
    assert found["cluster"] == pytest.approx((gram + 8 * 20 * 50) / 1e8 + 36 * 3e-3 / 4)
    assert found["select"] == 7.0  # on the client


def test_many_small_chunks_keep_the_scheduler_busy():
    job = make_job((8, 8), 10**8)
    few, many = (
        stages(job, Layout(workers=50, cores=4, chunk=chunk, read_bandwidth=1e12), product=1e-8)
        for chunk in (10**6, 100)
    )
    assert many["cluster"] > 100 * few["cluster"]


def test_cores_read_and_compute_at_a_time():
    job = make_job((50, 20), 10**6)
    plain = stages(job, Layout(workers=2, cores=1, read_bandwidth=1e8, chunk=1000))
    both = stages(job, Layout(workers=2, cores=4, read_bandwidth=1e8, chunk=1000))
    assert plain["overlap"] == 0
    assert both["overlap"] == pytest.approx(3 / 4 * both["moments"])
    assert both["moments"] == pytest.approx(plain["moments"] / 4)


SOLVERS = {
    "paper": PaperSolver(tol=1e-2, max_iter=6),
    "exact": ExactSolver(tol=1e-2, max_iter=6),
}


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("basis", ["identity", "dft"])
@pytest.mark.parametrize(("n", "shape"), [(1500, (64, 64)), (1000, (200, 20)), (3000, (32, 128))])
def test_memory_beside_what_is_allocated(solver, basis, n, shape):
    X = np.random.default_rng(0).normal(size=(n, *shape)).astype(np.float32)
    X += 5 * np.random.default_rng(1).normal(size=(n, 1, 1)).astype(np.float32)
    selector = STPCASelector(
        20, solver=SOLVERS[solver], basis=basis, score_by="energy", selection="top", lam=10, eta=10
    )
    tracemalloc.start()
    try:
        selector.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    job = make_job(shape, n, basis=basis, solver=solver, dtype="float32", **TOP)
    counted = memory_of(job, Layout(in_memory=True), example_pilot(job))
    kept = job.looked_at * X[0].nbytes  # copies of samples, to restore others from features
    assert counted.data == X.nbytes + kept
    assert counted.process == Layout().resident
    needed = counted.work + counted.gram
    assert peak / 1.3 < needed + kept < 1.5 * peak  # X itself was allocated before
    if counted.at == "solve":
        assert (peak - kept) / 1.3 < needed < 1.5 * (peak - kept)


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("basis", ["identity", "eigen"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_memory_of_looking_at_samples_first(basis, dtype):
    X = np.random.default_rng(0).normal(size=(10_000, 32, 8)).astype(dtype)
    tracemalloc.start()
    try:
        STPCASelector(5, selection="top", basis=basis, solver=PaperSolver(max_iter=2)).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    job = make_job((32, 8), len(X), basis=basis, solver="paper", dtype=dtype, **TOP)
    counted = memory_of(job, Layout(in_memory=True), example_pilot(job))
    assert peak / 1.4 < counted.work + counted.gram < 1.6 * peak


@pytest.mark.parametrize(
    ("n", "shape"),
    [(60, (600, 4)), (100, (700,)), (40, (64, 64)), (300, (64, 64)), (400, (300, 6)),
     (2000, (16, 16))],
)  # fmt: skip
def test_memory_of_a_default_fit_beside_what_is_allocated(n, shape):
    X = np.random.default_rng(0).normal(size=(n, *shape)).astype(np.float32)
    X += 5 * np.random.default_rng(1).normal(size=(n, *(1 for _ in shape))).astype(np.float32)
    tracemalloc.start()
    try:
        STPCASelector().fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    job = make_job(shape, n, dtype="float32")
    # On a clock that stands still the pilot reaches the full size, however busy the machine is.
    pilot = run_pilot(job, StoredSamples(X), seconds=1.0, clock=lambda: 0.0)
    counted = memory_of(job, Layout(in_memory=True), pilot)
    assert peak / 1.1 < counted.total - counted.process - X.nbytes < 2 * peak


@pytest.mark.parametrize(("solver", "thin"), [("paper", is_wide), ("exact", fits_span)])
def test_memory_of_a_solver_that_stays_thin(solver, thin):
    n, shape = 30, (700, 2)
    X = np.random.default_rng(0).normal(size=(n, *shape))
    moments = collect_moments(X)
    job = make_job(shape, n, solver=solver, n_features_to_select=20, selection="top")
    assert thin(moments.gram())
    assert job.stays_thin
    selector = STPCASelector(20, selection="top", solver=solver)
    tracemalloc.start()
    try:
        selector.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    counted = memory_of(job, Layout(in_memory=True), example_pilot(job))
    assert peak / 1.1 < counted.work + counted.gram < 2 * peak
    assert counted.work + counted.gram < 2 * 700**2 * 8  # two full matrices would take more
    for samples, size in ((9, 120), (30, 300), (69, 700), (71, 700), (176, 700), (800, 700)):
        gram = GramTensor(np.broadcast_to(0.0, (1, size, min(samples, size))), samples < size)
        assert make_job((size,), samples, solver=solver).stays_thin == thin(gram)


def test_thin_slices_need_no_gram_tensor():
    """Few samples of many features: what is kept are the samples, not q x q matrices."""
    thin, full = (make_job((20_000, 3), n) for n in (100, 20_000))
    assert thin.gram_bytes == 3 * 20_000 * 100 * 8
    assert full.gram_bytes == 3 * 20_000**2 * 8
    assert passes_of(thin, Layout()) == 1
    assert passes_of(full, Layout()) == 3
    assert thin.product_flops == 0
    text = str(plan_job((20_000, 3), 100, pilot=example_pilot))
    assert "thin factors of the Gram tensor: 48 MB" in text
    assert "fewer samples than features" in text


@pytest.mark.parametrize("basis", ["identity", "dft"])
def test_passes_are_those_of_the_library(basis):
    shape, n = (64, 48), 500
    X = np.random.default_rng(0).normal(size=(n, *shape))
    job = make_job(shape, n, basis=basis, dtype="float64")
    for mib in (1, 2, 5, 100):
        with sklearn.config_context(working_memory=mib):
            selector = STPCASelector(
                5, lam=10, eta=10, selection="top", basis=basis, solver=PaperSolver(max_iter=1),
                score_by="energy",
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                moments = selector.fit(Chunks(lambda: iter([X])))._moments
                in_memory = selector.fit(X)._moments
            assert passes_of(job, Layout()) == len(getattr(moments, "blocks", [all]))
            held = Layout(in_memory=True)
            assert passes_of(job, held) == len(getattr(in_memory, "blocks", [all]))
        assert passes_of(job, Layout(working_memory=mib * 2**20)) == passes_of(
            job, Layout(working_memory=working_memory_for(job, passes_of(
                job, Layout(working_memory=mib * 2**20))))
        )  # fmt: skip


def test_chunks_are_those_of_the_library(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5000, 64, 8), np.float32))
    job = make_job((64, 8), 5000, dtype="float32")
    for mib in (8, 64, 1024):
        with sklearn.config_context(working_memory=mib):
            source = source_of(np.load(tmp_path / "x.npy", mmap_mode="r"))
            assert Layout().chunk_of(job) == min(source.length, 5000)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(2, 10**9),
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from(["identity", "dft", "haar"]),
    st.sampled_from(["paper", "exact"]),
    st.integers(1, 64),
)
def test_more_work_never_takes_less(n, q, p, basis, solver, workers):
    def seconds(**changes):
        options = {"samples": n, "shape": (q, p), "basis": basis, "solver": solver}
        options |= {"workers": workers, "chunk": 1000, "pilot": example_pilot, **changes}
        return plan_job(**options).seconds

    usual = seconds() * (1 - 1e-9)  # but for rounding
    assert usual > 0
    assert seconds(samples=2 * n) >= usual
    assert seconds(grid=100) >= seconds(grid=10) * (1 - 1e-9)
    assert seconds(read_bandwidth=1) >= usual
    assert seconds(workers=workers, network=1) >= usual
    # More slices may be shared out better: the clock may see less, the cores never do.
    layout = Layout(workers=workers, chunk=1000)
    jobs = [make_job((q, each), n, basis=basis, solver=solver) for each in (p, 2 * p)]
    few, many = (estimate(job, layout, example_pilot(job)).core_seconds for job in jobs)
    assert many >= few * (1 - 1e-9)


def test_efficiency_is_bounded_by_chunks_and_blocks():
    plan = plan_job((64, 64), 10**5, chunk=10**4, pilot=example_pilot)
    fastest = min(each.seconds for each in plan.scaling)
    assert plan.scaling[0].seconds / fastest <= 10 * 1.01  # ten chunks
    assert useful_workers(plan) <= 20


def test_the_report_of_a_plan():
    plan = plan_job((64, 32), 1e6, basis="dft", memory="4GB", pilot=example_pilot)
    text = str(plan)
    for words in ("1e+06 samples of 64 x 32", "8.19 GB", "of which 17 are solved", "orientation"):
        assert words in text
    assert plan.bottleneck == max(plan.chosen.stages, key=lambda s: s.seconds).name
    assert plan.bottleneck in text
    assert all(line == line.rstrip() for line in text.splitlines())
    kept = json.loads(json.dumps(plan.to_dict()))
    assert kept["seconds"] == pytest.approx(sum(kept["stages"].values()) - kept["overlap"])
    assert kept["memory"]["total"] == plan.memory.total
    assert [row["q"] for row in kept["orientations"]] == [64, 32]
    low, high = plan.seconds_range
    assert low <= plan.seconds <= high


def test_advice_tells_what_the_model_says():
    slow_disk = plan_job(
        (64, 64), 1e8, dtype="float64", read_bandwidth="50MB/s", pilot=example_pilot
    )
    assert slow_disk.bottleneck == "read"
    halved = plan_job((64, 64), 1e8, dtype="float32", read_bandwidth="50MB/s", pilot=example_pilot)
    assert any(line.startswith("stored as float32") for line in slow_disk.advice)
    assert halved.seconds < 0.6 * slow_disk.seconds
    assert any("samples drawn at random" in line for line in slow_disk.advice)
    tall = plan_job((1024, 4), 1e6, pilot=example_pilot)
    assert any(line.startswith("orientation 1") for line in tall.advice)
    passes = plan_job((512, 512), 1e5, pilot=example_pilot)
    assert f"slices are solved in {passes.chosen.passes} blocks" in passes.advice[0]
    tight = plan_job((512, 512), 1e5, memory="700MB", pilot=example_pilot, **TOP)
    assert tight.advice[0].startswith("it does not fit into memory")
    working = re.search(r"working_memory of (\d+) MiB", tight.advice[0]).group(1)
    less = plan_job(
        (512, 512), 1e5, memory="700MB", working_memory=f"{working}MiB", pilot=example_pilot, **TOP
    )
    assert less.chosen.fits
    assert str(less.chosen.passes) in tight.advice[0]
    impossible = plan_job((512, 512), 1e5, memory="100MB", pilot=example_pilot)
    assert "no smaller setting helps" in impossible.advice[0]
    assert "does not fit" in str(impossible)
    crowded = plan_job((256, 256), 1e6, workers=4, cores=16, memory="4GB", pilot=example_pilot)
    fewer = re.search(r"(\d+) cores per worker", crowded.advice[0]).group(1)
    assert plan_job(
        (256, 256), 1e6, workers=4, cores=int(fewer), memory="4GB", pilot=example_pilot
    ).chosen.fits
    quick = plan_job((8, 8), 1000, pilot=example_pilot)
    assert quick.advice == []
    exact = plan_job((256, 256), 1000, solver="exact", pilot=example_pilot)
    assert any(line.startswith("solver paper takes") for line in exact.advice)
    assert any(line.startswith("n_jobs=2") for line in exact.advice)
    shreds = plan_job((64, 64), 1e8, workers=32, chunk=50, pilot=example_pilot)
    assert any(line.startswith("chunks of") for line in shreds.advice)
    crowd = plan_job((8, 8), 3e9, workers=5000, chunk=10**8, pilot=example_pilot)
    assert any(line.startswith("this job cannot use 5000 workers") for line in crowd.advice)


def test_what_was_measured_is_said():
    plan = plan_job((400, 8), 1e6, pilot=lambda job: replace(example_pilot(job), size=320))
    assert "of 8 slices, 320 of 400 features: round numbers" in plan.notes[0]
    assert any("growth of times with their size is continued" in note for note in plan.notes)
    cluster = plan_job((8, 8), 1e6, workers=3, pilot=example_pilot)
    assert any("as fast as a core of this machine" in note for note in cluster.notes)
    single = plan_job((50,), 1e6, pilot=example_pilot)
    assert any("all threads of BLAS" in note for note in single.notes)


def test_the_range_is_that_of_the_pilot():
    def pilot(job):
        return unit_pilot(job, solve_range=(0.05, 0.4), selection_range=(1.0, 10.0))

    plan = plan_job((50, 20), 10**5, pilot=pilot)
    low, high = plan.seconds_range
    assert plan.seconds - low == pytest.approx(20 * 0.05 + 6)
    assert high - plan.seconds == pytest.approx(20 * 0.3 + 3)


@pytest.mark.parametrize("data", [[1.0, 2.0], np.zeros(5), "file.npy"])
def test_data_that_are_no_samples(data):
    with pytest.raises(ValueError, match="data must be an array of samples"):
        plan_job(data=data)


def test_numbers_that_are_missing_or_wrong():
    with pytest.raises(ValueError, match="give shape and samples, or data"):
        plan_job((4, 3))
    with pytest.raises(ValueError, match="seconds must be above 0"):
        plan_job((4, 3), 100, seconds=0)


def test_numbers_of_files(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((7, 3, 2), np.int16))
    found = numbers_of_file(tmp_path / "x.npy")
    assert found == {"shape": (3, 2), "samples": 7, "dtype": np.int16}
    assert numbers_of_file(tmp_path / "x.npy", sample_axis=1)["shape"] == (7, 2)
    np.savez(tmp_path / "y.npz", data=np.zeros((5, 4)), labels=np.zeros(5))
    assert numbers_of_file(tmp_path / "y.npz")["shape"] == (4,)
    (tmp_path / "z.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    assert numbers_of_file(tmp_path / "z.csv")["samples"] == 3
    with pytest.raises(ValueError, match="out of range"):
        numbers_of_file(tmp_path / "x.npy", sample_axis=3)


def test_a_large_file_is_not_loaded(tmp_path):
    path = tmp_path / "large.npy"
    shape = (10**6, 64, 64)
    with open(path, "wb") as stream:  # a file with a hole: no more on disk than its header
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        stream.truncate(stream.tell() + 4 * math.prod(shape))
    tracemalloc.start()
    try:
        found = numbers_of_file(path)
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()
    assert found == {"shape": (64, 64), "samples": 10**6, "dtype": np.float32}
