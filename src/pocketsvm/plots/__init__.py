"""Displays of models, trainings and searches, and of the merge table.

Each display is a class in the style of scikit-learn's displays, in a file of its own.
``from_estimator`` computes and draws, ``plot`` draws again, and the figure and the axes are the
attributes ``figure_`` and ``ax_``. matplotlib is loaded when the first display is drawn.

    boundary.py        BoundaryDisplay: the decision boundary; plane.py finds the plane to draw
    budget.py          BudgetDisplay: the score for several budgets
    feature_scales.py  FeatureScalesDisplay: how much each feature counts
    merge_table.py     MergeTableDisplay: the two functions that the merge table holds
    profile.py         ProfileDisplay: the time and the counts of a training
    tuning.py          TuningDisplay: the scores of a search over C and gamma
    axes.py            the axes and colors that all displays share
"""

from .boundary import BoundaryDisplay
from .budget import BudgetDisplay
from .feature_scales import FeatureScalesDisplay
from .merge_table import MergeTableDisplay
from .profile import ProfileDisplay
from .tuning import TuningDisplay

__all__ = [
    "BoundaryDisplay",
    "BudgetDisplay",
    "FeatureScalesDisplay",
    "MergeTableDisplay",
    "ProfileDisplay",
    "TuningDisplay",
]
