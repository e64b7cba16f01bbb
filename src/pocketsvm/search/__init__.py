"""The search of C and gamma by cross-validation.

    rows ─► folds ─► race ─► candidates ─► results ─► the best one, fitted on all rows
                       ▲          │
                       └──scores──┘

`folds` has the rows, `candidates` the grid and what scores a candidate, and `race` decides what to
try next and what to drop. `base` is the course of a search, `checkpoints` keeps it. `estimators`
has the public estimators. `scores` shows the result as a map.
"""

from .estimators import BudgetedSVCCV, BudgetedSVRCV

__all__ = ["BudgetedSVCCV", "BudgetedSVRCV"]
