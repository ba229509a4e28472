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

from tensift import ExactSolver, PaperSolver, STPCASelector
from tensift.plan import (
    Curve,
    Layout,
    Machine,
    SolveRates,
    estimate,
    example_machine,
    make_job,
    numbers_of_file,
    plan_job,
)
from tensift.plan._advice import useful_workers
from tensift.plan._memory import memory_of, passes_of, solve_blocks, working_memory_for
from tensift.sources import Chunks, source_of

MACHINE = example_machine()


def unit_machine(**changes):
    """Every rate a round number, so that times can be worked out by hand."""
    one = Curve((1,), (1e-9,), growth=1.0)
    rates = SolveRates(Curve((1,), (1e-6,), 2.0), Curve((1,), (1e-9,), 3.0), 0.1, 0.01)
    machine = Machine(
        moments=dict.fromkeys(("real", "complex", "dft"), one),
        fast_transform=1e-10,
        matrix_transform=one,
        solve=dict.fromkeys(("paper real", "paper complex", "exact real", "exact complex"), rates),
        copy_bandwidth=1e9,
        read_bandwidth=1e9,
        read_cost=1e-10,
        resident=1e8,
        cores=2,
    )
    return replace(machine, **changes)


def stages(job, layout=None, machine=None):
    found = estimate(job, layout or Layout(read_bandwidth=1e9), machine or unit_machine())
    return {stage.name: stage.seconds for stage in found.stages}


def test_stages_by_hand():
    job = make_job((50, 20), 10**5, dtype="float32", steps=10)
    found = stages(job)
    assert found["moments"] == pytest.approx(1e5 * 20 * 50**2 * 1e-9)  # n p q^2
    assert found["read"] == 0  # while the last chunk is worked on
    slow = stages(job, Layout(read_bandwidth=1e6))
    assert slow["read"] == pytest.approx(1e5 * 1000 * 4 / 1e6)
    assert slow["moments"] == 0  # while the next chunk is read
    assert found["merge"] == 0
    assert solve_blocks(job) == 1
    each = 1e-6 * 50**2 + 10 * 1e-9 * 50**3
    assert found["solve"] == pytest.approx(0.1 + 10 * 0.01 + 20 * each)
    assert found["transform"] == 0
    assert "cluster" not in found


def test_transforms_by_hand():
    values = 1000 * 6 * 5 * 4
    job = make_job((6, 5, 4), 1000, basis=["haar", "dct"])
    assert stages(job, Layout(in_memory=True))["transform"] == pytest.approx(
        values * (5e-9 + 1e-10)
    )
    # The second transform of a DFT's complex output moves twice as much.
    job = make_job((6, 5, 4), 1000, basis=["dft", "dct"])
    assert stages(job, Layout(in_memory=True))["transform"] == pytest.approx(values * 3e-10)
    # A look more at the data.
    once, twice = (make_job((6, 5, 4), 1000, basis=name) for name in ("random", "eigen"))
    reads = [estimate(each, Layout(read_bandwidth=1e9), MACHINE) for each in (once, twice)]
    assert reads[1].stages[0].core_seconds == 2 * reads[0].stages[0].core_seconds


def test_short_chunks_add_to_the_gram_tensor_more_often():
    job = make_job((50, 20), 10**5)
    long, short = (stages(job, Layout(cluster=True, chunk=chunk))["moments"] for chunk in (100, 10))
    assert short - long == pytest.approx((1e4 - 1e3) * 20 * 50**2 * 8 / 1e9)
    # One process waits until there are enough.
    long, short = (stages(job, Layout(chunk=chunk))["moments"] for chunk in (100, 10))
    assert short == long


def test_a_path_solves_every_cell():
    one = make_job((50, 20), 10**5, steps=5)
    many = replace(one, cells=25)
    assert stages(many)["solve"] == pytest.approx(25 * stages(one)["solve"])
    assert stages(many)["moments"] == stages(one)["moments"]


def test_arrays_in_memory_are_not_read():
    found = stages(make_job((50, 20), 10**5), Layout(in_memory=True, read_bandwidth=1e9))
    assert found["read"] == found["merge"] == 0


