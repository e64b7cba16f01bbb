"""A kernel SVM whose model never outgrows a budget.

The kernel is Gaussian, and the model has at most B support vectors. Stochastic gradient descent
finds them: whenever the budget overflows, it merges two vectors, and a precomputed table answers
which two and where to. A solver then finds the coefficients on all rows, and moves the vectors
where that improves the model. `fit.py` is the one road of every fit, wherever the rows are::

    source ─► survey ─► rows at hand ─► passes ─► vectors ─► solver ─► model ─► predict · export
     rows/     rows/       rows/       training/            solving/   model/
      ▲
      ├─ arrays and memory maps: rows/
      ├─ files, and objects with `batches()`: files/ ─► rows/
      └─ partitions on a cluster: dask/

A task of `tasks` says what y means: classes, numbers, relevance or nothing. The `estimators` check
parameters, name the task, call `fit` and keep the model. `search` looks for the best parameters,
`compression` makes trained models small, `plots` draws, and `cli` is the command line. Python
decides: precision, gamma, regularisation, seeds and the number of passes. C++ (`_core`) loops over
rows, support vectors and merge candidates, without the GIL. `merge_table` shows the merging problem
on its own.

The public names load when they are first used, so that ``import pocketsvm`` imports neither NumPy
nor scikit-learn.
"""

from typing import TYPE_CHECKING

__all__ = [
    "BudgetedOneClassSVM",
    "BudgetedRanker",
    "BudgetedSVC",
    "BudgetedSVCCV",
    "BudgetedSVR",
    "BudgetedSVRCV",
    "MergeTable",
    "compress",
    "golden_section",
    "load_model",
    "load_svmlight",
    "open_dataset",
    "save_model",
    "show_versions",
    "trusted_types",
]

if TYPE_CHECKING:
    from ._trusted import trusted_types
    from ._versions import show_versions
    from .compression import compress
    from .estimators import (
        BudgetedOneClassSVM,
        BudgetedRanker,
        BudgetedSVC,
        BudgetedSVR,
    )
    from .estimators.loading import load_model
    from .estimators.saving import save_model
    from .files.svmlight import load_svmlight
    from .merge_table import MergeTable, golden_section
    from .rows.opening import open_dataset
    from .search import BudgetedSVCCV, BudgetedSVRCV

    __version__: str
else:
    _MODULES = {
        "BudgetedOneClassSVM": "estimators",
        "BudgetedRanker": "estimators",
        "BudgetedSVC": "estimators",
        "BudgetedSVCCV": "search",
        "BudgetedSVR": "estimators",
        "BudgetedSVRCV": "search",
        "MergeTable": "merge_table",
        "compress": "compression",
        "golden_section": "merge_table",
        "load_model": "estimators.loading",
        "load_svmlight": "files.svmlight",
        "open_dataset": "rows.opening",
        "save_model": "estimators.saving",
        "show_versions": "_versions",
        "trusted_types": "_trusted",
    }

    def __getattr__(name):
        """Load a public name, or the version, when it is first used (PEP 562)."""
        import importlib
        from importlib.metadata import version

        if name == "__version__":
            value = version(__name__)
        elif name in _MODULES:
            value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value  # the next use finds it without this function
        return value

    def __dir__():
        """Name what is public, loaded or not."""
        return sorted({*globals(), *__all__, "__version__"})
