"""Data tensors: what holds them, readers, generators and the paper's sets."""

from tensift.datasets._dataset import TensorDataset
from tensift.datasets._digits import load_digits
from tensift.datasets._paper import fetch_paper, list_paper
from tensift.datasets._read import read_tensor
from tensift.datasets._synthetic import make_array, make_orbit

__all__ = [
    "TensorDataset",
    "fetch_paper",
    "list_paper",
    "load_digits",
    "make_array",
    "make_orbit",
    "read_tensor",
]
