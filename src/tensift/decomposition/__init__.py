"""Decompositions of tensor data under the star-M product: principal components, also sparse."""

from tensift.decomposition._tensor_pca import TensorPCA

__all__ = ["TensorPCA"]
