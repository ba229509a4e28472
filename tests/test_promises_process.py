"""What tensift does to its process, to other processes, to files it shares, and to terminals."""

import csv
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from tensift import (
    SparseTensorPCA,
    STPCASelector,
    collect_moments,
    compare_selectors,
    stability_selection,
    stpca_path,
)
from tensift._utils import temporary
from tensift._utils.cells import CellStore
from tensift._utils.npz import read_npz, write_npz
from tensift._utils.pool import Pool
from tensift._utils.tables import to_csv
from tensift._utils.temporary import remove_leftovers, temporary_path
from tensift._utils.terminal import printable
from tensift._utils.threads import one_blas_thread, one_library_thread
from tensift.cli import main
from tensift.metrics import evaluate_selection
from tensift.plan import example_pilot
from tensift.rivals import VarianceSelector
from tensift.solvers import _workers

LIMIT_SECONDS = 120  # of waiting for what must happen; nothing is measured by it


def blas_libraries():
    return [one for one in ThreadpoolController().info() if one["user_api"] == "blas"]


_obeying = set()  # the BLAS libraries whose threads can be set


def blas_threads():
    return {one["num_threads"] for one in blas_libraries() if one["filepath"] in _obeying}


@pytest.fixture
def two_blas_threads():
    """Two threads for every BLAS that can have them, however many this process was given.

    Other packages that were imported may bring one that stays at the number it started with.
    """
    with threadpool_limits(2, user_api="blas"):
        found = blas_libraries()
        _obeying.clear()
        _obeying.update(one["filepath"] for one in found if one["num_threads"] == 2)
        if all(one["threading_layer"] == "disabled" for one in found):
            pytest.skip("this BLAS was built without threads")
        assert _obeying, "no BLAS can be given two threads"
        yield


def samples(seed, n_slices=3):
    return np.random.default_rng(seed).normal(size=(40, 12, n_slices))


# Threads of numerical libraries


@pytest.mark.parametrize("ends", list(itertools.permutations(range(3))))
def test_the_limit_is_lifted_by_the_last_whatever_the_order(two_blas_threads, ends):
    users = [one_blas_thread(), one_library_thread(), Pool(2)]
    for user in users:
        user.__enter__()
        assert blas_threads() == {1}
    for number, place in enumerate(ends):
        users[place].__exit__(None, None, None)
        assert blas_threads() == ({2} if number == 2 else {1})


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_two_fits_that_overlap_leave_the_limits_as_they_were(
    two_blas_threads, monkeypatch, first_to_end
):
    """Both solve at once; one ends while the other is still in the middle of its slices."""
    alone = [STPCASelector(5).fit(samples(seed)).scores_ for seed in (0, 1)]
    both_solve, one_has_ended = threading.Barrier(2), threading.Event()
    number_of = {}
    seen = []

    def held(work, tasks, *arguments, **options):
        def work_together(task):
            me = number_of[threading.get_ident()]
            if me not in waited:
                waited.add(me)
                both_solve.wait(LIMIT_SECONDS)
                if me != first_to_end:
                    assert one_has_ended.wait(LIMIT_SECONDS)
            seen.append(blas_threads())
            return work(task)

        return run_tasks(work_together, tasks, *arguments, **options)

    def fit(number):
        number_of[threading.get_ident()] = number
        try:
            return STPCASelector(5).fit(samples(number)).scores_
        finally:
            if number == first_to_end:
                one_has_ended.set()

    waited = set()
    run_tasks = _workers.run_tasks
    monkeypatch.setattr(_workers, "run_tasks", held)
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fit, [0, 1]))
    assert waited == {0, 1}
    assert [threads for threads in seen if threads != {1}] == []
    assert blas_threads() == {2}
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_evaluation_that_ends_does_not_lift_the_limit_of_a_fit(two_blas_threads, monkeypatch):
    seen = []

    def held(work, tasks, *arguments, **options):
        def work_after_evaluation(task):
            with ThreadPoolExecutor(1) as other:
                other.submit(
                    evaluate_selection, samples(0), np.arange(40) % 2, [0, 1], n_repeats=1
                ).result(LIMIT_SECONDS)
            seen.append(blas_threads())
            return work(task)

        return run_tasks(work_after_evaluation, tasks, *arguments, **options)

    run_tasks = _workers.run_tasks
    monkeypatch.setattr(_workers, "run_tasks", held)
    STPCASelector(5).fit(samples(0))
    assert seen
    assert [threads for threads in seen if threads != {1}] == []
    assert blas_threads() == {2}


