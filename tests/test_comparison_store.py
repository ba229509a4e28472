"""Results are kept as they come: killed runs go on, finished ones take no time."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tensift._utils.cells import CellStore
from tensift.comparison import _tasks, compare_selectors

X = np.random.default_rng(3).normal(size=(24, 3, 4)) * np.linspace(0.5, 2, 4)
LABELS = np.arange(24) % 3

# A selector that leaves a line in a file for every fit, and hangs at the one it is told to.
SCRIPT = """
import json, os, sys, time
import numpy as np
from tensift.rivals import VarianceSelector
from tensift.comparison import compare_selectors

class Counting(VarianceSelector):
    def fit(self, X, y=None):
        with open(os.environ["FITS"], "a") as stream:
            stream.write("fit\\n")
        if len(open(os.environ["FITS"]).readlines()) == int(os.environ["HANG_AT"]):
            open(os.environ["FITS"] + ".hangs", "w").close()
            time.sleep(600)
        return super().fit(X)

if __name__ == "__main__":
    X = np.random.default_rng(3).normal(size=(24, 3, 4)) * np.linspace(0.5, 2, 4)
    found = compare_selectors(X, [Counting()], 4, n_resamples=5, store=sys.argv[1],
                              labels=np.arange(24) % 3, n_repeats=2)
    rows = [{k: v for k, v in row.items() if not k.startswith(("seconds", "memory"))}
            for row in found.to_rows()]
    print(json.dumps([rows, {k: v.tolist() for k, v in found.features.items()},
                      found.agreement.tolist()]))
"""


def start(tmp_path, store, fits, hang_at=0):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, str(script), str(store)],
        env={**os.environ, "FITS": str(fits), "HANG_AT": str(hang_at)},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(out)


def n_lines(path):
    return len(path.read_text().splitlines())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_killed_run_goes_on_where_it_was(tmp_path):
    whole = finish(start(tmp_path, tmp_path / "whole.jsonl", tmp_path / "whole_fits"))
    # One fit on all samples, one for each half-sample, one for memory.
    assert n_lines(tmp_path / "whole_fits") == 7

    store, fits = tmp_path / "cells.jsonl", tmp_path / "fits"
    process = start(tmp_path, store, fits, hang_at=4)
    hangs = tmp_path / "fits.hangs"
    for _ in range(3000):
        if hangs.exists():
            break
        assert process.poll() is None
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = n_lines(store)
    assert 3 <= kept < n_lines(tmp_path / "whole.jsonl")

    again = finish(start(tmp_path, store, tmp_path / "later_fits"))
    assert again == whole
    # The three fits that were finished are not repeated; the one that hung is.
    assert n_lines(tmp_path / "later_fits") == 7 - 3
    assert n_lines(store) == n_lines(tmp_path / "whole.jsonl")


def compare(store, **settings):
    options = {"n_resamples": 3, "n_seeds": 2, "n_repeats": 2, "labels": LABELS, **settings}
    return compare_selectors(X, ["stpca", "ndfs"], 4, store=store, **options)


def count_computations(monkeypatch):
    done = []
    for kind in (_tasks._Fitting, _tasks.LikenessOfHalf, _tasks.Judgement):

        def counted(self, samples, compute=kind.compute):
            done.append(type(self).__name__)
            return compute(self, samples)

        monkeypatch.setattr(kind, "compute", counted)
    return done


def test_a_second_run_computes_nothing(tmp_path, monkeypatch):
    done = count_computations(monkeypatch)
    store = tmp_path / "cells.jsonl"
    first = compare(store)
    # Variance and STPCA-MP once, NDFS from two seeds, random selection as often as resampled.
    assert done.count("Fit") == 1 + 1 + 2 + 3
    assert done.count("HalfSample") == 4 * 3
    assert done.count("LikenessOfHalf") == 3
    assert done.count("Memory") == 4
    n_computed = len(done)
    second = compare(store)
    assert len(done) == n_computed
    # Also what clocks have measured is kept.
    assert first.to_rows() == second.to_rows()
    np.testing.assert_array_equal(first.agreement, second.agreement)
    assert compare(str(store)).to_rows() == second.to_rows()


def test_runs_share_what_they_have_in_common(tmp_path, monkeypatch):
    store = tmp_path / "cells.jsonl"
    compare(store, labels=None)
    done = count_computations(monkeypatch)
    compare(store)
    assert set(done) == {"Judgement"}
    del done[:]
    compare(store, n_resamples=4)
    assert done.count("HalfSample") == 4
    assert done.count("LikenessOfHalf") == 1
    assert done.count("Fit") == 1  # another draw of random selection
    del done[:]
    compare(store, lam=3.0)
    assert done.count("Fit") == 1
    assert done.count("HalfSample") == 3


def test_a_store_without_likeness_is_completed(tmp_path, monkeypatch):
    """A store of an earlier version: fits are taken from it, only new measures are computed."""
    store = tmp_path / "cells.jsonl"
    whole = compare(store)
    lines = store.read_text().splitlines(keepends=True)
    old = [line for line in lines if '"key": "[\\"likeness' not in line]
    assert len(old) == len(lines) - 3
    store.write_text("".join(old))
    done = count_computations(monkeypatch)
    assert compare(store).to_rows() == whole.to_rows()
    assert done == ["LikenessOfHalf"] * 3


def test_the_order_of_methods_does_not_change_keys(tmp_path, monkeypatch):
    store = tmp_path / "cells.jsonl"
    options = {"n_resamples": 2, "n_seeds": 1, "store": store}
    compare_selectors(X, ["stpca", "laplacianscore"], 4, **options)
    done = count_computations(monkeypatch)
    compare_selectors(X, ["laplacianscore", "stpca"], 4, **options)
    assert done == []


@pytest.mark.parametrize("damage", ["torn", "noise", "not a result", "binary"])
def test_damaged_results_are_made_again(tmp_path, damage):
    store = tmp_path / "cells.jsonl"
    first = compare(store)
    lines = store.read_bytes().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if b'"half' in line)
    lines[place] = {
        "torn": lines[place][:40] + b"\n",
        "noise": b"{]\n",
        "not a result": b'{"key": 3}\n',
        "binary": bytes(range(128, 256)) + b"\n",
    }[damage]
    store.write_bytes(b"".join(lines))
    with pytest.warns(UserWarning, match="1 damaged line"):
        second = compare(store)
    for one, other in zip(first.to_rows(), second.to_rows(), strict=True):
        assert one == other


def test_a_store_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot write"):
        compare(tmp_path / "file" / "cells.jsonl")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="cannot read"):
        compare(tmp_path / "folder")


def test_results_are_json(tmp_path):
    store = tmp_path / "cells.jsonl"
    compare(store)
    for line in store.read_text().splitlines():
        record = json.loads(line)
        assert set(record) == {"key", "result"}
        assert record["key"] in CellStore(store)