def test_a_cluster_by_hand():
    job = make_job((50, 20), 10**6, dtype="float32", steps=10)
    layout = Layout(workers=4, read_bandwidth=1e9, network=1e8, chunk=10**5)
    found = stages(job, layout)
    assert found["read"] == pytest.approx(3 * 1e5 * 1000 * 4 / 1e9)  # ten chunks: three rounds
    assert found["moments"] == pytest.approx(3 * 1e5 * 20 * 2500 * 1e-9)
    gram = 20 * 2500 * 8
    alone, between = 9 * 2 * gram / 1e9 / 4, 2 * (2 * gram / 1e9 + gram / 1e8)
    assert found["merge"] == pytest.approx(alone + between)
    # The scheduler is done before the workers are; Gram matrices out, column norms back; 32 tasks.
    assert found["cluster"] == pytest.approx((gram + 8 * 20 * 50) / 1e8 + 32 * 3e-3 / 4)


def test_many_small_chunks_keep_the_scheduler_busy():
    job = make_job((8, 8), 10**8)
    few, many = (
        stages(job, Layout(workers=50, cores=4, chunk=chunk, read_bandwidth=1e12), MACHINE)
        for chunk in (10**6, 100)
    )
    assert many["cluster"] > 100 * few["cluster"]


def test_cores_read_and_compute_at_a_time():
    job = make_job((50, 20), 10**6)
    plain = stages(job, Layout(workers=2, cores=1, read_bandwidth=1e8, chunk=1000))
    both = stages(job, Layout(workers=2, cores=4, read_bandwidth=1e8, chunk=1000))
    assert plain["read"] == both["read"] > plain["moments"]
    assert both["moments"] == pytest.approx(plain["moments"] / 4 / 4)


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
    job = make_job(shape, n, basis=basis, solver=solver, dtype="float32")
    counted = memory_of(job, Layout(in_memory=True), MACHINE)
    assert counted.data == X.nbytes
    assert counted.process == MACHINE.resident
    assert peak / 1.3 < counted.work + counted.gram < 1.5 * peak


