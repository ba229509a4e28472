"""Predict what a job needs before it runs: memory, time, the bottleneck, what to change."""

from tensift.plan._file import numbers_of_file, samples_of_file
from tensift.plan._job import Job, make_job
from tensift.plan._layout import Layout
from tensift.plan._memory import Memory
from tensift.plan._pilot import Pilot, example_pilot
from tensift.plan._plan import Estimate, Plan, estimate, plan_job, sampling_error
from tensift.plan._samples import StoredSamples
from tensift.plan._times import Stage
from tensift.plan._units import as_bytes, as_count, as_rate, as_shape, format_seconds

__all__ = [
    "Estimate",
    "Job",
    "Layout",
    "Memory",
    "Pilot",
    "Plan",
    "Stage",
    "StoredSamples",
    "as_bytes",
    "as_count",
    "as_rate",
    "as_shape",
    "estimate",
    "example_pilot",
    "format_seconds",
    "make_job",
    "numbers_of_file",
    "plan_job",
    "samples_of_file",
    "sampling_error",
]
