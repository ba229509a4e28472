"""Decompositions of tensor data under the star-M product: PCA, sparse PCA, selection by these."""

from tensift.decomposition._select import SelectFromDecomposition
from tensift.decomposition._sparse_tensor_pca import SparseTensorPCA
from tensift.decomposition._tensor_pca import TensorPCA

__all__ = ["SelectFromDecomposition", "SparseTensorPCA", "TensorPCA"]
