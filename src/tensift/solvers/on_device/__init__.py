"""Solvers in functions of the array API standard, for arrays wherever they are."""

from tensift.solvers.on_device._paper import solve_paper_on_device
from tensift.solvers.on_device._sign import psd_part

__all__ = ["psd_part", "solve_paper_on_device"]
