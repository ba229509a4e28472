"""Graphs of samples: who is near whom, with what weight, and the spectrum of that.

Samples are rows here, ``(n, d)``. Graphs and Laplacians are sparse.
"""

from tensift.graphs._adaptive import adaptive_graph, adaptive_weights
from tensift.graphs._distances import squared_distances
from tensift.graphs._heat_kernel import heat_kernel_graph
from tensift.graphs._laplacian import laplacian
from tensift.graphs._neighbors import nearest_neighbors
from tensift.graphs._simplex import project_to_simplex
from tensift.graphs._spectrum import smallest_eigenvectors

__all__ = [
    "adaptive_graph",
    "adaptive_weights",
    "heat_kernel_graph",
    "laplacian",
    "nearest_neighbors",
    "project_to_simplex",
    "smallest_eigenvectors",
    "squared_distances",
]
