"""Predict what a job needs before it runs: memory, time, the bottleneck, what to change."""

from tensift.plan._cache import cache_file, this_machine
from tensift.plan._calibration import calibrate, example_machine
from tensift.plan._file import numbers_of_file
from tensift.plan._job import Job, make_job
from tensift.plan._layout import Layout
from tensift.plan._machine import Curve, Machine, SolveRates
from tensift.plan._memory import Memory
from tensift.plan._plan import Estimate, Plan, estimate, plan_job, sampling_error
from tensift.plan._times import Stage
from tensift.plan._units import as_bytes, as_count, as_rate, as_shape, format_seconds

__all__ = [
    "Curve",
    "Estimate",
    "Job",
    "Layout",
    "Machine",
    "Memory",
    "Plan",
    "SolveRates",
    "Stage",
    "as_bytes",
    "as_count",
    "as_rate",
    "as_shape",
    "cache_file",
    "calibrate",
    "estimate",
    "example_machine",
    "format_seconds",
    "make_job",
    "numbers_of_file",
    "plan_job",
    "sampling_error",
    "this_machine",
]
