"""The experiments of the paper: its tables and figures, compared with the printed numbers."""

from tensift.paper._experiment import Experiment, run_experiment
from tensift.paper._registry import list_experiments
from tensift.paper._report import Report, Table
from tensift.paper._sets import list_sets
from tensift.paper._study import Study

__all__ = [
    "Experiment",
    "Report",
    "Study",
    "Table",
    "list_experiments",
    "list_sets",
    "run_experiment",
]
