"""Judge a selection, with labels (clustering, class means, the paper's protocol) or without."""

from tensift.metrics._agreement import selection_agreement
from tensift.metrics._alignment import alignment
from tensift.metrics._checks import check_data, encode_labels
from tensift.metrics._class_variance import between_class_variance, proportion_correct
from tensift.metrics._clustering import clustering_accuracy, normalized_mutual_information
from tensift.metrics._evaluate import SelectionEvaluation, evaluate_selection
from tensift.metrics._features import check_samples, count_features
from tensift.metrics._judge import Judge, SelectionJudgement, judge_selections, mean_ranks
from tensift.metrics._neighbour_agreement import neighbour_agreement
from tensift.metrics._neighbours import neighbours_kept
from tensift.metrics._reconstruction import Reconstruction, reconstruction_error
from tensift.metrics._redundancy import redundancy
from tensift.metrics._silhouette import silhouette_of_labels
from tensift.metrics._stability import StabilityEstimate, selection_stability

__all__ = [
    "Judge",
    "Reconstruction",
    "SelectionEvaluation",
    "SelectionJudgement",
    "StabilityEstimate",
    "alignment",
    "between_class_variance",
    "check_data",
    "check_samples",
    "clustering_accuracy",
    "count_features",
    "encode_labels",
    "evaluate_selection",
    "judge_selections",
    "mean_ranks",
    "neighbour_agreement",
    "neighbours_kept",
    "normalized_mutual_information",
    "proportion_correct",
    "reconstruction_error",
    "redundancy",
    "selection_agreement",
    "selection_stability",
    "silhouette_of_labels",
]
