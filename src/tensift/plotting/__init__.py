"""Pictures of selections and decompositions, as scikit-learn displays. They need matplotlib."""

from tensift.plotting._channel_ranking import ChannelRankingDisplay
from tensift.plotting._choice import ChoiceDisplay
from tensift.plotting._comparison import ComparisonDisplay
from tensift.plotting._component_map import ComponentMapDisplay
from tensift.plotting._components import ComponentsDisplay
from tensift.plotting._convergence import ConvergenceDisplay
from tensift.plotting._energy import EnergyDisplay
from tensift.plotting._evaluation import EvaluationDisplay
from tensift.plotting._group_selection import GroupSelectionDisplay
from tensift.plotting._matplotlib import ACCENT, BLUE, MUTED, SCORE_MAP, require_matplotlib, tidy
from tensift.plotting._missing import MissingDisplay
from tensift.plotting._path import PathDisplay
from tensift.plotting._plan import PlanDisplay
from tensift.plotting._reconstruction import ReconstructionDisplay
from tensift.plotting._reconstruction_curve import ReconstructionCurveDisplay
from tensift.plotting._replacement import ReplacementDisplay
from tensift.plotting._rules import order_in_words, rule_in_words
from tensift.plotting._score_curve import ScoreCurveDisplay
from tensift.plotting._score_map import ScoreMapDisplay
from tensift.plotting._selected_features import SelectedFeaturesDisplay
from tensift.plotting._selection import SelectionDisplay
from tensift.plotting._selection_curve import SelectionCurveDisplay
from tensift.plotting._stability import StabilityDisplay
from tensift.plotting._topography import TopographyDisplay

__all__ = [
    "ACCENT",
    "BLUE",
    "MUTED",
    "SCORE_MAP",
    "ChannelRankingDisplay",
    "ChoiceDisplay",
    "ComparisonDisplay",
    "ComponentMapDisplay",
    "ComponentsDisplay",
    "ConvergenceDisplay",
    "EnergyDisplay",
    "EvaluationDisplay",
    "GroupSelectionDisplay",
    "MissingDisplay",
    "PathDisplay",
    "PlanDisplay",
    "ReconstructionCurveDisplay",
    "ReconstructionDisplay",
    "ReplacementDisplay",
    "ScoreCurveDisplay",
    "ScoreMapDisplay",
    "SelectedFeaturesDisplay",
    "SelectionCurveDisplay",
    "SelectionDisplay",
    "StabilityDisplay",
    "TopographyDisplay",
    "order_in_words",
    "require_matplotlib",
    "rule_in_words",
    "tidy",
]
