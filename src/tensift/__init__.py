"""Choose the few features that matter in tensor data, without labels."""

from tensift import algebra, datasets, metrics
from tensift._version import __version__
from tensift.base import collect_moments
from tensift.comparison import SelectorComparison, compare_selectors
from tensift.decomposition import SelectFromDecomposition, SparseTensorPCA, TensorPCA
from tensift.selectors import (
    CPUFS,
    MCFS,
    MSPCA,
    NDFS,
    NLGMS,
    RNE,
    SOGFS,
    SPCA_PSD,
    SPCAFS,
    UDFS,
    AllFeatures,
    CPUFSnn,
    LaplacianScore,
    PivotedCholeskySelector,
    RandomSelector,
    SelectionPath,
    STPCASelector,
    VarianceSelector,
    list_selectors,
    stpca_path,
)
from tensift.stability import StabilitySelection, stability_selection

__all__ = [
    "CPUFS",
    "MCFS",
    "MSPCA",
    "NDFS",
    "NLGMS",
    "RNE",
    "SOGFS",
    "SPCAFS",
    "SPCA_PSD",
    "UDFS",
    "AllFeatures",
    "CPUFSnn",
    "LaplacianScore",
    "PivotedCholeskySelector",
    "RandomSelector",
    "STPCASelector",
    "SelectFromDecomposition",
    "SelectionPath",
    "SelectorComparison",
    "SparseTensorPCA",
    "StabilitySelection",
    "TensorPCA",
    "VarianceSelector",
    "__version__",
    "algebra",
    "collect_moments",
    "compare_selectors",
    "datasets",
    "list_selectors",
    "metrics",
    "stability_selection",
    "stpca_path",
]
