"""The convex problem of a slice, and the methods that solve stacks of them."""

from tensift.solvers._critical import CriticalPenalties, critical_penalties
from tensift.solvers._exact import solve_exact
from tensift.solvers._paper import solve_paper
from tensift.solvers._path import PathSolution, solve_path
from tensift.solvers._problem import SliceProblems
from tensift.solvers._projection import psd_part
from tensift.solvers._solution import Solution

__all__ = [
    "CriticalPenalties",
    "PathSolution",
    "SliceProblems",
    "Solution",
    "critical_penalties",
    "psd_part",
    "solve_exact",
    "solve_paper",
    "solve_path",
]
