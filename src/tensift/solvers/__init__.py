"""The problems of slices, and the methods that solve stacks of them."""

from tensift.solvers._coupling import Coupling
from tensift.solvers._critical import CriticalPenalties, critical_penalties
from tensift.solvers._exact import solve_exact
from tensift.solvers._paper import solve_paper
from tensift.solvers._path import PathSolution, solve_path
from tensift.solvers._problem import SliceProblems
from tensift.solvers._projection import psd_part
from tensift.solvers._solution import Solution
from tensift.solvers._sparse_pca import SparsePCASolution, critical_sparsity, solve_sparse_pca

__all__ = [
    "Coupling",
    "CriticalPenalties",
    "PathSolution",
    "SliceProblems",
    "Solution",
    "SparsePCASolution",
    "critical_penalties",
    "critical_sparsity",
    "psd_part",
    "solve_exact",
    "solve_paper",
    "solve_path",
    "solve_sparse_pca",
]
