"""Pictures of a selection, after scikit-learn's Display convention. They need matplotlib."""

from tensift.plotting._channel_ranking import ChannelRankingDisplay
from tensift.plotting._convergence import ConvergenceDisplay
from tensift.plotting._evaluation import EvaluationDisplay
from tensift.plotting._path import PathDisplay
from tensift.plotting._score_curve import ScoreCurveDisplay
from tensift.plotting._score_map import ScoreMapDisplay
from tensift.plotting._selected_features import SelectedFeaturesDisplay
from tensift.plotting._selection import SelectionDisplay

__all__ = [
    "ChannelRankingDisplay",
    "ConvergenceDisplay",
    "EvaluationDisplay",
    "PathDisplay",
    "ScoreCurveDisplay",
    "ScoreMapDisplay",
    "SelectedFeaturesDisplay",
    "SelectionDisplay",
]
