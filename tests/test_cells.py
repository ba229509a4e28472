"""Many computations: each once, kept at once, the same whatever the number of processes."""

import json
import os
from dataclasses import dataclass

import pytest

from tensift._utils.cells import CellStore, run_cells


@dataclass(frozen=True)
class Square:
    number: int

    @property
    def key(self):
        return f"square {self.number}"

    @property
    def group(self):
        return self.number % 2


def square(cell):
    return {"value": cell.number**2, "process": os.getpid()}


def squares(cells, store, **options):
    run_cells(cells, square, store, **options)
    return [store[cell.key]["value"] for cell in cells]


CELLS = [Square(number) for number in range(8)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_all_cells_are_computed(tmp_path, n_jobs):
    store = CellStore(tmp_path / "cells.jsonl")
    assert squares(CELLS, store, n_jobs=n_jobs) == [number**2 for number in range(8)]


def test_several_jobs_are_several_processes():
    store = CellStore()
    run_cells(CELLS, square, store, n_jobs=2)
    assert os.getpid() not in {store[cell.key]["process"] for cell in CELLS}


def test_what_is_there_is_not_computed_again(tmp_path):
    path = tmp_path / "folder" / "cells.jsonl"
    run_cells(CELLS[:5], square, CellStore(path))
    computed = []

    def counted(cell):
        computed.append(cell)
        return square(cell)

    store = CellStore(path)
    run_cells(CELLS, counted, store)
    assert computed == CELLS[5:]
    assert len(path.read_text().splitlines()) == 8


def test_equal_cells_are_computed_once():
    computed = []
    run_cells([Square(3), Square(3)], lambda cell: computed.append(cell) or {}, CellStore())
    assert computed == [Square(3)]


def test_each_result_is_kept_at_once(tmp_path):
    path = tmp_path / "cells.jsonl"

    def fail_at_five(cell):
        if cell.number == 5:
            raise KeyboardInterrupt
        return square(cell)

    with pytest.raises(KeyboardInterrupt):
        run_cells(CELLS, fail_at_five, CellStore(path))
    kept = CellStore(path)
    assert [cell.key in kept for cell in CELLS] == [True] * 5 + [False] * 3


@pytest.mark.parametrize(
    "damage", [b'{"key": "square 9", "res', b"\xff\xfe\x00", b"[1, 2]\n", b"{}"]
)
def test_damaged_lines_are_left_out_and_what_follows_is_whole(tmp_path, damage):
    path = tmp_path / "cells.jsonl"
    run_cells(CELLS[:3], square, CellStore(path))
    with open(path, "ab") as stream:
        stream.write(damage)
    with pytest.warns(UserWarning, match="1 damaged line"):
        store = CellStore(path)
    assert squares(CELLS, store) == [number**2 for number in range(8)]
    with pytest.warns(UserWarning, match="1 damaged line"):
        again = CellStore(path)
    assert all(cell.key in again for cell in CELLS)


def test_a_deeply_nested_line_does_no_harm(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text('{"key": "a", "result": {}}\n' + "[" * 100_000 + "\n")
    with pytest.warns(UserWarning, match="damaged"):
        CellStore(path)


def test_results_are_what_a_later_run_reads(tmp_path):
    path = tmp_path / "cells.jsonl"
    store = CellStore(path)
    store.put("a", {"pair": (1, 2.5)})
    assert store["a"] == CellStore(path)["a"] == {"pair": [1, 2.5]}


def test_a_result_that_cannot_be_kept_leaves_no_line(tmp_path):
    path = tmp_path / "cells.jsonl"
    store = CellStore(path)
    with pytest.raises(TypeError):
        store.put("a", {"value": object()})
    assert not path.exists()
    assert "a" not in store


def test_a_folder_in_the_way_is_named(tmp_path):
    (tmp_path / "cells.jsonl").mkdir()
    with pytest.raises(OSError, match=r"cannot read .*cells\.jsonl"):
        CellStore(tmp_path / "cells.jsonl")


def test_a_full_disk_is_named(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full on this system")
    link = tmp_path / "cells.jsonl"
    link.symlink_to("/dev/full")
    store = CellStore()
    store._path = link
    with pytest.raises(OSError, match=r"cannot write .*cells\.jsonl: No space left"):
        store.put("a", {})


def test_progress_counts_what_was_there_and_estimates_by_group(monkeypatch):
    """Two groups, of which one takes ten times as long: no estimate by rule of three is right."""
    from tensift._utils import cells

    now = [0.0]
    monkeypatch.setattr(cells.time, "perf_counter", lambda: now[0])

    def slow_if_odd(cell):
        now[0] += 10.0 if cell.group else 1.0
        return {}

    store = CellStore()
    store.put(CELLS[0].key, {})
    told = []
    run_cells(CELLS, slow_if_odd, store, report=lambda *seen: told.append(seen))
    assert [(done, total) for done, total, _ in told] == [(done, 8) for done in range(2, 9)]
    assert told[-1][2] == 0
    assert told[1][2] == pytest.approx(3 * 10 + 2 * 1)  # after an odd and an even one


def test_lines_are_plain_json(tmp_path):
    path = tmp_path / "cells.jsonl"
    CellStore(path).put("k", {"value": 1.5})
    assert json.loads(path.read_text()) == {"key": "k", "result": {"value": 1.5}}
