"""Solvers written in the array API standard, for arrays of any library on any device."""

from tensift.solvers.on_device._exact import solve_exact_on_device
from tensift.solvers.on_device._paper import solve_paper_on_device
from tensift.solvers.on_device._replay import forget_recordings
from tensift.solvers.on_device._sign import psd_part

__all__ = ["forget_recordings", "psd_part", "solve_exact_on_device", "solve_paper_on_device"]
