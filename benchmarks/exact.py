"""The exact SVM in two implementations: SVC of scikit-learn and of scikit-learn-intelex.

The latter is measured if it is installed: ``pip install scikit-learn-intelex``.
"""

from typing import Any

import numpy as np

from pocketsvm.paper.comparison import COLUMNS
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.problems import QUICK_ROWS, Problem
from pocketsvm.paper.models import (
    CACHE_MEGABYTES,
    EXACT,
    POCKETSVM,
    fit_and_predict,
    make,
    summarise,
)
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.tables import Table

from .datasets.paper import available

try:
    import daal4py
    from sklearnex import svm as intelex
except ImportError:
    intelex = None

HAS_INTEL = intelex is not None
INTEL = "SVC (intelex)"
PREDICTIONS = 2  # the faster one counts


def measure(quick: bool) -> list[Table]:
    """Return one table with all models on the available data sets."""
    table = Table(
        "exact",
        "SVC of scikit-learn, SVC of scikit-learn-intelex and pocketsvm, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        {key: COLUMNS[key] for key in ("data", "model", "size", "accuracy", "fit", "predict")},
        "The paper's C and gamma, one run per model, one after the other; the faster of two "
        f"predictions counts. SVC has a cache of {CACHE_MEGABYTES:,} MB, pocketsvm the larger of "
        "the paper's budgets. Rows are dense if most entries are not zero, else CSR. "
        "scikit-learn-intelex is also given the CSR rows as dense rows, because the faster layout "
        "depends on the data; its faster training run counts.",
        progress=True,
    )
    if not HAS_INTEL:
        print("Skipped: scikit-learn-intelex is not installed.\n")
        return [table]
    with one_thread():
        for problem in available(quick):
            _add_models(table, problem)
    return [table]


def intel_svc(problem: Problem) -> Any:
    """Return the SVC of scikit-learn-intelex with the paper's C and gamma, on one thread."""
    daal4py.daalinit(1)
    return intelex.SVC(**problem.setting, cache_size=CACHE_MEGABYTES)


def layouts(rows: TrainTest) -> list[TrainTest]:
    """Return the rows as they are and, if they are sparse, as dense rows."""
    if isinstance(rows.X, np.ndarray):
        return [rows]
    return [rows, rows._replace(X=rows.X.toarray(), X_test=rows.X_test.toarray())]


def _add_models(table: Table, problem: Problem) -> None:
    rows, exact = problem.rows, intel_svc(problem)
    runs = [fit_and_predict(exact, layout, PREDICTIONS) for layout in layouts(rows)]
    fastest = min(runs, key=lambda run: run.seconds_fit)
    table.add(data=problem.label, model=INTEL, **summarise([fastest]))
    budget = problem.data_set.budgets[1]
    for name in (POCKETSVM, EXACT):
        model = make(name, **problem.setting, n_rows=problem.n_rows, budget=budget, seed=0)
        run = fit_and_predict(model, rows, PREDICTIONS)
        table.add(data=problem.label, model=name, **summarise([run]))
