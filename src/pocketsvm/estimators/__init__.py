"""The estimators: they check, call and set attributes.

A fit is `data` (checked rows and targets), `training` (passes) and `solving` (the model), in this
order; `base` holds this course, `classifier` and `regressor` the rest. `searching` finds C and
gamma by cross-validation. `saving` and `loading` keep fitted estimators in model files.
"""

from .classifier import BudgetedSVC
from .one_class import BudgetedOneClassSVM
from .ranker import BudgetedRanker
from .regressor import BudgetedSVR
from .searching import BudgetedSVCCV, BudgetedSVRCV

__all__ = [
    "BudgetedOneClassSVM",
    "BudgetedRanker",
    "BudgetedSVC",
    "BudgetedSVCCV",
    "BudgetedSVR",
    "BudgetedSVRCV",
]
