"""All experiments, in the paper's order."""

from __future__ import annotations

from importlib import import_module

from tensift.paper._experiment import Experiment

__all__ = ["list_experiments"]

_NAMES = (
    "datasets",
    "synthetic",
    "metrics",
    "curves",
    "bcv",
    "maps",
    "times",
    "convergence",
    "sensitivity",
    "orientation",
)


def list_experiments() -> list[Experiment]:
    """The tables and figures of the paper's experiments section, in its order.

    Returns
    -------
    list of Experiment

    Examples
    --------
    >>> from tensift.paper import list_experiments
    >>> for experiment in list_experiments()[:3]:
    ...     print(f"{experiment.name}: {experiment.title}")
    datasets: the datasets and their sizes
    synthetic: ...
    metrics: metrics of all methods on all datasets
    """
    return [import_module(f"tensift.paper._{name}").EXPERIMENT for name in _NAMES]
