"""Many small computations. Results are saved one by one, so that a stopped run can continue."""

from __future__ import annotations

import errno
import json
import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import joblib

from tensift._utils.parent import end_with_parent
from tensift._utils.pool import count_workers
from tensift._utils.threads import one_library_thread
from tensift._utils.warnings import warn_user

__all__ = ["Cell", "CellStore", "run_cells"]


_START = '{"key": "'  # of every line in a store


class Cell(Protocol):
    """One computation.

    `key` names everything that the result depends on. Cells of one `group` take similar time (used
    for the remaining-time estimate).
    """

    @property
    def key(self) -> str: ...

    @property
    def group(self) -> object: ...


C = TypeVar("C", bound=Cell)


class CellStore:
    """Results by key, in a file to which each is added as soon as it is computed.

    One line per result. A line that was cut short by a kill or a full disk is left out, and its
    result is computed again. Nothing in the file is ever executed. A file that holds something
    else is refused, and nothing is added to it.

    Several processes can use one file on a local disk: each adds whole lines. But they do not
    share work. Each reads the file only once, when it starts, so two that run at the same time
    may compute the same results. Both lines are then in the file, and the last one counts.

    Parameters
    ----------
    path : Path, optional
        The file. Without one, results are kept only in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._results: dict[str, dict[str, Any]] = {}
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        damaged = 0
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise OSError(f"cannot read {path}: {error.strerror or error}") from None
        _refuse_other_files(path, text)
        for line in text.splitlines():
            try:
                record = json.loads(line)
                self._results[record["key"]] = dict(record["result"])
            except (ValueError, KeyError, TypeError, RecursionError):
                damaged += 1
        if damaged:
            warn_user(
                f"{path}: {damaged} damaged line(s) left out; their results are computed again"
            )

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self._results[key]

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Save a result, which must be representable in JSON."""
        line = json.dumps({"key": key, "result": result}) + "\n"
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with open(self._path, "a+b", buffering=0) as stream:
                    # Any run that shares the file may have been killed in the middle of a line.
                    content = (line if _ends_whole(stream) else "\n" + line).encode()
                    # One write per line: runs that share the file do not mix theirs.
                    if stream.write(content) != len(content):
                        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                    os.fsync(stream.fileno())
            except OSError as error:
                raise OSError(f"cannot write {self._path}: {error.strerror or error}") from None
        # Keep what will be read back, so that a run and its repetition see the same values.
        self._results[key] = json.loads(line)["result"]


def _refuse_other_files(path: Path, text: str) -> None:
    """Raise if a file holds something else than results; a first line may have been cut short."""
    begun = _START.startswith(text)
    if not begun and not any(line.startswith(_START) for line in text.splitlines()):
        raise ValueError(
            f"{path} is not a store of results of tensift, so nothing is added to it; give "
            "another file as store"
        )


def _ends_whole(stream: IO[bytes]) -> bool:
    if stream.seek(0, os.SEEK_END) == 0:
        return True
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def run_cells(
    cells: Iterable[C],
    compute: Callable[[C], dict[str, Any]],
    store: CellStore,
    *,
    n_jobs: int = 1,
    report: Callable[[int, int, float], None] | None = None,
) -> None:
    """Compute all cells whose results are not in the store yet.

    Parameters
    ----------
    cells : iterable of Cell
        The computations. Cells with equal keys are computed once.
    compute : callable
        Returns the result of a cell. With several jobs it runs in other processes.
    store : CellStore
        Gets each result as soon as it is computed.
    n_jobs : int, default=1
        The number of processes, -1 for all cores. The numerical libraries use one thread in each
        process, even if there is only one process.
    report : callable, optional
        Called with the number of finished cells, the number of all cells, and the estimated seconds
        left.
    """
    wanted = {cell.key: cell for cell in cells}
    missing = [cell for key, cell in wanted.items() if key not in store]
    n_jobs = max(1, min(count_workers(n_jobs), len(missing)))
    clock = _Clock(missing, n_jobs)
    done = len(wanted) - len(missing)
    # Closed at once if anything raises, which ends the workers.
    with closing(_computed(missing, compute, n_jobs)) as results:
        for cell, result, seconds in results:
            store.put(cell.key, result)
            done += 1
            if report is not None:
                report(done, len(wanted), clock.left_after(cell, seconds))


class _Clock:
    """Estimates the remaining time from how long cells of the same group took."""

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
) -> Generator[tuple[C, dict[str, Any], float], None, None]:
    """Yield cells with their results and seconds, in the order in which they finish."""
    if n_jobs == 1:
        for cell in cells:
            yield (cell, *_timed(cell, compute))
        return
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    work = joblib.delayed(_numbered)
    parent = os.getpid()
    jobs = (work(place, cell, compute, parent) for place, cell in enumerate(cells))
    with closing(parallel(jobs)) as results:
        for place, result, seconds in results:
            yield cells[place], result, seconds


def _numbered(
    place: int, cell: C, compute: Callable[[C], dict[str, Any]], parent: int
) -> tuple[int, dict[str, Any], float]:
    end_with_parent(parent)
    return (place, *_timed(cell, compute))


def _timed(cell: C, compute: Callable[[C], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    with one_library_thread(), warnings.catch_warnings():
        # Thousands of cells would repeat the same warning. What matters is in their results.
        warnings.simplefilter("ignore")
        result = compute(cell)
    return result, time.perf_counter() - started
