"""Data tensors and constraints: read them from files, generate data, or load the paper's sets."""

from tensift.datasets._constraints_file import parse_feature, read_constraints
from tensift.datasets._dataset import TensorDataset
from tensift.datasets._digits import load_digits
from tensift.datasets._paper import fetch_paper, list_paper
from tensift.datasets._read import (
    check_readable,
    choose_tensor,
    open_tensor_file,
    read_tensor,
)
from tensift.datasets._sea_surface import make_sea_surface
from tensift.datasets._stored import available_memory
from tensift.datasets._synthetic import make_array, make_orbit
from tensift.datasets._text_files import header_line

__all__ = [
    "TensorDataset",
    "available_memory",
    "check_readable",
    "choose_tensor",
    "fetch_paper",
    "header_line",
    "list_paper",
    "load_digits",
    "make_array",
    "make_orbit",
    "make_sea_surface",
    "open_tensor_file",
    "parse_feature",
    "read_constraints",
    "read_tensor",
]
