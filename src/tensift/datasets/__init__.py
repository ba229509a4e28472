"""Data tensors and constraints: from files and data frames, generated, or the paper's sets."""

from tensift.datasets._axis_names import feature_names
from tensift.datasets._constraints_file import parse_feature, read_constraints
from tensift.datasets._dataset import TensorDataset
from tensift.datasets._digits import load_digits
from tensift.datasets._frames import from_frame, from_long_frame
from tensift.datasets._open import (
    check_readable,
    choose_tensor,
    files_of_input,
    open_tensor_file,
)
from tensift.datasets._paper import fetch_paper, list_paper
from tensift.datasets._read import read_tensor, sample_axes_of
from tensift.datasets._sea_surface import make_sea_surface
from tensift.datasets._side_values import file_of_values
from tensift.datasets._stored import available_memory
from tensift.datasets._synthetic import make_array, make_orbit
from tensift.datasets._text_files import header_line, keys_of_long_table

__all__ = [
    "TensorDataset",
    "available_memory",
    "check_readable",
    "choose_tensor",
    "feature_names",
    "fetch_paper",
    "file_of_values",
    "files_of_input",
    "from_frame",
    "from_long_frame",
    "header_line",
    "keys_of_long_table",
    "list_paper",
    "load_digits",
    "make_array",
    "make_orbit",
    "make_sea_surface",
    "open_tensor_file",
    "parse_feature",
    "read_constraints",
    "read_tensor",
    "sample_axes_of",
]
