"""Choose the few features that matter in tensor data, without labels.

Names are loaded when they are first used, so that ``import tensift`` costs next to nothing.
"""

from typing import TYPE_CHECKING

from tensift._utils.lazy import load_on_first_use
from tensift._version import __version__

if TYPE_CHECKING:
    from tensift import algebra, datasets, metrics, plotting, rivals
    from tensift.comparison import SelectorComparison, compare_selectors
    from tensift.decomposition import SelectFromDecomposition, SparseTensorPCA, TensorPCA
    from tensift.moments import collect_moments
    from tensift.rivals import ColumnSubsetSelector
    from tensift.selection import Constraints, GeometrySelector
    from tensift.solvers import ExactSolver, PaperSolver
    from tensift.stability import StabilitySelection, stability_selection
    from tensift.stpca import SelectionPath, STPCASelector, stpca_path

__all__ = [
    "ColumnSubsetSelector",
    "Constraints",
    "ExactSolver",
    "GeometrySelector",
    "PaperSolver",
    "STPCASelector",
    "SelectFromDecomposition",
    "SelectionPath",
    "SelectorComparison",
    "SparseTensorPCA",
    "StabilitySelection",
    "TensorPCA",
    "__version__",
    "algebra",
    "collect_moments",
    "compare_selectors",
    "datasets",
    "metrics",
    "plotting",
    "rivals",
    "stability_selection",
    "stpca_path",
]

_HOMES = {
    "ColumnSubsetSelector": "tensift.rivals",
    "Constraints": "tensift.selection",
    "ExactSolver": "tensift.solvers",
    "GeometrySelector": "tensift.selection",
    "PaperSolver": "tensift.solvers",
    "STPCASelector": "tensift.stpca",
    "SelectFromDecomposition": "tensift.decomposition",
    "SelectionPath": "tensift.stpca",
    "SelectorComparison": "tensift.comparison",
    "SparseTensorPCA": "tensift.decomposition",
    "StabilitySelection": "tensift.stability",
    "TensorPCA": "tensift.decomposition",
    "algebra": "tensift.algebra",
    "collect_moments": "tensift.moments",
    "compare_selectors": "tensift.comparison",
    "datasets": "tensift.datasets",
    "metrics": "tensift.metrics",
    "plotting": "tensift.plotting",
    "rivals": "tensift.rivals",
    "stability_selection": "tensift.stability",
    "stpca_path": "tensift.stpca",
}
__getattr__, __dir__ = load_on_first_use(__name__, _HOMES)
