"""The path engine: its cells, its order, its threads, and going on after an interruption."""

import errno
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tensift._utils import checkpoint as checkpoints
from tensift._utils import npz
from tensift.moments import GramTensor, _slice_blocks, blocks_of
from tensift.solvers import (
    PathSolution,
    SliceProblems,
    solve_exact,
    solve_paper,
    solve_path,
)
from tensift.solvers._exact import solve_exact_block

LAMS, ETAS = [1.0, 0.1, 30.0], [0.5, 5.0]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(_slice_blocks, "BLOCK_ELEMENTS", 150)


def gram_of(n_slices, size, n, *, seed=0, is_complex=False, thin=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_slices, size, n)) * rng.uniform(0.1, 2, (n_slices, size, 1))
    X = X + 1j * rng.normal(size=X.shape) if is_complex else X
    return GramTensor(X if thin else X @ np.conj(np.swapaxes(X, 1, 2)), thin)


def exact(problems, start):
    return solve_exact_block(problems, start, tol=1e-6, max_iter=1000)


def paper(problems, start):
    return solve_paper(problems, ridge=1e-3)


def assert_same_bits(one, other):
    for name, values in vars(one).items():
        assert_array_equal(values, getattr(other, name), err_msg=name)


# Cells


@pytest.mark.parametrize(
    "kind", [{}, {"thin": True}, {"is_complex": True}], ids=["dense", "thin", "complex"]
)
def test_every_cell_is_within_its_certificate_of_a_fit_of_its_own(kind):
    gram = gram_of(3, 6, 4, **kind)
    path = solve_path(gram, LAMS, ETAS, exact, ridge=1e-3)
    assert path.converged.all()
    assert (path.dual_gap <= 1e-6).all()
    for i, lam in enumerate(LAMS):
        for j, eta in enumerate(ETAS):
            alone = solve_exact(SliceProblems(gram, lam, eta, 1e-3), tol=1e-9)
            # Each bound lies below the other's objective.
            assert (path.dual[i, j] <= alone.objective * (1 + 1e-12)).all()
            assert (alone.dual <= path.objective[i, j] * (1 + 1e-12)).all()
            norms = np.linalg.norm(alone.operators, axis=1)
            assert np.abs(path.norms[i, j] - norms).max() <= 0.02 * max(norms.max(), 1e-3)


@pytest.mark.parametrize("size", [(150, 32), (1, 7), (5, 6)], ids=["blocks", "one slice", "few"])
def test_without_warm_starts_cells_are_those_of_a_fit_to_the_bit(size):
    gram = gram_of(*size, 40)
    path = solve_path(gram, LAMS, ETAS, paper)
    for i, lam in enumerate(LAMS):
        for j, eta in enumerate(ETAS):
            alone = solve_paper(SliceProblems(gram, lam, eta), ridge=1e-3)
            assert_array_equal(path.objective[i, j], alone.objective)
            assert_array_equal(path.n_iter[i, j], alone.n_iter)
            assert_array_equal(path.converged[i, j], alone.converged)
            squares = np.einsum("pij,pij->pj", alone.operators, alone.operators)
            assert_array_equal(path.norms[i, j], np.sqrt(squares))
    assert np.isnan(path.dual).all()
    assert np.isnan(path.dual_gap).all()


# Order


def test_rows_go_up_in_lam_each_from_the_last_and_share_a_gram_tensor(small_blocks):
    gram = gram_of(8, 6, 40)
    assert len(blocks_of(gram)) == 2
    seen = []

    def watched(problems, start):
        solution = solve_paper(problems, ridge=1e-3, max_iter=1)
        seen.append((problems.gram, problems.lam, problems.eta, start, solution))
        return solution

    solve_path(gram, LAMS, ETAS, watched)
    assert [(lam, eta) for _, lam, eta, _, _ in seen] == 2 * [
        (lam, eta) for eta in ETAS for lam in sorted(LAMS)
    ]
    for number, (_, _, _, start, _) in enumerate(seen):
        assert start is (None if number % 3 == 0 else seen[number - 1][4])
    for block in (seen[:6], seen[6:]):
        assert all(of is block[0][0] for of, *_ in block)


@pytest.mark.parametrize("solve", [exact, paper])
def test_workers_do_not_change_one_bit(solve):
    gram = gram_of(40, 60, 80)
    assert len(blocks_of(gram)) == 2
    one, many = (
        solve_path(gram, [0.5, 5.0], ETAS, solve, ridge=1e-3, n_jobs=jobs) for jobs in (1, 4)
    )
    assert_same_bits(one, many)


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_counts_slices_over_all_cells(jobs):
    told = []
    solve_path(gram_of(5, 4, 9), LAMS, ETAS, paper, callback=told.append, n_jobs=jobs)
    assert told == list(range(5, 31, 5))


# Going on after an interruption


class Stopped(Exception):
    pass


