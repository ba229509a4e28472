"""Choose the few features that matter in tensor data, without labels."""

from tensift import algebra, datasets, metrics
from tensift._version import __version__
from tensift.decomposition import SelectFromDecomposition, SparseTensorPCA, TensorPCA
from tensift.selectors import SelectionPath, STPCASelector, stpca_path

__all__ = [
    "STPCASelector",
    "SelectFromDecomposition",
    "SelectionPath",
    "SparseTensorPCA",
    "TensorPCA",
    "__version__",
    "algebra",
    "datasets",
    "metrics",
    "stpca_path",
]
