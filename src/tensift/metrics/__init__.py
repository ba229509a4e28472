"""Clustering scores, between-class variance, and the paper's evaluation protocol."""

from tensift.metrics._class_variance import between_class_variance, proportion_correct
from tensift.metrics._clustering import clustering_accuracy, normalized_mutual_information
from tensift.metrics._evaluate import SelectionEvaluation, evaluate_selection
from tensift.metrics._silhouette import silhouette_of_labels

__all__ = [
    "SelectionEvaluation",
    "between_class_variance",
    "clustering_accuracy",
    "evaluate_selection",
    "normalized_mutual_information",
    "proportion_correct",
    "silhouette_of_labels",
]