def stop_after(n_calls, error=Stopped):
    def callback(done):
        nonlocal n_calls
        n_calls -= 1
        if n_calls == 0:
            raise error("stopped")

    return callback


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt])
@pytest.mark.parametrize("cells", [1, 4, 6, 11])
def test_an_interrupted_path_goes_on_where_it_was(tmp_path, small_blocks, jobs, error, cells):
    gram = gram_of(8, 6, 40)
    assert len(blocks_of(gram)) == 2
    file = tmp_path / "path.npz"
    whole = solve_path(gram, LAMS, ETAS, paper)
    with pytest.raises(error):
        solve_path(
            gram,
            LAMS,
            ETAS,
            paper,
            checkpoint=file,
            callback=stop_after(cells, error),
            n_jobs=jobs,
        )
    assert os.listdir(tmp_path) == ["path.npz"]
    solved, told = [], []

    def watched(problems, start):
        solved.append((problems.lam, problems.eta))
        return paper(problems, start)

    resumed = solve_path(gram, LAMS, ETAS, watched, checkpoint=file, callback=told.append)
    assert_same_bits(resumed, whole)
    if jobs == 1:
        assert len(solved) == 3 * (4 - (cells - 1) // 3)  # of four rows with three cells each
    assert told[-1] == 6 * 8
    solved.clear()
    again = solve_path(gram, LAMS, ETAS, watched, checkpoint=file, callback=told.append)
    assert_same_bits(again, whole)
    assert solved == []
    assert told[-1] == 6 * 8


def test_exact_rows_go_on_to_the_same_bits(tmp_path, small_blocks):
    gram = gram_of(8, 6, 80)
    options = {"ridge": 1e-3, "checkpoint": tmp_path / "path.npz"}
    with pytest.raises(Stopped):
        solve_path(gram, LAMS, ETAS, exact, callback=stop_after(8), **options)
    resumed = solve_path(gram, LAMS, ETAS, exact, n_jobs=2, **options)
    assert_same_bits(resumed, solve_path(gram, LAMS, ETAS, exact, ridge=1e-3))


KILLED = """
import sys, time
import numpy as np
from tensift.moments import GramTensor
from tensift._utils import checkpoint
from tensift.solvers import solve_paper, solve_path

checkpoint._SECONDS, checkpoint._SHARE = 0, np.inf

def slow(problems, start):
    time.sleep(0.05)
    return solve_paper(problems, ridge=1e-3)

gram = GramTensor(np.load(sys.argv[1]), thin=False)
solve_path(gram, [1.0, 2.0], np.arange(1.0, 100.0), slow, checkpoint=sys.argv[2])
"""


def test_a_killed_process_leaves_a_file_to_go_on_from(tmp_path):
    gram = gram_of(3, 4, 20)
    np.save(tmp_path / "gram.npy", gram.array)
    file = tmp_path / "path.npz"
    etas = np.arange(1.0, 100.0)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "gram.npy"), str(file)]
    )
    try:
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if file.exists() and np.load(file)["finished"].sum() >= 3:
                break
            time.sleep(0.02)
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    finished = int(np.load(file)["finished"].sum())
    assert 3 <= finished < 99
    solved = []

    def watched(problems, start):
        solved.append(problems.eta)
        return paper(problems, start)

    resumed = solve_path(gram, [1.0, 2.0], etas, watched, checkpoint=file)
    assert len(solved) == 2 * (99 - finished)
    assert_same_bits(resumed, solve_path(gram, [1.0, 2.0], etas, paper))
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".tensift-")]


def test_writing_takes_a_small_share_of_the_time(tmp_path, monkeypatch):
    clock, writes = [0.0], []
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: clock[0])

    def slow_write(path, arrays):
        writes.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr(checkpoints, "write_npz", slow_write)
    kept = checkpoints.Checkpoint(tmp_path / "file.npz", "key", {})
    while clock[0] < 200:
        clock[0] += 0.5
        kept.update()
    assert len(writes) >= 4
    assert np.diff(writes).min() >= 2.0 / 0.05
    kept.update()
    kept.write()
    assert writes[-1] > 199


# Files that cannot be used


@pytest.fixture
def finished_file(tmp_path):
    file = tmp_path / "path.npz"
    solve_path(gram_of(3, 4, 9), LAMS, ETAS, paper, checkpoint=file, settings="mine")
    return file


@pytest.mark.parametrize(
    "change",
    [
        {"gram": gram_of(3, 4, 9, seed=1)},
        {"gram": gram_of(4, 4, 9)},
        {"lams": [1.0, 0.1, 30.0001]},
        {"lams": [0.1, 1.0, 30.0]},
        {"etas": [0.5]},
        {"ridge": 1e-3},
        {"settings": "yours"},
        {"settings": None},
    ],
)
def test_a_checkpoint_of_something_else_is_refused(finished_file, change):
    before = finished_file.read_bytes()
    call = {
        "gram": gram_of(3, 4, 9),
        "lams": LAMS,
        "etas": ETAS,
        "solve": paper,
        "settings": "mine",
        **change,
    }
    with pytest.raises(ValueError, match=r"path\.npz was made with other data.*remove it, or give"):
        solve_path(checkpoint=finished_file, **call)
    assert finished_file.read_bytes() == before


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"not an archive",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        flip,
    ],
    ids=["empty", "text", "half", "last byte", "bit"],
)
def test_damaged_checkpoints_are_refused(finished_file, spoil):
    spoiled = spoil(finished_file.read_bytes())
    finished_file.write_bytes(spoiled)
    with pytest.raises(ValueError, match=r"path\.npz is damaged, or not a file of tensift: \S+"):
        solve_path(gram_of(3, 4, 9), LAMS, ETAS, paper, checkpoint=finished_file, settings="mine")
    assert finished_file.read_bytes() == spoiled


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


