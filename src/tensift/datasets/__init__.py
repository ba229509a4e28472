"""Data tensors: what holds them, readers, generators and the paper's sets."""

from tensift.datasets._dataset import TensorDataset
from tensift.datasets._read import read_tensor

__all__ = ["TensorDataset", "read_tensor"]
