"""The estimators check parameters and rows, name the task, call `pocketsvm.fit`, keep the model.

`base` does this for all of them, and reads the fitted attributes from the model. `classifier`,
`regressor`, `one_class` and `ranker` have the parameters and the predictions. `streams` and `drift`
belong to `partial_fit`. `watching` tells callbacks how far a fit is; `checkpoints` and
`checkpoint_file` continue one that was interrupted. `saving` and `loading` keep fitted estimators
in model files.
"""

from .classifier import BudgetedSVC
from .one_class import BudgetedOneClassSVM
from .ranker import BudgetedRanker
from .regressor import BudgetedSVR

__all__ = [
    "BudgetedOneClassSVM",
    "BudgetedRanker",
    "BudgetedSVC",
    "BudgetedSVR",
]
