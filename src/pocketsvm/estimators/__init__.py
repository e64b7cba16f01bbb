"""The estimators."""

from .classifier import BudgetedSVC
from .regressor import BudgetedSVR

__all__ = ["BudgetedSVC", "BudgetedSVR"]