def test_an_error_lifts_the_limit(two_blas_threads):
    with pytest.raises(ZeroDivisionError), one_library_thread(), one_blas_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == {2}


def test_nothing_else_limits_threads():
    """Two owners of one number would put back what the other has set."""
    import tensift

    folder = os.path.dirname(tensift.__file__)
    users = []
    for path, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(path, name), encoding="utf-8") as stream:
                    if "import threadpoolctl" in (text := stream.read()) or (
                        "from threadpoolctl" in text
                    ):
                        users.append(os.path.relpath(os.path.join(path, name), folder))
    assert users == [os.path.join("_utils", "threads.py")]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_forked_process_has_the_limits_of_its_own_thread(two_blas_threads, inside):
    """The child has only the thread that forked: nobody else would ever lift the limit there."""
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread():
            entered.set()
            leave.wait(LIMIT_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(LIMIT_SECONDS)
    with ExitStack() as stack:
        if inside:
            stack.enter_context(one_blas_thread())
        child = os.fork()
        if child == 0:
            right = blas_threads() == ({1} if inside else {2})
            stack.close()
            os._exit(0 if right and blas_threads() == {2} else 10 * right + len(blas_threads()) * 3)
    _, status = os.waitpid(child, 0)
    leave.set()
    holder.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert blas_threads() == {2}


# Numbers of workers


X = np.random.default_rng(0).normal(size=(40, 6, 3))


@pytest.mark.parametrize(
    "use",
    [
        lambda n_jobs: STPCASelector(3, n_jobs=n_jobs).fit(X),
        lambda n_jobs: SparseTensorPCA(2, n_jobs=n_jobs).fit(X),
        lambda n_jobs: stpca_path(X, n_jobs=n_jobs),
        lambda n_jobs: collect_moments(X, n_jobs=n_jobs),
        lambda n_jobs: compare_selectors(X, ["VarianceSelector"], 3, n_jobs=n_jobs),
        lambda n_jobs: stability_selection(VarianceSelector(3), X, n_resamples=2, n_jobs=n_jobs),
    ],
)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "two"])
def test_a_number_of_workers_that_makes_no_sense_is_named(use, n_jobs):
    with pytest.raises(ValueError, match=rf"n_jobs.*must be.*[gG]ot {n_jobs!r}") as error:
        use(n_jobs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("command", ["select x.npy -k 2", "compare x.npy -k 2", "paper --fast"])
@pytest.mark.parametrize("jobs", ["0", "-2", "1.5", "two"])
def test_a_number_of_workers_on_the_command_line(capsys, command, jobs):
    assert main([*command.split(), "--jobs", jobs]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"--jobs: '{jobs}' is not a whole number of one or more, nor -1 for all cores" in last


# Penalties beyond all bounds


@pytest.mark.parametrize("solver", ["exact", "paper"])
@pytest.mark.parametrize("value", [1e300, 1e30, float("inf")])
@pytest.mark.parametrize("name", ["lam", "eta"])
def test_a_penalty_that_would_overflow_is_named_before_anything_is_solved(
    monkeypatch, name, value, solver
):
    monkeypatch.setattr(_workers, "run_tasks", lambda *_, **__: pytest.fail("it was solved"))
    with pytest.raises(ValueError, match=rf"{name}.*(too large|must be).*") as error:
        STPCASelector(3, solver=solver, **{"lam": 1.0, "eta": 1.0, name: value}).fit(X)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=rf"{name}s.*(too large|must be|finite)"):
        stpca_path(X, solver=solver, **{"lams": [1.0], "etas": [1.0], f"{name}s": [1.0, value]})


# Files that processes share


def test_two_writers_of_one_file_do_not_meet(tmp_path, monkeypatch):
    """Both have written, and neither has moved its file, when the first one moves it."""
    path = tmp_path / "shared.npz"
    both_have_written = threading.Barrier(2)
    monkeypatch.setattr(os, "fsync", lambda _: both_have_written.wait(LIMIT_SECONDS))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda n: write_npz(path, {"a": np.full(1000 * n, n)}), [1, 2]))
    held = read_npz(path, ["a"])["a"]
    assert len(set(held.tolist())) == 1
    assert held.size == 1000 * held[0]
    assert os.listdir(tmp_path) == ["shared.npz"]


