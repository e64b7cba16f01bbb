"""The search of C and gamma by cross-validation.

    rows ─► folds ─► race ─► candidates ─► results ─► the best one, fitted on all rows
                       ▲          │
                       └──scores──┘

`folds` holds the rows, `candidates` trains and scores, `board` keeps the scores, and `race` decides
what to try next and what to drop. `estimators` has the public estimators on top of `base`, and
`pipeline` the search of `tune`.
"""

from .estimators import BudgetedSVCCV, BudgetedSVRCV

__all__ = ["BudgetedSVCCV", "BudgetedSVRCV"]
