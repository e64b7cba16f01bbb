"""A kernel SVM whose model never outgrows a budget.

Gaussian kernel, at most B support vectors, trained by stochastic gradient descent that merges
support vectors when the budget overflows, with the merging problem solved once and for all in a
table. The way of the data::

    file or array ──► checked rows ──► passes over the rows ──► polished coefficients ──► model
      files.py        _validation.py     _core (C++)         polish.py, moving.py

    model ──► decision_function · predict · save (model.py) · export (export/)

One direction, no way back. Python decides: precision, gamma, regularisation, seeds, how many
passes. C++ loops: over rows, support vectors and merge candidates, without the GIL. `merge_table`
opens the merging problem itself to look at.
"""

from importlib.metadata import version

from ._versions import show_versions
from .data.svmlight import load_svmlight
from .estimators import BudgetedSVC, BudgetedSVR
from .estimators.loading import load_model
from .estimators.saving import save_model
from .merge_table import MergeTable, golden_section

__all__ = [
    "BudgetedSVC",
    "BudgetedSVR",
    "MergeTable",
    "golden_section",
    "load_model",
    "load_svmlight",
    "save_model",
    "show_versions",
]

__version__ = version("pocketsvm")