@pytest.mark.filterwarnings("ignore:.*did not reach tol:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("basis", ["identity", "eigen"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_memory_of_looking_at_samples_first(basis, dtype):
    X = np.random.default_rng(0).normal(size=(10_000, 32, 8)).astype(dtype)
    tracemalloc.start()
    try:
        STPCASelector(5, basis=basis, solver=PaperSolver(max_iter=2)).fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    job = make_job((32, 8), len(X), basis=basis, solver="paper", dtype=dtype)
    counted = memory_of(job, Layout(in_memory=True), MACHINE)
    assert peak / 1.4 < counted.work + counted.gram < 1.6 * peak


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


def test_more_passes_read_more():
    job = make_job((512, 512), 10**5)
    once, often = (
        estimate(job, Layout(read_bandwidth=1e9, working_memory=working), MACHINE)
        for working in (1e12, 1e9)
    )
    assert (once.passes, often.passes > 1) == (1, True)
    reads = [each.stages[0].core_seconds for each in (once, often)]
    assert reads[1] == pytest.approx(often.passes * reads[0])
    assert often.memory.total < once.memory.total


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
        options |= {"workers": workers, "chunk": 1000, "machine": MACHINE, **changes}
        return plan_job(**options).seconds

    usual = seconds() * (1 - 1e-9)  # but for rounding
    assert usual > 0
    assert seconds(samples=2 * n) >= usual
    assert seconds(steps=1e4) >= usual
    assert seconds(grid=100, steps=10) >= seconds(steps=10) * (1 - 1e-9)
    assert seconds(read_bandwidth=1) >= usual
    assert seconds(workers=workers, network=1) >= usual
    # More slices may be shared out better: the clock may see less, the cores never do.
    layout = Layout(workers=workers, chunk=1000)
    jobs = [make_job((q, each), n, basis=basis, solver=solver) for each in (p, 2 * p)]
    few, many = (estimate(job, layout, MACHINE).core_seconds for job in jobs)
    assert many >= few * (1 - 1e-9)


def test_efficiency_is_bounded_by_chunks_and_blocks():
    plan = plan_job((64, 64), 10**5, chunk=10**4, machine=MACHINE)
    fastest = min(each.seconds for each in plan.scaling)
    assert plan.scaling[0].seconds / fastest <= 10 * 1.01  # ten chunks
    assert useful_workers(plan) <= 20


def test_the_report_of_a_plan():
    plan = plan_job((64, 32), 1e6, basis="dft", memory="4GB", machine=MACHINE)
    text = str(plan)
    for words in ("1e+06 samples of 64 x 32", "8.19 GB", "of which 17 are solved", "orientation"):
        assert words in text
    assert plan.bottleneck == max(plan.chosen.stages, key=lambda s: s.seconds).name
    assert plan.bottleneck in text
    assert all(line == line.rstrip() for line in text.splitlines())
    kept = json.loads(json.dumps(plan.to_dict()))
    assert kept["seconds"] == pytest.approx(sum(kept["stages"].values()))
    assert kept["memory"]["total"] == plan.memory.total
    assert [row["q"] for row in kept["orientations"]] == [64, 32]
    low, high = plan.seconds_range
    assert low < plan.seconds < high


def test_advice_tells_what_the_model_says():
    slow_disk = plan_job((64, 64), 1e8, dtype="float64", read_bandwidth="50MB/s", machine=MACHINE)
    assert slow_disk.bottleneck == "read"
    halved = plan_job((64, 64), 1e8, dtype="float32", read_bandwidth="50MB/s", machine=MACHINE)
    assert any(line.startswith("stored as float32") for line in slow_disk.advice)
    assert halved.seconds < 0.6 * slow_disk.seconds
    assert any("samples drawn at random" in line for line in slow_disk.advice)
    tall = plan_job((1024, 4), 1e6, machine=MACHINE)
    assert any(line.startswith("orientation 1") for line in tall.advice)
    passes = plan_job((512, 512), 1e5, machine=MACHINE)
    assert f"in {passes.chosen.passes} passes over the data" in passes.advice[0]
    tight = plan_job((512, 512), 1e5, memory="700MB", machine=MACHINE)
    assert tight.advice[0].startswith("it does not fit into memory")
    working = re.search(r"working_memory of (\d+) MiB", tight.advice[0]).group(1)
    less = plan_job(
        (512, 512), 1e5, memory="700MB", working_memory=f"{working}MiB", machine=MACHINE
    )
    assert less.chosen.fits
    assert str(less.chosen.passes) in tight.advice[0]
    impossible = plan_job((512, 512), 1e5, memory="100MB", machine=MACHINE)
    assert "no smaller setting helps" in impossible.advice[0]
    assert "does not fit" in str(impossible)
    crowded = plan_job((256, 256), 1e6, workers=4, cores=16, memory="4GB", machine=MACHINE)
    fewer = re.search(r"(\d+) cores per worker", crowded.advice[0]).group(1)
    assert plan_job(
        (256, 256), 1e6, workers=4, cores=int(fewer), memory="4GB", machine=MACHINE
    ).chosen.fits
    quick = plan_job((8, 8), 1000, machine=MACHINE)
    assert quick.advice == []
    exact = plan_job((256, 256), 1000, solver="exact", machine=MACHINE)
    assert any(line.startswith("solver paper takes") for line in exact.advice)
    assert any(line.startswith("n_jobs=2") for line in exact.advice)
    shreds = plan_job((64, 64), 1e8, workers=32, chunk=50, machine=MACHINE)
    assert any(line.startswith("chunks of") for line in shreds.advice)
    crowd = plan_job((8, 8), 3e9, workers=5000, chunk=10**8, machine=MACHINE)
    assert any(line.startswith("this job cannot use 5000 workers") for line in crowd.advice)


def test_what_is_assumed_is_said():
    unknown = plan_job((8, 8), 1e6, machine=unit_machine(read_bandwidth=None))
    assert any("reading is not counted" in note for note in unknown.notes)
    assert any("steps per slice, as usual" in note for note in unknown.notes)
    known = plan_job((8, 8), 1e6, steps=7, machine=MACHINE)
    assert any("7 steps per slice, as given" in note for note in known.notes)
    assert known.seconds_range == (known.seconds, known.seconds)


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
