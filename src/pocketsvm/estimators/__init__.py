"""The estimators: they check, call and set attributes.

A fit is `data` (checked rows and targets), `training` (passes) and `solving` (the model), in this
order; `base` holds this course, `classifier` and `regressor` the rest. `saving` and `loading` keep
fitted estimators in model files.
"""

from .classifier import BudgetedSVC
from .one_class import BudgetedOneClassSVM
from .ranker import BudgetedRanker
from .regressor import BudgetedSVR

__all__ = ["BudgetedOneClassSVM", "BudgetedRanker", "BudgetedSVC", "BudgetedSVR"]
