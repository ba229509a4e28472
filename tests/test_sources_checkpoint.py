"""A pass over samples that was killed goes on where it was, to the same bits."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal

from tensift import STPCASelector, collect_moments
from tensift._utils import checkpoint as _checkpoint
from tensift.cli import main
from tensift.sources import Chunks

X = np.random.default_rng(0).normal(size=(600, 12, 9)) + 2
CHUNK = 32 * 40 * 12 * 9 * 8 / 2**20  # MiB of working memory, for chunks of 40 samples


@pytest.fixture(autouse=True)
def _small_chunks():
    with sklearn.config_context(working_memory=CHUNK):
        yield


@pytest.fixture
def always_write(monkeypatch):
    monkeypatch.setattr(_checkpoint, "_SECONDS", 0)
    monkeypatch.setattr(_checkpoint, "_SHARE", np.inf)


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def assert_same_bits(one, other):
    assert (one.count, one.peak) == (other.count, other.peak)
    for name in ("mean", "_squares", "_scatter"):
        assert_array_equal(getattr(one, name), getattr(other, name))


class Stopping:
    """Rows that cannot be read from some sample on."""

    def __init__(self, array, at):
        self._array, self._at = array, at
        self.shape, self.dtype = array.shape, array.dtype
        self.read = []

    def __getitem__(self, rows):
        if rows.stop - rows.start > 1:
            self.read.append(rows.start)
            if rows.start >= self._at:
                raise KeyboardInterrupt
        return self._array[rows]


@pytest.mark.parametrize("transform", ["identity", "dft", "eigen", ["random"]])
@pytest.mark.parametrize("at", [0, 40, 320, 560])
def test_an_interrupted_pass_goes_on_at_the_chunk_where_it_was(
    tmp_path, always_write, transform, at
):
    options = {"basis": transform, "random_state": 5, "checkpoint": tmp_path / "kept.npz"}
    if transform == "eigen":  # the first of two passes
        collect = Stopping(X, 10**6)
        whole = collect_moments(collect, **{**options, "checkpoint": tmp_path / "other.npz"})
    with pytest.raises(KeyboardInterrupt):
        collect_moments(Stopping(X, at), **options)
    rows = Stopping(X, 10**6)
    resumed = collect_moments(rows, n_jobs=2, **options)
    del options["checkpoint"]
    assert_same_bits(resumed, collect_moments(Stopping(X, 10**6), **options))
    if transform == "eigen":
        assert_same_bits(resumed, whole)
    else:
        assert rows.read == list(range(at, 600, 40))


def test_correlations_are_not_computed_again(tmp_path, always_write):
    class StoppingLater(Stopping):
        def __getitem__(self, rows):
            if len(self.read) == 15 + 8 and rows.stop - rows.start > 1:
                raise KeyboardInterrupt
            return super().__getitem__(rows)

    options = {"basis": "eigen", "checkpoint": tmp_path / "kept.npz"}
    with pytest.raises(KeyboardInterrupt):
        collect_moments(StoppingLater(X, 10**6), **options)
    rows = Stopping(X, 10**6)
    resumed = collect_moments(rows, **options)
    assert rows.read == list(range(320, 600, 40))
    assert_same_bits(resumed, collect_moments(Stopping(X, 10**6), basis="eigen"))


def test_a_finished_file_needs_no_samples(tmp_path):
    first = collect_moments(Stopping(X, 10**6), checkpoint=tmp_path / "kept.npz")
    rows = Stopping(X, 0)
    assert_same_bits(collect_moments(rows, checkpoint=tmp_path / "kept.npz"), first)
    assert rows.read == []


KILLED = """
import sys, time
import numpy as np, sklearn
from tensift import collect_moments
from tensift._utils import checkpoint as _checkpoint

_checkpoint._SECONDS, _checkpoint._SHARE = 0, np.inf
sklearn.set_config(working_memory=float(sys.argv[3]))

class Slow:
    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
    def __getitem__(self, rows):
        if rows.stop - rows.start > 1:
            time.sleep(0.1)
        return self.array[rows]