@pytest.mark.parametrize("how", ["objects", "packed", "missing", "other shape", "other type"])
def test_hostile_checkpoints_are_refused(finished_file, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    arrays = dict(np.load(finished_file))
    save = np.savez
    if how == "objects":
        arrays["norms"] = np.array([Bomb()], dtype=object)
    elif how == "packed":
        save = np.savez_compressed
    elif how == "missing":
        del arrays["norms"]
    elif how == "other shape":
        arrays["norms"] = arrays["norms"][:1]
    else:
        arrays["norms"] = arrays["norms"].astype(np.float32)
    save(finished_file, **arrays)
    with pytest.raises(ValueError, match=r"path\.npz is damaged"):
        solve_path(gram_of(3, 4, 9), LAMS, ETAS, paper, checkpoint=finished_file, settings="mine")
    assert not (tmp_path / "exploded").exists()


def test_an_array_that_promises_more_than_there_is(finished_file):
    """A header of a few bytes can promise any size."""
    arrays = dict(np.load(finished_file))
    with zipfile.ZipFile(finished_file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                if name == "norms":
                    header = {"descr": "<f8", "fortran_order": False, "shape": (10**14,)}
                    np.lib.format.write_array_header_1_0(stream, header)
                else:
                    np.lib.format.write_array(stream, array)
    with pytest.raises(ValueError, match=r"path\.npz is damaged"):
        solve_path(gram_of(3, 4, 9), LAMS, ETAS, paper, checkpoint=finished_file, settings="mine")


def never(problems, start):
    raise AssertionError("solved before the file was tried")


def test_a_place_that_cannot_be_written_is_known_before_any_work(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "nowhere" / "path.npz", tmp_path / "file" / "path.npz"):
        with pytest.raises(OSError, match=r"cannot write .*path\.npz: \S+"):
            solve_path(gram_of(3, 4, 9), LAMS, ETAS, never, checkpoint=place)
    with pytest.raises(OSError, match=r"cannot (read|write) .*folder"):
        solve_path(gram_of(3, 4, 9), LAMS, ETAS, never, checkpoint=tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


FULL = """
import resource, sys
import numpy as np
from tensift.moments import GramTensor
from tensift.solvers import solve_path

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
gram = GramTensor(np.ones((3, 40, 40)), thin=False)
try:
    solve_path(gram, [1.0], [1.0], None, checkpoint=sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_leaves_nothing_half_written(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "path.npz")], capture_output=True, text=True
    )
    assert run.stdout.startswith(f"cannot write {tmp_path / 'path.npz'}: File too large"), run
    assert os.listdir(tmp_path) == []


def test_a_disk_that_fills_up_on_the_way_keeps_the_last_good_file(tmp_path, monkeypatch):
    gram = gram_of(3, 4, 9)
    file = tmp_path / "path.npz"
    with pytest.raises(Stopped):
        solve_path(gram, LAMS, ETAS, paper, checkpoint=file, callback=stop_after(4))
    before = file.read_bytes()

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(npz.np.lib.format, "write_array", full)
    with pytest.raises(OSError, match=r"cannot write .*path\.npz: No space left on device"):
        solve_path(gram, LAMS, ETAS, paper, checkpoint=file)
    assert os.listdir(tmp_path) == ["path.npz"]
    assert file.read_bytes() == before


def test_what_stopped_the_work_is_not_hidden_by_a_file_that_cannot_be_written(
    tmp_path, monkeypatch
):
    def stop_on_a_full_disk(done):
        if done == 12:

            def full(*args, **kwargs):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            monkeypatch.setattr(npz.np.lib.format, "write_array", full)
            raise Stopped("stopped")

    gram = gram_of(3, 4, 9)
    with pytest.raises(Stopped) as caught:
        solve_path(
            gram, LAMS, ETAS, paper, checkpoint=tmp_path / "path.npz", callback=stop_on_a_full_disk
        )
    assert "rows could not be saved: cannot write" in caught.value.__notes__[0]


def test_a_blank_path_has_nothing_in_it():
    blank = PathSolution.blank(2, 3, gram_of(4, 5, 6))
    assert blank.norms.shape == (2, 3, 4, 5)
    assert not blank.converged.any()
    assert np.isnan(blank.objective).all()
