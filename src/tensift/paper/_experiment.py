"""An experiment: the computations that it needs, and how their results become a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tensift._utils.cells import CellStore, run_cells
from tensift.paper._fits import Result
from tensift.paper._report import Report
from tensift.paper._study import Study

__all__ = ["Experiment", "Results", "Task", "run_experiment"]


class Task(Protocol):
    """A computation whose result is saved, such as a `Fit`."""

    @property
    def key(self) -> str: ...

    @property
    def group(self) -> object: ...

    def compute(self) -> Result: ...


class Results:
    """Results by task."""

    def __init__(self, store: CellStore) -> None:
        self._store = store

    def __contains__(self, task: Task) -> bool:
        return task.key in self._store

    def __getitem__(self, task: Task) -> Result:
        return self._store[task.key]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        Its name on the command line, and the name of its files.
    title : str
        What it shows.
    tasks : callable
        Returns the tasks that the experiment needs for a study.
    report : callable
        Makes the report from the study and the results of all tasks.
    more_tasks : callable, optional
        Returns further tasks that depend on the results of `tasks`, such as the score map of the
        best cell.

    Examples
    --------
    >>> from tensift.paper import Study, list_experiments
    >>> metrics = next(one for one in list_experiments() if one.name == "metrics")
    >>> len(metrics.tasks(Study.quick(methods=("STPCASelector",))))  # two cells on three sets
    6
    """

    name: str
    title: str
    tasks: Callable[[Study], Sequence[Task]]
    report: Callable[[Study, Results], Report]
    more_tasks: Callable[[Study, Results], Sequence[Task]] | None = None


def run_experiment(
    experiment: Experiment,
    study: Study,
    store: CellStore | None = None,
    *,
    n_jobs: int = 1,
    progress: Callable[[str, int], Callable[..., None]] | None = None,
) -> Report:
    """Compute what is missing and make the report.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    study : Study
        Which datasets, methods and cells to run.
    store : CellStore, optional
        Holds finished results, and gets the new ones. By default, results are not kept.
    n_jobs : int, default=1
        The number of processes, -1 for all cores.
    progress : callable, optional
        ``progress(title, total)`` returns a function that is called with the number of finished
        tasks.

    Returns
    -------
    Report

    Examples
    --------
    >>> from tensift.paper import Study, list_experiments, run_experiment
    >>> metrics = next(one for one in list_experiments() if one.name == "metrics")
    >>> report = run_experiment(metrics, Study.quick(methods=("VarianceSelector",)))
    >>> report.tables["poc"].rows
    [{'method': 'maximum variance', 'Generated Orbit': '100.0'}]
    """
    store = CellStore() if store is None else store
    results = Results(store)
    _compute(experiment.name, experiment.tasks(study), store, n_jobs, progress)
    if experiment.more_tasks is not None:
        _compute(experiment.name, experiment.more_tasks(study, results), store, n_jobs, progress)
    return experiment.report(study, results)


def _compute(
    title: str,
    tasks: Iterable[Task],
    store: CellStore,
    n_jobs: int,
    progress: Callable[[str, int], Callable[..., None]] | None,
) -> None:
    wanted = list({task.key: task for task in tasks}.values())
    show = progress(title, len(wanted)) if progress else None

    def report(done: int, total: int, seconds_left: float) -> None:
        if show is not None:
            show(done, seconds_left)

    run_cells(wanted, _compute_one, store, n_jobs=n_jobs, report=report)


def _compute_one(task: Any) -> Result:
    result: Result = task.compute()
    return result
