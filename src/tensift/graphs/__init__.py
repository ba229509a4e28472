"""Graphs of samples: nearest neighbours, their weights, Laplacians and eigenvectors.

Samples are rows here, ``(n, d)``. Graphs and Laplacians are sparse.
"""

from tensift.graphs._adaptive import adaptive_graph, adaptive_weights
from tensift.graphs._distances import squared_distances
from tensift.graphs._heat_kernel import heat_kernel_graph, neighbor_graph
from tensift.graphs._inverse_krylov import lowest_from_guess
from tensift.graphs._laplacian import laplacian
from tensift.graphs._neighbors import nearest_neighbors
from tensift.graphs._simplex import project_to_simplex
from tensift.graphs._spectrum import smallest_eigenvectors

__all__ = [
    "adaptive_graph",
    "adaptive_weights",
    "heat_kernel_graph",
    "laplacian",
    "lowest_from_guess",
    "nearest_neighbors",
    "neighbor_graph",
    "project_to_simplex",
    "smallest_eigenvectors",
    "squared_distances",
]