def test_a_failed_write_removes_its_own_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "shared.npz"
    write_npz(path, {"a": np.zeros(3)})

    def fail(_):
        raise OSError(28, "No space left on device")

    with temporary_path(tmp_path) as others:
        others.write_bytes(b"still being written")
        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=r"cannot write .*shared\.npz: No space left"):
            write_npz(path, {"a": np.ones(3)})
        assert sorted(os.listdir(tmp_path)) == sorted([others.name, "shared.npz"])
    assert read_npz(path, ["a"])["a"].sum() == 0


def test_a_line_cut_short_by_another_run_does_not_spoil_the_next(tmp_path):
    path = tmp_path / "cells.jsonl"
    store = CellStore(path)
    store.put("a", {"n": 1})
    with open(path, "ab") as stream:
        stream.write(b'{"key": "b", "resu')  # another run, killed
    store.put("c", {"n": 3})
    with pytest.warns(UserWarning, match="1 damaged line"):
        again = CellStore(path)
    assert again["a"] == {"n": 1}
    assert again["c"] == {"n": 3}


@pytest.mark.parametrize(
    "content", [b"name,score\nice,3\n", b"\x93NUMPY\x01\0", b"{}\n", b'[{"key": "a"}]\n', b"\n"]
)
def test_a_file_that_is_no_store_is_refused_and_stays_as_it_is(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(content)
    for use in (
        lambda: stability_selection(VarianceSelector(3), X, n_resamples=2, store=path),
        lambda: compare_selectors(X, ["VarianceSelector"], 3, n_resamples=2, store=path),
    ):
        with pytest.raises(ValueError, match=r"mine\.csv is not a store of results of tensift"):
            use()
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"key": "x', b'\xff\n{"key": "x", "result": {}}\n']
)
@pytest.mark.filterwarnings("ignore:.*damaged line:UserWarning")
def test_a_store_that_was_cut_short_is_still_a_store(tmp_path, content):
    path = tmp_path / "store.jsonl"
    path.write_bytes(content)
    stability_selection(VarianceSelector(3), X, n_resamples=2, store=path)
    assert len(path.read_bytes()) > len(content) + 50


# Runs that are ended