collect_moments(Slow(np.load(sys.argv[1])), basis="dct", checkpoint=sys.argv[2])
"""


def test_a_killed_process_leaves_a_file_to_go_on_from(tmp_path, file):
    kept = tmp_path / "kept.npz"
    arguments = [str(tmp_path / "x.npy"), str(kept), str(CHUNK)]
    process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments])
    try:
        deadline = time.monotonic() + 60
        count = 0
        while process.poll() is None and time.monotonic() < deadline and count < 80:
            time.sleep(0.01)
            if kept.exists():
                with np.load(kept) as held:
                    count = int(held["count"]) if "count" in held else 0
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    with np.load(kept) as held:
        assert 80 <= int(held["count"]) < 600
    resumed = collect_moments(file, basis="dct", checkpoint=kept)
    assert_same_bits(resumed, collect_moments(file, basis="dct"))


def chunks_of(lengths, array=X):
    return (chunk.copy() for chunk in np.split(array, np.cumsum(lengths)[:-1]))


def stopping(chunks, after):
    for number, chunk in enumerate(chunks):
        if number == after:
            raise KeyboardInterrupt
        yield chunk


def test_iterators_are_read_up_to_the_place_and_compared(tmp_path, always_write):
    lengths = [30] * 20
    kept = tmp_path / "kept.npz"
    with pytest.raises(KeyboardInterrupt):
        collect_moments(stopping(chunks_of(lengths), 13), checkpoint=kept)
    whole = collect_moments(chunks_of(lengths))
    other = X.copy()
    other[119] += 1
    with pytest.raises(ValueError, match=r"of other data.*samples differ from those of X"):
        collect_moments(chunks_of(lengths, other), checkpoint=kept)
    with pytest.raises(ValueError, match="ended after 60 samples"):
        collect_moments(chunks_of([30, 30], X[:60]), checkpoint=kept)
    assert_same_bits(collect_moments(chunks_of(lengths), checkpoint=kept), whole)
    again = Chunks(lambda: chunks_of(lengths))
    assert_same_bits(collect_moments(again, checkpoint=kept), whole)


@pytest.mark.parametrize(
    "change",
    [
        {"basis": "dct"},
        {"orientation": 1},
        {"X": X[:500]},
        {"X": X.astype(np.float32)},
        {"X": np.concatenate([X[:-1], X[-1:] + 1])},
        {"memory": 2 * CHUNK},
    ],
    ids=["transform", "orientation", "samples", "type", "a value", "chunks"],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path, change):
    kept = tmp_path / "kept.npz"
    collect_moments(X, checkpoint=kept)
    before = kept.read_bytes()
    memory = change.pop("memory", CHUNK)
    with (
        sklearn.config_context(working_memory=memory),
        pytest.raises(ValueError, match=r"kept.npz was made with other data, other parameters"),
    ):
        collect_moments(**{"X": X, **change}, checkpoint=kept)
    assert kept.read_bytes() == before


def test_matrices_and_functions_are_known_again(tmp_path):
    matrix = np.linalg.qr(np.random.default_rng(1).normal(size=(9, 9)))[0]
    kept = tmp_path / "kept.npz"
    first = collect_moments(X, basis=matrix, checkpoint=kept)
    assert_same_bits(collect_moments(X, basis=matrix.copy(), checkpoint=kept), first)
    with pytest.raises(ValueError, match="with other data, other parameters"):
        collect_moments(X, basis=matrix.T, checkpoint=kept)
    for _ in range(2):  # new functions every time
        pair = (lambda x: np.fft.fft(x), lambda x: np.fft.ifft(x))
        collect_moments(X, basis=pair, checkpoint=tmp_path / "pair.npz")


def test_files_that_are_none_are_refused(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match=r"bad.npz is damaged"):
        collect_moments(X, checkpoint=bad)
    collect_moments(X, checkpoint=tmp_path / "kept.npz")
    with np.load(tmp_path / "kept.npz") as held:
        arrays = dict(held)
    arrays["scatter"] = arrays["scatter"][1:]
    np.savez(tmp_path / "short.npz", **arrays)
    with pytest.raises(ValueError, match="'scatter' does not fit"):
        collect_moments(X, checkpoint=tmp_path / "short.npz")
    with pytest.raises(OSError, match="cannot write"):
        collect_moments(X, checkpoint=tmp_path / "no such folder" / "kept.npz")
    state = np.random.RandomState(0)
    with pytest.raises(ValueError, match="random_state must be an int"):
        collect_moments(X, basis="random", random_state=state, checkpoint=tmp_path / "r.npz")


def test_no_more_than_a_share_of_the_time_is_spent_on_writing(tmp_path, monkeypatch):
    written = []
    write = _checkpoint.write_npz
    monkeypatch.setattr(_checkpoint, "write_npz", lambda *args: written.append(1) or write(*args))
    collect_moments(X, checkpoint=tmp_path / "kept.npz")
    assert len(written) == 2  # at the start and in the end: 15 chunks take less than seconds


def test_the_command_line_goes_on_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    arguments = ["select", "x.npy", "-k", "5", "--basis", "dct", "--no-figure", "--overwrite"]
    assert main([*arguments, "--checkpoint", "kept.npz"]) == 0
    scores = np.load("x.npy-tensift/scores.npy")
    expected = STPCASelector(5, basis="dct").fit(X).scores_
    np.testing.assert_allclose(scores, expected, atol=1e-10 * expected.max())
    assert main([*arguments, "--checkpoint", "kept.npz"]) == 0
    assert_array_equal(np.load("x.npy-tensift/scores.npy"), scores)
    np.save("x.npy", 2 * X)
    assert main([*arguments, "--checkpoint", "kept.npz"]) != 0
    assert "kept.npz was made with other data" in capsys.readouterr().err


def test_large_samples_wait_for_others_and_go_on_to_the_same_bits(tmp_path, always_write):
    """Chunks of 3 samples, where products are made of 24 together."""
    wide = np.random.default_rng(1).normal(size=(100, 12, 9))
    kept = tmp_path / "kept.npz"
    with sklearn.config_context(working_memory=3 * CHUNK / 40):
        whole = collect_moments(Stopping(wide, 10**6))
        with pytest.raises(KeyboardInterrupt):
            collect_moments(Stopping(wide, 60), checkpoint=kept)
        rows = Stopping(wide, 10**6)
        assert_same_bits(collect_moments(rows, checkpoint=kept, n_jobs=2), whole)
    assert rows.read[0] == 48
    centred = wide - wide.mean(axis=0)
    gram = np.einsum("nlj,nmj->jlm", centred, centred)
    np.testing.assert_allclose(whole.gram().dense(), gram, atol=1e-12 * gram.max())
