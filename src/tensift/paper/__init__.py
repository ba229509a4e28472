"""The experiments of the paper: every table and figure, beside the numbers it prints."""

from tensift.paper._experiment import Experiment, run_experiment
from tensift.paper._registry import list_experiments
from tensift.paper._report import Report, Table
from tensift.paper._study import Study

__all__ = ["Experiment", "Report", "Study", "Table", "list_experiments", "run_experiment"]
