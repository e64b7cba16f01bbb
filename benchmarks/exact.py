"""The exact SVM by two programs: `SVC` of scikit-learn and of scikit-learn-intelex, one thread.

The latter is taken where it is installed: ``.venv/bin/pip install scikit-learn-intelex``.
"""

import datasets
import numpy as np
from peers import COLUMNS, QUICK_ROWS, load
from tables import Table

from pocketsvm import BudgetedSVC
from pocketsvm.paper.measure import one_thread
from pocketsvm.paper.peers import (
    CACHE_MEGABYTES,
    EXACT,
    POCKETSVM,
    fit_and_predict,
    make,
    summarise,
)

try:
    import daal4py
    import sklearnex.svm as sklearnex
except ImportError:
    sklearnex = None

INTEL = "SVC (intelex)"


def measure(quick):
    table = Table(
        "exact",
        "SVC of scikit-learn, SVC of scikit-learn-intelex and pocketsvm, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        {key: COLUMNS[key] for key in ("data", "model", "size", "accuracy", "fit", "predict")},
        note="The paper's C and gamma, one run each, one after the other; of two predictions the "
        "faster. SVC has a cache of 1,000 MB, pocketsvm the larger of the paper's budgets. Rows "
        "are dense where most entries are not zero, else CSR; scikit-learn-intelex gets them "
        "dense, which is faster there.",
    )
    if sklearnex is None:
        print("Skipped: scikit-learn-intelex is not installed.\n")
        return [table.done()]
    daal4py.daalinit(1)
    with one_thread():
        for data_set in datasets.available():
            compare(table, data_set, quick)
    return [table.done()]


def compare(table, data_set, quick):
    X, y, X_test, y_test = load(data_set, quick)
    setting = {"C": data_set.C, "gamma": data_set.gamma}
    dense = [rows if isinstance(rows, np.ndarray) else rows.toarray() for rows in (X, X_test)]
    machines = {
        INTEL: (sklearnex.SVC(**setting, cache_size=CACHE_MEGABYTES), *dense),
        POCKETSVM: (BudgetedSVC(data_set.budgets[1], **setting, random_state=0), X, X_test),
        EXACT: (make(EXACT, **setting, n_rows=len(y), budget=None, seed=None), X, X_test),
    }
    for name, (machine, rows, test_rows) in machines.items():
        run = fit_and_predict(machine, rows, y, test_rows, y_test, predictions=2)
        table.add(data=data_set.name, model=name, **summarise([run]))
