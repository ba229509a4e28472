"""Slice problems, and the methods that solve whole stacks of them."""

from tensift.solvers._coupling import Coupling
from tensift.solvers._critical import (
    CriticalPenalties,
    bounds_of_critical,
    bounds_of_slices,
    critical_penalties,
)
from tensift.solvers._decoder import best_decoder, polar_factor
from tensift.solvers._encoder import EncoderProblems
from tensift.solvers._estimate import estimated_objectives, keep_spectrum
from tensift.solvers._exact import solve_exact, solve_exact_block
from tensift.solvers._paper import solve_paper, solve_paper_block
from tensift.solvers._path import PathRows, PathSolution, solve_path, solve_row
from tensift.solvers._problem import SliceProblems, column_norms
from tensift.solvers._projection import psd_part
from tensift.solvers._settings import (
    ExactSolver,
    PaperSolver,
    SliceSolver,
    explained_failure,
    solver_from,
    warn_of_open_slices,
)
from tensift.solvers._solution import Solution
from tensift.solvers._sparse_pca import SparsePCASolution, critical_sparsity, solve_sparse_pca
from tensift.solvers.on_device._memory import block_elements
from tensift.solvers.on_device._replay import Replayed
from tensift.solvers.on_device._spectrum import spectrum_of

__all__ = [
    "Coupling",
    "CriticalPenalties",
    "EncoderProblems",
    "ExactSolver",
    "PaperSolver",
    "PathRows",
    "PathSolution",
    "Replayed",
    "SliceProblems",
    "SliceSolver",
    "Solution",
    "SparsePCASolution",
    "best_decoder",
    "block_elements",
    "bounds_of_critical",
    "bounds_of_slices",
    "column_norms",
    "critical_penalties",
    "critical_sparsity",
    "estimated_objectives",
    "explained_failure",
    "keep_spectrum",
    "polar_factor",
    "psd_part",
    "solve_exact",
    "solve_exact_block",
    "solve_paper",
    "solve_paper_block",
    "solve_path",
    "solve_row",
    "solve_sparse_pca",
    "solver_from",
    "spectrum_of",
    "warn_of_open_slices",
]
