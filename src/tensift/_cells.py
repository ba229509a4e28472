"""Many small computations, kept as they come, so that a stopped run goes on where it was."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import joblib
from threadpoolctl import threadpool_limits

from tensift._warnings import warn_user

__all__ = ["Cell", "CellStore", "run_cells"]


class Cell(Protocol):
    """One computation: `key` says all that its result depends on, `group` what takes as long."""

    @property
    def key(self) -> str: ...

    @property
    def group(self) -> object: ...


C = TypeVar("C", bound=Cell)


class CellStore:
    """Results by key, in a file to which each is added as soon as it is there.

    A line a result. A line that a kill or a full disk has cut short is left out, and its result
    computed again. Nothing in the file is ever executed.

    Parameters
    ----------
    path : Path, optional
        The file; without one, results are kept in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._results: dict[str, dict[str, Any]] = {}
        self._ends_whole = True
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        damaged = 0
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise OSError(f"cannot read {path}: {error.strerror or error}") from None
        for line in text.splitlines():
            try:
                record = json.loads(line)
                self._results[record["key"]] = dict(record["result"])
            except (ValueError, KeyError, TypeError, RecursionError):
                damaged += 1
        self._ends_whole = not text or text.endswith("\n")
        if damaged:
            warn_user(f"{path}: {damaged} damaged line(s) left out; their results are made again")

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._results[key]

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result, which must consist of what JSON has."""
        line = json.dumps({"key": key, "result": result}) + "\n"
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                # One write a line: two runs that share the file do not mix theirs.
                with open(self._path, "ab", buffering=0) as stream:
                    stream.write((line if self._ends_whole else "\n" + line).encode())
                    os.fsync(stream.fileno())
            except OSError as error:
                raise OSError(f"cannot write {self._path}: {error.strerror or error}") from None
            self._ends_whole = True
        # As it will be read back, so that a run and its repetition see the same.
        self._results[key] = json.loads(line)["result"]


def run_cells(
    cells: Iterable[C],
    compute: Callable[[C], dict[str, Any]],
    store: CellStore,
    *,
    n_jobs: int = 1,
    report: Callable[[int, int, float], None] | None = None,
) -> None:
    """Compute all cells that the store does not have.

    Parameters
    ----------
    cells : iterable of Cell
        What is wanted; cells of equal keys are computed once.
    compute : callable
        From a cell to its result. With several jobs it runs in other processes.
    store : CellStore
        Gets the results, each as soon as it is there.
    n_jobs : int, default=1
        Processes, -1 for as many as cores. Each has one thread for its numerical libraries, also
        if it is the only one.
    report : callable, optional
        Called with the number of cells done, of how many, and the estimated seconds left.
    """
    wanted = {cell.key: cell for cell in cells}
    missing = [cell for key, cell in wanted.items() if key not in store]
    n_jobs = max(1, min(joblib.effective_n_jobs(n_jobs), len(missing)))
    clock = _Clock(missing, n_jobs)
    done = len(wanted) - len(missing)
    for cell, result, seconds in _computed(missing, compute, n_jobs):
        store.put(cell.key, result)
        done += 1
        if report is not None:
            report(done, len(wanted), clock.left_after(cell, seconds))


class _Clock:
    """How long the rest will take, by how long cells of the same group took."""

    def __init__(self, cells: Sequence[Cell], n_jobs: int) -> None:
        self._left: dict[object, int] = {}
        for cell in cells:
            self._left[cell.group] = self._left.get(cell.group, 0) + 1
        self._spent: dict[object, list[float]] = {}
        self._n_jobs = n_jobs

    def left_after(self, cell: Cell, seconds: float) -> float:
        self._left[cell.group] -= 1
        self._spent.setdefault(cell.group, []).append(seconds)
        everything = [value for values in self._spent.values() for value in values]
        usual = sum(everything) / len(everything)
        left = 0.0
        for group, count in self._left.items():
            known = self._spent.get(group)
            left += count * (sum(known) / len(known) if known else usual)
        return left / self._n_jobs


def _computed(
    cells: Sequence[C], compute: Callable[[C], dict[str, Any]], n_jobs: int
) -> Iterator[tuple[C, dict[str, Any], float]]:
    """Cells with their results and seconds, in the order in which they are ready."""
    if n_jobs == 1:
        for cell in cells:
            yield (cell, *_timed(cell, compute))
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    jobs = (joblib.delayed(_numbered)(place, cell, compute) for place, cell in enumerate(cells))
    for place, result, seconds in parallel(jobs):
        yield cells[place], result, seconds


def _numbered(
    place: int, cell: C, compute: Callable[[C], dict[str, Any]]
) -> tuple[int, dict[str, Any], float]:
    return (place, *_timed(cell, compute))


def _timed(cell: C, compute: Callable[[C], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        # A thousand times the same: what a cell has to say is in its result.
        warnings.simplefilter("ignore")
        result = compute(cell)
    return result, time.perf_counter() - started