@pytest.fixture
def here(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    monkeypatch.chdir(tmp_path)
    return tmp_path


WAITING = """
import sys, threading
from tensift import STPCASelector
from tensift.cli import main

def fit(self, X, y=None):
    print("ready", flush=True)
    threading.Event().wait()

STPCASelector.fit = fit
sys.exit(main(["select", "x.npy", "-k", "3", "-o", "out", "--no-figure"]))
"""


# Under nohup or in the background of a shell, signals may be ignored, and children inherit that.
HEARING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""


def started(script):
    process = subprocess.Popen(
        [sys.executable, "-c", HEARING + script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n", process.stderr.read()
    return process


def ended(process, number):
    try:
        process.send_signal(number)
        return process.communicate(timeout=LIMIT_SECONDS)[1]
    finally:
        process.kill()
        process.wait()


needs_signals = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")


@needs_signals
@pytest.mark.parametrize(
    ("name", "said"),
    [("SIGTERM", "terminated"), ("SIGHUP", "terminated"), ("SIGINT", "interrupted")],
)
def test_a_signal_leaves_nothing_behind(here, name, said):
    number = getattr(signal, name)
    process = started(WAITING)
    assert len(os.listdir(here / "out")) == 1
    assert ended(process, number) == f"tensift: error: {said}\n"
    assert process.returncode == 128 + number
    assert os.listdir(here) == ["x.npy"]


def test_a_signal_while_something_is_removed_leaves_nothing_behind(here, monkeypatch):
    remove, calls = temporary._remove, []

    def interrupted(path):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(path)

    monkeypatch.setattr(temporary, "_remove", interrupted)
    monkeypatch.setattr(temporary.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    assert main(["select", "x.npy", "-k", "3", "-o", "out", "--no-figure", "--quiet"]) in (1, 130)
    assert calls
    assert not [name for name in os.listdir(here) if name.startswith(".tensift-")]
    assert not list((here / "out").glob(".tensift-*"))


@needs_signals
def test_a_signal_that_is_ignored_stays_ignored(here):
    process = started("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)" + WAITING)
    process.send_signal(signal.SIGHUP)
    assert ended(process, signal.SIGTERM) == "tensift: error: terminated\n"


def test_the_command_line_gives_signals_back(here):
    before = signal.getsignal(signal.SIGTERM)
    assert main(["info", "x.npy"]) == 0
    assert signal.getsignal(signal.SIGTERM) == before


@needs_signals
def test_what_a_killed_run_left_is_removed_by_the_next(here):
    living = started(WAITING)
    try:
        kept = set(os.listdir(here / "out"))
        killed = started(WAITING)
        assert len(os.listdir(here / "out")) == 2
        ended(killed, signal.SIGKILL)
        assert len(os.listdir(here / "out")) == 2
        assert main(["select", "x.npy", "-k", "3", "-o", "out", "--no-figure", "--quiet"]) == 0
        assert {name for name in os.listdir(here / "out") if name.startswith(".")} == kept
    finally:
        ended(living, signal.SIGTERM)


def test_only_leftovers_of_this_machine_are_removed(tmp_path):
    with temporary_path(tmp_path) as own:
        own.mkdir()
        of_another = own.name.replace(own.name.split("-")[1], "0" * 8)
        names = [own.name, of_another, ".tensift-abc", ".tensift-mine.txt", "tensift"]
        for name in names[1:]:
            (tmp_path / name).write_text("")
        # An earlier process that had our number has left this one.
        (tmp_path / f"{own.name[:-12]}{'0' * 12}").write_text("")
        remove_leftovers(tmp_path)
        assert sorted(os.listdir(tmp_path)) == sorted(names)
    remove_leftovers(tmp_path / "no such folder")


WORKING = """
import os, sys, threading
from dataclasses import dataclass
from pathlib import Path
from tensift._utils.cells import CellStore, run_cells

@dataclass(frozen=True)
class Endless:
    key: str
    group: int = 0

def compute(cell):
    Path(cell.key).write_text(str(os.getpid()))
    os.rename(cell.key, cell.key + ".pid")
    threading.Event().wait()

def tell():
    while not all(Path(name + ".pid").exists() for name in "ab"):
        pass
    print("ready", flush=True)

threading.Thread(target=tell, daemon=True).start()
run_cells([Endless("a"), Endless("b")], compute, CellStore(), n_jobs=2)
"""


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs the processes of Linux")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_workers_end_with_their_parent(here, name):
    process = started(WORKING)
    workers = [int((here / f"{one}.pid").read_text()) for one in "ab"]
    assert all(is_running(worker) for worker in workers)
    ended(process, getattr(signal, name))
    deadline = time.monotonic() + LIMIT_SECONDS
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < deadline, "workers have outlived their parent"
        time.sleep(0.05)


# Spreadsheets and terminals


@pytest.mark.parametrize(
    "name", ["=cmd|' /C calc'!A0", "+1+A1", "-1+A1", "@SUM(A1)", "\t=1", "\r=1", " =1", '"=1"', "-"]
)
def test_no_cell_of_a_table_is_run_by_a_spreadsheet(name):
    rows = list(csv.reader(io.StringIO(to_csv([{name: name, "x": f"a;{name}"}]), newline="")))
    for title, cell in zip(*rows, strict=True):
        assert title[0] in "'x"
        assert cell[0] in "'a"
    assert rows[1][1].partition(";")[2].strip("\t\r")[0] == "'"


def test_numbers_and_harmless_names_stay_as_they_are():
    row = {"a": -1.5, "b": -3, "c": "-2.5e-3", "d": "+7", "e": "Fp1 - Cz", "f": "b=c", "g": "it's"}
    back = next(csv.DictReader(io.StringIO(to_csv([row]))))
    assert back == {key: str(value) for key, value in row.items()}


def test_the_ranking_of_hostile_names(here):
    names = np.array(["=cmd|' /C calc'!A0", "@x", "-3", "plain", "+y", "\tz"])
    coords = {"coords_=channel": names}
    np.savez("named.npz", data=X, dims=["=channel", "time"], **coords)
    options = ["-k", "3", "-o", "out", "--no-figure", "--quiet"]
    assert main(["select", "named.npz", *options]) == 0
    with open("out/ranking.csv", encoding="utf-8", newline="") as stream:
        cells = [cell for line in csv.reader(stream) for cell in line]
    assert any("cmd" in cell for cell in cells)
    assert not [cell for cell in cells if cell[:1] in "=+@\t\r" and cell]
    assert {cell for cell in cells if cell.startswith("-")} == {"-3"}


HOSTILE = "a\x1b[2J\x07\x9b31m\u202egnp.npy"


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", HOSTILE],
        ["info", "no" + HOSTILE],
        ["select", HOSTILE, "-k", "3", "--no-figure"],
        ["select", HOSTILE, "-k", "3000"],
        ["select", "x.npy", "-k", HOSTILE],
        ["select", "x.npy", "-k", "3", "--no-figure", "-o", "o" + HOSTILE],
        ["plan", "--file", HOSTILE],
        ["plan", "--file", "no" + HOSTILE],
        ["info", "x.npy", "more" + HOSTILE],
        ["more" + HOSTILE],
        ["compare", "no" + HOSTILE, "-k", "3"],
    ],
)
def test_no_name_reaches_the_terminal_raw(here, capfd, arguments, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    monkeypatch.setattr("tensift.plan._plan.Pilots", lambda *_: example_pilot)
    np.save(HOSTILE, X)
    main(arguments)
    said = "".join(capfd.readouterr())
    assert said
    assert not [one for one in said if one != "\n" and not one.isprintable()]


def test_what_is_escaped_can_be_read():
    assert printable("a\x1b[1m\n\udcff é 日本") == "a\\x1b[1m\\n\\udcff é 日本"
    assert printable("é", "ascii") == "\\xe9"


# Closed and full output


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("command", ["info x.npy", "--help", "plan --help", "--version"])
@pytest.mark.parametrize(
    ("shell", "status"),
    [
        ("{} | true", 0),
        ("{} >&-", 0),
        ("{} >&- 2>&- <&-", 0),
        ("{} 2>&-", 0),
    ],
)
def test_closed_output_is_a_quiet_end(here, command, shell, status):
    call = shell.format(f'"$0" -m tensift.cli {command}')
    done = subprocess.run(["sh", "-c", call, sys.executable], capture_output=True, text=True)
    assert done.returncode == status
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_full_output_is_one_line(here, unbuffered):
    done = subprocess.run(
        ["sh", "-c", '"$0" -m tensift.cli info x.npy > /dev/full', sys.executable],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert done.returncode == 1
    assert done.stderr == "tensift: error: cannot write the output: No space left on device\n"
